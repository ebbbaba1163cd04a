package trace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contextsOf are definitions of regions 0 to n and of contexts, of a region and a parent each.
func contextsOf(regions int, contexts ...[2]uint32) *Definitions {
	d := &Definitions{}
	for i := range regions {
		d.Regions = append(d.Regions, Region{Ref: uint32(i)})
	}
	for i, c := range contexts {
		d.CallingContexts = append(d.CallingContexts, CallingContext{Ref: uint32(i), Region: c[0], Parent: c[1]})
	}
	d.Seal()
	return d
}

// framesOf passes events through Frames and returns what it adds: time, + or -, region.
func framesOf(t *testing.T, d *Definitions, b *Batch) []string {
	t.Helper()
	var list []string
	kept, next := 0, uint64(0)
	f := NewFrames(d, func(out *Batch) error {
		if out.First != next {
			t.Errorf("a batch begins at event %d, not at %d", out.First, next)
		}
		next += uint64(len(out.Events))
		for i := range out.Events {
			switch e := &out.Events[i]; {
			case e.Flags&Estimated == 0:
				if *e != b.Events[kept] || !slices.Equal(out.Words(e), b.Words(&b.Events[kept])) {
					t.Errorf("record %d is another one", kept)
				}
				kept++
			case e.Kind == Enter:
				list = append(list, fmt.Sprintf("%d +%d", e.Time, e.Ref))
			default:
				list = append(list, fmt.Sprintf("%d -%d", e.Time, e.Ref))
			}
		}
		return nil
	})
	if err := errors.Join(f.Add(b), f.Finish()); err != nil {
		t.Error(err)
	}
	if kept != len(b.Events) {
		t.Errorf("%d of %d records", kept, len(b.Events))
	}
	return list
}

