package results

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Components reads the items of location p.
func (r *Run) Components(p trace.P) (interval.Items, error) {
	var v interval.Items
	err := Load(r, xtf.Proc(p), func(x *xtf.Comp) {
		if x.Key < uint64(xtf.NumItems) { // node 0
			v[x.Key] = x.Value
		}
	})
	return v, r.Failed(xtf.Proc(p), "components", err)
}

// Component reads one item of location p, and adds the cost to st.
func (r *Run) Component(p trace.P, item xtf.Item, st *xtf.Stats) (uint64, error) {
	a, err := xtf.ArrayOf[xtf.Comp](r.File, xtf.Proc(p))
	if err != nil {
		return 0, err
	}
	c, _, err := xtf.Find[xtf.Comp](a.Counted(st), xtf.NodeKey(0, uint32(item))) // the file leaves out zeros
	return c.Value, err
}

// ProcessItems are the components of one process, of all interval nodes.
type ProcessItems struct {
	Rank   uint32
	Values map[uint64]uint64 // by node and item, with keys of xtf.NodeKey; 0 is absent
	device *Devices          // of a survey: the work of its devices
}

// At returns the value of an item of a node.
func (x *ProcessItems) At(n uint32, i xtf.Item) uint64 { return x.Values[xtf.NodeKey(n, uint32(i))] }

// Took reports whether the process executed the node.
func (x *ProcessItems) Took(n uint32) bool {
	if n == 0 {
		return x.At(0, xtf.ItemEvents) > 0 || x.At(0, xtf.ItemTime) > 0
	}
	return x.At(n, xtf.ItemExecutions) > 0
}

// Useful returns the useful time of the process: its computing, and its work with devices.
func (x *ProcessItems) Useful(n uint32, rules Rules) uint64 {
	useful := uint64(0)
	for _, i := range rules.useful() {
		useful += x.At(n, i)
	}
	return useful
}

// Lost returns what the process loses in a component that is not productive.
func (x *ProcessItems) Lost(n uint32, i xtf.Item) uint64 {
	return x.At(n, i) - min(x.At(n, i), x.device.Work(x.Rank, n, i))
}

// Keys returns the keys of all values, ascending.
func (x *ProcessItems) Keys() []uint64 { return slices.Sorted(maps.Keys(x.Values)) }

// EachProcess calls f with the components of every chosen process, one after another. It returns processes that cannot be read as
// lost.
func (r *Run) EachProcess(ranks Ranks, section string, f func(x *ProcessItems)) ([]table.Lost, error) {
	return r.each(ranks, section, func(rank uint32, p trace.Process) error {
		x, err := r.ProcessItems(rank, p)
		if err == nil {
			f(x)
		}
		return err
	})
}

// ProcessItems reads the components of a process and joins its locations.
func (r *Run) ProcessItems(rank uint32, p trace.Process) (*ProcessItems, error) {
	x := &ProcessItems{Rank: rank, Values: map[uint64]uint64{}}
	most := xtf.Most(r.Defs.NumLocations()) * uint64(p.Count)
	begun := map[uint64]bool{} // nodes that an earlier location executed, or has events of
	for i := range trace.P(p.Count) {
		at := p.First + i
		metric := r.Defs.Location(at).Type == trace.MetricLocation
		var own []xtf.Comp
		err := Load(r, xtf.Proc(at), func(c *xtf.Comp) {
			if uint32(c.Key) < uint32(xtf.NumItems) && (!metric || c.Key == uint64(xtf.ItemEvents)) {
				own = append(own, *c)
			}
		})
		if err != nil {
			return nil, r.Failed(xtf.Proc(at), "components", err)
		}
		if !metric {
			own = withZeros(own)
		}
		for _, c := range own {
			if v := x.Join(c, i == 0, begun[c.Key>>32]); v > most {
				return nil, fmt.Errorf("%s: process %d: %s of %d, where sums hold %d: %w", r.Name, rank, xtf.Item(uint32(c.Key)), v, most, xtf.ErrCorrupt)
			}
		}
		for _, c := range own {
			if item := xtf.Item(uint32(c.Key)); !metric && (item == xtf.ItemExecutions || item == xtf.ItemEvents) {
				begun[c.Key>>32] = true
			}
		}
	}
	if p.Count > 1 && !r.cuts() {
		x.spanTime()
	}
	return x, nil
}

