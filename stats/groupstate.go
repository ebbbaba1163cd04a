package stats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// The rows of a long location may be made by several loaders, each for a group of events, from what one loader that
// counts (Outputs.Counts) knew at the begin of the group. That one passes all events and makes the sums, the executions
// and the channels; the rows take five times as long. It is cut where no MPI call is open and no marker in progress, so that
// no row but those of calls and of file and one-sided operations reaches over the border.

// rowCounts are the rows of arrays that were counted; staged rows count themselves.
type rowCounts struct{ calls, io, rma, metrics uint64 }

// openRowOf opens a row, or counts it; without rows its number is Never.
func (l *Loader) openRowOf(a *xtf.ArrayBuilder, count *uint64) (row []byte, n uint64) {
	switch {
	case l.rows:
		return a.Open()
	case l.numbers:
		*count++
		return nil, *count - 1
	}
	return nil, xtf.Never
}

// skip counts a staged row.
func (l *Loader) skip(s *stage) {
	if l.numbers {
		s.n++
		s.base = s.n
	}
}

// Quiet reports whether a group may end before the next event.
func (l *Loader) Quiet() bool {
	return l.mpi.depth == 0 && len(l.teams) == 0 && l.markers.recognizer.Idle() && len(l.ledger.waiting) == 0
}

// leaveSums makes a new loader one without sums.
func (l *Loader) leaveSums() {
	l.sums, l.bins.last, l.executions.ended, l.markers.fixed = false, xtf.Never, true, nil
}

// State is what the rows of later events need to know of those before.
type State struct {
	Calls, IO, RMA, Metrics uint64 // rows so far
	b                       []byte // all, encoded
}

// Bytes returns the encoded state, for ParseState.
func (s *State) Bytes() []byte { return s.b }

// State returns the state before the next event of a loader that counts and is quiet. Its size is 8 bytes for each open call
// and request, roughly, and 3 for each call path.
func (l *Loader) State() *State {
	c := &l.counted
	s := &State{Calls: c.calls, IO: c.io, RMA: c.rma, Metrics: c.metrics}
	begun := uint64(0)
	if l.begun {
		begun = 1
	}
	s.b = varint.Append(s.b,
		c.calls, c.io, c.rma, c.metrics, l.p2p.n, l.coll.n, l.totals.Events, l.now,
		l.posting, l.begin, begun, l.lastColl, l.mpi.probed, uint64(l.mpi.probe), uint64(l.mpi.asides), l.stays.n,
	)
	s.b = binary.AppendUvarint(s.b, uint64(len(l.stack)))
	for i := range l.stack {
		f := &l.stack[i]
		s.b = varint.Append(s.b, f.enter, f.child, f.n, uint64(f.region), uint64(f.path))
	}
	for _, q := range []*requests{&l.requests, &l.io, &l.rma, &l.locks} {
		s.b = q.appendBinary(s.b)
	}
	s.b = l.paths.AppendBinary(s.b)
	return s
}

func (q *requests) appendBinary(b []byte) []byte {
	var list []request
	q.each(func(r request) { list = append(list, r) })
	slices.SortFunc(list, func(x, y request) int {
		if x.id < y.id {
			return -1
		}
		return 1
	})
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, r := range list {
		b = varint.Append(b, r.id, r.posting, r.post, r.stay, r.row, uint64(r.kind))
	}
	return b
}

var errState = errors.New("damaged state of a location's load")

// ParseState reads what Bytes returned.
func ParseState(b []byte) (*State, error) {
	r := reader{varint.Read(b)}
	s := &State{Calls: r.Next(), IO: r.Next(), RMA: r.Next(), Metrics: r.Next(), b: b}
	if r.Failed() {
		return nil, errState
	}
	return s, nil
}

// NewGroupLoader prepares the load of the events after a state: of rows alone, whose first numbers are those of the state.
// It ends with FinishGroup.
func NewGroupLoader(t *Tables, p trace.P, out Outputs, s *State) (*Loader, error) {
	out.NoSums = true
	l := NewLoader(t, p, out)
	r := reader{varint.Read(s.b)}
	l.counted = rowCounts{r.Next(), r.Next(), r.Next(), r.Next()}
	l.p2p.n, l.coll.n, l.totals.Events, l.now = r.Next(), r.Next(), r.Next(), r.Next()
	l.posting, l.begin, l.begun, l.lastColl = r.Next(), r.Next(), r.Next() != 0, r.Next()
	l.mpi.probed, l.mpi.probe, l.mpi.asides, l.stays.n = r.Next(), uint32(r.Next()), int(r.Next()), r.Next()
	l.p2p.base, l.coll.base = l.p2p.n, l.coll.n
	for n := r.Next(); n > 0 && !r.Failed(); n-- {
		f := frame{enter: r.Next(), child: r.Next(), n: r.Next(), region: uint32(r.Next()), path: uint32(r.Next())}
		f.index = int32(l.regionIndex(f.region))
		l.stack = append(l.stack, f)
	}
	for _, q := range []*requests{&l.requests, &l.io, &l.rma, &l.locks} {
		for n := r.Next(); n > 0 && !r.Failed(); n-- {
			q.add(request{id: r.Next(), posting: r.Next(), post: r.Next(), stay: r.Next(), row: r.Next(), kind: requestKind(r.Next())})
		}
	}
	if r.Failed() {
		return nil, errState
	}
	var err error
	if l.paths, err = callpath.Parse(r.Rest()); err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	for i := range l.stack {
		if int64(l.stack[i].path) >= int64(l.paths.Len()) {
			return nil, errState
		}
	}
	return l, nil
}

// FinishGroup ends the load of a group; last says that no events follow: what is open is closed at the last one.
func (l *Loader) FinishGroup(last bool) error {
	if last {
		l.endCalls()
		l.completeOps(0)
		l.endOperations()
	}
	if err := l.endChannels(&Loaded{}); err != nil {
		return err
	}
	for _, end := range [...]func() error{l.p2p.finish, l.coll.finish, l.late.flush} {
		if err := end(); err != nil && l.err == nil {
			l.err = err
		}
	}
	return l.err
}
