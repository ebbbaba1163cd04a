package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Message tags of Match. Messages between two ranks with one tag keep their order.
const (
	tagShip = 101 + iota
	tagForeign
	tagSends
	tagReplies
	tagPartners
	tagInstances
	tagWhole
	tagPrefixes
	tagLocks
	tagHolders
)

// A process can have locations on several ranks. Its home is the first of them. The other ranks ship it the entries and stays of
// their locations of the process, at most shipBytes in a message.
const shipBytes = 1 << 20

// stream is the sorted entries of one location.
type stream struct {
	p     trace.P
	data  io.ReaderAt
	peers []PeerRange
}

// foreign collects the results for another rank's locations of a process at home here. Memory: one message.
type foreign struct {
	rank      int
	locations partition.Range
	sink      xtf.Sink
	pieces    []int // sizes of the messages in sink
	buf       []byte
	coder     resultCoder // of buf
}

// foreignPiece is about the size of a message of results. foreignHead is the size of the location, u32 little-endian, before each result.
const (
	foreignPiece = 1 << 20
	foreignHead  = 4
)

func (f *foreign) add(r *result) error {
	if len(f.buf) == 0 {
		f.coder.reset(0)
	}
	f.buf = f.coder.append(binary.LittleEndian.AppendUint32(f.buf, r.p), r)
	if len(f.buf) >= foreignPiece {
		return f.flush()
	}
	return nil
}

func (f *foreign) flush() error {
	if len(f.buf) == 0 {
		return nil
	}
	_, err := f.sink.Append(f.buf)
	f.pieces = append(f.pieces, len(f.buf))
	f.buf = f.buf[:0]
	return err
}

// collectSources brings the entries of each process to its home, and merges those of its locations.
func (m *matcher) collectSources() error {
	defs := m.Defs
	var all []stream
	for _, u := range m.Units {
		if process, _ := defs.Process(u.P); !m.homes.Here(process) {
			m.shipAway(u)
			continue
		}
		all = append(all, stream{u.P, u.Sorted, u.Peers})
		if u.Stays != nil && u.Stays.Size() > 0 {
			m.stays[uint32(u.P)] = &stayReader{data: u.Stays, n: uint64(u.Stays.Size() / spanBytes)}
		}
	}
	if to, away := m.homes.Away(); away {
		m.fail(m.Comm.Send(nil, to, tagShip))
	}
	received, err := m.receiveShips()
	if err != nil {
		return err
	}
	all = append(all, received...)
	for len(all) > 0 {
		process, _ := defs.Process(all[0].p)
		n := 1
		for n < len(all) {
			if next, _ := defs.Process(all[n].p); next != process {
				break
			}
			n++
		}
		s, err := m.mergeStreams(process, all[:n])
		if err != nil {
			return err
		}
		m.sources = append(m.sources, s)
		all = all[n:]
	}
	return nil
}

// shipAway ships the entries of a location to the home of its process, then its stays.
func (m *matcher) shipAway(u Unit) {
	m.ship(u.P, shippedEntries, u.Sorted)
	if u.Stays != nil && len(u.Peers) > 0 {
		m.ship(u.P, shippedStays, u.Stays)
	}
}

// A shipped message begins with the location and a kind, u32 each, little-endian.
const (
	shippedEntries = iota
	shippedStays
	shipHead = 8
)

// ship sends data of a location to the home of the rank's first process.
func (m *matcher) ship(p trace.P, kind uint32, data Stored) {
	to, _ := m.homes.Away()
	for at := int64(0); at < data.Size(); at += shipBytes {
		b := make([]byte, shipHead+min(shipBytes, data.Size()-at))
		binary.LittleEndian.PutUint32(b, uint32(p))
		binary.LittleEndian.PutUint32(b[4:], kind)
		if _, err := data.ReadAt(b[shipHead:], at); err != nil && err != io.EOF {
			m.fail(fmt.Errorf("channel entries of location %d: %w", p, err))
			return
		}
		m.fail(m.Comm.Send(b, to, tagShip))
	}
}

