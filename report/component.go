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

// process joins the items of a process's locations: time runs from the first
// to the last event of all, times by class are those of the first location,
// the one that calls MPI; counts add up. A recorder of metrics adds events only.
func (r *Run) process(x trace.Process) (vector, error) {
	var sum vector
	begun := false
	for i := range trace.P(x.Count) {
		v, err := r.components(x.First + i)
		if err != nil {
			return sum, err
		}
		switch {
		case v[xtf.ItemEvents] == 0:
			continue
		case r.Defs.Location(x.First+i).Type == trace.MetricLocation:
			sum[xtf.ItemEvents] += v[xtf.ItemEvents]
			continue
		}
		first, last := v[xtf.ItemFirst], v[xtf.ItemLast]
		if begun {
			first, last = min(first, sum[xtf.ItemFirst]), max(last, sum[xtf.ItemLast])
		}
		begun = true
		if i == 0 {
			copy(sum[:xtf.ItemSendRecv], v[:xtf.ItemSendRecv])
		}
		for k := xtf.ItemSendRecv; k < xtf.ItemFirst; k++ {
			sum[k] += v[k]
		}
		sum[xtf.ItemFirst], sum[xtf.ItemLast] = first, last
	}
	sum[xtf.ItemTime] = sum[xtf.ItemLast] - min(sum[xtf.ItemFirst], sum[xtf.ItemLast])
	sum[xtf.ItemCPU] = sum[xtf.ItemTime] - min(sum[xtf.ItemTime], sum[xtf.ItemMPI]+sum[xtf.ItemMarker]+sum[xtf.ItemIO])
	return sum, nil
}

// mostUseful is the largest time outside MPI and markers of a process.
func (r *Run) mostUseful() (uint64, error) {
	most := uint64(0)
	for _, x := range r.Defs.Processes() {
		v, err := r.process(x)
		if err != nil {
			return 0, err
		}
		most = max(most, v[xtf.ItemCPU]+v[xtf.ItemIO])
	}
	return most, nil
}
