package xtf

import (
	"fmt"
	"math"
	"slices"
)

// Proc is the P of a location: its ordinal in (process, thread) order.
type Proc uint32

// WholeRun is the P of the region about all locations.
const WholeRun Proc = math.MaxUint32

// Never has all bits set. It stands for no time, no row, or no mate.
const Never uint64 = math.MaxUint64

// TypeID is the number of a row type. The Type constants are those of version 1.
type TypeID uint32

// Role says by what the rows of an array are ordered.
type Role uint8

// Roles. With RoleNone, rows have only a position, and the index has zeros.
const (
	RoleNone Role = iota
	RoleT
	RoleKey
)

// Transform is applied to a column before compression and reversed on reading.
type Transform uint8

// Transforms work modulo 2^(8*width), so they lose nothing. Signed differences are zig-zag coded, so that small ones are small numbers.
const (
	TransformNone      Transform = iota
	TransformDelta               // zig-zag of v minus the v of the row before in the page
	TransformMinusT              // zig-zag of v minus the row's first column
	TransformMinusN              // N minus v
	TransformMinusSpan           // End minus T minus v
)

// Codec is the stored form of a data page.
type Codec uint8

// Codecs. CodecRows is used only for arrays of one page.
const (
	CodecRaw    Codec = 0 // rows as they are, pages at a fixed stride
	CodecPacked Codec = 2 // addressable key block, then a compressed cold block
	CodecRows   Codec = 3 // all rows as one zstd frame
)

// Rule says what a row has contributed to a sum by time t.
type Rule uint8

// Rules of sums (docs/format/xtf.md, "Sums").
const (
	RuleAtT   Rule = iota // its value, if T < t
	RuleAtEnd             // its value, if End <= t
	RuleSpan              // min(End, t) - T, if T < t
)

// Column is one field of a row.
type Column struct {
	Name      string
	Offset    int // bytes from the start of the row
	Width     int // 1, 2, 4 or 8 bytes
	Transform Transform
}

// Value returns the number that the column has in a row.
func (c *Column) Value(row []byte) uint64 {
	b := row[c.Offset:]
	switch c.Width {
	case 8:
		return le.Uint64(b)
	case 4:
		return uint64(le.Uint32(b))
	case 2:
		return uint64(le.Uint16(b))
	}
	return uint64(b[0])
}

// Term is one condition of a filter: column & Mask == Value.
type Term struct {
	Column int
	Mask   uint64
	Value  uint64
}

// Sum is a running total of a type. A row that passes every term of Filter has the value column[Column] - column[Minus], but not below 0.
// Column -1 stands for the value 1, and Minus -1 for 0. RuleSpan uses neither.
type Sum struct {
	Name   string
	Column int
	Minus  int
	Rule   Rule
	Filter []Term
}

// Type describes the rows of an array. The file has its types, so that unknown ones can be dumped. Column 0 is T or the key; with RoleNone
// it is the column that can be read without decoding the others in packed pages.
type Type struct {
	ID       TypeID
	Name     string
	RowBytes int // R
	PageRows int // Z
	Fanout   int // S
	PageSize int // 0, or the fixed page size in bytes of the raw profile
	Codec    Codec
	Role     Role
	End      int // index of the End column, -1 if none
	Columns  []Column
	Sums     []Sum
}

// Geometry returns the number of pages of each level, data pages first, of an array of n rows with z rows in a page and s entries in an
// index page. An empty array has no pages, and an array of one page has no index.
func Geometry(n uint64, z, s int) []uint64 {
	if n == 0 {
		return nil
	}
	pages := (n-1)/uint64(z) + 1
	levels := []uint64{pages}
	for pages > 1 {
		pages = (pages-1)/uint64(s) + 1
		levels = append(levels, pages)
	}
	return levels
}

// Profile chooses the page form of a file.
type Profile struct {
	PageSize int // 0: packed pages; else raw pages of this many bytes
}

// Profiles. Packed is the default. The others have plain pages of a fixed size.
var (
	Packed = Profile{}
	Raw4K  = Profile{PageSize: 4 << 10}
	Raw16K = Profile{PageSize: 16 << 10}
	Raw64K = Profile{PageSize: 64 << 10}
)

// TypeTable has the types of a file, in ascending order of their ids.
type TypeTable struct {
	types []Type
	align int64
}

// Lookup returns the type with this id, or nil.
func (tt *TypeTable) Lookup(id TypeID) *Type {
	lo, hi := 0, len(tt.types)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if tt.types[mid].ID < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(tt.types) && tt.types[lo].ID == id {
		return &tt.types[lo]
	}
	return nil
}

