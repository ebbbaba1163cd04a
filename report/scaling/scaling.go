package scaling

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrRuns says that runs are not a series.
var ErrRuns = fmt.Errorf("no series of runs")

// Mode says what grows with the number of processes.
type Mode string

// Modes of a series of runs.
const (
	ModeAuto      Mode = "auto"      // from useful computation, if that decides: see toldMode
	ModeStrong    Mode = "strong"    // the problem stays the same, so each process has less of it
	ModeWeak      Mode = "weak"      // the problem grows with the processes
	ModeUndecided Mode = "undecided" // of a result: it has both readings
)

// Options choose what a report about scaling says.
type Options struct {
	Mode Mode
	At   uint64 // number of processes to predict for, 0: none

	Rules results.Rules // of efficiencies
}

// Scaling is how a program scales over several runs with different numbers of processes. The first run is the reference: of the
// runs with the fewest processes, the one with the median runtime.
type Scaling struct {
	Schema    string          `json:"schema"`
	Mode      Mode            `json:"mode"`
	Told      bool            `json:"mode_guessed"`             // no mode was asked for: useful computation decided
	Runs      []ScalingRun    `json:"runs"`                     // by processes
	Intervals []ScalingNode   `json:"intervals"`                // of all runs, depth-first; undecided: as strong scaling
	Weak      []ScalingNode   `json:"intervals_weak,omitempty"` // undecided: as weak scaling
	Regions   []ScalingRegion `json:"regions"`                  // by falling time, at --at or in the largest run
	At        uint64          `json:"at,omitempty"`
	Missing   []string        `json:"missing,omitempty"` // intervals that only some runs have
	Doubts    []string        `json:"doubts,omitempty"`  // about runs that may not fit
	Lost      []table.Lost    `json:"lost,omitempty"`
	without   bool            // set-up and end are left out
}

// ScalingRun is one run.
type ScalingRun struct {
	Name       string `json:"name"`
	Processes  uint64 `json:"processes"`
	Resolution uint64 `json:"resolution"`
	Partial    bool   `json:"partial"` // the input was damaged or incomplete

	NoProcessor numbers.Ratio `json:"no_processor"` // share of computing in which processes were ready to run and had no processor, if a recorder measured it
}

// ScalingNode is an interval over the runs.
type ScalingNode struct {
	Label  string          `json:"label"`
	Points []ScalingFactor `json:"points"` // by run
	Growth *Growth         `json:"growth"` // of the runtime; nil: too few points
	Reach                  // predicted runtime; not defined without --at or growth
	level  int
}

// ScalingFactor is the efficiencies of an interval in one run.
type ScalingFactor struct {
	Processes     uint64        `json:"processes"`
	Runtime       numbers.Ratio `json:"runtime_seconds"` // or ticks
	Speedup       numbers.Ratio `json:"speedup"`         // against the reference
	Global        numbers.Ratio `json:"global"`          // parallel * computation
	Parallel      numbers.Ratio `json:"parallel"`
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Communication numbers.Ratio `json:"communication"`
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
	Computation   numbers.Ratio `json:"computation"` // useful time of the reference over that here
	Approximate   bool          `json:"approximate,omitempty"`

	// Of the whole program, where hardware counters were recorded: instructions of the
	// reference over those here, and instructions per cycle and cycles per useful
	// second here over those of the reference. Together they are computation.
	Instructions numbers.Ratio `json:"instruction_scaling"`
	IPC          numbers.Ratio `json:"ipc_scaling"`
	Frequency    numbers.Ratio `json:"frequency_scaling"`
}

// ScalingRegion is the growth of a region: exclusive time of a process on
// average.
type ScalingRegion struct {
	Name    string          `json:"name"`
	Class   string          `json:"class"`
	Seconds []numbers.Ratio `json:"seconds"` // by run, or ticks
	Growth  *Growth         `json:"growth"`
	Reach                   // predicted; without --at its At is that of the largest run
	Share   numbers.Ratio   `json:"share"` // of all regions, at --at or in the largest run
}

// scalingSample is a run as a series needs it.
type scalingSample struct {
	*results.Sample
	nodes                map[int]int // by number of their names, the same in all runs
	numbers              []int
	instructions, cycles numbers.Ratio // counted outside MPI
	runtime              float64       // of the whole program: seconds, or ticks
	without              bool          // set-up and end are left out
}

