package predicted

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// Picoseconds is the resolution of predicted times, in ticks a second.
const Picoseconds = 1_000_000_000_000

// Prediction is how long a program takes on another machine, next to how long it took where it was recorded. All times are
// picoseconds.
type Prediction struct {
	Name        string             `json:"-"` // of the recorded run, for people
	Resolution  uint64             `json:"resolution"`
	Platform    *PredictedPlatform `json:"platform"` // nil: only the errors were asked for
	Computation PredictedComputing `json:"computation"`
	Measured    uint64             `json:"measured"`       // first to last event of the recorded run
	Bound       uint64             `json:"measured_bound"` // of recorded times of a process, in a file with bounded times
	Makespan    *uint64            `json:"makespan"`       // nil: a deadlock, or no platform
	Least       *uint64            `json:"makespan_least"` // if no call kept its time between MPI_Init and the last call; nil where no processes of the recorded run shared processors
	Ratio       numbers.Ratio      `json:"ratio"`          // predicted over measured
	Errors      PredictedErrors    `json:"errors"`
	Unmatched   uint64             `json:"unmatched"` // sends and receives without their partner, left out
	LeftOut     []LeftOut          `json:"left_out"`
	Deadlock    *PredictedDeadlock `json:"deadlock"`
	Classes     []PredictedClass   `json:"classes"`
	Processes   []PredictedProcess `json:"process_times"`
	Sweep       *PredictedSweep    `json:"sweep,omitempty"`
	Commands    []string           `json:"next,omitempty"` // commands that measure the computation on the target
}

// PredictedPlatform is the machine.
type PredictedPlatform struct {
	Name         string `json:"name"`
	Nodes        uint32 `json:"nodes"` // with processes
	RanksPerNode uint32 `json:"ranks_per_node"`
	Mapping      string `json:"mapping"` // block, cyclic or table
	Contention   string `json:"contention"`
	Policy       string `json:"receive_policy"`
	Engine       string `json:"engine"` // dataflow or events
}

// PredictedComputing is where computation times come from.
type PredictedComputing struct {
	Source    string  `json:"source"`         // recorded, scaled or vectors
	Scale     string  `json:"scale"`          // factor of the recorded times, without vectors
	Rule      string  `json:"rule,omitempty"` // scale or copy
	Content   string  `json:"content_sha256,omitempty"`
	Replaced  uint64  `json:"processes_replaced"` // whose computation follows from vectors
	Donors    []Donor `json:"measured_processes,omitempty"`
	Threshold string  `json:"threshold"` // of the classes; "" where each sequence of calls is a class
}

// Donor is a process whose computation was measured on the target.
type Donor struct {
	Process   uint32 `json:"process"`
	Processes uint64 `json:"processes"` // that use its measurement, itself included
	Entries   uint64 `json:"entries"`
	Measured  uint64 `json:"entries_measured"`
	Host      uint64 `json:"host"`   // sum of the entries measured, in the recorded run
	Target    uint64 `json:"target"` // and on the target
	Off       uint64 `json:"off"`    // of the whole replay, when the replay was not on a processor
}

// PredictedErrors are the parts of the error, as shares; undefined where the input is missing.
type PredictedErrors struct {
	Net    numbers.Ratio `json:"net"`    // the run simulated on the host against the recorded one
	Class  numbers.Ratio `json:"class"`  // the same with representatives instead of all processes
	Replay numbers.Ratio `json:"replay"` // the worst replay on the host against the recorded run
	Spread numbers.Ratio `json:"spread"` // the largest difference between repetitions of a replay
	Delay  numbers.Ratio `json:"delay"`  // largest share of a process's computation in which it was ready to run and had no processor

	HostPlatform  string  `json:"host_platform,omitempty"`
	HostMakespan  *uint64 `json:"host_makespan,omitempty"`
	ClassMakespan *uint64 `json:"class_makespan,omitempty"`
	WorstReplay   *uint32 `json:"worst_replay,omitempty"` // process
	WorstSpread   *uint32 `json:"worst_spread,omitempty"`
	WorstDelay    *uint32 `json:"worst_delay,omitempty"`

	Replayed, Recorded uint64 `json:"-"` // of WorstReplay, for people
	Least, Most        uint64 `json:"-"` // of WorstSpread
	Delayed            uint64 `json:"-"` // of WorstDelay
}

