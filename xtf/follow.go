package xtf

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// A following page is a data page of rows that belong to calls. It has their times as differences from the begin and end of the calls: most
// messages begin and end with their call, so that nothing is left of the times. The first column is not in a key block but among the other
// columns. So rows are found by number only, until the page is decoded (unfolded). A CRC shows whether the decoded rows are those that were
// written. docs/format/xtf.md describes the bytes.

// followKeys marks a following page: it stands in the payload in place of the width of the keys.
const followKeys = 0xFD

// followHead is the number of bytes before the first values: the first key u64, followKeys u8, 3 zero, CRC of the rows u32 (0 without
// calls), bytes of the raw planes u32, bytes of the first values u32. The first values are those of the columns of differences. The raw
// planes and the cold block follow them.
const followHead = 24

// Transforms of columns in a following page; no type has them.
const (
	transformBegin Transform = 0xFE - iota // zig-zag of v minus the begin of the row's call
	transformEnd                           // the same of the end; of types without calls, of the next row's first column
	transformStep                          // zig-zag of the number of the call that a time belongs to, minus the number of the row's call
	transformPlace                         // where in that call the time is: a place
	transformLate                          // a place, with placeBegin and placeEnd exchanged
)

// Places of a time in a call. placeAfter and above are placeAfter plus the zig-zag of the time minus the begin of the call.
const (
	placeBegin = iota
	placeEnd
	placeNever
	placeNext // the time is the first column of the next row
	placeAfter
)

// inferred stands for the offset of the number of the call in types whose rows do not have it. The call of such a row is the last one that
// began at or before its T.
const inferred = -1

// followers has the types whose pages may follow. call is the offset of the number of the row's call, inferred, or noCalls. end is the
// offset of the time that is relative to the end of that call; done and post are those of times that may belong to other calls. 0: no such
// column.
var followers = map[TypeID]struct{ call, end, done, post int }{
	TypeP2P:   {P2PCallN, P2PEnd, P2PDone, P2PPost},
	TypeColl:  {CollCallN, CollEnd, 0, CollPost},
	TypeChan:  {call: noCalls},
	TypeWait:  {call: inferred},
	TypeCPath: {call: inferred, done: 8},
}

const noCalls = -2

// follower encodes and decodes following pages of one type.
type follower struct {
	typ    Type // columns in the order of the page; the first one stands for the keys
	at     int  // offset of the number of the call, or inferred, or noCalls
	own    bool // each row with a call begins and ends with it
	exact  bool // own, and each row of the page has a call
	told   []toldCall
	number []uint64
	begin  []uint64 // by row: begin of its call
	end    []uint64
	others [timesOf]otherTimes
	calls  *callSpans // nil: calls cannot be read
}

// toldCall is an argument of ArrayBuilder.Of: the call of a row, and its begin.
type toldCall struct{ call, begin uint64 }

// otherTimes is a column of times that may belong to other calls than the row's, or T of a type with inferred calls.
type otherTimes struct {
	offset       int
	steps, place []uint64 // by row; steps is empty if all times belong to the row's call
	begin, end   []uint64 // of that other call; used if there are steps
}

// Indices of follower.others.
const (
	timesPost = iota
	timesDone
	timesT
	timesOf
)

// newFollower returns a follower for the type, or nil if pages of the type do not follow.
func newFollower(t *Type) *follower {
	x, ok := followers[t.ID]
	if !ok || t.Codec != CodecPacked || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Transform == TransformMinusSpan }) {
		return nil
	}
	f := &follower{typ: *t, at: x.call}
	f.typ.End, f.others = -1, [timesOf]otherTimes{{offset: x.post}, {offset: x.done}, {offset: 0}}
	f.typ.Columns = append(make([]Column, 0, len(t.Columns)+4), Column{}) // stands for the keys
	if f.at != noCalls {
		f.typ.Columns = append(f.typ.Columns, Column{Offset: f.at, Width: 8, Transform: TransformDelta})
	}
	for _, offset := range [...]int{x.post, x.done} {
		if offset > 0 {
			f.typ.Columns = append(f.typ.Columns, Column{Offset: offset, Width: 8, Transform: transformStep})
		}
	}
	for i, c := range t.Columns {
		switch {
		case c.Offset == f.at:
			continue
		case i == 0:
			switch f.at {
			case inferred:
				c.Transform = transformPlace
			case noCalls:
				c.Transform = TransformDelta
			default:
				c.Transform = transformBegin
			}
		case c.Offset == x.end:
			c.Transform = transformEnd
		case c.Offset == x.done:
			c.Transform = transformLate
		case c.Offset == x.post:
			c.Transform = transformPlace
		}
		f.typ.Columns = append(f.typ.Columns, c)
	}
	return f
}

