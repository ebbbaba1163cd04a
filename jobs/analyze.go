package jobs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/callpath"
	"github.com/coppice-hpc/coppice/causes"
	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// AnalyzeOptions says what to analyze and how. It is the same on all ranks.
type AnalyzeOptions struct {
	Trace         string       // archive: anchor file or directory
	Source        trace.Source // read this instead of Trace; every rank its own or a shared one
	Output        string       // the XTF file
	WorkDir       string       // of segments; "" is Output + ".work"
	Force         bool         // replace an existing output
	Profile       xtf.Profile
	GraphOnly     bool // no rows of calls, messages, ...: keep the call graph and sums
	Intervals     interval.Flags
	IntervalsFile string              // sidecar file of intervals, which becomes Intervals.Sidecar; "" is none
	Deviation     string              // how far times in the call graph may be off, as ccg.ParseDeviation reads it; "" is lossless
	Strict        bool                // damaged input is an error
	ClockRepair   bool                // raise times until no message is received before it was sent, see causes.Clocks; not with GraphOnly
	Classes       *predict.ClassFlags // classes of processes; nil: none
	MemBytes      int64               // heap and counted buffers per rank; 0: what its events need, within what the machine gives
	StoreBytes    int64               // segments kept in memory per rank, 0 puts all into files; negative: what MemBytes leaves
	GroupEvents   uint64              // least events of a group of a location that several ranks load; 0: 2^18
	Collective    bool                // write the output by collective calls
	Hints         map[string]string
	Version       string        // of the tool
	Resume        bool          // go on with what an earlier run of the same job finished; before Force
	Every         time.Duration // list finished locations this often; 0: when the job stops
	Stop          *Stop         // nil: nobody asks
	End           time.Time     // of the time limit; zero: none
	Watch         Watch
	Host, Job     string // for the lock file
	PID           int
	Show          func(Progress) // on rank 0
	// AtStage, where not nil, is called on every rank with the name of each stage when it begins, and with "" after the
	// last one. It is for measurements, and may make the same collective calls on all ranks.
	AtStage func(stage string)
}

// AnalyzeResult is what a rank knows after the job; it is for the log and the
// closing line.
type AnalyzeResult struct {
	Events    uint64 // of all ranks
	Bytes     uint64 // of input, all ranks
	DefsBytes int    // of the encoded definitions
	Locations int
	Processes int
	Teams     []partition.Team // ranks that loaded one location together
	Partial   bool
	Done      bool              // an earlier run has written the file: nothing else is known here
	Resumed   Resumed           // on rank 0
	Codes     []stats.CodeTotal // rank 0
	Seconds   []StageTime
	File      xtfwriter.Result
	Match     stats.MatchReport
	Matched   MatchTotals
	Replay    causes.ReplayReport
	Delays    causes.DelayReport
	Path      causes.PathReport
	Clocks    ClockReport
	Graph     ccgmerge.Report
	Store     xtfwriter.Usage
	Traffic   mpi.Stats
}

// Resumed is what a run found of earlier ones.
type Resumed struct {
	Stage string // up to which all was kept; "" if it was locations at most
	Kept  int    // locations whose load was kept
	Torn  int    // lists, locations and marks that were damaged, and done again
}

// StageTime is the wall time of one stage on this rank.
type StageTime struct {
	Stage   string
	Elapsed time.Duration
}

// Stages of work units, as segment keys name them.
const (
	stageLoad uint32 = 1 + iota
	stageFinish
	stageWhole
	stageTiles
	stageNumber
	stageWaits
	stageCauses
	stageReduce
	stageClasses
	stageMark
)

// Kinds of segments next to arrays and blobs.
const (
	kindStagedP2P = xtfwriter.KindCaller + iota
	kindStagedColl
	kindEntries
	kindLoaded
	kindGraph
	kindForest     // trees of intervals and call paths of the location
	kindBorders    // of its executions, until they are rows
	kindPaths      // of stageNumber: the run's number of each call path of the location
	kindComponents // of its executions; every stage adds to them
	kindLines      // of stageFinish: what causes.Pass left of the location
	kindLate       // results for its rows that the load of a location found, until Match has them
	kindKept       // and what Match has to know
	kindStays      // of the location in MPI, until Match has seen them
	kindOverhead   // spans of it that records tell, see stats.Outputs
)

