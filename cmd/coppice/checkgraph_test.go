package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestDamagedGraph breaks the call graph of files whose pages are sound.
func TestDamagedGraph(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=3,events=3k,seed=1")
	for _, args := range [][]string{{"--events", "all"}, {"--events", "none"}, {"--events", "none", "--deviation", "10%,1us"}} {
		from, to := analysedAs(t, dir, "from.xtf", append(args, "-f")...), filepath.Join(dir, "to.xtf")
		broken := func(what string, part func(p xtf.Proc, kind uint32, b []byte) []byte) {
			t.Helper()
			alterAll(t, from, to, func(xtf.Proc, xtf.TypeID, uint64, []byte) {}, part)
			code, c := checkOf(t, to)
			if code != jobs.ExitFound || len(c.Check.Problems) == 0 || c.Check.Problems[0].Kind != "call graph" {
				t.Errorf("%v, %s: check: exit code %d: %+v", args, what, code, c.Check.Problems)
			}
		}
		broken("a byte of the section", func(_ xtf.Proc, kind uint32, b []byte) []byte {
			if kind == xtf.KindCCG {
				b[len(b)/2] ^= 4
			}
			return b
		})
		for _, verb := range [][]string{{"report", to, "ccg"}, {"query", to, "stack", "--time", "50%", "--source", "graph"}} {
			code, _, errs := call(verb...)
			if code != jobs.ExitInput || !strings.Contains(errs, "to.xtf: call graph") || !strings.Contains(errs, "coppice check") {
				t.Errorf("%v: %v: exit code %d: %s", args, verb[0], code, errs)
			}
		}
		broken("a byte of a location", func(p xtf.Proc, kind uint32, b []byte) []byte {
			if kind == xtf.KindCCGColumns && p == 1 {
				b[len(b)/2] ^= 4
			}
			return b
		})
		if code, _, errs := call("report", to, "ccg"); code != jobs.ExitPartial || !strings.Contains(errs, "location 1: call graph") {
			t.Errorf("%v: report: exit code %d: %s", args, code, errs)
		}
		if code, _, errs := call("query", to, "walk", "--rank", "1"); code != jobs.ExitInput || !strings.Contains(errs, "location 1: call graph") {
			t.Errorf("%v: query: exit code %d: %s", args, code, errs)
		}
		must(t, "query", to, "walk", "--rank", "0")
	}
}

// TestCheckCalls moves calls of rows away from those of the graph next to them.
func TestCheckCalls(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=2,events=2k,seed=1")
	for _, x := range []struct {
		name string
		args []string
		by   uint64 // ticks
		want bool
	}{
		{"a tick next to an exact graph", nil, 1, true},
		{"a millisecond next to a lossy graph", []string{"--deviation", "10%,1us"}, 1_000_000, true},
		{"nothing next to a lossy graph", []string{"--deviation", "10%,1us"}, 0, false},
	} {
		from, to := analysedAs(t, dir, "from.xtf", append(x.args, "-f")...), filepath.Join(dir, "to.xtf")
		alter(t, from, to, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
			if p == 1 && id == xtf.TypeCall && n == 7 {
				xtf.SetU64(row, xtf.CallEnd, xtf.U64(row, xtf.CallEnd)+x.by)
			}
		})
		_, got := checkOf(t, to)
		found := false
		for _, p := range got.Check.Problems {
			found = found || strings.Contains(p.Text, "the row of the call ends at")
		}
		if found != x.want || got.Check.Clean == x.want {
			t.Errorf("%s: clean %t: %+v", x.name, got.Check.Clean, got.Check.Problems)
		}
	}
}
