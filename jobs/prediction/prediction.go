// Package prediction simulates the run of a file on another machine (Run), collectively over the ranks of a communicator, and measures the
// machine on which it runs itself (MeasurePlatform).
//
//	platform  all ranks read the platform files of target and host
//	program   each rank reads the call graphs of its processes: one program, own computation vectors, classes
//	vectors   rank 0 reads measured vectors, all ranks get them
//	check     simulates the recorded run on its own platform, and with the vectors of representatives only
//	simulate  simulates the run on the target; its times go to segments
//	sweep     simulates once more for each point
//	collect   rank 0 gets the times of all processes
//	write     with Output, package analyze writes the predicted run
//
// Rank 0 alone simulates a platform with contention or with messages in the order of arrival (NeedsEvents).
package prediction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// DefaultClasses is the threshold of classes if none is given and the file has no classes.
const DefaultClasses = "5%"

// Options says what to predict. It is the same on all ranks.
type Options struct {
	Run         string   // the XTF file
	Platform    string   // platform file of the target; "" to compute only the errors
	Host        string   // platform file of the machine on which the run was recorded; "" for none
	Vectors     []string // computation vectors measured on the target: CSV files or folders of them
	HostVectors []string // the same, measured on the host
	Clock       predict.Clock
	Rule        predict.Rule
	Scale       platform.Scale      // factor of computation without measured vectors
	Scaled      bool                // Scale was given: classes may have no measured process
	Classes     *predict.ClassFlags // nil: those of the file, else DefaultClasses
	Sweep       []platform.Axis
	Output      string              // file of the predicted run; "" for none
	Analyze     analyze.Options     // how Output is written; Run sets Source and Output. MemBytes is also for classes, Stop and Watch for all
	Show        func(jobs.Progress) // on rank 0
}

// Result is a prediction. Deadlock, Unmatched and Output are set on all ranks, the rest on rank 0.
type Result struct {
	predicted.Prediction
	Simulated uint64        // operations and messages
	Elapsed   time.Duration // of the simulation
	Output    *analyze.Result
	// WithoutSidecar: the recorded run has intervals of a sidecar file, whose times do not fit the predicted run.
	WithoutSidecar bool
}

// prediction is one job on one rank.
type prediction struct {
	o         Options
	c         mpi.Comm
	file      *xtf.File
	in        *predict.Input
	single    bool // rank 0 has all processes, for the event engine
	crowded   bool // processes of the recorded run shared processors
	platform  *platform.Platform
	host      *platform.Platform
	start     *startTimes
	classes   *xtf.ClassTable
	donors    *donorSet // of Vectors, nil for none
	hostDons  *donorSet // of HostVectors, nil for none
	times     *predict.Times
	store     *xtfwriter.Store      // of simulated
	simulated *jobs.ProcessSegments // simulated times
	out       *outcome
	meter     *jobs.Meter
	dog       *jobs.Watchdog
	res       Result
}

// Run simulates a recorded run on another machine. The result does not depend on the number of ranks. Collective: all ranks return the same
// error. A deadlock is not an error; it is in the result.
//
// Memory of a rank: see predict.Input and the simulator; 20 bytes for each entry of the vector of each measured process, with CopyRule also
// of each representative of several processes. With Output, simulated times of 6 to 8 bytes per call go to a file next to it if they
// take more than storeTimes.
func Run(c mpi.Comm, o Options) (*Result, error) {
	x := &prediction{o: o, c: c}
	x.o.Analyze.Stop = cmp.Or(x.o.Analyze.Stop, &jobs.Stop{})
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
	return &x.res, x.meter.End(err)
}

// Representatives returns the representatives of the classes of processes, ascending. Collective.
func Representatives(c mpi.Comm, o *Options) ([]uint32, error) {
	x := &prediction{o: *o, c: jobs.KeepingCodes(c)}
	x.o.Host, x.o.HostVectors, x.o.Output = "", nil, ""
	x.o.Vectors = []string{""} // so that classify compares processes as it will with vectors
	x.meter = jobs.NewMeter(mpi.Serial(), nil)
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
	var list []uint32
	for i := range x.classes.Classes {
		list = append(list, x.classes.Classes[i].Representative)
	}
	slices.Sort(list)
	return list, nil
}

