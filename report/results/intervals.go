package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// OneRun is the k-th execution of an interval on all processes that had one:
// sums over them but the time, of which the longest counts.
type OneRun struct {
	K          uint64           `json:"k"`
	Processors uint64           `json:"processors"`
	First      uint64           `json:"first_begin"`
	Last       uint64           `json:"last_end"`
	Execution  uint64           `json:"execution"`
	Longest    uint32           `json:"longest_rank"`
	CPU        numbers.Sum      `json:"cpu"`
	MPI        numbers.Sum      `json:"mpi"`
	Idle       numbers.Sum      `json:"idle"`
	Lost       numbers.Fraction `json:"lost"`
	Waits      numbers.Sum      `json:"waits"`
	Efficiency numbers.Ratio    `json:"efficiency"`
	LoadBal    numbers.Ratio    `json:"load_balance"`
}

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

// Interval is one node of the interval tree.
type Interval struct {
	Path       []int         `json:"path"` // positions among the siblings, from the root on
	Level      uint32        `json:"level"`
	ID         uint64        `json:"id"`
	Name       string        `json:"name"`
	File       string        `json:"file"`
	Line       uint32        `json:"line"`
	Executions uint64        `json:"exe_count"`     // largest number of a process
	Least      uint64        `json:"exe_count_min"` // least number of a participant
	Uneven     bool          `json:"exe_uneven"`    // processes disagree
	Processors uint64        `json:"processors"`    // by the rule
	First      *uint64       `json:"first_begin"`   // ticks; nil for a part of the run
	Last       *uint64       `json:"last_end"`
	Ticks      Ticks         `json:"ticks"` // sums over processes but execution and runtime
	Efficiency numbers.Ratio `json:"efficiency"`
	Speedup    numbers.Ratio `json:"speedup_estimate"`
	Stats      Spreads       `json:"stats"` // over the participants
	Waits      *WaitTimes    `json:"waits"` // nil: not known
	POP        POP           `json:"pop"`
	Exclusive  *Exclusive    `json:"exclusive"`
	Ordered    []Ordered     `json:"ordered,omitempty"`
	Each       []OneRun      `json:"executions,omitempty"`      // with --per-execution
	MoreRuns   uint64        `json:"executions_more,omitempty"` // that were not looked at
	Text       string        `json:"-"`
	Index      int           `json:"-"`
}

// Label is the interval's name for people.
func (i *Interval) Label() string { return i.Text }

// Node is the number of the interval in the file.
func (i *Interval) Node() uint32 { return uint32(i.Index) }

// WaitTimes are the waits of an interval: ticks by pattern.
type WaitTimes struct {
	Total      numbers.Sum // for partners
	Completion numbers.Sum // at the end of collectives
	Count      numbers.Sum // of wait states
	Patterns   Spreads
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x *WaitTimes) MarshalJSON() ([]byte, error) {
	b := []byte(fmt.Sprintf(`{"total":%s,"completion":%s,"count":%s`, x.Total.JSON(), x.Completion.JSON(), x.Count.JSON()))
	for i := range x.Patterns {
		b = fmt.Appendf(b, ",%q:%s", x.Patterns[i].Item, x.Patterns[i].Sum.JSON())
	}
	return append(b, '}'), nil
}

// Ordered is the values of all participants, least first.
type Ordered struct {
	Item   string      `json:"item"`
	Values [][2]uint64 `json:"values"` // value and rank
}

// Interval computes the characteristics of node n.
func (s *Survey) Interval(n int, rules Rules) *Interval {
	x, m := &s.Nodes[n], &s.Measured[n]
	i := &Interval{
		Path: PathOf(s.Nodes, n), Level: x.Level, ID: x.Marker, Name: x.Name, File: x.File, Line: x.Line,
		Executions: x.ExeMax, Least: x.ExeMin, Uneven: x.Flags&xtf.IntervalUneven != 0 || x.ExeMin != x.ExeMax,
		Processors: m.count(rules), Ticks: m.Ticks(rules), Stats: m.Spreads, POP: m.Pop(), Text: x.Label(), Index: n,
	}
	if m.single || m.sumMax != xtf.Never {
		i.First, i.Last = &x.FirstBegin, &x.LastEnd
	}
	if e := m.Spreads.Item(xtf.ItemExecutions); n > 0 && e.Max > 0 {
		i.Executions, i.Least, i.Uneven = e.Max, e.Min, e.Max != e.Min
	}
	i.Efficiency, i.Speedup = i.Ticks.efficiency()
	if m.rows {
		w := &WaitTimes{Count: m.Sum(xtf.ItemWaitCount)}
		if m.part {
			w.Count = numbers.NotKnown
		}
		w.Total, w.Completion = m.Waits()
		for i := range WaitLabels {
			if p := m.Spreads.Item(WaitLabels[i].Item); p.Sum > 0 {
				w.Patterns = append(w.Patterns, *p)
			}
		}
		i.Waits = w
	}
	return i
}