// LeftOut counts calls that the simulated program does not have as they were.
type LeftOut struct {
	What  string `json:"what"`
	Count uint64 `json:"count"`
	Lost  bool   `json:"lost"` // not simulated at all
	Text  string `json:"-"`
}

// PredictedDeadlock is why the program never ends.
type PredictedDeadlock struct {
	Cycle []BlockedCall `json:"cycle"`
	Eager uint64        `json:"resolved_by_eager_bytes"` // least eager limit without this cycle, 0: none
}

// BlockedCall is a process that waits.
type BlockedCall struct {
	Process  uint32 `json:"process"`
	Call     uint64 `json:"call"` // index among the calls of the process
	Function string `json:"function"`
	For      uint32 `json:"waits_for"`
}

// PredictedTimes is how the time of a process is spent.
type PredictedTimes struct {
	Finish     uint64 `json:"finish"` // after the begin of the first process; the other times add up to it, less the process's own begin
	Compute    uint64 `json:"compute"`
	Send       uint64 `json:"send"`
	Receive    uint64 `json:"receive"`
	Wait       uint64 `json:"wait"`
	Collective uint64 `json:"collective"`
	File       uint64 `json:"file"`
	Kept       uint64 `json:"kept"` // in calls that are neither computed nor simulated: their recorded time
}

// list returns the times in the order of the columns.
func (t *PredictedTimes) list() [8]uint64 {
	return [...]uint64{t.Finish, t.Compute, t.Send, t.Receive, t.Wait, t.Collective, t.File, t.Kept}
}

// MeasuredTimes are the times of the recorded run.
type MeasuredTimes struct {
	Finish  uint64 `json:"finish"`  // last event
	Compute uint64 `json:"compute"` // outside of calls of MPI, files and one-sided communication
	Start   uint64 `json:"start"`   // first event, after that of the first process; the predicted start is the same
}

// PredictedProcess is one process.
type PredictedProcess struct {
	Process   uint32         `json:"process"`
	Class     int            `json:"class"`
	Node      uint32         `json:"node"`
	Calls     uint64         `json:"calls"`
	Messages  uint64         `json:"messages_sent"`
	Measured  MeasuredTimes  `json:"measured"`
	Predicted PredictedTimes `json:"predicted"` // all 0 without a prediction
}

// PredictedClass is a set of processes whose computation is alike.
type PredictedClass struct {
	Class          int            `json:"class"`
	Representative uint32         `json:"representative"`
	Processes      uint64         `json:"processes"`
	Measured       MeasuredTimes  `json:"measured_mean"`
	Least          PredictedTimes `json:"least"`
	Mean           PredictedTimes `json:"mean"` // rounded down
	Most           PredictedTimes `json:"most"`
}

// Classify computes the times of the classes, which have their index as number, from those of the processes.
func (p *Prediction) Classify() {
	all := make([][11]graph.Total, len(p.Classes)) // of predicted and of measured times
	for i := range p.Processes {
		x := &p.Processes[i]
		if x.Class < 0 || x.Class >= len(p.Classes) {
			continue
		}
		c, s := &p.Classes[x.Class], &all[x.Class]
		if c.Processes == 0 {
			c.Least, c.Most = x.Predicted, x.Predicted
		}
		c.Processes++
		for k, v := range x.Predicted.list() {
			s[k] = s[k].Plus(graph.Total{Lo: v})
			*c.Least.all()[k] = min(*c.Least.all()[k], v)
			*c.Most.all()[k] = max(*c.Most.all()[k], v)
		}
		for k, v := range [...]uint64{x.Measured.Finish, x.Measured.Compute, x.Measured.Start} {
			s[8+k] = s[8+k].Plus(graph.Total{Lo: v})
		}
	}
	for i := range p.Classes {
		c, s := &p.Classes[i], &all[i]
		if c.Processes == 0 {
			continue
		}
		for k, to := range append(c.Mean.all(), &c.Measured.Finish, &c.Measured.Compute, &c.Measured.Start) {
			*to, _ = s[k].Divide(c.Processes)
		}
	}
}

