package dataflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// ErrBudget says that values which wait to be taken need more memory than
// Options.Budget.
var ErrBudget = errors.New("dataflow: values under way exceed their budget")

// Options is what Run works with. All but Walkers and Rows of a rank are the
// same on all ranks.
type Options struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range // the locations of each rank
	Walkers []Walker          // of this rank's locations, in order
	Span    uint64            // the greatest position, see Port.Reach
	Rows    uint64            // about how many values the locations of this rank get
	Budget  int64             // bytes for values that wait, per rank; 0: defaultBudget
}

const defaultBudget = 64 << 20

// Report says what a pass did. Counts of a rank are for logs; Deadlock is the
// same on all ranks.
type Report struct {
	Deadlock *Deadlock // nil if every location came to its end
	Walks    uint64    // calls of Walk
	Values   uint64    // values for locations of other ranks
	Parts    uint64    // parts of collectives to other ranks
	Messages uint64    // sent
	Bytes    uint64    // sent
	Windows  uint64
	Cuts     uint64 // of a window, because too much waited on this rank
	Waves    uint64 // of counts, to find that nobody can go on
	Peak     int64  // bytes of waiting values at most
}

type state uint8

const (
	runnable state = iota
	waiting
	throttled // by the window
	ended
)

// place is a location of this rank.
type place struct {
	walker Walker
	at     uint64 // position of its operation
	box    box    // what it waits for
	from   trace.P
	state  state
}

func (s *place) wait(b box, from trace.P) { s.state, s.box, s.from = waiting, b, from }

// engine is a pass on one rank. It belongs to one goroutine.
type engine struct {
	o      Options
	c      mpi.Comm
	rank   int
	own    trace.P // first location here
	places []place
	queue  []int // places that can go on
	mail   mailbox
	bytes  int64 // of instances
	comms  map[uint32]*members
	active map[instanceKey]*instance
	out    exchange
	wave   wave
	end    uint64 // last position of the window
	opened uint64 // on rank 0: what end was when the window was opened
	start  uint64 // on rank 0: its first position
	steps  uint64 // calls of Reach
	hold   int64  // bytes that wait at which the window is cut, see cut
	base   int64  // bytes that waited when the window was opened
	window uint64 // agreed width of a window, on rank 0
	report Report
	err    error
}

// Run runs the walkers of all ranks to their end, or to where none can go on.
// Collective: all ranks return the same error.
func Run(o Options) (*Report, error) {
	c, err := o.Comm.Dup()
	if err != nil {
		return nil, err
	}
	e := newEngine(o, c)
	fatal := e.run()
	e.report.Messages, e.report.Bytes = e.out.messages, e.out.bytes
	if fatal != nil {
		return &e.report, fatal
	}
	if err := mpi.AgreeOn(c, e.err, ErrBudget); err != nil {
		return &e.report, errors.Join(err, c.Free())
	}
	if e.report.Deadlock, err = e.deadlock(); err != nil {
		return &e.report, err
	}
	return &e.report, c.Free()
}

func newEngine(o Options, c mpi.Comm) *engine {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	e := &engine{
		o: o, c: c, rank: c.Rank(),
		comms: make(map[uint32]*members), active: make(map[instanceKey]*instance),
	}
	e.out = newExchange(c, o.Budget)
	e.wave = newWave(c.Rank(), c.Size())
	if len(o.Ranges) != c.Size() || len(o.Walkers) != o.Ranges[e.rank].Len() {
		e.err = fmt.Errorf("dataflow: %d walkers for rank %d of %d ranges", len(o.Walkers), e.rank, len(o.Ranges))
		return e
	}
	e.own = o.Ranges[e.rank].First
	e.places = make([]place, len(o.Walkers))
	for i, w := range o.Walkers {
		e.places[i].walker = w
		e.queue = append(e.queue, i)
	}
	return e
}

// run works until the pass is over everywhere. Its error is one of the
// communicator; others are kept in e.err while the rank takes part.
func (e *engine) run() error {
	if err := e.begin(); err != nil {
		return err
	}
	for !e.wave.over {
		if err := e.turn(); err != nil {
			return err
		}
		if got, err := e.receive(false); got || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := e.passive(); err != nil {
			return err
		}
	}
	return e.out.finish()
}

