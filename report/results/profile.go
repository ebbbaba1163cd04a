package results

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Profile is the flat profile: what every region took, over the chosen processes.
type Profile struct {
	Source    Source       `json:"source"`
	Bound     *Bound       `json:"bound"`               // of times from a lossy graph; nil: exact
	Ranks     string       `json:"ranks"`               // "all", or the chosen ones
	Processes int          `json:"processes"`           // chosen
	Time      uint64       `json:"time"`                // of all their threads and streams, first to last event
	Exclusive uint64       `json:"exclusive"`           // of all regions
	Outside   uint64       `json:"outside"`             // time in no recorded call
	Regions   []RegionTime `json:"regions"`             // in the order of the definitions
	Functions []RegionTime `json:"functions,omitempty"` // MPI functions that are called from several places: sums of their regions in Sites
}

// RegionTime is a region's line of a profile. Times are ticks. Of recursive calls, inclusive time counts only the outermost.
type RegionTime struct {
	Region    uint32        `json:"region"` // reference in the trace
	Name      string        `json:"name"`
	File      string        `json:"file"`
	Line      uint32        `json:"line"`
	Class     string        `json:"class"` // name of the state (trace.States), "" for own code
	Calls     uint64        `json:"calls"` // that were recorded
	Inclusive uint64        `json:"inclusive"`
	Exclusive uint64        `json:"exclusive"`
	Share     numbers.Ratio `json:"share"` // of the locations' time

	// Of sampled traces: samples with this region innermost, and calls that only calling contexts tell of, whose times are
	// estimated.
	Samples   uint64 `json:"samples,omitempty"`
	Estimated uint64 `json:"estimated_calls,omitempty"`

	// How far times from a lossy graph may be off; nil: exact.
	InclusiveOff *uint64 `json:"inclusive_deviation,omitempty"`
	ExclusiveOff *uint64 `json:"exclusive_deviation,omitempty"`

	Bytes     uint64    `json:"bytes"` // sent and received
	Processes int       `json:"processes"`
	Min       [2]uint64 `json:"min_exclusive"` // over the chosen processes: ticks, and the lowest process with that value
	Max       [2]uint64 `json:"max_exclusive"`
	Kind      uint32    `json:"-"`
	Sites     []uint32  `json:"sites,omitempty"` // of a function: the regions that it is the sum of
	Within    bool      `json:"-"`               // in the lines of Nested: a part of the function above
}

// NewProfile adds up the rows or the graphs of the chosen processes' locations.
func NewProfile(r *Run, ranks Ranks, from Source) (*Profile, []table.Lost, error) {
	t, err := ProfileTableOf(r, from)
	if err != nil {
		return nil, nil, err
	}
	var lost []table.Lost
	chosen := 0
	for i, x := range r.Defs.Processes() {
		if !ranks.Contains(uint32(i)) {
			continue
		}
		chosen++
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			if err := r.LeftOut(&lost, p, "profile", t.AddLocation(p)); err != nil {
				return nil, nil, err
			}
		}
		t.EndProcess(uint64(i), chosen == 1)
	}
	out := &Profile{Source: t.From, Ranks: ranks.String(), Processes: chosen, Time: t.time, Regions: t.lines(), Functions: t.functions()}
	if t.From == SourceGraph {
		out.Bound, err = r.Bound()
	}
	out.finish()
	return out, lost, err
}

// Totals is the profile of the whole run from its own rows: one row per region, no spread over processes. Where processes have
// several locations, the locations' times are read one by one.
func Totals(r *Run, s *Summary) (*Profile, error) {
	t, err := WholeTable(r)
	if err != nil {
		return nil, err
	}
	out := &Profile{Source: SourceRows, Ranks: "all", Processes: len(r.Defs.Processes()), Regions: t.lines()}
	if r.Defs.NumLocations() == out.Processes {
		out.Time = uint64(max(s.Item(xtf.ItemTime).Sum, 0))
	} else {
		for p := range trace.P(r.Defs.NumLocations()) {
			if r.Defs.Location(p).Type == trace.MetricLocation {
				continue
			}
			v, err := r.Components(p)
			if err != nil && !Partial(err) {
				return nil, err
			}
			out.Time += v[xtf.ItemTime]
		}
	}
	out.finish()
	return out, nil
}

