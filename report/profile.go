package report

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Profile is the flat profile: what every region took, over the chosen processes.
type Profile struct {
	Ranks     string       `json:"ranks"`     // "all", or the chosen ones
	Processes int          `json:"processes"` // chosen
	Time      *big.Int     `json:"time"`      // of all their threads and streams, first to last event
	Exclusive *big.Int     `json:"exclusive"` // of all regions
	Outside   *big.Int     `json:"outside"`   // time in no recorded call
	Regions   []RegionTime `json:"regions"`   // in the order of the definitions
}

// RegionTime is a region's line of a profile. Times are ticks; inclusive time
// counts the outermost of recursive calls only.
type RegionTime struct {
	Region    uint32    `json:"region"` // reference in the trace
	Name      string    `json:"name"`
	File      string    `json:"file"`
	Line      uint32    `json:"line"`
	Class     string    `json:"class"` // of MPI and I/O calls, "" for the program's own code
	Calls     *big.Int  `json:"calls"`
	Inclusive *big.Int  `json:"inclusive"`
	Exclusive *big.Int  `json:"exclusive"`
	Share     Ratio     `json:"share"` // of the locations' time
	Bytes     *big.Int  `json:"bytes"` // sent and received
	Processes int       `json:"processes"`
	Min       [2]uint64 `json:"min_exclusive"` // over the chosen processes: ticks, the lowest process that has them
	Max       [2]uint64 `json:"max_exclusive"`
	class     uint32
}

// Profile adds up the rows of the chosen processes' locations.
func (r *Run) Profile(ranks Ranks) (*Profile, []Lost, error) {
	t := newProfileTable(r)
	var lost []Lost
	chosen := 0
	for i, x := range r.Defs.Processes() {
		if !ranks.contains(uint32(i)) {
			continue
		}
		chosen++
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			if err := t.addLocation(p); err != nil {
				if !partial(err) {
					return nil, nil, err
				}
				lost = append(lost, r.lost(p, "profile", err))
			}
		}
		t.endProcess(uint64(i), chosen == 1)
	}
	out := &Profile{Ranks: ranks.String(), Processes: chosen, Time: t.time.big(), Regions: t.lines()}
	out.finish()
	return out, lost, nil
}

// totals is the profile of the whole run from its own rows: no spread over
// processes, one row per region. Where processes have several locations, their
// times are read one by one.
func (r *Run) totals(s *Summary) (*Profile, error) {
	t := newProfileTable(r)
	if err := t.add(xtf.WholeRun); err != nil {
		return nil, fmt.Errorf("%s: profile of the whole run: %w", r.Name, err)
	}
	out := &Profile{Ranks: "all", Processes: len(r.Defs.Processes()), Time: new(big.Int), Regions: t.lines()}
	if r.Defs.NumLocations() == out.Processes {
		out.Time = s.Item(xtf.ItemTime).Sum
	} else {
		var sum wide
		for p := range trace.P(r.Defs.NumLocations()) {
			if r.Defs.Location(p).Type == trace.MetricLocation {
				continue
			}
			v, err := r.components(p)
			if err != nil && !partial(err) {
				return nil, err
			}
			sum.add(v[xtf.ItemTime])
		}
		out.Time = sum.big()
	}
	out.finish()
	return out, nil
}

// finish fills what needs the sum over all regions.
func (p *Profile) finish() {
	p.Exclusive = new(big.Int)
	for i := range p.Regions {
		p.Exclusive.Add(p.Exclusive, p.Regions[i].Exclusive)
	}
	if p.Time.Cmp(p.Exclusive) < 0 {
		p.Time = p.Exclusive
	}
	p.Outside = sub(p.Time, p.Exclusive)
	for i := range p.Regions {
		p.Regions[i].Share = ratio(p.Regions[i].Exclusive, p.Time)
	}
}