// withZeros inserts the rows of first instants at 0, which the file leaves out, into the ascending rows of a location.
func withZeros(own []xtf.Comp) []xtf.Comp {
	var zeros []xtf.Comp
	for i := 0; i < len(own); {
		n := uint32(own[i].Key >> 32)
		missing := []xtf.Item{xtf.ItemFirst, xtf.ItemIdealFirst}
		for ; i < len(own) && uint32(own[i].Key>>32) == n; i++ {
			missing = slices.DeleteFunc(missing, func(x xtf.Item) bool { return x == xtf.Item(uint32(own[i].Key)) })
		}
		for _, x := range missing {
			zeros = append(zeros, xtf.Comp{Key: xtf.NodeKey(n, uint32(x))})
		}
	}
	return append(own, zeros...)
}

// Join adds a value of one location of the process. first: this is the first location. begun: an earlier location executed the
// node. Counts and messages are summed. Other items come from the first location that executed the node; those of the whole
// program come from the first location, which calls MPI. It returns the process's value.
func (x *ProcessItems) Join(c xtf.Comp, first, begun bool) uint64 {
	old := x.Values[c.Key]
	whole := c.Key>>32 == 0
	switch i := xtf.Item(uint32(c.Key)); {
	case whole && i == xtf.ItemFirst:
		if begun {
			c.Value = min(c.Value, old)
		}
	case whole && (i == xtf.ItemLast || i == xtf.ItemExecutions):
		c.Value = max(c.Value, old)
	case i.Adds():
		c.Value += old
	case whole && !first || !whole && begun:
		return old
	}
	x.Values[c.Key] = c.Value
	return c.Value
}

// spanTime makes the whole program's time that from the first to the last event of all locations.
func (x *ProcessItems) spanTime() {
	first, last := x.At(0, xtf.ItemFirst), x.At(0, xtf.ItemLast)
	if x.At(0, xtf.ItemEvents) == 0 || last < first {
		return
	}
	var v interval.Items
	for i := range v {
		v[i] = x.At(0, xtf.Item(i))
	}
	v[xtf.ItemTime] = last - first
	v.Derive()
	for _, i := range [...]xtf.Item{xtf.ItemTime, xtf.ItemCPU, xtf.ItemMeasured} {
		x.Values[uint64(i)] = v[i]
	}
}

// Span is the part [Begin, End) of a run, in ticks.
type Span struct {
	Begin uint64 `json:"begin"`
	End   uint64 `json:"end"`
	// Of limits the span to one execution of an interval, on each process its own.
	Of *Execution `json:"of,omitempty"`
}

// Execution is the K-th execution of a node, from 0, on every process.
type Execution struct {
	Node uint32 `json:"node"`
	K    uint64 `json:"k"`
}

// Life returns the time of location p: from its first to its last event or, if Init and Finalize are left out, the whole
// program's execution. It is read once; 24 bytes a location.
func (r *Run) Life(p trace.P) (*Span, error) {
	if l := r.lives[p].Load(); l != nil {
		return l, nil
	}
	l := &Span{}
	var err error
	if r.cuts() {
		for _, iv := range Begun[xtf.Ival](r, p, 0, xtf.Never, &err) { // one of the first
			if iv.Node == 0 {
				l.Begin, l.End = iv.T, iv.End
				break
			}
		}
	} else if l.Begin, err = r.Component(p, xtf.ItemFirst, nil); err == nil {
		l.End, err = r.Component(p, xtf.ItemLast, nil)
	}
	if err == nil {
		r.lives[p].Store(l)
	}
	return l, r.Failed(xtf.Proc(p), "time of its events", err)
}

// Borders returns the borders of a span on location p; for nil those of all time. ok is false if p does not have the execution
// that the span means.
func (r *Run) Borders(p trace.P, s *Span) (begin, end uint64, ok bool, err error) {
	switch {
	case s == nil:
		return 0, xtf.Never, true, nil
	case s.Of == nil:
		return s.Begin, s.End, true, nil
	case s.Of.Node == 0:
		life, err := r.Life(p)
		return life.Begin, life.End, s.Of.K == 0 && life.End > life.Begin, err
	}
	for _, iv := range Begun[xtf.Ival](r, p, 0, xtf.Never, &err) {
		if iv.Node == s.Of.Node && iv.Execution == s.Of.K {
			return iv.T, iv.End, true, nil
		}
	}
	return 0, 0, false, err
}

