package xtf

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// A view is a page of calls without begins, ends and exclusive times: these are in the call graph, which is exact. The view has the number
// of the event with which its first call begins, the other columns, and the ends of calls that are still open at the first call of the next
// page. If the events do not make the rows, for instance when tasks are switched, the page keeps all columns. During the analysis there is
// no call graph yet. So the segment has the times after each view; they are not written to the file.

// viewKeys marks a view: it stands in the payload in place of the width of the keys.
const viewKeys = 0xFF

// viewHead is the number of bytes before the ends of calls: begin of the first call u64, viewKeys u8, 7 zero, event u64, CRC of the rows
// u32, number of calls that are open at the end of the page u16, bytes of their ends u16.
const viewHead = 32

// CallTimes gives the times of calls in a file from its call graph.
type CallTimes interface {
	// Calls returns a reader of a location's calls for one goroutine.
	Calls(p Proc) (CallReader, error)
}

// CallReader reads the times of a location's calls.
type CallReader interface {
	// Read sets begin and end for the calls that begin with event number event and after it. first is the begin of the first of them. A
	// leave ends the newest of these calls that is still open. The end of a call that is open at the begin of the next call after the last
	// one is Never.
	Read(event, first uint64, begin, end []uint64) error
}

// ErrNoTimes says that the times of calls are in the call graph, and that SetCallTimes was not called.
var ErrNoTimes = errors.New("the times of calls are in the call graph, which is not open")

// SetCallTimes sets the source of the times of calls that pages leave to the call graph. Call it before anything is read.
func (f *File) SetCallTimes(t CallTimes) { f.times.from = t }

// mostReaders is the number of unused readers of calls that an open file keeps.
const mostReaders = 8

// callReaders are the readers of an open file that are not in use. The last one was used last.
type callReaders struct {
	from CallTimes
	mu   sync.Mutex
	idle []procReader
}

type procReader struct {
	p Proc
	CallReader
}

// take returns a reader of the calls of a location.
func (c *callReaders) take(p Proc) (CallReader, error) {
	if c.from == nil {
		return nil, ErrNoTimes
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.idle) - 1; i >= 0; i-- {
		if c.idle[i].p == p {
			r := c.idle[i].CallReader
			c.idle = slices.Delete(c.idle, i, i+1)
			return r, nil
		}
	}
	return c.from.Calls(p)
}

// give takes back a reader that has not failed.
func (c *callReaders) give(p Proc, r CallReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == mostReaders {
		c.idle = slices.Delete(c.idle, 0, 1)
	}
	c.idle = append(c.idle, procReader{p, r})
}

// viewTypes returns the columns of calls that a view has, and the columns T and End, from which the exclusive times follow.
func viewTypes(t *Type) (rest, times Type) {
	rest, times = *t, *t
	timed := func(c Column) bool { return c.Offset == CallT || c.Offset == CallEnd }
	inferred := func(c Column) bool { return c.Offset == CallExclusive || c.Offset == CallParent }
	rest.Columns = slices.DeleteFunc(slices.Clone(t.Columns[1:]), func(c Column) bool { return timed(c) || inferred(c) })
	rest.Columns = append(rest.Columns, Column{Name: "parent", Offset: CallParent, Width: 8}) // see parents
	rest.Columns = slices.Insert(rest.Columns, 0, t.Columns[0])                               // stands for the keys
	rest.End = -1
	times.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !timed(c) })
	return rest, times
}

// parents sets dst to the parents of the rows as distances from what their depth predicts: the parent of a call is the last call before it
// that is one level less deep. So the distances are 0, but for the first call below each call of an earlier page. With back it replaces
// distances in the rows by parents. It returns the bitwise or of dst. last is scratch space, which it returns for the next call.
func parents(dst []uint64, rows []byte, firstN uint64, back bool, last []uint64) (mix uint64, scratch []uint64) {
	least := uint32(0xFFFFFFFF)
	for at := 0; at < len(rows); at += CallRowBytes {
		least = min(least, U32(rows[at:], CallDepth))
	}
	last = grow64(last, len(dst)+2) // by depth minus the least one: the parent of calls of this depth
	clear(last)
	if least == 0 {
		last[0] = Never
	}
	for i, at := 0, 0; i < len(dst); i, at = i+1, at+CallRowBytes {
		level := U32(rows[at:], CallDepth) - least
		if uint64(level) > uint64(len(dst)) {
			level = 0
		}
		x := U64(rows[at:], CallParent)
		dst[i] = last[level] - x
		mix |= dst[i]
		if back {
			x = dst[i]
			SetU64(rows[at:], CallParent, x)
		}
		last[level], last[level+1] = x, firstN+uint64(i)
	}
	return mix, last
}

