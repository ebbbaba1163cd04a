package analyze

import (
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// ClockReport is the result of the repair of clocks, over all locations. Times are ticks.
type ClockReport struct {
	Violations  uint64 // messages received before they were sent
	Worst       uint64 // the longest time by which one was
	Collectives uint64 // members that left a collective before a member that they needed had entered
	Corrections uint64 // ends of calls that were raised
	Greatest    uint64 // the most by which an event was raised
	Locations   uint64 // with corrections
	Stuck       bool   // locations wait for each other in a cycle: nothing was repaired
}

// clocks is the result of stage clocks, for this rank's locations.
type clocks struct {
	maps     *causes.Clocks    // nil: nothing was repaired
	problems trace.Diagnostics // that locations wait for each other in a cycle, on rank 0
}

// clockRepair is stage clocks.
type clockRepair struct {
	*loads
	types  *xtf.TypeTable // of arrays that nobody reads
	pairs  []stats.Loaded // by location: numbers of rows
	staged []*xtfwriter.Segment
	clocks *causes.Clocks
	report ClockReport
}

// repairClocks reads the run once for its messages and collectives only, and finds by how much each clock has to be raised. Memory of a
// rank: that of load and match.
func (a *job) repairClocks(nothing) (*clocks, error) {
	a.begin("clocks")
	r := &clockRepair{loads: &loads{job: a}, types: xtf.StandardTypes(xtf.Raw16K)}
	err := a.eachOwn(func(p trace.P) error {
		if err := r.location(p); err != nil {
			return fmt.Errorf("location %d (%s): %w", a.defs.Location(p).Ref, a.locationName(p), err)
		}
		return nil
	})
	if err := jobs.Agree(a.c, err); err != nil {
		return nil, err
	}
	if err := jobs.OverRanks(a.c, mpi.Max, &r.found.Last); err != nil {
		return nil, err
	}
	results, _, err := match.Match(match.Options{Comm: a.c, Defs: a.defs, Ranges: a.ranges, Units: r.found.units, Scratch: a.scratch})
	for _, s := range r.staged {
		s.Drop()
	}
	if err != nil {
		return nil, err
	}
	return r.run(results)
}

// nowhere drops rows that nobody reads.
type nowhere struct{}

func (nowhere) Append([]byte) (int64, error)      { return 0, nil }
func (nowhere) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

// location stages the messages and collectives of a location.
func (r *clockRepair) location(p trace.P) error {
	a := r.loads
	pinned := a.store.Scratch()
	defer pinned.Drop()
	array := func(t xtf.TypeID) *xtf.ArrayBuilder {
		b := xtf.NewArrayBuilder(a.enc, r.types.Lookup(t), xtf.Proc(p), nowhere{})
		b.SpillPinned(pinned, 1)
		return b
	}
	sorted, late := a.store.Scratch(), a.store.Scratch()
	r.staged = append(r.staged, sorted, late)
	loader, err := a.newLoader(p, stats.Outputs{
		Calls: array(xtf.TypeCall), IO: array(xtf.TypeIO), RMA: array(xtf.TypeRMA), Metrics: array(xtf.TypeMetric),
		Channels: array(xtf.TypeChannel), Chan: array(xtf.TypeChan), Sorted: sorted,
		Borders: nowhere{}, Ends: true,
		Scratch: a.scratch, Late: late,
	})
	if err != nil {
		return err
	}
	if _, err := a.decode(p, loader.Add); err != nil {
		return err
	}
	loaded, err := loader.Finish()
	if err != nil {
		return err
	}
	r.pairs = append(r.pairs, stats.Loaded{P: p, P2PRows: loaded.P2PRows, CollRows: loaded.CollRows})
	a.tables.EachCall(&loaded.Bins, a.found.cuts.Add)
	a.found.addUnit(loaded, sorted, late, nil)
	a.found.Last = max(a.found.Last, loaded.Totals.Last)
	return nil
}

// join gives the messages and collectives of all locations, with their partners, to the repair.
func (r *clockRepair) join(results *match.Results) error {
	var rows *match.Rows
	for i := range r.pairs {
		l := &r.pairs[i]
		rows = results.Rows(r.defs, l.P, l.Diagnostics, match.RowOutputs{}, rows)
		err := r.clocks.Location(l.P, rows)
		found, ferr := rows.Finish()
		if err := errors.Join(err, ferr); err != nil {
			return err
		}
		for _, c := range found.Codes {
			switch c.Code {
			case trace.DiagClockViolation:
				r.report.Violations += c.Count
				r.report.Worst = max(r.report.Worst, c.Worst)
			case trace.DiagClockCollective:
				r.report.Collectives += c.Count
			}
		}
	}
	r.pairs = nil
	return nil
}

// run finds the corrections, and makes the report over all ranks.
func (r *clockRepair) run(results *match.Results) (*clocks, error) {
	over := &causes.Run{Comm: r.c, Defs: r.defs, Ranges: r.ranges, Storage: Storage(r.store, r.memory.Segments), Last: r.found.Last}
	if err := over.Cut(&r.found.cuts); err != nil {
		return nil, err
	}
	r.clocks = causes.NewClocks(over)
	report, err := r.clocks.Run(r.join(results))
	if err != nil {
		return nil, fmt.Errorf("repair of clocks: %w", err)
	}
	out := &clocks{}
	if d := report.Deadlock; d != nil {
		r.report.Stuck = true
		r.found.problem(r.c, trace.Diagnostic{Code: trace.DiagClockStuck, Count: d.Stuck, Detail: d.String()})
		out.problems = r.found.Problems
	} else {
		for i := range r.own.Len() {
			_, one := r.clocks.Map(i)
			r.report.Corrections += one.Corrections
			r.report.Greatest = max(r.report.Greatest, one.Greatest)
			if one.Corrections > 0 {
				r.report.Locations++
			}
		}
		out.maps = r.clocks
	}
	x := &r.report
	err = jobs.OverRanks(r.c, mpi.Sum, &x.Violations, &x.Collectives, &x.Corrections, &x.Locations)
	if err == nil {
		err = jobs.OverRanks(r.c, mpi.Max, &x.Worst, &x.Greatest)
	}
	r.res.Clocks = *x
	return out, err
}

// clock gives events of a location their repaired times.
type clock struct {
	a      *loads
	p      trace.P
	of     *causes.ClockMap
	most   uint64 // ticks from the origin, see xtf.Most
	report causes.ClockReport
}

// clock returns the clock of a location, nil if it is not repaired.
func (a *loads) clock(p trace.P) *clock {
	if a.clocks == nil || a.clocks.maps == nil {
		return nil
	}
	m, report := a.clocks.maps.Map(int(p - a.own.First))
	return &clock{a, p, m, xtf.Most(a.defs.NumLocations()), report}
}

func (c *clock) set(b *trace.Batch) error {
	if c == nil {
		return nil
	}
	origin := c.a.size.Origin
	for i := range b.Events {
		e := &b.Events[i]
		t, err := c.of.At(b.First+uint64(i), uint64(e.Time-origin))
		if err != nil {
			return err
		}
		if t > c.most {
			return jobs.Fail(jobs.ExitInput, fmt.Errorf("a repaired time more than %d ticks after the first of the trace", c.most))
		}
		e.Time = origin + trace.Time(t)
	}
	return nil
}

// end adds a diagnostic of the location's corrections, and frees its clock.
func (c *clock) end(found *trace.Diagnostics) {
	if c == nil {
		return
	}
	if c.report.Corrections > 0 {
		found.Add(trace.Diagnostic{
			Code: trace.DiagClockRepaired, Time: c.a.size.Origin, Event: xtf.Never, Count: c.report.Corrections, Worst: c.report.Greatest,
		})
	}
	c.a.clocks.maps.Drop(int(c.p - c.a.own.First))
}
