package xtfwriter

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// synth is a made-up run: the rows of location p are a function of p alone.
type synth struct {
	procs int
	calls int // of location 0; the others differ
	types *xtf.TypeTable
	id    [16]byte
}

func newSynth(procs, calls int, prof xtf.Profile) *synth {
	id := sha256.Sum256([]byte("provenance"))
	return &synth{procs, calls, xtf.StandardTypes(prof), [16]byte(id[:16])}
}

// load does the work unit of location p: arrays and a blob go to the store.
func (s *synth) load(st *Store, enc *xtf.Encoder, p xtf.Proc) error {
	r := rand.New(rand.NewPCG(uint64(p), 7))
	u := Unit{P: p, Stage: 1}
	n := s.calls * (1 + int(p)%5) / (1 + int(p)%3)
	if p%7 == 6 {
		n = 0 // a location without events
	}
	calls, err := st.NewArray(enc, s.types.Lookup(xtf.TypeCall), u)
	if err != nil {
		return err
	}
	msgs, err := st.NewArray(enc, s.types.Lookup(xtf.TypeP2P), u)
	if err != nil {
		return err
	}
	t := uint64(1000)
	var root uint64
	if n > 0 {
		row, k := calls.Open()
		(&xtf.Call{T: t, Parent: xtf.Never}).Put(row)
		root = k
	}
	for i := range n {
		t += r.Uint64N(50)
		row, k := calls.Append()
		end := t + r.Uint64N(40)
		(&xtf.Call{T: t, End: end, Parent: root, Exclusive: end - t, Region: r.Uint32N(9), Depth: 1, Class: xtf.ClassMPI | xtf.ClassP2P, Flags: xtf.FlagOutermostMPI}).Put(row)
		if i%3 == 0 {
			row, m := msgs.Append()
			(&xtf.P2P{T: t, End: end, Post: t, Done: end, CallN: k, MateN: m, Bytes: 1 << r.Uint64N(20), Peer: uint32(p) + 1}).Put(row)
		}
		t = end
	}
	if n > 0 {
		xtf.SetU64(calls.Row(root), xtf.CallEnd, t)
		calls.Close(root)
	}
	if err := errors.Join(calls.Save(), msgs.Save()); err != nil {
		return err
	}
	return st.Put(Key{u, KindBlob | xtf.KindCCGColumns}, bytes.Repeat([]byte{byte(p)}, int(p)*13))
}

func (s *synth) region(st *Store, p xtf.Proc) (Region, error) {
	u := Unit{P: p, Stage: 1}
	r := Region{P: p, Process: uint32(p) / 2, Thread: uint32(p) % 2, Events: uint64(p) * 10}
	for _, t := range []xtf.TypeID{xtf.TypeP2P, xtf.TypeCall} {
		a, ok, err := st.LoadArray(u, t)
		if err != nil {
			return r, err
		}
		if ok {
			r.Arrays = append(r.Arrays, a)
		}
	}
	b, err := st.Blob(Key{u, KindBlob | xtf.KindCCGColumns}, xtf.KindCCGColumns, 1, 0)
	r.Blobs = []xtf.Blob{b}
	return r, err
}

func (s *synth) wholeRun(enc *xtf.Encoder) (Region, error) {
	sink := &xtftest.MemorySink{}
	b := xtf.NewArrayBuilder(enc, s.types.Lookup(xtf.TypeTimeBin), xtf.WholeRun, sink)
	for i := range uint32(100) {
		row, _ := b.Append()
		(&xtf.TimeBin{Key: xtf.BinKey(3, 0), Region: i, Count: uint64(i) * 5}).Put(row)
	}
	sum, err := b.Finish()
	return Region{P: xtf.WholeRun, Arrays: []xtf.FinishedArray{{Summary: sum, Data: sink}}}, err
}

