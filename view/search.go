package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of a search.
const (
	mostQuery   = 256
	longestBins = 256 // bins of the run, of each of which the longest call is found
)

// find is a search in progress.
type find struct {
	x     *run
	limit int
	to    *Search
}

func getSearch(ctx context.Context, p *params) (any, error) {
	q, limit := p.text("q", mostQuery), p.limit(50, 1000)
	if p.err != nil {
		return nil, p.err
	}
	f := &find{x: p.run, limit: limit, to: &Search{Query: q, Hits: []Hit{}}}
	text := strings.ToLower(strings.TrimSpace(q))
	if text == "" {
		return f.to, nil
	}
	isTime := strings.HasPrefix(text, "#") || strings.HasSuffix(text, "s") || strings.HasSuffix(text, "%")
	if t, err := results.Instant(f.x.Run, "", text); isTime && err == nil && t >= f.x.first && t <= f.x.last {
		f.add(Hit{Kind: "time", Label: text, Detail: fmt.Sprintf("tick %d", t), Begin: &t})
	}
	f.rank(text)
	if rest, ok := strings.CutPrefix(text, "longest"); ok && p.run.meta.Rows {
		if err := f.longest(ctx, strings.TrimSpace(rest)); err != nil {
			return nil, err
		}
	}
	f.regions(text)
	if err := f.intervals(text); err != nil {
		return nil, err
	}
	return f.to, f.locations(ctx, text)
}

// add adds a hit if there is room, else it counts it.
func (f *find) add(h Hit) {
	if len(f.to.Hits) < f.limit {
		f.to.Hits = append(f.to.Hits, h)
	} else {
		f.to.More++
	}
}

// rank finds "rank 17" and numbers.
func (f *find) rank(text string) {
	n, err := parseDecimal(strings.TrimSpace(strings.TrimPrefix(text, "rank")))
	if err != nil || n >= uint64(f.x.meta.Processes) || f.x.Defs.Processes()[n].Count == 0 {
		return
	}
	at := int(f.x.Defs.Processes()[n].First)
	f.add(Hit{Kind: "location", Label: "rank " + strconv.FormatUint(n, 10), Detail: "", Location: &at})
}

// regions finds functions by name and file.
func (f *find) regions(text string) {
	for i := range f.x.meta.Regions {
		r := &f.x.meta.Regions[i]
		if !strings.Contains(strings.ToLower(r.Name), text) && !strings.Contains(strings.ToLower(r.File), text) {
			continue
		}
		detail := r.File
		if r.Line > 0 {
			detail += ":" + strconv.FormatUint(uint64(r.Line), 10)
		}
		f.add(Hit{Kind: "region", Label: r.Name, Detail: detail, Region: &i})
	}
}

func (f *find) intervals(text string) error {
	tree, err := f.x.tree.of(0, f.x.readTree)
	if err != nil {
		return err
	}
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if strings.Contains(strings.ToLower(n.Label), text) {
			detail := strconv.FormatUint(n.Executions, 10) + " executions"
			f.add(Hit{Kind: "interval", Label: n.Label, Detail: detail, Node: &n.Node, Begin: &n.Begin, End: &n.End})
		}
	}
	return nil
}

// locations finds locations by their own names and those of their processes and machines.
func (f *find) locations(ctx context.Context, text string) error {
	d := f.x.Defs
	for p := range trace.P(f.x.meta.Locations) {
		if p%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := d.Location(p)
		name := d.Text(l.Name)
		group, node := d.Place(l.Group)
		if strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(group), text) || strings.Contains(strings.ToLower(node), text) {
			at := int(p)
			f.add(Hit{Kind: "location", Label: strings.TrimSpace(group + " " + name), Detail: node, Location: &at})
		}
	}
	return nil
}

// longest finds long calls: the longest one that begins in each of some hundred bins of the run, over all locations. Tiles of the largest
// group name it.
func (f *find) longest(ctx context.Context, name string) error {
	top := uint8(len(f.x.meta.Groups) - 1)
	a, err := f.x.array(0, xtf.TypeTile)
	if err != nil {
		return err
	}
	pyr, err := a.Pyramid(top)
	if err != nil {
		return err
	}
	level := pyr.Level(f.x.first, f.x.end(), longestBins)
	n1, n2, err := pyr.Find(level, f.x.first, f.x.end())
	if err != nil {
		return err
	}
	var bins []xtf.Tile
	err = a.Each(n1, min(n2, n1+8*longestBins), func(_ uint64, row []byte) bool {
		var t xtf.Tile
		if t.Load(row); t.Longest != xtf.Never {
			bins = append(bins, t)
		}
		return true
	})
	if err != nil {
		return err
	}
	var hits []Hit
	for i := range bins {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := f.longCall(&bins[i], top, level)
		if err != nil {
			return err
		}
		if h != nil && strings.Contains(strings.ToLower(h.Label), name) {
			hits = append(hits, *h)
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(*b.End-*b.Begin, *a.End-*a.Begin) })
	for _, h := range hits {
		f.add(h)
	}
	return nil
}

// longCall reads the call that a tile of a group names: the tile has the location, and that location's tile has the row.
func (f *find) longCall(t *xtf.Tile, f0, level uint8) (*Hit, error) {
	p, n := trace.P(0), t.Longest
	if f0 > 0 {
		if t.Longest >= uint64(f.x.meta.Locations) {
			return nil, nil
		}
		p = trace.P(t.Longest)
		a, err := f.x.array(p, xtf.TypeTile)
		if err != nil {
			return nil, err
		}
		first, _ := xtf.BinSpan(t.Key)
		own, ok, err := xtf.Find[xtf.Tile](a, xtf.BinKey(level, first>>(2*level)))
		if err != nil || !ok {
			return nil, err
		}
		n = own.Longest
	}
	if n == xtf.Never {
		return nil, nil
	}
	c, err := results.Referred[xtf.Call](f.x.Run, uint32(p), n)
	if err != nil {
		return nil, err
	}
	v, at := f.x.callOf(n, &c), int(p)
	return &Hit{
		Kind: "call", Label: v.Name, Detail: fmt.Sprintf("%d ticks on location %d", v.End-v.Begin, at), Region: &v.Region,
		Location: &at, N: &v.N, Begin: &v.Begin, End: &v.End,
	}, nil
}
