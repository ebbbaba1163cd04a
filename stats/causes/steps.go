package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// stepCoder encodes and decodes steps as differences to those before, in about three bytes each. A record of steps begins with a zero
// coder. Memory: 280 bytes.
type stepCoder struct {
	t, own, leave uint64
	path          uint32
	last          [2][8]struct { // the last keys, of partners and of communicators
		who uint32
		key uint64
	}
}

// key returns the last key of a partner (kind 0) or communicator (kind 1).
func (c *stepCoder) key(kind int, who uint32) *uint64 {
	x := &c.last[kind][who%8]
	if x.who != who {
		x.who, x.key = who, 0
	}
	return &x.key
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// put appends a step: a byte, its kind and in the upper half the kind of the collective, then the fields that steps of the kind have.
func (c *stepCoder) put(b []byte, o *replayOp) []byte {
	b = append(b, uint8(o.kind)|uint8(o.coll)<<4)
	switch o.kind {
	case stepCall, stepResume:
		b = binary.AppendUvarint(b, zigzag(o.t-c.t))
		b = binary.AppendUvarint(b, o.key-o.t)
		if o.coll == onPath {
			b = binary.AppendUvarint(b, zigzag(uint64(o.peer)-uint64(c.path)))
			c.path = o.peer
		}
		c.t = o.t
	case stepLeave:
		b = binary.AppendUvarint(b, zigzag(o.key-c.leave))
		c.leave = o.key
	case stepSend:
		k := c.key(0, o.peer)
		b = binary.AppendUvarint(b, uint64(o.peer))
		b = binary.AppendUvarint(b, zigzag(o.key-*k))
		b = binary.AppendUvarint(b, zigzag(o.t-c.t))
		*k, c.t = o.key, o.t
	case stepNeed, stepDrop, stepProbe:
		b = binary.AppendUvarint(b, uint64(o.peer))
		b = binary.AppendUvarint(b, zigzag(o.key-c.own))
		c.own = o.key
	case stepBegin, stepEnd:
		b = binary.AppendUvarint(b, uint64(o.peer))
		b = binary.AppendUvarint(b, zigzag(o.t-c.t))
		c.t = o.t
	default:
		k := c.key(1, o.peer)
		b = binary.AppendUvarint(b, uint64(o.peer))
		b = binary.AppendUvarint(b, uint64(o.root))
		b = binary.AppendUvarint(b, zigzag(o.key-*k))
		b = binary.AppendUvarint(b, zigzag(o.t-c.t))
		*k, c.t = o.key, o.t
	}
	return b
}

// next decodes a step.
func (c *stepCoder) next(r *varint.Reader, o *replayOp) {
	h := r.Byte()
	*o = replayOp{kind: replayKind(h & 15), coll: collectiveKind(h >> 4)}
	switch o.kind {
	case stepCall, stepResume:
		o.t = c.t + unzigzag(r.Next())
		o.key = o.t + r.Next()
		if o.coll == onPath {
			o.peer = c.path + uint32(unzigzag(r.Next()))
			c.path = o.peer
		}
		c.t = o.t
	case stepLeave:
		o.key = c.leave + unzigzag(r.Next())
		c.leave = o.key
	case stepSend:
		o.peer = uint32(r.Next())
		k := c.key(0, o.peer)
		o.key, o.t = *k+unzigzag(r.Next()), c.t+unzigzag(r.Next())
		*k, c.t = o.key, o.t
	case stepNeed, stepDrop, stepProbe:
		o.peer = uint32(r.Next())
		o.key = c.own + unzigzag(r.Next())
		c.own = o.key
	case stepBegin, stepEnd:
		o.peer = uint32(r.Next())
		o.t = c.t + unzigzag(r.Next())
		c.t = o.t
	default:
		o.peer, o.root = uint32(r.Next()), uint32(r.Next())
		k := c.key(1, o.peer)
		o.key, o.t = *k+unzigzag(r.Next()), c.t+unzigzag(r.Next())
		*k, c.t = o.key, o.t
	}
}

// stepWriter writes the steps of a location to its slabs.
type stepWriter struct {
	parcelWriter
	from uint32   // the location
	now  uint64   // instant of the newest step
	call replayOp // the last call as stepResume, for slabs in which it goes on
	code stepCoder
	k    int // the current slab
}

// add adds the next step of the location.
func (w *stepWriter) add(o *replayOp) {
	switch o.kind {
	case stepNeed, stepDrop, stepProbe, stepResult, stepMeet, stepIgnore, stepLeave:
		w.now = max(w.now, w.call.key)
	default:
		w.now = max(w.now, o.t)
	}
	if ends := w.slabs.Ends; w.k < len(ends) && w.now > ends[w.k] {
		w.k = w.slabs.at(w.now)
		w.code = stepCoder{}
	}
	if w.at(w.from, w.k) && w.call.key > w.slabs.start(w.k) && w.code == (stepCoder{}) { // the slab begins within the call
		w.buf = w.code.put(w.buf, &w.call)
	}
	if o.kind == stepCall {
		w.call = *o
		w.call.kind = stepResume
	}
	w.buf = w.code.put(w.buf, o)
}

// earlyWriter writes early steps to slabs. An early step takes effect at an instant before its row, so the script finds it after steps that
// come later: a receive, posted early, that lets its sender go on; the initiation of a collective.
type earlyWriter struct{ parcelWriter }

// earlyOp is an early step. order decides at equal instants: by row, messages first.
type earlyOp struct {
	replayOp
	order uint64
}

func (w *earlyWriter) add(p uint32, o *replayOp, order uint64) {
	w.at(p, w.slabs.at(o.t))
	w.buf = append(w.buf, uint8(o.kind)|uint8(o.coll)<<4)
	w.buf = varint.Append(w.buf, order, uint64(o.peer), uint64(o.root), o.t, o.key)
}

// readEarly reads the early steps that a location has in a slab.
func readEarly(b []byte) (list []earlyOp, err error) {
	r := varint.Read(b)
	for r.Len() > 0 {
		h := r.Byte()
		o := earlyOp{replayOp: replayOp{kind: replayKind(h & 15), coll: collectiveKind(h >> 4)}, order: r.Next()}
		o.peer, o.root, o.t, o.key = uint32(r.Next()), uint32(r.Next()), r.Next(), r.Next()
		list = append(list, o)
	}
	return list, failure(&r)
}

// steps reads the steps of a location in a slab, merged with the early steps.
type steps struct {
	ops   []replayOp // decoded by slabSteps; else soon and src
	soon  []earlyOp
	src   varint.Reader
	code  stepCoder
	own   replayOp // the next step of src
	ahead bool     // own is decoded and not taken yet
	over  uint64   // end of the last call taken
	op    *replayOp
}

// left reports whether there are more steps, or bytes of them.
func (s *steps) left() bool { return len(s.ops) > 0 || s.ahead || s.src.Len() > 0 || len(s.soon) > 0 }

// next sets op to the next step; it is valid until the next call. Early steps come before the next stepCall at or after their instant.
func (s *steps) next() bool {
	if len(s.ops) > 0 {
		s.op, s.ops = &s.ops[0], s.ops[1:]
		return true
	}
	if !s.ahead && s.src.Len() > 0 {
		s.code.next(&s.src, &s.own)
		s.ahead = true
	}
	switch {
	case len(s.soon) > 0 && (!s.ahead || s.own.kind == stepCall && s.soon[0].t <= s.own.t || s.soon[0].kind == stepAnswer && s.soon[0].coll == onPath && s.soon[0].t <= s.over):
		s.op, s.soon = &s.soon[0].replayOp, s.soon[1:]
	case s.ahead:
		if s.op, s.ahead = &s.own, false; s.own.kind == stepCall || s.own.kind == stepResume {
			s.over = s.own.key
		}
	default:
		return false
	}
	return true
}

// slabSteps is the steps of all locations in a slab. Ideal and Clocks decode them as they go; for levers, several of which run at once,
// they are decoded once. Memory: 4 bytes for each step, 40 for each early one, and with levers 32 for each and 12 for each piece of a
// time line.
type slabSteps struct {
	raw   [][]byte     // encoded steps, by location
	early [][]earlyOp  // by location, in the order of their instants
	ops   [][]replayOp // with levers: both, by location
	lines []lineSlab   // with levers: the time lines, by location
	all   []replayOp   // memory of ops
	from  []int        // by location: where its steps begin in all

	values valueTable // of the current replay
}

// readSlab reads a slab, and reuses the memory.
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

// readLines reads the time lines of a slab.
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
