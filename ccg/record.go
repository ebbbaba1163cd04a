package ccg

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// eventWords returns the words of e after checking that they are in the batch.
func eventWords(batch *trace.Batch, e *trace.Event) ([]uint64, error) {
	if uint64(e.Arg)+uint64(e.Len) > uint64(len(batch.Args)) || e.Flags&^eventFlags != 0 {
		return nil, malformed(e.Kind)
	}
	return batch.Args[e.Arg : e.Arg+e.Len], nil
}

func malformed(k trace.Kind) error { return fmt.Errorf("%s: %w", k, ErrBatch) }

// appendRecord appends an Event leaf.
func (b *Builder) appendRecord(batch *trace.Batch, e *trace.Event, region uint32) error {
	id, err := b.record(batch, e, region)
	if err != nil {
		return err
	}
	return b.appendNode(id)
}

// record returns the Event leaf of any record, in a region, but an enter or the leave of the top frame.
func (b *Builder) record(batch *trace.Batch, e *trace.Event, region uint32) (uint32, error) {
	w, err := eventWords(batch, e)
	if err != nil {
		return 0, err
	}
	if e.Flags&trace.Estimated != 0 {
		return 0, malformed(e.Kind)
	}
	words := append(b.words[:0], classEvent|uint64(e.Kind)<<wordKind|uint64(e.Flags)<<wordFlags, uint64(region))
	if e.Kind == trace.Leave {
		words = append(words, uint64(e.Ref)) // its only field, kept outside the words
	} else if words, w, err = b.fields(words, w, e); err != nil {
		return 0, err
	}
	if e.Flags != 0 || len(w) != 0 {
		if words, err = b.tail(words, w, e.Flags); err != nil {
			return 0, err
		}
	}
	b.words = words
	recent := b.recent.at(words)
	if slices.Equal(recent.words[:recent.n], words) {
		return recent.id, nil
	}
	t, _, err := b.tuples.intern(words)
	if err != nil {
		return 0, err
	}
	id, err := b.leaf(kindEvent, t)
	if err == nil {
		recent.set(words, id)
	}
	return id, err
}

// recentRecords find the node of a record that was met lately without the index
// of tuples. What they hold decides the time, not the result.
type recentRecords [1024]recentRecord

// recentRecord is a cache line: the words of a tuple and its node.
type recentRecord struct {
	id, n uint32 // node, number of words; both 0 if the place is free
	words [7]uint64
}

// at returns the only place where a tuple may be.
func (r *recentRecords) at(words []uint64) *recentRecord {
	h := uint64(0)
	for _, w := range words {
		h = bits.RotateLeft64(h, 9) ^ w
	}
	return &r[h*factors[0]>>54]
}

func (r *recentRecord) set(words []uint64, id uint32) {
	if len(words) <= len(r.words) {
		r.id, r.n = id, uint32(copy(r.words[:], words))
	}
}

// fields takes the fields and the list of a record apart: hard words go to dst,
// values to the stream. It returns the words after them.
func (b *Builder) fields(dst, w []uint64, e *trace.Event) (words, rest []uint64, err error) {
	r := &recipes[e.Kind]
	n := len(r.places)
	if len(w) < n {
		return dst, nil, malformed(e.Kind)
	}
	values := b.values
	for i, v := range w[:n] {
		switch p := r.places[i]; p {
		case trace.Hard:
			dst = append(dst, v)
		case trace.Rank:
			if v > trace.Undefined || w[r.comm] > trace.Undefined {
				return dst, nil, fmt.Errorf("%s: rank %d in communicator %d: %w", e.Kind, v, w[r.comm], ErrBatch)
			}
			dst = append(dst, b.places.at(uint32(w[r.comm]), r.window).encode(relative, v))
		case trace.Number:
			if r.signed[i] {
				v = column.ZigZag(int64(v))
			}
			values = appendVarint(values, v)
		case trace.FromStamp:
			values = appendVarint(values, column.ZigZag(int64(v-uint64(e.Time))))
		default:
			word, far := b.history.identifier(p, v)
			if far {
				values = appendVarint(values, v)
			}
			dst = append(dst, word)
		}
	}
	b.values = values
	if r.list == trace.NoList {
		return dst, w[n:], nil
	}
	return b.listWords(dst, r.list, w[:n], w[n:], e.Kind)
}

// listWords takes the list after the fields apart; it returns the words after
// it.
func (b *Builder) listWords(dst []uint64, l trace.List, fields, w []uint64, k trace.Kind) (words, rest []uint64, err error) {
	n := fields[len(fields)-1]
	switch l {
	case trace.MetricList:
		if n > uint64(len(w))/2 {
			return dst, nil, fmt.Errorf("%s of %d values: %w", k, n, ErrBatch)
		}
		c := &b.history.counters
		c.use(uint32(fields[0]), int(n))
		for i := range int(n) {
			t, v := w[2*i], w[2*i+1]
			dst = append(dst, t)
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
		return dst, w[2*n:], nil
	case trace.StringList:
		if n > uint64(len(w)) {
			return dst, nil, fmt.Errorf("%s of %d strings: %w", k, n, ErrBatch)
		}
		dst = append(dst, w[:n]...)
		return dst, w[n:], nil
	}
	if n > maxSurplus || (n+7)/8 > uint64(len(w)) {
		return dst, nil, fmt.Errorf("%s of %d bytes: %w", k, n, ErrBatch)
	}
	n = (n + 7) / 8
	b.bytes(w[:n])
	return dst, w[n:], nil
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
