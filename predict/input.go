package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Input is a recorded run as input of a prediction: the calls of its processes, and the computation between them. It is read-only, except
// for Vectors.
//
// Of each process it has the first location; MPI calls of other threads are counted and left out. Each outermost MPI call is a call of the
// program, and so is each file operation and one-sided call outside of MPI. [Left] says what becomes of records that the program cannot
// represent. Calls without records of messages, collectives or files (MPI_Init, MPI_Comm_rank, failed tests, one-sided operations), and
// calls outside of MPI, keep their recorded time, which counts neither as computation nor as communication. Waits in MPI_Finalize are
// removed, see meet, and those in calls that synchronise without messages, see synchronised.
//
// Memory: the shared graph; the program, 16 bytes for each node, 4 for each child, 40 for each action, and 24 for the sequence of each
// node; 4 bytes for each process; and for each process of this rank 80 bytes and its vector, 1 to 9 bytes for each entry, usually 2 or 3,
// see [Vectors].
type Input struct {
	Defs    *trace.Definitions
	Shared  *graph.Shared
	Program *program.Program // of all processes, the same on all ranks
	// Region is the MPI function of each Call of the program, trace.Undefined if a record is outside of calls.
	Region  []uint32
	Ranges  []partition.Range // processes of each rank
	First   uint32            // this rank's processes: First to End - 1
	End     uint32
	Left    Left // of all ranks
	Vectors *Vectors

	file      Graphs
	tables    *tables // read-only
	processes []trace.Process
	keys      []uint64   // of each node: see callKeys
	sequences []sequence // of each node
	// earlyStarts: calls of MPI_Win_start do not wait. earlyRelays: rooted operations of two groups pass data on before the relays
	earlyStarts, earlyRelays bool
	met                      trace.Time // when the last process entered MPI_Finalize, if that is known to be a barrier; else never
}

// never is later than all events.
const never = math.MaxUint64

// Graphs has the call graphs of a run: an open file, or the analysis that makes one.
type Graphs interface {
	Procs() uint32 // locations
	Definitions() ([]byte, error)
	SectionBytes(kind uint32) ([]byte, error)
	BlobBytes(p xtf.Proc, kind uint32) ([]byte, error)
	Dir(p xtf.Proc) (xtf.DirRow, error)
}

// OpenOptions are options of Open. The zero value is for an open file.
type OpenOptions struct {
	Ranges  []partition.Range // processes of each rank; nil: equal shares of the events
	Alone   bool              // rank 0 has all processes
	Primary bool              // read only the first location of each process: calls of others are not counted
	Vectors Segments          // stores the vectors; nil: in memory
}

// Open makes the program of a run. Collective: all ranks return the same input, except for the vectors of their processes, or the same most
// severe error.
func Open(c mpi.Comm, file Graphs, o OpenOptions) (*Input, error) {
	in := &Input{file: file, Ranges: o.Ranges, met: never}
	if err := c.Agree(in.open()); err != nil {
		return nil, err
	}
	if in.Ranges == nil {
		weights, err := in.weights()
		if err := c.Agree(err); err != nil {
			return nil, err
		}
		if in.Ranges = partition.Ranges(weights, c.Size()); o.Alone {
			end := trace.P(len(weights))
			in.Ranges = slices.Repeat([]partition.Range{{First: end, End: end}}, c.Size())
			in.Ranges[0].First = 0
		}
	}
	own := in.Ranges[c.Rank()]
	in.First, in.End = uint32(own.First), uint32(own.End)
	b := &builder{tables: newTables(in.Defs), first: map[uint64]program.NodeID{}}
	in.tables = b.tables
	if err := findEarly(c, in); err != nil {
		return nil, err
	}
	last, err := in.load(b, &o)
	if err := c.Agree(err); err != nil {
		return nil, err
	}
	if err := in.unite(c, b); err != nil {
		return nil, err
	}
	if err := in.Vectors.shareBound(c); err != nil {
		return nil, err
	}
	if err := in.meet(c, last); err != nil {
		return nil, err
	}
	in.keys = in.callKeys()
	in.sequences = sequences(in.Program, in.keys)
	return in, nil
}

