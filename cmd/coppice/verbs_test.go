package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestVerbs runs every verb once, from the trace to the answers.
func TestVerbs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	anchor, run := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf")
	status := filepath.Join(dir, "job.status")
	out := must(t, "demo", "-o", dir, "--spec", "stencil:procs=4,events=4k")
	for _, want := range []string{"events of 4 locations", "coppice analyze " + anchor, "coppice report " + run} {
		if !strings.Contains(out, want) {
			t.Errorf("demo does not say %q:\n%s", want, out)
		}
	}
	must(t, "analyze", anchor, "-o", run, "-j", "2", "-q")
	for _, x := range []struct {
		args []string
		want []string
	}{
		{[]string{"info", anchor}, []string{"OTF2 3.0.0, written by coppice demo", "4 CPU threads", "useful ranks: up to 4"}},
		{[]string{"info", dir}, []string{"OTF2 3.0.0"}},
		{[]string{"info", run}, []string{"XTF 1, written by coppice " + version, "CALL", "call graph columns"}},
		{[]string{"report", run}, []string{"efficiency", "load balance", "next: coppice report " + run}},
		{[]string{"report", run, "profile"}, []string{"MPI_Waitall", "max/mean"}},
		{[]string{"report", run, "comm"}, []string{"bytes from \\ to", "MPI_COMM_WORLD"}},
		{[]string{"report", run, "ccg"}, []string{"instances per node, R_n"}},
		{[]string{"report", run, "diagnostics"}, []string{"nothing was found wrong"}},
		{[]string{"query", run, "search", "--rank", "2", "--time", "50%", "--mode", "le"}, []string{"row ", "cost: ", "process 2"}},
		{[]string{"check", run}, []string{"clean"}},
		{[]string{"check", anchor, "-j", "2"}, []string{"clean"}},
		{[]string{"version"}, []string{"coppice " + version}},
		{[]string{"help"}, []string{"report", "query", "check", "demo", "info"}},
	} {
		got := must(t, x.args...)
		for _, w := range x.want {
			if !strings.Contains(got, w) {
				t.Errorf("coppice %s does not say %q:\n%s", strings.Join(x.args, " "), w, got)
			}
		}
		if strings.ContainsAny(got, "\x1b\t") {
			t.Errorf("coppice %s: escape codes or tabs through a pipe", strings.Join(x.args, " "))
		}
	}
	must(t, "analyze", anchor, "-o", run, "-f", "-q", "--status-file", status, "--progress", "plain")
	if _, err := os.Stat(status); !errors.Is(err, fs.ErrNotExist) { // -q shows no progress and writes none
		if got := must(t, "info", status); !strings.Contains(got, "state") {
			t.Errorf("info of a status file:\n%s", got)
		}
	}
}

// TestCheckProgress: check says how far it is by the lines of all jobs, and nothing with -q.
func TestCheckProgress(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "demo")
	must(t, "demo", "-o", trace, "--spec", "ring:procs=2,events=1k")
	if code, _, errs := call("check", trace, "--progress", "json"); code != 0 || !strings.Contains(errs, `"stage":"events","state":"running","share":0,`) {
		t.Errorf("%d: %s", code, errs)
	}
	if code, _, errs := call("check", trace, "--progress", "json", "-q"); code != 0 || errs != "" {
		t.Errorf("%d: %s", code, errs)
	}
}

// TestInfoStatus shows a status file as the job writes it.
func TestInfoStatus(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job.status")
	b, err := json.Marshal(jobs.Status{Schema: jobs.StatusSchema, Time: "2026-11-20T23:41:07Z", Stage: "match", State: "running", Share: 0.68, Done: 271e9, Total: 400e9, Rate: 39e8, Ranks: 64, Slowest: 12, Slow: 0.61, Left: 33})
	if err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := must(t, "info", path)
	for _, want := range []string{"running", "match, 68 %", "271 GB of 400 GB", "64, slowest: rank 12 at 61 %", "33 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	doc := jsonOf[struct {
		Info struct {
			Kind  string `json:"kind"`
			Stage string `json:"stage"`
		} `json:"info"`
	}](t, "info", path)
	if doc.Info.Kind != "status" || doc.Info.Stage != "match" {
		t.Errorf("%+v", doc)
	}
}

