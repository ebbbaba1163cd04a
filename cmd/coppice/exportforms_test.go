package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/google/go-cmp/cmp"
)

// exportedForm is what tests read of the result of an export.
type exportedForm struct {
	Export struct {
		To       string
		Output   string
		Estimate struct{ Bytes, Slices uint64 }
		Bytes    uint64
		Slices   uint64
		Flows    uint64
		OneEnded uint64 `json:"one_ended"`
		Tables   []struct {
			Table, Path string
			Rows, Bytes uint64
		}
	}
}

// TestExportTimeline draws a run and parts of it, and compares with what reports say.
func TestExportTimeline(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=4,events=4k,metrics")
	run := filepath.Join(dir, "run.xtf")
	for _, form := range []string{"perfetto", "chrome"} {
		out := filepath.Join(dir, "all."+form)
		code, text, errs := call("export", run, "--to", form, "-o", out, "--format", "json")
		if code != jobs.ExitDone || !strings.Contains(errs, "≈ ") || !strings.Contains(errs, "messages as flows, 0 with one end outside") {
			t.Fatalf("exit code %d\n%s%s", code, text, errs)
		}
		var doc exportedForm
		decode(t, text, &doc)
		x := &doc.Export
		st, err := os.Stat(out)
		if err != nil || uint64(st.Size()) != x.Bytes || x.To != form || x.Output != out {
			t.Errorf("%+v: %v", doc, err)
		}
		if x.Flows == 0 || x.Estimate.Bytes < x.Bytes*8/10 || x.Estimate.Bytes > x.Bytes*12/10 {
			t.Errorf("%s: %+v", form, x)
		}
		if code, _, errs := call("export", run, "--to", form, "-o", out, "-q"); code != jobs.ExitUsage || !strings.Contains(errs, "-f") {
			t.Errorf("over a file that is there: exit code %d\n%s", code, errs)
		}
		part := jsonOf[exportedForm](t, "export", run, "--to", form, "-o", out, "-f", "-q", "--time", "30%..60%", "--ranks", "0-1")
		if p := &part.Export; p.Slices == 0 || p.Slices >= x.Slices || p.OneEnded == 0 {
			t.Errorf("%s: part %+v", form, p)
		}
		one := jsonOf[exportedForm](t, "export", run, "--to", form, "-o", out, "-f", "-q", "--time", "interval:root[0]")
		if one.Export.Slices != x.Slices {
			t.Errorf("%s: the execution of the whole program has %d slices, want %d", form, one.Export.Slices, x.Slices)
		}
		code, _, errs = call("export", run, "--to", form, "-o", filepath.Join(dir, "small"), "--max-size", "1K")
		if code != jobs.ExitUsage || !strings.Contains(errs, "allowed are 1.02 kB") || !strings.Contains(errs, "--time or --ranks") {
			t.Errorf("%s: exit code %d\n%s", form, code, errs)
		}
		if text := must(t, "export", run, "--to", form, "-o", "-", "-q"); uint64(len(text)) != x.Bytes {
			t.Errorf("%s: %d bytes on standard output, %d in the file", form, len(text), x.Bytes)
		}
	}
	for _, name := range []string{"small", ".small.new"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "all.chrome"))
	var parsed struct{ TraceEvents []any }
	if err == nil {
		err = json.Unmarshal(b, &parsed)
	}
	if err != nil || len(parsed.TraceEvents) == 0 {
		t.Error(err)
	}
}

