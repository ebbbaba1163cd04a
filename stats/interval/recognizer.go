package interval

// Tags of markers that are messages.
const (
	rawMark  = 0xAA   // F1: top byte
	rawBegin = 0xAA   // F1: lowest byte
	rawEnd   = 0xBB   // F1: lowest byte
	leadTag  = 0x2A00 // F2: first message, with rawBegin or rawEnd
	maxTag   = 1<<15 - 1
)

// Mark is the begin or the end of an interval, as a marker says.
type Mark struct {
	Key Key // of an end only id and name
	End bool
}

// Outcome says what a record means for markers, as bits.
type Outcome uint8

// Outcomes. Dangling and Over are about the marker in progress before the record, the others about the record.
const (
	Dangling Outcome = 1 << iota // the half marker before was an ordinary message
	Over                         // the marker before is over
	Part                         // the record belongs to a marker or to half of one
	Half                         // it may be the first half of a marker (F2)
	Whole                        // it completes a marker
)

// Recognizer finds markers that are messages to oneself (F1, F2, F3) and calls of MPI_Pcontrol (F4, F5) among the records of one location.
//
// A marker is a self message, or two for F2, whose receive is the next record of a message. Enters and leaves of MPI calls may lie between.
// Every other event ends the marker in progress: the caller then calls Break.
type Recognizer struct {
	plan     *Plan
	state    state
	received bool   // the receive of the message in progress came
	comm     uint32 // of the message in progress
	tag      uint32
	mark     Mark

	level    int64 // of the MPI_Pcontrol in progress
	name     string
	hasLevel bool
	hasName  bool
}

type state uint8

const (
	idle  state = iota
	half        // the first message of F2 came
	whole       // the marker is recognised; its receive may be missing
)

// NewRecognizer returns the recognizer of a location.
func NewRecognizer(p *Plan) Recognizer { return Recognizer{plan: p} }

// Idle reports whether nothing is in progress.
func (r *Recognizer) Idle() bool { return r.state == idle }

// Complete reports whether a marker is recognised and its last message received, so that it ends with the current call.
func (r *Recognizer) Complete() bool { return r.state == whole && r.received }

// Mark returns the marker recognised last.
func (r *Recognizer) Mark() Mark { return r.mark }

// Break ends the marker in progress, because of an event that does not belong to one.
func (r *Recognizer) Break() Outcome {
	old := r.state
	r.state = idle
	switch old {
	case half:
		return Dangling
	case whole:
		return Over
	}
	return 0
}

// Send takes a sent message. self says that it goes to the sending process.
func (r *Recognizer) Send(self bool, comm, tag uint32) Outcome {
	if self && r.state == half && r.received && comm == r.comm && tag <= maxTag {
		r.mark.Key.ID = uint64(tag)
		r.begin(whole, comm, tag)
		return Part | Whole
	}
	out := r.Break()
	if !self {
		return out
	}
	forms := r.plan.Forms
	switch low := tag & 0xFF; {
	case r.plan.comms[comm]:
		r.mark = Mark{Key{ID: uint64(tag >> 1), Form: FormCommunicator}, tag&1 != 0}
		r.begin(whole, comm, tag)
		return out | Part | Whole
	case forms.Has(FormRaw) && tag>>24 == rawMark && (low == rawBegin || low == rawEnd):
		r.mark = Mark{Key{ID: uint64(tag >> 8 & 0xFFFF), Form: FormRaw}, low == rawEnd}
		r.begin(whole, comm, tag)
		return out | Part | Whole
	case forms.Has(FormPortable) && (tag == leadTag|rawBegin || tag == leadTag|rawEnd):
		r.mark = Mark{Key{Form: FormPortable}, tag == leadTag|rawEnd}
		r.begin(half, comm, tag)
		return out | Part | Half
	}
	return out
}

func (r *Recognizer) begin(s state, comm, tag uint32) {
	r.state, r.comm, r.tag, r.received = s, comm, tag, false
}

// Receive takes a received message.
func (r *Recognizer) Receive(self bool, comm, tag uint32) Outcome {
	if r.state != idle && !r.received && self && comm == r.comm && tag == r.tag {
		r.received = true
		return Part
	}
	return r.Break()
}

// Control begins a call of MPI_Pcontrol.
func (r *Recognizer) Control() { r.hasLevel, r.hasName = false, false }

// Level takes the level of the current call of MPI_Pcontrol. It reports whether the call is a marker.
func (r *Recognizer) Level(v int64) bool {
	r.level, r.hasLevel = v, true
	if r.plan.Forms.Has(FormLevel) && !r.hasName && (v >= 5 || v <= -5) {
		id := uint64(v)
		if v < 0 {
			id = -id
		}
		r.mark = Mark{Key{ID: id, Form: FormLevel}, v < 0}
		return true
	}
	return r.named()
}

// Name takes the name in the current call of MPI_Pcontrol. It reports whether the call is a marker.
func (r *Recognizer) Name(s string) bool {
	r.name, r.hasName = s, true
	return r.named()
}

func (r *Recognizer) named() bool {
	if !r.hasLevel || !r.hasName || !r.plan.Forms.Has(FormName) || r.name == "" || r.level != 1 && r.level != -1 {
		return false
	}
	r.mark = Mark{Key{Name: r.name, Form: FormName}, r.level < 0}
	return true
}

// Recognised reports whether the marker in progress is recognised.
func (r *Recognizer) Recognised() bool { return r.state == whole }
