package build

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// TestMergeTrees joins shards in random ordered trees: same bytes, and the
// numbering is that of a walk over the union.
func TestMergeTrees(t *testing.T) {
	const size = 9
	m := makeGraph(t, size, 700, true, graph.Options{})
	want := m.shared.Encode()
	partners := NewPartners(m.defs)
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(size) {
		one := NewPartners(m.defs)
		one.Add(m.locals[i])
		b, _ := one.AppendBinary(nil)
		one, err := OpenPartners(m.defs, b)
		if err != nil {
			t.Fatal(err)
		}
		partners.Merge(one)
	}
	e := partners.Choose()
	b, _ := e.AppendBinary(nil)
	e, err := graph.OpenEncodings(b)
	if err != nil {
		t.Fatal(err)
	}
	trees := uint64(40)
	if testing.Short() {
		trees = 10
	}
	for seed := range trees {
		r := rand.New(rand.NewPCG(seed, 3))
		var forest []*Union
		for _, l := range m.locals {
			if len(forest) == 0 || r.IntN(3) > 0 {
				forest = append(forest, NewUnion(m.defs, e, graph.Options{}))
			}
			if err := forest[len(forest)-1].Add(l); err != nil {
				t.Fatal(err)
			}
		}
		for len(forest) > 1 {
			i := r.IntN(len(forest) - 1)
			in := forest[i].Receive()
			for part := range forest[i+1].Parts(1 + r.IntN(5000)) {
				if err := in.Add(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			forest = slices.Delete(forest, i+1, i+2)
		}
		if !bytes.Equal(forest[0].Shared().Encode(), want) {
			t.Fatalf("tree %d gives other bytes", seed)
		}
	}
}

// TestEveryMergeTree joins every run of shards from every two parts of it, and
// compares with adding them one by one. By induction every ordered tree over the
// shards gives these bytes.
func TestEveryMergeTree(t *testing.T) {
	size := 9
	if testing.Short() {
		size = 6
	}
	m := makeGraph(t, uint32(size), 400, true, graph.Options{})
	partners := NewPartners(m.defs)
	for _, l := range m.locals {
		partners.Add(l)
	}
	e := partners.Choose()
	add := func(from, to int) *Union {
		u := NewUnion(m.defs, e, graph.Options{})
		for _, l := range m.locals[from:to] {
			if err := u.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	for from := range size {
		for to := from + 1; to <= size; to++ {
			want := add(from, to).Shared().Encode()
			for cut := from; cut <= to; cut++ { // empty sides too
				u := add(from, cut)
				in := u.Receive()
				for part := range add(cut, to).Parts(1 << 12) {
					if err := in.Add(part); err != nil {
						t.Fatal(err)
					}
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(u.Shared().Encode(), want) {
					t.Fatalf("locations %d to %d, cut at %d: other bytes", from, to-1, cut)
				}
			}
		}
	}
}

// walkTable numbers what the roots reach by a recursive walk, and prints it: the
// slow, obvious twin of the numbering.
func walkTable(g *graph.Graph, roots []uint32) string {
	var b strings.Builder
	ids := map[uint32]int{}
	var visit func(id uint32)
	visit = func(id uint32) {
		if ids[id] != 0 {
			return
		}
		var children []int
		for _, c := range g.Nodes.Children(id) {
			visit(c)
			children = append(children, ids[c])
		}
		ids[id] = len(ids) + 1
		fmt.Fprintf(&b, "%d: kind %d, tuple %x, children %d", ids[id], g.Nodes.Kind(id), g.Tuples.At(g.Nodes.Tuple(id)), children)
		if g.Nodes.Kind(id) == graph.KindRepeat {
			fmt.Fprintf(&b, " %d times", g.Nodes.Count(id))
		}
		b.WriteByte('\n')
	}
	for _, r := range roots {
		visit(r)
	}
	return b.String()
}

// TestNumberingIsAWalk joins locations in any order: a walk over that union, roots
// in ascending P, gives the numbers of the one joined in order.
func TestNumberingIsAWalk(t *testing.T) {
	const size = 7
	m := makeGraph(t, size, 600, true, graph.Options{})
	var roots []uint32
	for _, l := range m.locs {
		roots = append(roots, l.Root())
	}
	want := walkTable(&m.shared.Graph, roots)
	if n := strings.Count(want, "\n"); n != m.shared.Nodes() {
		t.Fatalf("%d nodes reached of %d", n, m.shared.Nodes())
	}
	if again := listTable(&m.shared.Graph); again != want {
		t.Error("ids differ from those of the walk")
	}
	for seed := range uint64(5) {
		u := NewUnion(m.defs, m.shared.Encoding, graph.Options{})
		for _, p := range rand.New(rand.NewPCG(seed, 4)).Perm(size) {
			if err := u.Add(m.locals[p]); err != nil {
				t.Fatal(err)
			}
			roots[p] = u.ids[len(u.ids)-1]
		}
		if got := walkTable(&u.graph, roots); got != want {
			t.Fatalf("seed %d: another numbering", seed)
		}
	}
}

// listTable prints a graph as walkTable does, in the order of its ids.
func listTable(g *graph.Graph) string {
	var b strings.Builder
	for id := uint32(1); int(id) <= g.Nodes.Len(); id++ {
		fmt.Fprintf(&b, "%d: kind %d, tuple %x, children %d", id, g.Nodes.Kind(id), g.Tuples.At(g.Nodes.Tuple(id)), g.Nodes.Children(id))
		if g.Nodes.Kind(id) == graph.KindRepeat {
			fmt.Fprintf(&b, " %d times", g.Nodes.Count(id))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
