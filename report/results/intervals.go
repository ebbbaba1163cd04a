package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// OneRun is the k-th execution of an interval on all processes that have one. Numbers are sums over these processes, except the
// time, which is the longest.
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
	Ordered      []xtf.Item // list the values of these items by process, least first
	Russian      bool       // labels of text
}

// Interval is one node of the interval tree.
type Interval struct {
	Path       []int         `json:"path"` // positions among siblings, from the root down
	Level      uint32        `json:"level"`
	ID         uint64        `json:"id"`
	Name       string        `json:"name"`
	File       string        `json:"file"`
	Line       uint32        `json:"line"`
	Executions uint64        `json:"exe_count"`     // most executions of a process
	Least      uint64        `json:"exe_count_min"` // fewest executions of a participant
	Uneven     bool          `json:"exe_uneven"`    // processes have different numbers of executions
	Processors uint64        `json:"processors"`    // by the rule
	First      *uint64       `json:"first_begin"`   // ticks; nil for a part of the run
	Last       *uint64       `json:"last_end"`
	Ticks      Ticks         `json:"ticks"` // sums over processes, except execution and runtime
	Efficiency numbers.Ratio `json:"efficiency"`
	Speedup    numbers.Ratio `json:"speedup_estimate"`
	Stats      Spreads       `json:"stats"` // over the participants
	Waits      *WaitTimes    `json:"waits"` // nil: not known
	POP        POP           `json:"pop"`
	Exclusive  *Exclusive    `json:"exclusive"`
	Ordered    []Ordered     `json:"ordered,omitempty"`
	Each       []OneRun      `json:"executions,omitempty"`      // with --per-execution
	MoreRuns   uint64        `json:"executions_more,omitempty"` // executions that were not read
	Text       string        `json:"-"`
	Index      int           `json:"-"`
}

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

// Exclusive is the time of an interval outside of the intervals in it: ticks, summed over processes.
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

// Text says which part of the run the span is.
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

// IsCount reports whether an item counts things or bytes, and not ticks.
func IsCount(i xtf.Item) bool {
	return i >= xtf.ItemEvents && i <= xtf.ItemCollIn || i == xtf.ItemExecutions || i == xtf.ItemWaitCount
}

// waitKind is the kind of a pattern: a wait for a partner in calls of a class, a part of another pattern, or a span at the end of
// a collective, in which nobody waits for anybody.
type waitKind uint8

const (
	waitP2P waitKind = iota
	waitColl
	waitRMA
	waitPart
	waitCompletion
	waitHost
)

// WaitLabels are the patterns in the order of the layout, each with its meaning. The table of advice says what to do about it.
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
	{"Late Kernel", xtf.ItemLateKernel, waitHost, "hosts wait for the end of kernels and transfers; no part of the total, for the device works"},
}

// Patterns by kind: those in calls of a class, all waits for partners, and spans of completion.
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

// PathText prints a path as 0.1.0.
func PathText(path []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(path), "[]"), " ", ".")
}

// Mostly names the largest part of the lost time, "" if nothing is lost. If that part is MPI, it also names the largest waits.
// These may exceed the part, which leaves out the MPI time of one processor.
func (n *Interval) Mostly(u numbers.Units) string {
	t := &n.Ticks
	if t.Lost.Sign() == 0 {
		return ""
	}
	part, name := t.MPILost, "MPI"
	for _, x := range t.Losses() {
		if v := numbers.Whole(x.Ticks); v.Compare(part) > 0 {
			part, name = v, x.Name
		}
	}
	text := fmt.Sprintf("%s %s %s (%s %%)", name, u.Short(part), u.Name(), part.Over(t.Lost).Times(100).Fixed(0))
	if name != "MPI" || n.Waits == nil {
		return text
	}
	if worst := WorstPattern(n.Stats); worst != nil && numbers.Quotient(worst.Sum, t.MPI).Value >= 0.1 {
		text += fmt.Sprintf("; waits: %s %s %s", PatternLabel(worst.Item.String()), u.Short(numbers.Whole(worst.Sum)), u.Name())
	}
	return text
}

// WorstPattern returns the pattern with most waiting time, nil if there is none; stats may have any order. Completions do not
// count: nobody is late there.
func WorstPattern(stats Spreads) *Spread {
	var worst *Spread
	for _, i := range WaitItems {
		if k := slices.IndexFunc(stats, func(s Spread) bool { return s.Item == i }); k >= 0 && stats[k].Sum > 0 && (worst == nil || stats[k].Sum > worst.Sum) {
			worst = &stats[k]
		}
	}
	return worst
}

