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

// Extent is what FindPath needs of a location. Times are in ticks.
type Extent struct {
	Events      bool   // there are events
	MPI         bool   // it calls MPI
	First, Last uint64 // events

	Finalized    bool   // its last MPI call is MPI_Finalize
	Enter, Leave uint64 // of that call

	Initialized    bool   // its first MPI call is MPI_Init
	Began, Started uint64 // enter and leave of that call
}

// extentColumns are the columns of calls that Initialize and Finalize read, besides T.
var extentColumns = []int{xtf.CallEnd, xtf.CallRegion, xtf.CallFlags}

// Initialize looks for the first MPI call among the first calls of a location. ok reports whether it is MPI_Init. Only extentColumns
// and T of the call are set.
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

// Finalize returns the last MPI call of a location with so many calls, and its number. ok reports whether it is MPI_Finalize. rows
// returns the calls from one on. The same columns are set.
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

// PathReport counts what FindPath did on this rank.
type PathReport struct {
	Jumps    uint64 // from location to location, in this rank's slabs
	Messages uint64 // sent, to hand the path on
	Length   uint64 // of the whole path, ticks; on rank 0
}

// tagPath is the tag of the messages that carry the path: instant u64 and location
// u32, little-endian, or nothing when it is complete.
const (
	tagPath   = 12
	pathBytes = 12
)

// Path is the critical path in one rank's slabs.
type Path struct {
	run      *Run
	ends     // of the whole run
	report   PathReport
	seen     []int    // by location: number of the instant at which the path was there last
	instants int      // number of the current instant of the path
	jumps    [][]jump // of the current slab, by location: those not passed yet
	spans    [][]span // of each slab of this rank
	list     []span   // of the current slab

	found  *parcels // pieces, by location, then slab; nil without any event
	out    parcelWriter
	write  func(p trace.P, row *xtf.CPath) error
	totals totals.Sums
}

// span is a part of the path on a location, in one slab. Memory: 24 bytes.
type span struct {
	p          uint32
	goesOn     bool // the path continues on p in the next slab
	begin, end uint64
}

// jump is where the path goes over to another location: the end of a wait, and the location that caused it. In the records of a slab
// it is two varints.
type jump struct {
	End   uint64
	Cause trace.P
}

// FindPath finds on which locations the critical path is, and when (package comment), after Deal. extent describes a location of this
// rank. Activities and call paths are in the time lines of the slabs, which Costs reads later: it calls write for each row, in order, on
// the rank of the row's location. Collective.
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

// Totals returns, on rank 0, the sums over all locations, in ticks. It comes after Costs. Collective.
func (c *Path) Totals() ([]totals.Row, *PathReport, error) {
	list, err := c.totals.Reduce(c.run.Comm, nil)
	for i := range list {
		c.report.Length += list[i].Sum[0]
	}
	return list, &c.report, err
}

// candidate is a location on which the path may end.
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

// start finds the ends of the run. Collective.
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

// ends is what some locations together say about both ends of the path.
type ends struct {
	Best       candidate // the location on which the path ends
	Begin, End uint64    // first and last event, ticks
	Met        jump      // the last enter of MPI_Finalize, and its location
	Left       uint64    // the first leave of MPI_Finalize
	Count      int       // locations with Finalized

	Came  uint64 // the last enter of MPI_Init
	Went  uint64 // the first leave of MPI_Init
	Inits int    // locations with Initialized
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

// finalize returns the jump in MPI_Finalize from the location on which the path ends to the location that enters last. ok is false
// unless each process has the call and nobody leaves it before.
func (c *Path) finalize() (jump, bool) {
	ok := c.Best.Finalized && c.Best.Enter < c.Met.End && c.Count == trace.MPIProcesses(c.run.Defs) && c.Left >= c.Met.End
	return c.Met, ok
}

// initialized returns when the last process entered MPI_Init; 0 unless all processes have the call and nobody left it before.
func (c *Path) initialized() uint64 {
	if c.Inits != trace.MPIProcesses(c.run.Defs) || c.Went < c.Came {
		return 0
	}
	return c.Came
}

// follow follows the path from the last slab to the first one, rank after rank. Collective.
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

// back follows the path backwards from location p at an instant through the current slab, which begins after start. It returns where
// the path leaves the slab, and whether there is more of it. At one instant it visits a location only once, so that waits for each
// other in a cycle do not hold it.
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

// span adds a part of the path in the current slab.
func (c *Path) span(p trace.P, begin, end uint64, goesOn bool) {
	if begin < end {
		c.list = append(c.list, span{uint32(p), goesOn, begin, end})
	}
}

// openSlab reads the jumps of a slab. Among waits of a location that end at one instant, the path takes that with the lowest cause first.
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

// jump returns the last jump of location p by an instant, and removes it with all later ones. It skips jumps back to a location at which
// the path was at this instant.
func (c *Path) jump(p trace.P, at uint64) (x jump, ok bool) {
	list := c.jumps[p]
	for len(list) > 0 && !ok {
		x = list[len(list)-1]
		list, ok = list[:len(list)-1], x.End < at || x.End == at && c.seen[x.Cause] != c.instants
	}
	c.jumps[p] = list
	return x, ok
}

// A piece of the path is time on one location in one activity, call path and node. The record of a location in a slab is its pieces:
//
//	ticks since the end of the last one | ticks | key | node | 2 x (1 + region, 0 for that of the path) + (1 if the path goes on)
//
// Only the last piece can go on: the path continues on the location in the next slab.

// pieces cuts the path in slab k, of which lines are the time lines, into pieces for the ranks of the locations. It does so once.
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

// cut cuts a span into pieces. at is the end of the last piece. It reports whether the time line covers the span.
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

// deliver exchanges the pieces, and writes those of this rank's locations, in order. failed is an earlier error of this rank. Collective.
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

// end writes the last row, and adds the location to the totals. Locations ascend.
func (x *pathWriter) end() error {
	err := x.write()
	for _, k := range x.sums.list[1:] { // the first slot is that of waits, and empty
		name := totals.Name{Key: xtf.NodeKey(k.node, uint32(k.key>>activityBits)), Activity: activityOf(k.key)}
		x.c.totals.Add(&totals.Row{Name: name, Sum: [2]uint64{k.total}, Worst: k.total, WorstP: uint32(x.p)})
	}
	return err
}
