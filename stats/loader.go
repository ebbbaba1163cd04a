package stats

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Outputs is where the load of one location puts its rows. Arrays are finished
// by the caller after Loader.Finish. With the zero Outputs there are no rows:
// the Loader makes sums and diagnostics only.
type Outputs struct {
	Calls, IO, RMA, Metrics *xtf.ArrayBuilder
	P2P, Coll               xtf.Appender // rows of xtf.P2PRowBytes and xtf.CollRowBytes, for xtf.StagedRows
	Channels, Chan          *xtf.ArrayBuilder
	Sorted                  xtf.Sink       // the channel entries in order, for Match; of a group for AddEntries
	Scratch                 func() Scratch // for those of a long location
	Late                    xtf.Sink       // results for staged rows, for Match
	Borders                 xtf.Sink       // of executions, as interval.Border, in order
	Overhead                xtf.Sink       // when records say that the tracer was busy with itself or off: begin, end u64, little-endian, in order and apart
	Notes                   xtf.Sink       // of what the thread does for others and they for it: trace.ThreadNote
	Stays                   xtf.Sink       // the location's stays in MPI for Match, begin, end u64, little-endian
	// Ends makes callN of P2P and COLL rows the number of the event at which the operation ends: for the repair of clocks,
	// which knows events only.
	Ends bool
	// Counts numbers the rows and leaves it to others to make them, group by group, see State. Of the outputs above there are
	// the borders then, and those of channels where the channel entries come from others too.
	Counts bool
	// NoSums leaves sums, executions and diagnostics to others, who pass the same events with Counts.
	NoSums bool
}

// Loader turns the events of one location into rows, in one pass.
type Loader struct {
	t       *Tables
	p       trace.P
	process uint32
	out     Outputs
	rows    bool // make rows
	numbers bool // count them at least; else sums only
	sums    bool // false for a group of events: its sums are made elsewhere
	counted rowCounts

	stack   []frame
	teams   []team   // innermost last
	moved   []uint64 // numbers of the events to leave out, ascending
	profile []RegionProfile
	bins    binner
	totals  Totals
	diags   trace.Diagnostics
	unread  [256]unread // by kind of record
	samples unread
	seen    uint64 // time of the newest record of a calling context
	spent   uint64 // exclusive times in the profile are complete up to here
	now     uint64 // time of the newest event, ticks since the origin
	event   uint64 // number of the event in hand

	mpi      mpiCall
	p2p      stage
	coll     stage
	requests requests
	io       requests            // open file operations: row is N in the IO array
	rma      requests            // open one-sided operations
	locks    requests            // of windows that are held, see acquired
	groups   map[uint32][]uint32 // processes of the groups that epochs were with, see synchronisedAll
	posting  uint64              // number of the next posting
	pending  []pendingOp
	done     []doneSend      // that complete in the current MPI call
	begin    uint64          // time of the last MpiCollectiveBegin
	begun    bool            // no end has used it yet
	lastColl uint64          // T of the newest COLL row
	canceled map[uint64]bool // postings that match nothing
	entries  entryRuns
	err      error

	ledger     ledger
	executions executions
	markers    markers
	site       uint32 // calling context that is entered, Undefined for none
	wake       uint64 // time of the next event that attend must see before
	paths      *callpath.Tree
	late       rowStream
	sorted     rowStream // memory for entries
	overhead   overheadSpans
	stays      stays
	notes      rowStream
}

// frame is an open call.
type frame struct {
	enter  uint64
	child  uint64 // ticks in called regions
	n      uint64 // row in CALL
	region uint32 // reference
	index  int32  // in Tables.class
	path   uint32
}

// mpiCall is the outermost open MPI call.
type mpiCall struct {
	outermost
	depth   int // open MPI regions
	n       uint64
	region  uint32
	index   int32
	probed  uint64 // enter of the last call before it that is not management without a record, if that was a blocking probe; else Never
	probe   uint32 // the call path of that
	polled  uint64 // leave of the call before it, if that asked for messages in vain; else Never
	asides  int    // open calls outside MPI in states that have sums
	aside   int    // amount of the outermost of them
	path    uint32
	site    uint32 // calling context
	calls   uint64 // before enter
	half    bool   // with the first half of what may be a marker
	part    bool   // with a message of a marker or half of one
	between bool   // with a collective of --between
	told    bool   // with a record of what it does
}

