package xtf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// built is what a builder made: its pages and its page table.
func built(t *testing.T, b *ArrayBuilder, sink *MemorySink) []byte {
	t.Helper()
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	all, err := sum.AppendBinary(bytes.Clone(sink.b))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPinnedInAnyOrder opens rows and closes them in any order, with and without
// a limit on pages in memory.
func TestPinnedInAnyOrder(t *testing.T) {
	types := tinyTypes(Packed, 4, 3)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 9
	}
	for seed := range seeds {
		var want []byte
		for _, limit := range []int{0, 1, 2, 3, 4, 9} {
			r := rand.New(rand.NewPCG(seed, 8))
			sink, scratch := &MemorySink{}, &MemorySink{}
			b := NewArrayBuilder(NewEncoder(), types.Lookup(TypeCall), 0, sink)
			if limit > 0 {
				b.SpillPinned(scratch, limit)
			}
			var open []uint64
			for at := range uint64(300) {
				row, n := b.Open()
				(&Call{T: at, End: Never, Parent: Never, Region: uint32(seed)}).Put(row)
				open = append(open, n)
				for len(open) > 0 && r.Uint64N(8+seed) < 7 {
					i := r.IntN(len(open))
					if seed%3 > 0 {
						i = len(open) - 1 - i/8
					}
					SetU64(b.Row(open[r.IntN(len(open))]), CallExclusive, at) // of a row that stays open
					SetU64(b.Row(open[i]), CallEnd, at+5)
					b.Close(open[i])
					open = append(open[:i], open[i+1:]...)
				}
			}
			for _, n := range open {
				SetU64(b.Row(n), CallEnd, 400)
				b.Close(n)
			}
			if limit > 0 && b.peak > max(limit, leastHeld) {
				t.Fatalf("seed %d: %d pages held, %d allowed", seed, b.peak, limit)
			}
			got := built(t, b, sink)
			if limit == 0 {
				want = got
			} else if !bytes.Equal(got, want) {
				t.Fatalf("seed %d: other bytes with %d pages in memory", seed, limit)
			}
			if len(scratch.b) > 75*4*CallRowBytes {
				t.Fatalf("seed %d: %d bytes of scratch space", seed, len(scratch.b))
			}
		}
	}
}

// deepCalls builds a call over the whole run, under it a stack of the given depth
// that is entered and left twice.
func deepCalls(b *ArrayBuilder, depth int) {
	at := uint64(0)
	enter := func(parent uint64) uint64 {
		row, n := b.Open()
		(&Call{T: at, End: Never, Parent: parent, Class: ClassMPI, Flags: FlagOutermostMPI}).Put(row)
		at += 3
		return n
	}
	leave := func(n uint64) {
		row := b.Row(n)
		SetU64(row, CallEnd, at)
		SetU64(row, CallExclusive, at-U64(row, CallT))
		b.Close(n)
		at += 2
	}
	root := enter(Never)
	stack := make([]uint64, 0, depth)
	for range 2 {
		parent := root
		for range depth {
			parent = enter(parent)
			stack = append(stack, parent)
		}
		for len(stack) > 0 {
			leave(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
		}
	}
	leave(root)
}

// TestDeepStack builds a stack of 10^5 calls with four pages in memory.
func TestDeepStack(t *testing.T) {
	const limit = 4
	depth := 100_000
	if testing.Short() {
		depth /= 5
	}
	typ := StandardTypes(Packed).Lookup(TypeCall)
	plain, sink, scratch := &MemorySink{}, &MemorySink{}, &MemorySink{}
	free := NewArrayBuilder(NewEncoder(), typ, 0, plain)
	deepCalls(free, depth)
	b := NewArrayBuilder(NewEncoder(), typ, 0, sink)
	b.SpillPinned(scratch, limit)
	deepCalls(b, depth)
	if b.peak > limit {
		t.Errorf("%d pages held, %d allowed", b.peak, limit)
	}
	pages := depth/typ.PageRows + 2
	if got := len(scratch.b); got > pages*typ.PageRows*typ.RowBytes || free.peak < pages-1 {
		t.Errorf("%d bytes of scratch space for %d pages; without a limit %d pages are held", got, pages, free.peak)
	}
	if !bytes.Equal(built(t, b, sink), built(t, free, plain)) {
		t.Error("other bytes with a limit")
	}
}

// failingScratch fails its n-th call.
type failingScratch struct {
	MemorySink
	left int
}

var errScratch = errors.New("scratch space failed")

func (f *failingScratch) fail() error {
	if f.left--; f.left < 0 {
		return errScratch
	}
	return nil
}

func (f *failingScratch) Append(b []byte) (int64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.MemorySink.Append(b)
}

func (f *failingScratch) WriteAt(b []byte, off int64) (int, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.MemorySink.WriteAt(b, off)
}

func (f *failingScratch) ReadAt(b []byte, off int64) (int, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.MemorySink.ReadAt(b, off)
}

// TestScratchFails lets every call on the scratch space fail once: the error
// sticks, and no array comes of it.
func TestScratchFails(t *testing.T) {
	typ := tinyTypes(Packed, 4, 3).Lookup(TypeCall)
	for n := 0; ; n++ {
		scratch := &failingScratch{left: n}
		b := NewArrayBuilder(NewEncoder(), typ, 0, &MemorySink{})
		b.SpillPinned(scratch, 3)
		deepCalls(b, 30)
		sum, err := b.Finish()
		if scratch.left >= 0 {
			if err != nil || n < 100 {
				t.Fatalf("%d calls, none failed: %v", n, err)
			}
			return
		}
		if sum != nil || !errors.Is(err, errScratch) {
			t.Fatalf("call %d failed: %v", n, err)
		}
	}
}
