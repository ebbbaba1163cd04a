package match

import (
	"cmp"
	"encoding/binary"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// moment is an enter of a member of a collective, in ticks, and its location.
type moment struct {
	t uint64
	p uint32
}

// noMoment stands for no member.
var noMoment = moment{xtf.Never, trace.Undefined}

// earliest makes x the earlier of x and y; of equal ones that of the lower location.
func (x *moment) earliest(y moment) {
	if cmp.Or(cmp.Compare(y.t, x.t), cmp.Compare(y.p, x.p)) < 0 {
		*x = y
	}
}

// latest makes x the later of x and y; of equal ones that of the lower location.
func (x *moment) latest(y moment) {
	if y != noMoment && (*x == noMoment || y.t > x.t || y.t == x.t && y.p < x.p) {
		*x = y
	}
}

// instance is what is known so far of all members of one collective operation.
type instance struct {
	last                  moment // enter
	firstLeave, lastLeave uint64
	opMin, opMax          uint64 // least and greatest operation<<32 | root
	members, lowest       uint32 // lowest location
	// For operations with a root: the enter of the root, and the first and last enter of other members that give data.
	root, firstOther, lastOther moment
	// For operations of all to all: partly if a member gives no data, and the last enter of those that do.
	partly    bool
	lastGiver moment
}

// An encoded instance is its number and the common fields. Fields of operations with a root follow if the number has
// instanceRooted, then the last giver if it has instancePartly. Integers are little-endian:
//
//	number u32 | last t, first leave, last leave, least op, greatest op u64 | members, lowest, last p u32
//	root t, first other t, last other t u64 | root p, first other p, last other p u32
//	last giver t u64 | last giver p u32
const (
	instanceRooted = 1 << 31
	instancePartly = 1 << 30
	instanceBytes  = 4 + 52
	rootedBytes    = 36
	partlyBytes    = 12
)

func (cs *collectives) memberInstance(mb *member, e *entry) instance {
	own := moment{e.T, e.p}
	x := instance{
		last: own, firstLeave: e.End, lastLeave: e.End, opMin: e.Post, opMax: e.Post, members: 1, lowest: e.p,
		root: noMoment, firstOther: noMoment, lastOther: noMoment, lastGiver: noMoment,
	}
	switch class := collClass(e); {
	case class&(trace.ClassOneToN|trace.ClassNToOne) != 0:
		if cs.isRoot(mb, e) {
			x.root = own
		} else if gives(e) {
			x.firstOther, x.lastOther = own, own
		}
	case class&trace.ClassNxN != 0:
		x.partly = !gives(e)
	}
	return x
}

// gives reports whether a member has bytes for others; nobody waits for one that does not. takes reports whether a member gets bytes;
// one that does not waits for nobody.
func gives(e *entry) bool { return e.Bytes > 0 }
func takes(e *entry) bool { return e.Flags&EntryTakes != 0 }

// collClass returns the class of a member's operation.
func collClass(e *entry) trace.CallClass { return trace.CollectiveClass(uint32(e.Post >> 32)) }

// isRoot reports whether a member is the root that it names.
func (cs *collectives) isRoot(mb *member, e *entry) bool {
	return cs.m.Defs.IsRoot(mb.Comm, uint32(e.Post), mb.src.process)
}

func (x *instance) add(y *instance) {
	if x.members == 0 {
		*x = *y
		return
	}
	if x.partly || y.partly {
		x.lastGiver = x.giver()
		x.lastGiver.latest(y.giver())
		x.partly = true
	}
	x.last.latest(y.last)
	x.firstLeave = min(x.firstLeave, y.firstLeave)
	x.lastLeave = max(x.lastLeave, y.lastLeave)
	x.opMin, x.opMax = min(x.opMin, y.opMin), max(x.opMax, y.opMax)
	x.members += y.members
	x.lowest = min(x.lowest, y.lowest)
	if y.root.p < x.root.p { // members may disagree on who the root is
		x.root = y.root
	}
	x.firstOther.earliest(y.firstOther)
	x.lastOther.latest(y.lastOther)
}

// giver returns the last enter of a member that gives data to an operation of all to all; noMoment if none does.
func (x *instance) giver() moment {
	if x.partly {
		return x.lastGiver
	}
	return x.last
}

// cause returns the enter that ends the wait of a member and the last enter that it needed (xtf.CollCause); noMoment if it needs none.
func (cs *collectives) cause(x *instance, mb *member, e *entry) (first, last moment) {
	switch class := collClass(e); {
	case class&trace.ClassBarrier != 0, trace.MayMeet(uint32(e.Post >> 32)):
		return x.last, x.last
	case class&trace.ClassNxN != 0 && takes(e):
		giver := x.giver()
		if giver == noMoment { // it gets bytes that nobody gave: of MPI_IN_PLACE some recorders know only what is received
			giver = x.last
		}
		return giver, giver
	case class&trace.ClassOneToN != 0 && takes(e) && !cs.isRoot(mb, e):
		return x.root, x.root
	case class&trace.ClassNToOne != 0 && cs.isRoot(mb, e):
		return x.firstOther, x.lastOther
	}
	return noMoment, noMoment
}

func (x *instance) append(b []byte, number uint32) []byte {
	rooted := x.root != noMoment || x.firstOther != noMoment || x.lastOther != noMoment
	if rooted {
		number |= instanceRooted
	}
	if x.partly {
		number |= instancePartly
	}
	b = binary.LittleEndian.AppendUint32(b, number)
	for _, v := range [...]uint64{x.last.t, x.firstLeave, x.lastLeave, x.opMin, x.opMax} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{x.members, x.lowest, x.last.p} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	if rooted {
		for _, v := range [...]uint64{x.root.t, x.firstOther.t, x.lastOther.t} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		for _, v := range [...]uint32{x.root.p, x.firstOther.p, x.lastOther.p} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	if x.partly {
		b = binary.LittleEndian.AppendUint64(b, x.lastGiver.t)
		b = binary.LittleEndian.AppendUint32(b, x.lastGiver.p)
	}
	return b
}

// take decodes the instance at the start of b. ok is false if b is too short.
func (x *instance) take(b []byte) (number uint32, rest []byte, ok bool) {
	if len(b) < instanceBytes {
		return 0, nil, false
	}
	number = binary.LittleEndian.Uint32(b)
	u64, u32 := binary.LittleEndian.Uint64, binary.LittleEndian.Uint32
	*x = instance{
		last: moment{u64(b[4:]), u32(b[52:])}, firstLeave: u64(b[12:]), lastLeave: u64(b[20:]), opMin: u64(b[28:]), opMax: u64(b[36:]),
		members: u32(b[44:]), lowest: u32(b[48:]), root: noMoment, firstOther: noMoment, lastOther: noMoment, lastGiver: noMoment,
	}
	b = b[instanceBytes:]
	if number&instanceRooted != 0 {
		if len(b) < rootedBytes {
			return 0, nil, false
		}
		x.root, x.firstOther, x.lastOther = moment{u64(b), u32(b[24:])}, moment{u64(b[8:]), u32(b[28:])}, moment{u64(b[16:]), u32(b[32:])}
		b = b[rootedBytes:]
	}
	if number&instancePartly != 0 {
		if len(b) < partlyBytes {
			return 0, nil, false
		}
		x.partly, x.lastGiver = true, moment{u64(b), u32(b[8:])}
		b = b[partlyBytes:]
	}
	return number &^ (instanceRooted | instancePartly), b, true
}
