package view

import (
	"context"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// examples are requests of every endpoint.
var examples = []string{
	"meta", "locations?from=3&max=2", "tile/0/0/0-0", "tile/3/5/0-0", "tile/7/1/1-0", "stats?t=10..200&ranks=0-3", "stats?exact=1&t=5..",
	"at?loc=1&t=5000", "at?loc=1&n=17", "next?loc=1&n=5&kind=region&region=4&step=-1", "next?loc=0&t=77", "next?loc=0&kind=region&region=4&k=3", "messages?t=1000..2000&max=3",
	"waits?max=5&pattern=late_sender", "causes?max=3", "calltree?max=5&ranks=1", "critical?max=3", "matrix?cells=4", "profile?columns=2&ranks=1", "profile?item=bytes_out&region=2", "messages?only=late&max=9", "files?bins=7", "counter?loc=0&metric=0&bins=9",
	"intervals", "interval/1?t=5..500", "executions?loc=2&node=1&max=2", "classes", "search?q=longest", "search?q=1.5s", "compare", "meta?v=1",
}

// FuzzRequests: whatever is asked for, the answer is one, or an error in words.
func FuzzRequests(f *testing.F) {
	for _, e := range examples {
		path, query, _ := strings.Cut(e, "?")
		f.Add(path, query)
	}
	f.Add("tile/99999999999999999999/0/0-0", "t=18446744073709551615..18446744073709551615&run=2")
	f.Add("stats", "ranks=0-4294967295:0&t=5..1")
	f.Add("at", "loc=0&n=18446744073709551615&t=18446744073709551615")
	s := serving(f, generated(f, generatedSpecs[1]))
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.URL = &url.URL{Path: "/api/" + path, RawQuery: query}
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == 500 || w.Code >= 400 && !strings.Contains(w.Body.String(), `"what":`) {
			t.Errorf("%s?%s: status %d: %s", path, query, w.Code, w.Body)
		}
	})
}

// TestExamples: every example is answered, or refused for a reason that it has.
func TestExamples(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	for _, e := range examples {
		want := map[string]int{"compare": 422, "meta?v=1": 409}[e]
		if w := ask(s, e); w.Code != max(200, want) {
			t.Errorf("%s: status %d: %s", e, w.Code, w.Body)
		}
	}
	for _, bad := range []string{
		"tile/0/0", "tile/0/1/0-0", "tile/-1/0/0-0", "tile/0/0/9-0", "tile/0/0/0-99", "stats?t=5", "stats?t=9..5", "stats?ranks=x", "stats?what=1",
		"stats?exact=2", "stats?t=1..2&t=1..2", "at", "at?loc=99", "at?loc=0&n=99999999", "next?loc=0&n=99999999", "next?loc=0&kind=x", "next?loc=0&k=2", "messages?max=2001",
		"waits?pattern=x", "matrix?cells=257", "profile?columns=0", "profile?item=x", "messages?only=x", "files?max=65", "counter?loc=0&metric=99", "interval/99", "interval/x", "executions", "locations?from=99",
	} {
		if w := ask(s, bad); w.Code != 400 && w.Code != 404 {
			t.Errorf("%s: status %d: %s", bad, w.Code, w.Body)
		}
	}
	for range 20 { // of several faults the same one each time
		if w := ask(s, "meta?b=1&a=1&c=1"); !strings.Contains(w.Body.String(), `"where":"a"`) {
			t.Fatalf("%s", w.Body)
		}
	}
}

// FuzzFile: a damaged file makes errors and locations that are left out, and nothing else.
func FuzzFile(f *testing.F) {
	file, err := os.ReadFile(generated(f, "stencil:procs=3,events=600,depth=2,metrics,seed=4"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(5000), []byte{1, 2, 3})
	f.Add(uint32(len(file)/2), []byte{255})
	f.Add(uint32(len(file)-100), []byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		b := append([]byte{}, file...)
		copy(b[int(at)%len(b):], change)
		path := t.TempDir() + "/run.xtf"
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := results.Open(path, xtf.Options{})
		if err != nil {
			return
		}
		defer r.Close()
		s, err := New([]*results.Run{r}, Options{Token: testToken})
		if err != nil {
			return
		}
		for _, e := range examples {
			if w := ask(s, e); strings.Contains(w.Body.String(), "internal error") {
				t.Errorf("%s: %s", e, w.Body)
			}
		}
	})
}

// TestGivenUp: a request whose client is gone ends with its context's error.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range []string{"stats", "stats?exact=1", "tile/0/0/0-0", "messages", "messages?only=late", "waits", "critical", "matrix", "profile", "profile?region=1", "files"} {
		path, query, _ := strings.Cut(e, "?")
		name, rest, _ := strings.Cut(path, "/")
		r := httptest.NewRequest("GET", "/?"+query, nil)
		p, err := s.params(r, rest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.routes[name](ctx, p); err != context.Canceled {
			t.Errorf("%s: %v", e, err)
		}
	}
}
