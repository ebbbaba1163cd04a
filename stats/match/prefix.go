package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// A member of a prefix operation waits for the members of lower rank in the communicator. So the enters of all members go to the
// rank that owns the instance, for a few instances at a time:
//
//	member  number u32 | rank in the communicator u32 | P u32 | enter u64
//	reply   latest enter of lower ranks u64 | its P u32
//
// There is one reply for each member, in the same order. A member without data for others has P undefined and the enter Never.
const (
	prefixBytes = 20
	prefixReply = 12
)

// prefixMembers is about the number of members that a rank gets in one round.
const prefixMembers = 256 << 10

// prefixPiece returns the number of instances in one round.
func (cs *collectives) prefixPiece() uint64 {
	processes := uint64(max(len(cs.m.Defs.Processes()), 1))
	return min(max(cs.m.PrefixMembers*uint64(cs.m.size)/processes, 1), cs.m.RoundInstances)
}

// pieceSet marks the pieces of a round that have prefix operations.
type pieceSet []int64

func (s pieceSet) add(i uint64)      { s[i/64] |= 1 << (i % 64) }
func (s pieceSet) has(i uint64) bool { return s[i/64]>>(i%64)&1 != 0 }

// matchPrefixes delivers the causes of waits in prefix operations among instances [lo, hi). pieces marks those in which this rank
// has members. An error is one of the communicator.
func (cs *collectives) matchPrefixes(lo, hi uint64, pieces pieceSet) error {
	if err := cs.m.Comm.AllreduceInt64(pieces, mpi.BitOr); err != nil {
		return err
	}
	size := cs.prefixPiece()
	for i := uint64(0); lo+i*size < hi; i++ {
		if !pieces.has(i) {
			continue
		}
		cs.m.report.Rounds++
		if err := cs.prefixRound(lo+i*size, min(lo+(i+1)*size, hi)); err != nil {
			return err
		}
	}
	return nil
}

// prefixRound delivers the causes in one round, instances [lo, hi).
func (cs *collectives) prefixRound(lo, hi uint64) error {
	owner := func(g uint64) int { return int((g - lo) * uint64(cs.m.size) / (hi - lo)) }
	var parts inbox
	cs.eachPrefix(lo, hi, func(g uint64, rank uint32, e *entry) {
		if parts.of(owner(g)) == nil {
			i, _ := slices.BinarySearchFunc(parts, owner(g), func(p mpi.Part, rank int) int { return p.Rank - rank })
			parts = slices.Insert(parts, i, mpi.Part{Rank: owner(g)})
		}
		o := parts.of(owner(g))
		b := binary.LittleEndian.AppendUint32(o.Data, uint32(g-lo))
		b = binary.LittleEndian.AppendUint32(b, rank)
		own := noMoment
		if gives(e) {
			own = moment{e.T, e.p}
		}
		b = binary.LittleEndian.AppendUint32(b, own.p)
		o.Data = binary.LittleEndian.AppendUint64(b, own.t)
	})
	got, err := cs.exchangeParts(parts)
	if err != nil {
		return err
	}
	back, err := cs.exchangeParts(reducePrefixes(got))
	if err != nil {
		return err
	}
	cs.eachPrefix(lo, hi, func(g uint64, _ uint32, e *entry) {
		o := back.of(owner(g))
		if o == nil || len(o.Data) < prefixReply {
			cs.m.fail(fmt.Errorf("rank %d answered fewer members than it got", owner(g)))
			return
		}
		t, p := binary.LittleEndian.Uint64(o.Data), binary.LittleEndian.Uint32(o.Data[8:])
		o.Data = o.Data[prefixReply:]
		if t != xtf.Never && takes(e) {
			cs.m.deliver(&result{p: e.p, row: e.Row, kind: resultCause, mateP: p, t: t, a: t, b: uint64(p)})
		}
	})
	return nil
}

func (cs *collectives) exchangeParts(parts inbox) (inbox, error) {
	for i := range parts {
		if parts[i].Rank != cs.m.rank {
			cs.m.report.Members.add(parts[i].Data)
		}
	}
	return mpi.SparseAlltoall(cs.m.Comm, tagPrefixes, parts)
}

// eachPrefix calls f for those local members of prefix operations whose rank in the communicator is known.
func (cs *collectives) eachPrefix(lo, hi uint64, f func(g uint64, rank uint32, e *entry)) {
	cs.eachInstance(lo, hi, func(mb *member, g uint64, e *entry) {
		if collClass(e)&trace.ClassPrefix == 0 {
			return
		}
		if rank, ok := cs.m.Defs.RankIn(mb.Comm, mb.src.process); ok {
			f(g, rank, e)
		}
	})
}

// prefixMember is a member at the rank that owns its instance.
type prefixMember struct {
	number, rank uint32
	enter        moment
	from, at     int // index of the message it came in, and offset of its reply
}

// reducePrefixes finds for every member the latest enter of those of lower rank.
func reducePrefixes(got inbox) inbox {
	reply := make(inbox, len(got))
	n := 0
	for r, x := range got {
		n += len(x.Data) / prefixBytes
		reply[r] = mpi.Part{Rank: x.Rank, Data: make([]byte, len(x.Data)/prefixBytes*prefixReply)}
	}
	list := make([]prefixMember, 0, n)
	for r, x := range got {
		b := x.Data
		for at := 0; len(b) >= prefixBytes; at, b = at+prefixReply, b[prefixBytes:] {
			list = append(list, prefixMember{
				number: binary.LittleEndian.Uint32(b), rank: binary.LittleEndian.Uint32(b[4:]),
				enter: moment{binary.LittleEndian.Uint64(b[12:]), binary.LittleEndian.Uint32(b[8:])}, from: r, at: at,
			})
		}
	}
	slices.SortFunc(list, func(a, b prefixMember) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.rank, b.rank), cmp.Compare(a.enter.p, b.enter.p))
	})
	below, upTo := noMoment, noMoment // latest enter of lower ranks; with this rank
	for i := range list {
		x := &list[i]
		switch {
		case i == 0 || x.number != list[i-1].number:
			below, upTo = noMoment, noMoment
		case x.rank != list[i-1].rank:
			below = upTo
		}
		upTo.latest(x.enter)
		binary.LittleEndian.PutUint64(reply[x.from].Data[x.at:], below.t)
		binary.LittleEndian.PutUint32(reply[x.from].Data[x.at+8:], below.p)
	}
	return reply
}
