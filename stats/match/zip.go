package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// pieceEntries bounds the sends in a piece.
const pieceEntries = 16 << 10

// A piece is one message of the exchange. It is a sequence of groups, each the sends of one channel in order:
//
//	group  source u32 | destination u32 | communicator u32 | tag u32 | count u32 | zero u32
//	send   T u64 | End u64 | bytes u64 | row u64 | P u32 | flags u32
//	reply  mate's row u64 | its T u64 | its post u64 | its ready u64 (see matcher.received) | its P u32 | flags u32
//
// The message of replies has one for each send, in the same order. An empty piece is the last one. Integers are little-endian.
const (
	groupBytes = 24
	sendBytes  = 40
	replyBytes = 40
)

// pair is two processes that communicate: the entries with one peer of a process whose home is here.
type pair struct {
	s, d uint32 // source and destination process
	src  *source
	r    PeerRange
}

// exchangeMessages sends every rank the sends to its processes, and replies to those that come. In step k a rank sends to the k-th
// rank above and replies to the k-th below, both one piece at a time, so at most two pieces are in progress in each direction. A rank
// leaves out steps in which it has nothing to exchange.
func (m *matcher) exchangeMessages() {
	m.zip = zipBuffers{sends: make([]byte, cursorBytes), receives: make([]byte, cursorBytes)}
	defer func() { m.zip = zipBuffers{} }()
	partners := m.partners()
	var parts []mpi.Part
	for r, sends := range partners {
		if sends && r != m.rank {
			parts = append(parts, mpi.Part{Rank: r})
		}
	}
	got, err := mpi.SparseAlltoall(m.Comm, tagPartners, parts)
	if m.fail(err); err != nil {
		return // the communicator is broken for all
	}
	incoming := map[int]bool{}
	steps := map[int]bool{}
	for r := range partners {
		steps[(r-m.rank+m.size)%m.size], steps[(m.rank-r+m.size)%m.size] = true, true
	}
	for _, x := range got {
		incoming[x.Rank] = true
		steps[(m.rank-x.Rank+m.size)%m.size] = true
	}
	for _, k := range slices.Sorted(maps.Keys(steps)) {
		to, from := (m.rank+k)%m.size, (m.rank-k+m.size)%m.size
		out := m.newSender(to)
		in := m.newReceiver(from)
		if k == 0 {
			m.exchangeLocal(out, in)
			continue
		}
		if err := m.exchangeWith(out, in, partners[to], incoming[from]); err != nil {
			m.fail(err)
			return
		}
	}
}

// partners returns the ranks that are homes of the peers of processes at home here, and whether these send them anything.
func (m *matcher) partners() map[int]bool {
	list := map[int]bool{}
	for i := range m.sources {
		s := &m.sources[i]
		for _, p := range s.ranges(0, m.homes.First[m.size]) {
			r := m.homes.Of(p.Peer)
			list[r] = list[r] || p.Sends > 0
		}
	}
	return list
}

// eachRange calls f for the peer ranges with the processes at home on rank r.
func (m *matcher) eachRange(r int, f func(s *source, p PeerRange)) {
	for i := range m.sources {
		s := &m.sources[i]
		for _, p := range s.ranges(m.homes.First[r], m.homes.First[r+1]) {
			f(s, p)
		}
	}
}

