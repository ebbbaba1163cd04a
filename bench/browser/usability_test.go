package browser_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/coppice-hpc/coppice/bench/browser"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// act is one action of a person at the page: a key with a text that is typed into the dialog it opens, or something that is clicked,
// clicked twice or chosen in a list.
type act func(t *testing.T, s *browser.Session)

func typed(key, text string) act {
	return func(t *testing.T, s *browser.Session) {
		press(t, s, key)
		answer(t, s, text)
		press(t, s, kb.Enter)
		must(t, s.Wait("!document.getElementById('ask').open"))
		rest(t, s)
	}
}

func key(k string) act { return func(t *testing.T, s *browser.Session) { press(t, s, k) } }

// on clicks the first element of a selector whose text begins so, as a mouse does.
func on(times int, selector, text string) act {
	return func(t *testing.T, s *browser.Session) {
		t.Helper()
		const find = `[...document.querySelectorAll(%q)].find((e) => e.innerText.trim().startsWith(%q))`
		e := fmt.Sprintf(find, selector, text)
		must(t, s.Wait(e))
		at := eval[[2]float64](t, s, "(() => { const e = "+e+"; e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect(); return [b.x + Math.min(b.width / 2, 30), b.y + b.height / 2]; })()")
		for range times {
			must(t, s.Click(at[0], at[1]))
		}
		if times == 2 { // the driver's clicks are single ones
			must(t, s.Do(e+".dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"))
		}
		rest(t, s)
		rest(t, s)
	}
}

func choose(selector, text string) act {
	return func(t *testing.T, s *browser.Session) {
		must(t, s.Do(fmt.Sprintf(`const e = document.querySelector(%q); e.value = [...e.options].find((o) => o.text === %q).value;
			e.dispatchEvent(new Event('change', {bubbles: true}))`, selector, text)))
		rest(t, s)
		rest(t, s)
	}
}

// asked is a question, what a person does, and what is then read off the text of the page: named groups of patterns, which fill the answer.
type asked struct {
	text   string
	acts   []act
	read   []string
	answer string
}

const mostActions = 5

func tab(name string) act { return on(1, "#tabs button", name) }

// line is the place of a rank in the tree.
func line(times, rank int) act {
	return on(times, "#tree [role=treeitem] > .item", "rank "+strconv.Itoa(rank))
}

// stacked reads a line of the call stack.
const stacked = `\n\s*(?P<%s>\w+)\s[^\n]*`

// questions are those of the command line's TestUsability.
var questions = []asked{
	{
		"Which rank is late at the third MPI_Allreduce, and in which function?",
		[]act{typed("/", "MPI_Allreduce #3"), on(1, "#panel button", "rank ")},
		[]string{`(?m)^where\s+rank (?P<rank>\d+)`, `call stack[^\n]*\n[^\n]*` + fmt.Sprintf(stacked, "allreduce") + fmt.Sprintf(stacked, "function")},
		"rank {rank} in {function}",
	},
	{
		"In which function of the program is rank 3 longest, without what it calls?",
		[]act{line(2, 3), tab("Statistics")},
		[]string{`(?m)^\s*(?P<function>[a-z]\w*)\s*\n\s*\S+ [mµn]?s\s`},
		"{function}",
	},
	{
		"Which rank computes longest, and how long?",
		nil,
		[]string{`(?m)^\s*CPU\s.*\s(?P<time>\S+ \S+) \(rank (?P<rank>\d+)\)\s*$`},
		"rank {rank} {time}",
	},
	{
		"What is rank 2 in at 0.32 s?",
		[]act{line(1, 2), typed("g", "0.32s")},
		[]string{`call stack[^\n]*\n[^\n]*` + fmt.Sprintf(stacked, "d") + fmt.Sprintf(stacked, "c") + fmt.Sprintf(stacked, "b") + fmt.Sprintf(stacked, "a")},
		"{a} {b} {c} {d}",
	},
	{
		"How often is exchange_1 called on rank 0, and how long does it take in all?",
		[]act{line(2, 0), tab("Statistics")},
		[]string{`(?m)^\s*exchange_1\s+\S+ [mµn]?s\s+(?P<time>\S+ [mµn]?s)\s+(?P<calls>[\d,]+)`},
		"{calls} {time}",
	},
	{
		"How many messages go from rank 1 to rank 3?",
		[]act{tab("Matrix")},
		[]string{`(?m)^\s*1\s+3\s+(?P<n>[\d,]+)\s`},
		"{n}",
	},
	{
		"Which rank waits longest for late senders, and how long?",
		nil,
		[]string{`(?m)^\s*late sender\s.*\s(?P<time>\S+ \S+) \(rank (?P<rank>\d+)\)\s*$`},
		"rank {rank} {time}",
	},
	{
		"When does rank 0 come to its tenth MPI_Allreduce?",
		[]act{typed("/", "MPI_Allreduce #10")},
		[]string{`(?m)^begin\s+(?P<time>\S+ \S+)`},
		"{time}",
	},
	{
		"Which rank is longest in MPI_Recv?",
		[]act{on(1, "#panel th button", "MPI_Recv"), choose("#order select", "by time in MPI_Recv"), key("t")},
		[]string{`shares of the time[^\n]*\n[^\n]*\n\s*rank (?P<rank>\d+) +(?P<time>\S+ [mµn]?s)\s`},
		"rank {rank} {time}",
	},
	{
		"Which part of the processes' time between start and end of MPI is computation?",
		[]act{tab("Intervals")},
		[]string{`parallel efficiency\s+(?P<part>\d\.\d{3})\s`},
		"{part}",
	},
	{
		"How long is rank 0 in MPI in the ninth tenth of the run?",
		[]act{typed("g", "80%..90%"), line(2, 0), tab("Statistics")},
		[]string{`(?m)^\s*MPI\s+(?P<time>\S+ \S+)\s`},
		"{time}",
	},
	{
		"How many calls of MPI_Allreduce are there on all ranks?",
		nil,
		[]string{`(?m)^\s*MPI_Allreduce\s+\S+ [mµn]?s\s+\S+ [mµn]?s\s+(?P<calls>[\d,]+)`},
		"{calls}",
	},
}

