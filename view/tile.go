package view

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"golang.org/x/sync/errgroup"
)

// Sizes of tiles.
const (
	tileBins    = 512
	tileRows    = 64
	tileSpans   = 4096 // calls that are listed
	tileExact   = 1 << 18
	tileHead    = 64 // bytes
	tileVersion = 2
)

// Flags of a tile, of a bin, and of a call in an answer.
const (
	tileHasSpans = 1 << iota
	tileIsExact
	tileKnowsWaits
)

const (
	binMarker = 1 << iota
	binExact
	binCoarse
	binLost
)

const (
	spanMPI    = 1
	spanMarker = 2
	spanCut    = 4
)

// noRegion marks a bin without a region.
const noRegion = math.MaxUint32

// grid is the place of a tile: 512 bins of 1<<shift ticks from begin on, and rows of stride locations each.
type grid struct {
	begin  uint64
	end    uint64 // of the last bin; the largest tick if it lies beyond
	shift  int
	f      uint8 // rows are groups of 16^f locations
	first  trace.P
	stride uint64 // 16^f
	rows   int
}

// parseTile parses z/x/F-I.
func (x *run) parseTile(text string) (*grid, error) {
	where := "tile/" + clip(text)
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil, bad(where, "a tile is z/x/rows", "See docs/viewer.md")
	}
	group, block, ok := strings.Cut(parts[2], "-")
	var v [4]uint64
	for i, t := range []string{parts[0], parts[1], group, block} {
		n, err := parseDecimal(t)
		if err != nil || !ok {
			return nil, bad(where, "not numbers", "Write z/x/F-I in decimal digits")
		}
		v[i] = n
	}
	z, at, f := v[0], v[1], v[2]
	if z > uint64(x.scale) || at >= 1<<z {
		return nil, bad(where, "outside of the grid", "Zoom is at most "+strconv.Itoa(x.scale)+", and tile x of zoom z is less than 2^z")
	}
	if f >= uint64(len(x.meta.Groups)) {
		return nil, bad(where, "the file has no groups of this size", "See groups of api/meta")
	}
	g := &grid{shift: x.scale - int(z), f: uint8(f), stride: 1 << (4 * f)}
	rows := (uint64(x.meta.Locations) + g.stride - 1) / g.stride
	if block > "" && v[3] >= max(1, (rows+tileRows-1)/tileRows) {
		return nil, missing(where)
	}
	g.begin = at << (g.shift + bits.Len(tileBins-1))
	g.end = g.begin + tileBins<<g.shift
	if g.end <= g.begin {
		g.end = math.MaxUint64
	}
	g.first = trace.P(v[3] * tileRows * g.stride)
	g.rows = int(min(tileRows, rows-v[3]*tileRows))
	return g, nil
}

// bin returns the bin of a tick in the tile.
func (g *grid) bin(t uint64) int { return int((t - g.begin) >> g.shift) }

// picture is a tile that is being computed: planes of rows*512 values, and calls.
type picture struct {
	grid
	region []uint32
	share  [8][]uint8
	wait   []uint8
	calls  []uint8
	flags  []uint8
	gap    []uint8
	lists  [][]span // calls by row; nil: not listed
	spans  bool
	lost   int
	out    []byte // head and planes of the answer; planes of bytes are written in place
}

// span is a call in a tile.
type span struct {
	begin, end, n uint64
	region        uint32
	depth         uint16
	class, flags  uint8
}

func newPicture(g *grid) *picture {
	n := g.rows * tileBins
	x := &picture{grid: *g, region: slices.Repeat([]uint32{noRegion}, n), out: make([]byte, tileHead+16*n)}
	at := x.out[tileHead+4*n:]
	plane := func() []uint8 {
		p := at[:n:n]
		at = at[n:]
		return p
	}
	for i := range x.share {
		x.share[i] = plane()
	}
	x.wait, x.calls, x.flags, x.gap = plane(), plane(), plane(), plane()
	for i := range x.flags {
		x.flags[i] = binExact
	}
	return x
}