// isView returns whether the payload of a packed page is that of a view.
func isView(payload []byte) bool { return len(payload) >= viewHead && payload[8] == viewKeys }

// viewer encodes and decodes views of one type.
type viewer struct {
	rest, times Type
	untied      Type // rest without the column of parents
	begin, end  []uint64
	last        []uint64
}

func newViewer(t *Type) *viewer {
	v := &viewer{}
	v.rest, v.times = viewTypes(t)
	v.untied = v.rest
	v.untied.Columns = v.rest.Columns[:len(v.rest.Columns)-1]
	return v
}

// late is a call that ends after the events of its view. In a parsed view, end is relative to its begin.
type late struct {
	slot           int
	end, exclusive uint64
}

// exclusives sets dst to the exclusive times: the time of each call minus the times of the calls on the page that it is the parent of. Late
// calls have a given exclusive time.
func exclusives(dst []uint64, rows []byte, firstN uint64, ends []late) {
	n := uint64(len(dst))
	for i, at := 0, 0; i < len(dst); i, at = i+1, at+CallRowBytes {
		row := rows[at : at+CallRowBytes]
		span := U64(row, CallEnd) - U64(row, CallT)
		dst[i] = span
		if up := U64(row, CallParent) - firstN; up < n {
			dst[up] -= span
		}
	}
	for _, l := range ends {
		dst[l.slot] = l.exclusive
	}
}

// view encodes the rows of a page into e.out as a view, followed by its times. It returns the size of the view without the times. ok is
// false if the exclusive times are not those that exclusives computes. isLate is a bitmap of the late calls.
func (e *Encoder) view(v *viewer, rows []byte, firstN, event uint64, isLate []uint64) (size int, ok bool) {
	count := len(rows) / CallRowBytes
	var ends []late
	var list []byte
	last := 0
	for slot := range count {
		if isLate == nil || isLate[slot>>6]>>(slot&63)&1 == 0 {
			continue
		}
		row := rows[slot*CallRowBytes:]
		l := late{slot, U64(row, CallEnd), U64(row, CallExclusive)}
		list = varint.Append(list, uint64(slot-last), l.end-U64(row, CallT), l.exclusive)
		last = slot
		ends = append(ends, l)
	}
	e.vals = grow64(e.vals, count)
	exclusives(e.vals, rows, firstN, ends)
	for i, at := 0, 0; i < count; i, at = i+1, at+CallRowBytes {
		ok = e.vals[i] == U64(rows[at:], CallExclusive)
		if !ok || len(list) > 0xFFFF {
			return 0, false
		}
	}
	e.out = le.AppendUint64(e.out[:0], e.keys[0])
	e.out = append(e.out, viewKeys, 0, 0, 0, 0, 0, 0, 0)
	e.out = le.AppendUint64(e.out, event)
	e.out = le.AppendUint32(e.out, crc32.Checksum(rows, castagnoli))
	e.out = le.AppendUint16(le.AppendUint16(e.out, uint16(len(ends))), uint16(len(list)))
	e.out = append(e.out, list...)
	e.planes(&v.untied, rows, firstN)
	var mix uint64
	mix, v.last = parents(e.vals, rows, firstN, false, v.last)
	e.cold = appendColumn(e.cold, e.vals, mix)
	e.appendCold(true)
	size = len(e.out)
	e.planes(&v.times, rows, firstN)
	e.out = le.AppendUint64(e.out, 0)
	e.out = appendKeyBlock(e.out, e.keys, true)
	e.appendCold(false)
	times := e.out[size+timesHead:]
	le.PutUint32(e.out[size:], uint32(len(times)))
	le.PutUint32(e.out[size+4:], crc32.Checksum(times, castagnoli))
	return size, true
}

// timesHead is the number of bytes between a view in a segment and its times: the size and the CRC of the times, u32 each.
const timesHead = 8

// view is the head of a view, parsed.
type view struct {
	first, event uint64
	crc          uint32
	ends         []late
	cold         []byte
}

