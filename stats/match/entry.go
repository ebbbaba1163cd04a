package match

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/xtf"
)

// Key is a channel as one of its two locations sees it. Entries are sorted by its fields in this order.
type Key struct{ Peer, Comm, Tag, Direction uint32 }

func (k *Key) compare(o *Key) int {
	return cmp.Or(cmp.Compare(k.Peer, o.Peer), cmp.Compare(k.Comm, o.Comm), cmp.Compare(k.Tag, o.Tag), cmp.Compare(k.Direction, o.Direction))
}

// entry is an operation of a location, with its channel. Entries are sorted as the channels of the file are: (peer, communicator,
// tag, direction, posting).
type entry struct {
	Key
	p uint32
	Operation
}

// Operation is a send, a receive, a notice or a member of a collective operation, as the load of its location knows it: what
// matching needs and what its row has. A release of a lock also has its acquisition: End is the enter of that one's call, Post the
// instant from which the lock was held, Stay the row. Times are in ticks.
type Operation struct {
	Posting      uint64 // order of posting in the location's stream
	Row          uint64 // N of the row
	T, End       uint64 // T and End of the row; collectives: Post and End
	Bytes        uint64 // collectives: those sent
	Post         uint64 // Post of the row, see posted; collectives: operation<<32 | root
	Stay         uint64 // receives: number of the first stay in MPI after the posting, Never without a request; collectives: bytes received
	CallN        uint64
	Own          uint64 // collectives: T of the row; releases of locks: End of the row; others: T
	Flags        uint32 // see below
	Kind         uint32 // of the row, with xtf.P2PIncomplete for a send that ends later; collectives: flags without the operation
	Region, Path uint32
}

// posted returns when a receive was posted. Post of a receive after a probe is the probe's enter, but a probe does not post.
func (o *Operation) posted() uint64 {
	if o.Kind&xtf.P2PProbed != 0 {
		return o.T
	}
	return o.Post
}

// Flags of entries. The result of a message has the flags of both sides.
const (
	entryShared      uint32 = 1 << iota // several locations of the process use the channel
	EntryBlocking                       // a blocking send
	EntrySynchronous                    // a synchronous send, such as MPI_Ssend
	entryClock                          // the receive ended before the send began
	EntryTakes                          // a member of a collective that gets bytes
	entryPosted                         // the receive was posted when the send began
	EntryExclusive                      // the release of an exclusive lock
	entryCanceled                       // a canceled send, which matches nothing
)

// Entries are stored in blocks. A block has operations of one channel of one location:
//
//	block      peer u32 | communicator u32 | tag u32 | direction u32 | location u32 | operations u16 | bytes of them u16
//	operation  control u32 | posting | row | t | end | callN, and if control says so: bytes | post | stay | own, flags u32 | kind u32 | region u32 | path u32
//
// Integers are little-endian. Those of an operation, except the last four, are differences, mostly to the operation before it in the
// block, and take 1 to 8 bytes: 3 bits of control for each, lowest first, say how many. Its bits above say which optional fields follow.
const (
	blockBytes    = 512
	blockHead     = 24
	mostOperation = 4 + 9*8 + 4*4

	controlPost  = 1 << 29 // the post is that of the operation before
	controlMore  = 1 << 30
	controlWords = 1 << 31
)

// block is an encoded block.
type block []byte

