package graph

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// SortedKeys returns the keys of a map, ascending.
func SortedKeys[V any](m map[PartnerKey]V) []PartnerKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b PartnerKey) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Comm, b.Comm))
	})
}

// AppendKey appends a key. Reader.Key reads it.
func AppendKey(dst []byte, k PartnerKey) []byte {
	dst = append(dst, byte(k.Kind))
	dst = binary.AppendUvarint(dst, uint64(k.Region))
	return binary.AppendUvarint(dst, uint64(k.Comm))
}

// Encodings says how partner ranks are written into tuples.
type Encodings struct {
	Chosen map[PartnerKey]Encoding // keys that are missing use Relative
}

// AppendBinary appends the encodings other than Relative, by ascending key.
func (e *Encodings) AppendBinary(dst []byte) ([]byte, error) { return e.append(dst), nil }

func (e *Encodings) append(dst []byte) []byte {
	keys := slices.DeleteFunc(SortedKeys(e.Chosen), func(k PartnerKey) bool { return e.Chosen[k] == Relative })
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = append(AppendKey(dst, k), byte(e.Chosen[k]))
	}
	return dst
}

// OpenEncodings reads what AppendBinary appended.
func OpenEncodings(src []byte) (*Encodings, error) {
	r := Read(src)
	e := r.encodings()
	if !r.Done() {
		return nil, fmt.Errorf("partner encodings: %w", ErrCorrupt)
	}
	return e, nil
}

func (r *Reader) encodings() *Encodings {
	e := &Encodings{Chosen: map[PartnerKey]Encoding{}}
	n := r.Next()
	for range n {
		if r.Failed() {
			break
		}
		k := r.Key()
		c := Encoding(r.Byte())
		if c >= NumEncodings {
			r.Fail()
		}
		e.Chosen[k] = c
	}
	return e
}

// Key reads what AppendKey appended.
func (r *Reader) Key() PartnerKey {
	return PartnerKey{trace.Kind(r.Byte()), r.Uint32(), r.Uint32()}
}

// Of returns the encoding for a record's partner.
func (e *Encodings) Of(h *Shape, comm uint32) Encoding {
	return e.Chosen[PartnerKey{h.Kind, h.Ref, comm}]
}

// Relabel returns the tuple of a location with its partner written in the chosen encoding.
func (e *Encodings) Relabel(pls *Places, h *Shape, w, scratch []uint64) ([]uint64, error) {
	at, comm, window, ok := h.RankWord(w)
	if !ok {
		return w, nil
	}
	c := e.Chosen[PartnerKey{h.Kind, h.Ref, comm}]
	pl := pls.At(comm, window)
	partner, ok := pl.Decode(Relative, w[at])
	if !ok {
		return nil, fmt.Errorf("partner outside communicator %d: %w", comm, ErrCorrupt)
	}
	if c == Relative {
		return w, nil
	}
	w = append(scratch[:0], w...)
	w[at] = pl.Encode(c, partner)
	return w, nil
}

// PartnerKey identifies the records for which one encoding is chosen.
type PartnerKey struct {
	Kind   trace.Kind
	Region uint32
	Comm   uint32 // communicator or window
}
