package view

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// paintCalls fills row i exactly from the calls of location p.
func (x *run) paintCalls(t *picture, i int, p trace.P) error {
	a, err := x.array(p, xtf.TypeCall)
	if err != nil {
		return err
	}
	w := walker{x: x, t: t, row: i, calls: a, at: t.begin, bin: -1}
	for b := range t.flags[i*tileBins : (i+1)*tileBins] {
		t.flags[i*tileBins+b] = binExact
	}
	if err := w.open(); err != nil {
		return err
	}
	n1, err := a.Rank(t.begin)
	if err != nil {
		return err
	}
	n2, err := a.Rank(t.end)
	if err != nil {
		return err
	}
	err = a.Each(n1, n2, func(n uint64, row []byte) bool {
		var c xtf.Call
		c.Load(row)
		w.enter(n, &c)
		return w.err == nil
	})
	if err == nil {
		err = w.err
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

// walker goes over the calls of a location in the order of time and gives every tick to the innermost open one.
type walker struct {
	x     *run
	t     *picture
	row   int
	calls *xtf.Array
	at    uint64
	stack []frame // innermost last; what is around the first one is read when that ends
	err   error

	bin   int // in progress, -1 none
	parts []part
	begun uint64
	mark  bool
}

// part is the ticks of a region in the bin in progress.
type part struct {
	region uint32
	class  int
	ticks  uint64
}

func (w *walker) frameOf(c *xtf.Call) frame {
	word := w.x.regionWord(c.Region)
	return frame{end: c.End, parent: c.Parent, region: word, class: xtf.ShareOf(c.Class)}
}

// open begins with the innermost call that is open before the tile, and lists all around it.
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

// callKey names a row of CALL.
type callKey struct {
	p xtf.Proc
	n uint64
}

// mostCalls is how many rows are kept: 80 bytes each, with the table.
const mostCalls = 1 << 16

// call reads a row of CALL. Climbs go to the same few outer calls from every tile, whose pages hold nothing else of it:
// they are kept apart.
func (x *run) call(a *xtf.Array, n uint64) (xtf.Call, error) {
	k := callKey{a.Proc(), n}
	x.callsMu.Lock()
	c, ok := x.calls[k]
	x.callsMu.Unlock()
	if ok {
		return c, nil
	}
	row, err := results.Referred(x.Run, uint32(a.Proc()), xtf.TypeCall, n)
	if err != nil {
		return c, err
	}
	if c.Load(row); c.Parent != xtf.Never && c.Parent >= n { // the climb ends for any bytes
		return c, fmt.Errorf("%s: call %d has call %d around it: %w", x.Name, n, c.Parent, xtf.ErrCorrupt)
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

// enter begins a call.
func (w *walker) enter(n uint64, c *xtf.Call) {
	if w.err = w.advance(c.T); w.err != nil {
		return
	}
	w.move(w.t.bin(c.T))
	w.begun++
	w.mark = w.mark || c.Flags&xtf.FlagMarker != 0
	if w.t.spans {
		w.t.lists[w.row] = append(w.t.lists[w.row], w.spanOf(n, c))
	}
	w.stack = append(w.stack, w.frameOf(c))
}

// advance gives the ticks up to t to the calls that are open meanwhile.
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

// climb makes the innermost open call around row n the only one known.
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

// give adds [w.at, to) to a call.
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

// move makes b the bin in progress.
func (w *walker) move(b int) {
	if b != w.bin {
		w.flush()
		w.bin = b
	}
}

// flush writes the bin in progress.
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

// shareByte is ticks of a bin of 1<<shift in 1/255, rounded down as in the pyramid.
func shareByte(ticks uint64, shift int) uint8 {
	hi, lo := bits.Mul64(ticks, 255)
	if shift > 0 {
		lo = hi<<(64-shift) | lo>>shift
	}
	return uint8(min(lo, 255))
}
