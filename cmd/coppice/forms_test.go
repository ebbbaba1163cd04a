package main

import (
	"encoding/csv"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
)

// strange are names that one form or another could take for something else.
var strange = []string{
	"a,b", `q"uo"te`, "p|ipe", "new\nline", "car\rriage", "tab\tname", "a<b>c", "x & y &amp; z", "größe", "=1+2", "+cmd", "-5", "-abc", "@SUM(A1)", "", " ", "  lead", "trail  ", "漢字",
	"`code`", "*bold*", "_it_", "[l](x)", "![i](x)", "1", "1e5", "NaN", `\`, `\|`, "~x~", "#h", "nul\x00", "\x1b[31mred", "\u202eevil", "<script>", "a > b", "'quoted", "😀", "\xff\xfe",
	"1. item", "2) item", "+ item", "- item", "> quote", "---", "===", "a  b", "{{.Name}}", "%s%d", "&#65;", "\u00a0", strings.Repeat("long ", 60),
}

// strangeNames gives definitions such names.
func strangeNames(d *trace.Definitions) {
	next := uint32(len(d.Strings))
	for _, s := range d.Strings {
		next = max(next, s.Ref+1)
	}
	for i, name := range strange {
		d.Strings = append(d.Strings, trace.String{Ref: next + uint32(i), Value: name})
	}
	k := uint32(0)
	name := func(to *uint32) {
		*to = next + k%uint32(len(strange))
		k++
	}
	for i := range d.Regions {
		name(&d.Regions[i].Name)
	}
	for i := range d.MetricMembers {
		name(&d.MetricMembers[i].Name)
	}
	for i := range d.Comms {
		name(&d.Comms[i].Name)
	}
	for i := range d.SystemTreeNodes {
		name(&d.SystemTreeNodes[i].Name)
	}
	for i := range d.LocationGroups {
		name(&d.LocationGroups[i].Name)
	}
}

// computed are columns of CSV that documents leave to who reads them, and the words of a row's kind.
var computed = []string{"share", "mean", "lost", "error", "kind", "sequential", "consecutive", "random", "efficiency", "productive"}

// pages are texts that pages of sections have.
var pages = map[string][]string{
	"hip-mi300-scorep9 summary": {"; but device efficiency is 0.44.", "Rows are process/thread. The upper picture is an estimate from bins of ", "host efficiency 0.002 parallel"},
}

// TestForms prints the sections of runs in all forms, which say the same: each word of a text is in Markdown and on a page, each number of
// CSV in JSON.
func TestForms(t *testing.T) {
	t.Parallel()
	traces := sharedTraces(t)
	for name, strangely := range map[string]bool{"pingpong-papi-scorep71": true, "npb-mg.S-func-4": true, "hip-mi300-scorep9": true, "npb-ft.S-4": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := filepath.Join(traces, name, "traces.otf2")
			if l := (&law{define: strangeNames}); strangely {
				archive = l.rewritten(t, archive)
			}
			run := filepath.Join(t.TempDir(), "run.xtf")
			if code, _, errs := call("analyze", archive, "-o", run, "-q", "-j", "2"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, errs)
			}
			for _, s := range report.Sections() {
				if s == report.SectionHistogram || s == report.SectionClasses {
					continue
				}
				text := func(format, section string) string {
					code, out, errs := call("report", run, section, "--format", format, "--limit", "100000")
					if code != 0 {
						t.Fatalf("%s as %s: exit code %d\n%s", section, format, code, errs)
					}
					return out
				}
				form := func(format string) string { return text(format, string(s)) }
				md := form("md")
				checkMarkdown(t, string(s), md)
				unmarked := regexp.MustCompile("\\\\([-\\\\|*_`\\[#~+=>.)])").ReplaceAllString(strings.ReplaceAll(md, " |", " "), "$1")
				page := pageText(form("html"))
				for _, want := range pages[name+" "+string(s)] {
					if !strings.Contains(page, want) {
						t.Errorf("%s: a page has no %q", s, want)
					}
				}
				for name, other := range map[string]string{"Markdown": html.UnescapeString(unmarked), "a page": page} {
					if missing := missingWords(form("text"), other); len(missing) > 0 {
						t.Errorf("%s: %s has no %q", s, name, missing)
					}
				}
				document := form("json")
				if s == report.SectionSummary { // whose table has regions too
					document = "[" + document + "," + text("json", "profile") + "]"
				}
				checkCSV(t, string(s), form("csv"), document)
			}
		})
	}
}

// pageText is what a page shows without its pictures.
func pageText(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script|svg)\b.*?</(style|script|svg)>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))), " ")
}

// onPictures are words that a page has in pictures alone, or not at all because they are of an empty row.
var onPictures = regexp.MustCompile(`^([0-9.]+[km]|idle)$`)

// missingWords are those of a text that another form does not have, but for layout and what leads on.
func missingWords(text, other string) []string {
	var missing []string
	other = strings.ToLower(other)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "Interval (") || strings.HasPrefix(line, "bytes from \\ to") {
			continue
		}
		for _, w := range strings.Fields(line) {
			w = strings.ToLower(strings.TrimSuffix(strings.Trim(w, "-└>"), "."))
			if w != "" && !strings.Contains(other, w) && !onPictures.MatchString(w) {
				missing = append(missing, w)
			}
		}
	}
	return missing
}

// checkMarkdown fails where a row of a table has another number of cells than its head, or a name begins a list or a quotation.
func checkMarkdown(t *testing.T, section, md string) {
	t.Helper()
	cells := 0
	for line := range strings.Lines(md) {
		n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			cells = 0
			if regexp.MustCompile(`^(\* |#+ )? *([0-9]*[.)] |[-+>] |[-=]+$)`).MatchString(line) {
				t.Errorf("%s: a line of Markdown that begins %q", section, line)
			}
		case cells == 0:
			cells = n
		case n != cells:
			t.Errorf("%s: %d cells where the head of the table has %d: %s", section, n, cells, line)
		}
	}
}

// checkCSV fails where a spreadsheet would compute a cell, and where a number is not in the document.
func checkCSV(t *testing.T, section, text, document string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", section, err)
	}
	known := map[string]bool{}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 12, 64) }
	var add func(v any)
	add = func(v any) {
		switch x := v.(type) {
		case float64:
			known[number(x)] = true
		case string: // a name
			if f, err := strconv.ParseFloat(x, 64); err == nil {
				known[number(f)] = true
			}
		case []any:
			if len(x) == 2 { // a fraction
				a, _ := x[0].(float64)
				b, _ := x[1].(float64)
				known[number(a/b)] = true
			}
			for _, y := range x {
				add(y)
			}
		case map[string]any:
			for _, y := range x {
				add(y)
			}
		}
	}
	var doc any
	decode(t, document, &doc)
	add(doc)
	sums := map[string]float64{} // of intervals, which have a row of each process
	for _, row := range rows[1:] {
		for i, cell := range row {
			f, err := strconv.ParseFloat(cell, 64)
			switch {
			case err != nil && cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])):
				t.Errorf("%s: a formula %q", section, cell)
			case err == nil && section == "intervals" && i > 7:
				sums[row[1]+" "+rows[0][i]] += f
			case err == nil && !slices.Contains(computed, rows[0][i]) && !known[number(f)]:
				t.Errorf("%s: %s %s is not in JSON", section, rows[0][i], cell)
			}
		}
	}
	for name, f := range sums {
		if !known[number(f)] {
			t.Errorf("%s: node %s has the sum %v, which is not in JSON", section, name, f)
		}
	}
}
