package match

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// entryWriter writes sorted entries and makes the table of their peers. On request it also makes the CHANNEL and CHAN arrays of a
// location, without canceled sends.
type entryWriter struct {
	Stream
	size    uint64 // bytes so far
	peers   []PeerRange
	memory  [blockBytes]byte
	open    block     // being filled, of entries that came one by one
	last    Operation // the newest one in it
	out     ChannelOutputs
	channel xtf.Channel // row in progress
	rows    uint64      // of Chan so far
}

// ChannelOutputs is where Entries.Write puts the channels of a location.
type ChannelOutputs struct {
	Channels, Chan *xtf.ArrayBuilder // nil: no rows
	Canceled       map[uint64]bool   // postings of canceled sends
}

// add writes an entry.
func (w *entryWriter) add(e *entry) error {
	if e.Direction == xtf.ChannelSend && w.out.Canceled[e.Posting] {
		e.Flags |= entryCanceled
	}
	if w.open != nil && (w.open.full() || w.open.location() != e.p || w.open.key() != e.Key) {
		w.close()
	}
	if w.open == nil {
		w.open, w.last = beginBlock(w.memory[:], &e.Key, e.p), noOperation
	}
	w.open = w.open.add(&e.Operation, &w.last)
	return w.err
}

func (w *entryWriter) write(b block) error {
	w.close()
	if len(w.out.Canceled) == 0 {
		w.put(b)
		return w.err
	}
	e := entry{Key: b.key(), p: b.location()}
	b.each(func(o *Operation) {
		e.Operation = *o
		_ = w.add(&e) // what fails stays in w.err
	})
	return w.err
}

func (w *entryWriter) flush() error {
	w.close()
	return w.Stream.Flush()
}

// close writes the open block.
func (w *entryWriter) close() {
	if w.open != nil {
		w.put(w.open)
	}
	w.open = nil
}

func (w *entryWriter) put(b block) {
	k := b.key()
	w.peers = extendRanges(w.peers, &k, b.operations(), w.size)
	if w.out.Channels != nil {
		w.addChannel(&k, b)
	}
	w.size += uint64(len(b))
	w.err = w.AddRow(b)
}

func (w *entryWriter) addChannel(k *Key, b block) {
	c := &w.channel
	if key := xtf.ChannelKey(k.Peer, k.Comm); c.Count == 0 || c.Key != key || c.Tag != k.Tag || c.Direction != k.Direction {
		w.endChannel()
		*c = xtf.Channel{Key: key, Tag: k.Tag, Direction: k.Direction, First: w.rows}
	}
	b.each(func(o *Operation) {
		if o.Flags&entryCanceled != 0 {
			return
		}
		c.Count++
		w.rows++
		c.Bytes += o.Bytes
		row, _ := w.out.Chan.Append()
		xtf.SetU64(row, 0, o.Row)
	})
}

func (w *entryWriter) endChannel() {
	if w.channel.Count > 0 {
		row, _ := w.out.Channels.Append()
		w.channel.Put(row)
	}
}

// cursor reads a run of entries forwards.
type cursor struct {
	data  io.ReaderAt
	at    uint64 // offset of what is not yet in buf
	left  uint64 // entries not taken, with those of the block begun
	store []byte
	buf   []byte // blocks read and not yet begun, in store
	n     uint64 // entries of the block begun that are not taken
	body  []byte // their bytes not yet decoded
	e     entry  // decoded last
	have  bool   // e is not taken
}

const cursorBytes = 32 << 10

// newCursor returns a cursor over at most count entries, from the block at an offset of data. It reads into store, which cursors
// may share that are not used at the same time.
func newCursor(data io.ReaderAt, at, count uint64, store []byte) cursor {
	return cursor{data: data, at: at, left: count, store: store}
}

// begin begins the next block if no entry of the last one is left. It returns the size of the block, 0 if it began none.
func (c *cursor) begin() (size int, err error) {
	if c.n > 0 || c.left == 0 {
		return 0, nil
	}
	if len(c.buf) < blockBytes {
		c.buf = c.store[:copy(c.store, c.buf)]
		n, err := c.data.ReadAt(c.store[len(c.buf):], int64(c.at))
		if err != nil && err != io.EOF {
			return 0, fmt.Errorf("channel entries: %w", err)
		}
		c.at += uint64(n)
		if c.buf = c.store[:len(c.buf)+n]; len(c.buf) == 0 {
			c.left = 0
			return 0, nil
		}
	}
	b := block(c.buf)
	if len(b) < blockHead || len(b) < b.size() || b.operations() == 0 {
		return 0, errEntries
	}
	c.n, c.body, c.buf = b.operations(), b[blockHead:b.size()], b[b.size():]
	c.e.Key, c.e.p, c.e.Operation = b.key(), b.location(), noOperation
	return b.size(), nil
}

var errEntries = errors.New("damaged channel entries")

// peek returns the next entry without taking it, nil at the end.
func (c *cursor) peek() (*entry, error) {
	if c.have {
		return &c.e, nil
	}
	if _, err := c.begin(); err != nil || c.left == 0 {
		return nil, err
	}
	n := c.e.take(c.body)
	if n == 0 {
		return nil, errEntries
	}
	c.body, c.have = c.body[n:], true
	return &c.e, nil
}

// take takes the entry that peek returned. The entry stays valid until the next peek.
func (c *cursor) take() {
	c.have = false
	c.n--
	c.left--
}

// eachEntry calls f for the entries of a range of a source.
func (m *matcher) eachEntry(s *source, r *PeerRange, f func(e *entry)) {
	c := newCursor(s.data, r.At, r.Count, make([]byte, cursorBytes))
	m.each(&c, r.Count, f)
}

// each calls f for the next count entries.
func (m *matcher) each(c *cursor, count uint64, f func(e *entry)) {
	for range count {
		e, err := c.peek()
		if m.fail(err); e == nil {
			return
		}
		f(e)
		c.take()
	}
}

// source has the entries of a process, at its home.
type source struct {
	process uint32
	data    io.ReaderAt
	peers   []PeerRange
}

// ranges returns the peer ranges with peers in [lo, hi).
func (s *source) ranges(lo, hi uint32) []PeerRange {
	search := func(p uint32) int {
		i, _ := slices.BinarySearchFunc(s.peers, p, func(r PeerRange, p uint32) int { return cmp.Compare(r.Peer, p) })
		return i
	}
	return s.peers[search(lo):search(hi)]
}

// tail returns the ranges of collectives, by ascending communicator, and of operations whose peer is unknown.
func (s *source) tail() []PeerRange {
	i := len(s.peers)
	for i > 0 && s.peers[i-1].Peer == trace.Undefined {
		i--
	}
	return s.peers[i:]
}
