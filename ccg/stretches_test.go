package ccg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// slowStretches adds up the times between events one by one: pairs of a stretch and of what the call after it took.
func slowStretches(t *testing.T, l *Location, role map[uint32]Role) []uint64 {
	var list []uint64
	var sum, before uint64
	inside, current := 0, Within
	c := l.Cursor()
	last := l.First()
	for {
		s, ok := c.Next()
		if !ok {
			break
		}
		sum += uint64(s.Time - last)
		last = s.Time
		r := role[s.Node]
		switch {
		case inside > 0 && s.Move == Enters:
			inside++
		case inside > 0 && s.Move == Leaves:
			if inside--; inside == 0 {
				if current == Ends {
					list = append(list, before, sum)
				}
				sum = 0
			}
		case inside > 0 || r == Within || s.Move == Leaves:
		case s.Move == Enters:
			if inside, current, before = 1, r, sum; r == Separates {
				list = append(list, sum, 0)
			}
			sum = 0
		default:
			list = append(list, sum, 0)
			sum = 0
		}
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	if inside > 0 && current == Ends { // never left
		list = append(list, before, sum)
	}
	if inside > 0 {
		sum = 0
	}
	return append(list, sum, 0)
}

// TestStretchesEqualEvents compares stretches between calls and records of any kind with the events, of exact and of lossy graphs,
// and the walk with the code.
func TestStretchesEqualEvents(t *testing.T) {
	all := []*made{lossyGraph(t, 800, 500)}
	for _, o := range []graph.Options{{}, {Fold: -1}, {Fan: 2, Fold: 40}} {
		all = append(all, makeGraph(t, 5, 800, true, o))
	}
	for i, m := range all {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for p, l := range m.locs {
				s := l.Structure()
				roles, byID := make([]Role, s.Len()+1), map[uint32]Role{}
				share := 1 + r.IntN(20)
				for n := uint32(1); n <= s.Len(); n++ {
					if k := s.Node(n).Kind; (k == graph.KindCall || k == graph.KindEvent) && r.IntN(share) == 0 {
						roles[n] = Role(r.IntN(3))
					}
					byID[s.ID(n)] = roles[n]
				}
				want := slowStretches(t, l, byID)
				x := l.Stretches(roles, nil)
				if got := allStretches(t, x, 1+r.IntN(50)); !slices.Equal(got, want) {
					t.Fatalf("graph %d, seed %d, location %d: %d stretches, want %d", i, seed, p, len(got), len(want))
				}
				if x.program == nil {
					continue
				}
				y := l.Stretches(roles, nil)
				y.program = nil
				if got := allStretches(t, y, 7); !slices.Equal(got, want) {
					t.Fatalf("graph %d, seed %d, location %d: the walk has %d stretches, want %d", i, seed, p, len(got), len(want))
				}
			}
		}
	}
}

// allStretches reads so many at a time, as slowStretches lists them.
func allStretches(t *testing.T, s *Stretches, n int) (list []uint64) {
	buf, own := make([]uint64, n), make([]uint64, n)
	for {
		k, err := s.Next(buf, own)
		if err != nil {
			t.Fatal(err)
		}
		for i := range buf[:k] {
			list = append(list, buf[i], own[i])
		}
		if k < n {
			return list
		}
	}
}

// TestStructureEqualsEvents compares the fields of records with the events.
func TestStructureEqualsEvents(t *testing.T) {
	m := makeGraph(t, 5, 600, true, graph.Options{})
	for p, l := range m.locs {
		s := l.Structure()
		number := map[uint32]uint32{}
		for n := uint32(1); n <= s.Len(); n++ {
			number[s.ID(n)] = n
		}
		c := l.Cursor()
		events := m.streams[p]
		for i := range events.Events {
			e := &events.Events[i]
			step, ok := c.Next()
			if !ok {
				t.Fatal(c.Err())
			}
			x := s.Node(number[step.Node])
			if step.Move != Records {
				if x.Kind != graph.KindCall || x.Region != step.Region {
					t.Fatalf("location %d, event %d: %+v of region %d", p, i, x, step.Region)
				}
				continue
			}
			if x.Record != e.Kind {
				t.Fatalf("location %d, event %d: %v, not %v", p, i, x.Record, e.Kind)
			}
			fields, err := s.Fields(nil, number[step.Node])
			if err != nil {
				t.Fatal(err)
			}
			words := events.Words(e)
			for k, f := range fields {
				if (f.Place == trace.Hard || f.Place == trace.Rank) && e.Kind != trace.Leave && f.Value != words[k] {
					t.Fatalf("location %d, event %d, field %d: %d, not %d", p, i, k, f.Value, words[k])
				}
				if (f.Place == trace.Number) != (f.Column >= 0) && f.Place < trace.PostMpi {
					t.Fatalf("location %d, event %d, field %d: column %d", p, i, k, f.Column)
				}
			}
		}
	}
}

// BenchmarkStretches measures the time between the messages of a location.
func BenchmarkStretches(b *testing.B) {
	l := openOne(b, ccgtest.StencilEvents(1<<20, true))
	s := l.Structure()
	roles := make([]Role, s.Len()+1)
	for n := uint32(1); n <= s.Len(); n++ {
		if x := s.Node(n); x.Kind == graph.KindCall && x.Region >= 6 {
			roles[n] = Ends
		}
	}
	ticks, own := make([]uint64, 4096), make([]uint64, 4096)
	b.ReportAllocs()
	for b.Loop() {
		x := l.Stretches(roles, nil)
		for n := len(ticks); n == len(ticks); {
			var err error
			if n, err = x.Next(ticks, own); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(l.Events()), "ns/event")
}
