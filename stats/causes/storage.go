package causes

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// Storage is where passes keep what does not fit in memory.
type Storage struct {
	// Sorter sorts rows of width bytes by their first key bytes, in bounded memory.
	Sorter func(width, key int) Sorter
	// Scratch gives bytes that are dropped in the end.
	Scratch func() Scratch
}

// Sorter collects rows and gives them back in the order of their keys.
type Sorter interface {
	Add(row []byte) error
	// Sort ends the adding. The sorter is empty after Close.
	Sort() (SortedRows, error)
}

// SortedRows are rows in the order of their keys.
type SortedRows interface {
	Next() bool
	Row() []byte // valid until the next call of Next
	Err() error
	Close()
}

// Scratch is bytes that are appended and read.
type Scratch interface {
	Append(b []byte) (off int64, err error)
	io.ReaderAt
	Drop()
}

// ErrDamaged is in the chain of errors about rows and records that cannot be.
var ErrDamaged = errors.New("causes: a damaged record")

func readFull(src io.ReaderAt, b []byte, off int64) error {
	if n, err := src.ReadAt(b, off); err != nil && (err != io.EOF || n < len(b)) {
		return fmt.Errorf("causes: %d bytes at %d: %w", len(b), off, err)
	}
	return nil
}

// failure is the error of a record that was not read to its end.
func failure(r *varint.Reader) error {
	if r.Failed() {
		return ErrDamaged
	}
	return nil
}

// queue holds rows in their order until they are taken.
type queue[R any] struct {
	list []R
	at   int
}

func (q *queue[R]) more() bool { return q.at < len(q.list) }

// head is the next row, until it is taken or another one comes.
func (q *queue[R]) head() *R { return &q.list[q.at] }

func (q *queue[R]) pop() {
	if q.at++; q.at == len(q.list) {
		q.list, q.at = q.list[:0], 0
	}
}

// push returns the place of a row after the others, with any content: who fills it field by field is twice as fast as a copy, which
// reads in wider words than were written just now.
func (q *queue[R]) push() *R {
	if q.at > 64 && 2*q.at > len(q.list) {
		q.list, q.at = append(q.list[:0], q.list[q.at:]...), 0
	}
	q.list = slices.Grow(q.list, 1)[:len(q.list)+1]
	return &q.list[len(q.list)-1]
}
