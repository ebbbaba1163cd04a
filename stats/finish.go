package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// FinishInput is a loaded and matched location.
type FinishInput struct {
	Loaded    *Loaded
	P2P, Coll *xtf.StagedRows // that Outputs.P2P and Outputs.Coll got
	Results   *Results        // of Match; nil without rows
}

// FinishOutputs is where the last rows of a location go. The caller finishes
// the arrays. Nobody needs to get rows of
// messages and collectives. A location that was loaded without rows needs Diagnostics only.
type FinishOutputs struct {
	P2P, Coll, Tiles, TimeBins, Diagnostics *xtf.ArrayBuilder
}

// Finished is what a location leaves for the reduction over all.
type Finished struct {
	P           trace.P
	Diagnostics trace.Diagnostics
	Details     []byte // texts of the diagnostics: DIAG.detail is an offset + 1 into it
}

// Finisher joins the staged rows of one location with their results: NextMessage and NextCollective pass them on as they go to
// their arrays, then Finish writes the rest.
//
// Memory: a block of messages and one of collectives, 184 and 144 bytes a row.
type Finisher struct {
	t       *Tables
	in      FinishInput
	out     FinishOutputs
	diags   trace.Diagnostics
	results *rowResults // nil without rows
	p2p     joined[message, *message]
	coll    joined[collective, *collective]
	tiles   tileWriter
}

// message is a row of a message and what results said of it.
type message struct {
	xtf.Message
	mate struct {
		end, bytes uint64
		flags      uint32 // entry flags of both sides
		found      bool   // by matchLocks
	}
}

// collective is a row of a collective and what results said of it.
type collective struct {
	xtf.Collective
	settled bool // a result of its own says the cause
	lowest  bool // this location reports what is wrong with it
}

// NewFinisher prepares the finish of one location, in the memory of one that is done; nil for none.
func NewFinisher(t *Tables, in FinishInput, out FinishOutputs, done *Finisher) *Finisher {
	if done == nil {
		done = &Finisher{}
	}
	f := &Finisher{t: t, in: in, out: out, diags: in.Loaded.Diagnostics, tiles: done.tiles}
	if in.Results != nil {
		r := in.Results.of(in.Loaded.P)
		f.results = r
		f.p2p = joined[message, *message]{data: in.P2P, rows: in.Loaded.P2PRows, sink: r.sink, lists: r.p2p, block: done.p2p.block[:0]}
		f.coll = joined[collective, *collective]{data: in.Coll, rows: in.Loaded.CollRows, sink: r.sink, lists: r.coll, block: done.coll.block[:0]}
	}
	return f
}

// NextMessage returns the next message, nil after the last one and after an error. It is valid until the next call.
func (f *Finisher) NextMessage() *xtf.Message {
	m := f.p2p.next()
	if m == nil {
		return nil
	}
	f.endMessage(m)
	return &m.Message
}

// NextCollective does the same with collectives.
func (f *Finisher) NextCollective() *xtf.Collective {
	c := f.coll.next()
	if c == nil {
		return nil
	}
	f.endColl(c)
	return &c.Collective
}

// Err is what ended the rows early.
func (f *Finisher) Err() error {
	if err := cmp.Or(f.p2p.err, f.coll.err); err != nil {
		return fmt.Errorf("messages and collectives of location %d: %w", f.in.Loaded.P, err)
	}
	return nil
}

// joined are staged rows with their results, block by block.
type joined[R any, P interface {
	*R
	load(row *xtf.StagedRow, n uint64)
	join(*result)
}] struct {
	data  *xtf.StagedRows
	rows  uint64
	sink  xtf.Sink
	lists []resultList // of the blocks that are left
	block []R
	at    int    // next in block
	first uint64 // number of the first row after block
	err   error
}

func (j *joined[R, P]) next() P {
	if j.at == len(j.block) {
		if j.err != nil || len(j.lists) == 0 {
			return nil
		}
		if j.err = j.read(); j.err != nil {
			j.block, j.at = nil, 0
			return nil
		}
	}
	j.at++
	return &j.block[j.at-1]
}

// read reads a block.
func (j *joined[R, P]) read() error {
	n := int(min(j.rows-j.first, resultBlock))
	j.block, j.at = slices.Grow(j.block[:0], n)[:n], 0
	for k := range j.block {
		row, err := j.data.Next()
		if err != nil {
			return fmt.Errorf("staged rows: %w", err)
		}
		P(&j.block[k]).load(row, j.first+uint64(k))
	}
	err := j.lists[0].each(j.sink, func(r *result) error {
		if r.row >= uint64(n) {
			return errResults
		}
		P(&j.block[r.row]).join(r)
		return nil
	})
	j.lists[0].piece = nil
	j.lists, j.first = j.lists[1:], j.first+uint64(n)
	return err
}

func (m *message) load(row *xtf.StagedRow, n uint64) {
	row.P2P(&m.P2P)
	m.N, m.Path, m.Late = n, m.MateP, false
	m.MateP = trace.Undefined
	m.mate.end, m.mate.bytes, m.mate.flags, m.mate.found = xtf.Never, m.Bytes, 0, false
	c := &m.Call // field by field, as in enter
	c.CallN, c.Enter, c.Post, c.Out, c.Ready, c.Region, c.Path = m.CallN, m.T, xtf.Never, 0, xtf.Never, m.Region, m.Path
}

