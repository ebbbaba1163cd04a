package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// reportJSON is what tests read of a report.
type reportJSON struct {
	Schema      string `json:"schema"`
	Processes   int    `json:"processes"`
	Locations   int    `json:"locations"`
	Events      uint64 `json:"events"`
	Diagnostics []struct {
		Code      string `json:"code"`
		Severity  string `json:"severity"`
		Count     uint64 `json:"count"`
		Locations uint64 `json:"locations"`
		First     []struct {
			Location uint64 `json:"location"`
			Text     string `json:"text"`
		} `json:"first"`
	} `json:"diagnostics"`
	Summary struct {
		Resolution uint64         `json:"resolution"`
		Partial    bool           `json:"partial"`
		Processors uint64         `json:"processors"`
		Efficiency *float64       `json:"efficiency"`
		Ticks      map[string]any `json:"ticks"`
		Stats      map[string]struct {
			Sum uint64    `json:"sum"`
			Min [2]uint64 `json:"min"`
			Max [2]uint64 `json:"max"`
		} `json:"stats"`
	} `json:"summary"`
	Profile *struct {
		Ranks     string `json:"ranks"`
		Processes int    `json:"processes"`
		Regions   []struct {
			Region    uint32 `json:"region"`
			Name      string `json:"name"`
			Calls     uint64 `json:"calls"`
			Inclusive uint64 `json:"inclusive"`
			Exclusive uint64 `json:"exclusive"`
		} `json:"regions"`
	} `json:"profile"`
	Comm *struct {
		Messages uint64 `json:"messages"`
		Matrix   []struct {
			From          uint32 `json:"from"`
			To            uint32 `json:"to"`
			Messages      uint64 `json:"messages"`
			Bytes         uint64 `json:"bytes"`
			Received      uint64 `json:"received"`
			ReceivedBytes uint64 `json:"received_bytes"`
		} `json:"matrix"`
		Communicators []struct {
			Ref       uint32 `json:"communicator"`
			Instances uint64 `json:"collectives"`
		} `json:"communicators"`
	} `json:"comm"`
	CCG *struct {
		Events    uint64   `json:"events"`
		Instances uint64   `json:"instances"`
		Nodes     uint64   `json:"nodes"`
		Locations uint64   `json:"locations"`
		NodeRatio *float64 `json:"r_n"`
		Bytes     uint64   `json:"bytes"`
	} `json:"ccg"`
	Lost []struct{} `json:"lost"`
}

// programs are the generated programs whose facts reports have to tell.
var programs = []string{
	"stencil:procs=6,events=6k,jitter=20,imbalance=40,seed=3",
	"ring:procs=3,events=3k,seed=1",
	"wavefront:procs=4,threads=2,events=6k,jitter=10,seed=5",
	"masterworker:procs=5,events=4k,seed=2",
	"irregular:procs=4,events=8k,seed=7,io,metrics,parameters",
	"stencil:procs=4,events=4k,offset=50000,drift=100,seed=4",
	"irregular:procs=5,threads=2,events=8k,seed=9,broken=stray-leave+open-call+unmatched-send+unmatched-recv+unknown-request+open-request+bytes-differ",
	"stencil:procs=4,events=4k,seed=6,broken=short-collective+dangling-region+dangling-comm+empty-location",
}

func TestReportKnownAnswers(t *testing.T) {
	t.Parallel()
	for _, spec := range programs {
		t.Run(spec, func(t *testing.T) {
			o, err := synthetic.ParseOptions(spec)
			if err != nil {
				t.Fatal(err)
			}
			src, err := synthetic.New(o)
			if err != nil {
				t.Fatal(err)
			}
			dir := analysed(t, spec)
			got := jsonOf[reportJSON](t, "report", filepath.Join(dir, "run.xtf"), "summary", "profile", "comm", "ccg", "diagnostics", "--init", "include", "--io-productive")
			want, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			compareSummary(t, &got, want)
			compareProfile(t, src.Definitions(), &got, want)
			compareComm(t, src.Definitions(), &got, want)
			compareProblems(t, &got, want.Diagnostics)
			if got.CCG.Events != got.Events || got.CCG.Locations != uint64(got.Locations) || got.CCG.Nodes == 0 {
				t.Errorf("call graph: %+v", got.CCG)
			}
		})
	}
}

