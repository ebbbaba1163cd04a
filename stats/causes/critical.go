package causes

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Extent is where the path can begin on a location.
type Extent struct {
	Events      bool // it has any
	MPI         bool // it calls MPI
	First, Last uint64

	Finalized    bool // its last MPI call is MPI_Finalize
	Enter, Leave uint64

	Initialized    bool // its first MPI call is MPI_Init
	Began, Started uint64
}

// extentColumns are what is read of calls here, their begin apart.
var extentColumns = []int{xtf.CallEnd, xtf.CallRegion, xtf.CallFlags}

// Initialize returns the first MPI call of a location, of its first calls, where that is MPI_Init: its columns in extentColumns.
func Initialize(defs *trace.Definitions, rows *xtf.Cursor) (call xtf.Call, ok bool, err error) {
	const most = 4096
	defer rows.Close()
	list := xtf.RowsOf[xtf.Call](rows.Only(extentColumns...))
	for list.Next() && list.Cursor.N() < most {
		if r := &list.Row; r.Flags&xtf.FlagOutermostMPI != 0 {
			return *r, defs.StartsMPI(defs.Region(r.Region)), nil
		}
	}
	return call, false, list.Err()
}

// Finalize returns the last MPI call of a location, of some calls, where that is MPI_Finalize, and its number: the same columns. rows
// begins at a call.
func Finalize(defs *trace.Definitions, calls uint64, rows func(from uint64) *xtf.Cursor) (call xtf.Call, number uint64, ok bool, err error) {
	const block = 256
	for to, found := calls, false; to > 0 && !found; to -= min(to, block) {
		list := xtf.RowsOf[xtf.Call](rows(to - min(to, block)).Only(extentColumns...))
		for list.Next() && list.Cursor.N() < to {
			if r := &list.Row; r.Flags&xtf.FlagOutermostMPI != 0 {
				found, call, number, ok = true, *r, list.Cursor.N(), defs.EndsMPI(defs.Region(r.Region))
			}
		}
		if err := list.Err(); err != nil {
			return call, 0, false, err
		}
	}
	return call, number, ok, nil
}

// PathReport counts what the critical path was made of.
type PathReport struct {
	Jumps    uint64 // from location to location, of the part found on this rank
	Messages uint64 // that carried the path to another rank, from this one
	Length   uint64 // ticks, of all locations, on rank 0
}

// tagPath is the tag of the messages that carry the path: instant u64 and location
// u32, little-endian, or nothing when it is complete.
const (
	tagPath   = 12
	pathBytes = 12
)

// Path is the critical path, as far as one rank knows it.
type Path struct {
	run      *Run
	ends     // of the whole run
	report   PathReport
	seen     []int // of each location: the instant, in the order of the path, at which it was there last
	instants int
	jumps    [][]jump // of the slab in hand, by location, that were not passed
	spans    [][]span // of each slab of this rank
	list     []span   // of the slab in hand

	found  *parcels // pieces, by location, then slab; nil without any event
	out    parcelWriter
	write  func(p trace.P, row *xtf.CPath) error
	totals totals.Sums
}

// span is a part of the path on a location, in one slab. Memory: 24 bytes.
type span struct {
	p          uint32
	goesOn     bool // in the slab after
	begin, end uint64
}

// jump is the end of a wait, and who caused it: where the path goes over. In the
// records of a slab it is both as varints.
type jump struct {
	End   uint64
	Cause trace.P
}

// FindPath finds where the critical path is (package comment), after Deal. What it consists of
// shows in the time lines of the slabs, which Delays reads: its pieces, in order, go to write then, on
// the rank of their location. extent says what is known of a location of this rank. Collective.
func FindPath(r *Run, extent func(p trace.P) (Extent, error), write func(p trace.P, row *xtf.CPath) error) (*Path, error) {
	c := &Path{run: r, write: write}
	if err := c.start(extent); err != nil || !c.Best.Events {
		return c, err
	}
	c.jumps, c.seen, c.spans = make([][]jump, r.Defs.NumLocations()), make([]int, r.Defs.NumLocations()), make([][]span, r.parcels.end-r.parcels.own)
	c.found = newReturned(r)
	c.out = c.found.writer(0)
	return c, c.follow()
}