func (s *synth) sections() []xtf.Blob {
	return []xtf.Blob{
		xtf.BytesBlob(xtf.KindCCG, 1, 0, bytes.Repeat([]byte("ccg"), 5000)),
		xtf.BytesBlob(xtf.KindDefinitions, 1, 0, []byte("definitions")),
		xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte("{}")),
	}
}

// job runs load and commit on one rank.
func (s *synth) job(c mpi.Comm, cfg Config, change func(*Parts)) (res Result, err error) {
	w, err := Begin(c, cfg)
	if err != nil {
		return res, err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	enc := xtf.NewEncoder()
	lo, hi := c.Rank()*s.procs/c.Size(), (c.Rank()+1)*s.procs/c.Size()
	for p := lo; p < hi; p++ {
		if err := s.load(w.Store, enc, xtf.Proc(p)); err != nil {
			return res, w.comm.Agree(err)
		}
	}
	if err := c.Agree(nil); err != nil {
		return res, err
	}
	parts := &Parts{
		Types: s.types, FileID: s.id, First: xtf.Proc(lo), Regions: hi - lo,
		Region:   func(i int) (Region, error) { return s.region(w.Store, xtf.Proc(lo+i)) },
		WholeRun: func() (Region, error) { return s.wholeRun(enc) },
		Sections: func() ([]xtf.Blob, error) { return s.sections(), nil },
	}
	if change != nil {
		change(parts)
	}
	return w.Commit(parts)
}

// serial writes the same run through xtftest.FileWriter.
func (s *synth) serial(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	st := NewStore("", 1<<40)
	enc := xtf.NewEncoder()
	w := xtftest.NewFileWriter(f, s.types, s.id, &xtftest.MemorySink{})
	add := func(r Region, err error) {
		if err != nil {
			t.Fatal(err)
		}
		plan, err := xtf.PlanRegion(s.types, r.P, r.Arrays, r.Blobs)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Region(plan, r.Process, r.Thread, r.Events); err != nil {
			t.Fatal(err)
		}
	}
	for p := range s.procs {
		if err := s.load(st, enc, xtf.Proc(p)); err != nil {
			t.Fatal(err)
		}
		add(s.region(st, xtf.Proc(p)))
	}
	add(s.wholeRun(enc))
	if err := errors.Join(w.Commit(s.sections()), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func config(out string, budget int64) Config {
	return Config{Output: out, Identity: "id", Host: "here", PID: os.Getpid(), Budget: budget}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSameBytes(t *testing.T) {
	for _, prof := range []xtf.Profile{xtf.Packed, xtf.Raw4K} {
		calls := 3000
		if testing.Short() {
			calls = 600
		}
		s := newSynth(17, calls, prof)
		dir := t.TempDir()
		s.serial(t, filepath.Join(dir, "serial.xtf"))
		want := mustRead(t, filepath.Join(dir, "serial.xtf"))
		for _, ranks := range []int{1, 2, 3, 5, 8, 16} {
			for _, budget := range []int64{0, 1, 1 << 16, 1 << 40} {
				for _, procs := range []int{1, 8} {
					if testing.Short() && (ranks*int(budget%97)+procs)%3 != 0 && ranks > 2 {
						continue
					}
					old := runtime.GOMAXPROCS(procs)
					out := filepath.Join(dir, fmt.Sprintf("%d.%d.%d.xtf", ranks, budget, procs))
					err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
						_, err := s.job(c, config(out, budget), func(p *Parts) { p.Collective = ranks == 3 })
						return err
					})
					runtime.GOMAXPROCS(old)
					if err != nil {
						t.Fatalf("%d ranks, budget %d: %v", ranks, budget, err)
					}
					if !bytes.Equal(mustRead(t, out), want) {
						t.Fatalf("%d ranks, budget %d, GOMAXPROCS %d: bytes differ from the serial file", ranks, budget, procs)
					}
					if err := os.Remove(out); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Fatalf("left behind: %v", left)
		}
	}
}
