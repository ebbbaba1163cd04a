package otf2

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// progress tells how a decoding step ended.
type progress uint8

const (
	oneEvent progress = iota // an event was appended
	needMore                 // the window ends before the record does
	atEnd                    // the chunk is over
)

const noMark = 0xFF

// step decodes any record: items up to and including one event. It is the
// careful twin of fast.
func (d *decoder) step(b *trace.Batch) progress {
	c := cursor{b: d.buf[:d.end], pos: d.pos, big: d.big}
	for {
		id := c.u8()
		switch {
		case c.state != fine:
			return d.outOfData()
		case id >= firstRecord:
			return d.event(b, &c, trace.Kind(id))
		case id == idTime:
			raw := c.raw64()
			if c.state != fine {
				return d.outOfData()
			}
			d.stamp(raw)
		case id == idAttributes:
			n := c.length()
			if c.state == fine {
				list := cursor{b: c.take(n), big: d.big}
				d.attributes(&list)
				c.state = list.state
			}
			if c.state != fine {
				return d.stopped(&c, "attribute list")
			}
		case id == endOfChunk || id == endOfFile:
			d.mark = id
			if d.listed {
				d.corrupt("attribute list without an event")
			}
			return atEnd
		default:
			return d.corrupt(fmt.Sprintf("control byte %#x where a record should be", id))
		}
		d.pos = c.pos
	}
}

// stopped decides why a cursor stopped: more data are needed, or there is damage.
func (d *decoder) stopped(c *cursor, what string) progress {
	if c.state == short {
		return d.outOfData()
	}
	return d.corrupt(what + " contradicts the format")
}

func (d *decoder) outOfData() progress {
	switch {
	case !d.final:
		return needMore
	case d.last:
		d.report.add(trace.DiagTruncated, d.now, d.number, 0, "")
		return atEnd
	}
	return d.corrupt("the chunk has no end mark or a record crosses its end")
}

func (d *decoder) corrupt(what string) progress {
	d.report.add(trace.DiagCorrupt, d.now, d.number, 0, what)
	return atEnd
}

// stamp takes a new raw time. One before its predecessor, which only damaged files
// have, is raised to it, and one after the start of the next chunk lowered to that.
func (d *decoder) stamp(raw uint64) {
	d.iv = d.loc.clock.at(raw)
	t := d.iv.correct(raw)
	d.timed = true
	switch {
	case t < d.now:
		d.report.add(trace.DiagTimeBackwards, t, d.number, uint64(d.now-t), "")
		return
	case t > d.high:
		d.report.add(trace.DiagTimeBackwards, t, d.number, uint64(t-d.high), "later than the start of the next chunk")
		t = d.high
	}
	d.now = t
}

// attributes reads an attribute list for the next event.
func (d *decoder) attributes(c *cursor) {
	d.listed = true
	n := uint64(c.v32())
	if c.state == fine && n > uint64(c.left())/3 { // reference, type, value
		c.fail()
	}
	for range n {
		if c.state != fine {
			break
		}
		ref := uint32(d.loc.maps[trace.RefAttribute].at(uint64(c.v32())))
		t := trace.ValueType(c.u8())
		v := c.value(t)
		if r := t.Ref(); r != trace.RefNone {
			v = d.loc.maps[r].at(v)
		}
		d.pending = append(d.pending, uint64(t)<<32|uint64(ref), v)
	}
	switch {
	case c.state != fine:
		c.state = bad // the list's own length is contradicted
	case c.left() > 0:
		d.report.add(trace.DiagSurplus, d.now, d.number, 0, "bytes after an attribute list, left out")
	}
}

// event decodes the record of kind k by its table; c is after the id.
func (d *decoder) event(b *trace.Batch, c *cursor, k trace.Kind) progress {
	info := k.Info()
	payload := c
	if !info.Singleton {
		n := c.length()
		if c.state != fine {
			return d.stopped(c, "record length")
		}
		payload = &cursor{b: c.take(n), big: d.big}
	}
	if !d.timed {
		return d.corrupt("a record before the first time stamp of the chunk")
	}
	e := trace.Event{Time: d.now, Arg: uint32(len(b.Args)), Kind: k}
	switch {
	case k == trace.Enter || k == trace.Leave:
		e.Ref = uint32(d.loc.maps[trace.RefRegion].at(uint64(payload.v32())))
	case !k.Known():
		b.Args = appendBytes(b.Args, payload)
		d.report.add(trace.DiagUnknownRecord, d.now, d.number, 0, fmt.Sprintf("record kind %d", uint8(k)))
	default:
		b.Args = d.fields(b.Args, payload, info)
	}
	if payload.state != fine {
		b.Args = b.Args[:e.Arg]
		if payload == c {
			return d.stopped(c, "record")
		}
		return d.corrupt(fmt.Sprintf("%v record contradicts its length", k))
	}
	if d.listed {
		e.Flags |= trace.HasAttributes
		b.Args = append(b.Args, uint64(len(d.pending)/2))
		b.Args = append(b.Args, d.pending...)
		d.pending, d.listed = d.pending[:0], false
	}
	if payload != c && payload.left() > 0 {
		e.Flags |= trace.HasSurplus
		d.report.add(trace.DiagSurplus, d.now, d.number, 0, fmt.Sprintf("%d more bytes in a %v record", payload.left(), k))
		b.Args = appendBytes(b.Args, payload)
	}
	e.Len = uint32(len(b.Args)) - e.Arg
	b.Events = append(b.Events, e)
	d.pos = c.pos
	d.number++
	return oneEvent
}

// fields reads the fields and the list of a known record.
func (d *decoder) fields(args []uint64, c *cursor, info *trace.Info) []uint64 {
	var x uint64
	for i := range info.Fields {
		f := &info.Fields[i]
		switch f.Width {
		case trace.U8:
			x = uint64(c.u8())
		case trace.U32:
			x = uint64(c.v32())
		case trace.Stamp:
			x = uint64(d.loc.clock.correct(c.raw64()))
		default:
			x = c.v64()
		}
		if f.Ref != trace.RefNone {
			x = d.loc.maps[f.Ref].at(x)
		}
		args = append(args, x)
	}
	if info.List == trace.NoList || c.state != fine {
		return args
	}
	if x > uint64(c.left()) { // every element has a byte at least
		c.fail()
		return args
	}
	for range x {
		if info.List == trace.StringList {
			args = append(args, d.loc.maps[trace.RefString].at(uint64(c.v32())))
			continue
		}
		t := uint64(c.u8())
		args = append(args, t, c.v64())
	}
	return args
}

// appendBytes appends the number of bytes left and the bytes, 8 a word, first
// byte lowest.
func appendBytes(args []uint64, c *cursor) []uint64 {
	p := c.take(c.left())
	args = append(args, uint64(len(p)))
	for len(p) > 0 {
		var x uint64
		n := min(len(p), 8)
		for i, v := range p[:n] {
			x |= uint64(v) << (8 * i)
		}
		args = append(args, x)
		p = p[n:]
	}
	return args
}

// report collects the problems of one chunk: one entry for each code with the
// first occurrence, the number and the largest magnitude.
type report struct{ list []trace.Diagnostic }

func (r *report) add(code trace.Code, t trace.Time, event, worst uint64, detail string) {
	for i := range r.list {
		if x := &r.list[i]; x.Code == code {
			x.Count++
			x.Worst = max(x.Worst, worst)
			return
		}
	}
	r.list = append(r.list, trace.Diagnostic{Code: code, Time: t, Event: event, Count: 1, Worst: worst, Detail: detail})
}
