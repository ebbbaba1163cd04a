// Package counters adds up the metrics of a trace, such as those of processors and of energy, by region, call path, interval and process.
package counters

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Counted is the sums of the metrics of a trace. What a counter has counted from one reading to the next belongs to the innermost
// calls in between, in proportion to their time, and to the executions of intervals there. A metric about another location
// belongs to the calls of that location, one about a process to the calls of its first thread. A metric about several processes
// belongs to no calls, and to the executions of the first process. Memory: of the call paths where something is counted, times
// counters.
type Counted struct {
	Counters  []Counter `json:"counters"`
	Regions   []Part    `json:"regions"`   // without the calls inside
	Paths     []Part    `json:"paths"`     // the same
	Intervals []Part    `json:"intervals"` // with the intervals inside
	Processes []Part    `json:"processes"` // or what else a metric is about
}

// Counter is a metric of the trace, over all that was chosen.
type Counter struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Kind string `json:"kind"` // count: values add up; level: a value holds for a time, such as a temperature
	Total
	Readings uint64  `json:"readings"`
	Shared   uint64  `json:"shared"` // readings with several calls since the one before: their times decide
	Falls    uint64  `json:"falls"`  // readings below the one before, of a value that the trace says to grow
	Scale    float64 `json:"-"`      // of values as they are in the trace
	Member   int     `json:"-"`      // place in the definitions
	physical physical
	ByName   bool    `json:"unit_by_name,omitempty"` // the name, and not the trace, says joules or watts
	declared uint32  // its mode
	odd      uint64  // readings that are not numbers
	outside  float64 // of a count: outside MPI
	still    float64 // the value that all readings have, of a counter that the trace says to grow
}

// Part is a counter in a part of the run.
type Part struct {
	Name    string `json:"name"`
	Counter string `json:"counter"`
	Total
	Node *uint32 `json:"node,omitempty"`    // of an interval, in the file
	Rank *uint32 `json:"process,omitempty"` // of a process
}

// Total is the sum of a counter. Time is the time that readings cover, over all locations that the counter is about.
type Total struct {
	Sum      numbers.Ratio `json:"sum"`        // of a count
	Rate     numbers.Ratio `json:"per_second"` // per second of that time, or per tick
	PerCall  numbers.Ratio `json:"per_call"`   // of calls begun in that time
	PerCycle numbers.Ratio `json:"per_cycle"`  // where cycles are counted: of instructions this is IPC
	Mean     numbers.Ratio `json:"mean"`       // of a level, over that time
	Least    numbers.Ratio `json:"least"`
	Largest  numbers.Ratio `json:"largest"`
	Joules   numbers.Ratio `json:"joules"` // of energy; of power: the mean times the time
	Watts    numbers.Ratio `json:"watts"`  // joules over the longest such time of a location
	EDP      numbers.Ratio `json:"edp"`    // joules times that time, J s
	Time     uint64        `json:"time"`   // ticks
	Calls    uint64        `json:"calls"`  // of a region or path
}

// cell adds up a counter in a part of the run. It adds up the values of a count as those of a level too, in case it proves to be
// one.
type cell struct {
	sum, held   float64
	ticks, span uint64 // of all locations, of the longest
	calls       uint64
	least, most float64 // of held values
	holds       bool
}

func (c *cell) add(v counted, share float64, at spent) {
	c.sum += float64(v.sum * share)
	c.ticks, c.span, c.calls = c.ticks+at.ticks, c.span+at.ticks, c.calls+at.calls
	if !v.holds {
		return
	}
	c.held += float64(v.held * float64(at.ticks))
	if !c.holds {
		c.least, c.most = v.held, v.held
	}
	c.least, c.most, c.holds = min(c.least, v.held), max(c.most, v.held), true
}

// join adds the cell of another location.
func (c *cell) join(o *cell) {
	if o.holds && !c.holds {
		c.least, c.most = o.least, o.most
	}
	if o.holds {
		c.least, c.most, c.holds = min(c.least, o.least), max(c.most, o.most), true
	}
	c.sum, c.held, c.ticks, c.span, c.calls = c.sum+o.sum, c.held+o.held, c.ticks+o.ticks, max(c.span, o.span), c.calls+o.calls
}

// cellKey identifies a cell: a member, and all of the run, a region, a path, an interval, a process or a node of the machine.
type cellKey struct {
	of     byte // 'a', 'g', 'p', 'i', 'r', 'n'
	id     uint32
	member int
	target trace.P // of a path of a location; else 0
}

// spent is the time and calls of a location in a part since the last reading.
type spent struct{ ticks, calls uint64 }