// Totals sums over all locations, on rank 0: ticks, without patterns.
// It comes after Delays. Collective.
func (c *Path) Totals() ([]totals.Row, *PathReport, error) {
	list, err := c.totals.Reduce(c.run.Comm, nil)
	for i := range list {
		c.report.Length += list[i].Sum[0]
	}
	return list, &c.report, err
}

// candidate is where the path may begin.
type candidate struct {
	Extent
	P trace.P
}

func (c *candidate) better(o *candidate) bool {
	switch {
	case c.Events != o.Events:
		return c.Events
	case c.MPI != o.MPI:
		return c.MPI
	case c.Last != o.Last:
		return c.Last > o.Last
	}
	return c.P < o.P
}

// start chooses the location on which the path ends. Collective.
func (c *Path) start(extent func(p trace.P) (Extent, error)) error {
	var err error
	c.ends = noEnds
	own := c.run.Ranges[c.run.Comm.Rank()]
	for p := own.First; p < own.End && err == nil; p++ {
		x := candidate{P: p}
		if x.Extent, err = extent(p); !x.Events {
			continue
		}
		one := ends{Best: x, Begin: x.First, End: x.Last, Left: xtf.Never, Went: xtf.Never}
		if x.Finalized {
			one.Met, one.Left, one.Count = jump{x.Enter, p}, x.Leave, 1
		}
		if x.Initialized {
			one.Came, one.Went, one.Inits = x.Began, x.Started, 1
		}
		c.ends = c.ends.with(one)
	}
	merge := func(a, b ends) (ends, error) { return a.with(b), nil }
	b, err := mpi.TreeShare(c.run.Comm, c.ends, err, ends.encode, decodeEnds, merge, ends.encode)
	if err == nil {
		c.ends, err = decodeEnds(b)
	}
	return err
}

// ends is where the path of some locations may begin, between which instants they have events, and how they meet in MPI_Finalize.
type ends struct {
	Best       candidate
	Begin, End uint64
	Met        jump   // who comes last, and when
	Left       uint64 // when the first one leaves
	Count      int    // locations in it

	Came  uint64 // when the last one comes to MPI_Init
	Went  uint64 // when the first one leaves that
	Inits int    // locations in it
}

var noEnds = ends{Begin: xtf.Never, Left: xtf.Never, Went: xtf.Never}

func (e ends) with(o ends) ends {
	if o.Best.better(&e.Best) {
		e.Best = o.Best
	}
	if o.Count > 0 && (e.Count == 0 || cmp.Or(cmp.Compare(o.Met.End, e.Met.End), cmp.Compare(e.Met.Cause, o.Met.Cause)) > 0) {
		e.Met = o.Met
	}
	e.Begin, e.End, e.Left, e.Count = min(e.Begin, o.Begin), max(e.End, o.End), min(e.Left, o.Left), e.Count+o.Count
	e.Came, e.Went, e.Inits = max(e.Came, o.Came), min(e.Went, o.Went), e.Inits+o.Inits
	return e
}

func (e ends) encode() ([]byte, error) { return json.Marshal(e) }

func decodeEnds(b []byte) (e ends, err error) {
	err = json.Unmarshal(b, &e)
	return e, err
}

// finalize is the end of the wait in MPI_Finalize of the location on which the path ends, for the one that comes last: where each process has the
// call, and nobody leaves it before.
func (c *Path) finalize() (jump, bool) {
	ok := c.Best.Finalized && c.Best.Enter < c.Met.End && c.Count == trace.MPIProcesses(c.run.Defs) && c.Left >= c.Met.End
	return c.Met, ok
}

// initialized is when all processes have met in MPI_Init: the last one came, if nobody has left it before; else 0.
func (c *Path) initialized() uint64 {
	if c.Inits != trace.MPIProcesses(c.run.Defs) || c.Went < c.Came {
		return 0
	}
	return c.Came
}

