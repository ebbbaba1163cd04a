package prediction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/trace"
)

// outcome is the result of a simulation on a rank.
type outcome struct {
	times    []simnet.ProcessTimes // of the processes that this rank simulated
	first    uint32                // the first of these
	deadlock *simnet.Deadlock
	result   simnet.Result // without times
}

func (o *outcome) makespan() *uint64 { return new(uint64(o.result.Makespan)) }

// runOn simulates on a platform. Collective: all ranks return the same error.
func (x *prediction) runOn(p *platform.Platform, calc simnet.Calc, o simnet.Options) (*outcome, error) {
	n, err := p.Network(x.in.Processes())
	if err := jobs.Agree(x.c, err); err != nil {
		return nil, err
	}
	calc = codedCalc{calc}
	ctx := x.o.Analyze.Stop.Context()
	r := &simnet.Result{First: x.in.First} // if this rank simulates nothing
	switch {
	case !NeedsEvents(p):
		r, err = simnet.Dataflow(ctx, x.c, x.in.First, x.in.End, x.in.Program, calc, n, o)
	case x.c.Rank() == 0:
		r, err = simnet.Events(ctx, x.in.Program, calc, n, o)
	}
	out := &outcome{}
	if errors.Is(err, context.Canceled) {
		err = x.stopped()
	} else if d, ok := errors.AsType[*simnet.Deadlock](err); ok {
		out.deadlock, r, err = d, &simnet.Result{}, nil
	}
	if err := jobs.Agree(x.c, err); err != nil {
		return nil, err
	}
	for k := range r.Times {
		r.Times[k].Compute -= x.start.delay[k] + x.start.kept[k] // the engine counts these as computation
	}
	out.times, out.first, out.result = r.Times, r.First, *r
	out.result.Times = nil
	if !NeedsEvents(p) {
		return out, nil
	}
	return out, x.share(out)
}

// boundary ends a stage: all ranks go on, or all stop. Collective.
func (x *prediction) boundary() error {
	var err error
	if _, ok := x.o.Analyze.Stop.Asked(); ok {
		err = x.stopped()
	}
	return jobs.Agree(x.c, err)
}

// stopped returns the error of a prediction that is to stop. A simulation has no checkpoints.
func (x *prediction) stopped() error {
	why, _ := x.o.Analyze.Stop.Asked()
	return jobs.Fail(jobs.ExitSaved, fmt.Errorf("%w: %s, before the predicted run was written. The simulation begins again; add --resume to keep what earlier runs wrote of it",
		jobs.ErrStopped, why))
}

// codedCalc gives errors of computation vectors their exit codes, which they keep when ranks agree on them.
type codedCalc struct{ simnet.Calc }

// Fill implements simnet.Calc.
func (c codedCalc) Fill(process uint32, first uint64, dst []int64) error {
	return jobs.Coded(c.Calc.Fill(process, first, dst))
}

// countedCalc counts the entries of computation vectors that the engine takes, as progress of the stage.
type countedCalc struct {
	simnet.Calc
	meter  *jobs.Meter
	first  uint32
	taken  []uint64      // by process that this rank simulates: entries taken
	untold atomic.Uint64 // bytes not yet added to the meter
}

// counted begins stage simulate. Its work is the bytes of the vectors of all processes.
func (x *prediction) counted(calc simnet.Calc) simnet.Calc {
	c := &countedCalc{Calc: calc, meter: x.meter, first: x.in.First, taken: make([]uint64, x.in.End-x.in.First)}
	if NeedsEvents(x.platform) { // on one rank
		c.first, c.taken = 0, nil
		if x.c.Rank() == 0 {
			c.taken = make([]uint64, x.in.Processes())
		}
	}
	own, all := uint64(0), uint64(0)
	for p := range x.in.Processes() {
		n := 8 * x.in.Calls(p)
		if all += n; uint64(p-c.first) < uint64(len(c.taken)) {
			own += n
		}
	}
	x.meter.Stage("simulate", own, all)
	return c
}

// Fill implements simnet.Calc. Only the goroutine of the rank, which runs its first process, adds to the meter.
func (c *countedCalc) Fill(process uint32, first uint64, dst []int64) error {
	if i := uint64(process - c.first); i < uint64(len(c.taken)) && first > c.taken[i] {
		c.untold.Add(8 * (first - c.taken[i]))
		c.taken[i] = first
		if i == 0 {
			c.meter.Add(c.untold.Swap(0))
		}
	}
	return c.Calc.Fill(process, first, dst)
}

