package results

import (
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of the executions that are looked at, and so of the memory: half a KiB
// each.
const (
	maxRuns    = 4096 // of one node
	maxAllRuns = 1 << 17
)

// runItems are the components of an execution, ascending; its waits for partners come last.
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

// PerExecution adds a line for every execution to the nodes: executions are
// aligned by their number on each process. Every execution costs two reads of
// the running totals.
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

// executionsOf adds the executions of one location, the process's first.
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
