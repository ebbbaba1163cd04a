package stats_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// executionsOf lists the executions in the order of their begin: node, begin, end, flags.
func executionsOf(l *stats.Loaded, borders []interval.Border) (list []string) {
	for _, b := range borders {
		if b.Row == xtf.Never {
			list = append(list, fmt.Sprintf("%s %d", name(l, b.Node), b.T))
			continue
		}
		list[b.Row] += fmt.Sprintf(" %d", b.T) + map[uint32]string{0: "", xtf.IvalCut: " cut", xtf.IvalCrossed: " crossed", xtf.IvalWhole: " whole"}[b.Flags]
	}
	return list
}

// name is the path of a node from the root.
func name(l *stats.Loaded, n uint32) string {
	var parts []string
	for ; n != 0; n = l.Tree.Node(n).Parent {
		x := l.Tree.Node(n)
		place := ""
		if x.File != "" {
			place = fmt.Sprintf("@%s:%d", x.File, x.Line)
		}
		parts = append([]string{fmt.Sprintf("%d%s%s", x.ID, x.Name, place)}, parts...)
	}
	return "/" + strings.Join(parts, "/")
}

func self(at int, tag uint32) string {
	return fmt.Sprintf("0 %d ENTER MPI_Sendrecv\n0 %d MPI_SEND 0 MPI_COMM_WORLD %d 0\n0 %d MPI_RECV 0 MPI_COMM_WORLD %d 0\n0 %d LEAVE MPI_Sendrecv\n", at, at, tag, at+1, tag, at+1)
}

func level(at, level int) string {
	return fmt.Sprintf("0 %d ENTER MPI_Pcontrol\n0 %d PARAMETER_INT64 0 %d\n0 %d LEAVE MPI_Pcontrol\n", at, at, level, at)
}

func reduced(at int) string {
	return fmt.Sprintf("0 %d ENTER MPI_Allreduce\n0 %d MPI_COLLECTIVE_BEGIN\n0 %d MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none 8 8\n0 %d LEAVE MPI_Allreduce\n", at, at, at+2, at+2)
}

// TestManyInOneCall has more intervals inside of one MPI call than may wait for its
// end: some are left out, and that is reported.
func TestManyInOneCall(t *testing.T) {
	var b strings.Builder
	b.WriteString(markerDefinitions + "0 0 ENTER MPI_Barrier\n")
	const many = 40000
	for i := range many {
		fmt.Fprintf(&b, "0 %d ENTER phase\n0 %d LEAVE phase\n", 2*i, 2*i+1)
	}
	fmt.Fprintf(&b, "0 %d LEAVE MPI_Barrier\n1 0 ENTER main\n1 1 LEAVE main\n", 2*many)
	src, err := tracetest.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	l, borders := loadFirst(t, src, interval.Flags{})
	checkBorders(t, l, borders)
	if n, left := l.Tree.Node(1).Executions, l.Diagnostics.Count(trace.DiagIntervalLimit); n == 0 || left == 0 || n+left != many {
		t.Errorf("%d executions and %d left out, of %d", n, left, many)
	}
	if v := l.Components.Value(1, xtf.ItemMPI); v != l.Tree.Node(1).Executions {
		t.Errorf("%d ticks of MPI in %d executions of one tick", v, l.Tree.Node(1).Executions)
	}
}

