package paraver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// decoder turns the records of one thread into events. Messages lie next to the
// calls in a trace: the decoder finds the call that each one belongs to.
//
// Memory: 80 bytes per open call, 24 per receive in progress, 48 per message of
// one instant (mostWaiting of them at most), 8 per communicator in use.
type decoder struct {
	t       *Trace
	task    uint32
	streams bool   // the task has streams of devices
	first   uint64 // time of the earliest record
	merge   *merger
	now     trace.Time
	open    []frame
	depths  map[uint64]int // open calls by type
	serial  uint64         // of calls
	waiting []waiting
	state   map[uint64]receiveState // of receives that have begun, by id
	calls   map[int]uint64          // collectives so far, by communicator
	pairs   []pair                  // of the event record in hand
	more    []pair
	line    uint64 // of that record
	count   uint64 // events so far
	diags   trace.Diagnostics
	ended   bool

	words   []uint64
	callers []trace.EventAttribute
}

// frame is an open region.
type frame struct {
	opener  pair
	region  uint32
	serial  uint64
	role    role
	sent    bool // a message begins here already
	posted  bool
	ordinal uint64     // of the collective on its communicator
	id      uint64     // request of a collective that does not wait
	ended   trace.Time // when MPI_Finalize ends as its events tell, 0 for not yet: see finish

	collective bool // its arguments are known
	coll       collective
}

// receiveState says in which way a receive is in progress.
type receiveState struct {
	request bool
	serial  uint64 // without request: the call that receives
}

// waiting is a message of this instant whose call is not found yet.
type waiting struct {
	kind     itemKind
	id       uint64
	peer     uint32 // task
	tag      uint32
	size     uint64
	received uint64 // of a post: when the message will be there
}

// mostWaiting bounds the messages of one instant; more are delivered at once.
const mostWaiting = 1024

// fullBatch is how many events a batch gets before it is delivered.
const fullBatch = 2048

func newDecoder(t *Trace, at uint32, m *merger) *decoder {
	task := t.head.taskAt(at)
	first, n := t.head.tasks[task].first, t.head.tasks[task].threads
	streams := slices.ContainsFunc(t.index.Locations[first:first+n], func(l locationIndex) bool { return l.Device })
	return &decoder{
		t: t, task: task, streams: streams, first: t.index.Locations[at].First, merge: m, depths: make(map[uint64]int), state: make(map[uint64]receiveState), calls: make(map[int]uint64),
	}
}

func (d *decoder) Diagnostics() []trace.Diagnostic { return d.diags.List() }

func (d *decoder) Close() error { return nil }

// Next fills b with the events of the next records.
func (d *decoder) Next(b *trace.Batch) error {
	b.Reset()
	b.First = d.count
	for !d.ended && len(b.Events) < fullBatch {
		e, err := d.merge.next()
		if errors.Is(err, io.EOF) {
			d.flush(b)
			d.ended = true
			d.finish(b)
			d.settle(b)
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.t.path, err)
		}
		if trace.Time(e.time) != d.now {
			d.flush(b)
			d.settle(b)
			d.now = trace.Time(e.time)
		}
		d.entry(b, &e)
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	d.count += uint64(len(b.Events))
	return nil
}

// entry handles one item. Its fields were written by the split.
func (d *decoder) entry(b *trace.Batch, e *entry) {
	f := e.fields
	next := func() uint64 {
		v, w := binary.Uvarint(f)
		f = f[max(w, 0):]
		return v
	}
	if e.kind >= stateEndItem {
		d.more = d.more[:0]
		for range next() {
			d.more = append(d.more, pair{next(), next()})
		}
		if len(d.pairs) == 0 || len(d.pairs) > mostWaiting || !d.t.names.addsTo(d.more) {
			d.flush(b)
			d.line = e.number
		}
		d.pairs = append(d.pairs, d.more...)
		return
	}
	w := waiting{kind: e.kind, id: e.number, peer: uint32(next()), tag: uint32(next()), size: next()}
	if e.kind == postItem {
		w.received = next()
	}
	if d.streams && w.peer == d.task { // Extrae joins a call of a device's runtime to what it starts
		if w.kind == sendItem {
			d.diag(b, trace.DiagLaunch, "")
		}
		return
	}
	if len(d.waiting) >= mostWaiting {
		d.settle(b)
	}
	d.waiting = append(d.waiting, w)
}

