package analyze_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// copyArchive copies the files below from to a new folder.
func copyArchive(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestDamagedInput cuts and flips every file of an archive. The job must end
// with a named error of the input, or with a file whose event count is right or
// that says what is wrong.
func TestDamagedInput(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	src := jobtest.Generated(t, "ring:procs=3,events=300,broken=open-call+stray-leave")
	if _, err := otf2.Copy(whole, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	all, graph := analyze.Options{}, analyze.Options{GraphOnly: true}
	good, goodGraph := runDamaged(t, whole, all), runDamaged(t, whole, graph)
	if good.err != nil || goodGraph.err != nil {
		t.Fatal(good.err, goodGraph.err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, name := range jobtest.FilesOf(t, whole) {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(whole, name))
			if err != nil {
				t.Fatal(err)
			}
			dir := copyArchive(t, whole)
			file := filepath.Join(dir, name)
			step := max(1, len(b)/40)
			if testing.Short() {
				step = max(1, len(b)/10)
			}
			for i, at := 0, 0; at < len(b); i, at = i+1, at+step {
				good, o := good, all
				if i%2 == 1 {
					good, o = goodGraph, graph
				}
				jobtest.Write(t, file, b[:at])
				checkDamaged(t, fmt.Sprintf("cut at %d", at), good, runDamaged(t, dir, o))
				flipped := append([]byte(nil), b...)
				flipped[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
				jobtest.Write(t, file, flipped)
				checkDamaged(t, fmt.Sprintf("flip %d", at), good, runDamaged(t, dir, o))
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			checkDamaged(t, "removed", good, runDamaged(t, dir, all))
		})
	}
}

type outcome struct {
	err     error
	events  uint64
	partial bool
	codes   int
}

func runDamaged(t *testing.T, dir string, o analyze.Options) outcome {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run.xtf")
	o.Trace, o.Output, o.StoreBytes = filepath.Join(dir, "traces.otf2"), out, 1<<20
	r, err := jobtest.Analyze(2, o)
	if err != nil {
		if _, err := os.Stat(out); err == nil {
			t.Error("a failed run left a file under the final name")
		}
		return outcome{err: err}
	}
	return outcome{nil, r.Events, r.Partial, len(r.Codes)}
}

func checkDamaged(t *testing.T, what string, good, got outcome) {
	t.Helper()
	if got.err != nil {
		if c := jobs.ExitCode(got.err); c != jobs.ExitInput {
			t.Errorf("%s: exit code %d: %v", what, c, got.err)
		}
		return
	}
	if got.events != good.events && !got.partial && got.codes <= good.codes {
		t.Errorf("%s: %d events instead of %d and nothing said", what, got.events, good.events)
	}
}
