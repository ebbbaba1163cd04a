package predict

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// recordKind is the meaning of a record in the program.
type recordKind uint8

const (
	recNone      recordKind = iota
	recSend                 // blocking
	recIsend                // posts
	recSendDone             // completes
	recRecv                 // blocking
	recIrecv                // posts; the source is not known yet
	recIrecvDone            // completes; has the source
	recColl                 // blocking
	recIcoll                // posts; the operation is not known yet
	recIcollDone            // completes
	recCancel               // ends a request without completing it
	recFile
	recSkip // no meaning, but its values share a column with others
)

// posts and completes report whether a record posts or ends a request.
func (k recordKind) posts() bool { return k == recIsend || k == recIrecv || k == recIcoll }

func (k recordKind) completes() bool {
	return k == recSendDone || k == recIrecvDone || k == recIcollDone || k == recCancel
}

// columns appends the columns of the bytes that differ between instances, in the order in which they are read.
func (r *record) columns(dst []int32) []int32 {
	for _, v := range [...]value{r.bytes, r.recv} {
		if v.column >= 0 {
			dst = append(dst, v.column)
		}
	}
	return dst
}

// value is a number in a record: constant in the location, or from a column.
type value struct {
	column int32 // -1: constant
	value  uint64
}

// record is an Event as the program represents it.
type record struct {
	kind    recordKind
	drop    bool           // its partner or operation is not in the program; its request is still tracked
	action  program.Action // without bytes and age
	channel uint32         // number of its channel in the location
	bytes   value
	recv    value
	request value // id, as a distance if it is constant
	far     bool  // request is the id itself
	between bool  // a blocking collective operation of two groups
}

// channelKey identifies a channel, or the collectives of a communicator.
type channelKey struct {
	kind    program.ActionKind // PostSend, PostRecv, PostColl
	comm    uint32
	process uint32
	tag     uint32
}

// reader interprets the Events of one location.
type reader struct {
	tables   *tables
	left     *Left
	s        *ccg.Structure
	process  uint32
	own      map[uint32]ownPlace
	channels map[channelKey]uint32
	constant map[int32]value // of columns that were examined
	fields   []ccg.Field
}

// ownPlace is the process's rank in a communicator.
type ownPlace struct {
	rank   uint32
	member bool
}

// recordKinds has, for each record of the trace, its meaning and the field with the request id (-1: none).
var recordKinds = map[trace.Kind]struct {
	kind    recordKind
	request int
}{
	trace.MpiSend: {recSend, -1}, trace.MpiIsend: {recIsend, 4}, trace.MpiIsendComplete: {recSendDone, 0},
	trace.MpiRecv: {recRecv, -1}, trace.MpiIrecvRequest: {recIrecv, 0}, trace.MpiIrecv: {recIrecvDone, 4},
	trace.MpiCollectiveEnd: {recColl, -1}, trace.NonBlockingCollectiveRequest: {recIcoll, 0},
	trace.NonBlockingCollectiveComplete: {recIcollDone, 5}, trace.MpiRequestCancelled: {recCancel, 0},
	trace.IoOperationBegin: {recFile, -1},
}

// record interprets node n, an Event.
func (r *reader) record(n uint32, x *ccg.Node) (record, error) {
	known := recordKinds[x.Record]
	rec := record{kind: known.kind, bytes: value{column: -1}, recv: value{column: -1}}
	if rec.kind == recNone {
		return rec, nil
	}
	var err error
	if r.fields, err = r.s.Fields(r.fields[:0], n); err != nil {
		return rec, err
	}
	f := r.fields
	if known.request >= 0 {
		q := &f[known.request]
		rec.request, rec.far = value{q.Column, q.Value}, q.Column >= 0
	}
	switch rec.kind {
	case recSend, recIsend, recRecv, recIrecvDone:
		r.message(&rec, f, r.s.Instances(n))
		rec.bytes, err = r.value(&f[3])
	case recColl, recIcollDone:
		r.collective(&rec, f, r.s.Instances(n))
		if rec.bytes, err = r.value(&f[3]); err == nil {
			rec.recv, err = r.value(&f[4])
		}
	case recFile:
		rec.action = program.Action{Kind: program.FileIO}
		rec.bytes, err = r.value(&f[3])
	}
	if rec.drop && !rec.kind.posts() && !rec.kind.completes() {
		rec.kind = recSkip
	}
	return rec, err
}

// value returns the value of a field, as a constant if its column has only one value.
func (r *reader) value(f *ccg.Field) (value, error) {
	if f.Column < 0 {
		return value{-1, f.Value}, nil
	}
	if v, ok := r.constant[f.Column]; ok {
		return v, nil
	}
	c := r.s.Column(f.Column)
	v := value{f.Column, 0}
	if heads := c.Heads(); len(heads) > 0 {
		least, most := heads[0].Min, heads[0].Max
		for _, h := range heads {
			least, most = min(least, h.Min), max(most, h.Max)
		}
		if least == most {
			v = value{-1, least}
		}
	} else {
		var block [column.BlockSize]uint64
		n, err := c.Decode(0, block[:])
		if err != nil {
			return v, err
		}
		same := true
		for _, x := range block[:n] {
			same = same && x == block[0]
		}
		if same {
			v = value{-1, block[0]}
		}
	}
	r.constant[f.Column] = v
	return v, nil
}

