package otf2

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// LocationWriter writes the events of one location.
type LocationWriter struct {
	w       *Writer
	p       trace.P
	out     *chunkWriter
	def     *Local
	inverse [trace.NumRefKinds]*inverse // nil: references stay
	clock   clock
	last    uint64 // raw time of the last stamp
	old     bool   // the spelling of trace format 1
	inexact uint64 // time stamps that no raw time corrects to, where offsets grow: written about a tick early
}

// inverse translates global references to local ones.
type inverse struct {
	local map[uint64]uint64
	taken map[uint64]bool // local references that have another meaning
}

// localize prepares the translation into local references and raw times.
func (l *LocationWriter) localize(d *Local) error {
	for _, m := range d.Mappings {
		if m.Kind >= trace.NumRefKinds || l.inverse[m.Kind] != nil {
			return fmt.Errorf("mapping table of kind %d is unknown or given twice", m.Kind)
		}
		v := &inverse{make(map[uint64]uint64, len(m.Pairs)), make(map[uint64]bool, len(m.Pairs))}
		for i, p := range m.Pairs {
			if !d.Sparse && p[0] != uint64(i) {
				return fmt.Errorf("dense mapping table of kind %d: local reference %d at place %d", m.Kind, p[0], i)
			}
			if _, ok := v.local[p[1]]; !ok {
				v.local[p[1]] = p[0]
			}
			v.taken[p[0]] = true
		}
		l.inverse[m.Kind] = v
	}
	list := make([]offset, len(d.Offsets))
	for i, o := range d.Offsets {
		list[i] = offset{o.Time, o.Offset}
	}
	var ok bool
	if l.clock, ok = newClock(list); !ok {
		return fmt.Errorf("times of clock offsets do not increase")
	}
	for i := range l.clock.intervals {
		if s := l.clock.intervals[i].slope; s > 0.5 || s < -0.5 {
			return fmt.Errorf("clock offsets drift by %g ticks a tick", s)
		}
	}
	return nil
}

// writeLocal writes the location's definition file.
func (l *LocationWriter) writeLocal(name string) error {
	f, err := l.w.newChunkWriter(name, l.w.o.DefChunk)
	if err != nil {
		return err
	}
	if l.def != nil {
		for _, m := range l.def.Mappings {
			if err == nil {
				err = f.add(l.table(m))
			}
		}
		for _, o := range l.def.Offsets {
			enc := l.w.encoder()
			at := enc.begin(idClockOffset)
			enc.raw64(o.Time)
			enc.v64(uint64(o.Offset))
			enc.raw64(math.Float64bits(o.Deviation))
			enc.end(at)
			if err == nil {
				err = f.add(enc.b)
			}
		}
	}
	if e := f.close(); err == nil {
		err = e
	}
	return err
}

func (l *LocationWriter) table(m Mapping) []byte {
	enc := l.w.encoder()
	at := enc.begin(idMappingTable)
	enc.u8(uint8(m.Kind))
	enc.v64(uint64(len(m.Pairs)))
	sparse := uint8(0)
	if l.def.Sparse {
		sparse = 1
	}
	enc.u8(sparse)
	for _, p := range m.Pairs {
		if l.def.Sparse {
			enc.v64(p[0])
		}
		enc.v64(p[1])
	}
	enc.end(at)
	return enc.b
}

// Events returns the number of events written so far.
func (l *LocationWriter) Events() uint64 { return l.out.count }

// Bytes returns the size of the event file so far; it is final after Close.
func (l *LocationWriter) Bytes() uint64 { return l.out.bytes + uint64(len(l.out.buf)) }

// Add writes the events of b. Times must not decrease.
func (l *LocationWriter) Add(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		if err := l.add(b, e); err != nil {
			return fmt.Errorf("otf2: location %d event %d (%v): %w", l.w.defs.Location(l.p).Ref, l.out.count, e.Kind, err)
		}
	}
	return nil
}

