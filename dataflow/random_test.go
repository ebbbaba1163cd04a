package dataflow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

// op is an operation of a random program.
type op struct {
	do   string // send, receive, enter, result
	at   uint64
	p    trace.P // the other side
	key  uint64
	coll Collective
}

// program is the operations of all locations, and what the communicators are.
type program struct {
	defs *trace.Definitions
	ops  [][]op
}

// randomProgram makes operations that can be done in the order in which they are
// made, so that no location waits for ever.
func randomProgram(r *rand.Rand, processes, threads, steps int) *program {
	var comms [][]uint64
	for range 3 {
		comms = append(comms, nil)
		for _, p := range r.Perm(processes)[:1+r.IntN(processes)] {
			comms[len(comms)-1] = append(comms[len(comms)-1], uint64(p))
		}
	}
	pr := &program{defs: testDefs(processes, threads, comms...)}
	pr.ops = make([][]op, pr.defs.NumLocations())
	ordinals := make([]uint64, len(comms)+2)
	at := uint64(0)
	add := func(p trace.P, o op) {
		o.at = at
		pr.ops[p] = append(pr.ops[p], o)
	}
	location := func() trace.P { return trace.P(r.IntN(len(pr.ops))) }
	for key := range uint64(steps) {
		at += uint64(r.IntN(10))
		switch r.IntN(3) {
		case 0, 1:
			a, b := location(), location()
			add(a, op{do: "send", p: b, key: key})
			add(b, op{do: "receive", p: a, key: key})
		default:
			comm := 1 + r.IntN(len(comms)+1)
			members := pr.defs.CommMembers(uint32(comm))
			c := Collective{uint32(comm), ordinals[comm], Kind(r.IntN(int(countKinds))), uint32(r.IntN(len(members)))}
			ordinals[comm]++
			var in []trace.P
			for _, m := range members {
				p := pr.defs.Processes()[m].First + trace.P(r.IntN(threads))
				add(p, op{do: "enter", coll: c})
				in = append(in, p)
			}
			for rank, p := range in {
				if c.Kind == RootToAll && uint32(rank) == c.Root || c.Kind == MaxToRoot && uint32(rank) != c.Root {
					continue
				}
				add(p, op{do: "result", coll: c})
			}
		}
	}
	return pr
}

// walk is what a location computes, over any way to exchange values.
type walk struct {
	ops []op
	i   int
	x   uint64
	got []uint64
}

type transport interface {
	Reach(at uint64) bool
	Send(to trace.P, key, v uint64)
	Receive(key uint64, from trace.P) (uint64, bool)
	Enter(c Collective, v uint64) bool
	Result(c Collective) (uint64, bool)
}

func (w *walk) run(x transport) bool {
	for w.i < len(w.ops) {
		o := &w.ops[w.i]
		if !x.Reach(o.at) {
			return false
		}
		switch o.do {
		case "send":
			x.Send(o.p, o.key, w.x)
		case "enter":
			x.Enter(o.coll, w.x)
		case "receive":
			v, ok := x.Receive(o.key, o.p)
			if !ok {
				return false
			}
			w.take(v)
		case "result":
			v, ok := x.Result(o.coll)
			if !ok {
				return false
			}
			w.take(v)
		}
		w.i++
		w.x = w.x*3 + uint64(w.i)
	}
	return true
}

func (w *walk) take(v uint64) {
	w.x ^= v
	w.got = append(w.got, v)
}

func (w *walk) Walk(x *Port) (bool, error) { return w.run(x), nil }

// twin exchanges values through plain lists, looked at from the front.
type twin struct {
	pr  *program
	p   trace.P
	all *twinState
}

type twinState struct {
	sent   []twinValue
	enters []twinEnter
}

type twinValue struct {
	to     trace.P
	key, v uint64
}

type twinEnter struct {
	c      Collective
	p      trace.P
	member uint32
	v      uint64
}

