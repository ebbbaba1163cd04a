package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// FinishInput is a loaded and matched location.
type FinishInput struct {
	Loaded    *Loaded
	P2P, Coll io.ReaderAt // what Outputs.P2P and Outputs.Coll got
	Results   *Results    // of Match; nil without rows
}

// FinishOutputs is where the last rows of a location go. The caller finishes
// the arrays. A location that was loaded without rows needs
// Diagnostics only.
type FinishOutputs struct {
	P2P, Coll, Tiles, TimeBins, Diagnostics *xtf.ArrayBuilder
	Causes                                  xtf.Sink // an xtf.CollCause for each row of Coll
	Sends                                   xtf.Sink // an xtf.SendCall for each send whose receiver comes after Enter, in the order of rows
}

// Finished is what a location leaves for the reduction over all.
type Finished struct {
	P           trace.P
	Diagnostics trace.Diagnostics
	Details     []byte // texts of the diagnostics: DIAG.detail is an offset + 1 into it
	// EarlyP2P and EarlyColl tell whether rows take effect before their T: receives whose posting a sender waits for, and
	// non-blocking collectives.
	EarlyP2P, EarlyColl bool
}

// Finisher joins the staged rows of one location with their results.
//
// Memory: a block of rows, 280 bytes each.
type Finisher struct {
	t      *Tables
	in     FinishInput
	out    FinishOutputs
	sends  []byte // encoded, not yet in out.Sends
	causes []byte // encoded, not yet in out.Causes
	diags  trace.Diagnostics

	earlyP2P, earlyColl bool
}

// message is a row of a message and what results said of it.
type message struct {
	xtf.P2P
	mate struct {
		end, bytes uint64
		flags      uint32 // entry flags of both sides
	}
	call xtf.SendCall // if it is a send
}

// collective is a row of a collective and what results said of it.
type collective struct {
	xtf.Coll
	cause   xtf.CollCause
	settled bool // a result of its own says the cause
	lowest  bool // this location reports what is wrong with it
}

// NewFinisher prepares the finish of one location.
func NewFinisher(t *Tables, in FinishInput, out FinishOutputs) *Finisher {
	return &Finisher{t: t, in: in, out: out, diags: in.Loaded.Diagnostics}
}

