package platform

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// ImportLogGOPS returns the platform that LogGOPSim simulates for some letters, such as "L=2500,o=1500,g=1000,G=6,O=0,S=65535", in ns and
// bytes. Letters that are left out have these values, the defaults of LogGOPSim. As there, the network delivers a message as soon as it has
// arrived, and a rendezvous counts one latency (Hoefler, Schneider, Lumsdaine 2010).
func ImportLogGOPS(letters string) (*Platform, error) {
	l := &network.Link{Latency: 2500e3, SendOver: 1500e3, RecvOver: 1500e3, Gap: 1000e3, PerByte: 6000 << 32, Eager: 65535}
	p := New()
	p.Name, p.Policy, p.NoRendezvousLatency, p.Links[network.LinkNet] = "LogGOPSim", network.Arrival, true, l
	seen := map[string]bool{}
	for _, part := range strings.Split(letters, ",") {
		letter, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[letter] {
			return nil, fmt.Errorf("%s is there twice", tomltree.Clip(letter))
		}
		seen[letter] = true
		x, ok := decimal(text)
		if !ok || x.Sign() < 0 {
			return nil, fmt.Errorf("%q: give L, o, g, G, O in ns and S in bytes, as in L=2500,o=1500,G=0.5", tomltree.Clip(part))
		}
		if loggopsKeys[letter] == nil {
			return nil, fmt.Errorf("%s: no letter of LogGOPSim: there are L, o, g, G, O and S", tomltree.Clip(part))
		}
		v := &tomltree.Value{Kind: tomltree.Float, Text: text}
		if x.IsInt() {
			v.Kind, v.Whole = tomltree.Integer, x.Floor()
		}
		for _, k := range linkKeys {
			if slices.Contains(loggopsKeys[letter], k.Name) && !k.Read(l, v) {
				return nil, fmt.Errorf("%s: allowed is %s", tomltree.Clip(part), k.Allowed)
			}
		}
	}
	return p, nil
}

// loggopsKeys has the keys of a link in platform files for each letter of LogGOPSim.
var loggopsKeys = map[string][]string{
	"L": {"L_ns"}, "o": {"o_send_ns", "o_recv_ns"}, "g": {"g_ns"}, "G": {"G_ns_per_byte"}, "O": {"O_ns_per_byte"}, "S": {"eager_bytes"},
}

// bandwidth returns the time per byte for a number of bytes per second.
func bandwidth(bytesPerSecond exact.Number) (network.Rate, bool) {
	if bytesPerSecond.Sign() <= 0 {
		return 0, false
	}
	return rateOf(exact.Int(1e9).Over(bytesPerSecond))
}

// importer reads a file of another tool into a platform. It keeps the first error.
type importer struct {
	file  string
	line  int
	p     *Platform
	notes []string // what was left out
	err   error
}

func (in *importer) fail(key, text, allowed string) {
	if in.err == nil {
		in.err = &tomltree.Error{Base: ErrInvalid, File: in.file, Line: in.line, Key: key, Text: text, Allowed: allowed}
	}
}

// note adds a note about what was left out, unless it is there already.
func (in *importer) note(text string) {
	if !slices.Contains(in.notes, text) {
		in.notes = append(in.notes, text)
	}
}

// link returns the platform's link of a class, which it makes if necessary.
func (in *importer) link(c network.LinkClass) *network.Link {
	if in.p.Links[c] == nil {
		in.p.Links[c] = &network.Link{Eager: maxBytes}
	}
	return in.p.Links[c]
}

// maxImport is the greatest size of a file of another tool, in bytes.
const maxImport = 4 << 20

// imported reads a file of another tool. The notes say what was left out.
func imported(path string, read func(data []byte, file string) (*Platform, []string, error)) (p *Platform, notes []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	if len(data) > maxImport {
		return nil, nil, &tomltree.Error{Base: ErrInvalid, File: path, Text: fmt.Sprintf("larger than %d bytes", maxImport)}
	}
	return read(data, path)
}

// ImportDimemas reads the main parts of a Dimemas configuration with one machine: nodes, processors, bandwidths, latencies, links of a node
// and relative speed. Its megabytes are 2^20 bytes and its times are seconds. A bandwidth of 0 is infinite. Its latency is time of the
// sender's processor before the message leaves, and a rendezvous has no more of it than another message. The notes say what was left out.
func ImportDimemas(path string) (*Platform, []string, error) { return imported(path, readDimemas) }

// dimemasReader reads a configuration of Dimemas.
type dimemasReader struct {
	importer
	machine bool
	node    []string
}

