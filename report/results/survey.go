package results

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Survey is the base of reports about intervals: the tree, and for each node the base of its characteristics.
type Survey struct {
	Run      *Run
	Nodes    []Node
	Measured []Measured // by node
	Replayed bool       // on an ideal network
	cut      bool       // Init and Finalize are left out: first and last events do not limit the program
	Lost     []table.Lost
	Cost     xtf.Stats // of index statistics over a span of time
	devices  *Devices
}

// SurveyOptions say what a survey reads. With the zero value it reads only the whole run's rows, whatever the number of
// processes.
type SurveyOptions struct {
	Ranks   Ranks
	Span    *Span // nil: the whole run
	Deep    bool  // read every process
	Rules   Rules
	Section string
	Each    func(x *ProcessItems) // of a deep survey: called for each process
}

// Survey reads the interval tree and the components of its nodes.
func (r *Run) Survey(o SurveyOptions) (*Survey, error) {
	s := &Survey{Run: r}
	var err error
	if s.Nodes, err = r.Nodes(); err != nil {
		return nil, err
	}
	if s.devices, err = r.Devices(o.Span); err != nil {
		return nil, err
	}
	s.cut = r.cuts()
	s.Measured = make([]Measured, len(s.Nodes))
	for n := range s.Measured {
		s.Measured[n].rules, s.Measured[n].ideal = o.Rules, numbers.NotKnown
	}
	whole := o.Ranks.All() && o.Span == nil
	if whole {
		err = s.readStats()
	}
	if err == nil && (!whole || o.Deep || o.Rules.processes() || o.Rules.several(s.Measured[0].Spreads)) {
		err = s.readProcesses(&o, whole)
	}
	if err != nil {
		return nil, err
	}
	for n := range s.Measured {
		for rank := range r.Defs.Processes() {
			if o.Ranks.Contains(uint32(rank)) {
				s.Measured[n].addWork(s.devices, uint32(rank), uint32(n))
			}
		}
	}
	s.setIdeal(&o, whole)
	return s, nil
}

// readStats reads the distributions over all processes from the file.
func (s *Survey) readStats() error {
	at, last := s.Measured, int64(-1)
	err := xtf.Each(s.Run.File, xtf.WholeRun, func(_ uint64, x *xtf.Stat) error {
		n := x.Key >> 32
		if n >= uint64(len(at)) || int64(x.Key) <= last {
			return fmt.Errorf("row of node %d: %w", n, xtf.ErrCorrupt)
		}
		if uint32(x.Key) < uint32(xtf.NumItems) {
			at[n].Spreads = append(at[n].Spreads, spreadOf(x, uint64(s.Nodes[n].Participants)))
		}
		last = int64(x.Key)
		return nil
	})
	if err != nil {
		return s.Run.Failed(xtf.WholeRun, "sums over processes", err)
	}
	for n := range s.Nodes {
		x, m := &s.Nodes[n], &at[n]
		m.Participants, m.processes, m.rows = uint64(x.Participants), uint64(len(s.Run.Defs.Processes())), s.Run.Rows
		m.single, m.span, m.sumMax = x.ExeMax <= 1, x.LastEnd-min(x.FirstBegin, x.LastEnd), x.SumMax
		if x.SumMax == 0 && n > 0 {
			m.sumMax = xtf.Never
		}
		if n == 0 {
			m.sumMax = m.Spreads.Item(xtf.ItemTime).Max
		}
		m.Useful = m.Spreads.Item(xtf.ItemCPU).Max // with more useful components readProcesses sets it
	}
	return nil
}

