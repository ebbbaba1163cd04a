package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
)

// Paths is the call-path profile: what every chain of open regions took, over
// the chosen processes, from the call graph.
type Paths struct {
	Source Source `json:"source"` // the graph
	Ranks  string `json:"ranks"`
	Paths  []Path `json:"paths"` // depth first; the first is outside all calls
	Time   uint64 `json:"time"`  // of all locations, first to last event
	Bound  *Bound `json:"bound"`
}

// Path is one chain of regions. Times are ticks.
type Path struct {
	Parent    int    `json:"parent"` // number of the path without its last region, -1 of the first
	Depth     int    `json:"depth"`
	Region    uint32 `json:"region"`
	Name      string `json:"name"`
	Calls     uint64 `json:"calls"`                     // that were recorded
	Samples   uint64 `json:"samples,omitempty"`         // with the whole path
	Estimated uint64 `json:"estimated_calls,omitempty"` // calls that calling contexts alone tell of
	Inclusive uint64 `json:"inclusive"`
	Exclusive uint64 `json:"exclusive"`
	Share     Ratio  `json:"share"` // inclusive, of the time of all locations

	// How far times from a lossy graph may be off; nil: exact.
	InclusiveOff *uint64 `json:"inclusive_deviation,omitempty"`
	ExclusiveOff *uint64 `json:"exclusive_deviation,omitempty"`
}

// Paths adds up the call paths of the chosen processes.
func (r *Run) Paths(ranks Ranks) (*Paths, []Lost, error) {
	p := &Paths{Source: SourceGraph, Ranks: ranks.String(), Paths: []Path{}}
	var sum ccg.PathProfile
	var dev ccg.Deviation
	lost, err := r.eachReader(ranks, "paths", func(g *GraphReader) error {
		dev = g.dev
		return sum.Add(g.loc)
	})
	if err != nil {
		return nil, lost, err
	}
	list, err := sum.Paths()
	if err != nil {
		return nil, lost, fmt.Errorf("%s: %w", r.Name, err)
	}
	p.Bound = r.boundOf(dev)
	time := uint64(0)
	for _, x := range list {
		time += x.Exclusive
	}
	p.Time = time
	for i, x := range list {
		y := Path{
			Parent: x.Parent, Depth: x.Depth, Region: x.Region, Name: r.RegionName(x.Region),
			Calls: x.Calls - x.Estimated, Samples: x.Samples, Estimated: x.Estimated, Inclusive: x.Inclusive, Exclusive: x.Exclusive, Share: ratio64(x.Inclusive, p.Time),
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
func (p *Paths) chapter(d *Document, b *book, c *chapter) {
	u := b.unit
	c.title = fmt.Sprintf("call paths, %s %s in %s", u.ticks(p.Time), u.name(), plural(max(len(p.Paths)-1, 0), "path"))
	c.noteGraph(SourceGraph, p.Bound)
	var sum sampling
	for i := range p.Paths {
		sum.add(p.Paths[i].Samples, p.Paths[i].Estimated)
	}
	sum.note(c, d.run)
	t := &Table{Title: "Call paths by inclusive time", Columns: append([]Column{
		words("path", "path"), ints("", "region").hidden(), ints("calls", "calls"), ints(u.of("inclusive"), "inclusive"), reals("share", "share"), ints(u.of("exclusive"), "exclusive"),
		ints("inclusive ±", "inclusive_deviation"), ints("exclusive ±", "exclusive_deviation"),
	}, sum.columns()...)}
	row := func(i *int) []Cell {
		x := &p.Paths[*i]
		calls := number(x.Calls)
		if x.Estimated > 0 && x.Calls == 0 {
			calls = none()
		}
		label := Cell{Text: clean(x.Name, 60), Value: strings.Join(p.names(*i), " > "), level: min(max(x.Depth-1, 0), 30)}
		return append([]Cell{label, plainNumber(x.Region), calls, u.time(x.Inclusive), share(x.Share), u.time(x.Exclusive), u.off(x.InclusiveOff), u.off(x.ExclusiveOff)},
			sum.cells(x.Samples, x.Estimated)...)
	}
	shown := p.largest(b.rows + 1)
	if len(shown) > 0 {
		if x := &p.Paths[0]; x.Exclusive > 0 { // not a call: what is inside lies below
			t.add(word(x.Name), none(), none(), none(), none(), u.time(x.Exclusive), u.off(x.InclusiveOff), u.off(x.ExclusiveOff))
		}
		fill(t, "path", shown[1:], row)
		t.parts[len(t.parts)-1].n = len(p.Paths) - 1
	}
	c.table(t)
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
