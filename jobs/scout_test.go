package jobs_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
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

// waitsFound are the sums of a file.
func waitsFound(t *testing.T, path string, d *trace.Definitions) map[scoutKey]uint64 {
	t.Helper()
	f, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := map[uint32]string{}
	for _, r := range d.Regions {
		names[r.Ref] = d.Text(r.Name)
	}
	var paths []string
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
func withoutProgram(all, found map[scoutKey]uint64) map[scoutKey]uint64 {
	outermost := map[string]bool{}
	for at := range found {
		outermost[at.outermost()] = true
	}
	list := map[scoutKey]uint64{}
	for at, ticks := range all {
		if first := at.outermost(); !outermost[first] {
			at.path = strings.TrimPrefix(at.path, first+"/")
		}
		list[at] = ticks
	}
	return list
}

// differs says why a value is not SCOUT's, "" where nothing is known that explains it. The table in docs/metrics.md has the same reasons.
func differs(archive string, at scoutKey, scout, here uint64) string {
	call := at.path[strings.LastIndexByte(at.path, '/')+1:]
	switch at.pattern {
	case "mpi_barrier_completion", "mpi_nxn_completion":
		return "ours ends at the LEAVE of the call, SCOUT's at its MPI_COLLECTIVE_END"
	case "mpi_barrier_wait", "mpi_wait_nxn", "mpi_latebroadcast":
		if scout == 0 && (call == "MPI_Alltoallv" || call == "MPI_Alltoallw") {
			return "SCOUT leaves these calls out"
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
	for _, path := range archives(t) {
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
			if testing.Short() && announced(t, src) > 40_000 {
				t.Skip("a large one, left out with -short")
			}
			o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), ClampTime: true}
			analyzed(t, 1, o)
			compareWithScout(t, name, want, waitsFound(t, o.Output, src.Definitions()))
		})
	}
}

func compareWithScout(t *testing.T, name string, want, got map[scoutKey]uint64) {
	t.Helper()
	want = withoutProgram(want, got)
	keys := slices.Collect(maps.Keys(want))
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
