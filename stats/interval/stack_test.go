package interval_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// twin is the stack of markers as the definition says it, with paths for nodes.
type twin struct {
	stack []twinEntry
	fold  bool
}

type twinEntry struct {
	key  interval.Key
	path string // "" where it does not count
}

func (w *twin) top() string {
	for i := len(w.stack) - 1; i >= 0; i-- {
		if w.stack[i].path != "" {
			return w.stack[i].path
		}
	}
	return ""
}

func (w *twin) begin(k interval.Key) string {
	path := w.top() + "/" + string('0'+rune(k.ID)) + k.Name
	if w.fold && slices.ContainsFunc(w.stack, func(e twinEntry) bool { return e.key == k }) {
		path = ""
	}
	w.stack = append(w.stack, twinEntry{k, path})
	return path
}

// TestStackTwin compares random begins and ends, nested, crossed and broken.
func TestStackTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for round := range 400 {
		o, err := (&interval.Flags{Fold: round%2 == 1}).Parse()
		if err != nil {
			t.Fatal(err)
		}
		defs := &trace.Definitions{}
		defs.Seal()
		p, err := interval.NewPlan(defs, o)
		if err != nil {
			t.Fatal(err)
		}
		s := interval.NewStack(p)
		w := &twin{fold: o.Fold}
		path := func(n uint32) (out string) {
			for ; n != 0 && n != interval.None; n = s.Tree.Node(n).Parent {
				x := s.Tree.Node(n)
				out = "/" + string('0'+rune(x.ID)) + x.Name + out
			}
			return out
		}
		for range 60 {
			k := interval.Key{ID: uint64(rng.IntN(3)), Name: []string{"", "x"}[rng.IntN(2)]}
			if rng.IntN(2) == 0 {
				n, code := s.Begin(k)
				if want := w.begin(k); path(n) != want || code != 0 {
					t.Fatalf("begin %v: %q, want %q", k, path(n), want)
				}
				continue
			}
			want := len(w.stack) - 1
			for want >= 0 && w.stack[want].key != k {
				want--
			}
			got, ok := s.Find(k)
			if ok != (want >= 0) || ok && got != want {
				t.Fatalf("end %v pops to %d, %v; want %d", k, got, ok, want)
			}
			for ok && s.Len() > got {
				n, key := s.Pop()
				last := w.stack[len(w.stack)-1]
				w.stack = w.stack[:len(w.stack)-1]
				if path(n) != last.path || key != last.key {
					t.Fatalf("popped %v of %q, want %v of %q", key, path(n), last.key, last.path)
				}
			}
		}
		if path(s.Top()) != w.top() {
			t.Fatalf("top %q, want %q", path(s.Top()), w.top())
		}
	}
}

// TestStackLimits opens more than a tree holds: what is not counted costs nothing
// but its place on the stack.
func TestStackLimits(t *testing.T) {
	defs := &trace.Definitions{}
	defs.Seal()
	s := interval.NewStack(interval.Default(defs))
	const deep = 3 * interval.MaxLevel
	for i := range deep {
		n, code := s.Begin(interval.Key{ID: 1})
		if counted := i < interval.MaxLevel; counted != (n != interval.None) || counted != (code == 0) {
			t.Fatalf("begin %d: node %d, code %d", i, n, code)
		}
	}
	for i := range deep {
		if _, ok := s.Find(interval.Key{ID: 1}); !ok {
			t.Fatalf("end %d has no begin", i)
		}
		s.Pop()
	}
	if s.Len() != 0 {
		t.Errorf("%d are left", s.Len())
	}
}

// TestPrvEvents ends the newest interval of an event type.
func TestPrvEvents(t *testing.T) {
	defs := &trace.Definitions{}
	defs.Seal()
	s := interval.NewStack(interval.Default(defs))
	if _, ok := s.NewestEvent("a"); ok {
		t.Error("an empty stack has an event")
	}
	for _, k := range []interval.Key{
		{ID: 1, Name: "a", Form: interval.FormParaver}, {ID: 2, Name: "b", Form: interval.FormParaver}, {ID: 3, Name: "a"},
	} {
		s.Begin(k)
	}
	for name, want := range map[string]uint64{"a": 1, "b": 2} {
		if k, ok := s.NewestEvent(name); !ok || k.ID != want {
			t.Errorf("newest of %s: %+v, %v", name, k, ok)
		}
	}
	for s.Len() > 0 {
		s.Pop()
	}
	if _, ok := s.NewestEvent("a"); ok {
		t.Error("an event is left")
	}
}
