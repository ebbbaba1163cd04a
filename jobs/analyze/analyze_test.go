package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// analyzed runs the job and returns the file's bytes.
func analyzed(t *testing.T, ranks int, o analyze.Options) []byte {
	t.Helper()
	if o.Output == "" {
		o.Output = filepath.Join(t.TempDir(), "run.xtf")
	}
	o.Version = "test"
	if _, err := jobtest.Analyze(ranks, o); err != nil {
		t.Fatalf("%d ranks: %v", ranks, err)
	}
	b, err := os.ReadFile(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(o.Output + ".*")
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
	return b
}

// TestSameBytes is the promise that ranks, memory, cores, path and output name
// do not change the file.
func TestSameBytes(t *testing.T) {
	for i, spec := range jobtest.Programs {
		if testing.Short() && i%2 > 0 {
			continue
		}
		t.Run(spec, func(t *testing.T) {
			if testing.Short() && i > 0 {
				spec = thousands.ReplaceAllString(spec, "events=2k") // the first program is the long one
			}
			src := jobtest.Generated(t, spec)
			for _, v := range []struct {
				name  string
				o     analyze.Options
				ranks []int
			}{
				{"graph", analyze.Options{Profile: xtf.Packed, GraphOnly: true}, []int{2, 3}},
				{"lossy", analyze.Options{Profile: xtf.Packed, GraphOnly: true, Deviation: "10%,1us"}, []int{3}},
				{"packed", analyze.Options{Profile: xtf.Packed}, []int{2, 3, 5, 8, 16}},
				{"raw", analyze.Options{Profile: xtf.Raw4K}, []int{2, 3, 5, 8, 16}},
			} {
				if testing.Short() {
					if v.name == "raw" || v.name == "lossy" && i%4 > 0 {
						continue
					}
					v.ranks = v.ranks[len(v.ranks)-1:]
				}
				v.o.Source = src
				t.Run(v.name, func(t *testing.T) { sameBytes(t, v.o, v.ranks) })
			}
		})
	}
}

var thousands = regexp.MustCompile(`events=\d+k`)

// sameBytes compares the file of one rank with those of other ranks, budgets
// and cores.
func sameBytes(t *testing.T, o analyze.Options, ranks []int) {
	with := func(store int64) analyze.Options {
		o.StoreBytes = store
		return o
	}
	want := analyzed(t, 1, with(1<<30))
	same := func(what string, ranks int, o analyze.Options) {
		t.Helper()
		if got := analyzed(t, ranks, o); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from the %d of one rank", what, len(got), len(want))
		}
	}
	if o.GraphOnly { // few segments: memory does not matter much
		for _, n := range ranks {
			same(fmt.Sprint(n, " ranks without memory"), n, with(0))
		}
		return
	}
	for _, n := range ranks {
		same(fmt.Sprint(n, " ranks"), n, with(1<<30))
	}
	same("no memory", 2, with(0))
	same("little memory", 3, with(64<<10))
	for _, procs := range []int{1, 8} {
		if testing.Short() && procs == 1 {
			continue
		}
		old := runtime.GOMAXPROCS(procs)
		same(fmt.Sprint("GOMAXPROCS ", procs), 4, with(1<<20))
		runtime.GOMAXPROCS(old)
	}
}

// TestSamePath analyses copies of one archive under different names.
func TestSamePath(t *testing.T) {
	src := jobtest.Generated(t, "stencil:procs=4,events=10k")
	var want []byte
	for _, name := range []string{"a", "another folder with spaces"} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
			t.Fatal(err)
		}
		got := analyzed(t, 2, analyze.Options{Trace: filepath.Join(dir, "traces.otf2"), Output: filepath.Join(dir, name+".xtf"), StoreBytes: 1 << 20})
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the path of the archive changes the file")
		}
		if bytes.Contains(got, []byte(dir)) {
			t.Errorf("the file names the archive's path")
		}
	}
}

// TestManyRanks runs more ranks than locations.
func TestManyRanks(t *testing.T) {
	t.Parallel()
	src := jobtest.Generated(t, "irregular:procs=9,threads=2,events=10k,seed=5")
	want := analyzed(t, 1, analyze.Options{Source: src, StoreBytes: 1 << 20})
	for _, ranks := range []int{4, 7, 64, 256} {
		if testing.Short() && ranks > 64 {
			break
		}
		if got := analyzed(t, ranks, analyze.Options{Source: src, StoreBytes: 1 << 20}); !bytes.Equal(got, want) {
			t.Errorf("%d ranks make another file", ranks)
		}
	}
}

// TestErrors checks that every failure leaves nothing under the final name, and
// what it is called.
func TestErrors(t *testing.T) {
	src := jobtest.Generated(t, "ring:procs=4,events=2k")
	dir := t.TempDir()
	existing := filepath.Join(dir, "there.xtf")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "trace.json")
	if err := os.WriteFile(text, []byte(`{"traceEvents":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		o    analyze.Options
		is   error
		code int
	}{
		{"output exists", analyze.Options{Source: src, Output: existing}, xtfwriter.ErrExists, jobs.ExitUsage},
		{"no such directory", analyze.Options{Source: src, Output: filepath.Join(dir, "no", "run.xtf")}, xtfwriter.ErrUnwritable, jobs.ExitUsage},
		{"no such trace", analyze.Options{Trace: filepath.Join(dir, "none.otf2")}, nil, jobs.ExitInput},
		{"a JSON file", analyze.Options{Trace: text}, nil, jobs.ExitInput},
		{"an empty directory", analyze.Options{Trace: t.TempDir()}, nil, jobs.ExitInput},
		{"too little memory", analyze.Options{Source: src, MemBytes: 1 << 20, StoreBytes: -1}, nil, jobs.ExitResource},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.o.Output == "" {
				tc.o.Output = filepath.Join(dir, "out.xtf")
			}
			before, _ := os.ReadDir(dir)
			_, err := jobtest.Analyze(3, tc.o)
			if err == nil {
				t.Fatal("no error")
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error is not %v: %v", tc.is, err)
			}
			if got := jobs.ExitCode(err); got != tc.code {
				t.Errorf("exit code %d, want %d: %v", got, tc.code, err)
			}
			after, _ := os.ReadDir(dir)
			if len(after) != len(before) {
				t.Errorf("files left behind: %v", after)
			}
		})
	}
	if b, err := os.ReadFile(existing); err != nil || string(b) != "mine" {
		t.Errorf("the existing output was touched: %q, %v", b, err)
	}
}
