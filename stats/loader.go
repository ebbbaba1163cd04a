package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Outputs is where the load of one location puts its rows. The caller finishes the arrays after Loader.Finish. With the zero Outputs the
// Loader makes only sums and diagnostics.
type Outputs struct {
	Calls, IO, RMA, Metrics *xtf.ArrayBuilder
	Channels, Chan          *xtf.ArrayBuilder
	Sorted                  xtf.Sink             // the channel entries, sorted (match.Entries)
	Scratch                 func() match.Scratch // for entries that do not fit in memory
	Late                    xtf.Sink             // completions of sends (match.LateSends)
	Borders                 xtf.Sink             // of executions, as interval.Border, in order
	Overhead                xtf.Sink             // spans in which the tracer was busy with itself or off: begin, end u64, little-endian
	Notes                   xtf.Sink             // trace.ThreadNote: what the thread does for others and they for it
	Stays                   xtf.Sink             // stays in MPI, for Match: begin, end u64, little-endian
	// Ends makes callN of P2P and COLL rows the number of the event at which the operation ends, for the repair of clocks.
	Ends bool
}

// Loader turns the events of one location into rows, in one pass. It follows the calls; its parts make rows and sums of them.
type Loader struct {
	at      location
	regions regionSums
	ledger  ledger
	markers markers
	ops     operations
	files   transfers
	census  census
	teams   teams
	moved   []uint64     // numbers of the events to leave out, ascending
	site    uint32       // calling context of the call that begins, Undefined for none
	notes   match.Stream // see Outputs.Notes
}

