package analyze

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Options says what to analyze and how. It is the same on all ranks.
type Options struct {
	Trace         string       // archive: anchor file or directory
	Source        trace.Source // read this instead of Trace; every rank its own or a shared one
	Output        string       // the XTF file
	WorkDir       string       // of segments; "" is Output + ".work"
	Force         bool         // replace an existing output
	Profile       xtf.Profile
	GraphOnly     bool // no rows of calls, messages, ...: keep the call graph and sums
	Intervals     interval.Flags
	IntervalsFile string              // sidecar file of intervals, which becomes Intervals.Sidecar; "" is none
	Deviation     string              // how far times in the call graph may be off, as graph.ParseDeviation reads it; "" is lossless
	Strict        bool                // damaged input is an error
	ClockRepair   bool                // raise times until no message is received before it was sent, see causes.Clocks; not with GraphOnly
	Classes       *predict.ClassFlags // classes of processes; nil: none
	MemBytes      int64               // heap and counted buffers per rank; 0: what its events need, within what the machine gives
	StoreBytes    int64               // segments kept in memory per rank, 0 puts all into files; negative: what MemBytes leaves
	Collective    bool                // write the output by collective calls
	Hints         map[string]string
	Version       string        // of the tool
	Resume        bool          // continue with what an earlier run of the same job finished; before Force
	Every         time.Duration // save a checkpoint this often; 0: only when the job stops
	Stop          *jobs.Stop    // nil: nobody asks
	End           time.Time     // of the time limit; zero: none
	Watch         jobs.Watch
	Host, Job     string // for the lock file
	PID           int
	Show          func(jobs.Progress) // on rank 0
	// AtStage, if not nil, is called on every rank with the name of each stage at its begin, and with "" after the last one. It is for
	// measurements, and may make collective calls, the same ones on all ranks.
	AtStage func(stage string)
}

// Result is the result of the job on a rank, for the log and the closing line.
type Result struct {
	Events    uint64 // of all ranks
	Bytes     uint64 // of input, all ranks
	DefsBytes int    // of the encoded definitions
	Locations int
	Partial   bool
	Done      bool              // an earlier run has written the file; other fields are not set
	Resumed   Resumed           // on rank 0
	Codes     []stats.CodeTotal // rank 0
	Seconds   []StageTime
	File      xtfwriter.Result
	Match     match.Report
	Matched   MatchTotals
	Replay    causes.ReplayReport
	Delays    causes.DelayReport
	Path      causes.PathReport
	Clocks    ClockReport
	Graph     ccgmerge.Report
	Store     xtfwriter.Usage
	Traffic   Traffic
}

// Traffic counts what a rank sent, and passed to collective calls.
type Traffic struct{ Messages, Bytes, Collectives, CollectiveBytes atomic.Int64 }

func (t *Traffic) count(x mpi.Note) {
	calls, bytes := &t.Messages, &t.Bytes
	switch {
	case x.Kind.Collective():
		calls, bytes = &t.Collectives, &t.CollectiveBytes
	case x.Kind != mpi.OpSend && x.Kind != mpi.OpIsend:
		return
	}
	calls.Add(1)
	bytes.Add(x.Sent)
}

// Resumed is what a run took over from earlier ones.
type Resumed struct {
	Stage string // the last stage that was kept; "" if only locations were
	Kept  int    // locations whose load was kept
	Torn  int    // lists, locations and marks that were damaged, and done again
}

// StageTime is the wall time of one stage on this rank.
type StageTime struct {
	Stage   string
	Elapsed time.Duration
}

// job is an analysis on one rank. It has what stages share, but no results of stages: these go from stage to stage as values.
type job struct {
	o Options
	c mpi.Comm
	input
	plan
	*shelf
	meter *jobs.Meter
	pace  *pacer
	dog   *jobs.Watchdog
	res   Result // for the log: no stage reads it
}

// input is the trace, and which rank reads what of it.
type input struct {
	src    trace.Source
	defs   *trace.Definitions
	size   *jobs.Size
	tables *stats.Tables
	ranges []partition.Range // locations, by rank
	own    partition.Range   // locations of this rank
}

// plan is the options, parsed.
type plan struct {
	intervals    *interval.Plan
	graphs       graph.Options
	classOptions predict.ClassOptions
	memory       jobs.MemoryShare
	prov         jobs.Provenance
	id           [16]byte
}

// Run analyzes a trace. Collective: all ranks return the same error.
func Run(c mpi.Comm, o Options) (*Result, error) {
	a := &job{o: o}
	side, err := c.Dup()
	if err != nil {
		return nil, err
	}
	a.meter, a.pace = jobs.NewMeter(side, o.Show), newPacer(a, side)
	a.dog, a.c = jobs.Observe(mpi.Observe(c, a.res.Traffic.count), o.Watch)
	a.meter.Dog = a.dog
	a.meter.Plan(o.costs())
	err = a.run()
	a.dog.Stop()
	return &a.res, a.meter.End(err)
}

