package xtf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomRows fills rows of a type with values of all sizes; keys rise.
func randomRows(r *rand.Rand, t *Type, n int) []byte {
	b := make([]byte, n*t.RowBytes)
	key := r.Uint64() >> r.UintN(64)
	for i := range n {
		row := b[i*t.RowBytes:]
		for c, col := range t.Columns {
			v := r.Uint64() >> r.UintN(64)
			if r.IntN(8) == 0 {
				v = math.MaxUint64
			}
			if c == 0 && t.Role != RoleNone {
				if d := r.Uint64() >> (16 + r.UintN(48)); key+d >= key {
					key += d
				}
				v = key
			}
			switch col.Width {
			case 8:
				le.PutUint64(row[col.Offset:], v)
			case 4:
				le.PutUint32(row[col.Offset:], uint32(v))
			default:
				row[col.Offset] = byte(v)
			}
		}
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	for _, prof := range []Profile{Packed, Raw4K} {
		tt := StandardTypes(prof)
		for i := range tt.types {
			typ := &tt.types[i]
			t.Run(fmt.Sprintf("%s/%d", typ.Name, prof.PageSize), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for _, n := range []int{1, 2, 63, typ.PageRows - 1, typ.PageRows, typ.PageRows + 1, 2*typ.PageRows + 7} {
					rows := randomRows(r, typ, n)
					a := buildArray(t, tt, 5, testArray{typ.ID, rows})
					b, err := a.Summary.AppendBinary(nil)
					if err != nil {
						t.Fatal(err)
					}
					if a.Summary, err = ParseArraySummary(b); err != nil {
						t.Fatal(err)
					}
					c := ScanArray(tt, a, 0)
					var got []byte
					for c.Next() {
						got = append(got, c.Row()...)
					}
					if c.Err() != nil || !bytes.Equal(got, rows) {
						t.Fatalf("%d rows: %v, %d bytes come back", n, c.Err(), len(got))
					}
				}
			})
		}
	}
}

func TestTypeTableRoundTrip(t *testing.T) {
	for _, p := range []Profile{Packed, Raw4K, Raw16K, Raw64K} {
		tt := StandardTypes(p)
		got, err := parseTypes(tt.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.types, got.types); d != "" || tt.align != got.align {
			t.Errorf("profile %v: %s", p, d)
		}
	}
}

func TestStandardTypes(t *testing.T) {
	want := map[string]int{
		"CALL": 48, "P2P": 96, "COLL": 96, "IO": 48, "RMA": 48, "METRIC": 24, "WAIT": 40, "IVAL": 32, "CPATH": 32,
		"CHANNEL": 40, "CHAN": 8, "TILE": 32, "TIMEBIN": 48, "COMP": 16, "DELAY": 32, "DIAG": 48, "INTERVAL": 88,
		"STAT": 72, "CLASS": 32, "MEMBER": 16, "MERGE": 24, "DIRECTORY": 64,
		"WAITSUM": 32, "PATH": 24, "WAITTOTAL": 40, "DELAYTOTAL": 48, "PATHTOTAL": 32,
		"GROUP": 64, "CLASSSUM": 40,
	}
	sums := map[string]int{"CALL": 23, "P2P": 7, "COLL": 8, "IO": 4, "RMA": 2, "WAIT": 14}
	tt := StandardTypes(Packed)
	if len(tt.types) != len(want) {
		t.Errorf("%d types, want %d", len(tt.types), len(want))
	}
	for _, typ := range tt.types {
		if typ.RowBytes != want[typ.Name] || len(typ.Sums) != sums[typ.Name] {
			t.Errorf("%s: R = %d, %d sums", typ.Name, typ.RowBytes, len(typ.Sums))
		}
		if err := typ.validate(); err != nil {
			t.Error(err)
		}
		at := 0
		for _, c := range typ.Columns {
			if c.Offset != at {
				t.Errorf("%s.%s at %d, expected %d", typ.Name, c.Name, c.Offset, at)
			}
			at += c.Width
		}
	}
	if c := tt.Lookup(TypeCall); c.PageRows != 1024 || c.Fanout != 680 {
		t.Errorf("CALL: Z = %d, S = %d", c.PageRows, c.Fanout)
	}
	if c := tt.Lookup(TypeP2P); c.PageRows != 512 {
		t.Errorf("P2P: Z = %d", c.PageRows)
	}
	if c := StandardTypes(Raw4K).Lookup(TypeDirectory); c.PageRows != 63 || c.Fanout != 168 {
		t.Errorf("raw 64-byte rows: Z = %d, S = %d", c.PageRows, c.Fanout)
	}
}

