package trace

import (
	"errors"
	"testing"
)

// TestPiecesBound: a path of 100 frames is not added for each of many short pieces: what pieces without samples add is bounded by the events.
func TestPiecesBound(t *testing.T) {
	contexts := [][2]uint32{{0, Undefined}}
	for i := range uint32(100) {
		contexts = append(contexts, [2]uint32{1 + i%2, i})
	}
	d := contextsOf(30, contexts...)
	d.Clocks = []ClockProperties{{TimerResolution: 1e9}}
	d.InterruptGenerators = []InterruptGenerator{{Ref: 4, Base: 1, Exponent: -9, Period: 1000}}
	d.Seal()
	var b Batch
	b.Append(0, Enter, 0)
	const pieces, sampled = 4000, 8 // one of so many has a sample
	for i := range pieces {
		at := Time(100 * i)
		b.Append(at+1, Enter, 20)
		b.Append(at+5, Leave, 20)
		if i%sampled == 0 {
			b.Append(at+50, CallingContextSample, 0, 100, Undefined, 4)
		}
	}
	if added := len(framesOf(t, d, &b)) - 2*100*pieces/sampled; added < pieces || added > mostAdded*len(b.Events)+200 {
		t.Errorf("%d events are added for pieces without a sample, %d are recorded", added, len(b.Events))
	}
}

// TestPieces: a program without calling contexts at its MPI calls, 20 and 21, computes in region 1 before one and in region 2 before the
// other, each time for less than the period of the timer. Samples of its processor time tell which one it is; the time of both must
// come out, though most pieces have no sample. A piece in which the thread sleeps longer than it computes keeps the time of its samples.
func TestPieces(t *testing.T) {
	const period, steps = 1000, 4000
	for _, c := range []struct {
		name                string
		first, second, idle Time // ticks of region 1, of region 2, and of sleep before region 2
		most                Time // that region 2 may have for each step
	}{
		{"short", 300, 500, 0, 500},
		{"shorter", 70, 210, 0, 210},
		{"longer than a period", 700, 1700, 0, 1700},
		{"sleep", 300, 500, 2500, 550},
		{"short sleep", 300, 200, 700, 250},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := contextsOf(30, [2]uint32{0, Undefined}, [2]uint32{1, 0}, [2]uint32{2, 0})
			d.Clocks = []ClockProperties{{TimerResolution: 1e9}}
			d.InterruptGenerators = []InterruptGenerator{{Ref: 4, Base: 1, Exponent: -9, Period: period}}
			d.Seal()
			var b Batch
			now, spent, due := Time(10), Time(0), Time(617) // spent: of the processor
			compute := func(ticks Time, context uint64) {
				for end := spent + ticks; ; {
					if due >= end {
						now, spent = now+end-spent, end
						return
					}
					now, spent, due = now+due-spent, due, due+period
					if context != Undefined64 {
						b.Append(now, CallingContextSample, 0, context, Undefined, 4)
					}
				}
			}
			call := func(region uint32) {
				b.Append(now, Enter, region)
				compute(37, Undefined64) // samples in MPI are left out
				b.Append(now, Leave, region)
			}
			b.Append(now, Enter, 0)
			for range steps {
				call(20)
				compute(c.first, 1)
				call(21)
				now += c.idle
				compute(c.second, 2)
			}
			b.Append(now, Leave, 0)

			var open []Event
			times := map[uint32]Time{}
			last := Time(0)
			f := NewFrames(d, func(out *Batch) error {
				for _, e := range out.Events {
					if e.Time < last {
						return errors.New("events are not in the order of time")
					}
					last = e.Time
					switch e.Kind {
					case Enter:
						open = append(open, e)
					case Leave:
						o := open[len(open)-1]
						if open = open[:len(open)-1]; o.Ref != e.Ref {
							return errors.New("another call ends than began")
						}
						times[e.Ref] += e.Time - o.Time
					}
				}
				return nil
			})
			for i := range b.Events { // batches of one event, of which each has all it needs
				one := Batch{First: uint64(i), Events: b.Events[i : i+1], Args: b.Args}
				if err := f.Add(&one); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
			for region, want := range []Time{1: c.first * steps, 2: c.second * steps} {
				most := want
				if region == 2 {
					most = c.most * steps
				}
				if got := times[uint32(region)]; region > 0 && (got < want*9/10 || got > most*21/20) {
					t.Errorf("region %d has %d ticks; it ran for %d", region, got, want)
				}
			}
			if len(f.piece.known) > mostPieces {
				t.Errorf("%d kinds of pieces", len(f.piece.known))
			}
		})
	}
}