// byTime returns the lines by falling exclusive time, ties in definition order.
func (p *Profile) byTime() []RegionTime {
	list := slices.Clone(p.Regions)
	slices.SortStableFunc(list, func(a, b RegionTime) int { return b.Exclusive.Cmp(a.Exclusive) })
	return list
}

// regionSum is a region's sums; own is that of the process in hand.
type regionSum struct {
	sums      [4]wide // calls, inclusive, exclusive, bytes
	class     uint32
	own       uint64
	ownCalls  uint64
	processes int
	min, max  [2]uint64
	seen      bool
}

// wide is a 128-bit sum.
type wide struct{ lo, hi uint64 }

func (w *wide) add(v uint64) {
	w.lo += v
	if w.lo < v {
		w.hi++
	}
}

func (w *wide) big() *big.Int { return words(w.lo, w.hi) }

// profileTable adds TIMEBIN rows by region: those of the definitions in their
// order, one more for all others.
type profileTable struct {
	r    *Run
	sums []regionSum
	time wide // of the locations
}

func newProfileTable(r *Run) *profileTable {
	return &profileTable{r: r, sums: make([]regionSum, len(r.Defs.Regions)+1)}
}

func (t *profileTable) addLocation(p trace.P) error {
	if err := t.add(xtf.Proc(p)); err != nil {
		return fmt.Errorf("%s: location %d: profile: %w", t.r.Name, t.r.Defs.Location(p).Ref, err)
	}
	if t.r.Defs.Location(p).Type == trace.MetricLocation {
		return nil // it samples, it does not run
	}
	v, err := t.r.components(p)
	t.time.add(v[xtf.ItemTime])
	return err
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
	return eachRow(a, first, a.Len(), func(row []byte) {
		var x xtf.TimeBin
		x.Load(row)
		i, ok := t.r.Defs.RegionIndex(x.Region)
		if !ok {
			i = len(t.sums) - 1
		}
		s := &t.sums[i]
		s.seen, s.class = true, x.Class
		s.own += x.Exclusive
		s.ownCalls += x.Count
		for k, v := range [...]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes} {
			s.sums[k].add(v)
		}
	})
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
		x := RegionTime{
			Region: trace.Undefined, Name: "(undefined region)", class: s.class, Class: xtf.ClassName(s.class),
			Calls: s.sums[0].big(), Inclusive: s.sums[1].big(), Exclusive: s.sums[2].big(), Bytes: s.sums[3].big(),
			Processes: s.processes, Min: s.min, Max: s.max,
		}
		if i < len(t.r.Defs.Regions) {
			x.Region = t.r.Defs.Regions[i].Ref
			x.Name = t.r.RegionName(x.Region)
			x.File, x.Line = t.r.Where(x.Region)
		}
		list = append(list, x)
	}
	return list
}

// mean is the exclusive time per chosen process.
func (x *RegionTime) mean(processes int) Ratio { return ratio(x.Exclusive, integer(uint64(processes))) }

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
	t := newProfileTable(r)
	x := r.Defs.Processes()[rank]
	for p := x.First; p < x.First+trace.P(x.Count); p++ {
		if err := t.addLocation(p); err != nil && !partial(err) {
			return nil, err
		}
	}
	inside := new(big.Int)
	for _, own := range t.lines() {
		inside.Add(inside, own.Exclusive)
		if own.class != 0 {
			continue
		}
		i, ok := slices.BinarySearchFunc(all.Regions, own, t.order)
		if !ok {
			continue
		}
		mean := all.Regions[i].mean(all.Processes)
		v, _ := new(big.Float).SetInt(own.Exclusive).Float64()
		if d := v - mean.Value; mean.Defined && d > h.above.Value {
			h.above = Ratio{d, true}
			h.slowest = &all.Regions[i]
		}
	}
	if mean := ratio(all.Outside, integer(uint64(all.Processes))); mean.Defined {
		v, _ := new(big.Float).SetInt(sub(t.time.big(), inside)).Float64()
		h.outside = Ratio{v - mean.Value, true}
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
