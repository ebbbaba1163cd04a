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
type Finisher struct {
	t    *Tables
	in   FinishInput
	out  FinishOutputs
	p2p  stagedReader
	coll stagedReader
	// the row in hand and what results said of it
	message xtf.P2P
	mate    struct { // of the message in hand
		end, bytes uint64
		flags      uint32 // entry flags of both sides
	}
	call   xtf.SendCall // of the message in hand, if it is a send
	sends  []byte       // encoded, not yet in out.Sends
	coll1  xtf.Coll
	cause  xtf.CollCause
	causes []byte // encoded, not yet in out.Causes
	lowest bool   // this location reports what is wrong with the collective in hand
	diags  trace.Diagnostics

	earlyP2P, earlyColl bool
}

// NewFinisher prepares the finish of one location.
func NewFinisher(t *Tables, in FinishInput, out FinishOutputs) *Finisher {
	f := &Finisher{t: t, in: in, out: out, diags: in.Loaded.Diagnostics}
	f.p2p = stagedReader{data: in.P2P, width: xtf.P2PRowBytes, rows: in.Loaded.P2PRows}
	f.coll = stagedReader{data: in.Coll, width: xtf.CollRowBytes, rows: in.Loaded.CollRows}
	return f
}

// ResultP returns the location of an encoded result.
func ResultP(row []byte) trace.P { return trace.P(binary.BigEndian.Uint32(row)) }

// Add takes the next result of the location, in the order of the sorter.
func (f *Finisher) Add(row []byte) error {
	var r result
	r.load(row)
	if r.kind >= resultColl {
		return f.addColl(&r)
	}
	if err := f.nextMessage(r.row); err != nil {
		return err
	}
	m := &f.message
	switch r.kind {
	case resultDone:
		m.Done = r.t
		f.call.Enter, f.call.CallN, f.call.Path, f.call.Region = r.a, r.mateN, r.mateP, r.flags
	case resultCancelled:
		m.Kind |= xtf.P2PIncomplete
	case resultMate:
		m.MateN, m.MateP, m.MateT, m.Seq = r.mateN, r.mateP, r.t, r.a
		f.mate.flags = r.flags
		if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
			f.mate.end, f.mate.bytes = r.b, r.c
		} else {
			f.call.Post, f.call.Ready = r.b, r.c
			if r.flags&entryPosted != 0 {
				f.call.Post, f.call.Out = m.T, r.b
			}
		}
		if r.flags&entryShared != 0 {
			m.Kind |= xtf.P2PBestEffort
		}
	}
	return nil
}

func (f *Finisher) addColl(r *result) error {
	if err := f.nextColl(r.row); err != nil {
		return err
	}
	if r.kind == resultCause {
		f.cause = xtf.CollCause{CauseT: r.t, LastT: r.a, CauseP: r.mateP, LastP: uint32(r.b)}
		return nil
	}
	c := &f.coll1
	c.Ordinal, c.LastEnter, c.FirstLeave, c.LastLeave = r.a, r.t, r.b, r.c
	c.Flags |= r.flags &^ resultLowest
	f.lowest = r.flags&resultLowest != 0
	f.cause = xtf.CollCause{CauseT: r.mateN, LastT: r.mateN, CauseP: r.mateP, LastP: r.mateP}
	return nil
}

// nextMessage writes the rows before row n and makes n the row in hand.
func (f *Finisher) nextMessage(n uint64) error {
	for f.p2p.next <= n {
		if f.p2p.next > 0 {
			if err := f.endMessage(); err != nil {
				return err
			}
		}
		row, err := f.p2p.read()
		if err != nil || row == nil {
			return fmt.Errorf("location %d: a result for message row %d of %d: %w", f.in.Loaded.P, n, f.p2p.rows, orUnexpected(err))
		}
		f.message.Load(row)
		m := &f.message
		f.call = xtf.SendCall{Row: f.p2p.next - 1, CallN: m.CallN, Enter: m.T, Post: xtf.Never, Ready: xtf.Never, Region: m.Region}
		f.mate.end, f.mate.bytes, f.mate.flags = xtf.Never, f.message.Bytes, 0
	}
	return nil
}

func (f *Finisher) nextColl(n uint64) error {
	for f.coll.next <= n {
		if f.coll.next > 0 {
			if err := f.endColl(); err != nil {
				return err
			}
		}
		row, err := f.coll.read()
		if err != nil || row == nil {
			return fmt.Errorf("location %d: a result for collective row %d of %d: %w", f.in.Loaded.P, n, f.coll.rows, orUnexpected(err))
		}
		f.coll1.Load(row)
		f.cause, f.lowest = xtf.NoCollCause(), false
	}
	return nil
}