// finish fills in the values that need the sum over all regions.
func (p *Profile) finish() {
	off := uint64(0) // how far the sum may be
	for _, x := range p.Regions {
		if p.Exclusive += x.Exclusive; x.ExclusiveOff != nil {
			xtf.Add(&off, *x.ExclusiveOff)
		}
	}
	switch {
	case p.Time >= p.Exclusive:
		p.Outside = p.Time - p.Exclusive
	case p.Exclusive-p.Time <= off: // the time is exact
		p.Outside = 0
	default: // the time leaves out set-up and end, but regions have them
		p.Time, p.Outside = p.Exclusive, 0
	}
	for _, list := range [][]RegionTime{p.Regions, p.Functions} {
		for i := range list {
			list[i].Share = numbers.NewRatio(list[i].Exclusive, p.Time)
		}
	}
}

// ByTime returns the lines by falling exclusive time, equal ones in the order of definitions.
func (p *Profile) ByTime() []RegionTime {
	return byTime(slices.Clone(p.Regions))
}

func byTime(list []RegionTime) []RegionTime {
	slices.SortStableFunc(list, func(a, b RegionTime) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
	return list
}

// Nested returns the lines by falling exclusive time. The lines of a function that is called from several places follow their
// sum.
func (p *Profile) Nested() []RegionTime {
	within := map[uint32]int{}
	for i := range p.Functions {
		for _, ref := range p.Functions[i].Sites {
			within[ref] = i
		}
	}
	sites := make([][]RegionTime, len(p.Functions))
	top := slices.Clone(p.Functions)
	for _, x := range p.ByTime() {
		if i, ok := within[x.Region]; ok {
			x.Within = true
			sites[i] = append(sites[i], x)
		} else {
			top = append(top, x)
		}
	}
	var list []RegionTime
	for _, x := range byTime(top) {
		list = append(list, x)
		if len(x.Sites) > 0 {
			list = append(list, sites[within[x.Sites[0]]]...)
		}
	}
	return list
}

// RegionSum is the sums of a region; own is that of the current process.
type RegionSum struct {
	Sums      [4]uint64 // calls, inclusive, exclusive, bytes
	Off       [2]uint64 // how far inclusive and exclusive time from a lossy graph may be off
	samples   uint64
	estimated uint64 // of the calls
	Class     uint32
	Own       uint64
	OwnCalls  uint64
	processes int
	min, max  [2]uint64
	seen      bool
}

// ProfileTable adds up TIMEBIN rows, or graphs, by region: regions of the definitions in their order, and one more for all
// others.
type ProfileTable struct {
	r      *Run
	From   Source
	Shared *graph.Shared // of SourceGraph
	Sums   []RegionSum
	all    []RegionSum // Sums, then those of MPI functions that are called from several places
	within []int       // by region: index in all of its function, 0 for none
	time   uint64      // of the locations
}

// NewProfileTable returns a table of rows.
func NewProfileTable(r *Run) *ProfileTable {
	t := &ProfileTable{r: r, From: SourceRows, within: make([]int, len(r.Defs.Regions))}
	regions, places := map[string][]int{}, map[string]bool{}
	for i := range r.Defs.Regions {
		if x := &r.Defs.Regions[i]; r.Defs.HasSites(x) {
			name := CallName(r, x.Ref)
			regions[name] = append(regions[name], i)
			places[name] = places[name] || r.Defs.CallSite(x) != nil
		}
	}
	next := len(r.Defs.Regions) + 1
	for i := range r.Defs.Regions {
		if name := CallName(r, r.Defs.Regions[i].Ref); places[name] && len(regions[name]) > 1 && regions[name][0] == i {
			for _, k := range regions[name] {
				t.within[k] = next
			}
			next++
		}
	}
	t.all = make([]RegionSum, next)
	t.Sums = t.all[:len(t.within)+1]
	return t
}

// of yields the sums that include a region's numbers: its own, and that of its function.
func (t *ProfileTable) of(ref uint32) iter.Seq[*RegionSum] {
	return func(yield func(*RegionSum) bool) {
		i, ok := t.r.Defs.SameRegion(ref)
		if yield(&t.Sums[i]) && ok && t.within[i] > 0 {
			yield(&t.all[t.within[i]])
		}
	}
}

// ProfileTableOf returns a table of rows or graphs.
func ProfileTableOf(r *Run, want Source) (*ProfileTable, error) {
	t := NewProfileTable(r)
	var err error
	if t.From, err = r.Source(want); err == nil && t.From == SourceGraph {
		t.Shared, err = r.Graph()
	}
	return t, err
}

// AddLocation adds location p.
func (t *ProfileTable) AddLocation(p trace.P) error {
	var err error
	if t.From == SourceGraph {
		var l *ccg.Location
		if l, err = t.r.Location(p); err == nil {
			_, err = t.PutGraph(l)
		}
	} else if err = t.Add(xtf.Proc(p)); err == nil && t.sampled() {
		err = t.addSamples(p)
	}
	if err != nil || t.r.Defs.Location(p).Type == trace.MetricLocation { // it samples and does not run the program
		return t.r.Failed(xtf.Proc(p), "profile", err)
	}
	v, err := t.r.Components(p)
	t.time += v[xtf.ItemTime]
	return err
}

// sampled reports whether some calls may be known from calling contexts alone.
func (t *ProfileTable) sampled() bool { return len(t.r.Defs.CallingContexts) > 0 }

// addSamples adds to the rows of a location what its graph knows of samples.
func (t *ProfileTable) addSamples(p trace.P) error {
	l, err := t.r.Location(p)
	if err != nil {
		return err
	}
	var prof ccg.Profile
	if err := prof.Add(l, false); err != nil {
		return err
	}
	t.putSamples(prof.Regions())
	return nil
}

func (t *ProfileTable) putSamples(regions []ccg.RegionTotal) {
	for _, x := range regions {
		for s := range t.of(x.Region) {
			s.samples += x.Samples
			s.estimated += x.Estimated
		}
	}
}

// Add adds the rows of the coarsest level, whose only bin is the whole run: the last rows of the array.
func (t *ProfileTable) Add(p xtf.Proc) error {
	a, err := t.r.File.Array(p, xtf.TypeTimeBin)
	if err != nil {
		return err
	}
	_, last, ok := a.Bounds()
	if !ok {
		return nil
	}
	first, err := a.Rank(last >> 52 << 52)
	if err != nil {
		return err
	}
	fits := true
	err = EachRow(a, first, a.Len(), func(x *xtf.TimeBin) {
		fits = t.Put(x.Region, x.Class, [4]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes}) && fits
	})
	if err == nil && !fits {
		err = fmt.Errorf("sums of regions are too large: %w", xtf.ErrCorrupt)
	}
	return err
}

