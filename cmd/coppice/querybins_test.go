package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtf"
)

// binsJSON is what tests read of an answer about time bins.
type binsJSON struct {
	Query struct {
		Found bool
		More  bool
		Size  uint64
		Bins  struct {
			Level, Finest, Top uint8
			Ticks              uint64
		}
		Rows []struct{ Key, Region, Count, Inclusive, Exclusive, Bytes uint64 }
	}
}

// TestQueryBins compares the bins of a span, at several widths, with the calls
// of the location.
func TestQueryBins(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	run := filepath.Join(analysed(t, "stencil:procs=3,events=60k,jitter=20,seed=2"), "run.xtf")
	rows := callRows(t, run, 2)
	last := rows[0].End
	levels := map[uint8]bool{}
	for _, w := range [][3]uint64{{0, last + 1, 1000}, {last / 3, last / 2, 100}, {last / 3, last / 2, 7}, {last / 4, last/4 + 1, 1}, {0, last + 1, 1}} {
		got := jsonOf[binsJSON](t, "query", run, "bins", "--rank", "2", "--time", fmt.Sprintf("#%d..#%d", w[0], w[1]), "--width", fmt.Sprint(w[2]), "--limit", "100000").Query
		b := got.Bins
		levels[b.Level] = true
		if pixel := (w[1] - w[0]) / w[2]; b.Level < b.Top && b.Ticks*4 <= pixel || b.Level > b.Finest && b.Ticks > pixel {
			t.Errorf("%v: pixels of %d ticks, bins of %d at level %d of %d to %d", w, pixel, b.Ticks, b.Level, b.Finest, b.Top)
		}
		if len(got.Rows) != int(got.Size) || !got.Found || got.More {
			t.Fatalf("%v: %d rows, size %d", w, len(got.Rows), got.Size)
		}
		from, to := xtf.Never, uint64(0)
		calls := uint64(0)
		for _, r := range got.Rows {
			first, end := xtf.BinSpan(r.Key)
			from, to = min(from, first), max(to, end)
			calls += r.Count
		}
		if from > w[0] || to < min(w[1], last)-1 {
			t.Errorf("%v: bins from %d to %d", w, from, to)
		}
		for _, r := range rows {
			if r.T >= from && r.T <= to {
				calls--
			}
		}
		if calls != 0 {
			t.Errorf("%v: bins and rows differ by %d calls", w, int64(calls))
		}
	}
	if len(levels) < 2 {
		t.Errorf("levels %v", levels)
	}
	if code, _, _ := call("query", run, "bins", "--width", "0"); code != jobs.ExitUsage {
		t.Errorf("no pixels: exit code %d", code)
	}
}

// TestEventsNoneBins reads the whole run's bins of a file without rows: they are
// those of the file with rows.
func TestEventsNoneBins(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	dir := analysed(t, "stencil:procs=3,events=60k,jitter=20,seed=2")
	all := jsonOf[binsJSON](t, "query", filepath.Join(dir, "run.xtf"), "bins", "--whole", "--width", "500", "--limit", "100000").Query
	none := jsonOf[binsJSON](t, "query", analysedAs(t, dir, "none.xtf", "--events", "none"), "bins", "--whole", "--width", "500", "--limit", "100000").Query
	if fmt.Sprint(all) != fmt.Sprint(none) || len(none.Rows) < 20 {
		t.Errorf("with rows:\n%v\nwithout:\n%v", all, none)
	}
}

// TestCheckBins changes time bins and tiles: check notices.
func TestCheckBins(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	dir := analysed(t, "ring:procs=18,events=100k,seed=3")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	for _, x := range []struct {
		name string
		p    xtf.Proc
		id   xtf.TypeID
		at   int // column
	}{
		{"calls of a bin", 1, xtf.TypeTimeBin, 16},
		{"exclusive time of a bin", 1, xtf.TypeTimeBin, 32},
		{"bytes of a bin", xtf.WholeRun, xtf.TypeTimeBin, 40},
		{"calls of a tile", 17, xtf.TypeTile, 20},
		{"longest call of a tile", 2, xtf.TypeTile, 24},
	} {
		changed := false
		alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
			if p == x.p && id == x.id && n == 0 {
				row[x.at] ^= 0x40
				row[x.at+2] ^= 1
				changed = true
			}
		})
		if code, _, _ := call("check", bad); !changed || code != jobs.ExitFound {
			t.Errorf("%s: changed %t, check ends with %d", x.name, changed, code)
		}
	}
}
