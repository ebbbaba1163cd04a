package export

import "encoding/binary"

// physical is the type in which Parquet stores a column.
func (c *Column) physical() int32 {
	switch c.Type {
	case Uint32:
		return parquetInt32
	case Float64:
		return parquetDouble
	case Text:
		return parquetBytes
	}
	return parquetInt64
}

// footer writes FileMetaData.
func (t *parquetTable) footer(f *thrift) {
	f.i32(1, 2)
	f.list(2, thriftStruct, 1+len(t.s.Columns))
	f.element(func() {
		f.text(4, "schema")
		f.i32(5, int32(len(t.s.Columns)))
	})
	for i := range t.s.Columns {
		f.element(func() { f.schemaElement(&t.s.Columns[i]) })
	}
	f.i64(3, t.rows)
	f.list(4, thriftStruct, len(t.groups))
	for i := range t.groups {
		f.element(func() { t.rowGroup(f, &t.groups[i]) })
	}
	if len(t.s.Meta) > 0 {
		f.list(5, thriftStruct, len(t.s.Meta))
		for _, m := range t.s.Meta {
			f.element(func() {
				f.text(1, m.Key)
				f.text(2, m.Value)
			})
		}
	}
	f.text(6, "coppice")
	f.list(7, thriftStruct, len(t.s.Columns))
	for range t.s.Columns {
		f.element(func() { f.structure(1, func() {}) }) // ordered as the type says
	}
}

// schemaElement describes a column: physical type, repetition, name, then what the numbers or bytes mean, in the
// old words and the new ones.
func (f *thrift) schemaElement(c *Column) {
	f.i32(1, c.physical())
	optional := int32(0)
	if c.Nullable {
		optional = 1
	}
	f.i32(3, optional)
	f.text(4, c.Name)
	switch c.Type {
	case Text:
		f.i32(6, 0) // UTF8
		f.structure(10, func() { f.structure(1, func() {}) })
	case Uint32:
		f.i32(6, 13) // UINT_32
		f.structure(10, func() { f.unsigned(32) })
	case Uint64:
		f.i32(6, 14) // UINT_64
		f.structure(10, func() { f.unsigned(64) })
	}
}

// unsigned writes the logical type INTEGER of unsigned numbers.
func (f *thrift) unsigned(width byte) {
	const integer, thriftByte = 10, 3
	f.structure(integer, func() {
		f.field(1, thriftByte)
		f.b = append(f.b, width)
		f.flag(2, false)
	})
}

func (t *parquetTable) rowGroup(f *thrift, g *parquetGroup) {
	f.list(1, thriftStruct, len(g.columns))
	var size, packed int64
	for i := range g.columns {
		c := &g.columns[i]
		size += c.size
		packed += c.packed
		f.element(func() {
			f.i64(2, c.start())
			f.structure(3, func() { t.columnMeta(f, c, i, g.rows) })
		})
	}
	f.i64(2, size)
	f.i64(3, g.rows)
	f.i64(5, g.columns[0].start())
	f.i64(6, packed)
}

// start is the offset of the first page.
func (c *parquetChunk) start() int64 {
	if c.dictionary > 0 {
		return c.dictionary
	}
	return c.data
}

func (t *parquetTable) columnMeta(f *thrift, c *parquetChunk, i int, rows int64) {
	of := &t.s.Columns[i]
	encodings := []int64{parquetRLE, parquetDelta}
	switch of.Type {
	case Text:
		encodings = []int64{parquetPlain, parquetRLE, parquetDictionary}
	case Float64:
		encodings = []int64{parquetPlain, parquetRLE}
	}
	f.i32(1, of.physical())
	f.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		f.b = binary.AppendVarint(f.b, e)
	}
	f.list(3, thriftBinary, 1)
	f.bytes(of.Name)
	f.i32(4, parquetZstd)
	f.i64(5, rows)
	f.i64(6, c.size)
	f.i64(7, c.packed)
	f.i64(9, c.data)
	if c.dictionary > 0 {
		f.i64(11, c.dictionary)
	}
	f.structure(12, func() {
		f.i64(3, c.nulls)
		if c.bounds {
			f.text(5, of.plain(c.most))
			f.text(6, of.plain(c.least))
		}
	})
}

// plain is an integer as PLAIN writes it.
func (c *Column) plain(v uint64) string {
	if c.Type == Uint32 {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	return string(binary.LittleEndian.AppendUint64(nil, v))
}