func compareSummary(t *testing.T, got *reportJSON, f *oracle.Result) {
	t.Helper()
	all := f.Characteristics(0, oracle.Rules{})
	if got.Schema != "coppice.report/1" || got.Events != all.Sum[oracle.Events] || got.Locations != len(f.Locations) {
		t.Errorf("%s: %d events of %d locations, want %d of %d", got.Schema, got.Events, got.Locations, all.Sum[oracle.Events], len(f.Locations))
	}
	var most uint64
	for _, p := range f.Processes {
		most = max(most, p.Components[0][oracle.CPUTime])
	}
	want := map[string]uint64{
		"execution": all.Execution, "total": got.Summary.Processors * all.Execution, "load_imbalance": got.Summary.Processors*most - all.Sum[oracle.CPUTime],
	}
	for _, item := range []oracle.Item{
		oracle.CPUTime, oracle.MPITime, oracle.IOTime, oracle.P2PTime, oracle.CollTime, oracle.NxNTime, oracle.BarrierTime, oracle.MgmtTime,
		oracle.StartTime, oracle.SendRecv, oracle.PotentialSync, oracle.Variation,
	} {
		want[string(item)] = all.Sum[item]
	}
	for key, ticks := range want {
		if v, ok := got.Summary.Ticks[key].(float64); !ok || uint64(v) != ticks {
			t.Errorf("summary %s is %v, want %d", key, got.Summary.Ticks[key], ticks)
		}
	}
	if s := got.Summary.Stats["time"]; s.Sum != all.Sum[oracle.Time] || s.Max[0] != all.Execution {
		t.Errorf("time over processes: %+v, want sum %d, max %d", s, all.Sum[oracle.Time], all.Execution)
	}
	efficiency, _ := all.Efficiency.Float64()
	if e := got.Summary.Efficiency; e == nil || math.Abs(*e-efficiency) > 1e-12 {
		t.Errorf("efficiency %v, want %v", e, efficiency)
	}
}

type profileLine struct {
	Calls, Inclusive, Exclusive uint64
}

func compareProfile(t *testing.T, d *trace.Definitions, got *reportJSON, f *oracle.Result) {
	t.Helper()
	want := map[uint32]profileLine{}
	for _, x := range f.Profiles {
		ref := x.Region
		if d.Region(ref) == nil {
			ref = trace.Undefined
		}
		l := want[ref]
		want[ref] = profileLine{l.Calls + x.Calls, l.Inclusive + x.Inclusive, l.Exclusive + x.Exclusive}
	}
	lines := map[uint32]profileLine{}
	for _, x := range got.Profile.Regions {
		lines[x.Region] = profileLine{x.Calls, x.Inclusive, x.Exclusive}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("profile by region (-want +got):\n%s", diff)
	}
}

func compareComm(t *testing.T, d *trace.Definitions, got *reportJSON, f *oracle.Result) {
	t.Helper()
	var matrix []oracle.Traffic
	for _, x := range got.Comm.Matrix {
		matrix = append(matrix, oracle.Traffic{From: x.From, To: x.To, Count: x.Messages, Bytes: x.Bytes, Received: x.Received, ReceivedBytes: x.ReceivedBytes})
	}
	if diff := cmp.Diff(f.Messages, matrix); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
	var colls []oracle.Instances
	for _, x := range got.Comm.Communicators {
		if x.Instances > 0 {
			colls = append(colls, oracle.Instances{Comm: x.Ref, Count: x.Instances})
		}
	}
	if diff := cmp.Diff(f.Collectives, colls); diff != "" {
		t.Errorf("collectives (-want +got):\n%s", diff)
	}
}

// untold reports whether a diagnostic counts what no analysis reads: no fault of the trace.
func untold(code string) bool {
	return strings.HasPrefix(code, "not-analysed:") || code == trace.DiagNoCollRecord.String() || code == trace.DiagNoRecord.String()
}

