package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// finishedRun is what the finish of all locations finds.
type finishedRun struct {
	Counts  LevelCounts
	Bins    [][]xtf.TimeBin // of each location, then of the run
	Diags   [][]xtf.Diag
	Partial bool
	Last    uint64
	Events  uint64
	Codes   []CodeTotal
}

// finishRandom makes locations with bins, profiles and diagnostics at random.
func finishRandom(rng *rand.Rand, t *Tables) (all []*Loaded, diags []trace.Diagnostics) {
	place := make([]int32, len(t.class))
	for p := range 1 + rng.IntN(9) {
		l := randomLoaded(rng, len(t.class), place)
		l.P, l.Totals.Last, l.Totals.Events = trace.P(p), rng.Uint64N(1<<22), rng.Uint64N(1<<18)
		for i := range t.emptyProfile() {
			x := RegionProfile{Region: int32(i), Calls: rng.Uint64N(3), Inclusive: rng.Uint64N(99), Exclusive: rng.Uint64N(99), Bytes: rng.Uint64N(9)}
			if rng.IntN(3) > 0 {
				l.Profile = append(l.Profile, x)
			}
		}
		var d trace.Diagnostics
		for range rng.IntN(60) {
			x := trace.Diagnostic{
				Code: []trace.Code{trace.DiagUnmatchedSend, trace.DiagClockViolation, trace.DiagNoCall}[rng.IntN(3)], Time: trace.Time(rng.Uint64N(1 << 22)),
				Event: rng.Uint64N(99), Count: rng.Uint64N(3), Worst: rng.Uint64N(50),
			}
			if rng.IntN(2) == 0 {
				x.Detail = fmt.Sprint("detail ", rng.IntN(1000))
			}
			d.Add(x)
		}
		all, diags = append(all, l), append(diags, d)
	}
	return all, diags
}

type binName struct {
	bin    uint64
	region int32
}

// sumsAt adds up bins at a level, one by one.
func sumsAt(into map[binName]BinSums, level uint8, b *Bins) {
	for _, r := range b.Rows {
		n := binName{r.Bin >> (2 * (level - b.Level)), r.Region}
		s := into[n]
		into[n] = BinSums{s.Calls + r.Calls, s.Inclusive + r.Inclusive, s.Exclusive + r.Exclusive, s.Bytes + r.Bytes}
	}
}

// slowRows are the TIMEBIN rows of some bins from a level on: sorted by level, bin and region, then the profile.
func slowRows(t *Tables, bins []*Bins, level, top uint8, profile []RegionProfile) (rows []xtf.TimeBin) {
	row := func(key uint64, region int32, s BinSums) {
		x := xtf.TimeBin{Key: key, Region: trace.Undefined, Class: uint32(t.class[region]), Count: s.Calls, Inclusive: s.Inclusive, Exclusive: s.Exclusive, Bytes: s.Bytes}
		if int(region) < len(t.Defs.Regions) {
			x.Region = t.Defs.Regions[region].Ref
		}
		rows = append(rows, x)
	}
	for ; level < top; level++ {
		sums := map[binName]BinSums{}
		for _, b := range bins {
			sumsAt(sums, level, b)
		}
		names := make([]binName, 0, len(sums))
		for n := range sums {
			names = append(names, n)
		}
		slices.SortFunc(names, func(a, b binName) int { return cmp.Or(cmp.Compare(a.bin, b.bin), cmp.Compare(a.region, b.region)) })
		for _, n := range names {
			row(uint64(level)<<52|n.bin, n.region, sums[n])
		}
	}
	for _, p := range profile {
		if p.Calls > 0 {
			row(uint64(top)<<52, p.Region, BinSums{p.Calls, p.Inclusive, p.Exclusive, p.Bytes})
		}
	}
	return rows
}

