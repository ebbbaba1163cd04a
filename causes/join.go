package causes

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// blame is how costs of one wait are dealt out on the location that was late.
type blame struct {
	p       trace.P // the late location
	waiter  trace.P
	index   uint64 // of the wait among the waiter's
	pattern uint32
	end     uint64 // of the wait
	since   uint64 // the synchronisation point before
	over    uint64 // own waits of p that were over at the end ...
	ended   uint64 // ... and the last ones of them, which ended since
	excess  [xtf.NumActivities]uint64
	places  []place // what p did more of than the waiter, by path and activity
	spots   []spot  // of all places
}

// place is a call path in an activity, and how much longer p was there.
type place struct {
	key    uint64
	weight uint64
	spots  int // number of intervals
}

// spot is an interval in which p was on a path.
type spot struct {
	node  uint32
	ticks uint64
}

// compare fills what the two vectors decide: late and waiting side since the pair
// synchronised, the late one with nodes, both in the order of their keys.
func (b *blame) compare(late, waiting []term) {
	var did, other [xtf.NumActivities]uint64
	b.places, b.spots = b.places[:0], b.spots[:0]
	for len(late) > 0 || len(waiting) > 0 {
		if len(late) == 0 || len(waiting) > 0 && waiting[0].key < late[0].key {
			other[waiting[0].activity()] += waiting[0].ticks
			waiting = waiting[1:]
			continue
		}
		key, first, sum := late[0].key, len(b.spots), uint64(0)
		for ; len(late) > 0 && late[0].key == key; late = late[1:] {
			sum += late[0].ticks
			b.spots = append(b.spots, spot{late[0].node, late[0].ticks})
		}
		x := key & 7
		did[x] += sum
		if len(waiting) > 0 && waiting[0].key == key {
			other[x] += waiting[0].ticks
			sum -= min(sum, waiting[0].ticks)
			waiting = waiting[1:]
		}
		if sum == 0 || x == uint64(xtf.ActivityWait) {
			b.spots = b.spots[:first]
			continue
		}
		b.places = append(b.places, place{key, sum, len(b.spots) - first})
	}
	for x := range b.excess {
		b.excess[x] = did[x] - min(did[x], other[x])
	}
}

// append encodes all but p.
func (b *blame) append(dst []byte) []byte {
	dst = varint.Append(dst, uint64(b.waiter), b.index, uint64(b.pattern), b.end, b.since, b.over, b.ended)
	for _, v := range b.excess {
		dst = binary.AppendUvarint(dst, v)
	}
	spots := b.spots
	for _, x := range b.places {
		own := spots[:x.spots]
		spots = spots[x.spots:]
		if b.excess[x.key&7] == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, x.key)
		dst = binary.AppendUvarint(dst, x.weight)
		dst = binary.AppendUvarint(dst, uint64(x.spots))
		for _, s := range own {
			dst = binary.AppendUvarint(dst, uint64(s.node))
			dst = binary.AppendUvarint(dst, s.ticks)
		}
	}
	return dst
}

// parse reads what append wrote.
func (b *blame) parse(src []byte) error {
	r := varint.Read(src)
	b.parseHead(&r)
	for x := range b.excess {
		b.excess[x] = r.Next()
	}
	b.places, b.spots = b.places[:0], b.spots[:0]
	for r.Len() > 0 {
		x := place{key: r.Next(), weight: r.Next(), spots: int(r.Next())}
		if x.spots < 0 || x.spots > r.Len() || x.key&7 >= uint64(xtf.NumActivities) {
			return errDamaged
		}
		for range x.spots {
			b.spots = append(b.spots, spot{uint32(r.Next()), r.Next()})
		}
		b.places = append(b.places, x)
	}
	return failure(&r)
}

func (b *blame) parseHead(r *varint.Reader) {
	b.waiter, b.index, b.pattern = trace.P(r.Next()), r.Next(), uint32(r.Next())
	b.end, b.since, b.over, b.ended = r.Next(), r.Next(), r.Next(), r.Next()
}