func compareProblems(t *testing.T, got *reportJSON, want map[trace.Code]uint64) {
	t.Helper()
	counts := map[string]uint64{}
	for _, x := range got.Diagnostics {
		if untold(x.Code) {
			continue
		}
		counts[x.Code] = x.Count
		if x.Locations > 0 && len(x.First) == 0 {
			t.Errorf("%s: no first occurrence", x.Code)
		}
	}
	names := map[string]uint64{}
	for c, n := range want {
		names[c.String()] = n
	}
	if diff := cmp.Diff(names, counts); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

// TestReportRanks adds the profiles of halves of the processes.
func TestReportRanks(t *testing.T) {
	t.Parallel()
	run := filepath.Join(analysed(t, programs[0]), "run.xtf")
	all := jsonOf[reportJSON](t, "report", run, "profile")
	low := jsonOf[reportJSON](t, "report", run, "profile", "--ranks", "0-2")
	high := jsonOf[reportJSON](t, "report", run, "profile", "--ranks", "5,3-4")
	sum := map[uint32]profileLine{}
	for _, part := range []reportJSON{low, high} {
		if part.Profile.Processes != 3 {
			t.Errorf("ranks %s: %d processes", part.Profile.Ranks, part.Profile.Processes)
		}
		for _, x := range part.Profile.Regions {
			l := sum[x.Region]
			sum[x.Region] = profileLine{l.Calls + x.Calls, l.Inclusive + x.Inclusive, l.Exclusive + x.Exclusive}
		}
	}
	for _, x := range all.Profile.Regions {
		if (sum[x.Region] != profileLine{x.Calls, x.Inclusive, x.Exclusive}) {
			t.Errorf("%s: halves add up to %+v, all is %+v", x.Name, sum[x.Region], x)
		}
	}
}

// sizes in bytes change with every improvement of an encoding.
var (
	sizeInJSON = regexp.MustCompile(`("bytes": )\d+(,\s+"id": )"[0-9a-f]+"`)
	hashInJSON = regexp.MustCompile(`"[0-9a-f]{64}"`)
	sizeInText = regexp.MustCompile(`  file .*`)
)

func TestReportGolden(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, spec string }{
		{"stencil", "stencil:procs=4,events=2k,jitter=20,imbalance=50,seed=1"},
		{"irregular", "irregular:procs=3,threads=2,events=3k,seed=2,broken=stray-leave+unmatched-send+short-collective"},
	} {
		run := filepath.Join(analysed(t, x.spec), "run.xtf")
		sections := []string{"report", run, "summary", "profile", "comm", "diagnostics"}
		text := sizeInText.ReplaceAllString(must(t, sections...), "  file SIZE")
		text = strings.ReplaceAll(text, run, "run.xtf")
		golden(t, "report-"+x.name+".txt", text)
		doc := must(t, append(sections, "--format", "json")...)
		doc = sizeInJSON.ReplaceAllString(doc, `${1}0${2}"ID"`)
		doc = strings.ReplaceAll(doc, run, "run.xtf")
		golden(t, "report-"+x.name+".json", hashInJSON.ReplaceAllString(doc, `"HASH"`))
		text = must(t, "report", run, "paths", "histogram", "--region", "MPI_Allreduce", "--limit", "12")
		golden(t, "paths-"+x.name+".txt", sizeInText.ReplaceAllString(text, "  file SIZE"))
	}
}

// TestReportText holds what every text must: no escape codes without being
// asked, no tabs, no trailing space.
func TestReportText(t *testing.T) {
	run := filepath.Join(analysed(t, programs[0]), "run.xtf")
	all := []string{"report", run, "summary", "profile", "paths", "histogram", "comm", "ccg", "diagnostics", "--region", "MPI_Allreduce"}
	plain := must(t, all...)
	if strings.ContainsAny(plain, "\x1b\t") {
		t.Error("escape codes or tabs through a pipe")
	}
	for i, line := range strings.Split(plain, "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line %d ends in space: %q", i+1, line)
		}
	}
	if out := must(t, append(all, "--color", "never")...); out != plain {
		t.Error("--color never changes a text without colours")
	}
	if out := must(t, append(all, "--color", "always")...); !strings.Contains(out, "\x1b[") {
		t.Error("--color always has no colours")
	}
	t.Setenv("NO_COLOR", "1")
	if out := must(t, all...); out != plain {
		t.Error("NO_COLOR changes a text without colours")
	}
	few := must(t, "report", run, "profile", "--limit", "1")
	if !strings.Contains(few, "more: --limit") {
		t.Errorf("a cut table does not say so:\n%s", few)
	}
}

// TestReportOutput writes to files.
func TestReportOutput(t *testing.T) {
	t.Parallel()
	dir := analysed(t, programs[1])
	run, out := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "report.json")
	if s := must(t, "report", run, "-o", out); s != "" {
		t.Errorf("text on standard output: %s", s)
	}
	if code, _, errs := call("report", run, "-o", out); code != 2 || !strings.Contains(errs, "-f replaces it") {
		t.Errorf("second time: exit code %d, %s", code, errs)
	}
	must(t, "report", run, "-o", out, "-f")
	files, err := filepath.Glob(filepath.Join(dir, ".*.new"))
	if err != nil || len(files) > 0 {
		t.Errorf("left over: %v, %v", files, err)
	}
}

// TestReportDeterministic compares two runs of the same report.
func TestReportDeterministic(t *testing.T) {
	t.Parallel()
	run := filepath.Join(analysed(t, programs[4]), "run.xtf")
	args := []string{"report", run, "summary", "profile", "comm", "ccg", "diagnostics", "--format", "json"}
	first := must(t, args...)
	for range 5 {
		if must(t, args...) != first {
			t.Fatal("two reports differ")
		}
	}
}

// TestStatItems keeps the keys of the statistics in the order of the items.
func TestStatItems(t *testing.T) {
	t.Parallel()
	doc := must(t, "report", filepath.Join(analysed(t, programs[1]), "run.xtf"), "--format", "json")
	doc = doc[strings.Index(doc, `"stats"`):]
	at := 0
	for i := range xtf.ItemLast + 1 {
		k := strings.Index(doc[at:], fmt.Sprintf("%q:", i))
		if k < 0 {
			t.Fatalf("%s is missing or out of order", i)
		}
		at += k
	}
}
