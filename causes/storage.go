package causes

import "io"

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
	// Sort ends the adding. The sorter is empty after Rows.Close.
	Sort() (Rows, error)
}

// Rows are sorted rows.
type Rows interface {
	Next() bool
	Row() []byte // valid until the next call of Next
	Err() error
	Close()
}

// Scratch is bytes that are appended, read and changed in place.
type Scratch interface {
	Append(b []byte) (off int64, err error)
	io.ReaderAt
	io.WriterAt
	Drop()
}
