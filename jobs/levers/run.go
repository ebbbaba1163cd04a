package levers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Options says which changes to try. It is the same on all ranks.
type Options struct {
	Run      string              // the XTF file
	Changes  []Change            // to try; nil: changes of the targets that promise most
	Targets  int                 // how many of each kind to try then
	Output   string              // file of the run with all Changes; "" for none
	Analyze  analyze.Options     // how Output is written; this package sets Source, Output and Intervals
	MemBytes int64               // memory of a rank for what it reads; the rest goes to a file in Scratch
	Scratch  string              // folder
	Show     func(jobs.Progress) // on rank 0
}

// search is one job on one rank.
type search struct {
	o      Options
	c      mpi.Comm
	run    *results.Run
	nodes  []results.Node
	paths  pathTable
	ranges []partition.Range
	bytes  []uint64  // by location: bytes in the file
	sizes  [2]uint64 // sums of bytes: of this rank's locations, of all
	store  *xtfwriter.Store
	levers causes.Levers
	meter  *jobs.Meter
	first  uint64 // first event of the run, ticks
	end    meeting
	own    []map[placeKey]uint64 // by location of this rank: ticks outside of MPI

	functions, intervals map[uint32]uint64 // by region, and by node: the most ticks on one location
	turns                map[uint32]*turns // by region that receives, on this rank's locations
	tests                uint64            // MPI calls that test or probe, of this rank's locations
	res                  Report
}

// Run replays a recorded run with changes. Collective: all ranks return the same error; rank 0 gets the report, which does not depend on
// the number of ranks.
func Run(c mpi.Comm, o Options) (*Report, error) {
	side, err := c.Dup()
	if err != nil {
		return nil, err
	}
	x := &search{o: o, c: c, meter: jobs.NewMeter(side, o.Show)}
	err = x.work()
	if x.run != nil {
		x.run.Close()
	}
	if x.store != nil {
		if e := x.store.Close(true); err == nil {
			err = jobs.Agree(c, e)
		}
	}
	return &x.res, x.meter.End(err)
}

