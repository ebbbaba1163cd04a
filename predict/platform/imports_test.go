package platform

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

func TestImportLogGOPS(t *testing.T) {
	t.Parallel()
	p, err := ImportLogGOPS("L=2000, o=1.5,G=0.25,O=1,S=100")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Links[network.LinkNet]
	if l.Latency != 2e6 || l.SendOver != 1500 || l.RecvOver != 1500 || l.Gap != 1e6 || l.PerByte != 250<<32 || l.OverByte != 1000<<32 || l.Eager != 100 || p.Policy != network.Arrival || !p.NoRendezvousLatency {
		t.Errorf("%+v %+v", p, l)
	}
	for text, want := range map[string]string{
		"":         "give L, o, g",
		"L":        "give L, o, g",
		"x=1":      "no letter",
		"L=-1":     "give L, o, g",
		"L=1e13":   "0 to 10^12 ns",
		"G=1e7":    "0 to 4000000",
		"S=1.5":    "a whole number",
		"L=1,L=2":  "twice",
		"L=1e9999": "give L",
	} {
		if _, err := ImportLogGOPS(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func clusterXML(attributes string) string {
	return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n" +
		"<cluster id=\"c1\" prefix=\"n-\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" " + attributes + "/>\n</zone></platform>\n"
}

func TestImportSimGrid(t *testing.T) {
	t.Parallel()
	p, notes, err := readSimGrid([]byte(clusterXML(`bw="125MBps" lat="50us" bb_lat="500ns" bb_bw="1GBps" core="4" loopback_bw="80Gbps" loopback_lat="0.1us"`)), "c.xml")
	if err != nil {
		t.Fatal(err)
	}
	net, node := p.Links[network.LinkNet], p.Links[network.LinkNode]
	if p.Name != "c1" || p.Nodes != 16 || p.RanksPerNode != 4 || net.Latency != 100500e3 || net.PerByte != 8000<<32 || node.PerByte != 100<<32 || node.Latency != 100e3 || len(notes) != 1 {
		t.Errorf("%+v %+v %+v %v", p, net, node, notes)
	}
	for _, c := range []struct{ name, text, want string }{
		{"no cluster", "<platform/>", "no cluster in it"},
		{"two", "<cluster radical='0' bw='1Bps' lat='0'/><cluster/>", "c.xml:1: cluster: a second one"},
		{"not XML", "<platform", "c.xml:1: "},
		{"hosts", "<platform>\n<host/></platform>", "c.xml:2: host: not part of"},
		{"bandwidth", clusterXML(`bw="125000000" lat="50"`), ""},
		{"bandwidth unit", clusterXML(`bw="125MB" lat="50us"`), `c.xml:4: cluster bw: "125MB"; allowed is a bandwidth`},
		{"no bandwidth", clusterXML(`lat="50us"`), `c.xml:4: cluster bw: ""`},
		{"latency", clusterXML(`bw="1Gbps" lat="-1us"`), `cluster lat: "-1us"; allowed is a time`},
		{"radical", "<cluster radical='3-1'/>", `cluster radical: "3-1"`},
		{"too many", "<cluster radical='0-4294967295'/>", `cluster radical: "0-4294967295"`},
		{"cores", clusterXML(`bw="1Gbps" lat="1us" core="0"`), `cluster core: "0"`},
		{"loopback", clusterXML(`bw="1Gbps" lat="1us" loopback_bw="x"`), `cluster loopback_bw: "x"`},
		{"topology", clusterXML(`bw="1Gbps" lat="1us" topology="RING"`), `cluster topology: "RING"; allowed is FLAT`},
		{"torus", clusterXML(`bw="1Gbps" lat="1us" topology="TORUS" topo_parameters="4,2,2"`), ""},
		{"fat tree", clusterXML(`bw="1Gbps" lat="1us" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"`), ""},
		{"dragonfly", clusterXML(`bw="1Gbps" lat="1us" topology="DRAGONFLY" topo_parameters="4,1;2,1;2,1;2"`), ""},
		{"small torus", clusterXML(`bw="1Gbps" lat="1us" topology="TORUS" topo_parameters="4,2"`), `a place for each of the 16 hosts`},
		{"far", clusterXML(`bw="1Gbps" lat="1s" topology="TORUS" topo_parameters="4,2,2"`), `cluster lat: "1s"`},
		{"parameters", clusterXML(`bw="1Gbps" lat="1us" topology="TORUS" topo_parameters="4;4"`), `cluster topo_parameters: "4;4"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, err := readSimGrid([]byte(c.text), "c.xml")
			if err == nil {
				_, err = p.Network(p.Nodes)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrInvalid)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

const dimemasHead = "#DIMEMAS_CONFIGURATION\n/* \"environment information\" {1, 2};;\n*/\n\"wide area network information\" {\"\", 1, 0, 4, 0.0, 0.0, 1};;\n"

// TestImportDimemas: the latency of Dimemas is time of the sending processor, also of a rendezvous. One link that goes both ways is a limit.
func TestImportDimemas(t *testing.T) {
	t.Parallel()
	const machine = `"environment information" {"mare", 0, "", 64, 1000.0, 0, 3};;` + "\n"
	for _, node := range []string{
		`"multi node information" {0, 64, "", 16, 2.0, 0.000001, 4000.0, 1, 1, 0, 0.000008, 1, 2, 0.0};;`,
		`"node information" {0, "", 16, 2.0, 0.000001, 4000.0, 1, 1, 0, 0.000008, 2, 0, 0.0};;`,
		`"node information" {0, 0, "", 16, 1, 2, 0.000001, 0.000008, 2.0, 4000.0, 0.0};;` + "\n" + `"node information" {0, 1, "", 16, 1, 2, 0.000001, 0.000008, 2.0, 4000.0, 0.0};;`,
	} {
		p, notes, err := readDimemas([]byte(dimemasHead+machine+node+"\n\"predefined mapping information\" {\"1 TASKS_PER_NODE\"};;\n"), "m.cfg")
		if err != nil {
			t.Fatal(err)
		}
		net, local := p.Links[network.LinkNet], p.Links[network.LinkNode]
		if p.Name != "mare" || p.Nodes != 64 || p.RanksPerNode != 16 || p.Scale != (Scale{1, 2}) || p.NICs != 2 || p.Contention != network.NICContention ||
			net.SendOver != 8e6 || local.SendOver != 1e6 || net.Latency+local.Latency != 0 || !p.NoRendezvousLatency ||
			net.PerByte.Of(1000<<20) != 1e12-1 && net.PerByte.Of(1000<<20) != 1e12 || len(notes) != 2 {
			t.Errorf("%s: %+v %+v %+v %v", node, p, net, local, notes)
		}
	}
	const node = `"node information" {0, "", 16, 2.0, 0.000001, 4000.0, 1, 1, 0, 0.000008, 1, 2, 0.0};;` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "not a configuration of Dimemas"},
		{"no node", dimemasHead + machine, "not a configuration of Dimemas"},
		{"two machines", dimemasHead + machine + machine, "m.cfg:6: environment information: a second machine"},
		{"fields", dimemasHead + `"environment information" {1};;`, "m.cfg:5: environment information: 1 fields; allowed is 7"},
		{"node fields", dimemasHead + machine + `"node information" {1, 2};;`, "2 fields; allowed is 11, 13 or 14"},
		{"nodes", dimemasHead + strings.Replace(machine, "64", "0", 1), "nodes 0; allowed"},
		{"bandwidth", dimemasHead + strings.Replace(machine, "1000.0", "-1", 1), "bandwidth -1; allowed is MB/s, or 0"},
		{"two kinds", dimemasHead + machine + node + strings.Replace(node, "16", "8", 1), "another kind of node"},
		{"speed", dimemasHead + machine + strings.Replace(node, "2.0", "0", 1), "speed 0; allowed"},
		{"latency", dimemasHead + machine + strings.Replace(node, "0.000008", "-1", 1), "latency -1; allowed"},
		{"links", dimemasHead + machine + strings.Replace(node, "1, 2, 0.0}", "1, x, 0.0}", 1), "links x; allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readDimemas([]byte(c.text), "m.cfg")
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrInvalid) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestImportFiles: an importer reads no more than it must, and no file that is not there.
func TestImportFiles(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte{' '}, maxImport+1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(string) (*Platform, []string, error){ImportSimGrid, ImportDimemas} {
		for path, want := range map[string]string{large: "larger than", "nowhere": "nowhere"} {
			if _, _, err := read(path); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// FuzzImport: whatever can be imported can be written and read.
func FuzzImport(f *testing.F) {
	f.Add(clusterXML(`bw="125MBps" lat="50us" bb_lat="500ns" core="4" loopback_bw="80Gbps" loopback_lat="0.1us"`))
	f.Add(clusterXML(`bw="125MBps" lat="50us" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"`))
	f.Add(dimemasHead + "\"environment information\" {\"mare\", 0, \"\", 64, 1000.0, 0, 3};;\n\"multi node information\" {0, 64, \"\", 16, 2.0, 0.000001, 4000.0, 1, 1, 0, 0.000008, 1, 2, 0.0};;\n")
	f.Add("L=2500,o=1500,g=1000,G=6,S=65535")
	f.Fuzz(func(t *testing.T, text string) {
		var all []*Platform
		if p, _, err := readSimGrid([]byte(text), "f"); err == nil {
			all = append(all, p)
		}
		if p, _, err := readDimemas([]byte(text), "f"); err == nil {
			all = append(all, p)
		}
		if p, err := ImportLogGOPS(text); err == nil {
			all = append(all, p)
		}
		for _, p := range all {
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(&b, "f"); err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
		}
	})
}