// beginBlock begins a block in memory of blockBytes.
func beginBlock(b block, k *Key, p uint32) block {
	b = b[:blockHead]
	for i, v := range [...]uint32{k.Peer, k.Comm, k.Tag, k.Direction, p, 0} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

func (b block) key() Key {
	u := binary.LittleEndian.Uint32
	return Key{u(b), u(b[4:]), u(b[8:]), u(b[12:])}
}

func (b block) location() uint32   { return binary.LittleEndian.Uint32(b[16:]) }
func (b block) operations() uint64 { return uint64(binary.LittleEndian.Uint16(b[20:])) }

// size is that of the whole block.
func (b block) size() int { return blockHead + int(binary.LittleEndian.Uint16(b[22:])) }

// full reports whether another operation might not fit.
func (b block) full() bool { return len(b)+mostOperation > blockBytes }

// noOperation takes the place of the operation before the first one of a block.
var noOperation = Operation{Stay: xtf.Never}

// add appends o to a block that is not full. last is the operation before; add sets it to o.
func (b block) add(o, last *Operation) block {
	at := len(b)
	n := o.put(b[at:blockBytes], o.Posting-last.Posting, last)
	last.Posting = o.Posting
	binary.LittleEndian.PutUint32(b[20:], binary.LittleEndian.Uint32(b[20:])+uint32(n)<<16+1)
	return b[:at+n]
}

// put encodes o into p, which has room for mostOperation bytes, and returns the size. posting is the difference to the posting of
// the operation before, last. put then sets last to o, except its posting: field by field, as loads that are wider than the stores
// just before them stall.
func (o *Operation) put(p []byte, posting uint64, last *Operation) (n int) {
	_ = p[mostOperation-1]
	post, bytes, stay, own := o.T-o.Post, o.Bytes^last.Bytes, o.Stay-last.Stay, o.Own-o.T
	control := uint32(0)
	if o.Post == last.Post {
		post, control = 0, controlPost
	}
	next, code := putBytes(p, 4, posting)
	control |= code
	next, code = putBytes(p, next, o.Row-last.Row)
	control |= code << 3
	next, code = putBytes(p, next, o.T-last.T)
	control |= code << 6
	next, code = putBytes(p, next, o.End-o.T)
	control |= code << 9
	next, code = putBytes(p, next, o.CallN-last.CallN)
	control |= code << 12
	if bytes|post|stay|own != 0 {
		control |= controlMore
		next, code = putBytes(p, next, bytes)
		control |= code << 15
		next, code = putBytes(p, next, post)
		control |= code << 18
		next, code = putBytes(p, next, stay)
		control |= code << 21
		next, code = putBytes(p, next, own)
		control |= code << 24
	}
	if o.Flags != last.Flags || o.Kind != last.Kind || o.Region != last.Region || o.Path != last.Path {
		control |= controlWords
		for _, v := range [...]uint32{o.Flags, o.Kind, o.Region, o.Path} {
			binary.LittleEndian.PutUint32(p[next:], v)
			next += 4
		}
		last.Flags, last.Kind, last.Region, last.Path = o.Flags, o.Kind, o.Region, o.Path
	}
	last.Row, last.T, last.Bytes, last.Post, last.Stay, last.CallN = o.Row, o.T, o.Bytes, o.Post, o.Stay, o.CallN
	binary.LittleEndian.PutUint32(p, control)
	return next
}

// putBytes puts v at an offset of b in as few bytes as it needs, at least one. It returns the offset after them and their number less one.
func putBytes(b []byte, at int, v uint64) (next int, code uint32) {
	binary.LittleEndian.PutUint64(b[at:], v)
	n := (bits.Len64(v|1) - 1) / 8
	return at + n + 1, uint32(n)
}

// takeBytes is the inverse of putBytes, with the code in the lowest bits of control.
func takeBytes(b []byte, at int, control uint32) (next int, v uint64) {
	n := int(control & 7)
	return at + n + 1, binary.LittleEndian.Uint64(b[at:]) & (math.MaxUint64 >> (56 - 8*n))
}

// take decodes the operation at the start of b over o, the operation before it. It returns the size in b, 0 if b ends too early.
func (o *Operation) take(b []byte) int {
	left := len(b)
	if cap(b) < mostOperation {
		b = append(make([]byte, 0, mostOperation), b...)
	}
	b = b[:mostOperation]
	control := binary.LittleEndian.Uint32(b)
	next, v := takeBytes(b, 4, control)
	o.Posting += v
	next, v = takeBytes(b, next, control>>3)
	o.Row += v
	next, v = takeBytes(b, next, control>>6)
	o.T += v
	next, v = takeBytes(b, next, control>>9)
	o.End = o.T + v
	next, v = takeBytes(b, next, control>>12)
	o.CallN += v
	post := uint64(0)
	o.Own = o.T
	if control&controlMore != 0 {
		next, v = takeBytes(b, next, control>>15)
		o.Bytes ^= v
		next, post = takeBytes(b, next, control>>18)
		next, v = takeBytes(b, next, control>>21)
		o.Stay += v
		next, v = takeBytes(b, next, control>>24)
		o.Own += v
	}
	if control&controlPost == 0 {
		o.Post = o.T - post
	}
	if control&controlWords != 0 {
		u32 := binary.LittleEndian.Uint32
		o.Flags, o.Kind, o.Region, o.Path = u32(b[next:]), u32(b[next+4:]), u32(b[next+8:]), u32(b[next+12:])
		next += 16
	}
	if next > left {
		return 0
	}
	return next
}

// each calls f for the operations of a whole block.
func (b block) each(f func(o *Operation)) {
	o := noOperation
	for body := b[blockHead:]; len(body) > 0; {
		n := o.take(body)
		if n == 0 {
			return
		}
		f(&o)
		body = body[n:]
	}
}

// A run, the entries of a location in memory, has at most runBlocks blocks and runChannels channels. A channel whose operations
// do not complete in posting order has at most runMixed operations. Blocks are allocated slabBlocks at a time.
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
	last          Operation // the newest one in it
	first, newest uint32    // numbers of blocks
	follow        uint32    // number of the channel that the operation after this channel's newest one used: a guess for the next time
	n             uint64    // operations
	posting       uint64    // the greatest one
	mixed         bool      // operations did not complete in posting order
}

