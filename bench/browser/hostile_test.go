package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/view"
)

// hostile are names that are written to get into the page, in two ways: as the end of every name, and as whole names. Each
// has a part that people must read on the page.
var hostile = []struct {
	name  string
	whole bool
	names []string
	read  []string
}{
	{"markup", false, []string{
		`"><img src=x onerror="window.owned=1"></script><script>window.owned=1</script><!--{{.}}${1}javascript:`,
		`' onmouseover='window.owned=1' onfocus=window.owned=1 autofocus x='`,
		`</title></style></textarea><svg onload=window.owned=1><a href="javascript:window.owned=1">y</a>`,
		`<iframe srcdoc="<script>top.owned=1;alert(1)</script>"></iframe><base href="http://other.invalid/">`,
		`{{constructor.constructor("window.owned=1")()}}&lt;img src=http://other.invalid/&gt;`,
		`<link rel=stylesheet href="http://other.invalid/"><meta http-equiv=refresh content="0;url=http://other.invalid/">`,
	}, []string{"onerror=", "onmouseover=", "srcdoc=", "onload=", "{{constructor", "http-equiv="}},
	{"words", true, []string{
		"__proto__", "constructor", "toString", "hasOwnProperty", "javascript:window.owned=1", "gnp.\u202eexe\u2066", "n\x00ul\x1b[31m",
		"\xff\xfe\xc3(invalid", strings.Repeat("very long ", 10_000), "=window.owned=1", "",
	}, []string{"__proto__", "constructor", "toString", "hasOwnProperty", "javascript:window", "(invalid", "very long very long"}},
}

// hostileRun is a run whose names of everything are from a list, each that of a function too. What MPI calls begin with stays: it
// tells what a call does.
func hostileRun(t testing.TB, name string, whole bool, names []string) string {
	t.Helper()
	src, err := synthetic.New(synthetic.Options{Processes: 4, Iterations: 3, Metrics: true, IO: true, Parameters: true, Depth: 11})
	must(t, err)
	d := src.Definitions()
	for i := range d.Strings {
		v := &d.Strings[i].Value
		switch n := names[i%len(names)]; {
		case !whole || *v == "timestep" || strings.HasPrefix(*v, "MPI_"):
			*v += n
		default:
			*v = n
		}
	}
	for i := range names {
		ref := func(text string) uint32 {
			r := uint32(len(d.Strings))
			d.Strings = append(d.Strings, trace.String{Ref: r, Value: text})
			return r
		}
		d.LocationGroupProperties = append(d.LocationGroupProperties, trace.LocationGroupProperty{
			Name: ref("coppice: predicted " + names[i]), StringValue: ref(names[i]), Value: trace.Value{Type: trace.TypeString},
		})
	}
	d.Seal()
	return analyzedSource(t, src, name)
}

// TestHostileNames shows runs whose names are written to get into the page: they stay text, on the served page, in the
// static file and in the report, wherever somebody points, clicks and types.
func TestHostileNames(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			s := started(t)
			file := hostileRun(t, "hostile<b>"+h.name+".xtf", h.whole, h.names)
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
				_, err := server.WriteStatic(t.Context(), f, view.StaticOptions{Levels: 4, MaxBytes: 32 << 20})
				return err
			})
			doc := write("report.html", func(f *os.File) error {
				list, err := report.PageSections(runs[0])
				if err != nil {
					return err
				}
				doc, err := report.New(runs[0], report.Options{Sections: list})
				if err != nil {
					return err
				}
				return table.Write(f, doc, "html", table.Style{})
			})
			_, address := page(t, nil, file, file)
			shown := map[string]string{}
			check := func(where, at string) {
				t.Helper()
				const elements = `'img, iframe, base, object, embed, svg[onload], [onerror], [onload], [onmouseover], [onfocus], a[href^="javascript:"],' +
					'link:not([rel=icon]):not([href="assets/style.css"]), meta[http-equiv]:not([http-equiv="Content-Security-Policy"])'`
				if owned := eval[bool](t, s, "'owned' in window"); owned {
					t.Errorf("%s %s: a name ran", where, at)
				}
				if n := eval[int](t, s, "document.querySelectorAll("+elements+").length"); n > 0 {
					t.Errorf("%s %s: names became %d elements", where, at, n)
				}
				if bad := eval[string](t, s, `/[\u0000-\u0008\u000b\u000e-\u001f\u202a-\u202e\u2066-\u2069]/.exec(document.body.innerText)?.input.slice(0, 0) ?? 'none'`); bad != "none" {
					t.Errorf("%s %s: the page has characters that control or turn the text around", where, at)
				}
				shown[where] += eval[string](t, s, "document.body.innerText")
				clean(t, s)
				if t.Failed() {
					t.FailNow()
				}
			}
			tabs := []string{"selection&at=1:1100000", "statistics", "intervals", "waits", "ranks", "matrix", "counters", "classes", "comparison", "calls"}
			walk := func(where, address string) {
				tips := ""
				open(t, s, address, "at=1:1000000&details=1&tree=1")
				check(where, "first view")
				for _, tab := range tabs {
					turn(t, s, "details=1&tab="+tab)
					check(where, tab)
					tips += pointAt(t, s)
					check(where, tab+", pointed at")
					clickAll(t, s)
					check(where, tab+", clicked")
				}
				turn(t, s, "view=table&at=1:1100000")
				check(where, "table")
				if !slices.ContainsFunc(h.read, func(part string) bool { return strings.Contains(tips, part) }) {
					t.Errorf("%s: what is under the pointer is called %q", where, tips[:min(len(tips), 1000)])
				}
			}
			walk("served", address)
			open(t, s, address, "")
			for _, name := range append([]string{"img", "e"}, h.names...) {
				press(t, s, "/")
				must(t, s.Do("const box = document.getElementById('ask-text'); box.value = "+strconv.QuoteToASCII(strings.ToValidUTF8(name[:min(len(name), 60)], "?"))+
					"; box.dispatchEvent(new Event('input', {bubbles: true}))"))
				must(t, s.Do("await new Promise((r) => setTimeout(r, 50)); coppice.schedule()"))
				must(t, s.Wait("document.documentElement.dataset.state === 'ready'"))
				check("served", "search for "+name[:min(len(name), 20)])
				must(t, s.Do("document.querySelector('#ask li button')?.click(); document.getElementById('ask').close()"))
			}
			check("served", "found")
			walk("static", static)
			must(t, s.Open(doc))
			check("report", "first view")
			must(t, s.Do(`document.querySelectorAll('details').forEach((d) => { d.open = true; });
				document.querySelectorAll('button').forEach((b) => b.click());
				document.querySelectorAll('*').forEach((e) => { for (const k of ['mouseover', 'focus', 'click']) if (e.tagName !== 'A') e.dispatchEvent(new Event(k)); })`))
			check("report", "opened")
			for where, text := range shown {
				for _, part := range h.read {
					if !strings.Contains(text, part) {
						t.Errorf("%s: %q is nowhere to read", where, part)
					}
				}
			}
			if len(shown) != 3 {
				t.Errorf("%d pages were looked at", len(shown))
			}
		})
	}
}

