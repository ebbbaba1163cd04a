package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// compareChannels checks that every row is in exactly one channel, its own.
func (c *locationCheck) compareChannels() error {
	var sum, entries uint64
	var bytes [3]uint64 // by direction
	rows := c.chans.Rows(0, c.chans.Len())
	for i := range c.channels {
		x := &c.channels[i]
		c.counts.channels++
		for k := uint64(0); k < x.Count && rows.Next(); k++ {
			n := xtf.U64(rows.Row(), 0)
			if m, ok := c.maybe[n]; ok && x.Direction == xtf.ChannelSend {
				c.entries += m.entry
				c.carried[xtf.ChannelSend] += m.bytes
				delete(c.maybe, n)
			}
			sum += spread(x.Key, uint64(x.Tag)<<2|uint64(x.Direction), n)
			entries++
		}
		bytes[min(x.Direction, xtf.ChannelColl)] += x.Bytes
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if entries != c.chans.Len() {
		c.add("CHANNEL", nil, "the channels have %d entries, CHAN has %d", entries, c.chans.Len())
	}
	if sum != c.entries {
		c.add("CHAN", nil, "the channels' entries are not the rows of P2P and COLL")
	}
	if bytes != c.carried {
		c.add("CHANNEL", nil, "channels carry %d bytes (sent, received, collective), the rows %d", bytes, c.carried)
	}
	return nil
}

// compareSums compares COMP with the sums of the rows.
func (c *locationCheck) compareSums() error {
	dir, err := c.r.File.Dir(xtf.Proc(c.p))
	if err != nil {
		return err
	}
	v := &c.sums
	v[xtf.ItemEvents] = dir.Events
	v[xtf.ItemFirst], v[xtf.ItemLast] = c.stored[xtf.ItemFirst], c.stored[xtf.ItemLast] // no row has them
	v[xtf.ItemTime] = v[xtf.ItemLast] - min(v[xtf.ItemFirst], v[xtf.ItemLast])
	if c.r.Kept.Has(withoutInit) {
		v[xtf.ItemTime] = c.program.clip(0, xtf.Never)
	}
	if stored := c.stored[xtf.ItemMarker]; v[xtf.ItemMarker] > 0 && stored > v[xtf.ItemMarker] {
		v[xtf.ItemMarker] = stored // markers of two calls reach from the first to the second
	}
	c.overhead()
	v.Derive()
	for i := range xtf.NumItems {
		if (i <= xtf.ItemLast || i >= xtf.ItemDeviceCall && c.stored[xtf.ItemMeasured] > 0) && v[i] != c.stored[i] {
			c.add("COMP", nil, "%s is %d, the rows add up to %d", i, c.stored[i], v[i])
		}
	}
	return nil
}

// overhead allows for what records tell: it has no rows, and lies outside MPI.
func (c *locationCheck) overhead() {
	v := &c.sums
	told := c.stored[xtf.ItemOverhead] - min(c.stored[xtf.ItemOverhead], v[xtf.ItemOverhead])
	if told == 0 {
		return
	}
	v[xtf.ItemOverhead] += told
	for _, x := range xtf.States {
		if i := x.Item; x.Flag != 0 && c.stored[i] < v[i] { // a call that such a record takes time from
			v[i] = c.stored[i]
		}
	}
}

// compareProfile compares TIMEBIN with the calls.
func (c *locationCheck) compareProfile() error {
	t := results.NewProfileTable(c.r)
	if err := t.Add(xtf.Proc(c.p)); err != nil {
		return err
	}
	last := len(t.Sums) - 1
	t.Sums[last].Sums[1] = c.profile[last].Sums[1] // inclusive time of unknown regions is not told apart
	eachUnlike(c.r, t.Sums, c.profile, func(what string, got, want uint64) {
		c.add("TIMEBIN", nil, "%s: %d, the rows add up to %d", what, got, want)
	})
	return nil
}

// eachUnlike calls f for the sums of regions that differ from exact ones by more than they may be off.
func eachUnlike(r *results.Run, got, exact []results.RegionSum, f func(what string, got, exact uint64)) {
	for i := range got {
		region := "undefined regions"
		if i < len(r.Defs.Regions) {
			region = numbers.Clean(r.RegionName(r.Defs.Regions[i].Ref), 60)
		}
		off := [...]uint64{1: got[i].Off[0], 2: got[i].Off[1], 3: 0} // of times alone
		for k, what := range [...]string{"calls", "inclusive", "exclusive", "bytes"} {
			if a, b := got[i].Sums[k], exact[i].Sums[k]; max(a, b)-min(a, b) > off[k] {
				f(what+" of "+region, a, b)
			}
		}
	}
}

// instance is a collective operation, from its members' rows.
type instance struct {
	lastEnter, firstLeave, lastLeave uint64    // of the members
	said                             [3]uint64 // what the first member's row says
	members                          uint64
}

// maxInstances bounds the memory for collectives.
const maxInstances = 4 << 20

// collectives checks that the members of each operation agree about it, and
// that what they say is the latest and earliest of them all.
func (v *Verified) collectives(r *results.Run) error {
	comms := map[uint32][]instance{}
	total := uint64(0)
	for p := range trace.P(r.Defs.NumLocations()) {
		a, err := r.File.Array(xtf.Proc(p), xtf.TypeColl)
		if err != nil {
			return err
		}
		if total += a.Len(); total > maxInstances {
			v.skip("collectives: more than %d rows, members are not compared", maxInstances)
			return nil
		}
		err = results.EachRow(a, 0, a.Len(), func(x *xtf.Coll) {
			if x.Ordinal < total && !r.Defs.IsSelf(x.Comm) {
				comms[x.Comm] = join(comms[x.Comm], x)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(comms)) {
		for i, x := range comms[ref] {
			if got := [3]uint64{x.lastEnter, x.firstLeave, x.lastLeave}; x.members > 0 && got != x.said {
				v.add("COLL", "communicator %d, collective %d: last enter, first and last leave are %d, the rows of its %d members say %d", ref, i, got, x.members, x.said)
			}
		}
	}
	return nil
}

func join(list []instance, x *xtf.Coll) []instance {
	for uint64(len(list)) <= x.Ordinal {
		list = append(list, instance{firstLeave: xtf.Never})
	}
	i := &list[x.Ordinal]
	said := [3]uint64{x.LastEnter, x.FirstLeave, x.LastLeave}
	if i.members == 0 {
		i.said = said
	} else if i.said != said {
		i.said = [3]uint64{xtf.Never, xtf.Never, xtf.Never} // members disagree: equal to nothing
	}
	i.members++
	i.lastEnter, i.firstLeave, i.lastLeave = max(i.lastEnter, x.Post), min(i.firstLeave, x.End), max(i.lastLeave, x.End)
	return list
}

// whole compares the whole run's rows with those of the locations, or with
// their graphs where there are no rows.
func (v *Verified) whole(r *results.Run, all *results.ProfileTable) error {
	if err := v.codes(r); err != nil {
		return err
	}
	if all.From == results.SourceGraph && all.Shared == nil {
		return nil // told with the graph
	}
	t := results.NewProfileTable(r)
	if err := t.Add(xtf.WholeRun); err != nil {
		return err
	}
	var events uint64
	for p := range trace.P(r.Defs.NumLocations()) {
		if err := all.AddLocation(p); err != nil {
			return err
		}
		dir, err := r.File.Dir(xtf.Proc(p))
		if err != nil {
			return err
		}
		events += dir.Events
	}
	eachUnlike(r, all.Sums, t.Sums, func(what string, sum, row uint64) {
		v.add("TIMEBIN", "%s: the whole run's row has %d, the locations add up to %d", what, row, sum)
	})
	dir, err := r.File.Dir(xtf.WholeRun)
	if err == nil && dir.Events != events {
		v.add("DIRECTORY", "%d events in the whole run, %d in its locations", dir.Events, events)
	}
	return err
}

// codes compares the totals of diagnostics with those of the locations; the
// definitions add to the whole run's only.
func (v *Verified) codes(r *results.Run) error {
	whole, err := r.Codes()
	if err != nil {
		return err
	}
	sum := map[trace.Code]*results.CodeTotal{}
	for p := range xtf.Proc(r.File.Procs()) {
		err := results.Load(r, p, func(d *xtf.Diag) {
			if d.Detail != xtf.DiagTotal {
				return
			}
			t := sum[trace.Code(d.Code)]
			if t == nil {
				t = &results.CodeTotal{Code: trace.Code(d.Code)}
				sum[t.Code] = t
			}
			t.Count += d.Count
			t.Worst = max(t.Worst, d.Worst)
			t.Locations++
		})
		if err != nil {
			return fmt.Errorf("location %d: diagnostics: %w", r.Defs.Location(trace.P(p)).Ref, err)
		}
	}
	if !slices.IsSortedFunc(whole, func(a, b results.CodeTotal) int { return cmp.Compare(a.Code, b.Code) }) {
		v.add("DIAG", "codes of the whole run are not in order")
	}
	for _, w := range whole {
		got := sum[w.Code]
		if got == nil {
			got = &results.CodeTotal{}
		}
		if w.Locations != got.Locations || w.Count < got.Count || w.Worst < got.Worst || w.Locations > 0 && w.Count < w.Locations {
			v.add("DIAG", "%s: %d in %d locations, the locations have %d in %d", results.CodeName(w.Code), w.Count, w.Locations, got.Count, got.Locations)
		}
		delete(sum, w.Code)
	}
	if len(sum) > 0 {
		v.add("DIAG", "%d codes of locations are not in the whole run", len(sum))
	}
	return nil
}