// readProcesses reads what the whole run's rows do not have from every chosen process: everything, for a part of the processes or
// of the time.
func (s *Survey) readProcesses(o *SurveyOptions, whole bool) error {
	sums := make([]*Gathered, len(s.Nodes))
	for n := range s.Measured {
		s.Measured[n].Useful = 0
	}
	estimates := make([]uint64, len(s.Nodes))
	seen := make([]bool, len(s.Nodes))
	visit := func(x *ProcessItems) {
		x.device = s.devices
		for n := range s.Nodes {
			m, n := &s.Measured[n], uint32(n)
			if !x.Took(n) {
				continue
			}
			if !whole {
				if sums[n] == nil {
					sums[n] = &Gathered{}
				}
				sums[n].Add(x, n)
			}
			m.visit(x, n, !seen[n])
			seen[n] = true
			estimates[n] = max(estimates[n], x.estimate(n))
		}
		if o.Each != nil {
			o.Each(x)
		}
	}
	var err error
	if o.Span != nil {
		s.Lost, err = s.EachWindow(o, visit)
	} else {
		s.Lost, err = s.Run.EachProcess(o.Ranks, o.Section, visit)
	}
	if err != nil {
		return err
	}
	if !whole {
		s.setGathered(o, sums)
	}
	for n := range s.Measured {
		m := &s.Measured[n]
		m.approx = true
		m.ideal = numbers.Integer(estimates[n])
	}
	return nil
}

// setGathered completes the nodes for chosen processes, or for a span of time.
func (s *Survey) setGathered(o *SurveyOptions, sums []*Gathered) {
	chosen := uint64(0)
	for rank := range s.Run.Defs.Processes() {
		if o.Ranks.Contains(uint32(rank)) {
			chosen++
		}
	}
	none := &Gathered{}
	for n := range s.Measured {
		m := &s.Measured[n]
		if sums[n] == nil {
			sums[n] = none
		}
		m.Spreads, m.Participants, m.processes, m.rows, m.sumMax = sums[n].Spreads(), sums[n].Count, chosen, s.Run.Rows, xtf.Never
		m.part = o.Span != nil
		if first, last := m.Spreads.Item(xtf.ItemFirst), m.Spreads.Item(xtf.ItemLast); n == 0 {
			m.single, m.span = !s.cut || o.Span != nil, last.Max-min(first.Min, last.Max)
		}
	}
}

// setIdeal takes the runtime on an ideal network from the replay. Without a replay, or for a part of the run, the estimate of the
// processes remains.
func (s *Survey) setIdeal(o *SurveyOptions, whole bool) {
	s.Replayed = s.Measured[0].Spreads.Has(xtf.ItemIdeal) && o.Span == nil
	for n := range s.Measured {
		m := &s.Measured[n]
		if m.Participants == 0 || !s.Run.Rows {
			m.ideal = numbers.NotKnown
			continue
		}
		if s.Replayed && (whole || !m.single) {
			m.approx = false
			m.setIdeal()
		}
	}
}

// Waits returns the sums of a node's waits for partners and of its spans of completion; NotKnown where they are not known.
func (m *Measured) Waits() (partner, completion numbers.Sum) {
	if !m.rows {
		return numbers.NotKnown, numbers.NotKnown
	}
	sum := func(items []xtf.Item) numbers.Sum {
		v := numbers.Sum(0)
		for _, i := range items {
			v = numbers.Add(v, m.Sum(i))
		}
		return v
	}
	return sum(WaitItems), sum(CompletionItems)
}

// Hosts returns the nodes of the machine that processes run on, in the order of their first process, and for each process the
// index of its node.
func Hosts(d *trace.Definitions) (nodes []uint32, of []int) {
	at := map[uint32]int{}
	for _, x := range d.Processes() {
		host := uint32(0)
		if g := d.LocationGroup(x.Group); g != nil {
			host = g.Parent
		}
		i, ok := at[host]
		if !ok {
			i = len(nodes)
			at[host] = i
			nodes = append(nodes, host)
		}
		of = append(of, i)
	}
	return nodes, of
}

// NodesOf returns the nodes of the machine that contain a process, from the innermost to the outermost.
func NodesOf(d *trace.Definitions, rank uint32) (list []uint32) {
	g := d.LocationGroup(d.Processes()[rank].Group)
	if g == nil {
		return nil
	}
	for n := d.Node(g.Parent); n != nil && len(list) < len(d.SystemTreeNodes); n = d.Node(n.Parent) {
		list = append(list, n.Ref)
	}
	return list
}

