package analyze_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// lines are what a file or the oracle says, by part, in readable form and in one
// order.
type lines map[string][]string

func (l lines) add(part, format string, args ...any) {
	l[part] = append(l[part], fmt.Sprintf(format, args...))
}

func (l lines) sort() {
	for _, list := range l {
		slices.Sort(list)
	}
}

// compare reports up to ten lines of each part that only one side has.
func (l lines) compare(t *testing.T, got lines) {
	t.Helper()
	for part := range mergedKeys(l, got) {
		missing, extra := only(l[part], got[part]), only(got[part], l[part])
		for i, s := range missing {
			if i < 10 {
				t.Errorf("%s: not in the file: %s", part, s)
			}
		}
		for i, s := range extra {
			if i < 10 {
				t.Errorf("%s: in the file only: %s", part, s)
			}
		}
	}
}

func mergedKeys(a, b lines) map[string]bool {
	m := map[string]bool{}
	for k := range a {
		m[k] = true
	}
	for k := range b {
		m[k] = true
	}
	return m
}

// only returns the lines of a, sorted, that b, sorted, does not have.
func only(a, b []string) []string {
	var out []string
	for _, s := range a {
		for len(b) > 0 && b[0] < s {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == s {
			b = b[1:]
			continue
		}
		out = append(out, s)
	}
	return out
}

// Formats of lines, the same for both sides.
const (
	nodeLine  = "node %3d parent %d level %d id %d name %q file %q line %d: executions %d to %d, %d processes, flags %d, [%d, %d], sum of max %d"
	ivalLine  = "location %d [%d, %d) node %d execution %d flags %d"
	compLine  = "location %d node %d %s = %d"
	statLine  = "node %d %s: sum %d, min %d at %d, max %d at %d"
	pathLine  = "path %3d parent %d region %d level %d"
	waitLine  = "location %d [%d, %d) %s row %d cause %d node %d path %d order %d"
	delayLine = "location %d node %d path %d %s activity %d: short %d long %d"
	pieceLine = "location %d [%d, %d) activity %d node %d path %d"
)

// oracleLines tells what the oracle found.
func oracleLines(r *oracle.Result) lines {
	l := lines{}
	for i, n := range r.Nodes {
		x := nodeRow(r, i)
		if x.Participants == 0 {
			continue // an empty run
		}
		k := n.Key
		l.add("nodes", nodeLine, i, uint32(n.Parent), n.Level, k.ID, k.Name, k.File, k.Line, x.ExeMax, x.ExeMin, x.Participants, x.Flags, x.FirstBegin, x.LastEnd, x.SumMax)
	}
	for i, p := range r.Paths {
		parent, region := uint32(p.Parent), p.Region
		if i == 0 {
			parent, region = trace.Undefined, trace.Undefined
		}
		l.add("paths", pathLine, i, parent, region, p.Level)
	}
	for p, loc := range r.Locations {
		count := map[int]int{}
		for _, e := range loc.Executions {
			l.add("executions", ivalLine, p, e.From, e.To, e.Node, count[e.Node], e.Flags)
			count[e.Node]++
		}
		for n, c := range loc.Components {
			for item, v := range c {
				l.add("components", compLine, p, n, item, v)
			}
		}
		for _, w := range loc.Waits {
			l.add("waits", waitLine, p, w.From, w.To, w.Pattern, w.Row, uint32(w.Cause), w.Node, w.Path, w.Order)
		}
		for _, c := range loc.Critical {
			l.add("critical path", pieceLine, p, c.From, c.To, c.Activity, c.Node, c.Path)
		}
	}
	for k, c := range r.Delays {
		l.add("delays", delayLine, k.P, k.Node, k.Path, k.Pattern, k.Activity, c.Short, c.Long)
	}
	l.spreads(r)
	l.sort()
	return l
}

// nodeRow gathers a node over all processes.
func nodeRow(r *oracle.Result, node int) xtf.Interval {
	x := xtf.Interval{ExeMin: xtf.Never, FirstBegin: xtf.Never}
	c := r.Characteristics(node, oracle.Rules{})
	x.Participants, x.SumMax = uint32(c.Processors), c.SumOfMax
	for _, p := range r.Processes {
		list := p.Executions[node]
		if len(list) == 0 {
			continue
		}
		x.ExeMax, x.ExeMin = max(x.ExeMax, uint64(len(list))), min(x.ExeMin, uint64(len(list)))
		for _, e := range list {
			x.FirstBegin, x.LastEnd = min(x.FirstBegin, e.From), max(x.LastEnd, e.To)
		}
	}
	if x.ExeMax != x.ExeMin {
		x.Flags |= xtf.IntervalUneven
	}
	return x
}

func (l lines) spreads(r *oracle.Result) {
	for n := range r.Nodes {
		for i := range xtf.NumItems {
			item := oracle.Item(i.String())
			var s xtf.Stat
			first := true
			for p, proc := range r.Processes {
				if proc.Components[n][oracle.Executions] == 0 {
					continue
				}
				v := proc.Components[n][item]
				s.Sum0 += v
				if first || v < s.Min {
					s.Min, s.MinP = v, uint32(p)
				}
				if first || v > s.Max {
					s.Max, s.MaxP = v, uint32(p)
				}
				first = false
			}
			if s.Max > 0 {
				l.add("spreads", statLine, n, item, s.Sum0, s.Min, s.MinP, s.Max, s.MaxP)
			}
		}
	}
}

// itemOfPattern names WAIT patterns as items.
var itemOfPattern = map[uint32]oracle.Item{
	xtf.WaitLateSender: oracle.LateSender, xtf.WaitLateReceiver: oracle.LateReceiver, xtf.WaitBarrier: oracle.WaitBarrier,
	xtf.WaitBarrierCompletion: oracle.BarrierDone, xtf.WaitNxN: oracle.WaitNxN, xtf.WaitNxNCompletion: oracle.NxNDone,
	xtf.WaitLateBroadcast: oracle.LateBroadcast, xtf.WaitEarlyReduce: oracle.EarlyReduce, xtf.WaitEarlyScan: oracle.EarlyScan,
	xtf.WaitLateProgress: oracle.LateProgress, xtf.WaitLatePost: oracle.LatePost, xtf.WaitEarlyWait: oracle.EarlyWait, xtf.WaitLock: oracle.LockContention, xtf.WaitLateKernel: oracle.LateKernel,
}

// fileLines tells what a file says.
func fileLines(t *testing.T, f *xtf.File) lines {
	t.Helper()
	l := lines{}
	names := nodeNames(t, f)
	rowsOf(t, f, xtf.WholeRun, xtf.TypeInterval, func(_ uint64, row []byte) {
		var x xtf.Interval
		if x.Load(row); x.Participants > 0 {
			l.add("nodes", nodeLine, x.Key, x.Parent, x.Level, x.Marker, names[x.Name], names[x.File], x.Line, x.ExeMax, x.ExeMin, x.Participants, x.Flags, x.FirstBegin, x.LastEnd, x.SumMax)
		}
	})
	rowsOf(t, f, xtf.WholeRun, xtf.TypePath, func(_ uint64, row []byte) {
		var x xtf.Path
		x.Load(row)
		l.add("paths", pathLine, x.Key, x.Parent, x.Region, x.Level)
	})
	rowsOf(t, f, xtf.WholeRun, xtf.TypeStat, func(_ uint64, row []byte) {
		var x xtf.Stat
		x.Load(row)
		if x.Max > 0 && covered(xtf.Item(x.Key)) {
			l.add("spreads", statLine, x.Key>>32, xtf.Item(x.Key), x.Sum0, x.Min, x.MinP, x.Max, x.MaxP)
		}
	})
	for p := range xtf.Proc(f.Procs()) {
		l.location(t, f, p)
	}
	l.sort()
	return l
}

func (l lines) location(t *testing.T, f *xtf.File, p xtf.Proc) {
	t.Helper()
	rowsOf(t, f, p, xtf.TypeIval, func(_ uint64, row []byte) {
		var x xtf.Ival
		x.Load(row)
		l.add("executions", ivalLine, p, x.T, x.End, x.Node, x.Execution, x.Flags&(xtf.IvalCut|xtf.IvalCrossed))
	})
	rowsOf(t, f, p, xtf.TypeComp, func(_ uint64, row []byte) {
		var x xtf.Comp
		if x.Load(row); covered(xtf.Item(x.Key)) {
			l.add("components", compLine, p, x.Key>>32, xtf.Item(x.Key), x.Value)
		}
	})
	rowsOf(t, f, p, xtf.TypeWait, func(_ uint64, row []byte) {
		var x xtf.Wait
		x.Load(row)
		l.add("waits", waitLine, p, x.T, x.End, itemOfPattern[x.Pattern&xtf.WaitPatternMask], x.RecN, x.CauseP, x.Node, x.Path, x.Pattern&xtf.WaitOrderMask>>8)
	})
	rowsOf(t, f, p, xtf.TypeDelay, func(_ uint64, row []byte) {
		var x xtf.Delay
		x.Load(row)
		l.add("delays", delayLine, p, x.Key>>32, uint32(x.Key), itemOfPattern[x.Pattern&xtf.WaitPatternMask], x.Activity, x.Short, x.Long)
	})
	rowsOf(t, f, p, xtf.TypeCPath, func(_ uint64, row []byte) {
		var x xtf.CPath
		x.Load(row)
		l.add("critical path", pieceLine, p, x.T, x.End, x.Activity, x.Node, x.Path)
	})
}

// covered reports whether the oracle knows an item; it leaves out those of threads.
func covered(item xtf.Item) bool {
	return item <= xtf.ItemCriticalMarker || item >= xtf.ItemLateProgress
}

// nodeNames reads the names of nodes; 0 is none.
func nodeNames(t *testing.T, f *xtf.File) []string {
	t.Helper()
	b, err := f.SectionBytes(xtf.KindNodeNames)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{""}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		list = append(list, string(b[k:k+int(n)]))
		b = b[k+int(n):]
	}
	return list
}

// checkAgainstOracle compares the file of some ranks with the oracle, and the
// files of other ranks with it byte by byte.
func checkAgainstOracle(t *testing.T, src trace.Source, o analyze.Options, with oracle.Options, ranks ...int) {
	t.Helper()
	want, err := oracle.Analyze(src, with)
	if err != nil {
		t.Fatal(err)
	}
	o.Source, o.StoreBytes, o.Output = src, 1<<20, ""
	file := analyzed(t, ranks[0], o)
	compareWithOracle(t, want, file)
	for _, n := range ranks[1:] {
		if got := analyzed(t, n, o); !bytes.Equal(file, got) {
			t.Errorf("%d ranks make another file than %d", n, ranks[0])
		}
	}
}

// compareWithOracle compares what a file says of intervals.
func compareWithOracle(t *testing.T, want *oracle.Result, file []byte) {
	t.Helper()
	f := openBytes(t, file)
	oracleLines(want).compare(t, fileLines(t, f))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// shown is a trace as text for a report of what is wrong with it.
func shown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "STRING") && !strings.HasPrefix(line, "PARAMETER") {
			b.WriteString(line)
		}
	}
	return b.String()
}