func parseView(payload []byte, count int) (view, error) {
	v := view{first: le.Uint64(payload), event: le.Uint64(payload[16:]), crc: le.Uint32(payload[24:])}
	n, size := int(le.Uint16(payload[28:])), int(le.Uint16(payload[30:]))
	if n > count || size > len(payload)-viewHead {
		return v, corrupt("%d long calls of %d in %d bytes", n, count, size)
	}
	r := varint.Read(payload[viewHead : viewHead+size])
	slot := uint64(0)
	for i := range n {
		step := r.Next()
		if slot += step; step >= uint64(count) || slot >= uint64(count) || i > 0 && step == 0 {
			return v, corrupt("long call %d of %d", slot, count)
		}
		v.ends = append(v.ends, late{int(slot), r.Next(), r.Next()})
	}
	if r.Failed() || r.Len() > 0 {
		return v, corrupt("list of %d long calls", n)
	}
	v.cold = payload[viewHead+size:]
	return v, nil
}

// finish completes rows that have all columns but the ends of late calls and exclusive times, and checks their CRC.
func (v *view) finish(rows []byte, firstN uint64, scratch []uint64) error {
	for i := range v.ends {
		row := rows[v.ends[i].slot*CallRowBytes:]
		SetU64(row, CallEnd, U64(row, CallT)+v.ends[i].end)
	}
	exclusives(scratch, rows, firstN, v.ends)
	for i, x := range scratch {
		SetU64(rows[i*CallRowBytes:], CallExclusive, x)
	}
	if crc32.Checksum(rows, castagnoli) != v.crc {
		return corrupt("calls differ from those of the call graph")
	}
	return nil
}

// view decodes a view of count rows. It takes the times from the call graph.
func (d *decoder) view(dst []byte, v *viewer, payload []byte, count int, firstN uint64, times CallReader) error {
	w, err := parseView(payload, count)
	if err != nil {
		return err
	}
	v.begin, v.end = grow64(v.begin, count), grow64(v.end, count)
	if err := times.Read(w.event, w.first, v.begin, v.end); err != nil {
		return fmt.Errorf("times from the call graph: %w", err)
	}
	for i, at := 0, 0; i < count; i, at = i+1, at+CallRowBytes {
		row := dst[at : at+CallRowBytes]
		SetU64(row, CallT, v.begin[i])
		SetU64(row, CallEnd, v.end[i])
	}
	if err := d.cool(dst, v, w.cold, count, firstN, allColumns); err != nil {
		return err
	}
	return w.finish(dst, firstN, d.vals)
}

// staged decodes columns of a view in a segment, which has the times next to it. For exclusive times it decodes all columns.
func (d *decoder) staged(dst []byte, t *Type, p *payload, firstN uint64, want columnSet) error {
	v := d.viewerOf(t)
	w, err := parseView(p.b, p.count)
	if err != nil {
		return err
	}
	whole := want.has(columnAt(t.Columns, CallExclusive))
	if whole {
		want = allColumns
	}
	if err := d.packed(dst, &v.times, p.times, p.count, firstN, t.wanted(&v.times, want)); err != nil {
		return err
	}
	if want = t.wanted(&v.rest, want); want&^1 == 0 {
		return nil
	}
	if err := d.cool(dst, v, w.cold, p.count, firstN, want); err != nil || !whole {
		return err
	}
	return w.finish(dst, firstN, d.vals)
}

// wanted returns the columns of other that are also columns of t and in want.
func (t *Type) wanted(other *Type, want columnSet) (set columnSet) {
	for i, c := range t.Columns {
		if k := slices.IndexFunc(other.Columns, func(o Column) bool { return o.Offset == c.Offset }); k >= 0 && want.has(i) {
			set |= 1 << k
		}
	}
	return set
}

// viewerOf returns the decoder's viewer. Calls are the only type with views.
func (d *decoder) viewerOf(t *Type) *viewer {
	if d.viewer == nil {
		d.viewer = newViewer(t)
	}
	return d.viewer
}

// cool decodes the wanted columns of a cold block. For parents it decodes all columns, since they depend on the depth.
func (d *decoder) cool(dst []byte, v *viewer, block []byte, count int, firstN uint64, want columnSet) error {
	parent := len(v.rest.Columns) - 1
	if want.has(parent) {
		want = allColumns
	}
	cold, err := d.coldBlock(&v.rest, block, count)
	if err == nil {
		d.keys, d.vals = grow64(d.keys, count), grow64(d.vals, count)
		err = d.coldColumns(dst, &v.rest, cold, count, firstN, want)
	}
	if err == nil && want.has(parent) {
		_, v.last = parents(d.vals, dst, firstN, true, v.last)
	}
	return err
}
