package waits

import (
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// Messages in the wrong order are found from the last receive to the first, so that the first send among all later receives is known, also
// by source. The walk over the rows notes the receives; those in the wrong order are then noted in descending order:
//
//	row << 2 | flags u64 | sent u64 | source u32   a receive
//	row << 2 | order u64                           one in the wrong order
const (
	receiveBytes = 20
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
	call   uint64 // of the last message
	begins bool   // that call has received no message yet
}

// row takes a message row. received says whether it is a receive to note.
func (r *receives) row(m *xtf.Message, received bool) {
	if m.CallN != r.call || m.CallN == xtf.Never {
		r.call, r.begins = m.CallN, true
	}
	if !received {
		return
	}
	flags := uint64(0)
	if r.begins {
		flags |= receiveBegins
	}
	if m.MateT > readyAt(m) {
		flags |= receiveWaits
	}
	b := r.add()
	binary.LittleEndian.PutUint64(b, m.N<<2|flags)
	binary.LittleEndian.PutUint64(b[8:], m.MateT)
	binary.LittleEndian.PutUint32(b[16:], m.Peer)
	r.begins = false
}

// findOrders notes in found which of the receives are late and in the wrong order.
func (r *receives) findOrders(found *journal) error {
	least := xtf.Never              // the first send of all messages that later calls receive
	sources := map[uint32]*uint64{} // the same by source
	var call []byte                 // receives of the current call, the last one first
	for i := r.len() - 1; i >= 0; i-- {
		for b := r.block(i); len(b) > 0; {
			x := b[len(b)-receiveBytes:]
			b = b[:len(b)-receiveBytes]
			call = append(call, x...)
			head := binary.LittleEndian.Uint64(x)
			if head&receiveBegins == 0 {
				continue
			}
			sent := binary.LittleEndian.Uint64(x[8:])
			if head&receiveWaits != 0 && couldSwap(len(call)/receiveBytes) && least < sent {
				order := uint64(xtf.WaitOrderDifferent)
				if own := sources[binary.LittleEndian.Uint32(x[16:])]; own != nil && *own < sent {
					order = uint64(xtf.WaitOrderSame)
				}
				binary.LittleEndian.PutUint64(found.add(), head&^3|order>>8)
			}
			for x := range slices.Chunk(call, receiveBytes) {
				sent, source := binary.LittleEndian.Uint64(x[8:]), binary.LittleEndian.Uint32(x[16:])
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
	at   int    // the block of rest
	rest []byte // records not passed yet
}

// of returns the wrong order of a row, 0 for none. Rows must not descend from call to call.
func (o *orders) of(row uint64) uint32 {
	for {
		for len(o.rest) == 0 {
			if o.at == 0 {
				return 0
			}
			o.at--
			o.rest = o.block(o.at)
		}
		switch v := binary.LittleEndian.Uint64(o.rest[len(o.rest)-orderBytes:]); {
		case v>>2 > row:
			return 0
		case v>>2 == row:
			return uint32(v&3) << 8
		}
		o.rest = o.rest[:len(o.rest)-orderBytes]
	}
}
