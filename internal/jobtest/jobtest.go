// Package jobtest runs analyses for tests of packages that work with their results.
package jobtest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// Generated returns the Source of a spec.
func Generated(tb testing.TB, spec string) trace.Source {
	tb.Helper()
	o, err := synthetic.ParseOptions(spec)
	if err != nil {
		tb.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// MakeArchive writes a generated trace as an OTF2 archive and returns its
// anchor file.
func MakeArchive(tb testing.TB, spec string) string {
	tb.Helper()
	dir := tb.TempDir()
	if _, err := otf2.Copy(dir, "traces", Generated(tb, spec), otf2.Options{}); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "traces.otf2")
}

// Analyze runs the job on n in-process ranks.
func Analyze(n int, o analyze.Options) (res *analyze.Result, err error) {
	err = mpi.RunInProcess(n, func(c mpi.Comm) error {
		r, err := analyze.Run(c, o)
		if c.Rank() == 0 {
			res = r
		}
		return err
	})
	return res, err
}

// Opened analyses a program in the text of tracetest, for examples, and opens the result; the function closes and removes it.
func Opened(program string) (*results.Run, func()) {
	must := func(err error) {
		if err != nil {
			panic(err) // of an example, whose program is a constant
		}
	}
	src, err := tracetest.Parse(program)
	must(err)
	dir, err := os.MkdirTemp("", "coppice")
	must(err)
	_, err = Analyze(1, analyze.Options{Source: src, Output: filepath.Join(dir, "run.xtf")})
	must(err)
	run, err := results.Open(filepath.Join(dir, "run.xtf"), xtf.Options{})
	must(err)
	return run, func() { must(errors.Join(run.Close(), os.RemoveAll(dir))) }
}

// Archives lists the real archives that lie next to the repository.
func Archives(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "traces", "otf2", "*", "*.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(path string) bool {
		return filepath.Base(filepath.Dir(path)) == "buffer-endian" // contents of buffers, without definitions: no trace
	})
	if len(list) == 0 {
		t.Skip("no real traces in ../shared/traces/otf2 next to the repository")
	}
	return list
}

// FilesOf lists the files of an archive, relative to dir.
func FilesOf(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*", "*/*"} {
		m, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m {
			if st, err := os.Stat(f); err == nil && !st.IsDir() {
				rel, _ := filepath.Rel(dir, f)
				list = append(list, rel)
			}
		}
	}
	return list
}

// Write makes a file.
func Write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// PeakHeap runs f and returns the most heap that was live meanwhile, above what
// was live before. Live is what a collection found in use: garbage that waits
// for the next one, which depends on the load of the machine, does not count.
// The collector runs often, so that little is missed between two collections.
func PeakHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := live()
	peak := before
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, live())
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak - before
}

// Programs are generated traces that between them have every kind of message,
// collective, thread and fault.
var Programs = []string{
	"stencil:procs=6,events=20k,jitter=10,seed=1",
	"ring:procs=5,events=10k,jitter=5,offset=5000,skew=3000",
	"wavefront:procs=8,events=20k,jitter=30,imbalance=40",
	"masterworker:procs=5,events=10k,jitter=50",
	"irregular:procs=7,events=30k,jitter=20,seed=3",
	"irregular:procs=3,threads=3,events=20k,io,metrics,parameters,seed=4",
	"stencil:procs=4,events=8k,broken=all",
}

// Event is one record, comparable.
type Event struct {
	Time  trace.Time
	Kind  trace.Kind
	Flags uint8
	Ref   uint32
	Words []uint64
}

// EachEvent reads a location to its end.
func EachEvent(t *testing.T, src trace.Source, p trace.P, f func(b *trace.Batch, e *trace.Event)) {
	t.Helper()
	st, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				for k := range b.Events {
					f(&b, &b.Events[k])
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Events returns all of them.
func Events(t *testing.T, src trace.Source, p trace.P) (list []Event) {
	t.Helper()
	EachEvent(t, src, p, func(b *trace.Batch, e *trace.Event) {
		list = append(list, Event{e.Time, e.Kind, e.Flags, e.Ref, slices.Clone(b.Words(e))})
	})
	return list
}

// Announced returns the events that the data of an archive announce.
func Announced(t *testing.T, src trace.Source) (n uint64) {
	t.Helper()
	for p := range trace.P(src.Definitions().NumLocations()) {
		x, err := src.Measure(p)
		if err != nil {
			t.Fatal(err)
		}
		n += x.Events
	}
	return n
}