// New compares runs.
func New(runs []*results.Run, o Options) (*Scaling, error) {
	if len(runs) < 2 {
		return nil, fmt.Errorf("%d run: %w: give runs of one program with different numbers of processes", len(runs), ErrRuns)
	}
	var list []*scalingSample
	known := &results.NodeNumbers{Name: func(x *results.Node) string { return fmt.Sprintf("%q %q %d %d", x.Name, x.File, x.Line, x.Marker) }}
	for _, r := range runs {
		x, err := newScalingSample(r, known, o.Rules)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b *scalingSample) int {
		return cmp.Or(cmp.Compare(a.Processes, b.Processes), cmp.Compare(a.runtime, b.runtime))
	})
	first := 0 // the reference: the median of the runs with the fewest processes, in any order of operands
	for first+1 < len(list) && list[first+1].Processes == list[0].Processes {
		first++
	}
	first /= 2
	list = slices.Concat(list[first:first+1], list[:first], list[first+1:])
	if list[0].Processes == list[len(list)-1].Processes {
		return nil, fmt.Errorf("all runs have %d processes: %w: give runs with different numbers of them", list[0].Processes, ErrRuns)
	}
	for _, x := range list {
		if (x.Run.Defs.Clock().TimerResolution == 0) != (list[0].Run.Defs.Clock().TimerResolution == 0) {
			return nil, fmt.Errorf("%s: %w: it does not give the resolution of its clock, others do", x.Run.Name, ErrRuns)
		}
	}
	s := &Scaling{Schema: "coppice.scaling/1", Mode: o.Mode, At: o.At}
	if s.Mode == ModeAuto || s.Mode == "" {
		s.Mode, s.Told = toldMode(list), true
	}
	var samples []*results.Sample
	for _, x := range list {
		s.without = s.without || x.without
		brief, err := x.Run.Brief()
		if err != nil {
			return nil, err
		}
		samples = append(samples, x.Sample)
		s.Doubts = append(s.Doubts, otherOptions(x.Run, list[0].Run)...)
		if len(results.Predicted(x.Run)) > 0 {
			s.Doubts = append(s.Doubts, numbers.Clean(x.Run.Name, 80)+" is a predicted run, not a measured one")
		}
		s.Runs = append(s.Runs, ScalingRun{x.Run.Name, x.Processes, x.Run.Defs.Clock().TimerResolution, brief.Partial, x.noProcessor()})
	}
	s.Doubts = append(s.Doubts, results.Unended(samples...)...)
	if s.Mode == ModeUndecided {
		s.Doubts = append(s.Doubts, odd(list)...)
		s.Intervals, s.Weak = s.nodes(list, ModeStrong), s.nodes(list, ModeWeak)
	} else {
		s.Intervals = s.nodes(list, s.Mode)
	}
	s.addRegions(list)
	for _, r := range runs {
		s.Lost = append(s.Lost, r.Complete(nil)...)
	}
	return s, nil
}

func newScalingSample(r *results.Run, known *results.NodeNumbers, rules results.Rules) (*scalingSample, error) {
	s, err := results.NewSample(r, "scaling", rules)
	if err != nil {
		return nil, err
	}
	if s.Processes == 0 {
		return nil, fmt.Errorf("%s: %w: it has no processes with events", r.Name, ErrRuns)
	}
	x := &scalingSample{Sample: s, nodes: map[int]int{}, numbers: known.Of(s.Survey.Nodes)}
	for i, n := range x.numbers {
		x.nodes[n] = i
	}
	x.runtime = x.seconds(s.Survey.Measured[0].Pop().Runtime, 1).Value
	if x.instructions, x.cycles, err = counters.Useful(r); err != nil {
		return nil, fmt.Errorf("%s: hardware counters: %w", r.Name, err)
	}
	rest := s.Survey.Measured[0].Sum(xtf.ItemTime)
	for _, y := range x.Regions {
		rest = numbers.Sub(rest, numbers.Integer(y.Time))
	}
	if rest > 0 {
		x.Regions["(outside recorded calls)"] = &results.RegionTotal{Time: uint64(rest)}
	}
	if !rules.Init { // as in runtimes
		maps.DeleteFunc(x.Regions, func(_ string, y *results.RegionTotal) bool {
			setup := y.Kind == trace.StateSetup.String()
			x.without = x.without || setup
			return setup
		})
	}
	return x, nil
}

// noProcessor adds up how long processes had no processor while they computed; undefined if no recorder measured it.
func (x *scalingSample) noProcessor() numbers.Ratio {
	defs, computes, delay, told := x.Run.Defs, uint64(max(x.Survey.Measured[0].Sum(xtf.ItemCPU), 0)), uint64(0), false
	for i := range defs.LocationProperties {
		q := &defs.LocationProperties[i]
		if q.Value.Type == trace.TypeUint64 && defs.Text(q.Name) == trace.PropertyDelay {
			told = true
			delay += min(numbers.MulDiv(q.Value.Bits, defs.Clock().TimerResolution, 1e9), computes-delay) // a file may say any number
		}
	}
	if !told {
		return numbers.Ratio{}
	}
	return numbers.NewRatio(delay, computes)
}