// WholeTable returns a table of the whole run's rows. If calls may be estimated, it reads the rows of each location instead,
// because the whole run's rows do not tell estimated calls apart.
func WholeTable(r *Run) (*ProfileTable, error) {
	t := NewProfileTable(r)
	err := t.Add(xtf.WholeRun)
	if err == nil && t.sampled() {
		t, err = ProfileTableOf(r, SourceAuto)
		for p := trace.P(0); err == nil && p < trace.P(r.Defs.NumLocations()); p++ {
			err = t.AddLocation(p)
		}
	}
	return t, r.Failed(xtf.WholeRun, "profile of the whole run", err)
}

// Put adds calls, inclusive and exclusive time and bytes of a region. It returns false if sums do not hold them.
func (t *ProfileTable) Put(ref, class uint32, values [4]uint64) bool {
	fits := true
	for s := range t.of(ref) {
		s.seen, s.Class = true, class
		fits = xtf.Add(&s.OwnCalls, values[0]) && xtf.Add(&s.Own, values[2]) && fits
		for k, v := range values {
			fits = xtf.Add(&s.Sums[k], v) && fits
		}
	}
	return fits
}

// GraphSums is what a location's graph says in addition to its profile.
type GraphSums struct {
	Time    uint64 // first to last event
	Traffic *ccg.Traffic
}

