package synthetic

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// check reports a location that there is not.
func check(d *trace.Definitions, p trace.P) error {
	if int(p) >= d.NumLocations() {
		return fmt.Errorf("synthetic: location %d of %d: %w", p, d.NumLocations(), trace.ErrMissing)
	}
	return nil
}
