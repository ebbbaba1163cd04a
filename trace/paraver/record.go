package paraver

import "math"

// recordKind is the first field of a line.
type recordKind uint8

const (
	stateRecord recordKind = '1'
	eventRecord recordKind = '2'
	commRecord  recordKind = '3'
)

// pair is an event type and its value.
type pair struct{ Type, Value uint64 }

// record is one line of a trace, its objects looked up.
type record struct {
	kind     recordKind
	location uint32 // of a communication: the sender
	time     uint64 // begin of a state, logical send
	end      uint64 // of a state
	state    uint64
	pairs    []pair // of an event
	message  message
}

// message is a communication.
type message struct {
	receiver uint32 // location
	from, to uint32 // tasks
	posted   uint64 // logical receive: when the receiving call began
	received uint64 // physical receive: when the message was there
	size     uint64 // bytes
	tag      uint32
}

// Why a line is not a record.
const (
	badNumber  = "a field that is not a number"
	badFields  = "a wrong number of fields"
	badObject  = "a thread that the header does not have"
	badTag     = "a tag of more than 32 bits"
	badTimes   = "an end before its begin"
	badUnknown = "an unknown kind of record"
)

// parse reads a line into r, whose pairs keep their memory. It returns what is
// wrong with it, "" if nothing is.
func (r *record) parse(h *header, line []byte) string {
	if len(line) < 2 || line[1] != ':' {
		return badUnknown
	}
	f := fields{b: line[2:]}
	r.kind = recordKind(line[0])
	r.pairs = r.pairs[:0]
	switch r.kind {
	case stateRecord:
		r.location = f.object(h, nil)
		r.time, r.end, r.state = f.unsigned(), f.unsigned(), f.unsigned()
		if f.wrong == "" && r.end < r.time {
			f.wrong = badTimes
		}
	case eventRecord:
		r.location = f.object(h, nil)
		r.time = f.unsigned()
		for f.wrong == "" && !f.done {
			r.pairs = append(r.pairs, pair{f.unsigned(), f.signed()})
		}
	case commRecord:
		r.parseComm(h, &f)
	default:
		return badUnknown
	}
	if f.wrong == "" && !f.done {
		return badFields
	}
	return f.wrong
}

// parseComm reads the fields of a communication. The physical send time is
// checked only: what a send costs its process is the time of its call.
func (r *record) parseComm(h *header, f *fields) {
	m := &r.message
	r.location = f.object(h, &m.from)
	r.time = f.unsigned()
	f.unsigned()
	m.receiver = f.object(h, &m.to)
	m.posted, m.received = f.unsigned(), f.unsigned()
	m.size = f.unsigned()
	tag := int64(f.signed())
	if tag < math.MinInt32 || tag > math.MaxUint32 {
		f.fail(badTag)
	}
	m.tag = uint32(tag)
	m.posted = min(m.posted, m.received)
}

// fields reads the numbers of a line, which colons separate.
type fields struct {
	b     []byte
	done  bool // the last field has been read
	wrong string
}

// object reads processor, application, task and thread; it returns the location
// and, where it is asked for, the task.
func (f *fields) object(h *header, task *uint32) uint32 {
	f.unsigned()
	app, number, thread := f.unsigned(), f.unsigned(), f.unsigned()
	if f.wrong != "" {
		return 0
	}
	location, ok := h.locate(app, number, thread)
	if !ok {
		f.wrong = badObject
		return 0
	}
	if task != nil {
		*task, _ = h.taskOf(app, number)
	}
	return location
}

func (f *fields) unsigned() uint64 {
	if f.done || f.wrong != "" {
		f.fail(badFields)
		return 0
	}
	v, n, ok := digits(f.b)
	if !ok {
		f.fail(badNumber)
		return 0
	}
	f.next(n)
	return v
}

// signed reads a number that may be negative and returns its two's complement.
func (f *fields) signed() uint64 {
	if f.done || f.wrong != "" || len(f.b) == 0 || f.b[0] != '-' {
		return f.unsigned()
	}
	v, n, ok := digits(f.b[1:])
	if !ok || v > 1<<63 {
		f.fail(badNumber)
		return 0
	}
	f.next(n + 1)
	return -v
}

// next steps over a field of n bytes and the colon after it.
func (f *fields) next(n int) {
	f.b = f.b[n:]
	if len(f.b) == 0 {
		f.done = true
		return
	}
	if f.b[0] != ':' {
		f.fail(badNumber)
		return
	}
	f.b = f.b[1:]
}

func (f *fields) fail(why string) {
	if f.wrong == "" {
		f.wrong = why
	}
}