func getTile(ctx context.Context, p *params) (any, error) {
	if p.needRows(); p.err != nil {
		return nil, p.err
	}
	g, err := p.run.parseTile(p.tail)
	if err != nil {
		return nil, err
	}
	x := newPicture(g)
	if err := p.run.paint(ctx, x); err != nil {
		return nil, err
	}
	return raw(x.encode()), nil
}

// paint computes the rows of a tile.
func (x *run) paint(ctx context.Context, t *picture) error {
	way := fromPyramid
	if t.f == 0 {
		var err error
		if way, err = x.wayOf(ctx, t); err != nil {
			return err
		}
	}
	if t.spans = way == fromSpans; t.spans {
		t.lists = make([][]span, t.rows)
	}
	lost := make([]bool, t.rows)
	err := parallel(ctx, t.rows, func(i int) error {
		err := x.paintRow(t, i, way)
		if results.Partial(err) {
			lost[i] = true
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, l := range lost {
		if l {
			t.lost++
			t.loseRow(i)
		}
	}
	if t.spans && t.count() > tileSpans { // open calls around the tile count too
		t.spans, t.lists = false, nil
	}
	return nil
}

// loseRow marks a row that could not be read.
func (t *picture) loseRow(i int) {
	for b := i * tileBins; b < (i+1)*tileBins; b++ {
		t.region[b], t.wait[b], t.calls[b], t.flags[b], t.gap[b] = noRegion, 0, 0, binLost, 0
		for k := range t.share {
			t.share[k][b] = 0
		}
	}
	if t.lists != nil {
		t.lists[i] = nil
	}
}

func (t *picture) count() int {
	n := 0
	for _, l := range t.lists {
		n += len(l)
	}
	return n
}

// way is the source of a tile's bins.
type way int

const (
	fromPyramid way = iota
	fromCalls
	fromSpans
)

// wayOf chooses by the number of calls that begin in the tile. Few calls are listed. If bins are narrower than those of the pyramid, calls
// are read up to a limit.
func (x *run) wayOf(ctx context.Context, t *picture) (way, error) {
	counts := make([]uint64, t.rows)
	narrow := make([]bool, t.rows)
	err := parallel(ctx, t.rows, func(i int) error {
		p := t.first + trace.P(i)
		calls, err := x.array(p, xtf.TypeCall)
		if err == nil {
			counts[i], err = calls.Size(t.begin, t.end)
		}
		var tiles *xtf.Array
		if err == nil {
			tiles, err = x.array(p, xtf.TypeTile)
		}
		if err == nil && tiles.Len() > 0 {
			var pyr *xtf.Pyramid
			if pyr, err = tiles.Pyramid(0); err == nil {
				narrow[i] = 2*int(pyr.Finest) > t.shift
			}
		}
		if results.Partial(err) {
			return nil // paintRow loses the row
		}
		return err
	})
	total, any := uint64(0), false
	for i := range counts {
		total += counts[i]
		any = any || narrow[i]
	}
	switch {
	case err != nil:
		return 0, err
	case total <= tileSpans:
		return fromSpans, nil
	case any && total <= tileExact:
		return fromCalls, nil
	}
	return fromPyramid, nil
}

func (x *run) paintRow(t *picture, i int, w way) error {
	p := t.first + trace.P(uint64(i)*t.stride)
	if w == fromPyramid {
		if err := x.paintPyramid(t, i, p); err != nil {
			return err
		}
	} else if err := x.paintCalls(t, i, p); err != nil {
		return err
	}
	if err := x.paintGaps(t, i, p); err != nil || t.f > 0 {
		return err
	}
	return x.paintWaits(t, i, p)
}

// paintGaps computes, for row i, the share of time without a recorded call, of processes between the first and the last event of their
// first thread. Shares are rounded down, so what only rounding leaves does not count.
func (x *run) paintGaps(t *picture, i int, p trace.P) error {
	lives := x.lives()
	lives = lives[p:min(uint64(p)+t.stride, uint64(len(lives)))]
	const whole = 1 << 16 // ticks of one location in a bin, scaled
	edges := make([]int64, tileBins+2)
	width := uint64(1) << t.shift
	for _, l := range lives {
		if l.err != nil {
			return l.err
		}
		from, to := max(l.first, t.begin), min(l.last, t.end)
		if from >= to {
			continue
		}
		b1, b2 := t.bin(from), t.bin(to-1)
		part := func(ticks uint64) int64 { return int64(numbers.MulDiv(ticks, whole, width)) }
		add := func(b int, v int64) { edges[b], edges[b+1] = edges[b]+v, edges[b+1]-v }
		if b1 == b2 {
			add(b1, part(to-from))
			continue
		}
		add(b1, part(t.begin+uint64(b1+1)<<t.shift-from))
		edges[b1+1], edges[b2] = edges[b1+1]+whole, edges[b2]-whole
		add(b2, part(to-(t.begin+uint64(b2)<<t.shift)))
	}
	alive := int64(0)
	for b := range tileBins {
		alive += edges[b]
		left, rounded := int(alive*255/whole/int64(len(lives))), 0
		for k := range t.share {
			if v := int(t.share[k][i*tileBins+b]); v > 0 {
				left, rounded = left-v, rounded+2
			}
		}
		if left > rounded {
			t.gap[i*tileBins+b] = uint8(left)
		}
	}
	return nil
}

// parallel calls f(0) to f(n-1), several at a time.
func parallel(ctx context.Context, n int, f func(i int) error) error {
	workers := min(n, max(1, runtime.GOMAXPROCS(0)))
	var g errgroup.Group
	for w := range workers {
		g.Go(func() error {
			for i := w; i < n; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// encode returns the tile in the form that api.go describes.
func (t *picture) encode() []byte {
	s, le, b := t.count(), binary.LittleEndian, t.out
	copy(b, "CTIL")
	le.PutUint16(b[4:], tileVersion)
	flags := uint16(0)
	if t.spans {
		flags |= tileHasSpans
	}
	if t.f == 0 {
		flags |= tileKnowsWaits
	}
	if !slices.ContainsFunc(t.flags, func(f uint8) bool { return f&binExact == 0 }) {
		flags |= tileIsExact
	}
	le.PutUint16(b[6:], flags)
	le.PutUint32(b[8:], uint32(t.rows))
	le.PutUint32(b[12:], uint32(s))
	le.PutUint32(b[16:], uint32(t.first))
	le.PutUint32(b[20:], uint32(t.stride))
	le.PutUint64(b[24:], math.Float64bits(float64(t.begin)))
	le.PutUint64(b[32:], math.Float64bits(math.Ldexp(1, t.shift)))
	le.PutUint32(b[40:], uint32(t.lost))
	for i, v := range t.region {
		le.PutUint32(b[tileHead+4*i:], v)
	}
	return t.appendSpans(slices.Grow(b, 34*s))
}

// appendSpans appends the calls column by column.
func (t *picture) appendSpans(b []byte) []byte {
	le := binary.LittleEndian
	column := func(put func(row int, s *span)) {
		for i := range t.lists {
			for k := range t.lists[i] {
				put(i, &t.lists[i][k])
			}
		}
	}
	ticks := func(at uint64) { // after the begin of the tile; negative before it
		v := float64(at - min(at, t.begin))
		if at < t.begin {
			v = -float64(t.begin - at)
		}
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	column(func(_ int, s *span) { ticks(s.begin) })
	column(func(_ int, s *span) { ticks(s.end) })
	column(func(_ int, s *span) { b = le.AppendUint64(b, math.Float64bits(float64(s.n))) })
	column(func(_ int, s *span) { b = le.AppendUint32(b, s.region) })
	column(func(row int, _ *span) { b = le.AppendUint16(b, uint16(row)) })
	column(func(_ int, s *span) { b = le.AppendUint16(b, s.depth) })
	column(func(_ int, s *span) { b = append(b, s.class) })
	column(func(_ int, s *span) { b = append(b, s.flags) })
	return b
}

// paintPyramid computes row i from the tiles of its group. Bins of the pyramid are 4^level ticks wide. A bin of the picture is one of them,
// several, or, below the finest level, a part of one.
func (x *run) paintPyramid(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeTile)
	if err != nil {
		return err
	}
	pyr, err := a.Pyramid(t.f)
	if err != nil {
		return err
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
		for b := range tileBins {
			t.flags[i*tileBins+b] = binCoarse
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

// paintTile adds a row of the pyramid to the bins that it covers.
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
	// A bin that extends beyond the run shows its part in the run.
	width, inRun := last-first+1, min(last, x.last)-max(first, x.first)+1
	if first > x.last || last < x.first || width == 0 {
		inRun = width
	} else {
		b1, b2 = max(b1, t.bin(min(max(x.first, t.begin), t.end-1))), min(b2, t.bin(max(min(x.last, t.end-1), t.begin)))
	}
	for b := i*tileBins + b1; b <= i*tileBins+b2; b++ {
		t.region[b] = region
		for k := range t.share {
			t.share[k][b] = r.Share[k]
			if inRun < width && inRun > 0 {
				t.share[k][b] = uint8(min(numbers.MulDiv(uint64(r.Share[k]), width, inRun), 255))
			}
		}
		t.calls[b] = callsByte(uint64(r.Rows))
	}
}

// callsByte returns 0 for no calls, else 1 + floor(log2(n)), at most 33.
func callsByte(n uint64) uint8 { return uint8(min(bits.Len64(n), 33)) }

// regionWord returns a region's index as it is in a tile.
func (x *run) regionWord(ref uint32) uint32 {
	if i := x.region(ref); i >= 0 {
		return uint32(i)
	}
	return noRegion
}

// shareOf returns the class of time of a region of a tile.
func (x *run) shareOf(word uint32) int {
	if uint64(word) < uint64(len(x.shares)) {
		return x.shares[word]
	}
	return xtf.ShareOwn
}

// mixer joins the 2^weight bins of the pyramid that form a bin of the picture. The region is that of the part whose class has most time.
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

// flush writes the current bin.
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

// maxWaitRows is the most waits of a row that are read one by one; for more, running totals at pages are used.
const maxWaitRows = 4096

// paintWaits computes the plane of waits of row i.
func (x *run) paintWaits(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeWait)
	if err != nil || a.Len() == 0 {
		return err
	}
	n, err := a.Size(t.begin, t.end)
	if err != nil {
		return err
	}
	ticks := make([]uint64, tileBins)
	if n > maxWaitRows && a.HasSums() {
		err = t.waitsAlong(a, ticks)
	} else {
		for _, w := range results.Overlapping[xtf.Wait](x.Run, p, t.begin, t.end, &err) {
			t.spread(ticks, w.T, w.End, w.End-w.T)
		}
	}
	for b, v := range ticks {
		if v > 0 { // at least 1 if there is a wait
			t.wait[i*tileBins+b] = max(shareByte(v, t.shift), 1)
		}
	}
	return err
}

// waitsAlong adds the waits from running totals at pages, distributed evenly between these.
func (t *picture) waitsAlong(a *xtf.Array, ticks []uint64) error {
	s, err := a.Sums().Along(t.begin, t.end, tileBins)
	if err != nil {
		return err
	}
	for k := 0; k+1 < len(s.T); k++ {
		sum := uint64(0)
		for j := range s.K {
			sum += s.Sums[(k+1)*s.K+j] - s.Sums[k*s.K+j]
		}
		t.spread(ticks, s.T[k], s.T[k+1], sum)
	}
	return nil
}

// spread distributes sum evenly over the bins of [from, to).
func (t *picture) spread(ticks []uint64, from, to, sum uint64) {
	if to <= from {
		return
	}
	for at := max(from, t.begin); at < min(to, t.end); {
		b := t.bin(at)
		next := min(to, t.end)
		if border := t.begin + uint64(b+1)<<t.shift; border > at {
			next = min(next, border)
		}
		ticks[b] += numbers.MulDiv(sum, next-at, to-from)
		at = next
	}
}

// paintCalls computes row i exactly from the calls of location p.
func (x *run) paintCalls(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeCall)
	if err != nil {
		return err
	}
	w := walker{x: x, t: t, row: i, calls: a, at: t.begin, bin: -1}
	if err := w.open(); err != nil {
		return err
	}
	for n, c := range results.Begun[xtf.Call](x.Run, p, t.begin, t.end, &err) {
		if err := w.enter(n, c); err != nil {
			return err
		}
	}
	if err == nil {
		err = w.advance(t.end)
	}
	w.flush()
	return err
}

// frame is an open call.
type frame struct {
	end, parent uint64
	region      uint32
	class       int
}

// walker reads the calls of a location by time and counts every tick for the innermost open call.
type walker struct {
	x     *run
	t     *picture
	row   int
	calls *xtf.Array
	at    uint64
	stack []frame // innermost last; the caller of the first one is read when that ends

	bin   int // current bin, -1: none
	parts []part
	begun uint64
	mark  bool
}

// part is the ticks of a region in the current bin.
type part struct {
	region uint32
	class  int
	ticks  uint64
}

func (w *walker) frameOf(c *xtf.Call) frame {
	word := w.x.regionWord(c.Region)
	return frame{end: c.End, parent: c.Parent, region: word, class: xtf.ShareOf(c.Class)}
}

// open starts with the innermost call that is open before the tile, and lists its callers.
func (w *walker) open() error {
	if w.t.begin == 0 {
		return nil
	}
	pos, ok, err := w.calls.Search(w.t.begin-1, xtf.LE)
	if err != nil || !ok {
		return err
	}
	var around []span
	for n := pos.N; n != xtf.Never; {
		c, err := w.x.call(w.calls, n)
		if err != nil {
			return err
		}
		if c.End > w.t.begin {
			if len(w.stack) == 0 {
				w.stack = append(w.stack, w.frameOf(&c))
			}
			if !w.t.spans {
				break
			}
			if around = append(around, w.spanOf(n, &c)); len(around) > tileSpans {
				break
			}
		}
		n = c.Parent
	}
	slices.Reverse(around)
	if w.t.spans {
		w.t.lists[w.row] = append(w.t.lists[w.row], around...)
	}
	return nil
}

// callKey identifies a row of CALL.
type callKey struct {
	p xtf.Proc
	n uint64
}

// mostCalls is the most cached rows: 80 bytes each, with the table.
const mostCalls = 1 << 16

// call reads a row of CALL and caches it: climbs read the same few outer calls for every tile, and nothing else of their pages.
func (x *run) call(a *xtf.Array, n uint64) (xtf.Call, error) {
	k := callKey{a.Proc(), n}
	x.callsMu.Lock()
	c, ok := x.calls[k]
	x.callsMu.Unlock()
	if ok {
		return c, nil
	}
	c, err := results.Referred[xtf.Call](x.Run, uint32(a.Proc()), n)
	if err == nil && c.Parent != xtf.Never && c.Parent >= n { // so that the climb ends for any bytes
		err = fmt.Errorf("%s: call %d has call %d around it: %w", x.Name, n, c.Parent, xtf.ErrCorrupt)
	}
	if err != nil {
		return c, err
	}
	x.callsMu.Lock()
	defer x.callsMu.Unlock()
	if x.calls == nil || len(x.calls) >= mostCalls {
		x.calls = make(map[callKey]xtf.Call)
	}
	x.calls[k] = c
	return c, nil
}

func (w *walker) spanOf(n uint64, c *xtf.Call) span {
	s := span{
		begin: c.T, end: max(c.End, c.T), n: n, region: w.x.regionWord(c.Region), depth: uint16(min(c.Depth, math.MaxUint16)),
		class: uint8(xtf.ShareOf(c.Class)),
	}
	for _, f := range []struct {
		flag uint32
		out  uint8
	}{{xtf.FlagOutermostMPI, spanMPI}, {xtf.FlagMarker, spanMarker}, {xtf.FlagCut, spanCut}} {
		if c.Flags&f.flag != 0 {
			s.flags |= f.out
		}
	}
	return s
}

func (w *walker) enter(n uint64, c *xtf.Call) error {
	if err := w.advance(c.T); err != nil {
		return err
	}
	w.move(w.t.bin(c.T))
	w.begun++
	w.mark = w.mark || c.Flags&xtf.FlagMarker != 0
	if w.t.spans {
		w.t.lists[w.row] = append(w.t.lists[w.row], w.spanOf(n, c))
	}
	w.stack = append(w.stack, w.frameOf(c))
	return nil
}

// advance counts the ticks up to t for the calls that are open until then.
func (w *walker) advance(t uint64) error {
	for w.at < t && len(w.stack) > 0 {
		f := w.stack[len(w.stack)-1]
		if f.end > t {
			w.give(&f, t)
			return nil
		}
		w.give(&f, max(f.end, w.at))
		w.stack = w.stack[:len(w.stack)-1]
		if len(w.stack) == 0 && f.parent != xtf.Never {
			if err := w.climb(f.parent); err != nil {
				return err
			}
		}
	}
	w.at = max(w.at, t)
	return nil
}

// climb makes the innermost open call around row n the only one on the stack.
func (w *walker) climb(n uint64) error {
	for n != xtf.Never {
		c, err := w.x.call(w.calls, n)
		if err != nil {
			return err
		}
		if c.End > w.at {
			w.stack = append(w.stack, w.frameOf(&c))
			return nil
		}
		n = c.Parent
	}
	return nil
}

func (w *walker) give(f *frame, to uint64) {
	for w.at < to {
		b := w.t.bin(w.at)
		next := to
		if border := w.t.begin + uint64(b+1)<<w.t.shift; border > w.at {
			next = min(next, border)
		}
		w.move(b)
		w.add(f, next-w.at)
		w.at = next
	}
}

func (w *walker) add(f *frame, ticks uint64) {
	for i := range w.parts {
		if p := &w.parts[i]; p.region == f.region && p.class == f.class {
			p.ticks += ticks
			return
		}
	}
	w.parts = append(w.parts, part{f.region, f.class, ticks})
}

// move makes b the current bin.
func (w *walker) move(b int) {
	if b != w.bin {
		w.flush()
		w.bin = b
	}
}

// flush writes the current bin.
func (w *walker) flush() {
	if w.bin < 0 || w.bin >= tileBins {
		return
	}
	b := w.row*tileBins + w.bin
	var ticks [8]uint64
	most := uint64(0)
	for _, p := range w.parts {
		ticks[p.class] += p.ticks
		if p.ticks > most {
			most, w.t.region[b] = p.ticks, p.region
		}
	}
	for k := range ticks {
		w.t.share[k][b] = shareByte(ticks[k], w.t.shift)
	}
	w.t.calls[b] = callsByte(w.begun)
	if w.mark {
		w.t.flags[b] |= binMarker
	}
	w.parts, w.begun, w.mark = w.parts[:0], 0, false
}

// shareByte returns the share of ticks in a bin of 1<<shift ticks, in 1/255, rounded down as in the pyramid.
func shareByte(ticks uint64, shift int) uint8 {
	return uint8(min(numbers.MulDiv(ticks, 255, 1<<shift), 255))
}
