package graph

import "github.com/coppice-hpc/coppice/internal/varint"

// Reader takes what graphs and tables consist of; files say what they append and
// what it takes next to each other.
type Reader struct{ varint.Reader }

// Read begins to read b.
func Read(b []byte) Reader { return Reader{varint.Read(b)} }
