package export

import (
	"archive/tar"
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Profiled is the content of a profile.
type Profiled struct {
	Bytes     int64 `json:"bytes"`
	Metrics   int   `json:"metrics"`
	Paths     int   `json:"paths"` // including the path outside of calls
	Locations int   `json:"locations"`
}

// cubeMetric is a metric of a profile. Values are those of paths themselves, without the paths below.
type cubeMetric struct {
	name, text string
	count      bool    // of something; else ticks
	unit       string  // of what is counted
	counter    bool    // its values are bits of floats
	scale      float64 // of the values
	rows       []bool  // whether it has values, by node
}

// Metrics of every profile, those of places after them.
const (
	cubeVisits = iota
	cubeTime
	cubeCritical
	cubeShort
	cubeLong
	cubeSent
	cubeReceived
	cubeWaits // waits; the next metrics are waits by pattern, then orderItems
)

// cube is a profile in the form of Cube 4, https://www.scalasca.org: metrics by call path and location.
//
//	NAME.cubex   a tar archive: anchor.xml and, of each metric, N.index and N.data
//	anchor.xml   metrics, regions, the tree of call paths, nodes of the machine with processes and locations
//	N.index      "CUBEX.INDEX" | 1 u32 | version u16 | sparse u8 | rows u32 | rows x place u32, ascending
//	N.data       "CUBEX.DATA" | rows x locations x value u64 or f64
//
// A place is the number of a call path, depth first. Numbers are little-endian.
type cube struct {
	s         *Source
	shared    *graph.Shared
	locations []trace.P
	metrics   []cubeMetric
	place     []uint32 // of each node of the tree, depth first
	paths     []cubePath
	index     map[cubePath]uint32
	counters  map[int]int     // metrics of counters, by their index in the definitions
	at        map[trace.P]int // places of locations in the list
}

// cubePath is a node of the tree: a region that is called on the path of another node.
type cubePath struct{ parent, region uint32 }

// orderItems are the parts of late senders, by their order.
var orderItems = [...]xtf.Item{xtf.WaitOrderSame >> 8: xtf.ItemLateSenderSame, xtf.WaitOrderDifferent >> 8: xtf.ItemLateSenderOther}

// cubeBlock is the number of values in memory at once.
const cubeBlock = 8 << 20

// Cube writes what the chosen processes spent on call paths: time, calls, waits, costs of delays and the critical path. It writes
// at most limit bytes. It reads the locations once for the metrics and paths, and once for each 64 MiB of values.
func (s *Source) Cube(out io.Writer, limit int64) (*Profiled, error) {
	c := &cube{s: s, index: map[cubePath]uint32{}, counters: map[int]int{}, at: map[trace.P]int{}, paths: []cubePath{{trace.Undefined, trace.Undefined}}}
	c.metrics = []cubeMetric{
		cubeVisits:   {name: "visits", text: "Calls that were recorded", count: true, unit: "occ"},
		cubeTime:     {name: "time", text: "Time in the innermost region"},
		cubeCritical: {name: "critical_path", text: "Time on the critical path"},
		cubeShort:    {name: "delay_short", text: "Waits of others that were caused here directly"},
		cubeLong:     {name: "delay_long", text: "Waits of others that were caused here in turn"},
		cubeSent:     {name: "bytes_sent", text: "Sent in messages and collectives", count: true, unit: "bytes"},
		cubeReceived: {name: "bytes_received", text: "Received in messages and collectives", count: true, unit: "bytes"},
	}
	for _, item := range append(xtf.PatternItems[:], orderItems[1:]...) {
		c.metrics = append(c.metrics, cubeMetric{name: item.String(), text: "Wait: " + results.ItemWord(item)})
	}
	err := c.countersOf()
	if err != nil {
		return nil, err
	}
	if c.shared, err = s.Graph(); err != nil {
		return nil, err
	}
	for p := range trace.P(s.Defs.NumLocations()) {
		if s.selected(p) && s.Defs.Location(p).Type != trace.MetricLocation {
			c.at[p] = len(c.locations)
			c.locations = append(c.locations, p)
		}
	}
	if len(c.locations) == 0 {
		return nil, fmt.Errorf("no process is chosen: %w", ErrRun)
	}
	if err := c.each(func(_, metric int, node uint32, _ uint64) {
		x := &c.metrics[metric]
		x.rows = append(x.rows, make([]bool, max(0, len(c.paths)-len(x.rows)))...)
		x.rows[node] = true
	}); err != nil {
		return nil, err
	}
	order := c.order()
	w := &Counted{Out: out, Limit: limit}
	b := bufio.NewWriterSize(w, 1<<18)
	t := tar.NewWriter(b)
	n, err := c.write(t, order)
	for _, end := range []func() error{t.Close, b.Flush} {
		if err == nil {
			err = end()
		}
	}
	return &Profiled{Bytes: w.N, Metrics: n, Paths: len(c.paths), Locations: len(c.locations)}, err
}

// node returns the number of a path below another one.
func (c *cube) node(parent, region uint32) uint32 {
	k := cubePath{parent, region}
	n, ok := c.index[k]
	if !ok {
		n = uint32(len(c.paths))
		c.index[k], c.paths = n, append(c.paths, k)
	}
	return n
}

// each passes all values that are not 0 of all locations, by index of the location, in parts that add up.
func (c *cube) each(add func(location, metric int, node uint32, value uint64)) error {
	calls, err := results.ReadCallPaths(c.s.Run)
	if err != nil {
		return err
	}
	nodes := make([]uint32, calls.Len())
	for n := 1; n < len(nodes); n++ {
		nodes[n] = c.node(nodes[calls.Parent(uint32(n))], calls.Region(uint32(n)))
	}
	for i, p := range c.locations {
		put := func(metric int, node uint32, value uint64) {
			if value > 0 {
				add(i, metric, node, value)
			}
		}
		if err := c.times(p, put); err != nil {
			return c.s.at(p, err)
		}
		if err := c.moved(p, put); err != nil {
			return c.s.at(p, err)
		}
		for k, array := range results.PlaceArrays {
			known := true
			err := array.Parts(c.s.Run, xtf.Proc(p), func(at results.CauseKey, x results.CauseSum) {
				path := uint32(at.Key)
				if known = known && uint64(path) < uint64(len(nodes)); !known {
					return
				}
				metric := []int{cubeWaits + int(at.Pattern&xtf.WaitPatternMask), cubeShort, cubeCritical}[k]
				if metric < cubeWaits+len(xtf.PatternItems) {
					put(metric, nodes[path], x.Ticks)
				}
				if order := int(at.Pattern & xtf.WaitOrderMask >> 8); order > 0 && order < len(orderItems) {
					put(cubeWaits+len(xtf.PatternItems)+order-1, nodes[path], x.Ticks)
				}
				put(cubeLong, nodes[path], x.Long)
			})
			if err == nil && !known {
				err = fmt.Errorf("a call path of %s that the run does not have: %w", array.Name, xtf.ErrCorrupt)
			}
			if err != nil {
				return c.s.at(p, err)
			}
		}
	}
	if len(c.counters) == 0 {
		return nil
	}
	_, err = counters.EachPathCount(c.s.Run, results.Ranks{}, func(x counters.PathCount) {
		metric, ok := c.counters[x.Member]
		location, is := c.at[x.P]
		if !ok || !is || x.Sum == 0 {
			return
		}
		node := uint32(0)
		for _, region := range x.Regions {
			node = c.node(node, region)
		}
		add(location, metric, node, math.Float64bits(x.Sum))
	})
	return err
}

func (c *cube) countersOf() error {
	if len(c.s.Defs.MetricMembers) == 0 || !c.s.Run.Rows {
		return nil
	}
	counted, _, err := counters.NewCounted(c.s.Run, results.Ranks{}, nil, true)
	if err != nil {
		return err
	}
	for i := range counted.Counters {
		x := &counted.Counters[i]
		if x.Kind != "count" {
			continue
		}
		name := x.Name
		if slices.ContainsFunc(c.metrics, func(m cubeMetric) bool { return m.name == name }) {
			name = fmt.Sprintf("%s (%d)", x.Name, x.Member)
		}
		c.counters[x.Member] = len(c.metrics)
		c.metrics = append(c.metrics, cubeMetric{name: name, text: "Counter of the trace", count: true, unit: cmp.Or(x.Unit, "occ"), counter: true, scale: x.Scale})
	}
	return nil
}

// moved passes the bytes of a location's messages and collectives, on the paths of their calls.
func (c *cube) moved(p trace.P, put func(metric int, node uint32, value uint64)) error {
	if !c.s.Run.Rows {
		return nil
	}
	messages, err := xtf.ArrayOf[xtf.P2P](c.s.File, xtf.Proc(p))
	if err != nil {
		return err
	}
	at := callNodes{c: c, p: p}
	rows := xtf.RowsOf[xtf.P2P](messages.Rows(0, messages.Len()).Only(xtf.P2PCallN, xtf.P2PBytes, xtf.P2PKind))
	for rows.Next() {
		m := &rows.Row
		if m.Bytes == 0 || m.Kind&xtf.P2PMarker != 0 {
			continue
		}
		node, err := at.of(m.CallN)
		if err != nil {
			return err
		}
		put(map[bool]int{true: cubeSent, false: cubeReceived}[m.Kind&xtf.P2PKindMask == xtf.P2PSend], node, m.Bytes)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	collectives, err := xtf.ArrayOf[xtf.Coll](c.s.File, xtf.Proc(p))
	if err != nil {
		return err
	}
	at = callNodes{c: c, p: p}
	members := xtf.RowsOf[xtf.Coll](collectives.Rows(0, collectives.Len()).Only(xtf.CollCallN, xtf.CollSent, xtf.CollReceived))
	for members.Next() {
		m := &members.Row
		if m.Sent == 0 && m.Received == 0 {
			continue
		}
		node, err := at.of(m.CallN)
		if err != nil {
			return err
		}
		put(cubeSent, node, m.Sent)
		put(cubeReceived, node, m.Received)
	}
	return members.Err()
}

// callNodes finds the nodes of a location's calls. It advances along the calls, and begins again if an earlier one is asked for.
type callNodes struct {
	c     *cube
	p     trace.P
	rows  xtf.Rows[xtf.Call]
	next  uint64   // number of the call after those that are open
	stack []uint32 // nodes of the open calls
}

// of returns the node of a call, given by its number; outside of calls the first node.
func (x *callNodes) of(call uint64) (uint32, error) {
	if call == xtf.Never {
		return 0, nil
	}
	if x.next == 0 || call+1 < x.next {
		calls, err := xtf.ArrayOf[xtf.Call](x.c.s.File, xtf.Proc(x.p))
		if err != nil {
			return 0, err
		}
		x.rows, x.next, x.stack = xtf.RowsOf[xtf.Call](calls.Rows(0, calls.Len()).Only(xtf.CallDepth, xtf.CallRegion)), 0, nil
	}
	for x.next <= call {
		if !x.rows.Next() {
			if err := x.rows.Err(); err != nil {
				return 0, err
			}
			return 0, fmt.Errorf("call %d of %d: %w", call, x.next, xtf.ErrCorrupt)
		}
		node := uint32(0)
		if x.stack = x.stack[:min(int(x.rows.Row.Depth), len(x.stack))]; len(x.stack) > 0 {
			node = x.stack[len(x.stack)-1]
		}
		x.stack = append(x.stack, x.c.node(node, x.rows.Row.Region))
		x.next++
	}
	return x.stack[len(x.stack)-1], nil
}

// times passes calls and times of a location's call paths.
func (c *cube) times(p trace.P, put func(metric int, node uint32, value uint64)) error {
	l, err := c.s.Location(p)
	if err != nil || l.Events() == 0 {
		return err
	}
	var own ccg.PathProfile
	if err := own.Add(l); err != nil {
		return err
	}
	list, err := own.Paths()
	nodes := make([]uint32, len(list))
	for i, x := range list {
		if i > 0 {
			nodes[i] = c.node(nodes[x.Parent], x.Region)
		}
		put(cubeVisits, nodes[i], x.Calls-x.Estimated)
		put(cubeTime, nodes[i], x.Exclusive)
	}
	return err
}

// order returns the nodes of the tree depth first, and sets their places.
func (c *cube) order() (order []uint32) {
	below := make([][]uint32, len(c.paths))
	for n := len(c.paths) - 1; n > 0; n-- {
		below[c.paths[n].parent] = append(below[c.paths[n].parent], uint32(n))
	}
	c.place = make([]uint32, len(c.paths))
	for todo := []uint32{0}; len(todo) > 0; {
		n := todo[len(todo)-1]
		c.place[n] = uint32(len(order))
		order, todo = append(order, n), append(todo[:len(todo)-1], below[n]...)
	}
	return order
}

// cubeRow is the values of a metric on a path.
type cubeRow struct {
	metric int
	place  uint32
}

// write writes the members of the archive, and returns the number of metrics.
func (c *cube) write(t *tar.Writer, order []uint32) (int, error) {
	var rows []cubeRow
	for m := range c.metrics {
		x := &c.metrics[m]
		for place, n := range order {
			if int(n) < len(x.rows) && x.rows[n] || m == cubeTime && place == 0 {
				rows = append(rows, cubeRow{m, uint32(place)})
			}
		}
	}
	ids := map[int]int{} // of metrics with rows
	for _, r := range rows {
		if _, ok := ids[r.metric]; !ok {
			ids[r.metric] = len(ids)
		}
	}
	if err := member(t, "anchor.xml", []byte(c.anchor(ids, order)), 0); err != nil {
		return 0, err
	}
	last := -1
	for len(rows) > 0 {
		block := rows[:min(len(rows), max(1, cubeBlock/len(c.locations)))]
		values, err := c.values(block)
		for i := 0; err == nil && i < len(block); i++ {
			if m := block[i].metric; m != last {
				last = m
				err = c.head(t, ids[m], rows[i:])
			}
			if err == nil {
				err = c.line(t, block[i].metric, values[i*len(c.locations):][:len(c.locations)])
			}
		}
		if err != nil {
			return 0, err
		}
		rows = rows[len(block):]
	}
	return len(ids), nil
}

// member begins a member of the archive; more bytes follow.
func member(t *tar.Writer, name string, begin []byte, more int) error {
	err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(begin) + more)})
	if err == nil {
		_, err = t.Write(begin)
	}
	return err
}