// PutGraph adds the regions of a location's graph. Time outside of all calls does not belong to a region.
func (t *ProfileTable) PutGraph(l *ccg.Location) (*GraphSums, error) {
	var prof ccg.Profile
	if err := prof.Add(l, true); err != nil {
		return nil, err
	}
	traffic, err := l.Traffic()
	if err != nil {
		return nil, err
	}
	bytes := map[int]uint64{}
	for _, x := range traffic.Regions {
		i, _ := t.r.Defs.SameRegion(x.Region)
		bytes[i] += x.Bytes
	}
	sums := &GraphSums{Traffic: traffic}
	undefined, fits := false, true
	for _, x := range prof.Regions() {
		sums.Time += x.Exclusive
		if x.Calls == 0 {
			continue
		}
		i, known := t.r.Defs.SameRegion(x.Region)
		if !known {
			undefined = true
			continue
		}
		fits = t.Put(x.Region, uint32(t.r.Defs.Class(&t.r.Defs.Regions[i])), [4]uint64{x.Calls, x.Inclusive, x.Exclusive, bytes[i]}) && fits
	}
	if undefined {
		calls, inclusive, exclusive, err := undefinedCalls(t.r, l)
		if err != nil {
			return nil, err
		}
		fits = t.Put(trace.Undefined, 0, [4]uint64{calls, inclusive, exclusive, 0}) && fits
	}
	if !fits {
		return nil, fmt.Errorf("sums of regions are too large: %w", xtf.ErrCorrupt)
	}
	t.putSamples(prof.Regions())
	t.putBounds(l, prof.Regions())
	return sums, nil
}

// putBounds adds how far the times of a lossy graph may be off.
func (t *ProfileTable) putBounds(l *ccg.Location, regions []ccg.RegionTotal) {
	d := t.Shared.Options().Deviation
	if d.Lossless() {
		return
	}
	gaps := l.RegionGaps()
	for _, x := range regions {
		for s := range t.of(x.Region) {
			if x.Calls > 0 {
				s.Off[0] = min(s.Off[0]+d.StoredBound(gaps[x.Region].Inclusive, x.Inclusive), xtf.Most(1))
				s.Off[1] = min(s.Off[1]+d.StoredBound(gaps[x.Region].Exclusive, x.Exclusive), xtf.Most(1))
			}
		}
	}
}

// EndProcess adds the current process to the spread of every region.
func (t *ProfileTable) EndProcess(rank uint64, first bool) {
	for i := range t.all {
		s := &t.all[i]
		if s.OwnCalls > 0 {
			s.processes++
		}
		if first || s.Own < s.min[0] {
			s.min = [2]uint64{s.Own, rank}
		}
		if first || s.Own > s.max[0] {
			s.max = [2]uint64{s.Own, rank}
		}
		s.Own, s.OwnCalls = 0, 0
	}
}

// line returns the line of t.all[i], a region or a function.
func (t *ProfileTable) line(i int) RegionTime {
	s := &t.all[i]
	x := RegionTime{
		Region: trace.Undefined, Name: "(undefined region)", Kind: s.Class,
		Calls: s.Sums[0] - min(s.Sums[0], s.estimated), Samples: s.samples, Estimated: s.estimated, Inclusive: s.Sums[1], Exclusive: s.Sums[2], Bytes: s.Sums[3],
		Processes: s.processes, Min: s.min, Max: s.max,
	}
	if t.Shared != nil && !t.Shared.Options().Deviation.Lossless() {
		x.InclusiveOff, x.ExclusiveOff = &s.Off[0], &s.Off[1]
	}
	x.setState(trace.StateOfClass(trace.CallClass(s.Class)))
	return x
}

func (x *RegionTime) setState(state trace.State) {
	if state == trace.StateOwn {
		x.Class = ""
	} else {
		x.Class = state.String()
	}
}