// exchangeLocal joins sends and receives of processes that are all at home here.
func (m *matcher) exchangeLocal(out *sender, in *receiver) {
	var seq sequence // of the sends of one pair
	var from *source
	var to uint32
	for {
		p, e := out.peek()
		if e == nil {
			break
		}
		r := result{p: e.p, row: e.Row, kind: resultMate, mateP: unknown, mateN: xtf.Never, t: xtf.Never, b: xtf.Never, c: xtf.Never, flags: e.Flags, of: e}
		if mate := in.seek(p.s, p.d, e.Comm, e.Tag); mate != nil {
			m.report.Messages++
			m.deliver(&result{
				p: mate.p, row: mate.Row, kind: resultMate, mateP: e.p, mateN: e.Row,
				t: e.T, a: in.seq.next(mate), b: e.End, c: e.Bytes, flags: e.Flags | mate.Flags, of: mate,
			})
			var posted uint32
			r.mateP, r.mateN, r.t = mate.p, mate.Row, mate.T
			r.b, r.c, posted = m.received(mate, e.T)
			r.flags |= posted | mate.Flags | clockFlag(e.T, mate.End)
			in.cur.take()
		}
		if p.src != from || p.d != to {
			seq, from, to = sequence{}, p.src, p.d
		}
		r.a = seq.next(e)
		m.deliver(&r)
		out.cur.take()
	}
	in.finish()
}

// exchangeWith runs one step with two other ranks. It returns errors of the communicator. Others go to m.err, and the exchange goes on.
func (m *matcher) exchangeWith(out *sender, in *receiver, hasOut, hasIn bool) error {
	for hasOut || hasIn {
		var piece []byte
		var sent, replied *mpi.Request
		var err error
		if hasOut {
			piece = out.next()
			if sent, err = m.Comm.Isend(piece, out.rank, tagSends); err != nil {
				return err
			}
			m.report.Pairs.add(piece)
			hasOut = len(piece) > 0
		}
		if hasIn {
			got, _, err := m.Comm.Recv(in.rank, tagSends)
			if err != nil {
				return err
			}
			if hasIn = len(got) > 0; hasIn {
				reply := in.answer(got)
				if replied, err = m.Comm.Isend(reply, in.rank, tagReplies); err != nil {
					return err
				}
				m.report.Pairs.add(reply)
			}
		}
		if len(piece) > 0 {
			reply, _, err := m.Comm.Recv(out.rank, tagReplies)
			if err != nil {
				return err
			}
			out.answer(piece, reply)
		}
		if err := m.Comm.Wait(sent, replied); err != nil {
			return err
		}
	}
	in.finish()
	return nil
}

// sender makes the pieces for one rank and takes in the replies.
type sender struct {
	m     *matcher
	rank  int
	pairs []pair
	cur   cursor
	in    bool // cur reads pairs[0]
	locks sequence
	sent  []entry              // those of the newest piece
	last  [groupBytes - 8]byte // the channel whose replies came last
	n     uint64               // replies so far on that channel
}

// zipBuffers is memory that all steps use in turn. The next piece and reply overwrite those before.
type zipBuffers struct {
	sends, receives []byte // of cursors
	piece, reply    []byte
}

func (m *matcher) newSender(to int) *sender {
	s := &sender{m: m, rank: to}
	m.eachRange(to, func(src *source, r PeerRange) {
		if r.Sends > 0 {
			s.pairs = append(s.pairs, pair{src.process, r.Peer, src, r})
		}
	})
	return s
}

// peek returns the next send, without taking it, and its pair; nil at the end.
func (s *sender) peek() (*pair, *entry) {
	for len(s.pairs) > 0 {
		p := &s.pairs[0]
		if !s.in {
			s.cur, s.in, s.locks = newCursor(p.src.data, p.r.At, p.r.Count, s.m.zip.sends), true, sequence{}
		}
		e, err := s.cur.peek()
		s.m.fail(err)
		switch {
		case e == nil:
			s.pairs, s.in = s.pairs[1:], false
		case e.Direction == xtf.ChannelSend && (e.Flags&entryCanceled != 0 || isLock(e.Tag)): // matchLocks finds who waits for a release
			s.m.deliverLone(e, &s.locks, 0)
			s.cur.take()
		case e.Direction == xtf.ChannelSend:
			return p, e
		default:
			s.cur.take()
		}
	}
	return nil, nil
}