// Exclusive is what an interval has without the intervals in it, in ticks, summed
// over processes.
type Exclusive struct {
	Time  numbers.Sum `json:"time"`
	CPU   numbers.Sum `json:"cpu"`
	MPI   numbers.Sum `json:"mpi"`
	Waits numbers.Sum `json:"waits"` // for partners
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

// Text says which part of the run it is.
func (s *Span) Text(u numbers.Units) string {
	if s.Of != nil {
		return fmt.Sprintf("execution %d of interval #%d, on each process its own time", s.Of.K, s.Of.Node)
	}
	return fmt.Sprintf("%s to %s %s", u.Ticks(s.Begin), u.Ticks(s.End), u.Name())
}

// Optional is a number that may not be known.
func Optional(v *uint64) numbers.Sum {
	if v == nil {
		return numbers.NotKnown
	}
	return numbers.Integer(*v)
}

// IsCount reports whether an item counts things, or bytes, instead of ticks.
func IsCount(i xtf.Item) bool {
	return i >= xtf.ItemEvents && i <= xtf.ItemCollIn || i == xtf.ItemExecutions || i == xtf.ItemWaitCount
}

// waitKind is what a pattern is: a wait for a partner inside of calls of a class, a part of a pattern, or a span at the end of a
// collective, where nobody waits for anybody.
type waitKind uint8

const (
	waitP2P waitKind = iota
	waitColl
	waitRMA
	waitPart
	waitCompletion
)

// WaitLabels are the patterns in the order of the layout, each with what it is; what to do about it is in the table of advice.
var WaitLabels = []struct {
	Label   string
	Item    xtf.Item
	kind    waitKind
	Meaning string
}{
	{"Late Sender", xtf.ItemLateSender, waitP2P, "receivers wait for messages that were sent too late"},
	{"---Wrong Order Same", xtf.ItemLateSenderSame, waitPart, "messages of one source are received in another order than they were sent"},
	{"---Wrong Order Other", xtf.ItemLateSenderOther, waitPart, "another source's message was already there"},
	{"Late Receiver", xtf.ItemLateReceiver, waitP2P, "senders wait, in the send or where it is completed, for the receive to be posted"},
	{"Late Progress", xtf.ItemLateProgress, waitP2P, "senders wait until the receiver, which has posted the receive, is in MPI again"},
	{"Wait at Barrier", xtf.ItemWaitBarrier, waitColl, "processes come to barriers at different times"},
	{"Barrier Completion", xtf.ItemBarrierCompletion, waitCompletion, "leaving barriers takes this long after the first process has left"},
	{"Wait at NxN", xtf.ItemWaitNxN, waitColl, "processes come to all-to-all operations at different times"},
	{"NxN Completion", xtf.ItemNxNCompletion, waitCompletion, "leaving all-to-all operations takes this long after the first process has left"},
	{"Late Broadcast", xtf.ItemLateBroadcast, waitColl, "the root comes late to a broadcast"},
	{"Early Reduce", xtf.ItemEarlyReduce, waitColl, "the root of a reduction waits for the first contribution"},
	{"Early Scan", xtf.ItemEarlyScan, waitColl, "processes wait in prefix operations for those below them"},
	{"Late Post", xtf.ItemLatePost, waitRMA, "origins wait in MPI_Win_start or MPI_Win_complete for the target's MPI_Win_post"},
	{"Early Wait", xtf.ItemEarlyWait, waitRMA, "targets wait in MPI_Win_wait for the last MPI_Win_complete of an origin"},
	{"Lock Contention", xtf.ItemLockContention, waitRMA, "processes wait for a lock of a window that another one holds"},
}

// The patterns of kinds: inside of these calls, all waits for a partner, and spans of completion.
var (
	P2pWaits        = patternsOf(waitP2P)
	CollWaits       = patternsOf(waitColl)
	WaitItems       = patternsOf(waitP2P, waitColl, waitRMA)
	CompletionItems = patternsOf(waitCompletion)
)

func patternsOf(kinds ...waitKind) (list []xtf.Item) {
	for _, x := range WaitLabels {
		if slices.Contains(kinds, x.kind) {
			list = append(list, x.Item)
		}
	}
	return list
}

// PathText is a path as 0.1.0.
func PathText(path []int) string {
	text := ""
	for i, k := range path {
		if i > 0 {
			text += "."
		}
		text += strconv.Itoa(k)
	}
	return text
}

// Mostly names the largest part of the lost time, and the waits in it.
func (n *Interval) Mostly(u numbers.Units) string {
	part, name := n.mostLost()
	if name == "" {
		return ""
	}
	text := fmt.Sprintf("%s %s (%s)", name, u.Short(part), numbers.PercentOf(part, n.Ticks.Lost))
	if worst := n.worstWait(); name == "MPI" && worst != nil && numbers.Quotient(worst.Sum, n.Ticks.MPI).Value >= 0.1 {
		text += fmt.Sprintf(", of it %s %s", PatternLabel(worst.Item.String()), u.Short(numbers.Whole(worst.Sum)))
	}
	return text
}

// mostLost is the largest part of the lost time and its name, "" where nothing is lost.
func (n *Interval) mostLost() (part numbers.Fraction, name string) {
	t := &n.Ticks
	if t.Lost.Sign() == 0 {
		return numbers.Fraction{}, ""
	}
	part, name = t.MPILost, "MPI"
	for _, x := range t.Losses() {
		if v := numbers.Whole(x.Ticks); v.Compare(part) > 0 {
			part, name = v, x.Name
		}
	}
	return part, name
}

// worstWait is the pattern with most waiting time, nil without any.
func (n *Interval) worstWait() *Spread {
	if n.Waits == nil {
		return nil
	}
	return WorstPattern(n.Stats)
}

// WorstPattern is the pattern with most waiting time, nil without any, of stats in any order. Completions are none: there nobody is late.
func WorstPattern(stats Spreads) *Spread {
	var worst *Spread
	for _, i := range WaitItems {
		if k := slices.IndexFunc(stats, func(s Spread) bool { return s.Item == i }); k >= 0 && stats[k].Sum > 0 && (worst == nil || stats[k].Sum > worst.Sum) {
			worst = &stats[k]
		}
	}
	return worst
}

// PatternLabel is a pattern in a sentence, by its name in documents.
func PatternLabel(name string) string {
	for _, x := range WaitLabels {
		if x.Item.String() == name {
			name = strings.TrimPrefix(x.Label, "---")
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "nxn", "N×N")
}