// TestUsability asks the page of four real archives twelve questions, and compares what it shows with the answers that the command line's
// test has from the events that otf2-print prints. Numbers are compared to the digits that are shown.
func TestUsability(t *testing.T) {
	s := started(t)
	text, err := os.ReadFile("../../cmd/coppice/testdata/usability.tsv")
	must(t, err)
	dir := filepath.Join("..", "..", "..", "shared", "traces", "otf2")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no folder shared/traces next to the repository")
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(questions) {
		t.Fatalf("%d questions, %d answers", len(questions), len(lines))
	}
	for i, line := range lines {
		f, q := strings.Split(line, "\t"), questions[i]
		t.Run(f[1], func(t *testing.T) {
			if len(f) != 3 || f[1] != q.text || len(q.acts) > mostActions {
				t.Fatalf("%q of %q, with %d actions", f, q.text, len(q.acts))
			}
			if shared.runs[f[0]] == "" {
				src, err := otf2.OpenPath(filepath.Join(dir, f[0]))
				must(t, err)
				shared.runs[f[0]] = analyzedSource(t, src, f[0]+".xtf")
			}
			_, address := page(t, nil, shared.runs[f[0]])
			open(t, s, address, "")
			for _, a := range q.acts {
				a(t, s)
			}
			shown := eval[string](t, s, "document.getElementById('panel').innerText + '\\n' + document.getElementById('table').innerText")
			got := q.answer
			for _, pattern := range q.read {
				x := regexp.MustCompile(pattern)
				m := x.FindStringSubmatch(shown)
				if m == nil {
					t.Fatalf("no %s in\n%s", pattern, shown)
				}
				for i, name := range x.SubexpNames()[1:] {
					got = strings.ReplaceAll(got, "{"+name+"}", strings.ReplaceAll(m[i+1], " ", ""))
				}
			}
			if !slices.EqualFunc(strings.Fields(got), strings.Fields(f[2]), same) {
				t.Errorf("%s: the page says %q, want %q", f[0], got, f[2])
			}
			clean(t, s)
		})
	}
}

var quantity = regexp.MustCompile(`^([\d.,]+)(s|ms|µs|ns)?$`)

// same compares a word of the page with one of an answer, whose times are seconds with six decimals.
func same(got, want string) bool {
	m := quantity.FindStringSubmatch(got)
	if m == nil {
		return got == want
	}
	digits := strings.ReplaceAll(m[1], ",", "")
	v, err := strconv.ParseFloat(digits, 64)
	x, failed := strconv.ParseFloat(want, 64)
	unit := map[string]float64{"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "": 1}[m[2]]
	_, decimals, _ := strings.Cut(digits, ".")
	half := 0.5 * unit * math.Pow(10, -float64(len(decimals)))
	if m[2] != "" {
		half += 0.5e-6
	}
	return err == nil && failed == nil && math.Abs(v*unit-x) <= half*1.0001
}
