package xtf

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrSharedChannel says that several locations of a process use the channel. Then a position in the channel does not determine a location,
// and only the stored partner tells the other side of a message.
var ErrSharedChannel = errors.New("several locations share the channel")

// Partner is the other side of a message: row N of the P2P array of location P.
type Partner struct {
	P Proc
	N uint64
}

// Partner returns the stored other side of message n of location p. ok is false if the message has none. It reads the row of message n
// only. The cost is added to st unless it is nil.
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

// PartnerByChannel finds the same partner without the stored one: in the peer's channel of the other direction it takes the entry at the
// position that the message has in its own channel. It costs O(log N) and O(log locations). The error is ErrSharedChannel if several
// locations of either process use the channel.
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

// message returns row n of the P2P array of p.
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

// Locations returns the locations p1 to p2-1 of a process. It costs two binary searches in the directory, which is in (process, thread)
// order.
func (f *File) Locations(process uint32, st *Stats) (p1, p2 Proc, err error) {
	first := func(limit uint64) (Proc, error) {
		lo, hi := uint64(0), uint64(f.Procs())
		for lo < hi {
			mid := (lo + hi) / 2
			d, err := f.dirRow(Proc(mid), st)
			if err != nil {
				return 0, err
			}
			if f.count(Stats{Comparisons: 1}, st); uint64(d.Process) < limit {
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

// Channel returns the channel of location p with the key, tag and direction of want. It costs two descents for the key and a binary search
// among the rows with that key.
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
		f.count(Stats{Comparisons: 1}, st)
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

// entry returns entry i of a channel: a row number of array of of location p.
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

// undefined is the peer and the tag of channels of collectives, and the peer of messages whose peer is not known.
const undefined = ^uint32(0)

// Members calls visit for each member of the collective with this ordinal on a communicator, among the locations p1 to p2-1 in ascending
// order, until visit returns false. A member is row n of the COLL array of p. For each location it searches the communicator's channel and
// guesses the place in it. The guess is right if only one location of the process calls collectives on the communicator; if not, a binary
// search follows. For a communicator of one process, such as MPI_COMM_SELF, pass the locations of that process. visit must not keep the
// row. The cost is added to st unless it is nil.
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

// member returns the entry of a channel of collectives whose row has the ordinal. Ordinals ascend along a channel. A collective that was
// not matched has none and counts as the largest.
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
		f.count(Stats{Comparisons: 1}, st)
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

// Message is a P2P row after matching.
type Message struct {
	P2P
	N    uint64 // number of the row
	Path uint32 // of the message's call, numbered within the location
	Late bool   // a send; its receiver comes after Call was entered, as Call says
	Call SendCall
}

// Collective is a COLL row after matching.
type Collective struct {
	Coll
	N     uint64
	Path  uint32
	Cause CollCause
}

// CollCause says which members a member of a collective operation had to wait for. That depends on the class of the operation: all others
// (barrier, creation of a handle, all to all), the root (one to all), the others (root of all to one), or those of lower rank (prefix).
// Except for barriers and handles, only members that give bytes are waited for, and only by members that get bytes. Non-blocking operations
// count from their initiation. NoCollCause is the value for a member that waits for nobody.
type CollCause struct {
	CauseT uint64 // enter that ends the wait, ticks: of the members waited for the last one, but for a root of all to one the first one
	LastT  uint64 // last enter of the members waited for, ticks
	CauseP uint32 // location of CauseT; of several the lowest
	LastP  uint32 // location of LastT
}

// NoCollCause returns the cause of a member that waits for nobody: times are Never, locations all ones.
func NoCollCause() CollCause { return CollCause{Never, Never, 0xFFFFFFFF, 0xFFFFFFFF} }

// SendCall describes the call that completes a send (of a blocking send its only call), and when the receiver was ready. Times are ticks.
type SendCall struct {
	CallN  uint64 // number of the call; Never outside of MPI calls
	Enter  uint64 // enter of the call, which leaves at P2P.done
	Post   uint64 // enter of the call that posts the receive, but not before the begin of the send
	Out    uint64 // from here on the receiver is not in a call that makes progress; 0: it is not known to have been in one before
	Ready  uint64 // first instant after Out at which the receiver is in such a call
	Path   uint32 // of the call of a non-blocking send, numbered within the location
	Region uint32 // of the call
}
