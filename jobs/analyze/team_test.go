package analyze_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestSameBytesOfTeams: groups of events, as small as chunks can be, and who makes them do not change the file.
func TestSameBytesOfTeams(t *testing.T) {
	for i, v := range []struct {
		spec string
		o    analyze.Options
	}{
		{"stencil:procs=2,events=3k,jitter=10,seed=1,chunk=40", analyze.Options{}},
		{"irregular:procs=2,threads=2,events=4k,io,metrics,parameters,depth=6,seed=4,chunk=30", analyze.Options{}},
		{"masterworker:procs=3,events=3k,seed=2,chunk=50", analyze.Options{Profile: xtf.Raw4K}},
		{"wavefront:procs=3,events=4k,jitter=3,chunk=25", analyze.Options{Intervals: interval.Flags{SliceCount: 9, Intervals: []string{"region:*"}}}},
		{"stencil:procs=2,events=3k,broken=all,chunk=20", analyze.Options{Intervals: interval.Flags{Intervals: []string{"region:*"}, Between: "coll:Allreduce"}}},
		{"stencil:procs=2,events=3k,broken=all,chunk=20", analyze.Options{}},
		{"ring:procs=2,events=2k,chunk=30,skew=100k", analyze.Options{ClockRepair: true}},
		{"irregular:procs=2,events=2k,seed=9,chunk=30", analyze.Options{GraphOnly: true}},
		{"irregular:procs=2,events=2k,seed=9,chunk=30", analyze.Options{GraphOnly: true, Deviation: "10%,1us"}},
	} {
		t.Run(fmt.Sprint(i, " ", v.spec), func(t *testing.T) {
			t.Parallel()
			v.o.Source, v.o.StoreBytes = jobtest.Generated(t, v.spec), 1<<20
			want := analyzed(t, 1, v.o)
			v.o.GroupEvents = uint64(1 + 7*i)
			for _, ranks := range []int{2, 3, 5, 9} {
				if testing.Short() && ranks != 3+i%2*6 {
					continue
				}
				v.o.StoreBytes = int64(ranks) % 2 << 20
				if got := analyzed(t, ranks, v.o); !bytes.Equal(got, want) {
					t.Errorf("%d ranks: %d bytes differ from the %d of one", ranks, len(got), len(want))
				}
			}
		})
	}
}

// TestOverheadOfTeams: who leads a team knows the overhead that records tell, whichever groups these are in: of 300 rounds of
// 100 ticks the tracer is off for 30, empties its buffer for 20 from then on, and for 5 in MPI, where it is MPI.
func TestOverheadOfTeams(t *testing.T) {
	var text strings.Builder
	text.WriteString("-- program --\nprocesses 2\n-- events --\n1 0 ENTER main\n1 30000 LEAVE main\n0 0 ENTER main\n")
	for at := 0; at < 30000; at += 100 {
		fmt.Fprintf(&text, "0 %d MEASUREMENT_ON_OFF OFF\n0 %d BUFFER_FLUSH %d\n0 %d MEASUREMENT_ON_OFF ON\n0 %d ENTER MPI_Iprobe\n0 %[5]d BUFFER_FLUSH %[6]d\n0 %[6]d LEAVE MPI_Iprobe\n",
			at+10, at+40, at+60, at+40, at+90, at+95)
	}
	text.WriteString("0 30000 LEAVE main\n")
	src, err := tracetest.Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20, GroupEvents: 50}
	r, err := jobtest.Analyze(4, o)
	if err != nil || len(r.Teams) == 0 {
		t.Fatalf("%d teams, %v", len(r.Teams), err)
	}
	sums := map[uint32]uint64{}
	rowsOf(t, openFile(t, o.Output), xtf.Proc(0), xtf.TypeCPath, func(_ uint64, b []byte) {
		var x xtf.CPath
		x.Load(b)
		sums[x.Activity] += x.End - x.T
	})
	if want := map[uint32]uint64{xtf.ActivityCPU: 300 * 45, xtf.ActivityOverhead: 300 * 50, xtf.ActivityMPI: 300 * 5}; !maps.Equal(sums, want) {
		t.Errorf("critical path by activity: %v, want %v", sums, want)
	}
	o.Output = ""
	want := analyzed(t, 1, o)
	for _, ranks := range []int{2, 4, 7} {
		if !bytes.Equal(analyzed(t, ranks, o), want) {
			t.Errorf("%d ranks: other bytes than one", ranks)
		}
	}
}

