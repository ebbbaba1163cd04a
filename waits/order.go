package waits

import (
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// Messages in the wrong order are found from the last receive to the first, so that
// what is received later is known: per source the least instant of sending. The walk
// over the rows notes the receives; those found are few, and noted in descending order:
//
//	sent u64 | source u32 | flags u8          a receive
//	number of the receive << 2 | order  u64   one in the wrong order
const (
	receiveBytes = 13
	orderBytes   = 8
)

// Flags of a receive.
const (
	receiveBegins = 1 << iota // the first of its call
	receiveWaits              // sent after the receiver was ready
)

// receives notes the receives of a location.
type receives struct {
	journal
	n      uint64 // of them
	call   uint64 // of the last message
	begins bool   // nothing of that call was received yet
}

// row takes the next message row, received or not.
func (r *receives) row(row []byte, received bool) {
	if call := xtf.U64(row, xtf.P2PCallN); call != r.call || call == xtf.Never {
		r.call, r.begins = call, true
	}
	if !received {
		return
	}
	sent, flags := xtf.U64(row, xtf.P2PMateT), byte(0)
	if r.begins {
		flags |= receiveBegins
	}
	if sent > readyAt(row) {
		flags |= receiveWaits
	}
	b := r.add()
	binary.LittleEndian.PutUint64(b, sent)
	binary.LittleEndian.PutUint32(b[8:], xtf.U32(row, xtf.P2PPeer))
	b[12] = flags
	r.begins = false
	r.n++
}

// findOrders notes in found which of the receives are late and in the wrong order.
func (r *receives) findOrders(found *journal) error {
	least := xtf.Never              // sent first, of all that later calls receive
	sources := map[uint32]*uint64{} // the same per source
	var call []byte                 // what the call in hand receives, last first
	n := r.n
	for i := r.len() - 1; i >= 0; i-- {
		for b := r.block(i); len(b) > 0; {
			x := b[len(b)-receiveBytes:]
			b = b[:len(b)-receiveBytes]
			call = append(call, x...)
			n--
			if x[12]&receiveBegins == 0 {
				continue
			}
			sent := binary.LittleEndian.Uint64(x)
			if x[12]&receiveWaits != 0 && couldSwap(len(call)/receiveBytes) && least < sent {
				order := uint64(xtf.WaitOrderDifferent)
				if own := sources[binary.LittleEndian.Uint32(x[8:])]; own != nil && *own < sent {
					order = uint64(xtf.WaitOrderSame)
				}
				binary.LittleEndian.PutUint64(found.add(), n<<2|order>>8)
			}
			for x := range slices.Chunk(call, receiveBytes) {
				sent, source := binary.LittleEndian.Uint64(x), binary.LittleEndian.Uint32(x[8:])
				own := sources[source]
				if own == nil {
					own = new(uint64)
					*own = sent
					sources[source] = own
				}
				least, *own = min(least, sent), min(*own, sent)
			}
			call = call[:0]
		}
	}
	return r.err
}

// orders reads what findOrders found, by ascending receive.
type orders struct {
	journal
	at   int // block that rest is of
	rest []byte
}

// begin is called before the first of.
func (o *orders) begin() { o.at = o.len() }

// of returns the order of a receive, 0 for the right one. Receives do not descend.
func (o *orders) of(n uint64) uint32 {
	for {
		for len(o.rest) == 0 {
			if o.at == 0 {
				return 0
			}
			o.at--
			o.rest = o.block(o.at)
		}
		switch v := binary.LittleEndian.Uint64(o.rest[len(o.rest)-orderBytes:]); {
		case v>>2 > n:
			return 0
		case v>>2 == n:
			return uint32(v&3) << 8
		}
		o.rest = o.rest[:len(o.rest)-orderBytes]
	}
}
