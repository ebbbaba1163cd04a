//go:build linux

// Package records makes the rows that stores of time-stamped records are compared
// with, and measures one store; peer/harness.h does the same for stores in C, with the
// same rows, keys and queries for the same number of records.
package records

import "encoding/binary"

// Bytes is the size of a record: the key, then Payload bytes.
const (
	Bytes   = 64
	Payload = 56
)

// Generator yields records with strictly rising keys.
type Generator struct {
	state uint64
	n     uint64
	key   uint64
}

// NewGenerator starts at the first record.
func NewGenerator() *Generator { return &Generator{state: 1, key: 1 << 40} }

// mix is the splitmix64 step (Steele, Lea, Flood 2014).
func mix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Next returns the key of the next record and fills its payload: the fields of a
// message of an iterative program with jittered times.
func (g *Generator) Next(payload []byte) (key uint64) {
	r := mix(&g.state)
	g.key += 700 + r&1023
	n := g.n
	g.n++
	_ = payload[Payload-1]
	binary.LittleEndian.PutUint64(payload[0:], g.key+150+r>>10&4095) // end
	binary.LittleEndian.PutUint64(payload[8:], 2*n+7)                // number of the call
	binary.LittleEndian.PutUint64(payload[16:], n+r>>32&3)           // number of the mate
	binary.LittleEndian.PutUint64(payload[24:], 4096<<(n%3))         // bytes
	binary.LittleEndian.PutUint32(payload[32:], 31+uint32(n&1))      // region
	binary.LittleEndian.PutUint32(payload[36:], uint32(r>>40&7))     // peer
	binary.LittleEndian.PutUint32(payload[40:], 0)                   // communicator
	binary.LittleEndian.PutUint32(payload[44:], uint32(r>>48&7))     // tag
	binary.LittleEndian.PutUint32(payload[48:], uint32(n&1))         // kind
	binary.LittleEndian.PutUint32(payload[52:], uint32(r>>24&63))    // queue length
	return g.key
}

// Queries are the keys that are looked up: half of them in the file, half one
// tick after one, never after the last.
func Queries(n uint64, count int) []uint64 {
	keys := Keys(n)
	state := uint64(2)
	q := make([]uint64, count)
	for i := range q {
		r := mix(&state)
		q[i] = keys[r%(n-1)] + r>>63
	}
	return q
}

// Window is an interval of rows records.
type Window struct{ From, To uint64 } // From <= key < To

// Windows returns intervals of the given number of records at seeded places.
func Windows(n, rows uint64, count int) []Window {
	keys := Keys(n)
	state := uint64(3)
	w := make([]Window, count)
	for i := range w {
		first := mix(&state) % (n - rows)
		w[i] = Window{keys[first], keys[first+rows]}
	}
	return w
}

// Keys are all keys.
func Keys(n uint64) []uint64 {
	g, payload := NewGenerator(), make([]byte, Payload)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = g.Next(payload)
	}
	return keys
}
