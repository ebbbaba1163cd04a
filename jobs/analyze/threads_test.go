package analyze_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// teams is two processes of three threads; only the first has parallel regions.
// In the first region the threads work for 25, 18 and 2 ticks, in the second for
// 20, 19 and not at all.
const teams = `
-- program --
processes 2
threads 3
resolution 1000000000
-- events --
0 0 ENTER main
0 10 ENTER parallel
0 35 ENTER implicit
0 40 LEAVE implicit
0 40 LEAVE parallel
0 50 ENTER MPI_Barrier
0 60 LEAVE MPI_Barrier
0 70 ENTER parallel
0 90 LEAVE parallel
0 100 LEAVE main
1 12 ENTER parallel
1 30 ENTER implicit
1 38 LEAVE implicit
1 38 LEAVE parallel
1 71 ENTER parallel
1 90 LEAVE parallel
2 10 ENTER parallel
2 12 ENTER implicit
2 40 LEAVE implicit
2 40 LEAVE parallel
3 0 ENTER main
3 100 LEAVE main
4 10 ENTER work
4 90 LEAVE work
`

// openMP parses a text and gives its regions the roles that Score-P gives them.
func openMP(t *testing.T, text string) trace.Source {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	for i := range d.Regions {
		r := &d.Regions[i]
		switch d.Text(r.Name) {
		case "parallel":
			r.Role, r.Paradigm = trace.RoleParallel, trace.ParadigmOpenMP
		case "implicit":
			r.Role, r.Paradigm = trace.RoleImplicitBarrier, trace.ParadigmOpenMP
		}
	}
	return src
}

// TestThreads compares the losses of threads with what was worked out by hand,
// whichever ranks have the threads of a process.
func TestThreads(t *testing.T) {
	src := openMP(t, teams)
	var first []byte
	for ranks := 1; ranks <= 6; ranks++ {
		o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 30}
		b := analyzed(t, ranks, o)
		if ranks == 1 {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Errorf("%d ranks: other bytes", ranks)
		}
		f, err := callview.OpenFile(o.Output, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for p := range xtf.Proc(6) {
			rowsOf(t, f, p, xtf.TypeComp, func(_ uint64, row []byte) {
				var c xtf.Comp
				c.Load(row)
				if item := xtf.Item(uint32(c.Key)); strings.HasPrefix(item.String(), "thread_") {
					got = append(got, fmt.Sprintf("%d %d %v %d", p, c.Key>>32, item, c.Value))
				}
			})
		}
		f.Close()
		want := []string{"0 0 thread_time 270", "0 0 thread_serial 80", "0 0 thread_imbalance 51", "0 0 thread_scheduling 15", "0 0 thread_wait 5", "1 0 thread_wait 8", "2 0 thread_wait 28"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d ranks: -want +got\n%s", ranks, diff)
		}
	}
}
