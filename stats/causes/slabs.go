package causes

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// Slabs parts a run by time: slab k is what happens after the end of slab k-1, up to
// its own end, at all locations. A rank works on consecutive slabs. What is found does
// not depend on where they end. The zero value is one slab.
type Slabs struct {
	Ends  []uint64 // ticks, of all slabs but the last one, ascending
	Calls uint64   // MPI calls that Cut aimed at, 0: one slab of all
	ranks int
}

func (s *Slabs) count() int { return len(s.Ends) + 1 }

// at is the slab of an instant.
func (s *Slabs) at(t uint64) int {
	return sort.Search(len(s.Ends), func(i int) bool { return s.Ends[i] >= t })
}

// start is the end of the slab before.
func (s *Slabs) start(k int) uint64 {
	if k == 0 {
		return 0
	}
	return s.Ends[k-1]
}

// rank is the rank that works on a slab.
func (s *Slabs) rank(k int) int { return k * s.ranks / s.count() }

// first is the first slab of a rank; that of the rank after the last one is the number of slabs.
func (s *Slabs) first(rank int) int { return (rank*s.count() + s.ranks - 1) / s.ranks }

const (
	slabCalls = 64 << 10 // MPI calls of a slab at most, about; many locations have larger ones, see aim
	fewCalls  = 128      // and at least ...
	ownCalls  = 16       // ... or so many for each location, whose totals the slab begins with
	slabBins  = 8 << 10  // instants among which the ends are chosen
	mostSlab  = 16 << 10
	mostParts = 32 // of what is spread
)

// Counts tells when the MPI calls of locations are, in bins that become twice as wide where a run is longer than they reach. The
// zero value is without any. Memory: 64 KiB.
type Counts struct {
	shift uint // a bin is 1<<shift ticks
	bins  [slabBins]int64
}

// Add counts calls that begin in so many ticks from an instant on, as if their begins were spread over them: where many locations have
// few events each, their times are known in wide steps only, and slabs of whole steps would be too large.
func (c *Counts) Add(t, ticks, calls uint64) {
	ticks = min(ticks, math.MaxUint64-t)
	for (t+ticks)>>c.shift >= slabBins {
		c.widen()
	}
	parts := min(mostParts, calls, ticks>>c.shift+1)
	for i := range parts {
		c.bins[(t+ticks/parts*i)>>c.shift] += int64(calls*(i+1)/parts - calls*i/parts)
	}
}

func (c *Counts) widen() {
	c.shift++
	for i := range c.bins[:slabBins/2] {
		c.bins[i] = c.bins[2*i] + c.bins[2*i+1]
	}
	clear(c.bins[slabBins/2:])
}

// Cut chooses the slabs, two for each of several ranks where they are not too small or too large, by the calls of the locations of all
// ranks. Collective.
func (r *Run) Cut(c *Counts) error {
	calls := []int64{0}
	for _, n := range c.bins {
		calls[0] += n
	}
	if err := r.Comm.AllreduceInt64(calls, mpi.Sum); err != nil {
		return err
	}
	slab := r.aim(uint64(calls[0]))
	if uint64(calls[0]) < 2*slab {
		return nil
	}
	widest := []int64{int64(c.shift)}
	if err := r.Comm.AllreduceInt64(widest, mpi.Max); err != nil {
		return err
	}
	for int64(c.shift) < widest[0] {
		c.widen()
	}
	bins := c.bins[:]
	if err := r.Comm.AllreduceInt64(bins, mpi.Sum); err != nil {
		return err
	}
	r.Slabs.Calls = slab
	for i, sum := 0, uint64(0); i < len(bins); i++ {
		end := uint64(i+1)<<c.shift - 1
		if sum += uint64(bins[i]); sum >= slab && end < r.Last {
			r.Slabs.Ends = append(r.Slabs.Ends, end)
			sum = 0
		}
	}
	return nil
}

// aim is how many of all MPI calls a slab has, about. Each call of the slab in hand takes memory, and each location of each slab of
// the rank does, whether it calls or not: with the root of calls times locations over twice the ranks neither is much more than the other.
func (r *Run) aim(total uint64) uint64 {
	locations, ranks := r.Defs.NumLocations(), r.Comm.Size()
	parts := 2 * ranks
	if ranks == 1 { // nobody waits for the first half
		parts = 1
	}
	most := max(slabCalls, uint64(math.Sqrt(float64(total)*float64(locations)/float64(2*ranks))))
	return max(min(most, max(total/uint64(parts), fewCalls, ownCalls*uint64(locations))), total/mostSlab+1)
}

// Bytes of a slab in hand; see docs/memory.md.
const (
	callBytes   = 1200     // steps, pieces of time lines, waits and what they are blamed on, of an MPI call; the slab before is in hand, too
	placeBytes  = 200      // of each location of each slab: where it is in the replay, and where its records lie
	handBytes   = 1200     // of each location
	streamBytes = 48 << 20 // records on their way, and sorters
)

// Memory is about what the passes over the slabs of this rank take, in bytes, where slabs have as many calls as Cut aims at.
func (r *Run) Memory() int64 {
	s := r.Slabs
	s.ranks = r.Comm.Size()
	own := s.first(r.Comm.Rank()+1) - s.first(r.Comm.Rank())
	n := int64(r.Defs.NumLocations())
	return streamBytes + callBytes*int64(max(slabCalls, r.Slabs.Calls)) + (placeBytes*int64(own)+handBytes)*n
}