// slowFinish works out what the finish has to say.
func slowFinish(t *Tables, all []*Loaded, diags []trace.Diagnostics, levels Levels) (w finishedRun) {
	finest := levels.Finest
	var bins []*Bins
	profile := t.emptyProfile()
	codes := map[trace.Code]CodeTotal{}
	for p, l := range all {
		own := max(l.Bins.Level, levels.Finest)
		finest = max(finest, own)
		bins = append(bins, &l.Bins)
		w.Bins = append(w.Bins, slowRows(t, []*Bins{&l.Bins}, own, levels.Top, l.Profile))
		for _, x := range l.Profile {
			s := &profile[x.Region]
			s.Calls, s.Inclusive, s.Exclusive, s.Bytes = s.Calls+x.Calls, s.Inclusive+x.Inclusive, s.Exclusive+x.Exclusive, s.Bytes+x.Bytes
		}
		w.Counts.Least = max(w.Counts.Least, int64(l.Bins.Level))
		calls := int64(0)
		for _, r := range l.Bins.Rows {
			calls += int64(r.Calls)
		}
		w.Counts.Calls = max(w.Counts.Calls, calls)
		for level := l.Bins.Level; level < BinLevels; level++ {
			sums := map[binName]BinSums{}
			sumsAt(sums, level, &l.Bins)
			w.Counts.Rows[level] += int64(len(sums))
		}
		w.Last, w.Events = max(w.Last, l.Totals.Last), w.Events+l.Totals.Events
		var rows, totals []xtf.Diag
		for _, c := range diags[p].Codes {
			for _, d := range c.First {
				rows = append(rows, xtf.Diag{T: min(uint64(d.Time), l.Totals.Last), Event: d.Event, Count: d.Count, Worst: d.Worst, Code: uint32(c.Code), Severity: uint32(c.Code.Severity())})
			}
			totals = append(totals, xtf.Diag{T: l.Totals.Last, Event: xtf.Never, Count: c.Count, Worst: c.Worst, Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal})
			codes[c.Code] = CodeTotal{c.Code, codes[c.Code].Count + c.Count, max(codes[c.Code].Worst, c.Worst), codes[c.Code].Locations + 1}
			w.Partial = w.Partial || c.Code.Severity() == trace.Damage
		}
		slices.SortStableFunc(rows, func(a, b xtf.Diag) int { return cmp.Compare(a.T, b.T) })
		w.Diags = append(w.Diags, append(rows, totals...))
	}
	w.Bins = append(w.Bins, slowRows(t, bins, finest, levels.Top, profile))
	var rows []xtf.Diag
	for _, c := range codes {
		w.Codes = append(w.Codes, c)
		rows = append(rows, xtf.Diag{T: w.Last, Event: c.Locations, Count: c.Count, Worst: c.Worst, Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal})
	}
	slices.SortFunc(w.Codes, func(a, b CodeTotal) int { return cmp.Compare(a.Code, b.Code) })
	slices.SortFunc(rows, func(a, b xtf.Diag) int { return cmp.Compare(a.Code, b.Code) })
	w.Diags = append(w.Diags, rows)
	return w
}

// copied returns a location whose bins can be destroyed.
func copied(l *Loaded) *Loaded {
	x := *l
	x.Bins.Rows, x.Long = slices.Clone(l.Bins.Rows), slices.Clone(l.Long)
	return &x
}