func (t *ProfileTable) lines() []RegionTime {
	list := []RegionTime{}
	for i := range t.Sums {
		if !t.Sums[i].seen {
			continue
		}
		x := t.line(i)
		if i < len(t.within) {
			x.Region = t.r.Defs.Regions[i].Ref
			x.setState(t.r.Defs.StateOf(&t.r.Defs.Regions[i]))
			x.Name = t.r.RegionName(x.Region)
			x.File, x.Line = t.r.Where(x.Region)
		}
		list = append(list, x)
	}
	return list
}

// functions returns the sums of functions that are called from several places.
func (t *ProfileTable) functions() []RegionTime {
	sites := map[int][]uint32{}
	for i, k := range t.within {
		if k > 0 && t.Sums[i].seen {
			sites[k] = append(sites[k], t.r.Defs.Regions[i].Ref)
		}
	}
	var list []RegionTime
	for k := len(t.Sums); k < len(t.all); k++ {
		if len(sites[k]) > 1 {
			x := t.line(k)
			x.Sites, x.Name = sites[k], CallName(t.r, sites[k][0])
			x.setState(t.r.Defs.StateOf(t.r.Defs.Region(sites[k][0])))
			list = append(list, x)
		}
	}
	return list
}

// PerCall prints the exclusive time of a call. It is not known where calls are estimated.
func (x *RegionTime) PerCall(u numbers.Units) string {
	if x.Estimated > 0 {
		return ""
	}
	return u.PerCall(x.Exclusive, x.Calls)
}

// Mean returns the exclusive time per chosen process.
func (x *RegionTime) Mean(processes int) numbers.Ratio {
	return numbers.NewRatio(x.Exclusive, uint64(processes))
}

// Hot is the regions that the summary names.
type Hot struct {
	Profile *Profile
	Slowest *RegionTime   // of the first thread of the process that computes longest: the region farthest above the mean of first threads
	Above   numbers.Ratio // by how much
	Outside numbers.Ratio // how far its time outside recorded calls is above the mean
}

// mostFirst is the most processes with several threads whose first threads are read one by one.
const mostFirst = 1 << 14

// NewHot finds the regions of the summary. In addition to the whole run's rows it reads those of one process. Where processes
// have several threads, it also reads the first threads of all, because computing is about these.
func NewHot(r *Run, s *Summary) (*Hot, error) {
	all, err := Totals(r, s)
	if err != nil {
		return nil, err
	}
	h := &Hot{Profile: all}
	processes, rank := r.Defs.Processes(), s.Item(xtf.ItemCPU).MaxP
	threads := len(processes) < r.Defs.NumLocations()
	if uint64(rank) >= uint64(len(processes)) || threads && len(processes) > mostFirst {
		return h, nil
	}
	tableOf := func(list ...trace.Process) (*ProfileTable, error) {
		t, err := ProfileTableOf(r, SourceAuto)
		for i := 0; err == nil && i < len(list); i++ {
			err = t.AddLocation(list[i].First)
		}
		return t, err
	}
	own, err := tableOf(processes[rank])
	mean, outside := all.Regions, all.Outside
	if err == nil && threads {
		var first *ProfileTable
		if first, err = tableOf(processes...); err == nil {
			mean, outside = first.lines(), first.outside()
		}
	}
	if Partial(err) {
		return h, nil // some of its regions would be about different processes than the others
	}
	if err != nil {
		return nil, err
	}
	sums, at := map[uint32]uint64{}, map[uint32]int{}
	for i := range mean {
		sums[mean[i].Region] = mean[i].Exclusive
	}
	for i := range all.Regions {
		at[all.Regions[i].Region] = i
	}
	for _, x := range own.lines() {
		i, ok := at[x.Region]
		if !ok || x.Kind != 0 {
			continue
		}
		mean := numbers.NewRatio(sums[x.Region], uint64(all.Processes))
		if d := float64(x.Exclusive) - mean.Value; mean.Defined && d > h.Above.Value {
			h.Above = numbers.Ratio{Value: d, Defined: true}
			h.Slowest = &all.Regions[i]
		}
	}
	if mean := numbers.NewRatio(outside, uint64(all.Processes)); mean.Defined {
		h.Outside = numbers.Ratio{Value: float64(own.outside()) - mean.Value, Defined: true}
	}
	return h, nil
}

