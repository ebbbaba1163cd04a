package callpath

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// names lists the paths of t as text, "/3/1" for region 1 called from region 3.
func names(t *Tree) []string {
	list := []string{""}
	for n := 1; n < t.Len(); n++ {
		p := t.Path(uint32(n))
		list = append(list, fmt.Sprintf("%s/%05d", list[p.Parent], p.Region))
	}
	return list
}

// random makes a tree of about n paths over few regions.
func random(r *rand.Rand, n int) *Tree {
	t := New()
	for range n {
		t.Child(uint32(r.IntN(t.Len())), r.Uint32N(4))
	}
	return t
}

func TestChild(t *testing.T) {
	x := New()
	a := x.Child(0, 7)
	b := x.Child(a, 7)
	if again := x.Child(0, 7); a == b || again != a || x.Len() != 3 {
		t.Fatalf("paths %d, %d, %d of %d", a, b, again, x.Len())
	}
	if got := x.Path(b); got != (Path{Parent: a, Region: 7, Level: 2}) {
		t.Fatalf("%+v", got)
	}
	n := uint32(0)
	for range 2 * MaxLevel {
		n = x.Child(n, 9)
	}
	if x.Path(n).Level != MaxLevel || x.Child(n, 8) != n {
		t.Fatalf("level %d", x.Path(n).Level)
	}
	for i := range uint32(2 * MaxPaths) {
		x.Child(0, 100+i)
	}
	if x.Len() != MaxPaths || x.Child(a, 1) != a || x.Child(a, 7) != b {
		t.Fatalf("%d paths", x.Len())
	}
}

// TestMerge: the union, its numbers and what is cut do not depend on the order.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		most := 1 + r.IntN(60)
		trees := make([]*Tree, 1+r.IntN(6))
		all := map[string]int{"": 0}
		for i := range trees {
			trees[i] = random(r, r.IntN(40))
			for _, name := range names(trees[i]) {
				all[name] = strings.Count(name, "/")
			}
		}
		want := slices.Sorted(maps.Keys(all))
		for level := MaxLevel; len(want) > most && level > 0; level-- {
			want = slices.DeleteFunc(want, func(s string) bool { return all[s] >= level })
		}
		var first []byte
		for order := range 3 {
			union := joined(t, r, trees, most)
			union.Number()
			if got := names(union); !slices.Equal(got, want) {
				t.Fatalf("round %d: %v, want %v", round, got, want)
			}
			b := union.AppendBinary(nil)
			if order > 0 && !bytes.Equal(b, first) {
				t.Fatalf("round %d: another order gives other bytes", round)
			}
			first = b
			checkLocate(t, union, trees)
		}
	}
}

// joined merges copies of trees in some order.
func joined(t *testing.T, r *rand.Rand, trees []*Tree, most int) *Tree {
	t.Helper()
	list := make([]*Tree, len(trees))
	for i, at := range r.Perm(len(trees)) {
		var err error
		if list[i], err = Parse(trees[at].AppendBinary(nil)); err != nil {
			t.Fatal(err)
		}
	}
	for len(list) > 1 {
		i := r.IntN(len(list) - 1)
		list[i].merge(list[i+1], most)
		var err error
		if list[i], err = Parse(list[i].AppendBinary(nil)); err != nil { // cut, its deepest paths are just above the cut
			t.Fatal(err)
		}
		list = slices.Delete(list, i+1, i+2)
	}
	list[0].merge(New(), most)
	return list[0]
}

func checkLocate(t *testing.T, union *Tree, trees []*Tree) {
	t.Helper()
	have := names(union)
	for _, x := range trees {
		table := union.Locate(x)
		for n, name := range names(x) {
			for !slices.Contains(have, name) {
				name = name[:strings.LastIndex(name, "/")]
			}
			if have[table[n]] != name {
				t.Fatalf("%s is located at %s", name, have[table[n]])
			}
		}
	}
}

// TestParse has trees as their numbers: level of the cut, paths, then for each the distance to its parent, and its region.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []uint64
		ok      bool
	}{
		{"path 0", []uint64{1, 1}, true},
		{"nothing is left", []uint64{0, 1}, false},
		{"no path", []uint64{1, 0}, false},
		{"as deep as the cut allows", []uint64{3, 3, 1, 7, 1, 7}, true},
		{"deeper than the cut", []uint64{2, 3, 1, 7, 1, 7}, false},
		{"the last level", []uint64{MaxLevel + 1, 2, 1, 7}, true},
		{"a cut below the last level", []uint64{MaxLevel + 2, 2, 1, 7}, false},
		{"its own parent", []uint64{3, 2, 0, 7}, false},
		{"a parent before path 0", []uint64{3, 2, 2, 7}, false},
		{"a path twice", []uint64{3, 3, 1, 7, 2, 7}, false},
		{"a path missing", []uint64{3, 3, 1, 7}, false},
		{"a number too many", []uint64{3, 2, 1, 7, 1}, false},
	} {
		if x, err := Parse(varint.Append(nil, c.numbers...)); (err == nil) != c.ok {
			t.Errorf("%s: %v, %v", c.name, x, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(New().AppendBinary(nil))
	f.Add(random(rand.New(rand.NewPCG(1, 1)), 30).AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(x.AppendBinary(nil))
		if err != nil || !slices.Equal(names(x), names(again)) {
			t.Fatalf("%v: %v, then %v", err, names(x), names(again))
		}
		x.Merge(again)
		x.Number()
	})
}

func BenchmarkChild(b *testing.B) {
	x := New()
	for range b.N {
		p := x.Child(0, 1)
		x.Child(x.Child(p, 2), 3)
		x.Child(p, 4)
	}
}