// pendingOp is an operation of the current MPI call; its entry is written when
// the call leaves and its End is known.
type pendingOp struct {
	posting uint64
	row     uint64
	stay    uint64  // of a receive, see request.stay; Never without a request
	locked  *locked // of a release
	coll    bool
}

// doneSend is a send that completes in the current MPI call.
type doneSend struct {
	row  uint64 // staged
	path uint32
}

// NewLoader prepares the load of location p.
func NewLoader(t *Tables, p trace.P, out Outputs) *Loader {
	l := &Loader{t: t}
	l.Reset(p, out)
	return l
}

// Reset prepares the load of another location in the memory of the one before,
// whose Loaded must not be used any more, its Peers excepted.
func (l *Loader) Reset(p trace.P, out Outputs) {
	t := l.t
	process, thread := t.Defs.Process(p)
	bins := newBinner(len(t.class))
	bins.bins.Rows, bins.long = l.bins.bins.Rows[:0], l.bins.long[:0]
	*l = Loader{
		t: t, p: p, process: process, out: out, rows: out.Calls != nil, numbers: out.Calls != nil || out.Counts, sums: true, profile: make([]RegionProfile, len(t.class)), bins: bins,
		p2p:   l.p2p.to(out.P2P, xtf.P2PRowBytes),
		coll:  l.coll.to(out.Coll, xtf.CollRowBytes),
		paths: callpath.New(), late: l.late.to(out.Late), sorted: l.sorted,
		overhead:   overheadSpans{rowStream: l.overhead.to(out.Overhead)},
		stays:      stays{rowStream: l.stays.to(out.Stays)},
		notes:      l.notes.to(out.Notes),
		executions: newExecutions(t.plan, out.Borders), markers: l.markers, ledger: ledger{enterT: xtf.Never, opsT: xtf.Never, queue: l.ledger.queue[:0]},
		stack: l.stack[:0], pending: l.pending[:0], done: l.done[:0], entries: l.entries,
	}
	l.entries.reset(uint32(p), out.Scratch)
	l.mpi.n, l.mpi.probed, l.mpi.polled = xtf.Never, xtf.Never, xtf.Never
	l.mpi.region = trace.Undefined
	l.site = trace.Undefined
	l.markers.reset(t.plan)
	if thread == 0 {
		l.markers.fixed = t.plan.Borders(process)
	}
	if out.NoSums {
		l.leaveSums()
	}
	l.executions.report = func(t uint64, code trace.Code, detail string) {
		l.diags.Add(trace.Diagnostic{Code: code, Time: trace.Time(t), Event: l.event, Detail: detail})
	}
}

// Add processes a batch. Its times must not decrease and not lie before the
// origin.
func (l *Loader) Add(b *trace.Batch) error {
	l.event = b.First
	leaves := l.sums && len(l.moved) == 0
	for i := 0; i < len(b.Events); i++ {
		e := &b.Events[i]
		l.now = uint64(e.Time - l.t.Origin)
		if l.totals.Events == 0 {
			l.totals.First = l.now
		}
		if l.now >= l.wake {
			l.attend(e.Kind, e.Ref)
		}
		l.totals.Events++
		switch e.Kind {
		case trace.Enter:
			if leaves {
				if end, index := l.leafEnd(b, i); end > 0 {
					l.leaf(b, i, end, index)
					i = end
					break
				}
			}
			if len(l.moved) == 0 || !l.isMoved(b, e) {
				l.enter(e.Ref, e.Flags)
			}
		case trace.Leave:
			if len(l.moved) == 0 || !l.isMoved(b, e) {
				l.leave(e.Ref)
			}
		default:
			l.record(b, e)
		}
		l.event++
	}
	l.totals.Last = l.now
	if l.err == nil {
		l.err = l.p2p.err
	}
	if l.err == nil {
		l.err = l.coll.err
	}
	if l.err == nil && l.rows {
		l.err = l.out.Calls.Err()
	}
	return l.err
}

