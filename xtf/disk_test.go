package xtf

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// onDisk writes a file made in memory and opens it.
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
	return f, path
}

// A file that is cut while it is open is an error.
func TestCutWhileOpen(t *testing.T) {
	_, big, keys := bigArray(t, 200_000, Options{})
	f, path := onDisk(t, big.f.r.(*memFile), Options{CacheBytes: 1 << 16})
	a, err := f.Array(0, TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{len(keys) - 1, len(keys) / 2} {
		if _, err := a.Row(uint64(i), nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("row %d of a cut file: %v", i, err)
		}
	}
	c := a.Rows(0, Never)
	for c.Next() {
	}
	if !errors.Is(c.Err(), ErrCorrupt) {
		t.Errorf("scan of a cut file: %v", c.Err())
	}
}

// Close may come while others read: they get rows or os.ErrClosed.
func TestCloseWhileReading(t *testing.T) {
	_, big, keys := bigArray(t, 100_000, Options{})
	f, _ := onDisk(t, big.f.r.(*memFile), Options{CacheBytes: 1 << 16})
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
						t.Error(err)
					}
					return
				}
				if k != keys[i] {
					t.Errorf("key of row %d is %d, want %d", i, k, keys[i])
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
		t.Errorf("read after Close: %v", err)
	}
}

// What is not a file of this format is said to be what it is.
func TestOddFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty")
	for _, content := range []string{"", "something else"} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFile(path, Options{}); !errors.Is(err, ErrNotXTF) {
			t.Errorf("%q: %v", content, err)
		}
	}
}
