package trace

import (
	"cmp"
	"slices"
)

// Code identifies a kind of problem found in a trace. Codes are stored in files:
// numbers are never reused.
type Code uint32

// Problems that a source or an analysis counts and reports.
const (
	DiagMissingEvents   Code = 1  // the event file of a location is not there
	DiagTruncated       Code = 2  // data end before the end mark; the events before are used
	DiagCorrupt         Code = 3  // a record contradicts the format; the rest of the chunk is left out
	DiagUnknownRecord   Code = 4  // a record kind of a later version: counted, kept as bytes
	DiagEventCount      Code = 5  // the stream has another number of events than the definitions say
	DiagTimeBackwards   Code = 6  // a time stamp before its predecessor, raised to it; worst: ticks
	DiagMissingLocalDef Code = 7  // no local definitions of a location: its events are left out; where no location has any, identity mapping and no clock correction
	DiagBadLocalDef     Code = 8  // local definitions damaged; what could be read is used
	DiagSingleOffset    Code = 9  // one clock offset gives no interval: clock not corrected
	DiagBadReference    Code = 10 // a record that refers to a definition that is not there
	DiagBadDefinition   Code = 11 // a definition record that is damaged or defined twice
	DiagSurplus         Code = 12 // a record with bytes of a later version: counted, kept as bytes
	DiagUnfinished      Code = 13 // a process that ended without MPI_Finalize; all that it recorded until then is there
	DiagPart            Code = 14 // a process of which a part of the run is recorded, as was asked for
	DiagStrayLeave      Code = 20 // a leave that does not close the innermost open call
	DiagOpenCall        Code = 21 // a call still open at the end of the stream, closed there
	DiagUnmatchedSend   Code = 22 // a send without receive
	DiagUnmatchedRecv   Code = 23 // a receive without send
	DiagUnknownPeer     Code = 24 // a rank or communicator that the definitions do not have
	DiagUnknownRequest  Code = 25 // a completion of what was never posted or begun
	DiagOpenRequest     Code = 26 // a request, file or one-sided operation still open at the end of the stream
	DiagClockViolation  Code = 27 // a message received before it was sent; worst: ticks
	DiagShortCollective Code = 28 // a collective that not all members of its communicator entered
	DiagMixedCollective Code = 29 // a collective whose members name different operations or roots
	DiagSharedChannel   Code = 30 // several locations of one process use one channel: matching is best effort
	DiagBytesDiffer     Code = 31 // a message received with another length than it was sent with
	DiagClockRepaired   Code = 32 // an end of a call that the repair of clocks raised; worst: ticks
	DiagClockStuck      Code = 33 // locations that wait for each other in a circle: clocks are not repaired
	DiagClockCollective Code = 34 // a member that left a collective before one that it needed entered; worst: ticks
	DiagClockShifted    Code = 35 // a clock that its repair set later as a whole; worst: ticks
	DiagCrossed         Code = 40 // an end marker of an interval that has others open inside, which end with it
	DiagStrayEnd        Code = 41 // an end marker without its begin, left out
	DiagUnclosed        Code = 42 // an interval still open at the last event, ended there
	DiagDangling        Code = 43 // the first half of a marker without the second: an ordinary message
	DiagIntervalLimit   Code = 44 // an interval that is not counted: too many different ones, or too deep
	DiagOverflow        Code = 45 // a location whose times or bytes are too large to add up over all
	DiagReplayStuck     Code = 46 // locations that wait for each other in a circle: no replay in an ideal network
	DiagWaitCircle      Code = 47 // waits that end at one instant and wait for each other: their ends count as time in MPI
	DiagReversedWait    Code = 48 // a wait that begins before its two locations synchronised last: clocks differ
	DiagNoNames         Code = 50 // no file that names event types and values: numbers stand for them
	DiagNoCollRecord    Code = 51 // a call of a collective that is an enter and a leave alone: it is not matched
	DiagSuspended       Code = 52 // an open call of a task that was suspended: each part is a call
	DiagMovedTask       Code = 53 // a call of a task that began or ended on another thread: left out
	DiagMigrated        Code = 54 // an enter or leave with the attribute GUID of a task whose call does not begin and end on one thread: left out
	DiagNoFrame         Code = 55 // a calling context with frames that are no open calls: they are left out
	DiagSampled         Code = 56 // a sample: the calls that it tells of are estimated
	DiagSampleGap       Code = 57 // more than two periods of an interrupt generator without a record of a calling context; worst: ticks
	DiagNoRecord        Code = 58 // a call of a one-sided or file operation that is an enter and a leave alone
	DiagLaunch          Code = 61 // a record that joins a call to what it starts on a device: left out
	DiagNoBytes         Code = 62 // a read or write that failed, or does not tell how many bytes it moved: it moved none
	DiagCanceledSend    Code = 63 // a send that was cancelled
	DiagCanceledRecv    Code = 64 // a receive that was cancelled
	DiagOff             Code = 65 // the measurement was off; worst: ticks outside of MPI, of all of a location; detail: OffToEnd or nothing
	DiagNoCall          Code = 66 // a message or member of a collective that is recorded outside of calls of MPI

	// diagUnread is the first of 256 codes: diagUnread + k counts the records of kind k that no analysis reads.
	diagUnread Code = 256
)