// receiveShips takes the entries of this rank's last process from the ranks above that hold more locations of it.
func (m *matcher) receiveShips() ([]stream, error) {
	var all []stream
	for _, r := range m.homes.Sharers() {
		got, err := m.receiveShip(r)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
		m.foreign = append(m.foreign, foreign{rank: r, locations: m.Ranges[r], sink: m.scratch()})
	}
	return all, nil
}

func (m *matcher) receiveShip(from int) ([]stream, error) {
	var all []stream
	var failed error
	for {
		msg, _, err := m.Comm.Recv(from, tagShip)
		if err != nil || len(msg) == 0 {
			for i := range all {
				failed = cmp.Or(failed, all[i].findPeers())
			}
			return all, cmp.Or(err, failed)
		}
		p, stay := trace.P(binary.LittleEndian.Uint32(msg)), binary.LittleEndian.Uint32(msg[4:]) == shippedStays
		if n := len(all); !stay && (n == 0 || all[n-1].p != p) {
			all = append(all, stream{p: p, data: m.scratch()})
		}
		if stay && m.stays[uint32(p)] == nil {
			m.stays[uint32(p)] = &stayReader{data: m.scratch()}
		}
		if failed != nil {
			continue // take the rest, so that the sender is not held up
		}
		if stay {
			s := m.stays[uint32(p)]
			_, err = s.data.(xtf.Sink).Append(msg[shipHead:])
			failed = cmp.Or(failed, err)
			s.n += uint64(len(msg)-shipHead) / spanBytes
			continue
		}
		_, err = all[len(all)-1].data.(xtf.Sink).Append(msg[shipHead:])
		failed = cmp.Or(failed, err)
	}
}

// findPeers makes the table of peers of a stream.
func (s *stream) findPeers() error {
	at, c := uint64(0), newCursor(s.data, 0, xtf.Never, make([]byte, cursorBytes))
	for {
		size, err := c.begin()
		if err != nil || size == 0 {
			return err
		}
		s.peers = extendRanges(s.peers, &c.e.Key, c.n, at)
		at += uint64(size)
		c.n = 0
	}
}

// extendRanges adds n entries of a channel, whose block is at an offset of all entries, to a table of peers.
func extendRanges(peers []PeerRange, k *Key, n, at uint64) []PeerRange {
	r := PeerRange{Peer: k.Peer, Coll: k.Direction == xtf.ChannelColl, At: at}
	if r.Coll {
		r.Comm = k.Comm
	}
	if i := len(peers) - 1; i < 0 || peers[i].Peer != r.Peer || peers[i].Coll != r.Coll || peers[i].Comm != r.Comm {
		peers = append(peers, r)
	}
	last := &peers[len(peers)-1]
	last.Count += n
	if k.Direction == xtf.ChannelSend {
		last.Sends += n
		last.Locks = last.Locks || isLock(k.Tag)
	}
	return peers
}

// mergeStreams makes one source of the locations of a process. It merges several by (channel, post time, location, posting). An entry
// of another location than the first entry of its channel gets the flag entryShared.
func (m *matcher) mergeStreams(process uint32, all []stream) (source, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s stream) bool { return len(s.peers) == 0 })
	if len(all) == 0 {
		return source{process: process}, nil
	}
	if len(all) == 1 {
		return source{process, all[0].data, all[0].peers}, nil
	}
	sink := m.scratch()
	w := entryWriter{Stream: Stream{sink: sink}}
	var data []io.ReaderAt
	for i := range all {
		data = append(data, all[i].data)
	}
	channel, p := Key{Direction: unknown}, uint32(unknown) // the newest channel, and the location of its first entry
	err := mergeEntries(data, compareMerged, func(e *entry) error {
		if e.Flags&entryCanceled == 0 {
			if channel != e.Key {
				channel, p = e.Key, e.p
			}
			if e.p != p && !isLock(e.Tag) { // locks match by time
				e.Flags |= entryShared
			}
		}
		return w.add(e)
	})
	return source{process, sink, w.peers}, cmp.Or(err, w.flush())
}

func compareMerged(a, b *entry) int {
	post := cmp.Compare(a.posted(), b.posted())
	if a.Direction == xtf.ChannelColl {
		post = cmp.Compare(a.T, b.T)
	}
	return cmp.Or(a.compare(&b.Key), post, cmp.Compare(a.p, b.p), cmp.Compare(a.Posting, b.Posting))
}
