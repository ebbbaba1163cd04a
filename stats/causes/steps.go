package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// stepCoder writes and reads steps as differences to what came before: about three bytes each. A record of steps begins with
// a new one. Memory: 280 bytes.
type stepCoder struct {
	t, own, leave uint64
	path          uint32
	last          [2][8]struct { // by partner, and by communicator
		who uint32
		key uint64
	}
}

// key is the last key of a partner or communicator.
func (c *stepCoder) key(kind int, who uint32) *uint64 {
	x := &c.last[kind][who%8]
	if x.who != who {
		x.who, x.key = who, 0
	}
	return &x.key
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// put appends a step: kind, with the kind of a collective in the upper half, u8, then what the step has.
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

// next reads a step.
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

// stepWriter deals the steps of a location out to slabs.
type stepWriter struct {
	parcelWriter
	from uint32
	now  uint64   // where the location is
	call replayOp // the last one, for the slab after, if it goes on there
	code stepCoder
	k    int // the slab in hand
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
	if w.at(w.from, w.k) && w.call.key > w.slabs.start(w.k) && w.code == (stepCoder{}) { // within a call of a slab before
		w.buf = w.code.put(w.buf, &w.call)
	}
	if o.kind == stepCall {
		w.call = *o
		w.call.kind = stepResume
	}
	w.buf = w.code.put(w.buf, o)
}

// earlyWriter deals out to slabs what takes effect at an instant before its row, and so comes later than the steps that lie after
// it: an early posted receive that releases its sender, or the initiation of a collective.
type earlyWriter struct{ parcelWriter }

// earlyOp is one of them; order is by row, messages first.
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

// steps reads the steps of a location in a slab and the early ones: these come before the next call.
type steps struct {
	ops   []replayOp // decoded ones, which come first
	soon  []earlyOp
	src   varint.Reader
	code  stepCoder
	own   replayOp // of src
	ahead bool     // own is not taken yet
	over  uint64   // end of the last call taken
	op    *replayOp
}

// left reports whether there are more steps, or what should be.
func (s *steps) left() bool { return len(s.ops) > 0 || s.ahead || s.src.Len() > 0 || len(s.soon) > 0 }

// next takes the next step, which is op then, until the next call.
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
		if s.op, s.ahead = &s.own, false; s.own.kind == stepCall {
			s.over = s.own.key
		}
	default:
		return false
	}
	return true
}
