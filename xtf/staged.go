package xtf

// Rows that stages of an analysis hand to each other beside the file.

// CollCauseBytes is the size of an encoded CollCause.
const CollCauseBytes = 24

// CollCause says whom a member of a collective operation needed, by the class of
// the operation: all others (barrier, creation of a handle, all to all), the root (from one to all), the
// others (the root of all to one), those of lower rank (prefix). But for barriers
// and handles only members count that give bytes, and only one that gets bytes needs them.
// Non-blocking operations count from their initiation. Without such members, and for
// members that need nobody, it is what NoCollCause returns.
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

// SendCallBytes is the size of an encoded SendCall.
const SendCallBytes = 56

// SendCall is the call that completes a send, which of a blocking one is the call
// that begins it, and when the receiver was there. Ticks.
type SendCall struct {
	Row    uint64 // of the send, N in P2P
	CallN  uint64 // of the call; Never outside of all MPI calls
	Enter  uint64 // of the call; it leaves at P2P.done
	Post   uint64 // enter of the call that posts the receive; where that is before the send began, its begin
	Out    uint64 // from here on the receiver is out of calls that make progress; 0: not known to be in one before
	Ready  uint64 // the first instant behind that at which it is in one
	Path   uint32 // the location's own number of the call path of a non-blocking send's call
	Region uint32 // of the call
}

// Append appends the encoded call to b.
func (s *SendCall) Append(b []byte) []byte {
	for _, v := range [...]uint64{s.Row, s.CallN, s.Enter, s.Post, s.Out, s.Ready} {
		b = le.AppendUint64(b, v)
	}
	return le.AppendUint32(le.AppendUint32(b, s.Path), s.Region)
}

// Load reads the call from src, which has SendCallBytes bytes.
func (s *SendCall) Load(src []byte) {
	_ = src[SendCallBytes-1]
	s.Row, s.CallN, s.Enter = le.Uint64(src), le.Uint64(src[8:]), le.Uint64(src[16:])
	s.Post, s.Out, s.Ready = le.Uint64(src[24:]), le.Uint64(src[32:]), le.Uint64(src[40:])
	s.Path, s.Region = le.Uint32(src[48:]), le.Uint32(src[52:])
}

// Load reads the cause from src, which has CollCauseBytes bytes.
func (c *CollCause) Load(src []byte) {
	_ = src[CollCauseBytes-1]
	c.CauseT, c.LastT, c.CauseP, c.LastP = le.Uint64(src), le.Uint64(src[8:]), le.Uint32(src[16:]), le.Uint32(src[20:])
}
