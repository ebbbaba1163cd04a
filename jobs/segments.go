package jobs

import (
	"io"
	"sync"

	"github.com/coppice-hpc/coppice/xtfwriter"
)

// ProcessSegments has a segment in a store for each process of a rank. It implements predict.Segments.
type ProcessSegments struct {
	store *xtfwriter.Store
	mu    sync.Mutex
	list  map[uint32]*xtfwriter.Segment
}

// NewProcessSegments returns ProcessSegments without any.
func NewProcessSegments(store *xtfwriter.Store) *ProcessSegments {
	return &ProcessSegments{store: store, list: map[uint32]*xtfwriter.Segment{}}
}

func (s *ProcessSegments) segment(process uint32) *xtfwriter.Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.list[process]
	if g == nil {
		g = s.store.Scratch()
		s.list[process] = g
	}
	return g
}

// Append implements predict.Segments.
func (s *ProcessSegments) Append(process uint32, b []byte) error {
	_, err := s.segment(process).Append(b)
	return Coded(err)
}

// Reader implements predict.Segments.
func (s *ProcessSegments) Reader(process uint32) (io.Reader, error) {
	g := s.segment(process)
	return io.NewSectionReader(g, 0, g.Size()), nil
}

// Drop frees all segments.
func (s *ProcessSegments) Drop() {
	for _, g := range s.list {
		g.Drop()
	}
}
