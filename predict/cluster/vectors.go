package cluster

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