// cuts reports whether time before and after the program's execution is ignored.
func (r *Run) cuts() bool { return r.Kept.Has("init=exclude") }

// Limits is a number between a lower and an upper bound, and the best guess.
type Limits struct{ Lower, About, Upper uint64 }

// Add adds a number. The sum stays below 2^63, because values of a damaged location are refused.
func (l *Limits) Add(o Limits) {
	const most = 1<<63 - 1
	l.Lower, l.About, l.Upper = min(l.Lower+o.Lower, most), min(l.About+o.About, most), min(l.Upper+o.Upper, most)
}

// Without returns a number less a part of it.
func (l Limits) Without(part *Limits) Limits {
	return Limits{l.Lower - min(l.Lower, part.Upper), l.About - min(l.About, part.About), l.Upper - min(l.Upper, part.Lower)}
}

// ItemLimits are the items of a location, or of a process, in a window.
type ItemLimits [xtf.NumItems]Limits

// running reads the running totals of a location: the sums of its rows up to an instant. Every read costs a descent and an aux
// page of each array, and the pages with rows open at that instant, whatever the number of rows.
type running struct {
	arrays []*xtf.Array
	ival   *xtf.Array
	most   uint64 // largest sum of a location
	First  uint64 // of the location's time
	Last   uint64
	Cut    bool // time outside of that is ignored
}

// Running opens the arrays of location p with running totals: of the given types, or all. It adds the cost of reads to st.
func (r *Run) Running(p trace.P, st *xtf.Stats, types ...xtf.TypeID) (*running, error) {
	life, err := r.Life(p)
	if err != nil {
		return nil, err
	}
	x := &running{most: xtf.Most(r.Defs.NumLocations()), First: life.Begin, Last: life.End, Cut: r.cuts()}
	if len(types) == 0 {
		types = []xtf.TypeID{xtf.TypeCall, xtf.TypeP2P, xtf.TypeColl, xtf.TypeWait}
	}
	for _, t := range append(types, xtf.TypeIval) {
		a, err := r.File.Array(xtf.Proc(p), t)
		if err != nil {
			return nil, r.Failed(xtf.Proc(p), "running totals", err)
		}
		if a = a.Counted(st); t == xtf.TypeIval {
			x.ival = a
		} else if a.HasSums() {
			x.arrays = append(x.arrays, a)
		}
	}
	return x, nil
}

// Between returns the items of [begin, end), exactly. The time is the part in the location's time; with --init=exclude all other
// items are restricted to that part too. Times are clipped at the borders. Counts and bytes are those of rows that begin inside;
// of receives and their values, those that complete inside or at its end.
func (x *running) Between(begin, end uint64) (v interval.Items, err error) {
	items, err := x.Window(begin, end, true)
	for i := range items {
		v[i] = items[i].About
	}
	if from, to := x.within(begin, end); from < to {
		v[xtf.ItemFirst], v[xtf.ItemLast] = from, to
	}
	return v, err
}

// within returns the part of [begin, end) in the location's time.
func (x *running) within(begin, end uint64) (from, to uint64) {
	from, to = max(begin, x.First), min(end, x.Last)
	return from, max(from, to)
}

// Window returns the items of [begin, end): exactly, as Between does, or from indexes alone. The window from 0 to xtf.Never has
// all rows, and costs nothing.
func (x *running) Window(begin, end uint64, exact bool) (v ItemLimits, err error) {
	from, to := x.within(begin, end)
	if x.Cut && end < xtf.Never {
		begin, end = from, to
	}
	for _, a := range x.arrays {
		if err := x.add(&v, a, begin, end, exact); err != nil {
			return v, err
		}
	}
	time := to - from
	for i := range v {
		if l, item := &v[i], xtf.Item(i); xtf.HasSum(xtf.TypeCall, item) && item != xtf.ItemCalls && item != xtf.ItemMarker { // calls do not overlap, except markers, so they cannot exceed the window
			l.Upper = max(l.Lower, min(l.Upper, time))
			l.About = min(max(l.About, l.Lower), l.Upper)
		}
	}
	v[xtf.ItemTime] = Limits{time, time, time}
	v[xtf.ItemCPU] = v[xtf.ItemTime]
	for _, i := range xtf.AsideItems {
		v[xtf.ItemCPU] = v[xtf.ItemCPU].Without(&v[i])
	}
	v[xtf.ItemMeasured] = v[xtf.ItemTime].Without(&v[xtf.ItemSetup])
	for _, part := range []xtf.Item{xtf.ItemP2P, xtf.ItemColl, xtf.ItemRMA} {
		v[xtf.ItemComm].Add(v[part])
	}
	return v, nil
}

