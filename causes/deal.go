package causes

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// dealer holds what deal works with.
type dealer struct {
	activities, paths, nodes splitter
	weights                  []uint64
	waits                    splitter
	spans                    []byte
	passing                  blame // by passers, one at a time
}

// deal deals out ticks over what the late location did too long: by activity,
// then by call path, then by the intervals in which it was there. What falls to
// its waits is added to them.
func (d *delays) deal(b *blame, amount uint64, long bool) error {
	if amount == 0 {
		return nil
	}
	parts := d.dealer.activities.split(amount, b.excess[:])
	if parts == nil {
		return errDamaged
	}
	for x, cost := range parts {
		if cost == 0 {
			continue
		}
		if uint32(x) == xtf.ActivityWait {
			if err := d.passOn(b, cost); err != nil {
				return err
			}
			continue
		}
		if err := d.dealPaths(b, uint32(x), cost, long); err != nil {
			return err
		}
	}
	return nil
}

func (d *delays) dealPaths(b *blame, activity uint32, amount uint64, long bool) error {
	q := &d.dealer
	q.weights = q.weights[:0]
	for i := range b.places {
		if uint32(b.places[i].key&7) == activity {
			q.weights = append(q.weights, b.places[i].weight)
		}
	}
	parts := q.paths.split(amount, q.weights)
	if parts == nil {
		return errDamaged
	}
	spots := b.spots
	for i := range b.places {
		own := spots[:b.places[i].spots]
		spots = spots[b.places[i].spots:]
		if uint32(b.places[i].key&7) != activity {
			continue
		}
		cost := parts[0]
		parts = parts[1:]
		q.weights = q.weights[:0]
		for _, s := range own {
			q.weights = append(q.weights, s.ticks)
		}
		path := uint32(b.places[i].key >> 3)
		nodes := q.nodes.split(cost, q.weights)
		if nodes == nil {
			return errDamaged
		}
		for k, c := range nodes {
			if c == 0 {
				continue
			}
			x := cost1{p: b.p, key: xtf.NodeKey(own[k].node, path), pattern: b.pattern & xtf.WaitPatternMask, activity: activity}
			if err := d.costs.add(&x, c, long); err != nil {
				return err
			}
		}
	}
	return nil
}

// A span is a wait of a location, without what others cover: little-endian begin,
// end, what it has received to pass on u64, cause u32, zero u32.
const (
	spanBytes  = 32
	spanBlock  = 2048 // spans read at once
	spanPassAt = 16
)

// addSpan appends the next wait of the location under way.
func (d *delays) addSpan(begin, end uint64, cause uint32) error {
	b := binary.LittleEndian.AppendUint64(d.row[:0], begin)
	b = binary.LittleEndian.AppendUint64(b, end)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint32(b, cause)
	_, err := d.spans.append(binary.LittleEndian.AppendUint32(b, 0))
	return err
}

// passOn splits ticks over the waits of the late location since the
// synchronisation point, by their lengths.
func (d *delays) passOn(b *blame, amount uint64) error {
	r := spanRange{d: d, first: d.spanFirst[b.p-d.own.First] + b.over - b.ended, n: b.ended, since: b.since}
	if b.ended > spanBlock {
		return d.passOnMany(&r, amount)
	}
	weights := d.dealer.weights[:0]
	err := r.each(false, func(_ []byte, w uint64) { weights = append(weights, w) })
	if d.dealer.weights = weights; err != nil {
		return err
	}
	parts := d.dealer.waits.split(amount, weights)
	if parts == nil {
		return errDamaged
	}
	return r.each(true, func(s []byte, _ uint64) {
		d.addPassed(s, parts[0])
		parts = parts[1:]
	})
}

// passOnMany is passOn with more waits than are held in memory.
func (d *delays) passOnMany(r *spanRange, amount uint64) error {
	total, left := uint64(0), amount
	if err := r.each(false, func(_ []byte, w uint64) { total += w }); err != nil {
		return err
	}
	if total == 0 {
		return errDamaged
	}
	if err := r.each(false, func(_ []byte, w uint64) {
		q, _ := share(amount, w, total)
		left -= q
	}); err != nil {
		return err
	}
	var failed error
	c := newCut(left, total, func(yield func(uint64)) {
		if err := r.each(false, func(_ []byte, w uint64) {
			_, rest := share(amount, w, total)
			yield(rest)
		}); err != nil {
			failed = err
		}
	})
	if failed != nil {
		return failed
	}
	return r.each(true, func(s []byte, w uint64) {
		q, rest := share(amount, w, total)
		if rest > 0 {
			q += c.extra(rest)
		}
		d.addPassed(s, q)
	})
}

// addPassed adds ticks to what a wait passes on.
func (d *delays) addPassed(s []byte, ticks uint64) {
	sum, carry := bits.Add64(binary.LittleEndian.Uint64(s[spanPassAt:]), ticks, 0)
	if carry != 0 {
		sum = math.MaxUint64
		d.report.Overflows++
	}
	binary.LittleEndian.PutUint64(s[spanPassAt:], sum)
}

// spanRange is consecutive waits of a location.
type spanRange struct {
	d     *delays
	first uint64 // among those of the rank
	n     uint64
	since uint64 // ticks before this instant do not count
	read  bool   // all are in memory
}

// each passes the waits and their lengths in order, and writes them back.
func (r *spanRange) each(write bool, f func(s []byte, length uint64)) error {
	for i := uint64(0); i < r.n; i += spanBlock {
		k := min(r.n-i, spanBlock)
		off := int64(r.first+i) * spanBytes
		if b := r.d.dealer.spans; uint64(cap(b)) < k*spanBytes {
			r.d.dealer.spans = make([]byte, spanBlock*spanBytes)
		}
		b := r.d.dealer.spans[:k*spanBytes]
		if !r.read {
			if err := readFull(r.d.spans.scratch, b, off); err != nil {
				return err
			}
		}
		r.read = r.n <= spanBlock
		for at := 0; at < len(b); at += spanBytes {
			s := b[at : at+spanBytes]
			begin, end := max(binary.LittleEndian.Uint64(s), r.since), binary.LittleEndian.Uint64(s[8:])
			f(s, end-min(begin, end))
		}
		if write {
			if _, err := r.d.spans.scratch.WriteAt(b, off); err != nil {
				return err
			}
		}
	}
	return nil
}

// span reads one wait of a location.
func (d *delays) span(p trace.P, index uint64) (end, passed uint64, cause trace.P, err error) {
	d.row = slices.Grow(d.row[:0], spanBytes)[:spanBytes]
	s := d.row
	if err := readFull(d.spans.scratch, s, int64(d.spanFirst[p-d.own.First]+index)*spanBytes); err != nil {
		return 0, 0, 0, err
	}
	le := binary.LittleEndian
	return le.Uint64(s[8:]), le.Uint64(s[spanPassAt:]), trace.P(le.Uint32(s[24:])), nil
}
