package predict

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
)

// knot is an instant that is known in both runs.
type knot struct {
	event    uint64 // of the process's first location, noEvent for none
	recorded trace.Time
	time     int64 // ps
}

const noEvent = 1<<64 - 1

// knots are the begins and ends of a process's outermost MPI calls, in order, between its start and its end. Two of them are
// held: events between a and b keep their proportions.
type knots struct {
	process uint32
	cursor  *ccg.Cursor
	isCall  func(region uint32) bool
	times   *timeReader
	tick    Scale
	depth   int        // around the open outermost call, -1 for none
	passed  trace.Time // of the last event that cursor passed
	a, b    knot
	last    bool // b is the end of the process
}

// knots opens the knots of a process. Loc is the location that asks.
func (r *Run) knots(process, thread uint32, loc *ccg.Location) (*knots, error) {
	master := loc
	if thread != 0 {
		var err error
		if master, err = r.recorded.Location(r.defs.Processes()[process].First); err != nil {
			return nil, err
		}
	}
	times, err := newTimeReader(r.times, process)
	if err != nil {
		return nil, err
	}
	k := &knots{process: process, cursor: master.Cursor(), isCall: r.recorded.IsCall, times: times, tick: r.scale, depth: -1, passed: r.origin}
	k.b = knot{event: noEvent, recorded: r.origin}
	return k, k.advance()
}

// advance goes on by a knot.
func (k *knots) advance() error {
	k.a = k.b
	for s, ok := k.cursor.Next(); ok; s, ok = k.cursor.Next() {
		k.passed = max(k.passed, s.Time)
		switch {
		case s.Move == ccg.Enters && k.depth < 0 && k.isCall(s.Region):
			k.depth = s.Depth
		case s.Move == ccg.Leaves && s.Depth == k.depth:
			k.depth = -1
		default:
			continue
		}
		t, err := k.times.next()
		if err != nil {
			return fmt.Errorf("process %d: the call graph has more calls than the simulated program: %w", k.process, err)
		}
		k.b = knot{event: s.Event, recorded: k.passed, time: t}
		return nil
	}
	if err := k.cursor.Err(); err != nil {
		return err
	}
	return k.end()
}

// end reads the end of the process. The time before it belongs to a call that was never left, if there is one.
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

// byNumber gives the events of the process's first location their times.
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
	return nil
}

// byTime gives the events of another thread of the process their times.
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
	return nil
}

// at returns the predicted time of a recorded one from a on, rounded down. Behind the end of the process time goes on as it did.
func (k *knots) at(t trace.Time) trace.Time {
	switch {
	case k.last && t >= k.b.recorded:
		return trace.Time(k.b.time + k.tick.Of(int64(t-k.b.recorded)))
	case t <= k.a.recorded:
		return trace.Time(k.a.time)
	case t >= k.b.recorded:
		return trace.Time(k.b.time)
	}
	hi, lo := bits.Mul64(uint64(t-k.a.recorded), uint64(k.b.time-k.a.time))
	q, _ := bits.Div64(hi, lo, uint64(k.b.recorded-k.a.recorded))
	return trace.Time(k.a.time + int64(q))
}
