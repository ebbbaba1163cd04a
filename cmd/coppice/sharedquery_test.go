package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestSharedPartners asks collected archives for what can be found in two ways:
// partners as stored and by channel, stacks by parents and by ends, and members
// of collectives that agree on the whole.
func TestSharedPartners(t *testing.T) {
	t.Parallel()
	traces := sharedTraces(t)
	names := []string{"lammps-melt-4", "npb-cg.S-4", "npb-is.S-4", "pingpong-scorep71"}
	if testing.Short() {
		names = names[2:]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(traces, name, "traces.otf2")
			if _, err := os.Stat(path); err != nil {
				t.Skip("the collection lacks this archive")
			}
			run := filepath.Join(t.TempDir(), "run.xtf")
			if code, _, errs := call("analyze", path, "-o", run, "-q", "-j", "2"); code != jobs.ExitDone && code != jobs.ExitPartial {
				t.Fatalf("analyze: exit code %d: %s", code, errs)
			}
			f, err := callview.OpenFile(run, xtf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for p := range xtf.Proc(f.Procs()) {
				partners(t, f, p)
				collectives(t, f, p)
				stacks(t, f, p)
			}
		})
	}
}

func arrayOf(t *testing.T, f *xtf.File, p xtf.Proc, id xtf.TypeID) *xtf.Array {
	t.Helper()
	a, err := f.Array(p, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func partners(t *testing.T, f *xtf.File, p xtf.Proc) {
	t.Helper()
	for n := range arrayOf(t, f, p, xtf.TypeP2P).Len() {
		stored, ok, err := f.Partner(p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, by, err := f.PartnerByChannel(p, n, nil)
		if errors.Is(err, xtf.ErrSharedChannel) {
			continue
		}
		if err != nil || by != ok || found != stored {
			t.Fatalf("location %d message %d: stored %v %v, by channel %v %v %v", p, n, stored, ok, found, by, err)
		}
	}
}

func collectives(t *testing.T, f *xtf.File, p xtf.Proc) {
	t.Helper()
	a := arrayOf(t, f, p, xtf.TypeColl)
	for n := uint64(0); n < a.Len(); n += 1 + a.Len()/20 {
		row, err := a.Row(n, nil)
		if err != nil {
			t.Fatal(err)
		}
		var c xtf.Coll
		c.Load(row)
		itself := false
		err = f.Members(c.Comm, c.Ordinal, 0, xtf.Proc(f.Procs()), nil, func(q xtf.Proc, m uint64, row []byte) bool {
			itself = itself || (q == p && m == n)
			if xtf.U64(row, xtf.CollLastEnter) != c.LastEnter || xtf.U64(row, xtf.CollLastLeave) != c.LastLeave {
				t.Errorf("location %d collective %d: row %d of location %d is another one's", p, n, m, q)
			}
			return true
		})
		if err != nil || !itself {
			t.Fatalf("location %d collective %d is not among its members: %v", p, n, err)
		}
	}
}

func stacks(t *testing.T, f *xtf.File, p xtf.Proc) {
	t.Helper()
	a := arrayOf(t, f, p, xtf.TypeCall)
	for n := uint64(0); n < a.Len(); n += 1 + a.Len()/50 {
		at, err := a.At(n)
		if err != nil {
			t.Fatal(err)
		}
		up, open := 0, 0
		if err := a.Stack(at, func(uint64, []byte) bool { up++; return true }); err != nil {
			t.Fatal(err)
		}
		if err := a.Overlapping(at, at+1, func(uint64, []byte) bool { open++; return true }); err != nil {
			t.Fatal(err)
		}
		if up != open {
			t.Fatalf("location %d, tick %d: %d calls up the parents, %d by their ends", p, at, up, open)
		}
	}
}