// seconds converts ticks to seconds; without a resolution they stay ticks.
func (x *scalingSample) seconds(v numbers.Sum, parts uint64) numbers.Ratio {
	return numbers.Nearest(numbers.Whole(v).Div(parts).Div(x.Resolution))
}

// toldMode distinguishes strong from weak scaling by useful computation of the whole run, which must be within a fifth of the
// reference's. Scaling is strong if all processes together compute the same in every run. It is weak if each process does: the
// mean, and the process with most. The mean alone would call a program weak that computes more on more processes for another
// reason, mostly on some of them. If both or neither hold, the mode stays undecided.
func toldMode(list []*scalingSample) Mode {
	strong, weak := true, true
	for _, x := range list[1:] {
		if x.Processes == list[0].Processes {
			continue
		}
		sum, mean, most := x.usefulOver(list[0])
		strong = strong && near(sum)
		weak = weak && near(mean) && near(most)
	}
	switch {
	case strong && !weak:
		return ModeStrong
	case weak && !strong:
		return ModeWeak
	}
	return ModeUndecided
}

// odd returns a doubt if there are four or more runs, and without one of them useful computation would decide the mode. It
// returns none if there are several such runs.
func odd(list []*scalingSample) (doubt []string) {
	for i := 0; i < len(list) && len(list) > 3; i++ {
		switch mode := toldMode(slices.Concat(list[:i], list[i+1:])); {
		case mode == ModeUndecided:
		case doubt != nil:
			return nil
		default:
			doubt = append(doubt, fmt.Sprintf("without %s, of %s, useful computation would show %s scaling: is that a run of another input?", numbers.Clean(list[i].Run.Name, 80), numbers.Plural(int(list[i].Processes), "process"), mode))
		}
	}
	return doubt
}

// otherOptions says which options of a run's analysis differ from the reference's.
func otherOptions(x, ref *results.Run) []string {
	here, there := results.ParseProvenance(x.Provenance).Options, results.ParseProvenance(ref.Provenance).Options
	all := maps.Clone(there)
	maps.Copy(all, here)
	maps.DeleteFunc(all, func(name, _ string) bool { return here[name] == there[name] || name == "pages" })
	if len(all) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s was analyzed with other options than %s: %s", numbers.Clean(x.Name, 80), numbers.Clean(ref.Name, 80), numbers.Clean(strings.Join(slices.Sorted(maps.Keys(all)), ", "), 200))}
}

// usefulOver returns the useful computation of all processes, of the mean and of the process with most, over that of another run.
// It is not known if a run has none.
func (x *scalingSample) usefulOver(ref *scalingSample) (sum, mean, most numbers.Fraction) {
	here, there := x.Survey.Measured[0].Pop(), ref.Survey.Measured[0].Pop()
	if here.Useful <= 0 || there.Useful <= 0 || here.Largest == 0 || there.Largest == 0 {
		return numbers.Fraction{}, numbers.Fraction{}, numbers.Fraction{}
	}
	was, is := ref.Resolution, x.Resolution
	sum = numbers.Divide(here.Useful, there.Useful).Scale(was, is)
	return sum, sum.Scale(ref.Processes, x.Processes), numbers.Divide64(here.Largest, there.Largest).Scale(was, is)
}

// near reports whether a ratio is between 5/6 and 6/5.
func near(r numbers.Fraction) bool {
	return r.Compare(numbers.Divide(5, 6)) >= 0 && r.Compare(numbers.Divide(6, 5)) <= 0
}

// nodes returns the intervals of the reference that all runs have.
func (s *Scaling) nodes(list []*scalingSample, mode Mode) (nodes []ScalingNode) {
	ref := list[0]
	for n, key := range ref.numbers {
		node := ScalingNode{Label: ref.Survey.Nodes[n].Label(), level: int(ref.Survey.Nodes[n].Level)}
		var points []Point
		for _, x := range list {
			i, ok := x.nodes[key]
			if !ok || x.Survey.Measured[i].Participants == 0 {
				continue
			}
			f := factors(mode, ref, n, x, i)
			node.Points = append(node.Points, f)
			points = append(points, Point{x.Processes, f.Runtime.Value})
		}
		if len(node.Points) < len(list) {
			s.Missing = append(s.Missing, node.Label)
			continue
		}
		if g, ok := Fit(JoinPoints(points)); ok {
			node.Growth = &g
			if s.At > 0 {
				node.Reach = g.Reach(s.At)
			}
		}
		nodes = append(nodes, node)
	}
	for _, x := range list[1:] {
		for i := range x.Survey.Nodes {
			if _, ok := ref.nodes[x.numbers[i]]; !ok {
				s.Missing = append(s.Missing, x.Survey.Nodes[i].Label())
			}
		}
	}
	slices.Sort(s.Missing)
	s.Missing = slices.Compact(s.Missing)
	return nodes
}

