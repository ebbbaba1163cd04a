package waits

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/xtf"
)

// Messages in the wrong order are found from the last row to the first, so that
// what is received later is known: per source the least instant of sending. They
// are few; those found are kept outside the memory, in descending order:
//
//	row << 2 | order   u64, little-endian
const (
	orderBytes = 8
	orderBlock = 512 // of them, read at once
)

// ordering walks back over the messages of a location.
type ordering struct {
	out     xtf.Sink
	block   []byte
	found   uint64
	least   uint64            // sent first, of all that later calls receive
	sources map[uint32]uint64 // the same per source
	call    uint64            // the call in hand
	waits   bool              // what it received first was sent after its receiver was ready
	own     []receive         // all that the call receives
	err     error
}

// receive is a message received.
type receive struct {
	row, sent uint64
	source    uint32
}

// findOrders puts the messages that are received late and in the wrong order into
// out. c reads P2P rows, pages of pageRows; there are rows of them.
func findOrders(c *xtf.Cursor, rows, pageRows uint64, out xtf.Sink) (found uint64, err error) {
	o := ordering{out: out, least: xtf.Never, sources: map[uint32]uint64{}, call: xtf.Never}
	for end := rows; end > 0; {
		first := (end - 1) / pageRows * pageRows
		c.Seek(first)
		page, n, ok := c.NextPage()
		if !ok || n != first || uint64(len(page)) < (end-first)*xtf.P2PRowBytes {
			if err := c.Err(); err != nil {
				return 0, err
			}
			return 0, fmt.Errorf("waits: messages from row %d on: %w", first, io.ErrUnexpectedEOF)
		}
		for i := end; i > first; i-- {
			o.row(i-1, page[(i-1-first)*xtf.P2PRowBytes:])
		}
		end = first
	}
	o.endCall()
	o.flush()
	return o.found, o.err
}

// row takes the row before the last one. Only what a wait needs of it is read.
func (o *ordering) row(n uint64, row []byte) {
	if call := xtf.U64(row, xtf.P2PCallN); call != o.call || call == xtf.Never {
		o.endCall()
		o.call = call
	}
	if kind := xtf.U32(row, xtf.P2PKind); !received(kind) {
		return
	}
	r := receive{n, xtf.U64(row, xtf.P2PMateT), xtf.U32(row, xtf.P2PPeer)}
	o.waits = r.sent > readyAt(row)
	o.own = append(o.own, r)
}

// endCall decides about the call in hand and makes its messages later ones.
func (o *ordering) endCall() {
	if len(o.own) == 0 {
		return
	}
	if x := &o.own[0]; o.waits && couldSwap(len(o.own)) && o.least < x.sent {
		order := uint64(xtf.WaitOrderDifferent)
		if least, ok := o.sources[x.source]; ok && least < x.sent {
			order = uint64(xtf.WaitOrderSame)
		}
		o.block = binary.LittleEndian.AppendUint64(o.block, x.row<<2|order>>8)
		o.found++
		if len(o.block) >= orderBlock*orderBytes {
			o.flush()
		}
	}
	for i := range o.own {
		x := &o.own[i]
		o.least = min(o.least, x.sent)
		if least, ok := o.sources[x.source]; !ok || x.sent < least {
			o.sources[x.source] = x.sent
		}
	}
	o.own = o.own[:0]
}

func (o *ordering) flush() {
	if o.err == nil && len(o.block) > 0 {
		_, o.err = o.out.Append(o.block)
	}
	o.block = o.block[:0]
}

// orders reads what findOrders found, by ascending row.
type orders struct {
	data io.ReaderAt
	left uint64 // not yet in buf
	buf  []byte
}

// of returns the order of a row, 0 for the right one. Rows do not descend.
func (o *orders) of(row uint64) (uint32, error) {
	for {
		if len(o.buf) == 0 {
			if o.left == 0 {
				return 0, nil
			}
			n := min(o.left, orderBlock)
			o.left -= n
			o.buf = make([]byte, n*orderBytes)
			if k, err := o.data.ReadAt(o.buf, int64(o.left)*orderBytes); err != nil && (k != len(o.buf) || err != io.EOF) {
				return 0, fmt.Errorf("waits: orders of messages: %w", err)
			}
		}
		switch v := binary.LittleEndian.Uint64(o.buf[len(o.buf)-orderBytes:]); {
		case v>>2 > row:
			return 0, nil
		case v>>2 == row:
			return uint32(v&3) << 8, nil
		}
		o.buf = o.buf[:len(o.buf)-orderBytes]
	}
}
