package export

import "encoding/binary"

// flat writes FlatBuffers (the format of Arrow's messages) front to back: a table is its vtable, then its fields; what
// it refers to comes later and is entered into its place then. Numbers lie at multiples of their size, from the
// start of the buffer on.
type flat struct{ b []byte }

// flatField is a field of a table: its slot in the vtable, its size in bytes, and its value. A reference has size 4
// and gets its value from refer.
type flatField struct {
	slot, size int
	value      uint64
}

// ref is a field that refers to what is written later.
func ref(slot int) flatField { return flatField{slot, 4, 0} }

func (f *flat) align(n int) {
	for len(f.b)%n != 0 {
		f.b = append(f.b, 0)
	}
}

// table writes a table whose fields are in the order of their slots, and returns where it is and where each of its
// fields does.
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

// refer makes the reference at place lead to what is at target, after it.
func (f *flat) refer(place, target int) {
	binary.LittleEndian.PutUint32(f.b[place:], uint32(target-place))
}

// text writes a string and returns where it is.
func (f *flat) text(s string) int {
	f.align(4)
	at := len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(s)))
	f.b = append(append(f.b, s...), 0)
	return at
}

// vector begins a vector of references and returns where it and its references are.
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

// pairs writes a vector of structures of two 64-bit numbers and returns where it is.
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
