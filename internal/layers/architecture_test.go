package layers

import (
	"os"
	"regexp"
	"slices"
	"strconv"
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
