package mpi

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Part is data for a rank, or from one.
type Part struct {
	Rank int
	Data []byte
}

// Hop is one step of a rank in an exchange by halves. A range of ranks, at first all, is cut into two. Each rank sends what is for the
// other half there; then its own half is the range. After ceil(log2 ranks) hops all data has arrived.
type Hop struct {
	To         int   // rank that gets what is for the other half
	From       []int // ranks that send what is for this half: one, or, where the halves differ in size, two or none
	First, End int   // the other half: ranks First to End-1
}

// Hops returns the hops of a rank. It sends once in each, and receives at most 2 ceil(log2 size) times in all.
func Hops(rank, size int) []Hop {
	var list []Hop
	for lo, hi := 0, size; hi-lo > 1; {
		mid := lo + (hi-lo+1)/2
		upper := hi - mid // as many as lower, or one less
		if rank < mid {
			h := Hop{To: mid + min(rank-lo, upper-1), First: mid, End: hi}
			if rank-lo < upper {
				h.From = []int{mid + rank - lo}
			}
			list, hi = append(list, h), mid
			continue
		}
		h := Hop{To: lo + rank - mid, From: []int{lo + rank - mid}, First: lo, End: mid}
		if rank == hi-1 && mid-lo > upper {
			h.From = append(h.From, mid-1)
		}
		list, lo = append(list, h), mid
	}
	return list
}

// Step makes one hop: it sends b to the rank To, and calls take with each message that arrives.
func (h *Hop) Step(c Comm, tag int, b []byte, take func(from int, b []byte) error) error {
	sent, err := c.Isend(b, h.To, tag)
	if err != nil {
		return err
	}
	var failed error
	for _, from := range h.From {
		b, _, err := c.Recv(from, tag)
		if err != nil {
			return err
		}
		if failed == nil {
			failed = take(from, b)
		}
	}
	if err := c.Wait(sent); err != nil {
		return err
	}
	return failed
}

// Alltoall sends parts[i] to rank i and returns what every rank sent here, by rank. It exchanges with one rank at a time. No other message
// may have this tag meanwhile. The error may be this rank's own. Collective.
func Alltoall(c Comm, tag int, parts [][]byte) ([][]byte, error) {
	if len(parts) != c.Size() {
		return nil, fmt.Errorf("mpi: alltoall: %d parts for %d ranks", len(parts), c.Size())
	}
	got := make([][]byte, c.Size())
	for i := range got {
		to, from := (c.Rank()+i)%c.Size(), (c.Rank()-i+c.Size())%c.Size()
		sent, err := c.Isend(parts[to], to, tag)
		if err == nil {
			got[from], _, err = c.Recv(from, tag)
		}
		if err == nil {
			err = c.Wait(sent)
		}
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

// SparseAlltoall sends every part to its rank and returns the parts for this one, ordered by sender; parts of one sender stay in their
// order. It is for few and small parts. They travel by halves (Hops; the crystal router of Fox et al., Solving Problems on Concurrent
// Processors, 1988), so a rank sends ceil(log2 ranks) messages for any number of parts, where Alltoall sends one to every rank. A part is
// sent up to as often. No memory grows with the number of ranks.
//
// No other message may have this tag meanwhile. The error may be this rank's own. Collective.
func SparseAlltoall(c Comm, tag int, parts []Part) ([]Part, error) {
	held := make([]routed, 0, len(parts))
	for _, p := range parts {
		if err := checkPeer("sparse alltoall", p.Rank, c.Size(), false); err != nil {
			return nil, err
		}
		held = append(held, routed{c.Rank(), p})
	}
	var failed error
	for _, h := range Hops(c.Rank(), c.Size()) {
		var b []byte
		stay := held[:0]
		for _, x := range held {
			if x.Rank >= h.First && x.Rank < h.End {
				b = x.append(b)
			} else {
				stay = append(stay, x)
			}
		}
		held = stay
		err := h.Step(c, tag, b, func(_ int, b []byte) error {
			for len(b) > 0 && failed == nil {
				var x routed
				if b, failed = x.take(b); failed == nil {
					held = append(held, x)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(held, func(a, b routed) int { return a.from - b.from })
	got := make([]Part, len(held))
	for i, x := range held {
		got[i] = Part{x.from, x.Data}
	}
	return got, failed
}

// routed is a part in progress, encoded as to u32 | from u32 | length u64 | data, little-endian.
type routed struct {
	from int
	Part
}

const routedBytes = 16

func (x *routed) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(x.Rank))
	b = binary.LittleEndian.AppendUint32(b, uint32(x.from))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(x.Data)))
	return append(b, x.Data...)
}

// take decodes a part and returns the rest.
func (x *routed) take(b []byte) ([]byte, error) {
	if len(b) < routedBytes || uint64(len(b)-routedBytes) < binary.LittleEndian.Uint64(b[8:]) {
		return nil, errf("sparse alltoall", ErrInternal, "a damaged message of %d bytes", len(b))
	}
	end := routedBytes + int(binary.LittleEndian.Uint64(b[8:]))
	x.Rank, x.from = int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	x.Data = b[routedBytes:end:end]
	return b[end:], nil
}
