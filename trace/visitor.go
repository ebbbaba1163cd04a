package trace

// Visitor receives the fields of a definition record one after the other. A
// reading visitor stores into the pointers and leaves a field as it is where
// its record ends early: such fields keep their defaults.
type Visitor interface {
	Reading() bool
	U8(name string, v *uint8)
	U32(name string, v *uint32, ref RefKind)
	U64(name string, v *uint64, ref RefKind)
	S64(name string, v *int64)
	String(name string, v *string)
	// Value passes a type byte and a value of that type.
	Value(name string, v *Value)
	// Count passes the length of a list, written with width w. A reading
	// visitor bounds it by the bytes left, of which every element needs one.
	Count(name string, n int, w Width) int
}

// ValueType is the type of an attribute, property or metric value.
type ValueType uint8

// Value types, numbered as in OTF2.
const (
	TypeNone ValueType = iota
	TypeUint8
	TypeUint16
	TypeUint32
	TypeUint64
	TypeInt8
	TypeInt16
	TypeInt32
	TypeInt64
	TypeFloat
	TypeDouble
	TypeString
	TypeAttribute
	TypeLocation
	TypeRegion
	TypeGroup
	TypeMetric
	TypeComm
	TypeParameter
	TypeRmaWin
	TypeSourceCodeLocation
	TypeCallingContext
	TypeInterruptGenerator
	TypeIoFile
	TypeIoHandle
	TypeLocationGroup
)

// Ref returns the table that values of type t refer to, RefNone for numbers.
func (t ValueType) Ref() RefKind {
	switch {
	case t < TypeString || t > TypeLocationGroup:
		return RefNone
	case t == TypeString:
		return RefString
	}
	return typeRefs[t-TypeAttribute]
}

var typeRefs = [...]RefKind{
	RefAttribute, RefLocation, RefRegion, RefGroup, RefMetric, RefComm, RefParameter, RefRmaWin,
	RefSourceCodeLocation, RefCallingContext, RefInterruptGenerator, RefIoFile, RefIoHandle, RefLocationGroup,
}

// Value is a typed value; Bits hold it as OTF2 does: two's complement of the
// type's width for signed integers, IEEE bits for floating point.
type Value struct {
	Type ValueType
	Bits uint64
}

// IoProperty is a property of an I/O paradigm.
type IoProperty struct {
	Property uint8
	Value    Value
}

func visitList32(v Visitor, name string, w Width, list *[]uint32) {
	n := v.Count(name, len(*list), w)
	if v.Reading() {
		*list = make([]uint32, n)
	}
	for i := range *list {
		v.U32("", &(*list)[i], RefNone)
	}
}

func visitList64(v Visitor, name string, w Width, list *[]uint64) {
	n := v.Count(name, len(*list), w)
	if v.Reading() {
		*list = make([]uint64, n)
	}
	for i := range *list {
		v.U64("", &(*list)[i], RefNone)
	}
}

func visitProperties(v Visitor, name string, list *[]IoProperty) {
	n := v.Count(name, len(*list), U8)
	if v.Reading() {
		*list = make([]IoProperty, n)
	}
	for i := range *list {
		v.U8("property", &(*list)[i].Property)
		v.Value("value", &(*list)[i].Value)
	}
}
