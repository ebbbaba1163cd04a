package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
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

// passBack deals out all waits and what they pass on, in three passes over the slabs of this rank: blameAll finds what each wait
// is to be blamed on; handOn says how much each wait gets of later ones, which the ranks do one after the other, the last slab first;
// dealAll deals both out. The first and the last one take most of the time and need no other rank.
// It is true if waits that end at one instant wait for each other. Collective.
func (d *Delays) passBack() (circle bool, err error) {
	d.blamed = blamed{scratch: d.run.Storage.Scratch(), slabs: make([]blamedSlab, d.parcels.end-d.parcels.own)}
	defer d.blamed.scratch.Drop()
	circle, err = d.handOn(d.blameAll())
	if err == nil && !circle {
		err = d.run.Comm.Agree(d.dealAll())
	}
	return circle, err
}

// blamed is what blameAll found of the waits of this rank's slabs, in the order of their ends. Memory: 32 bytes for each slab.
type blamed struct {
	scratch Scratch
	slabs   []blamedSlab
	read    []byte
}

// blamedSlab is where the scratch has what is known of the waits of a slab: of each a blame, and what it has got to pass on.
type blamedSlab struct{ blames, passed extent }

type extent struct{ off, n int64 }

func (b *blamed) write(data []byte) (extent, error) {
	off, err := b.scratch.Append(data)
	return extent{off, int64(len(data))}, err
}

// open reads an extent; the bytes stay valid until the next call.
func (b *blamed) open(x extent) (varint.Reader, error) {
	b.read = slices.Grow(b.read[:0], int(x.n))[:x.n]
	err := readFull(b.scratch, b.read, x.off)
	return varint.Read(b.read), err
}

// blameAll finds what the waits of this rank's slabs are to be blamed on.
func (d *Delays) blameAll() error {
	for i := range d.blamed.slabs {
		if err := d.openSlab(d.parcels.own + i); err != nil {
			return err
		}
		d.packed = d.packed[:0]
		for n := range d.list {
			d.blameWait(n)
			d.packed = d.blame.append(d.packed, d.start)
		}
		var err error
		if d.blamed.slabs[i].blames, err = d.blamed.write(d.packed); err != nil {
			return err
		}
		d.did(0.6)
	}
	return nil
}

// handOn finds how much each wait gets of those it caused: the last wait of the run comes first, a wait that no later one adds to any
// more. It is true if waits that end at one instant wait for each other. Collective.
func (d *Delays) handOn(failed error) (circle bool, err error) {
	c := d.run.Comm
	if c.Rank()+1 < c.Size() {
		b, _, err := c.Recv(c.Rank()+1, tagCarried)
		if err != nil {
			return false, err
		}
		var perr error
		circle, perr = d.parseCarried(b)
		failed = cmp.Or(failed, perr)
	}
	for i := len(d.blamed.slabs) - 1; i >= 0 && failed == nil && !circle; i-- {
		circle, failed = d.passSlab(i)
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

// openLinks reads the waits of a slab and their links.
func (d *Delays) openLinks(i int) error {
	for p := range d.waits {
		d.waits[p] = ownWaits{list: d.waits[p].list[:0]}
	}
	d.list, d.links, d.start = d.list[:0], d.links[:0], d.run.Slabs.start(d.parcels.own+i)
	r, err := d.blamed.open(d.blamed.slabs[i].blames)
	for b := &d.blame; err == nil && r.Len() > 0; {
		b.parse(&r, d.start)
		own := &d.waits[b.p]
		if len(own.list) == 0 {
			own.first = b.index
		}
		own.list = append(own.list, ownWait{begin: b.begin, end: b.end})
		d.list, d.links = append(d.list, b.slabWait), append(d.links, b.link)
	}
	return cmp.Or(err, failure(&r))
}

// passSlab finds what the waits that end in a slab get, and pass on.
func (d *Delays) passSlab(i int) (circle bool, err error) {
	if err := d.openLinks(i); err != nil {
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
	if circle || err != nil {
		return circle, err
	}
	d.packed = d.packed[:0]
	for n := range d.list {
		d.packed = binary.AppendUvarint(d.packed, d.passedBy(n))
	}
	d.blamed.slabs[i].passed, err = d.blamed.write(d.packed)
	return false, err
}

// passedBy is what a wait of the slab has got.
func (d *Delays) passedBy(n int) uint64 {
	w := &d.list[n]
	own := &d.waits[w.p]
	return own.list[w.index-own.first].passed
}

// passInstant passes on what the waits from first on have, which end at one instant, each after those that are caused by who waits in
// it. With strict order none depends on another.
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

// pass gives the waits of the late location their share of one wait of the slab, and of what that has got.
func (d *Delays) pass(n int) error {
	x, w := &d.links[n], &d.list[n]
	for _, amount := range [costKinds]uint64{shortTerm: w.end - w.begin, longTerm: d.passedBy(n)} {
		if amount == 0 || x.excess[xtf.ActivityWait] == 0 {
			continue
		}
		if err := d.passOn(w.cause, x, d.dealer.activities[0].split(amount, x.excess[:])[xtf.ActivityWait]); err != nil {
			return err
		}
	}
	return nil
}

// dealAll deals out what waits are, and what they have got to pass on.
func (d *Delays) dealAll() error {
	for i := range d.blamed.slabs {
		passed, err := d.blamed.open(d.blamed.slabs[i].passed)
		if err != nil {
			return err
		}
		d.packed = append(d.packed[:0], passed.Rest()...)
		passed = varint.Read(d.packed)
		r, err := d.blamed.open(d.blamed.slabs[i].blames)
		for b := &d.blame; err == nil && r.Len() > 0; {
			if err = b.parsePlaces(b.parse(&r, d.start)); err == nil {
				err = d.deal(b, [costKinds]uint64{shortTerm: b.end - b.begin, longTerm: passed.Next()})
			}
		}
		if err = cmp.Or(err, failure(&r), failure(&passed)); err != nil {
			return err
		}
		d.did(0.4)
	}
	return nil
}

// did says that a slab went through a pass, which takes such a part of the time of all.
func (d *Delays) did(part float64) {
	if d.run.Did != nil {
		d.run.Did(part / float64(len(d.blamed.slabs)))
	}
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
	err := d.far.each(func(x *costName, sum [costKinds]uint64) error {
		x.put(row[:], sum)
		return box.put(rankOf(d.run.Ranges, x.p), row[:])
	})
	if err = box.deliver(err); err == nil {
		d.report.Bytes += box.sent
	}
	return err
}