// All returns the types in ascending order of their ids. The caller must not change them.
func (tt *TypeTable) All() []Type { return tt.types }

// Align returns the alignment of pages and regions in bytes: 64, or the page size.
func (tt *TypeTable) Align() int64 { return tt.align }

const typeEntryHead = 28

// Encode returns the stored form of the table: count and alignment, then an entry for each type, which begins with its size.
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

// byteReader reads numbers from bytes that may end anywhere. After the end it yields zeros and sets bad.
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

// parseTypes parses a stored type table.
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

// validate checks the assumptions of encoding and decoding.
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

// conforms returns whether the rows of a type of version 1 begin with its columns, since readers use their offsets. A later minor version
// may add columns after these.
func (t *Type) conforms() bool {
	s := specOf(t.ID)
	if s == nil {
		return true
	}
	same := func(a, b Column) bool { return a.Offset == b.Offset && a.Width == b.Width }
	return t.Role == s.role && t.End == s.end() && len(t.Columns) >= len(s.columns) &&
		slices.EqualFunc(t.Columns[:len(s.columns)], s.columns, same)
}

// Format limits, checked on reading and writing.
const (
	maxLevels   = 6
	maxSums     = 24
	maxColumns  = 64
	maxRowBytes = 4096
	maxTypes    = 1024
	maxRaw      = 16 << 20 // raw bytes of a page, head or frame
	maxRows     = 1 << 40  // rows of an array, exclusive
)

const (
	indexEntry   = 24    // T0, Off u64; Len, CRC u32
	packedIndex  = 16384 // bytes of an index page, for packed pages
	packedTarget = 65536 // raw bytes of a packed page, about
	smallAlign   = 64
)

// StandardTypes returns the types of version 1 for a profile. A page size that is not allowed is replaced by an allowed one: 4, 16 or 64
// KiB.
func StandardTypes(p Profile) *TypeTable {
	size := 0
	switch {
	case p.PageSize <= 0:
	case p.PageSize <= Raw4K.PageSize:
		size = Raw4K.PageSize
	case p.PageSize <= Raw16K.PageSize:
		size = Raw16K.PageSize
	default:
		size = Raw64K.PageSize
	}
	tt := &TypeTable{align: smallAlign}
	if size != 0 {
		tt.align = int64(size)
	}
	for _, s := range rowSpecs {
		last := s.columns[len(s.columns)-1]
		t := Type{
			ID: s.id, Name: s.name, Role: s.role, PageSize: size, End: s.end(),
			RowBytes: last.Offset + last.Width, Columns: s.columns, Sums: s.sums(),
		}
		setGeometry(&t)
		tt.types = append(tt.types, t)
	}
	return tt
}

// setGeometry sets Z, S and the codec according to the sizes of rows and pages.
func setGeometry(t *Type) {
	if t.PageSize != 0 {
		t.Codec = CodecRaw
		t.PageRows = (t.PageSize - pageHeader) / t.RowBytes
		t.Fanout = (t.PageSize - pageHeader) / indexEntry
		return
	}
	t.Codec = CodecPacked
	if t.ID == TypeDirectory {
		t.Codec = CodecRaw
	}
	z := 1
	for z*2*t.RowBytes <= packedTarget {
		z *= 2
	}
	t.PageRows = z
	t.Fanout = (packedIndex - pageHeader) / indexEntry
}

// FirstOwnType is the first id that version 1 leaves to others.
const FirstOwnType TypeID = 0x8000

// With returns a table that also has t, a row type of the caller. Its id must be FirstOwnType or above. With sets geometry, page size and
// codec. Since files have their types, every reader can read such rows.
func (tt *TypeTable) With(t Type) (*TypeTable, error) {
	last := tt.types[len(tt.types)-1].ID
	switch {
	case t.ID < FirstOwnType || t.ID <= last:
		return nil, fmt.Errorf("xtf: type %d: own types have ids from %d on, in ascending order", t.ID, FirstOwnType)
	case t.RowBytes <= 0 || t.RowBytes > maxRowBytes || len(t.Name) > 255 || len(tt.types) == maxTypes ||
		len(t.Columns) == 0 || len(t.Columns) > maxColumns || len(t.Sums) > maxSums:
		return nil, fmt.Errorf("xtf: type %d: %d bytes a row, %d columns, %d sums are beyond the format's limits",
			t.ID, t.RowBytes, len(t.Columns), len(t.Sums))
	}
	t.PageSize = 0
	if tt.align != smallAlign {
		t.PageSize = int(tt.align)
	}
	setGeometry(&t)
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	types := append(append([]Type(nil), tt.types...), t)
	return &TypeTable{types: types, align: tt.align}, nil
}
