package ccg

import (
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// expandBatch is the most events that Next returns.
const expandBatch = 4096

// Expander returns a location's event stream. It is a trace.ChunkReader.
type Expander struct {
	loc     *Location
	walk    *reading
	cursors []column.Cursor // of walk
	places  *graph.Places
	history graph.History
	n       uint64
	err     error
}

// Expand returns the location's events, in order.
func (l *Location) Expand() *Expander {
	x := &Expander{loc: l, walk: l.read(uint64(l.first)), places: graph.NewPlaces(l.shared.Defs), history: graph.History{Counters: graph.NewCounters(l.shared.Defs)}}
	x.cursors = x.walk.cursors
	x.places.Of(l.p)
	return x
}

// Diagnostics returns nothing: defects were counted when the trace was read.
func (x *Expander) Diagnostics() []trace.Diagnostic { return nil }

// Close does nothing.
func (x *Expander) Close() error { return nil }

// Next replaces b by the next events. It returns io.EOF after the last one.
func (x *Expander) Next(b *trace.Batch) error {
	b.Reset()
	b.First = x.n
	if x.err != nil {
		return x.err
	}
	for len(b.Events) < expandBatch {
		st, id, _ := x.walk.step()
		if st == graph.StepEnd {
			x.err = x.finish()
			break
		}
		if st == graph.StepCut {
			continue
		}
		if x.walk.over {
			break
		}
		if x.err = x.event(b, st, id); x.err != nil {
			break
		}
	}
	if err := x.walk.err(); err != nil { // what was read may be zeros: return no events
		x.err = err
	}
	if x.err != nil && x.err != io.EOF {
		b.Reset()
		return x.err
	}
	x.n += uint64(len(b.Events))
	if len(b.Events) > 0 {
		return nil
	}
	return x.err
}

// finish checks that no values are left.
func (x *Expander) finish() error {
	for i := range x.cursors {
		if i != x.loc.view.Marks && !x.cursors[i].Done() {
			return fmt.Errorf("call graph: location %d, column %d: values left over: %w", x.loc.p, i, graph.ErrCorrupt)
		}
	}
	return io.EOF
}

func (x *Expander) corrupt() error {
	return fmt.Errorf("call graph: location %d, event %d: a partner or request that cannot be: %w", x.loc.p, x.n, graph.ErrCorrupt)
}

func (x *Expander) event(b *trace.Batch, st graph.Step, id uint32) error {
	v := x.loc.view
	h := v.ShapeOf(id)
	e := trace.Event{Time: trace.Time(x.walk.time), Arg: uint32(len(b.Args)), Kind: h.Kind, Flags: h.Flags}
	values := v.ValueColumns(id, st)
	w := v.Tuples.At(v.Nodes.Tuple(id))
	switch {
	case st == graph.StepEvent:
		if h.Kind == trace.Leave {
			e.Ref = uint32(w[2])
		} else {
			var ok bool
			if values, ok = x.record(b, h, w, values); !ok {
				return x.corrupt()
			}
		}
		x.tail(b, w[h.TailWord(w):], values, h.Flags)
	case st == graph.StepOpen && h.Kind == trace.Enter:
		e.Ref = h.Ref
		x.tail(b, w[h.EnterList:], values, h.Flags)
	case st == graph.StepOpen:
		b.Args = append(b.Args, uint64(h.Ref), uint64(h.Unwind))
		x.tail(b, w[h.EnterList:], values, h.Flags)
	default:
		e.Kind, e.Flags = trace.Leave, h.Leave&^graph.OtherContext
		if h.Kind == trace.Enter {
			e.Ref = h.Ref
		} else {
			e.Kind = trace.CallingContextLeave
			b.Args = append(b.Args, uint64(h.Left))
		}
		x.tail(b, w[h.LeaveList:], values, h.Leave)
	}
	e.Len = uint32(len(b.Args)) - e.Arg
	b.Events = append(b.Events, e)
	return nil
}

// record appends the fields and the list of an Event. It returns the value slots after them.
func (x *Expander) record(b *trace.Batch, h *graph.Shape, w []uint64, values []int32) ([]int32, bool) {
	r := &graph.Recipes[h.Kind]
	hard := w[2:]
	for i, p := range r.Places {
		var v uint64
		switch p {
		case trace.Number, trace.FromStamp:
			v = x.cursors[values[0]].Next()
			values = values[1:]
			switch {
			case p == trace.FromStamp:
				v = x.walk.time + uint64(column.UnZigZag(v))
			case r.Signed[i]:
				v = uint64(column.UnZigZag(v))
			}
			b.Args = append(b.Args, v)
			continue
		case trace.Hard:
			v = hard[0]
		case trace.Rank:
			comm := uint32(w[r.HardAt(r.Comm)])
			var ok bool
			e := x.loc.shared.Encoding.Of(h, comm)
			if v, ok = x.places.At(comm, r.Window).Decode(e, hard[0]); !ok {
				return values, false
			}
		default:
			var ok bool
			if v, values, ok = x.identifier(p, hard[0], values); !ok {
				return values, false
			}
		}
		hard = hard[1:]
		b.Args = append(b.Args, v)
	}
	switch r.List {
	case trace.MetricList:
		return x.metrics(b, uint32(w[2]), hard[:w[h.EnterList-1]], values), true
	case trace.StringList:
		b.Args = append(b.Args, hard[:w[h.EnterList-1]]...)
	case trace.PayloadList:
		x.bytes(b, (w[h.EnterList-1]+7)/8)
	}
	return values, true
}

func (x *Expander) identifier(p trace.Place, word uint64, values []int32) (uint64, []int32, bool) {
	f, posts := graph.Family(p)
	ids := &x.history.Families[f]
	var id uint64
	ok := true
	switch {
	case word&1 != 0:
		id = x.cursors[values[0]].Next()
		values = values[1:]
	case posts:
		id = ids.Posted(word)
	default:
		id, ok = ids.Used(word)
	}
	if posts {
		ids.Record(id)
	}
	return id, values, ok
}

func (x *Expander) metrics(b *trace.Batch, ref uint32, types []uint64, values []int32) []int32 {
	c := &x.history.Counters
	c.Use(ref, len(types))
	for i, t := range types {
		v := x.cursors[values[i]].Next()
		switch c.Transform(i, trace.ValueType(t)) {
		case graph.ZigZag:
			v = uint64(column.UnZigZag(v))
		case graph.Increment:
			v = c.Vals[i] + uint64(column.UnZigZag(v))
		case graph.XorLast:
			v ^= c.Vals[i]
		}
		c.Vals[i] = v
		b.Args = append(b.Args, t, v)
	}
	return values[len(types):]
}

func (x *Expander) bytes(b *trace.Batch, words uint64) {
	if words == 0 {
		return
	}
	c := &x.cursors[x.loc.view.Bytes]
	for range words {
		if c.Err() != nil {
			return
		}
		b.Args = append(b.Args, c.Next())
	}
}

func (x *Expander) tail(b *trace.Batch, w []uint64, values []int32, flags uint8) {
	if flags&trace.HasAttributes != 0 {
		n := w[0]
		w = w[1:]
		b.Args = append(b.Args, n)
		for range n {
			word := w[0]
			var v uint64
			if graph.AttributeIsHard(word) {
				v = w[1]
				w = w[2:]
			} else {
				v = x.cursors[values[0]].Next()
				values, w = values[1:], w[1:]
			}
			b.Args = append(b.Args, word, v)
		}
	}
	if flags&trace.HasSurplus != 0 {
		b.Args = append(b.Args, w[0])
		x.bytes(b, (w[0]+7)/8)
	}
}