// place returns the process's rank in a communicator.
func (r *reader) place(comm uint32) ownPlace {
	p, ok := r.own[comm]
	if !ok {
		p.rank, p.member = r.tables.defs.RankIn(comm, r.process)
		r.own[comm] = p
	}
	return p
}

// message interprets partner, communicator and tag.
func (r *reader) message(rec *record, f []ccg.Field, instances uint64) {
	comm, rank := uint32(f[1].Value), uint32(f[0].Value)
	number, ok := r.tables.number[comm]
	peer := r.tables.defs.Peer(comm, rank, r.process)
	if !ok || peer >= uint32(len(r.tables.defs.Processes())) {
		rec.drop = true
		r.left[LeftUnknown] += instances
		return
	}
	rec.action = program.Action{Kind: program.PostSend, Mode: program.PeerAbsolute, Comm: number, Tag: uint32(f[2].Value), Peer: int32(rank)}
	if rec.kind == recRecv || rec.kind == recIrecvDone {
		rec.action.Kind = program.PostRecv
	}
	r.partner(&rec.action, comm, number, rank, peer, f[0].Partner)
	rec.channel = r.channel(channelKey{rec.action.Kind, number, peer, rec.action.Tag})
}

// partner chooses how the action identifies its partner. It does so as the graph does, so that processes that share nodes of the graph
// share nodes of the program.
func (r *reader) partner(a *program.Action, comm, number, rank, peer uint32, how ccg.Partner) {
	own, size := r.place(comm).rank, r.tables.comms[number].Size
	if r.tables.kinds[number] != commPlain { // partners by process
		own, rank = r.process, peer
		if how == ccg.PartnerFixed || how == ccg.PartnerXor || how == ccg.PartnerOutside {
			how = ccg.PartnerFixed
		}
	}
	switch {
	case how == ccg.PartnerShift:
		a.Mode, a.Peer = program.PeerRelative, int32((uint64(rank)+uint64(size)-uint64(own))%uint64(size))
	case how == ccg.PartnerXor:
		a.Mode, a.Peer = program.PeerXor, int32(rank^own)
	default:
		a.Mode, a.Peer = program.PeerAbsolute, int32(rank)
	}
}

func (r *reader) channel(k channelKey) uint32 {
	n, ok := r.channels[k]
	if !ok {
		n = uint32(len(r.channels))
		r.channels[k] = n
	}
	return n
}

// collective interprets operation, communicator and root.
func (r *reader) collective(rec *record, f []ccg.Field, instances uint64) {
	number, ok := r.tables.number[uint32(f[1].Value)]
	kind, varying, known := collKind(f[0].Value)
	switch {
	case !ok || !known || !r.place(uint32(f[1].Value)).member:
		rec.drop = true
		r.left[LeftUnknown] += instances
		return
	case r.tables.kinds[number] == commAlone:
		rec.drop = true
		return
	case r.tables.kinds[number] == commParts:
		rec.drop, rec.between = true, rec.kind == recColl && r.tables.defs.IsInter(uint32(f[1].Value))
		r.left[LeftBetweenGroups] += instances
		return
	}
	rec.action = program.Action{Kind: program.PostColl, Coll: kind, Comm: number}
	if varying {
		rec.action.Flags = program.Varying
	}
	switch size := r.tables.comms[number].Size; {
	case !kind.Rooted():
	case f[2].Value < uint64(size):
		rec.action.Peer = int32(f[2].Value)
	default:
		r.left[LeftNoRoot] += instances
	}
	rec.channel = r.channel(channelKey{kind: program.PostColl, comm: number})
}

// tables have what the program needs of the definitions.
type tables struct {
	defs    *trace.Definitions
	regions []regionInfo
	none    regionInfo
	comms   []program.Comm
	kinds   []commKind        // by number in comms
	number  map[uint32]uint32 // communicator -> number in comms

	everybody uint32            // number in comms, from which on none is of the definitions
	meets     map[uint32]uint32 // likewise, see addMeetings
}

// regionInfo is what the program needs of a region.
type regionInfo struct {
	class trace.CallClass
	post  program.ActionKind // of its sends
	test  bool               // it may complete nothing
	some  bool               // it may complete only some of its requests
	probe bool               // it waits for a message that another call receives
	spawn bool
	// operator: it makes a reduction operator; records do not have its function
	operator bool
	apart    bool // a file operation or one-sided call outside of MPI
}

// mute reports whether records in a call of a region are ignored: MPI_Init is not a barrier, and file operations outside of MPI keep their
// recorded time.
func (x *regionInfo) mute() bool { return x.class&trace.ClassInit != 0 || x.apart }

