package analyze_test

import (
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// variant is a set of options as both sides have it.
type variant struct {
	name  string
	flags interval.Flags
	with  oracle.Options
}

// variants are the choices among definitions for a program of some processes.
// Programs are shorter than 600 ticks.
func variants(processes int) []variant {
	given := ""
	for p := range processes {
		given += fmt.Sprintf("%d,%dticks,%dticks,3,extra,file.c,%d\n%d,20ticks,30ticks,4,inner\n", p, 10+p, 90, 7, p)
	}
	with := oracle.Options{}
	for p := range uint32(processes) {
		with.Sidecar = append(with.Sidecar,
			oracle.SidecarInterval{Process: p, Begin: 10 + uint64(p), End: 90, Key: oracle.Key{ID: 3, Name: "extra", File: "file.c", Line: 7}},
			oracle.SidecarInterval{Process: p, Begin: 20, End: 30, Key: oracle.Key{ID: 4, Name: "inner"}})
	}
	list := []variant{
		{name: "default"},
		{"marker cost", interval.Flags{MarkerCost: "mpi"}, oracle.Options{MarkerAsMPI: true}},
		{"receive point", interval.Flags{RecvPoint: "post"}, oracle.Options{PostedPoint: true}},
		{"init", interval.Flags{Init: "exclude"}, oracle.Options{ExcludeInit: true}},
		{"no markers", interval.Flags{Markers: "none"}, oracle.Options{Forms: map[oracle.Form]bool{}}},
		{"some markers", interval.Flags{Markers: "f2,f4,f7"}, oracle.Options{Forms: map[oracle.Form]bool{oracle.FormPortable: true, oracle.FormPcontrolNumber: true, oracle.FormParameter: true}}},
		{"regions", interval.Flags{Intervals: []string{"region:s*", "region:kernel"}}, oracle.Options{Regions: []string{"s*", "kernel"}}},
		{"fold", interval.Flags{Fold: true, Intervals: []string{"region:*"}}, oracle.Options{FoldRecursed: true, Regions: []string{"*"}}},
		{"slices", interval.Flags{Slice: "37ticks"}, oracle.Options{Slices: slicesOf(37)}},
		{"between", interval.Flags{Between: "coll:Allreduce"}, oracle.Options{Between: "ALLREDUCE"}},
		{"sidecar", interval.Flags{Sidecar: []byte(given)}, with},
		{"slices and sidecar", interval.Flags{Slice: "100ticks", Sidecar: []byte(given), MarkerCost: "mpi"}, oracle.Options{Slices: slicesOf(100), Sidecar: with.Sidecar, MarkerAsMPI: true}},
	}
	return list
}

// slicesOf are the first slices of a width.
func slicesOf(width uint64) []oracle.Slice {
	var list []oracle.Slice
	for k := range uint64(100) {
		list = append(list, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice", Form: oracle.FormDerived}, Begin: k * width, End: (k + 1) * width})
	}
	return list
}

// TestGoldenIntervals compares the golden traces with the oracle, which its tests
// hold against their numbers.
func TestGoldenIntervals(t *testing.T) {
	for i, table := range []string{tracetest.GoldenG1, tracetest.GoldenG2, tracetest.GoldenG3, tracetest.GoldenG4} {
		src, err := tracetest.ParseCalls(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variants(len(src.Definitions().Processes())) {
			if len(v.with.Regions) > 0 || v.with.Between != "" && i != 1 {
				continue // they have none
			}
			t.Run(fmt.Sprintf("G%d %s", i+1, v.name), func(t *testing.T) {
				t.Parallel()
				ranks := []int{1, 2, 3, 7}
				if testing.Short() {
					ranks = ranks[2:3]
				}
				checkAgainstOracle(t, src, analyze.Options{Intervals: v.flags}, v.with, ranks...)
			})
		}
	}
}

// TestRandomIntervals compares small random programs with the oracle.
func TestRandomIntervals(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 30
	}
	const groups = 10
	for group := range uint64(groups) {
		t.Run(fmt.Sprint("group ", group), func(t *testing.T) {
			t.Parallel()
			randomIntervals(t, group, seeds, groups)
		})
	}
}

// randomIntervals compares the programs of every step-th seed from first on.
func randomIntervals(t *testing.T, first, seeds, step uint64) {
	for seed := first; seed < seeds; seed += step {
		text, err := tracetest.RandomScript(seed).Text()
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		src, err := tracetest.Parse(text)
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		ranks := []int{1 + int(seed%4)}
		if seed%11 == 0 {
			ranks = []int{2, 1, 3, 7}
		}
		all := variants(len(src.Definitions().Processes()))
		v := all[0]
		if seed%2 == 1 {
			v = all[seed/2%uint64(len(all))]
		}
		checkAgainstOracle(t, src, analyze.Options{Intervals: v.flags}, v.with, ranks...)
		if t.Failed() {
			t.Fatalf("program %d, %s:\n%s", seed, v.name, shown(text))
		}
	}
}

// TestProgramIntervals compares generated programs with the oracle, on numbers of
// ranks that divide the locations in all ways.
func TestProgramIntervals(t *testing.T) {
	for _, spec := range jobtest.Programs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			ranks := []int{1, 2, 3, 7}
			if testing.Short() {
				ranks = ranks[2:3]
			}
			checkAgainstOracle(t, jobtest.Generated(t, spec), analyze.Options{}, oracle.Options{}, ranks...)
			v := interval.Flags{Slice: "1ms", Intervals: []string{"region:timestep"}, Init: "exclude"}
			with := oracle.Options{Regions: []string{"timestep"}, ExcludeInit: true}
			for k := range uint64(2000) {
				with.Slices = append(with.Slices, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice"}, Begin: k * 1e6, End: (k + 1) * 1e6})
			}
			if !testing.Short() {
				checkAgainstOracle(t, jobtest.Generated(t, spec), analyze.Options{Intervals: v}, with, 3)
			}
		})
	}
}

