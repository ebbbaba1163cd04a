package xtf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// callEvent is what happens to the calls of a location.
type callEvent struct {
	kind byte // 'e' enters, 'l' leaves, 'r' does nothing, 's' ends the innermost call without a leave, 'x' leaves nothing
	t    uint64
}

func randomCalls(rng *rand.Rand, n int, odd bool) []callEvent {
	list := make([]callEvent, n)
	t, depth := 1000+rng.Uint64N(1000), 0
	for i := range list {
		t += rng.Uint64N(5)
		k := byte('e')
		switch x := rng.IntN(20); {
		case x < 7 && depth > 0:
			k = 'l'
		case x < 11:
			k = 'r'
		case odd && x == 11 && depth > 0:
			k = 's'
		case odd && x == 12 && depth == 0:
			k = 'x'
		}
		switch k {
		case 'e':
			depth++
		case 'l', 's':
			depth--
		}
		list[i] = callEvent{k, t}
	}
	return list
}

// callPlayer makes rows of events, as a loader does.
type callPlayer struct {
	b     *ArrayBuilder
	rng   *rand.Rand
	stack []openCall
	event uint64
}

type openCall struct{ n, begin, inside uint64 }

func (p *callPlayer) play(list []callEvent) {
	for _, e := range list {
		switch e.kind {
		case 'e':
			row, n := p.b.Open()
			c := Call{T: e.t, End: Never, Parent: Never, Region: p.rng.Uint32N(5), Depth: uint32(len(p.stack)), Class: p.rng.Uint32N(3), Flags: p.rng.Uint32N(2)}
			if k := len(p.stack); k > 0 {
				c.Parent = p.stack[k-1].n
			}
			c.Put(row)
			p.b.At(p.event)
			p.stack = append(p.stack, openCall{n: n, begin: e.t})
		case 's':
			p.b.Whole()
			p.end(e.t, p.b.Close)
		case 'l':
			p.end(e.t, p.b.Close)
		case 'x':
			p.b.Whole()
		}
		p.event++
	}
}

func (p *callPlayer) end(t uint64, closed func(uint64)) {
	top := len(p.stack) - 1
	c := p.stack[top]
	p.stack = p.stack[:top]
	row := p.b.Row(c.n)
	SetU64(row, CallEnd, t)
	SetU64(row, CallExclusive, t-c.begin-c.inside)
	if top > 0 {
		p.stack[top-1].inside += t - c.begin
	}
	closed(c.n)
}

// finish ends what is open at the last event.
func (p *callPlayer) finish(list []callEvent) {
	for len(p.stack) > 0 {
		p.end(list[len(list)-1].t, p.b.CloseLate)
	}
}

// eventTimes tells the times of calls from the events, all so much too late.
type eventTimes struct {
	list []callEvent
	off  uint64
}

func (e *eventTimes) Calls(Proc) (CallReader, error) { return e, nil }

func (e *eventTimes) Read(event, from uint64, begin, end []uint64) error {
	if event >= uint64(len(e.list)) || e.list[event].kind != 'e' {
		return corrupt("event %d", event)
	}
	n, first := 0, e.list[event].t-from
	var open []int
	for _, x := range e.list[event:] {
		switch x.kind {
		case 'e':
			if n == len(begin) {
				return nil
			}
			begin[n], end[n] = x.t-first, Never
			open = append(open, n)
			n++
		case 'l', 'x':
			if k := len(open) - 1; k >= 0 {
				end[open[k]] = x.t - first + e.off
				open = open[:k]
			}
		}
	}
	if n < len(begin) {
		return corrupt("%d calls of %d", n, len(begin))
	}
	return nil
}

// madeCalls builds the array of a script, with views or without.
func madeCalls(t *testing.T, typ *Type, list []callEvent, views bool) FinishedArray {
	t.Helper()
	sink := &MemorySink{}
	p := callPlayer{b: NewArrayBuilder(NewEncoder(), typ, 0, sink), rng: rand.New(rand.NewPCG(3, 3))}
	if p.b.SpillPinned(&MemorySink{}, 2); views {
		p.b.LeaveTimes()
	}
	p.play(list)
	p.finish(list)
	sum, err := p.b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return FinishedArray{Summary: sum, Data: sink}
}