// commKind says how the operations of a communicator are recorded.
type commKind uint8

const (
	commPlain commKind = iota
	commAlone          // one process: its collectives wait for nobody; partners are processes
	commParts          // two groups, or unknown members: partners are processes; no collectives
)

func newTables(d *trace.Definitions) *tables {
	t := &tables{defs: d, regions: make([]regionInfo, len(d.Regions)), number: map[uint32]uint32{}}
	for i := range d.Regions {
		t.regions[i] = newRegionInfo(d, &d.Regions[i])
	}
	for _, ref := range d.CommRefs() {
		t.addComm(ref)
	}
	t.addMeetings()
	return t
}

func newRegionInfo(d *trace.Definitions, r *trace.Region) regionInfo {
	x := regionInfo{class: d.Class(r), post: program.PostSend, probe: d.IsProbe(r)}
	if x.class&trace.ClassMPI == 0 {
		x.apart = x.class&trace.ClassIO != 0 || r.Role == trace.RoleRMA
		return x
	}
	name := d.CallName(r)
	is := func(names string) bool { return slices.Contains(strings.Fields(names), name) }
	switch {
	case is("ssend issend"):
		x.post = program.PostSync
	case is("bsend ibsend rsend irsend"):
		x.post = program.PostBuffered
	}
	x.operator = is("op_create")
	x.spawn = is("comm_spawn comm_spawn_multiple comm_connect comm_accept comm_join")
	x.some = is("waitany waitsome test testany testsome testall")
	x.test = is("test testany testsome testall iprobe improbe request_get_status request_get_status_all request_get_status_any request_get_status_some parrived")
	return x
}

func (t *tables) addComm(ref uint32) {
	if _, ok := t.number[ref]; ok {
		return
	}
	t.number[ref] = uint32(len(t.comms))
	members := t.defs.CommMembers(ref)
	everybody := uint32(len(t.defs.Processes()))
	kind := commPlain
	switch {
	case t.defs.IsInter(ref):
		kind = commParts
	case t.defs.IsSelf(ref) || len(members) == 1:
		kind = commAlone
	case !distinct(members, everybody):
		kind = commParts
	}
	c := program.Comm{Size: everybody}
	if kind == commPlain {
		c = program.Comm{Size: uint32(len(members)), Members: members}
		if identity(members) {
			c.Members = nil
		}
	}
	t.comms, t.kinds = append(t.comms, c), append(t.kinds, kind)
}

func identity(members []uint32) bool {
	for i, p := range members {
		if p != uint32(i) {
			return false
		}
	}
	return true
}

// distinct reports whether there are members, all different and below n.
func distinct(members []uint32, n uint32) bool {
	seen := make([]bool, n)
	for _, p := range members {
		if p >= n || seen[p] {
			return false
		}
		seen[p] = true
	}
	return len(members) > 0
}

// region returns what the program needs of a region; nothing for one that is not defined.
func (t *tables) region(ref uint32) *regionInfo {
	if i, ok := t.defs.RegionIndex(ref); ok {
		return &t.regions[i]
	}
	return &t.none
}

// collKind returns the network operation for a collective operation of OTF2, and whether members have parts of different sizes.
func collKind(op uint64) (k program.CollKind, varying, ok bool) {
	kinds := [...]program.CollKind{
		program.Barrier, program.Bcast, program.Gather, program.Gather, program.Scatter, program.Scatter, program.Allgather, program.Allgather,
		program.Alltoall, program.Alltoall, program.Alltoall, program.Allreduce, program.Reduce, program.ReduceScatter, program.Scan, program.Scan, program.ReduceScatter,
		22: program.Barrier, // 17 to 22: making and freeing handles and memory; no member continues before all have entered
	}
	if op >= uint64(len(kinds)) {
		return 0, false, false
	}
	return kinds[op], slices.Contains([]uint64{3, 5, 7, 9, 10, 13}, op), true
}

// collBytes converts the bytes of a record to those of an action: of one part if there is one for each rank. Records count what would move
// if every member sent to every other, itself included, as Score-P does.
func collBytes(k program.CollKind, size uint32, sent, received uint64) (bytes, got uint64) {
	n := uint64(size)
	part := func(b uint64) uint64 {
		q := b / n
		if b%n != 0 {
			q++
		}
		return q
	}
	switch k {
	case program.Bcast:
		b := max(received, part(sent))
		return b, b
	case program.Reduce:
		b := max(sent, part(received))
		return b, b
	case program.Gather:
		b := max(sent, part(received)) // received: the root may use MPI_IN_PLACE
		return b, part(received)
	case program.Scatter:
		return part(sent), max(received, part(sent))
	case program.Scan:
		return sent, received
	case program.Allreduce:
		b := part(max(sent, received))
		return b, b
	case program.Barrier:
		return 0, 0
	}
	return part(sent), part(received)
}
