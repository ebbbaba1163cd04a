package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
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

// passBack deals out all waits and what they pass on, in three passes over the slabs of this rank, each from the last one on: blameAll
// finds what each wait is to be blamed on; handOn says how much each wait gets of later ones, which the ranks do one after the other;
// dealAll deals both out, which rank 0 does on the way: no other one waits for it. The first and the last one take most of the time
// and need no other rank. A single rank does all in one pass. Of what fails here failed tells, for all to agree on. Collective.
func (d *Delays) passBack() (failed, err error) {
	failed, err = d.handOn(d.blameAll())
	if failed == nil && err == nil && d.run.Comm.Rank() > 0 {
		failed = d.dealAll()
	}
	return failed, err
}

// direct reports whether each blame is found as it is dealt out.
func (d *Delays) direct() bool { return d.run.Comm.Size() == 1 }

// blamed is what is known of the waits of this rank's slabs. Memory: 48 bytes for each slab.
type blamed struct {
	scratch Scratch
	slabs   []blamedSlab
	read    []byte
}

// blamedSlab is where the scratch has the waits of a slab, in the order of their ends, and of each a blame, and what it has got to pass on.
type blamedSlab struct{ waits, blames, passed extent }

type extent struct{ off, n int64 }

func (b *blamed) write(data []byte) (extent, error) {
	off, err := b.scratch.Append(data)
	return extent{off, int64(len(data))}, err
}

// open reads an extent; the bytes stay valid until the next call.
func (b *blamed) open(x extent) ([]byte, error) {
	b.read = slices.Grow(b.read[:0], int(x.n))[:x.n]
	return b.read, readFull(b.scratch, b.read, x.off)
}

