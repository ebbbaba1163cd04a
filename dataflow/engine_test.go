package dataflow

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// testDefs makes processes of several locations each, the world communicator 1 of
// all processes, and one for each list of processes from 2 on.
func testDefs(processes, threads int, comms ...[]uint64) *trace.Definitions {
	d := &trace.Definitions{}
	d.Strings = append(d.Strings, trace.String{Ref: 0, Value: "x"})
	d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: 0, Parent: trace.Undefined})
	all := trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	world := trace.Group{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI}
	for p := range processes {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(p), Type: 1, Creator: trace.Undefined})
		for i := range threads {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(p*threads + i), Type: 1, Group: uint32(p)})
		}
		all.Members = append(all.Members, uint64(p*threads))
		world.Members = append(world.Members, uint64(p))
	}
	d.Groups = append(d.Groups, all, world)
	d.Comms = append(d.Comms, trace.Comm{Ref: 1, Group: 1, Parent: trace.Undefined})
	for i, members := range comms {
		ref := uint32(i + 2)
		d.Groups = append(d.Groups, trace.Group{Ref: ref, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
		d.Comms = append(d.Comms, trace.Comm{Ref: ref, Group: ref, Parent: 1})
	}
	d.Seal()
	return d
}

func evenRanges(locations, ranks int) []partition.Range {
	return partition.Ranges(make([]uint64, locations), ranks)
}

// runWalkers runs a pass on several ranks and gives the report of each.
func runWalkers(t *testing.T, d *trace.Definitions, ranks int, o Options, walker func(p trace.P) Walker) []*Report {
	t.Helper()
	ranges := evenRanges(d.NumLocations(), ranks)
	reports := make([]*Report, ranks)
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		o := o
		o.Comm, o.Defs, o.Ranges = c, d, ranges
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			o.Walkers = append(o.Walkers, walker(p))
		}
		r, err := Run(o)
		mu.Lock()
		reports[c.Rank()] = r
		mu.Unlock()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// walkFunc is a Walker without state.
type walkFunc func(x *Port) (bool, error)

func (f walkFunc) Walk(x *Port) (bool, error) { return f(x) }

func TestChainCountsLocations(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 7} {
		const n = 23
		got := make([]uint64, n)
		r := runWalkers(t, testDefs(n, 1), ranks, Options{}, func(p trace.P) Walker {
			return walkFunc(func(x *Port) (bool, error) {
				v, ok := uint64(0), true
				if p > 0 {
					v, ok = x.Receive(5, p-1)
				}
				if ok && p+1 < n {
					x.Send(p+1, 5, v+1)
				}
				got[p] = v
				return ok, nil
			})
		})
		for p, v := range got {
			if v != uint64(p) {
				t.Errorf("%d ranks: location %d has %d", ranks, p, v)
			}
		}
		if r[0].Deadlock != nil {
			t.Errorf("%d ranks: %v", ranks, r[0].Deadlock)
		}
	}
}

func TestPrefixOverPermutedRanks(t *testing.T) {
	const n = 9
	perm := []uint64{4, 2, 7, 0, 8, 1, 3, 6, 5}
	d := testDefs(n, 1, perm)
	for _, ranks := range []int{1, 2, 4, 9} {
		got := make([]uint64, n)
		runWalkers(t, d, ranks, Options{}, func(p trace.P) Walker {
			entered := false
			return walkFunc(func(x *Port) (bool, error) {
				c := Collective{Comm: 2, Kind: PrefixMax}
				if !entered {
					entered = true
					if !x.Enter(c, uint64(p)*10) {
						return true, fmt.Errorf("location %d is no member", p)
					}
				}
				v, ok := x.Result(c)
				got[p] = v
				return ok, nil
			})
		})
		var high uint64
		for _, p := range perm {
			if high = max(high, p*10); got[p] != high {
				t.Errorf("%d ranks: process %d has %d, want %d", ranks, p, got[p], high)
			}
		}
	}
}

