package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/coppice-hpc/coppice/trace"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stream is the events of a thread; its chunks are windows.
type stream struct {
	p     *process
	file  *file
	h     *os.File
	heads []head
	diags trace.Diagnostics
}

// head is what the head of a window says of its place in time.
type head struct {
	first   trace.Time // corrected; of a window without head the one before it
	ordered bool       // it has a head, and begins no earlier than those before it
}

// look reads the heads of all windows: each is decoded alone, and yet times never run backwards.
func (s *stream) look() error {
	s.heads = make([]head, windows(s.file.size))
	var b [windowHead]byte
	var newest trace.Time
	for i := range s.heads {
		w := &s.heads[i]
		if n, err := s.h.ReadAt(b[:], int64(i)*windowBytes); n < windowHead && err != io.EOF {
			return err
		} else if n == windowHead && isHead(b[:], uint64(i)) {
			t := s.p.correct(binary.LittleEndian.Uint64(b[24:]))
			w.ordered = t >= newest
			newest = max(newest, t)
		}
		w.first = newest
	}
	return nil
}

// isHead reports whether b begins with the head of a window.
func isHead(b []byte, number uint64) bool {
	return len(b) >= windowHead && bytes.HasPrefix(b, magic) && binary.LittleEndian.Uint64(b[16:]) == number
}

func (s *stream) Chunks() int {
	if s.h == nil {
		return 0
	}
	return windows(s.file.size)
}

func (s *stream) Chunk(i int) (trace.ChunkReader, error) {
	b := make([]byte, min(windowBytes, s.file.size-int64(i)*windowBytes))
	if _, err := s.h.ReadAt(b, int64(i)*windowBytes); err != nil && err != io.EOF {
		return nil, err
	}
	if i < s.file.first {
		return &reader{p: s.p, ended: true}, nil
	}
	r := &reader{p: s.p, of: s.file, window: i, skip: s.file.skip[i], now: s.heads[i].first, high: math.MaxUint64}
	for _, w := range s.heads[i+1:] {
		if w.ordered {
			r.high = w.first
			break
		}
	}
	if r.open(b, uint64(i)); r.b != nil && !s.heads[i].ordered {
		r.damage("window %d begins before those before it", i)
	}
	return r, nil
}

func (s *stream) Diagnostics() []trace.Diagnostic { return s.diags.List() }

func (s *stream) Close() error {
	if s.h == nil {
		return nil
	}
	return s.h.Close()
}

// reader decodes one window.
type reader struct {
	p       *process
	b       []byte
	number  uint64 // of the next event in the window
	of      *file
	window  int
	skip    []uint32 // numbers of events in the window that are left out and to come
	at      uint32   // number of the next event, with those
	last    uint64
	now     trace.Time          // of the event before, corrected
	high    trace.Time          // the next window begins here
	counted [maxCounters]uint64 // the counters
	closed  bool                // the window's end was written: nothing may be missing
	diags   trace.Diagnostics
	ended   bool
}

// prepared reports whether a window was made and never used: it has no head, or one without its first time, and no event.
func prepared(b []byte, number uint64) bool {
	if len(b) <= windowHead || b[windowHead] != evEnd {
		return false
	}
	empty := len(bytes.Trim(b[:windowHead], "\x00")) == 0
	return empty || isHead(b, number) && binary.LittleEndian.Uint64(b[8:]) == 0 && binary.LittleEndian.Uint64(b[24:]) == 0
}

// open looks at the head of a window. A window that the process did not close has whole events up to the first zero byte. A
// process that ends without MPI_Finalize leaves windows that it had prepared: nothing was recorded there.
func (r *reader) open(b []byte, number uint64) {
	if r.p.ended != endFinalize && prepared(b, number) {
		return
	}
	if !isHead(b, number) {
		r.damage("window %d has no head", number)
		return
	}
	length, crc := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	r.last = binary.LittleEndian.Uint64(b[24:])
	r.b = b[windowHead:]
	switch {
	case length == 0:
		return
	case length < windowHead || uint64(length) > uint64(len(b)):
		r.damage("window %d ends after %d bytes of %d", number, len(b), length)
		return
	}
	r.b, r.closed = b[windowHead:length], true
	if crc32.Checksum(r.b, castagnoli) != crc {
		r.b = nil
		r.damage("window %d: checksum mismatch, it was changed after it was written", number)
	}
}

// events are those of a window as they are written.
func (r *reader) events(yield func(x *raw) bool) {
	var x raw
	for n := x.decode(r.b, r.last); n > 0; n = x.decode(r.b, r.last) {
		if r.b, r.last = r.b[n:], x.t; !yield(&x) {
			return
		}
	}
}

// eachWindow shows the windows of a file, from number from on. A file that is not there has no windows.
func (p *process) eachWindow(f *file, from int, see func(w int, r *reader)) error {
	h, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer h.Close()
	b := make([]byte, windowBytes)
	for w := from; w < windows(f.size); w++ {
		n, err := h.ReadAt(b, int64(w)*windowBytes)
		if err != nil && err != io.EOF {
			return err
		}
		r := &reader{p: p}
		r.open(b[:n], uint64(w))
		see(w, r)
	}
	return nil
}

func (r *reader) damage(format string, args ...any) {
	r.diags.Add(trace.Diagnostic{Code: trace.DiagCorrupt, Detail: fmt.Sprintf(format, args...)})
	r.b = nil
}

// batchEvents bounds the events of a batch.
const batchEvents = 4096

func (r *reader) Next(b *trace.Batch) error {
	b.Reset()
	b.First = r.number
	var e raw
	for len(b.Events) < batchEvents {
		n := e.decode(r.b, r.last)
		if n == 0 {
			r.end()
			break
		}
		t := r.p.correct(e.t)
		if e.t < r.last || t < r.now || t > r.high {
			r.damage("an event of %d ns between %d and %d: the rest of the window is left out", t, r.now, r.high)
			break
		}
		r.b, r.last, r.now = r.b[n:], e.t, t
		r.at++
		skipped := len(r.skip) > 0 && r.skip[0] == r.at-1
		if skipped {
			r.skip = r.skip[1:]
		}
		switch {
		case r.of.opens != nil && r.of.begin.window == r.window && r.of.begin.event == r.at-1:
			b.Append(t, trace.MeasurementOnOff, 0, 1)
			for _, name := range r.of.opens {
				b.Append(t, trace.Enter, r.p.nameRef(name))
			}
			continue
		case skipped:
			continue
		}
		r.emit(b, &e, t)
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	r.number += uint64(len(b.Events))
	return nil
}

// end looks at the rest of the window: zeros, or bytes that are not an event.
func (r *reader) end() {
	if !r.ended && len(r.b) > 0 && (r.closed || r.b[0] != evEnd) {
		r.diags.Add(trace.Diagnostic{Code: trace.DiagCorrupt, Detail: fmt.Sprintf("%d bytes at the end of a window are not events", len(r.b))})
	}
	r.ended, r.b = true, nil
}

func (r *reader) Diagnostics() []trace.Diagnostic { return r.diags.List() }

func (r *reader) Close() error { return nil }
