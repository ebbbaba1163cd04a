package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// IntervalOptions choose what a report about intervals says.
type IntervalOptions struct {
	Rules        Rules
	Ranks        Ranks
	Span         *Span      // nil: the whole run
	Details      bool       // text: more than the main characteristics
	PerExecution bool       // a line for every execution
	Ordered      []xtf.Item // list every process's value of these, least first
	Russian      bool       // labels of text
}

// Intervals is the characteristics of every interval, depth-first.
type Intervals struct {
	Resolution uint64      `json:"resolution"` // ticks per second, 0 if the trace does not tell
	Options    RulesNames  `json:"options"`
	Ranks      string      `json:"ranks"`
	Span       *Span       `json:"time,omitempty"`
	Nodes      []*Interval `json:"nodes"`
	PageReads  *uint64     `json:"page_reads,omitempty"` // of index statistics over a span of time
	text       IntervalOptions
}

// RulesNames are the choices that the numbers depend on, by name.
type RulesNames struct {
	Productive string `json:"mpi_productive"`
	MarkerCost string `json:"marker_cost"`
	Processors string `json:"processors"`
}

// Interval is one node of the interval tree.
type Interval struct {
	Path       []int      `json:"path"` // positions among the siblings, from the root on
	Level      uint32     `json:"level"`
	ID         uint64     `json:"id"`
	Name       string     `json:"name"`
	File       string     `json:"file"`
	Line       uint32     `json:"line"`
	Executions uint64     `json:"exe_count"`     // largest number of a process
	Least      uint64     `json:"exe_count_min"` // least number of a participant
	Uneven     bool       `json:"exe_uneven"`    // processes disagree
	Processors uint64     `json:"processors"`    // by the rule
	First      *uint64    `json:"first_begin"`   // ticks; nil for a part of the run
	Last       *uint64    `json:"last_end"`
	Ticks      Ticks      `json:"ticks"` // sums over processes but execution and runtime
	Efficiency Ratio      `json:"efficiency"`
	Speedup    Ratio      `json:"speedup_estimate"`
	Stats      Spreads    `json:"stats"` // over the participants
	Waits      *WaitTimes `json:"waits"` // nil: not known
	POP        POP        `json:"pop"`
	Exclusive  *Exclusive `json:"exclusive"`
	Ordered    []Ordered  `json:"ordered,omitempty"`
	Each       []OneRun   `json:"executions,omitempty"`      // with --per-execution
	MoreRuns   uint64     `json:"executions_more,omitempty"` // that were not looked at
	label      string
	index      int
}

// Label is the interval's name for people.
func (i *Interval) Label() string { return i.label }

// Node is the number of the interval in the file.
func (i *Interval) Node() uint32 { return uint32(i.index) }

// WaitTimes are the waits of an interval: ticks by pattern.
type WaitTimes struct {
	Total      Sum // for partners
	Completion Sum // at the end of collectives
	Count      Sum // of wait states
	patterns   Spreads
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x *WaitTimes) MarshalJSON() ([]byte, error) {
	b := []byte(fmt.Sprintf(`{"total":%s,"completion":%s,"count":%s`, x.Total.json(), x.Completion.json(), x.Count.json()))
	for i := range x.patterns {
		b = fmt.Appendf(b, ",%q:%s", x.patterns[i].Item, x.patterns[i].Sum.json())
	}
	return append(b, '}'), nil
}

// Ordered is the values of all participants, least first.
type Ordered struct {
	Item   string      `json:"item"`
	Values [][2]uint64 `json:"values"` // value and rank
}

// Intervals reports the intervals.
func (r *Run) Intervals(o IntervalOptions) (*Intervals, []Lost, error) {
	x := &Intervals{Resolution: r.Defs.Clock().TimerResolution, Ranks: o.Ranks.String(), Span: o.Span, text: o}
	k, err := r.kept()
	if err != nil {
		return nil, nil, err
	}
	x.Options = RulesNames{string(o.Rules.rule()), k.markerCost(), "participants"}
	if o.Rules.AllProcesses {
		x.Options.Processors = "all"
	}
	lists := orderedLists{items: o.Ordered}
	s, err := r.survey(surveyOptions{
		ranks: o.Ranks, span: o.Span, section: "intervals", each: lists.add, rules: o.Rules,
		deep: o.Details || len(o.Ordered) > 0,
	})
	if err != nil {
		return nil, nil, err
	}
	exclusive := s.exclusive()
	for n := range s.nodes {
		if s.measured[n].participants == 0 && n > 0 && (o.Span != nil || !o.Ranks.All()) {
			continue
		}
		node := s.interval(n, o.Rules)
		node.Ordered, node.Exclusive = lists.of(n), exclusive[n]
		x.Nodes = append(x.Nodes, node)
	}
	lost := s.lost
	if o.PerExecution {
		more, err := s.perExecution(x.Nodes, &o)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, more...)
	}
	if o.Span != nil || o.PerExecution {
		x.PageReads = &s.cost.PageReads
	}
	return x, lost, nil
}

