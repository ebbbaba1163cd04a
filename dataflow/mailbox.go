package dataflow

import "math/bits"

// box is an address inside a location: a space of keys and the key.
type box struct {
	space uint64
	key   uint64
}

// Spaces of keys: one for Send, one for the results on each communicator.
const (
	valueSpace uint64 = 0
	collSpace  uint64 = 1 << 32
)

type slotKey struct {
	place uint32
	space uint64
	key   uint64
}

// mailbox keeps values until they are taken: a hash table with linear probing
// and deletion by shifting back. Memory: slotBytes per slot, so at most waitBytes for
// each value of the time when most waited.
type mailbox struct {
	slots []slot
	n     int
}

type slot struct {
	slotKey
	used bool // beside place, so that the slot is 32 bytes
	v    uint64
}

const slotBytes = 40

// waitBytes is what a value that waits takes at most: the table grows by half when
// three quarters are in use.
const waitBytes = slotBytes * 2

func (m *mailbox) home(k slotKey) int {
	h := k.key*0x9E3779B97F4A7C15 ^ (k.space^uint64(k.place)<<17)*0xC2B2AE3D27D4EB4F
	h, _ = bits.Mul64(h*0xD6E8FEB86659FD93, uint64(len(m.slots)))
	return int(h)
}

// put stores a value. It is false if the key has one already.
func (m *mailbox) put(k slotKey, v uint64) bool {
	if 4*m.n >= 3*len(m.slots) {
		m.grow()
	}
	i := m.home(k)
	for m.slots[i].used {
		if m.slots[i].slotKey == k {
			return false
		}
		if i++; i == len(m.slots) {
			i = 0
		}
	}
	m.slots[i] = slot{k, true, v}
	m.n++
	return true
}

// take removes a value.
func (m *mailbox) take(k slotKey) (uint64, bool) {
	if m.n == 0 {
		return 0, false
	}
	i := m.home(k)
	for m.slots[i].used && m.slots[i].slotKey != k {
		if i++; i == len(m.slots) {
			i = 0
		}
	}
	if !m.slots[i].used {
		return 0, false
	}
	v := m.slots[i].v
	m.n--
	m.shift(i)
	return v, true
}

// shift frees slot i and moves values up to the next free slot to where a search
// from their home finds them.
func (m *mailbox) shift(i int) {
	for j := i; ; {
		if j++; j == len(m.slots) {
			j = 0
		}
		if !m.slots[j].used {
			m.slots[i].used = false
			return
		}
		h := m.home(m.slots[j].slotKey)
		if i <= j && (h <= i || h > j) || i > j && h <= i && h > j {
			m.slots[i] = m.slots[j]
			i = j
		}
	}
}

func (m *mailbox) grow() {
	old := m.slots
	m.slots, m.n = make([]slot, max(64, len(old)+len(old)/2)), 0
	for i := range old {
		if old[i].used {
			m.put(old[i].slotKey, old[i].v)
		}
	}
}