// begin agrees on the first window: an eighth of the budget of the rank with most
// rows, if rows were spread evenly.
func (e *engine) begin() error {
	rows := []int64{int64(min(e.o.Rows, math.MaxInt64))}
	if err := e.c.AllreduceInt64(rows, mpi.Max); err != nil {
		return err
	}
	parts := uint64(rows[0])/max(1, uint64(e.o.Budget)/(8*waitBytes)) + 1
	e.window = e.o.Span/parts + 1
	e.end, e.opened = e.window, e.window
	e.hold = e.o.Budget / 4
	e.report.Windows = 1
	return nil
}

// turn lets every location that can go on do so, until none can.
func (e *engine) turn() error {
	for len(e.queue) > 0 && e.err == nil {
		batch := e.queue
		e.queue = nil
		for _, n := range batch {
			e.walk(n)
		}
		if e.queue == nil {
			e.queue = batch[:0]
		}
		if err := e.out.flushAll(); err != nil {
			return err
		}
		for {
			got, err := e.receive(false)
			if err != nil {
				return err
			}
			if !got {
				break
			}
		}
	}
	return e.out.flushAll()
}

// walk lets a location go on.
func (e *engine) walk(n int) {
	s := &e.places[n]
	if e.err != nil || s.state != runnable {
		return
	}
	e.report.Walks++
	e.pace()
	x := Port{e, e.own + trace.P(n), n}
	end, err := s.walker.Walk(&x)
	switch {
	case err != nil:
		e.fail(err)
	case end:
		s.state = ended
	case s.state == runnable:
		e.fail(fmt.Errorf("dataflow: location %d stopped without waiting for anything", x.p))
	}
	e.weigh()
}

func (e *engine) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// paceSteps is how many operations locations do between two looks at what waits
// and what has arrived.
const paceSteps = 256

// pace is called before every operation, so that a location which only gives does
// not run until the end of the window while others cannot follow.
func (e *engine) pace() {
	if e.steps++; e.steps%paceSteps > 0 {
		return
	}
	e.weigh()
	for e.err == nil {
		got, err := e.receive(e.out.tooFar())
		if e.fail(err); !got {
			return
		}
	}
}

// held is what waits here, in bytes.
func (e *engine) held() int64 { return int64(e.mail.n)*waitBytes + e.bytes }

// weigh compares what waits here with the budget.
func (e *engine) weigh() {
	held := e.held()
	e.report.Peak = max(e.report.Peak, held)
	e.wave.peak = max(e.wave.peak, held-e.base)
	if held > e.hold {
		e.cut()
	}
	if held > e.o.Budget {
		e.fail(fmt.Errorf("%w of %d bytes", ErrBudget, e.o.Budget))
	}
}

// cut leaves an eighth of the rest of the window, on all ranks, because too much
// waits here; once more when a sixteenth of the budget more waits.
func (e *engine) cut() {
	e.hold += e.o.Budget / 16
	least := e.end
	for i := range e.places {
		if s := &e.places[i]; s.state != ended {
			least = min(least, s.at)
		}
	}
	e.end = least + (e.end-least)/8
	e.report.Cuts++
	for r := range e.c.Size() {
		if r != e.rank {
			b := append(e.out.to(r), partCut)
			e.fail(e.out.add(r, binary.LittleEndian.AppendUint64(b, e.end)))
		}
	}
	e.fail(e.out.flushAll())
}

// local says whether a location is held here, and its place.
func (e *engine) local(p trace.P) (int, bool) {
	n := int(p) - int(e.own)
	return n, n >= 0 && n < len(e.places)
}

// holder is the rank of a location.
func (e *engine) holder(p trace.P) int {
	return sort.Search(len(e.o.Ranges)-1, func(r int) bool { return e.o.Ranges[r].End > p })
}

// put brings a value to a place.
func (e *engine) put(n int, b box, v uint64) {
	if !e.mail.put(slotKey{uint32(n), b.space, b.key}, v) {
		e.fail(fmt.Errorf("dataflow: location %d gets two values for key %d", e.own+trace.P(n), b.key))
	}
	e.wake(n, b)
}

// wake makes a place runnable if it waited for this value.
func (e *engine) wake(n int, b box) {
	s := &e.places[n]
	if s.state == waiting && s.box == b {
		s.state = runnable
		e.queue = append(e.queue, n)
	}
}
