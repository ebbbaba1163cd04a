package xtf

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrSharedChannel says that several locations of a process used a channel, so
// that a position in it belongs to none of them: only the stored partner tells.
var ErrSharedChannel = errors.New("several locations share the channel")

// Partner is where the other side of a message is: row N of the P2P array of
// location P.
type Partner struct {
	P Proc
	N uint64
}

// Partner returns the stored other side of message n of location p; ok is false
// for a message without one. It reads one row, and none at the other side. Costs
// are added to st unless it is nil.
func (f *File) Partner(p Proc, n uint64, st *Stats) (to Partner, ok bool, err error) {
	m, err := f.message(p, n, st)
	if err != nil || m.MateN == Never {
		return Partner{}, false, err
	}
	if m.MateP >= f.Procs() {
		return Partner{}, false, f.errorf(p, "xtf: proc %d message %d: %w", p, n, corrupt("partner in proc %d of %d", m.MateP, f.Procs()))
	}
	return Partner{Proc(m.MateP), m.MateN}, true, nil
}

// PartnerByChannel finds the same without the stored one: the channel of the
// other direction at the peer, and in it the entry at the message's own place. It
// costs O(log N) and O(log locations). A channel that several locations of
// either process use is ErrSharedChannel.
func (f *File) PartnerByChannel(p Proc, n uint64, st *Stats) (to Partner, ok bool, err error) {
	m, err := f.message(p, n, st)
	if err != nil || m.Seq == Never || m.Peer == undefined {
		return Partner{}, false, err
	}
	d, err := f.dirRow(p, st)
	if err != nil {
		return Partner{}, false, err
	}
	here, there := ChannelSend, ChannelReceive
	if m.Kind&P2PKindMask == P2PRecv {
		here, there = there, here
	}
	if _, _, _, err = f.onlyChannel(d.Process, &Channel{Key: ChannelKey(m.Peer, m.Comm), Tag: m.Tag, Direction: here}, st); err != nil {
		return Partner{}, false, err
	}
	q, c, ok, err := f.onlyChannel(m.Peer, &Channel{Key: ChannelKey(d.Process, m.Comm), Tag: m.Tag, Direction: there}, st)
	if err != nil || !ok || m.Seq >= c.Count {
		return Partner{}, false, err
	}
	to.P = q
	a, err := f.array(q, TypeP2P, st)
	if err == nil {
		to.N, err = f.entry(q, &c, m.Seq, a, st)
	}
	return to, err == nil, err
}

// message reads row n of the P2P array of p.
func (f *File) message(p Proc, n uint64, st *Stats) (m P2P, err error) {
	a, err := f.array(p, TypeP2P, st)
	if err != nil {
		return m, err
	}
	row, err := a.Row(n, nil)
	if err == nil {
		m.Load(row)
	}
	return m, err
}

