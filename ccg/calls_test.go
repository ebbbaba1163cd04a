package ccg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// numbered returns a call as an Index tells it.
func (c *toldCall) numbered(n uint64) Call {
	last := c.last
	if c.cut {
		last-- // the event behind the last one
	}
	return Call{OpenCall: c.OpenCall, Number: n, Last: last, End: c.end, Depth: c.depth, Cut: c.cut}
}

func TestCallsEqualEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			r := rand.New(rand.NewPCG(uint64(p), 6))
			x := l.Index()
			byRegion := map[uint32][]Call{}
			for _, c := range o.calls() {
				byRegion[c.Region] = append(byRegion[c.Region], c.numbered(uint64(len(byRegion[c.Region]))))
			}
			for region, calls := range byRegion {
				if x.Calls(region) != uint64(len(calls)) {
					t.Fatalf("region %d: %d calls, want %d", region, x.Calls(region), len(calls))
				}
				for range min(rounds(4), 3*len(calls)) {
					want := calls[r.IntN(len(calls))]
					got, err := x.Call(region, want.Number)
					if err != nil {
						t.Fatal(err)
					}
					if got.Node, got.Bound = 0, 0; got != want {
						t.Fatalf("%+v, want %+v", got, want)
					}
					for _, k := range []uint64{want.Event, want.Event + 1, r.Uint64N(uint64(len(o.steps)) + 1)} {
						n := uint64(slices.IndexFunc(calls, func(c Call) bool { return c.Event >= k }))
						if got := x.CallsBefore(region, k); got != min(n, uint64(len(calls))) {
							t.Fatalf("region %d: %d calls before event %d, want %d", region, got, k, n)
						}
					}
				}
				if _, err := x.Call(region, uint64(len(calls))); err == nil {
					t.Error("a call behind the last one")
				}
			}
			for _, at := range o.borders(r, rounds(3)) {
				o.checkOpen(t, x, byRegion, at)
			}
		}
	})
}

func (o *told) checkOpen(t *testing.T, x *Index, byRegion map[uint32][]Call, at trace.Time) {
	t.Helper()
	var want []Call
	for _, calls := range byRegion {
		for _, c := range calls {
			if c.Begin <= at && at < c.End {
				want = append(want, c)
			}
		}
	}
	slices.SortFunc(want, func(a, b Call) int { return int(a.Event) - int(b.Event) })
	got, err := x.CallsAt(at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Node, got[i].Bound = 0, 0
	}
	if !slices.Equal(got, want) {
		t.Fatalf("at %d: %+v, want %+v", at, got, want)
	}
}
