package otf2

import (
	"encoding/binary"
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
)

// Limits of the events that addQuick writes. A record of quickWords words has a
// payload below 255 bytes, so its length takes one byte; quickRoom is the most
// that a time stamp and such a record take, and a word that is stored whole.
const (
	quickWords = 24
	quickRoom  = 9 + 2 + 9*quickWords + 8
)

// addQuick writes the events of b from number i on straight into the open
// chunk, as long as they are plain: no attributes, no surplus, few words, and a
// chunk with room for any of them. It returns the number of the first event
// that add has to look at. Only writers without tables and clock come here.
func (l *LocationWriter) addQuick(b *trace.Batch, i int) int {
	w := l.out
	buf, at, from := w.buf[:cap(w.buf)], len(w.buf), i
	limit := min(len(buf), w.size-2) - quickRoom
	big, last := w.big, l.last
	for ; i < len(b.Events) && at <= limit; i++ {
		e := &b.Events[i]
		t := uint64(e.Time)
		if e.Flags != 0 || e.Len > quickWords || t < last {
			break
		}
		start := at
		if t != last || at == headerSize {
			buf[at] = idTime
			putWord(buf[at+1:], t, big)
			at += 9
		}
		buf[at] = byte(e.Kind)
		if e.Kind == trace.Enter || e.Kind == trace.Leave {
			at += 1 + put32(buf[at+1:], e.Ref, big)
		} else {
			n := putRecord(buf[at+1:], e.Kind, b.Words(e), big)
			if n == 0 {
				at = start
				break
			}
			at += 1 + n
		}
		last = t
	}
	w.buf, l.last = buf[:at], last
	w.count += uint64(i - from)
	return i
}

// putRecord stores length and payload of a record and returns their bytes, 0 if
// it is none that can be stored like that.
func putRecord(buf []byte, k trace.Kind, words []uint64, big bool) int {
	info := k.Info()
	if len(words) < len(info.Fields) || info.List != trace.NoList && info.List != trace.MetricList {
		return 0
	}
	at := 1
	if info.Singleton {
		at = 0
	}
	for i := range info.Fields {
		switch v := words[i]; info.Fields[i].Width {
		case trace.U8:
			buf[at] = byte(v)
			at++
		case trace.U32:
			at += put32(buf[at:], uint32(v), big)
		case trace.Stamp:
			putWord(buf[at:], v, big)
			at += 8
		default:
			at += put64(buf[at:], v, big)
		}
	}
	if rest := words[len(info.Fields):]; info.List == trace.MetricList {
		for ; len(rest) >= 2; rest = rest[2:] {
			buf[at] = byte(rest[0])
			at += 1 + put64(buf[at+1:], rest[1], big)
		}
	}
	if !info.Singleton {
		buf[0] = byte(at - 1)
	}
	return at
}

func putWord(buf []byte, v uint64, big bool) {
	if big {
		binary.BigEndian.PutUint64(buf, v)
	} else {
		binary.LittleEndian.PutUint64(buf, v)
	}
}

// put32 is encoder.v32 for buffers with room for a whole word after.
func put32(buf []byte, v uint32, big bool) int {
	if v == trace.Undefined {
		buf[0] = 0xFF
		return 1
	}
	return putSignificant(buf, uint64(v), big)
}

// put64 is encoder.v64 for buffers with room for a whole word after.
func put64(buf []byte, v uint64, big bool) int {
	if v == trace.Undefined64 {
		buf[0] = 0xFF
		return 1
	}
	return putSignificant(buf, v, big)
}

// putSignificant stores a count and the significant bytes of v; the rest of the
// word after them is overwritten by what follows.
func putSignificant(buf []byte, v uint64, big bool) int {
	n := (bits.Len64(v) + 7) / 8
	buf[0] = byte(n)
	if big {
		binary.BigEndian.PutUint64(buf[1:], v<<(64-8*n))
	} else {
		binary.LittleEndian.PutUint64(buf[1:], v)
	}
	return 1 + n
}
