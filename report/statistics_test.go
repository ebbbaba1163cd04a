package report

import (
	"testing"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// manyCalls is a location with n calls of 10 ticks each, every fourth a wait of
// MPI, messages and waits next to them, and time bins of 4^8 ticks.
func manyCalls(t testing.TB, n uint64) *results.Run {
	root := process(n*10, n*10, 0, 0)
	root[xtf.ItemEvents] = 2 * n
	var a, b uint32
	w := &written{nodes: []writtenNode{rootNode(root)}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	w.rows[0] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		for i := range n {
			x := xtf.Call{T: 10 * i, End: 10*i + 10, Parent: xtf.Never, Exclusive: 10, Region: a}
			if i%4 == 3 {
				x.Region, x.Class, x.Flags = b, xtf.ClassMPI|xtf.ClassP2P, xtf.FlagOutermostMPI
				put(array(xtf.TypeP2P), &xtf.P2P{T: x.T, End: x.End, Post: x.T, Done: x.End, CallN: i, Bytes: 8, Kind: xtf.P2PRecv, MateT: x.T + 4})
				put(array(xtf.TypeWait), &xtf.Wait{T: x.T, End: x.T + 4, RecN: i / 4})
			}
			put(array(xtf.TypeCall), &x)
		}
		for level := uint64(8); ; level++ {
			width := uint64(1) << (2 * level)
			last := (10*n - 1) / width
			for bin := range last + 1 {
				span := min((bin+1)*width, 10*n) - bin*width
				put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(uint8(level), bin), Region: a, Count: span / 10, Inclusive: span, Exclusive: span, Bytes: span})
			}
			if last == 0 {
				break
			}
		}
	}
	first := (&written{nodes: w.nodes}).write(t, 1)
	a, b = first.Defs.Regions[0].Ref, first.Defs.Regions[1].Ref
	return w.write(t, 1)
}

// TestStatisticsCost counts the pages that statistics of a span read: as many for
// a long one as for a short one, and only a few more for many times the rows.
// 60 pages are 5 arrays with two edges, each a descent, an aux page and a page of
// rows, and the bins of 9 levels.
func TestStatisticsCost(t *testing.T) {
	t.Parallel()
	n := uint64(1 << 20)
	if testing.Short() {
		n = 1 << 17
	}
	r := manyCalls(t, n)
	end := 10 * n
	for _, span := range [][2]uint64{{0, end}, {5, end - 5}, {12345, 12350}, {end / 3, end / 3 * 2}, {end - 70000, end - 3}, {0, 1}} {
		again, err := results.Open(r.Path, xtf.Options{}) // with nothing in its cache
		if err != nil {
			t.Fatal(err)
		}
		x, err := lookup.NewStatistics(again, results.Ranks{}, span[0], span[1], true)
		if err != nil {
			t.Fatal(err)
		}
		if x.PageReads > 60 {
			t.Errorf("%d pages were read for %v of %d rows", x.PageReads, span, n)
		}
		sum := func(i xtf.Item) uint64 { return uint64(x.Items.Item(i).Sum) }
		mpi, calls := mpiBefore(span[1])-mpiBefore(span[0]), (span[1]+9)/10-(span[0]+9)/10
		if sum(xtf.ItemMPI) != mpi || sum(xtf.ItemCalls) != calls || sum(xtf.ItemTime) != span[1]-span[0] {
			t.Errorf("%v: MPI %d, calls %d, time %d; want %d, %d, %d", span, sum(xtf.ItemMPI), sum(xtf.ItemCalls), sum(xtf.ItemTime), mpi, calls, span[1]-span[0])
		}
		again.Close()
	}
}

// mpiBefore is the MPI time of manyCalls before a tick: the last 10 of every 40.
func mpiBefore(t uint64) uint64 {
	return t/40*10 + max(t%40, 30) - 30
}

// TestStatisticsOfAll takes the sums of the whole run where a span holds all of it, without bounds, bytes included; a span that
// leaves out the last tick has bounds that hold.
func TestStatisticsOfAll(t *testing.T) {
	t.Parallel()
	const n = 1 << 13
	r := manyCalls(t, n)
	for _, exact := range []bool{false, true} {
		x, err := lookup.NewStatistics(r, results.Ranks{}, 0, 10*n+1, exact)
		if err != nil {
			t.Fatal(err)
		}
		f := x.Functions[0]
		for i, v := range []lookup.Limits{f.Calls, f.Inclusive, f.Exclusive, f.Bytes} {
			if want := []uint64{n, 10 * n, 10 * n, 10 * n}[i]; v.Lower != want || v.Upper != want {
				t.Errorf("exact %t, number %d: %d to %d, want %d", exact, i, v.Lower, v.Upper, want)
			}
		}
		if x, err = lookup.NewStatistics(r, results.Ranks{}, 0, 10*n-1, exact); err != nil {
			t.Fatal(err)
		}
		if b := x.Functions[0].Bytes; b.Lower > 10*n-1 || b.Upper < 10*n-1 || b.Lower == b.Upper {
			t.Errorf("bytes of a part: %d to %d", b.Lower, b.Upper)
		}
	}
}
