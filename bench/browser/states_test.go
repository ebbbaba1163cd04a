package browser_test

import (
	"encoding/hex"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// TestRuns opens runs of unusual sizes: nothing in them, one process, several threads of each.
func TestRuns(t *testing.T) {
	s := started(t)
	two, err := synthetic.New(synthetic.Options{Processes: 2, Iterations: 1})
	must(t, err)
	for name, file := range map[string]string{
		"empty": analyzedSource(t, silent{two}, "empty.xtf"), "one": analyzed(t, "stencil:procs=1,events=2k"),
		"threads": analyzed(t, "stencil:procs=9,threads=3,events=20k"),
	} {
		_, address := page(t, nil, file)
		open(t, s, address, "")
		shot, err := s.Shot()
		must(t, err)
		keep(t, "run-"+name, shot)
		if !eval[bool](t, s, "[...document.querySelectorAll('#legend li')].filter((x) => x.querySelector('[class*=\" s\"]')).map((x) => x.innerText).join('|') === coppice.answer.classes.filter((c, k) => c && (k === 0 || coppice.meta.regions.some((r) => r.class === k))).join('|')") {
			t.Errorf("%s: the legend is %q", name, eval[string](t, s, "document.getElementById('legend').innerText"))
		}
		tabs := []string{"statistics", "waits", "ranks", "matrix"}
		if name == "empty" {
			tabs = append(tabs, "selection", "intervals", "counters", "classes")
		}
		for _, tab := range tabs {
			turn(t, s, "tab="+tab)
			if text := eval[string](t, s, "document.getElementById('panel').innerText"); strings.Contains(text, "failed") || text == "" {
				t.Errorf("%s: %s says %q", name, tab, text)
			}
		}
		for _, key := range []string{"w", "n", "W", "0", "t", "t"} {
			press(t, s, key)
		}
		clean(t, s)
	}
}

// TestMany zooms from thousands of processes to single calls of one, and looks at what the browser keeps.
func TestMany(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, "ring:procs=4096,events=80k"))
	open(t, s, address, "")
	groups := eval[int](t, s, "coppice.timeline.used.group")
	if groups < 16 {
		t.Errorf("4096 processes are drawn in groups of %d", groups)
	}
	turn(t, s, "t=500000..500400&tab=statistics")
	if text := eval[string](t, s, "document.getElementById('panel').innerText"); !strings.Contains(text, " to ") || strings.Contains(text, "exact") {
		t.Errorf("a short window of many processes shows no bounds:\n%s", text)
	}
	turn(t, s, "rows=1024..1040")
	if g := eval[int](t, s, "coppice.timeline.used.group"); g != 1 {
		t.Errorf("16 processes are drawn in groups of %d", g)
	}
	if label := eval[string](t, s, "coppice.names.label(1024)"); label != "rank 1024" {
		t.Errorf("row 1024 is %q", label)
	}
	for range 7 {
		must(t, s.Keys("ww"))
	}
	press(t, s, "w")
	if !eval[bool](t, s, "coppice.timeline.used.single") {
		t.Error("single calls do not appear")
	}
	kept := eval[float64](t, s, "coppice.tiles.cache.bytes + coppice.painter.pictures.bytes")
	if kept > 100<<20 {
		t.Errorf("the browser keeps %g bytes of tiles", kept)
	}
	t.Logf("%.1f MB of tiles, heap %.1f MB", kept/1e6, eval[float64](t, s, "performance.memory.usedJSHeapSize")/1e6)
	clean(t, s)
}