// TestTeamsForm: ranks that hold nothing help, where times are not repaired.
func TestTeamsForm(t *testing.T) {
	for repair, want := range map[bool]int{false: 1, true: 0} {
		o := analyze.Options{
			Source: jobtest.Generated(t, "stencil:procs=1,events=2k"), Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20,
			GroupEvents: 100, ClockRepair: repair,
		}
		if r, err := jobtest.Analyze(4, o); err != nil || len(r.Teams) != want || want > 0 && len(r.Teams[0].Helpers) != 3 {
			t.Errorf("repair %t: teams %+v, %v", repair, r.Teams, err)
		}
	}
}

// heavySource claims that its locations are large.
type heavySource struct{ *randomSource }

func (heavySource) Measure(trace.P) (trace.Extent, error) {
	return trace.Extent{Bytes: 1 << 20, Chunks: 1}, nil
}

// TestRandomEventsOfTeams does the same with events in no sensible order: requests reused, calls left and never entered,
// operations that never end, over any number of borders.
func TestRandomEventsOfTeams(t *testing.T) {
	base, err := tracetest.Parse("-- program --\nprocesses 2\n-- events --\n0 1 ENTER MPI_Send\n0 2 ENTER MPI_Barrier\n0 3 ENTER main\n0 4 ENTER MPI_Waitall\n")
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(40)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := analyze.Options{Source: heavySource{&randomSource{base, seed, 400}}, StoreBytes: 1 << 20}
			want := analyzed(t, 1, o)
			o.GroupEvents = 1 + seed%7
			if got := analyzed(t, 4+int(seed)%3*4, o); !bytes.Equal(got, want) {
				t.Error("a team makes another file than one rank")
			}
		})
	}
}

// failingSource fails when a stream is opened for the n-th time.
type failingSource struct {
	trace.Source
	left atomic.Int64
	stop *jobs.Stop // asked instead, where it is not nil
}

func (s *failingSource) Stream(p trace.P) (trace.Stream, error) {
	if s.left.Add(-1) == 0 {
		if s.stop == nil {
			return nil, fmt.Errorf("location %d: %w", p, trace.ErrMissing)
		}
		s.stop.Ask("a test")
	}
	return s.Source.Stream(p)
}

// TestTeamFails lets any member of a team fail at any time, or be asked to stop: all ranks end, with its error.
func TestTeamFails(t *testing.T) {
	src := jobtest.Generated(t, "irregular:procs=2,events=2k,seed=9,chunk=30")
	for n := range int64(24) {
		if testing.Short() && n%8 > 1 {
			continue
		}
		for _, stop := range []*jobs.Stop{nil, {}} {
			x := &failingSource{Source: src, stop: stop}
			x.left.Store(n + 1)
			o := analyze.Options{Source: x, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20, GroupEvents: 40, Stop: stop, Version: "test"}
			_, err := jobtest.Analyze(4+8*int(n%2), o)
			switch {
			case stop == nil && (err == nil || jobs.ExitCode(err) != jobs.ExitInput):
				t.Errorf("stream %d missing: exit %d, %v", n, jobs.ExitCode(err), err)
			case stop != nil && jobs.ExitCode(err) != jobs.ExitSaved:
				t.Errorf("stopped at stream %d: exit %d, %v", n, jobs.ExitCode(err), err)
			case stop != nil:
				o.Source, o.Stop, o.Resume = src, nil, true
				if got, want := analyzed(t, 3, o), analyzed(t, 1, analyze.Options{Source: src, StoreBytes: 1 << 20}); !bytes.Equal(got, want) {
					t.Errorf("stopped at stream %d and resumed: another file", n)
				}
			}
		}
	}
}

// TestDamagedChunkOfTeam: a chunk that ends early, or that is none, leaves the same to a team as to one rank.
func TestDamagedChunkOfTeam(t *testing.T) {
	const chunk = 256 << 10
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", jobtest.Generated(t, "stencil:procs=1,events=70k,jitter=5"), otf2.Options{EventChunk: chunk}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "traces", "0.evt")
	whole, err := os.ReadFile(file)
	if err != nil || len(whole) < 3*chunk {
		t.Fatalf("%d bytes of events, %v", len(whole), err)
	}
	for _, at := range []int{chunk, chunk + 100<<10, 2*chunk + 20} {
		b := bytes.Clone(whole)
		clear(b[at : at+40])
		jobtest.Write(t, file, b)
		o := analyze.Options{Trace: filepath.Join(dir, "traces.otf2"), StoreBytes: 1 << 20}
		want := analyzed(t, 1, o)
		if o.GroupEvents = 6000; !bytes.Equal(analyzed(t, 4, o), want) {
			t.Errorf("damage at byte %d: a team makes another file", at)
		}
	}
}