func (x *prediction) open() error {
	x.meter.Stage("open", 0, 0)
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
	for _, stage := range []func() error{x.openPlatforms, x.openProgram, x.openVectors, x.check, x.simulate, x.sweep, x.collect} {
		if err := stage(); err != nil {
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
		to   **platform.Platform
	}{{x.o.Platform, &x.platform}, {x.o.Host, &x.host}} {
		if f.path == "" {
			continue
		}
		p, err := platform.Open(f.path)
		if err != nil {
			err = jobs.Fail(jobs.ExitInput, err)
		}
		if err := jobs.Agree(x.c, err); err != nil {
			return err
		}
		*f.to = p
	}
	if x.platform != nil {
		if err := x.platform.CheckSweep(x.o.Sweep); err != nil { // the same on all ranks
			return jobs.Fail(jobs.ExitUsage, fmt.Errorf("--sweep: %w", err))
		}
	}
	for _, p := range []*platform.Platform{x.platform, x.host} {
		if p != nil && NeedsEvents(p) {
			x.single = true
		}
	}
	x.describe()
	return nil
}

// describe sets the parts of the result about platform and computation.
func (x *prediction) describe() {
	r := &x.res
	r.Resolution, r.Computation = predicted.Picoseconds, predicted.PredictedComputing{Source: "recorded", Scale: x.scale().String()}
	if x.scale() != platform.One {
		r.Computation.Source = "scaled"
	}
	r.Errors.Class.Defined = x.o.Rule == predict.ScaleRule
	p := x.platform
	if p == nil {
		return
	}
	r.Platform = &predicted.PredictedPlatform{
		Name: p.Name, Mapping: p.Mapping, Engine: "dataflow", Contention: platform.ContentionName(p.Contention), Policy: platform.PolicyName(p.Policy),
	}
	if p.Mapping != "block" && p.Mapping != "cyclic" {
		r.Platform.Mapping = "table"
	}
	if NeedsEvents(p) {
		r.Platform.Engine = "events"
	}
}

// leftOut lists the parts of the recorded run that the simulation on a platform leaves out or changes.
func leftOut(l *predict.Left, p *platform.Platform) []predicted.LeftOut {
	list := []predicted.LeftOut{}
	for k, x := range predict.LeftKinds {
		if l[k] > 0 && (k != predict.LeftFileTimes || p != nil && p.Files == platform.FileSystem{}) {
			list = append(list, predicted.LeftOut{What: x.What, Count: l[k], Lost: x.Lost, Text: x.Text})
		}
	}
	return list
}

// shared adds to the left out parts the processes of the recorded run that shared processors.
func (x *prediction) shared() {
	found := predicted.LeftOut{What: "shared processors", Text: "with a processor of its own here, so that the prediction is too short for a machine where they share processors too: processes of the recorded run that shared processors with others"}
	list, _ := findings.Crowds(x.in.Defs, findings.Usages(x.in.Defs))
	for i := range list {
		found.Count += uint64(len(list[i].Ranks))
	}
	if x.crowded = found.Count > 0; x.crowded {
		x.res.LeftOut = append(x.res.LeftOut, found)
	}
}

// damage adds to the left out parts what could not be read of the recorded run. Collective.
func (x *prediction) damage() error {
	found := predicted.LeftOut{What: "damage", Lost: true, Text: "left out: what could not be read of the input of the analysis, which was damaged or incomplete"}
	err := xtf.Each(x.file, xtf.WholeRun, func(_ uint64, d *xtf.Diag) error {
		if trace.Code(d.Code).Severity() == trace.Damage {
			found.Count += d.Count
		}
		return nil
	})
	if found.Count > 0 {
		x.res.LeftOut = append(x.res.LeftOut, found)
	}
	return jobs.Agree(x.c, jobs.InputError(x.o.Run, err))
}

// NeedsEvents reports whether a platform needs the event engine, which simulates in the order of time, on one rank.
func NeedsEvents(p *platform.Platform) bool {
	return p.Contention != network.NoContention || p.Policy == network.Arrival
}

// openProgram makes the program, measures its starts and finds the classes.
func (x *prediction) openProgram() error {
	x.meter.Stage("program", 0, 0)
	var err error
	if x.in, err = predict.Open(x.c, x.file, predict.OpenOptions{Alone: x.single}); err != nil {
		return jobs.InputError(x.o.Run, err)
	}
	x.res.LeftOut = leftOut(&x.in.Left, cmp.Or(x.platform, x.host))
	x.shared()
	if err := x.damage(); err != nil {
		return err
	}
	if x.in.Processes() == 0 {
		return jobs.Agree(x.c, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: it has no processes, so there is nothing to predict. Give a run that has: coppice info tells what is in a file", x.o.Run)))
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
	x.res.Bound = uint64(bound)
	return x.classify()
}
