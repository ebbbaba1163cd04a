package interval

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// rowList is the rows of an IVAL array.
type rowList struct {
	rows []xtf.Ival
	buf  [xtf.IvalRowBytes]byte
}

func (l *rowList) Next() bool {
	if len(l.rows) == 0 {
		return false
	}
	l.rows[0].Put(l.buf[:])
	l.rows = l.rows[1:]
	return true
}

func (l *rowList) Row() []byte { return l.buf[:] }
func (l *rowList) Err() error  { return nil }

// randomRows makes executions of two families below a root of [from, to].
func randomRows(r *rand.Rand, from, to uint64) []xtf.Ival {
	rows := []xtf.Ival{{T: from, End: to, Flags: r.Uint32N(2) * xtf.IvalWhole}}
	node := uint32(1)
	nest := func(family uint32) {
		for open := []uint64{to}; ; { // ends of what is open around
			var b, e uint64
			if b = from + r.Uint64N(to-from+1); r.IntN(3) > 0 {
				b = rows[len(rows)-1].T + r.Uint64N(4)
			}
			for len(open) > 1 && open[len(open)-1] < b {
				open = open[:len(open)-1]
			}
			if b < rows[len(rows)-1].T && len(rows) > 1 || b > to || node > 40 {
				return
			}
			e = b + r.Uint64N(open[len(open)-1]-b+1)
			rows = append(rows, xtf.Ival{T: b, End: e, Node: node + family*100})
			if node++; e > b {
				open = append(open, e)
			}
		}
	}
	nest(0)
	nest(1)
	slices.SortStableFunc(rows, func(a, b xtf.Ival) int { return cmp.Compare(a.T, b.T) })
	return rows
}

// event is one contribution.
type event struct{ x, y, v uint64 }

const (
	byPoint = iota
	byCompletion
	bySpan
)

// slowly adds up by the definitions.
func slowly(rows []xtf.Ival, events []event, rule int) (c Components) {
	for _, row := range rows {
		for _, e := range events {
			in := false
			v := e.v
			switch rule {
			case byPoint:
				in = row.T <= e.x && (e.x < row.End || row.Flags != 0 && e.x == row.End)
			case byCompletion:
				in = e.x <= row.End && (row.T < e.x || row.Flags != 0 && e.x == row.T)
			default:
				lo, hi := max(e.x, row.T), min(e.y, row.End)
				in, v = hi > lo, hi-lo
			}
			if in {
				c.Add(row.Node, xtf.Item(e.v%3), v)
			}
		}
	}
	return c
}

func feed(s *Sums, e event, rule int) {
	switch rule {
	case byPoint:
		s.Point(e.x, xtf.Item(e.v%3), e.v)
	case byCompletion:
		s.Completion(e.x, xtf.Item(e.v%3), e.v)
	default:
		s.Span(e.x, e.y, xtf.Item(e.v%3))
	}
}

func text(c *Components) (s string) {
	c.Each(func(node uint32, item xtf.Item, v uint64) { s += fmt.Sprintf("%d/%d=%d ", node, item, v) })
	return s
}

// TestSums compares with the definitions.
func TestSums(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		from := r.Uint64N(3)
		to := from + r.Uint64N(60)
		rows := randomRows(r, from, to)
		var events []event
		for range r.IntN(40) {
			x := from + r.Uint64N(to-from+1)
			events = append(events, event{x, x + r.Uint64N(to-x+1), 1 + r.Uint64N(50)})
		}
		slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.x, b.x) })
		for rule := range bySpan + 1 {
			c := slowly(rows, events, rule)
			want := text(&c)
			var got Components
			s := NewSums(&rowList{rows: rows}, &got, 0, 1, 2)
			for _, e := range events {
				feed(s, e, rule)
			}
			if err := s.Flush(); err != nil || text(&got) != want {
				t.Fatalf("seed %d rule %d: %v\nrows %v\nevents %v\n got %s\nwant %s", seed, rule, err, rows, events, text(&got), want)
			}
		}
	}
}

func TestSumsRefuse(t *testing.T) {
	for name, rows := range map[string][]xtf.Ival{
		"twice open":     {{T: 0, End: 9}, {T: 1, End: 5, Node: 1}, {T: 2, End: 3, Node: 1}},
		"backwards":      {{T: 0, End: 9}, {T: 5, End: 6, Node: 1}, {T: 4, End: 6, Node: 2}},
		"ends before":    {{T: 5, End: 4}},
		"too large node": {{T: 5, End: 6, Node: MaxNodes}},
	} {
		var c Components
		s := NewSums(&rowList{rows: rows}, &c, xtf.ItemMPI)
		s.Span(0, 20, xtf.ItemMPI)
		if err := s.Flush(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBorder(t *testing.T) {
	want := Border{T: 1 << 40, Row: 77, Node: 3, Flags: xtf.IvalCut}
	var b [BorderBytes]byte
	want.Put(b[:])
	var got Border
	if got.Load(b[:]); got != want {
		t.Fatalf("%+v", got)
	}
}
