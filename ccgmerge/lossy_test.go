package ccgmerge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// stencil builds the locations of a generated program.
func stencil(t testing.TB, spec string, o graph.Options) (*synthetic.Source, []*build.Local) {
	t.Helper()
	opt, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	locals, err := buildAll(src, o)
	if err != nil {
		t.Fatal(err)
	}
	return src, locals
}

func deviation(t testing.TB, text string) graph.Deviation {
	t.Helper()
	d, err := graph.ParseDeviation(text, 1_000_000_000)
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
func reduceLossy(defs *trace.Definitions, locals []*build.Local, n int, o graph.Options) (lossyRun, error) {
	out := lossyRun{blobs: make([][]byte, len(locals))}
	err := mpi.RunInProcess(n, func(c mpi.Comm) error {
		lo, hi := c.Rank()*len(locals)/n, (c.Rank()+1)*len(locals)/n
		shared, book, report, err := Reduce(c, defs, slice(locals[lo:hi]), o, Config{})
		if err != nil {
			return err
		}
		dist := build.NewDistributor(shared)
		for p := lo; p < hi; p++ {
			l, err := book.Quantise(locals[p])
			if err != nil {
				return err
			}
			if out.blobs[p], err = dist.Distribute(l); err != nil {
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
		o := graph.Options{Deviation: deviation(t, text)}
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
			if r := got.report; r.CodebookBytes == 0 || n > 1 && r.GapBytes == 0 || o.Deviation.TimeStamps != (r.GapValues == 0) {
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
		o := graph.Options{Deviation: deviation(t, c.text)}
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

// driftOf opens the blobs, compares their gaps and times with the source's, and
// returns the errors and the time that the longest location takes.
func driftOf(t *testing.T, src trace.Source, run lossyRun) (all graph.ErrorStats, length trace.Time, events uint64) {
	t.Helper()
	shared, err := graph.OpenShared(src.Definitions(), run.section)
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
		if err == nil {
			err = withinBounds(loc, truth)
		}
		if err != nil {
			t.Fatalf("location %d: %v", p, err)
		}
		all.Add(loc.ErrorStats())
		if n := len(truth); n > 0 {
			length = max(length, truth[n-1]-truth[0])
		}
		events += uint64(len(truth))
	}
	return all, length, events
}

// withinBounds compares the times of a location with the true ones.
func withinBounds(loc *ccg.Location, truth []trace.Time) error {
	d := loc.Deviation()
	var was, is trace.Time // times of the event before
	var stats graph.ErrorStats
	x := loc.Expand()
	var b trace.Batch
	n, err := 0, error(nil)
	for err = x.Next(&b); err == nil; err = x.Next(&b) {
		for _, e := range b.Events {
			want := truth[n]
			off := uint64(max(e.Time, want) - min(e.Time, want))
			stats.Largest = max(stats.Largest, off)
			v, got := uint64(want-was), uint64(e.Time-is)
			switch {
			case n == 0 && off != 0:
				return fmt.Errorf("begins at %d, want %d", e.Time, want)
			case n > 0 && max(v, got)-min(v, got) > d.Bound(v):
				return fmt.Errorf("event %d: a gap of %d is stored as %d", n, v, got)
			case d.TimeStamps && (e.Time > want || off >= d.Abs):
				return fmt.Errorf("event %d at %d is stored at %d", n, want, e.Time)
			}
			was, is = want, e.Time
			n++
		}
	}
	if err != io.EOF || n != len(truth) || stats.Largest != loc.ErrorStats().Largest {
		return fmt.Errorf("%d events of %d, largest error %d, announced %+v (%v)", n, len(truth), stats.Largest, loc.ErrorStats(), err)
	}
	return nil
}

// TestLossyArchives keeps the bounds on real traces.
func TestLossyArchives(t *testing.T) {
	root := traces(t)
	names := []string{"npb-lu.S-16", "lammps-melt-8", "npb-lu.S-func-4"}
	if testing.Short() {
		names = []string{"npb-cg.S-4"}
	}
	for _, name := range names {
		src, err := otf2.OpenPath(filepath.Join(root, name, "traces.otf2"))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		for _, text := range []string{"1%", "10%,1us", "10us,timestamps"} {
			d, err := graph.ParseDeviation(text, src.Definitions().Clock().TimerResolution)
			if err != nil {
				t.Fatal(err)
			}
			o := graph.Options{Deviation: d}
			locals, err := buildAll(src, o)
			if err != nil {
				t.Fatal(err)
			}
			run, err := reduceLossy(src.Definitions(), locals, 3, o)
			if err != nil {
				t.Fatal(err)
			}
			stats, length, events := driftOf(t, src, run)
			t.Logf("%s, %s: %.3f bytes per event, section %d; gaps %d and codebook %d bytes; times off by %d at most, %d on average, of %d ticks",
				name, text, float64(size(run))/float64(events), len(run.section), run.report.GapBytes, run.report.CodebookBytes,
				stats.Largest, stats.Mean(), length)
		}
	}
}

// TestLossyErrorsAreCollective lets one rank fail at each of its openings.
func TestLossyErrorsAreCollective(t *testing.T) {
	const n = 3
	o := graph.Options{Deviation: graph.Deviation{Abs: 10}}
	src, locals := stencil(t, "stencil:procs=6,events=2k,jitter=2", o)
	for rank := range n {
		for at := range 6 {
			errs := make([]error, n)
			err := mpi.RunInProcess(n, func(c mpi.Comm) error {
				own := slice(locals[2*c.Rank() : 2*c.Rank()+2])
				var in Locals = own
				if c.Rank() == rank {
					in = &broken{slice: own, at: at}
				}
				_, _, _, errs[c.Rank()] = Reduce(c, src.Definitions(), in, o, Config{})
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
	o.Deviation = graph.Deviation{Num: 2, Den: 1}
	if _, err := reduceLossy(src.Definitions(), locals, 2, o); !errors.Is(err, graph.ErrDeviation) {
		t.Errorf("bad bounds: %v", err)
	}
}

func ExampleReduce_lossy() {
	defs := definitions(2)
	d, err := graph.ParseDeviation("10%,1us", 1_000_000_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := graph.Options{Deviation: d} // of the builders and of the reduction
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		b := build.NewBuilder(defs, trace.P(c.Rank()), o)
		if err := b.Add(ring(uint32(c.Rank()), 2)); err != nil {
			return err
		}
		l, err := b.Finish()
		if err != nil {
			return err
		}
		shared, book, _, err := Reduce(c, defs, slice{l}, o, Config{})
		if err != nil {
			return err
		}
		if l, err = book.Quantise(l); err != nil {
			return err
		}
		blob, err := build.NewDistributor(shared).Distribute(l)
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
