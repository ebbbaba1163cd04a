package xtf

import (
	"fmt"
	"slices"
)

const typeEntryHead = 28

// Encode returns the table in its stored form: count and alignment, then one
// entry a type that begins with its own size.
func (tt *TypeTable) Encode() []byte {
	b := le.AppendUint32(nil, uint32(len(tt.types)))
	b = le.AppendUint32(b, uint32(tt.align))
	for i := range tt.types {
		t := &tt.types[i]
		at := len(b)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, uint32(t.ID))
		b = le.AppendUint32(b, uint32(t.RowBytes))
		b = le.AppendUint32(b, uint32(t.PageRows))
		b = le.AppendUint32(b, uint32(t.Fanout))
		b = append(b, byte(t.Codec), byte(t.Role), byte(t.End), byte(len(t.Name)))
		b = le.AppendUint16(b, uint16(len(t.Columns)))
		b = le.AppendUint16(b, uint16(len(t.Sums)))
		b = append(b, t.Name...)
		for _, c := range t.Columns {
			b = le.AppendUint16(b, uint16(c.Offset))
			b = append(b, byte(c.Width), byte(c.Transform), byte(len(c.Name)))
			b = append(b, c.Name...)
		}
		for _, s := range t.Sums {
			b = append(b, byte(s.Column), byte(s.Minus), byte(s.Rule), byte(len(s.Filter)), byte(len(s.Name)))
			b = append(b, s.Name...)
			for _, f := range s.Filter {
				b = append(b, byte(f.Column))
				b = le.AppendUint64(b, f.Mask)
				b = le.AppendUint64(b, f.Value)
			}
		}
		le.PutUint32(b[at:], uint32(len(b)-at))
	}
	return b
}

// cursor over bytes that may end anywhere; after the end it yields zeros.
type byteReader struct {
	b   []byte
	bad bool
}

func (r *byteReader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *byteReader) u8() int     { return int(r.take(1)[0]) }
func (r *byteReader) u16() int    { return int(le.Uint16(r.take(2))) }
func (r *byteReader) u32() uint32 { return le.Uint32(r.take(4)) }
func (r *byteReader) u64() uint64 { return le.Uint64(r.take(8)) }

// parseTypes reads a stored type table.
func parseTypes(b []byte) (*TypeTable, error) {
	r := byteReader{b: b}
	count, align := r.u32(), r.u32()
	if r.bad || count > maxTypes {
		return nil, corrupt("type table of %d types in %d bytes", count, len(b))
	}
	if align < smallAlign || align > maxRaw || align&(align-1) != 0 {
		return nil, corrupt("alignment of %d bytes", align)
	}
	tt := &TypeTable{align: int64(align), types: make([]Type, 0, count)}
	for range count {
		peek := r
		size := peek.u32()
		if size < typeEntryHead || uint64(size) > uint64(len(r.b)) {
			return nil, corrupt("type entry of %d bytes in %d", size, len(r.b))
		}
		e := byteReader{b: r.take(int(size))}
		t, err := parseType(&e, int(align))
		if err != nil {
			return nil, err
		}
		if n := len(tt.types); n > 0 && tt.types[n-1].ID >= t.ID {
			return nil, corrupt("type %d follows type %d", t.ID, tt.types[n-1].ID)
		}
		tt.types = append(tt.types, t)
	}
	return tt, nil
}

