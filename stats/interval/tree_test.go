package interval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// randomTree makes a tree of executed nodes.
func randomTree(r *rand.Rand, n int) *Tree {
	t := NewTree()
	t.Executed(0, 1, 100)
	for range n {
		k := Key{ID: r.Uint64N(3), Name: string(rune('a' + r.IntN(2))), Line: r.Uint32N(2), Form: Form(1 + r.IntN(2))}
		if r.IntN(5) == 0 {
			k.Form = FormDerived
		}
		begin := r.Uint64N(10)
		t.Executed(t.Child(uint32(r.IntN(t.Len())), k), begin, begin+r.Uint64N(10))
	}
	return t
}

// keysOf names a node by its keys.
func keysOf(t *Tree, n uint32) (s string) {
	for ; n != 0; n = t.Node(n).Parent {
		s = fmt.Sprintf("/%v", t.Node(n).identity()) + s
	}
	return s
}

func TestTreeChild(t *testing.T) {
	x := NewTree()
	a := x.Child(0, Key{ID: 1, Form: FormRaw})
	b := x.Child(0, Key{ID: 1, Form: FormPortable})
	c := x.Child(0, Key{ID: 1, Form: FormDerived})
	d := x.Child(a, Key{ID: 1})
	if a != b || a == c || d == a || x.Len() != 4 || x.Node(d).Level != 2 {
		t.Fatal(a, b, c, d, x.Len())
	}
	n := uint32(0)
	for range MaxLevel {
		n = x.Child(n, Key{ID: 7})
	}
	if x.Child(n, Key{ID: 7}) != None {
		t.Error("too deep, but there is a node")
	}
	for i := range uint64(MaxNodes) {
		x.Child(0, Key{ID: 10 + i})
	}
	if x.Len() != MaxNodes || x.Child(0, Key{Name: "x"}) != None || x.Child(0, Key{ID: 1}) != a {
		t.Errorf("%d nodes", x.Len())
	}
	y := NewTree()
	y.Child(0, Key{Name: "one more"})
	if _, err := x.Merge(y); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}

// TestTreeMerge: the union and its numbers do not depend on the order, and follow
// the definition.
func TestTreeMerge(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		trees := make([]*Tree, 1+r.IntN(5))
		for i := range trees {
			trees[i] = randomTree(r, r.IntN(20))
		}
		var first []byte
		for order := range 3 {
			union := NewTree()
			tables := make([][]uint32, len(trees))
			for _, i := range r.Perm(len(trees)) {
				table, err := union.Merge(trees[i])
				if err != nil {
					t.Fatal(err)
				}
				tables[i] = table
			}
			number := union.Number()
			for i, x := range trees {
				located := union.Locate(x)
				for n := range uint32(x.Len()) {
					if to := number[tables[i][n]]; keysOf(x, n) != keysOf(union, to) || located[n] != to {
						t.Fatalf("seed %d: %s became %s", seed, keysOf(x, n), keysOf(union, to))
					}
				}
			}
			b := union.AppendBinary(nil)
			if order > 0 && !bytes.Equal(b, first) {
				t.Fatalf("seed %d: another order gives other bytes", seed)
			}
			first = b
			if read, err := ParseTree(b); err != nil || !slices.Equal(read.nodes, union.nodes) {
				t.Fatalf("seed %d: %v: %+v is read back", seed, err, read)
			}
			checkNumbers(t, union, trees)
		}
	}
}

// checkNumbers: depth first, children in order, executions of all.
func checkNumbers(t *testing.T, union *Tree, trees []*Tree) {
	t.Helper()
	children := make([][]uint32, union.Len())
	executions := map[string]uint64{}
	for _, x := range trees {
		for n := range uint32(x.Len()) {
			executions[keysOf(x, n)] += x.Node(n).Executions
		}
	}
	for n := uint32(0); int(n) < union.Len(); n++ {
		if union.Node(n).Executions != executions[keysOf(union, n)] {
			t.Fatalf("node %d: %d executions", n, union.Node(n).Executions)
		}
		if n > 0 {
			p := union.Node(n).Parent
			children[p] = append(children[p], n)
		}
	}
	next := uint32(0)
	var visit func(n uint32)
	visit = func(n uint32) {
		if n != next {
			t.Fatalf("node %d is at %d", n, next)
		}
		next++
		sorted := slices.IsSortedFunc(children[n], func(a, b uint32) int {
			x, y := union.Node(a), union.Node(b)
			return cmp.Or(cmp.Compare(x.First, y.First), cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Name, y.Name))
		})
		if !sorted {
			t.Fatalf("children of %d: %v", n, children[n])
		}
		for _, c := range children[n] {
			visit(c)
		}
	}
	visit(0)
}

func TestComponents(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		var c Components
		want := map[uint64]uint64{}
		for range r.IntN(30) {
			node, item, v := r.Uint32N(20), xtf.Item(r.Uint32N(uint32(xtf.NumItems))), r.Uint64()>>(8+r.IntN(56))
			c.Add(node, item, v)
			want[xtf.NodeKey(node, uint32(item))] += v
		}
		p, err := ParseComponents(c.AppendBinary(nil))
		if err != nil || text(p) != text(&c) {
			t.Fatalf("%v: %s became %s", err, text(&c), text(p))
		}
		p.Each(func(node uint32, item xtf.Item, v uint64) {
			if want[xtf.NodeKey(node, uint32(item))] != v || c.Value(node, item) != v {
				t.Fatalf("node %d item %d: %d", node, item, v)
			}
		})
		table := make([]uint32, 20)
		for i, n := range r.Perm(20) {
			table[i] = uint32(n)
		}
		table[3] = None
		if err := p.Renumber(table); err != nil {
			t.Fatal(err)
		}
		for n, to := range table {
			for i := range xtf.NumItems {
				if to != None && p.Value(to, i) != c.Value(uint32(n), i) {
					t.Fatalf("node %d is not at %d", n, to)
				}
			}
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add(NewTree().AppendBinary(nil))
	f.Add(randomTree(rand.New(rand.NewPCG(1, 1)), 12).AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseTree(b)
		if err != nil {
			return
		}
		again, err := ParseTree(x.AppendBinary(nil))
		if err != nil || !slices.Equal(x.nodes, again.nodes) {
			t.Fatalf("%v: %v, then %v", err, x.nodes, again.nodes)
		}
		x.Number()
		if table, err := x.Merge(again); err != nil || len(table) != x.Len() {
			t.Fatalf("%d of %d: %v", len(table), x.Len(), err)
		}
	})
}

func FuzzParseComponents(f *testing.F) {
	var c Components
	c.Add(0, xtf.ItemTime, 5)
	c.Add(7, xtf.ItemCriticalMarker, 1<<63)
	f.Add(c.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseComponents(b)
		if err != nil {
			return
		}
		again, err := ParseComponents(x.AppendBinary(nil))
		if err != nil || text(x) != text(again) {
			t.Fatalf("%v: %s, then %s", err, text(x), text(again))
		}
	})
}
