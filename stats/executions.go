package stats

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// borderKind says what happens at a border.
type borderKind uint8

const (
	beginMarked borderKind = iota
	endMarked
	endEvent     // the newest interval of a Paraver event type ends
	turnSlice    // one slice ends, the next begins
	beginBetween // a collective of --between is over
	endBetween   // the next one begins
	programBegin // after MPI_Init
	programEnd   // before MPI_Finalize
)

// execution is an open execution.
type execution struct {
	node uint32  // None: there is none
	t    uint64  // begin
	row  uint64  // number among all executions of the location
	at   amounts // at the begin
}

// executions makes the tree of intervals of a location, the executions of its nodes, and the sums over these that do not need partners.
// There are three families of nodes below the root: of markers, of slices, and of times between collectives.
type executions struct {
	plan    *interval.Plan
	stack   interval.Stack
	comps   *interval.Components
	root    execution
	open    []execution // those of the stack that count
	slice   execution
	number  uint64 // of the slice
	between execution
	waiting bool   // between is open: its node is known when the next collective ends it
	mark    int    // offset in log of the begin of between
	count   uint64 // executions between collectives so far
	ended   bool   // the program has ended

	rows   uint64 // executions so far
	log    []byte // borders not yet written
	sink   xtf.Sink
	begun  bool // the program's begin is final, so borders may be written
	err    error
	report func(t uint64, code trace.Code, detail string)
}

const logBytes = 1 << 16

func newExecutions(p *interval.Plan, sink xtf.Sink, report func(t uint64, code trace.Code, detail string)) executions {
	none := execution{node: interval.None}
	return executions{
		plan: p, stack: interval.NewStack(p), comps: &interval.Components{}, sink: sink, begun: !p.WithoutInit, report: report,
		root: none, slice: none, between: none,
	}
}

// start begins the program at the first event.
func (x *executions) start(t uint64) {
	x.root = x.begin(0, t, amounts{})
	x.startSlice(t, amounts{})
}

func (x *executions) startSlice(t uint64, at amounts) {
	if k, _, ok := x.plan.SliceAt(t); ok {
		x.number = k
		x.slice = x.begin(x.stack.Tree.Child(0, interval.SliceKey(k)), t, at)
	}
}

func (x *executions) begin(node uint32, t uint64, at amounts) execution {
	if node == interval.None {
		return execution{node: node}
	}
	x.write(interval.Border{T: t, Row: xtf.Never, Node: node})
	x.rows++
	return execution{node, t, x.rows - 1, at}
}

// end ends an execution and adds its amounts to the components of its node.
func (x *executions) end(e *execution, t uint64, at *amounts, flags uint32) {
	if e.node == interval.None {
		return
	}
	x.write(interval.Border{T: t, Row: e.row, Node: e.node, Flags: flags})
	x.stack.Tree.Executed(e.node, e.t, t)
	var v interval.Items
	for i, item := range amountItems {
		v[item] = at[i] - e.at[i]
	}
	v[xtf.ItemTime], v[xtf.ItemExecutions] = t-e.t, 1
	v.Derive()
	for item, n := range v {
		x.comps.Add(e.node, xtf.Item(item), n)
	}
	e.node = interval.None
}

func (x *executions) write(b interval.Border) {
	if x.sink == nil || x.err != nil {
		return
	}
	n := len(x.log)
	x.log = append(x.log, make([]byte, interval.BorderBytes)...)
	b.Put(x.log[n:])
	if x.begun && !x.waiting && len(x.log) >= logBytes {
		x.flush()
	}
}

func (x *executions) flush() {
	if x.sink == nil || len(x.log) == 0 {
		return
	}
	if _, err := x.sink.Append(x.log); err != nil && x.err == nil {
		x.err = fmt.Errorf("borders of intervals: %w", err)
	}
	x.log = x.log[:0]
}

// take applies a border. Borders come in the order of time.
func (x *executions) take(b *border) {
	if x.ended {
		return
	}
	switch b.kind {
	case beginMarked:
		node, code := x.stack.Begin(b.key)
		if code != 0 {
			x.report(b.t, code, describe(b.key))
		}
		if node != interval.None {
			x.open = append(x.open, x.begin(node, b.t, b.at))
		}
	case endMarked:
		x.endMarked(b, b.key)
	case endEvent:
		k, ok := x.stack.NewestEvent(b.key.Name)
		if !ok {
			x.report(b.t, trace.DiagStrayEnd, b.key.Name)
			return
		}
		x.endMarked(b, k)
	case turnSlice:
		x.end(&x.slice, b.t, &b.at, 0)
		x.startSlice(b.t, b.at)
	case beginBetween:
		x.waiting, x.mark = true, len(x.log)
		x.between = x.begin(0, b.t, b.at)
	case endBetween:
		x.endBetween(b)
	case programBegin:
		x.restart(b)
	case programEnd:
		x.finish(b.t, &b.at, &b.at, 0)
	}
}

