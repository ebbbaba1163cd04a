package xtf

import (
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"
)

// A following page has its first column among the others, as the differences from row to row; rows are found by number alone
// before it is unfolded. Pages of messages and collectives leave their times to the rows of calls: they say in how far T differs from the
// begin of the call, and End and Done from its end, which is not at all in most. A CRC says whether the rows are those written.

// followKeys is in place of the width of the keys in the payload of a following page.
const followKeys = 0xFE

// followHead is the bytes before its raw planes and its cold block: the first key u64, followKeys u8, 3 zero, CRC of the rows u32, 0
// without calls, bytes of the raw planes u32, 4 zero.
const followHead = 24

// rawPlanes is where the byte before the planes of a column has the number of its raw ones, the lowest.
const rawPlanes = 4

// Transforms that no type has: of columns of a page that follows calls.
const (
	transformBegin Transform = 0xFE - iota // zig-zag of v minus the begin of the row's call
	transformEnd                           // ... minus its end, of types without calls minus the first column of the next row
)

// followers are the types whose pages follow, with the offsets of the number of the call, -1 for none, and of what its end, or the row
// after, answers for.
var followers = map[TypeID]struct{ call, end, done int }{
	TypeP2P:   {P2PCallN, P2PEnd, P2PDone},
	TypeColl:  {CollCallN, CollEnd, -1},
	TypeChan:  {-1, -1, -1},
	TypeWait:  {-1, -1, -1},
	TypeCPath: {-1, 8, -1},
}

// follower makes and reads following pages of one type of rows.
type follower struct {
	typ    Type // the columns in the order of the page, the first one in the place of the keys
	at     int  // offset of the number of the call, -1 for none
	number []uint64
	begin  []uint64 // by row, of its call
	end    []uint64
	calls  *callSpans // nil: none can be read
}

// newFollower returns nil for types whose pages do not follow.
func newFollower(t *Type) *follower {
	x, ok := followers[t.ID]
	if !ok || t.Codec != CodecPacked || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Transform == TransformMinusSpan }) {
		return nil
	}
	f := &follower{typ: *t, at: x.call}
	f.typ.Columns, f.typ.End = append([]Column{{}}, t.Columns...), -1 // the first one in the place of the keys
	list := f.typ.Columns[1:]
	for i := range list {
		if list[i].Offset == x.end || list[i].Offset == x.done {
			list[i].Transform = transformEnd
		}
	}
	if list[0].Transform = TransformDelta; f.at >= 0 {
		list[0].Transform = transformBegin
		call := columnAt(list, f.at)
		number := list[call]
		copy(list[1:], list[:call])
		list[0] = number
	}
	return f
}

// isFollowing says whether the payload of a packed page is a following one.
func isFollowing(payload []byte) bool { return len(payload) >= followHead && payload[8] == followKeys }

// follow turns the rows of a page, whose keys are in e.keys, into a following page in e.out.
func (e *Encoder) follow(f *follower, rows []byte, firstN uint64) error {
	crc := uint32(0)
	if f.at >= 0 {
		f.number = grow64(f.number, len(e.keys))
		loadColumn(f.number, rows, f.typ.RowBytes, Column{Offset: f.at, Width: 8})
		if err := f.ask(e.keys[0]); err != nil {
			return err
		}
		crc = crc32.Checksum(rows, castagnoli)
	} else {
		f.after(e.keys)
	}
	e.begins, e.leaves = f.begin, f.end
	e.cold, e.raw, e.vals = e.cold[:0], e.raw[:0], grow64(e.vals, len(e.keys))
	for _, c := range f.typ.Columns[1:] {
		mix, raw := e.column(&f.typ, c, rows, firstN), byte(0)
		for ; mix > 0 && noisy(e.vals); mix >>= 8 {
			raw++
			e.raw = growBytes(e.raw, len(e.vals))
			plane := e.raw[len(e.raw)-len(e.vals):]
			for i, x := range e.vals {
				plane[i], e.vals[i] = byte(x), x>>8
			}
		}
		at := len(e.cold)
		e.cold = appendPlanes(e.cold, e.vals, mix)
		e.cold[at] |= raw << rawPlanes
	}
	e.out = append(le.AppendUint64(e.out[:0], e.keys[0]), followKeys, 0, 0, 0)
	e.out = le.AppendUint32(e.out, crc)
	e.out = le.AppendUint64(e.out, uint64(len(e.raw)))
	e.out = append(e.out, e.raw...)
	e.appendCold(true)
	return nil
}

