package trace

import "encoding/binary"

// ThreadNote is what a record says that one thread of a process does for another.
type ThreadNote struct {
	What  NoteWhat
	Class NoteClass
	A     uint64 // with B: what the note is about, within its class
	B     uint32
}

// NoteWhat is what a note says.
type NoteWhat uint8

// What notes say.
const (
	NoteGives NoteWhat = iota // the thread gives what another one may wait for
	NoteTakes                 // and this one takes it
	NoteDone                  // a task is complete
)

// NoteClass is the class of what a note is about.
type NoteClass uint8

// Classes: locks, begins and ends of threads, begins of tasks.
const (
	NoteLock NoteClass = iota
	NoteBegin
	NoteEnd
	NoteTask
)

// ThreadNoteOf returns the note of a record with these words; false if it is none.
func ThreadNoteOf(k Kind, w []uint64) (n ThreadNote, ok bool) {
	switch k {
	case OmpReleaseLock, ThreadReleaseLock:
		n.What, n.Class = NoteGives, NoteLock
	case OmpAcquireLock, ThreadAcquireLock:
		n.What, n.Class = NoteTakes, NoteLock
	case ThreadCreate:
		n.What, n.Class = NoteGives, NoteBegin
	case ThreadBegin:
		n.What, n.Class = NoteTakes, NoteBegin
	case ThreadEnd:
		n.What, n.Class = NoteGives, NoteEnd
	case ThreadWait:
		n.What, n.Class = NoteTakes, NoteEnd
	case OmpTaskCreate, ThreadTaskCreate:
		n.What, n.Class = NoteGives, NoteTask
	case OmpTaskSwitch, ThreadTaskSwitch:
		n.What, n.Class = NoteTakes, NoteTask
	case OmpTaskComplete, ThreadTaskComplete:
		n.What, n.Class = NoteDone, NoteTask
	default:
		return n, false
	}
	switch k {
	case OmpReleaseLock, OmpAcquireLock, OmpTaskCreate, OmpTaskSwitch, OmpTaskComplete:
		n.A, n.B = w[0], Undefined
	case ThreadTaskCreate, ThreadTaskSwitch, ThreadTaskComplete:
		n.A, n.B = w[1]<<32|w[2], uint32(w[0])
	default:
		n.A, n.B = w[1], uint32(w[0])
	}
	return n, true
}

// NoteBytes is the length of a note in a file: its time u64, A u64, B u32, what and class u8, 2 bytes of zero, little-endian.
const NoteBytes = 24

// Append appends the note with its time.
func (n ThreadNote) Append(b []byte, t uint64) []byte {
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, t), n.A)
	return append(binary.LittleEndian.AppendUint32(b, n.B), byte(n.What), byte(n.Class), 0, 0)
}

// ReadNote reads what Append wrote.
func ReadNote(b []byte) (n ThreadNote, t uint64) {
	_ = b[NoteBytes-1]
	le := binary.LittleEndian
	return ThreadNote{NoteWhat(b[20]), NoteClass(b[21]), le.Uint64(b[8:]), le.Uint32(b[16:])}, le.Uint64(b)
}