// TestPlantedIntervals compares programs with known results with the oracle, which
// finds them.
func TestPlantedIntervals(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for _, p := range tracetest.Planted(seed) {
			t.Run(fmt.Sprint(p.Name, " ", seed), func(t *testing.T) {
				t.Parallel()
				src, err := p.Script.Source()
				if err != nil {
					t.Fatal(err)
				}
				checkAgainstOracle(t, src, analyze.Options{}, oracle.Options{}, 3, 1, 7)
			})
		}
	}
}

// TestPathBetweenInitAndFinalize has a process that computes longest and calls nothing between MPI_Init and MPI_Finalize: without both the
// critical path is still on it alone.
func TestPathBetweenInitAndFinalize(t *testing.T) {
	s := &tracetest.Script{Regions: []tracetest.ScriptRegion{{Name: "main"}}}
	for _, own := range [][]tracetest.Step{{{Ticks: 10}, {Call: "Send", Peer: 1, Ticks: 1}}, {{Call: "Recv", Ticks: 1}}, {{Ticks: 100}}} {
		steps := []tracetest.Step{{Enter: "main"}, {Call: "Init", As: "Barrier", Ticks: 5}}
		s.Steps = append(s.Steps, append(append(steps, own...), tracetest.Step{Call: "Finalize", Ticks: 5}, tracetest.Step{Leave: "main"}))
	}
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	r, err := oracle.Analyze(src, oracle.Options{ExcludeInit: true})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Locations[2].Components[0][oracle.CriticalCPU]; c != 100 {
		t.Errorf("%d of the critical path on the last process, want 100", c)
	}
	checkAgainstOracle(t, src, analyze.Options{Intervals: interval.Flags{Init: "exclude"}}, oracle.Options{ExcludeInit: true}, 1, 2)
}
