package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// roundInstances is the number of collective instances that all ranks reduce in one round. Memory: 150 bytes each, and twice 100
// encoded.
const roundInstances = 32 << 10

// commCount is the number of instances on one communicator.
type commCount struct {
	comm uint32
	n    uint64
}

// member is a process at home here in one communicator, with its collectives.
type member struct {
	src       *source
	PeerRange        // the entries from the block on that the last round read
	passed    uint64 // entries before these
	base      uint64 // number of the communicator's first instance among all
}

// pass moves the member and its cursor over the blocks that lie whole in the next n entries.
func (x *member) pass(c *cursor, n uint64) error {
	for {
		size, err := c.begin()
		if err != nil || c.n == 0 || c.n > n {
			return err
		}
		n -= c.n
		x.At, x.passed, x.Count = x.At+uint64(size), x.passed+c.n, x.Count-c.n
		c.left, c.n = c.left-c.n, 0
	}
}

// collectives matches collective operations.
type collectives struct {
	m       *matcher
	members []member // by the first instance of their communicator
}

// matchCollectives numbers the instances, one communicator after another, and reduces them in rounds.
func (cs *collectives) matchCollectives() {
	local := cs.localMembers()
	b, err := mpi.TreeShare(cs.m.Comm, local, nil, encodeCounts, decodeCounts, mergeCounts, encodeCounts)
	var table []commCount
	if err == nil {
		table, err = decodeCounts(b)
	}
	if err != nil {
		cs.m.fail(err)
		return
	}
	var total uint64
	base := make(map[uint32]uint64, len(table))
	for _, c := range table {
		base[c.comm] = total
		total += c.n
	}
	for i := range cs.members {
		cs.members[i].base = base[cs.members[i].Comm]
	}
	slices.SortStableFunc(cs.members, func(a, b member) int { return cmp.Compare(a.base, b.base) })
	for lo := uint64(0); lo < total; lo += cs.m.RoundInstances {
		cs.m.report.Rounds++
		if err := cs.collectiveRound(lo, min(lo+cs.m.RoundInstances, total)); err != nil {
			cs.m.fail(err)
			return
		}
	}
}

// localMembers sets cs.members, and returns the number of instances on each communicator. It delivers collectives of
// communicators with one process (MPI_COMM_SELF) at once.
func (cs *collectives) localMembers() []commCount {
	most := make(map[uint32]uint64)
	for i := range cs.m.sources {
		s := &cs.m.sources[i]
		for _, r := range s.tail() {
			if !r.Coll {
				continue
			}
			x := member{src: s, PeerRange: r}
			if cs.m.Defs.IsSelf(r.Comm) {
				cs.settleSelf(x)
				continue
			}
			cs.members = append(cs.members, x)
			most[r.Comm] = max(most[r.Comm], r.Count)
		}
	}
	var list []commCount
	for c, n := range most {
		list = append(list, commCount{c, n})
	}
	slices.SortFunc(list, func(a, b commCount) int { return cmp.Compare(a.comm, b.comm) })
	return list
}

func (cs *collectives) settleSelf(x member) {
	k := uint64(0)
	cs.m.eachEntry(x.src, &x.PeerRange, func(e *entry) {
		own := cs.memberInstance(&x, e)
		cs.deliverColl(&own, &x, k, e)
		k++
	})
}

// collectiveRound reduces instances [lo, hi). An error is one of the communicator.
func (cs *collectives) collectiveRound(lo, hi uint64) error {
	known := make([]instance, hi-lo)
	piece := cs.prefixPiece()
	prefixes := make(pieceSet, (hi-lo)/piece/64+1)
	cs.eachInstance(lo, hi, func(mb *member, g uint64, e *entry) {
		x := cs.memberInstance(mb, e)
		known[g-lo].add(&x)
		if collClass(e)&trace.ClassPrefix != 0 {
			prefixes.add((g - lo) / piece)
		}
	})
	if err := cs.combine(known); err != nil {
		return err
	}
	cs.eachInstance(lo, hi, func(mb *member, g uint64, e *entry) { cs.deliverColl(&known[g-lo], mb, g-mb.base, e) })
	return cs.matchPrefixes(lo, hi, prefixes)
}

