package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ImportDimemas reads the core of a configuration of Dimemas with one machine: nodes, processors, bandwidths, latencies, links
// of a node and relative speed. Its megabytes are 2^20 bytes, its times seconds, and 0 as a bandwidth means at once. Notes say
// what was left out.
func ImportDimemas(path string) (*Platform, []string, error) {
	data, err := readImport(path)
	if err != nil {
		return nil, nil, err
	}
	return readDimemas(string(data), path)
}

// dimemasReader is where a configuration has been read to.
type dimemasReader struct {
	file    string
	line    int
	p       *Platform
	machine bool
	node    []string
	notes   []string
}

// dimemasNodes are the forms of a record about a node by its number of fields: where each value is, -1 for nowhere.
var dimemasNodes = map[int]struct{ processors, speed, localLatency, localRate, latency, links int }{
	14: {3, 4, 5, 6, 10, 12}, // with an id, or of several nodes
	13: {2, 3, 4, 5, 9, 11},
	11: {3, 8, 6, 9, 7, 5},
}

func readDimemas(text, file string) (*Platform, []string, error) {
	in := dimemasReader{file: file, p: NewPlatform()}
	comment := false
	for i, line := range strings.Split(text, "\n") {
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
		if err := in.record(name, fields); err != nil {
			return nil, nil, err
		}
	}
	if !in.machine || in.node == nil {
		return nil, nil, &tomltree.Error{Base: ErrPlatform, File: file, Text: "not a configuration of Dimemas", Allowed: `records "environment information" and "node information" or "multi node information"`}
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

func (in *dimemasReader) fail(key, text, allowed string) error {
	return &tomltree.Error{Base: ErrPlatform, File: in.file, Line: in.line, Key: key, Text: text, Allowed: allowed}
}

// record handles one record.
func (in *dimemasReader) record(name string, fields []string) error {
	switch name {
	case "environment information":
		return in.environment(name, fields)
	case "node information", "multi node information":
		return in.nodeRecord(name, fields)
	case "mapping information", "predefined mapping information", "modules information", "dedicated connection information", "accelerator node information":
		if note := name + " was left out"; !slices.Contains(in.notes, note) {
			in.notes = append(in.notes, note)
		}
	}
	return nil
}

// environment handles the machine: name, id, architecture, nodes, bandwidth, buses, collective model.
func (in *dimemasReader) environment(name string, fields []string) error {
	if in.machine {
		return in.fail(name, "a second machine", "one machine")
	}
	if len(fields) != 7 {
		return in.fail(name, fmt.Sprintf("%d fields", len(fields)), "7")
	}
	in.machine = true
	if plainText(fields[0], 200) {
		in.p.Name = strings.ToValidUTF8(fields[0], "?")
	}
	nodes, ok := in.whole(fields[3], maxNodes)
	if !ok || nodes == 0 {
		return in.fail(name, "nodes "+tomltree.Clip(fields[3]), aCount)
	}
	in.p.Nodes = uint32(nodes)
	rate, ok := in.rate(fields[4])
	if !ok {
		return in.fail(name, "bandwidth "+tomltree.Clip(fields[4]), "MB/s, or 0")
	}
	in.link(simnet.LinkNet).PerByte = rate
	if fields[5] != "0" {
		in.notes = append(in.notes, "the "+tomltree.Clip(fields[5])+" buses of the network were left out")
	}
	return nil
}

// nodeRecord handles nodes, all of which must be alike.
func (in *dimemasReader) nodeRecord(name string, fields []string) error {
	at, ok := dimemasNodes[len(fields)]
	if !ok {
		return in.fail(name, fmt.Sprintf("%d fields", len(fields)), "11, 13 or 14")
	}
	alike := slices.Clone(fields)
	if len(fields) != 13 {
		alike[1] = "" // the number of the node, or of nodes
	}
	if in.node != nil {
		if !slices.Equal(in.node, alike) {
			return in.fail(name, "another kind of node", "one kind")
		}
		return nil
	}
	in.node = alike
	processors, ok := in.whole(fields[at.processors], maxNodes)
	if !ok || processors == 0 {
		return in.fail(name, "processors "+tomltree.Clip(fields[at.processors]), aCount)
	}
	in.p.RanksPerNode = uint32(processors)
	speed, ok := decimal(fields[at.speed])
	if !ok || speed.Sign() <= 0 {
		return in.fail(name, "speed "+tomltree.Clip(fields[at.speed]), "a number above 0")
	}
	if in.p.Scale, ok = ParseScale(trimmed(exact.Int(1).Over(speed).Fixed(9))); !ok {
		return in.fail(name, "speed "+tomltree.Clip(fields[at.speed]), "a number whose inverse is above 0 and up to 1000000")
	}
	node, net := in.link(simnet.LinkNode), in.link(simnet.LinkNet)
	if node.PerByte, ok = in.rate(fields[at.localRate]); !ok {
		return in.fail(name, "bandwidth "+tomltree.Clip(fields[at.localRate]), "MB/s, or 0")
	}
	for k, to := range []*int64{&node.Latency, &net.Latency} {
		text := fields[[]int{at.localLatency, at.latency}[k]]
		s, ok := decimal(text)
		ps, fits := scaled(s, 1e12, maxTimeNS*1000)
		if *to = int64(ps); !ok || !fits {
			return in.fail(name, "latency "+tomltree.Clip(text), "a time of 0 to 1000 s")
		}
	}
	links, ok := in.whole(fields[at.links], 1024)
	if !ok {
		return in.fail(name, "links "+tomltree.Clip(fields[at.links]), "a whole number of 0 to 1024")
	}
	if links > 0 { // 0: as many as there are messages
		in.p.NICs, in.p.Contention = uint32(links), simnet.NICContention
	}
	return nil
}

// link is a class of links of the platform.
func (in *dimemasReader) link(c simnet.LinkClass) *simnet.Link {
	if in.p.Links[c] == nil {
		in.p.Links[c] = &simnet.Link{Eager: maxBytes}
	}
	return in.p.Links[c]
}

// whole reads a whole number up to most.
func (in *dimemasReader) whole(text string, most uint64) (uint64, bool) {
	x, ok := decimal(text)
	n, fits := scaled(x, 1, most)
	return n, ok && fits && x.IsInt()
}

// rate reads MB/s.
func (in *dimemasReader) rate(text string) (simnet.Rate, bool) {
	x, ok := decimal(text)
	if !ok || x.Sign() == 0 {
		return 0, ok
	}
	return bandwidth(x.Times(1 << 20))
}
