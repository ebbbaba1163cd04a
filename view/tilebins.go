package view

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// paintPyramid fills row i from the tiles of its group. Bins of the pyramid are 4^level ticks wide: a bin of the picture
// is one of them, several, or, below the finest level, a part.
func (x *run) paintPyramid(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeTile)
	if err != nil {
		return err
	}
	pyr, err := a.Pyramid(t.f)
	if err != nil {
		return err
	}
	flags := t.flags[i*tileBins : (i+1)*tileBins]
	for b := range flags {
		flags[b] = binExact
	}
	if pyr.Top == 0 && a.Len() == 0 {
		return nil
	}
	level := min(max(uint8(t.shift/2), pyr.Finest), pyr.Top)
	n1, n2, err := pyr.Find(level, t.begin, t.end)
	if err != nil {
		return err
	}
	var m *mixer
	switch {
	case 2*int(level) > t.shift:
		for b := range flags {
			flags[b] = binCoarse
		}
	case 2*int(level) < t.shift:
		m = &mixer{weight: t.shift - 2*int(level)}
	}
	err = a.Each(n1, n2, func(_ uint64, row []byte) bool {
		var r xtf.Tile
		r.Load(row)
		x.paintTile(t, i, &r, m)
		return true
	})
	if m != nil {
		m.flush(t, i)
	}
	return err
}

// paintTile puts a row of the pyramid where it belongs.
func (x *run) paintTile(t *picture, i int, r *xtf.Tile, m *mixer) {
	first, last := xtf.BinSpan(r.Key)
	if last < t.begin || first >= t.end || last < first {
		return
	}
	region := x.regionWord(r.Region)
	b1, b2 := t.bin(max(first, t.begin)), t.bin(min(last, t.end-1))
	if m != nil {
		m.add(t, i, b1, r, region, x.shareOf(region))
		return
	}
	// A bin that reaches beyond the run is shown as what is in its part of the run.
	width, inRun := last-first+1, min(last, x.last)-max(first, x.first)+1
	if first > x.last || last < x.first || width == 0 {
		inRun = width
	} else {
		b1, b2 = max(b1, t.bin(min(max(x.first, t.begin), t.end-1))), min(b2, t.bin(max(min(x.last, t.end-1), t.begin)))
	}
	for b := i*tileBins + b1; b <= i*tileBins+b2; b++ {
		t.region[b] = region
		for k := range t.share {
			t.share[k][b] = widened(r.Share[k], width, inRun)
		}
		t.calls[b] = callsByte(uint64(r.Rows))
	}
}

// widened is a share of width ticks as one of part of them.
func widened(share uint8, width, part uint64) uint8 {
	if part >= width || part == 0 {
		return share
	}
	hi, lo := bits.Mul64(uint64(share), width)
	if hi >= part {
		return 255
	}
	q, _ := bits.Div64(hi, lo, part)
	return uint8(min(q, 255))
}

// callsByte is 0 for none, else one more than the logarithm.
func callsByte(n uint64) uint8 { return uint8(min(bits.Len64(n), 33)) }

// regionWord is a region's index as it is in a tile.
func (x *run) regionWord(ref uint32) uint32 {
	if i := x.region(ref); i >= 0 {
		return uint32(i)
	}
	return noRegion
}

// shareOf is the class of time of a region of a tile.
func (x *run) shareOf(word uint32) int {
	if uint64(word) < uint64(len(x.shares)) {
		return x.shares[word]
	}
	return xtf.ShareOwn
}

// mixer joins the 2^weight bins of the pyramid that make a bin of the picture. The region is that of the part whose
// class has most time there.
type mixer struct {
	weight int
	bin    int
	any    bool
	share  [8]uint64
	calls  uint64
	region uint32
	most   uint8
}

func (m *mixer) add(t *picture, i, bin int, r *xtf.Tile, region uint32, class int) {
	if m.any && bin != m.bin {
		m.flush(t, i)
	}
	if !m.any || r.Share[class] > m.most {
		m.region, m.most = region, r.Share[class]
	}
	m.any, m.bin = true, bin
	for k, v := range r.Share {
		m.share[k] += uint64(v)
	}
	m.calls += uint64(r.Rows)
}

