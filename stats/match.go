package stats

import (
	"errors"
	"fmt"
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
	Sorted io.ReaderAt // what Outputs.Sorted got
	Stays  Spans       // what Outputs.Stays got; nil for none
}

// Spans are spans of time, as Outputs has them.
type Spans interface {
	io.ReaderAt
	Size() int64
}

// MatchOptions is what Match works with.
type MatchOptions struct {
	Comm    mpi.Comm
	Tables  *Tables
	Ranges  []partition.Range        // the locations of each rank, known to all
	Units   []Unit                   // this rank's, ascending P
	Results Adder                    // the rank's results, see Outputs.Late
	Scratch func() (xtf.Sink, error) // storage for entries of processes with several locations

	roundInstances, prefixMembers uint64 // of tests; else the constants of these names
}

// MatchReport counts what matching cost on this rank. It goes to logs, never
// into files.
type MatchReport struct {
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
	MatchOptions
	rank, size int
	sources    []source // processes at home here, ascending
	homes      homes
	stays      map[uint32]*stayReader // of the locations of sources
	foreign    []foreign              // results for locations of other ranks
	own        partition.Range
	zip        zipBuffers
	report     MatchReport
	err        error
	row        [resultBytes]byte
}

// unknown is the location of a partner that does not exist.
const unknown = trace.Undefined

// Match joins the channel entries of all ranks and puts a result for every
// entry into the sorter of the rank that holds its location. Collective: every
// rank returns the same error, or nil.
func Match(o MatchOptions) (MatchReport, error) {
	m := matcher{MatchOptions: o, rank: o.Comm.Rank(), size: o.Comm.Size(), stays: map[uint32]*stayReader{}}
	if m.roundInstances == 0 {
		m.roundInstances, m.prefixMembers = roundInstances, prefixMembers
	}
	m.own = o.Ranges[m.rank]
	m.homes = newHomes(o.Tables.Defs, o.Ranges, m.rank)
	m.fail(m.collectSources())
	if err := o.Comm.Agree(m.err); err != nil {
		return m.report, err
	}
	m.matchUnknown()
	m.exchangeMessages()
	m.matchCollectives()
	m.returnForeign()
	if err := o.Comm.Agree(m.err); err != nil {
		return m.report, err
	}
	return m.report, nil
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
	r.put(m.row[:])
	p := trace.P(r.p)
	if p >= m.own.First && p < m.own.End {
		m.fail(m.Results.Add(m.row[:]))
		return
	}
	for i := range m.foreign {
		if f := &m.foreign[i]; p >= f.locations.First && p < f.locations.End {
			m.fail(f.add(m.row[:]))
			return
		}
	}
	m.fail(fmt.Errorf("a result for location %d, which is not at home on rank %d", p, m.rank))
}

// matchUnknown gives operations with an unknown peer their place in the channel.
func (m *matcher) matchUnknown() {
	store := make([]byte, cursorEntries*entryBytes)
	for i := range m.sources {
		s := &m.sources[i]
		for _, r := range s.tail() {
			if r.Coll {
				continue
			}
			c := newCursor(s.data, r.First, r.Count, store)
			var seq sequence
			for {
				row, err := c.peek()
				if m.fail(err); row == nil {
					break
				}
				var e entry
				e.load(row)
				m.deliver(&result{p: e.p, row: e.row, kind: resultMate, mateP: trace.Undefined, mateN: xtf.Never, t: xtf.Never, a: seq.next(row), b: xtf.Never})
				c.take()
			}
		}
	}
}

// sequence counts the entries of each channel of a sorted run.
type sequence struct {
	channel channelID
	n       uint64
	started bool
}

// next returns the place of an entry in its channel.
func (s *sequence) next(row []byte) uint64 {
	if id := channelOf(row); !s.started || s.channel != id {
		*s = sequence{channel: id, started: true}
	}
	s.n++
	return s.n - 1
}
