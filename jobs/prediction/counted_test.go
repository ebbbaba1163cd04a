package prediction

import (
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
)

type noCalc struct{}

func (noCalc) Fill(uint32, uint64, []int64) error { return nil }

// TestCounted: entries count once, skipped ones too, those of processes of other ranks and of a second look not at all.
func TestCounted(t *testing.T) {
	c := &countedCalc{Calc: noCalc{}, meter: jobs.NewMeter(mpi.Serial(), nil), first: 2, taken: make([]uint64, 2)}
	for _, x := range []struct {
		process uint32
		first   uint64
		untold  uint64
	}{{3, 0, 0}, {3, 10, 80}, {3, 4, 80}, {1, 100, 80}, {4, 100, 80}, {3, 1000, 8000}, {2, 4, 0}, {3, 1001, 8}} {
		if err := c.Fill(x.process, x.first, nil); err != nil || c.untold.Load() != x.untold {
			t.Errorf("process %d at entry %d: %d bytes are not told, want %d (%v)", x.process, x.first, c.untold.Load(), x.untold, err)
		}
	}
}