// next returns the next piece, an empty one after the last send.
func (s *sender) next() []byte {
	piece := s.m.zip.piece[:0]
	s.sent = s.sent[:0]
	group := -1 // offset of the open group in piece
	for range pieceEntries {
		p, e := s.peek()
		if e == nil {
			break
		}
		s.cur.take()
		if group < 0 || !sameGroup(piece[group:], p, e) {
			group = len(piece)
			piece = appendGroup(piece, p, e)
		}
		count := binary.LittleEndian.Uint32(piece[group+16:])
		binary.LittleEndian.PutUint32(piece[group+16:], count+1)
		piece = appendSend(piece, e)
		s.sent = append(s.sent, *e)
	}
	s.m.zip.piece = piece
	return piece
}

func appendGroup(b []byte, p *pair, e *entry) []byte {
	b = binary.LittleEndian.AppendUint32(b, p.s)
	b = binary.LittleEndian.AppendUint32(b, p.d)
	b = binary.LittleEndian.AppendUint32(b, e.Comm)
	b = binary.LittleEndian.AppendUint32(b, e.Tag)
	return binary.LittleEndian.AppendUint64(b, 0)
}

func sameGroup(g []byte, p *pair, e *entry) bool {
	return binary.LittleEndian.Uint32(g) == p.s && binary.LittleEndian.Uint32(g[4:]) == p.d &&
		binary.LittleEndian.Uint32(g[8:]) == e.Comm && binary.LittleEndian.Uint32(g[12:]) == e.Tag
}

func appendSend(b []byte, e *entry) []byte {
	b = binary.LittleEndian.AppendUint64(b, e.T)
	b = binary.LittleEndian.AppendUint64(b, e.End)
	b = binary.LittleEndian.AppendUint64(b, e.Bytes)
	b = binary.LittleEndian.AppendUint64(b, e.Row)
	b = binary.LittleEndian.AppendUint32(b, e.p)
	return binary.LittleEndian.AppendUint32(b, e.Flags)
}

func (s *sender) answer(piece, replies []byte) {
	sent := s.sent
	for len(piece) >= groupBytes {
		if string(s.last[:]) != string(piece[:len(s.last)]) {
			copy(s.last[:], piece)
			s.n = 0
		}
		count := int(binary.LittleEndian.Uint32(piece[16:]))
		piece = piece[groupBytes:]
		for range count {
			if len(replies) < replyBytes {
				s.m.fail(fmt.Errorf("rank %d answered fewer sends than it got", s.rank))
				return
			}
			e := &sent[0]
			r := result{
				p: e.p, row: e.Row, kind: resultMate,
				mateN: binary.LittleEndian.Uint64(replies), t: binary.LittleEndian.Uint64(replies[8:]),
				a: s.n, b: binary.LittleEndian.Uint64(replies[16:]), c: binary.LittleEndian.Uint64(replies[24:]),
				mateP: binary.LittleEndian.Uint32(replies[32:]),
				flags: binary.LittleEndian.Uint32(replies[36:]) | e.Flags,
				of:    e,
			}
			s.m.deliver(&r)
			s.n++
			piece, replies, sent = piece[sendBytes:], replies[replyBytes:], sent[1:]
		}
	}
}

// receiver joins the sends of one rank with the receives of this one.
type receiver struct {
	m     *matcher
	rank  int
	pairs []pair // with receives, by (source, destination)
	cur   cursor
	in    bool
	seq   sequence // of the receives
}

func (m *matcher) newReceiver(from int) *receiver {
	r := &receiver{m: m, rank: from}
	m.eachRange(from, func(src *source, p PeerRange) {
		if p.Count > p.Sends {
			r.pairs = append(r.pairs, pair{p.Peer, src.process, src, p})
		}
	})
	slices.SortFunc(r.pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.s, b.s), cmp.Compare(a.d, b.d)) })
	return r
}

