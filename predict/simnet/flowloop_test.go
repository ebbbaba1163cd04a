package simnet

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// looped is the vector of processes whose iterations are equal but for the entries in other.
type looped struct {
	body  vectors // of each process, one iteration: an entry before each call
	other map[[2]uint64]int64
}

func (l looped) Fill(p uint32, first uint64, dst []int64) error {
	for i := range dst {
		dst[i] = l.at(p, first+uint64(i))
	}
	return nil
}

func (l looped) at(p uint32, i uint64) int64 {
	if x, ok := l.other[[2]uint64{uint64(p), i}]; ok {
		return x
	}
	if len(l.body[p]) == 0 {
		return 0
	}
	return l.body[p][i%uint64(len(l.body[p]))]
}

// looping turns a program of one pass into one of several.
func looping(p *program.Program, times uint64) *program.Program {
	q := *p
	q.Roots = slices.Clone(p.Roots)
	for i, root := range q.Roots {
		q.Nodes = append(q.Nodes, program.Node{Kind: program.Loop, First: uint32(len(q.Children)), Len: 1, Count: times})
		q.Children = append(q.Children, root)
		q.Roots[i] = program.NodeID(len(q.Nodes) - 1)
	}
	return &q
}

// expanded is looping without a loop.
func expanded(p *program.Program, times uint64) *program.Program {
	q := *p
	q.Roots = slices.Clone(p.Roots)
	for i, root := range q.Roots {
		kids := p.Nodes[root]
		first := uint32(len(q.Children))
		for range times {
			q.Children = append(q.Children, p.Children[kids.First:kids.First+kids.Len]...)
		}
		q.Nodes = append(q.Nodes, program.Node{Kind: program.Seq, First: first, Len: uint32(len(q.Children)) - first})
		q.Roots[i] = program.NodeID(len(q.Nodes) - 1)
	}
	return &q
}

// bodyOf drops the entry after the last call of one pass.
func bodyOf(v vectors) vectors {
	out := slices.Clone(v)
	for i := range out {
		out[i] = out[i][:len(out[i])-1]
	}
	return out
}

// TestLoops: programs with loops and without take the same time, at any number of ranks.
func TestLoops(t *testing.T) {
	t.Parallel()
	count := 150
	if testing.Short() {
		count = 30
	}
	for seed := range uint64(count) {
		r := rng(seed)
		var p *program.Program
		var v vectors
		if seed%3 == 0 {
			p, v = randomColls(r)
		} else {
			p, v = randomScript(r, false).build(t)
		}
		times := 4 + r.Uint64N(60)
		c := looped{body: bodyOf(v)}
		if seed%2 == 0 { // one entry of one iteration differs
			q := r.IntN(len(v))
			if n := uint64(len(c.body[q])); n > 0 {
				c.other = map[[2]uint64]int64{{uint64(q), r.Uint64N(n * times)}: 123_456_789}
			}
		}
		n := randomNet(r)
		want, err := flow(expanded(p, times), c, n, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			ranks, workers int
			o              Options
		}{{1, 1, Options{}}, {1, 2, Options{Ring: 1}}, {3, 1, Options{}}} {
			x.o.Workers = x.workers
			got, err := flowOn(x.ranks, looping(p, times), c, n, x.o)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, x, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d times, %+v: %+v, want %+v", seed, times, x, got, want)
			}
		}
	}
}

// watcher keeps the times of all calls, by process.
type watcher struct{ list [][]int64 }

func (o *watcher) Calls(process uint32, first uint64, times []int64) error {
	if first != uint64(len(o.list[process])/2) {
		return fmt.Errorf("process %d: call %d after %d", process, first, len(o.list[process])/2)
	}
	o.list[process] = append(o.list[process], times...)
	return nil
}

// TestObserver: it hears of all calls in order.
func TestObserver(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rng(seed)
		p, v := randomScript(r, false).build(t)
		o := &watcher{list: make([][]int64, len(v))}
		res, err := flow(looping(p, 40), looped{body: bodyOf(v)}, randomNet(r), Options{Observer: o, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		for q, x := range res.Times {
			if uint64(len(o.list[q])) != 2*x.Calls || !slices.IsSorted(o.list[q]) {
				t.Fatalf("seed %d: process %d has %d times for %d calls", seed, q, len(o.list[q]), x.Calls)
			}
		}
	}
}
