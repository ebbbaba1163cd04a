package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/view"
	"github.com/coppice-hpc/coppice/xtf"
)

// shared is what the tests of this package have in common: a browser, and runs by what they were made of.
var shared struct {
	dir     string
	session *browser.Session
	runs    map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "coppice-viewer-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared.dir, shared.runs = dir, map[string]string{}
	code := m.Run()
	if shared.session != nil {
		shared.session.Close()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// analyzed makes a run of a synthetic program, with intervals and classes of processes.
func analyzed(t testing.TB, spec string) string {
	t.Helper()
	if file := shared.runs[spec]; file != "" {
		return file
	}
	o, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	file := analyzedSource(t, src, fmt.Sprintf("run%d.xtf", len(shared.runs)), "region:timestep*")
	shared.runs[spec] = file
	return file
}

func analyzedSource(t testing.TB, src trace.Source, name string, intervals ...string) string {
	t.Helper()
	file := filepath.Join(shared.dir, name)
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{
			Source: src, Output: file, MemBytes: 512 << 20, StoreBytes: 64 << 20,
			Intervals: interval.Flags{Intervals: intervals}, Classes: &predict.ClassFlags{Threshold: "5%", Dendrogram: true},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// silent is a source without its events.
type silent struct{ trace.Source }

func (s silent) Measure(trace.P) (trace.Extent, error) { return trace.Extent{}, nil }
func (s silent) Stream(trace.P) (trace.Stream, error)  { return trace.NewStream(0, nil), nil }

func opened(t testing.TB, files ...string) []*results.Run {
	t.Helper()
	var runs []*results.Run
	for _, file := range files {
		r, err := results.Open(file, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		runs = append(runs, r)
	}
	return runs
}

// page serves runs and returns the address of the page with its token. broken, where not nil, may take requests away.
func page(t testing.TB, broken func(w http.ResponseWriter, r *http.Request) bool, files ...string) (*httptest.Server, string) {
	t.Helper()
	s, err := view.New(opened(t, files...), view.Options{Tool: "test", Token: "right"})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken == nil || !broken(w, r) {
			s.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h, h.URL + "/?k=right"
}

// started is the browser of the tests as it was when new, or none with -short and on machines without one.
func started(t testing.TB) *browser.Session {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes too long for -short")
	}
	if shared.session == nil {
		s, err := browser.Start(1280, 800)
		if errors.Is(err, browser.ErrAbsent) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		shared.session = s
	}
	s := shared.session
	must(t, s.Open("about:blank"))
	must(t, s.Size(1280, 800))
	must(t, s.Media("prefers-reduced-motion", "reduce"))
	s.Problems()
	return s
}

// exampleSpec is the run that most tests look at.
const exampleSpec = "stencil:procs=16,events=60k,jitter=10,imbalance=30,depth=3,metrics,io,seed=3"

// open opens an address with a fragment and waits until it is drawn.
func open(t testing.TB, s *browser.Session, address, fragment string) {
	t.Helper()
	must(t, s.Open("about:blank")) // another fragment alone would not load the page anew
	must(t, s.Open(address+"#"+fragment))
	must(t, s.Wait(browser.Ready))
	must(t, s.Do("coppice.pause = 0")) // nobody goes on moving
}

// turn shows another fragment of the page that is open, as a link or the back button does.
func turn(t testing.TB, s *browser.Session, fragment string) {
	t.Helper()
	must(t, s.Do("document.documentElement.dataset.state = 'busy'; location.hash = "+strconv.Quote("#"+fragment)+"; coppice.schedule()"))
	must(t, s.Wait(browser.Ready))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t testing.TB, s *browser.Session, expression string) T {
	t.Helper()
	v, err := browser.Eval[T](s, expression)
	must(t, err)
	return v
}

// clean fails where the page did what it must not.
func clean(t testing.TB, s *browser.Session) {
	t.Helper()
	for _, p := range s.Problems() {
		t.Error(p)
	}
}