// head writes the index of the metric of the first rows, and begins its values.
func (c *cube) head(t *tar.Writer, id int, rows []cubeRow) error {
	n := 0
	for n < len(rows) && rows[n].metric == rows[0].metric {
		n++
	}
	index := binary.LittleEndian.AppendUint32([]byte("CUBEX.INDEX"), 1)
	index = binary.LittleEndian.AppendUint32(append(index, 0, 0, 1), uint32(n))
	for _, r := range rows[:n] {
		index = binary.LittleEndian.AppendUint32(index, r.place)
	}
	if err := member(t, fmt.Sprintf("%d.index", id), index, 0); err != nil {
		return err
	}
	return member(t, fmt.Sprintf("%d.data", id), []byte("CUBEX.DATA"), 8*n*len(c.locations))
}

// values returns rows, location by location.
func (c *cube) values(rows []cubeRow) ([]uint64, error) {
	values := make([]uint64, len(rows)*len(c.locations))
	fits := true
	err := c.each(func(location, metric int, node uint32, value uint64) {
		row, ok := slices.BinarySearchFunc(rows, cubeRow{metric, c.place[node]}, func(a, b cubeRow) int {
			return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.place, b.place))
		})
		if ok && c.metrics[metric].counter {
			v := &values[row*len(c.locations)+location]
			*v = math.Float64bits(math.Float64frombits(*v) + math.Float64frombits(value))
		} else if ok {
			fits = xtf.Add(&values[row*len(c.locations)+location], value) && fits
		}
	})
	if err == nil && !fits {
		err = fmt.Errorf("sums of call paths are too large: %w", xtf.ErrCorrupt)
	}
	return values, err
}

