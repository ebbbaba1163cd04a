package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// RegionInterval is what a region did in an interval. Of a call that crosses a border only the part inside counts.
type RegionInterval struct {
	Region    uint32 // reference; trace.Undefined: outside all calls
	Calls     uint64 // begun in the interval
	Touching  uint64 // begun in the interval, or open at its begin
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks with at least one open call of the region
}

// Interval is what a set of locations did in [Begin, End).
type Interval struct {
	Begin, End    trace.Time
	Events        uint64 // a time stamp t with Begin <= t < End, as for all counts
	Sent          uint64 // messages
	SentBytes     uint64
	Received      uint64 // messages; those of MPI_Irecv when they complete
	ReceivedBytes uint64
	Regions       []RegionInterval // ascending; without regions that did nothing
	// Bound is how far any of the times may be wrong, in ticks; 0 if lossless. Counts and bytes are exact, except for events whose stored
	// times are on the other side of a border, at most Bound ticks from it.
	Bound uint64
}

// roster has the nodes and columns that intervals count.
type roster struct {
	regions  []uint32   // ascending
	calls    []numbered // Calls, with the place of their region
	messages []numbered // Events, with sent or received
	bytes    []numbered // columns, with sent or received
}

type numbered struct {
	id uint32
	n  int32
}

// list returns the roster. It makes it on first use.
func (x *Index) list() *roster {
	if x.roster != nil {
		return x.roster
	}
	v := x.loc.view
	r := &roster{regions: []uint32{trace.Undefined}}
	region := func(id uint32) uint32 { return trace.Joined(v.Defs, v.ShapeOf(id).Region(v.Defs)) }
	for _, id := range v.Order {
		if v.Nodes.Kind(id) == graph.KindCall {
			r.regions = append(r.regions, region(id))
		}
	}
	slices.Sort(r.regions)
	r.regions = slices.Compact(r.regions)
	seen := map[numbered]bool{}
	for _, id := range v.Order {
		h := v.ShapeOf(id)
		switch {
		case v.Nodes.Kind(id) == graph.KindCall:
			r.calls = append(r.calls, numbered{id, r.place(region(id))})
		case h.Class == graph.ClassEvent && isMessage(h.Kind):
			n := numbered{id, int32(Sent)}
			if h.Kind == trace.MpiRecv || h.Kind == trace.MpiIrecv {
				n.n = int32(Received)
			}
			r.messages = append(r.messages, n)
			slot, _ := v.ValueSlots(h, id, graph.StepEvent) // the length is the first value of each of them
			if k := (numbered{uint32(v.Column[slot]), n.n}); !seen[k] {
				seen[k] = true
				r.bytes = append(r.bytes, k)
			}
		}
	}
	x.roster = r
	return r
}

func isMessage(k trace.Kind) bool {
	switch k {
	case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv:
		return true
	}
	return false
}

func (r *roster) place(region uint32) int32 {
	i, _ := slices.BinarySearch(r.regions, region)
	return int32(i)
}

// Interval returns what the location did in [begin, end). It takes two seeks and differences of sums at both ends: O(nodes + columns). On
// its first use it finds which calls the gaps of each column lie in; if those of a column lie in several, it reads the location once.
func (x *Index) Interval(begin, end trace.Time) (Interval, error) {
	iv := Interval{Begin: begin, End: end}
	if begin > end {
		return iv, fmt.Errorf("call graph: interval from %d to %d: %w", begin, end, ErrRange)
	}
	if err := x.openBorders(); err != nil {
		return iv, err
	}
	r := x.list()
	rows := make([]RegionInterval, len(r.regions))
	for i := range rows {
		rows[i].Region = r.regions[i]
	}
	for i, g := range []*ledger{x.flat, x.open} {
		before, err := g.until(x.left, begin, nil)
		if err != nil {
			return iv, err
		}
		after, err := g.until(x.right, end, nil)
		if err != nil {
			return iv, err
		}
		for s := range after {
			ticks := after[s]
			if s < len(before) {
				ticks -= before[s]
			}
			if i == 0 {
				rows[r.place(g.states.region[s])].Exclusive += ticks
				continue
			}
			for n := int32(s); n > 0; n = g.states.parent[n] {
				rows[r.place(g.states.region[n])].Inclusive += ticks
			}
		}
	}
	if err := x.counts(&iv, rows); err != nil {
		return iv, err
	}
	for _, row := range rows {
		if row != (RegionInterval{Region: row.Region}) {
			iv.Regions = append(iv.Regions, row)
		}
	}
	iv.Bound = x.intervalBound()
	return iv, nil
}

// openBorders makes what intervals need.
func (x *Index) openBorders() error {
	if x.left == nil {
		x.left, x.right = x.ownCursor(), x.ownCursor()
		x.left.met, x.right.met = make([]uint64, x.loc.view.Nodes.Len()+1), make([]uint64, x.loc.view.Nodes.Len()+1)
	}
	if err := x.openFlat(); err != nil {
		return err
	}
	return x.openLedger(&x.open, byContext)
}