// follow goes back over the slabs, from the last one to the first, rank after rank. Collective.
func (c *Path) follow() error {
	comm := c.run.Comm
	var failed error
	p, at, more := c.Best.P, c.End, true
	if comm.Rank()+1 < comm.Size() {
		b, _, err := comm.Recv(comm.Rank()+1, tagPath)
		if err != nil {
			return err
		}
		if more = len(b) == pathBytes; more {
			p, at = trace.P(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint64(b)
		}
	}
	own := c.run.parcels
	for k := own.end - 1; k >= own.own && more && failed == nil; k-- {
		if failed = c.openSlab(k); failed == nil {
			p, at, more = c.back(p, at, own.slabs.start(k))
			slices.Reverse(c.list)
			c.spans[k-own.own] = slices.Clone(c.list)
			failed = c.run.did(0, 1)
		}
	}
	if comm.Rank() > 0 {
		var b []byte
		if more && failed == nil {
			b = binary.LittleEndian.AppendUint64(nil, at)
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
			c.report.Messages++
		}
		if err := comm.Send(b, comm.Rank()-1, tagPath); err != nil {
			return err
		}
	}
	return comm.Agree(failed)
}

// back follows the path from location p at an instant through the slab in hand, which begins after start; there may be more of it. At
// one instant it comes to a location once: so waits for each other do not hold it, and it goes on where it came to last.
func (c *Path) back(p trace.P, at, start uint64) (trace.P, uint64, bool) {
	c.list = c.list[:0]
	c.instants++
	c.seen[p] = c.instants
	for goesOn := true; ; goesOn = false {
		j, ok := c.jump(p, at)
		if !ok {
			c.span(p, max(c.Begin, start), at, goesOn)
			return p, min(at, start), true
		}
		if j.End < c.Begin {
			c.span(p, c.Begin, at, goesOn)
			return p, at, false
		}
		c.span(p, j.End, at, goesOn)
		c.report.Jumps++
		if j.End < at {
			c.instants++
			c.seen[p] = c.instants
		}
		p, at = j.Cause, j.End
		c.seen[p] = c.instants
	}
}

// span is a part of the path on a location in the slab in hand.
func (c *Path) span(p trace.P, begin, end uint64, goesOn bool) {
	if begin < end {
		c.list = append(c.list, span{uint32(p), goesOn, begin, end})
	}
}

// openSlab reads the jumps of a slab. Of waits that end at one instant the path takes
// the lowest cause first.
func (c *Path) openSlab(k int) error {
	for p := range c.jumps {
		c.jumps[p] = c.jumps[p][:0]
	}
	err := c.run.parcels.each(jumpParcels, k, func(p uint32, b []byte) error {
		if uint64(p) >= uint64(len(c.jumps)) {
			return ErrDamaged
		}
		list, r := c.jumps[p], varint.Read(b)
		for r.Len() > 0 {
			list = append(list, jump{r.Next(), trace.P(r.AtMost(uint64(len(c.jumps) - 1)))})
		}
		slices.SortFunc(list, func(a, b jump) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(b.Cause, a.Cause)) })
		c.jumps[p] = list
		return failure(&r)
	})
	if j, ok := c.finalize(); ok && c.run.Slabs.at(j.End) == k {
		c.jumps[c.Best.P] = append(c.jumps[c.Best.P], j) // nothing is waited for after it
	}
	return err
}

// jump returns the last wait of a location that ends by an instant, was not passed and does not lead back to where the path was at this
// instant, and passes it.
func (c *Path) jump(p trace.P, at uint64) (x jump, ok bool) {
	list := c.jumps[p]
	for len(list) > 0 && !ok {
		x = list[len(list)-1]
		list, ok = list[:len(list)-1], x.End < at || x.End == at && c.seen[x.Cause] != c.instants
	}
	c.jumps[p] = list
	return x, ok
}

// What the path consists of on a location in a slab is its pieces, in order:
//
//	ticks since the end of the last one | ticks | key | node | 2 x (1 + region, 0 for that of the path) + (the path is here after it too)
//
// The last part is 1 only where the path goes on in the next slab.

