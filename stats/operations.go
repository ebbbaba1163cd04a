package stats

import "github.com/coppice-hpc/coppice/stats/match"

// operations are the messages, collectives and notices of the location on their way to their channels.
type operations struct {
	at      *location
	regions *regionSums
	ledger  *ledger
	markers *markers

	posting  uint64 // number of the next posting
	pending  []pendingOp
	ended    int             // of pending, so many have ended
	done     []doneSend      // that complete in the current MPI call
	begun    beginning       // of a collective
	lastColl uint64          // T of the newest COLL row
	canceled map[uint64]bool // postings that match nothing
	entries  match.Entries
	late     match.LateSends
	stays    stays

	locks  requests            // of windows that are held, see acquired
	asked  []uint64            // those that the current call asked for, see requested
	groups map[uint32][]uint32 // processes of the groups that epochs were with, see synchronisedAll
}

// beginning is the last MpiCollectiveBegin.
type beginning struct {
	t   uint64
	set bool // no end has used it yet
}

// pendingOp is an operation that waits for its End, which is that of the current MPI call, or for the end of the marker in progress.
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

// again returns the operations of another location in the memory of these.
func (o *operations) again() operations {
	return operations{pending: o.pending[:0], done: o.done[:0], entries: o.entries, late: o.late, stays: o.stays}
}

func (o *operations) begin(a *location, regions *regionSums, g *ledger, m *markers) {
	o.at, o.regions, o.ledger, o.markers = a, regions, g, m
	o.entries.Reset(uint32(a.p), a.out.Scratch)
	o.late, o.stays = match.LateSends{Stream: o.late.To(a.out.Late)}, stays{Stream: o.stays.To(a.out.Stays)}
}

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
