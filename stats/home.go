package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"

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
	tagPart
	tagClaimed
	tagPartners
	tagInstances
	tagWhole
	tagPrefixes
	tagLocks
	tagHolders
	tagTiles // and one for each size of groups above
)

// shipBytes is the size of a message of a split process.
const shipBytes = 1 << 20

// homes says which rank a process is at home on: the one that holds its first
// location. A process whose locations are spread over ranks is matched there.
type homes struct {
	defs   *trace.Definitions
	ranges []partition.Range
	rank   int
	first  []uint32 // first process at home on each rank; one element more than ranks
}

func newHomes(defs *trace.Definitions, ranges []partition.Range, rank int) homes {
	total := uint32(len(defs.Processes()))
	h := homes{defs, ranges, rank, make([]uint32, len(ranges)+1)}
	for r := range ranges {
		h.first[r] = total
		if first := ranges[r].First; int(first) < defs.NumLocations() {
			process, thread := defs.Process(first)
			if thread != 0 {
				process++
			}
			h.first[r] = process
		}
	}
	h.first[len(ranges)] = total
	return h
}

// of returns the rank that a process is at home on.
func (h *homes) of(process uint32) int {
	return sort.Search(len(h.ranges)-1, func(r int) bool { return h.first[r+1] > process })
}

// here reports whether a process is at home on this rank, of which the rank
// holds a location.
func (h *homes) here(process uint32) bool { return process >= h.first[h.rank] }

// away returns the home of the rank's first process where that is another rank.
func (h *homes) away() (rank int, ok bool) {
	own := h.ranges[h.rank]
	if own.First >= own.End {
		return h.rank, false
	}
	process, _ := h.defs.Process(own.First)
	for rank = h.rank; h.first[rank] > process; {
		rank--
	}
	return rank, rank != h.rank
}

// sharers returns the ranks above that hold more locations of this rank's last
// process, if that is at home here.
func (h *homes) sharers() []int {
	own := h.ranges[h.rank]
	if own.First >= own.End {
		return nil
	}
	last, _ := h.defs.Process(own.End - 1)
	if !h.here(last) {
		return nil
	}
	pr := h.defs.Processes()[last]
	var list []int
	for r := h.rank + 1; r < len(h.ranges) && h.ranges[r].First < pr.First+trace.P(pr.Count); r++ {
		if h.ranges[r].First < h.ranges[r].End {
			list = append(list, r)
		}
	}
	return list
}

// stream is the sorted channel entries of one location.
type stream struct {
	p     trace.P
	data  io.ReaderAt
	peers []PeerRange
}

// foreign collects results for the locations of another rank that belong to a
// process at home here. Memory: one message.
type foreign struct {
	rank      int
	locations partition.Range
	sink      xtf.Sink
	pieces    []int // sizes of the messages in sink
	buf       []byte
}

// foreignPiece is about the size of a message of results, foreignHead that of the location, u32 little-endian, before each.
const (
	foreignPiece = 1 << 20
	foreignHead  = 4
)

func (f *foreign) add(r *result) error {
	f.buf = r.append(binary.LittleEndian.AppendUint32(f.buf, r.p), &result{})
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

// collectSources brings the entries of each process to its home rank and merges
// those of processes with several locations.
func (m *matcher) collectSources() error {
	defs := m.Tables.Defs
	var all []stream
	for _, u := range m.Units {
		if process, _ := defs.Process(u.P); !m.homes.here(process) {
			m.shipAway(u)
			continue
		}
		all = append(all, stream{u.P, u.Sorted, u.Peers})
		if u.Stays != nil && u.Stays.Size() > 0 {
			m.stays[uint32(u.P)] = &stayReader{data: u.Stays, n: uint64(u.Stays.Size() / spanBytes)}
		}
	}
	if to, away := m.homes.away(); away {
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

// shipAway sends the entries of a location to the home of its process, then its stays.
func (m *matcher) shipAway(u Unit) {
	m.ship(u.P, shippedEntries, u.Sorted)
	if u.Stays != nil && len(u.Peers) > 0 {
		m.ship(u.P, shippedStays, u.Stays)
	}
}

// Kinds of what is shipped: its message has location and kind, u32 each, before it.
const (
	shippedEntries = iota
	shippedStays
	shipHead = 8
)

// ship sends what a location left to the home of the rank's first process.
func (m *matcher) ship(p trace.P, kind uint32, data Stored) {
	to, _ := m.homes.away()
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

// receiveShips takes the entries of this rank's last process from the ranks
// above that hold more of its locations.
func (m *matcher) receiveShips() ([]stream, error) {
	var all []stream
	for _, r := range m.homes.sharers() {
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

// findPeers makes the table of a stream's peers.
func (s *stream) findPeers() error {
	at, c := uint64(0), newCursor(s.data, 0, xtf.Never, make([]byte, cursorBytes))
	for {
		size, err := c.begin()
		if err != nil || size == 0 {
			return err
		}
		s.peers = extendRanges(s.peers, &c.e.channelKey, c.n, at)
		at += uint64(size)
		c.n = 0
	}
}

// extendRanges adds n entries of a channel, at a byte of all entries, to a table of peer ranges.
func extendRanges(peers []PeerRange, k *channelKey, n, at uint64) []PeerRange {
	r := PeerRange{Peer: k.peer, Coll: k.direction == xtf.ChannelColl, At: at}
	if r.Coll {
		r.Comm = k.comm
	}
	if i := len(peers) - 1; i < 0 || peers[i].Peer != r.Peer || peers[i].Coll != r.Coll || peers[i].Comm != r.Comm {
		peers = append(peers, r)
	}
	last := &peers[len(peers)-1]
	last.Count += n
	if k.direction == xtf.ChannelSend {
		last.Sends += n
		last.Locks = last.Locks || isLock(k.tag)
	}
	return peers
}

// mergeStreams makes one source of the locations of a process. One location is
// taken as it is; several are merged by (channel, post time, location, posting), and
// entries that come from another location than the first one of their channel marked.
func (m *matcher) mergeStreams(process uint32, all []stream) (source, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s stream) bool { return len(s.peers) == 0 })
	if len(all) == 0 {
		return source{process: process}, nil
	}
	if len(all) == 1 {
		return source{process, all[0].data, all[0].peers}, nil
	}
	sink := m.scratch()
	w := entryWriter{rowStream: rowStream{sink: sink}}
	var data []io.ReaderAt
	for i := range all {
		data = append(data, all[i].data)
	}
	channel, p := channelKey{direction: unknown}, uint32(unknown) // in hand, and the location of its first entry
	err := mergeEntries(data, compareMerged, func(e *entry) error {
		if channel != e.channelKey {
			channel, p = e.channelKey, e.p
		}
		if e.p != p {
			e.flags |= entryShared
		}
		return w.add(e)
	})
	return source{process, sink, w.peers}, cmp.Or(err, w.flush())
}

func compareMerged(a, b *entry) int {
	post := cmp.Compare(a.post, b.post)
	if a.direction == xtf.ChannelColl {
		post = cmp.Compare(a.t, b.t)
	}
	return cmp.Or(a.compare(&b.channelKey), post, cmp.Compare(a.p, b.p), cmp.Compare(a.posting, b.posting))
}