func TestBinomialTree(t *testing.T) {
	for n := 1; n <= 70; n++ {
		above := make([]int, n)
		for i := range n {
			parent, children := binomial(i, n)
			if limit := bits.Len(uint(n - 1)); len(children) > limit {
				t.Errorf("%d of %d has %d children", i, n, len(children))
			}
			for _, c := range children {
				if p, _ := binomial(c, n); p != i {
					t.Errorf("%d of %d: child %d has parent %d", i, n, c, p)
				}
				above[c]++
			}
			depth := 0
			for p := parent; p >= 0; p, _ = binomial(p, n) {
				depth++
			}
			if depth > bits.Len(uint(n-1)) || (parent < 0) != (i == 0) {
				t.Errorf("%d of %d lies %d below the root, its parent is %d", i, n, depth, parent)
			}
		}
		for i, k := range above[1:] {
			if k != 1 {
				t.Errorf("%d of %d has %d parents", i+1, n, k)
			}
		}
	}
}

// TestCollectiveParts counts what a collective sends: one part per edge of the tree,
// in each direction that the kind needs.
func TestCollectiveParts(t *testing.T) {
	const ranks, locations, instances = 16, 48, 5
	for kind, want := range map[Kind]uint64{MaxToAll: 2, PrefixMax: 2, RootToAll: 1, MaxToRoot: 1} {
		reports := runWalkers(t, testDefs(locations, 1), ranks, Options{}, func(p trace.P) Walker {
			i, entered := uint64(0), false
			return walkFunc(func(x *Port) (bool, error) {
				for ; i < instances; i++ {
					c := Collective{Comm: 1, Ordinal: i, Kind: kind, Root: 7}
					if !entered {
						x.Enter(c, uint64(p))
						entered = true
					}
					if _, ok := x.Result(c); !ok {
						return false, nil
					}
					entered = false
				}
				return true, nil
			})
		})
		var parts uint64
		for _, r := range reports {
			if parts += r.Parts; r.Deadlock != nil {
				t.Fatalf("kind %d: %v", kind, r.Deadlock)
			}
		}
		if want *= instances * (ranks - 1); parts != want {
			t.Errorf("kind %d: %d parts, want %d", kind, parts, want)
		}
	}
}

// flood is a pass in which location 0 sends n values that location 1 takes later.
func flood(n uint64, take bool) func(p trace.P) Walker {
	return func(p trace.P) Walker {
		i := uint64(0)
		return walkFunc(func(x *Port) (bool, error) {
			for ; i < n; i++ {
				if !x.Reach(i) {
					return false, nil
				}
				if p == 0 {
					x.Send(1, i, i)
				} else if take {
					if _, ok := x.Receive(i, 0); !ok {
						return false, nil
					}
				}
			}
			return true, nil
		})
	}
}

func TestWindowsBoundWhatWaits(t *testing.T) {
	const n = 60_000
	for _, rows := range []uint64{n, 0} { // 0: all is one window, until too much waits
		for _, ranks := range []int{1, 2} {
			o := Options{Span: n, Rows: rows, Budget: 1 << 18}
			reports := runWalkers(t, testDefs(2, 1), ranks, o, flood(n, true))
			r := reports[ranks-1]
			few := rows > 0 && r.Windows < 5 || rows == 0 && ranks == 1 && r.Cuts == 0
			if r.Peak > o.Budget || few || r.Deadlock != nil {
				t.Errorf("%d ranks, %d rows: %d bytes waited, %d windows cut %d times, %v", ranks, rows, r.Peak, r.Windows, r.Cuts, r.Deadlock)
			}
		}
	}
}

