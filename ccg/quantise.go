package ccg

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// ErrorStats says how far the stored times of a location are from the true ones,
// in ticks, over all its events.
type ErrorStats struct {
	Largest      uint64
	SumHi, SumLo uint64 // sum of the absolute errors, 128 bits
	Count        uint64 // events
}

// Mean returns the mean absolute error, rounded to ticks.
func (s ErrorStats) Mean() uint64 {
	if s.Count == 0 {
		return 0
	}
	return total{s.SumHi, s.SumLo}.mean(s.Count)
}

// Add joins the figures of another location.
func (s *ErrorStats) Add(o ErrorStats) {
	sum := total{s.SumHi, s.SumLo}.plus(total{o.SumHi, o.SumLo})
	*s = ErrorStats{max(s.Largest, o.Largest), sum.hi, sum.lo, s.Count + o.Count}
}

// count counts the error of one event.
func (s *ErrorStats) count(e uint64) {
	s.Largest = max(s.Largest, e)
	var carry uint64
	s.SumLo, carry = bits.Add64(s.SumLo, e, 0)
	s.SumHi += carry
	s.Count++
}

// append appends the figures of a location, all but the count.
func (s ErrorStats) append(dst []byte) []byte {
	return varint.Append(dst, s.Largest, s.SumHi, s.SumLo)
}

// errorStats takes what append appended, for a location with count events.
func (r *reader) errorStats(count uint64) ErrorStats {
	s := ErrorStats{r.Next(), r.Next(), r.Next(), count}
	if (total{s.SumHi, s.SumLo}).compare(product(s.Largest, count)) > 0 {
		r.Fail()
	}
	return s
}

// appendQuantised appends, for a lossy graph, whether the gaps are stored ones,
// and then their errors.
func (l *Local) appendQuantised(dst []byte) []byte {
	switch {
	case l.quantised:
		return l.errors.append(append(dst, 1))
	case !l.opt.Deviation.Lossless():
		return append(dst, 0)
	}
	return dst
}

// quantised takes what appendQuantised appended.
func (r *reader) quantised(l *Local) {
	if l.opt.Deviation.Lossless() {
		return
	}
	flag := r.Byte()
	if l.quantised = flag == 1; l.quantised {
		l.errors = r.errorStats(l.events)
	}
	if flag > 1 {
		r.Fail()
	}
}

// SetCodebook gives s the codebook of its run, which Distribute needs if s is
// lossy. It is not part of Encode. No Distributor of s may be in use.
func (s *Shared) SetCodebook(c *Codebook) error {
	if c.d != s.opt.Deviation {
		return fmt.Errorf("call graph: a codebook for bounds of %s, the graph has %s: %w", c.d, s.opt.Deviation, ErrForeign)
	}
	s.codebook = c
	return nil
}

// Quantise returns l as Distribute stores it: l itself if s is lossless or l is
// quantised already. A lossy s needs its codebook.
func (s *Shared) Quantise(l *Local) (*Local, error) {
	switch {
	case s.opt.Deviation.Lossless() || l.quantised:
		return l, nil
	case s.codebook == nil:
		return nil, fmt.Errorf("bounds of %s: %w", s.opt.Deviation, ErrNoCodebook)
	}
	return s.codebook.Quantise(l)
}

// Quantise returns l with stored gaps in place of the true ones; all else is
// shared with l. The first time stays exact. A gap that was not counted for c is
// ErrForeign; times that no longer fit 64 bits are ErrLimit.
func (c *Codebook) Quantise(l *Local) (_ *Local, err error) {
	defer wrap(&err, "call graph: stored gaps of location %d", l.p)
	if l.opt.Deviation != c.d || l.quantised {
		return nil, fmt.Errorf("bounds of %s, codebook for %s, quantised before %t: %w", l.opt.Deviation, c.d, l.quantised, ErrForeign)
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
	time      uint64 // the same, as stored
	stored    []byte
	errors    ErrorStats
}

func (q *quantiser) run(l *Local) error {
	in := stream{src: l.gaps}
	step := q.walk.step
	if q.c.grid == gridFixed {
		step = q.walk.next // nothing is asked about contexts
	}
	if err := q.walk.begin(&l.graph, q.c.defs, q.c.grid); err != nil {
		return err
	}
	q.positions.init(l, q.c.d)
	for n := uint64(0); ; n++ {
		st, id, _ := step()
		switch st {
		case stepEnd:
			if n != l.events {
				return fmt.Errorf("%d events, %d announced: %w", n, l.events, ErrCorrupt)
			}
			return in.finished()
		case stepCut:
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
		case stepOpen:
			q.positions.enter(id, q.truth-q.time)
		case stepClose:
			q.positions.leave()
		}
	}
}

// gap returns the stored value of a gap of v ticks.
func (q *quantiser) gap(v uint64) (uint64, error) {
	c := q.c
	switch {
	case c.d.TimeStamps:
		return q.positions.gap(v + (q.truth - q.time)), nil
	case c.grid == gridFixed:
		return c.fixed(v).stored, nil
	}
	at := q.walk.recall()
	if at.key != q.walk.key {
		n, ok := c.number[q.walk.context()]
		if !ok {
			return 0, fmt.Errorf("a gap in a place that was not counted: %w", ErrForeign)
		}
		*at = pair[uint64, uint32]{q.walk.key, n}
	}
	b, ok := c.find(at.val, v)
	if !ok {
		return 0, fmt.Errorf("a gap of %d ticks that was not counted: %w", v, ErrForeign)
	}
	return b.stored, nil
}

// put appends a stored gap of an event and counts the error of its time.
func (q *quantiser) put(first, v, stored uint64) error {
	var carry, carry2 uint64
	q.truth, carry = bits.Add64(q.truth, v, 0)
	if carry != 0 || q.truth+first < first {
		return fmt.Errorf("time overflows: %w", ErrCorrupt)
	}
	q.time, carry2 = bits.Add64(q.time, stored, 0)
	if carry2 != 0 || q.time+first < first {
		return fmt.Errorf("stored times beyond 2^64 ticks: choose smaller bounds: %w", ErrLimit)
	}
	q.errors.count(max(q.truth, q.time) - min(q.truth, q.time))
	q.stored = appendVarint(q.stored, stored)
	return nil
}
