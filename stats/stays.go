package stats

import (
	"github.com/coppice-hpc/coppice/stats/match"
)

// stays are the calls in which messages of the location make progress and that begin
// while a request is open: the stays in MPI that the sender of a posted receive may
// wait for.
type stays struct {
	match.Stream
	n    uint64 // that have begun
	open bool
}

// beginStay and endStay take the borders of an outermost MPI call.
func (o *operations) beginStay(index int) {
	if o.stays.open = o.at.requests.n > 0 && o.at.t.progress[index]; o.stays.open {
		o.stays.n++
	}
}

func (o *operations) endStay() {
	if o.stays.open {
		o.stays.Add(o.at.mpi.enter, o.at.now)
	}
	o.stays.open = false
}
