package browser_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// keep writes a picture where the variable COPPICE_SHOTS says, for people to look at.
func keep(t testing.TB, name string, picture []byte) {
	t.Helper()
	dir := os.Getenv("COPPICE_SHOTS")
	if dir == "" {
		return
	}
	must(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}

// looks compares a picture with what the theme and the view must give, loosely: mean light, and how many of its coarse
// blocks are not of one colour.
func looks(t testing.TB, name string, p image.Image, dark bool) {
	t.Helper()
	var sum float64
	b := p.Bounds()
	const block = 16
	blocks, busy := 0, 0
	for y := b.Min.Y; y+block <= b.Max.Y; y += block {
		for x := b.Min.X; x+block <= b.Max.X; x += block {
			low, high := math.Inf(1), math.Inf(-1)
			for dy := 0; dy < block; dy += 2 {
				for dx := 0; dx < block; dx += 2 {
					g := float64(color.GrayModel.Convert(p.At(x+dx, y+dy)).(color.Gray).Y)
					low, high = min(low, g), max(high, g)
					sum += g
				}
			}
			blocks++
			if high-low > 40 {
				busy++
			}
		}
	}
	mean := sum / float64(blocks*block*block/4)
	if dark != (mean < 128) {
		t.Errorf("%s: mean light %.0f of 255, dark: %t", name, mean, dark)
	}
	if part := float64(busy) / float64(blocks); part < 0.1 || part > 0.9 {
		t.Errorf("%s: %.0f %% of the blocks have something in them", name, 100*part)
	}
}

// TestViews opens every panel, the table and the details in both themes and two sizes.
func TestViews(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec), analyzed(t, "stencil:procs=16,events=60k,jitter=10,imbalance=60,depth=3,metrics,io,seed=3"))
	_, alone := page(t, nil, analyzed(t, exampleSpec))
	for i, theme := range []string{"light", "dark", "light wide", "dark wide"} {
		must(t, s.Media("prefers-color-scheme", strings.Fields(theme)[0], "prefers-reduced-motion", "reduce"))
		if i > 1 {
			must(t, s.Size(1600, 900))
		}
		open(t, s, address, "t=1000000..3000000&tab=comparison&align=1.4")
		if got := eval[string](t, s, "document.body.innerText"); !strings.Contains(got, "Aligned at") {
			t.Errorf("%s comparison: the page does not say how the runs are aligned:\n%s", theme, got)
		}
		shot, err := s.Shot()
		must(t, err)
		keep(t, "comparison-"+strings.ReplaceAll(theme, " ", "-"), shot)
		open(t, s, alone, "")
		for _, v := range []struct{ name, fragment, want string }{
			{"selection", "t=1000000..1400000&tab=selection&at=3:1080000", "call stack"},
			{"statistics", "tab=statistics", "functions of the visible window"},
			{"intervals", "tab=intervals", "timestep"},
			{"waits", "tab=waits", "late sender"},
			{"ranks", "tab=ranks", "set-up and end"},
			{"matrix", "tab=matrix", "largest pairs"},
			{"counters", "t=1000000..3000000&tab=counters", "readings"},
			{"classes", "tab=classes", "Dendrogram"},
			{"tall", "t=1000000..1100000&rows=0..4&tab=statistics", "functions"},
			{"calls", "t=1000000..2000000&tab=calls", "call paths of the visible window"},
			{"groups", "t=1000000..3000000&by=class&fold=1&tab=waits", "longest waits"},
			{"sorted", "t=1000000..3000000&by=bytes_out&msg=late&counter=0&at=3:2000000", "call stack"},
			{"table", "view=table&t=1000000..2000000", "shares of the time"},
			{"details", "details=1&mark=2000000:here&tab=statistics", "here"},
		} {
			turn(t, s, v.fragment)
			if got := eval[string](t, s, "document.body.innerText"); !strings.Contains(got, v.want) {
				t.Errorf("%s %s: the page does not say %q:\n%s", theme, v.name, v.want, got)
			}
			shot, err := s.Shot()
			must(t, err)
			keep(t, v.name+"-"+strings.ReplaceAll(theme, " ", "-"), shot)
			p, err := png.Decode(bytes.NewReader(shot))
			must(t, err)
			looks(t, theme+" "+v.name, p, strings.HasPrefix(theme, "dark"))
			clean(t, s)
		}
	}
}

// TestSlowTiles: a tile takes 80 ms, longer than a picture of a screen. What the overview asks for is not given up whenever the time line is
// drawn: the page becomes ready, and each tile is asked for once or twice.
func TestSlowTiles(t *testing.T) {
	s := started(t)
	var lock sync.Mutex
	asked := map[string]int{}
	_, address := page(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/api/tile/") {
			lock.Lock()
			asked[r.URL.String()]++
			lock.Unlock()
			time.Sleep(80 * time.Millisecond)
		}
		return false
	}, analyzed(t, exampleSpec))
	must(t, s.Size(1600, 900))
	open(t, s, address, "t=1000000..3000000")
	lock.Lock()
	defer lock.Unlock()
	if len(asked) == 0 {
		t.Error("no tile was asked for")
	}
	for what, times := range asked {
		if times > 2 {
			t.Errorf("%s was asked for %d times", what, times)
		}
	}
}

// TestWholeRun asks for the statistics of all: they have no bounds, bytes of functions neither.
func TestWholeRun(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "tab=statistics")
	text := eval[string](t, s, "document.getElementById('panel').innerText")
	for _, vague := range []string{"≈", "B to "} {
		if strings.Contains(text, vague) {
			t.Errorf("statistics of the whole run have bounds:\n%s", text)
		}
	}
	for _, want := range []string{"16 processes in ", "exact"} {
		if !strings.Contains(text, want) {
			t.Errorf("the panel does not say %q:\n%s", want, text)
		}
	}
}

// TestNumbers writes numbers with the digits that reports have.
func TestNumbers(t *testing.T) {
	s := started(t)
	_, address := page(t, nil, analyzed(t, exampleSpec))
	open(t, s, address, "")
	must(t, s.Do("globalThis.format = await import('./assets/format.js')"))
	for expression, want := range map[string]string{
		"format.bytes(0)":                         "0 B",
		"format.bytes(999)":                       "999 B",
		"format.bytes(2579776)":                   "2.58 MB",
		"format.bytes(999500)":                    "1 MB",
		"format.bytes(29700)":                     "29.7 kB",
		"new format.Clock(1e9).duration(0)":       "0 s",
		"new format.Clock(1e9).duration(5)":       "5 ns",
		"new format.Clock(1e9).duration(16e6)":    "16.0 ms",
		"new format.Clock(1e9).duration(9.6e9)":   "9.60 s",
		"new format.Clock(1e9).duration(999.6e6)": "1.00 s",
		"new format.Clock(1e9).duration(86400e9)": "86,400 s",
		"new format.Clock(1e9).at(0, 1e6, 4e8)":   "0 ms",
		"new format.Clock(1e9).at(4.585e8, 1e6)":  "459 ms",
		"new format.Clock(0).duration(1234)":      "1,234 ticks",
		"format.share(0.23)":                      "23.0%",
	} {
		if got := eval[string](t, s, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}
