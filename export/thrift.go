package export

import "encoding/binary"

// thrift writes structures in the compact protocol of Apache Thrift, in which Parquet keeps its headers
// (thrift-compact-protocol.md of Apache Thrift): a field is one byte, the distance to the field before in the high
// and the type in the low half, then the value; a structure ends with 0. Integers are zigzag varints.
type thrift struct {
	b    []byte
	last []int16 // id of the last field of each open structure
}

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

func (t *thrift) field(id int16, kind byte) {
	top := len(t.last) - 1
	t.b = append(t.b, byte(id-t.last[top])<<4|kind)
	t.last[top] = id
}

func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) close() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) i32(id int16, v int32) {
	t.field(id, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(id int16, v int64) {
	t.field(id, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) flag(id int16, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) text(id int16, v string) {
	t.field(id, thriftBinary)
	t.bytes(v)
}

func (t *thrift) bytes(v string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(v)))
	t.b = append(t.b, v...)
}

// list begins a list of n elements.
func (t *thrift) list(id int16, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = append(t.b, 0xF0|kind)
	t.b = binary.AppendUvarint(t.b, uint64(n))
}

// structure writes a field that is a structure.
func (t *thrift) structure(id int16, fill func()) {
	t.field(id, thriftStruct)
	t.element(fill)
}

// element writes a structure that is an element of a list, or a message of its own.
func (t *thrift) element(fill func()) {
	t.open()
	fill()
	t.close()
}
