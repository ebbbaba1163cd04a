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

// A following page has its first column among the others, as the differences from row to row; rows are found by number alone
// before it is unfolded. Times are left to the rows of calls: a message says in how far its T differs from the begin of its call, and End
// from its end, which is not at all in most; other times say which call begins or ends then. A CRC says whether the rows are those written.

// followKeys is in place of the width of the keys in the payload of a following page, earlierKeys in that of one of the earlier form,
// where only messages and collectives have calls, and of their times only T, End and Done say so.
const (
	followKeys  = 0xFD
	earlierKeys = 0xFE
)

// followHead is the bytes before its raw planes and its cold block: the first key u64, followKeys u8, 3 zero, CRC of the rows u32, 0
// without calls, bytes of the raw planes u32, bytes of the first values of columns of differences u32, which come before the raw planes.
const followHead = 24

// Transforms that no type has: of columns of a page that follows calls.
const (
	transformBegin Transform = 0xFE - iota // zig-zag of v minus the begin of the row's call
	transformEnd                           // ... minus its end, of types without calls minus the first column of the next row
	transformStep                          // zig-zag of the number of the call that a time is of minus that of the row's call
	transformPlace                         // where in that call the time is
	transformLate                          // the same with placeBegin and placeEnd exchanged
)

// Places of a time in a call; from placeAfter on, zig-zag of its difference from the begin.
const (
	placeBegin = iota
	placeEnd
	placeNever
	placeNext // the time is the first column of the next row
	placeAfter
)

// inferred is the offset of the number of the call of a row that does not have it: the last call that has begun at its T.
const inferred = -1

// followers are the types whose pages follow, with the offsets of the number of the call, inferred, or noCalls, of what its end answers
// for, and of the times that are of other calls. 0 is for none.
var followers = map[TypeID]struct{ call, end, done, post int }{
	TypeP2P:   {P2PCallN, P2PEnd, P2PDone, P2PPost},
	TypeColl:  {CollCallN, CollEnd, 0, CollPost},
	TypeChan:  {call: noCalls},
	TypeWait:  {call: inferred},
	TypeCPath: {call: inferred, done: 8},
}

const noCalls = -2

// follower makes and reads following pages of one type of rows.
type follower struct {
	typ    Type // the columns in the order of the page, the first one in the place of the keys
	early  bool // of the earlier form
	at     int  // offset of the number of the call, inferred, or noCalls
	own    bool // rows with a call begin and end with it
	exact  bool // ... and all on the page have one
	told   []toldCall
	number []uint64
	begin  []uint64 // by row, of its call
	end    []uint64
	others [timesOf]otherTimes
	calls  *callSpans // nil: none can be read
}

// toldCall is the call of a row and its begin, as Of has them.
type toldCall struct{ call, begin uint64 }

// otherTimes is a column of times that are of other calls than those of their rows, or T where the call is inferred.
type otherTimes struct {
	offset       int
	steps, place []uint64 // by row; no steps: of the same call
	begin, end   []uint64 // of the other call, where there is one
}

// Columns of times.
const (
	timesPost = iota
	timesDone
	timesT
	timesOf
)

// newFollower returns nil for types whose pages do not follow.
func newFollower(t *Type, earlier bool) *follower {
	x, ok := followers[t.ID]
	if !ok || t.Codec != CodecPacked || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Transform == TransformMinusSpan }) {
		return nil
	}
	f := &follower{typ: *t, early: earlier, at: x.call}
	if earlier && x.call == inferred {
		f.at = noCalls
	}
	f.typ.End, f.others = -1, [timesOf]otherTimes{{offset: x.post}, {offset: x.done}, {offset: 0}}
	f.typ.Columns = append(make([]Column, 0, len(t.Columns)+4), Column{}) // in the place of the keys
	if f.at != noCalls {
		f.typ.Columns = append(f.typ.Columns, Column{Offset: f.at, Width: 8, Transform: TransformDelta})
	}
	if !earlier {
		for _, offset := range [...]int{x.post, x.done} {
			if offset > 0 {
				f.typ.Columns = append(f.typ.Columns, Column{Offset: offset, Width: 8, Transform: transformStep})
			}
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
		case c.Offset == x.end, c.Offset == x.done && earlier:
			c.Transform = transformEnd
		case c.Offset == x.done:
			c.Transform = transformLate
		case c.Offset == x.post && !earlier:
			c.Transform = transformPlace
		}
		f.typ.Columns = append(f.typ.Columns, c)
	}
	return f
}

// follower returns one for a builder of the form of today, in the memory of one that is done where there is one.
func (e *Encoder) follower(t *Type) *follower {
	if f := e.followers[t]; f != nil {
		delete(e.followers, t)
		return f
	}
	return newFollower(t, false)
}

// isFollowing says whether the payload of a packed page is a following one.
func isFollowing(payload []byte) bool {
	return len(payload) >= followHead && (payload[8] == followKeys || payload[8] == earlierKeys)
}

// isEarlier says whether a following page is one of the earlier form.
func isEarlier(payload []byte) bool { return payload[8] == earlierKeys }

// followsCalls says whether a following page of a type needs rows of calls.
func followsCalls(id TypeID, payload []byte) bool {
	call := followers[id].call
	return call >= 0 || call == inferred && !isEarlier(payload)
}

