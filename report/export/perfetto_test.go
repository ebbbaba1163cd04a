package export

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unicode/utf8"
)

// Types of values on the wire.
const (
	asVarint = 0
	asFixed  = 1
	asBytes  = 2
)

// schema is what Perfetto's published .proto files say of the messages that are written: of each field the number, the type of
// its value on the wire, and the message that bytes hold, or "string".
var schema = map[string]map[uint64]struct {
	wire uint64
	of   string
}{
	"Trace": {1: {asBytes, "TracePacket"}},
	"TracePacket": {
		8: {asVarint, "uint64"}, 10: {asVarint, "uint32"}, 11: {asBytes, "TrackEvent"}, 12: {asBytes, "InternedData"}, 13: {asVarint, "uint32"},
		60: {asBytes, "TrackDescriptor"},
	},
	"TrackEvent": {
		3: {asVarint, "uint64"}, 4: {asBytes, "DebugAnnotation"}, 9: {asVarint, "enum"}, 10: {asVarint, "uint64"}, 11: {asVarint, "uint64"},
		23: {asBytes, "string"}, 30: {asVarint, "int64"}, 44: {asFixed, "double"}, 47: {asFixed, "fixed64"}, 48: {asFixed, "fixed64"},
	},
	"TrackDescriptor": {
		1: {asVarint, "uint64"}, 2: {asBytes, "string"}, 3: {asBytes, "ProcessDescriptor"}, 4: {asBytes, "ThreadDescriptor"}, 5: {asVarint, "uint64"},
		8: {asBytes, "CounterDescriptor"},
	},
	"ProcessDescriptor":   {1: {asVarint, "int32"}, 6: {asBytes, "string"}},
	"ThreadDescriptor":    {1: {asVarint, "int32"}, 2: {asVarint, "int32"}, 5: {asBytes, "string"}},
	"CounterDescriptor":   {3: {asVarint, "enum"}},
	"InternedData":        {1: {asBytes, "EventCategory"}, 2: {asBytes, "EventName"}, 3: {asBytes, "DebugAnnotationName"}},
	"EventCategory":       {1: {asVarint, "uint64"}, 2: {asBytes, "string"}},
	"EventName":           {1: {asVarint, "uint64"}, 2: {asBytes, "string"}},
	"DebugAnnotationName": {1: {asVarint, "uint64"}, 2: {asBytes, "string"}},
	"DebugAnnotation":     {1: {asVarint, "uint64"}, 3: {asVarint, "uint64"}, 6: {asBytes, "string"}},
}

// field is a decoded field.
type field struct {
	number, value uint64
	text          string
	fields        []field
}

// decode reads a message by the schema: another number or type is an error.
func decode(t *testing.T, message string, b []byte) (list []field) {
	t.Helper()
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatalf("%s: no tag", message)
		}
		b = b[n:]
		f := field{number: tag >> 3}
		s, ok := schema[message][f.number]
		if !ok || s.wire != tag&7 {
			t.Fatalf("%s: field %d of type %d is not in the schema", message, f.number, tag&7)
		}
		switch s.wire {
		case asVarint:
			f.value, n = binary.Uvarint(b)
		case asFixed:
			f.value, n = binary.LittleEndian.Uint64(b), 8
		default:
			size, k := binary.Uvarint(b)
			if k <= 0 || size > uint64(len(b)-k) {
				t.Fatalf("%s: field %d of %d bytes in %d", message, f.number, size, len(b))
			}
			body := b[k : k+int(size)]
			if n = k + int(size); s.of == "string" {
				if f.text = string(body); !utf8.ValidString(f.text) {
					t.Errorf("%s: field %d is not valid UTF-8: %q", message, f.number, f.text)
				}
			} else {
				f.fields = decode(t, s.of, body)
			}
		}
		if n <= 0 {
			t.Fatalf("%s: field %d is cut", message, f.number)
		}
		b = b[n:]
		list = append(list, f)
	}
	return list
}

func (f *field) get(number uint64) *field {
	for i := range f.fields {
		if f.fields[i].number == number {
			return &f.fields[i]
		}
	}
	return &field{}
}

