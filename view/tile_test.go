package view

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// parsedTile is a tile as a client reads it.
type parsedTile struct {
	flags                    uint16
	rows, spans              int
	first, stride            int
	begin, width             float64
	lost                     int
	region                   []uint32
	share                    [8][]byte
	wait, calls, bin, gap    []byte
	from, to, n              []float64
	spanRegion               []uint32
	row, depth               []uint16
	spanClass, spanFlagBytes []byte
}

// parseBytes reads a tile by the layout in api.go.
func parseBytes(t testing.TB, b []byte) *parsedTile {
	t.Helper()
	le := binary.LittleEndian
	if len(b) < 64 || string(b[:4]) != "CTIL" || le.Uint16(b[4:]) != 2 {
		t.Fatalf("no tile in %d bytes", len(b))
	}
	x := &parsedTile{
		flags: le.Uint16(b[6:]), rows: int(le.Uint32(b[8:])), spans: int(le.Uint32(b[12:])), first: int(le.Uint32(b[16:])), stride: int(le.Uint32(b[20:])),
		begin: math.Float64frombits(le.Uint64(b[24:])), width: math.Float64frombits(le.Uint64(b[32:])), lost: int(le.Uint32(b[40:])),
	}
	n, s := x.rows*512, x.spans
	if want := 64 + n*(4+8+4) + s*(24+4+4+2); len(b) != want {
		t.Fatalf("%d bytes for %d rows and %d spans, want %d", len(b), x.rows, s, want)
	}
	at := b[64:]
	bytes := func(n int) []byte { v := at[:n]; at = at[n:]; return v }
	for range n {
		x.region = append(x.region, le.Uint32(bytes(4)))
	}
	for k := range x.share {
		x.share[k] = bytes(n)
	}
	x.wait, x.calls, x.bin, x.gap = bytes(n), bytes(n), bytes(n), bytes(n)
	for _, to := range []*[]float64{&x.from, &x.to, &x.n} {
		for range s {
			*to = append(*to, math.Float64frombits(le.Uint64(bytes(8))))
		}
	}
	for range s {
		x.spanRegion = append(x.spanRegion, le.Uint32(bytes(4)))
	}
	for _, to := range []*[]uint16{&x.row, &x.depth} {
		for range s {
			*to = append(*to, le.Uint16(bytes(2)))
		}
	}
	x.spanClass, x.spanFlagBytes = bytes(s), bytes(s)
	return x
}

// binTwin is what calls did in a bin: ticks of each class and region in themselves, and how many begin.
type binTwin struct {
	class  [8]uint64
	region map[int]uint64
	calls  uint64
}

// exclusiveIn computes a bin from all calls of a location: of each the part in the bin less those of its children.
func exclusiveIn(x *run, calls []xtf.Call, t1, t2 uint64) binTwin {
	b := binTwin{region: map[int]uint64{}}
	own := map[int]int64{}
	overlap := func(c *xtf.Call) int64 {
		if c.End <= t1 || c.T >= t2 {
			return 0
		}
		return int64(min(c.End, t2) - max(c.T, t1))
	}
	for i := range calls {
		c := &calls[i]
		own[i] += overlap(c)
		if c.Parent != xtf.Never {
			own[int(c.Parent)] -= overlap(c)
		}
		if c.T >= t1 && c.T < t2 {
			b.calls++
		}
	}
	for i, v := range own {
		b.class[xtf.ShareOf(calls[i].Class)] += uint64(v)
		if v > 0 {
			b.region[x.region(calls[i].Region)] += uint64(v)
		}
	}
	return b
}

// TestTiles compares tiles of all kinds with bins computed from all calls.
func TestTiles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 8))
	files := []string{generated(t, generatedSpecs[0]), generated(t, generatedSpecs[1])}
	kinds := map[string]int{}
	for _, file := range files {
		checkTiles(t, serving(t, file), rng, kinds, 16)
	}
	for _, k := range []string{"spans", "calls", "group"} {
		if kinds[k] == 0 {
			t.Errorf("no tile from %s", k)
		}
	}
}

