package analyze_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// TestSameBytesOfIntervals: numbers of nodes and call paths, and all that hangs on
// them, do not depend on the ranks, also where a process is spread over ranks.
func TestSameBytesOfIntervals(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		spec  string
		flags interval.Flags
	}{
		{"stencil:procs=6,events=10k,jitter=10,seed=1", interval.Flags{SliceCount: 7, Between: "coll:Allreduce"}},
		{"irregular:procs=7,events=15k,jitter=20,seed=3", interval.Flags{Intervals: []string{"region:*"}}},
		{"irregular:procs=3,threads=3,events=12k,io,metrics,parameters,seed=4", interval.Flags{Intervals: []string{"region:[a-s]*"}, SliceCount: 3, Init: "exclude"}},
		{"stencil:procs=4,events=8k,broken=all", interval.Flags{Intervals: []string{"region:*"}, SliceCount: 100}},
	} {
		t.Run(v.spec, func(t *testing.T) {
			for _, graphOnly := range []bool{false, true} {
				o := analyze.Options{Source: jobtest.Generated(t, v.spec), Intervals: v.flags, GraphOnly: graphOnly, StoreBytes: 1 << 30}
				want := analyzed(t, 1, o)
				for _, ranks := range []int{2, 3, 5, 7} {
					if testing.Short() && ranks < 7 {
						continue
					}
					if got := analyzed(t, ranks, o); !bytes.Equal(got, want) {
						t.Errorf("graph only %t, %d ranks: %d bytes differ from the %d of one rank", graphOnly, ranks, len(got), len(want))
					}
				}
				o.StoreBytes = 0
				if got := analyzed(t, 2, o); !bytes.Equal(got, want) {
					t.Errorf("graph only %t, without memory: other bytes", graphOnly)
				}
			}
		})
	}
}

// TestTooManyIntervals: more different intervals than a run may have are refused
// on all ranks, however the locations are dealt out.
func TestTooManyIntervals(t *testing.T) {
	if testing.Short() {
		t.Skip("makes tens of thousands of intervals")
	}
	src := jobtest.Generated(t, "ring:procs=4,events=4k")
	var lines bytes.Buffer
	for rank := range 4 {
		for k := range interval.MaxNodes / 3 {
			fmt.Fprintf(&lines, "%d,%d,%d,%d,x\n", rank, 300*k, 300*k+1, rank<<20|k) // all over the run
		}
	}
	for ranks, graphOnly := range map[int]bool{1: false, 3: true} {
		o := analyze.Options{
			Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 24, GraphOnly: graphOnly,
			Intervals: interval.Flags{Sidecar: lines.Bytes()},
		}
		_, err := jobtest.Analyze(ranks, o)
		if jobs.ExitCode(err) != jobs.ExitResource || !strings.Contains(err.Error(), interval.ErrTooMany.Error()) {
			t.Errorf("%d ranks, graph only %t: exit %d, %v", ranks, graphOnly, jobs.ExitCode(err), err)
		}
	}
}