// perfettoReader is what a reader of packets has to remember.
type perfettoReader struct {
	t       *testing.T
	l       *lanes
	tracks  map[uint64]*field
	threads map[uint64]string // of tracks
	names   [4]map[uint64]string
	depth   map[uint64]int
	last    map[uint64]uint64
}

// readPerfetto checks a trace: the form of all packets, that tracks are described and names given before they are used, that
// times of a track do not decrease and that its slices are balanced, and flows.
func readPerfetto(t *testing.T, b []byte) *lanes {
	t.Helper()
	r := &perfettoReader{t: t, l: newLanes(), tracks: map[uint64]*field{}, threads: map[uint64]string{}, depth: map[uint64]int{}, last: map[uint64]uint64{}}
	for i := range r.names {
		r.names[i] = map[uint64]string{}
	}
	trace := field{fields: decode(t, "Trace", b)}
	for i := range trace.fields {
		p := &trace.fields[i]
		if p.get(10).value != 1 {
			t.Fatalf("packet %d of another sequence", i)
		}
		if flags := p.get(13).value; i == 0 && flags != 1 || i > 0 && p.get(11).number != 0 && flags != 2 {
			t.Errorf("packet %d: flags %d", i, flags)
		}
		for _, x := range p.get(12).fields {
			id, name := x.get(1).value, x.get(2).text
			if id == 0 || r.names[x.number][id] != "" {
				t.Errorf("packet %d: name %d given twice, or 0", i, id)
			}
			r.names[x.number][id] = name
		}
		if d := p.get(60); d.number != 0 {
			r.describe(d)
		}
		if e := p.get(11); e.number != 0 {
			r.event(p.get(8).value, e)
		}
	}
	for track, n := range r.depth {
		if n != 0 {
			t.Errorf("track %d: %d slices without end", track, n)
		}
	}
	return r.l
}

func (r *perfettoReader) describe(d *field) {
	id, parent := d.get(1).value, d.get(5).value
	if id == 0 || r.tracks[id] != nil || parent != 0 && r.tracks[parent] == nil {
		r.t.Errorf("track %d below %d", id, parent)
	}
	r.tracks[id] = d
	if x := d.get(4); x.number != 0 {
		r.threads[id] = fmt.Sprintf("%d/%d", x.get(1).value, x.get(2).value)
	} else if parent != 0 {
		r.threads[id] = r.threads[parent]
	}
}

func (r *perfettoReader) event(ns uint64, e *field) {
	track := e.get(11).value
	d := r.tracks[track]
	if d == nil {
		r.t.Fatalf("event on track %d, which is not there", track)
	}
	if ns < r.last[track] {
		r.t.Errorf("track %d: %d ns after %d", track, ns, r.last[track])
	}
	r.last[track] = ns
	where, begin, end := r.threads[track], "B", "E"
	if d.get(2).text == "intervals" {
		begin, end = "b", "e"
	}
	name, category := e.get(23).text, "interval"
	if id := e.get(10).value; id != 0 {
		if name = r.names[2][id]; name == "" {
			r.t.Errorf("name %d was not given", id)
		}
	}
	if id := e.get(3).value; id != 0 {
		category = r.names[1][id]
	}
	for _, f := range e.fields {
		id := fmt.Sprintf("0x%x", f.value)
		switch f.number {
		case 4:
			if r.names[3][f.get(1).value] == "" {
				r.t.Errorf("annotation %d was not named", f.get(1).value)
			}
		case 47:
			r.l.starts[id] = where
		case 48:
			r.l.ends[id] = where
		}
	}
	switch e.get(9).value {
	case typeBegin:
		r.depth[track]++
		r.l.add(where, "%s %d %s %s", begin, ns, name, category)
	case typeEnd:
		r.depth[track]--
		r.l.add(where, "%s %d", end, ns)
	case typeInstant:
		r.l.add(where, "B %d %s %s", ns, name, category)
		r.l.add(where, "E %d", ns)
	case typeCounter:
		if d.get(8).number == 0 {
			r.t.Errorf("value on track %d, which is not a counter", track)
		}
		r.l.values++
	}
	if r.depth[track] < 0 {
		r.t.Fatalf("track %d: end without begin", track)
	}
}
