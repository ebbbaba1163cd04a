package analyze_test

import (
	"bytes"
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestClasses writes the same classes on any number of ranks and in any memory, with rows of events and without, and reads back
// what is found in the finished file.
func TestClasses(t *testing.T) {
	flags := &predict.ClassFlags{Threshold: "5%", Dendrogram: true}
	for _, spec := range []string{
		"stencil:procs=12,events=12k,jitter=30,imbalance=40,seed=2", "irregular:procs=5,threads=3,events=20k,seed=4", "masterworker:procs=5,events=10k,jitter=50",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				spec = thousands.ReplaceAllString(spec, "events=3k")
			}
			for _, graphOnly := range []bool{true, false} {
				o := analyze.Options{
					Source: jobtest.Generated(t, spec), Profile: xtf.Packed, GraphOnly: graphOnly, Classes: flags, StoreBytes: 1 << 30,
					Output: filepath.Join(t.TempDir(), "run.xtf"),
				}
				want := analyzed(t, 1, o)
				checkClasses(t, o.Output, flags)
				o.Output = ""
				for _, ranks := range []int{2, 3, 8} {
					o.StoreBytes = int64(ranks-2) << 20 // without memory: vectors are in the file
					if got := analyzed(t, ranks, o); !bytes.Equal(got, want) {
						t.Errorf("%d ranks, rows %t: another file", ranks, !graphOnly)
					}
				}
			}
		})
	}
}

// checkClasses compares the classes of a file with those that its graph gives.
func checkClasses(t *testing.T, path string, flags *predict.ClassFlags) {
	t.Helper()
	f := openFile(t, path)
	got, err := f.Classes()
	if err != nil || got == nil {
		t.Fatalf("classes %v, %v", got, err)
	}
	in, err := predict.Open(mpi.Serial(), f, predict.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := flags.Parse(in.Defs.Clock().TimerResolution)
	if err != nil {
		t.Fatal(err)
	}
	want, err := in.Classify(context.Background(), mpi.Serial(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nnot\n%+v", got, want)
	}
}

// TestClassOptions refuses what cannot be, and tells files apart by their options.
func TestClassOptions(t *testing.T) {
	src := jobtest.Generated(t, "ring:procs=4,events=1k")
	o := analyze.Options{Source: src, Profile: xtf.Packed, GraphOnly: true, Classes: &predict.ClassFlags{Threshold: "5 apples"}, Output: filepath.Join(t.TempDir(), "run.xtf")}
	if _, err := jobtest.Analyze(2, o); jobs.ExitCode(err) != jobs.ExitUsage {
		t.Errorf("5 apples: %v", err)
	}
	o.Classes.Threshold = "5%"
	five := analyzed(t, 1, o)
	o.Output, o.Classes = "", &predict.ClassFlags{Threshold: "6%"}
	if bytes.Equal(five, analyzed(t, 1, o)) {
		t.Error("5% and 6% give one file")
	}
}

// TestLossyVectors opens exact and lossy graphs of the same runs: programs are equal, and sums of vectors within the bound that the
// lossy one states, on any number of ranks.
func TestLossyVectors(t *testing.T) {
	for _, spec := range []string{"stencil:procs=6,events=12k,jitter=30,seed=2", "irregular:procs=7,events=20k,jitter=20,seed=3"} {
		var list []*predict.Input
		for _, deviation := range []string{"", "10%,1us"} {
			o := analyze.Options{Source: jobtest.Generated(t, spec), Profile: xtf.Packed, GraphOnly: true, Deviation: deviation, Output: filepath.Join(t.TempDir(), "run.xtf")}
			analyzed(t, 2, o)
			in, err := predict.Open(mpi.Serial(), openFile(t, o.Output), predict.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, in)
		}
		exact, lossy := list[0], list[1]
		if !reflect.DeepEqual(exact.Program, lossy.Program) || exact.Left != lossy.Left {
			t.Errorf("%s: another program", spec)
		}
		bound := lossy.Vectors.Bound()
		if exact.Vectors.Bound() != 0 || bound == 0 {
			t.Errorf("%s: bounds %d and %d", spec, exact.Vectors.Bound(), bound)
		}
		for p := range exact.Processes() {
			a, err := exact.Vectors.Sum(p)
			b, err2 := lossy.Vectors.Sum(p)
			if err != nil || err2 != nil || max(a, b)-min(a, b) > bound || exact.Vectors.Entries(p) != lossy.Vectors.Entries(p) {
				t.Errorf("%s, process %d: %d and %d ticks within %d, %v, %v", spec, p, a, b, bound, err, err2)
			}
		}
	}
}
