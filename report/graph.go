package report

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Graph is how well the complete call graph compresses.
type Graph struct {
	Locations      uint64         `json:"locations"`
	Structures     int            `json:"structures"` // locations with equal structure counted once
	Events         uint64         `json:"events"`
	Instances      uint64         `json:"instances"` // calls, records and roots in the unfolded trees
	Nodes          uint64         `json:"nodes"`     // stored
	Used           uint64         `json:"used"`      // of the stored nodes, in the locations that could be read
	Tuples         uint64         `json:"tuples"`
	ClassRows      uint64         `json:"class_rows"` // of a lossy graph: different timings of nodes, shared by all their instances
	Columns        uint64         `json:"columns"`
	SingleUse      uint64         `json:"single_use"` // nodes with one instance
	SingleShare    numbers.Ratio  `json:"single_share"`
	NodeRatio      numbers.Ratio  `json:"r_n"` // instances per node
	MemoryRatio    numbers.Ratio  `json:"r_m"` // bytes of the unshared graph per byte of the shared one
	RawBytes       uint64         `json:"raw_bytes"`
	StoredBytes    uint64         `json:"stored_bytes"`
	StructureBytes uint64         `json:"structure_bytes"` // in the file
	ClassBytes     uint64         `json:"class_bytes"`     // in the file
	ColumnBytes    uint64         `json:"column_bytes"`    // in the file: times and values
	Bytes          uint64         `json:"bytes"`           // all three
	BytesPerEvent  numbers.Ratio  `json:"bytes_per_event"`
	Fold           int            `json:"fold"`
	Fan            int            `json:"fan"`
	Bound          *results.Bound `json:"bound"`      // of times; nil: exact
	TimeError      *TimeError     `json:"time_error"` // of a lossy graph
	Groups         []Group        `json:"groups"`     // of equal locations, by their first
	Finding        string         `json:"finding"`    // what the figures mean, in a sentence
}

// TimeError is how far the time stamps of a lossy graph are from the true ones,
// over all events, in ticks.
type TimeError struct {
	Largest uint64        `json:"largest"`
	Mean    numbers.Ratio `json:"mean"`
	sum     [2]uint64
}

// Group is locations that are equal as far as the graph shares them.
type Group struct {
	Root       uint32 `json:"root"`        // node: equal ones, equal structure
	EqualTimes bool   `json:"equal_times"` // the same stored times, too
	Count      int    `json:"count"`
	Locations  string `json:"locations"` // in the order of the definitions, from 0
}

// NewGraph reads the graph and all its locations.
func NewGraph(r *results.Run) (*Graph, []table.Lost, error) {
	shared, err := r.Graph()
	if err != nil {
		return nil, nil, err
	}
	section, err := r.File.SectionBytes(xtf.KindCCG)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: call graph: %w", r.Name, err)
	}
	sum := ccg.NewSummary(shared, len(section))
	var lost []table.Lost
	var failed error
	clusters, err := ccg.Clusters(func(yield func(*ccg.Location, error) bool) {
		more := true
		lost, failed = r.EachLocation(results.Ranks{}, "ccg", func(p trace.P) error {
			if !more {
				return nil
			}
			l, err := r.Location(p)
			if err == nil {
				sum.Add(l)
				more = yield(l, nil)
			}
			return err
		})
	})
	if err = errors.Join(failed, err); err != nil {
		return nil, nil, err
	}
	g := newGraph(sum.Stats(), shared.Options())
	g.setGroups(clusters)
	g.Bound = r.BoundOf(shared.Options().Deviation)
	g.Finding = g.finding()
	return g, lost, nil
}

func (g *Graph) setGroups(clusters []ccg.Cluster) {
	g.Groups = make([]Group, len(clusters))
	roots := map[uint32]bool{}
	for i, c := range clusters {
		list := make([]uint32, len(c.Locations))
		for k, p := range c.Locations {
			list[k] = uint32(p)
		}
		g.Groups[i] = Group{Root: c.Root, EqualTimes: c.Row >= 0, Count: len(list), Locations: results.Ranks{List: list}.String()}
		roots[c.Root] = true
	}
	g.Structures = len(roots)
}

func newGraph(s ccg.Stats, o graph.Options) *Graph {
	g := &Graph{
		Locations: s.Locations, Events: s.Events, Instances: s.Instances, Nodes: s.Nodes, Used: s.Used,
		Tuples: s.Tuples, ClassRows: s.Rows, Columns: s.Columns, SingleUse: s.Single, RawBytes: s.RawBytes, StoredBytes: s.StoredBytes,
		StructureBytes: s.SharedBytes - s.ClassBytes, ClassBytes: s.ClassBytes, ColumnBytes: s.ColumnBytes,
		Bytes: s.SharedBytes + s.ColumnBytes, Fold: max(o.Fold, 0), Fan: o.Fan,
	}
	g.SingleShare = numbers.NewRatio(s.Single, s.Nodes)
	g.NodeRatio = numbers.NewRatio(s.Instances, s.Nodes)
	g.MemoryRatio = numbers.NewRatio(s.RawBytes, s.StoredBytes)
	g.BytesPerEvent = numbers.NewRatio(g.Bytes, s.Events)
	if !o.Deviation.Lossless() {
		g.TimeError = &TimeError{s.Errors.Largest, numbers.Nearest(exact.Share(s.Errors.SumHi, s.Errors.SumLo, s.Errors.Count)), [2]uint64{s.Errors.SumLo, s.Errors.SumHi}}
	}
	return g
}

