package layers

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestArchitecture compares the table with the one that people read.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	layer := map[string]int{}
	for _, p := range Table {
		if p.Layer < 9 { // what lies next to the tool has one line together
			layer[p.Path] = p.Layer
		}
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| ([0-9]) \\| `([^`]+)` \\|").FindAllSubmatch(text, -1) {
		path := string(m[2])
		listed = append(listed, path)
		want, ok := layer[path]
		if !ok && regexp.MustCompile("^predict/").MatchString(path) { // parts of a family have its layer
			want, ok = layer["predict"], true
		}
		if n, _ := strconv.Atoi(string(m[1])); !ok || n != want {
			t.Errorf("ARCHITECTURE.md has %s in layer %d, the table in %d (%v)", path, n, want, ok)
		}
	}
	for path := range layer {
		if !slices.Contains(listed, path) {
			t.Errorf("ARCHITECTURE.md has no line of %s", path)
		}
	}
}

// TestMutations: each row of bench/mutations/table.tsv changes text that is there, once. A row that does not fit any more tests nothing.
func TestMutations(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../../bench/mutations/table.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		row := strings.Split(line, "\t")
		if len(row) != 5 {
			t.Fatalf("%d fields in %q", len(row), line)
		}
		if text, err := os.ReadFile("../../" + row[0]); err != nil || strings.Count(string(text), row[1]) != 1 {
			t.Errorf("%s has %q not once (%v): change the row to what the formula is now", row[0], row[1], err)
		}
	}
}

// TestWalk bounds the number of files that one event passes, as ARCHITECTURE.md lists them; that they exist is tested with all links.
func TestWalk(t *testing.T) {
	t.Parallel()
	const most = 44
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	walk := regexp.MustCompile(`(?s)## The walk of one event(.*?)\n## `).FindSubmatch(text)
	if walk == nil {
		t.Fatal("ARCHITECTURE.md does not describe the walk of one event")
	}
	files := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(([^)]+\.(?:go|js))\)`).FindAllSubmatch(walk[1], -1) {
		files[string(m[1])] = true
	}
	if len(files) == 0 || len(files) > most {
		t.Errorf("one event passes %d files, want at most %d", len(files), most)
	}
}