// UnreadCode is the code of records of kind k that no analysis reads.
func UnreadCode(k Kind) Code { return diagUnread + Code(k) }

// Unread returns the kind of the records that c counts, and false where c is another problem.
func (c Code) Unread() (Kind, bool) {
	return Kind(c - diagUnread), c >= diagUnread && c < diagUnread+256
}

// OffToEnd is the detail of DiagOff where the measurement of a location was never on again.
const OffToEnd = "off from the last one on"

// Severity grades a diagnostic.
type Severity uint32

const (
	Note    Severity = iota // nothing is lost
	Warning                 // numbers may be affected; the result says so
	Damage                  // data are missing: results are partial
)

type codeInfo struct {
	name     string
	severity Severity
	text     string
}

var codes = map[Code]codeInfo{
	DiagMissingEvents:   {"missing-events", Damage, "event file missing"},
	DiagTruncated:       {"truncated", Damage, "event data cut before the end mark"},
	DiagUnfinished:      {"unfinished", Damage, "processes that ended without MPI_Finalize, complete up to there"},
	DiagPart:            {"part", Note, "processes of which a part of the run is recorded, or nothing, as was asked for"},
	DiagCorrupt:         {"corrupt", Damage, "damaged event data left out"},
	DiagUnknownRecord:   {"unknown-record", Note, "records of an unknown kind"},
	DiagEventCount:      {"event-count", Warning, "event count differs from the definitions"},
	DiagTimeBackwards:   {"time-backwards", Damage, "time stamps before their predecessor"},
	DiagMissingLocalDef: {"missing-local-definitions", Damage, "local definitions missing"},
	DiagBadLocalDef:     {"bad-local-definitions", Damage, "local definitions damaged"},
	DiagSingleOffset:    {"single-clock-offset", Warning, "one clock offset only: clock not corrected"},
	DiagBadReference:    {"bad-reference", Warning, "records that refer to missing definitions"},
	DiagBadDefinition:   {"bad-definition", Damage, "damaged or repeated definitions"},
	DiagSurplus:         {"surplus", Note, "records with fields of a later version"},
	DiagStrayLeave:      {"stray-leave", Warning, "leaves that close no open call"},
	DiagOpenCall:        {"open-call", Note, "calls open at the end, closed there"},
	DiagUnmatchedSend:   {"unmatched-send", Warning, "sends without receive"},
	DiagUnmatchedRecv:   {"unmatched-receive", Warning, "receives without send"},
	DiagUnknownPeer:     {"unknown-peer", Warning, "messages whose partner, or collectives whose communicator, the definitions do not name"},
	DiagUnknownRequest:  {"unknown-request", Warning, "completions of requests, file or one-sided operations that never began"},
	DiagOpenRequest:     {"open-request", Note, "requests, file and one-sided operations that never complete"},
	DiagClockViolation:  {"clock-violation", Warning, "messages received before they were sent"},
	DiagClockRepaired:   {"clock-repaired", Note, "ends of calls raised by the repair of clocks"},
	DiagClockShifted:    {"clock-shifted", Note, "clocks set later as a whole by their repair"},
	DiagClockStuck:      {"clock-stuck", Warning, "locations that wait for each other in a circle: clocks not repaired"},
	DiagClockCollective: {"collective-clock-violation", Warning, "members of collectives that left before one they needed had entered"},
	DiagShortCollective: {"short-collective", Warning, "collectives that not all members entered"},
	DiagMixedCollective: {"mixed-collective", Warning, "collectives with differing operations or roots"},
	DiagSharedChannel:   {"shared-channel", Warning, "channels used by several threads: matching is best effort"},
	DiagNoNames:         {"no-names", Note, "file of names missing: numbers stand for them"},
	DiagNoCollRecord:    {"no-collective-record", Note, "calls of collectives without a record: not matched, their waits are not known"},
	DiagLaunch:          {"launch", Note, "records that join calls to what they start on devices, left out"},
	DiagNoRecord:        {"no-record", Note, "calls of one-sided and file operations without a record: their windows, files and bytes are not known"},
	DiagNoBytes:         {"no-bytes", Note, "reads and writes that failed or do not tell their bytes: they count none"},
	DiagCanceledSend:    {"cancelled-send", Note, "sends that were cancelled: they and their bytes count as sent, their waits are not known"},
	DiagCanceledRecv:    {"cancelled-receive", Note, "receives that were cancelled: their waits are not known"},
	DiagNoCall:          {"no-call", Note, "messages and members of collectives outside of calls of MPI: their waits are not known"},
	DiagOff:             {"measurement-off", Note, "times in which the measurement was off: what the program did is not known, and counts as measurement overhead"},
	DiagSuspended:       {"task-suspended", Warning, "open calls of tasks that were suspended: each part is a call; the call graph does not tell tasks apart"},
	DiagMovedTask:       {"moved-task", Damage, "calls of tasks that go on or end on another thread, left out from there on"},
	DiagMigrated:        {"migrated-task", Damage, "enters and leaves of tasks' calls (attribute GUID) that do not begin and end on one thread, left out"},
	DiagNoFrame:         {"frames-left-out", Note, "calling contexts with frames that are not open calls: call paths are without them"},
	DiagSampled:         {"sampled", Note, "samples: calls known from them alone have estimated times, and their number is not known"},
	DiagSampleGap:       {"sample-gap", Note, "times of more than two periods of a sampling timer without a sample: they count for the call path sampled before"},
	DiagBytesDiffer:     {"bytes-differ", Warning, "messages received with another length than sent"},
	DiagCrossed:         {"crossed", Warning, "ends of intervals that end others inside"},
	DiagStrayEnd:        {"end-without-begin", Warning, "ends of intervals without begin"},
	DiagUnclosed:        {"unclosed", Warning, "intervals open at the last event, ended there"},
	DiagDangling:        {"dangling-marker", Note, "first halves of markers without the second, taken for messages"},
	DiagIntervalLimit:   {"interval-limit", Warning, "intervals left out: too many different ones, or too deep"},
	DiagOverflow:        {"overflow", Damage, "times or bytes too large to add up over all locations, left out"},
	DiagReplayStuck:     {"replay-stuck", Warning, "locations that wait for each other in a circle: not replayed in an ideal network"},
	DiagWaitCircle:      {"wait-circle", Warning, "waits that end at one instant in a circle: delay costs take them for time in MPI"},
	DiagReversedWait:    {"reversed-wait", Note, "waits that begin before the locations synchronised last: clocks differ"},
}