// follower returns a follower, if possible one that another builder no longer needs.
func (e *Encoder) follower(t *Type) *follower {
	if f := e.followers[t]; f != nil {
		delete(e.followers, t)
		return f
	}
	return newFollower(t)
}

// isFollowing returns whether the payload of a packed page is that of a following page.
func isFollowing(payload []byte) bool {
	return len(payload) >= followHead && payload[8] == followKeys
}

// followsCalls returns whether decoding a following page of the type needs the rows of calls.
func followsCalls(id TypeID) bool { return followers[id].call != noCalls }

// follow encodes the rows of a page into e.out as a following page. The caller has put the keys into e.keys.
func (e *Encoder) follow(f *follower, rows []byte, firstN uint64) error {
	crc := uint32(0)
	if f.at == noCalls {
		f.after(e.keys)
	} else {
		if err := f.locate(e.keys, e.ends, rows); err != nil {
			return err
		}
		crc = crc32.Checksum(rows, castagnoli)
	}
	e.begins, e.leaves = f.begin, f.end
	e.cold, e.raw, e.vals = e.cold[:0], e.raw[:0], grow64(e.vals, len(e.keys))
	firsts := e.alt[:0]
	for _, c := range f.typ.Columns[1:] {
		mix, raw := uint64(0), byte(0)
		switch {
		case f.zero(c):
			e.cold = append(e.cold, 0)
			continue
		case c.Transform == transformStep:
			mix = copyMixed(e.vals, f.times(c).steps)
		case c.Transform == transformPlace || c.Transform == transformLate:
			mix = copyMixed(e.vals, f.times(c).place)
		case c.Offset == inferred:
			copy(e.vals, f.number)
			mix = e.transform(c, firstN)
		default:
			mix = e.column(&f.typ, c, rows, firstN)
		}
		if c.Transform == TransformDelta { // the first value is large, the differences are small
			firsts = varint.Append(firsts, e.vals[0])
			e.vals[0] = 0
			mix = copyMixed(e.vals, e.vals)
		}
		var ok bool
		if e.cold, ok = appendRepeating(e.cold, e.vals, mix); ok {
			continue
		}
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
	e.out = le.AppendUint32(le.AppendUint32(e.out, uint32(len(e.raw))), uint32(len(firsts)))
	e.out = append(append(e.out, firsts...), e.raw...)
	e.alt = firsts
	e.appendCold(true)
	return nil
}

// copyMixed copies v to dst and returns the bitwise or of its values.
func copyMixed(dst, v []uint64) (mix uint64) {
	for i, x := range v {
		dst[i] = x
		mix |= x
	}
	return mix
}

// times returns the otherTimes of a column.
func (f *follower) times(c Column) *otherTimes {
	for i := range f.others[:timesT] {
		if f.others[i].offset == c.Offset {
			return &f.others[i]
		}
	}
	return &f.others[timesT]
}

// locate finds the calls of the rows, and the place of each time that may belong to another call.
func (f *follower) locate(keys, ends []uint64, rows []byte) error {
	if f.calls == nil {
		return ErrNoTimes
	}
	var err error
	f.number = grow64(f.number, len(keys))
	for i := range f.others {
		f.others[i].steps = f.others[i].steps[:0]
	}
	if f.at >= 0 {
		loadColumn(f.number, rows, f.typ.RowBytes, Column{Offset: f.at, Width: 8})
	}
	switch {
	case f.own:
		f.take(keys, ends)
	case f.at >= 0:
		err = f.ask(keys[0])
	default:
		err = f.infer(keys)
	}
	if err != nil {
		return err
	}
	for _, c := range f.typ.Columns[1:] {
		if c.Transform == transformPlace || c.Transform == transformLate {
			if err := f.place(c, keys, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// zero returns whether all values of a column are known to be 0.
func (f *follower) zero(c Column) bool {
	switch c.Transform {
	case transformStep:
		return len(f.times(c).steps) == 0
	case transformBegin, transformEnd:
		return f.exact
	}
	return false
}

// take sets f.begin and f.end from the rows, for rows that begin and end with their calls. A row without a call gets the values that ask
// would give it.
func (f *follower) take(keys, ends []uint64) {
	f.begin, f.end = grow64(f.begin, len(keys)), grow64(f.end, len(keys))
	b, e := keys[0], keys[0]
	f.exact = true
	for i, n := range f.number {
		if n < f.calls.rows {
			b, e = keys[i], ends[i]
		} else {
			f.exact = false
		}
		f.begin[i], f.end[i] = b, e
	}
}

// infer finds the calls of rows that do not have the number, and sets f.begin and f.end. If Of has told the call, the end is not needed.
func (f *follower) infer(keys []uint64) (err error) {
	f.begin, f.end = grow64(f.begin, len(keys)), grow64(f.end, len(keys))
	b, e, told := keys[0], keys[0], len(f.told) == len(keys) // values of rows without a call, as in ask
	for i, t := range keys {
		var n uint64
		if told && f.told[i].call < f.calls.rows {
			n, b, e = f.told[i].call, f.told[i].begin, f.told[i].begin
		} else if n, err = f.calls.find(t); err == nil && n < f.calls.rows {
			b, e, err = f.calls.span(n)
		}
		if err != nil {
			return err
		}
		f.number[i], f.begin[i], f.end[i] = n, b, e
	}
	f.told = f.told[:0]
	return nil
}

func (f *follower) place(c Column, keys []uint64, rows []byte) (err error) {
	x := f.times(c)
	x.steps, x.place = grow64(x.steps, len(keys)), grow64(x.place, len(keys))
	loadColumn(x.place, rows, f.typ.RowBytes, c)
	z, stepped := uint64(f.calls.typ.PageRows), uint64(0)
	atBegin, atEnd, pieces := swapped(placeBegin, c), swapped(placeEnd, c), f.at == inferred && c.Offset > 0
	for i, t := range x.place {
		b, e, step := f.begin[i], f.end[i], uint64(0)
		if t == b && !pieces { // the most frequent case
			x.steps[i], x.place[i] = 0, atBegin
			continue
		}
		next := pieces && i+1 < len(keys) && keys[i+1] == t
		if n := f.number[i]; c.Offset > 0 && !next && t != b && t != e && t != Never && n < f.calls.rows {
			k, err := f.calls.find(t)
			if err != nil {
				return err
			}
			if k/z+1 >= n/z && k/z <= n/z+1 { // so that a reader needs at most three pages of calls
				if b, e, err = f.calls.span(k); err != nil {
					return err
				}
				step = zigzag8(k - n)
			}
		}
		x.steps[i] = step
		stepped |= step
		switch {
		case next:
			x.place[i] = placeNext
		case t == b:
			x.place[i] = atBegin
		case t == e:
			x.place[i] = atEnd
		case t == Never:
			x.place[i] = placeNever
		default:
			x.place[i] = placeAfter + zigzag8(t-b)
		}
	}
	if stepped == 0 {
		x.steps = x.steps[:0]
	}
	return nil
}

// swapped exchanges placeBegin and placeEnd for columns with transformLate.
func swapped(place uint64, c Column) uint64 {
	if c.Transform == transformLate && place <= placeEnd {
		return place ^ placeEnd
	}
	return place
}

// undo replaces the places of a column by the times.
func (f *follower) undo(v []uint64, c Column, keys []uint64) error {
	begin, end := f.begin, f.end
	if x := f.times(c); c.Offset > 0 && len(x.steps) > 0 {
		begin, end = x.begin, x.end
	}
	for i, place := range v {
		switch swapped(place, c) {
		case placeBegin:
			v[i] = begin[i]
		case placeEnd:
			v[i] = end[i]
		case placeNever:
			v[i] = Never
		case placeNext:
			if i+1 == len(v) || c.Offset == 0 {
				return corrupt("the time of a row after the last one")
			}
			v[i] = keys[i+1]
		default:
			v[i] = begin[i] + unzigzag(place-placeAfter)
		}
	}
	return nil
}

// noisy returns whether more than half of the first 256 values differ in their lowest byte.
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

// after sets f.end to the key of the next row, for each row.
func (f *follower) after(keys []uint64) {
	f.end = append(append(f.end[:0], keys[1:]...), keys[len(keys)-1])
}

// ask sets f.begin and f.end to begin and end of the calls in f.number. A row without a call gets those of the row before, or first if
// there is none. It does the same for the calls of other times.
func (f *follower) ask(first uint64) (err error) {
	f.begin, f.end = grow64(f.begin, len(f.number)), grow64(f.end, len(f.number))
	b, e, c := first, first, f.calls
	c.most = 0
	for _, n := range f.number {
		if n < c.rows {
			c.most = max(c.most, n)
		}
	}
	var stepping []*otherTimes
	for k := range f.others[:timesT] {
		x := &f.others[k]
		if len(x.steps) == 0 {
			continue
		}
		stepping = append(stepping, x)
		x.begin, x.end = grow64(x.begin, len(x.steps)), grow64(x.end, len(x.steps))
		for i, step := range x.steps {
			if n := f.number[i] + unzigzag(step); n < c.rows {
				c.most = max(c.most, n)
			}
		}
	}
	for i, n := range f.number {
		if n < c.rows {
			if b, e, err = c.span(n); err != nil {
				return err
			}
		}
		f.begin[i], f.end[i] = b, e
		for _, x := range stepping { // in the same loop: calls are read in ascending order
			x.begin[i], x.end[i] = b, e
			if step := x.steps[i]; step != 0 {
				if x.begin[i], x.end[i], err = c.span(n + unzigzag(step)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// following decodes a following page of count rows into dst. calls are those of the location, nil if the type has none.
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
	size, before := uint64(le.Uint32(payload[16:])), uint64(le.Uint32(payload[20:]))
	if size+before > uint64(len(payload)-followHead) {
		return corrupt("first values of %d bytes and raw planes of %d in %d", before, size, len(payload))
	}
	firsts, raw := varint.Read(payload[followHead:][:before]), payload[followHead+before:][:size]
	cold, err := d.coldBlock(&f.typ, payload[followHead+before+size:], count)
	if err != nil {
		return err
	}
	if f.calls = calls; calls == nil && f.at != noCalls {
		return ErrNoTimes
	}
	d.keys, d.vals = grow64(d.keys, count), grow64(d.vals, count)
	keys, asked := d.keys, f.at == noCalls
	r := planeReader{cold: cold, raw: raw, n: count}
	for _, c := range f.typ.Columns[1:] {
		x, err := r.next(c.Width)
		if err != nil {
			return err
		}
		if c.Transform != transformStep && c.Offset != f.at && !asked {
			if err := f.ask(le.Uint64(payload)); err != nil {
				return err
			}
			asked = true
		}
		base, v := f.base(c, keys), d.vals
		same := base != nil && x.zero()
		if same {
			v = base
		} else {
			x.load(v)
			switch {
			case c.Transform == transformStep:
			case c.Transform == transformPlace || c.Transform == transformLate:
				if err := f.undo(v, c, keys); err != nil {
					return err
				}
			case base == nil:
				if c.Transform == TransformDelta {
					v[0] = firsts.Next()
				}
				d.undo(c, firstN)
			}
			if c.Transform == transformEnd || c.Transform == transformBegin || c.Transform == TransformMinusT {
				for i, x := range base {
					v[i] = x + unzigzag(v[i])
				}
			}
		}
		switch {
		case c.Transform == transformStep:
			of := f.times(c)
			if of.steps = of.steps[:0]; !x.zero() {
				of.steps = append(of.steps, v...)
			}
			continue
		case c.Offset == f.at:
			f.number = append(f.number[:0], v...)
			if f.at == inferred {
				continue
			}
		case c.Offset == 0:
			if keys = v; !same {
				d.keys, d.vals = d.vals, d.keys
			}
			if f.at == noCalls {
				f.after(keys)
			}
		}
		storeColumn(dst, v, t.RowBytes, c)
	}
	if err := r.end(); err != nil || !firsts.Done() {
		return cmp.Or(err, corrupt("first values after the last column"))
	}
	if f.at != noCalls && crc32.Checksum(dst, castagnoli) != le.Uint32(payload[12:]) {
		return corrupt("rows differ from those that follow their calls")
	}
	return nil
}

// base returns the values that a column has if all its stored values are 0. nil stands for zeros.
func (f *follower) base(c Column, keys []uint64) []uint64 {
	switch c.Transform {
	case transformBegin:
		return f.begin
	case transformEnd:
		return f.end
	case TransformMinusT:
		return keys
	case transformPlace, transformLate:
		switch {
		case c.Offset > 0 && len(f.times(c).steps) > 0:
		case c.Transform == transformLate:
			return f.end
		default:
			return f.begin
		}
	}
	return nil
}

// callSpans gives begin and end of the calls of a location. It holds the last four pages that it was asked for.
type callSpans struct {
	typ      *Type
	rows     uint64 // number of calls
	pages    [4]spanPage
	in       *spanPage  // the page used last
	turn     int        // index of the page to be replaced next
	near     int        // index of the last result of find in its page
	most     uint64     // the last call that will be asked for
	src      pageSource // pages of calls, as they are stored
	index    []pageRef  // page table, of a segment only
	decoders *sync.Pool
	scratch  []byte
	readers  *callReaders // of the file
	p        Proc
	times    CallReader // the reader in use, nil: none yet
	once     bool       // only one page of rows is decoded
}

// spanPage has begin and end of the calls of one page.
type spanPage struct {
	first      uint64
	begin, end []uint64
	partly     bool // begin and end have only the first calls of the page, and ends of these after the last are unknown (Never)
}

// reuse sets c to spans but keeps the memory of c.
func (c *callSpans) reuse(spans callSpans) {
	spans.scratch = c.scratch
	for i := range c.pages {
		spans.pages[i].begin, spans.pages[i].end = c.pages[i].begin[:0], c.pages[i].end[:0]
	}
	*c = spans
}

// span returns begin and end of call n, or 0 if there is no such call.
func (c *callSpans) span(n uint64) (begin, end uint64, err error) {
	p := c.in
	if p == nil || n-p.first >= uint64(len(p.begin)) {
		if n >= c.rows {
			return 0, 0, nil
		}
		if p, err = c.page(n, false); err != nil {
			return 0, 0, err
		}
	}
	if begin, end = p.begin[n-p.first], p.end[n-p.first]; end == Never && p.partly {
		if p, err = c.page(n, true); err != nil {
			return 0, 0, err
		}
		end = p.end[n-p.first]
	}
	return begin, end, nil
}

// find returns the last call that began at or before t, or call 0 if there is none. It works for segments only.
func (c *callSpans) find(t uint64) (uint64, error) {
	if c.rows == 0 {
		return 0, nil
	}
	if p := c.in; p == nil || p.begin[0] > t || p.begin[len(p.begin)-1] <= t {
		k := max(sort.Search(len(c.index), func(i int) bool { return c.index[i].t0 > t }), 1) - 1
		if _, err := c.page(uint64(k)*uint64(c.typ.PageRows), false); err != nil {
			return 0, err
		}
	}
	p := c.in
	k := c.near // t ascends in most searches, so the call is this one or one of the next
	if k >= len(p.begin) || p.begin[k] > t {
		k = 0
	}
	for most := k + 16; k+1 < len(p.begin) && p.begin[k+1] <= t; k++ {
		if k == most {
			k += sort.Search(len(p.begin)-k, func(i int) bool { return p.begin[k+i] > t }) - 1
			break
		}
	}
	c.near = k
	return p.first + uint64(k), nil
}

// page returns the page of call n and makes it c.in. Unless whole is set, it may read a view only up to c.most if c.once is set.
func (c *callSpans) page(n uint64, whole bool) (*spanPage, error) {
	ord := n / uint64(c.typ.PageRows)
	first := ord * uint64(c.typ.PageRows)
	at := -1
	for i := range c.pages {
		if p := &c.pages[i]; len(p.begin) > 0 && p.first == first {
			if at = i; n-first < uint64(len(p.begin)) && !(whole && p.partly) {
				c.in = p
				return p, nil
			}
		}
	}
	if at < 0 {
		at, c.turn = c.turn, (c.turn+1)%len(c.pages)
	}
	p := &c.pages[at]
	c.in, p.first, p.begin, p.end, p.partly = nil, first, p.begin[:0], p.end[:0], !whole && c.once
	stored, err := c.src.payload(ord)
	if err == nil {
		if err = c.decode(p, &stored); err == nil && n-first >= uint64(len(p.begin)) {
			err = corrupt("call %d is not on its page", n)
		}
	}
	if err != nil {
		p.begin, p.end = p.begin[:0], p.end[:0]
		return nil, c.src.fail(err, ord)
	}
	c.in = p
	return p, nil
}

// decode decodes begins and ends only.
func (c *callSpans) decode(to *spanPage, p *payload) error {
	to.begin, to.end = grow64(to.begin, p.count), grow64(to.end, p.count)
	dec := c.decoders.Get().(*decoder)
	defer c.decoders.Put(dec)
	switch {
	case p.times != nil:
		return dec.spans(to.begin, to.end, &dec.viewerOf(c.typ).times, p.times)
	case p.codec == CodecPacked && isView(p.b):
		return c.view(to, p)
	}
	to.partly = false
	c.scratch = growBytes(c.scratch[:0], p.count*c.typ.RowBytes)
	if err := dec.columns(c.scratch, c.typ, p.codec, p.b, p.count, to.first, c.typ.columnsAt([]int{CallEnd})); err != nil {
		return err
	}
	loadColumn(to.begin, c.scratch, c.typ.RowBytes, c.typ.Columns[0])
	loadColumn(to.end, c.scratch, c.typ.RowBytes, c.typ.Columns[1])
	return nil
}

// spans decodes the times that are next to a view in a segment.
func (d *decoder) spans(begin, end []uint64, t *Type, times []byte) error {
	kb, size, err := parseKeyBlock(times, len(begin))
	if err != nil {
		return err
	}
	cold, err := d.coldBlock(t, times[size:], len(begin))
	if err == nil {
		var c packedColumn
		if c, err = (&planeReader{cold: cold, n: len(begin)}).next(8); err == nil {
			c.load(end)
		}
	}
	kb.load(begin)
	for i, x := range end {
		end[i] = begin[i] + unzigzag(x)
	}
	return err
}

// view reads the times of a view from the call graph.
func (c *callSpans) view(to *spanPage, p *payload) error {
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
	if to.partly = to.partly && c.most-to.first < n-1; to.partly {
		n = c.most - to.first + 1
		to.begin, to.end = to.begin[:n], to.end[:n]
	}
	if err := c.times.Read(w.event, w.first, to.begin, to.end); err != nil {
		return fmt.Errorf("times from the call graph: %w", err)
	}
	for _, l := range w.ends {
		if uint64(l.slot) < n {
			to.end[l.slot] = to.begin[l.slot] + l.end
		}
	}
	return nil
}

// close gives the reader of calls back to the file.
func (c *callSpans) close() {
	if c.times != nil {
		c.readers.give(c.p, c.times)
	}
	c.times = nil
}

// storedPages gives the pages of an array in a file as they are stored, without decoding views and following pages.
type storedPages struct{ fileSource }

func (s *storedPages) payload(ord uint64) (payload, error) {
	pg, _, _, _, err := s.stored(ord)
	if err != nil {
		return payload{}, err
	}
	return payload{b: pg.bytes, codec: pg.codec, count: int(pg.count)}, nil
}

// calls returns the spans of the location's calls, for pages that follow them. ahead is the number of bytes to read ahead; 0: one page of
// calls at a time.
func (a *pages) calls(ahead int64) (*callSpans, error) {
	if a.f.dir == nil { // a salvaged file has neither a directory nor a call graph
		return nil, ErrNoTimes
	}
	of, err := a.f.array(a.proc, TypeCall, a.cost)
	if err != nil {
		return nil, err
	}
	return &callSpans{typ: of.typ, rows: of.Len(), src: &storedPages{fileSource{a: of, ahead: ahead}}, decoders: &a.f.decoders, readers: &a.f.times, p: a.proc, once: ahead == 0}, nil
}

// Of sets the call of the newest row, and the begin of that call, for a type whose rows do not have the number of a call. So the builder
// need not find it. call is Never for a row without a call. Call it for all rows of an array, or for none.
func (b *ArrayBuilder) Of(call, begin uint64) {
	if b.follower != nil {
		b.follower.told = append(b.follower.told, toldCall{call, begin})
	}
}

// Follow says that rows leave their times to these calls. own says that each row with the number of a call begins and ends with it, so that
// the builder need not read the call.
func (b *ArrayBuilder) Follow(tt *TypeTable, calls FinishedArray, own bool) {
	f := b.enc.follower(b.typ)
	if f == nil {
		return
	}
	f.own, f.exact, f.told = own && f.at >= 0, false, f.told[:0]
	spans := callSpans{typ: tt.Lookup(TypeCall), decoders: &segmentDecoders}
	if calls.Summary != nil {
		spans.rows, spans.src, spans.index = calls.Summary.rows, &segmentSource{a: calls}, calls.Summary.pages
	}
	if f.calls == nil {
		f.calls = &callSpans{}
	}
	f.calls.reuse(spans)
	b.follower = f
}