// analysis is one job on one rank.
type analysis struct {
	o            AnalyzeOptions
	c            mpi.Comm
	src          trace.Source
	defs         *trace.Definitions
	size         *Size
	ranges       []partition.Range
	own          partition.Range
	teams        []partition.Team // of long locations
	led          map[trace.P]bool // locations whose team this rank has led
	tables       *stats.Tables
	intervals    *interval.Plan
	types        *xtf.TypeTable
	enc          *xtf.Encoder
	graphs       ccg.Options
	classOptions predict.ClassOptions
	classMemory  int64 // bytes that the search for classes may take
	// of a location whose channel entries are ordered at once
	runOperations int
	ws            *xtfwriter.Workspace
	store         *xtfwriter.Store
	results       *stats.Results // of all own locations, from match to finish
	units         []stats.Unit
	clocks        *clockRepair  // nil: times are those of the source
	loader        *stats.Loader // while locations are loaded, and the two after it
	batch         trace.Batch
	encoded       []byte   // graph of a location
	events        []uint64 // decoded, of each own location
	last          uint64   // last event of the run, ticks since the origin
	counts        stats.LevelCounts
	levels        stats.Levels // of time bins
	tiles         tiling
	prov          Provenance
	id            [16]byte
	section       []byte         // shared call graph
	nodes         *interval.Tree // of all locations, from number on
	paths         *callpath.Tree // the same
	summary       *stats.Summary // on rank 0, from finish on
	cuts          causes.Counts  // of the locations, for the slabs
	slabs         causes.Slabs   // from finish on
	// what was found that concerns no single location, on rank 0
	problems trace.Diagnostics
	meter    *Meter
	pace     *pacer
	dog      *watchdog
	from     uint32 // the mark that this run began with
	res      AnalyzeResult
}

// Analyze runs the main job. Collective: all ranks return the same error.
func Analyze(c mpi.Comm, o AnalyzeOptions) (*AnalyzeResult, error) {
	a := &analysis{o: o, led: map[trace.P]bool{}}
	side, err := c.Dup()
	if err != nil {
		return nil, err
	}
	a.meter, a.pace = NewMeter(side, o.Show), newPacer(a, side)
	a.dog, a.c = watch(c, o.Watch)
	a.meter.dog = a.dog
	err = a.run()
	a.dog.stop()
	a.res.Traffic = c.Stats()
	a.meter.Close(err != nil)
	if err != nil {
		return &a.res, err
	}
	return &a.res, side.Free()
}

func (a *analysis) run() error {
	if err := a.open(); err != nil {
		if errors.Is(err, xtfwriter.ErrDone) {
			a.res.Done, err = true, nil
		}
		return err
	}
	err := a.work()
	if errors.Is(err, ErrStopped) {
		err = a.pace.stopped()
	}
	if a.o.Source == nil {
		err = errors.Join(err, a.src.Close())
	}
	if a.ws != nil {
		a.res.Store = a.store.Usage()
		if cerr := a.ws.Close(); err == nil {
			err = coded(cerr)
		}
	}
	return err
}

// open opens the trace, claims the output and deals out the locations.
func (a *analysis) open() error {
	a.meter.Stage("open", 0)
	a.atStage("open")
	var err error
	if a.src = a.o.Source; a.src == nil {
		if a.src, err = OpenTrace(a.c, a.o.Trace); err != nil {
			return err
		}
	}
	a.defs = a.src.Definitions()
	a.res.DefsBytes = a.defs.BinarySize()
	if a.o.Deviation != "" {
		a.graphs.Deviation, err = ccg.ParseDeviation(a.o.Deviation, a.defs.Clock().TimerResolution)
		if err = agree(a.c, err); err != nil {
			return err
		}
	}
	if err := a.planIntervals(); err != nil {
		return err
	}
	if err := a.planClasses(); err != nil {
		return err
	}
	a.types = xtf.StandardTypes(a.o.Profile)
	a.enc = xtf.NewEncoder()
	a.setProvenance()
	id, word, err := a.prov.fileID()
	about, aerr := a.prov.encode()
	if err = agree(a.c, errors.Join(err, aerr)); err != nil {
		return err
	}
	a.id = id
	a.ws, err = xtfwriter.Begin(a.c, xtfwriter.Config{
		Output: a.o.Output, WorkDir: a.o.WorkDir, Identity: word, Host: a.o.Host, PID: a.o.PID, Job: a.o.Job,
		Force: a.o.Force, Resume: a.o.Resume, About: about, Differs: a.prov.differs,
	})
	if err != nil {
		return err
	}
	a.store = a.ws.Store
	owner := a.ws.CheckEpoch
	a.dog.owner.Store(&owner)
	return nil
}

