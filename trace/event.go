package trace

import "slices"

// Time is an instant in ticks of the trace's clock, corrected for clock offsets.
// It counts from the clock's own epoch; [ClockProperties.GlobalOffset] is the
// trace's origin.
type Time uint64

// P is the ordinal of a location in (process, thread) order, dense from 0.
type P uint32

// Undefined values of references and of 64-bit fields, as in OTF2.
const (
	Undefined   = 0xFFFFFFFF
	Undefined64 = 0xFFFFFFFFFFFFFFFF
)

// Event flags.
const (
	HasAttributes uint8 = 1 << iota // an attribute list follows the fields
	HasSurplus                      // bytes of a later format version follow
	Estimated                       // no record: a call that calling contexts tell of begins or ends about here, see Frames
)

// Event is the header of one event record; its fields are words of the batch.
type Event struct {
	Time  Time   // corrected ticks
	Ref   uint32 // Enter, Leave: the region; otherwise 0
	Arg   uint32 // index of the first word in Batch.Args
	Len   uint32 // number of words
	Kind  Kind
	Flags uint8
}

// EventAttribute is one element of an event's attribute list.
type EventAttribute struct {
	Ref   uint32 // attribute definition
	Type  ValueType
	Value uint64 // bits of the value; references are global ones
}

// Batch is a run of events of one location, in stream order. It is refilled in
// place: its contents are valid until the next call of ChunkReader.Next.
type Batch struct {
	First  uint64 // number of the first event in its stream, from 0; in its chunk where chunks do not tell how many are before
	Events []Event
	Args   []uint64
}

// Reset empties b and keeps its memory.
func (b *Batch) Reset() {
	b.Events, b.Args = b.Events[:0], b.Args[:0]
}

// KeepRecords removes the Estimated events.
func (b *Batch) KeepRecords() {
	b.Events = slices.DeleteFunc(b.Events, func(e Event) bool { return e.Flags&Estimated != 0 })
}

// Words returns all words of e: fields, list, attributes, surplus.
func (b *Batch) Words(e *Event) []uint64 {
	return b.Args[e.Arg : e.Arg+e.Len]
}

// Layout splits the words of e into fields, list elements, attributes (two
// words each: type<<32 | reference, and value) and surplus (its length in
// bytes, then the bytes, 8 a word, first byte lowest).
func (b *Batch) Layout(e *Event) (fields, list, attributes, surplus []uint64) {
	w := b.Words(e)
	if e.Kind == Enter || e.Kind == Leave {
		fields = nil
	} else {
		info := e.Kind.Info()
		n := len(info.Fields)
		fields, w = w[:n], w[n:]
		if k := listWords(info.List, fields); k > 0 {
			list, w = w[:k], w[k:]
		}
	}
	if e.Flags&HasAttributes != 0 {
		n := 2 * w[0]
		attributes, w = w[1:1+n], w[1+n:]
	}
	if e.Flags&HasSurplus != 0 {
		surplus = w
	}
	return fields, list, attributes, surplus
}

// listWords returns the number of words of the list that follows fields.
func listWords(l List, fields []uint64) uint64 {
	if l == NoList {
		return 0
	}
	n := fields[len(fields)-1]
	switch l {
	case MetricList:
		return 2 * n
	case PayloadList:
		return (n + 7) / 8
	}
	return n
}

// Attributes appends the attribute list of e to dst.
func (b *Batch) Attributes(dst []EventAttribute, e *Event) []EventAttribute {
	if e.Flags&HasAttributes == 0 {
		return dst
	}
	_, _, a, _ := b.Layout(e)
	for i := 0; i+1 < len(a); i += 2 {
		dst = append(dst, EventAttribute{uint32(a[i]), ValueType(a[i] >> 32), a[i+1]})
	}
	return dst
}

// Append adds an event with the given fields and list words; it is for sources
// that make events rather than decode them.
func (b *Batch) Append(t Time, k Kind, ref uint32, words ...uint64) {
	b.Events = append(b.Events, Event{Time: t, Ref: ref, Arg: uint32(len(b.Args)), Len: uint32(len(words)), Kind: k})
	b.Args = append(b.Args, words...)
}

// AppendAttributes adds an attribute list to the last event of b.
func (b *Batch) AppendAttributes(list ...EventAttribute) {
	if len(list) == 0 || len(b.Events) == 0 {
		return
	}
	e := &b.Events[len(b.Events)-1]
	e.Flags |= HasAttributes
	b.Args = append(b.Args, uint64(len(list)))
	for _, a := range list {
		b.Args = append(b.Args, uint64(a.Type)<<32|uint64(a.Ref), a.Value)
	}
	e.Len = uint32(len(b.Args)) - e.Arg
}
