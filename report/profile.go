package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Profile is the flat profile: what every region took, over the chosen processes.
type Profile struct {
	Source    Source       `json:"source"`
	Bound     *Bound       `json:"bound"`     // of times from a lossy graph; nil: exact
	Ranks     string       `json:"ranks"`     // "all", or the chosen ones
	Processes int          `json:"processes"` // chosen
	Time      uint64       `json:"time"`      // of all their threads and streams, first to last event
	Exclusive uint64       `json:"exclusive"` // of all regions
	Outside   uint64       `json:"outside"`   // time in no recorded call
	Regions   []RegionTime `json:"regions"`   // in the order of the definitions
}

// RegionTime is a region's line of a profile. Times are ticks; inclusive time
// counts the outermost of recursive calls only.
type RegionTime struct {
	Region    uint32 `json:"region"` // reference in the trace
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      uint32 `json:"line"`
	Class     string `json:"class"` // name of the state (trace.States), "" for own code
	Calls     uint64 `json:"calls"` // that were recorded
	Inclusive uint64 `json:"inclusive"`
	Exclusive uint64 `json:"exclusive"`
	Share     Ratio  `json:"share"` // of the locations' time

	// Of sampled traces: samples with the region innermost, and calls that calling contexts alone tell of. Times of those are
	// estimated.
	Samples   uint64 `json:"samples,omitempty"`
	Estimated uint64 `json:"estimated_calls,omitempty"`

	// How far times from a lossy graph may be off; nil: exact.
	InclusiveOff *uint64 `json:"inclusive_deviation,omitempty"`
	ExclusiveOff *uint64 `json:"exclusive_deviation,omitempty"`

	Bytes     uint64    `json:"bytes"` // sent and received
	Processes int       `json:"processes"`
	Min       [2]uint64 `json:"min_exclusive"` // over the chosen processes: ticks, the lowest process that has them
	Max       [2]uint64 `json:"max_exclusive"`
	class     uint32
}

// Profile adds up the rows or the graphs of the chosen processes' locations.
func (r *Run) Profile(ranks Ranks, from Source) (*Profile, []Lost, error) {
	t, err := r.profileTable(from)
	if err != nil {
		return nil, nil, err
	}
	var lost []Lost
	chosen := 0
	for i, x := range r.Defs.Processes() {
		if !ranks.Contains(uint32(i)) {
			continue
		}
		chosen++
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			if err := t.addLocation(p); err != nil {
				if !Partial(err) {
					return nil, nil, err
				}
				lost = append(lost, r.Lost(p, "profile", err))
			}
		}
		t.endProcess(uint64(i), chosen == 1)
	}
	out := &Profile{Source: t.from, Ranks: ranks.String(), Processes: chosen, Time: t.time, Regions: t.lines()}
	if t.from == SourceGraph {
		out.Bound, err = r.Bound()
	}
	out.finish()
	return out, lost, err
}

// totals is the profile of the whole run from its own rows: no spread over
// processes, one row per region. Where processes have several locations, their
// times are read one by one.
func (r *Run) totals(s *Summary) (*Profile, error) {
	t := newProfileTable(r)
	if err := t.addWhole(); err != nil {
		return nil, fmt.Errorf("%s: profile of the whole run: %w", r.Name, err)
	}
	out := &Profile{Source: SourceRows, Ranks: "all", Processes: len(r.Defs.Processes()), Regions: t.lines()}
	if r.Defs.NumLocations() == out.Processes {
		out.Time = uint64(max(s.Item(xtf.ItemTime).Sum, 0))
	} else {
		var sum uint64
		for p := range trace.P(r.Defs.NumLocations()) {
			if r.Defs.Location(p).Type == trace.MetricLocation {
				continue
			}
			v, err := r.components(p)
			if err != nil && !Partial(err) {
				return nil, err
			}
			sum += v[xtf.ItemTime]
		}
		out.Time = sum
	}
	out.finish()
	return out, nil
}

// finish fills what needs the sum over all regions.
func (p *Profile) finish() {
	p.Exclusive = 0
	for i := range p.Regions {
		p.Exclusive += p.Regions[i].Exclusive
	}
	switch {
	case p.Time >= p.Exclusive:
		p.Outside = p.Time - p.Exclusive
	case p.Bound != nil: // the time is exact
		p.Outside = 0
	default:
		p.Time, p.Outside = p.Exclusive, 0
	}
	for i := range p.Regions {
		p.Regions[i].Share = ratio64(p.Regions[i].Exclusive, p.Time)
	}
}