// String returns the code's name in JSON output.
func (c Code) String() string {
	if k, ok := c.Unread(); ok {
		return "not-analysed:" + k.String()
	}
	return codes[c].name
}

// Text returns the code's meaning in words.
func (c Code) Text() string {
	if k, ok := c.Unread(); ok {
		return k.String() + " records: " + k.Info().Untold
	}
	return codes[c].text
}

// InTicks reports whether the magnitudes of the code are ticks.
func (c Code) InTicks() bool {
	return c == DiagTimeBackwards || c == DiagClockViolation || c == DiagClockCollective || c == DiagClockRepaired || c == DiagClockShifted || c == DiagSampleGap || c == DiagOff
}

// Severity returns the code's grade.
func (c Code) Severity() Severity { return codes[c].severity }

// Diagnostic is one problem, or several of one kind, that was found in a location.
type Diagnostic struct {
	Code   Code
	Time   Time   // where it was found, as far as known
	Event  uint64 // number of the event in its stream, from 0
	Count  uint64 // how often, at least 1
	Worst  uint64 // largest magnitude, in the code's unit; 0 where there is none
	Detail string // what exactly: file and offset, reference, request
}

// Diagnostics collects the problems of one location: per code the first 16 and
// a total. Its memory does not grow with the number of problems.
type Diagnostics struct {
	Codes []CodeDiagnostics // by ascending code
}

