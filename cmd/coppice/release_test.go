package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/record"
)

// released are commands on the files of a release in testdata, and the answers that its coppice gave. Rows, and keys of
// JSON, are only ever added. Of answers whose numbers may be mended only the keys and the kinds of their values are kept.
var released = []struct {
	answer string
	keeps  func(want, got string) error
	args   []string
}{
	{"calls.csv", keepsColumns, []string{"export", "run.xtf.bin", "--to", "csv", "--table", "calls", "-o", "-"}},
	{"messages.csv", keepsColumns, []string{"export", "run.xtf.bin", "--to", "csv", "--table", "messages", "-o", "-"}},
	{"collectives.csv", keepsColumns, []string{"export", "run.xtf.bin", "--to", "csv", "--table", "collectives", "-o", "-"}},
	{"waits.csv", keepsColumns, []string{"export", "run.xtf.bin", "--to", "csv", "--table", "waits", "-o", "-"}},
	{"intervals.csv", keepsColumns, []string{"export", "run.xtf.bin", "--to", "csv", "--table", "intervals", "-o", "-"}},
	{"walk.json", keepsValues, []string{"query", "run.xtf.bin", "walk", "--rank", "1", "--n", "0", "--limit", "1000", "--format", "json"}},
	{"members.json", keepsValues, []string{"query", "run.xtf.bin", "members", "--rank", "0", "--n", "1", "--format", "json"}},
	{"report.json", keepsKeys, []string{
		"report", "run.xtf.bin", "summary", "intervals", "waits", "pop", "profile", "paths", "comm", "topology", "io", "counters",
		"classes", "ccg", "diagnostics", "untold", "--format", "json",
	}},
	{"diff.json", keepsKeys, []string{"diff", "run.xtf.bin", "run.xtf.bin", "--format", "json"}},
	{"levers.json", keepsKeys, []string{"levers", "run.xtf.bin", "--format", "json"}},
	{"log.json", keepsValues, []string{"info", "receive.log.bin", "--format", "json"}},
	{"platform.txt", keepsLines, []string{"platform", "show", "platform.toml"}},
	{"capacity.json", keepsValues, []string{"capacity", "solve", "capacity.toml", "--format", "json"}},
	{"plan.json", keepsKeys, []string{"plan", "predict", "run.xtf.bin", "-o", "p.xtf", "--site", "site.toml", "--format", "json", "--", "--platform", "platform.toml"}},
}

// TestReleased reads the files of all releases: those that this version reads, it must read as they were read then. With -update a new
// release gets its answers; answers that are there are never rewritten.
func TestReleased(t *testing.T) {
	releases, err := filepath.Glob("testdata/[0-9]*.[0-9]*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("no files of releases: %v", err)
	}
	for _, dir := range releases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Chdir(dir)
			must(t, "check", "run.xtf.bin")
			for _, x := range released {
				got := must(t, x.args...)
				want, err := os.ReadFile(x.answer)
				if errors.Is(err, fs.ErrNotExist) && *update {
					want, err = []byte(got), os.WriteFile(x.answer, []byte(got), 0o666)
				}
				if err == nil {
					err = x.keeps(string(want), got)
				}
				if err != nil {
					t.Errorf("coppice %s, next to %s: %v", strings.Join(x.args, " "), x.answer, err)
				}
			}
		})
	}
}

// TestReleasedReplay writes the replay.json of a release again: keys are only ever added.
func TestReleasedReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := concludeReplay([]record.Replay{{
		Log: "0.log", Rank: 1, Size: 2, End: "cut", Message: "the log ends", Calls: 3, Exit: 4, Vector: "1.csv", Segments: 5,
		CPU: 6, Wall: 7, AllCPU: []int64{6}, AllDelay: []int64{8}, Original: []record.Comparison{{Vector: "o.csv", Segments: 9, Same: 2, CPU: 10, Percent: 0.5}},
	}}, dir, streams{out: io.Discard}); !errors.Is(err, errSilent) {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "replay.json"))
	want, rerr := os.ReadFile("testdata/0.1.0/replay.json")
	if err := errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	if err := keepsValues(string(want), string(got)); err != nil {
		t.Error(err)
	}
}

