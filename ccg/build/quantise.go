package build

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// appendQuantised appends, for a lossy graph, whether the gaps are quantised, and if they are their errors.
func (l *Local) appendQuantised(dst []byte) []byte {
	switch {
	case l.quantised:
		return l.errors.Append(append(dst, 1))
	case !l.opt.Deviation.Lossless():
		return append(dst, 0)
	}
	return dst
}

// takeQuantised parses what appendQuantised appended.
func (l *Local) takeQuantised(r *graph.Reader) {
	if l.opt.Deviation.Lossless() {
		return
	}
	flag := r.Byte()
	if l.quantised = flag == 1; l.quantised {
		l.errors = r.ErrorStats(l.events)
	}
	if flag > 1 {
		r.Fail()
	}
}

// Quantise returns l with stored gaps instead of the true ones; everything else is shared with l. The first time stays exact. The error is
// ErrForeign for a gap that was not counted for c, and ErrLimit if stored times exceed 64 bits. With a nil Codebook, that of a lossless
// graph, it returns l.
func (c *Codebook) Quantise(l *Local) (_ *Local, err error) {
	if c == nil {
		return l, nil
	}
	defer graph.Wrap(&err, "call graph: stored gaps of location %d", l.p)
	if l.opt.Deviation != c.d || l.quantised {
		return nil, fmt.Errorf("bounds of %s, codebook for %s, quantised before %t: %w", l.opt.Deviation, c.d, l.quantised, graph.ErrForeign)
	}
	q := quantiser{c: c, stored: make([]byte, 0, len(l.gaps))}
	if err := q.run(l); err != nil {
		return nil, err
	}
	out := *l
	out.gaps, out.quantised, out.errors = q.stored, true, q.errors
	out.last = l.first + trace.Time(q.time)
	return &out, nil
}

// quantiser is a Quantise in progress.
type quantiser struct {
	c         *Codebook
	walk      gapWalk
	positions positions
	truth     uint64 // ticks since the first event
	time      uint64 // the same of the stored times
	stored    []byte
	errors    graph.ErrorStats
}

func (q *quantiser) run(l *Local) error {
	in := stream{src: l.gaps}
	step := q.walk.step
	if q.c.grid == gridFixed {
		step = q.walk.Next // contexts are not needed
	}
	if err := q.walk.begin(&l.graph, q.c.defs, q.c.grid); err != nil {
		return err
	}
	q.positions.init(l, q.c.d)
	for n := uint64(0); ; n++ {
		st, id, _ := step()
		switch st {
		case graph.StepEnd:
			if n != l.events {
				return fmt.Errorf("%d events, %d announced: %w", n, l.events, graph.ErrCorrupt)
			}
			return in.finished()
		case graph.StepCut:
			q.positions.leave()
			n--
			continue
		}
		v := in.next()
		if in.bad {
			return errShort
		}
		stored := v
		if n > 0 {
			var err error
			if stored, err = q.gap(v); err != nil {
				return fmt.Errorf("event %d: %w", n, err)
			}
		}
		if err := q.put(uint64(l.first), v, stored); err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		switch st {
		case graph.StepOpen:
			q.positions.enter(id, q.truth-q.time)
		case graph.StepClose:
			q.positions.leave()
		}
	}
}

// gap returns the stored value for a gap of v ticks.
func (q *quantiser) gap(v uint64) (uint64, error) {
	c := q.c
	switch {
	case c.d.TimeStamps:
		return q.positions.gap(v + (q.truth - q.time)), nil
	case c.grid == gridFixed:
		return c.fixed(v).stored, nil
	}
	at := q.walk.recall()
	if at.Key != q.walk.key {
		n, ok := c.number[q.walk.context()]
		if !ok {
			return 0, fmt.Errorf("a gap in a place that was not counted: %w", graph.ErrForeign)
		}
		*at = graph.Pair[uint64, uint32]{Key: q.walk.key, Val: n}
	}
	b, ok := c.find(at.Val, v)
	if !ok {
		return 0, fmt.Errorf("a gap of %d ticks that was not counted: %w", v, graph.ErrForeign)
	}
	return b.stored, nil
}

// put appends the stored gap of an event and counts the error of its time.
func (q *quantiser) put(first, v, stored uint64) error {
	var carry, carry2 uint64
	q.truth, carry = bits.Add64(q.truth, v, 0)
	if carry != 0 || q.truth+first < first {
		return fmt.Errorf("time overflows: %w", graph.ErrCorrupt)
	}
	q.time, carry2 = bits.Add64(q.time, stored, 0)
	if carry2 != 0 || q.time+first < first {
		return fmt.Errorf("stored times beyond 2^64 ticks: choose smaller bounds: %w", graph.ErrLimit)
	}
	q.errors.Event(max(q.truth, q.time) - min(q.truth, q.time))
	q.stored = appendVarint(q.stored, stored)
	return nil
}
