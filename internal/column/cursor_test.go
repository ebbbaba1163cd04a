package column

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// open encodes v and opens the column.
func open(t testing.TB, e *Encoder, v []uint64) Column {
	t.Helper()
	c, err := Parse(e.Append(nil, v))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCursorMoves compares random moves with an index into the values.
func TestCursorMoves(t *testing.T) {
	var e Encoder
	var k Cursor
	r := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{0, 1, 2, 63, 64, 1023, 1024, 1025, 2048, 5000} {
		v := make([]uint64, n)
		for i := range v {
			v[i] = r.Uint64() >> r.IntN(64)
		}
		c := open(t, &e, v)
		k.Init(&c)
		at := 0
		for range 200 {
			if k.Pos() != uint64(at) || k.Done() != (at == n) {
				t.Fatalf("%d values: position %d, want %d; done %v", n, k.Pos(), at, k.Done())
			}
			switch r.IntN(2) {
			case 0:
				at = r.IntN(n + 1)
				k.Seek(uint64(at))
			case 1:
				for range min(n-at, r.IntN(1500)) {
					if got := k.Next(); got != v[at] {
						t.Fatalf("%d values: next %d is %d, want %d", n, at, got, v[at])
					}
					at++
				}
			}
		}
		if k.Err() != nil {
			t.Fatal(k.Err())
		}
	}
}

func TestCursorLeavesColumn(t *testing.T) {
	var e Encoder
	c := open(t, &e, make([]uint64, 3000))
	for name, leave := range map[string]func(k *Cursor){
		"after": func(k *Cursor) { k.Seek(3000); k.Next() },
		"seek":  func(k *Cursor) { k.Seek(3001) },
		"far":   func(k *Cursor) { k.Seek(math.MaxUint64) },
	} {
		var k Cursor
		k.Init(&c)
		leave(&k)
		if !errors.Is(k.Err(), ErrCorrupt) {
			t.Errorf("%s: %v", name, k.Err())
		}
		if k.Seek(5); k.Next() != 0 || !errors.Is(k.Err(), ErrCorrupt) {
			t.Errorf("%s: the error does not last", name)
		}
	}
}

func TestReadersAllocateNothing(t *testing.T) {
	var e Encoder
	c := open(t, &e, gapColumn(5000))
	var k Cursor
	all := func() {
		k.Init(&c)
		for i := uint64(250); i <= 5000; i += 250 {
			k.Seek(i)
			if i < 5000 {
				k.Next()
			}
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEncodingAllocatesNothing(t *testing.T) {
	e := Encoder{Entropy: true}
	dst := make([]byte, 0, 16*BlockSize)
	var columns [][]uint64
	r := rand.New(rand.NewPCG(25, 26))
	for range 40 {
		columns = append(columns, randomColumn(r, BlockSize))
	}
	columns = append(columns, gapColumn(BlockSize), noisyColumn(BlockSize))
	all := func() {
		for _, v := range columns {
			dst = e.AppendBlock(dst[:0], v)
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
