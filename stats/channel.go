package stats

import (
	"cmp"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// channelWriter turns sorted entries into the CHANNEL and CHAN arrays, the
// sorted stream for matching and the table of peers.
type channelWriter struct {
	rowStream
	out     *Outputs
	id      channelID // of the channel in hand
	channel xtf.Channel
	open    bool
	n       uint64
	peers   []PeerRange
}

// writeChannels orders the channel entries of the location, or of a group, which leaves it to the location to make channels of them.
func (l *Loader) writeChannels(rows *Loaded) error {
	w := channelWriter{rowStream: rowStream{sink: l.out.Sorted}, out: &l.out}
	add := w.addRow
	if l.out.Channels != nil {
		add = func(row []byte) error {
			if l.canceled != nil && entryDirection(row) == xtf.ChannelSend && l.canceled[entryPosting(row)] {
				return nil
			}
			return w.add(row)
		}
	}
	err := cmp.Or(l.entries.each(add), w.flush())
	w.endChannel()
	rows.Peers = w.peers
	if err != nil {
		return fmt.Errorf("channels of location %d: %w", l.p, err)
	}
	return nil
}

// AddEntries adds what Outputs.Sorted of a group got; it belongs to the loader from now on.
func (l *Loader) AddEntries(run Scratch) { l.entries.runs = append(l.entries.runs, run) }

func (w *channelWriter) add(row []byte) error {
	if !w.open || w.id != channelOf(row) {
		w.beginChannel(row)
	}
	w.peers = extendRanges(w.peers, row)
	w.channel.Count++
	w.channel.Bytes += entryValue(row, entryBytesAt)
	chanRow, _ := w.out.Chan.Append()
	xtf.SetU64(chanRow, 0, entryValue(row, entryRowAt))
	w.n++
	return w.addRow(row)
}

func (w *channelWriter) beginChannel(row []byte) {
	w.endChannel()
	w.id, w.open = channelOf(row), true
	k := entryChannel(row)
	w.channel = xtf.Channel{Key: xtf.ChannelKey(k.peer, k.comm), Tag: k.tag, Direction: k.direction, First: w.n}
}

func (w *channelWriter) endChannel() {
	if w.open {
		row, _ := w.out.Channels.Append()
		w.channel.Put(row)
	}
	w.open = false
}

// cursor reads a run of sorted entries forwards.
type cursor struct {
	data      io.ReaderAt
	next, end uint64 // entries not yet in buf
	buf       []byte // entries read and not yet taken
	store     []byte
}

const cursorEntries = 512

// newCursor reads entries [first, first+count) of data through store, which
// may be shared by cursors that are not used at the same time.
func newCursor(data io.ReaderAt, first, count uint64, store []byte) cursor {
	return cursor{data: data, next: first, end: first + count, store: store}
}

// peek returns the next entry without taking it, nil at the end.
func (c *cursor) peek() ([]byte, error) {
	if len(c.buf) == 0 {
		n := min(c.end-c.next, uint64(len(c.store)/entryBytes))
		if n == 0 {
			return nil, nil
		}
		c.buf = c.store[:n*entryBytes]
		if _, err := c.data.ReadAt(c.buf, int64(c.next)*entryBytes); err != nil && err != io.EOF {
			return nil, fmt.Errorf("channel entries: %w", err)
		}
		c.next += n
	}
	return c.buf[:entryBytes], nil
}

// take drops the entry that peek returned.
func (c *cursor) take() { c.buf = c.buf[entryBytes:] }

// eachEntry calls f for entries [first, first+count) of a source.
func (m *matcher) eachEntry(s *source, first, count uint64, store []byte, f func(row []byte, e *entry)) {
	c := newCursor(s.data, first, count, store)
	for range count {
		row, err := c.peek()
		if m.fail(err); row == nil {
			return
		}
		var e entry
		e.load(row)
		f(row, &e)
		c.take()
	}
}

// source is the channel entries of one process at its home rank.
type source struct {
	process uint32
	data    io.ReaderAt
	peers   []PeerRange
}

// ranges returns the peer ranges with peers in [lo, hi).
func (s *source) ranges(lo, hi uint32) []PeerRange {
	search := func(p uint32) int {
		a, b := 0, len(s.peers)
		for a < b {
			m := (a + b) / 2
			if !s.peers[m].Coll && s.peers[m].Peer < p {
				a = m + 1
			} else {
				b = m
			}
		}
		return a
	}
	return s.peers[search(lo):search(hi)]
}

// tail returns the ranges of collectives, by ascending communicator, and of
// operations whose peer is not known.
func (s *source) tail() []PeerRange {
	i := len(s.peers)
	for i > 0 && (s.peers[i-1].Coll || s.peers[i-1].Peer == trace.Undefined) {
		i--
	}
	return s.peers[i:]
}