// Rows that close late, in any order, give the bytes of rows that never were open.
func TestLateRows(t *testing.T) {
	tt := tinyTypes(Packed, 8, 3)
	typ := tt.Lookup(TypeCall)
	r := rand.New(rand.NewPCG(8, 8))
	for round := range 50 {
		rows := callRows(r, 1+r.IntN(300))
		want := buildArray(t, tt, 0, testArray{TypeCall, rows})
		sink := &MemorySink{}
		b := NewArrayBuilder(NewEncoder(), typ, 0, sink)
		var open []uint64
		shut := func() {
			i := r.IntN(len(open))
			n := open[i]
			copy(b.Row(n), rows[n*CallRowBytes:][:CallRowBytes])
			b.Close(n)
			open = append(open[:i], open[i+1:]...)
		}
		for o := 0; o < len(rows); o += CallRowBytes {
			row, n := b.Open()
			SetU64(row, CallT, U64(rows[o:], CallT))
			open = append(open, n)
			for len(open) > 0 && r.IntN(2) == 0 {
				shut()
			}
		}
		if len(open) > 0 {
			if _, err := b.Finish(); !errors.Is(err, ErrOpenRows) {
				t.Fatalf("Finish with open rows: %v", err)
			}
		}
		for len(open) > 0 {
			shut()
		}
		if len(b.pinned) != 0 {
			t.Fatalf("%d pages pinned without open rows", len(b.pinned))
		}
		sum, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		got := regionBytes(t, tt, FinishedArray{Summary: sum, Data: sink})
		if !bytes.Equal(got, regionBytes(t, tt, want)) {
			t.Fatalf("round %d: bytes differ", round)
		}
	}
}

func regionBytes(t *testing.T, tt *TypeTable, a FinishedArray) []byte {
	t.Helper()
	plan, err := PlanRegion(tt, 0, []FinishedArray{a}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := plan.WriteTo(&b, testID); err != nil {
		t.Fatal(err)
	}
	if int64(b.Len()) != plan.Size() {
		t.Fatalf("%d bytes written, %d planned", b.Len(), plan.Size())
	}
	return b.Bytes()
}

func TestOrderError(t *testing.T) {
	tt := tinyTypes(Packed, 4, 3)
	for _, bad := range []int{1, 3, 4, 5, 8, 17} {
		b := NewArrayBuilder(NewEncoder(), tt.Lookup(TypeMetric), 2, &MemorySink{})
		for i := range 20 {
			row, _ := b.Append()
			v := uint64(100 + i)
			if i == bad {
				v = 99
			}
			(&Metric{T: v}).Put(row)
		}
		_, err := b.Finish()
		if want := fmt.Sprintf("row %d ", bad); !errors.Is(err, ErrOrder) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("row %d runs backwards: %v", bad, err)
		}
	}
}

// failSink fails after some pages.
type failSink struct {
	MemorySink
	left int
}

var errFull = errors.New("full")

func (f *failSink) Append(b []byte) (int64, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return f.MemorySink.Append(b)
}

func TestSinkError(t *testing.T) {
	tt := tinyTypes(Packed, 4, 3)
	b := NewArrayBuilder(NewEncoder(), tt.Lookup(TypeMetric), 2, &failSink{left: 2})
	for i := range 100 {
		row, _ := b.Append()
		(&Metric{T: uint64(i)}).Put(row)
	}
	if _, err := b.Finish(); !errors.Is(err, errFull) || !errors.Is(b.Err(), errFull) {
		t.Fatalf("Finish: %v", err)
	}
}

