package stats

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// memory is a Sink in memory.
type memory struct{ b []byte }

func (m *memory) Append(b []byte) (int64, error) {
	off := int64(len(m.b))
	m.b = append(m.b, b...)
	return off, nil
}

func (m *memory) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(b, off)
}

func (m *memory) Size() int64 { return int64(len(m.b)) }
func (m *memory) Drop()       { m.b = nil }

// TestStage adds rows in calls of any length and fills fields late.
func TestStage(t *testing.T) {
	const width, block = 12, stagedBytes / 12
	rng := rand.New(rand.NewPCG(2, 2))
	for _, total := range []int{0, 1, block - 1, block, block + 1, 5*block + 17} {
		sink := &memory{}
		var s stage
		s = s.to(sink, width)
		want := make([]byte, 0, total*width)
		keep := uint64(0)
		for n := range total {
			row, got := s.add()
			if got != uint64(n) {
				t.Fatalf("row %d has number %d", n, got)
			}
			for i := range row {
				row[i] = byte(n + i)
			}
			want = append(want, row...)
			if rng.IntN(50) == 0 {
				s.settle()
				keep = s.len()
			}
			for late := max(int(keep), n-20); late <= n; late++ { // rows of the call in hand can be filled
				r := s.row(uint64(late))
				if r == nil {
					t.Fatalf("row %d of a call that began at %d has left the memory", late, keep)
				}
				r[0]++
				want[late*width]++
			}
		}
		if n := len(s.rows); n > 2*stagedBytes {
			t.Errorf("%d bytes of rows in memory", n)
		}
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(sink.b, want) {
			t.Errorf("%d rows: staged bytes differ", total)
		}
	}
}

// TestResults adds results of rows in any order and takes them back by blocks.
func TestResults(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	word := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	for _, rows := range []uint64{1, resultBlock, 3*resultBlock + 7} {
		unit := Unit{P: 5, P2PRows: rows, CollRows: rows}
		sink := &memory{}
		results := newResults([]Unit{unit}, func() Scratch { return sink })
		want := map[result]bool{}
		for range 4 * rows {
			r := result{p: 5, row: rng.Uint64N(rows), kind: rng.Uint32N(resultCause + 1), mateP: uint32(word()), mateN: xtf.Never, t: word(), a: word(), b: word(), c: word(), flags: uint32(word())}
			if rng.IntN(2) == 0 {
				r.mateN = word()
			}
			want[r] = true
			if err := results.add(&r); err != nil {
				t.Fatal(err)
			}
		}
		for _, bad := range []result{{p: 4}, {p: 6}, {p: 5, row: (rows + resultBlock) / resultBlock * resultBlock}} {
			if results.add(&bad) == nil {
				t.Errorf("%d rows: a result for row %d of location %d is taken", rows, bad.row, bad.p)
			}
		}
		of := results.of(5)
		for kind, lists := range [][]resultList{of.p2p, of.coll} {
			for i := range lists {
				err := lists[i].each(sink, func(r *result) error {
					x := *r
					x.p, x.row = 5, x.row+uint64(i)*resultBlock
					if !want[x] || (x.kind >= resultColl) != (kind == 1) {
						t.Fatalf("%d rows: result %+v comes back", rows, x)
					}
					delete(want, x)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%d rows: %d results are lost", rows, len(want))
		}
		for range 100 { // damaged storage is an error, or other results, but no panic
			if len(sink.b) > 0 {
				sink.b[rng.IntN(len(sink.b))] ^= 1 << rng.IntN(8)
			}
			for i := range of.p2p {
				_ = of.p2p[i].each(sink, func(*result) error { return nil })
			}
		}
	}
}

// TestSpread compares the wide sums with big integers, merged in any grouping.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		n := 1 + rng.IntN(20)
		values := make([]uint64, n)
		sum, squares := new(big.Int), new(big.Int)
		for i := range values {
			values[i] = rng.Uint64N(xtf.Most(n)) >> rng.IntN(64)
			v := new(big.Int).SetUint64(values[i])
			sum.Add(sum, v)
			squares.Add(squares, v.Mul(v, v))
		}
		cut := 1 + rng.IntN(n)
		var a, b Spread
		for i, v := range values {
			if i < cut {
				a.add(v, uint32(i), i == 0)
			} else {
				b.add(v, uint32(i), i == cut)
			}
		}
		if cut < n {
			a.merge(&b)
		}
		if a.Sum != sum.Uint64() {
			t.Fatalf("sum %v, want %v", a.Sum, sum)
		}
		got := new(big.Int).SetUint64(a.Squares[1])
		if got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(a.Squares[0])); got.Cmp(squares) != 0 {
			t.Fatalf("squares %v, want %v", got, squares)
		}
		for i, v := range values {
			if v < a.Min || v > a.Max || v == a.Min && uint32(i) < a.MinP || v == a.Max && uint32(i) < a.MaxP {
				t.Fatalf("value %d of process %d against %+v", v, i, a)
			}
		}
	}
}