// pieces gives what the path consists of in a slab, of which these are the time lines, to the ranks of the locations, once.
func (c *Path) pieces(k int, lines []lineSlab) error {
	if c.found == nil {
		return nil
	}
	list := c.spans[k-c.run.parcels.own]
	c.spans[k-c.run.parcels.own] = nil
	slices.SortFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.begin, b.begin)) })
	at := uint64(0)
	for i := range list {
		s := &list[i]
		if i == 0 || s.p != list[i-1].p {
			at = 0
		}
		if c.out.at(uint32(k), int(s.p)); !c.cut(s, &lines[s.p], at) {
			return ErrDamaged
		}
		at = s.end
	}
	c.out.flush()
	return c.out.err
}

// cut parts a span where the location begins to do something else, false if that is not known.
func (c *Path) cut(s *span, x *lineSlab, at uint64) bool {
	var on slotKey
	var region uint32
	from, end := s.begin, s.begin
	put := func(goesOn uint64) {
		if from < end {
			c.out.buf = varint.Append(c.out.buf, from-at, end-from, on.key, uint64(on.node), uint64(region+1)<<1|goesOn)
			from, at = end, end
		}
	}
	for i := x.find(&x.near[0], s.begin); i < len(x.ends) && end < s.end; i++ {
		if k, r := x.keys[x.ids[i]>>pieceBits], x.regionOf(i); k != on || r != region {
			put(0)
			on, region = k, r
		}
		end = min(x.ends[i], s.end)
	}
	goesOn := uint64(0)
	if s.goesOn {
		goesOn = 1
	}
	put(goesOn)
	return end == s.end
}

// deliver writes the pieces of this rank's locations, in order, where no rank failed before. Collective.
func (c *Path) deliver(failed error) error {
	if c.found == nil {
		return c.run.Comm.Agree(failed)
	}
	defer c.found.drop()
	if err := c.found.deliver(failed); err != nil {
		return err
	}
	var err error
	var sums slotTable
	for p := c.found.own; p < c.found.end && err == nil; p++ {
		sums.clear()
		x := pathWriter{c: c, p: trace.P(p), sums: &sums}
		err = c.found.each(0, p, x.slab)
		if err == nil {
			err = x.end()
		}
	}
	return c.run.Comm.Agree(err)
}

// pathWriter writes the pieces of a location.
type pathWriter struct {
	c      *Path
	p      trace.P
	row    xtf.CPath // the last one
	on     slotKey
	goesOn bool
	sums   *slotTable
}

// slab takes the pieces of the next slab.
func (x *pathWriter) slab(_ uint32, b []byte) error {
	r, at := varint.Read(b), uint64(0)
	for r.Len() > 0 {
		from := at + r.Next()
		at = from + r.Next()
		on, last := slotKey{r.Next(), r.Uint32()}, r.Next()
		region := uint32(last>>1) - 1
		if region == trace.Undefined {
			path := on.key >> activityBits
			if path >= uint64(len(x.c.run.Regions)) {
				return ErrDamaged
			}
			region = x.c.run.Regions[path]
		}
		if x.goesOn && x.row.End == from && on == x.on && region == x.row.Region {
			x.row.End = at
		} else {
			if err := x.write(); err != nil {
				return err
			}
			x.on = on
			x.row = xtf.CPath{T: from, End: at, Region: region, Activity: activityOf(on.key), Node: on.node, Path: uint32(on.key >> activityBits)}
		}
		x.goesOn = last&1 > 0
	}
	return failure(&r)
}

func (x *pathWriter) write() error {
	if x.row.T == x.row.End {
		return nil
	}
	x.sums.list[x.sums.find(x.on.key, x.on.node)].total += x.row.End - x.row.T
	return x.c.write(x.p, &x.row)
}

// end writes the last piece, and adds the location to the totals; locations ascend.
func (x *pathWriter) end() error {
	err := x.write()
	for _, k := range x.sums.list[1:] { // of waits there are none
		name := totals.Name{Key: xtf.NodeKey(k.node, uint32(k.key>>activityBits)), Activity: activityOf(k.key)}
		x.c.totals.Add(&totals.Row{Name: name, Sum: [2]uint64{k.total}, Worst: k.total, WorstP: uint32(x.p)})
	}
	return err
}