// queryJSON is what tests read of a query.
type queryJSON struct {
	Query struct {
		Found     bool    `json:"found"`
		Side      string  `json:"side"`
		Size      *uint64 `json:"size"`
		Key       *uint64 `json:"key"`
		ArrayRows uint64  `json:"array_rows"`
		Height    uint64  `json:"height"`
		Position  *struct {
			N uint64 `json:"n"`
		} `json:"position"`
		Rows []map[string]uint64 `json:"rows"`
		Cost struct {
			PageReads   uint64 `json:"page_reads"`
			Comparisons uint64 `json:"comparisons"`
		} `json:"cost"`
	} `json:"query"`
}

// TestQuery compares the primitives with each other on one array.
func TestQuery(t *testing.T) {
	t.Parallel()
	run := filepath.Join(analysed(t, "stencil:procs=2,events=20k"), "run.xtf")
	q := func(args ...string) queryJSON {
		t.Helper()
		return jsonOf[queryJSON](t, append([]string{"query", run}, args...)...)
	}
	all := q("rows", "--rank", "1", "--type", "call", "--limit", "1000000").Query
	n := all.ArrayRows
	if uint64(len(all.Rows)) != n || n < 2000 {
		t.Fatalf("%d of %d rows", len(all.Rows), n)
	}
	for _, k := range []uint64{0, 1, n / 2, n - 1} {
		row := all.Rows[k]
		tick := fmt.Sprintf("#%d", row["T"])
		first := k
		for first > 0 && all.Rows[first-1]["T"] == row["T"] {
			first--
		}
		x := q("search", "--rank", "1", "--time", tick).Query
		if !x.Found || x.Position.N != first || x.Rows[0]["region"] != all.Rows[first]["region"] {
			t.Errorf("search %s: %+v, want row %d", tick, x, first)
		}
		if x.Cost.PageReads > x.Height {
			t.Errorf("search reads %d pages of an index of height %d", x.Cost.PageReads, x.Height)
		}
		if y := q("at", "--rank", "1", "--n", fmt.Sprint(k)).Query; y.Key == nil || *y.Key != row["T"] || y.Rows[0]["n"] != k {
			t.Errorf("at %d: %+v", k, y)
		}
		if y := q("size", "--rank", "1", "--to", tick).Query; y.Size == nil || *y.Size != first {
			t.Errorf("size to %s: %v, want %d", tick, y.Size, first)
		}
	}
	if x := q("next", "--rank", "1", "--n", "5", "--step", "7").Query; !x.Found || x.Position.N != 12 {
		t.Errorf("next: %+v", x)
	}
	if x := q("next", "--rank", "1", "--n", "5", "--step=-6").Query; x.Found || x.Side != "before" {
		t.Errorf("next before the array: %+v", x)
	}
	if x := q("size", "--rank", "1", "--n", "10", "--to", "25").Query; *x.Size != 15 {
		t.Errorf("size by number: %d", *x.Size)
	}
	half := q("size", "--rank", "1", "--time", "0%", "--to", "50%").Query
	rest := q("size", "--rank", "1", "--time", "50%").Query
	if *half.Size+*rest.Size != n {
		t.Errorf("halves have %d and %d of %d rows", *half.Size, *rest.Size, n)
	}
	if x := q("rows", "--type", "stat").Query; len(x.Rows) != 20 || x.Rows[1]["key"] != 1 {
		t.Errorf("whole-run rows: %+v", x.Rows)
	}
	if x := q("search", "--rank", "1", "--time", "#1", "--mode", "lt").Query; !x.Found {
		t.Errorf("search lt: %+v", x)
	}
}