// TestForms lists executions and diagnostics of markers of every form.
func TestForms(t *testing.T) {
	raw := func(at int, id, end uint32) string { return self(at, 0xAA0000AA+id<<8+0x11*end) }
	for _, c := range []struct {
		name   string
		f      interval.Flags
		events string
		want   []string
		diags  string
	}{
		{"messages", interval.Flags{}, raw(10, 5, 0) + raw(20, 5, 1), []string{"/ 0 90 whole", "/5 11 20"}, ""},
		{"place of the function around", interval.Flags{}, "0 9 ENTER f\n" + raw(10, 5, 0) + "0 12 LEAVE f\n" + raw(20, 5, 1), []string{"/ 0 90 whole", "/5@f.c:9 11 20"}, ""},
		{"received after a call of its own", interval.Flags{}, "0 10 ENTER MPI_Send\n0 10 MPI_SEND 0 MPI_COMM_WORLD 2852128170 0\n0 11 LEAVE MPI_Send\n0 13 ENTER MPI_Recv\n0 15 MPI_RECV 0 MPI_COMM_WORLD 2852128170 0\n0 15 LEAVE MPI_Recv\n" + raw(20, 5, 1), []string{"/ 0 90 whole", "/5 15 20"}, ""},
		{"not received", interval.Flags{}, "0 10 ENTER MPI_Send\n0 10 MPI_SEND 0 MPI_COMM_WORLD 2852128170 0\n0 11 LEAVE MPI_Send\n" + raw(20, 5, 1), []string{"/ 0 90 whole", "/5 11 20"}, ""},
		{"outside of calls", interval.Flags{}, "0 10 MPI_SEND 0 MPI_COMM_WORLD 10922 0\n0 11 MPI_RECV 0 MPI_COMM_WORLD 10922 0\n0 12 MPI_SEND 0 MPI_COMM_WORLD 3 0\n0 14 MPI_RECV 0 MPI_COMM_WORLD 3 0\n", []string{"/ 0 90 whole", "/3 14 90 cut"}, "unclosed no-call"},
		{"a slice between calls of a marker", interval.Flags{Slice: "13ticks"}, "0 10 ENTER MPI_Send\n0 10 MPI_SEND 0 MPI_COMM_WORLD 2852128170 0\n0 12 LEAVE MPI_Send\n0 14 MPI_SEND 0 MPI_COMM_WORLD 5 0\n0 70 LEAVE main\n", []string{
			"/ 0 90 whole", "/0slice 0 13", "/5 12 90 cut", "/1slice 13 26", "/2slice 26 39", "/3slice 39 52", "/4slice 52 65", "/5slice 65 78", "/6slice 78 90",
		}, "stray-leave unclosed no-call"},
		{"a slice between messages outside of calls", interval.Flags{Slice: "50ticks"}, raw(10, 5, 0) + "0 40 MPI_SEND 0 MPI_COMM_WORLD 10939 0\n0 41 MPI_RECV 0 MPI_COMM_WORLD 10939 0\n0 60 MPI_SEND 0 MPI_COMM_WORLD 5 0\n", []string{
			"/ 0 90 whole", "/0slice 0 50", "/5 11 40", "/1slice 50 90",
		}, "no-call"},
		{"counters between", interval.Flags{}, self(10, 0x2AAA) + "0 11 METRIC 0 1 4 7\n" + self(12, 3), []string{"/ 0 90 whole", "/3 13 90 cut"}, "unclosed"},
		{"dangling at the end", interval.Flags{}, self(10, 0x2AAA), []string{"/ 0 90 whole"}, "dangling-marker"},
		{"crossed", interval.Flags{}, level(1, 11) + level(2, 12) + level(5, -11) + level(6, -12), []string{"/ 0 90 whole", "/11 1 5", "/11/12 2 5 crossed"}, "crossed end-without-begin"},
		{"unclosed", interval.Flags{}, level(10, 7), []string{"/ 0 90 whole", "/7 10 90 cut"}, "unclosed"},
		{"end, then begin and end", interval.Flags{}, level(20, -7) + level(30, 7) + level(40, -7), []string{"/ 0 90 whole", "/7 30 40"}, "end-without-begin"},
		{"recursion", interval.Flags{Intervals: []string{"region:f"}}, "0 1 ENTER f\n0 2 ENTER f\n0 3 LEAVE f\n0 4 LEAVE f\n", []string{"/ 0 90 whole", "/0f@f.c:9 1 4", "/0f@f.c:9/0f@f.c:9 2 3"}, ""},
		{"recursion folded", interval.Flags{Intervals: []string{"region:f"}, Fold: true}, "0 1 ENTER f\n0 2 ENTER f\n" + level(2, 7) + level(3, -7) + "0 3 LEAVE f\n0 4 LEAVE f\n", []string{"/ 0 90 whole", "/0f@f.c:9 1 4", "/0f@f.c:9/7@f.c:9 2 3"}, ""},
		{"recursion folded over another", interval.Flags{Fold: true}, level(1, 11) + level(2, 12) + level(3, 11) + level(4, -11) + level(5, -12) + level(6, -11), []string{"/ 0 90 whole", "/11 1 6", "/11/12 2 5"}, ""},
		{"parameter", interval.Flags{}, "0 1 ENTER f\n0 2 PARAMETER_INT64 2 41\n0 3 ENTER f\n0 3 LEAVE f\n0 4 PARAMETER_INT64 2 42\n0 5 LEAVE f\n", []string{"/ 0 90 whole", "/41f@f.c:9 2 5"}, ""},
		{"event type", interval.Flags{Intervals: []string{"prv:77"}}, "0 1 PARAMETER_UINT64 3 5\n0 2 PARAMETER_UINT64 3 6\n0 3 PARAMETER_UINT64 3 0\n0 4 PARAMETER_UINT64 3 0\n0 5 PARAMETER_UINT64 3 0\n", []string{"/ 0 90 whole", "/5prv:77 Phase 1 4", "/5prv:77 Phase/6prv:77 Phase 2 3"}, "end-without-begin"},
		{"event type, not asked for", interval.Flags{}, "0 1 PARAMETER_UINT64 3 5\n", []string{"/ 0 90 whole"}, "not-analysed:ParameterUnsignedInt"},
		{"between", interval.Flags{Between: "coll:allreduce"}, reduced(10) + reduced(20) + level(21, 7) + level(22, -7) + reduced(30) + level(35, 8) + level(36, -8), []string{
			"/ 0 90 whole", "/0MPI_Allreduce 12 20", "/7 21 22", "/1MPI_Allreduce 22 30", "/8 35 36",
		}, ""},
		{"between, one alone", interval.Flags{Between: "coll:allreduce"}, reduced(10), []string{"/ 0 90 whole"}, ""},
		{"a file", interval.Flags{Sidecar: []byte("0,5,20,7,\n0,80,95,8,\n0,91,95,9,\n")}, "", []string{"/ 0 90 whole", "/7 5 20", "/8 80 90"}, ""},
		{"a file within markers", interval.Flags{Sidecar: []byte("0,12,18,7,a\n")}, raw(10, 5, 0) + raw(20, 5, 1), []string{"/ 0 90 whole", "/5 11 20", "/5/7a 12 18"}, ""},
		{"a file that ends within a marker", interval.Flags{Sidecar: []byte("0,2,22,7,a\n")}, self(10, 0x2AAA) + self(14, 5) + self(20, 0x2ABB) + self(24, 5), []string{"/ 0 90 whole", "/7a 2 22", "/7a/5 15 20"}, ""},
		{"a file that begins within a marker", interval.Flags{Sidecar: []byte("0,12,30,7,a\n")}, self(10, 0x2AAA) + self(14, 5) + self(20, 0x2ABB) + self(24, 5), []string{"/ 0 90 whole", "/7a 12 30", "/7a/5 15 20"}, ""},
		{"without MPI_Init", interval.Flags{Init: "exclude"}, "0 1 ENTER f\n" + level(1, 7) + level(2, 8) + level(3, -8) + "0 10 ENTER MPI_Init\n0 20 LEAVE MPI_Init\n" + level(30, -7) + level(50, 9) + "0 60 ENTER MPI_Finalize\n0 70 LEAVE MPI_Finalize\n" + level(71, -9) + "0 80 LEAVE f\n", []string{
			"/ 20 60", "/7@f.c:9 20 30", "/9@f.c:9 50 60",
		}, ""},
		{"without MPI_Init that is never called", interval.Flags{Init: "exclude"}, level(1, 7) + level(2, -7), []string{"/ 0 90 whole", "/7 1 2"}, ""},
		{"slices", interval.Flags{Slice: "40ticks"}, level(1, 7) + level(50, -7), []string{"/ 0 90 whole", "/0slice 0 40", "/7 1 50", "/1slice 40 80", "/2slice 80 90"}, ""},
		{"two slices", interval.Flags{SliceCount: 2}, "", []string{"/ 0 90 whole", "/0slice 0 50", "/1slice 50 90"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := strings.Replace(markerDefinitions, "-- program --", "METRIC_MEMBER self=0 name=1\nMETRIC_CLASS self=0 number_of_metrics=1 0\n-- program --", 1)
			head = "-- definitions --\nCLOCK_PROPERTIES timer_resolution=1000000 global_offset=0 trace_length=100\n" + strings.TrimPrefix(head, "-- definitions --\n")
			src, err := tracetest.Parse(head + "0 0 ENTER main\n" + c.events + "0 90 LEAVE main\n1 0 ENTER main\n1 90 LEAVE main\n")
			if err != nil {
				t.Fatal(err)
			}
			l, borders := loadFirst(t, src, c.f)
			if d := cmp.Diff(c.want, executionsOf(l, borders)); d != "" {
				t.Errorf("executions (-want +got):\n%s", d)
			}
			checkBorders(t, l, borders)
			var found []string
			for _, code := range l.Diagnostics.Codes {
				if code.Code != trace.DiagOpenCall {
					found = append(found, code.Code.String())
				}
			}
			if got := strings.Join(found, " "); got != c.diags {
				t.Errorf("diagnostics %q, want %q", got, c.diags)
			}
		})
	}
}
