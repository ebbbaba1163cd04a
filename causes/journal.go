package causes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// journalBuffer is how much a journal gathers before it writes, and about how
// much its readers read at once.
const journalBuffer = 64 << 10

// journal is records of any length, one after another in a scratch.
type journal struct {
	scratch Scratch
	buf     []byte
	size    int64 // with what is in buf
}

// append adds a record and returns its offset.
func (j *journal) append(record []byte) (int64, error) {
	off := j.size
	j.buf = append(j.buf, record...)
	j.size += int64(len(record))
	if len(j.buf) < journalBuffer {
		return off, nil
	}
	return off, j.flush()
}

// flush writes what was gathered; the journal can be read up to here.
func (j *journal) flush() error {
	if len(j.buf) == 0 {
		return nil
	}
	_, err := j.scratch.Append(j.buf)
	j.buf = j.buf[:0]
	return err
}

// appendEnded adds a record with its length behind it, for reading backwards.
func (j *journal) appendEnded(record []byte) error {
	_, err := j.append(binary.LittleEndian.AppendUint32(record, uint32(len(record))))
	return err
}

// backwards reads records with their lengths behind them, the last one first.
type backwards struct {
	src        io.ReaderAt
	first, end int64 // of what is not yet read
	most       int64 // bytes read at once, but for larger records
	buf        []byte
	off        int64 // of buf
}

// next returns the record before the one that it returned last, nil at the
// first. It is valid until the next call.
func (r *backwards) next() ([]byte, error) {
	if r.end <= r.first {
		return nil, nil
	}
	b, err := r.bytes(4)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > r.end-4-r.first {
		return nil, errDamaged
	}
	b, err = r.bytes(4 + n)
	if err != nil {
		return nil, err
	}
	r.end -= 4 + n
	return b[:n], nil
}

// bytes returns the last n bytes before r.end.
func (r *backwards) bytes(n int64) ([]byte, error) {
	from := r.end - n
	if from < r.first {
		return nil, errDamaged
	}
	if from < r.off || r.end > r.off+int64(len(r.buf)) {
		r.off = max(r.first, min(from, r.end-r.most))
		size := int(r.end - r.off)
		if cap(r.buf) < size || cap(r.buf) > int(r.most) {
			r.buf = make([]byte, size)
		}
		r.buf = r.buf[:size]
		if err := readFull(r.src, r.buf, r.off); err != nil {
			return nil, err
		}
	}
	return r.buf[from-r.off : r.end-r.off], nil
}

// forwards reads records with known lengths in order.
type forwards struct {
	src io.ReaderAt
	off int64 // of the next byte that is not in buf
	end int64
	all []byte // what was read last ...
	buf []byte // ... and its end, which was not taken
}

// bytes returns the next n bytes, valid until the next call.
func (r *forwards) bytes(n int) ([]byte, error) {
	if len(r.buf) < n {
		if int64(n-len(r.buf)) > r.end-r.off {
			return nil, errDamaged
		}
		size := max(n, int(min(journalBuffer, r.end-r.off+int64(len(r.buf)))))
		if cap(r.all) < size {
			r.all = make([]byte, size)
		}
		b := r.all[:size]
		k := copy(b, r.buf)
		if err := readFull(r.src, b[k:], r.off); err != nil {
			return nil, err
		}
		r.off += int64(len(b) - k)
		r.buf = b
	}
	b := r.buf[:n:n]
	r.buf = r.buf[n:]
	return b, nil
}

var errDamaged = errors.New("causes: a damaged record")

func readFull(src io.ReaderAt, b []byte, off int64) error {
	if n, err := src.ReadAt(b, off); err != nil && (err != io.EOF || n < len(b)) {
		return fmt.Errorf("causes: %d bytes at %d: %w", len(b), off, err)
	}
	return nil
}

// failure is the error of a record that was not read to its end.
func failure(r *varint.Reader) error {
	if r.Failed() {
		return errDamaged
	}
	return nil
}
