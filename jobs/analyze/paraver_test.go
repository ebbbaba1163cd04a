package analyze_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace/paraver"
)

// TestParaverAgainstOracle compares the analysis of real Paraver traces with the
// slow computation: intervals, waits, their causes, ideal network.
func TestParaverAgainstOracle(t *testing.T) {
	for _, name := range []string{"epoch_1proc", "epoch_2proc", "epoch_4proc"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "epoch_1proc" {
				t.Skip("one of the three is enough with -short")
			}
			path := filepath.Join("..", "..", "..", "shared", "traces", "paraver", "epoch", name+".prv.gz")
			if _, err := os.Stat(path); err != nil {
				t.Skip("no " + filepath.Base(path) + " in ../shared/traces/paraver next to the repository")
			}
			files, err := paraver.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			src, err := paraver.Open(files)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			checkAgainstOracle(t, src, analyze.Options{}, oracle.Options{}, 1, 3)
		})
	}
}
