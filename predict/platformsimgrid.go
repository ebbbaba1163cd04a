package predict

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ImportSimGrid reads a platform file of SimGrid with one <cluster>: hosts by radical and core, bw, lat, bb_lat, the loopback,
// and the topology. A route has two private links, those of a topology between, and the backbone where there is one: their
// latencies add up. Speeds of hosts are not used. Notes say what was left out.
func ImportSimGrid(path string) (*Platform, []string, error) {
	data, err := readImport(path)
	if err != nil {
		return nil, nil, err
	}
	return readSimGrid(data, path)
}

// simgridReader turns one <cluster> into a platform.
type simgridReader struct {
	file  string
	line  int
	attr  map[string]string
	p     *Platform
	notes []string
}

func readSimGrid(data []byte, file string) (*Platform, []string, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names are ASCII
	var in *simgridReader
	for {
		token, err := d.RawToken()
		line, _ := d.InputPos()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, &tomltree.Error{Base: ErrPlatform, File: file, Line: line, Text: err.Error()}
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "cluster":
			if in != nil {
				return nil, nil, &tomltree.Error{Base: ErrPlatform, File: file, Line: line, Key: "cluster", Text: "a second one", Allowed: "one cluster"}
			}
			in = &simgridReader{file: file, line: line, attr: map[string]string{}, p: NewPlatform()}
			for _, a := range e.Attr {
				in.attr[a.Name.Local] = a.Value
			}
		case "host", "link", "peer", "cabinet":
			return nil, nil, &tomltree.Error{Base: ErrPlatform, File: file, Line: line, Key: e.Name.Local, Text: "not part of what can be read", Allowed: "one cluster"}
		}
	}
	if in == nil {
		return nil, nil, &tomltree.Error{Base: ErrPlatform, File: file, Text: "no cluster in it", Allowed: "one cluster"}
	}
	if err := in.cluster(); err != nil {
		return nil, nil, err
	}
	return in.p, in.notes, nil
}

// set reads an attribute as parse does.
func set[T any](in *simgridReader, name string, to *T, parse func(text string) (T, bool), allowed string) (err error) {
	var ok bool
	if *to, ok = parse(in.attr[name]); !ok {
		err = in.fail(name, allowed)
	}
	return err
}

func (in *simgridReader) fail(name, allowed string) error {
	return &tomltree.Error{Base: ErrPlatform, File: in.file, Line: in.line, Key: "cluster " + name, Text: strconv.Quote(tomltree.Clip(in.attr[name])), Allowed: allowed}
}

const (
	aBandwidth = "a bandwidth such as 125MBps or 1Gbps"
	aLatency   = "a time such as 50us"
)

// cluster fills the platform.
func (in *simgridReader) cluster() error {
	p := in.p
	if id := in.attr["id"]; plainText(id, 200) {
		p.Name = strings.ToValidUTF8(id, "?")
	}
	p.RanksPerNode = 1
	net := &simnet.Link{Eager: maxBytes}
	p.Links[simnet.LinkNet] = net
	err := set(in, "radical", &p.Nodes, hosts, "ranges such as 0-15,20")
	if _, given := in.attr["core"]; given && err == nil {
		err = set(in, "core", &p.RanksPerNode, count, aCount)
	}
	if err == nil {
		err = set(in, "bw", &net.PerByte, simgridBandwidth, aBandwidth)
	}
	var lat, backbone int64
	if err == nil {
		err = set(in, "lat", &lat, simgridTime, aLatency)
	}
	if _, given := in.attr["bb_lat"]; given && err == nil {
		err = set(in, "bb_lat", &backbone, simgridTime, aLatency)
	}
	if err != nil {
		return err
	}
	net.Latency = 2*lat + backbone
	for _, name := range []string{"bb_bw", "limiter_link", "sharing_policy", "bb_sharing_policy"} {
		if _, given := in.attr[name]; given {
			in.notes = append(in.notes, "cluster "+name+" was left out")
		}
	}
	if err := in.loopback(); err != nil {
		return err
	}
	return in.topology(lat)
}

// loopback is the way of a host to itself: processes of a node.
func (in *simgridReader) loopback() error {
	_, given := in.attr["loopback_bw"]
	if _, also := in.attr["loopback_lat"]; !given && !also {
		in.notes = append(in.notes, "no loopback: processes of a node send as over the network")
		return nil
	}
	node := &simnet.Link{Eager: maxBytes}
	in.p.Links[simnet.LinkNode] = node
	if err := set(in, "loopback_bw", &node.PerByte, simgridBandwidth, aBandwidth); err != nil {
		return err
	}
	return set(in, "loopback_lat", &node.Latency, simgridTime, aLatency)
}