func orUnexpected(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// endMessage writes the message row in hand.
func (f *Finisher) endMessage() error {
	m := &f.message
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
		m.Kind |= awaited(f.mate.flags, m.MateT, f.mate.end, m.T)
		f.earlyP2P = f.earlyP2P || m.Kind&xtf.P2PAwaitedPost != 0
		f.endReceive(m)
	default:
		m.Kind |= awaited(f.mate.flags, m.T, m.End, m.MateT)
		if f.mate.flags&entryClock != 0 {
			m.Kind |= xtf.P2PClock
		}
		if ends := m.Done != xtf.Never || m.Kind&xtf.P2PNonBlocking == 0; ends && f.out.Sends != nil && max(f.call.Post, f.call.Ready) > f.call.Enter {
			f.sends = f.call.Append(f.sends)
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
	if _, err := f.out.Sends.Append(f.sends); err != nil {
		return fmt.Errorf("calls of sends of location %d: %w", f.in.Loaded.P, err)
	}
	f.sends = f.sends[:0]
	return nil
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
func (f *Finisher) endReceive(m *xtf.P2P) {
	sent := m.MateT
	if m.End < sent {
		m.Kind |= xtf.P2PClock
		f.diags.Add(f.found(trace.DiagClockViolation, m.T, sent-m.End, "from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	if f.mate.bytes != m.Bytes {
		f.diags.Add(f.found(trace.DiagBytesDiffer, m.T, max(m.Bytes, f.mate.bytes)-min(m.Bytes, f.mate.bytes),
			"from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
}

// endColl writes the collective row in hand, and its cause.
func (f *Finisher) endColl() error {
	c := &f.coll1
	if f.lowest && c.Flags&xtf.CollShort != 0 {
		f.diags.Add(f.found(trace.DiagShortCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	if f.lowest && c.Flags&xtf.CollMixed != 0 {
		f.diags.Add(f.found(trace.DiagMixedCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	f.collectiveClock(c)
	f.earlyColl = f.earlyColl || c.Flags&xtf.CollNonBlocking != 0
	row, _ := f.out.Coll.Append()
	c.Put(row)
	f.causes = f.cause.Append(f.causes)
	if len(f.causes) < causeBlock*xtf.CollCauseBytes {
		return nil
	}
	return f.flushCauses()
}

// collectiveClock looks for a member that left before one that it needed had entered.
// Where members are missing or disagree nobody knows whom it needed, and of an
// inter-communicator not which of two groups.
func (f *Finisher) collectiveClock(c *xtf.Coll) {
	op, need := c.Flags&xtf.CollOpMask, f.cause.LastT
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
	if _, err := f.out.Causes.Append(f.causes); err != nil {
		return fmt.Errorf("causes of collectives of location %d: %w", f.in.Loaded.P, err)
	}
	f.causes = f.causes[:0]
	return nil
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
	if err := f.drain(); err != nil {
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
	err := f.drain()
	return &f.diags, err
}

// drain writes the rows after the last result.
func (f *Finisher) drain() error {
	if n := f.p2p.rows; n > 0 {
		if err := f.nextMessage(n - 1); err != nil {
			return err
		}
		if err := f.endMessage(); err != nil {
			return err
		}
		if err := f.flushSends(); err != nil {
			return err
		}
	}
	if n := f.coll.rows; n > 0 {
		if err := f.nextColl(n - 1); err != nil {
			return err
		}
		if err := f.endColl(); err != nil {
			return err
		}
		return f.flushCauses()
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

// stagedReader reads staged rows in order.
type stagedReader struct {
	data  io.ReaderAt
	width int
	rows  uint64
	next  uint64 // number of the row that read returns
	buf   []byte
	store []byte
}

func (s *stagedReader) read() ([]byte, error) {
	if s.next >= s.rows {
		return nil, nil
	}
	if len(s.buf) == 0 {
		n := min(s.rows-s.next, stageBlock/4)
		if s.store == nil {
			s.store = make([]byte, int(n)*s.width)
		}
		s.buf = s.store[:int(n)*s.width]
		if _, err := s.data.ReadAt(s.buf, int64(s.next)*int64(s.width)); err != nil && err != io.EOF {
			return nil, fmt.Errorf("staged rows: %w", err)
		}
	}
	row := s.buf[:s.width]
	s.buf = s.buf[s.width:]
	s.next++
	return row, nil
}
