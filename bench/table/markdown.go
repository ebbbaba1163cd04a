package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// markdown is the whole text: conditions, a table of the rows of each section that are shown, and where the other tool is ahead in any.
func markdown(m *machine, c config, results []result, shown func([]row) []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %d cores, %s; %s, %s; commit %s; %s, the whole run %.0f minutes.\n",
		m.begin.UTC().Format("2006-01-02 15:04 MST"), m.processor, runtime.NumCPU(), m.memory, m.system, runtime.Version(), m.commit,
		loads(results), math.Ceil(m.took.Minutes()))
	if c.quick {
		fmt.Fprintf(&b, "\n**Quick: small inputs and one round. These figures mean nothing.**\n")
	}
	for _, r := range results {
		fmt.Fprintf(&b, "\n### %s\n\n", r.section.what)
		cells := [][]string{{"what", "compared with", "coppice", "the other", "unit", "ratio", "note"}}
		for _, w := range shown(r.rows) {
			cells = append(cells, []string{w.what, w.peer, figure(w.own), figure(w.other), w.unit, figure(w.ratio), w.note})
		}
		printTable(&b, cells)
		if r.err != nil {
			fmt.Fprintf(&b, "\nThe section failed: %v.\n", r.err)
		}
		if len(r.peers) > 0 {
			var names []string
			for _, p := range r.peers {
				names = append(names, p.name+" "+p.version)
			}
			fmt.Fprintf(&b, "\nMeasured: %s.\n", strings.Join(names, "; "))
		}
	}
	fmt.Fprintf(&b, "\n### Where the other tool is ahead\n\n%s", worse(results))
	return b.String()
}

// every shows all rows.
func every(rows []row) []row { return rows }

// typical shows of the rows about each other tool the one with the median ratio, of two in the middle the lower one.
func typical(rows []row) (list []row) {
	of := map[string][]row{}
	for _, w := range rows {
		of[w.peer] = append(of[w.peer], w)
	}
	ratio := func(w row) float64 { f, _ := strconv.ParseFloat(w.ratio, 64); return f }
	for _, w := range rows {
		if own := of[w.peer]; len(own) > 0 {
			slices.SortStableFunc(own, func(a, b row) int { return cmp.Compare(ratio(a), ratio(b)) })
			list = append(list, own[(len(own)-1)/2])
			delete(of, w.peer)
		}
	}
	return list
}

// loads tells how busy the machine was before each section.
func loads(results []result) string {
	var l []string
	for _, r := range results {
		l = append(l, r.load)
	}
	return "load before each section " + strings.Join(l, ", ")
}

// after lists the rows with a ratio below 1, and counts the others.
func worse(results []result) string {
	var b strings.Builder
	ahead, notMeasured := 0, 0
	for _, r := range results {
		for _, w := range r.rows {
			ratio, err := strconv.ParseFloat(w.ratio, 64)
			switch {
			case w.skipped():
				notMeasured++
			case err == nil && ratio >= 1:
				ahead++
			case err == nil:
				fmt.Fprintf(&b, "* %s: %s compared with %s: %s\n", r.section.name, w.what, w.peer, figure(w.ratio))
			}
		}
	}
	if b.Len() == 0 {
		b.WriteString("* in no row\n")
	}
	fmt.Fprintf(&b, "\nAhead or even in %d rows. Not measured: %d.\n", ahead, notMeasured)
	return b.String()
}

// figure rounds a number to three digits; what is not a number stays.
func figure(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || f == 0 || math.IsInf(f, 0) || math.IsNaN(f):
		return s
	case math.Abs(f) >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 2-int(math.Floor(math.Log10(math.Abs(f)))), 64)
}

// printTable writes a table whose columns line up as plain text too.
func printTable(b *strings.Builder, cells [][]string) {
	width := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for n, row := range cells {
		for i, c := range row {
			fmt.Fprintf(b, "| %s%s ", c, strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)))
		}
		b.WriteString("|\n")
		if n == 0 {
			for i := range row {
				fmt.Fprintf(b, "|%s", strings.Repeat("-", width[i]+2))
			}
			b.WriteString("|\n")
		}
	}
}

// tsv is all rows as the scripts printed them.
func tsv(results []result) string {
	var b strings.Builder
	b.WriteString("section\twhat\tpeer\tcoppice\tpeer's\tunit\tratio\tnote\n")
	for _, r := range results {
		for _, w := range r.rows {
			b.WriteString(strings.Join([]string{w.section, w.what, w.peer, w.own, w.other, w.unit, w.ratio, w.note}, "\t") + "\n")
		}
	}
	return b.String()
}

// The table of a document is between these lines.
const (
	begins = "<!-- the table of bench/run begins -->\n"
	ends   = "<!-- the table of bench/run ends -->\n"
)

// around returns what is before and after the table of a document.
func around(path string) (before, after string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	before, rest, ok := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		return "", "", fmt.Errorf("%s has no lines %q and %q", path, strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	return before, after, nil
}

// replaceTable puts the text between the markers of a document.
func replaceTable(path, text string) error {
	before, after, err := around(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644)
}
