package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/archive"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/google/go-cmp/cmp"
)

// export runs the job on in-process ranks and returns rank 0's result.
func export(ranks int, o archive.Options) (*archive.Result, error) {
	results := make([]*archive.Result, ranks)
	o.Version = "test"
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		var err error
		results[c.Rank()], err = archive.Write(c, o)
		return err
	})
	return results[0], err
}

// exported exports a run and opens the archive.
func exported(t *testing.T, ranks int, run string) (*otf2.Archive, *archive.Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "again")
	res, err := export(ranks, archive.Options{Run: run, Output: dir})
	if err != nil {
		t.Fatal(err)
	}
	a, err := otf2.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	return a, res
}

// digest is a hash over all that is in a location's stream, and its length.
func digest(t *testing.T, src trace.Source, p trace.P) (sum [32]byte, n uint64) {
	t.Helper()
	h := sha256.New()
	var w []byte
	jobtest.EachEvent(t, src, p, func(b *trace.Batch, e *trace.Event) {
		n++
		w = binary.LittleEndian.AppendUint64(w[:0], uint64(e.Time))
		w = append(w, byte(e.Kind), e.Flags, byte(e.Len))
		w = binary.LittleEndian.AppendUint32(w, e.Ref)
		for _, v := range b.Words(e) {
			w = binary.LittleEndian.AppendUint64(w, v)
		}
		h.Write(w)
	})
	h.Sum(sum[:0])
	return sum, n
}

// sameTrace compares all streams and definitions of two sources.
func sameTrace(t *testing.T, want, got trace.Source) {
	t.Helper()
	wd, gd := want.Definitions(), got.Definitions()
	if wd.NumLocations() != gd.NumLocations() {
		t.Fatalf("%d locations, want %d", gd.NumLocations(), wd.NumLocations())
	}
	for p := range trace.P(wd.NumLocations()) {
		a, n := digest(t, want, p)
		b, m := digest(t, got, p)
		if a != b {
			x, y := jobtest.Events(t, want, p), jobtest.Events(t, got, p)
			for i := range min(len(x), len(y)) {
				if d := cmp.Diff(x[i], y[i]); d != "" {
					t.Fatalf("location %d, event %d (-want +got):\n%s", p, i, d)
				}
			}
			t.Fatalf("location %d: %d events, want %d", p, m, n)
		}
		if gd.Location(p).Events != n {
			t.Errorf("location %d: %d events announced, there are %d", p, gd.Location(p).Events, n)
		}
		wd.Location(p).Events = n
	}
	x, err := wd.AppendBinary(nil)
	y, err2 := gd.AppendBinary(nil)
	if err != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Error("definitions differ", err, err2)
	}
}

// sameFiles compares two folders file by file.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	names := jobtest.FilesOf(t, want)
	if d := cmp.Diff(names, jobtest.FilesOf(t, got)); d != "" {
		t.Error(d)
	}
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(want, name))
		b, err2 := os.ReadFile(filepath.Join(got, name))
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", name, err, err2)
		}
	}
}

// runOf analyses an archive.
func runOf(t *testing.T, src trace.Source) string {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestExportReal analyses real archives and writes them back: streams,
// definitions and the listing of OTF2's own tool are those of the original.
func TestExportReal(t *testing.T) {
	compared := 0
	for _, path := range jobtest.Archives(t) {
		name := filepath.Base(filepath.Dir(path))
		src, err := otf2.OpenPath(path)
		if errors.Is(err, trace.ErrMissing) {
			continue // buffers without definitions: no trace
		}
		if err != nil {
			t.Fatal(err)
		}
		n := jobtest.Announced(t, src)
		if testing.Short() && n > 12_000 {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, res := exported(t, 3, runOf(t, src))
			if res.Exact() != (n > 0) || len(res.Differs) > 0 != (n == 0) { // of two only the definitions were collected
				t.Errorf("%+v", res)
			}
			sameTrace(t, src, a)
			if n > 0 {
				sameListing(t, path, res.Anchor)
			}
		})
	}
	if compared < 6 {
		t.Errorf("only %d archives", compared)
	}
}

// listing is what otf2-print prints of an archive.
func listing(t *testing.T, anchor string) []byte {
	t.Helper()
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian: otf2-tools): listings are not compared")
	}
	b, err := exec.Command(tool, anchor).Output()
	if err != nil {
		t.Fatalf("otf2-print %s: %v", anchor, err)
	}
	return b
}

// sameListing compares otf2-print's listings of an archive and of its export.
func sameListing(t *testing.T, original, export string) {
	t.Helper()
	a, b := eventLines(listing(t, original)), eventLines(listing(t, export))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			t.Fatalf("line %d:\nwant %s\ngot  %s", i+1, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d lines, want %d", len(b), len(a))
	}
}

// eventLines are the lines of a listing from the title of the events on.
func eventLines(text []byte) [][]byte {
	if i := bytes.Index(text, []byte("=== Events")); i >= 0 {
		text = text[i:]
	}
	return bytes.Split(text, []byte("\n"))
}

// TestExportGenerated writes generated programs back: from one rank or many the
// same bytes.
func TestExportGenerated(t *testing.T) {
	for _, spec := range jobtest.Programs {
		t.Run(spec, func(t *testing.T) {
			src := jobtest.Generated(t, spec)
			out := filepath.Join(t.TempDir(), "run.xtf")
			if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: out, StoreBytes: 64 << 20}); err != nil {
				t.Fatal(err)
			}
			a, res := exported(t, 1, out)
			if res.Exact() {
				sameTrace(t, src, a)
			} else if len(res.Differs) != 1 || res.Differs[0].Code != trace.DiagTimeBackwards {
				t.Errorf("%+v", res)
			} else {
				sameClamped(t, src, a, res.Differs[0].Count)
			}
			for _, ranks := range []int{2, 7} {
				_, other := exported(t, ranks, out)
				sameFiles(t, filepath.Dir(res.Anchor), filepath.Dir(other.Anchor))
			}
		})
	}
}