func (x *executions) endMarked(b *border, k interval.Key) {
	height, ok := x.stack.Find(k)
	if !ok {
		x.report(b.t, trace.DiagStrayEnd, describe(k))
		return
	}
	if x.stack.Len() > height+1 {
		x.report(b.t, trace.DiagCrossed, describe(k))
	}
	for x.stack.Len() > height+1 {
		x.pop(b.t, &b.at, xtf.IvalCrossed)
	}
	x.pop(b.t, &b.at, 0)
}

// pop ends the innermost marked execution and returns its key.
func (x *executions) pop(t uint64, at *amounts, flags uint32) interval.Key {
	node, k := x.stack.Pop()
	if node != interval.None {
		top := len(x.open) - 1
		x.end(&x.open[top], t, at, flags)
		x.open = x.open[:top]
	}
	return k
}

// restart begins the program at b: it forgets what was before, and begins the open executions there.
func (x *executions) restart(b *border) {
	if x.begun {
		return
	}
	x.begun, x.log, x.rows, x.comps = true, x.log[:0], 0, &interval.Components{}
	keys := x.stack.Restart()
	x.open = x.open[:0]
	x.root = x.begin(0, b.t, b.at)
	for _, k := range keys {
		if node, _ := x.stack.Begin(k); node != interval.None {
			x.open = append(x.open, x.begin(node, b.t, b.at))
		}
	}
	x.startSlice(b.t, b.at)
	x.waiting, x.count = false, 0
}

// endBetween ends the execution between two collectives, whose node is known now.
func (x *executions) endBetween(b *border) {
	if !x.waiting {
		return
	}
	x.between.node = x.stack.Tree.Child(0, x.plan.BetweenKey(x.count))
	if x.between.node == interval.None {
		x.report(b.t, trace.DiagIntervalLimit, describe(x.plan.BetweenKey(x.count)))
		x.dropBetween()
		return
	}
	if x.sink != nil {
		begin := interval.Border{T: x.between.t, Row: xtf.Never, Node: x.between.node}
		begin.Put(x.log[x.mark:])
	}
	x.count++
	x.waiting = false
	x.end(&x.between, b.t, &b.at, 0)
}

// dropBetween removes the begin of the execution after the last collective, which does not end.
func (x *executions) dropBetween() {
	if !x.waiting {
		return
	}
	x.waiting = false
	row := x.between.row
	x.between.node = interval.None
	x.rows--
	lower := func(r *uint64) {
		if *r != xtf.Never && *r > row {
			*r--
		}
	}
	lower(&x.root.row)
	lower(&x.slice.row)
	for i := range x.open {
		lower(&x.open[i].row)
	}
	if x.sink == nil {
		return
	}
	x.log = append(x.log[:x.mark], x.log[x.mark+interval.BorderBytes:]...)
	for at := x.mark; at < len(x.log); at += interval.BorderBytes {
		var b interval.Border
		b.Load(x.log[at:])
		lower(&b.Row)
		b.Put(x.log[at:])
	}
}

// finish ends the open executions at t: the root with the amounts whole, the others with those before t.
func (x *executions) finish(t uint64, at, whole *amounts, flags uint32) {
	for x.stack.Len() > 0 {
		if k := x.pop(t, at, flags); flags != 0 {
			x.report(t, trace.DiagUnclosed, describe(k))
		}
	}
	x.dropBetween()
	x.end(&x.slice, t, at, 0)
	if flags != 0 && (!x.plan.WithoutInit || !x.begun) {
		flags = xtf.IvalWhole
	} else {
		flags = 0
	}
	x.end(&x.root, t, whole, flags)
	x.ended = true
}

// describe names an interval in a diagnostic.
func describe(k interval.Key) string {
	switch {
	case k.Name == "":
		return fmt.Sprintf("id %d", k.ID)
	case k.ID == 0:
		return k.Name
	}
	return fmt.Sprintf("%s, id %d", k.Name, k.ID)
}
