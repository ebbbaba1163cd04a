package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/table"
)

// reportPages writes the page of a run, and that of two runs, and returns their addresses.
func reportPages(t testing.TB) []string {
	t.Helper()
	runs := opened(t, analyzed(t, exampleSpec), analyzed(t, exampleSpec+",seed=9"))
	dir := t.TempDir()
	var list []string
	write := func(name string, f func(w *os.File) error) {
		file, err := os.Create(filepath.Join(dir, name))
		must(t, err)
		must(t, errors.Join(f(file), file.Close()))
		list = append(list, "file://"+file.Name())
	}
	sections, err := report.PageSections(runs[0])
	must(t, err)
	d, err := report.New(runs[0], report.Options{Sections: sections})
	must(t, err)
	write("report.html", func(w *os.File) error { return table.Write(w, d, "html", table.Style{}) })
	x, err := diff.New(runs[0], runs[1], diff.Options{})
	must(t, err)
	write("diff.html", func(w *os.File) error { return table.Write(w, x, "html", table.Style{}) })
	return list
}

// TestReportPages opens the pages of coppice report and diff: no requests, no errors, nothing that the accessibility checker
// complains of in both themes, and a script that sorts and folds.
func TestReportPages(t *testing.T) {
	s := started(t)
	axe := checker(t)
	themes := []string{"light", "dark"}
	for i, address := range reportPages(t) {
		for _, theme := range themes {
			if theme == "dark" && i > 0 {
				break // both pages have one style
			}
			must(t, s.Media("prefers-color-scheme", theme, "prefers-reduced-motion", "reduce"))
			must(t, s.Open(address))
			must(t, s.Do("document.querySelectorAll('details').forEach((d) => { d.open = true; })"))
			if cut := eval[string](t, s, "[...document.querySelectorAll('.blocks > .scroll')].filter((x) => x.scrollWidth > x.clientWidth).map((x) => x.innerText).join()"); cut != "" {
				t.Errorf("a table of an interval is cut:\n%s", cut)
			}
			_, err := browser.Eval[bool](s, axe+"\n;true")
			must(t, err)
			complain(t, s, theme+" "+filepath.Base(address), "html")
		}
		const column = "[...document.querySelector('table.foldable').tBodies[0].rows].map((r) => Number(r.cells[3].dataset.sort))"
		before := eval[[]float64](t, s, column)
		must(t, s.Do("document.querySelector('table.foldable').tHead.rows[0].cells[3].querySelector('button').click()"))
		sorted := eval[[]float64](t, s, column)
		for k := 1; k < len(sorted); k++ {
			if sorted[k] > sorted[k-1] {
				t.Errorf("%s: sorted to %v", address, sorted)
			}
		}
		if len(before) < 2 || len(sorted) != len(before) {
			t.Errorf("%s: %d rows, then %d", address, len(before), len(sorted))
		}
		must(t, s.Do("document.querySelector('button.fold').click()"))
		if n := eval[int](t, s, "document.querySelectorAll('table.foldable tbody tr:not([hidden])').length"); n != 1 {
			t.Errorf("%s: %d rows when the whole program is folded", address, n)
		}
	}
	clean(t, s)
}
