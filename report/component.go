package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// vector is the items of a location or process, from COMP rows of node 0.
type vector [xtf.NumItems]uint64

// components reads the items of location p.
func (r *Run) components(p trace.P) (vector, error) {
	var v vector
	err := r.rows(xtf.Proc(p), xtf.TypeComp, func(row []byte) {
		key := xtf.U64(row, 0)
		if key < uint64(xtf.NumItems) { // node 0
			v[key] = xtf.U64(row, 8)
		}
	})
	if err != nil {
		return v, fmt.Errorf("%s: location %d: components: %w", r.Name, r.Defs.Location(p).Ref, err)
	}
	return v, nil
}

// mostUseful is the largest time outside MPI and markers of a process.
func (r *Run) mostUseful() (uint64, error) {
	most := uint64(0)
	for rank, p := range r.Defs.Processes() {
		x, err := r.processItems(uint32(rank), p)
		if err != nil {
			return 0, err
		}
		most = max(most, x.useful(0))
	}
	return most, nil
}