// Entries sorts the operations of a location by channel and posting. It collects them by channel; when a run is full it goes to
// storage, and Write merges all runs.
//
// Memory: runBlocks blocks (about 20 operations each, fewer in the last one of a channel), runMixed operations, and 200 bytes for
// each channel of a run; in Write that of mergeEntries.
type Entries struct {
	p        uint32
	scratch  func() Scratch
	slabs    [][]byte // of blocks
	next     []uint32 // the block after each one in its channel
	channels []runChannel
	numbers  map[Key]uint32 // of channels
	last     uint32         // channel of the newest operation
	runs     []Scratch
	rows     Stream // lends its memory to Write
}

// order compares operations of one channel: by posting, and in matchLocks, where releases can have equal ones, by process and row.
func (o *Operation) order(x *Operation) int {
	return cmp.Or(cmp.Compare(o.Posting, x.Posting), cmp.Compare(o.Bytes, x.Bytes), cmp.Compare(o.Row, x.Row))
}

// Reset begins another location, and reuses the memory.
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

// Add adds an operation to a channel, after it ended.
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

// sorted writes the entries of the run in progress, in order.
func (r *Entries) sorted(w *entryWriter) error {
	slices.SortFunc(r.channels, func(a, b runChannel) int { return a.compare(&b.Key) })
	for i := range r.channels {
		c := &r.channels[i]
		var list []Operation // of a mixed channel
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

// endRun stores the run in progress.
func (r *Entries) endRun() error {
	run := r.scratch()
	r.runs = append(r.runs, run)
	w := entryWriter{Stream: Stream{sink: run}}
	return cmp.Or(r.sorted(&w), w.flush())
}

// Write writes all entries in order to a sink, and their channels to out. It returns the table of peers, and forgets the entries.
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

// mergedBytes is about the memory of all buffers of a merge, as long as there are few streams.
const mergedBytes = 2 << 20

// mergeEntries calls f for the entries of several sorted streams, in order. Memory: mergedBytes, or 2 blocks for each stream.
func mergeEntries(streams []io.ReaderAt, compare func(a, b *entry) int, f func(e *entry) error) error {
	var heads []*cursor // those with entries left, sorted by the next entry
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
