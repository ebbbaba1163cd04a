package otf2

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// slowCorrect is the correction as the format defines it: a forward scan for
// the interval, the product rounded half to even.
func slowCorrect(list []offset, raw uint64) trace.Time {
	if len(list) < 2 {
		return trace.Time(raw)
	}
	i := 0
	for i+2 < len(list) && raw > list[i+1].time {
		i++
	}
	a, b := list[i], list[i+1]
	slope := float64(b.value-a.value) / float64(b.time-a.time)
	product := slope * float64(int64(raw-a.time))
	down := math.Floor(product)
	rounded := down
	if diff := product - down; diff > 0.5 || diff == 0.5 && math.Mod(down, 2) != 0 {
		rounded++
	}
	x, _ := big.NewFloat(rounded).Int(nil)
	x.Add(x, big.NewInt(a.value))
	x.Add(x, new(big.Int).SetUint64(raw))
	return trace.Time(x.And(x, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
}

func TestClock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var list []offset
		at := r.Uint64N(1 << 50)
		for range r.IntN(5) {
			list = append(list, offset{at, r.Int64N(20000) - 10000})
			at += 1 + r.Uint64N(1<<r.IntN(40))
		}
		c, ok := newClock(list)
		if !ok {
			t.Fatal("offsets in order refused")
		}
		for range 50 {
			raw := at - r.Uint64N(1<<45)
			if len(list) > 0 && r.IntN(3) == 0 {
				raw = list[r.IntN(len(list))].time + r.Uint64N(3) - 1
			}
			if got, want := c.correct(raw), slowCorrect(list, raw); got != want {
				t.Fatalf("offsets %v, raw %d: %d, want %d", list, raw, got, want)
			}
		}
	}
}

// TestWorkedClock is the example of the format description.
func TestWorkedClock(t *testing.T) {
	c, _ := newClock([]offset{{7397467382659157, -30}, {7397467395149135, -19}})
	if got := c.correct(7397466976978187); got != 7397466976977800 {
		t.Error(got)
	}
}

func TestBadClocks(t *testing.T) {
	if c, ok := newClock([]offset{{5, 1}, {5, 2}, {9, 3}}); ok || len(c.intervals) != 0 {
		t.Error("equal times")
	}
	if c, ok := newClock([]offset{{5, 1}, {8, 2}, {7, 3}}); ok || len(c.intervals) != 1 || c.correct(1000) == 1000 {
		t.Error("times that fall")
	}
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300} {
		drift(x, 3) // any result, the same on every machine
	}
	if drift(1e300, 3) != math.MaxInt64 || drift(-1e300, 3) != math.MinInt64 || drift(math.NaN(), 3) != 0 {
		t.Error("products that do not fit")
	}
}

func TestLocalProblems(t *testing.T) {
	mapping := func(kind trace.RefKind, pairs ...[2]uint64) Mapping { return Mapping{kind, pairs} }
	l := &local{offsets: []ClockOffset{{Time: 5, Offset: 9}}, mappings: []Mapping{mapping(trace.RefRegion, [2]uint64{0, 3})}}
	l.seal("x.def")
	if l.diags.Count(trace.DiagSingleOffset) != 1 || l.clock.correct(77) != 77 {
		t.Error("one offset corrects nothing and is reported")
	}
	l = &local{offsets: []ClockOffset{{Time: 5, Offset: 9}, {Time: 5, Offset: 9}}}
	l.seal("x.def")
	if l.diags.Count(trace.DiagBadLocalDef) != 1 {
		t.Error("equal times are reported")
	}
}