func parseType(e *byteReader, align int) (Type, error) {
	e.u32()
	t := Type{ID: TypeID(e.u32())}
	r, z, s := e.u32(), e.u32(), e.u32()
	t.Codec, t.Role, t.End = Codec(e.u8()), Role(e.u8()), int(int8(e.u8()))
	nameLen, columns, sums := e.u8(), e.u16(), e.u16()
	t.Name = string(e.take(nameLen))
	if r == 0 || r > maxRowBytes || z == 0 || uint64(z)*uint64(r) > maxRaw || s < 2 ||
		uint64(s)*8*(1+maxSums) > maxRaw || columns == 0 || columns > maxColumns || sums > maxSums {
		return t, corrupt("type %d: R=%d Z=%d S=%d, %d columns, %d sums", t.ID, r, z, s, columns, sums)
	}
	t.RowBytes, t.PageRows, t.Fanout = int(r), int(z), int(s)
	if align != smallAlign {
		t.PageSize = align
	}
	for range columns {
		c := Column{Offset: e.u16(), Width: e.u8(), Transform: Transform(e.u8())}
		c.Name = string(e.take(e.u8()))
		t.Columns = append(t.Columns, c)
	}
	for range sums {
		t.Sums = append(t.Sums, parseSum(e))
	}
	if e.bad {
		return t, corrupt("type %d: entry too short", t.ID)
	}
	return t, t.validate()
}

func parseSum(e *byteReader) Sum {
	s := Sum{Column: int(int8(e.u8())), Minus: int(int8(e.u8())), Rule: Rule(e.u8())}
	terms, nameLen := e.u8(), e.u8()
	s.Name = string(e.take(nameLen))
	for range terms {
		s.Filter = append(s.Filter, Term{e.u8(), e.u64(), e.u64()})
	}
	return s
}

// validate checks what encoding and decoding rely on.
func (t *Type) validate() error {
	fail := func(what string) error { return corrupt("type %d: %s", t.ID, what) }
	if t.Role > RoleKey || (t.Codec != CodecRaw && t.Codec != CodecPacked) {
		return fail(fmt.Sprintf("role %d, codec %d", t.Role, t.Codec))
	}
	if t.End < -1 || t.End == 0 || t.End >= len(t.Columns) || (t.End > 0 && t.Role != RoleT) {
		return fail("End is not a column")
	}
	covered := 0
	for i, c := range t.Columns {
		switch {
		case c.Width != 1 && c.Width != 2 && c.Width != 4 && c.Width != 8:
			return fail(fmt.Sprintf("column %s is %d bytes wide", c.Name, c.Width))
		case c.Offset != covered:
			return fail("column " + c.Name + " does not follow the one before it")
		case i == 0 && c.Transform != TransformNone,
			c.Transform > TransformMinusSpan,
			c.Transform == TransformMinusSpan && (t.End < 1 || i <= t.End):
			return fail("column " + c.Name + " has an impossible transform")
		}
		covered += c.Width
	}
	if covered != t.RowBytes {
		return fail("columns do not cover the row")
	}
	if t.PageSize > 0 && pageHeader+t.PageRows*t.RowBytes > t.PageSize {
		return fail("rows do not fit their page")
	}
	if t.End > 0 && (t.Columns[t.End].Width != 8 || t.Columns[0].Width != 8) {
		return fail("T or End is not 8 bytes wide")
	}
	for _, s := range t.Sums {
		if s.Column < -1 || s.Column >= len(t.Columns) || s.Minus < -1 || s.Minus >= len(t.Columns) ||
			s.Rule > RuleSpan || (s.Rule != RuleAtT && t.End < 0) {
			return fail("sum " + s.Name + " has no such column or rule")
		}
		for _, f := range s.Filter {
			if f.Column >= len(t.Columns) {
				return fail("sum " + s.Name + " filters on no column")
			}
		}
	}
	if !t.conforms() {
		return fail("its rows do not begin like those of version 1")
	}
	return nil
}

// conforms says whether rows of a type of version 1 begin with its columns: whoever
// reads rows relies on their offsets. A later minor version may add columns after
// them.
func (t *Type) conforms() bool {
	s := specOf(t.ID)
	if s == nil {
		return true
	}
	same := func(a, b Column) bool { return a.Offset == b.Offset && a.Width == b.Width }
	return t.Role == s.role && t.End == s.end() && len(t.Columns) >= len(s.columns) &&
		slices.EqualFunc(t.Columns[:len(s.columns)], s.columns, same)
}
