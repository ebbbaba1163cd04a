package xtf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// onDisk writes a file made in memory and opens it through a mapping.
func onDisk(t testing.TB, m *memFile, o Options) (f *File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.xtf")
	if err := os.WriteFile(path, m.b, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, ok := f.r.(*mapping); o.Mmap && !ok {
		t.Skip("this system does not map files")
	}
	return f, path
}

// TestMmap asks every primitive through a mapping.
func TestMmap(t *testing.T) {
	for _, prof := range []Profile{Packed, Raw4K} {
		keys := keySets()["heavy"]
		m := buildFile(t, tinyTypes(prof, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}})
		f, _ := onDisk(t, m, Options{Mmap: true})
		a, err := f.Array(0, TypeMetric)
		if err != nil {
			t.Fatal(err)
		}
		checkPrimitives(t, a, model(keys))
		if res, err := Check(f); err != nil || res.Found > 0 {
			t.Fatalf("Check: %+v %v", res, err)
		}
		if b, err := f.Provenance(); err != nil || !bytes.Contains(b, []byte("test")) {
			t.Fatalf("Provenance: %s %v", b, err)
		}
	}
}

// A file that is cut while it is open is an error in both back ends, not a fault.
func TestCutWhileOpen(t *testing.T) {
	_, big, keys := bigArray(t, 200_000, Options{})
	for _, mapped := range []bool{true, false} {
		f, path := onDisk(t, big.f.r.(*memFile), Options{CacheBytes: 1 << 16, Mmap: mapped})
		a, err := f.Array(0, TypeMetric)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 8192); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{len(keys) - 1, len(keys) / 2} {
			if _, err := a.Row(uint64(i), nil); !errors.Is(err, ErrCorrupt) {
				t.Errorf("mapped %v: row %d of a cut file: %v", mapped, i, err)
			}
		}
		c := a.Rows(0, Never)
		for c.Next() {
		}
		if !errors.Is(c.Err(), ErrCorrupt) {
			t.Errorf("mapped %v: scan of a cut file: %v", mapped, c.Err())
		}
	}
}

// Close may come while others read: they get rows or os.ErrClosed.
func TestCloseWhileReading(t *testing.T) {
	_, big, keys := bigArray(t, 100_000, Options{})
	for _, mapped := range []bool{true, false} {
		f, _ := onDisk(t, big.f.r.(*memFile), Options{CacheBytes: 1 << 16, Mmap: mapped})
		a, err := f.Array(0, TypeMetric)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var started sync.WaitGroup
		for g := range 4 {
			started.Add(1)
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(g)))
				for n := 0; ; n++ {
					i := r.IntN(len(keys))
					k, err := a.At(uint64(i))
					if n == 20 || (err != nil && n < 20) {
						started.Done()
					}
					if err != nil {
						if !errors.Is(err, os.ErrClosed) {
							t.Errorf("mapped %v: %v", mapped, err)
						}
						return
					}
					if k != keys[i] {
						t.Errorf("mapped %v: key of row %d is %d, want %d", mapped, i, k, keys[i])
					}
				}
			})
		}
		started.Wait()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if _, err := f.r.ReadAt(make([]byte, 8), 0); !errors.Is(err, os.ErrClosed) {
			t.Errorf("mapped %v: read after Close: %v", mapped, err)
		}
	}
}

// What cannot be mapped is read by its descriptor, and said to be what it is.
func TestMmapOddFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path, Options{Mmap: true}); !errors.Is(err, ErrNotXTF) {
		t.Errorf("an empty file: %v", err)
	}
	if err := os.WriteFile(path, []byte("something else"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path, Options{Mmap: true}); !errors.Is(err, ErrNotXTF) {
		t.Errorf("another file: %v", err)
	}
	m := &mapping{data: []byte("0123456789")}
	b := make([]byte, 4)
	if n, err := m.ReadAt(b, 8); n != 2 || err != io.EOF {
		t.Errorf("at the end: %d %v", n, err)
	}
	if n, err := m.ReadAt(b, 11); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d %v", n, err)
	}
}