// byTime returns the lines by falling exclusive time, ties in definition order.
func (p *Profile) byTime() []RegionTime {
	list := slices.Clone(p.Regions)
	slices.SortStableFunc(list, func(a, b RegionTime) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
	return list
}

// regionSum is a region's sums; own is that of the process in hand.
type regionSum struct {
	sums      [4]uint64 // calls, inclusive, exclusive, bytes
	off       [2]uint64 // how far inclusive and exclusive time from a lossy graph may be off
	samples   uint64
	estimated uint64 // of the calls
	class     uint32
	own       uint64
	ownCalls  uint64
	processes int
	min, max  [2]uint64
	seen      bool
}

// profileTable adds TIMEBIN rows, or graphs, by region: those of the definitions
// in their order, one more for all others.
type profileTable struct {
	r      *Run
	from   Source
	shared *ccg.Shared // of SourceGraph
	sums   []regionSum
	time   uint64 // of the locations
}

// newProfileTable returns a table of rows.
func newProfileTable(r *Run) *profileTable {
	return &profileTable{r: r, from: SourceRows, sums: make([]regionSum, len(r.Defs.Regions)+1)}
}

// profileTable returns a table of rows or graphs.
func (r *Run) profileTable(want Source) (*profileTable, error) {
	t := newProfileTable(r)
	var err error
	if t.from, err = r.source(want); err == nil && t.from == SourceGraph {
		t.shared, err = r.Graph()
	}
	return t, err
}

func (t *profileTable) addLocation(p trace.P) error {
	var err error
	if t.from == SourceGraph {
		err = t.addGraph(p)
	} else if err = t.add(xtf.Proc(p)); err == nil && t.sampled() {
		err = t.addSamples(p)
	}
	if err != nil {
		return fmt.Errorf("%s: location %d: profile: %w", t.r.Name, t.r.Defs.Location(p).Ref, err)
	}
	if t.r.Defs.Location(p).Type == trace.MetricLocation {
		return nil // it samples, it does not run
	}
	v, err := t.r.components(p)
	t.time += v[xtf.ItemTime]
	return err
}

// sampled reports whether some calls may be known from calling contexts alone.
func (t *profileTable) sampled() bool { return len(t.r.Defs.CallingContexts) > 0 }

// addSamples adds what the graph of a location knows of samples, next to its rows.
func (t *profileTable) addSamples(p trace.P) error {
	shared, err := t.r.Graph()
	if err != nil {
		return err
	}
	l, err := t.r.Location(shared, p)
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

func (t *profileTable) putSamples(regions []ccg.RegionTotal) {
	for _, x := range regions {
		i, ok := t.r.Defs.RegionIndex(x.Region)
		if !ok {
			i = len(t.sums) - 1
		}
		t.sums[i].samples += x.Samples
		t.sums[i].estimated += x.Estimated
	}
}

// add adds the rows of the coarsest level, whose only bin holds the whole run:
// they are the last of the array.
func (t *profileTable) add(p xtf.Proc) error {
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
	err = eachRow(a, first, a.Len(), func(x *xtf.TimeBin) {
		fits = t.put(x.Region, x.Class, [4]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes}) && fits
	})
	if err == nil && !fits {
		err = fmt.Errorf("sums of regions are too large: %w", xtf.ErrCorrupt)
	}
	return err
}

// addWhole adds the whole run's rows, or those of the locations, each read once, where calls may be estimated, which the whole
// run's rows do not tell apart.
func (t *profileTable) addWhole() error {
	if err := t.add(xtf.WholeRun); err != nil || !t.sampled() {
		return err
	}
	sum, err := t.r.profileTable(SourceAuto)
	for p := trace.P(0); err == nil && p < trace.P(t.r.Defs.NumLocations()); p++ {
		err = sum.addLocation(p)
	}
	if err == nil {
		*t = *sum
	}
	return err
}

// put adds calls, inclusive and exclusive time and bytes of a region, and reports whether sums hold them.
func (t *profileTable) put(ref, class uint32, values [4]uint64) bool {
	i, ok := t.r.Defs.RegionIndex(ref)
	if !ok {
		i = len(t.sums) - 1
	}
	s := &t.sums[i]
	s.seen, s.class = true, class
	fits := xtf.Add(&s.ownCalls, values[0]) && xtf.Add(&s.own, values[2])
	for k, v := range values {
		fits = xtf.Add(&s.sums[k], v) && fits
	}
	return fits
}

// graphSums is what is known of a location's graph next to its profile.
type graphSums struct {
	time    uint64 // first to last event
	traffic *ccg.Traffic
}

// addGraph adds what the graph of a location says.
func (t *profileTable) addGraph(p trace.P) error {
	l, err := t.r.Location(t.shared, p)
	if err != nil {
		return err
	}
	_, err = t.putGraph(l)
	return err
}

// putGraph adds the regions of a location's graph. Time outside of all calls
// belongs to no region.
func (t *profileTable) putGraph(l *ccg.Location) (*graphSums, error) {
	var prof ccg.Profile
	if err := prof.Add(l, true); err != nil {
		return nil, err
	}
	traffic, err := l.Traffic()
	if err != nil {
		return nil, err
	}
	bytes := map[uint32]uint64{}
	for _, x := range traffic.Regions {
		bytes[x.Region] = x.Bytes
	}
	sums := &graphSums{traffic: traffic}
	undefined, fits := false, true
	for _, x := range prof.Regions() {
		sums.time += x.Exclusive
		if x.Calls == 0 {
			continue
		}
		def := t.r.Defs.Region(x.Region)
		if def == nil {
			undefined = true
			continue
		}
		fits = t.put(x.Region, uint32(t.r.Defs.Class(def)), [4]uint64{x.Calls, x.Inclusive, x.Exclusive, bytes[x.Region]}) && fits
	}
	if undefined {
		calls, inclusive, exclusive, err := t.r.undefinedCalls(l)
		if err != nil {
			return nil, err
		}
		fits = t.put(trace.Undefined, 0, [4]uint64{calls, inclusive, exclusive, 0}) && fits
	}
	if !fits {
		return nil, fmt.Errorf("sums of regions are too large: %w", xtf.ErrCorrupt)
	}
	t.putSamples(prof.Regions())
	t.putBounds(l, prof.Regions())
	return sums, nil
}

// putBounds adds how far the times of a lossy graph may be off.
func (t *profileTable) putBounds(l *ccg.Location, regions []ccg.RegionTotal) {
	d := t.shared.Options().Deviation
	if d.Lossless() {
		return
	}
	gaps := map[uint32]ccg.RegionGaps{}
	for _, g := range l.RegionGaps() {
		gaps[g.Region] = g
	}
	for _, x := range regions {
		i, ok := t.r.Defs.RegionIndex(x.Region)
		if !ok {
			i = len(t.sums) - 1
		}
		if x.Calls > 0 {
			t.sums[i].off[0] = min(t.sums[i].off[0]+d.StoredBound(gaps[x.Region].Inclusive, x.Inclusive), xtf.Most(1))
			t.sums[i].off[1] = min(t.sums[i].off[1]+d.StoredBound(gaps[x.Region].Exclusive, x.Exclusive), xtf.Most(1))
		}
	}
}

// endProcess puts the process in hand into the spread of every region.
func (t *profileTable) endProcess(rank uint64, first bool) {
	for i := range t.sums {
		s := &t.sums[i]
		if s.ownCalls > 0 {
			s.processes++
		}
		if first || s.own < s.min[0] {
			s.min = [2]uint64{s.own, rank}
		}
		if first || s.own > s.max[0] {
			s.max = [2]uint64{s.own, rank}
		}
		s.own, s.ownCalls = 0, 0
	}
}

func (t *profileTable) lines() []RegionTime {
	list := []RegionTime{}
	for i := range t.sums {
		s := &t.sums[i]
		if !s.seen {
			continue
		}
		state := trace.StateOfClass(trace.CallClass(s.class))
		x := RegionTime{
			Region: trace.Undefined, Name: "(undefined region)", class: s.class,
			Calls: s.sums[0] - min(s.sums[0], s.estimated), Samples: s.samples, Estimated: s.estimated, Inclusive: s.sums[1], Exclusive: s.sums[2], Bytes: s.sums[3],
			Processes: s.processes, Min: s.min, Max: s.max,
		}
		if t.shared != nil && !t.shared.Options().Deviation.Lossless() {
			x.InclusiveOff, x.ExclusiveOff = &s.off[0], &s.off[1]
		}
		if i < len(t.r.Defs.Regions) {
			x.Region = t.r.Defs.Regions[i].Ref
			state = t.r.Defs.StateOf(&t.r.Defs.Regions[i])
			x.Name = t.r.RegionName(x.Region)
			x.File, x.Line = t.r.Where(x.Region)
		}
		if state != trace.StateOwn {
			x.Class = state.String()
		}
		list = append(list, x)
	}
	return list
}

// perCall is the exclusive time of a call as text. It is not known where calls are estimated.
func (x *RegionTime) perCall(u unit) string {
	if x.Estimated > 0 {
		return ""
	}
	return u.perCall(x.Exclusive, x.Calls)
}

// mean is the exclusive time per chosen process.
func (x *RegionTime) mean(processes int) Ratio { return ratio64(x.Exclusive, uint64(processes)) }

// hot is what the summary tells about regions.
type hot struct {
	profile *Profile
	slowest *RegionTime // of the process that computes longest: the region farthest above the mean
	above   Ratio       // by how much
	outside Ratio       // how far its time outside recorded calls is above the mean
}

// hot finds the regions of the summary. Besides the whole run's rows it reads
// those of one process.
func (r *Run) hot(s *Summary) (*hot, error) {
	all, err := r.totals(s)
	if err != nil {
		return nil, err
	}
	h := &hot{profile: all}
	rank := s.Item(xtf.ItemCPU).MaxP
	if uint64(rank) >= uint64(len(r.Defs.Processes())) {
		return h, nil
	}
	t, err := r.profileTable(SourceAuto)
	if err != nil {
		return nil, err
	}
	x := r.Defs.Processes()[rank]
	for p := x.First; p < x.First+trace.P(x.Count); p++ {
		err := t.addLocation(p)
		if Partial(err) {
			return h, nil // half of its regions would tell of others than all of them
		}
		if err != nil {
			return nil, err
		}
	}
	inside := uint64(0)
	for _, own := range t.lines() {
		inside += own.Exclusive
		if own.class != 0 {
			continue
		}
		i, ok := slices.BinarySearchFunc(all.Regions, own, t.order)
		if !ok {
			continue
		}
		mean := all.Regions[i].mean(all.Processes)
		if d := float64(own.Exclusive) - mean.Value; mean.Defined && d > h.above.Value {
			h.above = Ratio{d, true}
			h.slowest = &all.Regions[i]
		}
	}
	if mean := ratio64(all.Outside, uint64(all.Processes)); mean.Defined {
		h.outside = Ratio{float64(int64(t.time-inside)) - mean.Value, true}
	}
	return h, nil
}

// order compares lines by the place of their region in the definitions.
func (t *profileTable) order(a, b RegionTime) int {
	place := func(x RegionTime) int {
		if i, ok := t.r.Defs.RegionIndex(x.Region); ok {
			return i
		}
		return len(t.sums)
	}
	return cmp.Compare(place(a), place(b))
}

// chapter has the regions by falling exclusive time.
func (p *Profile) chapter(d *Document, b *book, c *chapter) {
	u := b.unit
	of := plural(p.Processes, "process")
	if p.Ranks != "all" {
		of += " (ranks " + p.Ranks + ")"
	}
	c.title = fmt.Sprintf("profile of %s, %s %s", of, u.ticks(p.Time), u.name())
	c.noteGraph(p.Source, p.Bound)
	var sum sampling
	for i := range p.Regions {
		sum.add(p.Regions[i].Samples, p.Regions[i].Estimated)
	}
	sum.note(c, d.run)
	t := &Table{Title: "Regions by exclusive time, all processes together", Columns: append([]Column{
		words("region", "name"), ints("", "region").hidden(), words("", "file").hidden(), ints("", "line").hidden(), ints("calls", "calls"), ints(u.of("exclusive"), "exclusive"), reals("share", "share"),
		ints(u.of("inclusive"), "inclusive"), reals(u.perCallName(), ""), reals("mean", "mean"), ints("max", "max"), ranks("rank", "max_rank"), reals("max/mean", ""), ints("ranks", "processes"),
		ints("bytes", "bytes"), words("class", "class"), ints("exclusive ±", "exclusive_deviation"), ints("inclusive ±", "inclusive_deviation"),
	}, sum.columns()...)}
	fill(t, "region", p.byTime(), func(x *RegionTime) []Cell {
		mean := x.mean(p.Processes)
		uneven := Ratio{}
		if mean.Defined && mean.Value > 0 {
			uneven = Ratio{float64(x.Max[0]) / mean.Value, true}
		}
		bytes := size(x.Bytes)
		if x.Bytes == 0 {
			bytes.Text = ""
		}
		return append([]Cell{
			named(d.label(x, 48), x.Name), plainNumber(x.Region), word(x.File), plainNumber(x.Line), x.calls(), u.time(x.Exclusive), share(x.Share),
			u.time(x.Inclusive), word(x.perCall(u)), u.mean(mean), u.time(x.Max[0]), atRank(x.Max[1]), quotient(uneven, 2), number(x.Processes),
			bytes, named(stateLabel(x.Class), x.Class), u.off(x.ExclusiveOff), u.off(x.InclusiveOff),
		}, sum.cells(x.Samples, x.Estimated)...)
	})
	if p.Outside > 0 {
		t.add(word("(outside recorded calls)"), none(), none(), none(), none(), u.time(p.Outside), share(ratio64(p.Outside, p.Time)))
	}
	c.table(t)
}

// off is how far a time may be off, nothing where it is exact.
func (u unit) off(v *uint64) Cell {
	if v == nil {
		return none()
	}
	return u.time(*v)
}

// calls is how many were recorded.
func (x *RegionTime) calls() Cell {
	if x.Estimated > 0 && x.Calls == 0 {
		return none()
	}
	return number(x.Calls)
}
