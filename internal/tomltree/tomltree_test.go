package tomltree

import (
	"errors"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestLineOf: names may hold what separates them.
func TestLineOf(t *testing.T) {
	e, err := Parse([]byte("a.b = 1\n\"a.c\" = 2\n[x]\n\"a[0]\" = [\n 1,\n {k = 3}]\n"), 100)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"a.b": 1, "a.c": 2, "x.a[0]": 4, "x.a[0][1].k": 6, "x.a[0][7]": 4, "nothing": 1} {
		if got := e.LineOf(path); got != want {
			t.Errorf("%s: line %d, not %d", path, got, want)
		}
	}
}

// TestRules: what TOML forbids is an error with its line.
func TestRules(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = 1\na = 2", `line 2: "a" is there already (line 1)`},
		{"[a]\n[a]", `line 2: "a" is there already (line 1)`},
		{"a.b = 1\n[a]", `line 2: "a" is there already (line 1)`},
		{"[a]\nb = 1\n[x]\n[a.b]", `line 4: "b" is there already (line 2)`},
		{"[a.b]\n[a]\nb.c = 1", `line 3: "b" is there already (line 1)`},
		{"a = {b.c = 1}\na.b.d = 2", `line 2: "a" is there already (line 1)`},
		{"a = []\n[[a]]", `line 2: "a" is there already (line 1)`},
		{"[[a]]\n[a]", `line 2: "a" is there already (line 1)`},
		{"a = 01", "line 1: "},
		{"a = 1__0", "line 1: "},
		{"a = 9223372036854775808", `line 1: "9223372036854775808" is not an integer of 64 bits`},
		{"a = 1e999", `line 1: "1e999" is not a number of 64 bits`},
		{"a = [1,\n2\n", "line 2: not TOML"},
		{strings.Repeat("a.", 9) + "a = 1", "line 1: a.a.a.a.a.a.a.a: a key of more than 8 parts"},
		{"a = " + strings.Repeat("[", 101) + strings.Repeat("]", 101), "line 1: nested deeper than 100"},
		{strings.Repeat("[[a]]\n", 100), "line 100: more than 100 values and tables"},
	} {
		_, err := Parse([]byte(c.text), 100)
		if e, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(e.Error(), c.want) {
			t.Errorf("%.40q: %v, not %q", c.text, err, c.want)
		}
	}
}

// FuzzParse: any bytes are refused or make a tree whose keys all are in it; what is accepted the library accepts too.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a.b = 1\n[x]\nc = [1, {d = 2.5}]\n[[y]]\n[y.z]\nt = true\n[[y]]\n", "a = {b.c = 1}\na.b.d = 2", "[a.b]\n[a]\nb.c = 1", "a = 0x1_f\nb = -inf\nc = 2026-01-01",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := Parse(data, 1000)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		dates := false // whose digits nobody reads
		for stack := []*Value{root}; len(stack) > 0; {
			v := stack[len(stack)-1]
			stack = append(stack[:len(stack)-1], v.Items...)
			if len(v.Keys) != len(v.Fields) || v.Line < 1 {
				t.Fatalf("%q: %+v", data, v)
			}
			dates = dates || v.Kind == Date
			for _, k := range v.Keys {
				stack = append(stack, v.Fields[k])
			}
		}
		var all map[string]any
		if err := toml.Unmarshal(data, &all); err != nil && !dates {
			t.Fatalf("%q: %v", data, err)
		}
	})
}