// join compares the vectors of both sides of every wait that a location of this
// rank is the cause of. What it finds is dealt out at once as far as the waits
// themselves go, and kept in order for the costs that later waits pass on.
func (d *delays) join() error {
	rows, err := d.index.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	late := forwards{src: d.late.scratch, end: d.late.size}
	var b blame
	var terms, others []term
	var record, blob []byte
	for d.late.size > 0 && (len(late.buf) > 0 || late.off < late.end) {
		var begin uint64
		if terms, begin, err = readLate(&late, &b, terms[:0]); err != nil {
			return err
		}
		if !rows.Next() {
			return fmt.Errorf("%w: nobody waits for location %d at %d (%v)", errDamaged, b.p, b.end, rows.Err())
		}
		if blob, err = d.vectorFor(&b, rows.Row(), blob); err != nil {
			return err
		}
		if others, err = parseTerms(others[:0], blob, false); err != nil {
			return err
		}
		b.compare(terms, others)
		if err := d.deal(&b, b.end-begin, false); err != nil {
			return err
		}
		for first := len(d.ends); first <= int(b.p-d.own.First); first++ {
			d.ends = append(d.ends, d.blames.size)
		}
		record = b.append(record[:0])
		if err := d.blames.appendEnded(record); err != nil {
			return err
		}
		d.ends[b.p-d.own.First] = d.blames.size
	}
	for len(d.ends) < d.own.Len() {
		d.ends = append(d.ends, d.blames.size)
	}
	if rows.Next() {
		return fmt.Errorf("%w: a vector that nobody asked for", errDamaged)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return d.blames.flush()
}

// A stored vector of the late side is, little-endian, its length u32, p, waiter,
// pattern u32, index, begin, end, since, over, ended u64, then terms with nodes.
const lateHead = 64

func appendLate(b []byte, s *step, over, ended uint64, terms []term) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, v := range [...]uint32{uint32(s.p), uint32(s.partner), s.pattern} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range [...]uint64{s.index, s.begin, s.end, s.since, over, ended} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = appendTerms(b, terms, true)
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-lateHead))
	return b
}

func readLate(r *forwards, b *blame, dst []term) (terms []term, begin uint64, err error) {
	h, err := r.bytes(lateHead)
	if err != nil {
		return nil, 0, err
	}
	le := binary.LittleEndian
	n := int(le.Uint32(h))
	b.p, b.waiter, b.pattern = trace.P(le.Uint32(h[4:])), trace.P(le.Uint32(h[8:])), le.Uint32(h[12:])
	b.index, begin, b.end = le.Uint64(h[16:]), le.Uint64(h[24:]), le.Uint64(h[32:])
	b.since, b.over, b.ended = le.Uint64(h[40:]), le.Uint64(h[48:]), le.Uint64(h[56:])
	body, err := r.bytes(n)
	if err != nil {
		return nil, 0, err
	}
	terms, err = parseTerms(dst, body, true)
	return terms, begin, err
}

// A vector of the waiting side travels with a head by which it is sorted,
// big-endian: p u32, end u64, waiter u32, index u64. Here a row of the index has
// it, and the place of the vector, little-endian: offset u64, length u32.
const (
	vectorKey  = 24
	indexBytes = 36
)

func appendVectorKey(b []byte, s *step) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(s.partner))
	b = binary.BigEndian.AppendUint64(b, s.end)
	b = binary.BigEndian.AppendUint32(b, uint32(s.p))
	return binary.BigEndian.AppendUint64(b, s.index)
}

// takeVector keeps a vector of the waiting side.
func (d *delays) takeVector(record []byte) error {
	if len(record) < vectorKey {
		return errDamaged
	}
	off, err := d.vectors.append(record[vectorKey:])
	if err != nil {
		return err
	}
	row := append(d.row[:0], record[:vectorKey]...)
	row = binary.LittleEndian.AppendUint64(row, uint64(off))
	row = binary.LittleEndian.AppendUint32(row, uint32(len(record)-vectorKey))
	return d.index.Add(row)
}

// vectorFor reads the vector that belongs to b.
func (d *delays) vectorFor(b *blame, row, buf []byte) ([]byte, error) {
	be := binary.BigEndian
	if trace.P(be.Uint32(row)) != b.p || be.Uint64(row[4:]) != b.end || trace.P(be.Uint32(row[12:])) != b.waiter || be.Uint64(row[16:]) != b.index {
		return nil, fmt.Errorf("%w: location %d has no vector of location %d at %d", errDamaged, b.p, b.waiter, b.end)
	}
	n := int(binary.LittleEndian.Uint32(row[vectorKey+8:]))
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	return buf, readFull(d.vectors.scratch, buf, int64(binary.LittleEndian.Uint64(row[vectorKey:])))
}
