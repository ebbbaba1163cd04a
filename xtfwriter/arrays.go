package xtfwriter

import (
	"fmt"
	"sort"

	"github.com/coppice-hpc/coppice/xtf"
)

// Array is an array being built into the store.
type Array struct {
	*xtf.ArrayBuilder
	st      *Store
	key     Key
	seg     *Segment
	scratch *Segment // pinned pages beyond heldPages
}

// heldPages is how many pages an array holds in memory: enough for the open calls
// of a stack that is not extraordinarily deep, and 1 MiB at most with the pages of
// the standard types.
const heldPages = 16

// NewArray begins array t of the unit; its pages go to the store.
func (st *Store) NewArray(enc *xtf.Encoder, t *xtf.Type, u Unit) (*Array, error) {
	k := Key{u, uint32(t.ID)}
	seg, err := st.Create(k)
	if err != nil {
		return nil, err
	}
	a := &Array{xtf.NewArrayBuilder(enc, t, u.P, seg), st, k, seg, st.Scratch()}
	a.SpillPinned(a.scratch, heldPages)
	return a, nil
}

// Save finishes the array: pages and page table are sealed segments from now on,
// found by LoadArray. An array without rows leaves nothing.
func (a *Array) Save() error {
	sum, err := a.Finish()
	a.scratch.Drop()
	if err != nil {
		return err
	}
	if sum.Len() == 0 {
		a.seg.Drop()
		return nil
	}
	a.seg.Seal()
	b, err := sum.AppendBinary(nil)
	if err != nil {
		return err
	}
	return a.st.Put(Key{a.key.Unit, a.key.Kind | KindSummary}, b)
}

// LoadArray returns a saved array; ok is false if it had no rows.
func (st *Store) LoadArray(u Unit, t xtf.TypeID) (a xtf.FinishedArray, ok bool, err error) {
	if !st.Has(Key{u, uint32(t) | KindSummary}) {
		return a, false, nil
	}
	b, err := st.Get(Key{u, uint32(t) | KindSummary})
	if err != nil {
		return a, false, err
	}
	if a.Summary, err = xtf.ParseArraySummary(b); err != nil {
		return a, false, fmt.Errorf("xtfwriter: proc %d stage %d: %w", u.P, u.Stage, err)
	}
	seg, err := st.Segment(Key{u, uint32(t)})
	if err != nil {
		return a, false, err
	}
	a.Data = seg
	return a, true, nil
}

// Put stores b as a sealed segment.
func (st *Store) Put(k Key, b []byte) error {
	s, err := st.Create(k)
	if err != nil {
		return err
	}
	if _, err := s.Append(b); err != nil {
		return err
	}
	s.Seal()
	return nil
}

// Has says whether a sealed segment of the key exists.
func (st *Store) Has(k Key) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.segments[k]
	return s != nil && s.sealed
}

// Get reads a whole segment and verifies it.
func (st *Store) Get(k Key) ([]byte, error) {
	s, err := st.Segment(k)
	if err != nil {
		return nil, err
	}
	b := make([]byte, s.Size())
	if _, err := s.ReadAt(b, 0); err != nil && len(b) > 0 {
		return nil, err
	}
	if updateCRC(0, b) != s.CRC() {
		return nil, s.changed()
	}
	return b, nil
}

// changed is the error of bytes that are not those that were appended.
func (s *Segment) changed() error {
	return fmt.Errorf("xtfwriter: segment of proc %d stage %d kind %#x: %w: checksum mismatch",
		s.key.P, s.key.Stage, s.key.Kind, xtf.ErrCorrupt)
}

// Blob returns a sealed segment as a region blob or file section.
func (st *Store) Blob(k Key, kind, version, flags uint32) (xtf.Blob, error) {
	s, err := st.Segment(k)
	if err != nil {
		return xtf.Blob{}, err
	}
	return xtf.Blob{Kind: kind, Version: version, Flags: flags, Size: s.size, CRC: s.crc, Data: s}, nil
}

// WriteAt changes bytes of a segment without a name that were appended before. Its
// checksum stays that of the bytes as they were appended.
func (s *Segment) WriteAt(p []byte, off int64) (int, error) {
	st := s.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.sealed || s.gone || st.segments[s.key] == s || off < 0 || off > s.size-int64(len(p)) {
		return 0, fmt.Errorf("xtfwriter: segment %v of %d bytes: %d at %d cannot be changed", s.key, s.size, len(p), off)
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		c := s.chunks[sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].pos > at })-1]
		k := int(min(int64(len(p)-done), c.pos+c.n-at))
		if c.mem != nil {
			copy(c.mem[at-c.pos:], p[done:done+k])
		} else if _, err := c.in.WriteAt(p[done:done+k], c.off+at-c.pos); err != nil {
			return done, fmt.Errorf("xtfwriter: %w", OutputError("segment file "+st.path, err))
		}
		done += k
	}
	return len(p), nil
}
