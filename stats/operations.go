package stats

import "github.com/coppice-hpc/coppice/stats/match"

// operations collects the messages, collectives and notices of the location, for match.Entries.
type operations struct {
	at      *location
	regions *regionSums
	ledger  *ledger
	markers *markers

	posting  uint64 // number of the next posting
	pending  []pendingOp
	ended    int             // number of pending ones that have ended
	done     []doneSend      // sends that complete in the current MPI call
	begun    beginning       // of a collective
	lastColl uint64          // T of the newest COLL row
	canceled map[uint64]bool // postings of canceled sends
	entries  match.Entries
	late     match.LateSends
	stays    stays

	locks  requests            // locks of windows that are held, see acquired
	asked  []uint64            // locks that the current call requested, see requested
	groups map[uint32][]uint32 // processes of groups, see synchronisedAll
}

// beginning is the last MpiCollectiveBegin.
type beginning struct {
	t   uint64
	set bool // no end has used it yet
}

// pendingOp is an operation that waits for the end of the current MPI call, or of the marker in progress.
type pendingOp struct {
	match.Key
	match.Operation
	locked *locked // of a release
}

// doneSend is a send that completes in the current MPI call.
type doneSend struct {
	row  uint64
	path uint32
}

// again returns the operations of another location, and reuses the memory.
func (o *operations) again() operations {
	return operations{pending: o.pending[:0], done: o.done[:0], entries: o.entries, late: o.late, stays: o.stays}
}

func (o *operations) begin(a *location, regions *regionSums, g *ledger, m *markers) {
	o.at, o.regions, o.ledger, o.markers = a, regions, g, m
	o.entries.Reset(uint32(a.p), a.out.Scratch)
	o.late, o.stays = match.LateSends{Stream: o.late.To(a.out.Late)}, stays{Stream: o.stays.To(a.out.Stays)}
}

// stays writes the location's stays in MPI: outermost MPI calls in which messages make progress and that begin while a request is open.
// The sender of a message whose receive is posted may wait for one.
type stays struct {
	match.Stream
	n    uint64 // begun so far
	open bool
}

// beginStay begins a stay with an outermost MPI call, if that is one.
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
