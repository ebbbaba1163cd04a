package causes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// found is what the passes find, of all ranks.
type found struct {
	mu      sync.Mutex
	costs   map[costName][costKinds]uint64
	totals  []totals.Row
	report  DelayReport
	paths   map[trace.P][]xtf.CPath
	lengths []totals.Row
	path    PathReport
}

// analyze runs both passes on some ranks.
func (p *program) analyze(t *testing.T, ranks int) *found {
	t.Helper()
	f := &found{costs: map[costName][costKinds]uint64{}, paths: map[trace.P][]xtf.CPath{}}
	defs := p.definitions()
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		union, own := p.paths()
		slabs, did, alive := false, 0.0, 0
		run := p.run(t, mpi.Observe(c, func(x mpi.Note) { // whoever others wait for has told of its slabs by then
			if slabs && x.Kind == mpi.OpSend && (x.Tag == tagCarried && math.Abs(did-0.65) > 1e-9 || x.Tag == tagPath && x.Sent > 0 && alive == 0) {
				t.Errorf("rank %d hands on, and told of %g of its slabs, %d times", c.Rank(), did, alive)
			}
		}), defs, union, own)
		slabs = run.parcels.end > run.parcels.own
		run.Did = func(part float64) error {
			did += part
			alive++
			return nil
		}
		way, err := FindPath(run, p.extent, func(at trace.P, row *xtf.CPath) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.paths[at] = append(f.paths[at], *row)
			return nil
		})
		if err != nil {
			return err
		}
		var before costName
		rows, rep, err := NewDelays(run, way).Costs(func(at trace.P, row *xtf.Delay) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			name := costName{at, row.Key, row.Pattern, row.Activity}
			if _, twice := f.costs[name]; twice || name.p < before.p {
				t.Errorf("row %v twice, or after %v", name, before)
			}
			before = name
			f.costs[name] = [costKinds]uint64{row.Short, row.Long}
			return nil
		})
		if err != nil {
			return err
		}
		if slabs != (math.Abs(did-0.8) < 1e-9) {
			t.Errorf("rank %d has done %g of the pass over its slabs", c.Rank(), did)
		}
		lengths, path, err := way.Totals()
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.report.Ticks += rep.Ticks
		f.report.Dealt += rep.Dealt
		f.report.Strict = rep.Strict
		f.report.Reversed += rep.Reversed
		f.path.Jumps += path.Jumps
		f.path.Messages += path.Messages
		if c.Rank() == 0 {
			f.totals, f.lengths, f.path.Length = rows, lengths, path.Length
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func programs(t *testing.T) int {
	if testing.Short() {
		return 40
	}
	return 120
}

// TestTwin compares random programs with a computation tick by tick, for several
// numbers of ranks.
func TestTwin(t *testing.T) {
	var strict, reversed, long, jumps, meetings int
	for seed := range programs(t) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		p := randomProgram(r, 1+r.IntN(6), 20+r.Uint64N(150))
		if seed%2 > 0 {
			p.randomEnds(r)
		}
		union, own := p.paths()
		x := p.twin(union, own, false)
		want, ok := x.delays()
		if !ok {
			x = p.twin(union, own, true)
			if want, ok = x.delays(); !ok {
				t.Fatalf("program %d: a circle in strict order", seed)
			}
			strict++
		}
		for _, ranks := range []int{1, []int{2, 3, 7}[seed%3]} {
			p.slabs = everyTick([]uint64{1000, 40, 7}[(seed+ranks)%3], p.last)
			got := p.analyze(t, ranks)
			if d := cmp.Diff(want, got.costs, cmp.AllowUnexported(costName{})); d != "" {
				t.Fatalf("program %d, %d ranks: costs (-want +got):\n%s", seed, ranks, d)
			}
			if got.report.Ticks != got.report.Dealt || got.report.Strict != x.strict || got.report.Reversed != x.reversed {
				t.Fatalf("program %d, %d ranks: %+v, want %d reversed", seed, ranks, got.report, x.reversed)
			}
			meetings += x.meetings
			p.checkTotals(t, got)
			p.checkPath(t, x, got)
			if got.report.Reversed > 0 {
				reversed++
			}
			for _, c := range got.costs {
				if c[longTerm] > 0 {
					long++
				}
			}
			jumps += int(got.path.Jumps)
		}
	}
	if t.Logf("strict %d, reversed %d, long-term costs %d, jumps %d, meetings %d", strict, reversed, long, jumps, meetings); strict*reversed*long*jumps*meetings == 0 {
		t.Error("the programs miss a case")
	}
}

// checkTotals compares the totals with sums of the rows.
func (p *program) checkTotals(t *testing.T, got *found) {
	t.Helper()
	var want []totals.Row
	for name, c := range got.costs {
		i := slices.IndexFunc(want, func(x totals.Row) bool { return x.Name == name.name() })
		if i < 0 {
			i = len(want)
			want = append(want, totals.Row{Name: name.name(), WorstP: trace.Undefined})
		}
		x := &want[i]
		x.Sum[0] += c[shortTerm]
		x.Sum[1] += c[longTerm]
		if sum := c[shortTerm] + c[longTerm]; sum > x.Worst || sum == x.Worst && uint32(name.p) < x.WorstP {
			x.Worst, x.WorstP = sum, uint32(name.p)
		}
	}
	slices.SortFunc(want, func(a, b totals.Row) int { return a.Compare(b.Name) })
	if d := cmp.Diff(want, got.totals, equateEmpty); d != "" {
		t.Fatalf("totals (-want +got):\n%s", d)
	}
}

var equateEmpty = cmp.Transformer("empty", func(t []totals.Row) []totals.Row { return append([]totals.Row{}, t...) })

// checkPath compares the critical path tick by tick.
func (p *program) checkPath(t *testing.T, x *twin, got *found) {
	t.Helper()
	if got.path.Length != p.last {
		t.Fatalf("the critical path has %d ticks of %d", got.path.Length, p.last)
	}
	for i, want := range x.critical() {
		var ticks []xtf.CPath
		for _, row := range got.paths[trace.P(i)] {
			if n := len(ticks); n > 0 && ticks[n-1].End > row.T {
				t.Fatalf("location %d: %+v begins before the end of the piece before", i, row)
			}
			for u := row.T; u < row.End; u++ {
				one := row
				one.T, one.End = u, u+1
				ticks = append(ticks, one)
			}
		}
		slices.SortFunc(want, func(a, b xtf.CPath) int { return int(a.T) - int(b.T) })
		if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(ticks)); d != "" {
			t.Fatalf("critical path of location %d (-want +got):\n%s", i, d)
		}
	}
}
