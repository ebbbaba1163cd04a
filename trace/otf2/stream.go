package otf2

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync"

	"github.com/coppice-hpc/coppice/trace"
)

// stream is the event file of one location.
type stream struct {
	a      *Archive
	path   string
	name   string // of the file alone: diagnostics do not depend on where the archive lies
	file   file   // nil if there is none
	size   int64
	chunks int
	loc    *local
	diags  []trace.Diagnostic

	mu      sync.Mutex
	borders []border // of the first chunks, as far as needed yet
}

// Stream opens the files of location p.
func (a *Archive) Stream(p trace.P) (trace.Stream, error) {
	if err := a.check(p); err != nil {
		return nil, err
	}
	s := &stream{a: a, path: a.file(p, ".evt")}
	s.name = filepath.Base(s.path)
	s.diags = append(s.diags, a.cut[a.defs.Location(p).Ref]...)
	var err error
	if s.file, s.size, s.loc, err = a.openLocation(p); err != nil {
		return nil, err
	}
	if s.loc != nil {
		s.diags = append(s.diags, s.loc.diags.List()...)
	}
	announced := a.defs.Location(p).Events
	if s.file == nil {
		if announced > 0 && s.loc == nil {
			s.diags = append(s.diags, trace.Diagnostic{
				Code: trace.DiagMissingEvents, Count: 1,
				Detail: fmt.Sprintf("%s is not there; the definitions announce %d events", s.name, announced),
			})
		}
		return s, nil
	}
	chunk := int64(a.anchor.EventChunk)
	s.chunks = max(1, int((s.size+chunk-1)/chunk))
	last, err := readBorder(s.file, int64(s.chunks-1)*chunk)
	if err != nil {
		s.file.Close()
		return nil, err
	}
	if last.valid && last.last != announced {
		s.diags = append(s.diags, trace.Diagnostic{
			Code: trace.DiagEventCount, Count: 1,
			Detail: fmt.Sprintf("%s announces %d events, the definitions %d", s.name, last.last, announced),
		})
	}
	return s, nil
}

func (s *stream) Chunks() int                     { return s.chunks }
func (s *stream) Diagnostics() []trace.Diagnostic { return s.diags }

func (s *stream) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// border returns the start of chunk i. It looks at all chunks before i too, so times and event numbers do not depend on the order
// in which chunks are opened.
func (s *stream) border(i int) (border, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunk := int64(s.a.anchor.EventChunk)
	for k := len(s.borders); k <= i; k++ {
		b, err := readBorder(s.file, int64(k)*chunk)
		if err != nil {
			return border{}, err
		}
		if b.timed {
			b.start = s.loc.clock.correct(b.raw)
		}
		if k > 0 {
			before := &s.borders[k-1]
			n, _ := before.events(chunk)
			b.base = before.base + n
			b.start = max(b.start, before.start)
		}
		s.borders = append(s.borders, b)
	}
	return s.borders[i], nil
}

// ceiling returns the start of the next chunk with events after chunk i.
func (s *stream) ceiling(i int) (trace.Time, error) {
	for k := i + 1; k < s.chunks; k++ {
		b, err := s.border(k)
		if err != nil {
			return 0, err
		}
		if b.timed {
			return b.start, nil
		}
	}
	return math.MaxUint64, nil
}

