package match

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Unit is what Match needs of a loaded location of this rank.
type Unit struct {
	P      trace.P
	Peers  []PeerRange
	Sorted Stored // what Entries wrote
	Late   Stored // what LateSends wrote
	Stays  Stored // spans of time in MPI, see stayReader; nil for none

	P2PRows, CollRows uint64 // numbers of rows
}

// PeerRange is the run of a location's channel entries with one peer, or of its
// collectives on one communicator. Memory: 32 bytes.
type PeerRange struct {
	Peer  uint32 // process; trace.Undefined for collectives and for unknown peers
	Comm  uint32 // of collectives
	Coll  bool
	Locks bool   // there are releases of locks
	At    uint64 // offset of the first one's block in all entries, bytes
	Count uint64
	Sends uint64
}

// Stored is data that was appended to a sink.
type Stored interface {
	io.ReaderAt
	Size() int64
}

// Scratch is temporary storage. Drop frees it.
type Scratch interface {
	xtf.Sink
	Size() int64
	Drop()
}

// Options are the inputs of Match.
type Options struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range // the locations of each rank, known to all
	Units   []Unit            // this rank's, ascending P
	Scratch func() Scratch    // storage for results, and for entries of processes with several locations

	// RoundInstances and PrefixMembers bound the collective operations in memory; 0 stands for the constants of these names.
	RoundInstances, PrefixMembers uint64
}

// Report counts what matching cost on this rank. It goes to logs, never
// into files.
type Report struct {
	Messages    uint64 // matched pairs whose receiver is on this rank
	Remote      uint64 // those of them whose sender is on another rank
	Collectives uint64 // instances reduced by this rank
	Rounds      uint64 // of collectives
	Pairs       Traffic
	Members     Traffic // of collectives
}

// Traffic counts what a rank sent to others. A collective call counts as one message to each rank that gets data.
type Traffic struct {
	Messages, Bytes uint64
}

func (t *Traffic) add(b []byte) {
	t.Messages++
	t.Bytes += uint64(len(b))
}

// matcher is the state of one rank.
type matcher struct {
	Options
	rank, size int
	sources    []source // the processes whose home is this rank, ascending
	homes      partition.Homes
	stays      map[uint32]*stayReader // of the locations of sources
	foreign    []foreign              // results for locations of other ranks
	zip        zipBuffers
	results    *Results
	scratches  []Scratch
	report     Report
	err        error
}

// unknown is the location of a partner that does not exist.
const unknown = trace.Undefined

// Match joins the channel entries of all ranks and returns the results for the rows of this
// rank's locations. Collective: every rank returns the same error, or nil.
func Match(o Options) (*Results, Report, error) {
	m := &matcher{Options: o, rank: o.Comm.Rank(), size: o.Comm.Size(), stays: map[uint32]*stayReader{}}
	if m.RoundInstances == 0 {
		m.RoundInstances, m.PrefixMembers = roundInstances, prefixMembers
	}
	m.homes = partition.NewHomes(o.Defs, o.Ranges, m.rank)
	defer func() {
		for _, s := range m.scratches {
			s.Drop()
		}
	}()
	m.fail(m.collectSources())
	if err := o.Comm.Agree(m.err); err != nil {
		return nil, m.report, err
	}
	m.results = newResults(o.Units, o.Scratch)
	m.takeLate()
	m.matchUnknown()
	m.exchangeMessages()
	m.fail(m.matchLocks())
	cs := collectives{m: m}
	cs.matchCollectives()
	m.returnForeign()
	if err := o.Comm.Agree(m.err); err != nil {
		return nil, m.report, err
	}
	return m.results, m.report, nil
}

// takeLate makes results of what LateSends wrote.
func (m *matcher) takeLate() {
	for _, u := range m.Units {
		m.fail(eachLate(u.Late, func(r *result) {
			r.p = uint32(u.P)
			m.fail(m.results.add(r))
		}))
	}
}

// scratch returns storage that Match drops when it returns.
func (m *matcher) scratch() Scratch {
	s := m.Scratch()
	m.scratches = append(m.scratches, s)
	return s
}

// fail keeps the first error. The rank still takes part in all exchanges, so that no other rank waits for it in vain.
func (m *matcher) fail(err error) {
	if m.err == nil && err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
}

// deliver stores a result for a row of location r.p.
func (m *matcher) deliver(r *result) {
	for i := range m.foreign {
		if f := &m.foreign[i]; trace.P(r.p) >= f.locations.First && trace.P(r.p) < f.locations.End {
			m.fail(f.add(r))
			return
		}
	}
	m.fail(m.results.add(r))
}

// deliverLone stores the result of a message without a mate. A canceled send does not count in the sequence of its channel.
func (m *matcher) deliverLone(e *entry, seq *sequence, flags uint32) {
	r := result{p: e.p, row: e.Row, kind: resultMate, mateP: unknown, mateN: xtf.Never, t: xtf.Never, a: xtf.Never, b: xtf.Never, c: xtf.Never, flags: flags, of: e}
	if e.Flags&entryCanceled == 0 {
		r.a = seq.next(e)
	}
	m.deliver(&r)
}

// matchUnknown delivers the operations whose peer is unknown, numbered by channel.
func (m *matcher) matchUnknown() {
	for i := range m.sources {
		s := &m.sources[i]
		for _, r := range s.tail() {
			if r.Coll {
				continue
			}
			var seq sequence
			m.eachEntry(s, &r, func(e *entry) {
				m.deliverLone(e, &seq, 0)
			})
		}
	}
}

// sequence numbers the entries of each channel, in sorted entries.
type sequence struct {
	channel Key
	n       uint64
}

// next returns the place of an entry in its channel.
func (s *sequence) next(e *entry) uint64 {
	if s.channel != e.Key {
		*s = sequence{channel: e.Key}
	}
	s.n++
	return s.n - 1
}
