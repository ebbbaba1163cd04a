package match

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Unit is a loaded location of this rank, as matching needs it.
type Unit struct {
	P      trace.P
	Peers  []PeerRange
	Sorted Stored // what stats.Outputs.Sorted got
	Late   Stored // what stats.Outputs.Late got
	Stays  Stored // what stats.Outputs.Stays got; nil for none

	P2PRows, CollRows uint64 // as in Loaded
}

// PeerRange is the run of a location's channel entries with one peer, or of its
// collectives on one communicator. Memory: 32 bytes.
type PeerRange struct {
	Peer  uint32 // process; trace.Undefined for collectives and for unknown peers
	Comm  uint32 // of collectives
	Coll  bool
	Locks bool   // there are releases of locks
	At    uint64 // byte of the entries at which they begin
	Count uint64
	Sends uint64
}

// Stored is what a sink got.
type Stored interface {
	io.ReaderAt
	Size() int64
}

// Scratch is a sink whose content nobody needs after Drop.
type Scratch interface {
	xtf.Sink
	Size() int64
	Drop()
}

// Options is what Match works with.
type Options struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range // the locations of each rank, known to all
	Units   []Unit            // this rank's, ascending P
	Scratch func() Scratch    // storage for results, and for entries of processes with several locations

	// RoundInstances and PrefixMembers bound what is in memory of collectives; 0 for the constants of these names.
	RoundInstances, PrefixMembers uint64
}

// Report counts what matching cost on this rank. It goes to logs, never
// into files.
type Report struct {
	Messages    uint64 // pairs found by this rank, which holds the receiver
	Remote      uint64 // of them, whose sender is on another rank
	Collectives uint64 // instances reduced by this rank
	Rounds      uint64 // of collectives
	Pairs       Traffic
	Members     Traffic // of collectives
}

// Traffic is what a rank sent to others: messages, a collective call counting one
// for each rank that gets something, and their bytes.
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
	sources    []source // processes at home here, ascending
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

// takeLate takes what the load found out about rows of sends after their calls.
func (m *matcher) takeLate() {
	for _, u := range m.Units {
		m.fail(eachLate(u.Late, func(r *result) {
			r.p = uint32(u.P)
			m.fail(m.results.add(r))
		}))
	}
}

// scratch returns storage that is given back when all is matched.
func (m *matcher) scratch() Scratch {
	s := m.Scratch()
	m.scratches = append(m.scratches, s)
	return s
}

// fail keeps the first error; the rank goes on taking part in the exchange so
// that nobody waits for it.
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

// deliverLone stores the row of a message without a mate. One that was canceled has no place in the channel.
func (m *matcher) deliverLone(e *entry, seq *sequence, flags uint32) {
	r := result{p: e.p, row: e.Row, kind: resultMate, mateP: unknown, mateN: xtf.Never, t: xtf.Never, a: xtf.Never, b: xtf.Never, c: xtf.Never, flags: flags, of: e}
	if e.Flags&entryCanceled == 0 {
		r.a = seq.next(e)
	}
	m.deliver(&r)
}

// matchUnknown gives operations with an unknown peer their place in the channel.
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

// sequence counts the entries of each channel of a sorted run.
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