// TestRefMap compares both kinds of table with a plain map.
func TestRefMap(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		spread := uint64(1) << r.IntN(40)
		kind := trace.RefKind(r.IntN(int(trace.NumRefKinds)))
		want := map[uint64]uint64{}
		var pairs [][2]uint64
		for range r.IntN(30) {
			p := [2]uint64{r.Uint64N(spread), r.Uint64N(spread)}
			if r.IntN(9) == 0 {
				p[1] = trace.Undefined64
			}
			pairs = append(pairs, p)
			if _, ok := want[p[0]]; !ok {
				v := p[1]
				if kind != trace.RefLocation {
					v &= trace.Undefined
				}
				want[p[0]] = v
			}
		}
		m := newRefMap(kind, pairs)
		for range 100 {
			key := r.Uint64N(spread)
			if len(pairs) > 0 && r.IntN(2) == 0 {
				key = pairs[r.IntN(len(pairs))][0]
			}
			v, ok := want[key]
			if !ok {
				v = key
			}
			if got := m.at(key); got != v {
				t.Fatalf("kind %d pairs %v: %d becomes %d, want %d", kind, pairs, key, got, v)
			}
		}
	}
	same := newRefMap(trace.RefRegion, [][2]uint64{{0, 0}, {5, 5}})
	if same.dense != nil || same.sparse != nil {
		t.Error("a table that changes nothing is kept")
	}
}

// rawArchive writes one location whose chunks hold Enter events at the given
// raw times, in whatever order.
func rawArchive(t testing.TB, chunks [][]uint64) *Archive {
	t.Helper()
	a := copies(t, oneLocation(nil), Options{EventChunk: 256})
	var file []byte
	n := uint64(1)
	for i, times := range chunks {
		e := encoder{b: []byte{headerByte, littleEndian}}
		e.raw64(n)
		n += uint64(len(times))
		e.raw64(n - 1)
		for k, at := range times {
			if k == 0 || at != times[k-1] {
				e.u8(idTime)
				e.raw64(at)
			}
			e.b = append(e.b, byte(trace.Enter), 0)
		}
		if i == len(chunks)-1 {
			e.b = append(e.b, endOfFile, endOfBuffer)
		} else {
			e.b = append(e.b, make([]byte, 256-len(e.b))...)
		}
		file = append(file, e.b...)
	}
	(archiveFiles{"traces/7.evt": file}).store(t, a.dir+"/..")
	return mustOpen(t, a.path)
}

func oneLocation(b *trace.Batch) *memory {
	d := &trace.Definitions{}
	add(d, trace.DefLocation, trace.Location{Ref: 7})
	d.Seal()
	src := &memory{d, [][]trace.Batch{nil}}
	if b != nil {
		src.chunks[0] = []trace.Batch{*b}
	}
	return src
}

