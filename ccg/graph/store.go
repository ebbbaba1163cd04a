package graph

import (
	"math"
	"slices"
)

// Kind is the kind of a node, in the upper 4 bits of its meta word.
type Kind uint32

const (
	KindCall Kind = 1 + iota
	KindEvent
	KindRoot
	KindGroup
	KindRepeat
	kindEnd
)

const (
	KindShift = 28
	TupleMask = 1<<KindShift - 1
	maxTuples = 1 << KindShift
)

// Store has nodes with ids 1..n in arrays of words, without pointers. Node 0 is unused.
type Store struct {
	Meta []uint32 // kind<<28 | tuple
	Off  []uint32 // words of node id: Pool[Off[id]:Off[id+1]]
	// Pool has the children; for a Repeat the body, and its count in two words, lower first.
	Pool  []uint32
	index index
}

// NewStore returns a store without nodes.
func NewStore() *Store {
	s := &Store{}
	s.Reset()
	return s
}

// Reset removes all nodes but keeps the memory.
func (s *Store) Reset() {
	s.Meta = append(s.Meta[:0], 0)
	s.Off = append(s.Off[:0], 0, 0)
	s.Pool = s.Pool[:0]
	s.index.reset()
}

// Len returns the number of nodes.
func (s *Store) Len() int                 { return len(s.Meta) - 1 }
func (s *Store) Kind(id uint32) Kind      { return Kind(s.Meta[id] >> KindShift) }
func (s *Store) Tuple(id uint32) uint32   { return s.Meta[id] & TupleMask }
func (s *Store) Words(id uint32) []uint32 { return s.Pool[s.Off[id]:s.Off[id+1]] }

// Children returns the children of a node; the body for a Repeat.
func (s *Store) Children(id uint32) []uint32 {
	w := s.Words(id)
	if s.Kind(id) == KindRepeat {
		return w[:1]
	}
	return w
}

// Count returns how often the body of Repeat id follows itself.
func (s *Store) Count(id uint32) uint64 {
	w := s.Words(id)
	return uint64(w[1]) | uint64(w[2])<<32
}

// append adds a node without looking it up. It must be new.
func (s *Store) append(meta uint32, words []uint32) (uint32, error) {
	if uint64(len(s.Pool))+uint64(len(words)) > math.MaxUint32 || uint64(len(s.Meta)) >= math.MaxUint32 {
		return 0, ErrLimit
	}
	id := uint32(len(s.Meta))
	s.Meta = append(s.Meta, meta)
	s.Pool = append(s.Pool, words...)
	s.Off = append(s.Off, uint32(len(s.Pool)))
	return id, nil
}

// Find returns the node with this content, 0 if there is none.
func (s *Store) Find(meta uint32, words []uint32) uint32 {
	return s.lookUp(hashNode(meta, words), meta, words)
}

func (s *Store) lookUp(h uint64, meta uint32, words []uint32) uint32 {
	return s.index.find(h, func(id uint32) bool { return s.Meta[id] == meta && slices.Equal(s.Words(id), words) })
}

// Intern returns the node with this content. It makes one if there is none.
func (s *Store) Intern(meta uint32, words []uint32) (uint32, error) {
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

// reindex makes the index of nodes that were appended without one. It returns the id of a node with the same content as another one, 0 if
// there is none.
func (s *Store) reindex() (duplicate uint32) {
	s.index.reset()
	for id := uint32(1); int(id) < len(s.Meta); id++ {
		h := hashNode(s.Meta[id], s.Words(id))
		if s.lookUp(h, s.Meta[id], s.Words(id)) != 0 {
			return id
		}
		s.index.put(h, id)
	}
	return 0
}

// Memory returns the bytes of memory.
func (s *Store) Memory() uint64 {
	return 4*uint64(cap(s.Meta)+cap(s.Off)+cap(s.Pool)) + 8*uint64(cap(s.index.slots))
}

// Factors are odd multipliers, one for each word of a hashed list (multilinear hashing, Lemire and Kaser 2014): the products do not depend
// on each other.
var Factors = newFactors()

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

// Mix spreads the upper bits of a sum of products to the lower ones.
func Mix(h uint64) uint64 {
	h = (h ^ h>>32) * 0xD6E8FEB86659FD93
	return h ^ h>>32
}

func hashNode(meta uint32, words []uint32) uint64 {
	h := uint64(meta) * Factors[0]
	for i, w := range words {
		h += (uint64(w) + 1) * Factors[uint8(i+1)]
	}
	return Mix(h)
}

// index is an open-addressing hash table of ids, 8 bytes for each slot: the lower half of the hash above the id, so that growing does not
// read what ids stand for. Slot 0 is free; ids start at 1.
type index struct {
	slots []uint64
	used  int
}

const minSlots = 256

func (x *index) reset() {
	clear(x.slots)
	x.used = 0
}

// find returns the id with this hash for which is returns true, 0 if there is none.
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

// put adds an id. At most 3/4 of the slots are used.
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

// set stores a slot in the first free place, from the one that its hash bits give.
func (x *index) set(slot uint64) {
	i := int(slot>>32) & (len(x.slots) - 1)
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = slot
}

// Tuples has interned word lists, numbered from 0.
type Tuples struct {
	off   []uint32
	Pool  []uint64
	index index // of numbers + 1
}

// NewTuples returns no tuples.
func NewTuples() *Tuples {
	t := &Tuples{}
	t.Reset()
	return t
}

// Reset removes all tuples but keeps the memory.
func (t *Tuples) Reset() {
	t.off = append(t.off[:0], 0)
	t.Pool = t.Pool[:0]
	t.index.reset()
}

// Len returns the number of tuples.
func (t *Tuples) Len() int             { return len(t.off) - 1 }
func (t *Tuples) At(i uint32) []uint64 { return t.Pool[t.off[i]:t.off[i+1]] }
func (t *Tuples) Memory() uint64 {
	return 4*uint64(cap(t.off)) + 8*uint64(cap(t.Pool)+cap(t.index.slots))
}

func hashTuple(words []uint64) uint64 {
	h := uint64(len(words))
	for i, w := range words {
		h += (w ^ w>>32 + 1) * Factors[uint8(i)]
	}
	return Mix(h)
}

// Find returns the number of a tuple, false if there is none.
func (t *Tuples) Find(w []uint64) (uint32, bool) {
	n := t.lookUp(hashTuple(w), w)
	return n - 1, n != 0
}

// lookUp returns the number of a tuple + 1, 0 if there is none.
func (t *Tuples) lookUp(h uint64, w []uint64) uint32 {
	return t.index.find(h, func(n uint32) bool { return slices.Equal(t.At(n-1), w) })
}

// Intern returns the number of a tuple, and whether it is new.
func (t *Tuples) Intern(w []uint64) (n uint32, added bool, err error) {
	h := hashTuple(w)
	if n := t.lookUp(h, w); n != 0 {
		return n - 1, false, nil
	}
	if t.Len() == maxTuples || uint64(len(t.Pool))+uint64(len(w)) > math.MaxUint32 {
		return 0, false, ErrLimit
	}
	t.Pool = append(t.Pool, w...)
	t.off = append(t.off, uint32(len(t.Pool)))
	n = uint32(t.Len() - 1)
	t.index.put(h, n+1)
	return n, true, nil
}
