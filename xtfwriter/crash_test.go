package xtfwriter

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// newCrashRun is a run whose arrays have several levels in few bytes.
func newCrashRun() *synth {
	s := newSynth(5, 40, xtf.Packed)
	for _, t := range []xtf.TypeID{xtf.TypeCall, xtf.TypeP2P} {
		s.types.Lookup(t).PageRows, s.types.Lookup(t).Fanout = 16, 3
	}
	return s
}

// record commits the run on 3 ranks and returns the log and the file.
func record(t *testing.T, collective, force bool) (log []op, whole []byte) {
	t.Helper()
	s := newCrashRun()
	out := filepath.Join(t.TempDir(), "run.xtf")
	r := &recorder{failAt: -1}
	cfg := config(out, 1<<20)
	cfg.disk, cfg.Force = r, force
	if err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		_, err := s.job(recComm{c, r}, cfg, func(p *Parts) { p.Collective = collective })
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return r.log, mustRead(t, out)
}

const sectorBytes = 512 // of the disk that crashes: a write is torn between them

// sectors cuts the writes of a log where a crash may.
func sectors(log []op) (cut []op) {
	for _, o := range log {
		if o.kind != opWrite {
			cut = append(cut, o)
			continue
		}
		for at := 0; at < len(o.b); {
			n := min(len(o.b)-at, sectorBytes-int(o.off+int64(at))%sectorBytes)
			cut = append(cut, op{opWrite, o.off + int64(at), o.b[at : at+n]})
			at += n
		}
	}
	return cut
}

// image is what a disk holds of the writes that were kept.
func image(log []op, keep func(i int) bool) (b []byte) {
	for i, o := range log {
		if o.kind != opWrite || !keep(i) {
			continue
		}
		if end := int(o.off) + len(o.b); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[o.off:], o.b)
	}
	return b
}

// everything reads all that a file holds.
func everything(b []byte) ([]byte, error) {
	f, err := xtf.Open(bytes.NewReader(b), int64(len(b)), xtf.Options{CacheBytes: 1 << 16})
	if err != nil {
		return nil, err
	}
	d, err := xtftest.Digest(f)
	if err != nil {
		return nil, err
	}
	all := bytes.Clone(d[:])
	for _, s := range f.Sections() {
		if s.Kind == xtf.KindDirectory {
			continue
		}
		c, err := f.SectionBytes(s.Kind)
		if err != nil {
			return nil, err
		}
		all = append(all, c...)
	}
	for p := range xtf.Proc(f.Procs()) {
		row, err := f.Dir(p)
		if err != nil {
			return nil, err
		}
		all = fmt.Append(all, row)
		c, err := f.BlobBytes(p, xtf.KindCCGColumns)
		if err != nil {
			return nil, err
		}
		all = append(all, c...)
	}
	return all, nil
}

// place matches errors that say which part of the file is damaged.
var place = regexp.MustCompile(`page \d+|region head at \d+|section of kind \d+|blob of kind \d+|footer|directory|directory row \d+`)

// crash judges what a crash left: under the final name, if named, and next to it.
type crash struct {
	t    *testing.T
	want []byte
	seen map[string]int
}

func newCrash(t *testing.T, whole []byte) *crash {
	t.Helper()
	want, err := everything(whole)
	if err != nil {
		t.Fatal(err)
	}
	return &crash{t, want, map[string]int{}}
}

// judge fails unless b has the right rows or says what is wrong. A disk that
// keeps what was synced must never lead to ErrCorrupt, and what has its final
// name must be complete.
func (c *crash) judge(what string, n int, b []byte, honest, named bool) {
	c.t.Helper()
	got, err := everything(b)
	switch {
	case err == nil && bytes.Equal(got, c.want):
		c.seen["right rows"]++
	case err == nil:
		c.t.Fatalf("%s %d: wrong rows", what, n)
	case honest && named:
		c.t.Fatalf("%s %d: the final name stands for an incomplete file: %v", what, n, err)
	case errors.Is(err, xtf.ErrNotCommitted), len(b) < 8 && errors.Is(err, xtf.ErrNotXTF):
		c.seen["not committed"]++
	case !honest && errors.Is(err, xtf.ErrCorrupt) && place.MatchString(err.Error()):
		c.seen["corrupt"]++
	default:
		c.t.Fatalf("%s %d: %v", what, n, err)
	}
}

