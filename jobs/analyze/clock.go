package analyze

import (
	"errors"
	"fmt"
	"io"
	"slices"

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
	Shifted     uint64 // locations whose clock was set later as a whole
	Shift       uint64 // the most by which one was
	Corrections uint64 // ends of calls that were raised after that
	Greatest    uint64 // the most by which an event was raised
	Locations   uint64 // with corrections
	Stuck       bool   // locations wait for each other in a cycle: nothing was repaired
}

// clocks is the result of stage clocks, for this rank's locations.
type clocks struct {
	shift    []int64           // by process: by how much its clock is set later; nil: no clock is
	maps     *causes.Clocks    // nil: nothing was raised
	problems trace.Diagnostics // that locations wait for each other in a cycle, on rank 0
}

// clockRepair is a pass of stage clocks.
type clockRepair struct {
	*loads
	types   *xtf.TypeTable // of arrays that nobody reads
	pairs   []stats.Loaded // by location: numbers of rows
	staged  []*xtfwriter.Segment
	raise   *causes.Clocks
	offsets offsets
	report  ClockReport
}

// mostShifts bounds how often clocks are shifted: of a collective a pass knows the last member alone, by the clocks that it has.
const mostShifts = 3

// repairClocks reads the run for its messages and collectives only, and finds by how much each clock has to be shifted and raised: again
// after each shift. Memory of a rank: that of load and match.
func (a *job) repairClocks(nothing) (*clocks, error) {
	out := &clocks{}
	for n := 0; ; n++ {
		r, err := a.readClocks(out)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			a.res.Clocks = r.report
		}
		var ahead []int64
		if n < mostShifts {
			ahead, err = r.offsets.solve(a.c, len(a.defs.Processes()), xtf.Most(a.defs.NumLocations())-r.found.Last)
		}
		if err != nil {
			return nil, err
		}
		if ahead == nil {
			return out, r.run(out)
		}
		r.raise.Abandon()
		out.set(ahead)
	}
}

// set sets clocks later, those that are ahead less.
func (c *clocks) set(ahead []int64) {
	if c.shift == nil {
		c.shift = make([]int64, len(ahead))
	}
	for p, v := range ahead {
		c.shift[p] -= v
	}
	least := slices.Min(c.shift)
	for p := range c.shift {
		c.shift[p] -= least
	}
}

// readClocks is a pass over the run, with its clocks shifted.
func (a *job) readClocks(shifted *clocks) (*clockRepair, error) {
	a.begin("clocks")
	r := &clockRepair{loads: &loads{job: a, clocks: shifted}, types: xtf.StandardTypes(xtf.Raw16K)}
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
	over := &causes.Run{Comm: r.c, Defs: r.defs, Ranges: r.ranges, Storage: Storage(r.store, r.memory.Segments), Last: r.found.Last}
	if err := over.Cut(&r.found.cuts); err != nil {
		return nil, err
	}
	r.raise = causes.NewClocks(over)
	if err := jobs.Agree(a.c, r.join(results)); err != nil {
		return nil, fmt.Errorf("repair of clocks: %w", err)
	}
	x := &r.report
	if err := jobs.OverRanks(r.c, mpi.Sum, &x.Violations, &x.Collectives); err != nil {
		return nil, err
	}
	return r, jobs.OverRanks(r.c, mpi.Max, &x.Worst)
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
	out := match.RowOutputs{Bound: func(from, to trace.P, slack int64) {
		sender, _ := r.defs.Process(from)
		receiver, _ := r.defs.Process(to)
		r.offsets.bound(sender, receiver, slack)
	}}
	for i := range r.pairs {
		l := &r.pairs[i]
		rows = results.Rows(r.defs, l.P, l.Diagnostics, out, rows)
		err := r.raise.Location(l.P, rows)
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

// run finds the corrections, and completes the report over all ranks.
func (r *clockRepair) run(out *clocks) error {
	report, err := r.raise.Run(nil)
	if err != nil {
		return fmt.Errorf("repair of clocks: %w", err)
	}
	x := &r.res.Clocks
	if d := report.Deadlock; d != nil {
		x.Stuck = true
		r.found.problem(r.c, trace.Diagnostic{Code: trace.DiagClockStuck, Count: d.Stuck, Detail: d.String()})
		out.problems, out.shift = r.found.Problems, nil
		return nil
	}
	for p := r.own.First; p < r.own.End; p++ {
		_, one := r.raise.Map(int(p - r.own.First))
		x.Corrections += one.Corrections
		x.Greatest = max(x.Greatest, one.Greatest)
		if one.Corrections > 0 {
			x.Locations++
		}
		if shift := out.of(r.defs, p); shift > 0 {
			x.Shifted++
			x.Shift = max(x.Shift, shift)
		}
	}
	out.maps = r.raise
	if err := jobs.OverRanks(r.c, mpi.Sum, &x.Shifted, &x.Corrections, &x.Locations); err != nil {
		return err
	}
	return jobs.OverRanks(r.c, mpi.Max, &x.Shift, &x.Greatest)
}

// of returns by how many ticks the clock of a location is set later.
func (c *clocks) of(defs *trace.Definitions, p trace.P) uint64 {
	if c.shift == nil {
		return 0
	}
	process, _ := defs.Process(p)
	return uint64(c.shift[process])
}

// clock gives events of a location their repaired times.
type clock struct {
	a      *loads
	p      trace.P
	shift  uint64
	raise  *causes.ClockMap // nil: not yet known
	most   uint64           // ticks from the origin, see xtf.Most
	report causes.ClockReport
}

// clock returns the clock of a location, nil if it is not repaired.
func (a *loads) clock(p trace.P) *clock {
	if a.clocks == nil || a.clocks.maps == nil && a.clocks.shift == nil {
		return nil
	}
	c := &clock{a: a, p: p, shift: a.clocks.of(a.defs, p), most: xtf.Most(a.defs.NumLocations())}
	if a.clocks.maps != nil {
		c.raise, c.report = a.clocks.maps.Map(int(p - a.own.First))
	}
	return c
}

func (c *clock) set(b *trace.Batch) error {
	if c == nil {
		return nil
	}
	origin := c.a.size.Origin
	for i := range b.Events {
		e := &b.Events[i]
		t := uint64(e.Time-origin) + c.shift
		if c.raise != nil {
			var err error
			if t, err = c.raise.At(b.First+uint64(i), t); err != nil {
				return err
			}
		}
		if t > c.most {
			return jobs.Fail(jobs.ExitInput, fmt.Errorf("a repaired time more than %d ticks after the first of the trace", c.most))
		}
		e.Time = origin + trace.Time(t)
	}
	return nil
}

// end adds diagnostics of the location's repair, and frees its clock.
func (c *clock) end(found *trace.Diagnostics) {
	if c == nil || c.raise == nil {
		return
	}
	for _, d := range []trace.Diagnostic{
		{Code: trace.DiagClockShifted, Count: 1, Worst: c.shift}, {Code: trace.DiagClockRepaired, Count: c.report.Corrections, Worst: c.report.Greatest},
	} {
		if d.Time, d.Event = c.a.size.Origin, xtf.Never; d.Count > 0 && d.Worst > 0 {
			found.Add(d)
		}
	}
	c.a.clocks.maps.Drop(int(c.p - c.a.own.First))
}