// dimemasNodes has the forms of a node record by number of fields: the index of each value, -1 if it has none.
var dimemasNodes = map[int]struct{ processors, speed, localLatency, localRate, latency, linksIn, linksOut int }{
	14: {3, 4, 5, 6, 10, 11, 12}, // with an id, or of several nodes
	13: {2, 3, 4, 5, 9, 10, 11},
	11: {3, 8, 6, 9, 7, 4, 5},
}

func readDimemas(data []byte, file string) (*Platform, []string, error) {
	in := dimemasReader{importer: importer{file: file, p: New()}}
	in.p.NoRendezvousLatency = true
	comment := false
	for i, line := range strings.Split(string(data), "\n") {
		in.line = i + 1
		if comment {
			_, rest, ended := strings.Cut(line, "*/")
			if comment = !ended; comment {
				continue
			}
			line = rest
		}
		if before, after, starts := strings.Cut(line, "/*"); starts {
			_, rest, ended := strings.Cut(after, "*/")
			comment, line = !ended, before+rest
		}
		name, fields, ok := dimemasRecord(line)
		if !ok {
			continue
		}
		if in.record(name, fields); in.err != nil {
			return nil, nil, in.err
		}
	}
	if !in.machine || in.node == nil {
		return nil, nil, &tomltree.Error{Base: ErrInvalid, File: file, Text: "not a configuration of Dimemas", Allowed: `records "environment information" and "node information" or "multi node information"`}
	}
	return in.p, in.notes, nil
}

// dimemasRecord reads a line such as "name" {1, "x", 2.0};;
func dimemasRecord(line string) (name string, fields []string, ok bool) {
	head, body, ok := strings.Cut(line, "{")
	body, _, closed := strings.Cut(body, "}")
	name = strings.Trim(strings.TrimSpace(head), `"`)
	if !ok || !closed || name == "" {
		return "", nil, false
	}
	for _, f := range strings.Split(body, ",") {
		fields = append(fields, strings.Trim(strings.TrimSpace(f), `"`))
	}
	return name, fields, true
}

func (in *dimemasReader) record(name string, fields []string) {
	switch name {
	case "environment information":
		in.environment(name, fields)
	case "node information", "multi node information":
		in.nodeRecord(name, fields)
	case "mapping information", "predefined mapping information", "modules information", "dedicated connection information", "accelerator node information":
		in.note(name + " was left out")
	}
}

// environment reads the machine: name, id, architecture, nodes, bandwidth, buses, collective model.
func (in *dimemasReader) environment(name string, fields []string) {
	if in.machine {
		in.fail(name, "a second machine", "one machine")
		return
	}
	if len(fields) != 7 {
		in.fail(name, fmt.Sprintf("%d fields", len(fields)), "7")
		return
	}
	in.machine = true
	if plainText(fields[0], 200) {
		in.p.Name = strings.ToValidUTF8(fields[0], "?")
	}
	in.p.Nodes = uint32(in.number(name, "nodes", fields[3], aCount, whole(1, maxNodes)))
	in.link(network.LinkNet).PerByte = network.Rate(in.number(name, "bandwidth", fields[4], "MB/s, or 0", megabytes))
	if fields[5] != "0" {
		in.note("the " + tomltree.Clip(fields[5]) + " buses of the network were left out")
	}
}

// nodeRecord reads a node. All nodes must be alike.
func (in *dimemasReader) nodeRecord(name string, fields []string) {
	at, ok := dimemasNodes[len(fields)]
	if !ok {
		in.fail(name, fmt.Sprintf("%d fields", len(fields)), "11, 13 or 14")
		return
	}
	alike := slices.Clone(fields)
	if len(fields) != 13 {
		alike[1] = "" // the number of the node, or of nodes
	}
	if in.node != nil {
		if !slices.Equal(in.node, alike) {
			in.fail(name, "another kind of node", "one kind")
		}
		return
	}
	in.node = alike
	in.p.RanksPerNode = uint32(in.number(name, "processors", fields[at.processors], aCount, whole(1, maxNodes)))
	in.number(name, "speed", fields[at.speed], "a number above 0 whose inverse is above 0 and up to 1000000", func(x exact.Number) (_ uint64, ok bool) {
		if x.Sign() > 0 {
			in.p.Scale, ok = ParseScale(trimmed(exact.Int(1).Over(x).Fixed(9)))
		}
		return 0, ok
	})
	node, net := in.link(network.LinkNode), in.link(network.LinkNet)
	seconds := func(x exact.Number) (uint64, bool) { return scaled(x, 1e12, maxTimeNS*1000) }
	node.PerByte = network.Rate(in.number(name, "bandwidth", fields[at.localRate], "MB/s, or 0", megabytes))
	node.SendOver = int64(in.number(name, "latency", fields[at.localLatency], "a time of 0 to 1000 s", seconds))
	net.SendOver = int64(in.number(name, "latency", fields[at.latency], "a time of 0 to 1000 s", seconds))
	links := [2]uint64{}
	for i, f := range []int{at.linksIn, at.linksOut} {
		links[i] = in.number(name, "links", fields[f], "a whole number of 0 to 1024", whole(0, 1024))
	}
	if most := max(links[0], links[1]); most > 0 { // both 0: no limit
		in.p.NICs, in.p.Contention = uint32(most), network.NICContention
	}
	if links[0] != links[1] {
		in.note(fmt.Sprintf("%d links in and %d out became as many of both", links[0], links[1]))
	}
}

