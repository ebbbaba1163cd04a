package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// processes of the run of the tests, and the calls of each.
const (
	processes = 6
	calls     = 3000
)

// endOf is when a call of a process ends: one begins every 100 ticks, and none takes as long as the one before.
func endOf(p, n int) uint64 { return uint64(100*n + 10 + (7*n+13*p)%80) }

// analysed analyses calls of one function, whose times no two processes share.
func analysed(dir string) (string, error) {
	text := fmt.Appendf(nil, "-- program --\nprocesses %d\n-- events --\n", processes)
	for n := range calls {
		for p := range processes {
			text = fmt.Appendf(text, "%d %d ENTER work\n%d %d LEAVE work\n", p, 100*n, p, endOf(p, n))
		}
	}
	src, err := tracetest.Parse(string(text))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "run.xtf")
	return path, mpi.RunInProcess(1, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{Source: src, Output: path})
		return err
	})
}

// ends reads the ends of all calls of a process.
func ends(f *xtf.File, p xtf.Proc) ([]uint64, error) {
	a, err := f.Array(p, xtf.TypeCall)
	if err != nil {
		return nil, err
	}
	var list []uint64
	rows := a.Rows(0, a.Len())
	for rows.Next() {
		list = append(list, xtf.U64(rows.Row(), xtf.CallEnd))
	}
	return list, rows.Err()
}

// A file is opened so that the rows of calls have their times.
func Example_callview() {
	dir, err := os.MkdirTemp("", "callview")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, err := analysed(dir)
	if err != nil {
		log.Fatal(err)
	}
	f, err := callview.OpenFile(path, xtf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	list, err := ends(f, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list), "calls, the first ends at", list[0], "and the second at", list[1])
	// Output: 3000 calls, the first ends at 10 and the second at 117
}

// TestCallview reads the times of all processes at once, with a cache that keeps few graphs.
func TestCallview(t *testing.T) {
	path, err := analysed(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := ends(plain, 0); !errors.Is(err, xtf.ErrNoTimes) {
		t.Errorf("without the call graph: %v", err)
	}
	f, err := callview.OpenFile(path, xtf.Options{CacheBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all sync.WaitGroup
	for i := range 4 * processes {
		all.Go(func() {
			p := i % processes
			list, err := ends(f, xtf.Proc(p))
			if err != nil || len(list) != calls {
				t.Errorf("process %d: %d calls, %v", p, len(list), err)
				return
			}
			for n, end := range list {
				if end != endOf(p, n) {
					t.Errorf("process %d, call %d: ends at %d, not at %d", p, n, end, endOf(p, n))
					return
				}
			}
		})
	}
	all.Wait()
}

// blobs gives every location the blob of another one, or none.
type blobs struct {
	*xtf.File
	p   xtf.Proc
	err error
}

func (b blobs) BlobBytes(_ xtf.Proc, kind uint32) ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.File.BlobBytes(b.p, kind)
}

// TestCallviewDamage: a graph that is not there, or not that of the location, is damage of the file.
func TestCallviewDamage(t *testing.T) {
	path, err := analysed(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	callview.Attach(f, func() (*graph.Shared, error) { return nil, fmt.Errorf("the shared part: %w", graph.ErrCorrupt) })
	if _, err := ends(f, 1); !errors.Is(err, xtf.ErrCorrupt) || !errors.Is(err, graph.ErrCorrupt) {
		t.Errorf("a damaged shared part: %v", err)
	}
	shared, err := callview.Shared(f)
	if err != nil {
		t.Fatal(err)
	}
	if l, size, err := callview.Location(f, shared, 1); err != nil || size == 0 || l.P() != 1 {
		t.Errorf("a sound graph: %v", err)
	}
	for name, b := range map[string]blobs{"of another location": {f, 2, nil}, "not there": {f, 1, xtf.ErrNoSection}} {
		if _, _, err := callview.Location(b, shared, 1); !errors.Is(err, graph.ErrCorrupt) {
			t.Errorf("a graph %s: %v", name, err)
		}
	}
}

// TestSalvageViews cuts a file whose rows of messages, collectives, waits and the critical path follow from its calls: what is left of it is
// read, without the call graph too.
func TestSalvageViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(1, analyze.Options{Source: jobtest.Generated(t, "stencil:procs=4,events=20k,jitter=20,seed=3"), Output: path}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := uint64(0)
	for i := 1; i <= 8; i++ {
		n := len(b) * i / 8
		if i == 8 {
			n -= 100 // without its end
		}
		res, err := xtf.Salvage(bytes.NewReader(b[:n]), int64(n))
		if err != nil {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
		if res.Rows < whole {
			t.Errorf("%d of %d bytes have %d rows, fewer than a shorter piece", n, len(b), res.Rows)
		}
		whole = res.Rows
		for _, p := range res.Problems {
			if i == 8 {
				t.Errorf("all regions are whole: %v", p)
			}
		}
	}
	f, err := callview.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res, err := xtf.Check(f, nil)
	if err != nil || whole != res.Rows {
		t.Errorf("%d rows of %d are left: %v", whole, res.Rows, err)
	}
}
