package analyze

import (
	"fmt"
	"io"
	"os"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// planIntervals checks the options of intervals and applies them to the trace. Rank 0 reads the sidecar file, the others get its bytes.
// Collective; the error may be of this rank alone.
func (a *job) planIntervals() error {
	flags := a.o.Intervals
	if a.o.IntervalsFile != "" {
		var err error
		if flags.Sidecar, err = jobs.FromRank(a.c, 0, func() ([]byte, error) { return readSidecar(a.o.IntervalsFile) }); err != nil {
			return err
		}
		if flags.Sidecar == nil {
			flags.Sidecar = []byte{} // nil would mean no file
		}
	}
	o, err := flags.Parse()
	if err == nil {
		a.intervals, err = interval.NewPlan(a.defs, o)
	}
	return err
}

// readSidecar reads the sidecar file, up to one byte more than the size that is accepted.
func readSidecar(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("intervals file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, interval.MaxSidecarBytes+1))
	if err != nil {
		return nil, fmt.Errorf("intervals file: %w", err)
	}
	return b, nil
}
