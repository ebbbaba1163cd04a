package ccg

import "github.com/coppice-hpc/coppice/internal/varint"

// reader takes what graphs and tables consist of; files say what they append and
// what it takes next to each other.
type reader struct{ varint.Reader }
