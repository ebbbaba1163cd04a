package causes

import (
	"errors"
	"fmt"
	"io"

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