// TestTilesOfTraces does the same on collected traces.
func TestTilesOfTraces(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	rng := rand.New(rand.NewPCG(2, 8))
	for _, name := range []string{"npb-is.S-4", "pingpong-papi-scorep71", "hip-mi300-scorep9"} {
		checkTiles(t, serving(t, realTrace(t, name)), rng, map[string]int{}, 4)
	}
}

func checkTiles(t *testing.T, s *Server, rng *rand.Rand, kinds map[string]int, n int) {
	t.Helper()
	x := s.runs[0]
	var all [][]xtf.Call
	for p := range trace.P(x.meta.Locations) {
		all = append(all, callsOf(t, x, p))
	}
	bins := 60
	if testing.Short() {
		bins = 12
	}
	for i := range n {
		z := min(i%12, x.scale)
		if i%2 == 0 {
			z = rng.IntN(3)
		}
		f := 0
		if i%5 == 4 {
			f = rng.IntN(len(x.meta.Groups))
		}
		at := x.first + rng.Uint64N(x.last-x.first+1)
		path := fmt.Sprintf("tile/%d/%d/%d-0", z, at>>(x.scale-z)>>9, f)
		w := ask(s, path)
		if w.Code != 200 {
			t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
		}
		v := parseBytes(t, w.Body.Bytes())
		if v.first != 0 || v.stride != x.meta.Groups[f] || v.lost != 0 || v.rows != (x.meta.Locations+v.stride-1)/v.stride {
			t.Fatalf("%s: %d rows of %d locations from %d", path, v.rows, v.stride, v.first)
		}
		c := tileCheck{t: t, x: x, v: v, path: path, all: all}
		c.kind(kinds, f)
		for range bins {
			c.bin(rng.IntN(v.rows), rng.IntN(512))
		}
		if f == 0 {
			c.spans()
			c.waits(rng.IntN(v.rows))
		}
	}
}

// tileCheck compares one tile.
type tileCheck struct {
	t     *testing.T
	x     *run
	v     *parsedTile
	path  string
	all   [][]xtf.Call
	joins int // bins of the pyramid in one of the tile
}

func (c *tileCheck) kind(kinds map[string]int, f int) {
	c.joins = 1
	switch {
	case f > 0:
		kinds["group"]++
	case c.v.flags&tileHasSpans != 0:
		kinds["spans"]++
		return
	case c.v.bin[0]&binCoarse != 0:
		kinds["coarse"]++
		return
	}
	a, err := c.x.array(0, xtf.TypeTile)
	if err != nil {
		c.t.Fatal(err)
	}
	pyr, err := a.Pyramid(uint8(f))
	if err != nil {
		c.t.Fatal(err)
	}
	shift := bits.Len64(uint64(c.v.width)) - 1
	if level := min(max(uint8(shift/2), pyr.Finest), pyr.Top); 2*int(level) < shift {
		c.joins = 1 << (shift - 2*int(level))
		kinds["joined"]++
	} else if f == 0 && 2*int(pyr.Finest) > shift {
		kinds["calls"]++
	} else {
		kinds["pyramid"]++
	}
}

