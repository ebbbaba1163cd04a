package causes

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
)

// Slabs parts a run by time: slab k is what happens behind the end of slab k-1, up to
// its own end, at all locations. A rank works on consecutive slabs. What is found does
// not depend on where they end. The zero value is one slab.
type Slabs struct {
	ends  []uint64 // ticks, of all slabs but the last one, ascending
	ranks int
}

func (s *Slabs) count() int { return len(s.ends) + 1 }

// at is the slab of an instant.
func (s *Slabs) at(t uint64) int {
	return sort.Search(len(s.ends), func(i int) bool { return s.ends[i] >= t })
}

// start is the end of the slab before.
func (s *Slabs) start(k int) uint64 {
	if k == 0 {
		return 0
	}
	return s.ends[k-1]
}

// rank is the rank that works on a slab.
func (s *Slabs) rank(k int) int { return k * s.ranks / s.count() }

// first is the first slab of a rank; that of the rank after the last one is the number of slabs.
func (s *Slabs) first(rank int) int { return (rank*s.count() + s.ranks - 1) / s.ranks }

const (
	slabRows = 64 << 10 // messages and collectives of a slab at most, about
	fewRows  = 128      // and at least ...
	ownRows  = 16       // ... or so many for each location, whose totals the slab begins with
	slabBins = 8 << 10  // instants among which the ends are chosen
	mostSlab = 16 << 10
)

// Cut chooses the slabs, two for each rank where they are not too small or too large, by the pages of messages and
// collectives: rows lie evenly between the first and the last instant of their page, as far as is known. Collective.
func (r *Run) Cut() error {
	c := r.Comm
	bins := make([]int64, slabBins)
	width := r.Last/uint64(len(bins)) + 1
	err := r.eachPage(func(first, end, rows uint64) {
		from, to := min(first, r.Last)/width, min(end, r.Last)/width
		for i, n := uint64(0), max(to, from)-from+1; i < n; i++ {
			bins[from+i] += int64(rows*(i+1)/n - rows*i/n)
		}
	})
	if err = c.Agree(err); err != nil {
		return err
	}
	if err = c.AllreduceInt64(bins, mpi.Sum); err != nil {
		return err
	}
	total := uint64(0)
	for _, n := range bins {
		total += uint64(n)
	}
	slab := max(min(slabRows, max(total/uint64(2*c.Size()), fewRows, ownRows*uint64(r.Defs.NumLocations()))), total/mostSlab+1)
	if total < 2*slab {
		return nil
	}
	for i, sum := 0, uint64(0); i < len(bins)-1; i++ {
		if sum += uint64(bins[i]); sum >= slab {
			r.Slabs.ends = append(r.Slabs.ends, uint64(i+1)*width-1)
			sum = 0
		}
	}
	return nil
}

// eachPage tells of the pages of messages and collectives of this rank's locations.
func (r *Run) eachPage(add func(first, end, rows uint64)) error {
	own := r.Ranges[r.Comm.Rank()]
	for p := own.First; p < own.End; p++ {
		for _, t := range replayArrays[:2] {
			a, ok, err := r.Array(p, t)
			if err != nil {
				return err
			}
			if ok && a.Summary != nil {
				a.Summary.EachPage(add)
			}
		}
	}
	return nil
}

// parcels is records of locations by slab: put by the ranks that hold the locations, kept by those that work on the slabs.
// Memory: 24 bytes for each record of this rank's slabs; the records are in the scratch.
type parcels struct {
	slabs   Slabs
	own     int // first slab of this rank
	box     *outbox
	scratch Scratch
	size    int64
	buf     []byte     // not in the scratch yet
	read    []byte     // of the slab in hand
	list    [][]parcel // by own slab
}

// keptBlock is about how much is gathered before it goes to the scratch.
const keptBlock = 64 << 10

// parcel is a record of a location.
type parcel struct {
	p   uint32
	n   uint32
	off int64
}

// parcelHead is the slab u32 and the location u32, little-endian, before a record.
const parcelHead = 8

func newParcels(c mpi.Comm, st *Storage, s Slabs) *parcels {
	s.ranks = c.Size()
	x := &parcels{slabs: s, own: s.first(c.Rank()), scratch: st.Scratch()}
	x.list = make([][]parcel, s.first(c.Rank()+1)-x.own)
	x.box = newOutbox(c, st, x.take)
	return x
}

// put sends a record with its head. Records of one location and slab keep their order.
func (x *parcels) put(record []byte) error {
	return x.box.put(x.slabs.rank(int(binary.LittleEndian.Uint32(record))), record)
}

func (x *parcels) take(record []byte) error {
	if len(record) < parcelHead {
		return errDamaged
	}
	k := int(binary.LittleEndian.Uint32(record)) - x.own
	if k < 0 || k >= len(x.list) {
		return fmt.Errorf("%w: a record of a slab of another rank", errDamaged)
	}
	body := record[parcelHead:]
	x.list[k] = append(x.list[k], parcel{binary.LittleEndian.Uint32(record[4:]), uint32(len(body)), x.size})
	x.size += int64(len(body))
	x.buf = append(x.buf, body...)
	if len(x.buf) < keptBlock {
		return nil
	}
	return x.flush()
}

func (x *parcels) flush() error {
	if len(x.buf) == 0 {
		return nil
	}
	_, err := x.scratch.Append(x.buf)
	x.buf = x.buf[:0]
	return err
}

// deliver exchanges all records. Collective.
func (x *parcels) deliver(failed error) error {
	if err := x.box.deliver(failed); err != nil {
		return err
	}
	for _, l := range x.list {
		slices.SortStableFunc(l, func(a, b parcel) int { return int(a.p) - int(b.p) })
	}
	return x.box.comm.Agree(x.flush())
}

// each passes the records of a slab, those of one location together. The bytes stay valid until the next call.
func (x *parcels) each(slab int, f func(p uint32, b []byte) error) error {
	l, all := x.list[slab-x.own], uint64(0)
	for _, r := range l {
		all += uint64(r.n)
	}
	if uint64(cap(x.read)) < all {
		x.read = make([]byte, all)
	}
	b, at := x.read, 0
	for len(l) > 0 {
		n, size := 0, 0
		for ; n < len(l) && l[n].p == l[0].p; n++ {
			size += int(l[n].n)
		}
		for _, r := range l[:n] {
			if err := readFull(x.scratch, b[at:at+int(r.n)], r.off); err != nil {
				return err
			}
			at += int(r.n)
		}
		if err := f(l[0].p, b[at-size:at]); err != nil {
			return err
		}
		l = l[n:]
	}
	return nil
}

func (x *parcels) drop() { x.scratch.Drop() }

// parcelBlock is about the size at which a record is sent.
const parcelBlock = 16 << 10

// parcelWriter gathers what belongs to one location and slab.
type parcelWriter struct {
	to   *parcels
	p    uint32
	slab int
	buf  []byte
	err  error
}

// at makes w.buf the place for more of a location and slab. It reports whether a record begins.
func (w *parcelWriter) at(p uint32, slab int) bool {
	if len(w.buf) > 0 && w.p == p && w.slab == slab && len(w.buf) < parcelBlock {
		return false
	}
	w.flush()
	w.p, w.slab = p, slab
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(slab))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, p)
	return true
}

func (w *parcelWriter) flush() {
	if len(w.buf) > parcelHead && w.err == nil {
		w.err = w.to.put(w.buf)
	}
	w.buf = w.buf[:0]
}
