package record

import (
	"path/filepath"
	"testing"
)

// TestFork records and replays a program with children that it forked: files, logs and vectors are those of the processes alone.
func TestFork(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileProgram(t, "fork.c")
	dir := filepath.Join(t.TempDir(), "run")
	r, _, _ := l.runRecorded(t, Options{Output: dir, Command: l.launch(2, program), Log: LogOptions{Ranks: []int{0, 1}}, CPUTime: true})
	if r.Exit != 0 || len(r.Found) > 0 || len(r.Logs) != 2 {
		t.Fatalf("%+v", r)
	}
	list, _ := l.replayed(t, ReplayOptions{Logs: r.Logs, Command: []string{program}, Original: []string{filepath.Join(dir, vectorFolder)}})
	for i := range list {
		if x := &list[i]; x.End != "finalize" || x.Segments != 5 || len(x.Original) != 1 || x.Original[0].Same != 5 || x.Original[0].Segments != 5 {
			t.Errorf("rank %d: %+v", x.Rank, x)
		}
	}
}