// line writes the values of a row.
func (c *cube) line(t *tar.Writer, metric int, values []uint64) error {
	b := make([]byte, 0, 8*len(values))
	resolution := c.s.Units().Resolution
	for _, v := range values {
		if x := &c.metrics[metric]; x.counter {
			v = math.Float64bits(float64(math.Float64frombits(v) * x.scale))
		} else if !c.metrics[metric].count && resolution > 0 {
			v = math.Float64bits(float64(v) / float64(resolution))
		}
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	_, err := t.Write(b)
	return err
}

// anchor describes the metrics, regions, paths and locations.
func (c *cube) anchor(ids map[int]int, order []uint32) string {
	var b strings.Builder
	put := func(format string, texts ...any) {
		for i, x := range texts {
			if text, ok := x.(string); ok {
				var b strings.Builder
				_ = xml.EscapeText(&b, []byte(text)) // a Builder has no errors
				texts[i] = b.String()
			}
		}
		fmt.Fprintf(&b, format+"\n", texts...)
	}
	put(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<cube version="4.4">`)
	put(`<attr key="Creator" value="coppice"/>` + "\n" + `<attr key="CUBE_CT_AGGR" value="SUM"/>`)
	put(`<attr key="coppice file" value="%x"/>`, c.s.File.FileID())
	if d := c.shared.Options().Deviation; !d.Lossless() {
		put(`<attr key="coppice deviation of each gap between events" value="%s"/>`, d.String())
	}
	put("<metrics>")
	for m := range c.metrics {
		x := &c.metrics[m]
		kind, unit := "DOUBLE", "sec"
		if x.counter {
			unit = x.unit
		} else if x.count {
			kind, unit = "UINT64", x.unit
		} else if c.s.Units().Resolution == 0 {
			kind, unit = "UINT64", "ticks"
		}
		if id, ok := ids[m]; ok {
			put(`<metric id="%d" type="EXCLUSIVE"><disp_name>%s</disp_name><uniq_name>%s</uniq_name><dtype>%s</dtype><uom>%s</uom><url></url><descr>%s</descr></metric>`,
				id, strings.ReplaceAll(x.name, "_", " "), x.name, kind, unit, x.text)
		}
	}
	put("</metrics>\n<program>")
	regions := map[uint32]int{}
	for _, n := range order {
		ref := c.paths[n].region
		if _, ok := regions[ref]; ok {
			continue
		}
		regions[ref] = len(regions)
		name, paradigm := c.s.RegionName(ref), "user"
		file, line := c.s.Where(ref)
		if n == 0 {
			name, paradigm = "(outside recorded calls)", "measurement"
		} else if x := c.s.Defs.Region(ref); c.s.Defs.IsMPI(x) {
			paradigm = "mpi"
		}
		put(`<region id="%d" mod="%s" begin="%d" end="-1"><name>%s</name><mangled_name>%s</mangled_name><paradigm>%s</paradigm><role>function</role><url></url><descr></descr></region>`,
			regions[ref], file, int64(line), name, name, paradigm)
	}
	var open []uint32
	for place, n := range order {
		for len(open) > 0 && open[len(open)-1] != c.paths[n].parent {
			put("</cnode>")
			open = open[:len(open)-1]
		}
		open = append(open, n)
		put(`<cnode id="%d" calleeId="%d">`, place, regions[c.paths[n].region])
	}
	for range open {
		put("</cnode>")
	}
	put("</program>\n<system>\n" + `<systemtreenode Id="0"><name>machine</name><class>machine</class>`)
	c.system(put)
	put("</systemtreenode>\n</system>\n</cube>")
	return b.String()
}

// system describes the nodes with processes, the processes, and their locations.
func (c *cube) system(put func(format string, texts ...any)) {
	nodes, of := results.Hosts(c.s.Defs)
	ids := make(map[trace.P]int, len(c.locations))
	chosen := map[int]bool{}
	for i, p := range c.locations {
		rank, _ := c.s.Defs.Process(p)
		ids[p], chosen[int(rank)] = i, true
	}
	for i, node := range nodes {
		put(`<systemtreenode Id="%d"><name>%s</name><class>node</class>`, i+1, c.s.Defs.NodeName(node))
		for rank, x := range c.s.Defs.Processes() {
			if of[rank] != i || !chosen[rank] {
				continue
			}
			name, _ := c.s.Defs.Place(x.Group)
			put(`<locationgroup Id="%d"><name>%s</name><rank>%d</rank><type>process</type>`, rank, name, rank)
			for k := range trace.P(x.Count) {
				if id, ok := ids[x.First+k]; ok {
					put(`<location Id="%d"><name>%s</name><rank>%d</rank><type>thread</type></location>`, id, c.s.Defs.Text(c.s.Defs.Location(x.First+k).Name), uint64(k))
				}
			}
			put("</locationgroup>")
		}
		put("</systemtreenode>")
	}
}
