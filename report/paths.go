package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// Paths is the call-path profile: what every chain of open regions took, over
// the chosen processes, from the call graph.
type Paths struct {
	Source results.Source `json:"source"` // the graph
	Ranks  string         `json:"ranks"`
	Paths  []Path         `json:"paths"` // depth first; the first is outside all calls
	Time   uint64         `json:"time"`  // of all locations, first to last event
	Bound  *results.Bound `json:"bound"`
}

// Path is one chain of regions. Times are ticks.
type Path struct {
	Parent    int           `json:"parent"` // number of the path without its last region, -1 of the first
	Depth     int           `json:"depth"`
	Region    uint32        `json:"region"`
	Name      string        `json:"name"`
	Calls     uint64        `json:"calls"`                     // that were recorded
	Samples   uint64        `json:"samples,omitempty"`         // with the whole path
	Estimated uint64        `json:"estimated_calls,omitempty"` // calls that calling contexts alone tell of
	Inclusive uint64        `json:"inclusive"`
	Exclusive uint64        `json:"exclusive"`
	Share     numbers.Ratio `json:"share"` // inclusive, of the time of all locations

	// How far times from a lossy graph may be off; nil: exact.
	InclusiveOff *uint64 `json:"inclusive_deviation,omitempty"`
	ExclusiveOff *uint64 `json:"exclusive_deviation,omitempty"`
}

// NewPaths adds up the call paths of the chosen processes.
func NewPaths(r *results.Run, ranks results.Ranks) (*Paths, []table.Lost, error) {
	p := &Paths{Source: results.SourceGraph, Ranks: ranks.String(), Paths: []Path{}}
	var sum ccg.PathProfile
	var dev ccg.Deviation
	lost, err := lookup.EachReader(r, ranks, "paths", func(g *lookup.GraphReader) error {
		dev = g.Dev
		return sum.Add(g.Loc)
	})
	if err != nil {
		return nil, lost, err
	}
	list, err := sum.Paths()
	if err != nil {
		return nil, lost, fmt.Errorf("%s: %w", r.Name, err)
	}
	p.Bound = r.BoundOf(dev)
	time := uint64(0)
	for _, x := range list {
		time += x.Exclusive
	}
	p.Time = time
	for i, x := range list {
		y := Path{
			Parent: x.Parent, Depth: x.Depth, Region: x.Region, Name: r.RegionName(x.Region),
			Calls: x.Calls - x.Estimated, Samples: x.Samples, Estimated: x.Estimated, Inclusive: x.Inclusive, Exclusive: x.Exclusive, Share: numbers.NewRatio(x.Inclusive, p.Time),
		}
		if i == 0 {
			y.Name = "(outside recorded calls)"
		}
		if p.Bound != nil {
			inclusive, exclusive := dev.StoredBound(x.GapsIn, x.Inclusive), dev.StoredBound(x.Gaps, x.Exclusive)
			y.InclusiveOff, y.ExclusiveOff = &inclusive, &exclusive
		}
		p.Paths = append(p.Paths, y)
	}
	return p, lost, nil
}

// largest returns the numbers of the n paths with most inclusive time as a tree:
// depth first, siblings by falling time. A path is never without its parent.
func (p *Paths) largest(n int) []int {
	order := make([]int, len(p.Paths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Paths[b].Inclusive, p.Paths[a].Inclusive) })
	children := make([][]int, len(p.Paths))
	for _, i := range order[:min(n, len(order))] {
		if x := p.Paths[i].Parent; x >= 0 {
			children[x] = append(children[x], i)
		}
	}
	var list []int
	todo := []int{0}
	for len(todo) > 0 && len(order) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		list = append(list, i)
		for k := range children[i] {
			todo = append(todo, children[i][len(children[i])-1-k])
		}
	}
	return list
}

// chapter has the paths with most inclusive time, at most so many, as a tree.
func (p *Paths) chapter(d *Document, b *table.Book, c *table.Chapter) {
	u := b.Unit
	c.Title = fmt.Sprintf("call paths, %s %s in %s", u.Ticks(p.Time), u.Name(), numbers.Plural(max(len(p.Paths)-1, 0), "path"))
	results.NoteGraph(c, results.SourceGraph, p.Bound)
	var sum results.Sampling
	for i := range p.Paths {
		sum.Add(p.Paths[i].Samples, p.Paths[i].Estimated)
	}
	sum.Note(c, d.run)
	t := &table.Table{Title: "Call paths by inclusive time", Columns: append([]table.Column{
		table.Words("path", "path"), table.Ints("", "region").Hidden(), table.Ints("calls", "calls"), table.Ints(table.Of(u, "inclusive"), "inclusive"), table.Reals("share", "share"), table.Ints(table.Of(u, "exclusive"), "exclusive"),
		table.Ints("inclusive ±", "inclusive_deviation"), table.Ints("exclusive ±", "exclusive_deviation"),
	}, sum.Columns()...)}
	row := func(i *int) []table.Cell {
		x := &p.Paths[*i]
		calls := table.Number(x.Calls)
		if x.Estimated > 0 && x.Calls == 0 {
			calls = table.None()
		}
		label := table.Cell{Text: numbers.Clean(x.Name, 60), Value: strings.Join(p.names(*i), " > "), Level: min(max(x.Depth-1, 0), 30)}
		return append([]table.Cell{label, table.PlainNumber(x.Region), calls, table.Time(u, x.Inclusive), table.Share(x.Share), table.Time(u, x.Exclusive), table.Off(u, x.InclusiveOff), table.Off(u, x.ExclusiveOff)},
			sum.Cells(x.Samples, x.Estimated)...)
	}
	shown := p.largest(b.Rows + 1)
	if len(shown) > 0 {
		if x := &p.Paths[0]; x.Exclusive > 0 { // not a call: what is inside lies below
			t.Add(table.Word(x.Name), table.None(), table.None(), table.None(), table.None(), table.Time(u, x.Exclusive), table.Off(u, x.InclusiveOff), table.Off(u, x.ExclusiveOff))
		}
		table.Fill(t, "path", shown[1:], row)
		t.Parts[len(t.Parts)-1].N = len(p.Paths) - 1
	}
	c.Table(t)
}

// names are the regions of path i, outermost first.
func (p *Paths) names(i int) []string {
	var list []string
	for ; i > 0; i = p.Paths[i].Parent {
		list = append(list, p.Paths[i].Name)
	}
	slices.Reverse(list)
	return list
}
