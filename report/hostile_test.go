package report

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/scaling"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestHostileRows reports runs whose rows are sound as a file, but make no sense:
// every section is written, or an error says that the file is corrupt.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		r := hostile(t, rnd)
		spans := []*results.Span{nil, {Begin: 2, End: 1 << 40}, {Begin: 0, End: xtf.Never, Of: &results.Execution{Node: 1, K: 1}}}
		o := Options{
			Sections: []Section{SectionSummary, SectionIntervals, SectionWaits, SectionPOP}, Span: spans[rnd.IntN(len(spans))],
			Intervals: results.IntervalOptions{Details: true, PerExecution: true, Ordered: []xtf.Item{xtf.ItemCPU}, Rules: results.Rules{Productive: results.Productives[rnd.IntN(5)], AllProcesses: rnd.IntN(2) == 0}},
		}
		if rnd.IntN(2) == 0 {
			o.Ranks = mustRanks(t, r, "1")
		}
		d, err := New(r, o)
		if err == nil {
			err = errors.Join(table.Write(&bytes.Buffer{}, d, "text", table.Style{Bars: true, Color: true}), d.WriteJSON(io.Discard))
		}
		acceptable(t, seed, err)
		for _, s := range []Section{SectionIntervals, SectionWaits, SectionPOP} {
			o.Sections = []Section{s}
			if d, err = New(r, o); err == nil {
				err = table.Write(io.Discard, d, "csv", table.Style{})
			}
			acceptable(t, seed, err)
		}
		_, err = lookup.NewStatistics(r, o.Ranks, 3, 1<<33, true)
		acceptable(t, seed, err)
		s, err := scaling.New([]*results.Run{r, goldenG3(t)}, scaling.Options{At: 1 << 40})
		if err == nil {
			err = errors.Join(table.Write(io.Discard, s, "text", table.Style{}), table.WriteJSON(io.Discard, s), table.Write(io.Discard, s, "csv", table.Style{}))
		}
		acceptable(t, seed, err)
		if seed%4 > 0 {
			continue
		}
		if o.Sections, err = PageSections(r); err == nil {
			if d, err = New(r, o); err == nil {
				err = table.Write(io.Discard, d, "html", table.Style{})
			}
		}
		acceptable(t, seed, err)
		x, err := diff.New(goldenG3(t), r, diff.Options{})
		if err == nil {
			err = errors.Join(table.Write(io.Discard, x, "text", table.Style{}), table.WriteJSON(io.Discard, x), table.Write(io.Discard, x, "csv", table.Style{}), table.Write(io.Discard, x, "html", table.Style{}))
		}
		acceptable(t, seed, err)
	}
}

func acceptable(t *testing.T, seed int, err error) {
	t.Helper()
	if err != nil && !results.Partial(err) && !errors.Is(err, scaling.ErrRuns) && !errors.Is(err, results.ErrNoResult) {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// hostile makes a run of two processes with rows of any values.
func hostile(t *testing.T, rnd *rand.Rand) *results.Run {
	number := func() uint64 {
		switch rnd.IntN(6) {
		case 0:
			return xtf.Never
		case 1:
			return rnd.Uint64()
		case 2:
			return rnd.Uint64N(1 << 33)
		}
		return rnd.Uint64N(4)
	}
	small := func() uint32 { return uint32(number()) }
	process := func() items {
		x := items{}
		for range rnd.IntN(20) {
			x[xtf.Item(rnd.IntN(int(xtf.NumItems)))] = number()
		}
		return x
	}
	w := &written{nodes: []writtenNode{rootNode(process(), process())}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	for range rnd.IntN(4) {
		n := writtenNode{Interval: xtf.Interval{Parent: rnd.Uint32N(2), Level: 1 + rnd.Uint32N(2), Marker: number(), Line: small(), Form: small(), ExeMax: number(), ExeMin: number(), Flags: small(), FirstBegin: number(), LastEnd: number(), SumMax: number()}, processes: map[uint32]items{}}
		for p := range rnd.Uint32N(3) {
			n.processes[p] = process()
		}
		w.nodes = append(w.nodes, n)
	}
	for p := range 2 {
		w.rows[xtf.Proc(p)] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
			for i := range uint64(rnd.IntN(6)) {
				put(array(xtf.TypeIval), &xtf.Ival{T: i, End: number(), Execution: number(), Node: small()})
				put(array(xtf.TypeWait), &xtf.Wait{T: i, End: number(), RecN: number(), CauseP: small(), Pattern: small(), Node: small(), Path: small()})
				put(array(xtf.TypeCPath), &xtf.CPath{T: i, End: number(), Activity: small(), Node: small(), Path: small()})
				put(array(xtf.TypeCall), &xtf.Call{T: i, End: number(), Parent: number(), Exclusive: number(), Region: small(), Class: small(), Flags: small()})
				put(array(xtf.TypeWaitSum), &xtf.WaitSum{Key: i, Pattern: small(), Count: number(), Ticks: number()})
				put(array(xtf.TypeDelay), &xtf.Delay{Key: i, Pattern: small(), Activity: small(), Short: number(), Long: number()})
				put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(uint8(10+i), 0), Region: small(), Count: number(), Inclusive: number(), Exclusive: number()})
			}
		}
	}
	w.rows[xtf.WholeRun] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		for i := range uint64(rnd.IntN(6)) {
			put(array(xtf.TypePath), &xtf.Path{Key: i, Parent: rnd.Uint32N(uint32(i) + 1), Region: small(), Level: small()})
			put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: i, Pattern: small(), WorstP: small(), Count: number(), Ticks: number(), Worst: number()})
			put(array(xtf.TypeDelayTotal), &xtf.DelayTotal{Key: i, Pattern: small(), Activity: small(), Short: number(), Long: number(), Worst: number(), WorstP: small()})
			put(array(xtf.TypePathTotal), &xtf.PathTotal{Key: i, Activity: small(), WorstP: small(), Ticks: number(), Worst: number()})
			put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(uint8(10+i), 0), Region: small(), Count: number(), Inclusive: number(), Exclusive: number(), Bytes: number()})
		}
	}
	return w.write(t, 2)
}