// add adds the running totals of an array between two instants.
func (x *running) add(v *ItemLimits, a *xtf.Array, begin, end uint64, exact bool) error {
	totals := a.Sums().Totals()
	lower, about, upper := totals, totals, totals
	var err error
	switch {
	case begin == 0 && end == xtf.Never:
	case exact:
		about, err = a.Sums().Between(begin, end)
		lower, upper = about, about
	default:
		lower, about, upper, err = a.Sums().Limits(begin, end)
	}
	if err != nil {
		return err
	}
	for k, all := range totals {
		item, less := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[k].Name)
		if item == xtf.NumItems || all > x.most { // other items are left out, as in COMP
			continue
		}
		l := Limits{min(lower[k], all), min(about[k], all), min(upper[k], all)}
		if less {
			v[item] = v[item].Without(&l)
		} else {
			v[item].Add(l)
		}
	}
	return nil
}

// EachWindow calls f with what every chosen process did in the span: in the whole program, and in every interval with executions
// there.
func (s *Survey) EachWindow(o *SurveyOptions, f func(x *ProcessItems)) ([]table.Lost, error) {
	if !s.Run.Rows {
		return nil, s.Run.Failed(xtf.WholeRun, "statistics of a span of time", ErrNoRows)
	}
	return s.Run.each(o.Ranks, o.Section, func(rank uint32, p trace.Process) error {
		x, err := s.window(rank, p, o.Span)
		if err == nil {
			f(x)
		}
		return err
	})
}

// window returns what one process did in a span: the times of its first location, which calls MPI, and the counts of all
// locations.
func (s *Survey) window(rank uint32, p trace.Process, span *Span) (*ProcessItems, error) {
	x := &ProcessItems{Rank: rank, Values: map[uint64]uint64{}}
	for i := range trace.P(p.Count) {
		at := p.First + i
		if s.Run.Defs.Location(at).Type == trace.MetricLocation {
			continue
		}
		loc, err := s.Run.Running(at, &s.Cost)
		if err != nil {
			return nil, err
		}
		begin, end, ok, err := s.Run.Borders(at, span)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := loc.addTo(x, len(s.Nodes), i == 0, begin, end); err != nil {
			return nil, s.Run.Failed(xtf.Proc(at), "running totals", err)
		}
	}
	return x, nil
}

// addTo adds the items of the location in [begin, end) to the process: of the whole program, and of executions of intervals, cut
// at the borders.
func (x *running) addTo(to *ProcessItems, nodes int, first bool, begin, end uint64) error {
	if err := x.addNode(to, 0, first, begin, end); err != nil {
		return err
	}
	var list []xtf.Ival
	err := x.ival.Overlapping(begin, end, func(_ uint64, row []byte) bool {
		var iv xtf.Ival
		iv.Load(row)
		if iv.Node > 0 && uint64(iv.Node) < uint64(nodes) {
			list = append(list, iv)
		}
		return true
	})
	for i := 0; err == nil && i < len(list); i++ {
		err = x.addNode(to, list[i].Node, first, max(begin, list[i].T), min(end, list[i].End))
	}
	return err
}

func (x *running) addNode(to *ProcessItems, n uint32, first bool, begin, end uint64) error {
	v, err := x.Between(begin, end)
	if err != nil {
		return err
	}
	if first {
		to.Values[xtf.NodeKey(n, uint32(xtf.ItemExecutions))]++
	}
	for i := range xtf.NumItems {
		c := xtf.Comp{Key: xtf.NodeKey(n, uint32(i)), Value: v[i]}
		switch {
		case v[i] == 0 && i != xtf.ItemFirst:
		case i == xtf.ItemFirst || i == xtf.ItemLast:
			if n == 0 && v[xtf.ItemTime] > 0 {
				to.Join(c, first, !first)
			}
		case (i < xtf.ItemSendRecv || i >= xtf.ItemDeviceCall) && first: // several executions are summed
			to.Values[c.Key] += c.Value
		default:
			to.Join(c, first, true)
		}
	}
	return nil
}
