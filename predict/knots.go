package predict

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/trace"
)

// knot is an instant whose time is known in the recorded and in the predicted run.
type knot struct {
	event    uint64 // number of the event in the process's first location, noEvent for none
	recorded trace.Time
	time     int64 // predicted, ps
}

const noEvent = 1<<64 - 1

// knots iterates over the instants of a process that are known in both runs, in order: its first event, the calls of the program, its end.
// For a simulated call, begin and end are known. A call with a kept time begins when it does in the simulation, and ends that time after
// its end there. Two knots are in memory; times between a and b are interpolated.
type knots struct {
	process uint32
	cursor  *ccg.Cursor
	role    map[uint32]ccg.Role // of each node
	times   *timeReader
	tick    platform.Scale
	met     trace.Time  // see Input.meet
	waits   [][2]uint64 // waits that are not part of the kept times of calls
	current ccg.Role    // of the open call of the program, Within for none
	depth   int         // of that call
	passed  trace.Time  // recorded time of the last event that cursor has passed
	a, b    knot
	enter   knot // begin of the open call
	leave   knot // end of the call whose begin is b, if both became known together; event is noEvent otherwise
	last    bool // b is the end of the process
	long    bool // a time did not fit
}

// knots opens the knots of a process for one of its locations.
func (r *Run) knots(process, thread uint32, loc *ccg.Location) (*knots, error) {
	master := loc
	if thread != 0 {
		var err error
		if master, err = r.o.Recorded.Location(r.Defs.Processes()[process].First); err != nil {
			return nil, err
		}
	}
	sync, err := readSynchronised(r.o.Recorded, process, master)
	if err != nil {
		return nil, err
	}
	role, err := r.o.Recorded.roles(process, master, sync)
	if err != nil {
		return nil, err
	}
	times, err := newTimeReader(r.o.Times, process)
	if err != nil {
		return nil, err
	}
	k := &knots{process: process, waits: sync.spans(), met: r.o.Recorded.met, cursor: master.Cursor(), role: role, times: times, tick: r.o.Recorded.Tick(), passed: r.o.Origin, leave: knot{event: noEvent}}
	k.b = knot{event: noEvent, recorded: r.o.Origin}
	if master.Events() == 0 {
		return k, k.advance()
	}
	k.a, k.passed = k.b, master.First()
	k.b = knot{event: noEvent, recorded: k.passed, time: r.o.Recorded.Tick().Of(int64(k.passed - r.o.Origin))}
	if thread != 0 { // its events may come before the process's first one
		return k, nil
	}
	return k, k.advance()
}

// advance moves on by one knot.
func (k *knots) advance() error {
	k.a = k.b
	if k.leave.event != noEvent {
		k.b, k.leave.event = k.leave, noEvent
		return nil
	}
	for s, ok := k.cursor.Next(); ok; s, ok = k.cursor.Next() {
		k.passed = max(k.passed, s.Time)
		known, err := k.step(&s)
		if err != nil {
			return fmt.Errorf("process %d: the call graph has more calls than the simulated program: %w", k.process, err)
		}
		if known {
			return nil
		}
	}
	if err := k.cursor.Err(); err != nil {
		return err
	}
	if k.current == ccg.Ends { // the call has no end
		k.current = ccg.Within
		k.begin()
		return nil
	}
	return k.end()
}

// step passes an event and reports whether its time is known; then b is that knot.
func (k *knots) step(s *ccg.Step) (known bool, err error) {
	if k.current != ccg.Within {
		if s.Move != ccg.Leaves || s.Depth != k.depth {
			return false, nil
		}
		if k.b, err = k.knot(s); k.current == ccg.Ends {
			k.leave = k.b
			k.begin()
		}
		k.current = ccg.Within
		return true, err
	}
	role := k.role[s.Node]
	if role == ccg.Within || s.Move == ccg.Leaves {
		return false, nil
	}
	if k.b, err = k.knot(s); err != nil {
		return false, err
	}
	if s.Move == ccg.Enters {
		k.current, k.depth, k.enter = role, s.Depth, k.b
		return role == ccg.Separates, nil
	}
	_, err = k.times.next() // of a record, which took no time in the recorded run
	return true, err
}

// knot returns the knot of an event with the next simulated time.
func (k *knots) knot(s *ccg.Step) (knot, error) {
	t, err := k.times.next()
	return knot{s.Event, k.passed, t}, err
}

// begin makes b the begin of the open call, which ends now, and adds its kept time (its recorded time without waits) to its end in the
// simulation.
func (k *knots) begin() {
	k.b = k.enter
	if k.passed >= k.met {
		k.waits = [][2]uint64{{uint64(k.enter.recorded), max(uint64(k.met), uint64(k.enter.recorded))}}
	}
	var idle uint64
	idle, k.waits = ccg.Idle(k.waits, uint64(k.enter.recorded), uint64(k.passed))
	k.leave.time += k.tick.Of(int64(min(uint64(k.passed-k.enter.recorded)-idle, math.MaxInt64)))
}

// end reads the end of the process. If the last call has no end, the time before belongs to it.
func (k *knots) end() error {
	k.last = true
	k.b = knot{event: noEvent, recorded: k.passed, time: k.a.time}
	for {
		t, err := k.times.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		k.b.time = t
	}
}

// byNumber sets the times of events of the process's first location.
func (k *knots) byNumber(b *trace.Batch) error {
	for i := range b.Events {
		if e := &b.Events[i]; !k.last && b.First+uint64(i) == k.b.event {
			if err := k.advance(); err != nil {
				return err
			}
			e.Time = trace.Time(k.a.time)
		} else {
			e.Time = k.at(e.Time)
		}
	}
	return k.fits()
}

// fits returns an error if a time did not fit.
func (k *knots) fits() error {
	if k.long {
		return fmt.Errorf("process %d: %w", k.process, ErrTooLong)
	}
	return nil
}

// byTime sets the times of events of another thread of the process.
func (k *knots) byTime(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		for !k.last && k.b.recorded <= e.Time {
			if err := k.advance(); err != nil {
				return err
			}
		}
		e.Time = k.at(e.Time)
	}
	return k.fits()
}

// at returns the predicted time for a recorded time not before a, rounded down. After the end of the process, time passes as recorded.
func (k *knots) at(t trace.Time) trace.Time {
	switch {
	case k.last && t >= k.b.recorded:
		late := k.tick.Of(int64(min(t-k.b.recorded, math.MaxInt64)))
		k.long = k.long || late >= math.MaxInt64-k.b.time
		return trace.Time(k.b.time) + trace.Time(late)
	case t <= k.a.recorded:
		return trace.Time(k.a.time)
	case t >= k.b.recorded:
		return trace.Time(k.b.time)
	}
	q, _ := platform.Scale{Num: uint64(k.b.time - k.a.time), Den: uint64(k.b.recorded - k.a.recorded)}.Times(uint64(t - k.a.recorded))
	return trace.Time(k.a.time + int64(q))
}
