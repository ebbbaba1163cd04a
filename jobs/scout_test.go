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

// TestScout compares the waits of each real archive with those that SCOUT of Scalasca 2.5 found, by pattern, call path and process.
func TestScout(t *testing.T) {
	figures := scoutFigures(t)
	for _, path := range archives(t) {
		name := filepath.Base(filepath.Dir(path))
		want, ok := figures[name]
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), ClampTime: true}
			analyzed(t, 1, o)
			got := waitsFound(t, o.Output, src.Definitions())
			want = withoutProgram(want, got)
			keys := slices.SortedFunc(maps.Keys(want), scoutKey.compare)
			for at := range got {
				if _, ok := want[at]; !ok {
					keys = append(keys, at)
				}
			}
			for _, at := range keys {
				if w, g := want[at], got[at]; max(w, g)-min(w, g) > 1 {
					t.Errorf("%s, process %d, %s: Scalasca %d, here %d ticks", at.pattern, at.process, at.path, w, g)
				}
			}
		})
	}
}
