package verify

import (
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
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
	t := results.NewProfileTable(c.r)
	t.Shared = shared
	whole, err := t.PutGraph(l)
	if err != nil {
		return err
	}
	c.graphTime(l, whole, shared.Options().Deviation)
	found, err := results.Occurrences(c.r, c.p)
	if err != nil {
		return err
	}
	// With tasks, rows have a stack for each and lack calls that moved; the graph has one stack and all records.
	tasks := slices.ContainsFunc(found, func(o results.Occurrence) bool { return o.Code == trace.DiagSuspended || o.Code == trace.DiagMigrated })
	c.graphCounts(t, whole, !tasks)
	if tasks || !c.rows {
		return nil
	}
	eachUnlike(c.r, t.Sums, c.profile, func(what string, got, want uint64) {
		c.add("call graph", nil, "%s: %d, the rows add up to %d", what, got, want)
	})
	return c.graphCalls(l)
}

// graphCalls compares every call of the graph with its row: both are in the order
// of their enters. Times of a lossy graph are off by no more than the largest
// error that the analysis counted.
func (c *locationCheck) graphCalls(l *ccg.Location) error {
	a, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeCall)
	if err != nil {
		return err
	}
	origin := l.First() - trace.Time(c.stored[xtf.ItemFirst])
	off := l.ErrorStats().Largest
	far := func(t trace.Time, row uint64) bool {
		return max(uint64(t-origin), row)-min(uint64(t-origin), row) > off
	}
	var ends []uint64 // of open calls
	var x xtf.Call
	rows, walk := a.Rows(0, a.Len()), l.Cursor()
	for {
		s, ok := walk.Next()
		switch {
		case !ok:
			if walk.Err() == nil && rows.Next() {
				c.at("CALL", rows.N(), "not in the call graph")
			}
			return errors.Join(walk.Err(), rows.Err())
		case s.Move == ccg.Enters:
			if !rows.Next() {
				c.add("call graph", nil, "event %d enters a call without a row", s.Event)
				return rows.Err()
			}
			x.Load(rows.Row())
			if x.Region != s.Region || far(s.Time, x.T) {
				c.at("CALL", rows.N(), "region %d at tick %d; event %d of the call graph is region %d at %d", x.Region, x.T, s.Event, s.Region, s.Time-origin)
			}
			ends = append(ends, x.End)
		case s.Move == ccg.Leaves:
			if end := ends[len(ends)-1]; far(s.Time, end) {
				c.add("call graph", nil, "event %d leaves region %d at tick %d, the row of the call ends at %d", s.Event, s.Region, s.Time-origin, end)
			}
			ends = ends[:len(ends)-1]
		}
	}
}

// graphTime compares the sum of all gaps with the location's time.
func (c *locationCheck) graphTime(l *ccg.Location, g *results.GraphSums, d ccg.Deviation) {
	want := c.stored[xtf.ItemTime]
	if c.r.Kept.Has(withoutInit) {
		want = c.stored[xtf.ItemLast] - min(c.stored[xtf.ItemFirst], c.stored[xtf.ItemLast])
	}
	if got := g.Time; max(got, want)-min(got, want) > d.StoredBound(max(l.Events(), 1)-1, got) {
		c.add("call graph", nil, "%d ticks from the first to the last event, the location has %d", got, want)
	}
}

// graphCounts compares bytes and counts, those of calls only if asked, with the components.
func (c *locationCheck) graphCounts(t *results.ProfileTable, g *results.GraphSums, ofCalls bool) {
	calls := uint64(0)
	for i := range t.Sums {
		calls += t.Sums[i].Sums[0]
	}
	want := c.stored[xtf.ItemCalls]
	if c.r.Kept.Has(withoutInit) { // the graph has all of them
		want = c.counts.calls
	}
	if ofCalls && calls != want && (c.rows || !c.r.Kept.Has(withoutInit)) {
		c.add("call graph", nil, "%d calls, the location has %d", calls, want)
	}
	var got [len(graphItems)]uint64
	for i := range g.Traffic.Channels {
		x := &g.Traffic.Channels[i]
		k := 2 * int(x.Direction)
		got[k] += x.Count
		got[k+1] += x.Bytes
		got[6] += x.BytesIn
	}
	for k, item := range graphItems {
		if got[k] != c.stored[item] && !c.r.Kept.Has(withoutInit) {
			c.add("call graph", nil, "%s is %d, the location has %d", item, got[k], c.stored[item])
		}
	}
}

// graphItems are the components that channels add up to: count and bytes by
// direction, then what collectives receive.
var graphItems = [...]xtf.Item{
	xtf.ItemSends, xtf.ItemBytesOut, xtf.ItemReceives, xtf.ItemBytesIn, xtf.ItemCollectives, xtf.ItemCollOut, xtf.ItemCollIn,
}