// flush handles the event record in hand, when nothing can be added to it any more.
func (d *decoder) flush(b *trace.Batch) {
	if len(d.pairs) > 0 {
		d.event(b, d.line)
	}
	d.pairs = d.pairs[:0]
}

// event handles an event record: counters first, then calls and markers in their order. Arguments without a call are markers.
func (d *decoder) event(b *trace.Batch, line uint64) {
	d.finish(b)
	d.counters(b)
	d.callers = d.callers[:0]
	for _, p := range d.pairs {
		if a, ok := d.t.tables.attributes[p.Type]; ok && p.Value != 0 {
			d.callers = append(d.callers, trace.EventAttribute{Ref: a, Type: trace.TypeString, Value: uint64(d.t.tables.values[p])})
		}
	}
	called, collective := len(d.callers) > 0, false
	var placed [places + 1]bool
	for _, p := range d.pairs {
		e := d.t.names.typeOf(p.Type)
		switch {
		case e.isRegion():
			placed[placeOf(p.Type)] = true
			collective = d.region(b, p, &e, line) || collective
		case e.use == marker:
			d.marker(b, p)
		}
	}
	called = called && len(d.callers) == 0
	for _, p := range d.pairs {
		switch e := d.t.names.typeOf(p.Type); e.use {
		case sendBytes, recvBytes, rootFlag, commArg:
			if !collective {
				d.marker(b, p)
			}
		case calledFrom:
			if !called && p.Value != 0 {
				d.marker(b, p)
			}
		case sourceLine:
			if !placed[placeOf(e.of)] {
				d.marker(b, p)
			}
		}
	}
}

func (d *decoder) marker(b *trace.Batch, p pair) {
	b.Append(d.now, trace.ParameterUnsignedInt, 0, uint64(d.t.tables.parameters[p.Type]), p.Value)
}

// counters records the counters among the pairs, as one record if they are a known set. Counts up to the first instant of the
// thread are left out: they cover a time before it, which the trace, if it was cut, does not have.
func (d *decoder) counters(b *trace.Batch) {
	t := d.t.tables
	d.words = append(d.words[:0], 0, 0)
	for i := range d.pairs {
		p := &d.pairs[i]
		if e := d.t.names.typeOf(p.Type); e.use == counter {
			if uint64(d.now) == d.first {
				p.Value = 0
			}
			d.words = append(d.words, uint64(trace.TypeUint64), p.Value)
		}
	}
	n := len(d.words)/2 - 1
	if n == 0 {
		return
	}
	for i, set := range t.sets {
		if len(set) == n && d.counts(set) {
			d.words[0], d.words[1] = uint64(i), uint64(n)
			b.Append(d.now, trace.Metric, 0, d.words...)
			return
		}
	}
	for _, p := range d.pairs {
		if e := d.t.names.typeOf(p.Type); e.use == counter {
			b.Append(d.now, trace.Metric, 0, uint64(len(t.sets))+uint64(t.counters[p.Type]), 1, uint64(trace.TypeUint64), p.Value)
		}
	}
}

// counts says whether the counters of the pairs are those of a set.
func (d *decoder) counts(set []uint64) bool {
	i := 0
	for _, p := range d.pairs {
		if e := d.t.names.typeOf(p.Type); e.use == counter {
			if set[i] != p.Type {
				return false
			}
			i++
		}
	}
	return true
}

