package trace

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// encodingVersion is the first byte of the canonical encoding.
const encodingVersion = 1

// AppendBinary appends the canonical encoding of all records: the version, then
// for each record its kind, its length in bytes and its fields as
// variable-length integers (strings: length and bytes), kinds ascending. Equal
// records give equal bytes.
func (d *Definitions) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, encodingVersion)
	d.encode(func(b []byte) { dst = append(dst, b...) })
	return dst, nil
}

// BinarySize returns the bytes that AppendBinary appends, without taking memory for them.
func (d *Definitions) BinarySize() int {
	n := 1
	d.encode(func(b []byte) { n += len(b) })
	return n
}

// Memory returns the bytes of heap that definitions take: records, with their lists and texts, and the tables of Seal.
func Memory(d *Definitions) int64 {
	return heapOf(reflect.ValueOf(d).Elem(), map[uintptr]bool{})
}

// heapOf returns the bytes that a value refers to. Lists that are seen already are shared, and count once.
func heapOf(v reflect.Value, seen map[uintptr]bool) (n int64) {
	switch v.Kind() {
	case reflect.String:
		n = allocated(int64(v.Len()))
	case reflect.Pointer:
		if !v.IsNil() {
			n = allocated(int64(v.Type().Elem().Size())) + heapOf(v.Elem(), seen)
		}
	case reflect.Map: // at most half of its places are free
		n = 2 * int64(v.Len()) * int64(v.Type().Key().Size()+v.Type().Elem().Size()+1)
	case reflect.Struct:
		for i := range v.NumField() {
			n += heapOf(v.Field(i), seen)
		}
	case reflect.Slice:
		if v.Cap() == 0 || seen[v.Pointer()] {
			return 0
		}
		seen[v.Pointer()] = true
		n = allocated(int64(v.Cap()) * int64(v.Type().Elem().Size()))
		for i := 0; i < v.Len() && refers(v.Type().Elem()); i++ {
			n += heapOf(v.Index(i), seen)
		}
	}
	return n
}

// allocated returns what a piece of so many bytes takes of the heap, about.
func allocated(n int64) int64 { return (n + 15) &^ 15 }

// refers reports whether values of a type refer to others.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Map, reflect.Slice:
		return true
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// encode hands out the encoding of each record in two parts, which are valid until the next.
func (d *Definitions) encode(part func([]byte)) {
	var head []byte
	var body encoder
	d.Each(func(k DefKind, r Record) {
		body.b = body.b[:0]
		r.Visit(&body)
		head = binary.AppendUvarint(append(head[:0], byte(k)), uint64(len(body.b)))
		part(head)
		part(body.b)
	})
}

// UnmarshalBinary reads what AppendBinary wrote and seals the result. Records
// of kinds that this version does not know are skipped.
func (d *Definitions) UnmarshalBinary(src []byte) error {
	if len(src) == 0 || src[0] != encodingVersion {
		return fmt.Errorf("definitions: unknown encoding: %w", ErrCorrupt)
	}
	*d = Definitions{}
	for b := src[1:]; len(b) > 0; {
		k := DefKind(b[0])
		n, w := binary.Uvarint(b[1:])
		if w <= 0 || n > uint64(len(b)-1-w) {
			return fmt.Errorf("definitions: record at byte %d is cut: %w", len(src)-len(b), ErrCorrupt)
		}
		body := decoder{b: b[1+w : 1+w+int(n)]}
		if r := d.Add(k); r != nil {
			r.Visit(&body)
		}
		if body.bad {
			return fmt.Errorf("definitions: record at byte %d is damaged: %w", len(src)-len(b), ErrCorrupt)
		}
		b = b[1+w+int(n):]
	}
	d.Seal()
	return nil
}

// encoder is the writing Visitor of the canonical encoding.
type encoder struct{ b []byte }

func (e *encoder) Reading() bool    { return false }
func (e *encoder) uvarint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *encoder) Field(_ string, field any, _ RefKind) {
	switch v := field.(type) {
	case *uint8:
		e.b = append(e.b, *v)
	case *uint32:
		e.uvarint(uint64(*v))
	case *uint64:
		e.uvarint(*v)
	case *int64:
		e.b = binary.AppendVarint(e.b, *v)
	case *string:
		e.uvarint(uint64(len(*v)))
		e.b = append(e.b, *v...)
	case *Value:
		e.b = append(e.b, byte(v.Type))
		e.uvarint(v.Bits)
	}
}

func (e *encoder) Count(_ string, n int, _ Width) int {
	e.uvarint(uint64(n))
	return n
}

// decoder is the reading Visitor of the canonical encoding. A record that ends
// before its fields leaves their defaults, as in OTF2: later versions append.
type decoder struct {
	b   []byte
	bad bool
}

func (e *decoder) Reading() bool { return true }

func (e *decoder) Field(_ string, field any, _ RefKind) {
	if len(e.b) == 0 {
		return
	}
	var x uint64
	switch v := field.(type) {
	case *uint8:
		*v, e.b = e.b[0], e.b[1:]
	case *uint32:
		if e.uvarint(&x) {
			e.bad = e.bad || x > Undefined
			*v = uint32(x)
		}
	case *uint64:
		e.uvarint(v)
	case *int64:
		if e.uvarint(&x) {
			*v = int64(x>>1) ^ -int64(x&1) // as binary.AppendVarint has it
		}
	case *string:
		if n := e.Count("", 0, 0); !e.bad {
			*v, e.b = string(e.b[:n]), e.b[n:]
		}
	case *Value:
		v.Type, e.b = ValueType(e.b[0]), e.b[1:]
		e.uvarint(&v.Bits)
	}
}

// Count reads a number of elements, of which each has a byte at least.
func (e *decoder) Count(_ string, _ int, _ Width) int {
	var n uint64
	if e.uvarint(&n) && n > uint64(len(e.b)) {
		e.bad, e.b = true, nil
		return 0
	}
	return int(n)
}

func (e *decoder) uvarint(v *uint64) bool {
	if len(e.b) == 0 {
		return false
	}
	x, w := binary.Uvarint(e.b)
	if w <= 0 {
		e.bad, e.b = true, nil
		return false
	}
	*v, e.b = x, e.b[w:]
	return true
}
