package stats

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// Of a location RunOperations operations at least are ordered at once; each takes OperationBytes.
const (
	RunOperations  = 1 << 18
	OperationBytes = 72
)

// The operations of a channel lie in blocks of blockOperations, those of slabOperations in one piece of memory.
const (
	blockOperations = 16
	slabOperations  = 1 << 12
)

// channelKey is what a channel is known by in one location, in the order of entries.
type channelKey struct{ peer, comm, tag, direction uint32 }

func (k channelKey) compare(o channelKey) int {
	return cmp.Or(cmp.Compare(k.peer, o.peer), cmp.Compare(k.comm, o.comm), cmp.Compare(k.tag, o.tag), cmp.Compare(k.direction, o.direction))
}

// operation is an entry but for its channel.
type operation struct {
	posting, row, t, end, bytes, post, stay uint64
	flags                                   uint32
}

// runChannel is a channel of the run in progress.
type runChannel struct {
	channelKey
	first, last uint32 // block
	n           uint32 // operations
	follow      uint32 // number of the channel that was used after this one last
	posting     uint64 // greatest
	mixed       bool   // operations did not complete in the order of their posting
}

// entryRuns orders the channel entries of a location: it deals the operations of a run to their channels, and merges all runs.
//
// Memory: OperationBytes for each of most operations, and to merge mergedEntries entries, or 16 for each run where these are more.
type entryRuns struct {
	p        uint32
	scratch  func() Scratch
	most     int           // operations of a run, if their channels fill their blocks
	slabs    [][]operation // of blocks
	next     []uint32      // the block after each one in its channel
	channels []runChannel
	numbers  map[channelKey]uint32
	last     uint32 // channel
	runs     []Scratch
}

// reset prepares the entries of another location in the memory of those before.
func (r *entryRuns) reset(p uint32, scratch func() Scratch, most int) {
	r.p, r.scratch, r.runs, r.most = p, scratch, nil, max(most, RunOperations)
	r.empty()
}

func (r *entryRuns) empty() {
	r.next, r.channels, r.last = r.next[:0], r.channels[:0], 0
	if clear(r.numbers); r.numbers == nil {
		r.numbers = map[channelKey]uint32{}
	}
}

// add adds an operation, which has ended, to a channel.
func (r *entryRuns) add(k channelKey, o *operation) error {
	if len(r.next) == r.most/blockOperations {
		if err := r.endRun(); err != nil {
			return err
		}
	}
	c := r.channel(k)
	if c.n%blockOperations == 0 {
		c.extend(r)
	}
	c.mixed = c.mixed || o.posting < c.posting
	c.posting = max(c.posting, o.posting)
	r.block(c.last)[c.n%blockOperations] = *o
	c.n++
	return nil
}

// extend gives the channel one more block.
func (c *runChannel) extend(r *entryRuns) {
	b := uint32(len(r.next))
	if len(r.slabs)*slabOperations == int(b)*blockOperations {
		r.slabs = append(r.slabs, make([]operation, slabOperations))
	}
	if c.n == 0 {
		c.first = b
	} else {
		r.next[c.last] = b
	}
	c.last, r.next = b, append(r.next, 0)
}

func (r *entryRuns) block(i uint32) []operation {
	const blocks = slabOperations / blockOperations
	at := i % blocks * blockOperations
	return r.slabs[i/blocks][at : at+blockOperations]
}

// channel returns a channel of the run.
func (r *entryRuns) channel(k channelKey) *runChannel {
	if len(r.channels) > 0 {
		if n := r.channels[r.last].follow; r.channels[n].channelKey == k {
			r.last = n
			return &r.channels[n]
		}
	}
	n, ok := r.numbers[k]
	if !ok {
		n = uint32(len(r.channels))
		r.numbers[k] = n
		r.channels = append(r.channels, runChannel{channelKey: k})
	}
	r.channels[r.last].follow, r.last = n, n
	return &r.channels[n]
}

// each calls f for the operations of a channel in the order of their posting.
func (c *runChannel) each(r *entryRuns, f func(o *operation) error) error {
	var list []*operation // of a mixed one
	for i, b := uint32(0), c.first; i < c.n; i, b = i+blockOperations, r.next[b] {
		block := r.block(b)[:min(c.n-i, blockOperations)]
		for k := range block {
			if c.mixed {
				list = append(list, &block[k])
			} else if err := f(&block[k]); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(list, func(a, b *operation) int { return cmp.Compare(a.posting, b.posting) })
	for _, o := range list {
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

// sorted calls f for the entries since the last run, encoded and in order.
func (r *entryRuns) sorted(f func(row []byte) error) error {
	slices.SortFunc(r.channels, func(a, b runChannel) int { return a.compare(b.channelKey) })
	var row [entryBytes]byte
	for i := range r.channels {
		c := &r.channels[i]
		err := c.each(r, func(o *operation) error {
			e := entry{
				peer: c.peer, comm: c.comm, tag: c.tag, direction: c.direction,
				posting: o.posting, row: o.row, t: o.t, end: o.end, bytes: o.bytes, post: o.post, p: r.p, flags: o.flags, stay: o.stay,
			}
			e.put(row[:])
			return f(row[:])
		})
		if err != nil {
			return err
		}
	}
	r.empty()
	return nil
}

// endRun stores the entries since the last run.
func (r *entryRuns) endRun() error {
	run := r.scratch()
	r.runs = append(r.runs, run)
	w := rowStream{sink: run}
	return cmp.Or(r.sorted(w.addRow), w.flush())
}

// each calls f for all entries in order, and forgets them.
func (r *entryRuns) each(f func(row []byte) error) error {
	if len(r.runs) == 0 {
		return r.sorted(f)
	}
	defer func() {
		for _, s := range r.runs {
			s.Drop()
		}
		r.runs = nil
	}()
	if len(r.next) > 0 {
		if err := r.endRun(); err != nil {
			return err
		}
	}
	streams := make([]stream, len(r.runs))
	for i, s := range r.runs {
		streams[i] = stream{data: s, peers: []PeerRange{{Count: uint64(s.Size() / entryBytes)}}}
	}
	return mergeEntries(streams, func(a, b []byte) int { return bytes.Compare(a[:entryKey], b[:entryKey]) }, f)
}

// mergedEntries is about how many entries of all streams are in memory while they are merged.
const mergedEntries = 1 << 15

// mergeEntries calls f for the entries of several streams in order, which each of them has.
func mergeEntries(streams []stream, compare func(a, b []byte) int, f func(row []byte) error) error {
	var heads []*cursor // with entries left, by the next one
	insert := func(c *cursor) error {
		row, err := c.peek()
		if row == nil {
			return err
		}
		i := sort.Search(len(heads), func(i int) bool { return compare(heads[i].buf, row) > 0 })
		heads = slices.Insert(heads, i, c)
		return nil
	}
	for _, s := range streams {
		c := newCursor(s.data, 0, s.entries(), make([]byte, min(cursorEntries, max(16, mergedEntries/len(streams)))*entryBytes))
		if err := insert(&c); err != nil {
			return err
		}
	}
	for len(heads) > 0 {
		c := heads[0]
		if err := f(c.buf[:entryBytes]); err != nil {
			return err
		}
		c.take()
		row, err := c.peek()
		if err != nil {
			return err
		}
		if row != nil && (len(heads) == 1 || compare(row, heads[1].buf) < 0) {
			continue
		}
		heads = slices.Delete(heads, 0, 1)
		if err := insert(c); err != nil {
			return err
		}
	}
	return nil
}
