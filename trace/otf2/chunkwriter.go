package otf2

import (
	"fmt"
	"io"
	"os"
)

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