func (l *LocationWriter) add(b *trace.Batch, e *trace.Event) error {
	raw := l.raw(e.Time)
	enc := encoder{b: l.out.buf, big: l.out.big, old: l.old}
	if len(enc.b) == headerSize || raw != l.last {
		enc.stamp(raw)
	}
	at := len(enc.b)
	if err := l.encode(&enc, b, e); err != nil {
		return err
	}
	if l.out.count > 0 && raw < l.last {
		return fmt.Errorf("time %d before its predecessor", e.Time)
	}
	if record := enc.b[at:]; !l.out.fits(stampSize + len(record)) {
		record = slices.Clone(record)
		if err := l.out.next(); err != nil {
			return err
		}
		if !l.out.fits(stampSize + len(record)) {
			return fmt.Errorf("%d bytes, chunk of %d: %w", len(record), l.out.size, ErrTooLong)
		}
		enc.b = l.out.buf
		enc.stamp(raw)
		enc.b = append(enc.b, record...)
	}
	l.out.buf, l.last = enc.b, raw
	l.out.count++
	return nil
}

// raw returns the raw time that the clock offsets correct to t, or the largest one before t.
func (l *LocationWriter) raw(t trace.Time) uint64 {
	if len(l.clock.intervals) == 0 {
		return uint64(t)
	}
	raw := uint64(t) - uint64(l.clock.correct(uint64(t))-t)
	for range 64 { // the correction changes slowly: a few steps suffice
		d := int64(t - l.clock.correct(raw))
		if d == 0 {
			return raw
		}
		raw += uint64(d)
	}
	for l.clock.correct(raw) > t {
		raw--
	}
	l.inexact++
	return raw
}

// local translates a global reference.
func (l *LocationWriter) local(k trace.RefKind, v uint64) (uint64, error) {
	if k == trace.RefNone || l.inverse[k] == nil {
		return v, nil
	}
	if x, ok := l.inverse[k].local[v]; ok {
		return x, nil
	}
	if l.inverse[k].taken[v] {
		return 0, fmt.Errorf("reference %d of kind %d is not in the mapping table and cannot stand for itself", v, k)
	}
	return v, nil
}

// encode appends attribute list and record of e.
func (l *LocationWriter) encode(enc *encoder, b *trace.Batch, e *trace.Event) error {
	info := e.Kind.Info()
	if e.Kind == trace.Enter || e.Kind == trace.Leave {
		if e.Flags == 0 {
			ref, err := l.local(trace.RefRegion, uint64(e.Ref))
			enc.u8(uint8(e.Kind))
			enc.v32(uint32(ref))
			return err
		}
	}
	fields, list, attributes, surplus := b.Layout(e)
	if e.Flags&trace.HasAttributes != 0 {
		if err := l.attributes(enc, attributes); err != nil {
			return err
		}
	}
	if info.Singleton {
		if len(surplus) > 0 {
			return fmt.Errorf("this record has no length and takes no more bytes")
		}
		enc.u8(uint8(e.Kind))
		return l.fields(enc, e, info, fields, list)
	}
	at := enc.begin(uint8(e.Kind))
	if err := l.fields(enc, e, info, fields, list); err != nil {
		return err
	}
	if len(surplus) > 0 {
		enc.bytes(surplus[0], surplus[1:])
	}
	enc.end(at)
	return nil
}

func (l *LocationWriter) fields(enc *encoder, e *trace.Event, info *trace.Info, fields, list []uint64) error {
	if e.Kind == trace.Enter || e.Kind == trace.Leave {
		fields = []uint64{uint64(e.Ref)}
	}
	if info.List == trace.PayloadList {
		enc.bytes(fields[0], list)
		return nil
	}
	for i, f := range info.Fields {
		v, err := l.local(f.Ref, fields[i])
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		switch f.Width {
		case trace.U8:
			enc.u8(uint8(v))
		case trace.U32:
			enc.v32(uint32(v))
		case trace.Stamp:
			enc.raw64(l.raw(trace.Time(v)))
		default:
			enc.v64(v)
		}
	}
	switch info.List {
	case trace.MetricList:
		for pair := range slices.Chunk(list, 2) {
			enc.u8(uint8(pair[0]))
			enc.v64(pair[1])
		}
	case trace.StringList:
		for _, v := range list {
			ref, err := l.local(trace.RefString, v)
			if err != nil {
				return err
			}
			enc.v32(uint32(ref))
		}
	}
	return nil
}

