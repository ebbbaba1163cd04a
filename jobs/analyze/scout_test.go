package analyze_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// scoutKey is waits of one pattern, by Scalasca's name, on one call path of one process.
type scoutKey struct {
	pattern, path string
	process       uint32
}

func (k scoutKey) compare(l scoutKey) int {
	return cmp.Or(cmp.Compare(k.pattern, l.pattern), cmp.Compare(k.path, l.path), cmp.Compare(k.process, l.process))
}

// scoutFigures reads what SCOUT found, in ticks, by archive; testdata/README.md has the form.
func scoutFigures(t *testing.T) map[string]map[scoutKey]uint64 {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "scout.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[scoutKey]uint64{}
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		part := strings.Split(lines.Text(), "\t")
		if len(part) < 4 {
			t.Fatalf("line %q", lines.Text())
		}
		if all[part[0]] == nil {
			all[part[0]] = map[scoutKey]uint64{}
		}
		for _, x := range part[3:] {
			process, ticks, _ := strings.Cut(x, ":")
			p, err := strconv.ParseUint(process, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			if all[part[0]][scoutKey{part[1], part[2], uint32(p)}], err = strconv.ParseUint(ticks, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// scoutName is Scalasca's name of each pattern.
var scoutName = [...]string{
	xtf.WaitLateSender: "mpi_latesender", xtf.WaitLateReceiver: "mpi_latereceiver", xtf.WaitBarrier: "mpi_barrier_wait",
	xtf.WaitBarrierCompletion: "mpi_barrier_completion", xtf.WaitNxN: "mpi_wait_nxn", xtf.WaitNxNCompletion: "mpi_nxn_completion",
	xtf.WaitLateBroadcast: "mpi_latebroadcast", xtf.WaitEarlyReduce: "mpi_earlyreduce", xtf.WaitEarlyScan: "mpi_earlyscan",
}

// pathNames are the call paths of a file, with their regions separated by slashes.
func pathNames(t *testing.T, f *xtf.File, d *trace.Definitions) (paths []string) {
	t.Helper()
	names := map[uint32]string{}
	for _, r := range d.Regions {
		names[r.Ref] = d.Text(r.Name)
	}
	rowsOf(t, f, xtf.WholeRun, xtf.TypePath, func(_ uint64, row []byte) {
		var x xtf.Path
		x.Load(row)
		name := ""
		switch {
		case len(paths) == 0:
		case x.Parent == 0:
			name = names[x.Region]
		default:
			name = paths[x.Parent] + "/" + names[x.Region]
		}
		paths = append(paths, name)
	})
	return paths
}

// waitsFound are the sums of a file.
func waitsFound(t *testing.T, f *xtf.File, d *trace.Definitions) map[scoutKey]uint64 {
	t.Helper()
	paths := pathNames(t, f, d)
	found := map[scoutKey]uint64{}
	for p := range trace.P(d.NumLocations()) {
		process, _ := d.Process(p)
		rowsOf(t, f, xtf.Proc(p), xtf.TypeWaitSum, func(_ uint64, row []byte) {
			var x xtf.WaitSum
			x.Load(row)
			if x.Pattern&xtf.WaitPatternMask == xtf.WaitLateProgress {
				return // SCOUT has none
			}
			at := scoutKey{scoutName[x.Pattern&xtf.WaitPatternMask], paths[uint32(x.Key)], process}
			found[at] += x.Ticks
			switch x.Pattern & xtf.WaitOrderMask {
			case xtf.WaitOrderSame:
				at.pattern = "mpi_lswo_same"
				found[at] += x.Ticks
			case xtf.WaitOrderDifferent:
				at.pattern = "mpi_lswo_different"
				found[at] += x.Ticks
			}
		})
	}
	return found
}

// outermost is the first region of a call path.
func (k scoutKey) outermost() string { name, _, _ := strings.Cut(k.path, "/"); return name }

// withoutProgram leaves out the program around all calls where found has none: SCOUT makes a region of the record that a program begins.
func withoutProgram[V any](all map[scoutKey]uint64, found map[scoutKey]V) map[scoutKey]uint64 {
	outermost := map[string]bool{}
	for at := range found {
		outermost[at.outermost()] = true
	}
	list := map[scoutKey]uint64{}
	for at, ticks := range all {
		if first := at.outermost(); !outermost[first] {
			at.path = strings.TrimPrefix(strings.TrimPrefix(at.path, first), "/")
		}
		list[at] = ticks
	}
	return list
}

// differs says why a value is not SCOUT's, "" where nothing is known that explains it. The table in docs/metrics.md has the same differences.
func differs(archive string, at scoutKey, scout, here uint64) string {
	call := at.path[strings.LastIndexByte(at.path, '/')+1:]
	switch at.pattern {
	case "mpi_barrier_completion", "mpi_nxn_completion":
		return "ours ends at the LEAVE of the call, SCOUT's at its MPI_COLLECTIVE_END"
	case "mpi_barrier_wait", "mpi_wait_nxn", "mpi_latebroadcast":
		if scout == 0 && (call == "MPI_Alltoallv" || call == "MPI_Alltoallw") {
			return "SCOUT leaves these calls out"
		}
		if scout == 0 && strings.Contains("MPI_Comm_dup MPI_Comm_split MPI_Comm_create MPI_Cart_create MPI_Cart_sub", call) {
			return "SCOUT has no waits in calls that make communicators"
		}
		if here > scout && here-scout <= 1000 { // ticks of 1 ns: what lies between the two records
			return "clocks contradict: ours is cut at the LEAVE, SCOUT's at MPI_COLLECTIVE_END"
		}
	case "mpi_lswo_same", "mpi_lswo_different":
		if call == "MPI_Waitall" && here < scout {
			return "a call that completes several receives has no wrong order"
		}
		return scoutOrders[scoutPlace{archive, at.process}]
	}
	return ""
}

// scoutPlace is a process of an archive.
type scoutPlace struct {
	archive string
	process uint32
}

// scoutOrders are the processes with a few late senders whose order SCOUT sees in another way. In sweep3d-4, process 1, the wait
// [954472098, 954663214) ends with a message of process 0; one of process 3, received later, was sent at 954671078 by the enter of
// MPI_Send, but by the records MPI_SEND before the other: at 954682655, 369 ticks before 954683024.
var scoutOrders = map[scoutPlace]string{
	{"lammps-melt-16", 2}: firstOfSeveral, {"lammps-melt-16", 4}: firstOfSeveral, {"lammps-pppm-8", 6}: firstOfSeveral,
	{"lammps-pppm-8", 0}: sendRecord, {"npb-bt.S-9", 8}: sendRecord, {"npb-cg.S-16", 1}: sendRecord, {"npb-cg.S-16", 2}: sendRecord,
	{"npb-cg.S-16", 4}: sendRecord, {"sweep3d-16", 0}: sendRecord, {"sweep3d-4", 1}: sendRecord,
}

const (
	firstOfSeveral = "where one message shows several waits to be in the wrong order, SCOUT puts all of them on the call path of the first"
	sendRecord     = "SCOUT orders messages by the records of their sends, we by the begin of the calls that send"
)

// TestScout compares the waits of each real archive with those that SCOUT of Scalasca 2.5 found, by pattern, call path and process. All
// are equal to the tick but those that differs explains.
func TestScout(t *testing.T) {
	figures := scoutFigures(t)
	for _, path := range jobtest.Archives(t) {
		name := filepath.Base(filepath.Dir(path))
		want, ok := figures[name]
		if !ok {
			continue // SCOUT does not read it, or it has no MPI
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() && jobtest.Announced(t, src) > 40_000 {
				t.Skip("a large one, left out with -short")
			}
			f := openBytes(t, archiveFile(t, path, src))
			compareWithScout(t, name, want, waitsFound(t, f, src.Definitions()))
			causesWithScout(t, f, src, want)
		})
	}
}

func compareWithScout(t *testing.T, name string, want, got map[scoutKey]uint64) {
	t.Helper()
	want = withoutProgram(want, got)
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(want)), func(at scoutKey) bool { return !strings.HasPrefix(at.pattern, "mpi_") })
	for at := range got {
		if _, ok := want[at]; !ok {
			keys = append(keys, at)
		}
	}
	slices.SortFunc(keys, scoutKey.compare)
	equal, explained := 0, map[string]int{}
	for _, at := range keys {
		w, g := want[at], got[at]
		if max(w, g)-min(w, g) <= 2 { // SCOUT adds up seconds in floating point
			equal++
		} else if why := differs(name, at, w, g); why != "" {
			explained[why]++
		} else {
			t.Errorf("%s, process %d, %s: Scalasca %d, here %d ticks", at.pattern, at.process, at.path, w, g)
		}
	}
	t.Logf("%d values equal", equal)
	for _, why := range slices.Sorted(maps.Keys(explained)) {
		t.Logf("%d values differ: %s", explained[why], why)
	}
	if equal == 0 {
		t.Error("no value is equal")
	}
}

// delayNames are the patterns that SCOUT knows delay costs of.
var delayNames = map[uint32]string{
	xtf.WaitLateSender: "delay_latesender", xtf.WaitLateReceiver: "delay_latereceiver", xtf.WaitBarrier: "delay_barrier",
	xtf.WaitNxN: "delay_n2n", xtf.WaitLateBroadcast: "delay_12n",
}

// causesWithScout compares the critical path and delay costs. Those of SCOUT have to follow by its rules from the calls and waits found here;
// then nothing but the rules makes the difference. Of the path each rule is put in place of ours in turn, and the one from which on a value
// is SCOUT's is its reason; of the costs each of ours in place of SCOUT's, until a value is ours.
func causesWithScout(t *testing.T, f *xtf.File, src trace.Source, all map[scoutKey]uint64) {
	t.Helper()
	x := newScoutRules(t, f, src)
	path, costs := map[scoutTime]float64{}, map[scoutTime]float64{}
	first, last, process, deals := xtf.Never, uint64(0), 0, map[uint32]int{}
	for p := range x.processes {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCPath, func(_ uint64, row []byte) {
			var r xtf.CPath
			r.Load(row)
			path[scoutTime{"critical_path", r.Path, p}] += float64(r.End - r.T)
			if first = min(first, r.T); r.End > last {
				last, process = r.End, p
			}
		})
		rowsOf(t, f, xtf.Proc(p), xtf.TypeWait, func(_ uint64, row []byte) {
			var r xtf.Wait
			if r.Load(row); r.CauseP != trace.Undefined {
				rank, _ := src.Definitions().Process(trace.P(r.CauseP))
				deals[rank]++
			}
		})
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDelay, func(_ uint64, row []byte) {
			var r xtf.Delay
			r.Load(row)
			if pattern := delayNames[r.Pattern]; pattern != "" {
				costs[scoutTime{pattern, uint32(r.Key), p}] += float64(r.Short)
				costs[scoutTime{pattern + "_longterm", uint32(r.Key), p}] += float64(r.Long)
			}
		})
	}
	jumps, end := x.pathJumps(t, f), x.last()
	left := xtf.Never // when the first process leaves MPI_Finalize
	for _, s := range x.processes {
		left = min(left, x.call(s.points[len(s.points)-1]).End)
	}
	if left >= x.call(end).T && process != end.process {
		jumps[process] = append(jumps[process], scoutJump{x.call(end).T, end.process})
	}
	if ours := x.follow(jumps, process, last, func(int) uint64 { return first }); !maps.Equal(ours, path) {
		t.Errorf("the critical path does not follow from the waits: %v, found %v", ours, path)
	}
	scout := func(jumps [][]scoutJump) map[scoutTime]float64 {
		return x.follow(jumps, end.process, x.call(end).T, x.begin)
	}
	known := x.reductions(x.pathJumps(t, f, xtf.WaitLateProgress, xtf.WaitEarlyScan))
	steps := []struct {
		why string
		got map[scoutTime]float64
	}{
		{"SCOUT's path begins when all are in MPI_Init, and ends before MPI_Finalize of the process that comes last", scout(jumps)},
		{"SCOUT's path goes to the last member from all of a reduction that none leaves before", scout(x.reductions(jumps))},
		{"SCOUT does not know late progress, and its path stays in scans", scout(known)},
		{"SCOUT's path stays in Alltoallv, Alltoallw and calls that make communicators, and where clocks contradict", scout(x.pointsOnly(known))},
		{"clocks contradict: SCOUT's path goes to the call that sends", x.critical()},
	}
	x.delays()
	rules := x.keyed(src.Definitions(), x.found, steps[len(steps)-1].got)
	names, costSteps := []string{"SCOUT"}, []map[scoutKey]float64{rules}
	for _, s := range x.costSteps(t, f) {
		names, costSteps = append(names, s.rule), append(costSteps, x.keyed(src.Definitions(), s.found))
	}
	var different []scoutKey
	want := withoutProgram(all, rules)
	ours := x.keyed(src.Definitions(), path, costs)
	stages := make([]map[scoutKey]float64, len(steps))
	for i := range steps {
		stages[i] = x.keyed(src.Definitions(), steps[i].got)
	}
	for at := range maps.Keys(rules) {
		want[at] += 0
	}
	for at := range maps.Keys(ours) {
		want[at] += 0
	}
	equal, same, explained := 0, 0, map[string]int{}
	for at, ticks := range want {
		off := func(x map[scoutKey]float64) float64 { return math.Abs(x[at] - float64(ticks)) }
		switch {
		case strings.HasPrefix(at.pattern, "mpi_"):
			continue
		case off(rules) > max(16, 1e-5*float64(ticks)): // SCOUT adds up seconds in floating point, and passes their quotients on
			t.Errorf("%s, process %d, %s: Scalasca %d, by its rules %.1f ticks", at.pattern, at.process, at.path, ticks, rules[at])
		case off(rules) <= 2:
			same++
		}
		switch {
		case off(ours) <= 2:
			equal++
		case at.pattern == "critical_path":
			k := len(steps) - 1
			for k > 0 && math.Abs(stages[k-1][at]-float64(ticks)) <= 2 {
				k--
			}
			if k == len(steps)-1 && !x.contradicts() {
				t.Errorf("%s, process %d, %s: Scalasca %d, here %.0f ticks", at.pattern, at.process, at.path, ticks, ours[at])
			}
			explained[steps[k].why]++
		default:
			different = append(different, at)
		}
	}
	most, moved := costReasons(t, different, costSteps, names, ours, deals)
	for _, name := range names[1:] {
		t.Logf("costs: %d values moved, %d most: %s", moved[name], most[name], name)
	}
	t.Logf("path and costs: %d values by SCOUT's rules", same)
	t.Logf("path and costs: %d values equal", equal)
	for _, why := range slices.Sorted(maps.Keys(explained)) {
		t.Logf("path and costs: %d values differ: %s", explained[why], why)
	}
	compareBlame(t, want, ours)
}

// compareBlame tells the sums of costs, and how often both see the largest short-term cost on the same process and call path.
func compareBlame(t *testing.T, want map[scoutKey]uint64, ours map[scoutKey]float64) {
	t.Helper()
	for _, pattern := range slices.Sorted(maps.Values(delayNames)) {
		var theirs, own [2]float64
		var most, mostOwn scoutKey
		for _, at := range slices.SortedFunc(maps.Keys(want), scoutKey.compare) {
			switch at.pattern {
			case pattern:
				theirs[0], own[0] = theirs[0]+float64(want[at]), own[0]+ours[at]
				if want[at] > want[most] {
					most = at
				}
				if ours[at] > ours[mostOwn] {
					mostOwn = at
				}
			case pattern + "_longterm":
				theirs[1], own[1] = theirs[1]+float64(want[at]), own[1]+ours[at]
			}
		}
		if own[0] > 0 {
			t.Logf("%s: SCOUT %.0f and %.0f ticks, here %.0f and %.0f, most by the same: %t", pattern, theirs[0], theirs[1], own[0], own[1], most == mostOwn)
		}
	}
}