// Sample is a run as a comparison of runs needs it.
type Sample struct {
	Run        *Run
	Survey     *Survey
	Resolution uint64 // ticks in a unit of the comparison: a second, or a tick
	Processes  uint64
	Regions    map[string]*RegionTotal
	Sampled    bool      // functions are known from samples
	lives      [2]uint64 // calls of MPI_Init and MPI_Finalize
}

// RegionTotal is the sum of the regions of one name.
type RegionTotal struct {
	Kind               string
	Calls, Time, Bytes uint64
	Estimated          uint64 // calls known from samples; without recorded calls, the number of calls is not known
	System             bool   // a function of a library of the system
}

// NewSample reads one run.
func NewSample(r *Run, section string, rules Rules) (*Sample, error) {
	s, err := r.Survey(SurveyOptions{Section: section, Deep: true, Rules: rules})
	if err != nil {
		return nil, err
	}
	x := &Sample{Run: r, Survey: s, Regions: map[string]*RegionTotal{}, Resolution: max(r.Units().Resolution, 1), Processes: s.Measured[0].Participants}
	t, err := WholeTable(r)
	if err != nil {
		return nil, err
	}
	list := t.lines()
	x.lives[0], x.lives[1] = Lives(r, list)
	for _, l := range list {
		name := l.Name
		if l.Region != trace.Undefined { // places of calls differ between builds of a program
			name = CallName(r, l.Region)
		}
		y := x.Regions[name]
		if y == nil {
			y = &RegionTotal{Kind: l.Class, System: r.Defs.OfSystem(r.Defs.Region(l.Region))}
			x.Regions[name] = y
		}
		y.Calls, y.Time, y.Bytes, y.Estimated = y.Calls+l.Calls, y.Time+l.Exclusive, y.Bytes+l.Bytes, y.Estimated+l.Estimated
		x.Sampled = x.Sampled || l.Estimated > 0
	}
	return x, nil
}

// Lives counts the calls of MPI_Init and of MPI_Finalize. Where some processes have both and others only the first, the events of
// these others end before the program does.
func Lives(r *Run, list []RegionTime) (started, ended uint64) {
	for i := range list {
		if d := r.Defs.Region(list[i].Region); r.Defs.StartsMPI(d) {
			started += list[i].Calls
		} else if r.Defs.EndsMPI(d) {
			ended += list[i].Calls
		}
	}
	return started, ended
}

// Unended returns a note for each run of which only a part is there: its trace has MPI_Finalize, but not on all processes.
func Unended(list ...*Sample) (notes []string) {
	some := slices.ContainsFunc(list, func(x *Sample) bool { return x.lives[1] > 0 })
	for _, x := range list {
		if n := x.lives; some && n[1] < n[0] {
			notes = append(notes, fmt.Sprintf("%s: %d of %d processes have no MPI_Finalize: their events end before the program does, so its times and counts are those of a part", numbers.Clean(x.Run.Name, 80), n[0]-n[1], n[0]))
		}
	}
	return notes
}

// Time converts ticks to the unit of the comparison.
func (x *Sample) Time(ticks numbers.Sum) numbers.Fraction {
	return numbers.Whole(ticks).Div(x.Resolution)
}

// ComponentsOf returns the components of processes that are amounts, not instants, in the order of their numbers.
func ComponentsOf(s Spreads) []ComponentLine {
	var list []ComponentLine
	for i := range s {
		if i := s[i].Item; i != xtf.ItemFirst && i != xtf.ItemLast && i != xtf.ItemIdealFirst && i != xtf.ItemIdealLast {
			list = append(list, ComponentLine{0, i})
		}
	}
	return list
}

// Spread is the distribution of an item over the processes that executed an interval.
type Spread struct {
	Item      xtf.Item
	Sum       numbers.Sum
	Min, Max  uint64
	MinP      uint32 // the lowest process with the least value
	MaxP      uint32
	Mean      numbers.Ratio
	Deviation numbers.Ratio // population standard deviation
}

// Spreads are listed by ascending item.
type Spreads []Spread

