package predict

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// keptRun is a run of two processes that do the same at the same time. In ns:
//
//	computes 100, MPI_Init 640, computes 7, MPI_Wtime 3, computes 5, write (a file, 4096 bytes) 50, computes 11, MPI_Put 40,
//	computes 13, MPI_Barrier 20, computes 17, MPI_Finalize 300, computes 1
func keptRun(t *testing.T) *graphFile {
	var list []*trace.Batch
	for range 2 {
		s := &scribe{Batch: &trace.Batch{}}
		call := func(before int, region uint32, ns int, records ...func()) {
			s.work(before)
			s.Append(s.now, trace.Enter, region)
			for _, r := range records {
				r()
			}
			s.work(ns)
			s.Append(s.now, trace.Leave, region)
		}
		s.Append(s.now, trace.Enter, inMain)
		call(100, inInit, 640)
		call(7, inWtime, 3)
		call(5, inWrite, 50, s.record(trace.IoOperationBegin, 0, 1, 0, 4096, 0))
		call(11, inPut, 40)
		call(13, inBarrier, 20, s.record(trace.MpiCollectiveEnd, 0, 0, trace.Undefined, 0, 0))
		call(17, inFinalize, 300)
		s.work(1)
		s.Append(s.now, trace.Leave, inMain)
		list = append(list, s.Batch)
	}
	return graphsOfBatches(t, worldOf(2), list)
}

// TestCallsAreNoComputation has the vector of a run by hand: calls without communication, one-sided ones and files are not in
// it, and keep their time next to it.
func TestCallsAreNoComputation(t *testing.T) {
	t.Parallel()
	in := inputs(t, keptRun(t), 1)[0]
	want := []uint64{100, 7, 5, 11, 13, 17, 1}  // 154 ns
	kept := []uint64{0, 640, 3, 50, 40, 0, 300} // after the calls
	for p := range uint32(2) {
		got := make([]uint64, in.Vectors.Entries(p))
		if err := in.Vectors.Ticks(p, 0, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("process %d computes %d, %v, want %d", p, got, err, want)
		}
		if err := in.Vectors.Kept().Ticks(p, 0, got); err != nil || !slices.Equal(got, kept) {
			t.Errorf("process %d keeps %d, %v, want %d", p, got, err, kept)
		}
		if sum, err := in.Vectors.Sum(p); err != nil || sum != 154 {
			t.Errorf("process %d computes %d ns, %v, want 154", p, sum, err)
		}
	}
	if in.Left[LeftFiles] != 2 || in.Left[LeftOneSided] != 2 || in.Left[LeftOutside] != 0 {
		t.Errorf("left %+v", in.Left)
	}
}