// costs returns estimates of the stages' costs, in ns per event, measured with a ring that has a message for 10 events. That of clocks is
// a guess.
func (o *Options) costs() []jobs.Cost {
	var list []jobs.Cost
	if o.ClockRepair {
		list = append(list, jobs.Cost{Stage: "clocks", Cost: 40})
	}
	list = append(list, jobs.Cost{Stage: "load", Cost: 90})
	if !o.GraphOnly {
		list = append(list, jobs.Cost{Stage: "match", Cost: 10})
	}
	list = append(list, jobs.Cost{Stage: "graph", Cost: 12})
	if !o.GraphOnly {
		list = append(list, jobs.Cost{Stage: "finish", Cost: 90}, jobs.Cost{Stage: "causes", Cost: 60})
	}
	return append(list, jobs.Cost{Stage: "commit", Cost: 1})
}

func (a *job) run() error {
	if err := a.open(); err != nil {
		if errors.Is(err, xtfwriter.ErrDone) {
			a.res.Done, err = true, nil
		}
		return err
	}
	err := a.work()
	if errors.Is(err, jobs.ErrStopped) {
		err = a.pace.stopped()
	}
	if a.o.Source == nil {
		err = errors.Join(err, a.src.Close())
	}
	if a.shelf != nil {
		a.res.Store = a.store.Usage()
		if cerr := a.ws.Close(); err == nil {
			err = jobs.Coded(cerr)
		}
	}
	return err
}

// nothing is the input of a stage that needs no other.
type nothing struct{}

// work runs the stages after open. A run that resumes begins after the last of finish, causes and threads whose result was kept.
func (a *job) work() error {
	found, err := then(a, "measure", a.measure, nothing{}, nil)
	if err == nil && found == nil {
		found, err = a.readEvents()
	}
	if a.pace.from < markCauses {
		found, err = then(a, "causes", a.causes, found, err)
	}
	if a.pace.from < markThreads && !a.o.GraphOnly && threads.NewRoles(a.defs).Any() {
		found, err = then(a, "threads", a.threads, found, err)
	}
	whole, err := then(a, "reduce", a.reduce, found, err)
	if err != nil {
		return err
	}
	if _, err = stage(a, "commit", a.commit, whole); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	a.atStage("")
	return nil
}

// readEvents runs the stages from clocks to finish.
func (a *job) readEvents() (*finished, error) {
	var clocks *clocks
	var err error
	if a.o.ClockRepair {
		clocks, err = then(a, "clocks", a.repairClocks, nothing{}, nil)
	}
	loaded, err := then(a, "load", a.load, clocks, err)
	numbered, err := then(a, "number", a.number, loaded, err)
	matched, err := then(a, "match", a.match, numbered, err)
	shared, err := then(a, "graph", a.graph, matched, err)
	if a.o.Classes != nil {
		shared, err = then(a, "classes", a.classes, shared, err)
	}
	return then(a, "finish", a.finish, shared, err)
}

// then runs a stage, unless an earlier one failed, and agrees on its end: all ranks go on, or all stop. The stage may fail on one rank
// alone.
func then[X, Y any](a *job, name string, run func(X) (Y, error), in X, err error) (Y, error) {
	if err != nil {
		var none Y
		return none, err
	}
	out, err := stage(a, name, run, in)
	if err = a.pace.boundary(name, out, err); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return out, err
}

// stage runs a stage, and measures its time.
func stage[X, Y any](a *job, name string, run func(X) (Y, error), in X) (Y, error) {
	a.atStage(name)
	began := time.Now()
	out, err := run(in)
	a.res.Seconds = append(a.res.Seconds, StageTime{name, time.Since(began)})
	return out, err
}

// open opens the trace, parses the options and claims the output.
func (a *job) open() error {
	a.meter.Stage("open", 0, 0)
	a.atStage("open")
	var err error
	if a.src = a.o.Source; a.src == nil {
		if a.src, err = jobs.OpenTrace(a.c, a.o.Trace); err != nil {
			return err
		}
	}
	a.defs = a.src.Definitions()
	a.res.DefsBytes = a.defs.BinarySize()
	if a.o.Deviation != "" {
		a.graphs.Deviation, err = graph.ParseDeviation(a.o.Deviation, a.defs.Clock().TimerResolution)
	}
	err = cmp.Or(err, a.planIntervals(), a.planClasses())
	var word string
	var about []byte
	if err == nil {
		input := a.src.Identity()
		a.prov = jobs.Provenance{
			Format: fmt.Sprintf("%d.%d", xtf.Major, xtf.Minor), Input: hex.EncodeToString(input[:]), Kind: a.src.Format(),
			Options: map[string]string{
				"pages": pagesName(a.o.Profile), "events": a.o.events(), "deviation": a.graphs.Deviation.String(),
				"intervals": a.intervals.Canonical(), "clock_repair": fmt.Sprint(a.o.ClockRepair),
			},
			Tool: "coppice " + a.o.Version,
		}
		if a.o.Classes != nil {
			a.prov.Options["classes"] = a.classOptions.String()
		}
		a.id, word, err = a.prov.FileID()
	}
	if err == nil {
		about, err = a.prov.Encode()
	}
	if err = jobs.Agree(a.c, err); err != nil {
		return err
	}
	ws, err := xtfwriter.Begin(a.c, xtfwriter.Config{
		Output: a.o.Output, WorkDir: a.o.WorkDir, Identity: word, Host: a.o.Host, PID: a.o.PID, Job: a.o.Job,
		Force: a.o.Force, Resume: a.o.Resume, About: about, Differs: a.prov.Differs,
	})
	if err != nil {
		return err
	}
	a.shelf = newShelf(ws, a.o.Profile, a.graphs.Deviation.Lossless())
	owner := ws.CheckEpoch
	a.dog.Owner.Store(&owner)
	return nil
}

