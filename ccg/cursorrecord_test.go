package ccg

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestRecordEqualsEvents reads single events with all their fields, from
// anywhere.
func TestRecordEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		counters := newCounters(m.defs)
		for p, l := range m.locs {
			all := m.streams[p]
			r := rand.New(rand.NewPCG(uint64(p), 7))
			c := l.Cursor()
			ids, unknown := 0, 0
			for i := range min(len(all.Events), rounds(300)) {
				if len(all.Events) > rounds(300) {
					i = r.IntN(len(all.Events))
				}
				if err := c.SeekEvent(uint64(i)); err != nil {
					t.Fatal(err)
				}
				e := all.Events[i]
				b := trace.Batch{Args: []uint64{7}}
				err := c.Record(&b)
				if e.Kind == trace.Metric && dependent(&counters, all, &e) {
					if !errors.Is(err, ErrHistory) || len(b.Events) != 0 {
						t.Fatalf("event %d: %v, want ErrHistory", i, err)
					}
					unknown++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want := trace.Batch{Events: []trace.Event{e}, Args: all.Args}
				if _, ok := sameEvents(&want, &b); !ok {
					t.Fatalf("event %d: %+v %x, want %+v %x", i, b.Events[0], b.Words(&b.Events[0]), e, all.Words(&e))
				}
				if _, _, _, ok := idField(&shape{kind: e.Kind}); ok {
					ids++
				}
			}
			if ids == 0 && len(all.Events) > 1000 && !testing.Short() {
				t.Error("no ids among the events read")
			}
			if err := c.SeekEvent(l.Events()); err != nil {
				t.Fatal(err)
			}
			if err := c.Record(&trace.Batch{}); !errors.Is(err, ErrRange) {
				t.Errorf("behind the last event: %v", err)
			}
		}
	})
}

// dependent reports whether a metric event has values that are kept as
// differences.
func dependent(c *counters, all *trace.Batch, e *trace.Event) bool {
	fields, list, _, _ := all.Layout(e)
	c.use(uint32(fields[0]), len(list)/2)
	for i := range len(list) / 2 {
		if k := c.transform(i, trace.ValueType(list[2*i])); k == increment || k == xorLast {
			return true
		}
	}
	return false
}

func TestOneIDPerRecord(t *testing.T) {
	for k, r := range recipes {
		n := 0
		for _, p := range r.places {
			if p >= trace.PostMpi && p <= trace.UseIo {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%v has %d ids", trace.Kind(k), n)
		}
	}
}