// share gives rank 0's outcome to the ranks that simulated nothing. Collective.
func (x *prediction) share(out *outcome) error {
	stuck := int64(0)
	if out.deadlock != nil {
		stuck = 1
	}
	b, err := x.c.Bcast(jobs.AppendWords(nil, stuck, out.result.Makespan, int64(out.result.Unmatched)), 0)
	if err != nil {
		return err
	}
	v := jobs.TakeWords[int64](b)
	if v[0] != 0 && out.deadlock == nil {
		out.deadlock = &simnet.Deadlock{}
	}
	out.result.Makespan, out.result.Unmatched = v[1], uint64(v[2])
	return nil
}

// scale returns the factor of computation that no measured vectors replace.
func (x *prediction) scale() platform.Scale {
	if x.o.Scaled || x.platform == nil {
		return x.o.Scale
	}
	return x.platform.Scale
}

// substituted returns the computation of this rank's processes on the target, without the times of calls.
func (x *prediction) substituted() simnet.Calc {
	return x.in.Substitute(x.o.Rule, x.scale(), x.donors.donor)
}

// computation returns the computation of this rank's processes on the target, times f.
func (x *prediction) computation(f platform.Scale) simnet.Calc {
	calc := x.substituted()
	if f != platform.One {
		calc = &predict.Substituted{Host: calc, Scale: f}
	}
	return x.start.from(calc)
}

// check simulates the recorded run on its own machine, with all vectors and with those of representatives only, and sets the errors.
// Collective.
func (x *prediction) check() error {
	x.meter.Stage("check", 0, 0)
	base := cmp.Or(x.host, x.platform)
	if base == nil || x.host == nil && x.o.Rule != predict.CopyRule {
		return nil
	}
	all, err := x.runOn(base, x.start.from(x.in.Vectors), simnet.Options{})
	if err != nil {
		return err
	}
	if all.deadlock != nil {
		return nil // stage simulate reports the deadlock
	}
	if x.host != nil {
		e := &x.res.Errors
		e.HostPlatform, e.HostMakespan, e.Net = x.host.Name, all.makespan(), difference(*all.makespan(), x.res.Measured)
	}
	if x.o.Rule != predict.CopyRule {
		return nil
	}
	s, err := x.representatives()
	if err != nil {
		return err
	}
	calc := x.start.from(x.in.Substitute(predict.CopyRule, platform.One, s.donor))
	some, err := x.runOn(base, calc, simnet.Options{})
	if err != nil || some.deadlock != nil {
		return err
	}
	x.res.Errors.ClassMakespan, x.res.Errors.Class = some.makespan(), difference(*some.makespan(), *all.makespan())
	return nil
}

// representatives returns the recorded vectors of the representatives of classes with several processes. Collective.
func (x *prediction) representatives() (*donorSet, error) {
	s := &donorSet{}
	for _, k := range x.classes.Classes {
		r := k.Representative
		if k.Members < 2 {
			continue
		}
		host, err := x.hostVector(r)
		if err != nil {
			return nil, err
		}
		nodes, err := x.in.CallNodes(r)
		var d *predict.Donor
		if err == nil {
			d, err = x.joinDonor(r, nodes, host, host)
		}
		if err := jobs.Agree(x.c, err); err != nil {
			return nil, err
		}
		s.list, s.about = append(s.list, d), append(s.about, predicted.Donor{})
	}
	s.follow(x.classes)
	return s, nil
}

// simulate runs the prediction. Collective.
func (x *prediction) simulate() error {
	if x.platform == nil {
		return nil
	}
	calc := x.counted(x.computation(platform.One))
	began := time.Now()
	o := simnet.Options{}
	if x.o.Output != "" {
		if err := x.openTimes(&o); err != nil {
			return err
		}
	}
	out, err := x.runOn(x.platform, calc, o)
	if err != nil {
		return err
	}
	r := &x.res
	x.out, r.Elapsed = out, time.Since(began)
	r.Unmatched, r.Simulated = out.result.Unmatched, out.result.Events
	if d := out.deadlock; d != nil {
		r.Deadlock = &predicted.PredictedDeadlock{Cycle: []predicted.BlockedCall{}, Eager: d.Eager}
		for _, b := range d.Cycle {
			r.Deadlock.Cycle = append(r.Deadlock.Cycle, predicted.BlockedCall{Process: b.Process, Call: b.Call, Function: x.in.Function(b.Node), For: b.For})
		}
		return nil
	}
	r.Makespan, r.Ratio = out.makespan(), numbers.NewRatio(*out.makespan(), r.Measured)
	if x.crowded {
		outer := *x.start
		outer.calls = predict.OuterCalls(x.in, outer.calls)
		least, err := x.runOn(x.platform, outer.from(x.substituted()), simnet.Options{})
		if err != nil {
			return err
		}
		if least.deadlock == nil {
			r.Least = least.makespan()
		}
	}
	if x.times != nil {
		out.result.Times, out.result.First = out.times, out.first
		err = x.times.Finish(&out.result)
	}
	return jobs.Agree(x.c, err)
}

