package ccg

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/column"
	"github.com/coppice-hpc/coppice/trace"
)

// eventWords returns the words of e after checking that they are in the batch.
func eventWords(batch *trace.Batch, e *trace.Event) ([]uint64, error) {
	if uint64(e.Arg)+uint64(e.Len) > uint64(len(batch.Args)) || e.Flags&^eventFlags != 0 {
		return nil, fmt.Errorf("%s: %w", e.Kind, ErrBatch)
	}
	return batch.Args[e.Arg : e.Arg+e.Len], nil
}

// record appends an Event leaf: any record but an enter, or the leave of the top
// frame.
func (b *Builder) record(batch *trace.Batch, e *trace.Event) error {
	w, err := eventWords(batch, e)
	if err != nil {
		return err
	}
	top := &b.frames[len(b.frames)-1]
	b.words = append(b.words[:0], classEvent|uint64(e.Kind)<<wordKind|uint64(e.Flags)<<wordFlags, uint64(top.region))
	if e.Kind == trace.Leave || e.Kind == trace.CallingContextLeave {
		b.problem(trace.DiagStrayLeave, b.events, "the innermost open call is of region", top.region)
	}
	if e.Kind == trace.Leave {
		b.words = append(b.words, uint64(e.Ref)) // its only field, kept outside the words
	} else if w, err = b.fields(w, e); err != nil {
		return err
	}
	if b.words, err = b.tail(b.words, w, e.Flags); err != nil {
		return err
	}
	t, _, err := b.tuples.intern(b.words)
	if err != nil {
		return err
	}
	return b.appendLeaf(kindEvent, t)
}

// fields takes the fields and the list of a record apart; it returns the words
// behind them.
func (b *Builder) fields(w []uint64, e *trace.Event) ([]uint64, error) {
	r := &recipes[e.Kind]
	n := len(r.places)
	if len(w) < n {
		return nil, fmt.Errorf("%s: %w", e.Kind, ErrBatch)
	}
	for i, p := range r.places {
		v := w[i]
		switch p {
		case trace.Hard:
			b.words = append(b.words, v)
		case trace.Rank:
			if v > trace.Undefined || w[r.comm] > trace.Undefined {
				return nil, fmt.Errorf("%s: rank %d in communicator %d: %w", e.Kind, v, w[r.comm], ErrBatch)
			}
			b.words = append(b.words, b.places.at(uint32(w[r.comm]), r.window).encode(relative, v))
		case trace.Number:
			if r.signed[i] {
				v = column.ZigZag(int64(v))
			}
			b.values = appendVarint(b.values, v)
		case trace.FromStamp:
			b.values = appendVarint(b.values, column.ZigZag(int64(v-uint64(e.Time))))
		default:
			b.identifier(p, v)
		}
	}
	if r.list == trace.NoList {
		return w[n:], nil
	}
	return b.listWords(r.list, w[:n], w[n:], e.Kind)
}

// identifier appends the tuple word of an id in flight.
func (b *Builder) identifier(p trace.Place, id uint64) {
	f, posts := family(p)
	var word uint64
	var far bool
	if posts {
		word, far = b.history.families[f].post(id)
	} else {
		word, far = b.history.families[f].use(id)
	}
	b.words = append(b.words, word)
	if far {
		b.values = appendVarint(b.values, id)
	}
}

// listWords appends the list behind the fields; it returns the words behind it.
func (b *Builder) listWords(l trace.List, fields, w []uint64, k trace.Kind) ([]uint64, error) {
	n := fields[len(fields)-1]
	switch l {
	case trace.MetricList:
		if n > uint64(len(w))/2 {
			return nil, fmt.Errorf("%s of %d values: %w", k, n, ErrBatch)
		}
		c := &b.history.counters
		c.use(uint32(fields[0]), int(n))
		for i := range int(n) {
			t, v := w[2*i], w[2*i+1]
			b.words = append(b.words, t)
			last := c.vals[i]
			c.vals[i] = v
			switch c.transform(i, trace.ValueType(t)) {
			case zigZag:
				v = column.ZigZag(int64(v))
			case increment:
				v = column.ZigZag(int64(v - last))
			case xorLast:
				v ^= last
			}
			b.values = appendVarint(b.values, v)
		}
		return w[2*n:], nil
	case trace.StringList:
		if n > uint64(len(w)) {
			return nil, fmt.Errorf("%s of %d strings: %w", k, n, ErrBatch)
		}
		b.words = append(b.words, w[:n]...)
		return w[n:], nil
	}
	if n > maxSurplus || (n+7)/8 > uint64(len(w)) {
		return nil, fmt.Errorf("%s of %d bytes: %w", k, n, ErrBatch)
	}
	n = (n + 7) / 8
	b.bytes(w[:n])
	return w[n:], nil
}

func (b *Builder) bytes(w []uint64) {
	for _, x := range w {
		b.payload = binary.LittleEndian.AppendUint64(b.payload, x)
	}
}

// tail takes attributes and surplus apart: hard words go to dst, values to the
// streams. All of w must be used up.
func (b *Builder) tail(dst, w []uint64, flags uint8) ([]uint64, error) {
	if flags&trace.HasAttributes != 0 {
		if len(w) == 0 || w[0] > maxAttributes || 2*w[0] > uint64(len(w)-1) {
			return dst, fmt.Errorf("attribute list: %w", ErrBatch)
		}
		n := w[0]
		dst = append(dst, n)
		for i := range n {
			word, v := w[1+2*i], w[2+2*i]
			dst = append(dst, word)
			if attributeIsHard(word) {
				dst = append(dst, v)
			} else {
				b.values = appendVarint(b.values, v)
			}
		}
		w = w[1+2*n:]
	}
	if flags&trace.HasSurplus != 0 {
		if len(w) == 0 || w[0] > maxSurplus || (w[0]+7)/8 > uint64(len(w)-1) {
			return dst, fmt.Errorf("surplus bytes: %w", ErrBatch)
		}
		dst = append(dst, w[0])
		n := (w[0] + 7) / 8
		b.bytes(w[1 : 1+n])
		w = w[1+n:]
	}
	if len(w) != 0 {
		return dst, fmt.Errorf("%d words more than the record has: %w", len(w), ErrBatch)
	}
	return dst, nil
}

// problem counts something odd about an event; the text is made for the first
// few only.
func (b *Builder) problem(code trace.Code, event uint64, what string, region uint32) {
	d := trace.Diagnostic{Code: code, Time: b.last, Event: event}
	if b.diags.Count(code) < 16 {
		d.Detail = fmt.Sprintf("location %d: %s %d", b.p, what, region)
	}
	b.diags.Add(d)
}
