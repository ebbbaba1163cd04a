package xtfwriter

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestStore makes random appends, reads and drops, next to plain byte slices.
func TestStore(t *testing.T) {
	for _, budget := range []int64{0, 1, 1 << 14, 1 << 20, 1 << 40} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(budget), 3))
			st := NewStore(filepath.Join(t.TempDir(), "seg.1.0"), budget)
			segs, want := make([]*Segment, 12), make([][]byte, 12)
			junk := make([]byte, 1<<20)
			for i := range junk {
				junk[i] = byte(r.Uint32())
			}
			steps := 3000
			if testing.Short() {
				steps = 600
			}
			for step := range steps {
				i := r.IntN(len(segs))
				switch {
				case segs[i] == nil:
					var err error
					if segs[i], err = st.Create(Key{Unit{P: xtf.Proc(i)}, uint32(step)}); err != nil {
						t.Fatal(err)
					}
					want[i] = nil
				case r.IntN(100) == 0:
					segs[i].Drop()
					if _, err := segs[i].ReadAt(make([]byte, 1), 0); err == nil {
						t.Fatal("dropped segment can be read")
					}
					segs[i] = nil
				case r.IntN(3) == 0:
					checkSegment(t, r, segs[i], want[i])
				default:
					n := 1 << r.IntN(17)
					b := junk[r.IntN(len(junk)-n):][:n]
					off, err := segs[i].Append(b)
					if err != nil || off != int64(len(want[i])) {
						t.Fatalf("Append at %d: %d %v", len(want[i]), off, err)
					}
					want[i] = append(want[i], b...)
				}
				if u := st.Usage(); u.Memory+st.spare.bytes > max(budget, 0)+lastChunk || (budget == 1<<40 && u.Spilled > 0) {
					t.Fatalf("usage %+v with budget %d", u, budget)
				}
			}
			checkClosed(t, st, segs, want)
		})
	}
}

