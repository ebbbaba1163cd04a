package archive_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/archive"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
	gocmp "github.com/google/go-cmp/cmp"
)

// tree lists all files and folders below dir.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, strings.TrimPrefix(path, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestExportRefuses checks what is in the way, who may take it, and that a
// refused job changes nothing.
func TestExportRefuses(t *testing.T) {
	run := runOf(t, jobtest.Generated(t, "ring:procs=3,events=300"))
	touch := func(path ...string) func(string) {
		return func(dir string) {
			for _, p := range path {
				p = filepath.Join(dir, p)
				if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
					t.Fatal(err)
				}
				jobtest.Write(t, p, []byte("precious"))
			}
		}
	}
	lock := func(l xtfwriter.Lock) func(string) {
		return func(dir string) {
			b, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			jobtest.Write(t, filepath.Join(dir, "x.otf2.lock"), b)
			touch("x.otf2.work/archive.3/x/0.evt")(dir)
		}
	}
	none := func(d *trace.Definitions) (func(trace.P) bool, error) {
		return nil, jobs.Fail(jobs.ExitUsage, errors.New("no such rank"))
	}
	for _, c := range []struct {
		name   string
		before func(dir string)
		o      archive.Options
		code   int
		is     error
		forced int // exit code with Force
	}{
		{"free", func(string) {}, archive.Options{}, 0, nil, 0},
		{"other files", touch("profile.cubex", "other/0.evt"), archive.Options{}, 0, nil, 0},
		{"anchor", touch("x.otf2"), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrExists, 0},
		{"definitions", touch("x.def"), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrExists, 0},
		{"events", touch("x/7.evt", "x/7.def"), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrExists, 0},
		{"foreign", touch("x.otf2", "x/7.evt", "x/thesis.txt"), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrExists, jobs.ExitUsage},
		{"folder of the anchor's name", touch("x.otf2/7.evt"), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrExists, jobs.ExitUsage},
		{"locked", lock(xtfwriter.Lock{Host: "elsewhere", PID: 1, Epoch: 3}), archive.Options{}, jobs.ExitUsage, xtfwriter.ErrLocked, 0},
		{"killed", lock(xtfwriter.Lock{Host: "here", PID: 1 << 30, Epoch: 3}), archive.Options{Host: "here"}, 0, nil, 0},
		{"no run", func(string) {}, archive.Options{Run: "none.xtf"}, jobs.ExitInput, os.ErrNotExist, jobs.ExitInput},
		{"bad choice", func(string) {}, archive.Options{Select: none}, jobs.ExitUsage, nil, jobs.ExitUsage},
		{"no folder", func(string) {}, archive.Options{Output: "no/such/x.otf2"}, jobs.ExitUsage, xtfwriter.ErrUnwritable, jobs.ExitUsage},
	} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", c.name, force), func(t *testing.T) {
				dir := t.TempDir()
				c.before(dir)
				o := c.o
				o.Run, o.Force, o.Output = cmp.Or(o.Run, run), force, filepath.Join(dir, cmp.Or(o.Output, "x.otf2"))
				if force {
					refused(t, dir, o, c.forced, nil)
				} else {
					refused(t, dir, o, c.code, c.is)
				}
			})
		}
	}
}

