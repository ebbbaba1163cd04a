package ccg

import (
	"errors"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Graphs whose check sums are all right and whose contents are made to harm.

// manyNodes is a section of equal parts: 65 536 nodes each, of 128 children, in
// some hundred bytes.
func manyNodes(parts int) (src []byte, nTuples, nNodes uint64) {
	g := newGraph()
	h, _ := g.addTuple([]uint64{classEvent | uint64(trace.OmpJoin)<<wordKind, 0})
	l, _ := g.addTuple([]uint64{classList, 0})
	event, _ := g.nodes.append(uint32(kindEvent)<<kindShift|h, nil)
	p := newPartEncoder(true)
	src, _ = p.tuples(nil, g.tuples, 0)
	src, _ = p.nodes(src, g.nodes, event)
	nNodes = 1
	for range parts {
		cols := [4][]uint64{make([]uint64, partSize), make([]uint64, partSize), make([]uint64, partSize*maxFan), nil}
		for i := range cols[0] {
			cols[0][i], cols[1][i] = uint64(l)<<3|uint64(kindGroup), maxFan
		}
		for i := range cols[2] {
			cols[2][i] = 1
		}
		p.buf = append(p.buf[:0], partNodes)
		for _, c := range cols {
			p.column(c)
		}
		src = p.frame(src)
		nNodes += partSize
	}
	return src, 2, nNodes
}

// TestMemoryLimit reads a graph that takes a hundred thousand times its size.
func TestMemoryLimit(t *testing.T) {
	src, nTuples, nNodes := manyNodes(3)
	g, _, err := readParts(src, nTuples, nNodes, maxFan, memoryLimit(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes become %d", len(src), g.memory())
	if _, _, err := readParts(src, nTuples, nNodes, maxFan, 64<<20); !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes of memory: %v", g.memory(), err)
	}
	for n, want := range map[int]uint64{0: 1 << 30, 1 << 16: 1 << 30, 1 << 20: 1 << 34} {
		if got := memoryLimit(n); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}

// TestRowsLimit reads rows of which one position in 128 is stored.
func TestRowsLimit(t *testing.T) {
	const n = 100_000
	g := newGraph()
	h, _ := g.addTuple([]uint64{classCall | uint64(trace.Enter)<<wordKind, 7})
	list, _ := g.addTuple([]uint64{classList, 0})
	call, _ := g.nodes.append(uint32(kindCall)<<kindShift|h, nil)
	group, _ := g.nodes.append(uint32(kindRepeat)<<kindShift|list, []uint32{call, 200, 0})
	outer, _ := g.nodes.append(uint32(kindGroup)<<kindShift|list, slices.Repeat([]uint32{group}, 127))
	c := newClasses(&g, maxFan, []bool{false, true, true, true})
	for _, id := range []uint32{call, group, outer} {
		rows := 1
		if id == group {
			rows = n
		}
		for i := range rows {
			if _, err := c.append(id, make([]uint64, c.tables[id].gapsPerRow), slices.Repeat([]uint32{0}, c.tables[id].kidsPerRow)); err != nil {
				t.Fatal(err)
			}
			if id == group {
				c.tables[id].gaps[i] = 5
			}
		}
	}
	b := appendClasses(nil, &g, c, maxFan)
	if _, _, err := readClasses(b, &g, maxFan, 12*n+4096); err != nil {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	if _, _, err := readClasses(b, &g, maxFan, 12*n-1); !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes: %v", len(b), err)
	}
}

// TestTicksLimit asks a location for more times than an index may hold.
func TestTicksLimit(t *testing.T) {
	m := lossyGraph(t, 300, 64)
	x := m.locs[0].Index()
	if _, err := x.Interval(0, 1000); err != nil {
		t.Fatal(err)
	}
	x = m.locs[0].Index()
	x.tickWords = 1
	if _, err := x.Interval(0, 1000); !errors.Is(err, ErrLimit) {
		t.Errorf("interval: %v", err)
	}
	if _, err := x.CallDurations(1); !errors.Is(err, ErrLimit) {
		t.Errorf("durations: %v", err)
	}
}

// TestRegularGraph reads calls that differ in a counter alone, which is as much as a
// real program has in few bytes: far from the limit.
func TestRegularGraph(t *testing.T) {
	var batch trace.Batch
	for i := range 20_000 {
		at := trace.Time(10 * i)
		batch.Append(at, trace.Enter, 1)
		batch.Append(at+1, trace.MpiSend, 0, 0, 0, uint64(i), 8)
		batch.Append(at+5, trace.Leave, 1)
	}
	s := join(t, testDefs(2), []*Local{whole(t, &batch, Options{})}, Options{})
	section := s.Encode()
	if _, err := OpenShared(testDefs(2), section); err != nil || s.graph.memory() > uint64(len(section))<<10 {
		t.Errorf("%d bytes take %d: %v", len(section), s.graph.memory(), err)
	}
}

// TestTimesOverflow adds up times that no location can have, of columns that are
// each in order: no profile wraps around.
func TestTimesOverflow(t *testing.T) {
	var batch trace.Batch
	batch.Append(0, trace.Enter, 0)
	gaps := []uint64{0}
	for r := range uint32(4) { // together 2^64 + 5 ticks, which no mark sees
		batch.Append(0, trace.Enter, 1+r)
		batch.Append(0, trace.Leave, 1+r)
		gaps = append(gaps, 0, 1<<62+uint64(r/3)*5)
	}
	for range 3000 {
		batch.Append(0, trace.Enter, 5)
		batch.Append(0, trace.Leave, 5)
		gaps = append(gaps, 0, 0)
	}
	batch.Append(0, trace.Leave, 0)
	l := whole(t, &batch, Options{})
	l.gaps = varint.Append(nil, append(gaps, 0)...)
	s := join(t, testDefs(2), []*Local{l}, Options{})
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	var flat, paths, calls error
	var p Profile
	flat = p.Add(loc, true)
	var q PathProfile
	if paths = q.Add(loc); paths == nil {
		_, paths = q.Paths()
	}
	_, calls = loc.Index().CallDurations(0)
	_, interval := loc.Index().Interval(0, 1<<64-1)
	for name, err := range map[string]error{"profile": flat, "paths": paths, "durations": calls, "interval": interval} {
		if !errors.Is(err, ErrLimit) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDistributeStreams distributes locations whose streams are longer or shorter than their structure.
func TestDistributeStreams(t *testing.T) {
	m := makeGraph(t, 1, 3*markEvery, true, Options{})
	long := make([]byte, 2*markEvery)
	for name, damage := range map[string]func(l *Local){
		"gaps too long":     func(l *Local) { l.gaps = append(slices.Clip(l.gaps), long...) },
		"gaps too short":    func(l *Local) { l.gaps = l.gaps[:len(l.gaps)/2] },
		"gaps cut":          func(l *Local) { l.gaps = append(slices.Clip(l.gaps[:len(l.gaps)-1]), 0x80) },
		"values too long":   func(l *Local) { l.values = append(slices.Clip(l.values), long...) },
		"values too short":  func(l *Local) { l.values = l.values[:len(l.values)/2] },
		"no values":         func(l *Local) { l.values = nil },
		"payload too long":  func(l *Local) { l.payload = append(slices.Clip(l.payload), make([]byte, 1<<16)...) },
		"payload too short": func(l *Local) { l.payload = l.payload[:len(l.payload)-8] },
		"payload cut":       func(l *Local) { l.payload = l.payload[:len(l.payload)-1] },
	} {
		l := *m.locals[0]
		if damage(&l); len(m.locals[0].values) == 0 || len(m.locals[0].payload) == 0 {
			t.Fatal("the location has no values, or no payload")
		}
		if _, err := NewDistributor(m.shared).Distribute(&l); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewDistributor(m.shared).Distribute(m.locals[0]); err != nil {
		t.Error(err)
	}
}