func TestLevel(t *testing.T) {
	for last, want := range map[uint64]uint8{0: 0, 1: 1, 3: 1, 4: 2, 15: 2, 16: 3, 1 << 40: 21, 1<<64 - 1: 32} {
		if got := Level(last); got != want {
			t.Errorf("Level(%d) = %d, want %d", last, got, want)
		}
	}
}

func loadedSample() *Loaded {
	l := &Loaded{P: 3, P2PRows: 4, CollRows: 5, Profile: make([]RegionProfile, 6)}
	l.Profile[2] = RegionProfile{Calls: 1, Inclusive: 2, Exclusive: 3, Bytes: 4}
	l.Totals = Totals{First: 1, Last: 99, Events: 7}
	l.Long = []LongCall{{0, 9, 4}, {5, 0, 7}}
	l.Bins = Bins{Level: 2, Rows: []BinRow{{0, 2, BinSums{1, 2, 3, 0}}, {5, 0, BinSums{0, 1, 0, 0}}, {5, 2, BinSums{0, 0, 0, 4}}}}
	for i := range 20 {
		l.Diagnostics.Add(trace.Diagnostic{Code: trace.DiagStrayLeave, Event: uint64(i), Detail: "text"})
	}
	return l
}

func TestLoadedRoundTrip(t *testing.T) {
	want := loadedSample()
	tables := &Tables{class: make([]trace.CallClass, len(want.Profile))}
	got, err := tables.Parse(want.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(RegionProfile{})); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(loadedSample().AppendBinary(nil))
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		tables := &Tables{class: make([]trace.CallClass, 6)}
		if l, err := tables.Parse(b); err == nil {
			if _, err := tables.Parse(l.AppendBinary(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestHomes checks who is home of which process when ranges cut processes.
func TestHomes(t *testing.T) {
	d := &trace.Definitions{}
	for process := range uint32(3) {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: process, Type: trace.ProcessGroup, Creator: trace.Undefined})
		for thread := range uint64(4) {
			d.Locations = append(d.Locations, trace.Location{Ref: thread<<32 | uint64(process), Group: process, Type: trace.CPUThread})
		}
	}
	d.Seal()
	ranges := []partition.Range{{First: 0, End: 2}, {First: 2, End: 3}, {First: 3, End: 9}, {First: 9, End: 12}, {First: 12, End: 12}}
	for rank, want := range []struct {
		first   uint32
		away    int
		sharers []int
	}{
		{0, 0, []int{1, 2}}, {1, 0, nil}, {1, 0, []int{3}}, {3, 2, nil}, {3, 4, nil},
	} {
		h := newHomes(d, ranges, rank)
		if h.first[rank] != want.first {
			t.Errorf("rank %d: first process at home %d, want %d", rank, h.first[rank], want.first)
		}
		if r, away := h.away(); r != want.away || away != (r != rank) {
			t.Errorf("rank %d: away %d %v, want %d", rank, r, away, want.away)
		}
		if got := h.sharers(); !cmp.Equal(got, want.sharers) {
			t.Errorf("rank %d: sharers %v, want %v", rank, got, want.sharers)
		}
	}
}