// follow turns the rows of a page, whose keys are in e.keys, into a following page in e.out.
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

// copyMixed copies values and returns the bitwise or of them.
func copyMixed(dst, v []uint64) (mix uint64) {
	for i, x := range v {
		dst[i] = x
		mix |= x
	}
	return mix
}

// times are those of a column.
func (f *follower) times(c Column) *otherTimes {
	for i := range f.others[:timesT] {
		if f.others[i].offset == c.Offset {
			return &f.others[i]
		}
	}
	return &f.others[timesT]
}

// locate finds the calls of the rows of a page, and where other times are.
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

// zero says whether a column of a page is known to be 0 all along.
func (f *follower) zero(c Column) bool {
	switch c.Transform {
	case transformStep:
		return len(f.times(c).steps) == 0
	case transformBegin, transformEnd:
		return f.exact
	}
	return false
}

// take makes begin and end of calls from those of their rows, which are the same; of a row without a call as ask has them.
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

// infer finds the calls of rows that do not have their numbers, with begin and end; of calls that were told the end does not matter.
func (f *follower) infer(keys []uint64) (err error) {
	f.begin, f.end = grow64(f.begin, len(keys)), grow64(f.end, len(keys))
	b, e, told := keys[0], keys[0], len(f.told) == len(keys) // as ask has them
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
		if t == b && !pieces { // as most are
			x.steps[i], x.place[i] = 0, atBegin
			continue
		}
		next := pieces && i+1 < len(keys) && keys[i+1] == t
		if n := f.number[i]; c.Offset > 0 && !next && t != b && t != e && t != Never && n < f.calls.rows {
			k, err := f.calls.find(t)
			if err != nil {
				return err
			}
			if k/z+1 >= n/z && k/z <= n/z+1 { // no more than three pages of calls for a reader
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

// swapped exchanges begin and end of the places of a column that has them so.
func swapped(place uint64, c Column) uint64 {
	if c.Transform == transformLate && place <= placeEnd {
		return place ^ placeEnd
	}
	return place
}

// undo turns places of a column into the times.
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
		for _, x := range stepping { // at once: calls are read in their order
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

// following decodes a following page of count rows; calls are those of its location, nil where its type has none.
func (d *decoder) following(dst []byte, t *Type, payload []byte, count int, firstN uint64, calls *callSpans) error {
	form := followerForm{t.ID, isEarlier(payload)}
	f := d.followers[form]
	if f == nil {
		if f = newFollower(t, form.earlier); f == nil {
			return corrupt("a following page of type %d", t.ID)
		}
		if d.followers == nil {
			d.followers = map[followerForm]*follower{}
		}
		d.followers[form] = f
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
				if c.Transform == TransformDelta && !f.early {
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

// base is what the values of a column are where it has no planes, nil for 0.
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

// followerForm is a form of following pages.
type followerForm struct {
	id      TypeID
	earlier bool
}

// callSpans are begins and ends of the calls of a location: those of the last few pages that were asked for.
type callSpans struct {
	typ      *Type
	rows     uint64 // calls
	pages    [4]spanPage
	in       *spanPage  // in hand
	turn     int        // which of pages is next to go
	near     int        // where find found a call in its page
	most     uint64     // the last call that is asked for
	src      pageSource // of pages as they are stored
	index    []pageRef  // of a segment
	decoders *sync.Pool
	scratch  []byte
	readers  *callReaders // of the file
	p        Proc
	times    CallReader // in use
	once     bool       // for one page of rows
}

// spanPage is a page of calls.
type spanPage struct {
	first      uint64
	begin, end []uint64
	partly     bool // the calls after it are not in hand, and ends after these not known
}

// reuse makes c other spans, in the same memory.
func (c *callSpans) reuse(spans callSpans) {
	spans.scratch = c.scratch
	for i := range c.pages {
		spans.pages[i].begin, spans.pages[i].end = c.pages[i].begin[:0], c.pages[i].end[:0]
	}
	*c = spans
}

// span returns begin and end of a call; 0 for one that is not there.
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

// find returns the last call that has begun at an instant, the first one if there is none. Of a segment alone.
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
	k := c.near // times ascend in most searches: the call is this one or a few after it
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

// page takes the page of call n in hand; unless the whole is wanted, a view for one page of rows only up to the last call asked for.
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

// decode reads begins and ends alone.
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

// spans reads the times that a segment has of a view.
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

// view reads those of a view from the call graph.
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
	if a.f.dir == nil { // salvaged: no region can be looked up, and no graph be asked
		return nil, ErrNoTimes
	}
	of, err := a.f.array(a.proc, TypeCall, a.cost)
	if err != nil {
		return nil, err
	}
	return &callSpans{typ: of.typ, rows: of.Len(), src: &storedPages{fileSource{a: of, ahead: ahead}}, decoders: &a.f.decoders, readers: &a.f.times, p: a.proc, once: ahead == 0}, nil
}

// Of says which call the newest row, of a type without numbers of calls, is of, and when that begins: it need not be looked up. That
// of all rows is told, or of none; Never is for one that is of no call.
func (b *ArrayBuilder) Of(call, begin uint64) {
	if b.follower != nil {
		b.follower.told = append(b.follower.told, toldCall{call, begin})
	}
}

// Follow says to which calls rows of a builder leave their times. Rows that have the number of a call say by own that they begin and
// end with it: it need not be looked up.
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