// pointAt moves the pointer over the timeline, which must show what lies there, and over all of the page.
func pointAt(t testing.TB, s *browser.Session) string {
	t.Helper()
	var tips strings.Builder
	b := eval[[]float64](t, s, "(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
	for y := range 8 {
		for x := range 8 {
			must(t, s.Hover(b[0]+b[2]*(float64(x)+0.5)/8, b[1]+b[3]*(float64(y)+0.5)/8))
		}
		tips.WriteString(eval[string](t, s, "document.getElementById('tip').textContent"))
	}
	for y := 20.0; y < 800; y += 100 {
		must(t, s.Hover(y, y))
	}
	return tips.String()
}

// clickAll presses what the panel and the tree offer, and chooses all that can be chosen.
func clickAll(t testing.TB, s *browser.Session) {
	t.Helper()
	must(t, s.Do(`for (const e of [...document.querySelectorAll('#panel button, #panel [role=treeitem] > *, #panel th, #panel td, #panel rect, #tree *, #legend *')].slice(0, 200)) {
			e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
			e.dispatchEvent(new MouseEvent('click', {bubbles: true}));
		}
		for (const e of document.querySelectorAll('#panel select')) for (const o of e.options) {
			e.value = o.value;
			e.dispatchEvent(new Event('change', {bubbles: true}));
		}
		coppice.schedule()`))
	must(t, s.Wait(browser.Ready))
}

// TestProblems: what the tests of this package rely on, a page that does what it must not, is noticed.
func TestProblems(t *testing.T) {
	s := started(t)
	body := ""
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/policy" {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><link rel=icon href="data:,">%s`, body)
	}))
	t.Cleanup(h.Close)
	for _, c := range []struct{ path, body, want string }{
		{"/", "<script>alert('here')</script>", "dialog: alert"},
		{"/", "<script>throw new Error('thrown')</script>", "exception: "},
		{"/", "<script>console.error('said')</script>", "console error: "},
		{"/", "<img src='http://127.0.0.1:9/x.png'>", "request to another place: http://127.0.0.1:9/x.png"},
		{"/policy", "<script>window.owned = 1</script>", "Content Security Policy"},
		{"/policy", "<img src=x onerror='window.owned = 1'>", "Content Security Policy"},
		{"/policy", "<img src='http://127.0.0.1:9/x.png'>", "Content Security Policy"},
	} {
		body = c.body
		must(t, s.Open(h.URL+c.path))
		var got []string
		must(t, s.Wait("document.readyState === 'complete'"))
		for range 100 {
			if got = append(got, s.Problems()...); strings.Contains(strings.Join(got, "\n"), c.want) {
				break
			}
			must(t, s.Do("await new Promise((r) => setTimeout(r, 10))"))
		}
		if !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: noticed %q", c.body, got)
		}
		if c.path == "/policy" && eval[bool](t, s, "'owned' in window") {
			t.Errorf("%s ran", c.body)
		}
	}
	s.Problems()
}
