package stats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// memory is a Sink in memory.
type memory struct{ b []byte }

func (m *memory) Append(b []byte) (int64, error) {
	off := int64(len(m.b))
	m.b = append(m.b, b...)
	return off, nil
}

func (m *memory) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(b, off)
}

func (m *memory) Size() int64 { return int64(len(m.b)) }
func (m *memory) Drop()       { m.b = nil }

// randomLoaded makes bins of locations at different levels, some of them empty,
// and with them the longest calls.
func randomLoaded(rng *rand.Rand, regions int, place []int32) *Loaded {
	l := &Loaded{Bins: Bins{Level: 3}}
	set := map[BinRow]bool{}
	for range rng.IntN(2) * 900 {
		set[BinRow{Bin: rng.Uint64N(60_000), Region: int32(rng.IntN(regions))}] = true
	}
	for r := range set {
		r.BinSums = BinSums{rng.Uint64N(9), rng.Uint64N(9), rng.Uint64N(1 << 6), 1}
		l.Bins.Rows = append(l.Bins.Rows, r)
	}
	slices.SortFunc(l.Bins.Rows, compareBins)
	for i := range l.Bins.Rows {
		if r := &l.Bins.Rows[i]; i == 0 || l.Bins.Rows[i-1].Bin != r.Bin {
			l.Long = append(l.Long, LongCall{r.Bin, rng.Uint64N(20), uint64(i)})
		}
	}
	for range rng.IntN(2) {
		l.Bins.raise(l.Bins.Level+1, place)
		l.Long = widened(l.Long)
	}
	return l
}

// TestTileGroups compares the tiles of groups with sums over all their locations,
// for locations dealt out to ranks in several ways.
func TestTileGroups(t *testing.T) {
	const locations = 37 // two sizes of groups, the last ones not full
	src := generated(t, fmt.Sprintf("ring:procs=%d,events=4k", locations))
	tables := NewTables(src.Definitions(), 0)
	place := make([]int32, len(tables.class))
	rng := rand.New(rand.NewPCG(4, 4))
	levels := Levels{Finest: 4, Tile: 5, Top: 12}
	all := make([]*Loaded, locations)
	for p := range all {
		all[p] = randomLoaded(rng, len(tables.class), place)
		all[p].P = trace.P(p)
	}
	types := xtf.StandardTypes(xtf.Packed)
	want := make([][][]byte, locations)
	for f := 1; f <= 2; f++ {
		for head := 0; head < locations; head += 1 << (4 * f) {
			members := all[head:min(head+1<<(4*f), locations)]
			b, m := tileArray(types, head)
			w := tileWriter{t: tables, f: uint8(f), locations: uint64(len(members)), out: b}
			sum, long := slowGroup(members, levels.Tile, place)
			w.write(&sum, long, sum.Level, levels.Top)
			want[head] = append(want[head], rowsOf(t, types, b, m)...)
		}
	}
	for _, ends := range [][]trace.P{{37}, {15, 37}, {16, 37}, {3, 3, 20, 37}, {1, 2, 17, 18, 36, 37}, {0, 32, 37}} {
		got := groupsOf(t, tables, types, upTo(ends), levels, all)
		for p := range got {
			if !slices.EqualFunc(got[p], want[p], bytes.Equal) {
				t.Errorf("ranges up to %v: the %d tiles of groups from location %d differ from %d expected", ends, len(got[p]), p, len(want[p]))
			}
		}
	}
}

// tileArray begins an array in memory.
func tileArray(types *xtf.TypeTable, p int) (*xtf.ArrayBuilder, *memory) {
	m := &memory{}
	return xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeTile), xtf.Proc(p), m), m
}

// groupsOf returns the tiles of the groups that begin with each location, made by
// ranks that hold these ranges.
func groupsOf(t *testing.T, tables *Tables, types *xtf.TypeTable, ranges []partition.Range, levels Levels, all []*Loaded) [][][]byte {
	t.Helper()
	var mu sync.Mutex
	got := make([][][]byte, len(all))
	err := mpi.RunInProcess(len(ranges), func(c mpi.Comm) error {
		builders, sinks := map[trace.P]*xtf.ArrayBuilder{}, map[trace.P]*memory{}
		tiles := func(p trace.P) *xtf.ArrayBuilder {
			if builders[p] == nil {
				builders[p], sinks[p] = tileArray(types, int(p))
			}
			return builders[p]
		}
		g := NewTileGroups(tables, ranges, c.Rank(), levels)
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			g.Add(all[p], tiles)
		}
		if err := g.Join(c, tiles); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for p, b := range builders {
			got[p] = rowsOf(t, types, b, sinks[p])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// upTo makes ranges of their ends.
func upTo(ends []trace.P) []partition.Range {
	ranges := make([]partition.Range, len(ends))
	first := trace.P(0)
	for i, end := range ends {
		ranges[i] = partition.Range{First: first, End: end}
		first = end
	}
	return ranges
}

// slowGroup adds up locations row by row.
func slowGroup(members []*Loaded, level uint8, place []int32) (Bins, []LongCall) {
	rows := map[BinRow]BinSums{}
	long := map[uint64]LongCall{}
	for _, l := range members {
		for _, r := range l.Bins.Rows {
			k := BinRow{Bin: r.Bin >> (2 * (level - l.Bins.Level)), Region: r.Region}
			s := rows[k]
			s.add(&r.BinSums)
			rows[k] = s
		}
		for _, c := range l.Long {
			bin := c.Bin >> (2 * (level - l.Bins.Level))
			if best, ok := long[bin]; !ok || c.Ticks > best.Ticks {
				long[bin] = LongCall{bin, c.Ticks, uint64(l.P)}
			}
		}
	}
	sum := Bins{Level: level}
	for k, s := range rows {
		sum.Rows = append(sum.Rows, BinRow{k.Bin, k.Region, s})
	}
	slices.SortFunc(sum.Rows, compareBins)
	var list []LongCall
	for _, c := range long {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b LongCall) int { return int(a.Bin) - int(b.Bin) })
	for len(sum.Rows) > groupRows {
		sum.raise(sum.Level+1, place)
		list = widened(list)
	}
	return sum, list
}