// PatternLabel returns the words of a pattern for a sentence, from its name in documents.
func PatternLabel(name string) string {
	for _, x := range WaitLabels {
		if x.Item.String() == name {
			name = strings.TrimPrefix(x.Label, "---")
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "nxn", "N×N")
}

// ErrInterval says that a specification names no interval, or several.
var ErrInterval = errors.New("not an interval of the run")

// Node is a row of INTERVAL with its names.
type Node struct {
	xtf.Interval
	Name, File string
	place      int // among siblings
}

// Nodes reads the interval tree. Node 0, the whole program, always exists. Parents come before their children.
func (r *Run) Nodes() ([]Node, error) {
	names, err := nodeNames(r)
	if err != nil {
		return nil, err
	}
	var list []Node
	var children []int // of each node, so far
	err = Load(r, xtf.WholeRun, func(x *xtf.Interval) {
		list = append(list, Node{Interval: *x, Name: nameAt(names, x.Name), File: nameAt(names, x.File)})
	})
	if err == nil && len(list) == 0 {
		err = ErrNoResult
	}
	for i := range list {
		x := &list[i]
		if err != nil {
			break
		}
		children = append(children, 0)
		switch {
		case x.Key != uint64(i) || i > 0 && uint64(x.Parent) >= x.Key || i == 0 && x.Level != 0:
			err = fmt.Errorf("row %d of node %d: %w", i, x.Key, xtf.ErrCorrupt)
		case i == 0:
		case x.Level != list[x.Parent].Level+1 || x.Level > maxLevel:
			err = fmt.Errorf("node %d on level %d: %w", i, x.Level, xtf.ErrCorrupt)
		default:
			x.place = children[x.Parent]
			children[x.Parent]++
		}
	}
	return list, r.Failed(xtf.WholeRun, "intervals", err)
}

// maxLevel bounds the depth of the interval tree, and so the length of paths.
const maxLevel = 4096

// PathOf returns the path of a node: positions among siblings, from the root down.
func PathOf(list []Node, i int) []int {
	path := make([]int, list[i].Level+1)
	for ; i > 0; i = int(list[i].Parent) {
		path[list[i].Level] = list[i].place
	}
	return path
}

// nodeNames reads the names that INTERVAL rows point to.
func nodeNames(r *Run) ([]string, error) {
	b, err := r.File.SectionBytes(xtf.KindNodeNames)
	if errors.Is(err, xtf.ErrNoSection) {
		return nil, nil
	}
	var list []string
	names := varint.Read(b)
	for names.Len() > 0 {
		list = append(list, names.Text())
	}
	if err == nil && names.Failed() {
		err = xtf.ErrCorrupt
	}
	return list, r.Failed(xtf.WholeRun, "names of intervals", err)
}

// nameAt returns the name with number 1 + i, "" for 0 and for numbers that do not exist.
func nameAt(names []string, i uint32) string {
	if i == 0 || uint64(i) > uint64(len(names)) {
		return ""
	}
	return names[i-1]
}

// DerivedForm is the form of intervals that were cut from the time and have numbers: slices, and pieces between collectives.
const DerivedForm = uint32(interval.FormDerived)

// Label returns a node's name for people.
func (x *Node) Label() string {
	place := ""
	if x.File != "" {
		place = x.File[strings.LastIndexByte(x.File, '/')+1:]
		if x.Line > 0 {
			place += fmt.Sprintf(":%d", x.Line)
		}
	}
	text := x.Name
	switch {
	case x.Key == 0:
		return "whole program"
	case text == "" && place != "":
		return numbers.Clean(place, 60)
	case text == "":
		return fmt.Sprintf("interval %d", x.Marker)
	case x.Form == DerivedForm:
		return fmt.Sprintf("%s %d", numbers.Clean(text, 40), x.Marker)
	case place != "":
		return numbers.Clean(text, 40) + "  " + numbers.Clean(place, 40)
	}
	return numbers.Clean(text, 60)
}

// NodeLabels returns the labels of the nodes of the interval tree, by their number: the name of a node, or where it begins in the
// source and its id. It is empty for a file without intervals.
func NodeLabels(r *Run) ([]string, error) {
	list, err := r.Nodes()
	if errors.Is(err, ErrNoResult) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var labels []string
	for i := range list {
		labels = append(labels, list[i].Label())
	}
	return labels, nil
}

// keys returns the texts by which a specification may name a node.
func (x *Node) keys() []string {
	if x.Key == 0 {
		return []string{"root"}
	}
	list := []string{strconv.FormatUint(x.Marker, 10)}
	if x.Name != "" {
		list = append(list, x.Name)
	}
	if x.File != "" {
		base := x.File[strings.LastIndexByte(x.File, '/')+1:]
		list = append(list, fmt.Sprintf("%s:%d", x.File, x.Line), fmt.Sprintf("%s:%d", base, x.Line))
	}
	return list
}

// nodeKey identifies a node: its name, occurrence number k among equal names, and its parent.
type nodeKey struct {
	parent int
	name   string
	k      int
}

// NodeNumbers gives nodes numbers by the names on their path. They are the same for several runs of a program.
type NodeNumbers struct {
	Name    func(x *Node) string
	Ordered bool // nodes of equal name have numbers by their order; else they have one number
	known   map[nodeKey]int
}

// Of returns the number of each node of a tree. O(nodes).
func (m *NodeNumbers) Of(list []Node) []int {
	if m.known == nil {
		m.known = map[nodeKey]int{}
	}
	seen := map[nodeKey]int{}
	numbers := make([]int, len(list)) // the root's is 0
	for i := 1; i < len(list); i++ {
		k := nodeKey{parent: numbers[list[i].Parent], name: m.Name(&list[i])}
		if m.Ordered {
			k.k, seen[k] = seen[k], seen[k]+1
		}
		if m.known[k] == 0 {
			m.known[k] = len(m.known) + 1
		}
		numbers[i] = m.known[k]
	}
	return numbers
}

// IntervalSpan returns the time of an interval: from its first begin to its last end or, with NAME[K], of its K-th execution,
// from 0, on each process.
func IntervalSpan(r *Run, spec string) (*Span, error) {
	list, err := r.Nodes()
	if err != nil {
		return nil, err
	}
	k, counted := uint64(0), false
	if name, number, ok := strings.Cut(spec, "["); ok && strings.HasSuffix(number, "]") {
		if k, err = strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
			spec, counted = name, true
		}
	}
	i, err := FindNode(list, spec)
	if err != nil {
		return nil, err
	}
	x := &list[i]
	s := &Span{Begin: x.FirstBegin, End: x.LastEnd}
	if s.Begin > s.End {
		s.Begin, s.End = 0, 0
	}
	if counted {
		if k >= max(x.ExeMax, 1) {
			return nil, fmt.Errorf("%s[%d]: %w: it has executions 0 to %d", spec, k, ErrInterval, max(x.ExeMax, 1)-1)
		}
		s.Of = &Execution{uint32(i), k}
	}
	return s, nil
}