// planMemory divides the memory of the rank.
func (a *job) planMemory() error {
	m := jobs.MemoryNeed{
		Mem: a.o.MemBytes, Store: a.o.StoreBytes, GraphOnly: a.o.GraphOnly, Lossy: !a.graphs.Deviation.Lossless(), Classes: a.o.Classes != nil,
		Defs: jobs.DefinitionsMemory(a.defs), Intervals: a.intervals.MemoryBytes(), Size: a.size,
	}
	var err error
	if a.memory, err = m.Share(a.c); err != nil {
		return err
	}
	return a.store.SetBudget(a.memory.Segments)
}

// events returns the value of --events.
func (o *Options) events() string {
	if o.GraphOnly {
		return "none"
	}
	return "all"
}

func pagesName(p xtf.Profile) string {
	if p.PageSize == 0 {
		return "packed"
	}
	return fmt.Sprintf("raw:%d", p.PageSize)
}

func (a *job) atStage(name string) {
	a.dog.Enter(name)
	if a.o.AtStage != nil {
		a.o.AtStage(name)
	}
}

// measure measures the locations, and distributes them over the ranks. It returns the result in the last mark of an earlier run, else nil.
func (a *job) measure(nothing) (*finished, error) {
	var err error
	if a.size, err = jobs.MeasureTrace(a.c, a.src); err != nil {
		return nil, err
	}
	if err = a.planMemory(); err != nil {
		return nil, err
	}
	a.tables = stats.NewTables(a.defs, a.size.Origin)
	a.tables.SetIntervals(a.intervals)
	a.ranges = partition.Ranges(a.workLeft(), a.c.Size())
	a.own = a.ranges[a.c.Rank()]
	if mixed, ok := a.src.(trace.Interleaved); ok { // one file has the events of all locations: read those of this rank at once
		if err = jobs.Agree(a.c, mixed.Gather(a.own.First, a.own.End, a.ws.Dir())); err != nil {
			return nil, err
		}
	}
	a.res.Locations = a.defs.NumLocations()
	a.res.Bytes = a.size.Bytes
	return a.restore()
}

// ownBytes returns the bytes of this rank's input.
func (a *input) ownBytes() (n uint64) {
	for p := a.own.First; p < a.own.End; p++ {
		n += a.size.Weights[p]
	}
	return n
}

// begin begins a stage over the whole input, for the meter.
func (a *job) begin(stage string) { a.meter.Stage(stage, a.ownBytes(), a.size.Bytes) }

// eachOwn calls f for the locations of this rank until one fails.
func (a *job) eachOwn(f func(p trace.P) error) (err error) {
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		if err = f(p); err == nil {
			err = a.pace.poll()
		}
	}
	return err
}

// facts are about the whole run, once its locations are loaded.
type facts struct {
	Last     uint64   // last event of the run, ticks since the origin
	Events   uint64   // of all locations
	own      []uint64 // by location of this rank: events
	Levels   stats.Levels
	Problems trace.Diagnostics // of the whole run, on rank 0
}

// problem adds a diagnostic of the whole run.
func (f *facts) problem(c mpi.Comm, d trace.Diagnostic) {
	if c.Rank() == 0 {
		f.Problems.Add(d)
	}
}

// matched is the result of stage match.
type matched struct {
	facts
	*forest
	cuts    causes.Counts  // for the slabs
	results *match.Results // of all own locations; nil without rows
}

// match joins both sides of messages and the members of collectives. With GraphOnly it does nothing.
func (a *job) match(in *numbered) (*matched, error) {
	out := &matched{facts: in.facts, forest: in.forest, cuts: in.cuts}
	if a.o.GraphOnly {
		return out, nil
	}
	a.begin("match")
	var err error
	out.results, a.res.Match, err = match.Match(match.Options{
		Comm: a.c, Defs: a.defs, Ranges: a.ranges, Units: in.units, Scratch: a.scratch,
	})
	for i := range in.units {
		for _, kind := range []uint32{kindEntries, kindLate, kindStays} {
			a.drop(in.units[i].P, kind)
		}
	}
	if err == nil {
		a.res.Matched, err = sumMatch(a.c, &a.res.Match)
	}
	return out, err
}
