package prediction

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// DefaultClasses is the threshold of classes where none is given and the file has none.
const DefaultClasses = "5%"

// Options says what to predict. It is the same on all ranks.
type Options struct {
	Run         string   // the XTF file
	Platform    string   // the target's file; "" for the errors alone
	Host        string   // platform file of the machine where the run was recorded; "" if there is none
	Vectors     []string // computation vectors measured on the target: CSV files
	HostVectors []string // and in replays on the host
	Clock       predict.Clock
	Rule        predict.Rule
	Scale       predict.Scale       // of computation without measured vectors
	Scaled      bool                // Scale was asked for: processes without measured vectors may be there
	Classes     *predict.ClassFlags // nil: those of the file, else DefaultClasses
	Sweep       []predict.Axis
	Output      string              // file of the predicted run; "" for none
	Analyze     analyze.Options     // how Output is written; Source, Output and Clock are set here. MemBytes holds for classes too, Stop and Watch for all
	Show        func(jobs.Progress) // on rank 0
}

// Result is a prediction. All but Deadlock, Unmatched and Output is there on rank 0 only. Times are ps.
type Result struct {
	Left      predict.Left
	Platform  *predict.Platform // nil: none was asked for
	Scale     predict.Scale     // of recorded computation
	Nodes     uint32            // that have processes
	PerNode   uint32            // processes of a node at most
	Events    bool              // the event engine was used
	Measured  int64             // first to last event of the recorded run
	Makespan  int64
	Deadlock  *simnet.Deadlock
	Functions []string // of the calls of Deadlock
	Unmatched uint64
	Skipped   uint64
	Simulated uint64 // operations and messages
	Elapsed   time.Duration
	Processes []PredictedProcess
	Classes   []uint32 // representative of each class
	Threshold string   // within which the processes of a class compute alike; "": they call the same, no more is known
	Donors    []PredictedDonor
	Content   string // hash of the vectors
	Host      *HostCheck
	Class     *ClassCheck
	Replay    *ReplayCheck
	Spread    *SpreadCheck
	Delay     *DelayCheck
	Points    []SweepPoint
	Bound     int64 // how far the recorded time of a process may be from the truth at most: 0 unless the file has bounded times
	Output    *analyze.Result
	// WithoutSidecar: the recorded run had intervals of a file, whose times are not those of the predicted one.
	WithoutSidecar bool
}

// PredictedProcess is one process, recorded and predicted.
type PredictedProcess struct {
	Class    uint32
	Node     uint32
	Finish   int64 // recorded: last event
	Compute  int64 // recorded
	Kept     int64 // in calls that are neither computed nor simulated: recorded, and predicted
	Start    int64 // first event, after that of the first process; it is the predicted one too
	Times    simnet.ProcessTimes
	Replaced bool // its computation follows from measured vectors
}

// PredictedDonor is a process that was measured on the target.
type PredictedDonor struct {
	Process      uint32
	Processes    uint64 // that follow it
	Entries      uint64
	Measured     uint64
	Host, Target int64 // sums of the entries measured
	predict.Totals
}

// HostCheck is the recorded run simulated on the machine where it was recorded.
type HostCheck struct {
	Platform string
	Makespan int64
}

// ClassCheck is the same with the recorded computation of the representatives for all.
type ClassCheck struct {
	All, Representatives int64 // makespans
}

// ReplayCheck compares replays on the host with the recorded run.
type ReplayCheck struct {
	Process          uint32 // the one that differs most
	Recorded, Replay int64
}

// SpreadCheck is the process whose repetitions lie farthest apart: of replays on the host, else of those on the target. Times are ns.
type SpreadCheck struct {
	Process uint32
	predict.Totals
}

// DelayCheck is the recorded process that lost most of its computation to others: ready to run, without a processor.
type DelayCheck struct {
	Process        uint32
	Delay, Compute int64
}

// SweepPoint is one prediction of a sweep.
type SweepPoint struct {
	Values   []int // number of the value of each axis
	Makespan int64
	Compute  int64 // mean of the processes, rounded down
	Deadlock bool
}

// prediction is one job on one rank.
type prediction struct {
	o         Options
	c         mpi.Comm
	file      *xtf.File
	in        *predict.Input
	sim       *predict.Input // what this rank simulates; in, or all on rank 0 where the event engine is used
	simComm   mpi.Comm       // nil on a rank that simulates nothing
	single    bool           // rank 0 simulates alone
	platform  *predict.Platform
	host      *predict.Platform
	start     *startTimes
	classes   *processClasses
	donors    *donorSet
	hostDons  *donorSet
	times     *predict.Times
	store     *xtfwriter.Store      // of simulated
	simulated *jobs.ProcessSegments // times
	out       *outcome
	meter     *jobs.Meter
	dog       *jobs.Watchdog
	res       Result
}

