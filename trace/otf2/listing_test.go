package otf2

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// reference returns the listing that another implementation makes of an
// archive: the stored one, or otf2-print's where that is installed.
func referenceListing(t *testing.T, dir, anchor string) []byte {
	t.Helper()
	if f, err := os.Open(filepath.Join(dir, "golden-events.txt.gz")); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return withoutTitle(text)
	}
	return otf2Print(t, anchor)
}

// otf2Print runs OTF2's own tool.
func otf2Print(t *testing.T, args ...string) []byte {
	t.Helper()
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian: otf2-tools)")
	}
	cmd := exec.Command(tool, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("otf2-print %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return withoutTitle(text)
}

func withoutTitle(text []byte) []byte {
	if i := bytes.Index(text, []byte("=== Events")); i >= 0 {
		return text[i:]
	}
	return text
}

// sameListing compares the listing of src with want, line by line.
func sameListing(t *testing.T, want []byte, src trace.Source) {
	t.Helper()
	var got bytes.Buffer
	if err := Print(&got, src); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got.Bytes(), want) {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d of %d:\nwant %s\ngot  %s", i+1, len(a), a[i], b[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(b), len(a))
}

// TestListings compares every event of every real archive, in global order,
// with what another implementation reads: kind, location, corrected time,
// fields, resolved peers and attributes.
func TestListings(t *testing.T) {
	anchors, err := filepath.Glob(filepath.Join(traces(t), "*", "*.otf2"))
	if err != nil || len(anchors) == 0 {
		t.Fatal("no archives", err)
	}
	for _, anchor := range anchors {
		dir := filepath.Dir(anchor)
		name := filepath.Base(dir)
		switch name {
		case "btmz-8x4-K-bigendian-defs", "buffer-endian", "synthetic-all-defs": // without events or definitions
			continue
		}
		t.Run(name, func(t *testing.T) {
			src := mustOpen(t, dir)
			if p := src.Definitions().Problems(); len(p.Codes) > 0 {
				t.Errorf("definitions: %+v", p)
			}
			var events uint64
			for p := range trace.P(src.Definitions().NumLocations()) {
				x, err := src.Measure(p)
				if err != nil {
					t.Fatal(err)
				}
				events += x.Events
			}
			if testing.Short() && events > 50000 {
				t.Skip("large; runs without -short")
			}
			t.Parallel()
			sameListing(t, referenceListing(t, dir, anchor), src)
		})
	}
}

// TestListingsOfCopies writes archives with all event kinds in every variant
// and compares the reader with otf2-print on them.
func TestListingsOfCopies(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, wild := range []bool{false, true} {
				src := completeSource(7, wild)
				dir := t.TempDir()
				if _, err := Copy(dir, "traces", src, o); err != nil {
					t.Fatal(err)
				}
				args := []string{filepath.Join(dir, "traces.otf2")}
				if !wild {
					args = append([]string{"-Werror"}, args...)
				}
				sameListing(t, otf2Print(t, args...), mustOpen(t, dir))
			}
		})
	}
}