// A segment that changes between build and composition is noticed.
func TestSegmentChanged(t *testing.T) {
	tt := tinyTypes(Packed, 4, 3)
	a := buildArray(t, tt, 0, testArray{TypeMetric, metricRows(sortedKeys(rand.New(rand.NewPCG(1, 1)), 50, 99))})
	a.Data.(*MemorySink).b[33] ^= 4
	plan, err := PlanRegion(tt, 0, []FinishedArray{a}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.WriteTo(&bytes.Buffer{}, testID); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("WriteTo: %v", err)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	tt := StandardTypes(Packed)
	b := NewArrayBuilder(NewEncoder(), tt.Lookup(TypeCall), 0, discard{})
	i := uint64(0)
	if n := testing.AllocsPerRun(20000, func() {
		row, k := b.Open()
		(&Call{T: i, End: i + 5, Parent: k, Region: 3}).Put(row)
		b.Close(k)
		i += 3
	}); n > 0.01 {
		t.Errorf("%v allocations a row", n)
	}
}

// Small arrays, and those with hardly a transformed column, are stored in the
// smaller form.
func TestPlainRowsTried(t *testing.T) {
	for _, c := range []struct {
		id   TypeID
		raw  int
		want bool
	}{
		{TypeCall, plainAlways, true},
		{TypeCall, plainAlways + 1, false},
		{TypeP2P, 40 << 10, false},
		{TypeColl, 40 << 10, false},
		{TypeMetric, 40 << 10, true},
		{TypeChannel, 40 << 10, true},
		{TypeChan, 60 << 10, true},
		{TypeTimeBin, 40 << 10, true},
	} {
		typ := StandardTypes(Packed).Lookup(c.id)
		if got := plainMayWin(typ, c.raw); got != c.want {
			t.Errorf("%s, %d bytes: %v", typ.Name, c.raw, got)
		}
	}
}

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Append([]byte) (int64, error)      { return 0, nil }
func (discard) ReadAt([]byte, int64) (int, error) { return 0, errFull }

func BenchmarkEncode(b *testing.B) {
	for _, id := range []TypeID{TypeCall, TypeP2P} {
		b.Run(StandardTypes(Packed).Lookup(id).Name, func(b *testing.B) { benchEncode(b, id, Packed) })
	}
	b.Run("CALL raw", func(b *testing.B) { benchEncode(b, TypeCall, Raw4K) })
}

// loopRows imitates an iterative program: a few calls and messages, again and
// again, with jittered times.
func loopRows(id TypeID, n int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	t := uint64(1 << 40)
	if id == TypeP2P {
		b := make([]byte, n*P2PRowBytes)
		for i := range n {
			t += 900 + r.Uint64N(60)
			end := t + 200 + r.Uint64N(30)
			m := P2P{
				T: t, End: end, Post: t, Done: end, CallN: uint64(i)*2 + 7, MateN: uint64(i) + uint64(i%4), Seq: uint64(i / 4),
				Bytes: 4096 << (i % 3), Region: 31 + uint32(i%2), Peer: uint32(i % 4), Tag: uint32(i % 8), Kind: uint32(i % 2),
				MateP: uint32(i % 4), MateT: t - 150 + r.Uint64N(300),
			}
			if m.Kind == P2PSend {
				m.Done = Never
			}
			m.Put(b[i*P2PRowBytes:])
		}
		return b
	}
	b := make([]byte, n*CallRowBytes)
	for i := range n {
		t += 300 + r.Uint64N(40)
		c := Call{T: t, End: t + 150 + r.Uint64N(20), Parent: 2, Region: 12 + uint32(i%18), Depth: 3, Class: ClassMPI | ClassP2P, Flags: FlagOutermostMPI}
		if i%18 == 0 {
			c = Call{T: t, End: t + 5000 + r.Uint64N(500), Parent: 1, Region: 3, Depth: 2}
		} else {
			c.Parent = uint64(i - i%18)
		}
		c.Exclusive = c.End - c.T
		if i%18 == 0 {
			c.Exclusive -= 3000 + r.Uint64N(100)
		}
		c.Put(b[i*CallRowBytes:])
	}
	return b
}

func benchEncode(b *testing.B, id TypeID, prof Profile) {
	tt := StandardTypes(prof)
	typ := tt.Lookup(id)
	rows := loopRows(id, 1<<16)
	b.SetBytes(int64(len(rows)))
	b.ReportAllocs()
	enc := NewEncoder()
	var stored int64
	for b.Loop() {
		ab := NewArrayBuilder(enc, typ, 0, discard{})
		for o := 0; o < len(rows); o += typ.RowBytes {
			row, _ := ab.Append()
			copy(row, rows[o:o+typ.RowBytes])
		}
		sum, err := ab.Finish()
		if err != nil {
			b.Fatal(err)
		}
		stored = 0
		for i := range sum.pages {
			stored += int64(sum.pages[i].stored)
		}
	}
	b.ReportMetric(float64(len(rows))/float64(stored), "ratio")
}

// A column that begins anew after some values is as small as these, and read as it was; one that does not is read too, and a damaged one is
// an error or other values.
func TestRepeatingColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for round := range 2000 {
		n := 1 + rng.IntN(600)
		p := 1 + rng.IntN(n)
		v := make([]uint64, n)
		for i := range v {
			if v[i] = rng.Uint64() >> rng.IntN(64); i > p {
				v[i] = v[i-p]
			}
		}
		broken := round%3 == 0
		if broken {
			v[rng.IntN(n)] ^= 1 << rng.IntN(64)
		}
		mix := copyMixed(v, v)
		b := appendColumn(nil, v, mix)
		if most := repeatsHead + 8*p; !broken && n >= leastRepeated && 2*p < n && len(b) > most {
			t.Fatalf("%d values that repeat after %d take %d bytes", n, p, len(b))
		}
		r, got := planeReader{cold: b, n: n}, make([]uint64, n)
		c, err := r.next(8)
		if err != nil || r.end() != nil {
			t.Fatal(err, r.end())
		}
		if c.load(got); !slices.Equal(got, v) {
			t.Fatalf("%d values that repeat after %d are read as others", n, p)
		}
		b[rng.IntN(min(len(b), 12))] ^= 1 << rng.IntN(8)
		r = planeReader{cold: b[:len(b)-rng.IntN(2)], n: n}
		if c, err = r.next(8); err == nil {
			c.load(got)
		} else if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
}
