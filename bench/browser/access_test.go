package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/bench/browser"
)

// checker is the accessibility checker that scripts/setup --test fetches, or a reason to skip.
func checker(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "coppice", "axe-core-*.js"))
	if err != nil || len(found) == 0 {
		t.Skip("axe-core is not here: scripts/setup --test fetches it where npm is")
	}
	b, err := os.ReadFile(found[len(found)-1])
	must(t, err)
	return string(b)
}

// finding is one thing that the checker complains about.
type finding struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

// TestAccessibility has pages checked by axe-core, by the rules of WCAG 2.2 A and AA, in both themes. Nothing serious
// may be found.
func TestAccessibility(t *testing.T) {
	s := started(t)
	axe := checker(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	for _, theme := range []string{"light", "dark"} {
		must(t, s.Media("prefers-color-scheme", theme, "prefers-reduced-motion", "reduce"))
		open(t, s, address, "")
		if _, err := browser.Eval[bool](s, axe+"\n;true"); err != nil {
			t.Fatal(err)
		}
		for i, fragment := range []string{
			"t=1000000..1400000&at=3:1060000&details=1&mark=1200000:here", "tab=intervals&view=table", "tab=waits", "tab=classes",
			"tab=statistics", "tab=ranks", "tab=matrix", "tab=counters&t=1000000..2000000", "tab=calls&t=1000000..2000000",
		} {
			turn(t, s, fragment)
			scope := "#panel"
			if i == 0 || strings.Contains(fragment, "view=table") {
				scope = "html"
			}
			complain(t, s, theme+" "+fragment, scope)
		}
		must(t, s.Do("document.getElementById('b-help').click()"))
		complain(t, s, theme+" help", "#help")
		must(t, s.Do("document.getElementById('help').close(); document.getElementById('b-search').click()"))
		complain(t, s, theme+" search", "#ask")
	}
	clean(t, s)
}

// complain has a part of the page checked: in the light theme by all rules, in the dark one by those that look at colours.
func complain(t testing.TB, s *browser.Session, where, scope string) {
	t.Helper()
	rules := `['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']`
	if strings.HasPrefix(where, "dark ") {
		rules = `{type: 'rule', values: ['color-contrast', 'link-in-text-block']}`
	}
	found := eval[[]finding](t, s, `axe.run('`+scope+`', {resultTypes: ['violations'], runOnly: `+rules+`}).then(
		(r) => r.violations.map((v) => ({id: v.id, impact: v.impact || '', help: v.help, nodes: v.nodes.map((n) => n.html.slice(0, 200) + ' ' + (n.failureSummary || '')).slice(0, 5)})))`)
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			t.Errorf("%s: %s: %s\n  %s", where, f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
		} else {
			t.Logf("%s: %s (%s): %s\n  %s", where, f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n  "))
		}
	}
}

// TestMedia shows the page to people who set their system otherwise: forced colours, larger text, a narrow window.
func TestMedia(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	must(t, s.Media("forced-colors", "active", "prefers-color-scheme", "dark"))
	open(t, s, address, "")
	shot, err := s.Shot()
	must(t, err)
	keep(t, "forced", shot)
	must(t, s.Media("prefers-color-scheme", "light", "prefers-reduced-motion", "reduce"))
	// A page at 200 % has half the width and height.
	must(t, s.Size(640, 400))
	open(t, s, address, "")
	if over := eval[float64](t, s, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		t.Errorf("at 200 %% the page is %g pixels too wide", over)
	}
	if h := eval[float64](t, s, "document.getElementById('timeline').clientHeight"); h < 100 {
		t.Errorf("at 200 %% the timeline has %g pixels", h)
	}
	shot, err = s.Shot()
	must(t, err)
	keep(t, "zoomed", shot)
	small := eval[[]string](t, s, `[...document.querySelectorAll('button, a, input, select, [role=tab], [role=treeitem] > .item')].filter((e) => {
		const b = (e.closest('label') || e).getBoundingClientRect();
		return b.width > 1 && b.height > 1 && (b.width < 24 || b.height < 24) && e.id !== 'skip';
	}).map((e) => e.outerHTML.slice(0, 120))`)
	for _, e := range small {
		t.Errorf("smaller than 24 pixels: %s", e)
	}
	clean(t, s)
}