func (x *search) work() error {
	for _, step := range []func() error{x.open, x.read, x.try} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// open reads the parts of the file that all ranks need, and distributes the locations.
func (x *search) open() error {
	x.meter.Stage("open", 0, 0)
	jobs.HugePages(x.c, 0, math.MaxUint64) // the size of the file says little
	err := x.openRun()
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	weights := make([]uint64, x.run.Defs.NumLocations())
	x.bytes = make([]uint64, len(weights))
	for p := range weights {
		d, e := x.run.File.Dir(xtf.Proc(p))
		if e != nil {
			err = e
		}
		weights[p], x.bytes[p] = d.Events, d.RegionBytes
	}
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	x.ranges = partition.Ranges(weights, x.c.Size())
	own := x.ranges[x.c.Rank()]
	for p, n := range x.bytes {
		if x.sizes[1] += n; own.Contains(trace.P(p)) {
			x.sizes[0] += n
		}
	}
	return nil
}

// input gives an error of reading the file, which names the file already, the exit code of input.
func (x *search) input(err error) error {
	if errors.Is(err, results.ErrNoResult) || errors.Is(err, causes.ErrDamaged) || err != nil && jobs.ExitCode(jobs.InputError(x.o.Run, err)) == jobs.ExitInput {
		return jobs.Fail(jobs.ExitInput, err)
	}
	return err
}

func (x *search) openRun() (err error) {
	if x.run, err = results.Open(x.o.Run, xtf.Options{CacheBytes: 8 << 20}); err != nil {
		return err
	}
	if !x.run.Rows {
		return fmt.Errorf("%s: %w: it was analyzed with --events none, without the calls that are replayed", x.run.Name, results.ErrNoResult)
	}
	brief, err := x.run.Brief()
	if err != nil {
		return err
	}
	x.res.Partial = brief.Partial
	if x.nodes, err = x.run.Nodes(); err != nil {
		return err
	}
	return x.paths.read(x.run)
}

// pathTable is the call paths of the run. Memory: 44 bytes each.
type pathTable struct {
	*results.CallPaths
	regions   []uint32             // by path: innermost region
	functions []uint32             // by path: innermost function of the program, see results.CallPaths.Own
	children  map[[2]uint32]uint32 // by parent and region
	all       []uint32             // by path: its own number
}

// read reads the call paths. Path 0 is always there, since time lines begin on it.
func (t *pathTable) read(r *results.Run) (err error) {
	if t.CallPaths, err = results.ReadCallPaths(r); err != nil {
		return err
	}
	t.children, t.regions, t.functions, t.all = map[[2]uint32]uint32{}, []uint32{trace.Undefined}, []uint32{trace.Undefined}, []uint32{0}
	for n := uint32(1); int(n) < t.Len(); n++ {
		t.regions, t.functions, t.all = append(t.regions, t.Region(n)), append(t.functions, t.Region(t.Own(n))), append(t.all, n)
		t.children[[2]uint32{t.Parent(n), t.Region(n)}] = n
	}
	return nil
}

// Child implements causes.Paths. A path beyond the limits counts for its caller.
func (t *pathTable) Child(parent, region uint32) uint32 {
	if n, ok := t.children[[2]uint32{parent, region}]; ok {
		return n
	}
	return parent
}

// begin begins a stage that passes so many times over all locations, for the meter.
func (x *search) begin(stage string, times int) {
	x.meter.Stage(stage, x.sizes[0]*uint64(times), x.sizes[1]*uint64(times))
}

// read reads the rows of this rank's locations, and gives the slabs their records.
func (x *search) read() error {
	own := x.ranges[x.c.Rank()]
	x.begin("read", 1)
	x.store = xtfwriter.NewStore(filepath.Join(x.o.Scratch, fmt.Sprintf(".coppice.levers-%d-%d", os.Getpid(), x.c.Rank())), x.o.MemBytes)
	x.store.Unname()
	run := &causes.Run{
		Comm: x.c, Defs: x.run.Defs, Ranges: x.ranges, Regions: x.paths.regions, Derived: make([]bool, len(x.nodes)), Probes: true,
		Storage: analyze.Storage(x.store, x.o.MemBytes),
	}
	for n := range x.nodes {
		run.Derived[n] = interval.Form(x.nodes[n].Form) == interval.FormDerived
	}
	x.levers = causes.Levers{Replay: causes.Replay{Run: run}}
	var cuts causes.Counts
	lasts, err := x.extents(own, run, &cuts)
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(lasts, mpi.Max); err != nil {
		return err
	}
	if err := x.meet(own); err != nil {
		return err
	}
	x.levers.Lasts = ends(lasts)
	if err := jobs.OverRanks(x.c, mpi.Max, &run.Last); err != nil {
		return err
	}
	if err := jobs.OverRanks(x.c, mpi.Min, &x.first); err != nil {
		return err
	}
	if err := run.Cut(&cuts); err != nil {
		return err
	}
	if err := x.devices(run); err != nil {
		return err
	}
	defer run.Within.Close()
	x.turns = map[uint32]*turns{}
	pass := causes.NewPass(run)
	lines := make([]*xtfwriter.Segment, own.Len())
	err = nil
	for p := own.First; p < own.End && err == nil; p++ {
		lines[p-own.First] = x.store.Scratch()
		err = x.location(p, pass, lines[p-own.First])
	}
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	return run.Deal(func(p trace.P) (causes.Segment, error) { return lines[p-own.First], nil })
}

// devices finds for which streams of their devices hosts wait. Collective.
func (x *search) devices(run *causes.Run) (err error) {
	own := x.ranges[x.c.Rank()]
	if run.Within = causes.NewWithin(run, false); run.Within == nil {
		return nil
	}
	for p := own.First; p < own.End && err == nil; p++ {
		if !run.Within.Has(p) {
			continue
		}
		if calls, moves := rows[xtf.Call](x, p, &err), rows[xtf.RMA](x, p, &err); err == nil {
			err = run.Within.Location(p, calls, moves, nil, &x.paths, x.paths.all)
		}
	}
	return run.Within.Match(x.input(err))
}

// rows returns all rows of type T of a location. It sets err if there is an error.
func rows[T any, R xtf.Form[T]](x *search, p trace.P, err *error) *xtf.Cursor {
	a, e := xtf.ArrayOf[T, R](x.run.File, xtf.Proc(p))
	if e != nil {
		*err = e
		return nil
	}
	return a.Rows(0, a.Len())
}

// ends returns the ends of the locations that decide when the run ends: those with MPI calls or, if there are none, all on hosts; 0 for
// others. lasts has by location the ends of those on hosts, then again only of those with MPI calls.
func ends(lasts []int64) []uint64 {
	n := len(lasts) / 2
	if of := lasts[n:]; slices.Max(append(of, 0)) > 0 {
		lasts = of
	}
	list := make([]uint64, n)
	for p := range list {
		list[p] = uint64(lasts[p])
	}
	return list
}

// extents returns when locations end, as ends needs it, and counts their MPI calls by time.
func (x *search) extents(own partition.Range, run *causes.Run, cuts *causes.Counts) (lasts []int64, err error) {
	n := x.run.Defs.NumLocations()
	lasts, x.first = make([]int64, 2*n), xtf.Never
	for p := own.First; p < own.End; p++ {
		life, err := x.run.Life(p)
		if err != nil {
			return lasts, err
		}
		run.Last = max(run.Last, life.End)
		if life.End > 0 {
			x.first = min(x.first, life.Begin)
		}
		least, calls := xtf.Never, uint64(0)
		err = results.Load(x.run, xtf.Proc(p), func(b *xtf.TimeBin) {
			level, bin := b.Key>>52, b.Key&(1<<52-1)
			if least = min(least, level); level > least || trace.CallClass(b.Class)&trace.ClassMPI == 0 {
				return
			}
			if r := x.run.Defs.Region(b.Region); x.run.Defs.IsTest(r) || x.run.Defs.IsCall(r, "iprobe", "improbe") {
				x.tests += b.Count
			}
			if calls += b.Count; level <= 26 && bin <= life.End>>(2*level) {
				cuts.Add(bin<<(2*level), 1<<(2*level), b.Count)
			}
		})
		if err != nil {
			return lasts, err
		}
		if x.run.Defs.Location(p).Type.OnHost() {
			lasts[p] = int64(life.End)
			if calls > 0 {
				lasts[n+int(p)] = int64(life.End)
			}
		}
	}
	return lasts, nil
}

// meeting is MPI_Finalize, if all processes of a communicator leave it only after the last one entered: then the replay takes it as a
// barrier, though the trace does not record it as one. Memory: 96 bytes for each location of this rank, and 8 for each of all.
type meeting struct {
	comm  uint32
	last  uint64     // the last enter, ticks
	calls []xtf.Coll // by location of this rank; End is 0 for none
	known bool       // it is a barrier
}

// meet finds whether MPI_Finalize is a barrier. Collective.
func (x *search) meet(own partition.Range) error {
	var err error
	took := make([]int64, x.run.Defs.NumLocations()) // by location: leave of MPI_Finalize, 0 for none
	for p := own.First; p < own.End && err == nil; p++ {
		var c xtf.Coll
		if c, err = x.finalize(p); err == nil {
			took[p], x.end.last = int64(c.End), max(x.end.last, c.T)
			x.end.calls = append(x.end.calls, c)
		}
	}
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(took, mpi.Max); err != nil {
		return err
	}
	if err := jobs.OverRanks(x.c, mpi.Max, &x.end.last); err != nil {
		return err
	}
	processes := map[uint32]bool{}
	for p, end := range took {
		if process, _ := x.run.Defs.Process(trace.P(p)); end > 0 {
			if uint64(end) < x.end.last || processes[process] {
				return nil
			}
			processes[process] = true
		}
	}
	for _, comm := range x.run.Defs.CommRefs() {
		members := x.run.Defs.CommMembers(comm)
		if !x.run.Defs.IsInter(comm) && len(members) == len(processes) && !slices.ContainsFunc(members, func(p uint32) bool { return !processes[p] }) {
			x.end.comm, x.end.known = comm, true
			break
		}
	}
	return nil
}

// finalize returns the last MPI call of a location as a COLL row, if it is MPI_Finalize.
func (x *search) finalize(p trace.P) (c xtf.Coll, err error) {
	calls, err := xtf.ArrayOf[xtf.Call](x.run.File, xtf.Proc(p))
	if err != nil {
		return c, err
	}
	r, n, ok, err := causes.Finalize(x.run.Defs, calls.Len(), func(from uint64) *xtf.Cursor { return calls.Rows(from, calls.Len()) })
	if ok {
		c = xtf.Coll{T: r.T, End: r.End, Post: r.T, CallN: n, Region: r.Region}
	}
	return c, err
}

// turns counts in which order calls of a region took messages of several processes: apart, how many times another process came next than
// the last time after the same messages; against, how many times the message was sent before the one taken before it.
type turns struct{ apart, against int64 }

// lastTurn is the last message that calls of a region took on a location.
type lastTurn struct {
	call, sent uint64
	from, run  uint32            // the location that sent it, and the number of its messages in a row
	after      map[uint64]uint32 // by from<<32 | run: who came next the last time
}

// mostInRow is the most messages in a row that are counted.
const mostInRow = 63

// inTurn adds a message. Memory: 24 bytes for each region, sender, and number of its messages in a row.
func (x *search) inTurn(m *xtf.P2P, last map[uint32]lastTurn) {
	if m.Kind&xtf.P2PKindMask != xtf.P2PRecv || m.Kind&xtf.P2PMarker != 0 || m.MateN == xtf.Never {
		return
	}
	l, ok := last[m.Region]
	now := lastTurn{m.CallN, m.MateT, m.MateP, 1, l.after}
	if l.from == m.MateP {
		now.run += min(l.run, mostInRow)
	}
	if now.after == nil {
		now.after = map[uint64]uint32{}
	}
	if last[m.Region] = now; !ok || l.call == m.CallN || l.run > mostInRow {
		return
	}
	t := x.turns[m.Region]
	if t == nil {
		t = &turns{}
		x.turns[m.Region] = t
	}
	if m.MateT < l.sent {
		t.against++
	}
	key := uint64(l.from)<<32 | uint64(l.run)
	if next, ok := now.after[key]; ok && next != m.MateP {
		t.apart++
	}
	now.after[key] = m.MateP
}

// location makes the records of a location with pass, in segment to.
func (x *search) location(p trace.P, pass *causes.Pass, to *xtfwriter.Segment) error {
	life, err := x.run.Life(p)
	if err != nil {
		return err
	}
	calls, executions := rows[xtf.Call](x, p, &err), rows[xtf.Ival](x, p, &err)
	m, c := xtf.RowsOf[xtf.P2P](rows[xtf.P2P](x, p, &err)), xtf.RowsOf[xtf.Coll](rows[xtf.Coll](x, p, &err))
	if err != nil {
		return err
	}
	pass.Begin(p, &causes.Location{Calls: calls, Intervals: executions, Paths: &x.paths, Global: x.paths.all, First: life.Begin, Last: life.End}, to)
	operations, last := uint64(0), map[uint32]lastTurn{}
	m.Next()
	c.Next()
	for m.More || c.More {
		t := xtf.Never
		if m.More {
			t = m.Row.T
		}
		if c.More {
			t = min(t, c.Row.T)
		}
		known := t
		if m.More && m.Row.Kind&xtf.P2PProbed != 0 {
			known = min(t, m.Row.Post)
		}
		if err := pass.To(known); err != nil {
			return err
		}
		for ; m.More && m.Row.T == t; m.Next() {
			x.inTurn(&m.Row, last)
			pass.Message(&xtf.Message{P2P: m.Row, N: m.Cursor.N()})
		}
		for ; c.More && c.Row.T == t; c.Next() {
			operations++
			pass.Collective(&xtf.Collective{Coll: c.Row, N: c.Cursor.N(), Cause: xtf.NoCollCause()})
		}
	}
	if err := cmp.Or(m.Err(), c.Err()); err != nil {
		return err
	}
	if end := x.end.calls[p-x.ranges[x.c.Rank()].First]; x.end.known && end.End > 0 {
		if err := pass.To(end.T); err != nil {
			return err
		}
		end.Comm, end.Ordinal, end.LastEnter = x.end.comm, 1<<62, x.end.last
		pass.Collective(&xtf.Collective{Coll: end, N: operations, Cause: xtf.NoCollCause()})
	}
	if err := pass.End(); err != nil {
		return err
	}
	own := map[placeKey]uint64{}
	for at, ticks := range pass.Own() {
		if x.levers.Lasts[p] > 0 || onDevice(at.Activity) {
			own[placeKey{at.Path, at.Activity, at.Node}] += ticks
		}
	}
	x.own = append(x.own, own)
	x.meter.Add(x.bytes[p])
	return nil
}
