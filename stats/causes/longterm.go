package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// ownWaits are the waits of a location in a slab, in order.
type ownWaits struct {
	first uint64 // number of the first one among all of the location
	list  []ownWait
	near  int // the last result of over, from which it searches
}

// ownWait is a wait. passed is the ticks that later waits passed to it.
type ownWait struct{ begin, end, passed uint64 }

// over returns how many of the waits are over at an instant.
func (w *ownWaits) over(t uint64) uint64 {
	for w.near > 0 && w.list[w.near-1].end > t {
		w.near--
	}
	for w.near < len(w.list) && w.list[w.near].end <= t {
		w.near++
	}
	return uint64(w.near)
}

// tagCarried is the tag of ticks that waits pass to waits in slabs of lower ranks.
const tagCarried = 15

// passBack distributes all waits, in three passes over the slabs of this rank: blameAll finds the blame of each wait; handOn finds how
// many ticks later waits pass to it, one rank after another from the last slab on; dealAll distributes both. The first and the last
// pass take most of the time and need no other rank. Rank 0, for which no other rank waits, distributes in handOn, and a single rank does
// all in one pass. failed is an error of this rank, on which all have yet to agree. Collective.
func (d *Delays) passBack() (failed, err error) {
	failed, err = d.handOn(d.blameAll())
	if failed == nil && err == nil && d.run.Comm.Rank() > 0 {
		failed = d.dealAll()
	}
	return failed, err
}

// direct reports whether the blame of a wait is found only when it is distributed.
func (d *Delays) direct() bool { return d.run.Comm.Size() == 1 }

// blameStore stores the waits of this rank's slabs with their blames. Memory: 48 bytes for each slab.
type blameStore struct {
	scratch Scratch
	slabs   []storedSlab
	read    []byte
}

// storedSlab says where the scratch has the waits of a slab, by end, their blames, and the ticks passed to them.
type storedSlab struct{ waits, blames, passed extent }

type extent struct{ off, n int64 }

func (b *blameStore) write(data []byte) (extent, error) {
	off, err := b.scratch.Append(data)
	return extent{off, int64(len(data))}, err
}

// open reads an extent. The bytes are valid until the next call.
func (b *blameStore) open(x extent) ([]byte, error) {
	b.read = slices.Grow(b.read[:0], int(x.n))[:x.n]
	return b.read, readFull(b.scratch, b.read, x.off)
}

// blameAll finds and stores the blames of the waits in this rank's slabs.
func (d *Delays) blameAll() error {
	for i := len(d.store.slabs) - 1; i >= 0 && !d.direct(); i-- {
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
		if d.store.slabs[i].blames, err = d.store.write(d.packed); err == nil {
			err = d.run.did(0.35, len(d.store.slabs))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handOn finds how many ticks each wait gets from those that it caused. It begins with the last wait of the run; to each wait in turn no
// later wait adds any more. Collective.
func (d *Delays) handOn(failed error) (error, error) {
	c := d.run.Comm
	if c.Rank()+1 < c.Size() {
		b, _, err := c.Recv(c.Rank()+1, tagCarried)
		if err != nil {
			return failed, err
		}
		failed = cmp.Or(failed, d.parseCarried(b))
	}
	for i := len(d.store.slabs) - 1; i >= 0 && failed == nil; i-- {
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

// openBlames reads the waits of a slab, and their blames.
func (d *Delays) openBlames(i int) error {
	if err := d.readWaits(d.slabData, d.parcels.own+i); err != nil {
		return err
	}
	d.blames = d.blames[:0]
	b, err := d.store.open(d.store.slabs[i].blames)
	r := varint.Read(b)
	for range d.list {
		d.blames = append(d.blames, r.Block())
	}
	return cmp.Or(err, failure(&r))
}

// passSlab finds what the waits that end in a slab get and pass on. On rank 0 it also distributes them.
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
		return d.run.did(done+0.15, len(d.store.slabs))
	}
	d.packed = d.packed[:0]
	for n := range d.list {
		d.packed = binary.AppendUvarint(d.packed, *d.passedBy(n))
	}
	if d.store.slabs[i].passed, err = d.store.write(d.packed); err != nil {
		return err
	}
	return d.run.did(done, len(d.store.slabs))
}

// passedBy returns the ticks that later waits passed to a wait of the slab.
func (d *Delays) passedBy(n int) *uint64 {
	w := &d.list[n]
	own := &d.waits[w.p]
	return &own.list[w.index-own.first].passed
}

// instant returns the first of those waits before index end that end together with the last of them.
func (d *Delays) instant(end int) int {
	first := end - 1
	for first > 0 && d.list[first-1].end == d.list[end-1].end {
		first--
	}
	return first
}

// inOrder lists the waits from first to end-1, which end at one instant, in the order in which they pass on ticks: a wait comes after the
// waits that its location caused. Waits that wait for each other in a cycle are missing. With strict order none depends on another.
func (d *Delays) inOrder(first, end int) []int {
	list := d.ready[:0]
	if end-first == 1 || d.strict {
		for i := first; i < end; i++ {
			list = append(list, i)
		}
		d.ready = list
		return list
	}
	caused := map[trace.P]int{} // by location: waits that it causes, not listed yet
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

// circle reports whether waits of the slab that end at one instant wait for each other in a cycle.
func (d *Delays) circle() bool {
	for first, end := 0, len(d.list); end > 0; end = first {
		first = d.instant(end)
		if len(d.inOrder(first, end)) < end-first {
			return true
		}
	}
	return false
}

// dealAll distributes the waits of all slabs, with the ticks passed to them.
func (d *Delays) dealAll() error {
	for i := range d.store.slabs {
		b, err := d.store.open(d.store.slabs[i].passed)
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
			err = d.run.did(0.15, len(d.store.slabs))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendCarried encodes the ticks for waits in slabs of lower ranks.
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

// gather sends the costs from the ranks of the slabs to those of the locations. Collective.
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
