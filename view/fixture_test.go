package view

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

const testToken = "right"

// generatedSpecs are the programs that most tests look at: more than one group of processes, and several threads.
var generatedSpecs = []string{
	"stencil:procs=20,events=60k,jitter=10,imbalance=30,depth=3,metrics,io,seed=3",
	"irregular:procs=5,threads=2,events=30k,seed=5",
}

// fixtures are analysed once for all tests.
var fixtures struct {
	sync.Mutex
	dir   string
	files map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if fixtures.dir != "" {
		os.RemoveAll(fixtures.dir)
	}
	os.Exit(code)
}

// analysed returns the file of a trace, by a name for it.
func analysed(t testing.TB, name string, src func() (trace.Source, error)) string {
	t.Helper()
	fixtures.Lock()
	defer fixtures.Unlock()
	if f := fixtures.files[name]; f != "" {
		return f
	}
	if fixtures.dir == "" {
		dir, err := os.MkdirTemp("", "view-test-")
		if err != nil {
			t.Fatal(err)
		}
		fixtures.dir, fixtures.files = dir, map[string]string{}
	}
	s, err := src()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(fixtures.dir, strings.NewReplacer(":", "-", ",", "-", "=", "", "/", "-").Replace(name)+".xtf")
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{
			Source: s, Output: file, MemBytes: 512 << 20, StoreBytes: 64 << 20, Force: true,
			Intervals: interval.Flags{Intervals: []string{"region:*"}}, Classes: &predict.ClassFlags{Threshold: "5%", Dendrogram: true},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fixtures.files[name] = file
	return file
}

// generated returns the file of a generated program.
func generated(t testing.TB, spec string) string {
	t.Helper()
	return analysed(t, spec, func() (trace.Source, error) {
		o, err := synthetic.ParseOptions(spec)
		if err != nil {
			return nil, err
		}
		return synthetic.New(o)
	})
}

// realTrace returns the file of a collected trace next to the repository.
func realTrace(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if path := filepath.Join(dir, "..", "shared", "traces", "otf2", name); dirExists(path) {
			return analysed(t, name, func() (trace.Source, error) { return otf2.OpenPath(path) })
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no folder shared/traces next to the repository")
		}
		dir = up
	}
}

func dirExists(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// serving makes a server of files, without a network.
func serving(t testing.TB, files ...string) *Server {
	t.Helper()
	var runs []*results.Run
	for _, f := range files {
		r, err := results.Open(f, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		runs = append(runs, r)
	}
	s, err := New(runs, Options{Tool: "test", Token: testToken})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask requests a path with the token.
func ask(s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://localhost:8411/api/"+path, nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// answer asks for something that exists.
func answer[T any](t testing.TB, s *Server, path string) T {
	t.Helper()
	w := ask(s, path)
	if w.Code != 200 {
		t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	var v T
	d := json.NewDecoder(w.Body)
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// calls reads all calls of a location.
func callsOf(t testing.TB, x *run, p trace.P) []xtf.Call {
	t.Helper()
	return rowsOf(t, x, p, xtf.TypeCall, func(row []byte) (c xtf.Call) { c.Load(row); return c })
}

// rowsOf reads all rows of an array.
func rowsOf[T any](t testing.TB, x *run, p trace.P, id xtf.TypeID, load func(row []byte) T) []T {
	t.Helper()
	a, err := x.File.Array(xtf.Proc(p), id)
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	c := a.Rows(0, a.Len())
	for c.Next() {
		list = append(list, load(c.Row()))
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return list
}