// bin compares bin b of a row with all calls of its locations.
func (c *tileCheck) bin(row, b int) {
	i := row*512 + b
	if c.v.bin[i]&binExact == 0 {
		return
	}
	width := uint64(c.v.width)
	t1 := uint64(c.v.begin) + uint64(b)*width
	var sum binTwin
	sum.region = map[int]uint64{}
	first, last := row*c.v.stride, min((row+1)*c.v.stride, len(c.all))
	for p := first; p < last; p++ {
		one := exclusiveIn(c.x, c.all[p], t1, t1+width)
		for k := range one.class {
			sum.class[k] += one.class[k]
		}
		for r, v := range one.region {
			sum.region[r] += v
		}
		sum.calls += one.calls
	}
	c.gaps(row, b, &sum, t1, last-first)
	most, regions := uint64(0), []int{}
	for k := range sum.class {
		want := sum.class[k] * 255 / width / uint64(last-first)
		if got := uint64(c.v.share[k][i]); got > want || got+uint64(c.joins-1)/2+min(1, uint64(c.joins-1)) < want {
			c.t.Fatalf("%s: row %d bin %d: share of class %d is %d, want %d", c.path, row, b, k, got, want)
		}
	}
	for _, v := range sum.region {
		most = max(most, v)
	}
	for r, v := range sum.region {
		if v == most {
			regions = append(regions, r)
		}
	}
	if got := int(c.v.region[i]); c.joins == 1 && most > 0 && !slices.Contains(regions, got) {
		c.t.Fatalf("%s: row %d bin %d: region %d, most time is in %v", c.path, row, b, got, regions)
	}
	if want := uint8(bits.Len64(sum.calls)); c.v.calls[i] != want {
		c.t.Fatalf("%s: row %d bin %d: calls byte %d for %d calls", c.path, row, b, c.v.calls[i], sum.calls)
	}
}

// gaps compares the time in no call with the lives of the locations, as their components have them, less the time in calls. Other
// threads and devices have no gaps.
func (c *tileCheck) gaps(row, b int, sum *binTwin, t1 uint64, n int) {
	alive, width := uint64(0), uint64(c.v.width)
	for p := row * c.v.stride; p < row*c.v.stride+n; p++ {
		comp, err := c.x.Components(trace.P(p))
		if err != nil {
			c.t.Fatal(err)
		}
		if _, thread := c.x.Defs.Process(trace.P(p)); thread == 0 && c.x.Defs.Location(trace.P(p)).Type == trace.CPUThread {
			if from, to := max(comp[xtf.ItemFirst], t1), min(comp[xtf.ItemLast], t1+width); from < to {
				alive += to - from
			}
		}
	}
	for _, v := range sum.class {
		alive -= min(alive, v)
	}
	want, got := int(alive*255/width/uint64(n)), int(c.v.gap[row*512+b])
	if got > want+16 || got < want-16 || (got > want+1 || got < want-1) && c.v.stride == 1 && sum.calls == 0 {
		c.t.Fatalf("%s: row %d bin %d: in no call for %d, want %d", c.path, row, b, got, want)
	}
}

// spans compares the calls that are listed with all that are open or begin in the tile.
func (c *tileCheck) spans() {
	if c.v.flags&tileHasSpans == 0 {
		return
	}
	t1, t2 := uint64(c.v.begin), uint64(c.v.begin+512*c.v.width)
	i := 0
	for p := range c.v.rows {
		for n, call := range c.all[p] {
			if call.T >= t2 || call.T < t1 && call.End <= t1 {
				continue
			}
			switch {
			case i == c.v.spans:
				c.t.Fatalf("%s: only %d calls", c.path, i)
			case int(c.v.row[i]) != p || int(c.v.n[i]) != n || c.v.from[i] != float64(call.T)-c.v.begin || c.v.to[i] != float64(call.End)-c.v.begin ||
				int(c.v.spanRegion[i]) != c.x.region(call.Region) || uint32(c.v.depth[i]) != call.Depth || int(c.v.spanClass[i]) != xtf.ShareOf(call.Class):
				c.t.Fatalf("%s: span %d is call %d of row %d, want call %d of %d", c.path, i, int(c.v.n[i]), c.v.row[i], n, p)
			}
			i++
		}
	}
	if i != c.v.spans {
		c.t.Fatalf("%s: %d calls, want %d", c.path, c.v.spans, i)
	}
}

