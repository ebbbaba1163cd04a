package build

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// maxPartners is the greatest number of distinct values that a valueSet keeps.
const maxPartners = 256

// valueSet is a set of values. Above maxPartners it keeps none and is "more". It does not depend on the order of arrival.
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

// Partners counts, for each encoding of partner ranks, the distinct values for each record kind, enclosing region and communicator.
type Partners struct {
	places *graph.Places
	sets   map[graph.PartnerKey]*[graph.NumEncodings]valueSet
}

// NewPartners returns empty counts.
func NewPartners(defs *trace.Definitions) *Partners {
	return &Partners{places: graph.NewPlaces(defs), sets: map[graph.PartnerKey]*[graph.NumEncodings]valueSet{}}
}

// Add counts the partners of a location.
func (s *Partners) Add(l *Local) {
	s.places.Of(l.p)
	for t := range l.graph.Shapes {
		h, w := &l.graph.Shapes[t], l.graph.Tuples.At(uint32(t))
		at, comm, window, ok := h.RankWord(w)
		if !ok {
			continue
		}
		pl := s.places.At(comm, window)
		partner, ok := pl.Decode(graph.Relative, w[at])
		if !ok {
			continue // Union.Add refuses the location
		}
		set := s.set(graph.PartnerKey{Kind: h.Kind, Region: h.Ref, Comm: comm})
		for e := range set {
			set[e].add(pl.Encode(graph.Encoding(e), partner) >> 1)
		}
	}
}

func (s *Partners) set(k graph.PartnerKey) *[graph.NumEncodings]valueSet {
	set := s.sets[k]
	if set == nil {
		set = new([graph.NumEncodings]valueSet)
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

// AppendBinary appends the number of keys, and for each key the record kind, region and communicator, and for each encoding the number of
// values and the values.
func (s *Partners) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(s.sets)))
	for _, k := range graph.SortedKeys(s.sets) {
		dst = graph.AppendKey(dst, k)
		for _, set := range s.sets[k] {
			dst = binary.AppendUvarint(dst, uint64(set.count()))
			for _, v := range set.list {
				dst = binary.AppendUvarint(dst, v)
			}
		}
	}
	return dst, nil
}

// OpenPartners parses what AppendBinary returned.
func OpenPartners(defs *trace.Definitions, src []byte) (*Partners, error) {
	s := NewPartners(defs)
	r := graph.Read(src)
	n := r.Next()
	for range n {
		if r.Failed() {
			break
		}
		set := s.set(r.Key())
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
		return nil, fmt.Errorf("partner counts: %w", graph.ErrCorrupt)
	}
	return s, nil
}

// Choose returns the encoding with the fewest values for each record kind, enclosing region and communicator. Of equal ones, and if all
// have too many, it takes the first in the order relative, modulo, exclusive or, absolute.
func (s *Partners) Choose() *graph.Encodings {
	e := &graph.Encodings{Chosen: make(map[graph.PartnerKey]graph.Encoding, len(s.sets))}
	for k, set := range s.sets {
		best := graph.Relative
		for c := range graph.NumEncodings {
			if set[c].count() < set[best].count() {
				best = c
			}
		}
		e.Chosen[k] = best
	}
	return e
}