// TestDroppedMemory fills half of the budget again and again: the memory of dropped segments is enough, of every size.
func TestDroppedMemory(t *testing.T) {
	const budget = 4 << 20
	st := NewStore(filepath.Join(t.TempDir(), "seg.1.0"), budget)
	defer st.Close(true)
	fill := func(piece int) {
		var list []*Segment
		for range budget / piece / 2 {
			s := st.Scratch()
			if _, err := s.Append(make([]byte, piece)); err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		for _, s := range list {
			s.Drop()
		}
	}
	for _, piece := range []int{lastChunk, firstChunk, 2 * firstChunk, lastChunk} {
		fill(piece)
		size := chunkSize(piece)
		if st.memory != 0 || st.tables != 0 || st.spare.bytes > budget || len(st.spare.lists[size]) != budget/piece/2 {
			t.Fatalf("pieces of %d: %d bytes held, %d of tables, %d for reuse", piece, st.memory, st.tables, st.spare.bytes)
		}
		held := &st.spare.lists[size][0][:1][0]
		s := st.Scratch()
		if _, err := s.Append(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
		if list := st.spare.lists[size]; list[:len(list)+1][len(list)] != nil {
			t.Fatalf("pieces of %d: the list for reuse keeps memory that is in use", piece)
		}
		s.Drop()
		fill(piece)
		if len(st.spare.lists[size]) != budget/piece/2 {
			t.Fatalf("pieces of %d: %d for reuse", piece, len(st.spare.lists[size]))
		}
		found := false
		for _, b := range st.spare.lists[size] {
			found = found || &b[:1][0] == held
		}
		if !found {
			t.Fatalf("pieces of %d: new memory in place of what was there", piece)
		}
	}
	if u := st.Usage(); u.Spilled > 0 || u.Peak > budget {
		t.Fatalf("usage %+v with budget %d", u, budget)
	}
}

// checkSegment reads a random part and the whole.
func checkSegment(t *testing.T, r *rand.Rand, s *Segment, want []byte) {
	t.Helper()
	if s.Size() != int64(len(want)) || s.CRC() != crc32.Checksum(want, castagnoli) {
		t.Fatalf("size %d, want %d", s.Size(), len(want))
	}
	off := r.IntN(len(want) + 1)
	b := make([]byte, r.IntN(len(want)-off+1))
	if n, err := s.ReadAt(b, int64(off)); n != len(b) || err != nil || !bytes.Equal(b, want[off:off+len(b)]) {
		t.Fatalf("ReadAt(%d, %d): %d %v", len(b), off, n, err)
	}
	if n, err := s.ReadAt(make([]byte, len(want)+1), 0); n != len(want) || err != io.EOF {
		t.Fatalf("read after the end: %d %v", n, err)
	}
}

func checkClosed(t *testing.T, st *Store, segs []*Segment, want [][]byte) {
	t.Helper()
	var live int64
	for i, s := range segs {
		if s == nil {
			continue
		}
		s.Seal()
		if _, err := s.Append([]byte("x")); err == nil {
			t.Fatal("sealed segment grows")
		}
		if _, err := st.Create(s.key); err == nil {
			t.Fatal("sealed segment can be created again")
		}
		got, err := st.Get(s.key)
		if err != nil || !bytes.Equal(got, want[i]) {
			t.Fatalf("Get: %v", err)
		}
		live += int64(len(want[i]))
	}
	if u := st.Usage(); u.Live != live {
		t.Fatalf("live %d, want %d", u.Live, live)
	}
	if err := st.Close(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(st.path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s stays: %v", st.path, err)
	}
}

// TestLessBudget makes the budget smaller: segments go to the file, memory for reuse is given up, and nothing is lost.
func TestLessBudget(t *testing.T) {
	st := NewStore(filepath.Join(t.TempDir(), "seg.1.0"), 32<<20)
	defer st.Close(true)
	want := make([]byte, 20<<20)
	for i := range want {
		want[i] = byte(i * i >> 7)
	}
	kept, dropped := st.Scratch(), st.Scratch()
	for _, s := range []*Segment{kept, dropped} {
		if _, err := s.Append(want[:len(want)/2]); err != nil {
			t.Fatal(err)
		}
	}
	dropped.Drop()
	if _, err := kept.Append(want[len(want)/2:]); err != nil {
		t.Fatal(err)
	}
	const less = 4 << 20
	if err := st.SetBudget(less); err != nil {
		t.Fatal(err)
	}
	if st.memory+st.spare.bytes+st.tables > less || st.tables != int64(len(kept.chunks))*pieceBytes {
		t.Errorf("%d bytes held, %d for reuse and %d of tables, of %d", st.memory, st.spare.bytes, st.tables, less)
	}
	got := make([]byte, len(want))
	if _, err := kept.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Error("other bytes", err)
	}
}

func TestStoreFileDamaged(t *testing.T) {
	st := NewStore(filepath.Join(t.TempDir(), "seg.1.0"), 0)
	k := Key{Unit{P: 3, Stage: 2}, 7}
	if err := st.Put(k, bytes.Repeat([]byte("abc"), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := flip(st.path, 1234); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Get(k); !errors.Is(err, xtf.ErrCorrupt) {
		t.Fatalf("Get: %v", err)
	}
}

func TestStoreErrors(t *testing.T) {
	st := NewStore(filepath.Join(t.TempDir(), "none", "seg.1.0"), 0)
	if err := st.Put(Key{}, []byte("x")); !errors.Is(err, ErrFolderGone) {
		t.Errorf("missing directory: %v", err)
	}
	if _, err := st.Segment(Key{Kind: 5}); !errors.Is(err, ErrNoSegment) {
		t.Errorf("missing segment: %v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	st = NewStore("/dev/full", 1<<14)
	st.file = &spillFile{diskFile: full}
	s := st.Scratch()
	for i := 0; err == nil && i < 100; i++ {
		_, err = s.Append(make([]byte, 1<<12))
	}
	if !errors.Is(err, ErrNoSpace) {
		t.Errorf("full disk: %v", err)
	}
}

func TestStoreConcurrent(t *testing.T) {
	st := NewStore(filepath.Join(t.TempDir(), "seg.1.0"), 1<<16)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				k := Key{Unit{P: xtf.Proc(g), Stage: uint32(i)}, 1}
				b := bytes.Repeat([]byte{byte(g*50 + i)}, 1+g*i*37)
				if err := st.Put(k, b); err != nil {
					t.Error(err)
				}
				if got, err := st.Get(k); err != nil || !bytes.Equal(got, b) {
					t.Errorf("Get %v: %v", k, err)
				}
				st.Finish(k.Unit)
			}
		})
	}
	wg.Wait()
	if err := st.Close(true); err != nil {
		t.Fatal(err)
	}
}

// A list of finished units holds exactly their sealed segments, and finds them in
// the file.
func TestList(t *testing.T) {
	dir := t.TempDir()
	st := NewStore(filepath.Join(dir, "seg.2.0"), 1<<15)
	st.own.Epoch = 2
	r := rand.New(rand.NewPCG(2, 2))
	want := map[Key][]byte{}
	for p := range xtf.Proc(20) {
		for kind := range uint32(3) {
			k := Key{Unit{P: p, Stage: 1}, kind}
			b := bytes.Repeat([]byte{byte(p), byte(kind)}, r.IntN(5000))
			if err := st.Put(k, b); err != nil {
				t.Fatal(err)
			}
			if p%2 == 0 {
				st.Finish(k.Unit)
				want[k] = b
			}
		}
	}
	path := filepath.Join(dir, "list.2.0")
	if n, err := st.appendList(path, "abcd", 3); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	l, err := ReadList(path)
	if err != nil || l.Identity != "abcd" || l.Epoch != 2 || len(l.Units) != 10 {
		t.Fatalf("ReadList: %+v %v", l, err)
	}
	file := mustRead(t, st.path)
	got := map[Key][]byte{}
	for _, p := range l.Pieces {
		got[p.Key] = append(got[p.Key], file[p.Offset:p.Offset+p.Length]...)
	}
	for k, b := range want {
		if !bytes.Equal(got[k], b) {
			t.Errorf("%v: %d bytes, want %d", k, len(got[k]), len(b))
		}
	}
	for k := range got {
		if want[k] == nil {
			t.Errorf("%v is listed and not finished", k)
		}
	}
	b := l.Encode()
	for i := range b {
		if _, err := parseList(b[:i]); !errors.Is(err, xtf.ErrCorrupt) && i != len(b)-1 {
			t.Fatalf("cut at %d of %d: %v", i, len(b), err)
		}
	}
	again, err := parseList(b)
	if d := cmp.Diff(l, again); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func FuzzParseList(f *testing.F) {
	l := List{Identity: "ab", Owner: Owner{3, 1}, Ranks: 2, Units: []Unit{{1, 2}}, Pieces: []Piece{{Key{Unit{1, 2}, 4}, Owner{2, 0}, 5, 6, 7}}}
	f.Add(l.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		body := append(bytes.Clone(b), fmt.Sprintf("end %08x\n", crc32.Checksum(b, castagnoli))...)
		for _, in := range [][]byte{b, body} {
			l, err := parseList(in)
			if err != nil {
				if !errors.Is(err, xtf.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if _, err := parseList(l.Encode()); err != nil {
				t.Fatalf("what was read cannot be read again: %v", err)
			}
		}
	})
}

// TestScratchChanges changes bytes of a scratch segment that lies in memory, in
// the file, or in both.
func TestScratchChanges(t *testing.T) {
	for _, budget := range []int64{0, 10 << 10, 1 << 30} {
		st := NewStore(filepath.Join(t.TempDir(), "seg"), budget)
		s := st.Scratch()
		r := rand.New(rand.NewPCG(5, uint64(budget)))
		var want []byte
		for range 200 {
			b := make([]byte, r.IntN(3000))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			if len(want) > len(b) && r.IntN(3) > 0 {
				off := r.IntN(len(want) - len(b))
				if _, err := s.WriteAt(b, int64(off)); err != nil {
					t.Fatal(err)
				}
				copy(want[off:], b)
				continue
			}
			if _, err := s.Append(b); err != nil {
				t.Fatal(err)
			}
			want = append(want, b...)
		}
		got := make([]byte, len(want))
		if _, err := s.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("budget %d: other bytes: %v", budget, err)
		}
		if _, err := s.WriteAt(got, 1); err == nil {
			t.Errorf("budget %d: written beyond the end", budget)
		}
		s.Drop()
		if err := st.Close(true); err != nil {
			t.Error(err)
		}
	}
	st := NewStore("", 1<<20)
	s, err := st.Create(Key{Unit: Unit{P: 1}})
	if err == nil {
		_, err = s.Append(make([]byte, 10))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteAt(make([]byte, 2), 0); err == nil {
		t.Error("a named segment was changed")
	}
}
