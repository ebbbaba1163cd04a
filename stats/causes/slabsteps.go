package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// slabSteps is what the locations do in a slab. One replay takes the steps as they are stored; with levers, of which several pass,
// they are decoded once. Memory: 4 bytes for each step, 40 for each early one, and with levers 32 for each and 12 for each piece of a
// time line.
type slabSteps struct {
	raw   [][]byte     // by location
	early [][]earlyOp  // the same, in the order of their instants
	ops   [][]replayOp // both, with levers
	lines []lineSlab   // the same, with levers
	all   []replayOp
	from  []int // among all, by location

	values valueTable // of the replay in hand
}

// readSlab reads a slab, in the memory of the one before.
func (x *slabSteps) readSlab(r *Replay, k int) error {
	n := uint64(r.Defs.NumLocations())
	x.raw, x.early, x.ops = slices.Grow(x.raw[:0], int(n))[:n], slices.Grow(x.early[:0], int(n))[:n], slices.Grow(x.ops[:0], int(n))[:n]
	clear(x.raw)
	clear(x.early)
	clear(x.ops)
	err := r.parcels.each(earlyParcels, k, func(p uint32, b []byte) error {
		list, err := readEarly(b)
		for _, o := range list {
			of := p
			if o.coll == onPath {
				of = o.root
			}
			if uint64(of) >= n {
				return ErrDamaged
			}
			x.early[of] = append(x.early[of], o)
		}
		return err
	})
	for _, list := range x.early {
		slices.SortFunc(list, func(a, b earlyOp) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.order, b.order)) })
	}
	if err != nil {
		return err
	}
	err = r.parcels.each(stepParcels, k, func(p uint32, b []byte) error {
		if uint64(p) >= n {
			return ErrDamaged
		}
		x.raw[p] = b
		return nil
	})
	if err != nil || r.lever == nil {
		return err
	}
	if err := x.decode(); err != nil {
		return err
	}
	return x.readLines(r, k)
}

// decode decodes the steps of all locations.
func (x *slabSteps) decode() error {
	x.all, x.from = x.all[:0], x.from[:0]
	for p := range x.raw {
		x.from = append(x.from, len(x.all))
		s := steps{soon: x.early[p], src: varint.Read(x.raw[p])}
		for s.next() {
			x.all = append(x.all, *s.op)
		}
		if s.src.Failed() {
			return ErrDamaged
		}
		x.raw[p], x.early[p] = nil, nil
	}
	end := len(x.all)
	for p := len(x.ops) - 1; p >= 0; p-- {
		x.ops[p], end = x.all[x.from[p]:end], x.from[p]
	}
	return nil
}

// readLines reads the time lines.
func (x *slabSteps) readLines(r *Replay, k int) error {
	x.lines = slices.Grow(x.lines[:0], len(x.ops))[:len(x.ops)]
	start := r.parcels.slabs.start(k)
	for p := range x.lines {
		l := &x.lines[p]
		l.start, l.ends, l.ids, l.keys = start, l.ends[:0], l.ids[:0], l.keys[:0]
	}
	return r.parcels.each(lineParcels, k, func(p uint32, b []byte) error {
		if uint64(p) >= uint64(len(x.lines)) {
			return ErrDamaged
		}
		return x.lines[p].read(b, start)
	})
}