// TestScaleKeepsCalls predicts that run where processors are ten times as fast and the network takes no time. Calls but the barrier
// keep what they took: every process ends at 154/10 + 640 + 3 + 50 + 40 + 300 = 1048.4 ns, and the predicted run has every call
// where the sums before it say.
func TestScaleKeepsCalls(t *testing.T) {
	t.Parallel()
	in := inputs(t, keptRun(t), 1)[0]
	machine, err := platform.Read(strings.NewReader("schema = \"coppice.platform/1\"\n[nodes]\ncount = 2\nranks_per_node = 1\n[links.net]\nL_ns = 0\n"), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	n, err := machine.Network(2)
	if err != nil {
		t.Fatal(err)
	}
	calc := &Delayed{Calc: &Substituted{Host: in.Vectors, Scale: platform.Scale{Num: 1, Den: 10}}, Delay: []int64{0, 0}, Kept: in.Vectors.Kept()}
	store := &memorySegments{}
	times := NewTimes(store, 0, 2)
	r, err := simnet.Dataflow(context.Background(), mpi.Serial(), 0, 2, in.Program, calc, n, simnet.Options{Observer: times})
	if err != nil {
		t.Fatal(err)
	}
	if err := times.Finish(r); err != nil {
		t.Fatal(err)
	}
	if r.Makespan != 1_048_400 {
		t.Errorf("the run takes %d ps, want 1048400", r.Makespan)
	}
	run, err := NewRun(RunOptions{
		Comm: mpi.Serial(), Recorded: in, Times: store, End: 2, Makespan: r.Makespan,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Time{ // ps
		0,               // main begins
		10_000, 650_000, // MPI_Init: 100/10, 640
		650_700, 653_700, // MPI_Wtime: 7/10, 3
		654_200, 654_200, 704_200, // write: 5/10, its record, 50
		705_300, 745_300, // MPI_Put: 11/10, 40
		746_600, 746_600, 746_600, // MPI_Barrier: 13/10, its record, 0
		748_300, 1_048_300, // MPI_Finalize: 17/10, 300
		1_048_400, // main ends: 1/10
	}
	for p := range trace.P(2) {
		if got := timesOf(t, run, p); !slices.Equal(got, want) {
			t.Errorf("location %d:\n got %d\nwant %d", p, got, want)
		}
	}
}

// TestApartFromMPI has files written by some processes only: 0 writes twice where 1 does not write. They call the same all the same, and what
// they compute there is one entry: 30 + 30 + 40 = 100 ns, and 100 ns. Process 2 writes through MPI: the barrier in its write is the call, and
// the 5 ns before it and after it are what it computes.
func TestApartFromMPI(t *testing.T) {
	t.Parallel()
	var list []*trace.Batch
	for p := range 3 {
		s := &scribe{Batch: &trace.Batch{}}
		barrier := func() { s.call(inBarrier, s.record(trace.MpiCollectiveEnd, 0, 0, trace.Undefined, 0, 0)) }
		s.call(inInit)
		switch p {
		case 0:
			s.work(30)
			s.call(inWrite)
			s.work(30)
			s.call(inWrite)
			s.work(40)
			barrier()
		case 1:
			s.work(100)
			barrier()
		case 2:
			s.work(100)
			s.call(inWrite, barrier)
		}
		s.call(inFinalize)
		list = append(list, s.Batch)
	}
	f := graphsOfBatches(t, worldOf(3), list)
	in := inputs(t, f, 1)[0]
	for p, want := range [][2][]uint64{
		{{0, 30, 30, 40, 0, 0}, {0, 10, 10, 10, 0, 10}},
		{{0, 100, 0, 0}, {0, 10, 0, 10}},
		{{0, 105, 5, 0}, {0, 10, 0, 10}},
	} {
		got := make([]uint64, in.Vectors.Entries(uint32(p)))
		for i, v := range []*Vectors{in.Vectors, in.Vectors.Kept()} {
			if err := v.Ticks(uint32(p), 0, got); err != nil || !slices.Equal(got, want[i]) {
				t.Errorf("process %d: %d, %v, want %d", p, got, err, want[i])
			}
		}
	}
	k := classify(t, f, 2, ClassOptions{Options: cluster.Options{Threshold: cluster.Threshold{PPM: 10_000}}})
	if len(k.Groups) != 1 || k.Members[0].Class != k.Members[1].Class || k.Members[0].Class == k.Members[2].Class || k.Sums[0].Mean != 100 || k.Sums[1].Mean != 110 {
		t.Errorf("groups %+v, classes %+v of %d", k.Groups, k.Classes, k.Members)
	}
}

// timesOf returns the times of all events of a location.
func timesOf(t *testing.T, src trace.Source, p trace.P) (list []trace.Time) {
	t.Helper()
	s, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Chunk(0)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var b trace.Batch
		err := c.Next(&b)
		for i := range b.Events {
			list = append(list, b.Events[i].Time)
		}
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestArchiveMean opens NPB BT, class S, where MPI_Init is nine tenths of the run. What processes compute is what the events of the
// archive have outside of all MPI calls, added up here one by one: a mean of 12.2 ms on 4 processes and 8.3 ms on 9, no two of which
// are within 5 % of each other. With MPI_Init it would be 315 ms in 2 classes, and 459 ms in 3.
func TestArchiveMean(t *testing.T) {
	t.Parallel()
	dir := archives(t)
	for _, x := range []struct {
		name      string
		processes uint64
		mean      float64 // seconds
	}{{"npb-bt.S-4", 4, 0.0122}, {"npb-bt.S-9", 9, 0.0083}} {
		f := archive(t, dir, x.name)
		in := inputs(t, f, 1)[0]
		src, err := otf2.OpenPath(filepath.Join(dir, "otf2", x.name, "traces.otf2"))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		want, got := uint64(0), uint64(0)
		for p := range in.Processes() {
			depth, last, started := 0, trace.Time(0), false
			if _, err := eachBatch(src, in.processes[p].First, func(b *trace.Batch) error {
				for i := range b.Events {
					e := &b.Events[i]
					if started && depth == 0 {
						want += uint64(e.Time - last)
					}
					switch last, started = e.Time, true; e.Kind {
					case trace.Enter:
						depth++ // the archive has MPI functions only
					case trace.Leave:
						depth--
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			sum, err := in.Vectors.Sum(p)
			if err != nil {
				t.Fatal(err)
			}
			got += sum
		}
		mean := float64(got) / float64(x.processes) / float64(in.Defs.Clock().TimerResolution)
		if got != want || math.Abs(mean-x.mean) > 0.00005 {
			t.Errorf("%s: %d ticks of computation, a mean of %.4f s, want %d and %.4f s", x.name, got, mean, want, x.mean)
		}
		if k := classify(t, f, 1, ClassOptions{Options: cluster.Options{Threshold: cluster.Threshold{PPM: 50_000}}}); uint64(len(k.Classes)) != x.processes {
			t.Errorf("%s: %d classes of %d processes", x.name, len(k.Classes), x.processes)
		}
	}
}
