package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Waits is where processes waited for others, who made them wait, and what the
// run's length depends on.
type Waits struct {
	Resolution uint64        `json:"resolution"`
	Ranks      string        `json:"ranks"`
	Span       *Span         `json:"time,omitempty"`
	Time       Sum           `json:"time_sum"`                // of the chosen processes
	Total      Sum           `json:"total"`                   // waits for partners
	Others     Sum           `json:"other_threads,omitempty"` // waits for partners of threads but the first of a process, not in total
	Completion Sum           `json:"completion"`              // spans at the end of collectives
	Share      Ratio         `json:"share"`                   // total, of the time
	Patterns   []PatternSum  `json:"patterns"`                // by falling time
	Intervals  []WaitNode    `json:"intervals"`               // depth-first
	Paths      []WaitPath    `json:"paths"`                   // by falling time
	Processes  []WaitProcess `json:"processes"`               // by rank
	Threads    []ThreadWait  `json:"threads,omitempty"`       // that wait for other threads, longest first; nil for a span of time
	Causes     []Cause       `json:"causes"`                  // by falling cost; nil for a span of time
	Critical   *Critical     `json:"critical_path"`
}

// PatternSum is the waits of one pattern.
type PatternSum struct {
	Pattern string `json:"pattern"`
	Count   Sum    `json:"count"` // null: not known
	Ticks   Sum    `json:"ticks"`
	Share   Ratio  `json:"share"` // of the time
	Worst   uint64 `json:"worst"` // of one process
	Rank    uint32 `json:"worst_rank"`
	item    xtf.Item
}

// WaitNode is the waits in an interval.
type WaitNode struct {
	Path  []int      `json:"path"`
	Label string     `json:"label"`
	Time  Sum        `json:"time_sum"`
	Share Ratio      `json:"share"`
	Waits *WaitTimes `json:"waits"`
}

// WaitPath is the waits of one pattern on one call path of an interval.
type WaitPath struct {
	Node    uint32   `json:"node"`
	Path    []string `json:"path"` // names of regions, outermost first
	Pattern string   `json:"pattern"`
	Order   string   `json:"wrong_order,omitempty"` // same or different source
	Count   uint64   `json:"count"`
	Ticks   Sum      `json:"ticks"`
	Share   Ratio    `json:"share"` // of all waits for partners here; undefined of completions
	Worst   uint64   `json:"worst"` // of one location
	Rank    uint32   `json:"worst_rank"`
}

// WaitProcess is the waits of one process.
type WaitProcess struct {
	Rank  uint32   `json:"rank"`
	Total uint64   `json:"total"`
	Share Ratio    `json:"share"` // of its time
	items []uint64 // by waitLabels
}

// PatternName is the name of the pattern of a WAIT row, as in documents.
func PatternName(pattern uint32) string {
	if i := xtf.PatternItem(pattern); i != xtf.NumItems {
		return i.String()
	}
	return fmt.Sprintf("pattern %d", pattern&xtf.WaitPatternMask)
}

// OrderName says which kind of wrong order a late sender is, same or different; ""
// for none.
func OrderName(pattern uint32) string {
	switch pattern & xtf.WaitOrderMask {
	case xtf.WaitOrderSame:
		return "same"
	case xtf.WaitOrderDifferent:
		return "different"
	}
	return ""
}

// IsCompletion reports whether a pattern is a span at the end of a collective,
// which is no wait for a partner.
func IsCompletion(pattern uint32) bool {
	p := pattern & xtf.WaitPatternMask
	return p == xtf.WaitBarrierCompletion || p == xtf.WaitNxNCompletion
}

// Waits reports wait states, their causes and the critical path.
func (r *Run) Waits(ranks Ranks, span *Span) (*Waits, []Lost, error) {
	if rows, err := r.HasRows(); err != nil || !rows {
		return nil, nil, cmp.Or(err, fmt.Errorf("%s: wait states: %w: it was analyzed with --events none", r.Name, ErrNoResult))
	}
	x := &Waits{Resolution: r.Defs.Clock().TimerResolution, Ranks: ranks.String(), Span: span}
	s, err := r.survey(surveyOptions{ranks: ranks, span: span, section: "waits", deep: true, each: func(p *processItems) {
		x.Processes = append(x.Processes, waitProcess(p))
	}})
	if err != nil {
		return nil, nil, err
	}
	root := &s.measured[0]
	x.Time = root.sum(xtf.ItemTime)
	x.Total, x.Completion = root.waits()
	x.Share = ratio(x.Total, x.Time)
	for _, l := range waitLabels {
		p := root.spreads.item(l.item)
		if p.Sum > 0 {
			x.Patterns = append(x.Patterns, PatternSum{l.item.String(), notKnown, p.Sum, ratio(p.Sum, x.Time), p.Max, p.MaxP, l.item})
		}
	}
	x.sortPatterns()
	for n := range s.nodes {
		i := s.interval(n, Rules{})
		t := s.measured[n].sum(xtf.ItemTime)
		if i.Waits != nil && (n == 0 || i.Waits.Total > 0) {
			x.Intervals = append(x.Intervals, WaitNode{i.Path, i.label, t, ratio(i.Waits.Total, t), i.Waits})
		}
	}
	lost := s.lost
	if span == nil {
		missing, err := x.readThreads(r, ranks)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, missing...)
	}
	c := causes{r: r, ranks: ranks, span: span}
	if err := c.read(); err != nil {
		return nil, nil, err
	}
	x.Others = c.otherThreads(x.Total)
	x.Paths, x.Causes = c.waitPaths(x.Patterns), c.causeLines(ranks.All() && span == nil)
	x.Critical, err = c.critical(root)
	return x, append(lost, c.lost...), err
}