// Run simulates a recorded run on another machine. The result does not depend on the number of ranks. Collective: all ranks
// return the same error. A deadlock is not an error; it is in the result.
//
// Memory of a rank: see predict.Input, the simulator, and 20 bytes for each entry of the vector of each measured process;
// with CopyRule, of each representative of more than one process too. With
// Output the simulated times, 6 to 8 bytes a call, go to files next to it where they take more than storeTimes.
func Run(c mpi.Comm, o Options) (*Result, error) {
	x := &prediction{o: o, c: c}
	if x.o.Analyze.Stop == nil {
		x.o.Analyze.Stop = &jobs.Stop{}
	}
	side, err := c.Dup()
	if err != nil {
		return nil, err
	}
	x.meter = jobs.NewMeter(side, o.Show)
	x.dog, x.c = jobs.Observe(c, o.Analyze.Watch)
	x.meter.Dog = x.dog
	err = x.run()
	x.dog.Stop()
	var e error
	if x.store != nil {
		e = x.store.Close(true)
	}
	if err == nil {
		err = jobs.Agree(c, e)
	}
	x.meter.Close(err != nil)
	if err != nil {
		return &x.res, err
	}
	return &x.res, side.Free()
}

// Representatives returns the processes that stand for the others of their classes, ascending. Collective.
func Representatives(c mpi.Comm, o *Options) ([]uint32, error) {
	x := &prediction{o: *o, c: jobs.KeepingCodes{Comm: c}}
	x.o.Host, x.o.HostVectors, x.o.Output = "", nil, ""
	x.o.Vectors = []string{""} // there will be some
	x.meter = jobs.NewMeter(c, nil)
	err := x.open()
	if x.file != nil {
		defer x.file.Close()
	}
	if err == nil {
		err = x.openProgram()
	}
	if err != nil {
		return nil, err
	}
	list := slices.Clone(x.classes.representative)
	slices.Sort(list)
	return list, nil
}

// open opens the file.
func (x *prediction) open() error {
	x.meter.Stage("open", 0)
	var err error
	x.file, err = callview.OpenFile(x.o.Run, xtf.Options{})
	return jobs.Agree(x.c, jobs.InputError(x.o.Run, err))
}

func (x *prediction) run() error {
	err := x.open()
	if x.file != nil {
		defer x.file.Close()
	}
	if err != nil {
		return err
	}
	for _, stage := range []struct {
		name string
		run  func() error
	}{
		{"platform", x.openPlatforms},
		{"program", x.openProgram},
		{"vectors", x.openVectors},
		{"check", x.check},
		{"simulate", x.simulate},
		{"sweep", x.sweep},
		{"collect", x.collect},
	} {
		if err := stage.run(); err != nil {
			return err
		}
		if err := x.boundary(); err != nil {
			return err
		}
	}
	return x.write()
}

// openPlatforms reads the platform files.
func (x *prediction) openPlatforms() error {
	for _, f := range []struct {
		path string
		to   **predict.Platform
	}{{x.o.Platform, &x.platform}, {x.o.Host, &x.host}} {
		if f.path == "" {
			continue
		}
		p, err := predict.OpenPlatform(f.path)
		if err := jobs.Agree(x.c, platformError(err)); err != nil {
			return err
		}
		*f.to = p
	}
	if x.platform != nil {
		if err := x.platform.CheckSweep(x.o.Sweep); err != nil { // the same on all ranks
			return jobs.Fail(jobs.ExitUsage, fmt.Errorf("--sweep: %w", err))
		}
	}
	for _, p := range []*predict.Platform{x.platform, x.host} {
		if p != nil && NeedsEvents(p) {
			x.single = true
		}
	}
	x.res.Platform, x.res.Scale = x.platform, x.scale()
	return nil
}

// NeedsEvents reports whether a platform is simulated in the order of time, which one rank does alone.
func NeedsEvents(p *predict.Platform) bool {
	return p.Contention != simnet.NoContention || p.Policy == simnet.Arrival
}

func platformError(err error) error {
	if err == nil {
		return nil
	}
	return jobs.Fail(jobs.ExitInput, err)
}

// openProgram makes the program and says who simulates what.
func (x *prediction) openProgram() error {
	x.meter.Stage("program", 0)
	var err error
	if x.in, err = predict.Open(x.c, x.file); err != nil {
		return jobs.InputError(x.o.Run, err)
	}
	x.res.Left = x.in.Left
	x.sim, x.simComm = x.in, x.c
	if x.single {
		x.sim, x.simComm = nil, nil
		if x.c.Rank() == 0 {
			x.simComm = jobs.KeepingCodes{Comm: mpi.Serial()}
			x.sim, err = predict.Open(x.simComm, x.file)
		}
		if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
			return err
		}
	}
	if x.in.Processes() == 0 {
		return jobs.Agree(x.c, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: it has no processes", x.o.Run)))
	}
	if x.in.Defs.Clock().TimerResolution == 0 {
		return jobs.Agree(x.c, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: the trace does not give the resolution of its clock, so its times cannot be joined with those of a network", x.o.Run)))
	}
	if err := x.measureStarts(); err != nil {
		return err
	}
	bound, ok := x.in.Picoseconds(trace.Time(x.in.Vectors.Bound()))
	if !ok {
		bound = math.MaxInt64
	}
	x.res.Bound = bound
	return x.classify()
}
