package view

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"golang.org/x/sync/errgroup"
)

// Sizes of tiles.
const (
	tileBins  = 512
	tileRows  = 64
	tileSpans = 4096 // calls that are listed
	tileExact = 1 << 18
	tileHead  = 64 // bytes
)

// Flags of a tile, of a bin, and of a call, as they are in an answer.
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

// noRegion is in a bin where nothing was recorded.
const noRegion = math.MaxUint32

// grid is where a tile lies: 512 bins of 1<<shift ticks from begin on, and rows of so many locations each.
type grid struct {
	begin  uint64
	end    uint64 // of the last bin; the largest tick where it lies after
	shift  int
	f      uint8 // rows are groups of 16^f locations
	first  trace.P
	stride uint64 // 16^f
	rows   int
}

// parseTile reads z/x/F-I.
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

// bin is the bin of a tick of the tile.
func (g *grid) bin(t uint64) int { return int((t - g.begin) >> g.shift) }

// picture is a tile in progress: planes of rows*512 values, and calls.
type picture struct {
	grid
	region []uint32
	share  [8][]uint8
	wait   []uint8
	calls  []uint8
	flags  []uint8
	lists  [][]span // calls by row; nil without
	spans  bool
	lost   int
	out    []byte // head and planes of the answer; those of bytes are written in place
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
	x := &picture{grid: *g, region: make([]uint32, n), out: make([]byte, tileHead+15*n)}
	for i := range x.region {
		x.region[i] = noRegion
	}
	at := x.out[tileHead+4*n:]
	plane := func() []uint8 {
		p := at[:n:n]
		at = at[n:]
		return p
	}
	for i := range x.share {
		x.share[i] = plane()
	}
	x.wait, x.calls, x.flags = plane(), plane(), plane()
	return x
}

// tile answers api/tile/{z}/{x}/{rows}.
func (s *Server) tile(ctx context.Context, p *params) (any, error) {
	if err := p.run.needRows(); err != nil {
		return nil, err
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

// paint fills the rows of a tile.
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
	if t.spans && t.count() > tileSpans { // open calls around the tile count, too
		t.spans, t.lists = false, nil
	}
	return nil
}

// loseRow marks a row that could not be read.
func (t *picture) loseRow(i int) {
	for b := i * tileBins; b < (i+1)*tileBins; b++ {
		t.region[b], t.wait[b], t.calls[b], t.flags[b] = noRegion, 0, 0, binLost
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

// way is what the bins of a tile are computed from.
type way int

const (
	fromPyramid way = iota
	fromCalls
	fromSpans
)

// wayOf decides by the number of calls that begin in the tile: few are listed; where bins are narrower than those of
// the pyramid, a bounded number is read.
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
			return nil // the row is lost when it is painted
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
	if t.f > 0 {
		return nil
	}
	return x.paintWaits(t, i, p)
}

// parallel calls f(0) to f(n-1), a few at a time.
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

// encode writes the tile as api.go draws it.
func (t *picture) encode() []byte {
	s, le, b := t.count(), binary.LittleEndian, t.out
	copy(b, "CTIL")
	le.PutUint16(b[4:], 1)
	flags := uint16(0)
	if t.spans {
		flags |= tileHasSpans
	}
	if t.f == 0 {
		flags |= tileKnowsWaits
	}
	if t.isExact() {
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

func (t *picture) isExact() bool {
	for _, f := range t.flags {
		if f&binExact == 0 {
			return false
		}
	}
	return true
}

// appendSpans writes the calls column by column.
func (t *picture) appendSpans(b []byte) []byte {
	le := binary.LittleEndian
	column := func(put func(row int, s *span)) {
		for i := range t.lists {
			for k := range t.lists[i] {
				put(i, &t.lists[i][k])
			}
		}
	}
	behind := func(at uint64) {
		v := float64(at - min(at, t.begin))
		if at < t.begin {
			v = -float64(t.begin - at)
		}
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	column(func(_ int, s *span) { behind(s.begin) })
	column(func(_ int, s *span) { behind(s.end) })
	column(func(_ int, s *span) { b = le.AppendUint64(b, math.Float64bits(float64(s.n))) })
	column(func(_ int, s *span) { b = le.AppendUint32(b, s.region) })
	column(func(row int, _ *span) { b = le.AppendUint16(b, uint16(row)) })
	column(func(_ int, s *span) { b = le.AppendUint16(b, s.depth) })
	column(func(_ int, s *span) { b = append(b, s.class) })
	column(func(_ int, s *span) { b = append(b, s.flags) })
	return b
}