func (in *dimemasReader) number(name, what, text, allowed string, read func(x exact.Number) (uint64, bool)) uint64 {
	x, ok := decimal(text)
	v, fits := read(x)
	if !ok || !fits {
		in.fail(name, what+" "+tomltree.Clip(text), allowed)
	}
	return v
}

// whole returns a reader of whole numbers from least to most.
func whole(least, most uint64) func(x exact.Number) (uint64, bool) {
	return func(x exact.Number) (uint64, bool) {
		n, fits := scaled(x, 1, most)
		return n, fits && x.IsInt() && n >= least
	}
}

// megabytes reads a bandwidth in MB/s.
func megabytes(x exact.Number) (uint64, bool) {
	if x.Sign() == 0 {
		return 0, true
	}
	r, ok := bandwidth(x.Times(1 << 20))
	return uint64(r), ok
}

// ImportSimGrid reads a platform file of SimGrid with one <cluster>: hosts by radical and core, bw, lat, bb_lat, the loopback, and the
// topology. A route consists of two private links, the links of the topology between them, and the backbone if there is one. Their
// latencies add up. Speeds of hosts are not used. The notes say what was left out.
func ImportSimGrid(path string) (*Platform, []string, error) { return imported(path, readSimGrid) }

// simgridReader reads a <cluster> into a platform.
type simgridReader struct {
	importer
	attr map[string]string
}

func readSimGrid(data []byte, file string) (*Platform, []string, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names are ASCII
	in := &simgridReader{importer: importer{file: file, p: New()}}
	at := 0 // line of the <cluster>
	for in.err == nil {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if in.line, _ = d.InputPos(); err != nil {
			in.fail("", err.Error(), "")
			break
		}
		e, _ := token.(xml.StartElement)
		switch name := e.Name.Local; {
		case name == "cluster" && in.attr != nil:
			in.fail(name, "a second one", "one cluster")
		case name == "cluster":
			in.attr, at = map[string]string{}, in.line
			for _, a := range e.Attr {
				in.attr[a.Name.Local] = a.Value
			}
		case slices.Contains([]string{"host", "link", "peer", "cabinet"}, name):
			in.fail(name, "not part of what can be read", "one cluster")
		}
	}
	if in.line = at; in.attr == nil {
		in.fail("", "no cluster in it", "one cluster")
	}
	if in.err == nil {
		in.cluster()
	}
	if in.err != nil {
		return nil, nil, in.err
	}
	return in.p, in.notes, nil
}

// set parses an attribute into to. An optional one may be missing.
func set[T any](in *simgridReader, name string, optional bool, to *T, parse func(text string) (T, bool), allowed string) {
	if _, given := in.attr[name]; optional && !given {
		return
	}
	var ok bool
	if *to, ok = parse(in.attr[name]); !ok {
		in.wrong(name, allowed)
	}
}

// wrong reports an error in an attribute.
func (in *simgridReader) wrong(name, allowed string) {
	in.fail("cluster "+name, strconv.Quote(tomltree.Clip(in.attr[name])), allowed)
}

const (
	aBandwidth = "a bandwidth such as 125MBps or 1Gbps"
	aLatency   = "a time such as 50us"
)

// cluster reads the <cluster>.
func (in *simgridReader) cluster() {
	p := in.p
	if id := in.attr["id"]; plainText(id, 200) {
		p.Name = strings.ToValidUTF8(id, "?")
	}
	p.RanksPerNode = 1
	net := in.link(network.LinkNet)
	var lat, backbone int64
	set(in, "radical", false, &p.Nodes, hosts, "ranges such as 0-15,20")
	set(in, "core", true, &p.RanksPerNode, count, aCount)
	set(in, "bw", false, &net.PerByte, simgridBandwidth, aBandwidth)
	set(in, "lat", false, &lat, simgridTime, aLatency)
	set(in, "bb_lat", true, &backbone, simgridTime, aLatency)
	net.Latency = 2*lat + backbone
	for _, name := range []string{"bb_bw", "limiter_link", "sharing_policy", "bb_sharing_policy"} {
		if _, given := in.attr[name]; given {
			in.note("cluster " + name + " was left out")
		}
	}
	in.loopback()
	if in.err == nil {
		in.topology(lat)
	}
}