// TestExportTables writes all tables of a run in all forms: they have as many rows as the arrays of the file.
func TestExportTables(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "irregular:procs=3,events=3k,metrics,io")
	run := filepath.Join(dir, "run.xtf")
	var counts map[string]uint64
	for _, form := range []string{"csv", "parquet", "arrow"} {
		out := filepath.Join(dir, form)
		doc := jsonOf[exportedForm](t, "export", run, "--to", form, "-o", out, "-q")
		rows := map[string]uint64{}
		for _, x := range doc.Export.Tables {
			st, err := os.Stat(x.Path)
			if err != nil || uint64(st.Size()) != x.Bytes || x.Path != filepath.Join(out, x.Table+"."+form) {
				t.Errorf("%+v: %v", x, err)
			}
			rows[x.Table] = x.Rows
		}
		if counts == nil {
			counts = rows
		}
		if diff := cmp.Diff(counts, rows); diff != "" || len(rows) != len(export.Tables()) {
			t.Errorf("%s: %v\n%s", form, rows, diff)
		}
		if code, _, errs := call("export", run, "--to", form, "-o", out, "-q"); code != jobs.ExitUsage || !strings.Contains(errs, "-f") {
			t.Errorf("into a folder that has them: exit code %d\n%s", code, errs)
		}
	}
	for name, typ := range map[string]string{"calls": "call", "messages": "p2p", "collectives": "coll", "waits": "wait", "intervals": "ival", "metrics": "metric", "io": "io"} {
		want := uint64(0)
		for rank := range 3 {
			type rows struct {
				Query struct {
					ArrayRows uint64 `json:"array_rows"`
				}
			}
			want += jsonOf[rows](t, "query", run, "rows", "--type", typ, "--rank", fmt.Sprint(rank), "--limit", "1").Query.ArrayRows
		}
		if counts[name] != want {
			t.Errorf("%d rows of %s, the file has %d", counts[name], name, want)
		}
	}
	all := must(t, "export", run, "--to", "csv", "-o", "-", "-q")
	one := must(t, "export", run, "--to", "csv", "--table", "calls", "-o", "-", "-q")
	file, err := os.ReadFile(filepath.Join(dir, "csv", "calls.csv"))
	if err != nil || all != one || all != string(file) {
		t.Error("standard output has something else than the file", err)
	}
	part := must(t, "export", run, "--to", "csv", "--table", "messages", "-o", "-", "-q", "--time", "20%..50%", "--ranks", "1")
	list, err := csv.NewReader(strings.NewReader(part)).ReadAll()
	if err != nil || len(list) < 2 || uint64(len(list)-1) >= counts["messages"] || slices.ContainsFunc(list[1:], func(r []string) bool { return r[0] != "1" }) {
		t.Errorf("%d lines: %v", len(list), err)
	}
}

