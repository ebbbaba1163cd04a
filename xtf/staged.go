package xtf

// Rows that stages of an analysis hand to each other beside the file.

// CollCauseBytes is the size of an encoded CollCause.
const CollCauseBytes = 24

// CollCause says whom a member of a collective operation needed, by the class of
// the operation: all others (barrier, all to all), the root (from one to all), the
// others (the root of all to one), those of lower rank (prefix). Non-blocking
// operations count from their initiation. Without such members, and for members
// that need nobody, it is what NoCollCause returns.
type CollCause struct {
	CauseT uint64 // enter that ends the wait, ticks: the last one needed; of a root of all to one the first
	LastT  uint64 // the last enter needed
	CauseP uint32 // location of CauseT, the lowest of several
	LastP  uint32 // location of LastT
}

// NoCollCause returns the cause of a member that needs nobody: times are Never,
// locations all ones.
func NoCollCause() CollCause { return CollCause{Never, Never, 0xFFFFFFFF, 0xFFFFFFFF} }

// Append appends the encoded cause to b.
func (c *CollCause) Append(b []byte) []byte {
	b = le.AppendUint64(b, c.CauseT)
	b = le.AppendUint64(b, c.LastT)
	b = le.AppendUint32(b, c.CauseP)
	return le.AppendUint32(b, c.LastP)
}

// Load reads the cause from src, which has CollCauseBytes bytes.
func (c *CollCause) Load(src []byte) {
	_ = src[CollCauseBytes-1]
	c.CauseT, c.LastT, c.CauseP, c.LastP = le.Uint64(src), le.Uint64(src[8:]), le.Uint32(src[16:]), le.Uint32(src[20:])
}