// noisy says whether more than half of the lowest bytes of the first values differ.
func noisy(v []uint64) bool {
	var seen [4]uint64
	v = v[:min(len(v), 256)]
	for _, x := range v {
		seen[x>>6&3] |= 1 << (x & 63)
	}
	n := 0
	for _, x := range seen {
		n += bits.OnesCount64(x)
	}
	return 2*n > len(v)
}

// after leaves the key of the row after each in f.end.
func (f *follower) after(keys []uint64) {
	f.end = append(append(f.end[:0], keys[1:]...), keys[len(keys)-1])
}

// ask finds begin and end of the calls with the numbers; those of a row without one are of the row before, and first before them.
func (f *follower) ask(first uint64) error {
	if f.calls == nil {
		return ErrNoTimes
	}
	f.begin, f.end = grow64(f.begin, len(f.number)), grow64(f.end, len(f.number))
	b, e, c := first, first, f.calls
	c.most = 0
	for _, n := range f.number {
		if n < c.rows {
			c.most = max(c.most, n)
		}
	}
	for i, n := range f.number {
		if n < c.rows {
			if n-c.first >= uint64(len(c.begin)) {
				if err := c.load(n, false); err != nil {
					return err
				}
			}
			if b, e = c.begin[n-c.first], c.end[n-c.first]; e == Never && c.partly {
				if err := c.load(n, true); err != nil {
					return err
				}
				e = c.end[n-c.first]
			}
		}
		f.begin[i], f.end[i] = b, e
	}
	return nil
}

// following decodes a following page of count rows; calls are those of its location, nil where its type has none.
func (d *decoder) following(dst []byte, t *Type, payload []byte, count int, firstN uint64, calls *callSpans) error {
	f := d.followers[t.ID]
	if f == nil {
		if f = newFollower(t); f == nil {
			return corrupt("a following page of type %d", t.ID)
		}
		if d.followers == nil {
			d.followers = map[TypeID]*follower{}
		}
		d.followers[t.ID] = f
	}
	size := uint64(le.Uint32(payload[16:]))
	if size > uint64(len(payload)-followHead) {
		return corrupt("raw planes of %d bytes in %d", size, len(payload))
	}
	raw := payload[followHead:][:size]
	cold, err := d.coldBlock(&f.typ, payload[followHead+size:], count)
	if err != nil {
		return err
	}
	f.calls = calls
	d.keys, d.vals = grow64(d.keys, count), grow64(d.vals, count)
	keys := d.keys
	for _, c := range f.typ.Columns[1:] {
		if len(cold) == 0 {
			return corrupt("column missing from a cold block")
		}
		lower, upper := int(cold[0]>>rawPlanes), int(cold[0]&(1<<rawPlanes-1))
		cold = cold[1:]
		if lower+upper > c.Width || lower*count > len(raw) || upper*count > len(cold) {
			return corrupt("%d and %d planes of %d bytes in %d and %d", lower, upper, count, len(raw), len(cold))
		}
		base, v := f.base(c, keys), d.vals
		same := base != nil && lower+upper == 0
		if same {
			v = base
		} else {
			joinPlanes(v, raw, lower, cold, upper)
			if base == nil {
				d.undo(c, firstN)
			}
			for i, x := range base {
				v[i] = x + unzigzag(v[i])
			}
		}
		raw, cold = raw[lower*count:], cold[upper*count:]
		switch c.Offset {
		case t.Columns[0].Offset:
			if keys = v; !same {
				d.keys, d.vals = d.vals, d.keys
			}
			if f.at < 0 {
				f.after(keys)
			}
		case f.at:
			f.number = append(f.number[:0], v...)
			if err := f.ask(le.Uint64(payload)); err != nil {
				return err
			}
		}
		storeColumn(dst, v, t.RowBytes, c)
	}
	if len(cold)+len(raw) != 0 {
		return corrupt("%d bytes after the last column", len(cold)+len(raw))
	}
	if f.at >= 0 && crc32.Checksum(dst, castagnoli) != le.Uint32(payload[12:]) {
		return corrupt("rows differ from those that follow their calls")
	}
	return nil
}

// base is what the values of a column are stored as the differences from, nil for others.
func (f *follower) base(c Column, keys []uint64) []uint64 {
	switch c.Transform {
	case transformBegin:
		return f.begin
	case transformEnd:
		return f.end
	case TransformMinusT:
		return keys
	}
	return nil
}

// callSpans are begins and ends of the calls of a location, page by page.
type callSpans struct {
	typ        *Type
	rows       uint64 // calls
	first      uint64 // of the page in hand
	begin, end []uint64
	most       uint64     // the last call that is asked for
	partly     bool       // the calls after it are not in hand, and ends after these not known
	src        pageSource // of pages as they are stored
	decoders   *sync.Pool
	scratch    []byte
	readers    *callReaders // of the file
	p          Proc
	times      CallReader // in use
	once       bool       // for one page of rows
}