// join takes a result.
func (m *message) join(r *result) {
	switch r.kind {
	case resultDone:
		m.Done = r.t
		m.Call.Enter, m.Call.CallN, m.Call.Path, m.Call.Region = r.a, r.mateN, r.mateP, r.flags
	case resultCancelled:
		m.Kind |= xtf.P2PIncomplete
	case resultHolder:
		m.MateN, m.MateP, m.MateT, m.mate.flags, m.mate.found = r.mateN, r.mateP, r.t, r.flags, true
	case resultMate:
		if m.Seq = r.a; m.mate.found {
			return
		}
		m.MateN, m.MateP, m.MateT = r.mateN, r.mateP, r.t
		m.mate.flags = r.flags
		if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
			m.mate.end, m.mate.bytes = r.b, r.c
		} else {
			m.Call.Post, m.Call.Ready = r.b, r.c
			if r.flags&entryPosted != 0 {
				m.Call.Post, m.Call.Out = m.T, r.b
			}
		}
		if r.flags&entryShared != 0 {
			m.Kind |= xtf.P2PBestEffort
		}
	}
}

func (c *collective) load(row *xtf.StagedRow, n uint64) {
	*c = collective{}
	row.Coll(&c.Coll)
	c.N, c.Path, c.Ordinal = n, uint32(c.Ordinal), xtf.Never
	c.Cause = xtf.NoCollCause()
}

// join takes a result.
func (c *collective) join(r *result) {
	if r.kind == resultCause {
		c.Cause, c.settled = xtf.CollCause{CauseT: r.t, LastT: r.a, CauseP: r.mateP, LastP: uint32(r.b)}, true
		return
	}
	c.Ordinal, c.LastEnter, c.FirstLeave, c.LastLeave = r.a, r.t, r.b, r.c
	c.Flags |= r.flags &^ resultLowest
	c.lowest = r.flags&resultLowest != 0
	if !c.settled {
		c.Cause = xtf.CollCause{CauseT: r.mateN, LastT: r.mateN, CauseP: r.mateP, LastP: r.mateP}
	}
}

