package match

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestEntryRuns orders operations of few and of many channels, some of which end in another order than they were posted, in no
// run, one and several, with runs of others between.
func TestEntryRuns(t *testing.T) {
	var r Entries
	for _, c := range []struct{ n, channels, moved int }{
		{0, 1, 0}, {1, 1, 0}, {1000, 3, 1}, {1000, 1000, 30}, {400000, 40, 100000}, {200000, 1, 100000}, {40000, 1 << 30, 0}, {60000, 1 << 30, 50000},
	} {
		if testing.Short() && c.n > 200000 {
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(c.n), uint64(c.channels)))
		runs := 0
		r.Reset(9, func() Scratch {
			runs++
			return &memory{}
		})
		word := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
		var want []entry
		for i := range c.n {
			k := rng.IntN(c.channels)
			want = append(want, entry{
				Key{uint32(k % 7), uint32(k / 7 % 3), uint32(k / 21), uint32(k % 2)},
				9,
				Operation{
					Posting: uint64(i), Row: word(), T: word(), End: word(), Bytes: word(), Post: word(), Stay: word(), CallN: word(), Own: word(),
					Flags: rng.Uint32(), Kind: rng.Uint32() >> rng.IntN(32), Region: rng.Uint32N(3), Path: rng.Uint32N(2),
				},
			})
		}
		for i := range want { // by far, and to the neighbour
			if c.moved > 0 && rng.IntN(20) == 0 {
				k := min(len(want)-1, i+rng.IntN(c.moved+1))
				want[i], want[k] = want[k], want[i]
			}
		}
		for _, e := range want {
			if err := r.Add(e.Key, &e.Operation); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, func(a, b entry) int {
			return cmp.Or(a.compare(&b.Key), cmp.Compare(a.Posting, b.Posting))
		})
		sorted := &memory{}
		w := entryWriter{Stream: Stream{sink: sorted}}
		if err := errors.Join(r.each(&w), w.flush()); err != nil {
			t.Fatal(err)
		}
		got := readEntries(t, sorted)
		n := uint64(0)
		for i, x := range w.peers {
			c := newCursor(sorted, x.At, x.Count, make([]byte, cursorBytes))
			if e, err := c.peek(); err != nil || e == nil || *e != got[n] {
				t.Errorf("%+v: range %d begins with %+v, %v", c, i, e, err)
			}
			n += x.Count
		}
		if n != uint64(len(want)) {
			t.Errorf("%+v: ranges of %d entries of %d", c, n, len(want))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: other entries come back, %d of %d", c, len(got), len(want))
		}
		if c.moved >= 50000 && runs < 2 {
			t.Errorf("%+v: %d runs", c, runs)
		}
	}
}

// readEntries returns all entries of a stream.
func readEntries(tb testing.TB, data *memory) (list []entry) {
	tb.Helper()
	c := newCursor(data, 0, xtf.Never, make([]byte, 2*blockBytes))
	for {
		e, err := c.peek()
		if err != nil {
			tb.Fatal(err)
		}
		if e == nil {
			return list
		}
		list = append(list, *e)
		c.take()
	}
}

// TestDamagedEntries reads entries of which some bytes are others, or missing.
func TestDamagedEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	whole := &memory{}
	w := entryWriter{Stream: Stream{sink: whole}}
	for i := range uint64(200) {
		if err := w.add(&entry{Key{Tag: uint32(i / 90)}, 1, Operation{Posting: i, Row: i, T: 1000 * i, End: 1000*i + 5}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range 2000 {
		damaged := &memory{slices.Clone(whole.b[:len(whole.b)-rng.IntN(2)*rng.IntN(len(whole.b))])}
		if len(damaged.b) > 0 {
			damaged.b[rng.IntN(len(damaged.b))] ^= byte(1 << rng.IntN(8))
		}
		c := newCursor(damaged, 0, xtf.Never, make([]byte, 2*blockBytes))
		n := 0
		for {
			e, err := c.peek()
			if err != nil {
				failed++
			}
			if e == nil || err != nil {
				break
			}
			n++
			c.take()
		}
		if n > len(damaged.b) {
			t.Fatalf("%d entries of %d bytes", n, len(damaged.b))
		}
	}
	if failed == 0 {
		t.Error("no damage is an error")
	}
}

// failsOnce is a Sink that does not take what comes first.
type failsOnce struct {
	memory
	failed bool
}

var errOnce = errors.New("no space")

func (s *failsOnce) Append(b []byte) (int64, error) {
	if !s.failed {
		s.failed = true
		return 0, errOnce
	}
	return s.memory.Append(b)
}

// TestEntryWriterKeepsError loses entries at one failure of the sink: canceled postings and blocks after it do not hide that.
func TestEntryWriterKeepsError(t *testing.T) {
	sink := &failsOnce{}
	w := entryWriter{Stream: Stream{sink: sink}, out: ChannelOutputs{Canceled: map[uint64]bool{}}}
	var memory [blockBytes]byte
	for i := uint64(0); !sink.failed || len(sink.b) == 0 && i < 2*streamBlock; i += 2 {
		w.out.Canceled[i+1] = true
		b, last := beginBlock(memory[:], &Key{Tag: uint32(i), Direction: xtf.ChannelSend}, 9), noOperation
		for _, posting := range []uint64{i, i + 1} {
			b = b.add(&Operation{Posting: posting}, &last)
		}
		_ = w.write(b)
	}
	if err := w.flush(); !errors.Is(err, errOnce) {
		t.Errorf("the error of the sink became %v", err)
	}
	if len(sink.b) > 0 {
		t.Errorf("%d bytes were written after the failure", len(sink.b))
	}
}