func (s spent) plus(ticks, calls uint64) spent { return spent{s.ticks + ticks, s.calls + calls} }

// tally is what the readings of a member have shown.
type tally struct{ readings, shared, falls, changes, odd uint64 }

// callPaths numbers chains of regions; 0 is the time outside of calls.
type callPaths struct {
	r    *results.Run
	list []callChain
	at   map[[2]uint32]uint32
}

type callChain struct {
	parent, region uint32 // numbers of a path and, of a region, its place in the definitions or beyond them
	mpi            bool   // in a call of MPI
}

// enter returns the path of a call inside of another path.
func (x *callPaths) enter(parent, ref uint32, mpi bool) uint32 {
	index, _ := x.r.Defs.SameRegion(ref)
	region := uint32(index)
	k := [2]uint32{parent, region}
	i, ok := x.at[k]
	if !ok {
		i = uint32(len(x.list))
		x.at[k] = i
		x.list = append(x.list, callChain{parent, region, x.list[parent].mpi || mpi})
	}
	return i
}

// region is the name of a region by the number that paths have.
func (x *callPaths) region(i uint32) string {
	switch n := uint32(len(x.r.Defs.Regions)); {
	case i < n:
		return x.r.RegionName(x.r.Defs.Regions[i].Ref)
	case i == n:
		return "(undefined region)"
	}
	return "(outside recorded calls)"
}

// regions are the references of the regions of a path, outermost first.
func (x *callPaths) regions(id uint32) (list []uint32) {
	for ; id > 0; id = x.list[id].parent {
		ref := uint32(trace.Undefined)
		if i := x.list[id].region; uint64(i) < uint64(len(x.r.Defs.Regions)) {
			ref = x.r.Defs.Regions[i].Ref
		}
		list = append(list, ref)
	}
	slices.Reverse(list)
	return list
}

// namedCalls is how many calls the name of a path has.
const namedCalls = 32

// name lists the regions of a path, outermost first. Of a long path it has the innermost ones.
func (x *callPaths) name(id uint32) string {
	list := []string{x.region(x.list[id].region)}
	for id = x.list[id].parent; id > 0 && len(list) < namedCalls; id = x.list[id].parent {
		list = append(list, x.region(x.list[id].region))
	}
	if id > 0 {
		list = append(list, "...")
	}
	slices.Reverse(list)
	return strings.Join(list, " > ")
}

// counting adds up all counters.
type counting struct {
	*Members
	r       *results.Run
	scopes  *counterScopes
	paths   callPaths
	cells   map[cellKey]*cell
	tallies map[int]*tally
	last    uint64 // end of the run
	early   bool   // a counter tells of the time before its first reading
	calls   bool   // regions and paths are asked for
	put     func(PathCount)
}

// PathCount is what a counter has counted on a call path of a location, without the calls inside, in the unit of the trace.
type PathCount struct {
	P       trace.P
	Member  int      // place of the counter in the definitions
	Regions []uint32 // references, outermost first
	Sum     float64
}

// EachPathCount passes the counts of the chosen processes to put. It passes levels too, whose counts mean nothing.
func EachPathCount(r *results.Run, ranks results.Ranks, put func(PathCount)) ([]table.Lost, error) {
	if len(r.Defs.MetricMembers) == 0 || !r.Rows {
		return nil, nil
	}
	g, err := newCounting(r, nil, true)
	if err != nil {
		return nil, err
	}
	g.put = put
	return g.read(ranks)
}

// NewCounted adds up the metrics of the chosen processes. It reads only the members that only accepts, and no calls unless
// regions and paths are asked for.
func NewCounted(r *results.Run, ranks results.Ranks, only func(name, unit string) bool, calls bool) (*Counted, []table.Lost, error) {
	if len(r.Defs.MetricMembers) > 0 && !r.Rows {
		return nil, nil, fmt.Errorf("%s: counters: %w", r.Name, results.ErrNoRows)
	}
	g, err := newCounting(r, only, calls)
	if err != nil {
		return nil, nil, err
	}
	lost, err := g.read(ranks)
	if err != nil {
		return nil, lost, err
	}
	x, err := g.result()
	return x, lost, err
}

func newCounting(r *results.Run, only func(name, unit string) bool, calls bool) (*counting, error) {
	g := &counting{Members: NewMembers(r.Defs), r: r, calls: calls, scopes: newCounterScopes(r.Defs), cells: map[cellKey]*cell{}, tallies: map[int]*tally{}}
	g.paths = callPaths{r, []callChain{{region: uint32(len(r.Defs.Regions)) + 1}}, map[[2]uint32]uint32{}}
	if only != nil {
		for ref, i := range g.member {
			if !only(g.Name(i), g.Unit(i)) {
				delete(g.member, ref)
			}
		}
	}
	g.early = slices.ContainsFunc(r.Defs.MetricMembers, func(m trace.MetricMember) bool {
		return Mode(&m) != Accumulated && uint32(m.Mode)&counterTiming != untilNext
	})
	root, err := results.ProgramOf(r)
	if root != nil {
		g.last = root.LastEnd
	}
	return g, err
}

