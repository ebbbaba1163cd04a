package ccg

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// maxPartners is the largest set of distinct values that is kept.
const maxPartners = 256

// valueSet is a set of at most maxPartners values, then only "more". It does
// not depend on the order of arrival.
type valueSet struct {
	list []uint64 // ascending
	more bool
}

func (s *valueSet) add(v uint64) {
	if s.more {
		return
	}
	i, ok := slices.BinarySearch(s.list, v)
	if ok {
		return
	}
	if len(s.list) == maxPartners {
		s.list, s.more = nil, true
		return
	}
	s.list = slices.Insert(s.list, i, v)
}

func (s *valueSet) count() int {
	if s.more {
		return maxPartners + 1
	}
	return len(s.list)
}

// Partners counts, for each encoding of partner ranks, the distinct values per
// record kind, enclosing region and communicator.
type Partners struct {
	places *places
	sets   map[partnerKey]*[numEncodings]valueSet
}

// NewPartners returns empty counts.
func NewPartners(defs *trace.Definitions) *Partners {
	return &Partners{places: newPlaces(defs), sets: map[partnerKey]*[numEncodings]valueSet{}}
}

// Add counts the partners of a location.
func (s *Partners) Add(l *Local) {
	s.places.of(l.p)
	for t := range l.graph.shapes {
		h, w := &l.graph.shapes[t], l.graph.tuples.at(uint32(t))
		at, comm, window, ok := h.rankWord(w)
		if !ok {
			continue
		}
		pl := s.places.at(comm, window)
		partner, ok := pl.decode(relative, w[at])
		if !ok {
			continue // Union.Add refuses the location
		}
		set := s.set(partnerKey{h.kind, h.ref, comm})
		for e := range set {
			set[e].add(pl.encode(encoding(e), partner) >> 1)
		}
	}
}

func (s *Partners) set(k partnerKey) *[numEncodings]valueSet {
	set := s.sets[k]
	if set == nil {
		set = new([numEncodings]valueSet)
		s.sets[k] = set
	}
	return set
}

// Merge adds the counts of o.
func (s *Partners) Merge(o *Partners) {
	for k, from := range o.sets {
		to := s.set(k)
		for e := range from {
			if from[e].more {
				to[e] = valueSet{more: true}
			}
			for _, v := range from[e].list {
				to[e].add(v)
			}
		}
	}
}

func sortedKeys[V any](m map[partnerKey]V) []partnerKey {
	return slices.SortedFunc(maps.Keys(m), partnerKey.compare)
}

func appendKey(dst []byte, k partnerKey) []byte {
	dst = append(dst, byte(k.kind))
	dst = binary.AppendUvarint(dst, uint64(k.region))
	return binary.AppendUvarint(dst, uint64(k.comm))
}

// AppendBinary appends the counts: their number, then per key record kind,
// region, communicator, and per encoding the number of values and the values.
func (s *Partners) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(s.sets)))
	for _, k := range sortedKeys(s.sets) {
		dst = appendKey(dst, k)
		for _, set := range s.sets[k] {
			dst = binary.AppendUvarint(dst, uint64(set.count()))
			for _, v := range set.list {
				dst = binary.AppendUvarint(dst, v)
			}
		}
	}
	return dst, nil
}

// OpenPartners reads what AppendBinary wrote.
func OpenPartners(defs *trace.Definitions, src []byte) (*Partners, error) {
	s := NewPartners(defs)
	r := reader{varint.Read(src)}
	n := r.Next()
	for range n {
		if r.Failed() {
			break
		}
		set := s.set(r.key())
		for e := range set {
			count := r.Next()
			if count > maxPartners {
				set[e].more = true
				continue
			}
			for range count {
				if r.Failed() {
					break
				}
				set[e].add(r.Next())
			}
		}
	}
	if !r.Done() {
		return nil, fmt.Errorf("partner counts: %w", ErrCorrupt)
	}
	return s, nil
}

// Choose picks the encoding with the fewest values per record kind, enclosing
// region and communicator; ties and overflow go to the first in the order
// relative, modulo, exclusive or, absolute.
func (s *Partners) Choose() *Encodings {
	e := &Encodings{chosen: make(map[partnerKey]encoding, len(s.sets))}
	for k, set := range s.sets {
		best := relative
		for c := range numEncodings {
			if set[c].count() < set[best].count() {
				best = c
			}
		}
		e.chosen[k] = best
	}
	return e
}

// Encodings tells how partner ranks are written into tuples.
type Encodings struct {
	chosen map[partnerKey]encoding // relative where there is none
}

// AppendBinary appends the encodings that are not relative, ascending by key.
func (e *Encodings) AppendBinary(dst []byte) ([]byte, error) { return e.append(dst), nil }

func (e *Encodings) append(dst []byte) []byte {
	keys := slices.DeleteFunc(sortedKeys(e.chosen), func(k partnerKey) bool { return e.chosen[k] == relative })
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = append(appendKey(dst, k), byte(e.chosen[k]))
	}
	return dst
}

// OpenEncodings reads what AppendBinary wrote.
func OpenEncodings(src []byte) (*Encodings, error) {
	r := reader{varint.Read(src)}
	e := r.encodings()
	if !r.Done() {
		return nil, fmt.Errorf("partner encodings: %w", ErrCorrupt)
	}
	return e, nil
}

func (r *reader) encodings() *Encodings {
	e := &Encodings{chosen: map[partnerKey]encoding{}}
	n := r.Next()
	for range n {
		if r.Failed() {
			break
		}
		k := r.key()
		c := encoding(r.Byte())
		if c >= numEncodings {
			r.Fail()
		}
		e.chosen[k] = c
	}
	return e
}

func (r *reader) key() partnerKey {
	return partnerKey{trace.Kind(r.Byte()), r.Uint32(), r.Uint32()}
}
