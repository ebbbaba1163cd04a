package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var tables = []string{"calls", "messages", "collectives", "waits", "intervals", "metrics", "io", "rma"}

// stepExport writes forms for other tools, twice: the same bytes, in the form that the name promises; nothing next to the output.
func stepExport(r *round, x *rand.Rand) {
	for i := range 2 + x.IntN(3) {
		form := []string{"perfetto", "chrome", "csv", "parquet", "arrow", "viewer"}[x.IntN(6)]
		out := r.path(fmt.Sprintf("export%d", i))
		args := []string{"export", r.run, "--to", form, "-q"}
		if (form == "csv" || form == "parquet" || form == "arrow") && x.IntN(2) == 0 {
			args = append(args, "--table", tables[x.IntN(len(tables))])
		}
		if x.IntN(3) == 0 {
			args = append(args, "--time", anyTime(x))
		}
		if x.IntN(3) == 0 {
			args = append(args, "--ranks", []string{"0", "0-1", "comm:MPI_COMM_WORLD"}[x.IntN(3)])
		}
		if x.IntN(6) == 0 {
			args = append(args, "--max-size", []string{"100", "10K", "20M"}[x.IntN(3)])
		}
		if form == "viewer" && x.IntN(2) == 0 {
			args = append(args, "--levels", []string{"1", "3", "20"}[x.IntN(3)])
		}
		o := r.coppice(append(args, "-o", out)...)
		r.expect(o, 0, 2, 3, 4, 5)
		if left, _ := filepath.Glob(out + "?*"); len(left) > 0 {
			r.fail("%s: left behind: %v", o, left)
		}
		if o.code != 0 && o.code != 4 {
			if _, err := os.Stat(out); err == nil {
				r.fail("%s: exit code %d with an output", o, o.code)
			}
			continue
		}
		r.judgeForm(o, form, out)
		again := r.do(command{args: append(args, "-o", out+"b"), plain: true})
		r.expect(again, o.code)
		if a, b := contents(out), contents(out+"b"); a != b {
			r.fail("%s: twice the same, other bytes", o)
		}
	}
}

// judgeForm looks at the outside of an export.
func (r *round) judgeForm(o outcome, form, out string) {
	files := []string{out}
	if st, err := os.Stat(out); err == nil && st.IsDir() {
		files, _ = filepath.Glob(filepath.Join(out, "*"))
		if len(files) < len(tables) {
			r.fail("%s: %d tables", o, len(files))
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			r.fail("%s: %v", o, err)
			continue
		}
		var ok bool
		switch form {
		case "chrome":
			ok = json.Valid(b)
		case "csv":
			_, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			ok = err == nil && len(b) > 0
		case "parquet":
			ok = bytes.HasPrefix(b, []byte("PAR1")) && bytes.HasSuffix(b, []byte("PAR1"))
		case "arrow":
			ok = bytes.HasPrefix(b, []byte{0xff, 0xff, 0xff, 0xff}) && len(b)%8 == 0
		case "viewer":
			ok = bytes.Contains(b, []byte("</html>"))
		default:
			ok = len(b) > 0
		}
		if !ok {
			r.fail("%s: %s is no %s", o, filepath.Base(f), form)
		}
	}
}

// contents is everything in a file or folder, as one text.
func contents(path string) string {
	var text strings.Builder
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			b, _ := os.ReadFile(p)
			name, _ := filepath.Rel(path, p)
			fmt.Fprintf(&text, "%s %d\n%s\n", name, len(b), b)
		}
		return nil
	})
	return text.String()
}

// stepBack writes the run as an OTF2 archive, on other ranks the same one. It checks clean; its analysis with the same options has the
// same tables, and written once more it is the same archive but for the identity of the file that it comes from. That holds of
// an exact call graph of an input in which nothing was wrong.
func stepBack(r *round, x *rand.Rand) {
	first := r.path("back")
	o := r.coppice("export", r.run, "--to", "otf2", "-o", first, "--format", "json", "-q", "-j", "1")
	if !r.expect(o, 0) {
		return
	}
	var d struct {
		Export struct {
			Exact   bool
			Differs []any
		}
	}
	r.decode(o, &d)
	c := command{args: []string{"export", r.run, "--to", "otf2", "-o", first + "2", "-q", "-j", fmt.Sprint(2 + x.IntN(3))}}
	if r.mpi && x.IntN(3) == 0 {
		c.ranks = 2
	}
	if r.expect(r.do(c), 0) && contents(first) != contents(first+"2") {
		r.fail("%v: another archive on other ranks", c.args)
	}
	if left, _ := filepath.Glob(filepath.Join(first, "*.otf2.*")); len(left) > 0 {
		r.fail("%s: left behind: %v", o, left)
	}
	if !d.Export.Exact || len(d.Export.Differs) > 0 || r.code != 0 || slices.Contains(r.options, "--strict") {
		r.expect(r.coppice("check", first), 0, 1)
		return
	}
	if r.in.sound {
		r.expect(r.coppice("check", first), 0)
	}
	run := r.path("back.xtf")
	if !r.expect(r.coppice(append([]string{"analyze", first, "-o", run, "-q", "-j", "2"}, r.options...)...), 0) {
		return
	}
	a, b := r.tables(r.run), r.tables(run)
	if a != b {
		_ = os.WriteFile(r.path("tables-a.json"), []byte(a), 0o666)
		_ = os.WriteFile(r.path("tables-b.json"), []byte(b), 0o666)
		r.fail("the exported archive has other tables: tables-a.json and tables-b.json")
	}
	if !r.expect(r.coppice("export", run, "--to", "otf2", "-o", first+"3", "-q"), 0) {
		return
	}
	if contents(filepath.Join(first, "traces")) != contents(filepath.Join(first+"3", "traces")) {
		r.fail("exported, analysed and exported again: other events")
	}
	if contents(filepath.Join(first, "traces.def")) != contents(filepath.Join(first+"3", "traces.def")) {
		r.fail("exported, analysed and exported again: other definitions")
	}
}

