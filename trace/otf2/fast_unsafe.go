//go:build !purego && (amd64 || arm64 || riscv64 || loong64 || ppc64le)

package otf2

import (
	"runtime"
	"unsafe"

	"github.com/coppice-hpc/coppice/trace"
)

// This file is the one place of the package that uses unsafe: the inner loop of
// decoding little-endian chunks. Its twin without unsafe is plain.go.
//
// A window has room bytes after its data. The loop runs while margin bytes are
// left, more than a record of the fast path and its time stamp take. A damaged
// count byte, 255 at most, is followed by one load before it is checked, at most
// four times in a record: no load leaves the buffer. The batch has room for
// limit events and, checked before each record with words, for its words.

// fast decodes the most frequent records of little-endian chunks. It stops at
// a record that needs more care, near the end of the window and where b has
// limit events, no more than its capacity.
//
// The loop makes no calls: around one the compiler keeps everything in memory.
// Slopes above a half and products of 2^51 ticks and more, which only damaged
// clock tables lead to, are left to step.
func (d *decoder) fast(b *trace.Batch, limit int) {
	if d.end-d.pos <= margin || d.iv.slope > 0.5 || d.iv.slope < -0.5 {
		return
	}
	first := len(b.Events)
	events, args := b.Events[:limit], b.Args[:cap(b.Args)]
	base, out, a := unsafe.Pointer(unsafe.SliceData(d.buf)), unsafe.Pointer(unsafe.SliceData(events)), unsafe.Pointer(unsafe.SliceData(args))
	p, stop := unsafe.Add(base, d.pos), uintptr(base)+uintptr(d.end-margin)
	next, full := uintptr(first)*eventSize, uintptr(limit)*eventSize // bytes from out
	na, most := uint64(len(b.Args)), uint64(max(cap(args)-8, 0))
	now, high, iv := uint64(d.now), uint64(d.high), d.iv
	begin, span := iv.begin, iv.end-iv.begin
	regions := d.loc.maps[trace.RefRegion].dense
	var size, ref, words uint64
	for uintptr(p) < stop && next < full {
		w := load64(p)
		if byte(w) == idTime {
			t := load64(unsafe.Add(p, 1))
			if t-begin > span {
				break
			}
			if iv.slope != 0 {
				x := float64(iv.slope * float64(int64(t-iv.t0))) // not fused with what follows
				if x > 1<<51 || x < -1<<51 {
					break
				}
				t += uint64(int64(float64(x+magic) - magic))
			}
			t += iv.o0
			if t < now || t > high {
				break
			}
			now, p = t, unsafe.Add(p, 9)
			w = load64(p)
		}
		size, ref, words = w>>8&0xFF, w>>16, 0
		if w&0xFE == uint64(trace.Enter) { // Enter or Leave
			if size > 4 {
				break
			}
			ref &= masks[size&7]
			if ref < uint64(len(regions)) {
				ref = uint64(regions[ref])
			}
		} else {
			ref = 0
			if na > most {
				break
			}
			v := unsafe.Add(a, 8*na)
			switch fields := recipes[byte(w)]; fields {
			case messageOf4, messageOf5:
				q := unsafe.Add(p, 2)
				rank := load64(q)
				c := rank & 0xFF
				q = unsafe.Add(q, 1+c)
				comm := load64(q)
				c1 := comm & 0xFF
				q = unsafe.Add(q, 1+c1)
				tag := load64(q)
				c2 := tag & 0xFF
				q = unsafe.Add(q, 1+c2)
				c3 := load64(q) & 0xFF
				if c > 4 || c1 > 4 || c2 > 4 || c3 > 8 {
					goto out
				}
				store64(v, rank>>8&masks[c&7])
				store64(unsafe.Add(v, 8), comm>>8&masks[c1&7])
				store64(unsafe.Add(v, 16), tag>>8&masks[c2&7])
				store64(unsafe.Add(v, 24), load64(unsafe.Add(q, 1))&masks[c3&15])
				words = 4 + 4 + c + c1 + c2 + c3
				if fields == messageOf5 {
					q = unsafe.Add(q, 1+c3)
					c := load64(q) & 0xFF
					if c > 8 {
						goto out
					}
					store64(unsafe.Add(v, 32), load64(unsafe.Add(q, 1))&masks[c&15])
					words += 1 + c
				}
				if words-4 != size {
					goto out
				}
				words = uint64(fields)
				if m := d.loc.maps[trace.RefComm].dense; m != nil && comm>>8&masks[c1&7] < uint64(len(m)) {
					store64(unsafe.Add(v, 8), uint64(m[comm>>8&masks[c1&7]]))
				}
			case oneNumber:
				if size > 8 {
					goto out
				}
				store64(v, load64(unsafe.Add(p, 2))&masks[size&15])
				words = 1
			case nothing:
				if size != 0 {
					goto out
				}
			default:
				goto out
			}
		}
		p = unsafe.Add(p, 2+size)
		e := unsafe.Add(out, next)
		store64(e, now)
		store64(unsafe.Add(e, 8), na<<32|ref)
		store64(unsafe.Add(e, 16), w<<56>>24|words)
		next += eventSize
		na += words
	}
out:
	n := int(next / eventSize)
	b.Events, b.Args = events[:n], args[:na]
	d.number += uint64(n - first)
	d.pos, d.now = int(uintptr(p)-uintptr(base)), trace.Time(now)
	runtime.KeepAlive(d)
	runtime.KeepAlive(b)
}

// magic added to and taken from a number below 2^51 rounds it half to even.
const magic = 3 << 51

// recipes are the forms of the records that fast knows besides Enter and Leave.
var recipes = [256]uint8{
	trace.MpiSend: messageOf4, trace.MpiRecv: messageOf4, trace.MpiIsend: messageOf5, trace.MpiIrecv: messageOf5,
	trace.MpiIsendComplete: oneNumber, trace.MpiIrecvRequest: oneNumber, trace.MpiRequestTest: oneNumber, trace.MpiRequestCancelled: oneNumber,
	trace.MpiCollectiveBegin: nothing,
}

const (
	oneNumber  = 1 // without a length
	messageOf4 = 4 // rank, communicator, tag, length
	messageOf5 = 5 // and request
	nothing    = 9
)

const eventSize = unsafe.Sizeof(trace.Event{})

// The event as the three words that fast stores. It does not compile if the
// layout changes.
var _ = [1]struct{}{}[unsafe.Sizeof(trace.Event{})-24+
	unsafe.Offsetof(trace.Event{}.Time)+unsafe.Offsetof(trace.Event{}.Ref)-8+unsafe.Offsetof(trace.Event{}.Arg)-12+
	unsafe.Offsetof(trace.Event{}.Len)-16+unsafe.Offsetof(trace.Event{}.Kind)-20+unsafe.Offsetof(trace.Event{}.Flags)-21]

func load64(p unsafe.Pointer) uint64     { return *(*uint64)(p) }
func store64(p unsafe.Pointer, v uint64) { *(*uint64)(p) = v }
