package trace

// Visitor receives the fields of a definition record one after the other. A
// reading visitor stores into the pointers and leaves a field as it is where
// its record ends early: such fields keep their defaults.
type Visitor interface {
	Reading() bool
	// Field passes a pointer to a uint8, uint32, uint64, int64, string or Value. In a record a Value is a byte for its
	// type and a value of that type.
	Field(name string, field any, ref RefKind)
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

func visitList[T any](v Visitor, name string, w Width, list *[]T, element func(x *T)) {
	n := v.Count(name, len(*list), w)
	if v.Reading() {
		*list = make([]T, n)
	}
	for i := range *list {
		element(&(*list)[i])
	}
}

func visitNumbers[T uint32 | uint64](v Visitor, name string, w Width, list *[]T) {
	visitList(v, name, w, list, func(x *T) { v.Field("", x, RefNone) })
}

func visitProperties(v Visitor, name string, list *[]IoProperty) {
	visitList(v, name, U8, list, func(x *IoProperty) {
		v.Field("property", &x.Property, RefNone)
		v.Field("value", &x.Value, RefNone)
	})
}