// regionIndex returns the index of the region that a record names in the tables. A record of one without definition
// is counted.
func (l *Loader) regionIndex(ref uint32) int {
	if i, ok := l.t.Defs.RegionIndex(ref); ok {
		return i
	}
	l.diag(trace.DiagBadReference, fmt.Sprintf("region %d", ref))
	return l.t.unknownRegion()
}

// enter begins a call; of the flags of its event it needs trace.Estimated.
func (l *Loader) enter(ref uint32, event uint8) {
	index := l.regionIndex(ref)
	class := l.t.class[index]
	var flags uint32
	if event&trace.Estimated != 0 {
		flags = xtf.FlagEstimated
	}
	if s := l.alone(); s != trace.StateOwn {
		flags |= xtf.States[s].Inside
		l.cut()
	}
	row, n := l.openRowOf(l.out.Calls, &l.counted.calls)
	if l.rows {
		l.out.Calls.At(l.totals.Events - 1)
	}
	path := uint32(0)
	if l.numbers {
		path = l.path(ref)
	}
	if l.sums {
		l.ledger.enter(l.now)
	}
	if class&trace.ClassMPI != 0 {
		if l.mpi.depth == 0 {
			flags |= xtf.FlagOutermostMPI
			l.openMPI(n, ref, index)
			l.mpi.path = path
		}
		l.mpi.depth++
	} else if aside := &xtf.States[l.t.state[index]]; aside.Flag != 0 && l.mpi.depth == 0 {
		if l.mpi.asides == 0 {
			flags |= aside.Flag
			l.cut()
			l.mpi.aside = stateTimes[l.t.state[index]]
		}
		if aside.Inside == 0 {
			l.mpi.asides++
		}
	}
	if l.rows {
		var c xtf.Call // field by field: a composite would be built elsewhere and copied in wider words than it was written
		c.T, c.End, c.Parent, c.Region, c.Depth, c.Class, c.Flags = l.now, xtf.Never, l.innermost(), ref, uint32(len(l.stack)), uint32(class), flags
		c.Put(row)
	}
	if l.sums {
		l.beginSums(int32(index))
	}
	l.markers.entered = len(l.stack)
	l.stack = slices.Grow(l.stack, 1)[:len(l.stack)+1]
	f := &l.stack[len(l.stack)-1]
	f.enter, f.child, f.n, f.region, f.index, f.path = l.now, 0, n, ref, int32(index), path
	if u := l.t.plan.Uses[index]; u != 0 {
		l.used(u, index)
	}
}

func (l *Loader) openMPI(n uint64, ref uint32, index int) {
	l.cut()
	if l.mpi.polled != xtf.Never && l.t.polls[index] && len(l.ledger.waiting) == 0 {
		l.settle(&outermost{enter: l.mpi.polled, leave: l.now, times: 1 << amountPolling})
	}
	l.mpi.site = l.site
	l.mpi.calls = l.ledger.callsBefore(l.now)
	l.mpi.marker, l.mpi.half, l.mpi.part, l.mpi.between, l.mpi.told = false, false, false, false, false
	if l.mpi.counted {
		l.mpi.counted = false
		clear(l.mpi.ops[:])
	}
	l.mpi.enter, l.mpi.n, l.mpi.region, l.mpi.index = l.now, n, ref, int32(index)
	l.beginStay(index)
}

func (l *Loader) leave(ref uint32) {
	top := len(l.stack) - 1
	if top < 0 || l.stack[top].region != ref {
		l.wholeCalls()
		if l.elsewhere() {
			l.leaveOut(1)
			return
		}
		l.regionIndex(ref)
		l.diag(trace.DiagStrayLeave, fmt.Sprintf("region %d", ref))
		return
	}
	if int(l.stack[top].index) == l.t.unknownRegion() {
		l.regionIndex(ref)
	}
	l.close(0)
	if len(l.teams) > 0 {
		l.taskLeft()
	}
}