// sameClamped compares with a source some of whose times run backwards: they
// are raised to the one before, and as many as announced.
func sameClamped(t *testing.T, want, got trace.Source, count uint64) {
	t.Helper()
	for p := range trace.P(want.Definitions().NumLocations()) {
		x, y := jobtest.Events(t, want, p), jobtest.Events(t, got, p)
		last := trace.Time(want.Definitions().Clock().GlobalOffset)
		for i := range x {
			if x[i].Time < last {
				x[i].Time = last
				count--
			}
			last = x[i].Time
		}
		if d := cmp.Diff(x, y); d != "" {
			t.Errorf("location %d (-want +got):\n%s", p, d)
		}
	}
	if count != 0 {
		t.Errorf("count of raised times is off by %d", int64(count))
	}
}

// TestExportWild does the same with records of every kind and form in no
// sensible order.
func TestExportWild(t *testing.T) {
	for seed := range uint64(4) {
		if testing.Short() && seed >= 2 {
			break
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			src := newWild(t, seed, 1200)
			if _, err := otf2.Copy(dir, "x", src, otf2.Options{BigEndian: seed%2 == 1, EventChunk: 8 << 10, Local: wildLocal(seed)}); err != nil {
				t.Fatal(err)
			}
			first, err := otf2.OpenPath(dir)
			if err != nil {
				t.Fatal(err)
			}
			a, res := exported(t, 2, runOf(t, first))
			if !res.Exact() {
				t.Errorf("%+v", res)
			}
			sameTrace(t, first, a)
			again, res2 := exported(t, 3, runOf(t, a))
			if !res2.Exact() {
				t.Errorf("%+v", res2)
			}
			sameTrace(t, a, again)
		})
	}
}

// TestExportLossy writes back graphs with bounded gaps: every gap is within the
// bound, and with time stamps every time; all else is exact.
func TestExportLossy(t *testing.T) {
	sources := map[string]trace.Source{"wild": newWild(t, 4, 1200)}
	for _, spec := range jobtest.Programs[:6] {
		sources[spec] = jobtest.Generated(t, spec)
	}
	bounds := []string{"10%", "10%,1us,timestamps", "25%,1us", "3us,timestamps"}
	if testing.Short() {
		bounds = bounds[:2]
	}
	for _, bound := range bounds {
		for name, src := range sources {
			if testing.Short() && name != "wild" {
				continue
			}
			t.Run(bound+" "+name, func(t *testing.T) {
				t.Parallel()
				run := filepath.Join(t.TempDir(), "run.xtf")
				if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, Deviation: bound, StoreBytes: 64 << 20}); err != nil {
					t.Fatal(err)
				}
				a, res := exported(t, 2, run)
				want, err := graph.ParseDeviation(bound, src.Definitions().Clock().TimerResolution)
				if err != nil || res.Exact() || res.Deviation != want {
					t.Errorf("%v, want %v, %v", res, want, err)
				}
				if !slices.Contains(a.Anchor().Properties, otf2.Property{Name: "COPPICE::DEVIATION", Value: want.String()}) {
					t.Error(a.Anchor().Properties)
				}
				within(t, src, a, want)
				_, other := exported(t, 5, run)
				sameFiles(t, filepath.Dir(res.Anchor), filepath.Dir(other.Anchor))
			})
		}
	}
}

// within compares streams whose times differ by d.
func within(t *testing.T, want, got trace.Source, d graph.Deviation) {
	t.Helper()
	var last trace.Time
	for p := range trace.P(want.Definitions().NumLocations()) {
		x, y := jobtest.Events(t, want, p), jobtest.Events(t, got, p)
		if len(x) != len(y) {
			t.Fatalf("location %d: %d events, want %d", p, len(y), len(x))
		}
		for i := range x {
			gap, stored := uint64(0), uint64(0)
			if i > 0 {
				gap, stored = uint64(x[i].Time-x[i-1].Time), uint64(y[i].Time-y[i-1].Time)
			}
			if off := max(gap, stored) - min(gap, stored); off > d.Bound(gap) || i == 0 && x[0].Time != y[0].Time {
				t.Fatalf("location %d, event %d: gap of %d ticks stored as %d, bound %d", p, i, gap, stored, d.Bound(gap))
			}
			if late := y[i].Time > x[i].Time; d.TimeStamps && (late || uint64(x[i].Time-y[i].Time) >= d.Abs) {
				t.Fatalf("location %d, event %d: time %d stored as %d, bound %d", p, i, x[i].Time, y[i].Time, d.Abs)
			}
			last = max(last, y[i].Time)
		}
		for i := range x {
			for k, f := range x[i].Kind.Info().Fields { // such a time moves with its event
				if f.Width == trace.Stamp {
					x[i].Words[k] += uint64(y[i].Time - x[i].Time)
				}
			}
			x[i].Time = y[i].Time
			if diff := cmp.Diff(x[i], y[i]); diff != "" {
				t.Fatalf("location %d, event %d (-want +got):\n%s", p, i, diff)
			}
		}
	}
	if c := got.Definitions().Clock(); trace.Time(c.GlobalOffset+c.TraceLength) < last || c.TraceLength < want.Definitions().Clock().TraceLength {
		t.Errorf("trace length %d from %d, last event at %d", c.TraceLength, c.GlobalOffset, last)
	}
}
