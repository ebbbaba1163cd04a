//go:build purego || !(amd64 || arm64 || riscv64 || loong64 || ppc64le)

package otf2

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/trace"
)

// fast decodes the most frequent records of little-endian chunks. It stops at
// a record that needs more care, near the end of the window and where b has
// limit events, no more than its capacity.
func (d *decoder) fast(b *trace.Batch, limit int) {
	first := len(b.Events)
	n, na := first, len(b.Args)
	events, args := b.Events[:limit], b.Args[:cap(b.Args)]
	regions, comms := d.loc.maps[trace.RefRegion].dense, d.loc.maps[trace.RefComm].dense
	buf, pos, now := d.buf, d.pos, d.now
	top, stop := d.bounds(), d.end-margin
	for n < len(events) && na+8 <= len(args) && pos < stop {
		if buf[pos] == idTime {
			raw := binary.LittleEndian.Uint64(buf[pos+1 : pos+9])
			t := d.iv.correct(raw)
			if t < now || t > top {
				break
			}
			now, pos = t, pos+9
		}
		w := (*[margin]byte)(buf[pos:])
		id, c := trace.Kind(w[0]), w[1]
		e := &events[n]
		e.Time, e.Ref, e.Arg, e.Kind, e.Flags = now, 0, uint32(na), id, 0
		size := 0
		switch id {
		case trace.Enter, trace.Leave:
			ref := binary.LittleEndian.Uint32(w[2:])
			if c <= 4 {
				ref &= uint32(masks[c])
				size = 2 + int(c)
			}
			if uint64(ref) < uint64(len(regions)) {
				ref = regions[ref]
			}
			e.Ref = ref
		case trace.MpiSend, trace.MpiRecv:
			size = words(w, 2, args[na:na+4], 3)
			na += 4
		case trace.MpiIsend, trace.MpiIrecv:
			size = words(w, 2, args[na:na+5], 3)
			na += 5
		case trace.MpiCollectiveEnd:
			args[na] = uint64(w[2])
			size = words(w, 3, args[na+1:na+5], 2)
			na += 5
		case trace.MpiIsendComplete, trace.MpiIrecvRequest, trace.MpiRequestTest, trace.MpiRequestCancelled:
			if c <= 8 {
				args[na] = binary.LittleEndian.Uint64(w[2:]) & masks[c]
				size = 2 + int(c)
				na++
			}
		case trace.MpiCollectiveBegin:
			if c == 0 {
				size = 2
			}
		}
		if size == 0 {
			na = int(e.Arg)
			break
		}
		e.Len = uint32(na) - e.Arg
		if e.Len >= 4 && args[e.Arg+1] < uint64(len(comms)) {
			args[e.Arg+1] = uint64(comms[args[e.Arg+1]])
		}
		n, pos = n+1, pos+size
	}
	b.Events, b.Args = events[:n], args[:na]
	d.number += uint64(n - first)
	d.pos, d.now = pos, now
}

// words decodes the compressed integers of a record from w[q:], the first n of
// 32 bits, the others of 64. It returns the size of the record, 0 where a value
// is undefined or the record longer or shorter than its fields.
func words(w *[margin]byte, q int, a []uint64, n int) int {
	for i := range a {
		c := w[q&(margin-1)]
		if c > 8 || c > 4 && i < n {
			return 0
		}
		a[i] = binary.LittleEndian.Uint64(w[(q+1)&31:]) & masks[c]
		q += 1 + int(c)
	}
	if q != 2+int(w[1]) {
		return 0
	}
	return q
}
