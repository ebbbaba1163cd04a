package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostNodes is the most intervals that an answer lists.
const mostNodes = 10000

func getIntervals(_ context.Context, p *params) (any, error) {
	return p.run.tree.of(0, p.run.readTree)
}

// readTree reads the tree of intervals with the characteristics of the whole run.
func (x *run) readTree() (*Intervals, error) {
	doc, _, err := report.NewIntervals(x.Run, results.IntervalOptions{})
	if err != nil {
		return nil, err
	}
	pops, lost, err := report.NewPOPs(x.Run, results.Ranks{}, nil, results.Rules{})
	if err != nil {
		return nil, err
	}
	of := map[string]Efficiencies{}
	for i := range pops.Nodes {
		if len(lost) == 0 { // else they would be wrong
			p := &pops.Nodes[i]
			of[fmt.Sprint(p.Path)] = Efficiencies{p.Parallel, p.LoadBalance, p.Communication, p.Serialisation, p.Transfer}
		}
	}
	v, n := &Intervals{Nodes: []IntervalNode{}, More: max(0, len(doc.Nodes)-mostNodes), Lost: append([]table.Lost{}, lost...)}, 0
	err = results.Load(x.Run, xtf.WholeRun, func(r *xtf.Interval) {
		if n < len(doc.Nodes)-v.More {
			i := doc.Nodes[n]
			node := IntervalNode{
				Node: i.Node(), Parent: r.Parent, Level: r.Level, Label: i.Text, Name: i.Name, File: i.File, Line: i.Line,
				Executions: i.Executions, Participants: r.Participants, Begin: r.FirstBegin, End: max(r.FirstBegin, r.LastEnd), Efficiency: i.Efficiency, POP: of[fmt.Sprint(i.Path)],
				Lost: uint64(max(i.Ticks.Lost.Floor(), 0)), Execution: i.Ticks.Execution, MPI: uint64(max(i.Ticks.MPI, 0)), // 0 if not known
			}
			if i.Waits != nil {
				node.Wait = uint64(max(i.Waits.Total, 0))
			}
			v.Nodes = append(v.Nodes, node)
		}
		n++
	})
	if err == nil && len(doc.Nodes) != n {
		err = fmt.Errorf("%s: %d intervals in %d rows: %w", x.Name, len(doc.Nodes), n, xtf.ErrCorrupt)
	}
	return v, err
}

func getInterval(ctx context.Context, p *params) (any, error) {
	n, err := parseDecimal(p.tail)
	if err != nil || n >= uint64(p.run.meta.Intervals) {
		return nil, missing("interval/" + p.tail)
	}
	o := results.IntervalOptions{Ranks: p.ranks()}
	if p.v.Has("t") {
		o.Span = &results.Span{}
		if o.Span.Begin, o.Span.End = p.span(); p.err == nil {
			p.err = p.run.fewExecutions(ctx, o)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	doc, lost, err := report.NewIntervals(p.run.Run, o)
	if err != nil {
		return nil, err
	}
	v := &Interval{Node: uint32(n), Interval: json.RawMessage("null"), Lost: append([]table.Lost{}, lost...)}
	for _, i := range doc.Nodes {
		if uint64(i.Node()) == n {
			v.Interval, err = json.Marshal(i)
		}
	}
	return v, err
}

// mostSpanRuns is the most executions in a span whose characteristics are asked for. Each costs two reads of all running totals.
const mostSpanRuns = 1024

// fewExecutions returns an error if a span has more executions.
func (x *run) fewExecutions(ctx context.Context, o results.IntervalOptions) error {
	n := uint64(0)
	_, err := x.each(ctx, o.Ranks, "intervals", func(p trace.P) error {
		a, err := x.array(p, xtf.TypeIval)
		if err != nil {
			return err
		}
		in, err := a.Size(o.Span.Begin, o.Span.End)
		if n += in; n > mostSpanRuns {
			return bad("t", fmt.Sprintf("more than %d executions of intervals begin in the window", mostSpanRuns), "Choose fewer ranks or a shorter window")
		}
		return err
	})
	return err // what is lost is reported with the characteristics
}

// anyNode means all intervals.
const anyNode = 1<<64 - 1

func getExecutions(_ context.Context, p *params) (any, error) {
	loc := p.loc()
	begin, end := p.span()
	node, limit := p.number("node", anyNode, 0, anyNode), p.limit(500, 4096)
	if p.err != nil {
		return nil, p.err
	}
	var err error
	v := &Executions{}
	v.List, v.More, err = p.run.executions(loc, begin, end, node, limit)
	return v, err
}

// executions lists the executions of a node (or anyNode) that overlap a span on location p.
func (x *run) executions(p trace.P, begin, end, node uint64, limit int) ([]Execution, bool, error) {
	list := []Execution{}
	tree, err := x.tree.of(0, x.readTree)
	if err != nil {
		return list, false, err
	}
	looked := 0
	for n, iv := range results.Overlapping[xtf.Ival](x.Run, p, begin, end, &err) {
		looked++
		switch {
		case node != anyNode && uint64(iv.Node) != node:
			if looked >= mostPieceRows {
				return list, true, nil
			}
			continue
		case len(list) == limit:
			return list, true, nil
		}
		e := Execution{N: n, Node: iv.Node, K: iv.Execution, Begin: iv.T, End: max(iv.T, iv.End)}
		if uint64(iv.Node) < uint64(len(tree.Nodes)) {
			e.Label = tree.Nodes[iv.Node].Label
		}
		list = append(list, e)
	}
	return list, false, err
}

func getClasses(_ context.Context, p *params) (any, error) {
	c, err := report.NewClasses(p.run.Run)
	if err != nil {
		return nil, err
	}
	return &Classes{Options: c.Options, Groups: c.Groups}, nil
}