// Chunk opens chunk i.
func (s *stream) Chunk(i int) (trace.ChunkReader, error) {
	if i < 0 || i >= s.chunks {
		return nil, fmt.Errorf("otf2: %s: no chunk %d, there are %d", s.path, i, s.chunks)
	}
	b, err := s.border(i)
	if err != nil {
		return nil, err
	}
	high, err := s.ceiling(i)
	if err != nil {
		return nil, err
	}
	chunk := int64(s.a.anchor.EventChunk)
	r := &chunkReader{s: s, head: b, off: int64(i) * chunk, pool: s.a.windowOf()}
	r.limit = min(r.off+chunk, s.size)
	r.decoder = decoder{
		loc: s.loc, iv: &uncorrected, now: b.start, high: high,
		big: b.big, quick: s.loc.dense(), last: i == s.chunks-1, number: b.base, mark: noMark, buf: *r.pool,
	}
	if err := r.open(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// windowOf returns a pooled buffer.
func (a *Archive) windowOf() *[]byte {
	if b, ok := a.windows.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, a.window)
	return &b
}

// chunkReader reads one chunk through a window that slides over it.
type chunkReader struct {
	decoder
	s     *stream
	head  border
	off   int64 // of the next byte to read
	limit int64 // end of the chunk in the file
	pool  *[]byte
	done  bool
}

// open steps over the header; a chunk without one has nothing to read.
func (r *chunkReader) open() error {
	if r.head.valid {
		r.off += headerSize
		return nil
	}
	at := r.off
	if err := r.fill(); err != nil {
		return err
	}
	data := r.buf[:r.end]
	what := fmt.Sprintf("%s: byte %d: no chunk header", r.s.name, at)
	switch {
	case isPointer(data):
		r.report.add(trace.DiagCorrupt, 0, r.number, 0, r.s.name+" is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`")
	case r.last && r.limit-at < headerSize:
		r.report.add(trace.DiagTruncated, 0, r.number, 0, what)
	default:
		r.report.add(trace.DiagCorrupt, 0, r.number, 0, what+mangled(data))
	}
	r.done = true
	return nil
}

// fill slides the window: the bytes not yet decoded move to its start and more
// follow. A window too small for one record doubles.
func (r *chunkReader) fill() error {
	rest := copy(r.buf, r.buf[r.pos:r.end])
	if rest == len(r.buf) {
		r.buf = append(r.buf, make([]byte, rest)...)
	}
	n := int(min(int64(len(r.buf)-rest), r.limit-r.off))
	got, err := r.s.file.ReadAt(r.buf[rest:rest+n], r.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("otf2: %s: byte %d: %w", r.s.path, r.off, err)
	}
	r.pos, r.end = 0, rest+got
	r.off += int64(got)
	r.final = r.off >= r.limit || got < n
	return nil
}

// Next fills b with as many events as it has room for, up to a few thousand, and with no more words than b has room for. A batch
// without memory gets some.
func (r *chunkReader) Next(b *trace.Batch) error {
	if cap(b.Events) < leastEvents {
		b.Events = make([]trace.Event, 0, batchEvents)
	}
	if cap(b.Args) < 2*spareWords {
		b.Args = make([]uint64, 0, 2*cap(b.Events))
	}
	b.Reset()
	b.First = r.number
	events, words := min(cap(b.Events), batchEvents), min(cap(b.Args), batchWords)-spareWords
	for !r.done && len(b.Events) < events && len(b.Args) <= words {
		if r.quick && r.timed && !r.listed {
			r.fast(b, events)
			if len(b.Events) >= events {
				break
			}
		}
		switch r.step(b) {
		case needMore:
			if err := r.fill(); err != nil {
				return err
			}
		case atEnd:
			r.finish()
		}
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	return nil
}

// finish compares what the chunk had with what its header and place announce.
func (r *chunkReader) finish() {
	r.done = true
	h := &r.head
	n, told := h.events(int64(r.s.a.anchor.EventChunk))
	got := r.number - h.base
	cut := false
	for i := range r.report.list {
		d := &r.report.list[i]
		cut = cut || d.Code == trace.DiagTruncated || d.Code == trace.DiagCorrupt
		place := fmt.Sprintf("%s: after event %d of %d", r.s.name, d.Event, h.base+n)
		if d.Detail != "" {
			place += ": " + d.Detail
		}
		d.Detail = place
	}
	switch {
	case r.mark == endOfChunk && r.last:
		r.report.add(trace.DiagTruncated, r.now, r.number, 0, fmt.Sprintf("%s: cut at the end of a chunk, after event %d of %d", r.s.name, r.number, h.base+n))
	case r.mark == endOfFile && !r.last:
		r.corrupt(fmt.Sprintf("%s: end mark before the last chunk, after event %d", r.s.name, r.number))
	}
	switch {
	case h.first != h.base+1:
		r.corrupt(fmt.Sprintf("%s: the chunk's first event has number %d, expected %d", r.s.name, h.first, h.base+1))
	case !told:
		r.corrupt(fmt.Sprintf("%s: chunk header announces events %d to %d, %d found", r.s.name, h.first, h.last, got))
	case got != n && !cut:
		r.corrupt(fmt.Sprintf("%s: chunk header announces %d events, %d found", r.s.name, n, got))
	}
}

// Diagnostics returns what was found so far.
func (r *chunkReader) Diagnostics() []trace.Diagnostic { return r.report.list }

// Close gives the window back.
func (r *chunkReader) Close() error {
	if r.pool != nil {
		r.s.a.windows.Put(r.pool)
		r.pool, r.buf, r.done = nil, nil, true
		r.end, r.pos = 0, 0
	}
	return nil
}

// EachBatch reads location p of any source to its end, chunk after chunk, and
// adds what the source reports to found.
func EachBatch(src trace.Source, p trace.P, found *trace.Diagnostics, f func(b *trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	found.AddAll(st.Diagnostics())
	var b trace.Batch
	var first uint64
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				b.First = first
				first += uint64(len(b.Events))
				err = f(&b)
			}
		}
		found.AddAll(r.Diagnostics())
		if e := r.Close(); errors.Is(err, io.EOF) {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}