// blameAll finds what the waits of this rank's slabs are to be blamed on.
func (d *Delays) blameAll() error {
	for i := len(d.blamed.slabs) - 1; i >= 0 && !d.direct(); i-- {
		if err := d.openSlab(d.parcels.own + i); err != nil {
			return err
		}
		d.packed = d.packed[:0]
		for n := range d.list {
			d.blameWait(n)
			d.one = d.blame.append(d.one[:0])
			d.packed = append(binary.AppendUvarint(d.packed, uint64(len(d.one))), d.one...)
		}
		var err error
		if d.blamed.slabs[i].blames, err = d.blamed.write(d.packed); err == nil {
			err = d.run.did(0.35, len(d.blamed.slabs))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handOn finds how much each wait gets of those it caused: the last wait of the run comes first, a wait that no later one adds to any
// more. Collective.
func (d *Delays) handOn(failed error) (error, error) {
	c := d.run.Comm
	if c.Rank()+1 < c.Size() {
		b, _, err := c.Recv(c.Rank()+1, tagCarried)
		if err != nil {
			return failed, err
		}
		failed = cmp.Or(failed, d.parseCarried(b))
	}
	for i := len(d.blamed.slabs) - 1; i >= 0 && failed == nil; i-- {
		failed = d.passSlab(i)
	}
	if c.Rank() > 0 {
		b := d.appendCarried()
		d.report.Bytes += uint64(len(b))
		d.report.Messages++
		if err := c.Send(b, c.Rank()-1, tagCarried); err != nil {
			return failed, err
		}
	}
	d.carried = nil
	return failed, nil
}

// openBlames reads the waits of a slab, and what they are to be blamed on.
func (d *Delays) openBlames(i int) error {
	if err := d.readWaits(d.hand, d.parcels.own+i); err != nil {
		return err
	}
	d.blames = d.blames[:0]
	b, err := d.blamed.open(d.blamed.slabs[i].blames)
	r := varint.Read(b)
	for range d.list {
		d.blames = append(d.blames, r.Block())
	}
	return cmp.Or(err, failure(&r))
}

// passSlab finds what the waits that end in a slab get, and pass on.
func (d *Delays) passSlab(i int) error {
	var err error
	done := 0.1
	if d.direct() {
		done += 0.35
		err = d.openSlab(d.parcels.own + i)
	} else {
		err = d.openBlames(i)
	}
	if err != nil {
		return err
	}
	kept := d.carried[:0]
	for _, x := range d.carried {
		if d.carry(&x); x.next > x.low {
			kept = append(kept, x)
		}
	}
	d.carried = kept
	deal := d.run.Comm.Rank() == 0
	for first, end := 0, len(d.list); end > 0; end = first {
		first = d.instant(end)
		for _, n := range d.inOrder(first, end) {
			if err := d.deal(n, true, deal); err != nil {
				return err
			}
		}
	}
	if deal {
		return d.run.did(done+0.15, len(d.blamed.slabs))
	}
	d.packed = d.packed[:0]
	for n := range d.list {
		d.packed = binary.AppendUvarint(d.packed, *d.passedBy(n))
	}
	if d.blamed.slabs[i].passed, err = d.blamed.write(d.packed); err != nil {
		return err
	}
	return d.run.did(done, len(d.blamed.slabs))
}

// passedBy is what a wait of the slab has got.
func (d *Delays) passedBy(n int) *uint64 {
	w := &d.list[n]
	own := &d.waits[w.p]
	return &own.list[w.index-own.first].passed
}

// instant is the first of the waits up to end that end when the last one of them does.
func (d *Delays) instant(end int) int {
	first := end - 1
	for first > 0 && d.list[first-1].end == d.list[end-1].end {
		first--
	}
	return first
}

// inOrder lists the waits from first on, which end at one instant, each after those that are caused by who waits in it; those that wait
// for each other are missing. With strict order none depends on another.
func (d *Delays) inOrder(first, end int) []int {
	list := d.ready[:0]
	if end-first == 1 || d.strict {
		for i := first; i < end; i++ {
			list = append(list, i)
		}
		d.ready = list
		return list
	}
	caused := map[trace.P]int{} // waits that a location causes, not listed yet
	waits := map[trace.P][]int{}
	for i := first; i < end; i++ {
		w := &d.list[i]
		caused[w.cause]++
		waits[w.p] = append(waits[w.p], i)
	}
	for i := first; i < end; i++ {
		if caused[d.list[i].p] == 0 {
			list = append(list, i)
		}
	}
	for n := 0; n < len(list); n++ {
		cause := d.list[list[n]].cause
		if caused[cause]--; caused[cause] == 0 {
			list = append(list, waits[cause]...)
		}
	}
	d.ready = list
	return list
}

// circle reports whether waits of the slab that end at one instant wait for each other.
func (d *Delays) circle() bool {
	for first, end := 0, len(d.list); end > 0; end = first {
		first = d.instant(end)
		if len(d.inOrder(first, end)) < end-first {
			return true
		}
	}
	return false
}

// dealAll deals out what waits are, and what they have got to pass on.
func (d *Delays) dealAll() error {
	for i := range d.blamed.slabs {
		b, err := d.blamed.open(d.blamed.slabs[i].passed)
		if err != nil {
			return err
		}
		d.packed = append(d.packed[:0], b...)
		passed := varint.Read(d.packed)
		if err := d.openBlames(i); err != nil {
			return err
		}
		for n := range d.list {
			*d.passedBy(n) = passed.Next()
			if err := d.deal(n, false, true); err != nil {
				return err
			}
		}
		err = failure(&passed)
		if err == nil {
			err = d.run.did(0.15, len(d.blamed.slabs))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendCarried encodes what is left for earlier slabs.
func (d *Delays) appendCarried() []byte {
	b := binary.AppendUvarint(nil, uint64(len(d.carried)))
	for i := range d.carried {
		x := &d.carried[i]
		b = varint.Append(b, uint64(x.p), x.next, x.low, x.amount, x.total, x.length, x.given)
	}
	return b
}

func (d *Delays) parseCarried(b []byte) error {
	r := varint.Read(b)
	for range r.Count(7) {
		x := carried{p: trace.P(r.Next()), next: r.Next(), low: r.Next(), amount: r.Next(), total: r.Next(), length: r.Next(), given: r.Next()}
		if uint64(x.p) >= uint64(d.locations()) || x.total == 0 {
			return ErrDamaged
		}
		d.carried = append(d.carried, x)
	}
	return failure(&r)
}

// gather brings the costs that were found in slabs to the ranks of their locations. Collective.
func (d *Delays) gather() error {
	box := newOutbox(d.run.Comm, &d.run.Storage, func(b []byte) error {
		if len(b) != costBytes {
			return ErrDamaged
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