// stepSlice cuts archives out of the run by time and processes. Each is a trace of its own: it checks as clean as the input
// was sound, and its analysis ends as well.
func stepSlice(r *round, x *rand.Rand) {
	out := r.path("slice")
	args := []string{"export", r.run, "--to", "otf2", "-o", out, "-q", "-j", fmt.Sprint(1 + x.IntN(3)), "--time", anyTime(x)}
	if x.IntN(3) == 0 {
		args = append(args, "--ranks", []string{"0", "0-1", "comm:MPI_COMM_WORLD"}[x.IntN(3)])
	}
	o := r.coppice(args...)
	if !r.expect(o, 0, 2, 3, 4) || o.code != 0 {
		return
	}
	checked, run := r.coppice("check", out), r.path("slice.xtf")
	analysed := r.coppice("analyze", out, "-o", run, "-q")
	if r.in.sound {
		r.expect(checked, 0)
		r.expect(analysed, 0)
	} else {
		r.expect(checked, 0, 1)
		r.expect(analysed, 0, 4)
	}
	r.expect(r.coppice("check", run), 0)
}

// stepSources compares what the rows say with what an exact call graph says: the same profile and the same messages.
func stepSources(r *round, x *rand.Rand) {
	if r.code != 0 || slices.Contains(r.options, "--events") || slices.Contains(r.options, "--deviation") {
		return
	}
	for _, section := range []string{"profile", "comm", "paths"} {
		rows := r.coppice("report", r.run, section, "--source", "rows", "--format", "json")
		graph := r.coppice("report", r.run, section, "--source", "graph", "--format", "json")
		if section == "comm" && strings.Contains(rows.out, `"cancelled-send"`) {
			continue // graphs count them
		}
		if rows.code != graph.code || strings.Replace(rows.out, `"source": "rows"`, `"source": "graph"`, 1) != graph.out {
			r.fail("%s: the rows and the call graph differ", rows)
		}
	}
	time := anyTime(x)
	for p := range min(r.in.procs, 3) {
		args := []string{"query", r.run, "stack", "--rank", fmt.Sprint(p), "--time", fmt.Sprintf("%d%%", x.IntN(101)), "--format", "json"}
		rows, graph := r.coppice(append(args, "--source", "rows")...), r.coppice(append(args, "--source", "graph")...)
		if rows.code != graph.code || calls(rows.out) != calls(graph.out) {
			r.fail("%s: the rows and the call graph have other calls open", rows)
		}
	}
	r.expect(r.coppice("query", r.run, "interval", "--time", time), 0, 2)
}

// calls lists the calls of a stack.
func calls(text string) string { return strings.Join(openCall.FindAllString(text, -1), " ") }

var openCall = regexp.MustCompile(`"(region|name|begin)": [^\n]*`)

// tables is a report without what tells where the run comes from.
func (r *round) tables(run string) string {
	o := r.coppice("report", run, "summary", "intervals", "waits", "pop", "profile", "paths", "comm", "ccg", "diagnostics", "--format", "json")
	if !r.expect(o, 0, 3) || o.code != 0 {
		return ""
	}
	o.out = strings.ReplaceAll(o.out, run, "RUN") // in the commands that findings name
	var d map[string]any
	if !r.decode(o, &d) {
		return ""
	}
	if s, ok := d["summary"].(map[string]any); ok {
		delete(s, "file")
		delete(s, "provenance")
	}
	if !r.in.sound { // announced numbers of events are those of the archive
		delete(d, "diagnostics")
	}
	b, _ := json.MarshalIndent(d, "", " ")
	return string(b)
}

// stepDiff compares the run with itself: nothing changed; and with one analysed with other options: an answer or a user error.
func stepDiff(r *round, x *rand.Rand) {
	format := []string{"text", "json", "csv", "html"}[x.IntN(4)]
	o := r.coppice("diff", r.run, r.run, "--format", format, "--max-slowdown", "1%")
	r.expect(o, 0, 4)
	if format == "json" {
		var v any
		r.decode(o, &v)
	}
	if format != "html" && (strings.Contains(o.out, "NaN") || strings.Contains(o.out, "Inf")) {
		r.fail("%s: no numbers", o)
	}
	other := r.path("other.xtf")
	options := r.deciding(x)
	if o := r.coppice(append([]string{"analyze", r.in.path, "-o", other, "-q"}, options...)...); o.code != 0 && o.code != 4 {
		return
	}
	o = r.coppice("diff", r.run, other, "--format", format, "--fail-if", "efficiency.change<-0.05")
	r.expect(o, 0, 1, 2, 3, 4)
	r.expect(r.coppice("report", "scaling", r.run, other), 0, 2, 3, 4)
}
