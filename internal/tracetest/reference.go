package tracetest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Result is what Reference finds in a trace.
type Result struct {
	Facts
	Matches      []Match
	Problems     map[trace.Code]uint64 // counts of what the analysis itself notices
	WorstReverse uint64                // largest magnitude of a clock violation in ticks
}

// Match is a send and its receive.
type Match struct {
	Send, Recv Op
}

// Op is one side of a message.
type Op struct {
	P     trace.P
	Event uint64     // number of the record in its stream
	Post  uint64     // number of the record or enter that posts it; order on a channel
	At    trace.Time // time of the posting event
	Enter trace.Time // sends: enter of the call; receives: enter of the call that can block
	Leave trace.Time // leave of that call
	Bytes uint64
	call  uint64 // number of the call's enter, to tell calls apart
}

// Channel is what orders messages.
type Channel struct {
	Comm, From, To, Tag uint32
}

// Reference analyses src slowly and straight from the definitions, with the
// whole trace in memory. It is an oracle for tests:
//
//   - a time stamp before its predecessor counts as the predecessor;
//   - a leave that does not name the innermost open call is ignored, calls open
//     at the end are closed at the last event;
//   - the k-th send posted on a channel matches the k-th receive posted
//     (MPI 4.1, 3.5); a blocking receive is posted by the enter of its call;
//   - the n-th collective of every member of a communicator is one operation,
//     counted from its begin or, non-blocking, from its request;
//   - times in MPI count from the outermost MPI enter to its leave, and belong
//     to the outermost region's class; a process's are those of its first
//     location;
//   - waiting for the last member of a collective counts from the enter of the
//     call that can block, non-blocking that of the completing one, to the last
//     start of the operation.
func Reference(src trace.Source) (*Result, error) {
	d := src.Definitions()
	a := &analysis{
		d: d, r: &Result{Problems: map[trace.Code]uint64{}}, classes: map[trace.CallClass]uint64{},
		sends: map[Channel][]Op{}, recvs: map[Channel][]Op{}, colls: map[collKey][]coll{},
	}
	a.r.Events = make([]uint64, d.NumLocations())
	a.r.Processes = make([]Component, len(d.Processes()))
	a.spans = make([]span, len(d.Processes()))
	for p := range trace.P(d.NumLocations()) {
		events, err := readAll(src, p)
		if err != nil {
			return nil, fmt.Errorf("location %d: %w", p, err)
		}
		a.r.Events[p] = uint64(len(events))
		a.location(p, events)
	}
	a.match()
	a.collectives()
	for i, s := range a.spans {
		a.r.Processes[i].Time = uint64(s.last - s.first)
	}
	a.r.MPITime = classTimesOf(a.classes)
	a.r.sumProcesses()
	return a.r, nil
}

// record is one event with its fields.
type record struct {
	time   trace.Time
	kind   trace.Kind
	ref    uint32
	fields []uint64
}