// Locations returns the locations [p1, p2) of a process: two binary searches in
// the directory, which is in (process, thread) order.
func (f *File) Locations(process uint32, st *Stats) (p1, p2 Proc, err error) {
	first := func(limit uint64) (Proc, error) {
		lo, hi := uint64(0), uint64(f.Procs())
		for lo < hi {
			mid := (lo + hi) / 2
			d, err := f.dirRow(Proc(mid), st)
			if err != nil {
				return 0, err
			}
			if f.compared(1, st); uint64(d.Process) < limit {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return Proc(lo), nil
	}
	if p1, err = first(uint64(process)); err == nil {
		p2, err = first(uint64(process) + 1)
	}
	return p1, p2, err
}

// compared counts key comparisons made outside of arrays.
func (f *File) compared(n uint64, st *Stats) {
	f.compares.Add(n)
	if st != nil {
		st.Comparisons += n
	}
}

// onlyChannel finds a channel in the one location of a process that has it.
func (f *File) onlyChannel(process uint32, want *Channel, st *Stats) (p Proc, c Channel, ok bool, err error) {
	p1, p2, err := f.Locations(process, st)
	for q := p1; err == nil && q < p2; q++ {
		var x Channel
		var here bool
		if x, here, err = f.Channel(q, want, st); here {
			if ok {
				return 0, c, false, fmt.Errorf("xtf: procs %d and %d: %w", p, q, ErrSharedChannel)
			}
			p, c, ok = q, x, true
		}
	}
	return p, c, ok, err
}

// Channel returns the channel of location p with the key, tag and direction of
// want: two descents for the key, then a binary search among its rows.
func (f *File) Channel(p Proc, want *Channel, st *Stats) (c Channel, ok bool, err error) {
	a, err := f.array(p, TypeChannel, st)
	if err != nil {
		return c, false, err
	}
	lo, err := a.Rank(want.Key)
	if err != nil {
		return c, false, err
	}
	hi, err := a.RankAfter(want.Key)
	if err != nil {
		return c, false, err
	}
	var row []byte
	for lo < hi {
		mid := lo + (hi-lo)/2
		if row, err = a.Row(mid, row); err != nil {
			return c, false, err
		}
		c.Load(row)
		f.compared(1, st)
		switch order := cmp.Or(cmp.Compare(c.Tag, want.Tag), cmp.Compare(c.Direction, want.Direction)); {
		case order == 0:
			return c, true, nil
		case order < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return Channel{}, false, nil
}

// entry returns the row of an array of p that entry i of a channel names.
func (f *File) entry(p Proc, c *Channel, i uint64, of *Array, st *Stats) (uint64, error) {
	a, err := f.array(p, TypeChan, st)
	if err != nil {
		return 0, err
	}
	if i >= c.Count || c.First > a.Len() || i >= a.Len()-c.First {
		return 0, a.f.errorf(p, "xtf: proc %d array %s: %w", p, a.typ.Name, corrupt("entry %d of a channel of %d from row %d on, of %d", i, c.Count, c.First, a.Len()))
	}
	n, err := a.At(c.First + i)
	if err == nil && n >= of.Len() {
		err = a.where(corrupt("row %d names row %d of %d", c.First+i, n, of.Len()), "page", (c.First+i)/uint64(a.typ.PageRows))
	}
	return n, err
}

// undefined is the peer and the tag of channels of collectives, and the peer of
// messages whose other process is not known.
const undefined = ^uint32(0)

// Members visits the members of the collective with this ordinal on a
// communicator among the locations [p1, p2), ascending, until visit returns
// false: row n of the COLL array of p. Each location costs a search for the
// communicator's channel and a guess in it, which is right where one location of
// a process calls collectives on it, else a binary search. Of communicators of
// one process, such as MPI_COMM_SELF, ask for the locations of that process. The
// row is valid during the call. Costs are added to st unless it is nil.
func (f *File) Members(comm uint32, ordinal uint64, p1, p2 Proc, st *Stats, visit func(p Proc, n uint64, row []byte) bool) error {
	var row []byte
	for p := uint64(p1); p < min(uint64(p2), uint64(f.Procs())); p++ {
		want := Channel{Key: ChannelKey(undefined, comm), Tag: undefined, Direction: ChannelColl}
		c, ok, err := f.Channel(Proc(p), &want, st)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		n, b, ok, err := f.member(Proc(p), &c, ordinal, row, st)
		if err != nil {
			return err
		}
		if row = b; ok && !visit(Proc(p), n, row) {
			return nil
		}
	}
	return nil
}

// member finds the entry of a channel of collectives whose row has the ordinal.
// Ordinals rise along a channel; a collective that was never matched has none
// and counts as the largest.
func (f *File) member(p Proc, c *Channel, ordinal uint64, row []byte, st *Stats) (n uint64, b []byte, ok bool, err error) {
	a, err := f.array(p, TypeColl, st)
	if err != nil || ordinal == Never {
		return 0, row, false, err
	}
	lo, hi := uint64(0), min(c.Count, Never-1)
	for mid := min(ordinal, max(hi, 1)-1); lo < hi; mid = lo + (hi-lo)/2 {
		if n, err = f.entry(p, c, mid, a, st); err == nil {
			row, err = a.Row(n, row)
		}
		if err != nil {
			return 0, row, false, err
		}
		f.compared(1, st)
		switch at := U64(row, CollOrdinal); {
		case at == ordinal:
			return n, row, true, nil
		case at < ordinal:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, row, false, nil
}

// Message is a P2P row after the match.
type Message struct {
	P2P
	N    uint64 // number of the row
	Path uint32 // the location's own number of the call path of its call
	Late bool   // a send, and Call tells of a receiver that comes after it is entered
	Call SendCall
}

// Collective is a COLL row after the match.
type Collective struct {
	Coll
	N     uint64
	Path  uint32
	Cause CollCause
}

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

// SendCall is the call that completes a send, which of a blocking one is the call
// that begins it, and when the receiver was there. Ticks.
type SendCall struct {
	CallN  uint64 // of the call; Never outside of all MPI calls
	Enter  uint64 // of the call; it leaves at P2P.done
	Post   uint64 // enter of the call that posts the receive; where that is before the send began, its begin
	Out    uint64 // from here on the receiver is out of calls that make progress; 0: not known to be in one before
	Ready  uint64 // the first instant after that at which it is in one
	Path   uint32 // the location's own number of the call path of a non-blocking send's call
	Region uint32 // of the call
}
