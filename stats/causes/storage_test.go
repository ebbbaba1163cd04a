package causes

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// heapStorage is a Storage for tests.
func heapStorage() Storage {
	return Storage{
		Sorter:  func(width, key int) Sorter { return &heapSorter{width: width, key: key} },
		Scratch: func() Scratch { return &heapScratch{} },
	}
}

type heapSorter struct {
	width, key int
	rows       [][]byte
}

func (s *heapSorter) Add(row []byte) error {
	if len(row) != s.width {
		panic("a row of another width")
	}
	s.rows = append(s.rows, bytes.Clone(row))
	return nil
}

func (s *heapSorter) Sort() (SortedRows, error) {
	slices.SortStableFunc(s.rows, func(a, b []byte) int { return bytes.Compare(a[:s.key], b[:s.key]) })
	r := &heapRows{rows: s.rows, at: -1}
	s.rows = nil
	return r, nil
}

type heapRows struct {
	rows [][]byte
	at   int
}

func (r *heapRows) Next() bool {
	r.at++
	return r.at < len(r.rows)
}
func (r *heapRows) Row() []byte { return r.rows[r.at] }
func (r *heapRows) Err() error  { return nil }
func (r *heapRows) Close()      {}

type heapScratch struct {
	mu sync.Mutex
	b  []byte
}

func (s *heapScratch) Append(b []byte) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, b...)
	return int64(len(s.b) - len(b)), nil
}

func (s *heapScratch) ReadAt(b []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 || off > int64(len(s.b)) {
		return 0, io.EOF
	}
	n := copy(b, s.b[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (s *heapScratch) Drop() {}

func (s *heapScratch) Size() int64 { return int64(len(s.b)) }
