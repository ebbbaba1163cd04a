package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// ownWaits are the waits of a location in a slab, which follow each other.
type ownWaits struct {
	first uint64 // number
	list  []ownWait
	near  int // how many were over when that was asked last
}

// ownWait is a wait, and what it has received to pass on.
type ownWait struct{ begin, end, passed uint64 }

// over is how many of them are over at an instant. It takes little time where that is near the one asked for before.
func (w *ownWaits) over(t uint64) uint64 {
	for w.near > 0 && w.list[w.near-1].end > t {
		w.near--
	}
	for w.near < len(w.list) && w.list[w.near].end <= t {
		w.near++
	}
	return uint64(w.near)
}

// tagCarried is the tag of what waits of slabs of lower ranks get.
const tagCarried = 15

// passBack deals out all waits, the last one of the run first: a wait that no later one adds to any more gives its length,
// and then what it has received, to the location that caused it. The ranks do this one after the other, the last slab first.
// It is true if waits that end at one instant wait for each other. Collective.
func (d *Delays) passBack() (circle bool, err error) {
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
func (d *Delays) passSlab(k int) (circle bool, err error) {
	if err := d.openSlab(k); err != nil {
		return false, err
	}
	kept := d.carried[:0]
	for _, x := range d.carried {
		if d.carry(&x); x.next > x.low {
			kept = append(kept, x)
		}
	}
	d.carried = kept
	for n := len(d.list); n > 0 && !circle && err == nil; {
		first := n - 1
		for first > 0 && d.list[first-1].end == d.list[n-1].end {
			first--
		}
		circle, err = d.passInstant(first, n)
		n = first
	}
	return circle, err
}

// passInstant deals out the waits from first on, which end at one instant, each after those that are caused by who waits in it. With strict
// order none depends on another.
func (d *Delays) passInstant(first, end int) (circle bool, err error) {
	if end-first == 1 || d.strict {
		for i := first; i < end && err == nil; i++ {
			err = d.pass(i)
		}
		return false, err
	}
	caused := map[trace.P]int{} // waits that a location causes, not dealt out yet
	waits := map[trace.P][]int{}
	for i := first; i < end; i++ {
		w := &d.list[i]
		caused[w.cause]++
		waits[w.p] = append(waits[w.p], i)
	}
	var ready []int
	for i := first; i < end; i++ {
		if caused[d.list[i].p] == 0 {
			ready = append(ready, i)
		}
	}
	left := end - first
	for ; len(ready) > 0; left-- {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if err := d.pass(n); err != nil {
			return false, err
		}
		cause := d.list[n].cause
		if caused[cause]--; caused[cause] == 0 {
			ready = append(ready, waits[cause]...)
		}
	}
	return left > 0, nil
}

// pass deals out one wait of the slab, and what it has received.
func (d *Delays) pass(n int) error {
	d.blameWait(n)
	b, w := &d.blame, &d.list[n]
	if err := d.deal(b, b.end-b.begin, shortTerm); err != nil {
		return err
	}
	own := &d.waits[w.p]
	return d.deal(b, own.list[w.index-own.first].passed, longTerm)
}

// appendCarried encodes what is left for earlier slabs.
func (d *Delays) appendCarried(circle bool) []byte {
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

func (d *Delays) parseCarried(b []byte) (circle bool, err error) {
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
func (d *Delays) gather() error {
	box := newOutbox(d.run.Comm, &d.run.Storage, func(b []byte) error {
		if len(b) != costBytes {
			return errDamaged
		}
		x, sum := loadCost(b)
		return d.costs.add(&x, sum)
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