func readAll(src trace.Source, p trace.P) ([]record, error) {
	st, err := src.Stream(p)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var out []record
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return nil, err
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for j := range b.Events {
				e := &b.Events[j]
				fields, _, _, _ := b.Layout(e)
				out = append(out, record{e.Time, e.Kind, e.Ref, slices.Clone(fields)})
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type span struct {
	first, last trace.Time
	any         bool
}

type analysis struct {
	d       *trace.Definitions
	r       *Result
	classes map[trace.CallClass]uint64
	sends   map[Channel][]Op
	recvs   map[Channel][]Op
	colls   map[collKey][]coll
	spans   []span
}

func (a *analysis) problem(c trace.Code) { a.r.Problems[c]++ }

func (a *analysis) class(region uint32) trace.CallClass {
	if r := a.d.Region(region); r != nil {
		return a.d.Class(r)
	}
	return 0
}

// location walks over one location's events.
func (a *analysis) location(p trace.P, events []record) {
	clampTimes(a, events)
	process, _ := a.d.Process(p)
	if len(events) > 0 {
		s := &a.spans[process]
		first, last := events[0].time, events[len(events)-1].time
		if !s.any || first < s.first {
			s.first = first
		}
		s.last, s.any = max(s.last, last), true
	}
	calls, inside := a.calls(events)
	a.profile(p, process, calls)
	if a.d.Processes()[process].First == p {
		a.overhead(process, events, calls)
	}
	a.communication(p, process, events, calls, inside)
}

// overhead adds what records tell of the measurement: from a flush to its stop
// time, and from where the measurement is switched off to where it is on again, as
// far as no outermost call has that time already.
func (a *analysis) overhead(process uint32, events []record, calls []call) {
	done := trace.Time(0)
	for i, e := range events {
		last := events[len(events)-1].time
		to := e.time
		switch {
		case e.kind == trace.BufferFlush && e.fields[0] != trace.Undefined64:
			to = max(to, min(trace.Time(e.fields[0]), last))
		case e.kind == trace.MeasurementOnOff && e.fields[0] == 2:
			to = last
			for _, x := range events[i+1:] {
				if x.kind == trace.MeasurementOnOff && x.fields[0] != 2 {
					to = x.time
					break
				}
			}
		}
		from := max(e.time, done)
		if to <= from {
			continue
		}
		done = to
		took := uint64(to - from)
		for _, c := range calls {
			if (c.class != 0 || c.aside) && outermost(calls, c, c.class) && c.enter < to && c.leave > from {
				took -= uint64(min(c.leave, to) - max(c.enter, from))
			}
		}
		a.r.Processes[process].Aside += took
	}
}

func clampTimes(a *analysis, events []record) {
	for i := 1; i < len(events); i++ {
		if events[i].time < events[i-1].time {
			a.problem(trace.DiagTimeBackwards)
			events[i].time = events[i-1].time
		}
	}
}

// call is one visit of a region.
type call struct {
	region       uint32 // as its events name it
	key          uint32 // as it is summed up
	class        trace.CallClass
	enter, leave trace.Time
	event        uint64 // number of the enter
	parent       int    // index of the calling visit, -1 if there is none
	recursive    bool   // the region is already open
	aside        bool   // in the runtime of a device, waiting for a lock, or the measurement itself
}

// calls lists all visits, and for each event the visit it happens in.
func (a *analysis) calls(events []record) (calls []call, inside []int) {
	current := -1
	inside = make([]int, len(events))
	for i, e := range events {
		switch e.kind {
		case trace.Enter, trace.CallingContextEnter:
			c := call{region: a.region(e), enter: e.time, event: uint64(i), parent: current}
			c.key, c.class = c.region, a.class(c.region)
			if r := a.d.Region(c.region); r == nil {
				a.problem(trace.DiagBadReference)
				c.key = trace.Undefined
			} else {
				switch a.d.StateOf(r) {
				case trace.StateDeviceCall, trace.StateDeviceWait, trace.StateLock, trace.StateOverhead:
					c.aside = true
				}
			}
			for up := current; up >= 0; up = calls[up].parent {
				c.recursive = c.recursive || calls[up].key == c.key
			}
			current = len(calls)
			calls = append(calls, c)
		case trace.Leave, trace.CallingContextLeave:
			if a.d.Region(a.region(e)) == nil {
				a.problem(trace.DiagBadReference)
			}
			if current < 0 || calls[current].region != a.region(e) {
				a.problem(trace.DiagStrayLeave)
				break
			}
			calls[current].leave = e.time
			current = calls[current].parent
		}
		inside[i] = current
	}
	for ; current >= 0; current = calls[current].parent {
		a.problem(trace.DiagOpenCall)
		calls[current].leave = events[len(events)-1].time
	}
	return calls, inside
}

// region returns the region that an event enters or leaves.
func (a *analysis) region(e record) uint32 {
	if e.kind == trace.Enter || e.kind == trace.Leave {
		return e.ref
	}
	r, _ := a.d.ContextRegion(uint32(e.fields[0]))
	return r
}

// profile sums up calls: exclusive time is a visit's time less its direct children's.
func (a *analysis) profile(p trace.P, process uint32, calls []call) {
	first := a.d.Processes()[process].First == p
	rows := map[uint32]*Profile{}
	row := func(region uint32) *Profile {
		if rows[region] == nil {
			rows[region] = &Profile{P: p, Region: region}
		}
		return rows[region]
	}
	for _, c := range calls {
		took := uint64(c.leave - c.enter)
		r := row(c.key)
		r.Calls++
		r.Exclusive += took
		if !c.recursive {
			r.Inclusive += took
		}
		if c.parent >= 0 {
			row(calls[c.parent].key).Exclusive -= took
		}
		if c.class != 0 && first && outermost(calls, c, c.class) {
			if c.class&trace.ClassMPI != 0 {
				a.classes[c.class] += took
				a.r.Processes[process].addMPI(c.class, took)
			} else {
				a.r.Processes[process].IO += took
			}
		} else if c.aside && first && outermost(calls, c, c.class) {
			a.r.Processes[process].Aside += took
		}
	}
	var list []Profile
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(x, y Profile) int { return cmp.Compare(x.Region, y.Region) })
	a.r.Profiles = append(a.r.Profiles, list...)
}

// outermost reports whether no visit around c is an MPI call or, for I/O
// outside MPI, an MPI or I/O call.
func outermost(calls []call, c call, class trace.CallClass) bool {
	stop := trace.ClassMPI
	if class&trace.ClassMPI == 0 {
		stop |= trace.ClassIO
	}
	for up := c.parent; up >= 0; up = calls[up].parent {
		if calls[up].class&stop != 0 || class&trace.ClassMPI == 0 && calls[up].aside {
			return false
		}
	}
	return true
}
