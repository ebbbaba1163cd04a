package ccg

import (
	"math"
	"slices"
)

// kind is the kind of a node, in the upper 4 bits of its meta word.
type kind uint32

const (
	kindCall kind = 1 + iota
	kindEvent
	kindRoot
	kindGroup
	kindRepeat
	kindEnd
)

const (
	kindShift = 28
	tupleMask = 1<<kindShift - 1
	maxTuples = 1 << kindShift
)

// store holds nodes: ids 1..n, arrays of words, no pointers. Node 0 is unused.
type store struct {
	meta []uint32 // kind<<28 | tuple
	off  []uint32 // words of node id: pool[off[id]:off[id+1]]
	// pool holds the children; for a Repeat the body and its count in two words,
	// lower first
	pool  []uint32
	index index
}

func newStore() *store {
	s := &store{}
	s.reset()
	return s
}

func (s *store) reset() {
	s.meta = append(s.meta[:0], 0)
	s.off = append(s.off[:0], 0, 0)
	s.pool = s.pool[:0]
	s.index.reset()
}

func (s *store) len() int                 { return len(s.meta) - 1 }
func (s *store) kind(id uint32) kind      { return kind(s.meta[id] >> kindShift) }
func (s *store) tuple(id uint32) uint32   { return s.meta[id] & tupleMask }
func (s *store) words(id uint32) []uint32 { return s.pool[s.off[id]:s.off[id+1]] }

// children returns the children of a node; the body for a Repeat.
func (s *store) children(id uint32) []uint32 {
	w := s.words(id)
	if s.kind(id) == kindRepeat {
		return w[:1]
	}
	return w
}

// count returns how often the body of Repeat id follows itself.
func (s *store) count(id uint32) uint64 {
	w := s.words(id)
	return uint64(w[1]) | uint64(w[2])<<32
}

// append adds a node that is known to be new and not looked up.
func (s *store) append(meta uint32, words []uint32) (uint32, error) {
	if uint64(len(s.pool))+uint64(len(words)) > math.MaxUint32 || uint64(len(s.meta)) >= math.MaxUint32 {
		return 0, ErrLimit
	}
	id := uint32(len(s.meta))
	s.meta = append(s.meta, meta)
	s.pool = append(s.pool, words...)
	s.off = append(s.off, uint32(len(s.pool)))
	return id, nil
}

// find returns the node with the given content, 0 if there is none.
func (s *store) find(meta uint32, words []uint32) uint32 {
	return s.lookUp(hashNode(meta, words), meta, words)
}

func (s *store) lookUp(h uint64, meta uint32, words []uint32) uint32 {
	return s.index.find(h, func(id uint32) bool { return s.meta[id] == meta && slices.Equal(s.words(id), words) })
}

// intern returns the node with the given content, made if there is none.
func (s *store) intern(meta uint32, words []uint32) (uint32, error) {
	h := hashNode(meta, words)
	if id := s.lookUp(h, meta, words); id != 0 {
		return id, nil
	}
	id, err := s.append(meta, words)
	if err == nil {
		s.index.put(h, id)
	}
	return id, err
}

// reindex builds the index of nodes that were appended without one; it returns
// the id of a node that repeats another one's content, 0 if there is none.
func (s *store) reindex() (duplicate uint32) {
	s.index.reset()
	for id := uint32(1); int(id) < len(s.meta); id++ {
		h := hashNode(s.meta[id], s.words(id))
		if s.lookUp(h, s.meta[id], s.words(id)) != 0 {
			return id
		}
		s.index.put(h, id)
	}
	return 0
}

// memory returns the bytes held.
func (s *store) memory() uint64 {
	return 4*uint64(cap(s.meta)+cap(s.off)+cap(s.pool)) + 8*uint64(cap(s.index.slots))
}

// factors are odd multipliers, one per word of a hashed list: the products do
// not wait for each other (multilinear hashing, Lemire and Kaser 2014).
var factors = newFactors()