// close ends the innermost call now.
func (l *Loader) close(flags uint32) {
	top := len(l.stack) - 1
	f := &l.stack[top] // stays as it is until the next enter
	if l.sums {
		l.endSums(f)
	}
	if l.t.alone && l.mpi.depth == 0 {
		l.cut()
	}
	l.stack = l.stack[:top]
	took := l.now - f.enter
	exclusive := took - f.child
	if top > 0 {
		l.stack[top-1].child += took
	}
	class := l.t.class[f.index]
	outer := class&trace.ClassMPI != 0 && l.mpi.depth == 1
	if l.rows {
		rowFlags := flags
		if outer && l.mpi.marker {
			rowFlags |= xtf.FlagMarker
		}
		l.endRow(f.n, exclusive, rowFlags)
		switch {
		case outer && l.mpi.half: // it waits
		case flags&xtf.FlagCut != 0:
			l.out.Calls.CloseLate(f.n)
		default:
			l.out.Calls.Close(f.n)
		}
	}
	switch {
	case outer:
		l.mpi.depth--
		l.closeMPI(f.n, flags)
	case class&trace.ClassMPI != 0:
		l.mpi.depth--
	case holds(l.t.state[f.index]) && l.mpi.depth == 0 && l.mpi.asides > 0:
		if l.mpi.asides == 1 {
			l.cut()
		}
		l.mpi.asides--
	}
	if top == l.markers.depth {
		l.endWatched(flags)
	}
}

// holds reports whether the outermost call in a state has all the time of what it calls.
func holds(s trace.State) bool { return xtf.States[s].Flag != 0 && xtf.States[s].Inside == 0 }

// beginSums counts a call that begins now and is not on the stack yet.
func (l *Loader) beginSums(index int32) {
	if l.numbers {
		l.bins.began()
	}
	l.spend(l.now)
	if l.profile[index].open++; l.profile[index].open == 1 {
		l.bins.opened(index, l.now)
	}
}

// endSums counts the innermost call, which ends now.
func (l *Loader) endSums(f *frame) {
	l.spend(l.now)
	took := l.now - f.enter
	pr := &l.profile[f.index]
	pr.Calls++
	if pr.open--; pr.open == 0 {
		pr.Inclusive += took
		l.bins.closed(f.index)
	}
	if l.numbers {
		l.bins.ended(f.enter, took, f.n)
	}
}

// wholeCalls says that the event in hand does something else to calls than to begin one or to end the innermost one.
func (l *Loader) wholeCalls() {
	if l.rows {
		l.out.Calls.Whole()
	}
}

// endRow fills the row of a call that ends now.
func (l *Loader) endRow(n, exclusive uint64, flags uint32) {
	row := l.out.Calls.Row(n)
	xtf.SetU64(row, xtf.CallEnd, l.now)
	xtf.SetU64(row, xtf.CallExclusive, exclusive)
	if flags != 0 {
		xtf.SetU32(row, xtf.CallFlags, xtf.U32(row, xtf.CallFlags)|flags)
	}
}

// closeMPI ends the outermost MPI call, row n: its operations get their End.
func (l *Loader) closeMPI(n uint64, flags uint32) {
	if !l.markers.recognizer.Idle() && !l.mpi.part {
		l.breakMarker()
	}
	c := &l.mpi.outermost
	c.leave, c.times = l.now, l.t.times[l.mpi.index]
	if l.mpi.half {
		l.ledger.waiting = append(l.ledger.waiting, waiting{*c, n})
	} else {
		l.settle(c)
	}
	l.ledger.since = l.now
	l.endStay()
	l.completeOps(flags)
	l.mpi.polled = xtf.Never
	if l.t.polls[l.mpi.index] && !l.mpi.counted {
		l.mpi.polled = l.now
	}
	if l.t.class[l.mpi.index]&^(trace.ClassMPI|trace.ClassManagement) != 0 || l.mpi.told { // MPI_Get_count between a probe and its receive changes nothing
		l.mpi.probed = xtf.Never
	}
	if l.t.probe[l.mpi.index] {
		l.mpi.probed, l.mpi.probe = l.mpi.enter, l.mpi.path
	}
	if code := l.t.unrecorded[l.mpi.index]; code != 0 && !l.mpi.told && flags&xtf.FlagCut == 0 {
		l.diag(code, fmt.Sprintf("region %d", l.mpi.region))
	}
	l.mpi.n, l.mpi.region = xtf.Never, trace.Undefined
	l.closedMPI()
}