// openFlat makes the ledger of innermost regions.
func (x *Index) openFlat() error { return x.openLedger(&x.flat, byRegion) }

// counts sets what is counted between the two borders.
func (x *Index) counts(iv *Interval, rows []RegionInterval) error {
	r, left, right := x.list(), x.left, x.right
	if left.next > right.next {
		return x.loc.damaged("marks contradict the gaps")
	}
	iv.Events = right.next - left.next
	for _, c := range r.calls {
		n := right.met[c.id] - left.met[c.id]
		rows[c.n].Calls += n
		rows[c.n].Touching += n
	}
	for _, m := range r.messages {
		n := right.met[m.id] - left.met[m.id]
		if m.n == int32(Sent) {
			iv.Sent += n
		} else {
			iv.Received += n
		}
	}
	for _, k := range r.bytes {
		to, err := x.sums.before(int32(k.id), right.pos[k.id])
		if err != nil {
			return err
		}
		from, err := x.sums.before(int32(k.id), left.pos[k.id])
		if err != nil {
			return err
		}
		sum := &iv.SentBytes
		if k.n == int32(Received) {
			sum = &iv.ReceivedBytes
		}
		if !addTimes(sum, to-from, 1) {
			return fmt.Errorf("call graph: location %d: bytes of messages exceed 64 bits: %w", x.loc.p, graph.ErrLimit)
		}
	}
	depth, err := left.across(iv.Begin)
	if err != nil {
		return err
	}
	v := x.loc.view
	for i := range left.walk.Stack {
		if q := &left.walk.Stack[i]; q.Kind == graph.KindCall && depth > 0 {
			rows[r.place(trace.Joined(v.Defs, v.ShapeOf(q.Id).Region(v.Defs)))].Touching++
			depth--
		}
	}
	return nil
}

// nearSteps is how many steps across tries before it seeks.
const nearSteps = 64

// across returns how many of the calls that are open before the cursor, after SeekTime(t), are still open after t.
func (c *Cursor) across(t trace.Time) (int, error) {
	at, depth := c.next, len(c.calls)
	for range nearSteps {
		if depth == 0 {
			break
		}
		s, ok := c.Next()
		if !ok || s.Time > t {
			if !ok {
				depth = 0
			}
			return depth, c.SeekEvent(at)
		}
		depth = min(depth, len(c.calls))
	}
	if err := c.SeekEvent(at); err != nil || depth == 0 {
		return 0, err
	}
	o := c.x.scouting()
	if err := o.after(t); err != nil {
		return 0, err
	}
	depth = 0
	for i := range min(len(c.walk.Stack), len(o.walk.Stack)) { // the same instances
		a, b := &c.walk.Stack[i], &o.walk.Stack[i]
		if a.Id != b.Id {
			break
		}
		if a.Kind == graph.KindCall {
			depth++
		}
		if a.At != b.At {
			break
		}
	}
	return depth, nil
}

// intervalBound returns how far times between the two borders may be wrong: by the gaps between them, and at the borders.
func (x *Index) intervalBound() uint64 {
	d := x.loc.Deviation()
	if d.Lossless() {
		return 0
	}
	first := x.loc.first
	bound := d.StoredBound(x.right.next-x.left.next+1, uint64(x.right.time-x.left.time))
	for _, c := range []*Cursor{x.left, x.right} {
		bound = min(bound+d.TimeBound(c.next, uint64(c.time-first)), graph.Farthest)
	}
	return bound
}

// Add adds what other locations did in the same interval, in any order. It fails if a sum exceeds 64 bits.
func (iv *Interval) Add(o *Interval) error {
	if iv.Begin != o.Begin || iv.End != o.End {
		return fmt.Errorf("call graph: intervals [%d, %d) and [%d, %d) do not add up: %w", iv.Begin, iv.End, o.Begin, o.End, ErrRange)
	}
	var over bool
	add := func(sum *uint64, n uint64) { over = !addTimes(sum, n, 1) || over }
	add(&iv.Events, o.Events)
	add(&iv.Sent, o.Sent)
	add(&iv.SentBytes, o.SentBytes)
	add(&iv.Received, o.Received)
	add(&iv.ReceivedBytes, o.ReceivedBytes)
	for _, r := range o.Regions {
		i, ok := slices.BinarySearchFunc(iv.Regions, r.Region, func(a RegionInterval, region uint32) int { return cmp.Compare(a.Region, region) })
		if !ok {
			iv.Regions = slices.Insert(iv.Regions, i, RegionInterval{Region: r.Region})
		}
		q := &iv.Regions[i]
		add(&q.Calls, r.Calls)
		add(&q.Touching, r.Touching)
		add(&q.Exclusive, r.Exclusive)
		add(&q.Inclusive, r.Inclusive)
	}
	iv.Bound = min(iv.Bound+o.Bound, graph.Farthest)
	if over {
		return fmt.Errorf("call graph: a sum over locations exceeds 64 bits: %w", graph.ErrLimit)
	}
	return nil
}
