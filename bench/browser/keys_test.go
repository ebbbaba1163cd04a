package browser_test

import (
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/coppice-hpc/coppice/bench/browser"
)

// window is what the page shows.
type window struct {
	T     [2]float64 `json:"t"`
	Rows  [2]float64 `json:"rows"`
	Sel   *selected  `json:"sel"`
	Tab   string     `json:"tab"`
	Table bool       `json:"table"`
	Marks int        `json:"marks"`
	Theme string     `json:"theme"`
	Ruler int        `json:"ruler"`
	Hash  string     `json:"hash"`
	Said  string     `json:"said"`
	Call  string     `json:"call"`
	Open  string     `json:"open"` // dialog
}

type selected struct {
	Row int     `json:"row"`
	T   float64 `json:"t"`
}

func look(t testing.TB, s *browser.Session) window {
	t.Helper()
	return eval[window](t, s, `(() => {
		const {state, timeline, at} = coppice;
		return {t: state.t, rows: state.rows, sel: state.sel && {row: state.sel.row, t: state.sel.t}, tab: coppice.panels.current().id,
			table: state.table, marks: state.marks.length, theme: document.documentElement.dataset.theme,
			ruler: timeline.ruler ? timeline.ruler.length : 0, hash: location.hash, said: document.getElementById('live').textContent,
			call: state.sel && at && at.stack.length ? at.stack[0].name : '', open: document.querySelector('dialog[open]')?.id || ''};
	})()`)
}

// press types a key and waits until the page is at rest.
func press(t testing.TB, s *browser.Session, key string, options ...chromedp.KeyOption) window {
	t.Helper()
	must(t, s.Do("document.documentElement.dataset.state = 'busy'; coppice.state.last = 0"))
	must(t, s.Keys(key, options...))
	must(t, s.Do("coppice.schedule()"))
	must(t, s.Wait(browser.Ready))
	return look(t, s)
}

// answer types into the dialog that a key opened. The driver's keys insert their character even where the page prevented it.
func answer(t testing.TB, s *browser.Session, text string) {
	t.Helper()
	must(t, s.Do("document.getElementById('ask-text').value = ''"))
	must(t, s.Keys(text))
}

