package view

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, m.b[min(off, int64(len(m.b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// pyramidOf makes a run of one location whose only rows are tiles.
func pyramidOf(t *testing.T, tiles []xtf.Tile) *run {
	t.Helper()
	src, err := synthetic.New(synthetic.Options{Processes: 1, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	types, sink, m := xtf.StandardTypes(xtf.Packed), &xtftest.MemorySink{}, &memory{}
	b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeTile), 0, sink)
	for i := range tiles {
		row, _ := b.Append()
		tiles[i].Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	w := xtftest.NewFileWriter(m, types, [16]byte{1}, &xtftest.MemorySink{})
	plan, err := xtf.PlanRegion(types, 0, []xtf.FinishedArray{{Summary: sum, Data: sink}}, nil)
	if err == nil {
		err = w.Region(plan, 0, 0, 0)
	}
	if err == nil {
		plan, err = xtf.PlanRegion(types, xtf.WholeRun, nil, nil)
	}
	if err == nil {
		err = w.Region(plan, 0, 0, 0)
	}
	if err == nil {
		err = w.Commit([]xtf.Blob{xtf.BytesBlob(xtf.KindDefinitions, 1, 0, nil), xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte("{}"))})
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := xtf.Open(m, int64(len(m.b)), xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Run: &results.Run{File: f, Defs: src.Definitions(), Name: "test"}}
	for i := range x.Defs.Regions {
		x.shares = append(x.shares, xtf.ShareOf(uint32(x.Defs.Class(&x.Defs.Regions[i]))))
	}
	return x
}

// TestPyramidRows: bins of a picture are bins of the pyramid, the sum of several, or copies of a wider one.
func TestPyramidRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	const finest, bins = 3, 3000
	tiles := make([]xtf.Tile, bins)
	for i := range tiles {
		tiles[i] = xtf.Tile{Key: xtf.TileKey(0, finest, uint64(i)), Rows: rng.Uint32N(40), Longest: xtf.Never}
		left := uint32(255)
		for k := range tiles[i].Share {
			v := rng.Uint32N(left/4 + 1)
			tiles[i].Share[k], left = uint8(v), left-v
		}
	}
	x := pyramidOf(t, tiles)
	for shift := 2; shift <= 10; shift++ {
		begin := uint64(rng.IntN(4)) << (shift + 9)
		pic := newPicture(&grid{begin: begin, end: begin + 512<<shift, shift: shift, stride: 1, rows: 1})
		if err := x.paintPyramid(pic, 0, 0); err != nil {
			t.Fatal(err)
		}
		for b := range tileBins {
			checkJoined(t, pic, tiles, b, finest)
		}
	}
}

// checkJoined computes a bin from the tiles that overlap it.
func checkJoined(t *testing.T, pic *picture, tiles []xtf.Tile, b int, finest uint8) {
	t.Helper()
	t1 := pic.begin + uint64(b)<<pic.shift
	t2 := t1 + 1<<pic.shift
	var share [8]uint64
	calls, coarse := uint64(0), false
	for i := range tiles {
		first, last := xtf.BinSpan(xtf.BinKey(finest, uint64(i)))
		if first >= t2 || last < t1 {
			continue
		}
		coarse = last-first+1 > t2-t1
		for k, v := range tiles[i].Share {
			share[k] += uint64(v) * min(last-first+1, t2-t1)
		}
		calls += uint64(tiles[i].Rows)
	}
	want := uint8(binExact)
	if 2*int(finest) > pic.shift {
		want = binCoarse
	}
	if pic.flags[b] != want || coarse && want == binExact {
		t.Fatalf("shift %d bin %d: flags %d, want %d", pic.shift, b, pic.flags[b], want)
	}
	for k := range share {
		if got := uint64(pic.share[k][b]); got != share[k]>>pic.shift {
			t.Fatalf("shift %d bin %d: share %d is %d, want %d", pic.shift, b, k, got, share[k]>>pic.shift)
		}
	}
	if pic.calls[b] != callsByte(calls) {
		t.Fatalf("shift %d bin %d: %d for %d calls", pic.shift, b, pic.calls[b], calls)
	}
}