// MarshalJSON writes an object with the items' names as keys, in their order.
func (s Spreads) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range s {
		x := &s[i]
		line := struct {
			Sum    numbers.Sum   `json:"sum"`
			Min    [2]uint64     `json:"min"`
			Max    [2]uint64     `json:"max"`
			Mean   numbers.Ratio `json:"mean"`
			StdDev numbers.Ratio `json:"stddev"`
		}{x.Sum, [2]uint64{x.Min, uint64(x.MinP)}, [2]uint64{x.Max, uint64(x.MaxP)}, x.Mean, x.Deviation}
		v, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", x.Item, v)
	}
	return append(b, '}'), nil
}

// Item returns the distribution of an item. An item that the file does not have is 0 everywhere.
func (s Spreads) Item(i xtf.Item) *Spread {
	k, ok := slices.BinarySearchFunc(s, i, func(x Spread, i xtf.Item) int { return int(x.Item) - int(i) })
	if ok {
		return &s[k]
	}
	return &Spread{Item: i}
}

// Has reports whether a value of the item is not 0.
func (s Spreads) Has(i xtf.Item) bool {
	return s.Item(i).Sum > 0
}

// spreadOf converts a row of STAT over a number of processes.
func spreadOf(x *xtf.Stat, processes uint64) Spread {
	d := Spread{Item: xtf.Item(uint32(x.Key)), Sum: numbers.Integer(x.Sum0), Min: x.Min, Max: x.Max, MinP: x.MinP, MaxP: x.MaxP, Mean: numbers.NewRatio(x.Sum0, processes)}
	v := numbers.Variance(processes, x.Sum0, x.Square1, x.Square0)
	d.Deviation = numbers.Ratio{Value: math.Sqrt(max(v.Value, 0)), Defined: v.Defined}
	return d
}

// NodeStats reads the distributions of one node's items.
func (r *Run) NodeStats(n uint32, participants uint64) (Spreads, error) {
	a, err := r.File.Array(xtf.WholeRun, xtf.TypeStat)
	var first, end uint64
	if err == nil {
		first, err = a.Rank(xtf.NodeKey(n, 0))
	}
	if err == nil {
		end, err = a.RankAfter(xtf.NodeKey(n, math.MaxUint32))
	}
	list := Spreads{}
	if err == nil {
		err = EachRow(a, first, end, func(x *xtf.Stat) {
			if uint32(x.Key) < uint32(xtf.NumItems) && x.Key>>32 == uint64(n) {
				list = append(list, spreadOf(x, participants))
			}
		})
	}
	if err == nil && !slices.IsSortedFunc(list, func(a, b Spread) int { return int(a.Item) - int(b.Item) }) {
		err = xtf.ErrCorrupt
	}
	return list, r.Failed(xtf.WholeRun, "sums over processes", err)
}

// Gathered adds up the values of processes for one node, in the form of STAT rows.
type Gathered struct {
	Count uint64
	Items [xtf.NumItems]xtf.Stat
}

// Add adds the values of a process.
func (g *Gathered) Add(x *ProcessItems, n uint32) {
	for i := range xtf.NumItems {
		AddStat(&g.Items[i], x.At(n, i), x.Rank, g.Count == 0)
	}
	g.Count++
}

// AddStat adds the value of a process; processes come in ascending order.
func AddStat(s *xtf.Stat, v uint64, rank uint32, first bool) {
	var carry uint64
	s.Sum0 += v
	high, low := bits.Mul64(v, v)
	s.Square0, carry = bits.Add64(s.Square0, low, 0)
	s.Square1 += high + carry
	if first || v < s.Min {
		s.Min, s.MinP = v, rank
	}
	if first || v > s.Max {
		s.Max, s.MaxP = v, rank
	}
}

// Spreads returns the distributions of items that are not 0 everywhere.
func (g *Gathered) Spreads() Spreads {
	list := Spreads{}
	for i := range xtf.NumItems {
		x := &g.Items[i]
		if x.Key = uint64(i); x.Max > 0 {
			list = append(list, spreadOf(x, g.Count))
		}
	}
	return list
}

// ComponentLine is a component in a list of components. Its parts follow it.
type ComponentLine struct {
	Level int
	Item  xtf.Item
}
