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

// TestStage adds rows in calls of any length and fills fields late.
func TestStage(t *testing.T) {
	const width = 12
	rng := rand.New(rand.NewPCG(2, 2))
	for _, total := range []int{0, 1, stageBlock - 1, stageBlock, stageBlock + 1, 5*stageBlock + 17} {
		sink := &memory{}
		s := stage{sink: sink, width: width}
		want := make([]byte, 0, total*width)
		keep := uint64(0)
		for n := range total {
			row, got := s.add(keep)
			if got != uint64(n) {
				t.Fatalf("row %d has number %d", n, got)
			}
			for i := range row {
				row[i] = byte(n + i)
			}
			want = append(want, row...)
			if rng.IntN(50) == 0 {
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
		if n := len(s.blocks); total > 3*stageBlock && n > 3 {
			t.Errorf("%d blocks in memory", n)
		}
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(sink.b, want) {
			t.Errorf("%d rows: staged bytes differ", total)
		}
		r := stagedReader{data: sink, width: width, rows: uint64(total)}
		for n := 0; ; n++ {
			row, err := r.read()
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				if n != total {
					t.Errorf("read %d rows of %d", n, total)
				}
				break
			}
			if !bytes.Equal(row, want[n*width:(n+1)*width]) {
				t.Fatalf("row %d differs after reading", n)
			}
		}
	}
}

func TestEncodedRows(t *testing.T) {
	e := entry{1, 2, 3, xtf.ChannelReceive, 5, 6, 7, 8, 9, 10, 11, entryShared, 12}
	var eb [entryBytes]byte
	e.put(eb[:])
	var e2 entry
	if e2.load(eb[:]); e2 != e {
		t.Errorf("entry %+v became %+v", e, e2)
	}
	for _, kind := range []uint32{resultDone, resultMate, resultColl} {
		r := result{p: 1, row: 1 << 40, kind: kind, mateP: 2, mateN: 3, t: 4, a: 5, b: 6, c: 7, flags: 8}
		var rb [resultBytes]byte
		r.put(rb[:])
		var r2 result
		if r2.load(rb[:]); r2 != r {
			t.Errorf("result %+v became %+v", r, r2)
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
	l.Totals = Totals{First: 1, Last: 99, Events: 7, Sends: 8}
	l.Totals.Class[TimeMPI] = 55
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
