// Package prediction simulates the run of a file on another machine, collectively over the ranks of a communicator, and measures
// the machine that it runs on.
//
//	platform  all ranks read the files of target and host
//	program   each rank reads the call graphs of its processes: one program, own
//	          computation vectors, classes
//	vectors   rank 0 reads measured vectors, all get them
//	check     the recorded run on its own platform, and with representatives alone
//	simulate  the run on the target; its times go to segments
//	sweep     once more for every point
//	collect   rank 0 gets the times of all processes
//	then      Analyze reads the predicted run, if it is wanted
//
// A platform with contention is simulated by rank 0 alone.
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
	Scale       platform.Scale      // of computation without measured vectors
	Scaled      bool                // Scale was asked for: processes without measured vectors may be there
	Classes     *predict.ClassFlags // nil: those of the file, else DefaultClasses
	Sweep       []platform.Axis
	Output      string              // file of the predicted run; "" for none
	Analyze     analyze.Options     // how Output is written; Source, Output and Clock are set here. MemBytes holds for classes too, Stop and Watch for all
	Show        func(jobs.Progress) // on rank 0
}

// Result is a prediction, as it is reported, and how it came about. Deadlock, Unmatched and Output are there on all ranks, the rest
// on rank 0.
type Result struct {
	predicted.Prediction
	Simulated uint64 // operations and messages
	Elapsed   time.Duration
	Output    *analyze.Result
	// WithoutSidecar: the recorded run had intervals of a file, whose times are not those of the predicted one.
	WithoutSidecar bool
}

// prediction is one job on one rank.
type prediction struct {
	o         Options
	c         mpi.Comm
	file      *xtf.File
	in        *predict.Input
	single    bool // rank 0 has all processes, for the event engine
	platform  *platform.Platform
	host      *platform.Platform
	start     *startTimes
	classes   *xtf.ClassTable
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

// Representatives returns the processes that stand for the others of their classes, ascending. Collective.
func Representatives(c mpi.Comm, o *Options) ([]uint32, error) {
	x := &prediction{o: *o, c: jobs.KeepingCodes(c)}
	x.o.Host, x.o.HostVectors, x.o.Output = "", nil, ""
	x.o.Vectors = []string{""} // there will be some
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

// describe says on which machine and with what computation the prediction is made.
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

// leftOut names what the program does not have as it was, on a platform.
func leftOut(l *predict.Left, p *platform.Platform) []predicted.LeftOut {
	list := []predicted.LeftOut{}
	for k, x := range predict.LeftKinds {
		if l[k] > 0 && (k != predict.LeftFileTimes || p != nil && p.Files == platform.FileSystem{}) {
			list = append(list, predicted.LeftOut{What: x.What, Count: l[k], Lost: x.Lost, Text: x.Text})
		}
	}
	return list
}

// shared counts the processes that, or whose threads, were more than the processors of the recorded run.
func (x *prediction) shared() {
	found := predicted.LeftOut{What: "shared processors", Text: "with a processor of its own here: processes of the recorded run that shared processors with others, which MPI calls waited for too; with many calls, the prediction is much too short"}
	list, _ := findings.Crowds(x.in.Defs, findings.Usages(x.in.Defs))
	for i := range list {
		found.Count += uint64(len(list[i].Ranks))
	}
	if found.Count > 0 {
		x.res.LeftOut = append(x.res.LeftOut, found)
	}
}

// damage counts what could not be read of the recorded run. Collective.
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

// NeedsEvents reports whether a platform is simulated in the order of time, which one rank does alone.
func NeedsEvents(p *platform.Platform) bool {
	return p.Contention != network.NoContention || p.Policy == network.Arrival
}

// openProgram makes the program and says who simulates what.
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