// TestKeeps gives the comparisons what must and must not pass.
func TestKeeps(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, want, got string
		keeps           func(want, got string) error
		ok              bool
	}{
		{"a column more", "a,b\n1,2\n", "a,c,b\n1,9,2\n", keepsColumns, true},
		{"a column less", "a,b\n1,2\n", "a\n1\n", keepsColumns, false},
		{"another cell", "a,b\n1,2\n", "a,b\n1,3\n", keepsColumns, false},
		{"a row more", "a\n1\n", "a\n1\n1\n", keepsColumns, false},
		{"a key more", `{"a":[{"b":1}]}`, `{"a":[{"b":1,"c":2}],"d":null}`, keepsValues, true},
		{"a key less", `{"a":1,"b":null}`, `{"a":1}`, keepsValues, false},
		{"another value", `{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`, keepsValues, false},
		{"an element more", `{"a":[1]}`, `{"a":[1,1]}`, keepsValues, false},
		{"other numbers", `{"a":[{"b":1},{"c":"x"}]}`, `{"a":[{"c":"y","b":3}]}`, keepsKeys, true},
		{"a number as text", `{"a":[{"b":1}]}`, `{"a":[{"b":"1"}]}`, keepsKeys, false},
		{"a key less in a list", `{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, keepsKeys, false},
		{"nothing, then a number", `{"a":null}`, `{"a":1}`, keepsKeys, true},
		{"a line more", "a\nb\n", "a\nc\nb\n", keepsLines, true},
		{"lines in another order", "a\nb\n", "b\na\n", keepsLines, false},
	} {
		if err := x.keeps(x.want, x.got); (err == nil) != x.ok {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// keepsLines wants all lines, in their order.
func keepsLines(want, got string) error {
	rest := strings.Split(got, "\n")
	for line := range strings.SplitSeq(want, "\n") {
		i := slices.Index(rest, line)
		if i < 0 {
			return fmt.Errorf("the line %q is missing", line)
		}
		rest = rest[i+1:]
	}
	return nil
}

// keepsColumns wants the same rows in all columns.
func keepsColumns(want, got string) error {
	w, err := csv.NewReader(strings.NewReader(want)).ReadAll()
	if err != nil {
		return err
	}
	g, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil {
		return err
	}
	if len(w) != len(g) {
		return fmt.Errorf("%d rows, were %d", len(g), len(w))
	}
	for c, name := range w[0] {
		at := slices.Index(g[0], name)
		if at < 0 {
			return fmt.Errorf("column %s is missing", name)
		}
		for r := range w {
			if w[r][c] != g[r][at] {
				return fmt.Errorf("row %d, column %s: %s, was %s", r, name, g[r][at], w[r][c])
			}
		}
	}
	return nil
}

// keepsValues wants all keys with their values.
func keepsValues(want, got string) error { return keepsJSON(want, got, sameValues) }

// keepsKeys wants all keys that the elements of each list had, with values of their kinds; null is of any kind.
func keepsKeys(want, got string) error { return keepsJSON(want, got, sameKeys) }

func keepsJSON(want, got string, same func(at string, w, g any) error) error {
	var w, g any
	if err := errors.Join(json.Unmarshal([]byte(want), &w), json.Unmarshal([]byte(got), &g)); err != nil {
		return err
	}
	return same("", w, g)
}

func sameValues(at string, w, g any) error {
	switch w := w.(type) {
	case map[string]any:
		return sameMembers(at, w, g, sameValues)
	case []any:
		list, ok := g.([]any)
		if !ok || len(list) != len(w) {
			return fmt.Errorf("%s: %.80v, was %d elements", at, g, len(w))
		}
		for i := range w {
			if err := sameValues(fmt.Sprintf("%s[%d]", at, i), w[i], list[i]); err != nil {
				return err
			}
		}
		return nil
	default:
		if w != g {
			return fmt.Errorf("%s: %.80v, was %v", at, g, w)
		}
		return nil
	}
}

func sameKeys(at string, w, g any) error {
	switch w := w.(type) {
	case nil:
		return nil
	case map[string]any:
		return sameMembers(at, w, g, sameKeys)
	case []any:
		list, ok := g.([]any)
		if !ok {
			return fmt.Errorf("%s: %.80v, was a list", at, g)
		}
		return sameKeys(at+"[]", union(w), union(list))
	default:
		if g != nil && fmt.Sprintf("%T", w) != fmt.Sprintf("%T", g) {
			return fmt.Errorf("%s: %.80v, was %v", at, g, w)
		}
		return nil
	}
}

func sameMembers(at string, w map[string]any, g any, same func(at string, w, g any) error) error {
	object, ok := g.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %.80v, was an object", at, g)
	}
	for key, value := range w {
		now, ok := object[key]
		if !ok {
			return fmt.Errorf("%s.%s is missing", at, key)
		}
		if err := same(at+"."+key, value, now); err != nil {
			return err
		}
	}
	return nil
}

// union puts the members of all objects of a list into one, and the elements of its lists into one list. Of other values it is one that
// is not null.
func union(list []any) any {
	var all any
	for _, v := range list {
		switch v := v.(type) {
		case map[string]any:
			m, ok := all.(map[string]any)
			if !ok {
				m = map[string]any{}
			}
			for key, value := range v {
				m[key] = union([]any{m[key], value})
			}
			all = m
		case []any:
			l, _ := all.([]any)
			all = append(l, v...)
		case nil:
		default:
			all = v
		}
	}
	return all
}

// TestResultWithoutDefinitions reads a result whose definitions are not some: the advice is about the result, not about an archive.
func TestResultWithoutDefinitions(t *testing.T) {
	code, _, errs := call("info", filepath.Join("..", "..", "xtf", "testdata", "v1-packed.xtf.bin"))
	if code != 3 || !strings.Contains(errs, "analyze the trace again") || strings.Contains(errs, "archive") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