// finishOn finishes all locations on some ranks.
func finishOn(tb testing.TB, t *Tables, all []*Loaded, diags []trace.Diagnostics, levels Levels, ranks int) (f finishedRun) {
	tb.Helper()
	f.Bins, f.Diags = make([][]xtf.TimeBin, len(all)+1), make([][]xtf.Diag, len(all)+1)
	ranges := partition.Ranges(make([]uint64, len(all)), ranks)
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		var counts LevelCounts
		var last, events uint64
		finisher, sum := NewFinisher(t, levels), NewSummarizer(t, levels)
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			l := all[p]
			b := copied(l).Bins
			counts.Add(t, &b)
			last, events = max(last, l.Totals.Last), events+l.Totals.Events
			x := copied(l)
			bins, rows, err := f.write(int(p), func(bins, diagnostics *xtf.ArrayBuilder) error {
				done := finisher.Finish(x, &diags[p], FinishOutputs{TimeBins: bins, Diagnostics: diagnostics})
				sum.Add(done, x)
				return checkDetails(done, &diags[p])
			})
			if err != nil {
				return err
			}
			mu.Lock()
			f.Bins[p], f.Diags[p] = bins, rows
			mu.Unlock()
		}
		if err := counts.Reduce(c, &last, &events); err != nil {
			return err
		}
		whole, err := sum.Reduce(c)
		if err != nil || c.Rank() > 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		counts.place = nil
		f.Counts, f.Last, f.Events, f.Codes, f.Partial = counts, last, events, whole.Codes, whole.Partial()
		f.Bins[len(all)], f.Diags[len(all)], err = f.write(len(all), func(bins, diagnostics *xtf.ArrayBuilder) error {
			whole.Write(t, levels.Top, last, bins, diagnostics)
			return nil
		})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// write returns the rows that a function writes; the text of a diagnostic is left out.
func (f *finishedRun) write(p int, rows func(bins, diagnostics *xtf.ArrayBuilder) error) (bins []xtf.TimeBin, diags []xtf.Diag, err error) {
	types := xtf.StandardTypes(xtf.Packed)
	sinks := [2]memory{}
	b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeTimeBin), xtf.Proc(p), &sinks[0])
	d := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeDiag), xtf.Proc(p), &sinks[1])
	if err := rows(b, d); err != nil {
		return nil, nil, err
	}
	for i, x := range []*xtf.ArrayBuilder{b, d} {
		sum, err := x.Finish()
		if err != nil {
			return nil, nil, err
		}
		if sum.Len() == 0 {
			continue
		}
		c := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: &sinks[i]}, 0)
		for c.Next() {
			var r xtf.TimeBin
			var g xtf.Diag
			if i == 0 {
				r.Load(c.Row())
				bins = append(bins, r)
				continue
			}
			if g.Load(c.Row()); g.Detail != xtf.DiagTotal {
				g.Detail = 0
			}
			diags = append(diags, g)
		}
		if err := c.Err(); err != nil {
			return nil, nil, err
		}
	}
	return bins, diags, nil
}

// checkDetails finds the texts of diagnostics by the offsets in their rows.
func checkDetails(f *Finished, ds *trace.Diagnostics) error {
	rows, details := diagRows(ds, 1<<40)
	if string(details) != string(f.Details) {
		return fmt.Errorf("details %q and %q", details, f.Details)
	}
	for _, r := range rows {
		if r.Detail == xtf.DiagTotal {
			continue
		}
		text := ""
		if r.Detail > 0 {
			n, k := binary.Uvarint(details[r.Detail-1:])
			text = string(details[int(r.Detail)-1+k:][:n])
		}
		found := false
		for _, c := range ds.Codes {
			for _, d := range c.First {
				found = found || d.Code == trace.Code(r.Code) && uint64(d.Time) == r.T && d.Event == r.Event && d.Detail == text
			}
		}
		if !found {
			return fmt.Errorf("no diagnostic is %+v, %q", r, text)
		}
	}
	return nil
}

// TestFinishLaw compares bins, sums and diagnostics of random locations with sums over all their rows, for several numbers of ranks.
func TestFinishLaw(t *testing.T) {
	tables := NewTables(generated(t, "ring:procs=2,events=100").Definitions(), 0)
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 44))
		all, diags := finishRandom(rng, tables)
		levels := Levels{Finest: 3 + uint8(rng.IntN(3)), Tile: 8, Top: 9 + uint8(rng.IntN(4))}
		levels.Finest = min(levels.Finest, levels.Top)
		want := slowFinish(tables, all, diags, levels)
		for _, ranks := range []int{1, 3} {
			got := finishOn(t, tables, all, diags, levels, ranks)
			if d := gocmp.Diff(want, got, gocmp.AllowUnexported(LevelCounts{})); d != "" {
				t.Fatalf("seed %d, %d ranks (-want +got):\n%s", seed, ranks, d)
			}
		}
	}
}
