package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// fileOperation is a line of testdata/files.c: an operation on a file, with the bytes that MPI_Get_elements tells, and with the
// offset of its call, -1 for none.
type fileOperation struct {
	Rank          int
	Call          string
	Bytes, Offset int64
}

// TestFiles records calls on files, also such as end later or fail, from C and from Fortran: the operations, in their order, with
// their bytes and offsets, are those that the program noted.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		for file, opened := range map[string]uint64{"files.c": 4, "files.f90": 1} {
			t.Run(l.cc+"/"+file, func(t *testing.T) { l.files(t, file, opened) })
		}
	}
}

func (l *library) files(t *testing.T, file string, opened uint64) {
	t.Helper()
	const ranks = 3
	raw, printed, err := l.attempt(t, ranks, "", nil, l.compileProgram(t, file), t.TempDir())
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	analyzed(t, raw)
	want := make([][]string, ranks)
	for line := range strings.Lines(printed) {
		var x fileOperation
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		want[x.Rank] = append(want[x.Rank], fmt.Sprintf("%s: %d bytes at %d", x.Call, x.Bytes, x.Offset))
	}
	have, counts := filesOf(t, raw, ranks)
	for rank, list := range want {
		if len(list) == 0 || !slices.Equal(have[rank], list) {
			t.Errorf("process %d: recorded\n%s\nthe program did\n%s", rank, strings.Join(have[rank], "\n"), strings.Join(list, "\n"))
		}
		got := counts[rank]
		expected := map[string]uint64{"opened": opened, "closed": opened, "deleted": uint64(max(1-rank, 0)), "issued": got["later"], "open": 0}
		if file == "files.c" { // the shared position is set from the beginning, and a view sets it
			expected["flushed"], expected["sought"], expected["in the view"] = 2, 16, uint64(2*(rank*4000+3*16))
		}
		for name, n := range expected {
			if got[name] != n {
				t.Errorf("process %d: %d %s, want %d: %v", rank, got[name], name, n, got)
			}
		}
	}
}

// filesOf returns the operations on files of each process, and counts of other events.
func filesOf(t *testing.T, raw string, ranks int) (operations [][]string, counts []map[string]uint64) {
	operations = make([][]string, ranks)
	type begun struct {
		call   string
		offset int64
		index  int
	}
	var all []map[uint64]begun
	known := map[string]int{} // processes are told apart by their counts
	at := func(count map[string]uint64) int {
		key := fmt.Sprintf("%p", count)
		if _, ok := known[key]; !ok {
			known[key] = len(all)
			all = append(all, map[uint64]begun{})
		}
		return known[key]
	}
	counts = tally(t, raw, func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
		rank := at(count)
		switch e.Kind {
		case trace.IoCreateHandle:
			count["opened"]++
		case trace.IoDestroyHandle:
			count["closed"]++
		case trace.IoDeleteFile:
			count["deleted"]++
		case trace.IoSeek:
			count["sought"]++
			if w[2] == 1 && int64(w[1]) >= 0 { // forward
				count["in the view"] += w[3]
			}
		case trace.IoOperationIssued:
			count["issued"]++
		case trace.IoOperationBegin:
			if w[1] == 2 {
				count["flushed"]++
				return
			}
			if w[2]&1 != 0 {
				count["later"]++
			}
			if collective := w[2]&2 != 0; collective != (strings.Contains(name, "_all") || strings.Contains(name, "_ordered")) {
				t.Errorf("%s: flags %d", name, w[2])
			}
			if wrote := w[1] == 1; wrote != strings.Contains(name, "write") {
				t.Errorf("%s: mode %d", name, w[1])
			}
			b := begun{call: name, offset: -1, index: len(operations[rank])}
			if e.Flags&trace.HasAttributes != 0 {
				b.offset = int64(w[7])
			}
			count["open"]++
			all[rank][w[4]] = b
			operations[rank] = append(operations[rank], "not complete")
		case trace.IoOperationComplete:
			if b, ok := all[rank][w[2]]; ok {
				operations[rank][b.index] = fmt.Sprintf("%s: %d bytes at %d", b.call, w[1], b.offset)
				count["open"]--
				delete(all[rank], w[2])
			}
		}
	})
	return operations, counts
}