// read adds up the readings of the chosen processes.
func (g *counting) read(ranks results.Ranks) ([]table.Lost, error) {
	r := g.r
	return r.EachLocation(ranks, "counters", func(p trace.P) error {
		l := &countedLocation{g: g, p: p, metrics: map[uint32]*metricRead{}, walks: map[counterScope]*walk{}, members: map[memberRead]*memberValue{}, cells: map[cellKey]*cell{}, tallies: map[int]*tally{}}
		if err := l.read(); err != nil {
			return r.Failed(xtf.Proc(p), "counters", err)
		}
		l.join()
		return nil
	})
}

// fallsOneOf: if one of so many changes of a value is a fall, the value does not grow, whatever the trace says.
const fallsOneOf = 10

// result computes the numbers of all cells.
func (g *counting) result() (*Counted, error) {
	x := &Counted{Counters: []Counter{}, Regions: []Part{}, Paths: []Part{}, Intervals: []Part{}, Processes: []Part{}}
	places := slices.Sorted(maps.Keys(g.tallies))
	at, cycles := map[int]int{}, -1
	for n, i := range places {
		y, m := g.tallies[i], &g.defs.MetricMembers[i]
		base := map[bool]float64{true: 2, false: 10}[m.Base == 0]
		c := Counter{Name: g.Name(i), Unit: g.Unit(i), Kind: "count", Readings: y.readings, Shared: y.shared, Falls: y.falls, Scale: math.Pow(base, float64(m.Exponent)), Member: i, declared: Mode(m), odd: y.odd}
		if c.physical, c.ByName = physicalOf(c.Name, c.Unit); !c.ByName {
			c.physical.scale *= c.Scale
		}
		if Mode(m) == absolute || c.physical.power || c.physical.scale == 0 && y.falls > y.changes/fallsOneOf {
			c.Kind = "level"
		}
		if all := g.cells[cellKey{'a', 0, i, 0}]; Mode(m) == Accumulated && y.changes == 0 && all != nil && all.holds {
			c.still = float64(all.most * c.Scale)
		}
		if named(c.Name, cycleNames) && c.Kind == "count" {
			cycles = i
		}
		x.Counters = append(x.Counters, c)
		at[i] = n
	}
	nodes, err := g.r.Nodes()
	if err != nil {
		return nil, err
	}
	for _, k := range sortedCells(g.cells) {
		of := &x.Counters[at[k.member]]
		c := g.cells[k]
		part := Part{Counter: of.Name, Total: of.sums(c, g.cells[cellKey{k.of, k.id, cycles, 0}], g.r.Units().Resolution)}
		switch k.of {
		case 'a':
			of.Total = part.Total
		case 'g':
			part.Name = g.paths.region(k.id)
			x.Regions = append(x.Regions, part)
		case 'p':
			part.Name = g.paths.name(k.id)
			x.Paths = append(x.Paths, part)
			if !g.paths.list[k.id].mpi {
				of.outside += c.sum
			}
		case 'i':
			if uint64(k.id) < uint64(len(nodes)) {
				part.Name, part.Node = nodes[k.id].Label(), &k.id
				x.Intervals = append(x.Intervals, part)
			}
		case 'r':
			part.Name, part.Rank = fmt.Sprintf("rank %d", k.id), &k.id
			x.Processes = append(x.Processes, part)
		case 'n':
			part.Name = cmp.Or(g.defs.NodeName(k.id), "several locations")
			x.Processes = append(x.Processes, part)
		}
	}
	for _, list := range [][]Part{x.Regions, x.Paths} {
		slices.SortStableFunc(list, func(a, b Part) int {
			return cmp.Or(cmp.Compare(a.Counter, b.Counter), cmp.Compare(b.size(), a.size()))
		})
	}
	return x, nil
}

// size is the order of parts: a count, or a level times its time.
func (c *Total) size() float64 {
	return max(math.Abs(c.Sum.Value), math.Abs(float64(float64(c.Time)*c.Mean.Value)))
}

