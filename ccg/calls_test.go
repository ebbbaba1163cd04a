package ccg

import (
	"math/rand/v2"
	"testing"
)

// numbered returns a call as an Index tells it.
func (c *toldCall) numbered(n uint64) Call {
	last := c.last
	if c.cut {
		last-- // the event after the last one
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
				}
				if _, err := x.Call(region, uint64(len(calls))); err == nil {
					t.Error("a call after the last one")
				}
			}
		}
	})
}