// refused exports to dir: the exit code is as expected, and after an error dir
// is as it was.
func refused(t *testing.T, dir string, o archive.Options, code int, is error) {
	t.Helper()
	before := tree(t, dir)
	res, err := export(3, o)
	if jobs.ExitCode(err) != code || is != nil && !errors.Is(err, is) {
		t.Fatalf("exit code %d, want %d: %v", jobs.ExitCode(err), code, err)
	}
	after := tree(t, dir)
	if err != nil {
		if d := gocmp.Diff(before, after); d != "" {
			t.Error("the refused job changed files:", d)
		}
		return
	}
	if !res.Exact() || slices.ContainsFunc(after, func(s string) bool { return strings.Contains(s, ".work") || strings.Contains(s, ".lock") }) {
		t.Error(res, after)
	}
	a, err := otf2.OpenPath(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	sameTrace(t, jobtest.Generated(t, "ring:procs=3,events=300"), a)
}

// TestExportPart writes some locations: the others are there without events.
func TestExportPart(t *testing.T) {
	src := jobtest.Generated(t, "stencil:procs=5,threads=2,events=4k")
	odd := func(d *trace.Definitions) (func(trace.P) bool, error) {
		return func(p trace.P) bool { return p%2 == 1 }, nil
	}
	dir := t.TempDir()
	run := runOf(t, src)
	for _, ranks := range []int{1, 4} {
		out := filepath.Join(dir, fmt.Sprint(ranks))
		res, err := export(ranks, archive.Options{Run: run, Output: out, Select: odd})
		if err != nil {
			t.Fatal(err)
		}
		a, err := otf2.OpenPath(out)
		if err != nil {
			t.Fatal(err)
		}
		if res.Exact() || res.LeftOut != 5 || !slices.Contains(a.Anchor().Properties, otf2.Property{Name: "COPPICE::LOCATIONS_LEFT_OUT", Value: "5"}) {
			t.Errorf("%+v, %v", res, a.Anchor().Properties)
		}
		for p := range trace.P(10) {
			want := 0
			if p%2 == 1 {
				want = len(jobtest.Events(t, src, p))
			}
			if got := jobtest.Events(t, a, p); len(got) != want || a.Definitions().Location(p).Events != uint64(want) {
				t.Errorf("location %d: %d events, %d announced, want %d", p, len(got), a.Definitions().Location(p).Events, want)
			}
		}
	}
	sameFiles(t, filepath.Join(dir, "1"), filepath.Join(dir, "4"))
}

// TestExportLongRecord has a record that needs a larger chunk.
func TestExportLongRecord(t *testing.T) {
	src := newWild(t, 5, 40)
	src.long = 1_100_000
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "x", src, otf2.Options{EventChunk: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	first, err := otf2.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := runOf(t, first)
	a, res := exported(t, 1, run)
	if res.EventChunk != 4<<20 || a.Anchor().EventChunk != 4<<20 {
		t.Errorf("chunks of %d", res.EventChunk)
	}
	sameTrace(t, first, a)
	_, other := exported(t, 4, run)
	sameFiles(t, filepath.Dir(res.Anchor), filepath.Dir(other.Anchor))
}

// TestExportTwice has a location that is defined twice: both share one file.
func TestExportTwice(t *testing.T) {
	src := newWild(t, 9, 200)
	dir, other := t.TempDir(), t.TempDir()
	if _, err := otf2.Copy(dir, "x", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := src.Definitions().AppendBinary(nil)
	d := &trace.Definitions{}
	if err == nil {
		err = d.UnmarshalBinary(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Locations = append(d.Locations, d.Locations[2])
	d.Seal()
	w, err := otf2.Create(other, "x", d, otf2.Options{})
	if err == nil {
		err = w.Close()
	}
	for _, name := range []string{"x.otf2", "x.def"} {
		if err == nil {
			err = os.Rename(filepath.Join(other, name), filepath.Join(dir, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	first, err := otf2.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, res := exported(t, 3, runOf(t, first))
	if len(res.Differs) != 1 || res.Differs[0].Code != trace.DiagBadDefinition {
		t.Errorf("%+v", res)
	}
	sameTrace(t, first, a)
}

// TestExportDamaged cuts and flips a file. The export ends with an error of the
// input, or every location is as it was, or has no events and is named as unreadable.
func TestExportDamaged(t *testing.T) {
	src := jobtest.Generated(t, "irregular:procs=3,events=600,seed=2")
	run := runOf(t, src)
	b, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	n := 150
	if testing.Short() {
		n = 40
	}
	rng := rand.New(rand.NewPCG(3, 3))
	dir := t.TempDir()
	bad, lost := filepath.Join(dir, "bad.xtf"), 0
	for i := range n {
		damaged := slices.Clone(b)
		at := rng.IntN(len(b))
		if i%10 == 0 {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1 << rng.IntN(8)
		}
		jobtest.Write(t, bad, damaged)
		for _, strict := range []bool{false, true} {
			out := filepath.Join(dir, fmt.Sprint(i, strict))
			res, err := export(2, archive.Options{Run: bad, Output: out, Strict: strict})
			if err != nil {
				if c := jobs.ExitCode(err); c != jobs.ExitInput {
					t.Errorf("damage at %d: exit code %d: %v", at, c, err)
				}
				if _, err := os.Lstat(out); err == nil {
					t.Errorf("damage at %d: a failed export left %v", at, tree(t, out))
				}
				continue
			}
			lost += len(res.Unreadable)
			checkPartial(t, fmt.Sprint("damage at ", at), src, out, res)
		}
	}
	if lost == 0 {
		t.Error("no damage hit a location")
	}
}

// TestExportDiagnosticsDamaged damages what the analysis found wrong with a location, and nothing else: its events are there, and the
// archive is not called what it may not be.
func TestExportDiagnosticsDamaged(t *testing.T) {
	src := jobtest.Generated(t, "ring:procs=2,events=60,seed=1,broken=unknown-request")
	run := runOf(t, src)
	b, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad, hit := filepath.Join(dir, "bad.xtf"), 0
	for at := 0; at < len(b) && hit == 0; at += 4 {
		b[at] ^= 1
		jobtest.Write(t, bad, b)
		b[at] ^= 1
		f, err := xtf.OpenFile(bad, xtf.Options{})
		if err != nil {
			continue
		}
		for p := range xtf.Proc(2) {
			if errors.Is(xtf.Each(f, p, func(uint64, *xtf.Diag) error { return nil }), xtf.ErrCorrupt) {
				_, err1 := f.Blobs(p)
				err2 := xtf.Each(f, p, func(uint64, *xtf.Comp) error { return nil })
				if err1 == nil && err2 == nil {
					hit = at
				}
			}
		}
		f.Close()
	}
	for _, ranks := range []int{1, 2} {
		out := filepath.Join(dir, fmt.Sprint(ranks))
		res, err := export(ranks, archive.Options{Run: bad, Output: out})
		if err != nil || len(res.Unreadable) != 1 || res.Exact() || res.Events == 0 {
			t.Fatalf("byte %d: %v, %+v", hit, err, res)
		}
		res.Unreadable = nil
		checkPartial(t, fmt.Sprint("byte ", hit), src, out, res)
	}
	if _, err := export(2, archive.Options{Run: bad, Output: filepath.Join(dir, "strict"), Strict: true}); jobs.ExitCode(err) != jobs.ExitInput {
		t.Errorf("--strict: %v", err)
	}
}

// checkPartial looks that each location has its events, or none where it is named as unreadable.
func checkPartial(t *testing.T, what string, src trace.Source, out string, res *archive.Result) {
	t.Helper()
	a, err := otf2.OpenPath(out)
	if err != nil {
		t.Fatal(err)
	}
	for p := range trace.P(a.Definitions().NumLocations()) {
		id := a.Definitions().Location(p).Ref
		want, got := jobtest.Events(t, src, p), jobtest.Events(t, a, p)
		if len(got) == 0 && slices.ContainsFunc(res.Unreadable, func(l archive.Lost) bool { return l.Location == id }) {
			continue
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: location %d: %s", what, p, d)
		}
	}
}