// region opens or closes a call. It returns true for a collective whose arguments are known.
func (d *decoder) region(b *trace.Batch, p pair, e *eventType, line uint64) bool {
	if p.Type == typeState && !d.t.index.Stateful {
		mode := uint64(1) // on
		if p.Value == stateOff {
			mode = 2
		}
		b.Append(d.now, trace.MeasurementOnOff, 0, mode)
		return false
	}
	if top := len(d.open) - 1; p.Type == typeOther && p.Value == 0 && d.now > 0 && top >= 0 && d.open[top].opener.Type == p.Type && trace.CallOf(d.t.names.region(p.Type, d.open[top].opener.Value)) == "finalize" {
		d.open[top].ended = d.now
		return false
	}
	if p.Value == 0 || e.use == lock && p.Value == lockHeld {
		d.close(b, p.Type, line)
		return false
	}
	if top := len(d.open) - 1; e.use != nested && top >= 0 && d.open[top].opener.Type == p.Type {
		d.leave(b) // a type has one value at a time
	}
	ref, ok := d.t.tables.regions[p]
	if !ok {
		d.marker(b, p) // not a value of locks
		return false
	}
	return d.enter(b, p, ref, line)
}

// finish ends MPI_Finalize, if that is at its end. Extrae writes its end event, and then, still in the call, waits for all processes and
// writes its buffers: where the next record, but for others about the tracer, is of such a flush, or of the end of the application,
// MPI_Finalize lasts until then.
func (d *decoder) finish(b *trace.Batch) {
	top := len(d.open) - 1
	if top < 0 || d.open[top].ended == 0 {
		return
	}
	now := d.now
	switch {
	case slices.ContainsFunc(d.pairs, func(p pair) bool { return p.Type == typeApplication || p.Type == typeFlush }):
	case !d.ended && !slices.ContainsFunc(d.pairs, func(p pair) bool { return p.Type/typesOfTracer != typeApplication/typesOfTracer }):
		return
	default:
		d.now = d.open[top].ended
	}
	d.leave(b)
	d.now = now
}

// close ends the innermost call of a type, and calls in it that are still open.
func (d *decoder) close(b *trace.Batch, t uint64, line uint64) {
	if d.depths[t] == 0 {
		d.diag(b, trace.DiagStrayLeave, fmt.Sprintf("line %d: the end of a call of type %d that is not open", line, t))
		return
	}
	i := len(d.open) - 1
	for d.open[i].opener.Type != t {
		i--
	}
	if n := len(d.open) - 1 - i; n > 0 {
		d.diag(b, trace.DiagStrayLeave, fmt.Sprintf("line %d: a call of type %d ends before %d calls in it, which end here too", line, t, n))
	}
	for len(d.open) > i {
		d.leave(b)
	}
}

func (d *decoder) diag(b *trace.Batch, code trace.Code, detail string) {
	d.diags.Add(trace.Diagnostic{Code: code, Time: d.now, Event: d.count + uint64(len(b.Events)), Detail: detail})
}

// enter opens a call; messages of this instant that it starts follow.
func (d *decoder) enter(b *trace.Batch, p pair, ref uint32, line uint64) (collective bool) {
	d.serial++
	f := frame{opener: p, region: ref, serial: d.serial, role: d.t.tables.behaviours[ref].role, id: line}
	b.Append(d.now, trace.Enter, ref)
	b.AppendAttributes(d.callers...)
	d.callers = d.callers[:0]
	if p.Type == typeColl {
		f.coll, f.ordinal, f.collective = d.beginCollective(b)
	}
	d.open = append(d.open, f)
	d.depths[p.Type]++
	d.attach(b, &d.open[len(d.open)-1], false)
	return f.collective
}

// leave ends the innermost call; messages that end with it come before.
func (d *decoder) leave(b *trace.Batch) {
	f := &d.open[len(d.open)-1]
	d.attach(b, f, true)
	if f.collective {
		d.endCollective(b, f)
	}
	b.Append(d.now, trace.Leave, f.region)
	d.depths[f.opener.Type]--
	d.open = d.open[:len(d.open)-1]
}
