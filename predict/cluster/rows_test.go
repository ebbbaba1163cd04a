package cluster

import "fmt"

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