// finishRows joins staged rows of some width with their results, block by block: load takes a row, join a result, and end gets
// each row with its number.
func finishRows[R any](data io.ReaderAt, width int, rows uint64, sink xtf.Sink, lists []resultList, load func(r *R, b []byte, n uint64), join func(*R, *result), end func(*R) error) error {
	block := make([]R, min(rows, resultBlock))
	store := make([]byte, len(block)*width)
	for i := range lists {
		first := uint64(i) * resultBlock
		block = block[:min(rows-first, resultBlock)]
		if _, err := data.ReadAt(store[:len(block)*width], int64(first)*int64(width)); err != nil && err != io.EOF {
			return fmt.Errorf("staged rows: %w", err)
		}
		for k := range block {
			load(&block[k], store[k*width:(k+1)*width], first+uint64(k))
		}
		err := lists[i].each(sink, func(r *result) error {
			if r.row >= uint64(len(block)) {
				return errResults
			}
			join(&block[r.row], r)
			return nil
		})
		if err != nil {
			return err
		}
		lists[i].piece = nil
		for k := range block {
			if err := end(&block[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func loadMessage(m *message, row []byte, n uint64) {
	m.P2P.Load(row)
	m.mate.end, m.mate.bytes, m.mate.flags = xtf.Never, m.Bytes, 0
	m.call = xtf.SendCall{Row: n, CallN: m.CallN, Enter: m.T, Post: xtf.Never, Ready: xtf.Never, Region: m.Region}
}

// join takes a result.
func (m *message) join(r *result) {
	switch r.kind {
	case resultDone:
		m.Done = r.t
		m.call.Enter, m.call.CallN, m.call.Path, m.call.Region = r.a, r.mateN, r.mateP, r.flags
	case resultCancelled:
		m.Kind |= xtf.P2PIncomplete
	case resultMate:
		m.MateN, m.MateP, m.MateT, m.Seq = r.mateN, r.mateP, r.t, r.a
		m.mate.flags = r.flags
		if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
			m.mate.end, m.mate.bytes = r.b, r.c
		} else {
			m.call.Post, m.call.Ready = r.b, r.c
			if r.flags&entryPosted != 0 {
				m.call.Post, m.call.Out = m.T, r.b
			}
		}
		if r.flags&entryShared != 0 {
			m.Kind |= xtf.P2PBestEffort
		}
	}
}

func loadCollective(c *collective, row []byte, _ uint64) {
	*c = collective{cause: xtf.NoCollCause()}
	c.Coll.Load(row)
}

// join takes a result.
func (c *collective) join(r *result) {
	if r.kind == resultCause {
		c.cause, c.settled = xtf.CollCause{CauseT: r.t, LastT: r.a, CauseP: r.mateP, LastP: uint32(r.b)}, true
		return
	}
	c.Ordinal, c.LastEnter, c.FirstLeave, c.LastLeave = r.a, r.t, r.b, r.c
	c.Flags |= r.flags &^ resultLowest
	c.lowest = r.flags&resultLowest != 0
	if !c.settled {
		c.cause = xtf.CollCause{CauseT: r.mateN, LastT: r.mateN, CauseP: r.mateP, LastP: r.mateP}
	}
}

// endMessage writes the row of a message.
func (f *Finisher) endMessage(m *message) error {
	receive := m.Kind&xtf.P2PKindMask == xtf.P2PRecv
	cancelled := m.Kind&xtf.P2PIncomplete != 0 // its cancellation said so
	if m.Done == xtf.Never {
		m.Kind |= xtf.P2PIncomplete
	}
	switch {
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
		m.Kind |= awaited(m.mate.flags, m.MateT, m.mate.end, m.T)
		f.earlyP2P = f.earlyP2P || m.Kind&xtf.P2PAwaitedPost != 0
		f.endReceive(m)
	default:
		m.Kind |= awaited(m.mate.flags, m.T, m.End, m.MateT)
		if m.mate.flags&entryClock != 0 {
			m.Kind |= xtf.P2PClock
		}
		if ends := m.Done != xtf.Never || m.Kind&xtf.P2PNonBlocking == 0; ends && f.out.Sends != nil && max(m.call.Post, m.call.Ready) > m.call.Enter {
			f.sends = m.call.Append(f.sends)
		}
	}
	if m.Kind&xtf.P2PBestEffort != 0 {
		f.diags.Add(f.found(trace.DiagSharedChannel, m.T, 0, "process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	row, _ := f.out.P2P.Append()
	m.Put(row)
	if len(f.sends) < causeBlock*xtf.SendCallBytes {
		return nil
	}
	return f.flushSends()
}

func (f *Finisher) flushSends() error {
	if len(f.sends) == 0 {
		return nil
	}
	_, err := f.out.Sends.Append(f.sends)
	f.sends = f.sends[:0]
	return err
}

// awaited says for both sides of a message alike whether the send, which begins at
// sent and leaves at left, waits for the receive, which completes in a call entered
// at received: it is synchronous, or it was blocked until the receiver came.
func awaited(flags uint32, sent, left, received uint64) uint32 {
	blocked := flags&entryBlocking != 0 && left > received
	switch {
	case blocked && (received > sent || flags&entrySynchronous != 0):
		return xtf.P2PAwaited
	case flags&entrySynchronous != 0:
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

// endColl writes the row of a collective, and its cause.
func (f *Finisher) endColl(c *collective) error {
	if c.lowest && c.Flags&xtf.CollShort != 0 {
		f.diags.Add(f.found(trace.DiagShortCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	if c.lowest && c.Flags&xtf.CollMixed != 0 {
		f.diags.Add(f.found(trace.DiagMixedCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	f.collectiveClock(c)
	f.earlyColl = f.earlyColl || c.Flags&xtf.CollNonBlocking != 0
	row, _ := f.out.Coll.Append()
	c.Put(row)
	f.causes = c.cause.Append(f.causes)
	if len(f.causes) < causeBlock*xtf.CollCauseBytes {
		return nil
	}
	return f.flushCauses()
}

// collectiveClock looks for a member that left before one that it needed had entered.
// Where members are missing or disagree nobody knows whom it needed, and of an
// inter-communicator not which of two groups.
func (f *Finisher) collectiveClock(c *collective) {
	op, need := c.Flags&xtf.CollOpMask, c.cause.LastT
	if need == xtf.Never || need <= c.End || c.Flags&(xtf.CollShort|xtf.CollMixed) != 0 || f.t.Defs.IsInter(c.Comm) {
		return
	}
	if f.t.Defs.SetsClock(op, c.Region, c.Flags&xtf.CollNonBlocking == 0) {
		f.diags.Add(f.found(trace.DiagClockCollective, c.T, need-c.End, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), op))
	}
}

// causeBlock is the number of causes, or calls of sends, that are stored at once.
const causeBlock = 4096

func (f *Finisher) flushCauses() error {
	if len(f.causes) == 0 {
		return nil
	}
	_, err := f.out.Causes.Append(f.causes)
	f.causes = f.causes[:0]
	return err
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

// Finish writes what is left. The location's bins are of the
// finest level afterwards. Levels are the same for all locations.
func (f *Finisher) Finish(levels Levels) (*Finished, error) {
	if err := f.rows(); err != nil {
		return nil, err
	}
	l := f.in.Loaded
	if f.out.Tiles != nil {
		w := tileWriter{t: f.t, locations: 1, out: f.out.Tiles}
		w.write(&l.Bins, l.Long, levels.Tile, levels.Top)
	}
	for level := l.Bins.Level; level < levels.Finest; level++ {
		l.Long = widened(l.Long)
	}
	l.Bins.raise(levels.Finest, make([]int32, len(f.t.class)))
	if f.out.TimeBins != nil {
		writePyramid(f.t, &l.Bins, l.Profile, levels.Top, f.out.TimeBins)
	}
	return &Finished{P: l.P, Diagnostics: f.diags, Details: f.writeDiagnostics(), EarlyP2P: f.earlyP2P, EarlyColl: f.earlyColl}, nil
}

// Pairs ends the rows of messages and collectives, for who needs nothing else of
// the location, and says what is wrong with them.
func (f *Finisher) Pairs() (*trace.Diagnostics, error) {
	err := f.rows()
	return &f.diags, err
}

// rows ends the rows of messages and collectives.
func (f *Finisher) rows() error {
	if f.in.Results == nil {
		return nil
	}
	l := f.in.Loaded
	r := f.in.Results.of(l.P)
	defer r.sink.Drop()
	err := finishRows(f.in.P2P, xtf.P2PRowBytes, l.P2PRows, r.sink, r.p2p, loadMessage, (*message).join, f.endMessage)
	if err == nil {
		err = f.flushSends()
	}
	if err == nil {
		err = finishRows(f.in.Coll, xtf.CollRowBytes, l.CollRows, r.sink, r.coll, loadCollective, (*collective).join, f.endColl)
	}
	if err == nil {
		err = f.flushCauses()
	}
	if err != nil {
		return fmt.Errorf("messages and collectives of location %d: %w", l.P, err)
	}
	return nil
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
