package causes

import (
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// slabSteps is what the locations do in a slab. One replay takes the steps of most locations as they are stored; with levers, of which
// several pass, and where some steps take effect before their row, they are decoded once. Memory: 4 bytes for each step, 32 where it is
// decoded, and with levers 12 for each piece of a time line.
type slabSteps struct {
	raw   [][]byte     // by location
	ops   [][]replayOp // the same, decoded
	lines []lineSlab   // the same, with levers
	all   []replayOp
	parts []stepsOf
}

// stepsOf is the steps of a location among all.
type stepsOf struct {
	p        uint32
	from, to int
}

// readSlab reads a slab, in the memory of the one before.
func (x *slabSteps) readSlab(r *Replay, k int) error {
	n := r.Defs.NumLocations()
	x.raw, x.ops, x.all, x.parts = slices.Grow(x.raw[:0], n)[:n], slices.Grow(x.ops[:0], n)[:n], x.all[:0], x.parts[:0]
	clear(x.raw)
	clear(x.ops)
	early := map[uint32][]earlyOp{}
	err := r.parcels.each(earlyParcels, k, func(p uint32, b []byte) (err error) {
		early[p], err = readEarly(b)
		return err
	})
	add := func(p uint32, b []byte) error {
		if uint64(p) >= uint64(n) {
			return ErrDamaged
		}
		if r.lever == nil && early[p] == nil {
			x.raw[p] = b
			return nil
		}
		from := len(x.all)
		var err error
		x.all, err = mergeEarly(x.all, b, early[p])
		delete(early, p)
		x.parts = append(x.parts, stepsOf{p, from, len(x.all)})
		return err
	}
	if err == nil {
		err = r.parcels.each(stepParcels, k, add)
	}
	for _, p := range slices.Sorted(maps.Keys(early)) {
		if err == nil {
			err = add(p, nil)
		}
	}
	if err != nil {
		return err
	}
	for _, l := range x.parts {
		x.ops[l.p] = x.all[l.from:l.to]
	}
	if r.lever == nil {
		return nil
	}
	return x.readLines(r, k)
}

// readLines reads the time lines, and says of each call on which path it is, as its peer.
func (x *slabSteps) readLines(r *Replay, k int) error {
	x.lines = slices.Grow(x.lines[:0], len(x.ops))[:len(x.ops)]
	start := r.parcels.slabs.start(k)
	for p := range x.lines {
		l := &x.lines[p]
		l.start, l.ends, l.ids, l.found = start, l.ends[:0], l.ids[:0], l.found[:0]
	}
	return r.parcels.each(lineParcels, k, func(p uint32, b []byte) error {
		if uint64(p) >= uint64(len(x.lines)) {
			return ErrDamaged
		}
		line := &x.lines[p]
		if err := line.read(b, start); err != nil {
			return err
		}
		i := 0
		for n := range x.ops[p] {
			o := &x.ops[p][n]
			if o.kind != stepCall && o.kind != stepResume {
				continue
			}
			for i < len(line.ends) && line.ends[i] <= o.t {
				i++
			}
			if i < len(line.ends) {
				if key := line.found[line.ids[i]>>pieceBits].key; activityOf(key) == xtf.ActivityMPI && uint64(key>>activityBits) < uint64(len(r.Regions)) {
					o.peer = uint32(key >> activityBits)
				}
			}
		}
		return nil
	})
}
