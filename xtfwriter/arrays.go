package xtfwriter

import (
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/xtf"
)

// Array is an array being built into the store.
type Array struct {
	*xtf.ArrayBuilder
	st  *Store
	key Key
	seg *Segment
}

// NewArray begins array t of the unit; its pages go to the store.
func (st *Store) NewArray(enc *xtf.Encoder, t *xtf.Type, u Unit) (*Array, error) {
	k := Key{u, uint32(t.ID)}
	seg, err := st.Create(k)
	if err != nil {
		return nil, err
	}
	return &Array{xtf.NewArrayBuilder(enc, t, u.P, seg), st, k, seg}, nil
}

// Save finishes the array: pages and page table are sealed segments from now on,
// found by LoadArray. An array without rows leaves nothing.
func (a *Array) Save() error {
	sum, err := a.Finish()
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

// Reader reads a segment from its start and fails at the end if the bytes are not
// those that were appended.
func (s *Segment) Reader() io.Reader { return &segmentReader{s: s} }

type segmentReader struct {
	s   *Segment
	off int64
	crc uint32
}

func (r *segmentReader) Read(p []byte) (int, error) {
	size := r.s.Size()
	if r.off >= size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), size-r.off)]
	n, err := r.s.ReadAt(p, r.off)
	r.crc = updateCRC(r.crc, p[:n])
	r.off += int64(n)
	if err == nil && r.off == size && r.crc != r.s.CRC() {
		err = r.s.changed()
	}
	return n, err
}
