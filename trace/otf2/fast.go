package otf2

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/trace"
)

// fast decodes the most frequent records, in either byte order. It stops at a
// record that needs more care, near the end of the window and where b has limit
// events, no more than its capacity.
func (d *decoder) fast(b *trace.Batch, limit int) {
	first := len(b.Events)
	n, na := first, len(b.Args)
	events, args := b.Events[:limit], b.Args[:cap(b.Args)]
	regions, comms := d.loc.maps[trace.RefRegion].dense, d.loc.maps[trace.RefComm].dense
	buf, pos, now, big := d.buf, d.pos, d.now, d.big
	high, stop := d.high, d.end-margin-stampSize
	for n < len(events) && na+8 <= len(args) && pos < stop {
		if buf[pos] == idTime {
			raw := integer(buf[pos+1:pos+9], 8, big)
			t := d.iv.correct(raw)
			if raw < d.iv.begin || raw > d.iv.end || t < now || t > high {
				break
			}
			now, pos = t, pos+9
		}
		w := (*[margin]byte)(buf[pos:])
		id, c := trace.Kind(w[0]), w[1]
		e := &events[n]
		if id&^1 == trace.Enter { // or Leave, as most are
			if c > 4 {
				break
			}
			ref := uint32(integer(w[2:10], c, big))
			if uint64(ref) < uint64(len(regions)) {
				ref = regions[ref]
			}
			e.Time, e.Ref, e.Arg, e.Len, e.Kind, e.Flags = now, ref, uint32(na), 0, id, 0
			n, pos = n+1, pos+2+int(c)
			continue
		}
		e.Time, e.Ref, e.Arg, e.Kind, e.Flags = now, 0, uint32(na), id, 0
		size := 0
		switch id {
		case trace.MpiSend, trace.MpiRecv:
			size = words(w, 2, args[na:na+4], 3, big)
			na += 4
		case trace.MpiIsend, trace.MpiIrecv:
			size = words(w, 2, args[na:na+5], 3, big)
			na += 5
		case trace.MpiCollectiveEnd:
			args[na] = uint64(w[2])
			size = words(w, 3, args[na+1:na+5], 2, big)
			na += 5
		case trace.MpiIsendComplete, trace.MpiIrecvRequest, trace.MpiRequestTest, trace.MpiRequestCancelled:
			if c <= 8 {
				args[na] = integer(w[2:10], c, big)
				size = 2 + int(c)
				na++
			}
		case trace.MpiCollectiveBegin:
			if c == 0 {
				size = 2
			}
		case trace.Metric:
			var more int
			size, more = d.metric(w, args[na:])
			na += more
		}
		if size == 0 {
			na = int(e.Arg)
			break
		}
		e.Len = uint32(na) - e.Arg
		if id < trace.Metric && e.Len >= 4 && args[e.Arg+1] < uint64(len(comms)) {
			args[e.Arg+1] = uint64(comms[args[e.Arg+1]])
		}
		n, pos = n+1, pos+size
	}
	b.Events, b.Args = events[:n], args[:na]
	d.number += uint64(n - first)
	d.pos, d.now = pos, now
}

// integer returns the number in the first c bytes of the 8 in p.
func integer(p []byte, c uint8, big bool) uint64 {
	if big {
		return binary.BigEndian.Uint64(p) >> (64 - 8*uint(c))
	}
	return binary.LittleEndian.Uint64(p) & masks[c&15]
}

// masks keep the low n bytes of a word.
var masks = [16]uint64{
	0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF,
	0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF,
}

// words decodes the compressed integers of a record from w[q:], the first n of
// 32 bits, the others of 64. It returns the size of the record, 0 where a value
// is undefined or the record longer or shorter than its fields.
func words(w *[margin]byte, q int, a []uint64, n int, big bool) int {
	for i := range a {
		c := w[q&(margin-1)]
		if c > 8 || c > 4 && i < n {
			return 0
		}
		at := (q + 1) & 31
		a[i] = integer(w[at:at+8], c, big)
		q += 1 + int(c)
	}
	if q != 2+int(w[1]) {
		return 0
	}
	return q
}

// metric decodes a metric record in the first bytes of w to a. It returns the
// sizes of the record and of what it became, 0 where the record and a time stamp
// may take more than margin bytes, where a has no room or it needs more care.
func (d *decoder) metric(w *[margin]byte, a []uint64) (size, n int) {
	c := w[2]
	if c > 4 {
		return 0, 0
	}
	values := int(w[3+c])
	if len(a) < 2+2*values {
		return 0, 0
	}
	a[0] = d.loc.maps[trace.RefMetric].at(integer(w[3:11], c, d.big))
	a[1] = uint64(values)
	q := 4 + int(c)
	a = a[2 : 2+2*values]
	for ; len(a) >= 2 && q <= margin-stampSize-10; a = a[2:] {
		c := w[q+1]
		if c > 8 {
			return 0, 0
		}
		a[0], a[1] = uint64(w[q]), integer(w[q+2:q+10], c, d.big)
		q += 2 + int(c)
	}
	if len(a) > 0 || q != 2+int(w[1]) {
		return 0, 0
	}
	return q, 2 + 2*values
}
