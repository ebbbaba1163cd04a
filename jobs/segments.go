package jobs

import (
	"io"
	"sync"

	"github.com/coppice-hpc/coppice/xtfwriter"
)

// ProcessSegments keeps bytes of each process of a rank in a store. It implements predict.Segments.
type ProcessSegments struct {
	store *xtfwriter.Store
	mu    sync.Mutex
	list  map[uint32]*xtfwriter.Segment
}

// NewProcessSegments returns an empty one.
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

// Drop forgets all.
func (s *ProcessSegments) Drop() {
	for _, g := range s.list {
		g.Drop()
	}
}
