package export

import (
	"bufio"
	"encoding/binary"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Fields of Perfetto's protobuf schema that are written, named MESSAGE.field, from trace_packet.proto, track_event.proto,
// track_descriptor.proto, process_descriptor.proto, thread_descriptor.proto, counter_descriptor.proto,
// interned_data.proto and debug_annotation.proto in protos/perfetto/trace of https://github.com/google/perfetto.
const (
	tracePacket = 1 // Trace.packet

	packetTimestamp  = 8
	packetSequence   = 10 // trusted_packet_sequence_id
	packetEvent      = 11 // track_event
	packetInterned   = 12
	packetFlags      = 13 // sequence_flags
	packetDescriptor = 60 // track_descriptor

	eventCategory     = 3 // category_iids
	eventAnnotation   = 4 // debug_annotations
	eventType         = 9
	eventNameID       = 10
	eventTrack        = 11
	eventName         = 23
	eventCounter      = 30
	eventDouble       = 44
	eventFlows        = 47
	eventEndFlows     = 48 // terminating_flow_ids
	typeBegin         = 1
	typeEnd           = 2
	typeInstant       = 3
	typeCounter       = 4
	stateCleared      = 1 // SEQ_INCREMENTAL_STATE_CLEARED
	stateNeeded       = 2 // SEQ_NEEDS_INCREMENTAL_STATE
	internedCategory  = 1
	internedEventName = 2
	internedArgName   = 3
	internedID        = 1 // EventCategory, EventName and DebugAnnotationName
	internedName      = 2

	descriptorUUID    = 1
	descriptorName    = 2
	descriptorProcess = 3
	descriptorThread  = 4
	descriptorParent  = 5
	descriptorCounter = 8
	processPID        = 1
	processName       = 6
	threadPID         = 1
	threadTID         = 2
	threadName        = 5
	counterUnit       = 3
	unitBytes         = 3

	annotationID   = 1 // name_iid
	annotationUint = 3
	annotationText = 6
)

// wire appends fields in protobuf's wire form: a tag with the number of the field and the type of its value, and the value.
type wire []byte

func (w wire) uint(field int, v uint64) wire {
	w = binary.AppendUvarint(w, uint64(field)<<3)
	return binary.AppendUvarint(w, v)
}

func (w wire) fixed(field int, v uint64) wire {
	w = binary.AppendUvarint(w, uint64(field)<<3|1)
	return binary.LittleEndian.AppendUint64(w, v)
}

func (w wire) bytes(field int, v []byte) wire {
	w = binary.AppendUvarint(w, uint64(field)<<3|2)
	w = binary.AppendUvarint(w, uint64(len(v)))
	return append(w, v...)
}

func (w wire) text(field int, v string) wire {
	w = binary.AppendUvarint(w, uint64(field)<<3|2)
	w = binary.AppendUvarint(w, uint64(len(v)))
	return append(w, v...)
}

// perfetto writes a trace of Perfetto: one sequence of packets. A flow of a message begins with the slice of its send and ends at
// the end of the slice that received it: a flow begins at its earliest point, and a receive may begin before its send. Names of
// regions are defined at their first use.
type perfetto struct {
	out               *bufio.Writer
	packet, body, sub wire
	note              wire // an annotation
	names             []string
	given             []bool
	next              uint64 // number of the next track
	track             uint64
	parents           map[trace.P]uint64 // of processes, by their first location
	intervals         uint64             // track of the location, 0: none yet
	counts            map[int]uint64     // tracks of the location's counters
}

// write writes the packet whose body is in body.
func (p *perfetto) write() {
	p.packet = p.packet[:0].bytes(tracePacket, p.body)
	p.out.Write(p.packet)
}

func (p *perfetto) begun() { p.body = p.body[:0].uint(packetSequence, 1) }

func interned(w wire, field int, id uint64, name string) wire {
	entry := wire{}.uint(internedID, id).text(internedName, name)
	return w.bytes(field, entry)
}

func (p *perfetto) head(_ string, regions, categories []string) {
	p.names, p.given = regions, make([]bool, len(regions))
	p.begun()
	p.body = p.body.uint(packetFlags, stateCleared)
	p.sub = p.sub[:0]
	for i, c := range categories {
		p.sub = interned(p.sub, internedCategory, uint64(i)+1, c)
	}
	for i, a := range argNames {
		p.sub = interned(p.sub, internedArgName, uint64(i)+1, a)
	}
	p.body = p.body.bytes(packetInterned, p.sub)
	p.write()
}

// descriptor writes a track and returns its number. p.sub has everything else.
func (p *perfetto) descriptor() uint64 {
	id := p.next
	p.next++
	p.sub = p.sub.uint(descriptorUUID, id)
	p.begun()
	p.body = p.body.bytes(packetDescriptor, p.sub)
	p.write()
	return id
}

func (p *perfetto) process(first trace.P, _ uint32, name string) {
	p.sub = p.sub[:0].bytes(descriptorProcess, wire{}.uint(processPID, uint64(first)+1).text(processName, name))
	p.parents[first] = p.descriptor()
}

func (p *perfetto) thread(x thread) {
	p.sub = p.sub[:0].uint(descriptorParent, p.parents[trace.P(x.process-1)])
	p.sub = p.sub.bytes(descriptorThread, wire{}.uint(threadPID, uint64(x.process)).uint(threadTID, uint64(x.self)).text(threadName, x.name))
	p.intervals, p.counts = 0, nil
	p.track = p.descriptor()
}

// event writes the event in p.sub, of a kind on a track. region is the index of its name, or -1.
func (p *perfetto) event(ns, track uint64, kind uint64, region int) {
	p.sub = p.sub.uint(eventType, kind).uint(eventTrack, track)
	if region >= 0 {
		p.sub = p.sub.uint(eventNameID, uint64(region)+1)
	}
	p.begun()
	p.body = p.body.uint(packetTimestamp, ns).uint(packetFlags, stateNeeded)
	if region >= 0 && !p.given[region] {
		p.given[region] = true
		p.body = p.body.bytes(packetInterned, interned(nil, internedEventName, uint64(region)+1, p.names[region]))
	}
	p.body = p.body.bytes(packetEvent, p.sub)
	p.write()
}

// describe begins an event with its category and annotations.
func (p *perfetto) describe(e *event) {
	p.sub = p.sub[:0].uint(eventCategory, uint64(e.category)+1)
	for i := range e.args {
		a := &e.args[i]
		p.note = p.note[:0].uint(annotationID, uint64(a.name)+1)
		if a.text != "" {
			p.note = p.note.text(annotationText, strings.ToValidUTF8(a.text, "\uFFFD"))
		} else {
			p.note = p.note.uint(annotationUint, a.value)
		}
		p.sub = p.sub.bytes(eventAnnotation, p.note)
	}
}

func (p *perfetto) flows(field int, list []uint64) {
	for _, f := range list {
		p.sub = p.sub.fixed(field, f)
	}
}

func (p *perfetto) begin(ns uint64, e *event) {
	p.describe(e)
	p.flows(eventFlows, e.flows)
	p.event(ns, p.track, typeBegin, e.region)
}

func (p *perfetto) end(ns uint64, flows []uint64) {
	p.sub = p.sub[:0]
	p.flows(eventEndFlows, flows)
	p.event(ns, p.track, typeEnd, -1)
}

func (p *perfetto) instant(ns uint64, receive bool, e *event) {
	p.describe(e)
	if receive {
		p.flows(eventEndFlows, e.flows)
		p.sub = p.sub.text(eventName, "receive")
	} else {
		p.flows(eventFlows, e.flows)
		p.sub = p.sub.text(eventName, "send")
	}
	p.event(ns, p.track, typeInstant, -1)
}

// child makes a track below the location's.
func (p *perfetto) child(name string) {
	p.sub = p.sub[:0].uint(descriptorParent, p.track).text(descriptorName, name)
}

func (p *perfetto) intervalBegin(ns uint64, name string) {
	if p.intervals == 0 {
		p.child("intervals")
		p.intervals = p.descriptor()
	}
	p.sub = p.sub[:0].text(eventName, name)
	p.event(ns, p.intervals, typeBegin, -1)
}

func (p *perfetto) intervalEnd(ns uint64, _ string) {
	p.sub = p.sub[:0]
	p.event(ns, p.intervals, typeEnd, -1)
}

func (p *perfetto) counter(ns uint64, i int, name, unit string, value float64, bits uint64, kind int) {
	track, ok := p.counts[i]
	if !ok {
		p.child(name)
		var c wire
		if strings.EqualFold(unit, "bytes") {
			c = c.uint(counterUnit, unitBytes)
		}
		p.sub = p.sub.bytes(descriptorCounter, c)
		track = p.descriptor()
		if p.counts == nil {
			p.counts = map[int]uint64{}
		}
		p.counts[i] = track
	}
	if kind == 2 || bits > math.MaxInt64 && kind == 0 {
		p.sub = p.sub[:0].fixed(eventDouble, math.Float64bits(value))
	} else {
		p.sub = p.sub[:0].uint(eventCounter, bits)
	}
	p.event(ns, track, typeCounter, -1)
}

func (p *perfetto) tail() {}
