package otf2

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// encoder appends OTF2's primitive encodings to b. Old writers, trace format 1,
// spell zero and all ones in full; all others use the shortest form.
type encoder struct {
	b   []byte
	big bool
	old bool
}

// byteOrder is one of encoding/binary.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func order(big bool) byteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (e *encoder) u8(v uint8) { e.b = append(e.b, v) }

func (e *encoder) raw32(v uint32) { e.b = order(e.big).AppendUint32(e.b, v) }

func (e *encoder) stamp(raw uint64) {
	e.u8(idTime)
	e.raw64(raw)
}

func (e *encoder) raw64(v uint64) {
	if e.big {
		e.b = binary.BigEndian.AppendUint64(e.b, v)
	} else {
		e.b = binary.LittleEndian.AppendUint64(e.b, v)
	}
}

func (e *encoder) v32(v uint32) {
	if v == trace.Undefined && !e.old {
		e.b = append(e.b, 0xFF)
		return
	}
	e.significant(uint64(v))
}

func (e *encoder) v64(v uint64) {
	if v == trace.Undefined64 && !e.old {
		e.b = append(e.b, 0xFF)
		return
	}
	e.significant(v)
}

// significant appends a count byte and the significant bytes of v.
func (e *encoder) significant(v uint64) {
	n := (bits.Len64(v) + 7) / 8
	if n == 0 && e.old {
		n = 1
	}
	end := len(e.b) + 1 + n
	e.b = append(e.b, uint8(n))
	if e.big {
		v <<= 64 - 8*n
	}
	e.raw64(v)
	e.b = e.b[:end]
}

// str appends a string, up to its first zero byte: the format ends it there.
func (e *encoder) str(s string) {
	s, _, _ = strings.Cut(s, "\x00")
	e.b = append(e.b, s...)
	e.b = append(e.b, 0)
}

// bytes appends n bytes packed 8 a word, first byte lowest.
func (e *encoder) bytes(n uint64, words []uint64) {
	for i := range n {
		e.u8(uint8(words[i/8] >> (8 * (i % 8))))
	}
}

// value is the reverse of cursor.value.
func (e *encoder) value(t trace.ValueType, v uint64) {
	switch t {
	case trace.TypeUint8, trace.TypeInt8:
		e.u8(uint8(v))
	case trace.TypeUint16, trace.TypeInt16:
		e.b = order(e.big).AppendUint16(e.b, uint16(v))
	case trace.TypeFloat:
		e.raw32(uint32(v))
	case trace.TypeDouble:
		e.raw64(v)
	case trace.TypeUint32, trace.TypeInt32:
		e.v32(uint32(v))
	default:
		if t >= trace.TypeString && t <= trace.TypeLocationGroup && t != trace.TypeLocation {
			e.v32(uint32(v))
			return
		}
		e.v64(v)
	}
}

// begin appends id and a place for the length of a record, and returns the offset of its payload.
func (e *encoder) begin(id uint8) int {
	e.b = append(e.b, id, 0)
	return len(e.b)
}

// end writes the length of the record whose payload begins at at.
func (e *encoder) end(at int) {
	n := len(e.b) - at
	if e.b[at-1] = uint8(n); n >= 0xFF {
		e.b[at-1] = 0xFF
		e.b = slices.Insert(e.b, at, order(e.big).AppendUint64(nil, uint64(n))...)
	}
}

// defWriter is the writing Visitor of definition records.
type defWriter struct {
	encoder
	kind trace.DefKind
	cut  bool // fields of later versions are not written
	long bool // a list is longer than the format can say
}

// skips reports whether a field is left out: old writers end a record where
// later versions added fields.
func (w *defWriter) skips(name string) bool {
	w.cut = w.cut || w.old && optional(w.kind, name)
	return w.cut
}

func (w *defWriter) Reading() bool { return false }

func (w *defWriter) Field(name string, field any, _ trace.RefKind) {
	if w.skips(name) {
		return
	}
	switch v := field.(type) {
	case *uint8:
		w.u8(*v)
	case *uint32:
		w.v32(*v)
	case *uint64:
		w.v64(*v)
	case *int64:
		w.v64(uint64(*v))
	case *string:
		w.str(*v)
	case *trace.Value:
		w.u8(uint8(v.Type))
		w.value(v.Type, v.Bits)
	}
}

func (w *defWriter) Count(name string, n int, width trace.Width) int {
	switch {
	case w.skips(name):
	case width == trace.U8:
		w.long = w.long || n > math.MaxUint8
		w.u8(uint8(n))
	default:
		w.v32(uint32(n))
	}
	return n
}
