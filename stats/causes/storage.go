package causes

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// Storage keeps what does not fit in memory.
type Storage struct {
	// Sorter returns a sorter of rows of width bytes by their first key bytes, in bounded memory.
	Sorter func(width, key int) Sorter
	// Scratch returns new temporary storage.
	Scratch func() Scratch
}

// Sorter sorts rows by their keys.
type Sorter interface {
	Add(row []byte) error
	// Sort ends the adding. After Close of its result the sorter is empty.
	Sort() (SortedRows, error)
}

// SortedRows are rows in the order of their keys.
type SortedRows interface {
	Next() bool
	Row() []byte // valid until the next call of Next
	Err() error
	Close()
}

// Scratch is temporary storage of bytes. Drop frees it.
type Scratch interface {
	Append(b []byte) (off int64, err error)
	io.ReaderAt
	Drop()
}

// ErrDamaged is wrapped by errors about rows and records with impossible values.
var ErrDamaged = errors.New("causes: a damaged record")

func readFull(src io.ReaderAt, b []byte, off int64) error {
	if n, err := src.ReadAt(b, off); err != nil && (err != io.EOF || n < len(b)) {
		return fmt.Errorf("causes: %d bytes at %d: %w", len(b), off, err)
	}
	return nil
}

// failure returns ErrDamaged if the reader failed.
func failure(r *varint.Reader) error {
	if r.Failed() {
		return ErrDamaged
	}
	return nil
}

// queue is a first-in, first-out queue of rows.
type queue[R any] struct {
	list []R
	at   int
}

func (q *queue[R]) more() bool { return q.at < len(q.list) }

// head returns the next row, valid until the next pop or push.
func (q *queue[R]) head() *R { return &q.list[q.at] }

func (q *queue[R]) pop() {
	if q.at++; q.at == len(q.list) {
		q.list, q.at = q.list[:0], 0
	}
}

// push adds a row with any content and returns it, valid until the next push. To fill it field by field is twice as fast as to copy a row:
// loads that are wider than the stores just before them stall.
func (q *queue[R]) push() *R {
	if q.at > 64 && 2*q.at > len(q.list) {
		q.list, q.at = append(q.list[:0], q.list[q.at:]...), 0
	}
	q.list = slices.Grow(q.list, 1)[:len(q.list)+1]
	return &q.list[len(q.list)-1]
}
