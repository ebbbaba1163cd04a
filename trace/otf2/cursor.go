package otf2

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/coppice-hpc/coppice/trace"
)

// state tells why a cursor stopped.
type state uint8

const (
	fine  state = iota
	short       // the bytes end before the value does
	bad         // a value that the format does not allow
)

// cursor reads OTF2's primitive encodings from b, in the byte order of the
// chunk. The first problem sticks: later reads return 0 and do not move.
type cursor struct {
	b     []byte
	pos   int
	big   bool
	state state
}

func (c *cursor) left() int { return len(c.b) - c.pos }

func (c *cursor) take(n int) []byte {
	if c.state != fine {
		return nil
	}
	if n > c.left() {
		c.state = short
		return nil
	}
	p := c.b[c.pos : c.pos+n]
	c.pos += n
	return p
}

func (c *cursor) u8() uint8 {
	if c.state != fine {
		return 0
	}
	if c.pos >= len(c.b) {
		c.state = short
		return 0
	}
	v := c.b[c.pos]
	c.pos++
	return v
}

// raw reads n bytes, at most 8, as one unsigned number.
func (c *cursor) raw(n uint8) uint64 {
	p := c.take(int(n))
	var b [8]byte
	copy(b[:], p)
	if len(p) == 0 || !c.big {
		return binary.LittleEndian.Uint64(b[:])
	}
	return integer(b[:], n, true)
}

func (c *cursor) raw32() uint32 { return uint32(c.raw(4)) }
func (c *cursor) raw64() uint64 { return c.raw(8) }

// v32 and v64 read compressed integers: a count byte and as many significant bytes; count 0xFF
// means all ones. Longer forms than needed are accepted.
func (c *cursor) v32() uint32 { return uint32(c.compressed(4)) }
func (c *cursor) v64() uint64 { return c.compressed(8) }

func (c *cursor) compressed(most uint8) uint64 {
	n := c.u8()
	switch {
	case n <= most:
		return c.raw(n)
	case n != 0xFF:
		c.fail()
		return 0
	}
	return trace.Undefined64 // its lower half is trace.Undefined
}

func (c *cursor) fail() {
	if c.state == fine {
		c.state = bad
	}
}

// str reads bytes up to a NUL.
func (c *cursor) str() string {
	if c.state != fine {
		return ""
	}
	n := bytes.IndexByte(c.b[c.pos:], 0)
	if n < 0 {
		c.state = short
		return ""
	}
	s := string(c.b[c.pos : c.pos+n])
	c.pos += n + 1
	return s
}

// length reads a record length: one byte, or 0xFF and eight. It is bounded by
// the bytes left.
func (c *cursor) length() int {
	n := uint64(c.u8())
	if n == 0xFF {
		n = c.raw64()
	}
	if c.state != fine {
		return 0
	}
	if n > uint64(c.left()) {
		if n > math.MaxInt32 { // longer than any chunk
			c.state = bad
		} else {
			c.state = short
		}
		return 0
	}
	return int(n)
}

// value reads an attribute or property value of type t as its bits.
func (c *cursor) value(t trace.ValueType) uint64 {
	switch t {
	case trace.TypeUint8, trace.TypeInt8:
		return uint64(c.u8())
	case trace.TypeUint16, trace.TypeInt16:
		return c.raw(2)
	case trace.TypeFloat:
		return uint64(c.raw32())
	case trace.TypeDouble:
		return c.raw64()
	case trace.TypeUint32, trace.TypeInt32:
		return uint64(c.v32())
	}
	if t >= trace.TypeString && t <= trace.TypeLocationGroup && t != trace.TypeLocation {
		return uint64(c.v32())
	}
	return c.v64()
}