// outside returns the time of the locations outside of recorded calls.
func (t *ProfileTable) outside() uint64 {
	inside := uint64(0)
	for _, x := range t.lines() {
		inside += x.Exclusive
	}
	return t.time - min(inside, t.time)
}

// Recorded prints how many calls were recorded.
func (x *RegionTime) Recorded() table.Cell {
	if x.Estimated > 0 && x.Calls == 0 {
		return table.None()
	}
	return table.Number(x.Calls)
}

// undefinedCalls returns calls, inclusive and exclusive time of all regions without definition, together. Columns of the graph do
// not distinguish such calls from time outside of calls, so it reads the location's events. Few traces have such calls.
func undefinedCalls(r *Run, l *ccg.Location) (calls, inclusive, exclusive uint64, err error) {
	var open []bool // of the calls on the stack: undefined
	var begin, last trace.Time
	undefined := 0
	c := l.Cursor()
	for {
		s, ok := c.Next()
		if !ok {
			break
		}
		n := len(open)
		if n > 0 && open[n-1] {
			exclusive += uint64(s.Time - last)
		}
		last = s.Time
		switch s.Move {
		case ccg.Enters:
			_, known := r.Defs.RegionIndex(s.Region)
			open = append(open, !known)
			if known {
				break
			}
			if undefined == 0 {
				begin = s.Time
			}
			calls++
			undefined++
		case ccg.Leaves:
			if open[n-1] {
				if undefined--; undefined == 0 {
					inclusive += uint64(s.Time - begin)
				}
			}
			open = open[:n-1]
		}
	}
	if undefined > 0 { // never left
		inclusive += uint64(last - begin)
	}
	return calls, inclusive, exclusive, c.Err()
}

// Sampling counts the samples and estimated calls of a table.
type Sampling struct{ samples, Estimated uint64 }

// Add adds those of a row.
func (s *Sampling) Add(samples, estimated uint64) {
	s.samples += samples
	s.Estimated += estimated
}

// Text says how the times of estimated calls were obtained.
func (s *Sampling) Text(r *Run) string {
	if s.samples == 0 {
		return "estimated from the calling contexts of recorded calls"
	}
	var timers []string
	for i := range r.Defs.InterruptGenerators {
		g := &r.Defs.InterruptGenerators[i]
		every := "every " + numbers.Count(g.Period)
		if g.Exponent != 0 {
			every += fmt.Sprintf(" x %d^%d", 2+8*int(min(g.Base, 1)), g.Exponent)
		}
		if ticks, ok := r.Defs.PeriodTicks(g); ok {
			every = "every " + r.Units().Span(ticks)
		}
		timers = append(timers, numbers.Clean(r.Defs.Text(g.Name), 40)+" "+every)
	}
	by := ""
	if len(timers) > 0 {
		by = " (" + strings.Join(timers[:min(len(timers), NamedKinds)], ", ") + ")"
	}
	return fmt.Sprintf("estimated from %s%s", numbers.Plural(int(min(s.samples, math.MaxInt64)), "sample"), by)
}

// Note adds such a note to a chapter, if there are estimates.
func (s *Sampling) Note(c *table.Chapter, r *Run) {
	if s.Estimated > 0 {
		c.Say("times of calls without a number: %s", s.Text(r))
	}
}

// Columns are the columns for Cells.
func (s *Sampling) Columns() []table.Column {
	return []table.Column{table.Ints("samples", "samples"), table.Reals("error", "error")}
}

// Cells prints the samples of a region or path and, if calls are estimated, the error of its exclusive time: one standard
// deviation of a count of n samples is the square root of n.
func (s *Sampling) Cells(samples, estimated uint64) []table.Cell {
	switch {
	case samples == 0:
		return nil
	case estimated == 0:
		return []table.Cell{table.Number(samples)}
	}
	return []table.Cell{table.Number(samples), table.Share(numbers.Ratio{Value: 1 / math.Sqrt(float64(samples)), Defined: true})}
}

// NamedKinds is the number of kinds that a line names.
const NamedKinds = 3