func (t *twin) Reach(uint64) bool { return true }

func (t *twin) Send(to trace.P, key, v uint64) {
	t.all.sent = append(t.all.sent, twinValue{to, key, v})
}

func (t *twin) Receive(key uint64, _ trace.P) (uint64, bool) {
	for _, x := range t.all.sent {
		if x.to == t.p && x.key == key {
			return x.v, true
		}
	}
	return 0, false
}

func (t *twin) member(c Collective) uint32 {
	process, _ := t.pr.defs.Process(t.p)
	r, _ := t.pr.defs.RankIn(c.Comm, process)
	return r
}

func (t *twin) Enter(c Collective, v uint64) bool {
	t.all.enters = append(t.all.enters, twinEnter{c, t.p, t.member(c), v})
	return true
}

func (t *twin) Result(c Collective) (uint64, bool) {
	var high uint64
	n, own := 0, t.member(c)
	if !slices.ContainsFunc(t.all.enters, func(e twinEnter) bool { return e.c == c && e.p == t.p }) {
		return 0, false
	}
	for _, e := range t.all.enters {
		if e.c != c {
			continue
		}
		n++
		if c.Kind == RootToAll && e.member == c.Root {
			return e.v, true
		}
		if c.Kind != PrefixMax || e.member <= own {
			high = max(high, e.v)
		}
	}
	return high, c.Kind != RootToAll && n == len(t.pr.defs.CommMembers(c.Comm))
}

// expect runs the program over the twin until no location goes on.
func (pr *program) expect() []*walk {
	state := &twinState{}
	walks := make([]*walk, len(pr.ops))
	for p := range walks {
		walks[p] = &walk{ops: pr.ops[p]}
	}
	for moved := true; moved; {
		moved = false
		for p, w := range walks {
			before := w.i
			w.run(&twin{pr: pr, p: trace.P(p), all: state})
			moved = moved || w.i != before
		}
	}
	return walks
}

func TestRandomProgramsAgainstTwin(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		pr := randomProgram(r, 1+r.IntN(7), 1+r.IntN(3), 20+r.IntN(100))
		if seed%3 == 2 { // an order in which some may wait for ever
			for range 1 + r.IntN(3) {
				if list := pr.ops[r.IntN(len(pr.ops))]; len(list) > 1 {
					i, j := r.IntN(len(list)), r.IntN(len(list))
					list[i], list[j] = list[j], list[i]
					list[i].at, list[j].at = list[j].at, list[i].at
				}
			}
		}
		want := pr.expect()
		stuck := uint64(0)
		for _, w := range want {
			if w.i < len(w.ops) {
				stuck++
			}
		}
		var first *Deadlock
		for _, ranks := range []int{1, 2, 3, 5, 7} {
			walks := make([]*walk, len(pr.ops))
			reports := runWalkers(t, pr.defs, ranks, Options{Span: 1000, Rows: uint64(r.IntN(3)) * 5000, Budget: 1 << 20}, func(p trace.P) Walker {
				walks[p] = &walk{ops: pr.ops[p]}
				return walks[p]
			})
			for p, w := range walks {
				if w.i != want[p].i || w.x != want[p].x || !slices.Equal(w.got, want[p].got) {
					t.Fatalf("seed %d, %d ranks, location %d: stands at %d with %d, want %d with %d", seed, ranks, p, w.i, w.x, want[p].i, want[p].x)
				}
			}
			d := reports[ranks-1].Deadlock
			if (d != nil) != (stuck > 0) || d != nil && d.Stuck != stuck {
				t.Fatalf("seed %d, %d ranks: %v, want %d stuck", seed, ranks, d, stuck)
			}
			if ranks == 1 {
				first = d
			} else if diff := cmp.Diff(first, d, cmp.AllowUnexported(Stuck{})); diff != "" {
				t.Fatalf("seed %d, %d ranks, deadlock:\n%s", seed, ranks, diff)
			}
		}
	}
}