func (l *LocationWriter) attributes(enc *encoder, words []uint64) error {
	at := enc.begin(idAttributes)
	enc.v32(uint32(len(words) / 2))
	for pair := range slices.Chunk(words, 2) {
		t := trace.ValueType(pair[0] >> 32)
		ref, err := l.local(trace.RefAttribute, uint64(uint32(pair[0])))
		if err != nil {
			return err
		}
		v, err := l.local(t.Ref(), pair[1])
		if err != nil {
			return err
		}
		enc.v32(uint32(ref))
		enc.u8(uint8(t))
		enc.value(t, v)
	}
	enc.end(at)
	return nil
}

// Discard forgets all events added so far, as if the location had none.
func (l *LocationWriter) Discard() error {
	l.inexact = 0
	return l.out.restart()
}

// Close writes the last chunk.
func (l *LocationWriter) Close() error {
	if l.out.buf == nil {
		return nil
	}
	n := l.out.count
	err := l.out.close()
	l.w.mu.Lock()
	l.w.counts[l.p] = n
	l.w.mu.Unlock()
	return err
}

// chunkWriter cuts records into chunks of a file.
type chunkWriter struct {
	file  *os.File
	buf   []byte // the open chunk, header included
	size  int
	big   bool
	first uint64 // number of the first event in the open chunk, from 1
	count uint64 // events so far
	bytes uint64 // written to the file
}

func (w *Writer) newChunkWriter(name string, size int) (*chunkWriter, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("otf2: %w", err)
	}
	c := &chunkWriter{file: f, buf: make([]byte, 0, min(size, 64<<10)), size: size, big: w.o.BigEndian, first: 1}
	c.begin()
	return c, nil
}

// restart forgets everything written so far.
func (w *chunkWriter) restart() error {
	err := w.file.Truncate(0)
	if err == nil {
		_, err = w.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("otf2: %w", err)
	}
	w.count, w.bytes = 0, 0
	w.begin()
	return nil
}

func (w *chunkWriter) begin() {
	mark := byte(littleEndian)
	if w.big {
		mark = bigEndian
	}
	w.buf = append(w.buf[:0], headerByte, mark, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	w.first = w.count + 1
}

// fits reports whether n more bytes leave room for the marks at the end.
func (w *chunkWriter) fits(n int) bool { return len(w.buf)+n+2 <= w.size }

// next closes the open chunk, padded, and begins another.
func (w *chunkWriter) next() error {
	n := len(w.buf)
	if cap(w.buf) < w.size {
		w.buf = append(make([]byte, 0, w.size), w.buf...)
	}
	w.buf = w.buf[:w.size]
	clear(w.buf[n:])
	if err := w.flush(); err != nil {
		return err
	}
	w.begin()
	return nil
}

func (w *chunkWriter) flush() error {
	order(w.big).PutUint64(w.buf[2:], w.first)
	order(w.big).PutUint64(w.buf[10:], w.count)
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("otf2: %w", err)
	}
	w.bytes += uint64(len(w.buf))
	return nil
}

// add appends a whole record of a definition file.
func (w *chunkWriter) add(record []byte) error {
	if !w.fits(len(record)) {
		if err := w.next(); err != nil {
			return err
		}
	}
	if !w.fits(len(record)) {
		return fmt.Errorf("otf2: %s: a record of %d bytes, chunk of %d: %w", w.file.Name(), len(record), w.size, ErrTooLong)
	}
	w.buf = append(w.buf, record...)
	return nil
}

// close writes the end marks and the last chunk.
func (w *chunkWriter) close() error {
	w.buf = append(w.buf, endOfFile, endOfBuffer)
	err := w.flush()
	if e := w.file.Close(); err == nil && e != nil {
		err = fmt.Errorf("otf2: %w", e)
	}
	w.buf = nil
	return err
}
