package xtf

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// A view is a page of calls without the times: begins, ends and exclusive times are those of the call graph, which is exact. The
// page says with which event its calls begin, what they are, and what the events up to the first call of the next page do not
// tell: the ends of calls that are longer. A page whose events do not make its rows, as where tasks are switched, has all of its
// columns. While a run is analysed there is no call graph to read: the times are after the page in its segment, and are left
// there when the file is written.

// viewKeys is in place of the width of the keys in the payload of a view.
const viewKeys = 0xFF

// viewHead is the bytes of a view before the ends of calls: begin of the first call u64, viewKeys u8, 7 zero, event u64, CRC of the
// rows u32, number of longer calls u16, bytes of them u16.
const viewHead = 32

// CallTimes tells when calls begin and end, as the call graph of a file does.
type CallTimes interface {
	// Calls returns a reader of a location's calls for one goroutine.
	Calls(p Proc) (CallReader, error)
}

// CallReader reads the times of a location's calls.
type CallReader interface {
	// Read writes down when the calls begin and end that begin with event number event and after it, the first of them at first.
	// A leave ends the newest of these that has not ended. An end is Never where it is not before the begin of the call after
	// the last.
	Read(event, first uint64, begin, end []uint64) error
}

// ErrNoTimes says that a page leaves the times of calls to the call graph, and nobody said how to read it (SetCallTimes).
var ErrNoTimes = errors.New("the times of calls are in the call graph, which is not open")

// SetCallTimes says where the times of calls are that pages do not have. Call it before anything is read.
func (f *File) SetCallTimes(t CallTimes) { f.times.from = t }

// mostReaders is how many readers of calls an open file keeps for the pages of its cache.
const mostReaders = 8

// callReaders are the readers of an open file that are not in use, the one used last at the end.
type callReaders struct {
	from CallTimes
	mu   sync.Mutex
	idle []procReader
}

type procReader struct {
	p Proc
	CallReader
}

// take returns a reader of a location's calls.
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

// give takes a reader back that has not failed.
func (c *callReaders) give(p Proc, r CallReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == mostReaders {
		c.idle = slices.Delete(c.idle, 0, 1)
	}
	c.idle = append(c.idle, procReader{p, r})
}

// viewTypes are the columns of calls: all but the times, and begins and ends alone, which tell the exclusive times.
func viewTypes(t *Type) (rest, times Type) {
	rest, times = *t, *t
	timed := func(c Column) bool { return c.Offset == CallT || c.Offset == CallEnd }
	inferred := func(c Column) bool { return c.Offset == CallExclusive || c.Offset == CallParent }
	rest.Columns = slices.DeleteFunc(slices.Clone(t.Columns[1:]), func(c Column) bool { return timed(c) || inferred(c) })
	rest.Columns = append(rest.Columns, Column{Name: "parent", Offset: CallParent, Width: 8}) // see parents
	rest.Columns = slices.Insert(rest.Columns, 0, t.Columns[0])                               // the place of the keys
	rest.End = -1
	times.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !timed(c) })
	return rest, times
}

// parents turns the parents of rows into their distances from what depths tell, which are 0 but for the first calls in each call of
// an earlier page, or back: the parent of a call is the last one before it that is a level less deep.
func parents(dst []uint64, rows []byte, firstN uint64, back bool, last []uint64) (mix uint64, scratch []uint64) {
	least := uint32(0xFFFFFFFF)
	for at := 0; at < len(rows); at += CallRowBytes {
		least = min(least, U32(rows[at:], CallDepth))
	}
	last = grow64(last, len(dst)+2) // by depth after that of the parent of the least deep one
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

// isView says whether the payload of a packed page is a view.
func isView(payload []byte) bool { return len(payload) >= viewHead && payload[8] == viewKeys }

// viewer makes and reads views of one type of rows.
type viewer struct {
	rest, times Type
	untied      Type // rest without the parents
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

// late is what a view says of a call that ends after its events.
type late struct {
	slot           int
	end, exclusive uint64
}

// exclusives are what calls on the page leave of each of them, from begins, ends and parents; of late ones, what is given.
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

// view turns the rows of a page into a view in e.out, with the times after it; false if exclusive times are not what the rows inside leave.
// The calls in the bitmap are late.
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

// timesHead is what is in a segment between a view and its times: their size and CRC, u32 each.
const timesHead = 8

// view is what the head of a view says.
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

// finish ends the making of rows, whose begins and other ends are there.
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

// view decodes a view of count rows with times from the call graph.
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

// staged decodes columns of a view in a segment, which has begins and ends. Exclusive times follow from whole rows.
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

// wanted are the columns of another type with some of t's columns among those of t that are wanted.
func (t *Type) wanted(other *Type, want columnSet) (set columnSet) {
	for i, c := range t.Columns {
		if k := slices.IndexFunc(other.Columns, func(o Column) bool { return o.Offset == c.Offset }); k >= 0 && want.has(i) {
			set |= 1 << k
		}
	}
	return set
}

// viewerOf returns what reads views of a type: there is one.
func (d *decoder) viewerOf(t *Type) *viewer {
	if d.viewer == nil {
		d.viewer = newViewer(t)
	}
	return d.viewer
}

// cool decodes the columns of a cold block that are wanted. Parents follow from depths.
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
