package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/view"
)

// nasty ends every name of a hostile trace.
const nasty = `"><img src=x onerror="window.owned=1"></script><script>window.owned=1</script><!--{{.}}${1}javascript:`

// TestHostileNames shows a run whose names are written to get into the page: they stay text, on the served page, in the
// static file and in the report.
func TestHostileNames(t *testing.T) {
	s := started(t)
	src, err := tracetest.New(tracetest.Options{Processes: 4, Iterations: 3, Metrics: true, IO: true})
	must(t, err)
	d := src.Definitions()
	for i := range d.Strings {
		if d.Strings[i].Value != "timestep" { // the interval that is asked for
			d.Strings[i].Value += nasty
		}
	}
	file := analyzedSource(t, src, "hostile<b>.xtf")
	runs := opened(t, file)
	server, err := view.New(runs, view.Options{Tool: "test"})
	must(t, err)
	write := func(name string, fill func(f *os.File) error) string {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		must(t, err)
		must(t, errors.Join(fill(f), f.Close()))
		return "file://" + f.Name()
	}
	static := write("static.html", func(f *os.File) error {
		_, err := server.WriteStatic(t.Context(), f, view.StaticOptions{Levels: 1, MaxBytes: 8 << 20})
		return err
	})
	_, address := page(t, nil, file)
	shown := map[string]bool{}
	check := func(where string) {
		t.Helper()
		if n := eval[int](t, s, "window.owned ? 100 : document.querySelectorAll('img, script:not([src]):not(#embedded)').length"); n > 1 || n == 1 && where == "served" {
			t.Errorf("%s: names of the trace became %d elements", where, n)
		}
		if strings.Contains(eval[string](t, s, "document.body.innerText"), "onerror=") {
			shown[where] = true
		}
		clean(t, s)
	}
	open(t, s, address, "at=1:1000000&details=1")
	for _, fragment := range []string{"tab=statistics", "tab=intervals", "tab=waits", "tab=counters", "tab=selection&at=1:1100000&view=table"} {
		turn(t, s, fragment)
		check("served")
	}
	press(t, s, "/")
	answer(t, s, "img")
	must(t, s.Wait("document.querySelector('#ask li button')"))
	check("served")
	open(t, s, static, "tab=statistics")
	check("static")
	must(t, s.Open(write("report.html", func(f *os.File) error {
		o, err := runs[0].HTMLOptions(report.Rules{})
		if err != nil {
			return err
		}
		doc, err := runs[0].Document(o)
		if err != nil {
			return err
		}
		return doc.WriteHTML(f)
	})))
	check("report")
	if len(shown) != 3 {
		t.Errorf("names are shown in %v only", shown)
	}
}
