package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text, err string
		rows, peers     int
	}{
		{"rows and peers", "peer\tlibotf2\t3.0\nreading\tring\tlibotf2\t2\t1\tM events/CPU s\t2\t\n", "", 1, 1},
		{"skipped", "reading\tring\tlibotf2\t-\t-\t-\t-\tskipped: not here\n", "", 1, 0},
		{"nothing", "", "no rows", 0, 0},
		{"another section", "writing\tring\tlibotf2\t2\t1\ts\t2\t\n", "not a row", 0, 0},
		{"a field short", "reading\tring\tlibotf2\t2\t1\ts\t2\n", "not a row", 0, 0},
		{"no number", "reading\tring\tlibotf2\tfast\t1\ts\t2\t\n", `"fast" is not a number`, 0, 0},
		{"output of a program", "ready.\n", "not a row", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, peers, err := parse("reading", c.text)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if len(rows) != c.rows || len(peers) != c.peers {
				t.Errorf("%d rows and %d peers, want %d and %d", len(rows), len(peers), c.rows, c.peers)
			}
		})
	}
}

func TestFigure(t *testing.T) {
	for in, want := range map[string]string{
		"-": "-", "0": "0", "1": "1.00", "0.0123456": "0.0123", "9.994": "9.99", "12.34": "12.3", "123.4": "123", "54321.9": "54322",
	} {
		if got := figure(in); got != want {
			t.Errorf("figure(%s) = %s, want %s", in, got, want)
		}
	}
}

// What coppice is worse at is listed, what was not measured is counted.
func TestMarkdown(t *testing.T) {
	rows, peers, err := parse("reading", "peer\tlibotf2\t3.0\nreading\tring\tlibotf2\t2\t1\tM/s\t2\t\nreading\tring\tother\t1\t4\tM/s\t0.25\tnote\n"+
		"reading\tring\tthird\t-\t-\t-\t-\tskipped: not here\n")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{processor: "P", memory: "M", system: "S", commit: "C", begin: time.Unix(0, 0)}
	got := markdown(m, config{}, []result{{section: section{name: "reading", what: "Reading"}, rows: rows, peers: peers, load: "0.1"}}, every)
	for _, want := range []string{
		"commit C", "### Reading\n", "| ring | other         | 1.00    | 4.00      | M/s  | 0.250 | note              |", "Measured: libotf2 3.0.\n",
		"* reading: ring compared with other: 0.250\n", "Ahead or even in 1 rows. Not measured: 1.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestReplaceTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "performance.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + begins + "old\n" + ends + "after\n")
	for range 2 { // the second time in what the first has written
		if err := replaceTable(path, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "before\n" + begins + "\nnew\n\n" + ends + "after\n"; err != nil || string(got) != want {
		t.Errorf("%q, want %q, error %v", got, want, err)
	}
	write("no markers\n")
	if err := replaceTable(path, "new\n"); err == nil {
		t.Error("no error without markers")
	}
}

// Every section has its script, and every script a section.
func TestSections(t *testing.T) {
	scripts, err := filepath.Glob("../sections/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"lib.sh": true}
	for _, s := range sections {
		known[s.name+".sh"] = true
		if _, err := os.Stat("../sections/" + s.name + ".sh"); err != nil {
			t.Error(err)
		}
	}
	for _, path := range scripts {
		if !known[filepath.Base(path)] {
			t.Errorf("%s is not a section", path)
		}
	}
}

// TestTypical: of each other tool the row in the middle, whatever the order.
func TestTypical(t *testing.T) {
	list := typical([]row{{peer: "a", ratio: "9"}, {peer: "b", ratio: "1"}, {peer: "a", ratio: "0.5"}, {peer: "a", ratio: "3"}, {peer: "b", ratio: "4"}})
	if len(list) != 2 || list[0].ratio != "3" || list[1].ratio != "1" {
		t.Errorf("%+v", list)
	}
}