// location is the state that the parts of a Loader share.
type location struct {
	t       *Tables
	p       trace.P
	process uint32
	out     Outputs
	rows    bool // make rows; else sums only

	p2p, coll uint64 // rows of messages and collectives so far

	now    uint64 // time of the newest event, ticks since the origin
	event  uint64 // number of the current event
	wake   uint64 // before an event at this time or later, markers.attend has to run
	totals Totals
	diags  trace.Diagnostics
	err    error

	stack    []frame
	mpi      mpiCall
	requests requests // open MPI requests
	paths    *callpath.Tree
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

// interrupts returns the flag of an outermost MPI call inside of a call that counts as I/O or as a device call; 0 outside of these.
func (m *mpiCall) interrupts() uint32 {
	if m.asides > 0 {
		switch m.aside {
		case amountIO:
			return xtf.FlagMPIInIO
		case amountDeviceCall:
			return xtf.FlagMPIInDeviceCall
		}
	}
	return 0
}

// mpiCall is the outermost open MPI call, and what was before it.
type mpiCall struct {
	outermost
	depth    int    // open MPI regions
	n        uint64 // row in CALL
	region   uint32
	index    int32
	probed   uint64 // enter of the call before, if that was a blocking probe; else Never. Management calls without a record do not count
	probe    uint32 // call path of that probe
	polled   uint64 // leave of the call before, if that tested or probed in vain; else Never
	asides   int    // open calls outside of MPI in states that have sums
	aside    int    // amount of the outermost of these
	path     uint32
	site     uint32 // calling context
	calls    uint64 // number of calls before enter
	half     bool   // it has the first half of what may be a marker
	part     bool   // it has a message of a marker or half of one
	between  bool   // it has a collective of --between
	onFile   bool   // it has a record with the file of a collective operation
	recorded bool   // it has a record of what it does
}

// NewLoader prepares the load of location p.
func NewLoader(t *Tables, p trace.P, out Outputs) *Loader {
	l := &Loader{at: location{t: t}}
	l.Reset(p, out)
	return l
}

// Reset prepares the load of another location, and reuses memory of the one before. Of its Loaded only Peers may still be used.
func (l *Loader) Reset(p trace.P, out Outputs) {
	t := l.at.t
	process, thread := t.Defs.Process(p)
	*l = Loader{
		at: location{
			t: t, p: p, process: process, out: out, rows: out.Calls != nil,
			stack: l.at.stack[:0], paths: callpath.New(),
		},
		regions: l.regions.again(len(t.class)), ledger: ledger{overhead: l.ledger.overhead, enterT: xtf.Never, opsT: xtf.Never, queue: l.ledger.queue[:0]}, markers: l.markers.again(t.plan), ops: l.ops.again(), site: trace.Undefined,
		notes: l.notes.To(out.Notes),
	}
	a := &l.at
	a.mpi.n, a.mpi.probed, a.mpi.polled, a.mpi.region = xtf.Never, xtf.Never, xtf.Never, trace.Undefined
	l.regions.at, l.files.at, l.census.at = a, a, a
	l.ledger.at, l.ledger.overhead = a, overheadSpans{Stream: l.ledger.overhead.To(a.out.Overhead)}
	l.ops.begin(a, &l.regions, &l.ledger, &l.markers)
	l.markers.begin(a, &l.regions, &l.ledger, &l.ops)
	if thread == 0 {
		l.markers.fixed = t.plan.Borders(process)
	}
}

// Add processes a batch. Times must not decrease and not be before the origin.
func (l *Loader) Add(b *trace.Batch) error {
	l.at.event = b.First
	leaves := len(l.moved) == 0
	for i := 0; i < len(b.Events); i++ {
		e := &b.Events[i]
		l.at.now = uint64(e.Time - l.at.t.Origin)
		if l.at.totals.Events == 0 {
			l.at.totals.First = l.at.now
		}
		if l.at.now >= l.at.wake {
			l.markers.attend(e.Kind, e.Ref)
		}
		l.at.totals.Events++
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
		l.at.event++
	}
	l.at.totals.Last = l.at.now
	if l.at.err == nil && l.at.rows {
		l.at.err = l.at.out.Calls.Err()
	}
	return l.at.err
}

// enter begins a call. event is the flags of its event.
func (l *Loader) enter(ref uint32, event uint8) {
	index := l.at.regionIndex(ref)
	class := l.at.t.class[index]
	var flags uint32
	if event&trace.Estimated != 0 {
		flags = xtf.FlagEstimated
	}
	if s := l.at.alone(); s != trace.StateOwn {
		flags |= xtf.States[s].Inside
		l.ledger.cut()
	}
	row, n := l.at.openRowOf(l.at.out.Calls)
	path := uint32(0)
	if l.at.rows {
		l.at.out.Calls.At(l.at.totals.Events - 1)
		path = l.at.path(ref)
	}
	l.ledger.enter(l.at.now)
	if class&trace.ClassMPI != 0 {
		if l.at.mpi.depth == 0 {
			flags |= xtf.FlagOutermostMPI | l.at.mpi.interrupts()
			l.openMPI(n, ref, index)
			l.at.mpi.path = path
		}
		l.at.mpi.depth++
	} else if aside := &xtf.States[l.at.t.state[index]]; aside.Flag != 0 && l.at.mpi.depth == 0 {
		if l.at.mpi.asides == 0 {
			flags |= aside.Flag
			l.ledger.cut()
			l.at.mpi.aside = stateTimes[l.at.t.state[index]]
		}
		if aside.Inside == 0 {
			l.at.mpi.asides++
		}
	}
	if l.at.rows {
		var c xtf.Call // field by field: a composite would be built elsewhere and copied in wider words than it was written
		c.T, c.End, c.Parent, c.Region, c.Depth, c.Class, c.Flags = l.at.now, xtf.Never, l.at.innermost(), ref, uint32(len(l.at.stack)), uint32(class), flags
		c.Put(row)
	}
	l.regions.beginSums(int32(index))
	l.markers.entered = len(l.at.stack)
	l.at.stack = slices.Grow(l.at.stack, 1)[:len(l.at.stack)+1]
	f := &l.at.stack[len(l.at.stack)-1]
	f.enter, f.child, f.n, f.region, f.index, f.path = l.at.now, 0, n, ref, int32(index), path
	if u := l.at.t.plan.Uses[index]; u != 0 {
		l.markers.used(u, index)
	}
}

func (l *Loader) openMPI(n uint64, ref uint32, index int) {
	l.ledger.cut()
	if l.at.mpi.polled != xtf.Never && l.at.t.polls[index] && len(l.ledger.waiting) == 0 {
		l.ledger.settle(&outermost{enter: l.at.mpi.polled, leave: l.at.now, times: 1 << amountPolling})
	}
	l.at.mpi.site = l.site
	l.at.mpi.calls = l.ledger.callsBefore(l.at.now)
	l.at.mpi.marker, l.at.mpi.half, l.at.mpi.part, l.at.mpi.between, l.at.mpi.recorded, l.at.mpi.onFile = false, false, false, false, false, false
	if l.at.mpi.counted {
		l.at.mpi.counted = false
		clear(l.at.mpi.ops[:])
	}
	l.at.mpi.enter, l.at.mpi.n, l.at.mpi.region, l.at.mpi.index = l.at.now, n, ref, int32(index)
	l.ops.beginStay(index)
}

func (l *Loader) leave(ref uint32) {
	top := len(l.at.stack) - 1
	if top < 0 || l.at.stack[top].region != ref {
		l.at.wholeCalls()
		if l.teams.elsewhere(top + 1) {
			l.at.leaveOut(1)
			return
		}
		l.at.regionIndex(ref)
		l.at.diag(trace.DiagStrayLeave, fmt.Sprintf("region %d", ref))
		return
	}
	if int(l.at.stack[top].index) == l.at.t.unknownRegion() {
		l.at.regionIndex(ref)
	}
	l.close(0)
	if len(l.teams) > 0 {
		l.teams.taskLeft(len(l.at.stack))
	}
}

// close ends the innermost call now.
func (l *Loader) close(flags uint32) {
	top := len(l.at.stack) - 1
	f := &l.at.stack[top] // stays as it is until the next enter
	l.regions.endSums(f)
	if l.at.t.alone && l.at.mpi.depth == 0 {
		l.ledger.cut()
	}
	l.at.stack = l.at.stack[:top]
	took := l.at.now - f.enter
	exclusive := took - f.child
	if top > 0 {
		l.at.stack[top-1].child += took
	}
	class := l.at.t.class[f.index]
	outer := class&trace.ClassMPI != 0 && l.at.mpi.depth == 1
	if l.at.rows {
		rowFlags := flags
		if outer && l.at.mpi.marker {
			rowFlags |= xtf.FlagMarker
		}
		l.at.endRow(f.n, exclusive, rowFlags)
		switch {
		case outer && l.at.mpi.half: // markers.settleWaiting closes it
		case flags&xtf.FlagCut != 0:
			l.at.out.Calls.CloseLate(f.n)
		default:
			l.at.out.Calls.Close(f.n)
		}
	}
	switch {
	case outer:
		l.at.mpi.depth--
		l.closeMPI(f.n, flags)
	case class&trace.ClassMPI != 0:
		l.at.mpi.depth--
	case holds(l.at.t.state[f.index]) && l.at.mpi.depth == 0 && l.at.mpi.asides > 0:
		if l.at.mpi.asides == 1 {
			l.ledger.cut()
		}
		l.at.mpi.asides--
	}
	if top == l.markers.depth {
		l.markers.endWatched(flags)
	}
}

// holds reports whether time in calls inside of the outermost call in a state counts for the state.
func holds(s trace.State) bool { return xtf.States[s].Flag != 0 && xtf.States[s].Inside == 0 }

// beginSums counts a call that begins now and is not on the stack yet.
func (s *regionSums) beginSums(index int32) {
	if s.at.rows {
		s.bins.began()
	}
	s.spend(s.at.now)
	if s.profile[index].open++; s.profile[index].open == 1 {
		s.bins.opened(index, s.at.now)
	}
}

// endSums counts the innermost call, which ends now.
func (s *regionSums) endSums(f *frame) {
	s.spend(s.at.now)
	took := s.at.now - f.enter
	pr := &s.profile[f.index]
	pr.Calls++
	if pr.open--; pr.open == 0 {
		pr.Inclusive += took
		s.bins.closed(f.index)
	}
	if s.at.rows {
		s.bins.ended(f.enter, took, f.n)
	}
}

// closeMPI ends the outermost MPI call, row n, and its operations.
func (l *Loader) closeMPI(n uint64, flags uint32) {
	if !l.markers.recognizer.Idle() && !l.at.mpi.part {
		l.markers.breakMarker()
	}
	c := &l.at.mpi.outermost
	c.leave, c.times = l.at.now, l.at.t.times[l.at.mpi.index]
	if l.at.mpi.half {
		l.ledger.waiting = append(l.ledger.waiting, waiting{*c, n})
	} else {
		l.ledger.settle(c)
	}
	l.ledger.since = l.at.now
	l.ops.endStay()
	l.ops.completeOps(flags)
	l.at.mpi.polled = xtf.Never
	if l.at.t.polls[l.at.mpi.index] && !l.at.mpi.counted {
		l.at.mpi.polled = l.at.now
	}
	if l.at.t.class[l.at.mpi.index]&^(trace.ClassMPI|trace.ClassManagement) != 0 || l.at.mpi.recorded { // MPI_Get_count between a probe and its receive changes nothing
		l.at.mpi.probed = xtf.Never
	}
	if l.at.t.probe[l.at.mpi.index] {
		l.at.mpi.probed, l.at.mpi.probe = l.at.mpi.enter, l.at.mpi.path
	}
	if code := l.at.t.unrecorded[l.at.mpi.index]; code != 0 && !l.at.mpi.recorded && flags&xtf.FlagCut == 0 {
		l.at.diag(code, fmt.Sprintf("region %d", l.at.mpi.region))
	}
	l.at.mpi.n, l.at.mpi.region = xtf.Never, trace.Undefined
	l.markers.closedMPI()
}

// Loaded is the result of the load of a location, in addition to its rows.
type Loaded struct {
	P           trace.P
	Bytes       uint64 // of input; set by the caller
	Totals      Totals
	Profile     []RegionProfile // of the regions that were called, ascending
	Bins        Bins            // of the finest level that is not too large
	Long        []LongCall      // of the same level; empty without rows
	Diagnostics trace.Diagnostics
	P2PRows     uint64
	CollRows    uint64
	Peers       []match.PeerRange // of the sorted channel entries, ascending

	Tree       *interval.Tree       // of the location's intervals
	Paths      *callpath.Tree       // of its call paths; without rows only path 0
	Components *interval.Components // of its intervals: items that do not need partners
}

// Finish closes what is still open at the last event and returns the sums.
func (l *Loader) Finish() (*Loaded, error) {
	l.endTeams(0)
	if !l.markers.recognizer.Idle() {
		l.markers.breakMarker()
	}
	for len(l.at.stack) > 0 {
		f := l.at.stack[len(l.at.stack)-1]
		l.at.diag(trace.DiagOpenCall, fmt.Sprintf("region %d entered at tick %d", f.region, f.enter))
		l.close(xtf.FlagCut)
	}
	l.regions.endBin(l.at.now)
	l.ops.completeOps(0)
	l.at.requests.each(func(request) {
		l.at.diags.Add(trace.Diagnostic{Code: trace.DiagOpenRequest, Time: trace.Time(l.at.now), Event: l.at.event})
	})
	l.ledger.cut()
	if err := l.endSpans(); l.at.err == nil {
		l.at.err = err
	}
	rows := Loaded{P: l.at.p, Totals: l.at.totals, Profile: l.regions.called(), Bins: l.regions.bins.bins, Long: l.regions.bins.long, P2PRows: l.at.p2p, CollRows: l.at.coll}
	if err := l.markers.endIntervals(&rows); l.at.err == nil {
		l.at.err = err
	}
	l.files.endOperations()
	l.census.reportUnread()
	rows.Diagnostics = l.at.diags
	if !l.at.rows {
		return &rows, l.at.err
	}
	if err := l.ops.late.Flush(); err != nil {
		return nil, err
	}
	return &rows, l.ops.endChannels(&rows)
}

// endChannels sorts the channel entries of the location and makes its channels.
func (o *operations) endChannels(rows *Loaded) error {
	if o.at.err != nil || o.at.out.Sorted == nil {
		return o.at.err
	}
	o.deal()
	out := match.ChannelOutputs{Channels: o.at.out.Channels, Chan: o.at.out.Chan}
	if out.Channels != nil {
		out.Canceled = o.canceled
	}
	peers, err := o.entries.Write(o.at.out.Sorted, out)
	if err = cmp.Or(o.at.err, err); err != nil {
		o.at.err = fmt.Errorf("channels of location %d: %w", o.at.p, err)
	}
	rows.Peers = peers
	return o.at.err
}

// AppendBinary appends l as variable-length integers: totals, peers, regions that were called, bins, longest calls, diagnostics. Tree, Paths
// and Components have encodings of their own.
func (l *Loaded) AppendBinary(b []byte) []byte {
	b = varint.Append(b, uint64(l.P), l.Bytes, l.P2PRows, l.CollRows, l.Totals.First, l.Totals.Last, l.Totals.Events, uint64(len(l.Peers)))
	for i := range l.Peers {
		x := &l.Peers[i]
		is := uint64(0)
		if x.Coll {
			is = 1
		}
		if x.Locks {
			is |= 2
		}
		b = varint.Append(b, uint64(x.Peer), uint64(x.Comm), is, x.At, x.Count, x.Sends)
	}
	b = binary.AppendUvarint(b, uint64(len(l.Profile)))
	for i := range l.Profile {
		p := &l.Profile[i]
		b = varint.Append(b, uint64(p.Region), p.Calls, p.Inclusive, p.Exclusive, p.Bytes)
	}
	return appendDiagnostics(appendLong(l.Bins.AppendBinary(b), l.Long), &l.Diagnostics)
}

func appendDiagnostics(b []byte, ds *trace.Diagnostics) []byte {
	b = binary.AppendUvarint(b, uint64(len(ds.Codes)))
	for i := range ds.Codes {
		c := &ds.Codes[i]
		b = varint.Append(b, uint64(c.Code), c.Count, c.Worst, uint64(len(c.First)))
		for _, d := range c.First {
			b = varint.Append(b, uint64(d.Time), d.Event, d.Count, d.Worst, uint64(len(d.Detail)))
			b = append(b, d.Detail...)
		}
	}
	return b
}

// Parse decodes what AppendBinary wrote about a location of this trace.
func (t *Tables) Parse(b []byte) (*Loaded, error) {
	r := reader{varint.Read(b)}
	l := &Loaded{P: trace.P(r.Next()), Bytes: r.Next(), P2PRows: r.Next(), CollRows: r.Next()}
	l.Totals = Totals{First: r.Next(), Last: r.Next(), Events: r.Next()}
	for n := r.Next(); n > 0 && !r.Failed(); n-- {
		x := match.PeerRange{Peer: uint32(r.Next()), Comm: uint32(r.Next())}
		is := r.Next()
		x.Coll, x.Locks, x.At, x.Count, x.Sends = is&1 != 0, is&2 != 0, r.Next(), r.Next(), r.Next()
		l.Peers = append(l.Peers, x)
	}
	called := r.Next()
	if called > min(uint64(len(t.class)), uint64(r.Len())) {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	l.Profile = make([]RegionProfile, called)
	for i := range l.Profile {
		region := r.Next()
		if region >= uint64(len(t.class)) {
			r.Fail()
			break
		}
		l.Profile[i] = RegionProfile{Region: int32(region), Calls: r.Next(), Inclusive: r.Next(), Exclusive: r.Next(), Bytes: r.Next()}
	}
	var err error
	if l.Bins, err = r.bins(len(t.class)); err != nil {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, err)
	}
	if l.Long, err = r.long(); err != nil {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, err)
	}
	r.diagnostics(&l.Diagnostics)
	if r.Failed() {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	return l, nil
}

// reader decodes what this package encodes.
type reader struct{ varint.Reader }

func (r *reader) diagnostics(ds *trace.Diagnostics) {
	for n := r.Next(); n > 0 && !r.Failed(); n-- {
		c := trace.CodeDiagnostics{Code: trace.Code(r.Next()), Count: r.Next(), Worst: r.Next()}
		for k := r.Next(); k > 0 && !r.Failed(); k-- {
			d := trace.Diagnostic{Code: c.Code, Time: trace.Time(r.Next()), Event: r.Next(), Count: r.Next(), Worst: r.Next()}
			d.Detail = r.Text()
			c.First = append(c.First, d)
		}
		ds.Codes = append(ds.Codes, c)
	}
}

// RegionProfile is the profile of a region on one location, or on several.
type RegionProfile struct {
	Calls     uint64
	Inclusive uint64 // ticks; of recursive calls only the outermost counts
	Exclusive uint64 // ticks outside of called regions
	Bytes     uint64 // sent and received by MPI calls, without one-sided operations and I/O
	open      uint32 // calls of the region on the stack
	Region    int32  // index in Tables; the last one is for unknown regions
}

// Totals are about all events of a location.
type Totals struct {
	First, Last uint64 // first and last event, ticks since the origin
	Events      uint64
}