// parcels is records of locations by slab, of one kind or several: put by the ranks that hold the locations, kept by those that
// work on the slabs. Or records of slabs by location, the other way round.
// Memory: 16 bytes for each record of this rank's slabs; the records are in the scratch, or where this rank's Pass left them.
type parcels struct {
	slabs   Slabs
	rank    func(slab int) int // that works on it
	kinds   int
	own     int // first slab of this rank
	end     int // and after the last one
	box     *outbox
	scratch Scratch
	size    int64
	kept    []Segment // of this rank's locations, from the first one on
	first   trace.P
	buf     []byte     // not in the scratch yet
	read    []byte     // of the slab in hand
	list    [][]parcel // by own slab, then kind
}

// keptBlock is about how much is gathered before it goes to the scratch.
const keptBlock = 64 << 10

// parcel is a record of a location: in the scratch, or ^off is its place in the segment of the location.
type parcel struct {
	p   uint32
	n   uint32
	off int64
}

// parcelHead is the slab, times the number of kinds and with the kind, u32, and the location u32, little-endian, before a record.
const parcelHead = 8

// Kinds of what the slabs get of locations.
const (
	lineParcels  = iota // time lines
	waitParcels         // waits, by the slab in which they end
	jumpParcels         // where the critical path may go over
	stepParcels         // steps of the replay
	earlyParcels        // those of them that take effect before their row
	passKinds
)

func newParcels(c mpi.Comm, st *Storage, s Slabs, kinds int) *parcels {
	s.ranks = c.Size()
	x := &parcels{slabs: s, rank: s.rank, kinds: kinds, own: s.first(c.Rank()), end: s.first(c.Rank() + 1)}
	return x.open(c, st)
}

// newReturned is for records of slabs by location.
func newReturned(r *Run) *parcels {
	own := r.Ranges[r.Comm.Rank()]
	x := &parcels{rank: func(p int) int { return rankOf(r.Ranges, trace.P(p)) }, kinds: 1, own: int(own.First), end: int(own.End)}
	return x.open(r.Comm, &r.Storage)
}

func (x *parcels) open(c mpi.Comm, st *Storage) *parcels {
	x.scratch, x.list = st.Scratch(), make([][]parcel, (x.end-x.own)*x.kinds)
	x.box = newOutbox(c, st, x.take)
	return x
}

// put sends a record with its head. Records of one location and slab keep their order.
func (x *parcels) put(record []byte) error {
	return x.box.put(x.rank(int(binary.LittleEndian.Uint32(record))/x.kinds), record)
}

func (x *parcels) take(record []byte) error {
	if len(record) < parcelHead {
		return ErrDamaged
	}
	body := record[parcelHead:]
	if err := x.keep(record, int64(len(body)), x.size); err != nil {
		return err
	}
	x.size += int64(len(body))
	x.buf = append(x.buf, body...)
	if len(x.buf) < keptBlock {
		return nil
	}
	return x.flush()
}

// keep notes where a record lies, by its head.
func (x *parcels) keep(head []byte, n, off int64) error {
	k := int(binary.LittleEndian.Uint32(head)) - x.own*x.kinds
	if k < 0 || k >= len(x.list) {
		return fmt.Errorf("%w: a record of a slab of another rank", ErrDamaged)
	}
	x.list[k] = append(x.list[k], parcel{binary.LittleEndian.Uint32(head[4:]), uint32(n), off})
	return nil
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
	return x.box.deliver(failed)
}

// of is the list of a slab of this rank.
func (x *parcels) of(kind, slab int) []parcel { return x.list[(slab-x.own)*x.kinds+kind] }

// bytes is the length of all records of a slab.
func (x *parcels) bytes(kind, slab int) (n int) {
	for _, r := range x.of(kind, slab) {
		n += int(r.n)
	}
	return n
}

// each passes the records of a slab, those of one location together. The bytes stay valid until the next call.
func (x *parcels) each(kind, slab int, f func(p uint32, b []byte) error) error {
	l, all := x.of(kind, slab), x.bytes(kind, slab)
	if err := x.flush(); err != nil {
		return err
	}
	slices.SortStableFunc(l, func(a, b parcel) int { return cmp.Compare(a.p, b.p) })
	x.read = slices.Grow(x.read[:0], all)[:all]
	b, at := x.read, 0
	for len(l) > 0 {
		n, size := 0, 0
		for ; n < len(l) && l[n].p == l[0].p; n++ {
			size += int(l[n].n)
		}
		for _, r := range l[:n] {
			src, off := io.ReaderAt(x.scratch), r.off
			if off < 0 {
				src, off = x.kept[r.p-uint32(x.first)], ^off
			}
			if err := readFull(src, b[at:at+int(r.n)], off); err != nil {
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

func (x *parcels) drop() {
	x.scratch.Drop()
	for _, s := range x.kept {
		s.Drop()
	}
	x.kept = nil
}

// parcelBlock is about the size at which a record is sent.
const parcelBlock = 16 << 10

// parcelWriter gathers what belongs to one location and slab.
type parcelWriter struct {
	slabs       *Slabs
	kind, kinds int
	put         func(record []byte) error
	p           uint32
	slab        int
	buf         []byte
	err         error
}

// writer puts records of a kind.
func (x *parcels) writer(kind int) parcelWriter {
	return parcelWriter{slabs: &x.slabs, kind: kind, kinds: x.kinds, put: x.put}
}

// at makes w.buf the place for more of a location and slab. It reports whether a record begins.
func (w *parcelWriter) at(p uint32, slab int) bool {
	if len(w.buf) > 0 && w.p == p && w.slab == slab && len(w.buf) < parcelBlock {
		return false
	}
	w.flush()
	w.p, w.slab = p, slab
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(slab*w.kinds+w.kind))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, p)
	return true
}

func (w *parcelWriter) flush() {
	if len(w.buf) > parcelHead && w.err == nil {
		w.err = w.put(w.buf)
	}
	w.buf = w.buf[:0]
}