// deliverColl delivers the result of a member. It has room for one enter that the member waited for; if the last one that it needed is
// another, there is a second result.
func (cs *collectives) deliverColl(x *instance, mb *member, ordinal uint64, e *entry) {
	first, last := cs.cause(x, mb, e)
	r := result{
		p: e.p, row: e.Row, kind: resultColl, t: x.last.t, a: ordinal, b: x.firstLeave, c: x.lastLeave,
		flags: cs.instanceFlags(e.Comm, x), mateP: first.p, mateN: first.t, of: e,
	}
	if e.p == x.lowest {
		r.flags |= resultLowest
	}
	cs.m.deliver(&r)
	if last != first {
		cs.m.deliver(&result{p: e.p, row: e.Row, kind: resultCause, mateP: first.p, t: first.t, a: last.t, b: uint64(last.p)})
	}
}

// eachInstance calls f for the local members of instances [lo, hi), with the number of the instance.
func (cs *collectives) eachInstance(lo, hi uint64, f func(x *member, g uint64, e *entry)) {
	store := make([]byte, cursorBytes)
	for i := range cs.members {
		x := &cs.members[i]
		if x.base >= hi {
			break
		}
		first, end := max(lo, x.base+x.passed), min(hi, x.base+x.passed+x.Count)
		if first >= end {
			continue
		}
		c := newCursor(x.src.data, x.At, x.Count, store)
		cs.m.fail(x.pass(&c, first-x.base-x.passed))
		g := x.base + x.passed
		cs.m.each(&c, end-g, func(e *entry) {
			if g >= first {
				f(x, g, e)
			}
			g++
		})
	}
}

func (cs *collectives) instanceFlags(comm uint32, x *instance) uint32 {
	var flags uint32
	if n := cs.m.Defs.CommSize(comm); n > 0 && uint64(x.members) < uint64(n) {
		flags |= xtf.CollShort
	}
	if x.opMin>>32 != x.opMax>>32 || x.opMin != x.opMax && !cs.m.Defs.IsInter(comm) {
		flags |= xtf.CollMixed
	}
	return flags
}

func encodeCounts(list []commCount) ([]byte, error) {
	var b []byte
	for _, c := range list {
		b = binary.LittleEndian.AppendUint32(b, c.comm)
		b = binary.LittleEndian.AppendUint64(b, c.n)
	}
	return b, nil
}

func decodeCounts(b []byte) ([]commCount, error) {
	if len(b)%12 != 0 {
		return nil, fmt.Errorf("a damaged table of communicators")
	}
	list := make([]commCount, 0, len(b)/12)
	for ; len(b) > 0; b = b[12:] {
		list = append(list, commCount{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])})
	}
	return list, nil
}

func mergeCounts(a, b []commCount) ([]commCount, error) {
	return totals.Union(a, b, func(x, y *commCount) int { return cmp.Compare(x.comm, y.comm) }, func(x, y *commCount) { x.n = max(x.n, y.n) }), nil
}

// returnForeign sends results to the ranks that hold their locations, and takes those for this rank's.
func (m *matcher) returnForeign() {
	if to, away := m.homes.Away(); away {
		for {
			msg, _, err := m.Comm.Recv(to, tagForeign)
			if m.fail(err); err != nil || len(msg) == 0 {
				break
			}
			var k resultCoder
			k.reset(0)
			for len(msg) > foreignHead {
				r, n := k.take(msg[foreignHead:])
				if r == nil {
					m.fail(errResults)
					break
				}
				r.p = binary.LittleEndian.Uint32(msg)
				m.fail(m.results.add(r))
				msg = msg[foreignHead+n:]
			}
		}
	}
	for i := range m.foreign {
		f := &m.foreign[i]
		m.fail(f.flush())
		at := int64(0)
		for _, n := range f.pieces {
			b := make([]byte, n)
			if _, err := f.sink.ReadAt(b, at); err != nil {
				m.fail(err)
				break
			}
			m.fail(m.Comm.Send(b, f.rank, tagForeign))
			at += int64(n)
		}
		m.fail(m.Comm.Send(nil, f.rank, tagForeign))
	}
}