// CodeDiagnostics are the problems of one code.
type CodeDiagnostics struct {
	Code  Code
	Count uint64
	Worst uint64
	First []Diagnostic // the first ones, in the order found, 16 at most
}

const keptPerCode = 16

// Add records d.
func (ds *Diagnostics) Add(d Diagnostic) {
	c := ds.find(d.Code)
	d.Count = max(d.Count, 1)
	c.Count += d.Count
	c.Worst = max(c.Worst, d.Worst)
	if len(c.First) < keptPerCode {
		c.First = append(c.First, d)
	}
}

// AddAll records every element of list.
func (ds *Diagnostics) AddAll(list []Diagnostic) {
	for _, d := range list {
		ds.Add(d)
	}
}

// Count returns how often c was found.
func (ds *Diagnostics) Count(c Code) uint64 {
	for i := range ds.Codes {
		if ds.Codes[i].Code == c {
			return ds.Codes[i].Count
		}
	}
	return 0
}

func (ds *Diagnostics) find(code Code) *CodeDiagnostics {
	i, found := slices.BinarySearchFunc(ds.Codes, code, func(c CodeDiagnostics, code Code) int { return cmp.Compare(c.Code, code) })
	if !found {
		ds.Codes = slices.Insert(ds.Codes, i, CodeDiagnostics{Code: code})
	}
	return &ds.Codes[i]
}

// List returns the problems one by one; the last one of each code counts those
// too that are not kept.
func (ds *Diagnostics) List() []Diagnostic {
	var all []Diagnostic
	for i := range ds.Codes {
		c := &ds.Codes[i]
		rest := c.Count
		for _, d := range c.First {
			rest -= d.Count
			all = append(all, d)
		}
		if len(c.First) == 0 {
			all = append(all, Diagnostic{Code: c.Code})
		}
		all[len(all)-1].Count += rest
	}
	return all
}

// Merge adds what o found, after what is there already.
func (ds *Diagnostics) Merge(o *Diagnostics) {
	for i := range o.Codes {
		c := &o.Codes[i]
		x := ds.find(c.Code)
		x.Count += c.Count
		x.Worst = max(x.Worst, c.Worst)
		x.First = append(x.First, c.First[:min(len(c.First), keptPerCode-min(len(x.First), keptPerCode))]...)
	}
}
