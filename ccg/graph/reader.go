package graph

import "github.com/coppice-hpc/coppice/internal/varint"

// Reader reads what graphs and tables consist of. Functions that append something are next to the method that reads it.
type Reader struct{ varint.Reader }

// Read returns a reader of b.
func Read(b []byte) Reader { return Reader{varint.Read(b)} }