// open reads what is the same on all ranks.
func (in *Input) open() error {
	var err error
	if in.Defs, err = callview.Definitions(in.file); err != nil {
		return err
	}
	in.processes = in.Defs.Processes()
	b, err := in.file.SectionBytes(xtf.KindCCG)
	if err == nil {
		in.Shared, err = graph.OpenShared(in.Defs, b)
	}
	return err
}

// weights returns the number of events of each process.
func (in *Input) weights() ([]uint64, error) {
	w := make([]uint64, len(in.processes))
	for i, p := range in.processes {
		d, err := in.file.Dir(xtf.Proc(p.First))
		if err != nil {
			return nil, err
		}
		w[i] = d.Events
	}
	return w, nil
}

// Location opens the call graph of a location. Safe for concurrent use.
func (in *Input) Location(p trace.P) (*ccg.Location, error) {
	l, _, err := callview.Location(in.file, in.Shared, xtf.Proc(p))
	if err != nil {
		return nil, fmt.Errorf("location %d: %w", p, err)
	}
	return l, nil
}

// Events returns the number of events of a location.
func (in *Input) Events(p trace.P) (uint64, error) {
	d, err := in.file.Dir(xtf.Proc(p))
	return d.Events, err
}

// finalize is MPI_Finalize, if it is the last call of a process and has no records.
type finalize struct {
	begin, end trace.Time
	ok         bool
}

// meet makes MPI_Finalize a barrier, if in the recorded run no process left it before the last one had entered (as far as the graph is
// exact). No record says so. Of its recorded time only what follows after the last process has entered is kept. Collective.
func (in *Input) meet(c mpi.Comm, last []finalize) error {
	const sign = 1 << 63
	v := []int64{1, math.MaxInt64, math.MaxInt64} // whether all have it as last call; first end; complement of the last begin: times less 2^63
	for _, x := range last {
		if !x.ok {
			v[0] = 0
		}
		v[1], v[2] = min(v[1], int64(x.end^sign)), min(v[2], ^int64(x.begin^sign))
	}
	if err := c.AllreduceInt64(v, mpi.Min); err != nil {
		return err
	}
	comm := 0
	for comm < len(in.tables.kinds) && (in.tables.kinds[comm] != commPlain || in.Program.Comms[comm].Size != in.Processes()) {
		comm++
	}
	if comm == len(in.tables.kinds) || v[0] == 0 || v[1] < ^v[2] && uint64(^v[2]-v[1]) > in.Vectors.bound {
		return nil
	}
	in.met = trace.Time(^v[2]) ^ sign
	for i, x := range last {
		in.Vectors.list[i].waits = uint64(min(in.met, x.end) - x.begin)
	}
	p, at := in.Program, uint32(len(in.Program.Actions))
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Kind == program.Call && n.Len == 0 && in.Defs.EndsMPI(in.Defs.Region(in.Region[i])) {
			n.First, n.Len = at, 2
		}
	}
	p.Actions = append(p.Actions, program.Action{Kind: program.PostColl, Flags: program.Free, Coll: program.Barrier, Comm: uint32(comm)},
		program.Action{Kind: program.WaitColl, Comm: uint32(comm)})
	return nil
}

// lastCall returns the last call of a part of a program.
func (b *builder) lastCall(n program.NodeID) (id program.NodeID, ok bool) {
	for b.program.Nodes[n].Kind != program.Call {
		x := &b.program.Nodes[n]
		if x.Len == 0 {
			return 0, false
		}
		n = b.program.Children[x.First+x.Len-1]
	}
	return n, true
}