// TestCrash replays the log of a commit by all ranks: cut short after every
// sector, without any one sector or write, and with random subsets of what was
// not yet synced, or, on a disk that lies about syncs, of everything.
func TestCrash(t *testing.T) {
	for _, mode := range []struct{ collective, force bool }{{false, false}, {true, true}} {
		log, whole := record(t, mode.collective, mode.force)
		c := newCrash(t, whole)
		cut := sectors(log)
		if !bytes.Equal(image(log, func(int) bool { return true }), whole) {
			t.Fatal("the log does not give the file")
		}
		for n := range len(cut) + 1 {
			named := slices.ContainsFunc(cut[:n], func(o op) bool { return o.kind == opName })
			c.judge("prefix", n, image(cut[:n], func(int) bool { return true }), true, named)
		}
		for n := range cut {
			c.judge("lost sector", n, image(cut, func(i int) bool { return i != n }), false, true)
		}
		for n := range log {
			c.judge("lost write", n, image(log, func(i int) bool { return i != n }), false, true)
		}
		subsets := 5000
		if testing.Short() {
			subsets = 300
		}
		r := rand.New(rand.NewPCG(4, uint64(subsets)))
		for n := range subsets {
			c.subset(r, n, cut, n%2 == 0)
		}
		for _, kind := range []string{"right rows", "not committed", "corrupt"} {
			if c.seen[kind] == 0 {
				t.Errorf("no crash ended with: %s", kind)
			}
		}
		t.Logf("%d sectors of %d writes: %v", len(cut), len(log), c.seen)
	}
}

// subset crashes at a random moment. An honest disk has what was synced and any
// part of the rest; the final name may be there before its directory is synced.
func (c *crash) subset(r *rand.Rand, n int, cut []op, honest bool) {
	end := len(cut)
	if honest {
		end = r.IntN(len(cut) + 1)
		if n%4 == 0 { // the end of a commit has few operations and most of the decisions
			end = max(0, len(cut)-r.IntN(24))
		}
	}
	synced, named := 0, false
	for i, o := range cut[:end] {
		switch o.kind {
		case opSync:
			synced = i
		case opName:
			named = named || r.IntN(2) == 0
		case opSyncDir:
			named = true
		}
	}
	odds := 1 + r.IntN(60)
	b := image(cut[:end], func(i int) bool { return honest && i < synced || r.IntN(odds) > 0 })
	c.judge("subset", n, b, honest, named || !honest)
}

// TestTornSuperblock cuts the superblock's own write after every byte.
func TestTornSuperblock(t *testing.T) {
	_, whole := record(t, false, false)
	c := newCrash(t, whole)
	for n := range 128 {
		b := bytes.Clone(whole)
		clear(b[n:xtf.SuperblockSize])
		c.judge("superblock of bytes", n, b, true, false)
	}
}

// TestCutFile cuts the finished file at every 4 KiB boundary, and around it.
func TestCutFile(t *testing.T) {
	_, whole := record(t, false, false)
	c := newCrash(t, whole)
	for n := 0; n < len(whole); n += 4096 {
		for _, n := range []int{n - 1, n, n + 1} {
			if n >= 0 && n < len(whole) {
				c.judge("cut at", n, whole[:n], true, false)
			}
		}
	}
	if c.seen["right rows"] > 0 {
		t.Error("a cut file is whole")
	}
}