// waits compares the waits of a row with all of them.
func (c *tileCheck) waits(row int) {
	list := rowsOf(c.t, c.x, trace.P(row), xtf.TypeWait, func(b []byte) (w xtf.Wait) { w.Load(b); return w })
	width := uint64(c.v.width)
	for b := range 512 {
		t1 := uint64(c.v.begin) + uint64(b)*width
		sum := uint64(0)
		for _, w := range list {
			if w.T < t1+width && w.End > t1 {
				sum += min(w.End, t1+width) - max(w.T, t1)
			}
		}
		want := min(sum*255/width, 255)
		if sum > 0 {
			want = max(want, 1)
		}
		if got := uint64(c.v.wait[row*512+b]); got != want {
			c.t.Fatalf("%s: row %d bin %d: waits %d, want %d", c.path, row, b, got, want)
		}
	}
}

// TestWaitsAlong: running totals at pages tell about where waits are, and exactly how long in all.
func TestWaitsAlong(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	x := s.runs[0]
	g, err := x.parseTile("0/0/0-0")
	if err != nil {
		t.Fatal(err)
	}
	for p := range trace.P(3) {
		a, err := x.array(p, xtf.TypeWait)
		if err != nil {
			t.Fatal(err)
		}
		pic, ticks := newPicture(g), make([]uint64, tileBins)
		series, err := a.Sums().Along(pic.begin, pic.end, tileBins)
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(0)
		for k := range series.K {
			want += a.Sums().Totals()[k]
		}
		for k := 0; k+1 < len(series.T); k++ {
			sum := uint64(0)
			for j := range series.K {
				sum += series.Sums[(k+1)*series.K+j] - series.Sums[k*series.K+j]
			}
			pic.spread(ticks, series.T[k], series.T[k+1], sum)
		}
		got := uint64(0)
		for _, v := range ticks {
			got += v
		}
		if got > want || got+tileBins < want {
			t.Errorf("location %d: %d ticks of waits in bins, %d in all", p, got, want)
		}
	}
}

// TestCellsAsQuery compares random exact cells of real runs at every zoom with the functions that the exact statistics of the cell list, as
// `coppice query window --exact` does: a share is the time of the functions of its class, in parts of the cell.
func TestCellsAsQuery(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"npb-is.S-4", "lulesh-8", "npb-lu.S-func-4"} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, realTrace(t, name))
			rng := rand.New(rand.NewPCG(4, 8))
			n := 0
			for i := range 4 * (s.runs[0].scale + 1) {
				n += cellAsQuery(t, s, i/4, rng)
			}
			if n < 2*s.runs[0].scale {
				t.Errorf("only %d cells are exact", n)
			}
		})
	}
}

// cellAsQuery compares a random cell of a zoom, and returns 1 if it is exact.
func cellAsQuery(t *testing.T, s *Server, z int, rng *rand.Rand) int {
	t.Helper()
	x := s.runs[0]
	at := x.first + rng.Uint64N(x.last-x.first+1)
	path := fmt.Sprintf("tile/%d/%d/0-0", z, at>>(x.scale-z)>>9)
	v := parseBytes(t, ask(s, path).Body.Bytes())
	row, b := rng.IntN(v.rows), int(at>>(x.scale-z)&511)
	if v.bin[row*512+b]&binExact == 0 {
		return 0
	}
	t1, width := uint64(v.begin)+uint64(b)*uint64(v.width), uint64(v.width)
	ranks, err := results.ParseRanks(fmt.Sprint(row), x.Defs)
	if err != nil {
		t.Fatal(err)
	}
	q, err := lookup.NewStatistics(x.Run, ranks, t1, t1+width, true)
	if err != nil {
		t.Fatal(err)
	}
	var class [8]uint64
	for _, f := range q.Functions {
		class[x.shareOf(x.regionWord(f.Region))] += f.Exclusive.Lower
		if f.Exclusive.Lower != f.Exclusive.Upper {
			t.Fatalf("%s: %s has bounds", path, f.Name)
		}
	}
	for k, ticks := range class {
		// Bins of the pyramid that a cell joins are rounded down each, to 1/255 of themselves.
		if got, want := int(v.share[k][row*512+b]), int(ticks*255/width); got > want || got < want-1 {
			t.Errorf("%s: row %d bin %d: share of class %d is %d, the query says %d", path, row, b, k, got, want)
		}
	}
	return 1
}
