package ccgmerge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// stencil builds the locations of a generated stencil whose computations jitter
// by 2 %.
func stencil(t testing.TB, spec string, o ccg.Options) (*tracetest.Source, []*ccg.Local) {
	t.Helper()
	opt, err := tracetest.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := tracetest.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	var locals []*ccg.Local
	b := ccg.NewBuilder(src.Definitions(), 0, o)
	for p := range src.Definitions().NumLocations() {
		b.Reset(trace.P(p))
		if err := each(src, trace.P(p), b.Add); err != nil {
			t.Fatal(err)
		}
		l, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		locals = append(locals, l)
	}
	return src, locals
}

func deviation(t testing.TB, text string) ccg.Deviation {
	t.Helper()
	d, err := ccg.ParseDeviation(text, 1_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// lossyRun is what a reduction and its distribution leave.
type lossyRun struct {
	section []byte
	blobs   [][]byte
	report  Report
}

// reduceLossy runs on n ranks in one process.
func reduceLossy(defs *trace.Definitions, locals []*ccg.Local, n int, o ccg.Options) (lossyRun, error) {
	out := lossyRun{blobs: make([][]byte, len(locals))}
	err := mpi.RunInProcess(n, func(c mpi.Comm) error {
		lo, hi := c.Rank()*len(locals)/n, (c.Rank()+1)*len(locals)/n
		shared, report, err := Reduce(c, defs, Slice(locals[lo:hi]), o, Config{})
		if err != nil {
			return err
		}
		dist := ccg.NewDistributor(shared)
		for p := lo; p < hi; p++ {
			if out.blobs[p], err = dist.Distribute(locals[p]); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			out.section, out.report = shared.Encode(), report
		}
		return nil
	})
	return out, err
}

// TestLossyRanks compares the bytes of 1, 2, 3 and 5 ranks.
func TestLossyRanks(t *testing.T) {
	for _, text := range []string{"10%", "10%,1us", "1us,timestamps"} {
		o := ccg.Options{Deviation: deviation(t, text)}
		src, locals := stencil(t, "stencil:procs=7,events=20k,jitter=2", o)
		var want lossyRun
		for _, n := range []int{1, 2, 3, 5} {
			got, err := reduceLossy(src.Definitions(), locals, n, o)
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				want = got
			}
			if !bytes.Equal(got.section, want.section) {
				t.Fatalf("%s: section of %d ranks differs from that of one", text, n)
			}
			for p := range locals {
				if !bytes.Equal(got.blobs[p], want.blobs[p]) {
					t.Fatalf("%s: blob of location %d differs on %d ranks", text, p, n)
				}
			}
			if r := got.report; r.CodebookBytes == 0 || n > 1 && r.GapBytes == 0 {
				t.Errorf("%s: %d ranks: report %+v", text, n, r)
			}
		}
	}
}

// TestDrift keeps the largest error of a time below fixed limits: the mean of
// each value's gaps is stored, so errors hardly add up.
func TestDrift(t *testing.T) {
	spec := "stencil:procs=4,events=400k,jitter=2"
	if testing.Short() {
		spec = "stencil:procs=4,events=40k,jitter=2"
	}
	for _, c := range []struct {
		text  string
		limit uint64 // ns
	}{{"10%", 1_000_000}, {"10%,1us", 200_000}, {"10%,1us,timestamps", 999}} {
		o := ccg.Options{Deviation: deviation(t, c.text)}
		src, locals := stencil(t, spec, o)
		run, err := reduceLossy(src.Definitions(), locals, 1, o)
		if err != nil {
			t.Fatal(err)
		}
		stats, length, events := driftOf(t, src, run)
		t.Logf("%s: %d bytes of section, %.3f bytes per event, errors: largest %d ns, mean %d ns, of %d ns",
			c.text, len(run.section), float64(size(run))/float64(events), stats.Largest, stats.Mean(), length)
		if stats.Largest > c.limit || stats.Count != events {
			t.Errorf("%s: errors %+v of %d events, at most %d ns", c.text, stats, events, c.limit)
		}
	}
}

func size(run lossyRun) int {
	n := len(run.section)
	for _, b := range run.blobs {
		n += len(b)
	}
	return n
}

// driftOf opens the blobs, compares their times with the source's, and returns
// the errors and the time that the longest location takes.
func driftOf(t *testing.T, src trace.Source, run lossyRun) (all ccg.ErrorStats, length trace.Time, events uint64) {
	t.Helper()
	shared, err := ccg.OpenShared(src.Definitions(), run.section)
	if err != nil {
		t.Fatal(err)
	}
	for p, blob := range run.blobs {
		loc, err := ccg.OpenLocation(shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		var truth []trace.Time
		err = each(src, trace.P(p), func(b *trace.Batch) error {
			for _, e := range b.Events {
				truth = append(truth, e.Time)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		largest, n := uint64(0), 0
		x := loc.Expand()
		var b trace.Batch
		for err = x.Next(&b); err == nil; err = x.Next(&b) {
			for _, e := range b.Events {
				if shared.Options().Deviation.TimeStamps && e.Time > truth[n] {
					t.Fatalf("location %d, event %d: stored at %d, after %d", p, n, e.Time, truth[n])
				}
				largest = max(largest, uint64(max(e.Time, truth[n])-min(e.Time, truth[n])))
				n++
			}
		}
		if err != io.EOF || n != len(truth) || largest != loc.ErrorStats().Largest {
			t.Fatalf("location %d: %d events of %d, largest error %d, announced %+v (%v)", p, n, len(truth), largest, loc.ErrorStats(), err)
		}
		all.Add(loc.ErrorStats())
		length = max(length, truth[n-1]-truth[0])
		events += uint64(n)
	}
	return all, length, events
}

// TestLossyErrorsAreCollective lets one rank fail at each of its openings.
func TestLossyErrorsAreCollective(t *testing.T) {
	const n = 3
	o := ccg.Options{Deviation: ccg.Deviation{Abs: 10}}
	src, locals := stencil(t, "stencil:procs=6,events=2k,jitter=2", o)
	for rank := range n {
		for at := range 6 {
			errs := make([]error, n)
			err := mpi.RunInProcess(n, func(c mpi.Comm) error {
				own := Slice(locals[2*c.Rank() : 2*c.Rank()+2])
				var in Locals = own
				if c.Rank() == rank {
					in = &broken{Slice: own, at: at}
				}
				_, _, errs[c.Rank()] = Reduce(c, src.Definitions(), in, o, Config{})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for r, e := range errs {
				if e == nil || e.Error() != errs[0].Error() {
					t.Fatalf("rank %d failed at opening %d: rank %d has %v, rank 0 %v", rank, at, r, e, errs[0])
				}
			}
		}
	}
	o.Deviation = ccg.Deviation{Num: 2, Den: 1}
	if _, err := reduceLossy(src.Definitions(), locals, 2, o); !errors.Is(err, ccg.ErrDeviation) {
		t.Errorf("bad bounds: %v", err)
	}
}

func ExampleReduce_lossy() {
	defs := definitions(2)
	d, err := ccg.ParseDeviation("10%,1us", 1_000_000_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := ccg.Options{Deviation: d} // of the builders and of the reduction
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		b := ccg.NewBuilder(defs, trace.P(c.Rank()), o)
		if err := b.Add(ring(uint32(c.Rank()), 2)); err != nil {
			return err
		}
		l, err := b.Finish()
		if err != nil {
			return err
		}
		shared, _, err := Reduce(c, defs, Slice{l}, o, Config{})
		if err != nil {
			return err
		}
		blob, err := ccg.Distribute(shared, l)
		if err != nil {
			return err
		}
		loc, err := ccg.OpenLocation(shared, blob)
		if err == nil && c.Rank() == 0 {
			fmt.Println("bounds", loc.Deviation(), "- no gap of 5 ticks is off by more than", loc.Deviation().Bound(5))
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: bounds 10%,1000ticks - no gap of 5 ticks is off by more than 1000
}
