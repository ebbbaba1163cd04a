package stats

import (
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestTiles compares tiles and longest calls with rows of calls and bins.
func TestTiles(t *testing.T) {
	for _, spec := range []string{"stencil:procs=2,events=20k,jitter=10,seed=1", "irregular:procs=2,events=20k,seed=5"} {
		src := generated(t, spec)
		tables := NewTables(src.Definitions(), origin(t, src))
		types := xtf.StandardTypes(xtf.Packed)
		array := func(id xtf.TypeID) (*xtf.ArrayBuilder, *memory) {
			m := &memory{}
			return xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(id), 0, m), m
		}
		calls, sink := array(xtf.TypeCall)
		put := Outputs{Calls: calls, Sorted: &memory{}, Late: &memory{}}
		put.Channels, _ = array(xtf.TypeChannel)
		put.Chan, _ = array(xtf.TypeChan)
		l := NewLoader(tables, 0, put)
		for _, b := range batchesOf(t, src, 0) {
			if err := l.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		loaded, err := l.Finish()
		if err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(t, types, calls, sink)
		out, sink := array(xtf.TypeTile)
		levels := Levels{Tile: loaded.Bins.Level + 1, Top: Level(loaded.Totals.Last)}
		w := tileWriter{t: tables, locations: 1, out: out}
		w.write(&loaded.Bins, loaded.Long, levels.Tile, levels.Top)
		level := levels.Tile - 1
		for _, row := range rowsOf(t, types, out, sink) {
			var x xtf.Tile
			x.Load(row)
			if xtf.BinLevel(x.Key) > level {
				level++
				loaded.Bins.raise(level, make([]int32, len(tables.class)))
			}
			checkTile(t, tables, &x, loaded.Bins.Rows, rows)
		}
		if level != levels.Top {
			t.Errorf("tiles end at level %d of %d", level, levels.Top)
		}
	}
}

// checkTile looks for the contents of a tile in all bins and all calls.
func checkTile(t *testing.T, tables *Tables, x *xtf.Tile, bins []BinRow, calls [][]byte) {
	t.Helper()
	first, last := xtf.BinSpan(x.Key)
	begun, longest, ticks := uint32(0), xtf.Never, uint64(0)
	for n, row := range calls {
		var c xtf.Call
		if c.Load(row); c.T < first || c.T > last {
			continue
		}
		if begun++; begun == 1 || c.End-c.T > ticks {
			longest, ticks = uint64(n), c.End-c.T
		}
	}
	if x.Rows != begun || x.Longest != longest {
		t.Fatalf("tile %#x: %d calls, the longest is %d; want %d and %d", x.Key, x.Rows, x.Longest, begun, longest)
	}
	var inside, most, own uint64
	for i := range bins {
		if r := &bins[i]; xtf.BinKey(xtf.BinLevel(x.Key), r.Bin) == x.Key {
			inside += r.Exclusive
			most = max(most, r.Exclusive)
			if tables.timeBin(int(r.Region), 0, &r.BinSums).Region == x.Region {
				own = r.Exclusive
			}
		}
	}
	sum := uint64(0)
	for _, s := range x.Share {
		sum += uint64(s)
	}
	width := last - first + 1
	if whole := inside * 255 / width; sum > whole || sum+8 < whole || own != most {
		t.Errorf("tile %#x: shares %v of %d ticks, %d inside; its region has %d, the most is %d", x.Key, x.Share, width, inside, own, most)
	}
}

// rowsOf finishes an array and reads it.
func rowsOf(t *testing.T, types *xtf.TypeTable, b *xtf.ArrayBuilder, m *memory) (list [][]byte) {
	t.Helper()
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: m}, 0)
	for c.Next() {
		list = append(list, slices.Clone(c.Row()))
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return list
}
