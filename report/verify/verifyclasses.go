package verify

import (
	"errors"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// classes checks that the classes fit together and are of this run's processes.
func (v *Verified) classes(r *results.Run) error {
	t, err := r.File.Classes()
	if errors.Is(err, xtf.ErrClasses) {
		v.add("CLASS", "%v", err)
		return nil
	}
	if err != nil || t == nil {
		return err
	}
	if n := len(r.Defs.Processes()); len(t.Members) != n {
		v.add("MEMBER", "classes of %d processes, the run has %d", len(t.Members), n)
	}
	return nil
}
