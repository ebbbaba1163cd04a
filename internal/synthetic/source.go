package synthetic

import (
	"crypto/sha256"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// Source is a synthetic run. It is safe for concurrent use.
type Source struct {
	m        *model
	defs     *trace.Definitions
	identity [32]byte
	events   []uint64 // of each location
}

// New makes the program that o describes.
func New(o Options) (*Source, error) {
	m, err := newModel(o)
	if err != nil {
		return nil, err
	}
	s := &Source{m: m}
	s.defs = m.definitions()
	for p := range trace.P(s.defs.NumLocations()) {
		n := s.defs.Location(p).Events
		if proc, thread, _ := s.place(p); m.hits(WrongCount, proc) && thread == 0 {
			n -= wrongCount
		}
		s.events = append(s.events, n)
	}
	b, err := s.defs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	s.identity = sha256.Sum256(append(b, m.o.String()...))
	return s, nil
}

// Options returns the options with all defaults filled in.
func (s *Source) Options() Options { return s.m.o }

// Events returns the number of events of all locations.
func (s *Source) Events() (sum uint64) {
	for _, n := range s.events {
		sum += n
	}
	return sum
}

// Definitions returns the sealed definitions.
func (s *Source) Definitions() *trace.Definitions { return s.defs }

// Format names the program.
func (s *Source) Format() string { return "synthetic " + s.m.o.Program }

// Identity is a hash of definitions and options.
func (s *Source) Identity() [32]byte { return s.identity }

// Close does nothing.
func (s *Source) Close() error { return nil }

// place returns process and thread of a location, and false for one without events.
func (s *Source) place(p trace.P) (proc, thread uint32, ok bool) {
	t := uint32(s.m.o.Threads)
	proc, thread = uint32(p)/t, uint32(p)%t
	return proc, thread, proc < s.m.n
}

// bytesPerEvent estimates what an event takes in an archive.
const bytesPerEvent = 12

// Measure tells the size of location p, exactly as Stream delivers it.
func (s *Source) Measure(p trace.P) (trace.Extent, error) {
	if err := check(s.defs, p); err != nil {
		return trace.Extent{}, err
	}
	proc, thread, ok := s.place(p)
	if !ok {
		return trace.Extent{}, nil
	}
	_, chunks := s.m.cut(proc, thread)
	e := trace.Extent{Events: s.events[p], Chunks: chunks}
	e.Bytes = e.Events * bytesPerEvent
	if thread == 0 && e.Events > 0 {
		w := pen{m: s.m, proc: proc, out: &trace.Batch{}, skew: s.m.skewOf(proc)}
		s.m.writePrologue(&w)
		e.First, e.HasFirst = w.out.Events[0].Time, true
	}
	return e, nil
}

// Stream opens location p. Its memory is 8 bytes per chunk, that of a chunk
// reader the events of one step and one batch.
func (s *Source) Stream(p trace.P) (trace.Stream, error) {
	if err := check(s.defs, p); err != nil {
		return nil, err
	}
	proc, thread, ok := s.place(p)
	if !ok {
		return trace.NewStream(0, nil), nil
	}
	m := s.m
	perChunk, chunks := m.cut(proc, thread)
	end := func(i int) uint64 { return min(uint64(i+1)*perChunk, m.units(proc)) }
	first := make([]uint64, chunks+1) // numbers of the first events of the chunks
	for i := range chunks {
		first[i+1] = first[i] + m.unitEvents(proc, thread, uint64(i)*perChunk, end(i))
	}
	return trace.NewStream(chunks, func(i int) (trace.ChunkReader, error) {
		w := pen{m: m, proc: proc, thread: thread, skew: m.skewOf(proc)}
		unit, number := uint64(i)*perChunk, first[i]
		return trace.Fill(func(b *trace.Batch) error {
			b.First, w.out = number, b
			for ; unit < end(i) && len(b.Events) < batchEvents; unit++ {
				m.unit(&w, unit)
			}
			number += uint64(len(b.Events))
			return nil
		}), nil
	}), nil
}

// batchEvents is the number of events after which a batch is handed over.
const batchEvents = 4096

// cut chooses the chunks of a location, all of as many units but the last.
func (m *model) cut(proc, thread uint32) (perChunk uint64, chunks int) {
	units := m.units(proc)
	sample := min(units, 32)
	perChunk = max(m.o.Chunk/max(m.unitEvents(proc, thread, 0, sample)/sample, 1), 1)
	return perChunk, int((units + perChunk - 1) / perChunk)
}

// check reports a location that there is not.
func check(d *trace.Definitions, p trace.P) error {
	if int(p) >= d.NumLocations() {
		return fmt.Errorf("synthetic: location %d of %d: %w", p, d.NumLocations(), trace.ErrMissing)
	}
	return nil
}
