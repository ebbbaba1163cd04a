package results

import (
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

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

// SummedTypes are the arrays with running totals that a window reads.
var SummedTypes = []xtf.TypeID{xtf.TypeCall, xtf.TypeP2P, xtf.TypeColl, xtf.TypeWait}

// running reads running totals of a location: what its rows have added up to at
// an instant. Every read costs a descent and an aux page of each array, and the
// pages with rows open at that instant, whatever the number of rows.
type running struct {
	arrays []*xtf.Array
	First  uint64 // of the location's time
	Last   uint64
	Cut    bool // what lies outside of that time counts for nothing
	ival   *xtf.Array
}

// Running opens the arrays of location p; what they read is counted in st.
func (r *Run) Running(p trace.P, st *xtf.Stats) (*running, error) {
	v, err := r.Components(p)
	if err != nil {
		return nil, err
	}
	x := &running{First: v[xtf.ItemFirst], Last: v[xtf.ItemLast], Cut: r.Kept.Has("init=exclude")}
	if x.Cut {
		x.First, x.Last = 0, 0
	}
	for _, t := range append(SummedTypes[:len(SummedTypes):len(SummedTypes)], xtf.TypeIval) {
		a, err := r.File.Array(xtf.Proc(p), t)
		if err != nil {
			return nil, r.Failed(xtf.Proc(p), "running totals", err)
		}
		if t == xtf.TypeIval {
			x.ival = a.Counted(st)
			if err := x.setCut(); err != nil {
				return nil, r.Failed(xtf.Proc(p), "executions", err)
			}
			continue
		}
		x.arrays = append(x.arrays, a.Counted(st))
	}
	return x, nil
}

// setCut takes the time without Init and Finalize from the execution of the whole
// program, one of the first rows.
func (x *running) setCut() error {
	if !x.Cut {
		return nil
	}
	iv, ok, err := x.find(0, 0)
	if ok {
		x.First, x.Last = iv.T, iv.End
	}
	return err
}

// find is the k-th execution of a node on the location.
func (x *running) find(node uint32, k uint64) (iv xtf.Ival, ok bool, err error) {
	rows := xtf.RowsOf[xtf.Ival](x.ival.Rows(0, x.ival.Len()))
	for rows.Next() {
		if rows.Row.Node == node && rows.Row.Execution == k {
			return rows.Row, true, nil
		}
	}
	return iv, false, rows.Err()
}

// Between returns the items of [begin, end). The time is that of the location in
// there; without Init and Finalize (--init=exclude) all else is too. Times are clipped at the borders, counts and bytes are
// of what begins in there, receives and their values of what completes in there
// or at its end.
func (x *running) Between(begin, end uint64) (interval.Items, error) {
	var v interval.Items
	if x.Cut {
		begin, end = max(begin, x.First), min(end, x.Last)
		end = max(begin, end)
	}
	for _, a := range x.arrays {
		if !a.HasSums() {
			continue
		}
		sums, err := a.SumsBetween(begin, end)
		if err != nil {
			return v, err
		}
		for k, n := range sums {
			switch item, less := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[k].Name); {
			case item == xtf.NumItems:
			case less:
				v[item] -= min(v[item], n)
			default:
				v[item] += n
			}
		}
	}
	from, to := max(begin, x.First), min(end, x.Last)
	if from >= to {
		from, to = 0, 0
	}
	v[xtf.ItemTime] = to - from
	v[xtf.ItemFirst], v[xtf.ItemLast] = from, to
	v.Derive()
	return v, nil
}

// EachWindow calls f with what every chosen process did in the span, of the
// whole program and of every interval with executions in there.
func (s *Survey) EachWindow(o *SurveyOptions, f func(x *ProcessItems)) ([]table.Lost, error) {
	if !s.Run.Rows {
		return nil, s.Run.Failed(xtf.WholeRun, "statistics of a span of time", errNoRows)
	}
	return s.Run.each(o.Ranks, o.Section, func(rank uint32, p trace.Process) error {
		x, err := s.window(rank, p, o.Span)
		if err == nil {
			f(x)
		}
		return err
	})
}

// window is what one process did in a span: times of its first location, the one
// that calls MPI, and the counts of all.
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
		begin, end, ok := span.Begin, span.End, true
		if span.Of != nil {
			if begin, end, ok, err = loc.execution(span.Of); err != nil {
				return nil, err
			}
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

// addTo adds the items of the location in [begin, end) to the process: of the
// whole program, and of the executions of intervals in there, cut at its borders.
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
		case (i < xtf.ItemSendRecv || i >= xtf.ItemDeviceCall) && first: // several executions add up
			to.Values[c.Key] += c.Value
		default:
			to.Join(c, first, true)
		}
	}
	return nil
}

// execution finds the borders of an execution on the location: a descent for
// each of its rows in the way.
func (x *running) execution(e *Execution) (begin, end uint64, ok bool, err error) {
	if e.Node == 0 {
		return x.First, x.Last, e.K == 0 && x.Last > x.First, nil
	}
	iv, ok, err := x.find(e.Node, e.K)
	return iv.T, iv.End, ok, err
}