// interval computes the characteristics of node n.
func (s *survey) interval(n int, rules Rules) *Interval {
	x, m := &s.nodes[n], &s.measured[n]
	i := &Interval{
		Path: pathOf(s.nodes, n), Level: x.Level, ID: x.Marker, Name: x.name, File: x.file, Line: x.Line,
		Executions: x.ExeMax, Least: x.ExeMin, Uneven: x.Flags&xtf.IntervalUneven != 0 || x.ExeMin != x.ExeMax,
		Processors: m.count(rules), Ticks: m.ticks(rules), Stats: m.spreads, POP: m.pop(), label: x.label(), index: n,
	}
	if m.single || m.sumMax != xtf.Never {
		i.First, i.Last = &x.FirstBegin, &x.LastEnd
	}
	if e := m.spreads.item(xtf.ItemExecutions); n > 0 && e.Max > 0 {
		i.Executions, i.Least, i.Uneven = e.Max, e.Min, e.Max != e.Min
	}
	i.Efficiency, i.Speedup = i.Ticks.efficiency()
	if m.rows {
		w := &WaitTimes{Count: m.sum(xtf.ItemWaitCount)}
		if m.part {
			w.Count = notKnown
		}
		w.Total, w.Completion = m.waits()
		for i := range waitLabels {
			if p := m.spreads.item(waitLabels[i].item); p.Sum > 0 {
				w.patterns = append(w.patterns, *p)
			}
		}
		i.Waits = w
	}
	return i
}

// Exclusive is what an interval has without the intervals in it, in ticks, summed
// over processes.
type Exclusive struct {
	Time  Sum `json:"time"`
	CPU   Sum `json:"cpu"`
	MPI   Sum `json:"mpi"`
	Waits Sum `json:"waits"` // for partners
}

// exclusive takes from each node what its children have. The whole program has
// none where slices of time overlap with other intervals.
func (s *survey) exclusive() []*Exclusive {
	list := make([]*Exclusive, len(s.nodes))
	derived, marked := false, false
	for n := range s.nodes {
		m := &s.measured[n]
		waits, _ := m.waits()
		own := [...]Sum{m.sum(xtf.ItemTime), m.sum(xtf.ItemCPU), m.sum(xtf.ItemMPI), waits}
		list[n] = &Exclusive{own[0], own[1], own[2], own[3]}
		if n == 0 {
			continue
		}
		x := list[s.nodes[n].Parent]
		for k, to := range []*Sum{&x.Time, &x.CPU, &x.MPI, &x.Waits} {
			*to = sub(*to, own[k])
		}
		if s.nodes[n].Parent == 0 {
			derived = derived || s.nodes[n].Form == derivedForm
			marked = marked || s.nodes[n].Form != derivedForm
		}
	}
	if derived && marked {
		list[0] = nil
	}
	return list
}

// orderedLists collect values of every process.
type orderedLists struct {
	items []xtf.Item
	lists map[uint64][][2]uint64
}

func (l *orderedLists) add(x *processItems) {
	if len(l.items) == 0 {
		return
	}
	if l.lists == nil {
		l.lists = map[uint64][][2]uint64{}
	}
	seen := map[uint32]bool{}
	for _, k := range x.keys() {
		n := uint32(k >> 32)
		if seen[n] || !x.took(n) {
			continue
		}
		seen[n] = true
		for _, i := range l.items {
			key := xtf.NodeKey(n, uint32(i))
			l.lists[key] = append(l.lists[key], [2]uint64{x.at(n, i), uint64(x.rank)})
		}
	}
}

func (l *orderedLists) of(n int) []Ordered {
	var list []Ordered
	for _, i := range l.items {
		values := l.lists[xtf.NodeKey(uint32(n), uint32(i))]
		slices.SortFunc(values, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		list = append(list, Ordered{i.String(), values})
	}
	return list
}

// ParseItem returns the component with a name.
func ParseItem(name string) (xtf.Item, bool) {
	for i := range xtf.NumItems {
		if name != "" && i.String() == name {
			return i, true
		}
	}
	return 0, false
}
