package export

import (
	"encoding/binary"
	"io"
	"math"
)

// Names of Arrow's Message.fbs and Schema.fbs (format 1.0, metadata version 5) that are used here.
const (
	arrowV5 = 4

	arrowSchema, arrowDictionary, arrowRecords = 1, 2, 3 // headers of messages

	arrowInt, arrowFloat, arrowUTF8 = 2, 3, 5 // types of fields
	arrowDouble                     = 2
)

// arrowTable writes an Arrow IPC stream: the schema, a dictionary for each column of texts, then a record batch for every batch.
// It does not compress, so that readers can map the stream. Dictionaries are complete before the first rows.
type arrowTable struct {
	s    *Schema
	out  io.Writer
	body []byte
	bufs [][2]int64 // offset and length in body
}

func newArrow(out io.Writer, s *Schema) (TableWriter, error) {
	t := &arrowTable{s: s, out: out}
	if err := t.schema(); err != nil {
		return nil, err
	}
	for i := range s.Columns {
		if s.Columns[i].Type == Text {
			if err := t.dictionary(i); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// message writes a message with its body: the mark of a message, the length of the header, the header, the body. All lengths are
// multiples of 8.
func (t *arrowTable) message(kind uint64, header func(f *flat) int) error {
	f := &flat{}
	f.b = append(f.b, 0, 0, 0, 0)
	at, places := f.table(flatField{0, 2, arrowV5}, flatField{1, 1, kind}, ref(2), flatField{3, 8, uint64(len(t.body))})
	f.refer(0, at)
	f.refer(places[2], header(f))
	f.align(8)
	head := binary.LittleEndian.AppendUint32(nil, math.MaxUint32)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(f.b)))
	for _, b := range [][]byte{head, f.b, t.body} {
		if _, err := t.out.Write(b); err != nil {
			return err
		}
	}
	t.body, t.bufs = t.body[:0], t.bufs[:0]
	return nil
}

func (t *arrowTable) schema() error {
	return t.message(arrowSchema, func(f *flat) int {
		at, places := f.table(flatField{0, 2, 0}, ref(1), ref(2)) // little-endian
		fields, list := f.vector(len(t.s.Columns))
		f.refer(places[1], fields)
		for i := range t.s.Columns {
			f.refer(list[i], f.field(&t.s.Columns[i], i))
		}
		meta, list := f.vector(len(t.s.Meta))
		f.refer(places[2], meta)
		for i, m := range t.s.Meta {
			kv, p := f.table(ref(0), ref(1))
			f.refer(list[i], kv)
			f.refer(p[0], f.text(m.Key))
			f.refer(p[1], f.text(m.Value))
		}
		return at
	})
}

// field writes column number id. Texts are indexes of 32 bits in dictionary id.
func (f *flat) field(c *Column, id int) int {
	nullable := uint64(0)
	if c.Nullable {
		nullable = 1
	}
	kind := uint64(arrowInt)
	switch c.Type {
	case Text:
		kind = arrowUTF8
	case Float64:
		kind = arrowFloat
	}
	fields := []flatField{ref(0), {1, 1, nullable}, {2, 1, kind}, ref(3)}
	if c.Type == Text {
		fields = append(fields, ref(4))
	}
	at, places := f.table(append(fields, ref(5))...)
	f.refer(places[0], f.text(c.Name))
	f.refer(places[3], f.arrowType(c.Type))
	if c.Type == Text {
		dict, p := f.table(flatField{0, 8, uint64(id)}, ref(1))
		f.refer(places[4], dict)
		index, _ := f.table(flatField{0, 4, 32}, flatField{1, 1, 1})
		f.refer(p[1], index)
	}
	children, _ := f.vector(0)
	f.refer(places[len(places)-1], children)
	return at
}

func (f *flat) arrowType(t Type) (at int) {
	switch t {
	case Text:
		at, _ = f.table()
	case Float64:
		at, _ = f.table(flatField{0, 2, arrowDouble})
	case Uint32:
		at, _ = f.table(flatField{0, 4, 32}, flatField{1, 1, 0})
	case Uint64:
		at, _ = f.table(flatField{0, 4, 64}, flatField{1, 1, 0})
	default:
		at, _ = f.table(flatField{0, 4, 64}, flatField{1, 1, 1})
	}
	return at
}

// buffer ends a buffer of the body that began at offset from.
func (t *arrowTable) buffer(from int) {
	t.bufs = append(t.bufs, [2]int64{int64(from), int64(len(t.body) - from)})
	for len(t.body)%8 != 0 {
		t.body = append(t.body, 0)
	}
}

// dictionary writes the texts of column i: no nulls, offsets, bytes.
func (t *arrowTable) dictionary(i int) error {
	if err := t.s.Columns[i].checkTexts(); err != nil {
		return err
	}
	texts := t.s.Columns[i].Dict
	t.buffer(0)
	end := uint32(0)
	t.body = binary.LittleEndian.AppendUint32(t.body, end)
	for _, s := range texts {
		end += uint32(len(s))
		t.body = binary.LittleEndian.AppendUint32(t.body, end)
	}
	t.buffer(0)
	from := len(t.body)
	for _, s := range texts {
		t.body = append(t.body, s...)
	}
	t.buffer(from)
	return t.message(arrowDictionary, func(f *flat) int {
		at, places := f.table(flatField{0, 8, uint64(i)}, ref(1))
		f.refer(places[1], t.records(f, len(texts), [][2]int64{{int64(len(texts)), 0}}))
		return at
	})
}

// records writes a RecordBatch of the buffers of the body.
func (t *arrowTable) records(f *flat, rows int, nodes [][2]int64) int {
	at, places := f.table(flatField{0, 8, uint64(rows)}, ref(1), ref(2))
	f.refer(places[1], f.pairs(nodes))
	f.refer(places[2], f.pairs(t.bufs))
	return at
}

func (t *arrowTable) Write(b *Batch) error {
	if err := b.fits(t.s); err != nil {
		return err
	}
	if b.rows == 0 {
		return nil
	}
	nodes := make([][2]int64, len(t.s.Columns))
	for i := range t.s.Columns {
		nulls := 0
		for _, none := range b.null[i] {
			if none {
				nulls++
			}
		}
		nodes[i] = [2]int64{int64(b.rows), int64(nulls)}
		from := len(t.body)
		if nulls > 0 {
			valid := make([]byte, (b.rows+7)/8)
			for r, none := range b.null[i] {
				if !none {
					valid[r/8] |= 1 << (r % 8)
				}
			}
			t.body = append(t.body, valid...)
		}
		t.buffer(from)
		t.values(b, i)
	}
	return t.message(arrowRecords, func(f *flat) int { return t.records(f, b.rows, nodes) })
}

// values writes the buffer of values of column i.
func (t *arrowTable) values(b *Batch, i int) {
	from := len(t.body)
	narrow := t.s.Columns[i].Type == Uint32 || t.s.Columns[i].Type == Text
	for _, v := range b.values[i] {
		if narrow {
			t.body = binary.LittleEndian.AppendUint32(t.body, uint32(v))
		} else {
			t.body = binary.LittleEndian.AppendUint64(t.body, v)
		}
	}
	t.buffer(from)
}

// Close writes the end of the stream.
func (t *arrowTable) Close() error {
	_, err := t.out.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	return err
}

// flat writes FlatBuffers, the format of Arrow's messages, from front to back: a table is its vtable, then its fields. What a
// field refers to comes later, and its place is entered then. Numbers are at multiples of their size from the start of the
// buffer.
type flat struct{ b []byte }

// flatField is a field of a table: its slot in the vtable, its size in bytes, and its value. A reference has size 4
// and gets its value from refer.
type flatField struct {
	slot, size int
	value      uint64
}

// ref is a field that refers to something that is written later.
func ref(slot int) flatField { return flatField{slot, 4, 0} }

func (f *flat) align(n int) {
	for len(f.b)%n != 0 {
		f.b = append(f.b, 0)
	}
}

// table writes a table whose fields are in the order of their slots. It returns the places of the table and of each field.
func (f *flat) table(fields ...flatField) (at int, places []int) {
	slots := 0
	for _, x := range fields {
		slots = max(slots, x.slot+1)
	}
	f.align(8)
	for (len(f.b)+4+2*slots)%8 != 0 { // the table follows at a multiple of 8
		f.b = append(f.b, 0)
	}
	vtable := len(f.b)
	f.b = append(f.b, make([]byte, 4+2*slots)...)
	at = len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(at-vtable))
	for _, x := range fields {
		f.align(x.size)
		binary.LittleEndian.PutUint16(f.b[vtable+4+2*x.slot:], uint16(len(f.b)-at))
		places = append(places, len(f.b))
		for i := range x.size {
			f.b = append(f.b, byte(x.value>>(8*i)))
		}
	}
	binary.LittleEndian.PutUint16(f.b[vtable:], uint16(4+2*slots))
	binary.LittleEndian.PutUint16(f.b[vtable+2:], uint16(len(f.b)-at))
	return at, places
}

// refer makes the reference at place point to target, which is after it.
func (f *flat) refer(place, target int) {
	binary.LittleEndian.PutUint32(f.b[place:], uint32(target-place))
}

// text writes a string and returns its place.
func (f *flat) text(s string) int {
	f.align(4)
	at := len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(s)))
	f.b = append(append(f.b, s...), 0)
	return at
}

// vector begins a vector of references and returns its place and those of its references.
func (f *flat) vector(n int) (at int, places []int) {
	f.align(4)
	at = len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(n))
	for range n {
		places = append(places, len(f.b))
		f.b = append(f.b, 0, 0, 0, 0)
	}
	return at, places
}

// pairs writes a vector of structures of two 64-bit numbers and returns its place.
func (f *flat) pairs(list [][2]int64) int {
	for (len(f.b)+4)%8 != 0 {
		f.b = append(f.b, 0)
	}
	at := len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(list)))
	for _, p := range list {
		f.b = binary.LittleEndian.AppendUint64(f.b, uint64(p[0]))
		f.b = binary.LittleEndian.AppendUint64(f.b, uint64(p[1]))
	}
	return at
}
