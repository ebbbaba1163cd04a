package match

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// isLock reports whether the channel of a tag has releases or acquisitions of locks.
func isLock(tag uint32) bool { return xtf.IsNotice(tag) && xtf.NoticeKind(tag) == xtf.NoticeLock }

// roundLocks is the number of releases that a rank sends to others, or handles, in one round.
const roundLocks = 4 << 10

// Releases go to the home of the lock's target, and results to the rank of their location, as
//
//	release  target u32 | communicator u32 | tag u32 | P u32 | T u64 | enter of the acquisition u64 | lock since u64 | row u64 | row of the acquisition u64 | exclusive u32
//	result   P u32 | P of the mate u32 | row u64 | row of the mate u64 | its T u64 | flags u32
//
// little-endian.
const (
	releaseBytes = 60
	holderBytes  = 36
)

// lockParts is what goes to each rank in a round.
type lockParts map[int][]byte

func (x lockParts) exchange(c mpi.Comm, tag int) ([]mpi.Part, error) {
	var parts []mpi.Part
	for r, b := range x {
		parts = append(parts, mpi.Part{Rank: r, Data: b})
	}
	slices.SortFunc(parts, func(a, b mpi.Part) int { return cmp.Compare(a.Rank, b.Rank) })
	return mpi.SparseAlltoall(c, tag, parts)
}

// inRounds has fill make the parts of each round, exchanges them, and calls take for what came, until fill returns on all ranks that
// there is no more. An error is one of the communicator.
func (m *matcher) inRounds(tag int, fill func(lockParts) (more bool), take func([]byte)) error {
	for more := []int64{1}; more[0] > 0; {
		x := lockParts{}
		more[0] = 0
		if fill(x) {
			more[0] = 1
		}
		got, err := x.exchange(m.Comm, tag)
		if err == nil {
			err = m.Comm.AllreduceInt64(more, mpi.Max)
		}
		if err != nil {
			return err
		}
		for _, p := range got {
			take(p.Data)
		}
	}
	return nil
}

// matchLocks finds for each acquisition the release that it had to wait for, taking the holders of a lock in the order of their
// releases: the last release before its own that excludes it (one of the two is exclusive), if another location made it, and began it
// before the acquisition was granted. Where several acquisitions wait for one release, its mate is the first of them.
func (m *matcher) matchLocks() error {
	if len(m.Defs.RmaWins) == 0 {
		return nil
	}
	releases := Entries{scratch: m.Scratch}
	releases.empty()
	walk := m.lockWalk()
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	err := m.inRounds(tagLocks, func(x lockParts) bool {
		for range roundLocks {
			e := walk()
			if e == nil {
				return false
			}
			r := m.homes.Of(e.Peer)
			b := x[r]
			for _, v := range [...]uint32{e.Peer, e.Comm, e.Tag, e.p} {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
			for _, v := range [...]uint64{e.T, e.End, e.Post, e.Row, e.Stay} {
				b = binary.LittleEndian.AppendUint64(b, v)
			}
			x[r] = binary.LittleEndian.AppendUint32(b, e.Flags)
		}
		return true
	}, func(b []byte) {
		for ; len(b) >= releaseBytes; b = b[releaseBytes:] {
			t := u64(b[16:])
			m.fail(releases.Add(Key{u32(b), u32(b[4:]), u32(b[8:]), xtf.ChannelSend}, &Operation{
				Posting: t, T: t, Bytes: uint64(u32(b[12:])), End: u64(b[24:]), Post: u64(b[32:]), Row: u64(b[40:]), Stay: u64(b[48:]), Flags: u32(b[56:]),
			}))
		}
	})
	if err != nil {
		return err
	}
	sorted := m.scratch()
	w := entryWriter{Stream: Stream{sink: sorted}}
	m.fail(cmp.Or(releases.each(&w), w.flush()))
	holders := lockHolders{cur: newCursor(sorted, 0, xtf.Never, make([]byte, cursorBytes))}
	return m.inRounds(tagHolders, func(x lockParts) bool {
		for range roundLocks {
			e, err := holders.cur.peek()
			if m.fail(err); e == nil {
				return false
			}
			holders.next(e, func(r *result) {
				to := sort.Search(len(m.Ranges), func(i int) bool { return m.Ranges[i].End > trace.P(r.p) })
				b := x[to]
				b = binary.LittleEndian.AppendUint32(b, r.p)
				b = binary.LittleEndian.AppendUint32(b, r.mateP)
				for _, v := range [...]uint64{r.row, r.mateN, r.t} {
					b = binary.LittleEndian.AppendUint64(b, v)
				}
				x[to] = binary.LittleEndian.AppendUint32(b, r.flags)
			})
			holders.cur.take()
		}
		return true
	}, func(b []byte) {
		for ; len(b) >= holderBytes; b = b[holderBytes:] {
			m.fail(m.results.add(&result{p: u32(b), kind: resultHolder, mateP: u32(b[4:]), row: u64(b[8:]), mateN: u64(b[16:]), t: u64(b[24:]), flags: u32(b[32:])}))
		}
	})
}

// lockWalk returns an iterator over the releases of locks by processes at home here; nil after the last one. An entry is valid until
// the next call.
func (m *matcher) lockWalk() func() *entry {
	var cur cursor
	var list []pair
	for i := range m.sources {
		s := &m.sources[i]
		for _, r := range s.ranges(0, m.homes.First[m.size]) {
			if r.Locks {
				list = append(list, pair{src: s, r: r})
			}
		}
	}
	store, open, taken := make([]byte, cursorBytes), false, true
	return func() *entry {
		for len(list) > 0 {
			if x := &list[0]; !open {
				cur, open, taken = newCursor(x.src.data, x.r.At, x.r.Count, store), true, true
			}
			if !taken {
				cur.take()
			}
			e, err := cur.peek()
			m.fail(err)
			if taken = e == nil; taken {
				list, open = list[1:], false
			} else if isLock(e.Tag) && e.Direction == xtf.ChannelSend {
				return e
			}
		}
		return nil
	}
}

// lockHolders reads the releases of locks, sorted by target, window and time.
type lockHolders struct {
	cur       cursor
	channel   Key
	any, only holder // the last release, and the last one of an exclusive lock
}

// holder is the release of a lock.
type holder struct {
	t, row uint64
	p      uint32
	set    bool // there is one
	mated  bool // an acquisition has it as mate
}

// next takes the release e. If its acquisition waited for a release before it, next calls f for the results of both rows.
func (h *lockHolders) next(e *entry, f func(*result)) {
	if h.channel != e.Key {
		h.channel, h.any, h.only = e.Key, holder{}, holder{}
	}
	p, exclusive := uint32(e.Bytes), e.Flags&EntryExclusive != 0
	before := &h.only
	if exclusive {
		before = &h.any
	}
	if before.set && before.p != p && before.t <= e.Post {
		r := result{p: p, row: e.Stay, mateP: before.p, mateN: before.row, t: before.t}
		if before.mated {
			r.flags = entryShared
		} else {
			f(&result{p: before.p, row: before.row, mateP: p, mateN: e.Stay, t: e.End})
		}
		f(&r)
		h.any.mated = h.any.mated || h.any.row == before.row && h.any.p == before.p
		h.only.mated = h.only.mated || h.only.row == before.row && h.only.p == before.p
	}
	h.any = holder{t: e.T, row: e.Row, p: p, set: true}
	if exclusive {
		h.only = h.any
	}
}