func (a *analysis) setProvenance() {
	input := a.src.Identity()
	a.prov = Provenance{
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
}

// planMemory turns the memory per rank into the budget of the store.
func (a *analysis) planMemory() error {
	mem, here, err := rankMemory(a.c, a.o.MemBytes)
	if err != nil {
		return err
	}
	if a.o.MemBytes > 0 && a.o.StoreBytes < 0 {
		if err = agree(a.c, around().checkMemory(mem, here)); err != nil {
			return err
		}
	}
	defs, lossy := int64(a.res.DefsBytes), !a.graphs.Deviation.Lossless()
	plan := planOf(defs, a.size.Longest, a.o.GraphOnly, lossy)
	if a.o.MemBytes == 0 && a.o.Classes == nil { // what classes need is not known before
		events := max(a.size.Events/uint64(a.c.Size()), a.size.Longest)
		mem = usualMemory(mem, events, plan.total()+a.intervals.MemoryBytes())
	}
	left := mem - a.intervals.MemoryBytes()
	if a.o.StoreBytes < 0 {
		a.o.StoreBytes, err = StoreBudget(left, defs, a.size.Longest, a.o.GraphOnly, lossy)
		if a.o.Classes != nil {
			a.o.StoreBytes = besideClasses(a.o.StoreBytes)
		}
	}
	a.classMemory = left - plan.runtime - plan.defs - plan.lossy - a.o.StoreBytes
	if mpi.Launched() {
		here = 1
	}
	limitHeap(mem, here, a.size.Bytes)
	budget := a.o.StoreBytes
	if !a.o.GraphOnly {
		a.runOperations = runOperations(budget, a.size.Longest)
		budget -= int64(a.runOperations-stats.RunOperations) * stats.OperationBytes
	}
	a.store.SetBudget(budget)
	return agree(a.c, err)
}

// events names what is kept of the events, as the flag does.
func (o *AnalyzeOptions) events() string {
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

// work runs the stages between the claim and the end of the output.
func (a *analysis) work() error {
	stages := []struct {
		name string
		run  func() error
		mark uint32
	}{
		{"measure", a.measure, notMarked},
		{"clocks", a.repairClocks, notMarked},
		{"load", a.load, notMarked},
		{"number", a.number, notMarked},
		{"match", a.match, notMarked},
		{"graph", a.graph, notMarked},
		{"classes", a.classes, notMarked},
		{"finish", a.finish, markFinish},
		{"causes", a.causes, markCauses},
		{"threads", a.threads, markThreads},
		{"reduce", a.reduce, notMarked},
		{"commit", a.commit, notMarked},
	}
	for i := 0; i < len(stages); i++ {
		s := &stages[i]
		a.atStage(s.name)
		began := time.Now()
		err := s.run()
		if err == nil && s.name == "measure" {
			a.from, err = a.restore()
			for a.from != notMarked && stages[i].mark != a.from {
				i++
			}
		}
		a.res.Seconds = append(a.res.Seconds, StageTime{s.name, time.Since(began)})
		if err == nil && s.name != "commit" {
			err = a.pace.boundary(s.mark)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	a.atStage("")
	return nil
}

func (a *analysis) atStage(name string) {
	a.dog.enter(name)
	if a.o.AtStage != nil {
		a.o.AtStage(name)
	}
}

func (a *analysis) measure() error {
	var err error
	if a.size, err = MeasureTrace(a.c, a.src); err != nil {
		return err
	}
	if err = a.planMemory(); err != nil {
		return err
	}
	a.tables = stats.NewTables(a.defs, a.size.Origin)
	a.tables.SetIntervals(a.intervals)
	a.ranges, a.teams = partition.Teams(a.workLeft(), a.c.Size(), a.teamCost())
	a.own = a.ranges[a.c.Rank()]
	if err = a.gather(); err != nil {
		return err
	}
	a.res.Teams = a.teams
	a.res.Locations, a.res.Processes = a.defs.NumLocations(), len(a.defs.Processes())
	a.res.Bytes = a.size.Bytes
	return nil
}

// ownBytes is the input of this rank.
func (a *analysis) ownBytes() (n uint64) {
	for p := a.own.First; p < a.own.End; p++ {
		n += a.size.Weights[p]
	}
	return n
}

// match joins both sides of messages and the members of collectives. Without
// rows there is nothing to join.
func (a *analysis) match() error {
	if a.o.GraphOnly {
		return nil
	}
	a.meter.Stage("match", 0)
	var err error
	a.results, a.res.Match, err = stats.Match(stats.MatchOptions{
		Comm: a.c, Tables: a.tables, Ranges: a.ranges, Units: a.units, Scratch: a.scratch,
	})
	for _, p := range a.units {
		a.drop(p.P, stageLoad, kindEntries)
		a.drop(p.P, stageLoad, kindLate)
		a.drop(p.P, stageLoad, kindStays)
	}
	a.units = nil
	if err != nil {
		return err
	}
	a.res.Matched, err = sumMatch(a.c, &a.res.Match)
	return err
}

func (a *analysis) key(p trace.P, stage, kind uint32) xtfwriter.Key {
	return xtfwriter.Key{Unit: unit(p, stage), Kind: kind}
}

func unit(p trace.P, stage uint32) xtfwriter.Unit {
	return xtfwriter.Unit{P: xtf.Proc(p), Stage: stage}
}

// drop frees a segment that no later stage needs.
func (a *analysis) drop(p trace.P, stage, kind uint32) {
	if s, err := a.store.Segment(a.key(p, stage, kind)); err == nil {
		s.Drop()
	}
}

var errDamaged = errors.New("the input is damaged or incomplete, which --strict refuses")