// TestExportFormsUsage gives wrong flags, and files that have no rows.
func TestExportFormsUsage(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=200")
	run, out, none := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "out"), filepath.Join(dir, "none.xtf")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", none, "-q", "--events", "none")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{run, "--to", "chrome", "-o", out, "--table", "calls"}, jobs.ExitUsage, "--table is for"},
		{[]string{run, "--to", "csv", "-o", out, "--table", "paths"}, jobs.ExitUsage, "choose calls, messages"},
		{[]string{run, "--to", "csv", "-o", "-", "--format", "json"}, jobs.ExitUsage, "both want standard output"},
		{[]string{run, "--to", "parquet", "-o", out, "--table", "calls", "--time", "9..1"}, jobs.ExitUsage, "ends before it begins"},
		{[]string{run, "--to", "perfetto", "-o", out, "--ranks", "9"}, jobs.ExitUsage, "processes 0 to 1"},
		{[]string{run, "--to", "perfetto", "-o", out, "--strict"}, jobs.ExitUsage, "--strict is for"},
		{[]string{run, "--to", "perfetto", "-o", out, "--time", "interval:nowhere"}, jobs.ExitUsage, "nowhere"},
		{[]string{run, "--to", "csv", "--table", "calls", "-o", out, "--max-size", "100"}, jobs.ExitUsage, "--max-size"},
		{[]string{run, "--to", "parquet", "-o", out, "--max-size", "10K"}, jobs.ExitUsage, "--max-size"},
		{[]string{run, "--to", "csv", "--table", "calls", "-o", filepath.Join(out, "no", "folder")}, jobs.ExitUsage, "no such file"},
		{[]string{run, "--to", "otf2", "-o", "-"}, jobs.ExitUsage, "an archive is a folder"},
		{[]string{run, "--to", "otf2", "-o", out, "--max-size", "1G"}, jobs.ExitUsage, "not for --to otf2"},
		{[]string{run, "--to", "otf2", "-o", out, "--time", "interval:root[0]"}, jobs.ExitUsage, "its own time on each process"},
		{[]string{run, "--to", "otf2", "-o", out, "--time", "x..y"}, jobs.ExitUsage, "write for example"},
		{[]string{none, "--to", "perfetto", "-o", out}, jobs.ExitInput, "--events none"},
		{[]string{none, "--to", "arrow", "-o", out}, jobs.ExitInput, "--events none"},
		{[]string{none, "--to", "otf2", "-o", out, "--time", "10%..20%"}, jobs.ExitInput, "--events none"},
		{[]string{filepath.Join(dir, "traces.otf2"), "--to", "csv", "-o", out}, jobs.ExitInput, "not an XTF file"},
	} {
		code, _, errs := call(append([]string{"export", "-q"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("export %v: exit code %d, want %d and %q in:\n%s", c.args, code, c.code, c.says, errs)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Fatalf("export %v left something", c.args)
		}
	}
}

// TestExportPredicted exports a predicted run like a measured one, in all forms.
func TestExportPredicted(t *testing.T) {
	t.Parallel()
	run, platform := predictable(t, "ring:procs=1,events=300", platformOf4)
	dir := t.TempDir()
	pred := filepath.Join(dir, "pred.xtf")
	must(t, "predict", run, "--platform", platform, "-o", pred, "-q")
	calls := func(path string) uint64 {
		return jsonOf[exportedForm](t, "export", path, "--to", "parquet", "--table", "calls", "-o", filepath.Join(dir, "x.parquet"), "-f", "-q").Export.Tables[0].Rows
	}
	if a, b := calls(run), calls(pred); a != b || a == 0 {
		t.Errorf("%d calls, predicted %d", a, b)
	}
	for _, form := range []string{"perfetto", "chrome"} {
		if x := jsonOf[exportedForm](t, "export", pred, "--to", form, "-o", filepath.Join(dir, "x."+form), "-q").Export; x.Slices == 0 {
			t.Errorf("%+v", x)
		}
	}
	must(t, "export", pred, "--to", "otf2", "-o", filepath.Join(dir, "slice"), "--time", "25%..75%", "-q")
}

// TestReportParquet writes sections as Parquet files.
func TestReportParquet(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=3,events=3k")
	run := filepath.Join(dir, "run.xtf")
	for _, section := range report.Sections() {
		section, path := string(section), filepath.Join(dir, string(section)+".parquet")
		if section == "classes" { // the run has none
			continue
		}
		args := []string{"report", run, section}
		if section == "histogram" {
			args = append(args, "--region", "MPI_Init")
		}
		must(t, append(args, "-o", path)...)
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 100 || string(b[:4]) != "PAR1" || string(b[len(b)-4:]) != "PAR1" {
			t.Errorf("%s: %d bytes: %v", section, len(b), err)
		}
		if text := must(t, append(args, "--format", "parquet")...); text != string(b) {
			t.Errorf("%s: other bytes on standard output", section)
		}
		heading, _, _ := strings.Cut(must(t, append(args, "--format", "csv")...), "\n")
		for _, name := range strings.Split(heading, ",") {
			if !strings.Contains(string(b), name) {
				t.Errorf("%s: no column %s", section, name)
			}
		}
	}
	code, _, errs := call("report", run, "summary", "pop", "--format", "parquet")
	if code != jobs.ExitUsage || !strings.Contains(errs, "--format parquet is one table") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// TestExportOfCut says next to what it writes that the run is not whole.
func TestExportOfCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, run := filepath.Join(dir, "cut"), filepath.Join(dir, "run.xtf")
	if err := os.CopyFS(archive, os.DirFS(filepath.Join(sharedTraces(t), "npb-ft.S-4"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(archive, "traces", "1.evt"), 1000); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call("analyze", archive, "-o", run, "-q"); code != jobs.ExitPartial {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for _, form := range []string{"csv", "perfetto", "cubex"} {
		if _, _, errs := call("export", run, "--to", form, "-o", filepath.Join(dir, form)); !strings.Contains(errs, "run.xtf is partial: the input of its analysis was damaged") {
			t.Errorf("%s:\n%s", form, errs)
		}
	}
}
