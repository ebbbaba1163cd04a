package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// markerTrace has calls of one process, each of one tick: s is one message to
// oneself with that tag, S and R are the two sides of one in calls of their own.
func markerTrace(t *testing.T, calls ...string) trace.Source {
	t.Helper()
	var b strings.Builder
	b.WriteString("-- program --\nprocesses 2\nresolution 1000000\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n1 99 LEAVE main\n")
	at := 10
	for _, c := range calls {
		kind, tag := c[0], c[1:]
		send, receive := "MPI_SEND 0 MPI_COMM_WORLD "+tag+" 0", "MPI_RECV 0 MPI_COMM_WORLD "+tag+" 0"
		region := map[byte]string{'s': "MPI_Sendrecv", 'S': "MPI_Send", 'R': "MPI_Recv", 'b': "MPI_Barrier", 'f': "f"}[kind]
		fmt.Fprintf(&b, "0 %d ENTER %s\n", at, region)
		if kind == 's' || kind == 'S' {
			fmt.Fprintf(&b, "0 %d %s\n", at, send)
		}
		if kind == 's' || kind == 'R' {
			fmt.Fprintf(&b, "0 %d %s\n", at+1, receive)
		}
		fmt.Fprintf(&b, "0 %d LEAVE %s\n", at+1, region)
		at += 2
	}
	fmt.Fprintf(&b, "0 %d LEAVE main\n", at)
	src, err := tracetest.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestMarkerRows looks for the flags of marker calls and their messages in the
// file, also of those that are known as markers only after their end.
func TestMarkerRows(t *testing.T) {
	const raw, begin, end = "2852127146", "10922", "10939" // raw: id 1
	for _, c := range []struct {
		name     string
		calls    []string
		o        interval.Flags
		want     string // M for each call that is a marker, . for others, in order
		messages string // the same for messages
	}{
		{"raw", []string{"s" + raw, "s7"}, interval.Flags{}, "M.", "MM.."},
		{"raw in two calls", []string{"S" + raw, "R" + raw, "S7", "R7"}, interval.Flags{}, "MM..", "MM.."},
		{"raw, received later", []string{"S" + raw, "f", "R" + raw}, interval.Flags{}, "M..", "M."},
		{"portable", []string{"s" + begin, "s7", "s7", "s" + end, "s7"}, interval.Flags{}, "MM.MM", "MMMM..MMMM"},
		{"portable in four calls", []string{"S" + begin, "R" + begin, "S7", "R7", "b"}, interval.Flags{}, "MMMM.", "MMMM"},
		{"half", []string{"s" + begin, "b", "s7"}, interval.Flags{}, "...", "...."},
		{"half in two calls", []string{"S" + begin, "R" + begin, "f", "s7"}, interval.Flags{}, "....", "...."},
		{"half at the end", []string{"b", "s" + begin}, interval.Flags{}, "..", ".."},
		{"half, then raw", []string{"s" + begin, "s" + raw}, interval.Flags{}, ".M", "..MM"},
		{"ordinary calls", []string{"s" + begin, "s7", "s" + raw}, interval.Flags{MarkerCost: "mpi"}, "...", "......"},
		{"no markers", []string{"s" + begin, "s7", "s" + raw}, interval.Flags{Markers: "none"}, "...", "......"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := analyzed(t, 1, analyze.Options{Source: markerTrace(t, c.calls...), StoreBytes: 1 << 20, Intervals: c.o})
			f := openBytes(t, file)
			defer f.Close()
			var calls, messages string
			mark := func(s *string, on bool) {
				*s += map[bool]string{true: "M", false: "."}[on]
			}
			rowsOf(t, f, 0, xtf.TypeCall, func(n uint64, row []byte) {
				var x xtf.Call
				if x.Load(row); n > 0 {
					mark(&calls, x.Flags&xtf.FlagMarker != 0)
				}
			})
			rowsOf(t, f, 0, xtf.TypeP2P, func(_ uint64, row []byte) {
				var x xtf.P2P
				x.Load(row)
				mark(&messages, x.Kind&xtf.P2PMarker != 0)
			})
			if d := cmp.Diff([]string{c.want, c.messages}, []string{calls, messages}); d != "" {
				t.Errorf("markers (-want +got):\n%s", d)
			}
		})
	}
}

// TestSidecarFile reads intervals from a file on rank 0.
func TestSidecarFile(t *testing.T) {
	src := markerTrace(t, "b", "s7")
	name := filepath.Join(t.TempDir(), "intervals.csv")
	if err := os.WriteFile(name, []byte("0,5,12,7,a\n*,0,13,8,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := analyze.Options{Source: src, StoreBytes: 1 << 20, IntervalsFile: name}
	file := analyzed(t, 1, o)
	if !bytes.Equal(file, analyzed(t, 3, o)) {
		t.Error("3 ranks make another file than 1")
	}
	f := openBytes(t, file)
	defer f.Close()
	var got []xtf.Ival
	rowsOf(t, f, 0, xtf.TypeIval, func(_ uint64, row []byte) {
		var x xtf.Ival
		x.Load(row)
		got = append(got, x)
	})
	want := []xtf.Ival{{T: 0, End: 14, Flags: xtf.IvalWhole}, {T: 0, End: 13, Node: 1}, {T: 5, End: 12, Node: 2}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("executions (-want +got):\n%s", d)
	}

	o.Output = filepath.Join(t.TempDir(), "run.xtf")
	o.IntervalsFile = name + "x"
	if _, err := jobtest.Analyze(2, o); !errors.Is(err, fs.ErrNotExist) || jobs.ExitCode(err) != jobs.ExitInput {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(name, []byte("0,5,12\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.IntervalsFile = name
	if _, err := jobtest.Analyze(2, o); !errors.Is(err, interval.ErrOption) || jobs.ExitCode(err) != jobs.ExitUsage || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a bad file: %v", err)
	}
}
