package build

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
)

// slowChoice is Choose from plain counts, in floating point. close says that a
// node's decision hangs on the last bits.
func slowChoice(c *GapCounts, locals []*Local) (eligible []bool, close []bool) {
	g := &c.shared.Graph
	values := make([]map[uint64]float64, len(c.slots)) // by slot: count of each gap
	for _, l := range locals {
		v, err := c.open(l, nil)
		if err != nil {
			panic(err)
		}
		var w graph.Walker
		w.Init(v)
		in := stream{src: l.gaps}
		owner := map[uint32]uint32{} // slot of the view -> of the counts
		for _, id := range v.Order {
			gaps, _ := v.Slots(id)
			for i := range gaps {
				owner[v.Slot[id]+i] = c.first[v.Ids[id]] + i
			}
		}
		for st, _, at := w.Next(); st != graph.StepEnd; st, _, at = w.Next() {
			if st != graph.StepCut {
				n := owner[at]
				if values[n] == nil {
					values[n] = map[uint64]float64{}
				}
				values[n][in.next()]++
			}
		}
	}
	h := make([]float64, len(values))
	for i, m := range values {
		sum := 0.0
		for _, n := range m {
			sum += n
		}
		for _, n := range m {
			h[i] += n / sum * math.Log2(sum/n)
		}
		if len(m) > int(c.limit) {
			h[i] = math.Inf(1)
		}
	}
	eligible, close = make([]bool, g.Nodes.Len()+1), make([]bool, g.Nodes.Len()+1)
	total := make([]float64, g.Nodes.Len()+1)
	for id := uint32(1); int(id) <= g.Nodes.Len(); id++ {
		ok := g.Nodes.Kind(id) != graph.KindEvent
		for i := c.first[id]; i < c.first[id+1]; i++ {
			total[id] += h[i]
		}
		for _, child := range g.Nodes.Children(id) {
			total[id] += total[child]
			ok = ok && (eligible[child] || g.Nodes.Kind(child) == graph.KindEvent)
			close[id] = close[id] || close[child]
		}
		if g.Nodes.Kind(id) == graph.KindRepeat {
			ok = ok && (total[id] == 0 || g.Nodes.Count(id) <= uint64(c.shared.Opt.Fan))
			total[id] *= float64(g.Nodes.Count(id))
		}
		margin := math.Log2(float64(c.instances[id])) - 4 - total[id]
		eligible[id] = ok && margin >= 0
		close[id] = close[id] || math.Abs(margin) < 1e-3 && total[id] > 0
	}
	return eligible, close
}

func TestChoiceEqualsSlowTwin(t *testing.T) {
	o := graph.Options{Deviation: testBound}
	defs := ccgtest.Definitions(5)
	for _, step := range []uint64{1 << 41, 256, 16, 4, 1} {
		locals := lossyLocals(t, defs, 5, 4000, o, step)
		s := join(t, defs, locals, o)
		c := NewGapCounts(s)
		for _, l := range locals {
			if err := c.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := c.eligible()
		want, close := slowChoice(c, locals)
		compared, tables := 0, 0
		for id := 1; id < len(want); id++ {
			if close[id] {
				continue
			}
			compared++
			if got.table[id] {
				tables++
			}
			if got.table[id] != want[id] {
				t.Errorf("gaps of %d: node %d: table %t, want %t", step, id, got.table[id], want[id])
			}
		}
		kept := c.Choose()
		for id := uint32(1); int(id) < len(want); id++ {
			if kept.table[id] && !got.table[id] {
				t.Errorf("node %d has a table and may not", id)
			}
			for _, child := range s.Graph.Nodes.Children(id) {
				if kept.table[id] && !kept.table[child] && s.Graph.Nodes.Kind(child) != graph.KindEvent {
					t.Errorf("node %d has a table, its child %d has none", id, child)
				}
			}
		}
		t.Logf("gaps of %d: %d of %d nodes compared, %d can have tables", step, compared, len(want)-1, tables)
	}
}

// shards makes one T per run of locations and merges neighbours in random order.
func shards[T any](r *rand.Rand, locals []*Local, n int, one func([]*Local) T, merge func(a, b T) T) T {
	var list []T
	for i := range n {
		list = append(list, one(locals[i*len(locals)/n:(i+1)*len(locals)/n]))
	}
	for len(list) > 1 {
		i := r.IntN(len(list) - 1)
		list[i] = merge(list[i], list[i+1])
		list = append(list[:i+1], list[i+2:]...)
	}
	return list[0]
}

// TestClassesOfShards merges counts and tables of 1 to 9 shards along random
// ordered trees, through their binary forms.
func TestClassesOfShards(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	o := graph.Options{Deviation: testBound}
	defs := ccgtest.Definitions(9)
	events := 3000
	if testing.Short() {
		events = 400
	}
	for _, step := range []uint64{64, 1} {
		locals := lossyLocals(t, defs, 4, events, o, step)
		s := join(t, defs, locals, o)
		var counts, section []byte
		for _, n := range []int{1, 2, 3, 5, 9} {
			c := shards(r, locals, n, func(part []*Local) *GapCounts {
				c := NewGapCounts(s)
				for _, l := range part {
					if err := c.Add(l); err != nil {
						t.Fatal(err)
					}
				}
				return c
			}, func(a, b *GapCounts) *GapCounts {
				bin, _ := b.AppendBinary(nil)
				b, err := OpenGapCounts(s, bin)
				if err != nil {
					t.Fatal(err)
				}
				if again, _ := b.AppendBinary(nil); !bytes.Equal(again, bin) {
					t.Fatal("counts differ after reading")
				}
				if r.IntN(2) == 0 {
					a, b = b, a
				}
				a.Merge(b)
				return a
			})
			bin, _ := c.AppendBinary(nil)
			if counts == nil {
				counts = bin
			}
			if !bytes.Equal(bin, counts) {
				t.Fatalf("%d shards: counts differ", n)
			}
			got := mergedClasses(t, s, c, locals, n, r).Encode()
			if section == nil {
				section = got
			}
			if !bytes.Equal(got, section) {
				t.Fatalf("%d shards: section differs", n)
			}
		}
	}
}

func mergedClasses(t *testing.T, s *graph.Shared, c *GapCounts, locals []*Local, n int, r *rand.Rand) *graph.Shared {
	t.Helper()
	bin, _ := c.Choose().AppendBinary(nil)
	modes, err := OpenClassModes(s, bin)
	if err != nil {
		t.Fatal(err)
	}
	return shards(r, locals, n, func(part []*Local) *ClassBuilder {
		b := NewClassBuilder(s, modes)
		for _, l := range part {
			if err := b.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}, func(a, b *ClassBuilder) *ClassBuilder {
		in := a.Receive()
		for msg := range b.Parts(1 + r.IntN(3000)) {
			if err := in.Add(msg); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(); err != nil || in.Len() != b.Len() {
			t.Fatalf("%d of %d rows: %v", in.Len(), b.Len(), err)
		}
		return a
	}).Shared()
}