// TestFrames: contexts 0 to 3 are regions 0 < 1 < 2 and 1 in 0 another time, 4 is region 3 in 0 < 1.
func TestFrames(t *testing.T) {
	const none = Undefined
	d := contextsOf(5, [2]uint32{0, none}, [2]uint32{1, 0}, [2]uint32{2, 1}, [2]uint32{1, 0}, [2]uint32{3, 1}, [2]uint32{9, 9})
	sample := func(b *Batch, at Time, context, distance uint64) {
		b.Append(at, CallingContextSample, 0, context, distance, 0)
	}
	for _, c := range []struct {
		name string
		make func(b *Batch)
		want []string
	}{
		{"frames in common stay", func(b *Batch) {
			sample(b, 1, 2, 4)
			sample(b, 2, 3, 3) // another place in region 1, all said to be new
		}, []string{"1 +0", "1 +1", "1 +2", "2 -2", "2 -1", "2 -0"}},
		{"new calls of the same frames", func(b *Batch) {
			sample(b, 1, 2, 4)
			sample(b, 2, 2, 3) // the inner two are new
			sample(b, 3, 2, 0)
		}, []string{"1 +0", "1 +1", "1 +2", "2 -2", "2 -1", "2 +1", "2 +2", "3 -2", "3 -1", "3 -0"}},
		{"frames around recorded calls", func(b *Batch) {
			b.Append(1, CallingContextEnter, 0, 4, 4)
			sample(b, 2, 4, 1)
			b.Append(3, CallingContextLeave, 0, 4)
			sample(b, 4, 0, 1)
		}, []string{"1 +0", "1 +1", "4 -1", "4 -0"}},
		{"a frame does not outlive a recorded call around it", func(b *Batch) {
			b.Append(1, CallingContextEnter, 0, 0, 2)
			sample(b, 2, 2, 3)
			b.Append(3, CallingContextLeave, 0, 0)
			sample(b, 4, 0, 2)
		}, []string{"2 +1", "2 +2", "3 -2", "3 -1", "4 +0", "4 -0"}},
		{"calls without context", func(b *Batch) {
			b.Append(1, Enter, 1) // frame 0 below it is not known
			sample(b, 2, 2, 4)
			b.Append(3, Enter, 3) // nothing says that 2 called it
			b.Append(4, Leave, 3)
			sample(b, 5, 0, 1) // without the recorded call
			sample(b, 6, 2, 4)
			b.Append(7, Leave, 1)
		}, []string{"2 +2", "3 -2", "6 +2", "7 -2"}},
		{"a recorded call that is open at the end", func(b *Batch) {
			b.Append(1, CallingContextEnter, 0, 1, 3)
			sample(b, 2, 2, 2)
		}, []string{"1 +0", "2 +2", "2 -2"}},
		{"a stray leave", func(b *Batch) {
			sample(b, 1, 1, 3)
			b.Append(2, Leave, 4)
		}, []string{"1 +0", "1 +1", "2 -1", "2 -0"}},
		{"tasks", func(b *Batch) {
			sample(b, 1, 0, 2)
			b.Append(2, ThreadTaskSwitch, 0, 0, 0, 1)
			sample(b, 3, 1, 3)
		}, []string{"1 +0", "2 -0"}},
		{"tasks above frames", func(b *Batch) {
			b.Append(1, CallingContextEnter, 0, 1, 3)
			b.Append(2, ThreadTaskSwitch, 0, 0, 0, 1)
			b.Append(3, Enter, 1)
			b.Append(4, Leave, 1)
			b.Append(5, CallingContextLeave, 0, 1)
			b.Append(6, ThreadTaskSwitch, 0, 0, 0, 0)
		}, []string{"1 +0", "6 -0"}},
		{"undefined contexts", func(b *Batch) {
			sample(b, 1, 77, 2)
			b.Append(2, CallingContextEnter, 0, 77, 2)
			b.Append(3, CallingContextLeave, 0, 77)
			sample(b, 4, none, 2)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Batch
			c.make(&b)
			if diff := cmp.Diff(c.want, framesOf(t, d, &b)); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFramesOfSleeper: a timer of 2 ticks samples a thread, which then sleeps. Ten periods after the newest sample only what the next one
// shows too is on the stack, but no frame ends before the last record that came meanwhile. Without a timer nothing is known of sleep.
func TestFramesOfSleeper(t *testing.T) {
	d := contextsOf(5, [2]uint32{0, Undefined}, [2]uint32{1, 0}, [2]uint32{2, 1}, [2]uint32{3, 0})
	d.Clocks = []ClockProperties{{TimerResolution: 1e9}}
	d.InterruptGenerators = []InterruptGenerator{{Ref: 4, Base: 1, Exponent: -9, Period: 2}, {Ref: 5, Mode: 1, Period: 2}}
	d.Seal()
	for _, c := range []struct {
		name      string
		generator uint64
		note      Time // of another record meanwhile
		next      func(b *Batch, generator uint64)
		want      []string
	}{
		{"the next sample", 4, 0, func(b *Batch, g uint64) { b.Append(100, CallingContextSample, 0, 3, 2, g) }, []string{"1 +0", "1 +1", "1 +2", "21 -2", "21 -1", "100 +3", "100 -3", "100 -0"}},
		{"not long", 4, 0, func(b *Batch, g uint64) { b.Append(21, CallingContextSample, 0, 3, 2, g) }, []string{"1 +0", "1 +1", "1 +2", "21 -2", "21 -1", "21 +3", "21 -3", "21 -0"}},
		{"a call", 4, 0, func(b *Batch, g uint64) { b.Append(100, Enter, 4) }, []string{"1 +0", "1 +1", "1 +2", "21 -2", "21 -1", "21 -0"}},
		{"another record", 4, 50, func(b *Batch, g uint64) { b.Append(100, Enter, 4) }, []string{"1 +0", "1 +1", "1 +2", "50 -2", "50 -1", "50 -0"}},
		{"no timer", 5, 0, func(b *Batch, g uint64) { b.Append(100, Enter, 4) }, []string{"1 +0", "1 +1", "1 +2", "100 -2", "100 -1", "100 -0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Batch
			b.Append(1, CallingContextSample, 0, 2, 4, c.generator)
			if c.note > 0 {
				b.Append(c.note, ParameterInt, 0, 0)
			}
			c.next(&b, c.generator)
			if diff := cmp.Diff(c.want, framesOf(t, d, &b)); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRandomFrames: a program enters and leaves frames, some of which a tracer records, and is sampled. Whatever distances
// the tracer writes, the calls that are open at a record with a path are that path; with true distances no frame is taken
// for more calls than it was.
func TestRandomFrames(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		type frame struct {
			region        uint32
			recorded, new bool
		}
		var stack []frame
		var paths [][]uint32 // at each record that has one
		contexts, number := [][2]uint32{}, map[[2]uint32]uint32{}
		context := func() uint64 {
			at := uint32(Undefined)
			var path []uint32
			for _, f := range stack {
				k := [2]uint32{f.region, at}
				if _, ok := number[k]; !ok {
					number[k] = uint32(len(contexts))
					contexts = append(contexts, k)
				}
				at, path = number[k], append(path, f.region)
			}
			paths = append(paths, path)
			return uint64(at)
		}
		entered := 0
		distance := func() uint64 {
			n := 1
			for i := range stack {
				if stack[i].new {
					n++
					if !stack[i].recorded {
						entered++
					}
				}
				stack[i].new = false
			}
			if seed%2 == 0 {
				return uint64(n)
			}
			return []uint64{uint64(len(stack)), uint64(len(stack) + 1), Undefined}[r.IntN(3)]
		}
		var b Batch
		for at := Time(1); at < 300; at++ {
			top := len(stack) - 1
			switch n := r.IntN(10); {
			case n < 3 && top < 12:
				stack = append(stack, frame{region: r.Uint32N(3), new: true})
			case n < 6 && top >= 0 && !stack[top].recorded:
				stack = stack[:top]
			case n < 7 && top < 12:
				stack = append(stack, frame{region: r.Uint32N(3), recorded: true, new: true})
				b.Append(at, CallingContextEnter, 0, context(), distance())
			case n < 8 && top >= 0 && stack[top].recorded:
				b.Append(at, CallingContextLeave, 0, context())
				paths = paths[:len(paths)-1]
				stack = stack[:top]
			case n >= 8 && top >= 0:
				b.Append(at, CallingContextSample, 0, context(), distance(), 0)
			}
		}
		d := contextsOf(3, contexts...)
		var open []uint32
		n, estimated := 0, 0
		f := NewFrames(d, func(out *Batch) error {
			for i := range out.Events {
				switch e := &out.Events[i]; e.Kind {
				case Enter:
					open = append(open, e.Ref)
					estimated++
				case Leave, CallingContextLeave:
					if len(open) == 0 {
						return errors.New("a leave without a call")
					}
					open = open[:len(open)-1]
				case CallingContextEnter:
					region, _ := d.ContextRegion(uint32(out.Words(e)[0]))
					open = append(open, region)
					fallthrough
				default:
					if !slices.Equal(open, paths[n]) {
						return fmt.Errorf("tick %d: %v is open, the path is %v", e.Time, open, paths[n])
					}
					n++
				}
			}
			return nil
		})
		if err := errors.Join(f.Add(&b), f.Finish()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if n != len(paths) || seed%2 == 0 && estimated > entered {
			t.Fatalf("seed %d: %d of %d paths; %d frames entered, %d were", seed, n, len(paths), estimated, entered)
		}
	}
}

// TestDeepFrames: the function in which a sample is counts, also below more frames than a recorder unwinds, as with inlined ones.
func TestDeepFrames(t *testing.T) {
	deep := [][2]uint32{{0, Undefined}}
	for i := uint32(1); i < 300; i++ {
		deep = append(deep, [2]uint32{i, i - 1})
	}
	var b Batch
	b.Append(1, CallingContextSample, 0, 299, 301, 0)
	if list := framesOf(t, contextsOf(300, deep...), &b); len(list) != 600 || list[299] != "1 +299" {
		t.Errorf("%d of 600 events, innermost %v", len(list), list[min(299, len(list)-1)])
	}
}

// TestHostileContexts: a circle of contexts and a deep path cost no more than the bounds, and batches stay small.
func TestHostileContexts(t *testing.T) {
	circle := contextsOf(2, [2]uint32{0, 1}, [2]uint32{1, 0})
	var b Batch
	b.Append(1, CallingContextSample, 0, 0, 1, 0)
	if list := framesOf(t, circle, &b); list != nil {
		t.Errorf("a circle of contexts makes calls: %v", list)
	}
	deep := [][2]uint32{{0, Undefined}, {1, Undefined}}
	for i := 2; i < 2*mostContexts; i++ {
		deep = append(deep, [2]uint32{uint32(i % 2), uint32(i - 2)}) // region 0 on even ones, 1 on odd ones
	}
	d := contextsOf(2, deep...)
	b.Reset()
	for i := range 1000 {
		b.Append(Time(i), CallingContextSample, 0, uint64(2*mostContexts-4+i%2), Undefined, 0)
	}
	largest := 0
	f := NewFrames(d, func(b *Batch) error {
		largest = max(largest, len(b.Events))
		return nil
	})
	if err := errors.Join(f.Add(&b), f.Finish()); err != nil {
		t.Fatal(err)
	}
	if largest == 0 || largest > mostFrameEvents {
		t.Errorf("batches of up to %d events", largest)
	}
	if len(f.path) > mostContexts || cap(f.stack) > 2*mostContexts {
		t.Errorf("a path of %d, a stack of %d", len(f.path), cap(f.stack))
	}
}

// TestPeriods: of generators of which only some are timers.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		resolution uint64
		g          InterruptGenerator
		want       uint64
	}{
		{1_000_000_000, InterruptGenerator{Base: 1, Exponent: -3, Period: 10}, 10_000_000},
		{1_000_000, InterruptGenerator{Base: 1, Exponent: -9, Period: 1500}, 1}, // rounded down
		{1 << 20, InterruptGenerator{Base: 0, Exponent: -10, Period: 3}, 3 << 10},
		{1000, InterruptGenerator{Base: 1, Exponent: 2, Period: 3}, 300_000},
		{1_000_000, InterruptGenerator{Base: 1, Exponent: -9, Period: 1}, 0},
		{1000, InterruptGenerator{Mode: 1, Base: 1, Period: 3}, 0},
		{1000, InterruptGenerator{Base: 1, Exponent: 64, Period: 3}, 0},
		{1000, InterruptGenerator{Base: 1, Exponent: -1 << 62, Period: 3}, 0},
		{1000, InterruptGenerator{Base: 2, Period: 3}, 0},
	} {
		d := &Definitions{Clocks: []ClockProperties{{TimerResolution: c.resolution}}}
		d.Seal()
		if got, ok := d.PeriodTicks(&c.g); got != c.want && ok || ok != (c.want > 0) {
			t.Errorf("%+v of %d: %d, %v, want %d", c.g, c.resolution, got, ok, c.want)
		}
	}
}