// all returns pointers to the times, in the order of list.
func (t *PredictedTimes) all() []*uint64 {
	return []*uint64{&t.Finish, &t.Compute, &t.Send, &t.Receive, &t.Wait, &t.Collective, &t.File, &t.Kept}
}

// PredictedSweep is a table of predictions.
type PredictedSweep struct {
	Axes   []SweepAxis  `json:"axes"`
	Points []SweepPoint `json:"points"` // the last axis changes fastest
}

// SweepAxis is one parameter that the sweep changes.
type SweepAxis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// SweepPoint is one prediction of a sweep.
type SweepPoint struct {
	Values   []string      `json:"values"`
	Makespan *uint64       `json:"makespan"` // nil: deadlock
	Compute  uint64        `json:"compute"`  // mean of the processes, rounded down
	Ratio    numbers.Ratio `json:"ratio"`    // over the unchanged platform; undefined if that deadlocks
}

// Condition is a comparison of a metric of a prediction with a number, in the form of [conditions.Condition]. Times without a
// unit are seconds.
type Condition = conditions.Condition[*Prediction]

// Metrics are the metrics of conditions about a prediction.
func Metrics() []conditions.Metric[*Prediction] {
	makespan := func(p *Prediction) numbers.Fraction {
		if p.Makespan == nil {
			return numbers.Fraction{}
		}
		return numbers.Divide64(*p.Makespan, 1)
	}
	measured := func(p *Prediction) numbers.Fraction { return numbers.Divide64(p.Measured, 1) }
	return []conditions.Metric[*Prediction]{
		conditions.NewMetric("makespan", conditions.Time, makespan),
		conditions.NewMetric("measured", conditions.Time, measured),
		conditions.NewMetric("ratio", conditions.Share, func(p *Prediction) numbers.Fraction { return makespan(p).Over(measured(p)) }),
		conditions.NewMetric("speedup", conditions.Share, func(p *Prediction) numbers.Fraction { return measured(p).Over(makespan(p)) }),
		conditions.NewMetric("error_net", conditions.Share, func(p *Prediction) numbers.Fraction { return p.Errors.Net.Fraction() }),
		conditions.NewMetric("error_class", conditions.Share, func(p *Prediction) numbers.Fraction { return p.Errors.Class.Fraction() }),
		conditions.NewMetric("error_replay", conditions.Share, func(p *Prediction) numbers.Fraction { return p.Errors.Replay.Fraction() }),
		conditions.NewMetric("error_spread", conditions.Share, func(p *Prediction) numbers.Fraction { return p.Errors.Spread.Fraction() }),
		conditions.NewMetric("error_delay", conditions.Share, func(p *Prediction) numbers.Fraction { return p.Errors.Delay.Fraction() }),
		conditions.NewMetric("compute", conditions.Time, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Compute })
		}),
		conditions.NewMetric("communication", conditions.Time, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Finish - min(t.Compute+t.Kept, t.Finish) })
		}),
	}
}

// mean is the mean of a time over the processes; not known without a prediction.
func (p *Prediction) mean(of func(t *PredictedTimes) uint64) numbers.Fraction {
	if p.Makespan == nil {
		return numbers.Fraction{}
	}
	var sum graph.Total
	for i := range p.Processes {
		sum = sum.Plus(graph.Total{Lo: of(&p.Processes[i].Predicted)})
	}
	return exact.Share(sum.Hi, sum.Lo, uint64(len(p.Processes)))
}

// ParseCondition reads METRIC OP NUMBER.
func ParseCondition(text string) (*Condition, error) {
	c, err := conditions.Parse(text, Metrics())
	if err == nil && strings.Contains(text, "interval:") {
		err = fmt.Errorf("%q: %w: a prediction has no intervals", numbers.Clean(text, 120), conditions.ErrSyntax)
	}
	return c, err
}

// Judge decides conditions. A condition whose metric is not known holds: what was to be watched cannot be seen.
func (p *Prediction) Judge(list []*Condition) []conditions.Verdict {
	var verdicts []conditions.Verdict
	for _, c := range list {
		verdict, _ := c.Verdict(c.Metric.Value(p), numbers.Units{Resolution: Picoseconds}, "") // the resolution is known
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}