func newFactors() (f [256]uint64) {
	x := uint64(0x9E3779B97F4A7C15)
	for i := range f { // SplitMix64
		x += 0x9E3779B97F4A7C15
		z := (x ^ x>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		f[i] = z ^ z>>31 | 1
	}
	return f
}

// mix brings the upper bits of a sum of products down.
func mix(h uint64) uint64 {
	h = (h ^ h>>32) * 0xD6E8FEB86659FD93
	return h ^ h>>32
}

func hashNode(meta uint32, words []uint32) uint64 {
	h := uint64(meta) * factors[0]
	for i, w := range words {
		h += (uint64(w) + 1) * factors[uint8(i+1)]
	}
	return mix(h)
}

// index is an open-addressing table of ids: 8 bytes a slot, the hash's lower
// half above the id, so that growing never touches what the ids stand for. A
// slot of 0 is free; ids start at 1.
type index struct {
	slots []uint64
	used  int
}

const minSlots = 256

func (x *index) reset() {
	clear(x.slots)
	x.used = 0
}

// find returns the id with a hash for which is says true, 0 if there is none.
func (x *index) find(h uint64, is func(id uint32) bool) uint32 {
	if last := len(x.slots) - 1; last > 0 {
		for i := int(uint32(h)); ; i++ {
			s := x.slots[i&last]
			if uint32(s>>32) == uint32(h) && s != 0 && is(uint32(s)) {
				return uint32(s)
			}
			if s == 0 {
				break
			}
		}
	}
	return 0
}

// put adds an id, at most 3/4 of the slots are used.
func (x *index) put(h uint64, id uint32) {
	if 4*(x.used+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(minSlots, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				x.set(slot)
			}
		}
	}
	x.set(uint64(uint32(h))<<32 | uint64(id))
	x.used++
}

// set sets the first free slot, from that which the bits of the hash say that are stored.
func (x *index) set(slot uint64) {
	i := int(slot>>32) & (len(x.slots) - 1)
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = slot
}

// tuples holds interned word lists, numbered from 0.
type tuples struct {
	off   []uint32
	pool  []uint64
	index index // of number + 1
}

func newTuples() *tuples {
	t := &tuples{}
	t.reset()
	return t
}

func (t *tuples) reset() {
	t.off = append(t.off[:0], 0)
	t.pool = t.pool[:0]
	t.index.reset()
}

func (t *tuples) len() int             { return len(t.off) - 1 }
func (t *tuples) at(i uint32) []uint64 { return t.pool[t.off[i]:t.off[i+1]] }
func (t *tuples) memory() uint64 {
	return 4*uint64(cap(t.off)) + 8*uint64(cap(t.pool)+cap(t.index.slots))
}

func hashTuple(words []uint64) uint64 {
	h := uint64(len(words))
	for i, w := range words {
		h += (w ^ w>>32 + 1) * factors[uint8(i)]
	}
	return mix(h)
}

// find returns the number of a tuple, false if there is none.
func (t *tuples) find(w []uint64) (uint32, bool) {
	n := t.lookUp(hashTuple(w), w)
	return n - 1, n != 0
}

// lookUp returns the number of a tuple + 1, 0 if there is none.
func (t *tuples) lookUp(h uint64, w []uint64) uint32 {
	return t.index.find(h, func(n uint32) bool { return slices.Equal(t.at(n-1), w) })
}

// intern returns the number of a tuple, and whether it is new.
func (t *tuples) intern(w []uint64) (n uint32, added bool, err error) {
	h := hashTuple(w)
	if n := t.lookUp(h, w); n != 0 {
		return n - 1, false, nil
	}
	if t.len() == maxTuples || uint64(len(t.pool))+uint64(len(w)) > math.MaxUint32 {
		return 0, false, ErrLimit
	}
	t.pool = append(t.pool, w...)
	t.off = append(t.off, uint32(len(t.pool)))
	n = uint32(t.len() - 1)
	t.index.put(h, n+1)
	return n, true, nil
}