func (r *receiver) answer(piece []byte) []byte {
	replies := r.m.zip.reply[:0]
	for len(piece) >= groupBytes {
		g := piece[:groupBytes]
		count := int(binary.LittleEndian.Uint32(piece[16:]))
		piece = piece[groupBytes:]
		if count > len(piece)/sendBytes {
			r.m.fail(fmt.Errorf("a damaged message from rank %d", r.rank))
			return replies
		}
		for range count {
			replies = r.join(g, piece[:sendBytes], replies)
			piece = piece[sendBytes:]
		}
	}
	r.m.zip.reply = replies
	return replies
}

// join matches one send with the next receive of its channel.
func (r *receiver) join(group, send, replies []byte) []byte {
	e := r.seek(binary.LittleEndian.Uint32(group), binary.LittleEndian.Uint32(group[4:]),
		binary.LittleEndian.Uint32(group[8:]), binary.LittleEndian.Uint32(group[12:]))
	if e == nil {
		for range 4 {
			replies = binary.LittleEndian.AppendUint64(replies, xtf.Never)
		}
		return binary.LittleEndian.AppendUint64(replies, unknown)
	}
	r.m.report.Messages++
	r.m.report.Remote++
	r.m.deliver(&result{
		p: e.p, row: e.Row, kind: resultMate, a: r.seq.next(e),
		t: binary.LittleEndian.Uint64(send), b: binary.LittleEndian.Uint64(send[8:]), c: binary.LittleEndian.Uint64(send[16:]),
		mateN: binary.LittleEndian.Uint64(send[24:]), mateP: binary.LittleEndian.Uint32(send[32:]),
		flags: e.Flags | binary.LittleEndian.Uint32(send[36:]), of: e,
	})
	r.cur.take()
	replies = binary.LittleEndian.AppendUint64(replies, e.Row)
	replies = binary.LittleEndian.AppendUint64(replies, e.T)
	post, ready, posted := r.m.received(e, binary.LittleEndian.Uint64(send))
	replies = binary.LittleEndian.AppendUint64(replies, post)
	replies = binary.LittleEndian.AppendUint64(replies, ready)
	replies = binary.LittleEndian.AppendUint32(replies, e.p)
	return binary.LittleEndian.AppendUint32(replies, e.Flags|posted|clockFlag(binary.LittleEndian.Uint64(send), e.End))
}

// clockFlag returns entryClock if the receive ended before the send began.
func clockFlag(sent, received uint64) uint32 {
	if received < sent {
		return entryClock
	}
	return 0
}

// seek returns the next receive of the channel from process s to d, nil if there is none. Receives of channels before it have no
// partner; seek delivers them so.
func (r *receiver) seek(s, d, comm, tag uint32) *entry {
	for len(r.pairs) > 0 {
		p := &r.pairs[0]
		order := cmp.Or(cmp.Compare(p.s, s), cmp.Compare(p.d, d))
		if order > 0 {
			return nil
		}
		e := r.peek()
		if e == nil {
			r.pairs, r.in = r.pairs[1:], false
			continue
		}
		if order == 0 && e.Direction == xtf.ChannelReceive {
			switch {
			case e.Comm == comm && e.Tag == tag:
				return e
			case e.Comm > comm || e.Comm == comm && e.Tag > tag:
				return nil
			}
		}
		r.skip(e)
	}
	return nil
}

func (r *receiver) peek() *entry {
	if p := &r.pairs[0]; !r.in {
		r.cur, r.in = newCursor(p.src.data, p.r.At, p.r.Count, r.m.zip.receives), true
		r.seq = sequence{}
	}
	e, err := r.cur.peek()
	r.m.fail(err)
	return e
}

// skip takes an entry. If it is a receive it has no partner.
func (r *receiver) skip(e *entry) {
	if e.Direction == xtf.ChannelReceive {
		r.m.deliverLone(e, &r.seq, e.Flags)
	}
	r.cur.take()
}

// finish skips the receives that are left.
func (r *receiver) finish() {
	for len(r.pairs) > 0 {
		e := r.peek()
		if e == nil {
			r.pairs, r.in = r.pairs[1:], false
			continue
		}
		r.skip(e)
	}
}
