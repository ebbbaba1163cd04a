package stats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEntryRuns orders operations of few and of many channels, some of which end in another order than they were posted, in no
// run, one and several, with runs of others between.
func TestEntryRuns(t *testing.T) {
	var r entryRuns
	for _, c := range []struct{ n, channels, moved int }{
		{0, 1, 0}, {1, 1, 0}, {1000, 3, 1}, {1000, 1000, 30}, {RunOperations + 1000, 40, 100000}, {40000, 1 << 30, 0}, {60000, 1 << 30, 50000},
	} {
		rng := rand.New(rand.NewPCG(uint64(c.n), uint64(c.channels)))
		r.reset(9, func() Scratch { return &memory{} }, 0)
		var want []entry
		for i := range c.n {
			k := rng.IntN(c.channels)
			want = append(want, entry{
				peer: uint32(k % 7), comm: uint32(k / 7 % 3), tag: uint32(k / 21), direction: uint32(k % 2), posting: uint64(i), row: rng.Uint64(),
				t: rng.Uint64(), end: rng.Uint64(), bytes: rng.Uint64(), post: rng.Uint64(), p: 9, flags: rng.Uint32(), stay: rng.Uint64(),
			})
		}
		for i := range want { // by far, and to the neighbour
			if c.moved > 0 && rng.IntN(20) == 0 {
				k := min(len(want)-1, i+rng.IntN(c.moved+1))
				want[i], want[k] = want[k], want[i]
			}
		}
		group := &memory{}
		for i, e := range want {
			if i >= 500 && i < 600 { // what a group left
				continue
			}
			k, o := parts(e)
			if err := r.add(k, &o); err != nil {
				t.Fatal(err)
			}
		}
		if c.n > 600 {
			var g entryRuns
			g.reset(9, nil, 0)
			for _, e := range want[500:600] {
				k, o := parts(e)
				if err := g.add(k, &o); err != nil {
					t.Fatal(err)
				}
			}
			err := g.each(func(row []byte) error {
				_, err := group.Append(row)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			r.runs = append(r.runs, group)
		}
		slices.SortFunc(want, func(a, b entry) int {
			ka, _ := parts(a)
			kb, _ := parts(b)
			return cmp.Or(ka.compare(kb), cmp.Compare(a.posting, b.posting))
		})
		var got []entry
		err := r.each(func(row []byte) error {
			var e entry
			e.load(row)
			got = append(got, e)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: other entries come back, %d of %d", c, len(got), len(want))
		}
		if len(group.b) > 0 {
			t.Errorf("%+v: a run is not dropped", c)
		}
	}
}

func parts(e entry) (channelKey, operation) {
	return channelKey{e.peer, e.comm, e.tag, e.direction},
		operation{posting: e.posting, row: e.row, t: e.t, end: e.end, bytes: e.bytes, post: e.post, stay: e.stay, flags: e.flags}
}