// TestKeys walks through the viewer by keyboard alone: from the address bar into the timeline, through every key.
func TestKeys(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..3000000")
	must(t, s.Keys(kb.Tab))
	if id := eval[string](t, s, "document.activeElement.id"); id != "skip" {
		t.Fatalf("the first stop of Tab is %q", id)
	}
	press(t, s, kb.Enter)
	if id := eval[string](t, s, "document.activeElement.id"); id != "timeline" {
		t.Fatalf("the first link leads to %q", id)
	}

	start := look(t, s)
	width := func(w window) float64 { return w.T[1] - w.T[0] }
	near := func(a, b float64) bool { return math.Abs(a-b) <= 2+1e-6*math.Abs(b) }
	check := func(what string, ok bool, w window) {
		t.Helper()
		if !ok {
			t.Errorf("%s: %+v, selection %+v", what, w, w.Sel)
		}
	}
	w := press(t, s, "w")
	check("w zooms in", near(width(w), 0.6*width(start)), w)
	check("the address follows", strings.Contains(w.Hash, "t="), w)
	w = press(t, s, kb.Backspace)
	check("Backspace is the view before", near(width(w), width(start)) && near(w.T[0], start.T[0]), w)
	w = press(t, s, "s")
	check("s zooms out", near(width(w), width(start)/0.6), w)
	w = press(t, s, "0")
	check("0 is the whole run", w.T[0] == 0 && w.Rows[1] == 16, w)
	press(t, s, "w")
	before := look(t, s)
	w = press(t, s, "d")
	check("d pans right", near(w.T[0]-before.T[0], 0.2*width(before)), w)
	w = press(t, s, "a")
	check("a pans left", near(w.T[0], before.T[0]), w)
	w = press(t, s, "W")
	check("Shift+w makes rows taller", near(w.Rows[1]-w.Rows[0], 9.6), w)
	w = press(t, s, "S")
	check("Shift+s makes rows lower", near(w.Rows[1]-w.Rows[0], 16), w)

	press(t, s, "0")
	w = press(t, s, kb.ArrowDown)
	check("the first arrow selects a row", w.Sel != nil && w.Sel.Row == 0, w)
	w = press(t, s, kb.ArrowDown)
	check("down is the next row", w.Sel != nil && w.Sel.Row == 1 && w.Call != "", w)
	w = press(t, s, kb.ArrowUp)
	check("up is the row before", w.Sel != nil && w.Sel.Row == 0, w)
	here := w
	w = press(t, s, kb.ArrowRight)
	check("right is the next call", w.Sel.T > here.Sel.T && w.Tab == "selection", w)
	must(t, s.Wait("document.getElementById('live').textContent.startsWith('rank 0: ')"))
	next := w
	w = press(t, s, kb.ArrowLeft)
	check("left is the call before", w.Sel.T < next.Sel.T, w)
	w = press(t, s, "f")
	check("f fits the call", width(w) < width(start), w)

	press(t, s, "0")
	w = press(t, s, "n")
	check("n goes to the worst wait", w.Sel != nil && strings.HasPrefix(w.Call, "MPI_"), w)
	worst := w
	w = press(t, s, "[")
	check("[ goes to the sender", w.Sel.Row != worst.Sel.Row && strings.Contains(w.Call, "send"), w)
	sender := w
	w = press(t, s, "]")
	check("] goes to the receiver", w.Sel.Row != sender.Sel.Row, w)
	w = press(t, s, "n")
	check("n goes on", w.Sel.T != worst.Sel.T, w)
	w = press(t, s, "p")
	check("p goes back", w.Sel.T == worst.Sel.T && w.Sel.Row == worst.Sel.Row, w)
	w = press(t, s, "c")
	check("c goes to the cause", w.Sel.Row != worst.Sel.Row, w)

	w = press(t, s, "m")
	check("m marks", w.Marks == 1, w)
	press(t, s, "M")
	answer(t, s, "the slow step")
	w = press(t, s, kb.Enter)
	check("Shift+m marks with a note", w.Marks == 2 && strings.Contains(w.Hash, "slow"), w)
	press(t, s, "r")
	w = press(t, s, "r")
	check("r sets the ruler", w.Ruler == 2, w)
	w = press(t, s, kb.Escape)
	check("Esc clears", w.Ruler == 0 && w.Sel == nil, w)

	w = press(t, s, "/")
	check("/ searches", w.Open == "ask", w)
	answer(t, s, "waitall")
	must(t, s.Wait("document.querySelector('#ask li button')"))
	w = press(t, s, kb.Enter)
	check("search goes to a call", w.Open == "" && w.Call == "MPI_Waitall", w)
	press(t, s, "g")
	answer(t, s, "2ms")
	w = press(t, s, kb.Enter)
	check("g goes to a time", w.Sel != nil && w.Sel.T == 2e6, w)
	press(t, s, "g")
	answer(t, s, "nonsense"+kb.Enter)
	must(t, s.Wait("document.querySelector('#ask .note').textContent.includes('not a time')"))
	press(t, s, kb.Escape)

	for k, tab := range []string{"selection", "statistics", "intervals", "waits", "ranks", "matrix", "counters", "classes"} {
		w = press(t, s, string(rune('1'+k)))
		check("tab "+tab, w.Tab == tab, w)
	}
	turn(t, s, "tab=counters")
	must(t, s.Do("document.querySelector('#panel select').focus()"))
	w = press(t, s, "1")
	check("a list takes its own letters", w.Tab == "counters", w)
	must(t, s.Do("document.getElementById('timeline').focus()"))
	w = press(t, s, "t")
	check("t is the table", w.Table && eval[int](t, s, "document.querySelectorAll('#table tbody tr').length") == 16, w)
	press(t, s, "t")
	w = press(t, s, "l")
	check("l changes the theme", w.Theme == "light", w)
	w = press(t, s, "l")
	check("l again", w.Theme == "dark", w)
	w = press(t, s, "?")
	check("? shows the keys", w.Open == "help", w)
	must(t, s.Do("document.getElementById('letters').click()"))
	press(t, s, kb.Escape)
	before = look(t, s)
	w = press(t, s, "w")
	check("letters are switched off", width(w) == width(before), w)
	clean(t, s)
}

// TestLinks opens what another browser shows, and goes back through its history.
func TestLinks(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "t=1000000..1400000&rows=2..6&tab=waits&at=3:1060000")
	if k := eval[bool](t, s, "location.search.includes('k=')"); k {
		t.Error("the token stays in the address")
	}
	w := look(t, s)
	if w.T != [2]float64{1e6, 1.4e6} || w.Rows != [2]float64{2, 6} || w.Tab != "waits" || w.Sel == nil || w.Sel.Row != 3 {
		t.Errorf("the link shows %+v", w)
	}
	hash := w.Hash
	press(t, s, "w")
	press(t, s, "5")
	must(t, s.Do("history.go(-2); await new Promise((r) => setTimeout(r, 50)); coppice.schedule()"))
	must(t, s.Wait("location.hash === '"+hash+"' && "+browser.Ready))
	if w := look(t, s); w.T != [2]float64{1e6, 1.4e6} || w.Tab != "waits" {
		t.Errorf("back shows %+v", w)
	}
	for _, wrong := range []string{"t=9..1", "t=-5..1e99", "rows=a..b", "at=99999:1", "tab=nothing", "mark=x:y", "t=..."} {
		turn(t, s, wrong)
		if w := look(t, s); !(w.T[0] < w.T[1]) || w.Rows[1] > 16 {
			t.Errorf("%s shows %+v", wrong, w)
		}
	}
	clean(t, s)
}
