package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// ownWaits are the waits of a location in a slab, which follow each other.
type ownWaits struct {
	first uint64 // number
	list  []ownWait
}

// ownWait is a wait, and what it has received to pass on.
type ownWait struct{ begin, end, passed uint64 }

// duty is a blame of the slab in hand.
type duty struct {
	p, waiter  trace.P
	index, end uint64
	record     []byte
}

// tagCarried is the tag of what waits of slabs of lower ranks get.
const tagCarried = 15

// passBack deals out all waits, the last one of the run first: a wait that no later one adds to any more gives its length,
// and then what it has received, to the location that caused it. The ranks do this one after the other, the last slab first.
// It is true if waits that end at one instant wait for each other. Collective.
func (d *delays) passBack() (circle bool, err error) {
	c := d.run.Comm
	var failed error
	if c.Rank()+1 < c.Size() {
		b, _, err := c.Recv(c.Rank()+1, tagCarried)
		if err != nil {
			return false, err
		}
		circle, failed = d.parseCarried(b)
	}
	for k := d.ended.own + len(d.ended.list) - 1; k >= d.ended.own && failed == nil && !circle; k-- {
		d.record = d.record[:0]
		circle, failed = d.passSlab(k)
	}
	if c.Rank() > 0 {
		b := d.appendCarried(circle)
		d.report.Bytes += uint64(len(b))
		d.report.Messages++
		if err := c.Send(b, c.Rank()-1, tagCarried); err != nil {
			return false, err
		}
	}
	d.carried = nil
	any := []int64{0}
	if circle {
		any[0] = 1
	}
	if err := c.AllreduceInt64(any, mpi.Max); err != nil {
		return false, err
	}
	return any[0] > 0, c.Agree(failed)
}

// passSlab deals out the waits that end in a slab.
func (d *delays) passSlab(k int) (circle bool, err error) {
	duties, err := d.blameSlab(k)
	if err != nil {
		return false, err
	}
	kept := d.carried[:0]
	for _, x := range d.carried {
		if d.carry(&x); x.next > x.low {
			kept = append(kept, x)
		}
	}
	d.carried = kept
	slices.SortStableFunc(duties, func(a, b duty) int { return cmp.Compare(a.end, b.end) })
	for n := len(duties); n > 0 && !circle && err == nil; {
		first := n - 1
		for first > 0 && duties[first-1].end == duties[n-1].end {
			first--
		}
		circle, err = d.passInstant(duties[first:n])
		n = first
	}
	return circle, err
}

// passInstant deals out waits that end at one instant, each after those that are caused by who waits in it. With strict
// order none depends on another.
func (d *delays) passInstant(list []duty) (circle bool, err error) {
	if len(list) == 1 || d.strict {
		for i := range list {
			if err := d.pass(&list[i]); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	caused := map[trace.P]int{} // waits that a location causes, not dealt out yet
	waits := map[trace.P][]int{}
	for i := range list {
		caused[list[i].p]++
		waits[list[i].waiter] = append(waits[list[i].waiter], i)
	}
	var ready []int
	for i := range list {
		if caused[list[i].waiter] == 0 {
			ready = append(ready, i)
		}
	}
	left := len(list)
	for ; len(ready) > 0; left-- {
		x := &list[ready[len(ready)-1]]
		ready = ready[:len(ready)-1]
		if err := d.pass(x); err != nil {
			return false, err
		}
		if caused[x.p]--; caused[x.p] == 0 {
			ready = append(ready, waits[x.p]...)
		}
	}
	return left > 0, nil
}

// pass deals out one wait, and what it has received.
func (d *delays) pass(x *duty) error {
	w := &d.waits[x.waiter]
	if uint64(x.waiter) >= uint64(len(d.waits)) || x.index-w.first >= uint64(len(w.list)) {
		return errDamaged
	}
	b := &d.blame
	b.p = x.p
	if err := b.parse(x.record); err != nil {
		return err
	}
	if err := d.deal(b, b.end-b.begin, false); err != nil {
		return err
	}
	return d.deal(b, w.list[x.index-w.first].passed, true)
}

// appendCarried encodes what is left for earlier slabs.
func (d *delays) appendCarried(circle bool) []byte {
	b := []byte{0}
	if circle {
		b[0] = 1
	}
	b = binary.AppendUvarint(b, uint64(len(d.carried)))
	for i := range d.carried {
		x := &d.carried[i]
		b = varint.Append(b, uint64(x.p), x.next, x.low, x.amount, x.total, x.length, x.given)
	}
	return b
}

func (d *delays) parseCarried(b []byte) (circle bool, err error) {
	r := varint.Read(b)
	circle = r.Byte() == 1
	for range r.Count(7) {
		x := carried{p: trace.P(r.Next()), next: r.Next(), low: r.Next(), amount: r.Next(), total: r.Next(), length: r.Next(), given: r.Next()}
		if uint64(x.p) >= uint64(d.locations()) || x.total == 0 {
			return circle, errDamaged
		}
		d.carried = append(d.carried, x)
	}
	return circle, failure(&r)
}

// gather brings the costs that were found in slabs to the ranks of their locations. Collective.
func (d *delays) gather() error {
	box := newOutbox(d.run.Comm, &d.run.Storage, func(b []byte) error {
		be := binary.BigEndian
		x := cost1{trace.P(be.Uint32(b)), be.Uint64(b[4:]), be.Uint32(b[12:]), be.Uint32(b[16:])}
		return d.costs.addAll(&x, [costKinds]uint64{be.Uint64(b[20:]), be.Uint64(b[28:])})
	})
	var row [costBytes]byte
	err := d.far.each(func(x *cost1, sum [costKinds]uint64) error {
		x.put(row[:], sum)
		return box.put(rankOf(d.run.Ranges, x.p), row[:])
	})
	if err = box.deliver(err); err == nil {
		d.report.Bytes += box.sent
	}
	return err
}