// sweep predicts every point. Collective.
func (x *prediction) sweep() error {
	if x.platform == nil || len(x.o.Sweep) == 0 {
		return nil
	}
	s := &predicted.PredictedSweep{}
	for _, a := range x.o.Sweep {
		s.Axes = append(s.Axes, predicted.SweepAxis{Name: a.Name, Values: a.Values})
	}
	x.res.Sweep = s
	n := platform.Points(x.o.Sweep)
	x.meter.Stage("sweep", uint64(n), uint64(n*x.c.Size()))
	for i := range n {
		p, at, err := x.platform.Point(x.o.Sweep, i)
		if err != nil { // does not happen after CheckSweep
			return err
		}
		out, err := x.runOn(p, x.computation(p.Scale), simnet.Options{})
		if err != nil {
			return err
		}
		var point predicted.SweepPoint
		for k, v := range at {
			point.Values = append(point.Values, s.Axes[k].Values[v])
		}
		if out.deadlock == nil {
			point.Makespan = out.makespan()
			if x.res.Makespan != nil {
				point.Ratio = numbers.NewRatio(*point.Makespan, *x.res.Makespan)
			}
			if point.Compute, err = x.meanOf(out.times, func(t *simnet.ProcessTimes) int64 { return t.Compute }); err != nil {
				return err
			}
		}
		s.Points = append(s.Points, point)
		x.meter.Add(1)
	}
	return nil
}

// collect gives rank 0 the results of all processes. Collective.
func (x *prediction) collect() error {
	own, err := x.rows()
	if err := jobs.Agree(x.c, err); err != nil {
		return err
	}
	all, err := x.c.Gather(own, 0)
	if err != nil || x.c.Rank() != 0 {
		return err
	}
	const width = 13
	nodes := map[uint32]uint32{}
	for _, b := range all {
		for v := jobs.TakeWords[uint64](b); len(v) >= width; v = v[width:] {
			p := uint32(len(x.res.Processes))
			y := predicted.PredictedProcess{
				Process: p, Class: int(x.classes.Members[p].Class), Node: uint32(v[10]), Calls: x.in.Calls(p), Messages: v[9],
				Measured:  predicted.MeasuredTimes{Finish: v[0], Compute: v[1], Start: v[11]},
				Predicted: predicted.PredictedTimes{Finish: v[2], Compute: v[3], Send: v[4], Receive: v[5], Wait: v[6], Collective: v[7], File: v[8], Kept: v[12]},
			}
			if x.donors.donor(p) != nil {
				x.res.Computation.Replaced++
			}
			nodes[y.Node]++
			if t := x.res.Platform; t != nil {
				t.Nodes, t.RanksPerNode = uint32(len(nodes)), max(t.RanksPerNode, nodes[y.Node])
			}
			x.res.Processes = append(x.res.Processes, y)
		}
	}
	x.res.Classify()
	x.delayed()
	return nil
}

// delayed finds the process that waited for a processor for the largest share of its computation, if a recorder noted that.
func (x *prediction) delayed() {
	e, most := &x.res.Errors, -1.0
	for i := range x.in.Defs.LocationProperties {
		q := &x.in.Defs.LocationProperties[i]
		at, ok := x.in.Defs.Ordinal(q.Location)
		if !ok || q.Value.Type != trace.TypeUint64 || x.in.Defs.Text(q.Name) != trace.PropertyDelay {
			continue
		}
		rank, thread := x.in.Defs.Process(at)
		if thread > 0 || int(rank) >= len(x.res.Processes) {
			continue
		}
		compute := x.res.Processes[rank].Measured.Compute
		delay := min(q.Value.Bits, compute/1000) * 1000 // the file may have any number
		if s := share(delay, compute); s > most {
			most, e.WorstDelay, e.Delayed, e.Delay = s, &rank, delay, numbers.NewRatio(delay, compute)
		}
	}
}

// rows returns the results of this rank's processes, encoded for collect.
func (x *prediction) rows() ([]byte, error) {
	var n *network.Network
	if x.platform != nil {
		var err error
		if n, err = x.platform.Network(x.in.Processes()); err != nil {
			return nil, err
		}
	}
	var b []byte
	for p := x.in.First; p < x.in.End; p++ {
		k := p - x.in.First
		compute, err := sumOf(x.in.Vectors, p)
		if err != nil {
			return nil, err
		}
		var t simnet.ProcessTimes
		if x.out != nil && int(k) < len(x.out.times) {
			t = x.out.times[k]
		}
		node := int64(0)
		if n != nil {
			node = int64(n.NodeOf(p))
		}
		b = jobs.AppendWords(b, x.start.end[k], compute, t.Finish, t.Compute, t.Send, t.Receive, t.Wait, t.Collective, t.File, int64(t.Messages), node, x.start.delay[k], x.start.kept[k])
	}
	return b, nil
}