// endMessage writes the row of a message.
func (f *Finisher) endMessage(m *message) {
	receive := m.Kind&xtf.P2PKindMask == xtf.P2PRecv
	cancelled := m.Kind&xtf.P2PIncomplete != 0 // its cancellation said so
	if m.Done == xtf.Never {
		m.Kind |= xtf.P2PIncomplete
	}
	switch {
	case m.Kind&xtf.P2PNotice != 0:
		m.endNotice(receive)
	case m.MateN == xtf.Never:
		m.Kind |= xtf.P2PUnmatched
		code := trace.DiagUnmatchedSend
		if receive {
			code = trace.DiagUnmatchedRecv
		}
		if m.Peer != trace.Undefined && !cancelled {
			f.diags.Add(f.found(code, m.T, 0, "process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
		}
	case receive:
		posted := m.Post
		if m.Kind&xtf.P2PProbed != 0 {
			posted = m.T
		}
		m.Kind |= awaited(m.mate.flags, m.MateT, m.mate.end, posted, m.T)
		f.endReceive(m)
	default:
		m.Kind |= awaited(m.mate.flags, m.T, m.End, m.Call.Post, m.MateT)
		if m.mate.flags&entryClock != 0 {
			m.Kind |= xtf.P2PClock
		}
		ends := m.Done != xtf.Never || m.Kind&xtf.P2PNonBlocking == 0
		m.Late = ends && max(m.Call.Post, m.Call.Ready) > m.Call.Enter
	}
	if m.Kind&(xtf.P2PBestEffort|xtf.P2PNotice) == xtf.P2PBestEffort {
		f.diags.Add(f.found(trace.DiagSharedChannel, m.T, 0, "process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	if f.out.P2P != nil {
		row, _ := f.out.P2P.Append()
		m.Put(row)
	}
}

// endNotice flags the row of a notice. That a call leaves before it is sent says that it does not wait for it: clocks may be right.
func (m *message) endNotice(receive bool) {
	switch {
	case m.MateN == xtf.Never:
		m.Kind |= xtf.P2PUnmatched
	case receive && m.End < m.MateT, !receive && m.mate.flags&entryClock != 0:
		m.Kind |= xtf.P2PClock
	}
	if m.mate.flags&entryShared != 0 {
		m.Kind |= xtf.P2PBestEffort
	}
}

// awaited says for both sides of a message alike whether the send, which begins at
// sent and leaves at left, waits for the receive, which is posted at posted and
// completes in a call entered at received: it is synchronous, or it was blocked until
// the receiver came, or posted.
func awaited(flags uint32, sent, left, posted, received uint64) uint32 {
	blocked, synchronous := flags&entryBlocking != 0, flags&entrySynchronous != 0
	switch {
	case blocked && left > received && (received > sent || synchronous):
		return xtf.P2PAwaited
	case synchronous, blocked && left > posted && posted > sent:
		return xtf.P2PAwaitedPost
	}
	return 0
}

// endReceive looks for what is wrong with a matched receive.
func (f *Finisher) endReceive(m *message) {
	sent := m.MateT
	if m.End < sent {
		m.Kind |= xtf.P2PClock
		f.diags.Add(f.found(trace.DiagClockViolation, m.T, sent-m.End, "from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	if m.mate.bytes != m.Bytes {
		f.diags.Add(f.found(trace.DiagBytesDiffer, m.T, max(m.Bytes, m.mate.bytes)-min(m.Bytes, m.mate.bytes),
			"from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
}

// endColl writes the row of a collective.
func (f *Finisher) endColl(c *collective) {
	if c.lowest && c.Flags&xtf.CollShort != 0 {
		f.diags.Add(f.found(trace.DiagShortCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	if c.lowest && c.Flags&xtf.CollMixed != 0 {
		f.diags.Add(f.found(trace.DiagMixedCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	f.collectiveClock(c)
	if f.out.Coll != nil {
		row, _ := f.out.Coll.Append()
		c.Put(row)
	}
}

// collectiveClock looks for a member that left before one that it needed had entered.
// Where members are missing or disagree nobody knows whom it needed, and of an
// inter-communicator not which of two groups.
func (f *Finisher) collectiveClock(c *collective) {
	op, need := c.Flags&xtf.CollOpMask, c.Cause.LastT
	if need == xtf.Never || need <= c.End || c.Flags&(xtf.CollShort|xtf.CollMixed) != 0 || f.t.Defs.IsInter(c.Comm) {
		return
	}
	if f.t.Defs.SetsClock(op, c.Region, c.Flags&xtf.CollNonBlocking == 0) {
		f.diags.Add(f.found(trace.DiagClockCollective, c.T, need-c.End, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), op))
	}
}

func (f *Finisher) found(code trace.Code, t, worst uint64, format string, a, b, c uint32) trace.Diagnostic {
	d := trace.Diagnostic{Code: code, Time: trace.Time(t), Event: xtf.Never, Worst: worst}
	if f.diags.Count(code) < diagKept {
		d.Detail = fmt.Sprintf(format, a, b, c)
	}
	return d
}

// diagKept is how many diagnostics of one code keep their text.
const diagKept = 16

// Finish writes what is left, once all messages and collectives were passed on. The location's bins are of the
// finest level afterwards. Levels are the same for all locations.
func (f *Finisher) Finish(levels Levels) (*Finished, error) {
	diags, err := f.Pairs()
	if err != nil {
		return nil, err
	}
	l := f.in.Loaded
	if f.out.Tiles != nil {
		f.tiles = tileWriter{t: f.t, locations: 1, out: f.out.Tiles, buf: f.tiles.buf}
		f.tiles.write(&l.Bins, l.Long, levels.Tile, levels.Top)
	}
	for level := l.Bins.Level; level < levels.Finest; level++ {
		l.Long = widened(l.Long)
	}
	l.Bins.raise(levels.Finest, make([]int32, len(f.t.class)))
	if f.out.TimeBins != nil {
		writePyramid(f.t, &l.Bins, l.Profile, levels.Top, f.out.TimeBins)
	}
	return &Finished{P: l.P, Diagnostics: *diags, Details: f.writeDiagnostics()}, nil
}

// Pairs passes over what is left of the messages and collectives, and says what is wrong with all of them.
func (f *Finisher) Pairs() (*trace.Diagnostics, error) {
	for f.NextMessage() != nil {
	}
	for f.NextCollective() != nil {
	}
	if f.results != nil {
		f.results.sink.Drop()
	}
	return &f.diags, f.Err()
}

// writeDiagnostics writes the DIAG rows: the first of each code, and a total
// per code with event Never at the location's last event. It returns the texts.
func (f *Finisher) writeDiagnostics() []byte {
	rows, details := diagRows(&f.diags, f.in.Loaded.Totals.Last)
	for i := range rows {
		row, _ := f.out.Diagnostics.Append()
		rows[i].Put(row)
	}
	return details
}

func diagRows(ds *trace.Diagnostics, last uint64) ([]xtf.Diag, []byte) {
	var rows []xtf.Diag
	var details []byte
	for i := range ds.Codes {
		c := &ds.Codes[i]
		for _, d := range c.First {
			r := xtf.Diag{T: min(uint64(d.Time), last), Event: d.Event, Count: d.Count, Worst: d.Worst, Code: uint32(d.Code), Severity: uint32(d.Code.Severity())}
			if d.Detail != "" {
				r.Detail = uint32(len(details)) + 1
				details = binary.AppendUvarint(details, uint64(len(d.Detail)))
				details = append(details, d.Detail...)
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b xtf.Diag) int { return cmp.Compare(a.T, b.T) })
	for i := range ds.Codes {
		c := &ds.Codes[i]
		rows = append(rows, xtf.Diag{T: last, Event: xtf.Never, Count: c.Count, Worst: c.Worst, Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal})
	}
	return rows, details
}
