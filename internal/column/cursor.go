package column

import "fmt"

// Cursor reads a column forwards from any position. Use Init. It keeps a decoded block, 8 KiB at most, or, where codes have one width, a part
// of one; Next decodes the next part when it leaves that one, Seek decodes nothing.
type Cursor struct {
	buf   []uint64 // the decoded part, or nothing
	start uint64   // number of its first value; the position if there is none
	at    int      // position in buf
	col   *Column
	err   error
}

// Init starts at the first value of col and keeps k's memory.
func (k *Cursor) Init(col *Column) {
	*k = Cursor{buf: k.buf[:0], col: col}
}

// Pos returns the number of values before the cursor.
func (k *Cursor) Pos() uint64 { return k.start + uint64(k.at) }

// Seek moves to before value i, or after the last one for i = Len. Another i is
// an error, see Err.
func (k *Cursor) Seek(i uint64) {
	switch {
	case k.err != nil:
	case i > k.col.Len():
		k.err = fmt.Errorf("column: position %d of %d: %w", i, k.col.Len(), ErrCorrupt)
	case i >= k.start && i-k.start <= uint64(len(k.buf)):
		k.at = int(i - k.start)
	default:
		k.buf, k.start, k.at = k.buf[:0], i, 0
	}
}

// Next returns the next value; 0 after the end and after an error, see Err.
func (k *Cursor) Next() uint64 {
	if k.at < len(k.buf) {
		k.at++
		return k.buf[k.at-1]
	}
	return k.nextPart()
}

// nextPart is Next after the decoded part.
//
//go:noinline
func (k *Cursor) nextPart() uint64 {
	if !k.load() {
		return 0
	}
	k.at++
	return k.buf[k.at-1]
}

// Err returns the error of the first block that could not be decoded, or that
// the cursor was to leave the column.
func (k *Cursor) Err() error { return k.err }

// Done reports whether the cursor is after the last value.
func (k *Cursor) Done() bool { return k.Pos() == k.col.Len() }

// partSize is how many values of one width are decoded at once: readers of many columns have all of their parts in the cache. After a
// seek few may be wanted. A part begins on a whole byte.
const partSize, firstPart, wholeByte = 32, 16, 8

// load decodes the part with the next value.
func (k *Cursor) load() bool {
	i := k.Pos()
	if k.err == nil && i >= k.col.Len() {
		k.err = fmt.Errorf("column: read after its %d values: %w", i, ErrCorrupt)
	}
	if k.err != nil {
		return false
	}
	block := int(i / BlockSize)
	n, src, size, err := k.col.block(block)
	from, base, w, plain := 0, uint64(0), uint(0), false
	if err == nil {
		if base, w, src, plain = k.col.codes(block, n, src, size); plain {
			from = int(i%BlockSize) &^ (wholeByte - 1)
			if n = min(n-from, partSize); len(k.buf) == 0 {
				n = min(n, firstPart)
			}
		}
		if cap(k.buf) < n {
			k.buf = make([]uint64, n)
		}
		if k.buf = k.buf[:n]; plain {
			unpack(k.buf, src[from*int(w)/8:], base, w)
		} else {
			err = decodeWhole(k.buf, src, size, block)
		}
	}
	if k.err = err; err != nil {
		k.buf, k.start, k.at = k.buf[:0], i, 0
		return false
	}
	k.start = i/BlockSize*BlockSize + uint64(from)
	k.at = int(i - k.start)
	return true
}
