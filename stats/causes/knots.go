package causes

import (
	"encoding/binary"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// knots are instants of a location in a slab, and what they are with a lever: in between, time passes evenly. Each is the difference to
// the one before, times 4, with what it is, and that of what it is with the lever.
type knots struct {
	b    []byte
	t, v uint64
}

// Kinds of knots.
const (
	plainKnot = iota
	enterKnot // of an outermost MPI call
	leaveKnot
	knotKinds = 4
)

// add adds an instant, if it is a later one. A nil receiver does nothing.
func (k *knots) add(t, v uint64) {
	if k != nil && t > k.t {
		k.put(t, v, plainKnot)
	}
}

// call adds the begin or the end of a call: of one without length in the trace there are two at one instant.
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

// TimeMaps are the instants of a run with a lever, of this rank's locations.
type TimeMaps struct{ found *parcels }

// Times replays the run with a lever, and says when everything happens then. Collective. Memory: 8 bytes for each call and change of
// function in a slab; next to that the storage of 3 to 8 bytes for each of the locations of the rank.
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

// tell runs a slab once more, from where it begins, and gives its instants to those who have the locations.
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

// Drop gives the storage back.
func (m *TimeMaps) Drop() { m.found.drop() }

// TimeMap is the instants of a location.
type TimeMap struct {
	slabs [][]byte
	r     varint.Reader
	from  knot // the last one that was passed
	to    knot // the next one
	more  bool // it is there
	read  knot // the last one that was read of the slab
}

type knot struct{ t, v, kind uint64 }

// Of returns the instants of a location.
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

// At returns what an instant is with the lever. Instants do not decrease from one call to the next.
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

// Call returns the same of the begin or the end of an outermost MPI call.
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