// flush writes the bin in progress.
func (m *mixer) flush(t *picture, i int) {
	if !m.any {
		return
	}
	b := i*tileBins + m.bin
	t.region[b], t.calls[b] = m.region, callsByte(m.calls)
	for k := range m.share {
		t.share[k][b] = uint8(min(m.share[k]>>m.weight, 255))
	}
	*m = mixer{weight: m.weight}
}

// maxWaitRows is the number of waits of a row that are looked at one by one; of more the sums at pages tell.
const maxWaitRows = 4096

// paintWaits fills the plane of waits of row i.
func (x *run) paintWaits(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeWait)
	if err != nil || a.Len() == 0 {
		return err
	}
	n, err := a.Size(t.begin, t.end)
	if err != nil {
		return err
	}
	out := t.wait[i*tileBins : (i+1)*tileBins]
	if n > maxWaitRows && a.HasSums() {
		return t.waitsAlong(a, out)
	}
	ticks := make([]uint64, tileBins)
	err = a.Overlapping(t.begin, t.end, func(_ uint64, row []byte) bool {
		t.spread(ticks, xtf.U64(row, waitT), xtf.U64(row, waitEnd))
		return true
	})
	for b, v := range ticks {
		out[b] = t.part(v)
	}
	return err
}

// Offsets of columns of WAIT.
const (
	waitT   = 0
	waitEnd = 8
)

// spread adds the ticks of [from, to) to the bins that they lie in.
func (t *picture) spread(ticks []uint64, from, to uint64) {
	from, to = max(from, t.begin), min(to, t.end)
	if from >= to {
		return
	}
	b1, b2 := t.bin(from), t.bin(to-1)
	if b1 == b2 {
		ticks[b1] += to - from
		return
	}
	width := uint64(1) << t.shift
	ticks[b1] += t.begin + uint64(b1+1)<<t.shift - from
	for b := b1 + 1; b < b2; b++ {
		ticks[b] += width
	}
	ticks[b2] += to - (t.begin + uint64(b2)<<t.shift)
}

// part is a number of ticks as a share of a bin in 1/255; of anything there is at least 1.
func (t *picture) part(ticks uint64) uint8 {
	if ticks == 0 {
		return 0
	}
	hi, lo := bits.Mul64(ticks, 255)
	if t.shift > 0 {
		lo = hi<<(64-t.shift) | lo>>t.shift
		hi >>= t.shift
	}
	if hi > 0 || lo > 255 {
		return 255
	}
	return uint8(max(lo, 1))
}

// waitsAlong fills the waits from running totals at the borders of pages, even in between.
func (t *picture) waitsAlong(a *xtf.Array, out []uint8) error {
	s, err := a.SumsAlong(t.begin, t.end, tileBins)
	if err != nil {
		return err
	}
	ticks := make([]uint64, tileBins)
	for k := 0; k+1 < len(s.T); k++ {
		sum := uint64(0)
		for j := range s.K {
			sum += s.Sums[(k+1)*s.K+j] - s.Sums[k*s.K+j]
		}
		t.spreadEven(ticks, s.T[k], s.T[k+1], sum)
	}
	for b, v := range ticks {
		out[b] = t.part(v)
	}
	return nil
}

// spreadEven deals sum out to the bins of [from, to), by their part of it.
func (t *picture) spreadEven(ticks []uint64, from, to, sum uint64) {
	if to <= from {
		return
	}
	for at := max(from, t.begin); at < min(to, t.end); {
		b := t.bin(at)
		next := min(to, t.end)
		if border := t.begin + uint64(b+1)<<t.shift; border > at {
			next = min(next, border)
		}
		hi, lo := bits.Mul64(sum, next-at)
		q, _ := bits.Div64(hi, lo, to-from) // next-at <= to-from, so it fits
		ticks[b] += q
		at = next
	}
}