// sums returns the numbers of a cell. cycles is the cell of cycles in the same part, nil if there is none.
func (x *Counter) sums(c, cycles *cell, resolution uint64) Total {
	per := func(v, n float64) numbers.Ratio {
		if n == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return numbers.Ratio{}
		}
		return numbers.Ratio{Value: v / n, Defined: true}
	}
	scaled := func(v float64) float64 { return float64(v * x.Scale) }
	s := Total{Time: c.ticks, Calls: c.calls}
	seconds := func(ticks uint64) float64 { return float64(ticks) / float64(max(resolution, 1)) }
	joules := numbers.Ratio{}
	if x.Kind == "level" {
		s.Mean = per(scaled(c.held), float64(c.ticks))
		if c.holds {
			s.Least, s.Largest = per(scaled(c.least), 1), per(scaled(c.most), 1)
		}
		if x.physical.power {
			joules = per(float64(c.held*x.physical.scale), float64(resolution))
		}
	} else {
		s.Sum = per(scaled(c.sum), 1)
		s.Rate, s.PerCall = per(scaled(c.sum), seconds(c.ticks)), per(scaled(c.sum), float64(c.calls))
		if cycles != nil && cycles != c {
			s.PerCycle = per(scaled(c.sum), cycles.sum)
		}
		if x.physical.scale > 0 && resolution > 0 {
			joules = per(float64(c.sum*x.physical.scale), 1)
		}
	}
	if s.Joules = joules; joules.Defined {
		s.Watts, s.EDP = per(joules.Value, seconds(c.span)), per(float64(joules.Value*seconds(c.span)), 1)
	}
	return s
}

// Notes say what a reader must know about the numbers of a counter.
func (x *Counter) Notes() (list []string) {
	name := numbers.Clean(x.Name, 48)
	say := func(format string, args ...any) { list = append(list, name+": "+fmt.Sprintf(format, args...)) }
	if x.Kind == "level" && x.declared == Accumulated {
		say("the trace says that it grows, but %s: its values are read as levels", map[bool]string{true: "it is a power", false: fmt.Sprintf("%s of %s are less than the one before", numbers.Count(x.Falls), numbers.Count(x.Readings))}[x.physical.power])
	} else if x.Falls > 0 {
		say("%s are less than the one before, as if counted anew: what was counted between is not known", numbers.Plural(int(x.Falls), "reading"))
	}
	if x.Kind == "count" && x.still != 0 {
		say("%g at every reading: a count that stands still, or a level of which the trace says that it grows", x.still)
	}
	if x.ByName {
		say("joules and watts by its name, %g for each; the trace does not give the unit", x.physical.scale)
	}
	if x.Shared > 0 {
		say("several calls between %s of %s readings: there calls have their share by time, which is an estimate", numbers.Count(x.Shared), numbers.Count(x.Readings))
	}
	if x.odd > 0 {
		say("%s are not numbers, and left out", numbers.Plural(int(x.odd), "reading"))
	}
	return list
}

// Useful adds up instructions and cycles outside of calls of MPI. They are not defined where the trace has none.
func Useful(r *results.Run) (instructions, cycles numbers.Ratio, err error) {
	isOne := func(name, _ string) bool { return IsInstructions(name) || named(name, cycleNames) }
	if !r.Rows || !slices.ContainsFunc(r.Defs.MetricMembers, func(m trace.MetricMember) bool { return isOne(r.Defs.Text(m.Name), "") }) {
		return
	}
	x, _, err := NewCounted(r, results.Ranks{}, isOne, true)
	if err != nil {
		return
	}
	for i := range x.Counters {
		c, to := &x.Counters[i], &instructions
		if named(c.Name, cycleNames) {
			to = &cycles
		}
		if c.Kind == "count" {
			*to = numbers.Ratio{Value: to.Value + c.outside, Defined: true}
		}
	}
	return
}

// Energy returns the counters of energy and power; nil where the trace has none, or no rows.
func Energy(r *results.Run) ([]Counter, []table.Lost, error) {
	is := func(name, unit string) bool {
		p, _ := physicalOf(name, unit)
		return p.scale > 0
	}
	if !r.Rows || !slices.ContainsFunc(r.Defs.MetricMembers, func(m trace.MetricMember) bool { return is(r.Defs.Text(m.Name), r.Defs.Text(m.Unit)) }) {
		return nil, nil, nil
	}
	x, lost, err := NewCounted(r, results.Ranks{}, is, false)
	if err != nil {
		return nil, lost, err
	}
	return x.Counters, lost, nil
}

func sortedCells(cells map[cellKey]*cell) []cellKey {
	return slices.SortedFunc(maps.Keys(cells), func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.member, b.member), cmp.Compare(a.id, b.id), cmp.Compare(a.target, b.target))
	})
}