func (l *Loader) diag(c trace.Code, detail string) {
	l.diags.Add(trace.Diagnostic{Code: c, Time: trace.Time(l.now), Event: l.event, Detail: detail})
}

// Loaded is what the load of a location leaves next to its rows.
type Loaded struct {
	P           trace.P
	Bytes       uint64 // of input, where the caller says so
	Totals      Totals
	Profile     []RegionProfile // by region index; the last is unknown regions
	Bins        Bins            // of the finest level that is not too much
	Long        []LongCall      // of the same level; empty without rows
	Diagnostics trace.Diagnostics
	P2PRows     uint64
	CollRows    uint64
	Peers       []PeerRange // of the sorted channel entries, ascending

	Tree       *interval.Tree       // of the location's intervals
	Paths      *callpath.Tree       // of its call paths; path 0 alone without rows
	Components *interval.Components // of its executions: what needs no partner
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

// Finish closes what is still open at the last event and returns the sums.
func (l *Loader) Finish() (*Loaded, error) {
	if !l.sums {
		if err := l.endSpans(); l.err == nil {
			l.err = err
		}
		rows := Loaded{P: l.p, P2PRows: l.p2p.len(), CollRows: l.coll.len()}
		return &rows, l.endChannels(&rows)
	}
	l.endTeams(0)
	l.endCalls()
	l.endBin(l.now)
	l.completeOps(0)
	l.requests.each(func(request) {
		l.diags.Add(trace.Diagnostic{Code: trace.DiagOpenRequest, Time: trace.Time(l.now), Event: l.event})
	})
	l.cut()
	if err := l.endSpans(); l.err == nil {
		l.err = err
	}
	rows := Loaded{P: l.p, Totals: l.totals, Profile: l.profile, Bins: l.bins.bins, Long: l.bins.long, P2PRows: l.p2p.len(), CollRows: l.coll.len()}
	if err := l.endIntervals(&rows); l.err == nil {
		l.err = err
	}
	l.reportUnread()
	rows.Diagnostics = l.diags
	if !l.numbers {
		return &rows, l.err
	}
	if err := l.endRows(); err != nil {
		return nil, err
	}
	return &rows, l.endChannels(&rows)
}

// endChannels writes the channels, unless others do.
func (l *Loader) endChannels(rows *Loaded) error {
	if l.err == nil && l.out.Sorted != nil {
		l.err = l.writeChannels(rows)
	}
	return l.err
}

// endCalls closes what is open at the last event.
func (l *Loader) endCalls() {
	if !l.markers.recognizer.Idle() {
		l.breakMarker()
	}
	for len(l.stack) > 0 {
		f := l.stack[len(l.stack)-1]
		l.diag(trace.DiagOpenCall, fmt.Sprintf("region %d entered at tick %d", f.region, f.enter))
		l.close(xtf.FlagCut)
	}
}

// endRows ends the rows of a loader that makes them.
func (l *Loader) endRows() error {
	if !l.rows {
		return nil
	}
	l.endOperations()
	return errors.Join(l.p2p.finish(), l.coll.finish(), l.late.flush())
}

// endOperations closes the rows of operations that never ended.
func (l *Loader) endOperations() {
	l.io.each(func(r request) { l.out.IO.Close(r.row) })
	l.rma.each(func(r request) { l.out.RMA.Close(r.row) })
}
