package cluster

import "fmt"

// Vectors are the members that this rank has, and their vectors.
type Vectors interface {
	// Len is the number of members, which may be 0.
	Len() int
	// ID is the number of member i, such as its process: ascending in i, and different from the ids of all ranks.
	ID(i int) uint32
	// Dim is the number of entries, the same for all members of all ranks. A rank without members is not asked.
	Dim() uint64
	// Read sets dst to the entries from on of member i. A pass over the vectors goes from low entries to high ones,
	// in pieces, all members of the rank for each piece; there are at least two passes. One goroutine reads at a time.
	Read(i int, from uint64, dst []int64) error
}

// Rows are vectors in memory, of equal lengths.
type Rows struct {
	IDs  []uint32
	Data [][]int64
}

// Len implements Vectors.
func (r Rows) Len() int { return len(r.Data) }

// ID implements Vectors.
func (r Rows) ID(i int) uint32 { return r.IDs[i] }

// Dim implements Vectors.
func (r Rows) Dim() uint64 {
	if len(r.Data) == 0 {
		return 0
	}
	return uint64(len(r.Data[0]))
}

// Read implements Vectors.
func (r Rows) Read(i int, from uint64, dst []int64) error {
	row := r.Data[i]
	if from > uint64(len(row)) || uint64(len(dst)) > uint64(len(row))-from {
		return fmt.Errorf("%w: member %d has %d entries, %d from %d on were asked for", ErrVectors, r.IDs[i], len(row),
			len(dst), from)
	}
	copy(dst, row[from:])
	return nil
}
