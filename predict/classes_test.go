package predict

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// planted makes a run of n processes: the last one calls one barrier more, the others compute 1000 ns times 1 + p%3 between
// calls, and p%2 ns more. Processes that are divisible by 5 test a request up to 3 times in vain before they compute.
func planted(t testing.TB, n int) *graphFile {
	d := worldOf(n)
	var list []*trace.Batch
	for p := range n {
		s := &scribe{Batch: &trace.Batch{}}
		s.call(inInit)
		for i := range 20 {
			tests := 0
			if p%5 == 0 {
				tests = (p + i) % 4
			}
			s.work(1000*(1+p%3) + p%2)
			for range tests {
				s.call(inTest)
			}
			s.call(inBarrier, s.record(trace.MpiCollectiveEnd, 0, 0, trace.Undefined, 0, 0))
		}
		if p == n-1 {
			s.call(inBarrier, s.record(trace.MpiCollectiveEnd, 0, 0, trace.Undefined, 0, 0))
		}
		s.call(inFinalize)
		list = append(list, s.Batch)
	}
	return graphsOfBatches(t, d, list)
}

// classify finds the classes on so many ranks; they must be the same on all.
func classify(t testing.TB, f Graphs, ranks int, o ClassOptions) *xtf.ClassTable {
	t.Helper()
	list := make([]*xtf.ClassTable, ranks)
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		in, err := Open(c, f, OpenOptions{})
		if err != nil {
			return err
		}
		list[c.Rank()], err = in.Classify(context.Background(), c, o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, k := range list[1:] {
		if k.Merges != nil || !reflect.DeepEqual(k.Members, list[0].Members) || !reflect.DeepEqual(k.Sums, list[0].Sums) || !reflect.DeepEqual(k.Classes, list[0].Classes) || !reflect.DeepEqual(k.Groups, list[0].Groups) {
			t.Fatalf("rank %d of %d: other classes", r+1, ranks)
		}
	}
	return list[0]
}

// TestPlantedClasses finds the classes that were planted, on any number of ranks.
func TestPlantedClasses(t *testing.T) {
	t.Parallel()
	const n = 25
	f := planted(t, n)
	o := ClassOptions{Options: cluster.Options{Threshold: cluster.Threshold{PPM: 50_000}}}
	k := classify(t, f, 1, o)
	if len(k.Groups) != 2 || k.Groups[0].Processes != n-1 || k.Groups[0].Classes != 3 || k.Groups[1].First != n-1 || len(k.Classes) != 4 {
		t.Fatalf("groups %+v, classes %+v", k.Groups, k.Classes)
	}
	for p := range uint32(n - 1) {
		if of := k.Members[p].Class; of != p%3 {
			t.Errorf("process %d is in class %d", p, of)
		}
	}
	for i, c := range k.Classes[:3] {
		// the last members compute 20 ns more than the first
		if s := &k.Sums[i]; s.First != uint32(i) || c.Members != 8 || c.Diameter != 20 || s.Most-s.Least != 20 {
			t.Errorf("class %d: %+v %+v", i, c, s)
		}
	}
	if m := k.Merges; len(m) != n-1-3 || m[0].Height != 0 || m[len(m)-1].Height != 20 {
		t.Errorf("merges %+v", m)
	}
	for _, ranks := range []int{2, 3, 8} {
		if got := classify(t, f, ranks, o); !reflect.DeepEqual(got, k) {
			t.Errorf("%d ranks: %+v, not %+v", ranks, got, k)
		}
	}
	o.Threshold = cluster.Threshold{Absolute: 19}
	if k = classify(t, f, 2, o); len(k.Classes) != 7 {
		t.Errorf("%d classes within 19 ns", len(k.Classes))
	}
	o.MaxClasses = 2
	if k = classify(t, f, 2, o); k.Groups[0].Classes != 2 {
		t.Errorf("%d classes of at most 2", k.Groups[0].Classes)
	}
	o = ClassOptions{Strict: true, Options: cluster.Options{Threshold: cluster.Threshold{PPM: 50_000}}}
	if k = classify(t, f, 1, o); len(k.Classes) != 4 {
		t.Errorf("%d classes with partners and bytes", len(k.Classes))
	}
}

// TestSequences compares sequences of random processes call by call: equal hashes and equal ropes where the lists are equal,
// in whatever loops.
func TestSequences(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		var list []*trace.Batch
		d := worldOf(6)
		for range 6 {
			s := &scribe{Batch: &trace.Batch{}}
			for range 3 {
				region := []uint32{inBarrier, inTest, inAllreduce}[r.IntN(3)]
				for range 1 + r.IntN(3) {
					s.Append(s.now, trace.Enter, inMain)
					for range 1 + r.IntN(2) {
						switch region {
						case inBarrier:
							s.call(inBarrier, s.record(trace.MpiCollectiveEnd, 0, 0, trace.Undefined, 0, 0))
						case inTest:
							s.call(inTest)
						default:
							s.call(inAllreduce, s.record(trace.MpiCollectiveEnd, 11, 0, trace.Undefined, 48, 48))
						}
					}
					s.Append(s.now, trace.Leave, inMain)
				}
			}
			list = append(list, s.Batch)
		}
		in := inputs(t, graphsOfBatches(t, d, list), 1)[0]
		text := make([]string, 6)
		for p := range text {
			for _, c := range unrolled(in, uint32(p)) {
				if c.Region != inTest {
					text[p] += fmt.Sprint(c.Region, " ")
				}
			}
		}
		for a := range text {
			for b := range text {
				x, y := in.Program.Roots[a], in.Program.Roots[b]
				same := in.sequences[x].hash == in.sequences[y].hash && in.sequences[x].counted == in.sequences[y].counted
				if want := text[a] == text[b]; same != want || equalSequences(in.Program, in.sequences, in.keys, x, y) != want {
					t.Fatalf("seed %d: %q and %q: hashes equal %t", seed, text[a], text[b], same)
				}
			}
		}
	}
}

// TestArchiveClasses finds the same classes of real traces on any number of ranks.
func TestArchiveClasses(t *testing.T) {
	t.Parallel()
	dir := archives(t)
	for _, name := range []string{"lulesh-8", "lammps-melt-8", "npb-mg.S-8"} {
		f := archive(t, dir, name)
		for _, o := range []cluster.Options{{Threshold: cluster.Threshold{PPM: 50_000}}, {Threshold: cluster.Threshold{PPM: 1_000_000}, Linkage: cluster.Average, Metric: cluster.L2}} {
			want := classify(t, f, 1, ClassOptions{Options: o})
			if got := classify(t, f, 3, ClassOptions{Options: o}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v on three ranks, not %+v", name, got, want)
			}
		}
	}
}
