package build

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// eventWords returns the words of e. The error is ErrBatch if they are not in the batch.
func eventWords(batch *trace.Batch, e *trace.Event) ([]uint64, error) {
	if uint64(e.Arg)+uint64(e.Len) > uint64(len(batch.Args)) || e.Flags&^graph.EventFlags != 0 {
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

// record returns the Event leaf of a record in a region: of any event but an enter or the leave of the top frame.
func (b *Builder) record(batch *trace.Batch, e *trace.Event, region uint32) (uint32, error) {
	w, err := eventWords(batch, e)
	if err != nil {
		return 0, err
	}
	if e.Flags&trace.Estimated != 0 {
		return 0, malformed(e.Kind)
	}
	words := append(b.words[:0], graph.ClassEvent|uint64(e.Kind)<<graph.WordKind|uint64(e.Flags)<<graph.WordFlags, uint64(region))
	if e.Kind == trace.Leave {
		words = append(words, uint64(e.Ref)) // its only field, which is not one of its words
	} else if words, w, err = b.split.fields(words, w, e); err != nil {
		return 0, err
	}
	if e.Flags != 0 || len(w) != 0 {
		if words, err = b.split.tail(words, w, e.Flags); err != nil {
			return 0, err
		}
	}
	b.words = words
	recent := b.known.recent.at(words)
	if slices.Equal(recent.words[:recent.n], words) {
		return recent.id, nil
	}
	t, _, err := b.tuples.Intern(words)
	if err != nil {
		return 0, err
	}
	id, err := b.leaf(graph.KindEvent, t)
	if err == nil {
		recent.set(words, id)
	}
	return id, err
}

// recentRecords caches the nodes of records, so that they are found without the index of tuples. The cache changes the time only, not the
// result.
type recentRecords [1024]recentRecord

// recentRecord fills a cache line: the words of a tuple, and its node.
type recentRecord struct {
	id, n uint32 // both are 0 if the entry is free
	words [7]uint64
}

// at returns the only entry in which the tuple may be.
func (r *recentRecords) at(words []uint64) *recentRecord {
	h := uint64(0)
	for _, w := range words {
		h = bits.RotateLeft64(h, 9) ^ w
	}
	return &r[h*graph.Factors[0]>>54]
}

func (r *recentRecord) set(words []uint64, id uint32) {
	if len(words) <= len(r.words) {
		r.id, r.n = id, uint32(copy(r.words[:], words))
	}
}

// splitter separates the words of records: hard words go to the tuple, values and bytes to the streams.
type splitter struct {
	places  *graph.Places
	history graph.History
	values  []byte // a varint for each value, in the order of the stream
	payload []byte // the words of unknown records and surplus, 8 bytes each
}

func (s *splitter) reset(p trace.P) {
	s.places.Of(p)
	s.history.Reset()
	s.values, s.payload = s.values[:0], s.payload[:0]
}

// fields separates the fields and the list of a record: hard words are appended to dst, values to the stream. It returns dst and the words
// after the list.
func (s *splitter) fields(dst, w []uint64, e *trace.Event) (words, rest []uint64, err error) {
	r := &graph.Recipes[e.Kind]
	n := len(r.Places)
	if len(w) < n {
		return dst, nil, malformed(e.Kind)
	}
	values := s.values
	for i, v := range w[:n] {
		switch p := r.Places[i]; p {
		case trace.Hard:
			dst = append(dst, v)
		case trace.Rank:
			if v > trace.Undefined || w[r.Comm] > trace.Undefined {
				return dst, nil, fmt.Errorf("%s: rank %d in communicator %d: %w", e.Kind, v, w[r.Comm], ErrBatch)
			}
			dst = append(dst, s.places.At(uint32(w[r.Comm]), r.Window).Encode(graph.Relative, v))
		case trace.Number:
			if r.Signed[i] {
				v = column.ZigZag(int64(v))
			}
			values = appendVarint(values, v)
		case trace.FromStamp:
			values = appendVarint(values, column.ZigZag(int64(v-uint64(e.Time))))
		default:
			word, far := s.history.Identifier(p, v)
			if far {
				values = appendVarint(values, v)
			}
			dst = append(dst, word)
		}
	}
	s.values = values
	if r.List == trace.NoList {
		return dst, w[n:], nil
	}
	return s.listWords(dst, r.List, w[:n], w[n:], e.Kind)
}

// listWords separates the list after the fields in the same way.
func (s *splitter) listWords(dst []uint64, l trace.List, fields, w []uint64, k trace.Kind) (words, rest []uint64, err error) {
	n := fields[len(fields)-1]
	switch l {
	case trace.MetricList:
		if n > uint64(len(w))/2 {
			return dst, nil, fmt.Errorf("%s of %d values: %w", k, n, ErrBatch)
		}
		c := &s.history.Counters
		c.Use(uint32(fields[0]), int(n))
		for i := range int(n) {
			t, v := w[2*i], w[2*i+1]
			dst = append(dst, t)
			last := c.Vals[i]
			c.Vals[i] = v
			switch c.Transform(i, trace.ValueType(t)) {
			case graph.ZigZag:
				v = column.ZigZag(int64(v))
			case graph.Increment:
				v = column.ZigZag(int64(v - last))
			case graph.XorLast:
				v ^= last
			}
			s.values = appendVarint(s.values, v)
		}
		return dst, w[2*n:], nil
	case trace.StringList:
		if n > uint64(len(w)) {
			return dst, nil, fmt.Errorf("%s of %d strings: %w", k, n, ErrBatch)
		}
		dst = append(dst, w[:n]...)
		return dst, w[n:], nil
	}
	if n > graph.MaxSurplus || (n+7)/8 > uint64(len(w)) {
		return dst, nil, fmt.Errorf("%s of %d bytes: %w", k, n, ErrBatch)
	}
	n = (n + 7) / 8
	s.bytes(w[:n])
	return dst, w[n:], nil
}

func (s *splitter) bytes(w []uint64) {
	for _, x := range w {
		s.payload = binary.LittleEndian.AppendUint64(s.payload, x)
	}
}

// tail separates attributes and surplus in the same way. It returns an error if words are left.
func (s *splitter) tail(dst, w []uint64, flags uint8) ([]uint64, error) {
	if flags&trace.HasAttributes != 0 {
		if len(w) == 0 || w[0] > graph.MaxAttributes || 2*w[0] > uint64(len(w)-1) {
			return dst, fmt.Errorf("attribute list: %w", ErrBatch)
		}
		n := w[0]
		dst = append(dst, n)
		for i := range n {
			word, v := w[1+2*i], w[2+2*i]
			dst = append(dst, word)
			if graph.AttributeIsHard(word) {
				dst = append(dst, v)
			} else {
				s.values = appendVarint(s.values, v)
			}
		}
		w = w[1+2*n:]
	}
	if flags&trace.HasSurplus != 0 {
		if len(w) == 0 || w[0] > graph.MaxSurplus || (w[0]+7)/8 > uint64(len(w)-1) {
			return dst, fmt.Errorf("surplus bytes: %w", ErrBatch)
		}
		dst = append(dst, w[0])
		n := (w[0] + 7) / 8
		s.bytes(w[1 : 1+n])
		w = w[1+n:]
	}
	if len(w) != 0 {
		return dst, fmt.Errorf("%d words more than the record has: %w", len(w), ErrBatch)
	}
	return dst, nil
}