// loopback reads the link of a host to itself, which processes of a node use.
func (in *simgridReader) loopback() {
	_, given := in.attr["loopback_bw"]
	if _, also := in.attr["loopback_lat"]; !given && !also {
		in.note("no loopback: processes of a node send as over the network")
		return
	}
	node := in.link(network.LinkNode)
	set(in, "loopback_bw", false, &node.PerByte, simgridBandwidth, aBandwidth)
	set(in, "loopback_lat", false, &node.Latency, simgridTime, aLatency)
}

// topology reads topo_parameters. Each link has the latency lat, in ps.
func (in *simgridReader) topology(lat int64) {
	t, net := &in.p.Topology, in.p.Links[network.LinkNet]
	kind := strings.ToUpper(in.attr["topology"])
	if kind == "" || kind == "FLAT" {
		return
	}
	if net.Hop = lat; lat > maxHopNS*1000 {
		in.wrong("lat", "a time up to 1ms where there is a topology")
	}
	in.p.Contention = network.LinkContention
	lists, ok := numberLists(in.attr["topo_parameters"])
	switch {
	case kind == "TORUS" && ok && len(lists) == 1:
		t.Kind, t.Dims = Torus, lists[0]
		net.Latency -= 2 * lat // hosts are the switches
	case kind == "FAT_TREE" && ok && len(lists) == 4 && len(lists[0]) == 1 && len(lists[1]) == int(lists[0][0]) && len(lists[2]) == len(lists[1]):
		t.Kind, t.Down, t.Up = FatTree, lists[1], lists[2]
		if slices.ContainsFunc(lists[3], func(n uint32) bool { return n != 1 }) {
			in.note("parallel links of the fat tree were left out")
		}
	case kind == "DRAGONFLY" && ok && len(lists) == 4 && len(lists[0]) == 2 && len(lists[1]) == 2 && len(lists[2]) == 2 && len(lists[3]) == 1:
		t.Kind, t.Groups, t.Ports = Dragonfly, lists[0][0], lists[3][0]
		routers := uint64(lists[1][0]) * uint64(lists[2][0])
		if routers > maxNodes {
			in.wrong("topo_parameters", "at most 16777216 routers in a group")
		}
		t.Routers = uint32(routers)
		in.note("the chassis of a group and parallel links of the dragonfly were left out")
	case kind != "TORUS" && kind != "FAT_TREE" && kind != "DRAGONFLY":
		in.wrong("topology", "FLAT, TORUS, FAT_TREE, DRAGONFLY")
	default:
		in.wrong("topo_parameters", "X,Y,Z of a torus, LEVELS;DOWN;UP;LINKS of a fat tree, GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES of a dragonfly")
	}
	if in.err != nil {
		return
	}
	if x, err := t.make(); err != nil || x.Nodes() < uint64(in.p.Nodes) {
		in.wrong("topo_parameters", fmt.Sprintf("numbers with a place for each of the %d hosts", in.p.Nodes))
	}
}

// hosts returns the number of hosts in ranges such as 0-15,20.
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

// numberLists reads lists of numbers such as 2;4,4;1,2;1,1.
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

// numberUnit separates a number from its unit.
func numberUnit(text string) (exact.Number, string, bool) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexAny(text, "0123456789.")
	x, ok := decimal(text[:i+1])
	return x, text[i+1:], ok && x.Sign() >= 0
}

// simgridTimes has SimGrid's units of time, in ns.
var simgridTimes = map[string]uint64{"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1, "m": 60e9, "h": 3600e9}

// simgridTime reads a time in ps. It is limited to a quarter of what a platform file may hold, since times are added.
func simgridTime(text string) (int64, bool) {
	x, u, ok := numberUnit(text)
	ns, known := simgridTimes[u]
	if !ok || !known {
		return 0, false
	}
	ps, ok := scaled(x.Times(ns), 1000, maxTimeNS*1000/4)
	return int64(ps), ok
}

// simgridPrefixes has the prefixes of units, decimal and binary.
var simgridPrefixes = map[string]uint64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

// simgridBandwidth reads a number of bits or bytes per second.
func simgridBandwidth(text string) (network.Rate, bool) {
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
