package xtf

import "math"

// Proc is P: the ordinal of a location in (process, thread) order.
type Proc uint32

// WholeRun is the P of the region about all locations.
const WholeRun Proc = math.MaxUint32

// Never is all ones: no time, no row, no mate.
const Never uint64 = math.MaxUint64

// TypeID names a row type; ids of version 1 are the Type constants.
type TypeID uint32

// Role says what orders the rows of an array.
type Role uint8

// Order roles. With RoleNone rows have a position only and the index holds 0.
const (
	RoleNone Role = iota
	RoleT
	RoleKey
)

// Transform is applied to a column before compression, undone on reading.
type Transform uint8

// Transforms work modulo 2^(8*width); they never change what a row says.
// Signed differences are zig-zag coded, so that small ones stay small.
const (
	TransformNone      Transform = iota
	TransformDelta               // zig-zag of v minus the row before in the page
	TransformMinusT              // zig-zag of v minus the row's first column
	TransformMinusN              // N minus v
	TransformMinusSpan           // End minus T minus v
)

// Codec is the stored form of a data page.
type Codec uint8

// Codecs. CodecRows is for arrays of one page only.
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

// Term is one condition of a filter: column & Mask == Value.
type Term struct {
	Column int
	Mask   uint64
	Value  uint64
}

// Sum is a cumulative quantity of a type. A row that passes every term of
// Filter has the value column[Column] - column[Minus] (not below 0); Column -1
// counts 1, Minus -1 subtracts nothing; RuleSpan ignores both.
type Sum struct {
	Name   string
	Column int
	Minus  int
	Rule   Rule
	Filter []Term
}

// Type describes the rows of one kind of array. It is stored in the file, so
// unknown types can be dumped. Column 0 is T, the key, or for RoleNone the
// column that is addressable in packed pages.
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

// Geometry returns the number of pages of each level, data pages first, of an
// array of n rows with z rows per page and s entries per index page. An empty
// array has no pages, an array of one page no index.
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

// Profiles: Packed is the default, Raw the plain pages of the seed.
var (
	Packed = Profile{}
	Raw4K  = Profile{PageSize: 4 << 10}
	Raw16K = Profile{PageSize: 16 << 10}
	Raw64K = Profile{PageSize: 64 << 10}
)

// TypeTable is the set of types of one file, in ascending id.
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

// All returns the types in ascending id; the caller must not change them.
func (tt *TypeTable) All() []Type { return tt.types }

// Align is the alignment of pages and regions in bytes: 64, or the page size.
func (tt *TypeTable) Align() int64 { return tt.align }