// TestFailingDisk fails every operation in turn: all ranks say so and no file
// appears, until the name is durable.
func TestFailingDisk(t *testing.T) {
	log, whole := record(t, false, false)
	for n := range len(log) {
		s := newCrashRun()
		dir := t.TempDir()
		out := filepath.Join(dir, "run.xtf")
		r := &recorder{failAt: n}
		cfg := config(out, 1<<20)
		cfg.disk = r
		errs := make([]error, 3)
		_ = mpi.RunInProcess(3, func(c mpi.Comm) error {
			_, errs[c.Rank()] = s.job(recComm{c, r}, cfg, nil)
			return nil
		})
		if r.count <= n {
			break // fewer operations than log entries: one of them writes and syncs
		}
		b, err := os.ReadFile(out)
		if errs[0] == nil && bytes.Equal(b, whole) {
			continue // the link failed, the rename took its place
		}
		for rank, e := range errs {
			if e == nil {
				t.Errorf("operation %d: rank %d has no error", n, rank)
			}
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("operation %d failed, a file of %d bytes appears: %v", n, len(b), err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
			t.Errorf("operation %d: left behind: %v", n, left)
		}
	}
}

// TestEpochBesideOutput leaves a second name of the output next to it, as a crash
// between link and removal does: no later run writes through it.
func TestEpochBesideOutput(t *testing.T) {
	s := newCrashRun()
	out := filepath.Join(t.TempDir(), "run.xtf")
	precious := []byte("the result of the run before")
	if err := errors.Join(os.WriteFile(out, precious, 0o666), os.Link(out, out+".out.1")); err != nil {
		t.Fatal(err)
	}
	cfg := config(out, 1<<20)
	cfg.Force = true
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := s.job(c, cfg, func(p *Parts) {
			p.Sections = func() ([]xtf.Blob, error) { return nil, errUnit }
		})
		return err
	})
	if err == nil || !bytes.Equal(mustRead(t, out), precious) {
		t.Errorf("a failed run changed the output: %v", err)
	}
}

// TestSurvivor lets a run be taken over while it writes: by one that finishes
// before it goes on, at several points of its way. It stops, says why, and leaves
// the other's file and folder alone.
func TestSurvivor(t *testing.T) {
	_, whole := record(t, false, false)
	for _, at := range []string{"before the file", "before the regions", "before the end", "before the read back", "before the name"} {
		t.Run(at, func(t *testing.T) {
			s := newCrashRun()
			dir := t.TempDir()
			out := filepath.Join(dir, "run.xtf")
			cfg := config(out, 0) // segments in files
			r := &overtaken{after: at, other: func() error {
				younger := cfg
				younger.Force, younger.disk = true, nil
				return mpi.RunInProcess(2, func(c mpi.Comm) error {
					_, err := s.job(c, younger, nil)
					return err
				})
			}}
			r.recorder.failAt = -1
			cfg.disk = r
			errs := make([]error, 3)
			_ = mpi.RunInProcess(3, func(c mpi.Comm) error {
				_, errs[c.Rank()] = s.job(overtakenComm{recComm{c, &r.recorder}, r}, cfg, func(p *Parts) {
					if c.Rank() > 0 {
						return
					}
					region, sections, calls := p.Region, p.Sections, 0
					p.Region = func(i int) (Region, error) {
						switch calls++; calls {
						case 1:
							r.reach("before the file")
						case p.Regions + 1:
							r.reach("before the regions")
						}
						return region(i)
					}
					p.Sections = func() ([]xtf.Blob, error) {
						r.reach("before the end")
						return sections()
					}
				})
				return nil
			})
			if r.err != nil || r.after != "" {
				t.Fatalf("the younger run: %v", r.err)
			}
			if r.created != (at != "before the file") {
				t.Errorf("made a file: %v", r.created)
			}
			for rank, err := range errs {
				if !errors.Is(err, ErrSuperseded) {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
			if !bytes.Equal(mustRead(t, out), whole) {
				t.Error("the younger run's file changed")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// overtaken runs another job once, when the first one reaches a point.
type overtaken struct {
	recorder
	after   string
	other   func() error
	err     error
	created bool // by rank 0
}

func (o *overtaken) reach(point string) {
	if o.after == point {
		o.after = ""
		o.err = o.other()
	}
}

func (o *overtaken) writeSync(path string, b []byte, off int64) error {
	o.reach("before the name")
	return o.recorder.writeSync(path, b, off)
}

// overtakenComm reaches a point when the shared file is closed.
type overtakenComm struct {
	recComm
	o *overtaken
}

func (c overtakenComm) CreateFile(name string, hints map[string]string) (mpi.File, error) {
	f, err := c.recComm.CreateFile(name, hints)
	if err != nil {
		return nil, err
	}
	if c.Rank() == 0 {
		c.o.created = true
	}
	return overtakenFile{f, c}, nil
}

type overtakenFile struct {
	mpi.File
	c overtakenComm
}

func (f overtakenFile) Close() error {
	if f.c.Rank() == 0 {
		f.c.o.reach("before the read back")
	}
	return f.File.Close()
}
