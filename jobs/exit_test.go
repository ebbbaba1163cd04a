package jobs

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// TestCodesTravel lets one rank of a job fail in a package that knows no exit codes: all ranks return the code of its error.
func TestCodesTravel(t *testing.T) {
	for _, x := range []struct {
		watch Watch
		err   error
		code  int
	}{
		{Watch{}, fmt.Errorf("a column: %w", column.ErrCorrupt), ExitInput},
		{Watch{GiveUp: time.Hour}, fmt.Errorf("a column: %w", column.ErrCorrupt), ExitInput},
		{Watch{}, fmt.Errorf("a file: %w", syscall.EISDIR), ExitInput},
		{Watch{}, fmt.Errorf("a store: %w", xtfwriter.ErrStorage), ExitResource},
		{Watch{}, errors.New("nothing known"), ExitInternal},
	} {
		codes := make([]int, 3)
		err := mpi.RunInProcess(len(codes), func(c mpi.Comm) error {
			w, c := Observe(c, x.watch)
			defer w.Stop()
			var own error
			if c.Rank() == 1 {
				own = x.err
			}
			codes[c.Rank()] = ExitCode(c.Agree(own))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, code := range codes {
			if code != x.code {
				t.Errorf("%v: rank %d has code %d, want %d", x.err, rank, code, x.code)
			}
		}
	}
}