func TestTimeBackwards(t *testing.T) {
	for name, c := range map[string]struct {
		chunks [][]uint64
		want   []trace.Time
		count  uint64
		worst  uint64
		event  uint64
	}{
		"in order":        {[][]uint64{{1, 2, 2, 3}, {3, 4}}, []trace.Time{1, 2, 2, 3, 3, 4}, 0, 0, 0},
		"inside":          {[][]uint64{{10, 20, 15, 15, 18, 30}, {40}}, []trace.Time{10, 20, 20, 20, 20, 30, 40}, 2, 5, 2},
		"at the border":   {[][]uint64{{10, 20, 50}, {30, 60}}, []trace.Time{10, 20, 30, 30, 60}, 1, 20, 2},
		"a late chunk":    {[][]uint64{{10, 20}, {5, 7, 30}, {40}}, []trace.Time{10, 10, 10, 10, 30, 40}, 3, 10, 1},
		"a leap":          {[][]uint64{{10, 1 << 60, 20, 30}, {40, 50}}, []trace.Time{10, 40, 40, 40, 40, 50}, 3, 1<<60 - 40, 1},
		"an empty chunk":  {[][]uint64{{10, 20}, {}, {15, 30}}, []trace.Time{10, 15, 15, 30}, 1, 5, 1},
		"first of a file": {[][]uint64{{0, 0}}, []trace.Time{0, 0}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := rawArchive(t, c.chunks)
			var got []trace.Time
			s := drain(t, a, 0, func(b *trace.Batch) {
				for i := range b.Events {
					got = append(got, b.Events[i].Time)
				}
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if n := s.diags.Count(trace.DiagTimeBackwards); n != c.count {
				t.Errorf("%d times counted, want %d: %+v", n, c.count, s.diags)
			}
			if i := slices.IndexFunc(s.diags.Codes, func(d trace.CodeDiagnostics) bool { return d.Code == trace.DiagTimeBackwards }); i >= 0 {
				if d := s.diags.Codes[i]; d.Worst != c.worst || d.First[0].Event != c.event {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestWriterRefuses has what the writer cannot express.
func TestWriterRefuses(t *testing.T) {
	enter := func(times ...trace.Time) *trace.Batch {
		var b trace.Batch
		for _, at := range times {
			b.Append(at, trace.Enter, 5)
		}
		return &b
	}
	var long trace.Batch
	long.Append(1, 220, 0, append([]uint64{600}, make([]uint64, 75)...)...)
	table := func(m ...Mapping) Options { return Options{Local: func(trace.P) *Local { return &Local{Mappings: m} }} }
	for name, c := range map[string]struct {
		b *trace.Batch
		o Options
	}{
		"time falls":       {enter(5, 4), Options{}},
		"record too long":  {&long, Options{EventChunk: 512}},
		"no local form":    {enter(1), table(Mapping{trace.RefRegion, [][2]uint64{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 6}, {5, 7}}})},
		"gap in dense":     {enter(1), table(Mapping{trace.RefRegion, [][2]uint64{{1, 1}}})},
		"table twice":      {enter(1), table(Mapping{Kind: trace.RefRegion}, Mapping{Kind: trace.RefRegion})},
		"wild clock":       {enter(1), Options{Local: func(trace.P) *Local { return &Local{Offsets: []ClockOffset{{0, 0, 0}, {10, 100, 0}}} }}},
		"clock stands":     {enter(1), Options{Local: func(trace.P) *Local { return &Local{Offsets: []ClockOffset{{5, 0, 0}, {5, 1, 0}}} }}},
		"tiny chunk":       {enter(1), Options{EventChunk: 10}},
		"huge chunk":       {enter(1), Options{DefChunk: maxChunk + 1}},
		"unknown format":   {enter(1), Options{TraceFormat: 3}},
		"definition chunk": {enter(1), Options{DefChunk: minChunk, Local: func(trace.P) *Local { return &Local{Mappings: []Mapping{{trace.RefString, longTable()}}} }}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Copy(t.TempDir(), "x", oneLocation(c.b), c.o); err == nil {
				t.Error("no error")
			}
		})
	}
	dir := t.TempDir()
	for i := range 2 {
		if _, err := Copy(dir, "x", oneLocation(enter(1)), Options{}); (err == nil) != (i == 0) {
			t.Errorf("copy %d into one place: %v", i, err)
		}
	}
}

func longTable() (pairs [][2]uint64) {
	for i := range uint64(300) {
		pairs = append(pairs, [2]uint64{i, i})
	}
	return pairs
}

// TestInexactTimes counts times that no raw time corrects to.
func TestInexactTimes(t *testing.T) {
	var b trace.Batch
	for i := range trace.Time(1000) {
		b.Append(1000+i, trace.Enter, 0)
	}
	src := oneLocation(&b)
	w, err := Create(t.TempDir(), "x", src.defs, Options{Local: func(trace.P) *Local {
		return &Local{Offsets: []ClockOffset{{Time: 1000, Offset: 0}, {Time: 2000, Offset: 100}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Location(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Add(&b); err != nil {
		t.Fatal(err)
	}
	if l.inexact == 0 || l.inexact > 200 || l.Events() != 1000 {
		t.Errorf("%d inexact times of %d", l.inexact, l.Events())
	}
	if err := errors.Join(l.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, w.path(anchorSuffix))
	for i, r := range allRecords(t, a, 0) {
		if d := int64(b.Events[i].Time - r.Time); d < 0 || d > 1 {
			t.Fatalf("event %d: %d written as %d", i, b.Events[i].Time, r.Time)
		}
	}
}
