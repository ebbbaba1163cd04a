package waits

import (
	"fmt"
	"io"
)

// columnBlock is the number of values that are read at once.
const columnBlock = 2048

// column reads values of one width, one for each row of an array, in order.
type column struct {
	data  io.ReaderAt
	width int
	n     uint64 // number of the first value in buf
	buf   []byte
	rows  uint64
}

// at returns the value of row n, which is not before that of the last call. It is
// valid until the next call.
func (c *column) at(n uint64) ([]byte, error) {
	if held := uint64(len(c.buf) / c.width); n >= c.n+held || n < c.n {
		if n >= c.rows {
			return nil, fmt.Errorf("waits: no value for row %d of %d: %w", n, c.rows, io.ErrUnexpectedEOF)
		}
		size := int(min(c.rows-n, columnBlock)) * c.width
		if cap(c.buf) < size {
			c.buf = make([]byte, size)
		}
		c.buf = c.buf[:size]
		if k, err := c.data.ReadAt(c.buf, int64(n)*int64(c.width)); err != nil && (k != size || err != io.EOF) {
			c.buf = c.buf[:0]
			return nil, fmt.Errorf("waits: values of rows from %d on: %w", n, err)
		}
		c.n = n
	}
	i := int(n-c.n) * c.width
	return c.buf[i : i+c.width], nil
}