// TestGone has the server fail in several ways: the page says so in words, and goes on when it is back.
func TestGone(t *testing.T) {
	s := started(t)
	var mode atomic.Value
	mode.Store("")
	_, address := page(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/api/") {
			return false
		}
		switch mode.Load() {
		case "gone":
			if h, ok := w.(http.Hijacker); ok {
				if c, _, err := h.Hijack(); err == nil {
					c.Close()
				}
			}
		case "error":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"error":{"what":"damaged file","where":"page 7","why":"checksum mismatch","do":"Copy the file again."}}`))
		case "garbage":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>proxy error"))
		case "short":
			if strings.Contains(r.URL.Path, "/tile/") {
				_, _ = w.Write([]byte("CTIL\x01\x00"))
			} else {
				return false
			}
		default:
			return false
		}
		return true
	}, analyzed(t, exampleSpec))
	open(t, s, address, "")
	for i, x := range []struct{ mode, want string }{
		{"gone", "the server does not answer"},
		{"error", "checksum mismatch. Copy the file again."},
		{"garbage", "502"},
		{"short", "not a tile"},
	} {
		mode.Store(x.mode)
		turn(t, s, "tab=waits&t="+[]string{"1000000..1400000", "1500000..1900000", "2000000..2400000", "2500000..2900000"}[i])
		text := eval[string](t, s, "document.getElementById('notice').innerText + document.getElementById('panel').innerText")
		if !strings.Contains(text, x.want) {
			t.Errorf("%s: the page says %q", x.mode, text)
		}
	}
	mode.Store("")
	s.Problems() // failed requests are on the console
	turn(t, s, "tab=waits&t=3000000..3400000")
	if text := eval[string](t, s, "document.getElementById('panel').innerText"); !strings.Contains(text, "late sender") {
		t.Errorf("back again it says %q", text)
	}
	clean(t, s)
}

// TestToken opens the page without the token: it is refused, and no answer comes.
func TestToken(t *testing.T) {
	s := started(t)
	h, _ := page(t, nil, analyzed(t, "stencil:procs=2,events=2k"))
	must(t, s.Open(h.URL+"/"))
	if text := eval[string](t, s, "document.body.innerText"); !strings.Contains(text, "token") {
		t.Errorf("without a token the page says %q", text)
	}
}

// TestChain follows a planted wait to its origin: rank 2 waits for rank 1, which waits for rank 0, which computes.
func TestChain(t *testing.T) {
	s := started(t)
	script := tracetest.Script{Latency: 10, Steps: [][]tracetest.Step{
		{{Enter: "slow"}, {Ticks: 5000}, {Leave: "slow"}, {Call: "Send", Peer: 1, Ticks: 20}},
		{{Enter: "relay"}, {Ticks: 1000}, {Call: "Recv", Peer: 0, Ticks: 20}, {Ticks: 300}, {Call: "Send", Peer: 2, Ticks: 20}, {Leave: "relay"}},
		{{Enter: "timestep"}, {Ticks: 700}, {Call: "Recv", Peer: 1, Ticks: 20}, {Leave: "timestep"}},
	}}
	src, err := script.Source()
	must(t, err)
	_, address := page(t, nil, analyzedSource(t, src, "chain.xtf"))
	open(t, s, address, "tab=selection&at=2:2000")
	text := eval[string](t, s, "document.getElementById('panel').innerText")
	for _, want := range []string{"ended by", "rank 1, MPI_Send", "rank 1 waited itself, late sender, for ", "rank 0: slow for "} {
		if !strings.Contains(text, want) {
			t.Errorf("the selection does not say %q:\n%s", want, text)
		}
	}
	w := press(t, s, "c")
	if w.Sel.Row != 1 || w.Call != "MPI_Recv" {
		t.Errorf("c goes to rank %d, %s", w.Sel.Row, w.Call)
	}
	w = press(t, s, "c")
	if w.Sel.Row != 0 || w.Call != "slow" {
		t.Errorf("c again goes to rank %d, %s", w.Sel.Row, w.Call)
	}
	turn(t, s, "tab=waits")
	// Rank 1 waits 4000 ticks and more for slow; all that rank 2 waits is for slow, in turn, or for what relay does in between.
	text = eval[string](t, s, "document.getElementById('panel').innerText")
	for _, want := range []string{"delay costs", "slow", "ended by"} {
		if !strings.Contains(text, want) {
			t.Errorf("the waits do not say %q:\n%s", want, text)
		}
	}
	clean(t, s)
}

// TestComparison shows two measured runs: neither is called a prediction. They are drawn from the same execution of an interval on, where
// that is asked for.
func TestComparison(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec), analyzed(t, "stencil:procs=16,events=60k,jitter=2,imbalance=5,depth=3,seed=3"))
	open(t, s, address, "tab=comparison")
	press(t, s, "1")
	press(t, s, "9") // the last of nine tabs
	text := eval[string](t, s, "document.body.innerText")
	if !strings.Contains(text, "second, measured ÷ first, measured") || strings.Contains(text, "predicted") {
		t.Errorf("the page says %q", text)
	}
	// The columns are all of the time of a rank, barriers too.
	const off = `(async () => {
		const {timeParts} = await import('./assets/panelranks.js');
		const p = await coppice.ask('compare', {});
		const time = p.series.find((s) => s.item === 'time');
		return Math.max(...p.first.map((_, k) => Math.abs(timeParts(p).reduce((sum, s) => sum + s.first[k], 0) - time.first[k]) / time.first[k]));
	})()`
	if v := eval[float64](t, s, off); v > 1e-9 {
		t.Errorf("the parts of a rank's time differ from it by a share of %v", v)
	}
	must(t, s.Wait("coppice.second.tiles.cache.map.size > 0 && "+browser.Ready))
	turn(t, s, "tab=comparison&align=1.3")
	must(t, s.Wait("coppice.second.aligned === '1,3' && coppice.second.at[0] > 0 && "+browser.Ready))
	const begins = `(async () => {
		const one = async (run) => (await coppice.source.json('executions', {node: 1, loc: 0, run})).list.find((x) => x.k === 3).begin;
		return [await one(null), await one(1), coppice.second.fromFirst(await one(null))];
	})()`
	if v := eval[[3]float64](t, s, begins); v[0] == v[1] || v[1] != v[2] {
		t.Errorf("the executions begin at %g and %g; drawn above each other are %g and %g", v[0], v[1], v[0], v[2])
	}
	shot, err := s.Shot()
	must(t, err)
	keep(t, "comparison", shot)
	turn(t, s, "tab=comparison&align=1.4000")
	if text := eval[string](t, s, "document.getElementById('panel').innerText"); !strings.Contains(text, "has no execution #4000") {
		t.Errorf("without such an execution the panel says %q", text)
	}
	clean(t, s)
}

// TestPrediction shows a run next to one that says that it was predicted from it.
func TestPrediction(t *testing.T) {
	s := started(t)
	file := analyzed(t, exampleSpec)
	o, err := synthetic.ParseOptions(exampleSpec)
	must(t, err)
	src, err := synthetic.New(o)
	must(t, err)
	id := opened(t, file)[0].File.FileID()
	defs, err := predict.Annotated(src.Definitions(), []predict.Property{{Name: results.PredictedFrom, Value: hex.EncodeToString(id[:])}})
	must(t, err)
	_, address := page(t, nil, file, analyzedSource(t, annotated{src, defs}, "predicted.xtf"))
	open(t, s, address, "tab=comparison")
	if text := eval[string](t, s, "document.getElementById('panel').innerText"); !strings.Contains(text, "predicted ÷ measured") {
		t.Errorf("the panel says %q", text)
	}
	clean(t, s)
}

// annotated is a source with other definitions.
type annotated struct {
	trace.Source
	defs *trace.Definitions
}

func (a annotated) Definitions() *trace.Definitions { return a.defs }