// load makes the programs and vectors of this rank's processes.
func (in *Input) load(b *builder, o *OpenOptions) (last []finalize, err error) {
	tick := platform.Scale{Num: picosecondClock, Den: max(in.Defs.Clock().TimerResolution, 1)}
	in.Vectors = &Vectors{first: in.First, tick: tick, out: o.Vectors, list: make([]vector, in.End-in.First)}
	for p := in.First; p < in.End; p++ {
		l, err := in.Location(in.processes[p].First)
		if err != nil {
			return nil, err
		}
		t := newTracer(b, l, p)
		if t.sync, err = readSynchronised(in, p, l); err != nil {
			return nil, fmt.Errorf("process %d: %w", p, err)
		}
		root, err := t.run()
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", p, err)
		}
		b.program.Roots = append(b.program.Roots, root)
		b.left.settle(t.sync)
		took, after, err := in.Vectors.add(p, l, t.roles(), t.sync.spans(), t.info[t.s.Len()].calls)
		if err != nil {
			return nil, err
		}
		if o.Primary {
			last = append(last, finalize{})
			continue
		}
		x := finalize{end: lastTime(l) - trace.Time(after)}
		x.begin = x.end - trace.Time(took)
		if n, ok := b.lastCall(root); ok {
			x.ok = b.program.Nodes[n].Len == 0 && in.Defs.EndsMPI(in.Defs.Region(b.region[n]))
		}
		last = append(last, x)
		if err := in.otherThreads(b, in.processes[p]); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// otherThreads counts the MPI calls of all locations of a process except the first, and which locations begin before it or end after it.
func (in *Input) otherThreads(b *builder, p trace.Process) error {
	first, err := in.file.Dir(xtf.Proc(p.First))
	if err != nil {
		return err
	}
	for i := uint32(1); i < p.Count; i++ {
		l, err := in.Location(p.First + trace.P(i))
		if err != nil {
			return err
		}
		d, err := in.file.Dir(xtf.Proc(l.P()))
		if err != nil {
			return err
		}
		if d.Events > 0 && (d.First < first.First || d.Last > first.Last) && in.Defs.Location(l.P()).Type.OnHost() {
			b.left[LeftLongerThreads]++
		}
		s := l.Structure()
		for n := uint32(1); n <= s.Len(); n++ {
			if x := s.Node(n); x.Kind == graph.KindCall && b.tables.region(x.Region).class&trace.ClassMPI != 0 {
				b.left[LeftOtherThreads] += s.Instances(n)
			}
		}
	}
	return nil
}

// Processes returns the number of processes.
func (in *Input) Processes() uint32 { return uint32(len(in.processes)) }

// Calls returns the number of calls of a process.
func (in *Input) Calls(process uint32) uint64 { return in.sequences[in.Program.Roots[process]].calls }

// callKeys returns a number for each Call node: the same for equal functions on communicators of equal size. It is 0 for calls that do not
// count: tests that complete nothing, whose number depends on time, and what is outside of MPI.
func (in *Input) callKeys() []uint64 {
	keys := make([]uint64, len(in.Program.Nodes))
	names := map[string]uint64{}
	for i, n := range in.Program.Nodes {
		if n.Kind != program.Call {
			continue
		}
		name := ""
		if r := in.Defs.Region(in.Region[i]); r != nil {
			if x := in.tables.region(r.Ref); n.Len == 0 && x.test || x.apart {
				continue
			}
			name = in.Defs.Text(r.Name)
		}
		k, ok := names[name]
		if !ok {
			k = uint64(len(names)) + 1
			names[name] = k
		}
		size := uint32(0)
		for _, a := range in.Program.Actions[n.First : n.First+n.Len] {
			if a.Kind != program.FileIO && a.Comm < in.tables.everybody {
				size = max(size, in.Program.Comms[a.Comm].Size)
			}
		}
		keys[i] = k<<32 | uint64(size)
	}
	return keys
}

// Left counts calls and records of all processes that the program lacks, or represents differently, by kind.
type Left [len(LeftKinds)]uint64

func (l *Left) add(o *Left) {
	for i, n := range o {
		l[i] += n
	}
}

// Kinds of Left.
const (
	LeftOtherThreads = iota
	LeftLongerThreads
	LeftOneSided
	LeftFiles
	LeftSpawns
	LeftFailedTests
	LeftChosen
	LeftBetweenGroups
	LeftCancelled
	LeftNeverDone
	LeftDetached
	LeftUnknown
	LeftProbes
	LeftOutside
	LeftNoRoot
	LeftOperators
	LeftFileTimes // if the platform has no file system
	LeftSynchronised
	LeftLocks
)

// LeftKinds describes each kind: its name, whether the program lacks it, and what it has instead.
var LeftKinds = [...]struct {
	What string
	Lost bool
	Text string
}{
	LeftOtherThreads:  {"other_threads", true, "left out: MPI calls of threads but the first of a process"},
	LeftLongerThreads: {"longer_threads", true, "left out, so that runtimes are too short: threads that begin before the first one of their process, or end after it"},
	LeftOneSided:      {"one_sided", false, "as long as recorded: calls of one-sided communication"},
	LeftFiles:         {"files", false, "as long as recorded: calls of MPI files whose bytes are not known, and of other files"},
	LeftSpawns:        {"spawns", false, "as long as recorded: calls that start or connect processes"},
	LeftFailedTests:   {"failed_tests", false, "as often and as long as recorded, though a program that tests until something comes tests more or less often then: tests that completed nothing"},
	LeftChosen:        {"chosen", false, "as recorded: calls that completed some of several requests"},
	LeftBetweenGroups: {"between_groups", true, "left out: collectives of two groups, or of unknown members"},
	LeftCancelled:     {"cancelled", true, "left out: cancelled requests"},
	LeftNeverDone:     {"never_done", true, "left out: receives and collectives that never completed"},
	LeftDetached:      {"detached", false, "as recorded: sends that nothing completes"},
	LeftUnknown:       {"unknown", true, "left out: completions, partners and operations that are not known"},
	LeftProbes:        {"probes", false, "without waiting: probes not before the receive of what they found"},
	LeftOutside:       {"outside", false, "as calls of their own: records outside of MPI calls"},
	LeftNoRoot:        {"no_root", true, "with root 0: collectives whose root is not in their communicator"},
	LeftOperators:     {"operators", false, "in the time of built-in ones: operators that the program makes (MPI_Op_create), whose functions may take most of a reduction"},
	LeftFileTimes:     {"file_times", false, "in no time, for the platform has no [filesystem]: calls of MPI files whose bytes are known"},
	LeftSynchronised:  {"synchronised", false, "as long as recorded, but for the waits for others: synchronisation of windows, and collectives of two groups"},
	LeftLocks:         {"locks", false, "in the recorded order: locks of windows that another process had before"},
}

// CallNodes returns the calls of a process in order, as nodes of the program. It takes 4 bytes for each call.
func (in *Input) CallNodes(process uint32) ([]program.NodeID, error) {
	calls := in.Calls(process)
	if calls >= math.MaxInt32 {
		return nil, fmt.Errorf("process %d: %d calls are too many to be replaced", process, calls)
	}
	list := make([]program.NodeID, 0, calls)
	r := newRope(in.Program, in.Program.Roots[process])
	for c, ok := r.next(); ok; c, ok = r.next() {
		list = append(list, c)
	}
	return list, nil
}

// Function returns the name of the MPI function of a call.
func (in *Input) Function(node program.NodeID) string {
	if r := in.Defs.Region(in.Region[node]); r != nil {
		if name := in.Defs.Text(r.Name); name != "" {
			return name
		}
		return fmt.Sprintf("region %d", r.Ref)
	}
	return "an operation outside of calls"
}

// Functions returns a number for the function of each call, and the names by number.
func (in *Input) Functions(calls []program.NodeID) (numbers []uint32, names []string) {
	known := map[uint32]uint32{} // by region
	numbers = make([]uint32, len(calls))
	for i, c := range calls {
		k, ok := known[in.Region[c]]
		if !ok {
			k = uint32(len(names))
			known[in.Region[c]] = k
			names = append(names, in.Function(c))
		}
		numbers[i] = k
	}
	return numbers, names
}

// Span returns the times of the first and the last event of a process; false if it has none.
func (in *Input) Span(process uint32) (first, last trace.Time, ok bool, err error) {
	l, err := in.Location(in.processes[process].First)
	if err != nil || l.Events() == 0 {
		return 0, 0, false, err
	}
	return l.First(), lastTime(l), true, nil
}

// Picoseconds converts a difference of times of the run, rounded down; false if the result is 2^63 ps or more.
func (in *Input) Picoseconds(ticks trace.Time) (int64, bool) {
	return in.Tick().Checked(uint64(ticks))
}

// Tick returns the length of a tick of the run in ps.
func (in *Input) Tick() platform.Scale {
	return platform.Scale{Num: picosecondClock, Den: max(in.Defs.Clock().TimerResolution, 1)}
}

// Delayed is computation plus two kinds of time: the delay with which a process begins, in entry 0, and the kept time of each call, in
// the entry after it.
type Delayed struct {
	simnet.Calc
	First uint32
	Delay []int64     // ps, of process First and those after it
	Kept  simnet.Calc // time of calls, see [Vectors.Kept]
}

// Fill implements [simnet.Calc].
func (d *Delayed) Fill(process uint32, first uint64, dst []int64) error {
	if err := d.Calc.Fill(process, first, dst); err != nil {
		return err
	}
	var buf [256]int64
	for i := 0; i < len(dst); i += len(buf) {
		part := dst[i:min(i+len(buf), len(dst))]
		if err := d.Kept.Fill(process, first+uint64(i), buf[:len(part)]); err != nil {
			return err
		}
		for k, t := range buf[:len(part)] {
			if part[k] += t; part[k] < 0 {
				return fmt.Errorf("process %d: entry %d: %w", process, first+uint64(i+k), ErrTooLong)
			}
		}
	}
	if first == 0 && len(dst) > 0 {
		if dst[0] += d.Delay[process-d.First]; dst[0] < 0 {
			return fmt.Errorf("process %d: %w", process, ErrTooLong)
		}
	}
	return nil
}

// outerCalls is kept times of calls up to MPI_Init and of the last one; others take none.
type outerCalls struct {
	simnet.Calc
	in *Input
	n  []uint64 // by process of the rank: entries up to that of MPI_Init
}

// OuterCalls returns kept times without those of the calls between MPI_Init and the last call.
func OuterCalls(in *Input, kept simnet.Calc) simnet.Calc {
	c := &outerCalls{kept, in, make([]uint64, in.End-in.First)}
	for k := range c.n {
		r := newRope(in.Program, in.Program.Roots[in.First+uint32(k)])
		n := uint64(2) // the entry after a call has its kept time
		for call, ok := r.next(); ok && c.n[k] == 0; call, ok = r.next() {
			if in.Defs.StartsMPI(in.Defs.Region(in.Region[call])) {
				c.n[k] = n
			}
			n++
		}
	}
	return c
}

// Fill implements [simnet.Calc].
func (c *outerCalls) Fill(process uint32, first uint64, dst []int64) error {
	err := c.Calc.Fill(process, first, dst)
	for k := range dst {
		if i := first + uint64(k); i >= c.n[process-c.in.First] && i != c.in.Calls(process) {
			dst[k] = 0
		}
	}
	return err
}

// Alike returns the processes that make the same calls in the same order: ascending lists, ordered by their first members. Collective.
func (in *Input) Alike(c mpi.Comm) ([][]uint32, error) { return in.group(c, in.keys, in.sequences) }