func TestBudgetEndsThePassEverywhere(t *testing.T) {
	d := testDefs(2, 1)
	for _, ranks := range []int{1, 2} {
		err := runError(d, ranks, Options{Span: 1, Budget: 1 << 16}, flood(100_000, false))
		if !errors.Is(err, ErrBudget) {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// runError is runWalkers for passes that fail.
func runError(d *trace.Definitions, ranks int, o Options, walker func(p trace.P) Walker) error {
	ranges := evenRanges(d.NumLocations(), ranks)
	return mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		o := o
		o.Comm, o.Defs, o.Ranges = c, d, ranges
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			o.Walkers = append(o.Walkers, walker(p))
		}
		_, err := Run(o)
		return err
	})
}

func TestMistakesAreErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		walk       func(x *Port) (bool, error)
	}{
		{"error of a walker", "broken row", func(x *Port) (bool, error) { return false, errors.New("broken row") }},
		{"stopped for nothing", "stopped without waiting", func(x *Port) (bool, error) { return false, nil }},
		{"two values of a key", "two values for key 3", func(x *Port) (bool, error) {
			x.Send(2, 3, 1)
			x.Send(2, 3, 1)
			return true, nil
		}},
	} {
		for _, ranks := range []int{1, 3} {
			err := runError(testDefs(3, 1), ranks, Options{}, func(p trace.P) Walker {
				if p == 1 {
					return walkFunc(c.walk)
				}
				return walkFunc(func(x *Port) (bool, error) {
					_, ok := x.Receive(9, 1) // never comes: the error must reach those that wait
					return ok, nil
				})
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %d ranks: %v", c.name, ranks, err)
			}
		}
	}
}

func TestDeadlockNamesTheCycle(t *testing.T) {
	d := testDefs(5, 1)
	all := Collective{Comm: 1, Ordinal: 4}
	for _, c := range []struct {
		name, want string
		walk       func(x *Port) (bool, error)
	}{
		{"messages", "3 locations wait: 2 at 12 for 3; [ 3 at 13 for 4; 4 at 14 for 3; ] in a cycle", func(x *Port) (bool, error) {
			from := map[trace.P]trace.P{2: 3, 3: 4, 4: 3}
			if x.P() < 2 || !x.Reach(10+uint64(x.P())) {
				return x.P() < 2, nil
			}
			_, ok := x.Receive(1, from[x.P()])
			return ok, nil
		}},
		{"somebody is missing", "4 locations wait: [ 0 at 0 in collective 4 of communicator 1 for 2; 2 at 0 for 0; ] in a cycle", func(x *Port) (bool, error) {
			if x.P() == 2 {
				_, ok := x.Receive(1, 0)
				return ok, nil
			}
			if x.P() == 3 {
				return true, nil
			}
			x.Enter(all, 1)
			_, ok := x.Result(all)
			return ok, nil
		}},
		{"somebody has ended", "2 locations wait: 0 at 0 for 1; 1 at 0 for 2;", func(x *Port) (bool, error) {
			if x.P() > 1 {
				return true, nil
			}
			_, ok := x.Receive(1, x.P()+1)
			return ok, nil
		}},
	} {
		for _, ranks := range []int{1, 2, 5} {
			for _, r := range runWalkers(t, d, ranks, Options{Span: 100}, func(trace.P) Walker { return walkFunc(c.walk) }) {
				if got := fmt.Sprint(r.Deadlock); got != c.want {
					t.Errorf("%s, %d ranks: %s\nwant %s", c.name, ranks, got, c.want)
				}
			}
		}
	}
}

func TestOperationsWithoutKnownMembers(t *testing.T) {
	runWalkers(t, testDefs(3, 1, []uint64{0, 1}), 2, Options{}, func(p trace.P) Walker {
		return walkFunc(func(x *Port) (bool, error) {
			for _, c := range []Collective{{Comm: 77}, {Comm: 1, Kind: countKinds}, {Comm: 1, Kind: RootToAll, Root: 3}, {Comm: trace.Undefined}} {
				if _, ok := x.Result(c); x.Enter(c, 1) || !ok {
					t.Errorf("location %d takes part in %+v", p, c)
				}
			}
			if c := (Collective{Comm: 2}); p == 2 && x.Enter(c, 1) {
				t.Error("location 2 is a member of communicator 2")
			}
			return true, nil
		})
	})
}

func TestMailboxAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m mailbox
	want := make(map[slotKey]uint64)
	for i := range uint64(20_000) {
		k := slotKey{uint32(r.IntN(3)), uint64(r.IntN(3)) << 31, uint64(r.IntN(300))}
		v, ok := want[k]
		if r.IntN(5) < 3 {
			if m.put(k, i) == ok {
				t.Fatalf("put of %v: there was one: %v", k, ok)
			}
			if !ok {
				want[k] = i
			}
			continue
		}
		got, found := m.take(k)
		if got != v || found != ok || m.n > len(want) {
			t.Fatalf("take of %v: %d %v, want %d %v", k, got, found, v, ok)
		}
		delete(want, k)
	}
	if m.n != len(want) {
		t.Errorf("%d values, want %d", m.n, len(want))
	}
}

// FuzzParts gives an engine messages that no engine sends: they may be refused, and
// do no harm.
func FuzzParts(f *testing.F) {
	d := testDefs(3, 2, []uint64{2, 0})
	c := Collective{Comm: 2, Ordinal: 1, Kind: PrefixMax}
	f.Add([]byte{partValue, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(append(appendCollective([]byte{partEnter}, c), 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0))
	f.Add(append(appendCollective([]byte{partUp}, c), 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0))
	f.Add(append(appendCollective([]byte{partDown}, c), 0, 0, 0, 0))
	f.Add(bytes.Repeat([]byte{partCut}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := Options{Comm: mpi.Serial(), Defs: d, Ranges: []partition.Range{{End: 6}}, Walkers: make([]Walker, 6), Budget: 1 << 20}
		e := newEngine(o, o.Comm)
		for i := range e.places {
			e.places[i].wait(box{collSpace | 2, 1}, 0)
		}
		e.fail(e.takeParts(b))
	})
}

// BenchmarkRing passes a token of work around: every step of a location takes a
// value of its neighbour. One rank, so the engine alone.
func BenchmarkRing(b *testing.B) {
	const locations = 64
	d := testDefs(locations, 1)
	steps := uint64(b.N/locations + 1)
	o := Options{Comm: mpi.Serial(), Defs: d, Ranges: []partition.Range{{End: locations}}, Span: steps, Rows: steps * locations}
	for p := range trace.P(locations) {
		i := uint64(0)
		o.Walkers = append(o.Walkers, walkFunc(func(x *Port) (bool, error) {
			for ; i < steps; i++ {
				if !x.Reach(i) {
					return false, nil
				}
				if i > 0 {
					if _, ok := x.Receive(i-1, (p+locations-1)%locations); !ok {
						return false, nil
					}
				}
				x.Send((p+1)%locations, i, i)
			}
			return true, nil
		}))
	}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := Run(o); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCollective is one all-to-all instance of 64 locations per 64 operations.
func BenchmarkCollective(b *testing.B) {
	const locations = 64
	d := testDefs(locations, 1)
	steps := uint64(b.N/locations + 1)
	o := Options{Comm: mpi.Serial(), Defs: d, Ranges: []partition.Range{{End: locations}}, Span: steps, Rows: steps * locations}
	for p := range trace.P(locations) {
		i, entered := uint64(0), false
		o.Walkers = append(o.Walkers, walkFunc(func(x *Port) (bool, error) {
			for ; i < steps; i++ {
				c := Collective{Comm: 1, Ordinal: i}
				if !entered {
					entered = true
					x.Enter(c, uint64(p))
				}
				if _, ok := x.Result(c); !ok {
					return false, nil
				}
				entered = false
			}
			return true, nil
		}))
	}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := Run(o); err != nil {
		b.Fatal(err)
	}
}
