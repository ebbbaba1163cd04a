package report

import (
	"math/big"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/xtf"
)

// graph compares the location's call graph with its components, and with its
// rows where it has some. Counts and bytes are equal in every graph, times of a
// lossy one are within its bound.
func (c *locationCheck) graph(shared *ccg.Shared) error {
	if shared == nil {
		return nil
	}
	l, err := c.r.Location(shared, c.p)
	if err != nil {
		return err
	}
	c.counts.graphs++
	if l.Events() != c.stored[xtf.ItemEvents] {
		c.add("call graph", nil, "%d events, the location has %d", l.Events(), c.stored[xtf.ItemEvents])
	}
	t := newProfileTable(c.r)
	t.shared = shared
	whole, err := t.putGraph(l)
	if err != nil {
		return err
	}
	c.graphTime(l, whole, shared.Options().Deviation)
	c.graphCounts(t, whole)
	if !c.rows {
		return nil
	}
	for i := range t.sums {
		if t.sums[i].within(&c.profile[i]) {
			continue
		}
		for k, what := range [...]string{"calls", "inclusive", "exclusive", "bytes"} {
			if got, want := &t.sums[i].sums[k], &c.profile[i].sums[k]; *got != *want {
				c.add("call graph", nil, "%s of %s: %s, the rows add up to %s", what, c.regionAt(i), got.big(), want.big())
			}
		}
	}
	return nil
}

// graphTime compares the sum of all gaps with the location's time.
func (c *locationCheck) graphTime(l *ccg.Location, g *graphSums, d ccg.Deviation) {
	if got, want := g.time, c.stored[xtf.ItemTime]; max(got, want)-min(got, want) > d.StoredBound(max(l.Events(), 1)-1, got) {
		c.add("call graph", nil, "%d ticks from the first to the last event, the location has %d", got, want)
	}
}

// graphCounts compares counts and bytes with the components.
func (c *locationCheck) graphCounts(t *profileTable, g *graphSums) {
	var calls wide
	for i := range t.sums {
		calls.addWide(t.sums[i].sums[0])
	}
	if calls.big().Cmp(integer(c.stored[xtf.ItemCalls])) != 0 {
		c.add("call graph", nil, "%s calls, the location has %d", calls.big(), c.stored[xtf.ItemCalls])
	}
	var got [len(graphItems)]uint64
	for i := range g.traffic.Channels {
		x := &g.traffic.Channels[i]
		k := 2 * int(x.Direction)
		got[k] += x.Count
		got[k+1] += x.Bytes
		got[6] += x.BytesIn
	}
	for k, item := range graphItems {
		if got[k] != c.stored[item] {
			c.add("call graph", nil, "%s is %d, the location has %d", item, got[k], c.stored[item])
		}
	}
}

// graphItems are the components that channels add up to: count and bytes by
// direction, then what collectives receive.
var graphItems = [...]xtf.Item{
	xtf.ItemSends, xtf.ItemBytesOut, xtf.ItemReceives, xtf.ItemBytesIn, xtf.ItemCollectives, xtf.ItemCollOut, xtf.ItemCollIn,
}

// within reports whether sums from a graph fit exact ones.
func (s *regionSum) within(exact *regionSum) bool {
	for k := range s.sums {
		off := new(big.Int)
		if k == 1 || k == 2 { // times
			off = s.off[k-1].big()
		}
		d := sub(s.sums[k].big(), exact.sums[k].big())
		if d.Abs(d).Cmp(off) > 0 {
			return false
		}
	}
	return true
}