// fileOf is a file whose first location has an array.
func fileOf(t *testing.T, tt *TypeTable, list ...FinishedArray) *memFile {
	t.Helper()
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	for _, p := range []Proc{0, WholeRun} {
		var arrays []FinishedArray
		for _, a := range list {
			if p == 0 && a.Summary.Len() > 0 {
				arrays = append(arrays, a)
			}
		}
		plan, err := PlanRegion(tt, p, arrays, nil)
		if err == nil {
			err = w.Region(plan, uint32(p), 0, 7)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit([]Blob{BytesBlob(KindDefinitions, 1, 0, nil), BytesBlob(KindProvenance, 1, 0, []byte(`{}`))}); err != nil {
		t.Fatal(err)
	}
	return m
}

// viewPages counts the pages of an array in its segment that are views.
func viewPages(t *testing.T, a FinishedArray) (views int) {
	t.Helper()
	for _, p := range a.Summary.pages {
		b, err := readStored(nil, a.Data, p, a.Summary.codec)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > int(p.stored) {
			views++
		}
	}
	return views
}

func allRows(t *testing.T, c *Cursor) (rows []byte) {
	t.Helper()
	for b, _, ok := c.NextPage(); ok; b, _, ok = c.NextPage() {
		rows = append(rows, b...)
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return rows
}

// TestViews reads random calls from views, in a segment and in a file, and compares with arrays of whole pages.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	views, whole := 0, 0
	for round := range 200 {
		tt := tinyTypes(Packed, 1+rng.IntN(6), 4)
		typ := tt.Lookup(TypeCall)
		list := randomCalls(rng, 1+rng.IntN(300), round%2 == 0)
		plain, view := madeCalls(t, typ, list, false), madeCalls(t, typ, list, true)
		views += viewPages(t, view)
		whole += len(view.Summary.pages) - viewPages(t, view)
		want := allRows(t, ScanArray(tt, plain, 0))
		if got := allRows(t, ScanArray(tt, view, 0)); !bytes.Equal(got, want) {
			t.Fatalf("round %d: rows of the segment differ", round)
		}
		f, g := openMem(t, fileOf(t, tt, plain)), openMem(t, fileOf(t, tt, view))
		g.SetCallTimes(&eventTimes{list: list})
		compareCalls(t, rng, f, g, want)
		for _, x := range []*File{f, g, openMem(t, fileOf(t, tt, view))} { // the last one without times
			res, err := Check(x, nil)
			if err != nil || res.Found > 0 {
				t.Fatalf("round %d: %+v (%v)", round, res, err)
			}
		}
	}
	if views < 1000 || whole < 300 {
		t.Errorf("%d views, %d whole pages", views, whole)
	}
}

// compareCalls reads calls of two files anywhere, and all of them.
func compareCalls(t *testing.T, rng *rand.Rand, f, g *File, want []byte) {
	t.Helper()
	a, err := f.Array(0, TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Array(0, TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	if got := allRows(t, b.Rows(0, b.Len())); !bytes.Equal(got, want) {
		t.Fatal("rows of the file differ")
	}
	for range min(a.Len(), 20) {
		n := rng.Uint64N(a.Len())
		x, err := a.Row(n, nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Row(n, nil)
		if err != nil || !bytes.Equal(x, y) {
			t.Fatalf("row %d is % x, want % x (%v)", n, y, x, err)
		}
		key := U64(x, CallT) + rng.Uint64N(2)
		i, found, err := a.Search(key, GE)
		if err != nil {
			t.Fatal(err)
		}
		if j, again, err := b.Search(key, GE); i != j || found != again || err != nil {
			t.Fatalf("first row from %d on: %v %t, want %v %t (%v)", key, j, again, i, found, err)
		}
	}
}

// TestOtherTimes reads views with times that are not those of their rows, and with none.
func TestOtherTimes(t *testing.T) {
	tt := tinyTypes(Packed, 4, 4)
	list := []callEvent{{'e', 5}, {'e', 6}, {'l', 7}, {'e', 8}, {'l', 9}, {'e', 10}, {'l', 11}, {'e', 12}, {'l', 13}, {'l', 14}}
	m := fileOf(t, tt, madeCalls(t, tt.Lookup(TypeCall), list, true))
	for _, c := range []struct {
		times CallTimes
		want  error
	}{{nil, ErrNoTimes}, {&eventTimes{list: list, off: 1}, ErrCorrupt}, {&eventTimes{list: list[:5]}, ErrCorrupt}, {&eventTimes{list: list}, nil}} {
		f := openMem(t, m)
		if c.times != nil {
			f.SetCallTimes(c.times)
		}
		a, err := f.Array(0, TypeCall)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Row(1, nil); !errors.Is(err, c.want) {
			t.Errorf("row: %v, want %v", err, c.want)
		}
		rows := a.Rows(0, a.Len())
		for rows.Next() {
		}
		if !errors.Is(rows.Err(), c.want) {
			t.Errorf("rows: %v, want %v", rows.Err(), c.want)
		}
	}
}

// FuzzView decodes any payload as a view: it must not panic, and refuses what is none as damage.
func FuzzView(f *testing.F) {
	typ := StandardTypes(Packed).Lookup(TypeCall)
	list := randomCalls(rand.New(rand.NewPCG(1, 2)), 60, false)
	enc, v, dec := NewEncoder(), newViewer(typ), newDecoder()
	rows := callRows(rand.New(rand.NewPCG(1, 1)), 9)
	enc.gather(typ, rows)
	size, ok := enc.view(v, rows, 0, 0, []uint64{1 << 3})
	if !ok {
		f.Fatal("no view")
	}
	f.Add(slices.Clone(enc.out[:size]), slices.Clone(enc.out[size+timesHead:]), uint16(9))
	f.Fuzz(func(t *testing.T, b, times []byte, count uint16) {
		n := 1 + int(count)%typ.PageRows
		rows := make([]byte, n*typ.RowBytes)
		if !isView(b) {
			return
		}
		page := payload{b: b, times: times, codec: CodecPacked, count: n}
		if err := dec.view(rows, v, b, n, 1<<30, &eventTimes{list: list}); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err := dec.staged(rows, typ, &page, 1<<30, allColumns); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