// IntervalNode returns the number of the interval that spec names, in the form of IntervalSpan.
func IntervalNode(r *Run, spec string) (uint32, error) {
	list, err := r.Nodes()
	if err != nil {
		return 0, err
	}
	i, err := FindNode(list, spec)
	return uint32(i), err
}

// FindNode returns the node that spec names: "root", an id, a name, FILE:LINE, or #NUMBER. If several nodes have the name, the
// error lists their numbers.
func FindNode(list []Node, spec string) (int, error) {
	var found []int
	for i := range list {
		if slices.Contains(list[i].keys(), spec) {
			found = append(found, i)
		}
	}
	if text, ok := strings.CutPrefix(spec, "#"); ok {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil && n < uint64(len(list)) {
			found = []int{int(n)}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("%q: %w: it has %s", spec, ErrInterval, nodeList(list))
	}
	var numbers []string
	for _, i := range found[:min(len(found), 20)] {
		numbers = append(numbers, fmt.Sprintf("#%d", i))
	}
	return 0, fmt.Errorf("%q: %w: %d have this name, choose one of %s", spec, ErrInterval, len(found), strings.Join(numbers, ", "))
}

// nodeList names the first nodes for a message.
func nodeList(list []Node) string {
	const most = 12
	names := []string{"root"}
	for i := 1; i < min(len(list), most); i++ {
		keys := list[i].keys()
		names = append(names, numbers.Clean(keys[min(1, len(keys)-1)], 40))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// Bounds of the executions that are read, and so of the memory: half a KiB each.
const (
	maxRuns    = 4096 // of one node
	maxAllRuns = 1 << 17
)

// runItems are the components of an execution, ascending. Its waits for partners come after them.
var runItems = slices.Sorted(slices.Values(append([]xtf.Item{xtf.ItemTime, xtf.ItemCPU, xtf.ItemSetup, xtf.ItemMeasured}, xtf.AsideItems...)))

// executionSums gathers the executions of the nodes that a report shows.
type executionSums struct {
	runs  [][]runSum // by node
	count int        // of all
	rules Rules
}

// runSum is one execution over the processes so far.
type runSum struct {
	mpiTimes
	items       []xtf.Stat // by runItems
	waits       uint64
	count       uint64
	first, last uint64
}

// PerExecution adds a line for every execution to the nodes. Executions with the same number on their process form a line. Every
// execution costs two reads of the running totals.
func (s *Survey) PerExecution(nodes []*Interval, o *IntervalOptions) ([]table.Lost, error) {
	sums := &executionSums{runs: make([][]runSum, len(s.Nodes)), rules: o.Rules}
	lost, err := s.Run.each(o.Ranks, "intervals", func(rank uint32, p trace.Process) error {
		if p.Count == 0 || s.Run.Defs.Location(p.First).Type == trace.MetricLocation {
			return nil
		}
		return s.executionsOf(rank, p.First, o.Span, sums)
	})
	if err != nil {
		return nil, err
	}
	for _, x := range nodes {
		x.Each = sums.lines(x.Index, s.Run.Rows)
		if n := uint64(len(x.Each)); o.Span == nil && x.Executions > n {
			x.MoreRuns = x.Executions - n
		}
	}
	return lost, nil
}

// executionsOf adds the executions of one location, the first of its process.
func (s *Survey) executionsOf(rank uint32, p trace.P, span *Span, sums *executionSums) error {
	x, err := s.Run.Running(p, &s.Cost)
	if err != nil {
		return err
	}
	rows := xtf.RowsOf[xtf.Ival](x.ival.Rows(0, x.ival.Len()))
	for rows.Next() {
		iv := &rows.Row
		if uint64(iv.Node) >= uint64(len(s.Nodes)) || iv.Execution >= maxRuns || span != nil && (iv.End <= span.Begin || iv.T >= span.End) {
			continue
		}
		v, err := x.Between(iv.T, iv.End)
		if err != nil {
			return err
		}
		sums.add(rank, iv, &v)
	}
	return rows.Err()
}

func (e *executionSums) add(rank uint32, iv *xtf.Ival, v *interval.Items) {
	list := e.runs[iv.Node]
	for uint64(len(list)) <= iv.Execution {
		if e.count == maxAllRuns {
			return
		}
		list = append(list, runSum{items: make([]xtf.Stat, len(runItems)), first: xtf.Never})
		e.count++
	}
	e.runs[iv.Node] = list
	r := &list[iv.Execution]
	r.visit(rank, v[xtf.ItemMPI], v[xtf.ItemSetup], e.rules, r.count == 0)
	for i, item := range runItems {
		AddStat(&r.items[i], v[item], rank, r.count == 0)
	}
	for _, item := range WaitItems {
		r.waits += v[item]
	}
	r.count++
	r.first, r.last = min(r.first, iv.T), max(r.last, iv.End)
}

// lines computes the characteristics of each execution of a node.
func (e *executionSums) lines(n int, rows bool) []OneRun {
	list := []OneRun{}
	for k := range e.runs[n] {
		r := &e.runs[n][k]
		if r.count == 0 {
			continue
		}
		m := Measured{Participants: r.count, processes: r.count, rules: e.rules, mpiTimes: r.mpiTimes, rows: rows, single: true, span: r.last - min(r.first, r.last), sumMax: xtf.Never, ideal: numbers.NotKnown}
		for i, item := range runItems {
			r.items[i].Key = uint64(item)
			m.Spreads = append(m.Spreads, spreadOf(&r.items[i], r.count))
		}
		m.Useful = m.Spreads.Item(xtf.ItemCPU).Max
		t := m.Ticks(e.rules)
		x := OneRun{K: uint64(k), Processors: r.count, First: r.first, Last: r.last, Execution: t.Execution, Longest: m.Spreads.Item(xtf.ItemTime).MaxP, CPU: t.CPU, MPI: t.MPI, Idle: t.Idle, Lost: t.Lost}
		x.Efficiency, _ = t.efficiency()
		x.LoadBal = numbers.Quotient(t.CPU, numbers.Times(numbers.Integer(m.Useful), r.count))
		if x.Waits = numbers.NotKnown; rows {
			x.Waits = numbers.Integer(r.waits)
		}
		list = append(list, x)
	}
	return list
}