// factors splits the efficiency of node i of run x against node n of the reference.
func factors(mode Mode, ref *scalingSample, n int, x *scalingSample, i int) ScalingFactor {
	m, r := &x.Survey.Measured[i], &ref.Survey.Measured[n]
	pop, base := m.Pop(), r.Pop()
	f := ScalingFactor{
		Processes: x.Processes, Runtime: x.seconds(pop.Runtime, 1), Parallel: pop.Parallel, LoadBalance: pop.LoadBalance,
		Communication: pop.Communication, Serialisation: pop.Serialisation, Transfer: pop.Transfer, Approximate: pop.Approximate,
	}
	// useful time of a process for weak scaling, of all processes for strong
	here, there := uint64(1), uint64(1)
	if mode == ModeWeak {
		here, there = m.Participants, r.Participants
	}
	u, v := x.seconds(pop.Useful, here), ref.seconds(base.Useful, there)
	if u.Defined && v.Defined {
		f.Computation = quotient(v.Value, u.Value)
	}
	if f.Computation.Defined && f.Parallel.Defined {
		f.Global = numbers.Ratio{Value: f.Parallel.Value * f.Computation.Value, Defined: true}
	}
	if i == 0 && n == 0 {
		f.setCounters(ref, x, here, there)
	}
	if t := ref.seconds(base.Runtime, 1); t.Defined && f.Runtime.Value > 0 {
		f.Speedup = quotient(t.Value, f.Runtime.Value)
		if mode == ModeWeak { // the problem has grown
			f.Speedup.Value = float64(f.Speedup.Value*float64(m.Participants)) / float64(max(r.Participants, 1))
		}
	}
	return f
}

// setCounters splits computation by what the counters saw; here and there are the
// numbers of processes that useful time is divided by.
func (f *ScalingFactor) setCounters(ref, x *scalingSample, here, there uint64) {
	if x.instructions.Defined && ref.instructions.Defined {
		f.Instructions = quotient(ref.instructions.Value/float64(there), x.instructions.Value/float64(here))
	}
	if !x.cycles.Defined || !ref.cycles.Defined {
		return
	}
	if f.Instructions.Defined {
		f.IPC = quotient(x.instructions.Value/x.cycles.Value, ref.instructions.Value/ref.cycles.Value)
	}
	rate := func(s *scalingSample) float64 {
		m := &s.Survey.Measured[0]
		return quotient(s.cycles.Value, s.seconds(m.UsefulSum(), 1).Value).Value
	}
	f.Frequency = quotient(rate(x), rate(ref))
}

// quotient is not defined where b is 0.
func quotient(a, b float64) numbers.Ratio {
	return numbers.Ratio{Value: a / max(b, math.SmallestNonzeroFloat64), Defined: b > 0}
}

// keptRegions bounds the regions of the report.
const keptRegions = 1000

// addRegions fits the growth of every region, and sorts regions by their time at the larger number of processes. A region that a
// run does not call takes no time there: a single process sends no messages.
func (s *Scaling) addRegions(list []*scalingSample) {
	all := map[string]*results.RegionTotal{}
	for _, run := range list {
		maps.Copy(all, run.Regions)
	}
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x := ScalingRegion{Name: name, Class: all[name].Kind}
		var points []Point
		for _, run := range list {
			v := numbers.Ratio{Defined: true}
			if y := run.Regions[name]; y != nil {
				v = run.seconds(numbers.Integer(y.Time), run.Processes)
			}
			x.Seconds = append(x.Seconds, v)
			points = append(points, Point{run.Processes, v.Value})
		}
		x.At = x.Seconds[len(list)-1]
		if g, ok := Fit(JoinPoints(points)); ok {
			x.Growth = &g
			if s.At > 0 {
				x.Reach = g.Reach(s.At)
			}
		}
		total += x.At.Value
		s.Regions = append(s.Regions, x)
	}
	for i := range s.Regions {
		s.Regions[i].Share = quotient(s.Regions[i].At.Value, total)
	}
	slices.SortStableFunc(s.Regions, func(a, b ScalingRegion) int { return cmp.Compare(b.At.Value, a.At.Value) })
	s.Regions = s.Regions[:min(len(s.Regions), keptRegions)]
	if s.At > 0 && len(s.Regions) > 0 && s.Regions[0].Growth == nil { // sorted by their time in the largest run
		for i := range s.Regions {
			s.Regions[i].Reach = Reach{}
		}
	}
}
