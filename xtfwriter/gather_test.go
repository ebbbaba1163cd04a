package xtfwriter

import (
	"math/bits"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// countingComm counts what a rank receives.
type countingComm struct {
	mpi.Comm
	sources map[int]bool
	largest int
	pieces  int
}

func (c *countingComm) Recv(from, tag int) ([]byte, mpi.Status, error) {
	b, st, err := c.Comm.Recv(from, tag)
	if tag == tagRows {
		c.sources[from] = true
		c.largest = max(c.largest, len(b))
		c.pieces++
	}
	return b, st, err
}

// TestGather brings rows of thousands of ranks to rank 0.
func TestGather(t *testing.T) {
	ranks := 4500
	if testing.Short() {
		ranks = 200
	}
	rowsOf := func(r int) int { return r % 4 * (1 + r%5*r%5*400) }
	total := 0
	for r := range ranks {
		total += rowsOf(r)
	}
	most := bits.Len(uint(ranks-1)) + total/gatherRows
	var got []xtf.DirRow
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		counted := &countingComm{Comm: c, sources: map[int]bool{}}
		m := &commit{c: counted, rows: make([]byte, rowsOf(c.Rank())*xtf.DirRowBytes)}
		for i := range rowsOf(c.Rank()) {
			d := xtf.DirRow{P: xtf.Proc(i), Process: uint32(c.Rank())}
			d.Put(m.rows[i*xtf.DirRowBytes:])
		}
		if c.Rank() > 0 {
			return m.c.Agree(m.directory())
		}
		err := m.gather(func(rows []byte) error {
			for ; len(rows) > 0; rows = rows[xtf.DirRowBytes:] {
				var d xtf.DirRow
				d.Load(rows)
				got = append(got, d)
			}
			return nil
		})
		if len(counted.sources) > bits.Len(uint(ranks-1)) || counted.largest > 1+gatherRows*xtf.DirRowBytes || counted.pieces > most {
			t.Errorf("rank 0 received %d pieces from %d ranks, %d bytes at once", counted.pieces, len(counted.sources), counted.largest)
		}
		return m.c.Agree(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	for r := range ranks {
		for i := range rowsOf(r) {
			if len(got) == 0 || got[0].Process != uint32(r) || got[0].P != xtf.Proc(i) {
				t.Fatalf("row %d of rank %d is missing or out of order", i, r)
			}
			got = got[1:]
		}
	}
	if len(got) > 0 {
		t.Errorf("%d rows too many", len(got))
	}
}

// TestManyLocations commits 10^5 locations from 4 ranks. Rank 0 holds one of them;
// when it has gathered the directory, the heap of all ranks together has grown by
// the sizes of the others' regions alone.
func TestManyLocations(t *testing.T) {
	heap := func(procs int) (live, peak int64) {
		types := xtf.StandardTypes(xtf.Packed)
		out := filepath.Join(t.TempDir(), "run.xtf")
		var once sync.Once
		err := mpi.RunInProcess(4, func(c mpi.Comm) error {
			w, err := Begin(c, config(out, 64<<10))
			if err != nil {
				return err
			}
			lo, hi := 0, 1
			if r := c.Rank(); r > 0 {
				lo, hi = 1+(r-1)*(procs-1)/3, 1+r*(procs-1)/3
			}
			_, err = w.Commit(&Parts{
				Types: types, First: xtf.Proc(lo), Regions: hi - lo,
				Region: func(i int) (Region, error) { return Region{P: xtf.Proc(lo + i), Process: uint32(lo + i)}, nil },
				Sections: func() ([]xtf.Blob, error) {
					once.Do(func() {
						runtime.GC()
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						live, peak = int64(m.HeapAlloc), w.Store.Usage().Peak
					})
					return []xtf.Blob{xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte("{}"))}, nil
				},
			})
			if cerr := w.Close(); err == nil {
				err = cerr
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := xtf.OpenFile(out, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if d, err := f.Dir(xtf.Proc(procs - 1)); err != nil || d.Process != uint32(procs-1) || f.Procs() != uint32(procs) {
			t.Fatalf("%d locations: last row %+v of %d: %v", procs, d, f.Procs(), err)
		}
		return live, peak
	}
	few, many := 4000, 100_000
	if testing.Short() {
		many = 30_000
	}
	a, _ := heap(few)
	b, peak := heap(many)
	t.Logf("live heap at the directory: %d KiB with %d locations, %d KiB with %d; rank 0's segments at most %d KiB",
		a>>10, few, b>>10, many, peak>>10)
	if grown := b - a; grown > int64(8*(many-few))+(512<<10) {
		t.Errorf("%d bytes more with %d locations more", grown, many-few)
	}
	if peak > (64+256)<<10 {
		t.Errorf("rank 0 held %d bytes of segments", peak)
	}
}