// otherThreads is what threads wait that are not the first of their process, whose
// waits are total; 0 where there are none.
func (c *causes) otherThreads(total Sum) Sum {
	if !slices.ContainsFunc(c.r.Defs.Processes(), func(p trace.Process) bool { return p.Count > 1 }) {
		return 0
	}
	all := Sum(0)
	for k, s := range c.waits {
		if !IsCompletion(k.pattern) {
			all = add(all, integer(s.ticks))
		}
	}
	return max(sub(all, total), 0)
}

// sortPatterns puts the patterns in the order of falling time, parts of late
// sender behind it.
func (x *Waits) sortPatterns() {
	of := map[xtf.Item]Sum{}
	for _, p := range x.Patterns {
		of[p.item] = p.Ticks
	}
	key := func(p PatternSum) Sum {
		if late, ok := of[xtf.ItemLateSender]; ok && p.part() {
			return late
		}
		return p.Ticks
	}
	slices.SortStableFunc(x.Patterns, func(a, b PatternSum) int { return cmp.Compare(key(b), key(a)) })
}

// part reports whether the pattern is a part of late sender.
func (p *PatternSum) part() bool {
	return p.item == xtf.ItemLateSenderSame || p.item == xtf.ItemLateSenderOther
}

func waitProcess(p *processItems) WaitProcess {
	x := WaitProcess{Rank: p.rank}
	for _, i := range WaitItems {
		x.Total += p.at(0, i)
	}
	for _, l := range waitLabels {
		x.items = append(x.items, p.at(0, l.item))
	}
	x.Share = ratio64(x.Total, p.at(0, xtf.ItemTime))
	return x
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x WaitProcess) MarshalJSON() ([]byte, error) {
	share, err := x.Share.MarshalJSON()
	b := fmt.Appendf(nil, `{"rank":%d,"total":%d,"share":%s`, x.Rank, x.Total, share)
	for i, v := range x.items {
		if v > 0 {
			b = fmt.Appendf(b, ",%q:%d", waitLabels[i].item, v)
		}
	}
	return append(b, '}'), err
}

// CallPaths are the call paths that waits and causes refer to, the rows of PATH.
// Memory: 8 bytes each.
type CallPaths struct {
	r       *Run
	parents []uint32
	regions []uint32
}

// maxPathDepth bounds what is shown of a call path.
const maxPathDepth = 512

// CallPaths reads them.
func (r *Run) CallPaths() (*CallPaths, error) {
	p := &CallPaths{r: r}
	var bad error
	err := r.rows(xtf.WholeRun, xtf.TypePath, func(row []byte) {
		var x xtf.Path
		x.Load(row)
		if n := uint64(len(p.parents)); x.Key != n || n > 0 && uint64(x.Parent) >= n {
			bad = fmt.Errorf("row %d of path %d: %w", n, x.Key, xtf.ErrCorrupt)
		}
		p.parents, p.regions = append(p.parents, x.Parent), append(p.regions, x.Region)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("%s: call paths: %w", r.Name, err)
	}
	return p, nil
}

// Region is the reference of the innermost region of a path, trace.Undefined
// outside of all calls.
func (p *CallPaths) Region(id uint32) uint32 {
	if id == 0 || uint64(id) >= uint64(len(p.regions)) {
		return trace.Undefined
	}
	return p.regions[id]
}

// Names are the names of the path's regions, outermost first.
func (p *CallPaths) Names(id uint32) []string {
	list := []string{}
	for n := 0; id > 0 && uint64(id) < uint64(len(p.parents)) && n < maxPathDepth; n++ {
		list = append(list, p.r.RegionName(p.regions[id]))
		id = p.parents[id]
	}
	slices.Reverse(list)
	return list
}
