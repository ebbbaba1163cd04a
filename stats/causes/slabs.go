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

// Slabs cuts the time of a run into slabs. Slab k is what happens on all locations after the end of slab k-1, up to its own end. A rank
// works on consecutive slabs. Results do not depend on where slabs end. The zero value is one slab.
type Slabs struct {
	Ends  []uint64 // ticks, of all slabs except the last one, ascending
	Calls uint64   // MPI calls in a slab, as Cut aimed; 0: there is one slab
	ranks int
}

func (s *Slabs) count() int { return len(s.Ends) + 1 }

// at returns the slab of an instant.
func (s *Slabs) at(t uint64) int {
	return sort.Search(len(s.Ends), func(i int) bool { return s.Ends[i] >= t })
}

// start returns the end of the slab before.
func (s *Slabs) start(k int) uint64 {
	if k == 0 {
		return 0
	}
	return s.Ends[k-1]
}

// rank returns the rank that works on a slab.
func (s *Slabs) rank(k int) int { return k * s.ranks / s.count() }

// first returns the first slab of a rank; for the rank after the last one, the number of slabs.
func (s *Slabs) first(rank int) int { return (rank*s.count() + s.ranks - 1) / s.ranks }

const (
	slabCalls = 64 << 10 // about the most MPI calls in a slab; more with many locations, see aim
	fewCalls  = 128      // the least MPI calls in a slab ...
	ownCalls  = 16       // ... and the least for each location, since a slab begins with totals of each
	slabBins  = 8 << 10  // instants from which Cut chooses ends
	mostSlab  = 16 << 10 // slabs
	mostParts = 32       // bins over which Add spreads calls
)

// Counts counts MPI calls by time, in bins of equal width, which doubles when an instant is after the last bin. Memory: 64 KiB.
type Counts struct {
	shift uint // a bin is 1<<shift ticks
	bins  [slabBins]int64
}

// Add counts calls that begin within ticks from instant t on, spread evenly. With few events on each of many locations, times of calls are
// known only to within wide steps, and slabs of whole steps would be too large.
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

// Cut sets r.Slabs by the calls of this rank's locations in c: two slabs for each of several ranks, unless that makes them too small or
// too large. Collective.
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

// aim returns about how many MPI calls a slab should have. Memory grows with the calls of the current slab, and with the locations of all
// slabs of the rank. With sqrt(calls * locations / (2 * ranks)) calls in a slab both are about equal.
func (r *Run) aim(total uint64) uint64 {
	locations, ranks := r.Defs.NumLocations(), r.Comm.Size()
	parts := 2 * ranks
	if ranks == 1 { // no other rank waits for this one's first slab
		parts = 1
	}
	most := max(slabCalls, uint64(math.Sqrt(float64(total)*float64(locations)/float64(2*ranks))))
	return max(min(most, max(total/uint64(parts), fewCalls, ownCalls*uint64(locations))), total/mostSlab+1)
}

// Bytes of memory; see docs/memory.md.
const (
	callBytes   = 1200     // for each MPI call of the current slab and the one before: steps, pieces of time lines, waits and blames
	placeBytes  = 200      // for each location of each slab: its position in the replay, and its records' places
	ownBytes    = 1200     // for each location
	streamBytes = 48 << 20 // records on their way, and sorters
)

// Memory returns about how many bytes the passes over the slabs of this rank take.
func (r *Run) Memory() int64 {
	s := r.Slabs
	s.ranks = r.Comm.Size()
	own := s.first(r.Comm.Rank()+1) - s.first(r.Comm.Rank())
	n := int64(r.Defs.NumLocations())
	return streamBytes + callBytes*int64(max(slabCalls, r.Slabs.Calls)) + (placeBytes*int64(own)+ownBytes)*n
}

// parcels moves records from the ranks of locations to those of slabs, which keep them by slab. Records have one or several kinds. It
// also moves records of slabs back to the ranks of locations (newReturned); then "slab" stands for location, and the reverse.
// Memory: 16 bytes for each record of this rank's slabs; the records are in the scratch, or where this rank's Pass left them.
type parcels struct {
	slabs   Slabs
	rank    func(slab int) int // the rank that has a slab
	kinds   int
	own     int // first slab of this rank
	end     int // the slab after its last one
	box     *outbox
	scratch Scratch
	size    int64     // bytes in scratch and buf
	kept    []Segment // of this rank's locations, from the first one on
	first   trace.P
	buf     []byte     // not in the scratch yet
	read    []byte     // records of the current slab
	list    [][]parcel // by own slab, then kind
}

// keptBlock is about how many bytes go to the scratch at a time.
const keptBlock = 64 << 10

// parcel says where a record of a location is: n bytes at off of the scratch, or at ^off of the location's segment if off is negative.
type parcel struct {
	p   uint32
	n   uint32
	off int64
}

// parcelHead is the size of a record's head: slab * kinds + kind u32, location u32, little-endian.
const parcelHead = 8

// Kinds of the records that slabs get of locations.
const (
	lineParcels  = iota // time lines
	waitParcels         // waits, by the slab in which they end
	jumpParcels         // jumps that the critical path can take
	stepParcels         // steps of the replay
	earlyParcels        // steps that take effect before their row
	passKinds
)

func newParcels(c mpi.Comm, st *Storage, s Slabs, kinds int) *parcels {
	s.ranks = c.Size()
	x := &parcels{slabs: s, rank: s.rank, kinds: kinds, own: s.first(c.Rank()), end: s.first(c.Rank() + 1)}
	return x.open(c, st)
}

// newReturned returns parcels that move records of slabs to the ranks of locations.
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

// keep adds a record of n bytes at off to the list, by its head.
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

// deliver exchanges all records, see outbox.deliver. Collective.
func (x *parcels) deliver(failed error) error {
	return x.box.deliver(failed)
}

// of returns the records of a slab of this rank.
func (x *parcels) of(kind, slab int) []parcel { return x.list[(slab-x.own)*x.kinds+kind] }

// bytes returns the length of all records of a slab.
func (x *parcels) bytes(kind, slab int) (n int) {
	for _, r := range x.of(kind, slab) {
		n += int(r.n)
	}
	return n
}

// each calls f for the records of a slab, those of one location joined. The bytes are valid until the next call.
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

// parcelBlock is about the most bytes of a record.
const parcelBlock = 16 << 10

// parcelWriter collects the record of one location, slab and kind.
type parcelWriter struct {
	slabs       *Slabs
	kind, kinds int
	put         func(record []byte) error
	p           uint32
	slab        int
	buf         []byte
	err         error
}

// writer returns a writer of records of a kind.
func (x *parcels) writer(kind int) parcelWriter {
	return parcelWriter{slabs: &x.slabs, kind: kind, kinds: x.kinds, put: x.put}
}

// at prepares w.buf for more bytes of a location in a slab. It reports whether a new record begins.
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