// load takes the page of call n in hand; unless the whole is wanted, a view for one page of rows only up to the last call asked for.
func (c *callSpans) load(n uint64, whole bool) error {
	c.partly = !whole && c.once
	ord := n / uint64(c.typ.PageRows)
	c.begin, c.end = c.begin[:0], c.end[:0]
	p, err := c.src.payload(ord)
	if err == nil {
		if err = c.decode(&p, ord*uint64(c.typ.PageRows)); err == nil {
			return nil
		}
	}
	c.begin, c.end = c.begin[:0], c.end[:0]
	return c.src.fail(err, ord)
}

// decode reads begins and ends alone.
func (c *callSpans) decode(p *payload, first uint64) error {
	c.first, c.begin, c.end = first, grow64(c.begin, p.count), grow64(c.end, p.count)
	dec := c.decoders.Get().(*decoder)
	defer c.decoders.Put(dec)
	switch {
	case p.times != nil:
		return dec.spans(c.begin, c.end, &dec.viewerOf(c.typ).times, p.times)
	case p.codec == CodecPacked && isView(p.b):
		return c.view(p)
	}
	c.scratch = growBytes(c.scratch[:0], p.count*c.typ.RowBytes)
	if err := dec.columns(c.scratch, c.typ, p.codec, p.b, p.count, first, c.typ.columnsAt([]int{CallEnd})); err != nil {
		return err
	}
	loadColumn(c.begin, c.scratch, c.typ.RowBytes, c.typ.Columns[0])
	loadColumn(c.end, c.scratch, c.typ.RowBytes, c.typ.Columns[1])
	return nil
}

// spans reads the times that a segment has of a view.
func (d *decoder) spans(begin, end []uint64, t *Type, times []byte) error {
	kb, size, err := parseKeyBlock(times, len(begin))
	if err != nil {
		return err
	}
	cold, err := d.coldBlock(t, times[size:], len(begin))
	if err == nil {
		_, err = takePlanes(end, cold, 8, len(begin))
	}
	kb.load(begin)
	for i, x := range end {
		end[i] = begin[i] + unzigzag(x)
	}
	return err
}

// view reads those of a view from the call graph.
func (c *callSpans) view(p *payload) error {
	w, err := parseView(p.b, p.count)
	if err != nil {
		return err
	}
	if c.times == nil {
		if c.times, err = c.readers.take(c.p); err != nil {
			return err
		}
	}
	n := uint64(p.count)
	if c.partly = c.partly && c.most-c.first < n-1; c.partly {
		n = c.most - c.first + 1
		c.begin, c.end = c.begin[:n], c.end[:n]
	}
	if err := c.times.Read(w.event, w.first, c.begin, c.end); err != nil {
		return fmt.Errorf("times from the call graph: %w", err)
	}
	for _, l := range w.ends {
		if uint64(l.slot) < n {
			c.end[l.slot] = c.begin[l.slot] + l.end
		}
	}
	return nil
}

// close gives back what others may use.
func (c *callSpans) close() {
	if c.times != nil {
		c.readers.give(c.p, c.times)
	}
	c.times = nil
}

// storedPages are the pages of a file's array as they are stored, whatever is to follow from others in them.
type storedPages struct{ fileSource }

func (s *storedPages) payload(ord uint64) (payload, error) {
	pg, _, _, _, err := s.stored(ord)
	if err != nil {
		return payload{}, err
	}
	return payload{b: pg.bytes, codec: pg.codec, count: int(pg.count)}, nil
}

// calls returns the spans of the location's calls for pages that follow them. One page of them is read at a time, or as much as is
// good for a scan.
func (a *pages) calls(ahead int64) (*callSpans, error) {
	of, err := a.f.array(a.proc, TypeCall, a.cost)
	if err != nil {
		return nil, err
	}
	return &callSpans{typ: of.typ, rows: of.Len(), src: &storedPages{fileSource{a: of, ahead: ahead}}, decoders: &a.f.decoders, readers: &a.f.times, p: a.proc, once: ahead == 0}, nil
}

// Follow says of which calls the rows of a builder of messages or collectives are: they leave their times to them.
func (b *ArrayBuilder) Follow(tt *TypeTable, calls FinishedArray) {
	f := newFollower(b.typ)
	if f == nil {
		return
	}
	f.calls = &callSpans{typ: tt.Lookup(TypeCall), decoders: &segmentDecoders}
	if calls.Summary != nil {
		f.calls.rows, f.calls.src = calls.Summary.rows, &segmentSource{a: calls}
	}
	b.follower = f
}
