package causes

import (
	"encoding/binary"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// knots maps instants t of a location in a slab to instants v with a lever; between two knots it is linear. Two varints encode a knot: the
// difference of t to the knot before, times knotKinds, plus its kind; and the difference of v.
type knots struct {
	b    []byte
	t, v uint64 // of the last knot
}

// Kinds of knots.
const (
	plainKnot = iota
	enterKnot // of an outermost MPI call
	leaveKnot
	knotKinds = 4
)

// add adds an instant if it is later than the last one. A nil receiver does nothing.
func (k *knots) add(t, v uint64) {
	if k != nil && t > k.t {
		k.put(t, v, plainKnot)
	}
}

// call adds the begin or the end of a call. For a call without length in the trace there are two knots at one instant.
func (k *knots) call(t, v uint64, ends bool) {
	switch {
	case k == nil || t < k.t:
	case ends:
		k.put(t, v, leaveKnot)
	default:
		k.put(t, v, enterKnot)
	}
}

func (k *knots) put(t, v, kind uint64) {
	k.b = varint.Append(k.b, (t-k.t)*knotKinds+kind, zigzag(v-k.v))
	k.t, k.v = t, v
}

// TimeMaps maps the times of this rank's locations to those with a lever.
type TimeMaps struct{ found *parcels }

// Times replays the run with a lever, and returns when everything happens then. Collective. Memory: 8 bytes for each call and change of
// function in a slab. The storage holds 3 to 8 bytes for each of those of the rank's locations.
func (r *Levers) Times(l *Lever) (*TimeMaps, error) {
	f := r.plan(l)
	f.read = &slabSteps{}
	if _, err := (flows{f}).runSlabs(r.Defs.NumLocations()); err != nil {
		return nil, err
	}
	var err error
	m := &TimeMaps{newReturned(r.Run)}
	for i := range f.runs {
		if err == nil {
			err = f.tell(i, m.found)
		}
	}
	return m, m.found.deliver(err)
}

// tell runs this rank's i-th slab once more, and sends the knots to the ranks of the locations.
func (f *flow) tell(i int, to *parcels) error {
	k := f.steps.own + i
	if err := f.read.readSlab(f.r, k); err != nil {
		return err
	}
	f.knots, f.guess = make([]knots, f.r.Defs.NumLocations()), false
	if err := f.slab(k, f.runs[i].from); err != nil {
		return err
	}
	for p := range f.knots {
		b := f.knots[p].b
		if len(b) == 0 {
			continue
		}
		record := binary.LittleEndian.AppendUint32(make([]byte, 0, parcelHead+len(b)), uint32(p))
		record = binary.LittleEndian.AppendUint32(record, uint32(k))
		if err := to.put(append(record, b...)); err != nil {
			return err
		}
	}
	return nil
}

// Drop frees the storage.
func (m *TimeMaps) Drop() { m.found.drop() }

// TimeMap maps the times of one location.
type TimeMap struct {
	slabs [][]byte // not begun
	r     varint.Reader
	from  knot // the last one passed
	to    knot // the next one
	more  bool // to is valid
	read  knot // the last one decoded in the slab
}

type knot struct{ t, v, kind uint64 }

// Of returns the map of a location.
func (m *TimeMaps) Of(p trace.P) (*TimeMap, error) {
	x := &TimeMap{}
	err := m.found.each(0, int(p), func(_ uint32, b []byte) error {
		x.slabs = append(x.slabs, append([]byte(nil), b...))
		return nil
	})
	x.next()
	return x, err
}

func (x *TimeMap) next() {
	for x.r.Len() == 0 {
		if x.more = len(x.slabs) > 0; !x.more {
			return
		}
		x.r, x.slabs, x.read = varint.Read(x.slabs[0]), x.slabs[1:], knot{}
	}
	h := x.r.Next()
	x.read = knot{x.read.t + h/knotKinds, x.read.v + unzigzag(x.r.Next()), h % knotKinds}
	x.to = x.read
}

// At returns what instant t, in ticks, is with the lever. Instants must not decrease from one call to the next.
func (x *TimeMap) At(t uint64) uint64 {
	for x.more && x.to.t < t {
		x.from = x.to
		x.next()
	}
	past := t - min(x.from.t, t)
	if past > 0 && x.more && x.to.v >= x.from.v {
		hi, lo := bits.Mul64(past, x.to.v-x.from.v)
		past, _ = bits.Div64(hi, lo, x.to.t-x.from.t)
	}
	return x.from.v + past
}

// Call does the same for the begin or the end of an outermost MPI call.
func (x *TimeMap) Call(t uint64, ends bool) uint64 {
	v := x.At(t)
	kind := uint64(enterKnot)
	if ends {
		kind = leaveKnot
	}
	for x.more && x.to.t == t {
		x.from = x.to
		x.next()
		if v = x.from.v; x.from.kind == kind {
			break
		}
	}
	return v
}
