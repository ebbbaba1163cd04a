package match

import (
	"cmp"
	"io"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/xtf"
)

// Of a location runBlocks blocks of entries of runChannels channels are in memory at most, those of slabBlocks in one piece. A channel
// whose operations do not complete in the order of their posting has runMixed of them at most.
const (
	runBlocks   = 1 << 16
	runChannels = 1 << 14
	slabBlocks  = 1 << 8
	runMixed    = 1 << 16
)

// runChannel is a channel of the run in progress.
type runChannel struct {
	Key
	open          block     // the newest one
	last          Operation // in it
	first, newest uint32    // numbers of blocks
	follow        uint32    // number of the channel that was used after this one last
	n             uint64    // operations
	posting       uint64    // greatest
	mixed         bool      // operations did not complete in the order of their posting
}

// Entries orders the channel entries of a location: it deals the operations of a run to their channels, and merges all runs.
//
// Memory: runBlocks blocks (about 20 operations each, but for the last one of a channel), runMixed operations, 200 bytes for each channel
// of a run; to merge runs see mergeEntries.
type Entries struct {
	p        uint32
	scratch  func() Scratch
	slabs    [][]byte // of blocks
	next     []uint32 // the block after each one in its channel
	channels []runChannel
	numbers  map[Key]uint32
	last     uint32 // channel
	runs     []Scratch
	rows     Stream // for its memory
}

// order is that in a channel: that of postings, and of what matchLocks makes, which releases of other processes share.
func (o *Operation) order(x *Operation) int {
	return cmp.Or(cmp.Compare(o.Posting, x.Posting), cmp.Compare(o.Bytes, x.Bytes), cmp.Compare(o.Row, x.Row))
}

// Reset prepares the entries of another location in the memory of those before.
func (r *Entries) Reset(p uint32, scratch func() Scratch) {
	r.p, r.scratch, r.runs = p, scratch, nil
	r.empty()
}

func (r *Entries) empty() {
	r.next, r.channels, r.last = r.next[:0], r.channels[:0], 0
	if clear(r.numbers); r.numbers == nil {
		r.numbers = map[Key]uint32{}
	}
}

// Add adds an operation, which has ended, to a channel.
func (r *Entries) Add(k Key, o *Operation) error {
	c := r.channel(k)
	late := c.n > 0 && o.Posting <= c.posting
	if late || c.open == nil || c.open.full() {
		if mixed := late || c.mixed; len(r.next) == runBlocks || len(r.channels) > runChannels || mixed && c.n >= runMixed {
			if err := r.endRun(); err != nil {
				return err
			}
			c = r.channel(k)
		} else {
			c.mixed = mixed
		}
		if c.open == nil || c.open.full() {
			r.extend(c)
		}
	}
	c.open = c.open.add(o, &c.last)
	c.posting = max(c.posting, o.Posting)
	c.n++
	return nil
}

func (r *Entries) extend(c *runChannel) {
	b := uint32(len(r.next))
	if len(r.slabs)*slabBlocks == int(b) {
		r.slabs = append(r.slabs, make([]byte, slabBlocks*blockBytes))
	}
	if c.n == 0 {
		c.first = b
	} else {
		r.next[c.newest] = b
	}
	c.newest, r.next = b, append(r.next, 0)
	c.open, c.last = beginBlock(r.block(b), &c.Key, r.p), noOperation
}

func (r *Entries) block(i uint32) block {
	at := i % slabBlocks * blockBytes
	return r.slabs[i/slabBlocks][at : at+blockBytes : at+blockBytes]
}

func (r *Entries) channel(k Key) *runChannel {
	if len(r.channels) > 0 {
		if n := r.channels[r.last].follow; r.channels[n].Key == k {
			r.last = n
			return &r.channels[n]
		}
	}
	n, ok := r.numbers[k]
	if !ok {
		n = uint32(len(r.channels))
		r.numbers[k] = n
		r.channels = append(r.channels, runChannel{Key: k})
	}
	r.channels[r.last].follow, r.last = n, n
	return &r.channels[n]
}

// sorted writes the entries since the last run in order.
func (r *Entries) sorted(w *entryWriter) error {
	slices.SortFunc(r.channels, func(a, b runChannel) int { return a.compare(&b.Key) })
	for i := range r.channels {
		c := &r.channels[i]
		var list []Operation // of a mixed one
		for k, at := uint64(0), c.first; k < c.n; at = r.next[at] {
			b := r.block(at)
			b = b[:b.size()]
			k += b.operations()
			if c.mixed {
				b.each(func(o *Operation) { list = append(list, *o) })
			} else if err := w.write(b); err != nil {
				return err
			}
		}
		slices.SortFunc(list, func(a, b Operation) int { return a.order(&b) })
		for k := range list {
			if err := w.add(&entry{c.Key, r.p, list[k]}); err != nil {
				return err
			}
		}
	}
	r.empty()
	return nil
}

// endRun stores the entries since the last run.
func (r *Entries) endRun() error {
	run := r.scratch()
	r.runs = append(r.runs, run)
	w := entryWriter{Stream: Stream{sink: run}}
	return cmp.Or(r.sorted(&w), w.flush())
}

// Write writes all entries in order to a sink, with the channels that they make, and returns the table of their peers. It forgets them.
func (r *Entries) Write(sink xtf.Sink, out ChannelOutputs) ([]PeerRange, error) {
	w := entryWriter{Stream: r.rows.To(sink), out: out}
	err := cmp.Or(r.each(&w), w.flush())
	w.endChannel()
	r.rows.rows = w.Stream.rows
	return w.peers, err
}

// each writes all entries in order, and forgets them.
func (r *Entries) each(w *entryWriter) error {
	if len(r.runs) == 0 {
		return r.sorted(w)
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
	var streams []io.ReaderAt
	for _, s := range r.runs {
		streams = append(streams, s)
	}
	return mergeEntries(streams, func(a, b *entry) int {
		return cmp.Or(a.compare(&b.Key), a.order(&b.Operation))
	}, w.add)
}

// mergedBytes is about how much of all streams is in memory while they are merged.
const mergedBytes = 2 << 20

// mergeEntries calls f for the entries of several streams in order, which each of them has.
func mergeEntries(streams []io.ReaderAt, compare func(a, b *entry) int, f func(e *entry) error) error {
	var heads []*cursor // with entries left, by the next one
	insert := func(c *cursor) error {
		e, err := c.peek()
		if e == nil {
			return err
		}
		i := sort.Search(len(heads), func(i int) bool { return compare(&heads[i].e, e) > 0 })
		heads = slices.Insert(heads, i, c)
		return nil
	}
	for _, s := range streams {
		c := newCursor(s, 0, xtf.Never, make([]byte, min(cursorBytes, max(2*blockBytes, mergedBytes/len(streams)))))
		if err := insert(&c); err != nil {
			return err
		}
	}
	var e entry // f may change it
	for len(heads) > 0 {
		c := heads[0]
		e = c.e
		if err := f(&e); err != nil {
			return err
		}
		c.take()
		next, err := c.peek()
		if err != nil {
			return err
		}
		if next != nil && (len(heads) == 1 || compare(next, &heads[1].e) < 0) {
			continue
		}
		heads = slices.Delete(heads, 0, 1)
		if err := insert(c); err != nil {
			return err
		}
	}
	return nil
}