// topology reads topo_parameters. Each link has the latency lat.
func (in *simgridReader) topology(lat int64) error {
	t, net := &in.p.Topology, in.p.Links[simnet.LinkNet]
	kind := strings.ToUpper(in.attr["topology"])
	if kind == "" || kind == "FLAT" {
		return nil
	}
	if net.Hop = lat; lat > maxHopNS*1000 {
		return in.fail("lat", "a time up to 1ms where there is a topology")
	}
	in.p.Contention = simnet.LinkContention
	lists, ok := numberLists(in.attr["topo_parameters"])
	switch {
	case kind == "TORUS" && ok && len(lists) == 1:
		t.Kind, t.Dims = Torus, lists[0]
		net.Latency -= 2 * lat // hosts are the switches
	case kind == "FAT_TREE" && ok && len(lists) == 4 && len(lists[0]) == 1 && len(lists[1]) == int(lists[0][0]) && len(lists[2]) == len(lists[1]):
		t.Kind, t.Down, t.Up = FatTree, lists[1], lists[2]
		for _, n := range lists[3] {
			if n != 1 {
				in.notes = append(in.notes, "parallel links of the fat tree were left out")
				break
			}
		}
	case kind == "DRAGONFLY" && ok && len(lists) == 4 && len(lists[0]) == 2 && len(lists[1]) == 2 && len(lists[2]) == 2 && len(lists[3]) == 1:
		t.Kind, t.Groups, t.Ports = Dragonfly, lists[0][0], lists[3][0]
		routers := uint64(lists[1][0]) * uint64(lists[2][0])
		if routers > maxNodes {
			return in.fail("topo_parameters", "at most 16777216 routers in a group")
		}
		t.Routers = uint32(routers)
		in.notes = append(in.notes, "the chassis of a group and parallel links of the dragonfly were left out")
	case kind != "TORUS" && kind != "FAT_TREE" && kind != "DRAGONFLY":
		return in.fail("topology", "FLAT, TORUS, FAT_TREE, DRAGONFLY")
	default:
		return in.fail("topo_parameters", "X,Y,Z of a torus, LEVELS;DOWN;UP;LINKS of a fat tree, GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES of a dragonfly")
	}
	if _, places, err := t.make(); err != nil || places < uint64(in.p.Nodes) {
		return in.fail("topo_parameters", fmt.Sprintf("numbers with a place for each of the %d hosts", in.p.Nodes))
	}
	return nil
}

// hosts counts what ranges such as 0-15,20 name.
func hosts(radical string) (uint32, bool) {
	total := uint64(0)
	for _, part := range strings.Split(radical, ",") {
		a, b, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseUint(a, 10, 32)
		if err != nil {
			return 0, false
		}
		last := first
		if isRange {
			if last, err = strconv.ParseUint(b, 10, 32); err != nil || last < first {
				return 0, false
			}
		}
		if total += last - first + 1; total > maxNodes {
			return 0, false
		}
	}
	return uint32(total), true
}

// count reads a number of 1 to maxNodes.
func count(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n >= 1 && n <= maxNodes
}

// numberLists reads lists such as 2;4,4;1,2;1,1.
func numberLists(text string) ([][]uint32, bool) {
	var lists [][]uint32
	for _, part := range strings.Split(text, ";") {
		var list []uint32
		for _, s := range strings.Split(part, ",") {
			n, ok := count(strings.TrimSpace(s))
			if !ok || len(list) == 16 {
				return nil, false
			}
			list = append(list, n)
		}
		if lists = append(lists, list); len(lists) > 4 {
			return nil, false
		}
	}
	return lists, true
}

// numberUnit divides a number from its unit.
func numberUnit(text string) (exact.Number, string, bool) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexAny(text, "0123456789.")
	x, ok := decimal(text[:i+1])
	return x, text[i+1:], ok && x.Sign() >= 0
}

// simgridTimes are the units of time of SimGrid, in ns.
var simgridTimes = map[string]uint64{"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1, "m": 60e9, "h": 3600e9}

// simgridTime reads a time into ps, short enough that a few of them are still one that a platform file may hold.
func simgridTime(text string) (int64, bool) {
	x, u, ok := numberUnit(text)
	ns, known := simgridTimes[u]
	if !ok || !known {
		return 0, false
	}
	ps, ok := scaled(x.Times(ns), 1000, maxTimeNS*1000/4)
	return int64(ps), ok
}

// simgridPrefixes are the prefixes of units, decimal and binary.
var simgridPrefixes = map[string]uint64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

// simgridBandwidth reads bits or bytes a second.
func simgridBandwidth(text string) (simnet.Rate, bool) {
	x, u, ok := numberUnit(text)
	if !ok {
		return 0, false
	}
	prefix, isBytes := strings.CutSuffix(u, "Bps")
	bits := uint64(1)
	if bare, isBits := strings.CutSuffix(u, "bps"); isBits {
		prefix, bits = bare, 8
	}
	factor, known := simgridPrefixes[prefix]
	if !known || !isBytes && bits == 1 && u != "" {
		return 0, false
	}
	return bandwidth(x.Times(factor).Div(bits))
}