// TestExitCodes produces the codes that these verbs end with, and looks at the
// four parts of their messages.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=3,events=3k")
	run, anchor := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "traces.otf2")
	text := filepath.Join(dir, "a.json")
	if err := os.WriteFile(text, []byte(`{"a":1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.xtf")
	whole, err := os.ReadFile(run)
	if err == nil {
		err = os.WriteFile(cut, whole[:len(whole)/2], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "none.xtf")
	long := foundTrace(t, "-- program --\nprocesses 1\nresolution 1\n-- events --\n0 0 ENTER main\n0 10000000 LEAVE main\n")
	platform, folder, paraver := filepath.Join(dir, "p.toml"), filepath.Join(dir, "folder"), filepath.Join(dir, "paraver")
	for name, text := range map[string]string{platform: "schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 1000\nG_ns_per_byte = 1\n", filepath.Join(folder, "kept"): "", filepath.Join(paraver, "a.prv.gz"): ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no verb", 2, nil, "Usage"},
		{"unknown verb", 2, []string{"frobnicate"}, "is not a verb"},
		{"verb with a slip", 2, []string{"anlyze", anchor}, "Did you mean analyze?"},
		{"part with a slip", 2, []string{"capacity", "slove"}, "Did you mean solve?"},
		{"flag with a slip", 2, []string{"report", run, "--detials"}, "report: unknown flag: --detials. Did you mean --details? Run coppice report --help."},
		{"section with a slip", 2, []string{"report", run, "summery"}, "Did you mean summary?\n"},
		{"word with a slip", 2, []string{"report", run, "--format", "jsn"}, "choose text, json, csv, parquet, md or html. Did you mean json or csv?\n"},
		{"metric with a slip", 2, []string{"report", run, "--fail-if", "paralel_efficiency<0.8"}, "Did you mean parallel_efficiency?\n"},
		{"region with a slip", 2, []string{"report", run, "histogram", "--region", "MPI_Rcv"}, "profile lists them. Did you mean MPI_Irecv or MPI_Recv?\n"},
		{"component with a slip", 2, []string{"report", run, "intervals", "--ordered", "late_sendr"}, "Did you mean late_sender?\n"},
		{"no package in words of a user", 2, []string{"demo", "-o", dir + "2", "--spec", "stencil:prox=0"}, "coppice: demo: --spec stencil:prox=0: invalid options: unknown key"},
		{"no ranks in words of a user", 3, []string{"analyze", missing, "-o", run + "2"}, "coppice: stat " + missing},
		{"unknown program to generate", 2, []string{"demo", "-o", dir + "2", "--spec", "foo"}, `unknown program "foo": choose stencil, ring,`},
		{"part of a verb", 2, []string{"capacity"}, "say what to do: extract, solve, sweep, check or plan"},
		{"flag that is not a number", 2, []string{"query", run, "search", "--rank", "first"}, "--rank first: not a number"},
		{"unknown flag", 2, []string{"report", run, "--frobnicate"}, "--help"},
		{"no operand", 2, []string{"report"}, "0 operands"},
		{"unknown section", 2, []string{"report", run, "speed"}, "choose from summary"},
		{"unknown format", 2, []string{"report", run, "--format", "xml"}, "choose text, json, csv, parquet, md or html"},
		{"unknown colour", 2, []string{"report", run, "--color", "red"}, "always or never"},
		{"negative limit", 2, []string{"report", run, "--limit", "-1"}, "--limit"},
		{"bad ranks", 2, []string{"report", run, "profile", "--ranks", "0-9"}, "processes 0 to 2"},
		{"ranks without profile", 2, []string{"report", run, "--ranks", "0"}, "sections intervals, waits, pop, profile"},
		{"output exists", 2, []string{"report", run, "-o", anchor}, "-f replaces it"},
		{"no such folder", 2, []string{"report", run, "-o", filepath.Join(dir, "x", "y")}, "no such file"},
		{"unknown primitive", 2, []string{"query", run, "find"}, "choose from search"},
		{"unknown type", 2, []string{"query", run, "at", "--type", "x"}, "the file has call"},
		{"no key", 2, []string{"query", run, "search"}, "needs --time"},
		{"bad time", 2, []string{"query", run, "search", "--time", "soon"}, "12.5s"},
		{"bad process", 2, []string{"query", run, "search", "--rank", "3", "--n", "0"}, "processes 0 to 2"},
		{"bad thread", 2, []string{"query", run, "search", "--thread", "1", "--n", "0"}, "locations 0 to 0"},
		{"bad location", 2, []string{"query", run, "search", "--location", "77", "--n", "0"}, "no location with this id"},
		{"bad mode", 2, []string{"query", run, "search", "--time", "1s", "--mode", "near"}, "exact, first, last"},
		{"bad source", 2, []string{"report", run, "profile", "--source", "arrays"}, "auto, rows or graph"},
		{"histogram of nothing", 2, []string{"report", run, "histogram"}, "--region NAME"},
		{"region without histogram", 2, []string{"report", run, "--region", "main"}, "report " + run + " histogram"},
		{"histogram of an unknown region", 2, []string{"report", run, "histogram", "--region", "x"}, "profile lists them"},
		{"bad histogram", 2, []string{"report", run, "histogram", "--region", "main", "--of", "bytes"}, "calls or gaps"},
		{"stack without a time", 2, []string{"query", run, "stack"}, "--time T"},
		{"stack from nowhere", 2, []string{"query", run, "stack", "--time", "1s", "--source", "calls"}, "auto, rows or graph"},
		{"source of a search", 2, []string{"query", run, "search", "--time", "1s", "--source", "rows"}, "for stack alone"},
		{"partner of a call", 2, []string{"query", run, "partner", "--type", "call", "-n", "1"}, "leave --type out"},
		{"partner of nothing", 2, []string{"query", run, "partner"}, "needs --time"},
		{"stats without sums", 2, []string{"query", run, "stats", "--type", "metric"}, "choose from call, p2p"},
		{"visible without ends", 2, []string{"query", run, "visible", "--type", "chan"}, "choose from call, p2p"},
		{"stats of ranks", 2, []string{"query", run, "stats", "--ranks", "0-1"}, "--rank and --thread"},
		{"span that ends before it begins", 2, []string{"query", run, "interval", "--time", "60%..40%"}, "ends before it begins"},
		{"span with two ends", 2, []string{"query", run, "interval", "--time", "10%..20%", "--to", "30%"}, "leave --to out"},
		{"no pixels", 2, []string{"query", run, "timeline", "--width", "0"}, "--width 0"},
		{"too many pixels", 2, []string{"query", run, "timeline", "--width", "99999"}, "not a span"},
		{"walk from two places", 2, []string{"query", run, "walk", "--time", "1s", "-n", "4"}, "exclude each other"},
		{"bad ranks of an interval", 2, []string{"query", run, "interval", "--ranks", "7"}, "processes 0 to 2"},
		{"bad events", 2, []string{"analyze", anchor, "-o", missing, "--events", "some"}, "all or none"},
		{"bad markers", 2, []string{"analyze", anchor, "-o", missing, "--markers", "f9"}, "some of f1 to f7"},
		{"an interval that is not there", 2, []string{"analyze", anchor, "-o", missing, "--interval", "region:nothing*"}, "matches no region"},
		{"bad slice", 2, []string{"analyze", anchor, "-o", missing, "--slice", "10"}, "--slice"},
		{"no intervals file", 3, []string{"analyze", anchor, "-o", missing, "--intervals-file", missing}, "no such file"},
		{"bad intervals file", 2, []string{"analyze", anchor, "-o", missing, "--intervals-file", text}, "line 1"},
		{"bad deviation", 2, []string{"analyze", anchor, "-o", missing, "--deviation", "ten"}, "neither a percentage"},
		{"bad jobs", 2, []string{"check", run, "-j", "0"}, "check: --jobs 0: give a whole number, at least 1"},
		{"archive exists", 2, []string{"demo", "-o", dir}, "-f replaces it"},
		{"bad spec", 2, []string{"demo", "--spec", "stencil:procs=x"}, "procs"},
		{"report of nothing", 3, []string{"report", missing}, "Give the path"},
		{"report of an archive", 3, []string{"report", anchor}, "It is a trace: coppice analyze " + anchor + " -o run.xtf makes"},
		{"analysis of a result", 3, []string{"analyze", run, "-o", missing}, "It is a result already: coppice report " + run + " shows it."},
		{"plan of a result", 3, []string{"plan", "analyze", run, "-o", missing}, "It is a result already"},
		{"analysis of a folder", 3, []string{"analyze", paraver, "-o", missing}, "It holds a Paraver trace: give " + paraver + "/a.prv.gz."},
		{"prediction of an archive", 3, []string{"predict", anchor, "--platform", platform}, "coppice: " + anchor + ": not an XTF file. It is a trace"},
		{"prediction of 115 days", 3, []string{"predict", long, "--platform", platform}, "a time of more than 106 days. A simulation counts up to 106 days: coppice info"},
		{"capacity of a platform file", 3, []string{"capacity", "solve", platform}, `schema is "coppice.platform/1"`},
		{"measuring without ranks", 2, []string{"platform", "measure", "-o", missing}, "coppice: start it on ranks of an MPI library, as in mpirun -n 2 coppice"},
		{"replay of a folder", 3, []string{"replay", dir, "--", os.Args[0]}, "not a receive log: a folder. Give what coppice record --log-ranks wrote"},
		{"replay of a result", 3, []string{"replay", run, "--", os.Args[0]}, "not a receive log. Give what coppice record --log-ranks wrote"},
		{"viewer into a folder", 2, []string{"export", run, "--to", "viewer", "-o", folder}, folder + " is a folder: name a file"},
		{"report into a folder", 2, []string{"report", run, "-o", folder, "-f"}, folder + " is a folder: name a file"},
		{"report of JSON", 3, []string{"report", text}, "Give a file that coppice analyze wrote."},
		{"report of a directory", 3, []string{"report", dir}, dir},
		{"report of a cut file", 3, []string{"report", cut}, "nalyze the trace again"},
		{"query of JSON", 3, []string{"query", text, "at", "--n", "0"}, "not an XTF file"},
		{"info of nothing", 3, []string{"info", missing}, "no such file"},
		{"info of JSON", 3, []string{"info", text}, "Give the anchor file"},
		{"info of a cut file", 3, []string{"info", cut}, "nalyze the trace again"},
		{"check of nothing", 3, []string{"check", missing}, "no such file"},
		{"check of JSON", 3, []string{"check", text}, "Give the anchor file"},
	} {
		code, out, errs := call(x.args...)
		if code != x.code || !strings.Contains(errs, x.want) {
			t.Errorf("%s: exit code %d, want %d; %q in %q", x.name, code, x.code, x.want, errs)
		}
		if out != "" {
			t.Errorf("%s: an error with text on standard output: %s", x.name, out)
		}
		if strings.Contains(errs, "goroutine") || strings.Contains(errs, "bug of coppice") {
			t.Errorf("%s: %s", x.name, errs)
		}
	}
	for _, c := range everyVerb(commands(streams{})) {
		args := strings.Fields(nameOf(c))
		code, out, _ := call(append(args, "--help")...)
		if code != jobs.ExitDone || !strings.Contains(out, "Examples:") {
			t.Errorf("%s --help: exit code %d", nameOf(c), code)
		}
		if again := must(t, append([]string{"help"}, args...)...); again != out {
			t.Errorf("help %s and --help differ", nameOf(c))
		}
	}
}

// TestFullDisk prints to a device that is always full.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this machine")
	}
	defer full.Close()
	file := filepath.Join(analysed(t, "ring:procs=2,events=1k"), "run.xtf")
	var errs strings.Builder
	if code := run([]string{"report", file}, full, &errs); code != jobs.ExitResource || !strings.Contains(errs.String(), "standard output") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err  error
		code int
	}{
		{nil, jobs.ExitDone},
		{jobs.Fail(jobs.ExitFound, errSilent), jobs.ExitFound},
		{jobs.Fail(jobs.ExitSaved, errors.New("saved")), jobs.ExitSaved},
		{errors.New("unforeseen"), jobs.ExitInternal},
	} {
		var errs strings.Builder
		code := conclude(x.err, streams{err: &errs})
		if code != x.code || strings.Contains(errs.String(), "bug of coppice") != (code == jobs.ExitInternal) {
			t.Errorf("%v: exit code %d, want %d: %s", x.err, code, x.code, errs.String())
		}
	}
	var errs strings.Builder
	conclude(jobs.Fail(jobs.ExitInput, errors.New("load: otf2: a/1.evt: xtfwriter: xtf: no space")), streams{err: &errs})
	if errs.String() != "coppice: load: a/1.evt: no space.\n" {
		t.Errorf("names of packages in %q", errs.String())
	}
}

// TestPastEndTime runs where the environment is that of a job whose time is over, as in a terminal that it left, or that got more time.
func TestPastEndTime(t *testing.T) {
	t.Setenv("SLURM_JOB_END_TIME", "1")
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=4,events=4k")
	must(t, "analyze", dir, "-o", filepath.Join(dir, "run.xtf"), "-q")
}