// A graph is irregular if a node has few instances and many nodes occur once, regular if a node has many instances.
const (
	manyInstances = 100
	manySingle    = 0.5
)

// finding says what the figures mean, in a sentence.
func (g *Graph) finding() string {
	times := numbers.NewRatio(g.ColumnBytes, g.Bytes)
	switch {
	case g.Events == 0:
		return "no events"
	case g.NodeRatio.Value < manyInstances && g.SingleShare.Value >= manySingle:
		return fmt.Sprintf("irregular: %s of the nodes occur once, and a node stands for %s calls and records (memory ratio %s). The program changes what it does all the time, so a longer run makes the graph larger by as much, a looser --deviation shrinks its times only, and queries visit many nodes",
			g.SingleShare.Percent(), g.NodeRatio.Text(1), g.MemoryRatio.Text(1))
	case g.Bound == nil && g.NodeRatio.Value >= manyInstances && times.Value >= 0.9:
		return fmt.Sprintf("regular: every node stands for %s calls and records, so %s of the bytes are times and values; analyze --deviation 10%%,1us keeps times within bounds in less",
			g.NodeRatio.Text(0), times.Percent())
	case g.NodeRatio.Value >= manyInstances:
		return fmt.Sprintf("regular: every node stands for %s calls and records", g.NodeRatio.Text(0))
	}
	return fmt.Sprintf("in between: every node stands for %s calls and records, %s of the nodes occur once", g.NodeRatio.Text(1), g.SingleShare.Percent())
}

// chapter shows how well the graph compresses, and which locations are equal.
func (g *Graph) chapter(b *table.Book, c *table.Chapter) {
	c.Title = fmt.Sprintf("call graph of %s: %s instances in %s nodes", numbers.Plural(int(g.Locations), "location"), numbers.Count(g.Instances), numbers.Count(g.Nodes))
	t := &table.Table{Title: "What the call graph takes", Kind: "figure", Columns: []table.Column{table.Words("figure", "name"), table.Reals("value", "value"), table.Words("", "")}}
	row := func(name string, v table.Cell, note string) { t.Add(table.Word(name), v, table.Word(note)) }
	row("instances per node, R_n", table.Quotient(g.NodeRatio, 2), "how often structure repeats")
	row("memory ratio, R_m", table.Quotient(g.MemoryRatio, 2), fmt.Sprintf("%s unshared, %s shared", numbers.Bytes(g.RawBytes), numbers.Bytes(g.StoredBytes)))
	row("different structures", table.Number(g.Structures), "of "+numbers.Plural(int(g.Locations), "location"))
	row("nodes used once", table.Number(g.SingleUse), g.SingleShare.Percent()+" of the nodes: what does not repeat")
	row("distinct records", table.Number(g.Tuples), "")
	parts := fmt.Sprintf("%s structure, %s columns", numbers.Count(g.StructureBytes), numbers.Count(g.ColumnBytes))
	if g.Bound != nil {
		c.Say("lossy: %s", g.Bound.Text)
		row("classes", table.Number(g.ClassRows), "different timings of nodes, shared by all locations")
		parts += fmt.Sprintf(", %s classes", numbers.Count(g.ClassBytes))
	}
	row("columns", table.Number(g.Columns), "of times and values")
	row("bytes in the file", table.Number(g.Bytes), parts)
	row("bytes per event", table.Quotient(g.BytesPerEvent, 2), fmt.Sprintf("of %s events", numbers.Count(g.Events)))
	if e := g.TimeError; e != nil {
		mean := exact.Share(e.sum[1], e.sum[0], max(g.Events, 1)).Round()
		row("time stamps off by", table.Named(b.Unit.Span(e.Largest), strconv.FormatUint(e.Largest, 10)), fmt.Sprintf("at most; %s on average", b.Unit.Span(uint64(max(mean, 0)))))
	}
	row("bounds", table.PlainNumber(g.Fold), fmt.Sprintf("longest folded loop body; fan-out %d", g.Fan))
	c.Table(t)
	if len(g.Groups) > 1 {
		equal := &table.Table{Title: "Equal locations", Kind: "group", Columns: []table.Column{table.Words("equal locations", "name"), table.Ints("number", "count"), table.Words("locations", "locations"), table.Words("equal in", "")}}
		k := 0
		table.Fill(equal, "group", g.Groups, func(x *Group) []table.Cell {
			what := "structure"
			if x.EqualTimes {
				what = "structure and times"
			}
			k++
			return []table.Cell{table.Word(fmt.Sprintf("group %d", k-1)), table.Number(x.Count), table.Named(numbers.Clean(x.Locations, 60), x.Locations), table.Word(what)}
		})
		c.Table(equal)
	}
	c.Line(table.FindingLine, g.Finding)
}
