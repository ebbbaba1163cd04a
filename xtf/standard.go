package xtf

// Format limits, checked on reading and writing.
const (
	maxLevels   = 6
	maxSums     = 24
	maxColumns  = 64
	maxRowBytes = 4096
	maxTypes    = 1024
	maxRaw      = 16 << 20 // raw bytes of one page, head or frame
	maxRows     = 1 << 40  // rows of one array, exclusive
)

const (
	indexEntry   = 24    // T0, Off u64; Len, CRC u32
	packedIndex  = 16384 // bytes of an index page next to packed pages
	packedTarget = 65536 // raw bytes a packed page aims at
	smallAlign   = 64
)

// StandardTypes returns the types of version 1 with the page form of p. An
// impossible page size falls back to the nearest allowed one: 4, 16 or 64 KiB.
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

// setGeometry fills Z, S and the codec from the row and page size.
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
