package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostNodes is how many intervals an answer lists.
const mostNodes = 10000

// intervals answers api/intervals.
func (s *Server) intervals(_ context.Context, p *params) (any, error) {
	return p.run.tree.of(0, p.run.readTree)
}

// readTree reads the tree of intervals with the characteristics of the whole run.
func (x *run) readTree() (*Intervals, error) {
	doc, _, err := report.NewIntervals(x.Run, results.IntervalOptions{})
	if err != nil {
		return nil, err
	}
	a, err := x.File.Array(xtf.WholeRun, xtf.TypeInterval)
	if err != nil {
		return nil, err
	}
	if uint64(len(doc.Nodes)) != a.Len() {
		return nil, fmt.Errorf("%s: %d intervals in %d rows: %w", x.Name, len(doc.Nodes), a.Len(), xtf.ErrCorrupt)
	}
	v := &Intervals{Nodes: []IntervalNode{}, More: max(0, len(doc.Nodes)-mostNodes)}
	err = a.Each(0, uint64(len(doc.Nodes)-v.More), func(n uint64, row []byte) bool {
		var r xtf.Interval
		r.Load(row)
		v.Nodes = append(v.Nodes, nodeOf(doc.Nodes[n], &r))
		return true
	})
	return v, err
}

func nodeOf(i *results.Interval, r *xtf.Interval) IntervalNode {
	n := IntervalNode{
		Node: i.Node(), Parent: r.Parent, Level: r.Level, Label: i.Label(), Name: i.Name, File: i.File, Line: i.Line,
		Executions: i.Executions, Participants: r.Participants, Begin: r.FirstBegin, End: max(r.FirstBegin, r.LastEnd), Efficiency: i.Efficiency,
		Lost: orZero(numbers.Sum(i.Ticks.Lost.Floor())), Execution: decimal(i.Ticks.Execution), MPI: orZero(i.Ticks.MPI), Wait: "0",
	}
	if i.Waits != nil {
		n.Wait = orZero(i.Waits.Total)
	}
	return n
}

// orZero is a sum as a number; one that is not known, below 0, is 0.
func orZero(v numbers.Sum) json.Number { return decimal(uint64(max(v, 0))) }

// interval answers api/interval/{node}.
func (s *Server) interval(ctx context.Context, p *params) (any, error) {
	n, err := parseDecimal(p.tail)
	if err != nil || n >= uint64(p.run.meta.Intervals) {
		return nil, missing("interval/" + p.tail)
	}
	ranks, err := p.ranks()
	if err != nil {
		return nil, err
	}
	o := results.IntervalOptions{Ranks: ranks}
	if p.has("t") {
		begin, end, err := p.span()
		if err != nil {
			return nil, err
		}
		o.Span = &results.Span{Begin: begin, End: end}
		if err := p.run.fewExecutions(ctx, o); err != nil {
			return nil, err
		}
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

// mostSpanRuns is how many executions a span may have whose characteristics are asked for: each costs two reads of all
// running totals.
const mostSpanRuns = 1024

// fewExecutions refuses spans with too many executions.
func (x *run) fewExecutions(ctx context.Context, o results.IntervalOptions) error {
	of, n := o.Ranks.Locations(x.Defs), uint64(0)
	for p := range trace.P(x.meta.Locations) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !of(p) {
			continue
		}
		a, err := x.array(p, xtf.TypeIval)
		if err != nil {
			return err
		}
		in, err := a.Size(o.Span.Begin, o.Span.End)
		if err != nil {
			return err
		}
		if n += in; n > mostSpanRuns {
			return bad("t", fmt.Sprintf("more than %d executions of intervals begin in the window", mostSpanRuns), "Choose fewer ranks or a shorter window")
		}
	}
	return nil
}

// anyNode stands for all intervals.
const anyNode = 1<<64 - 1

// executionsOf answers api/executions.
func (s *Server) executionsOf(_ context.Context, p *params) (any, error) {
	loc, err := p.loc()
	if err != nil {
		return nil, err
	}
	begin, end, err := p.span()
	if err != nil {
		return nil, err
	}
	node, err := p.number("node", anyNode, 0, anyNode)
	if err != nil {
		return nil, err
	}
	limit, err := p.limit(500, 4096)
	if err != nil {
		return nil, err
	}
	v := &Executions{}
	v.List, v.More, err = p.run.executions(loc, begin, end, node, limit)
	return v, err
}

// executions lists the executions of a node, or of all, that overlap a span on location p.
func (x *run) executions(p trace.P, begin, end, node uint64, limit int) ([]Execution, bool, error) {
	list, more := []Execution{}, false
	a, err := x.array(p, xtf.TypeIval)
	if err != nil {
		return list, false, err
	}
	tree, err := x.tree.of(0, x.readTree)
	if err != nil {
		return list, false, err
	}
	looked := 0
	err = a.Overlapping(begin, end, func(n uint64, row []byte) bool {
		var iv xtf.Ival
		iv.Load(row)
		if looked++; node != anyNode && uint64(iv.Node) != node {
			more = looked >= mostPieceRows
			return !more
		}
		if more = len(list) == limit; more {
			return false
		}
		e := Execution{N: n, Node: iv.Node, K: iv.Execution, Begin: iv.T, End: max(iv.T, iv.End)}
		if uint64(iv.Node) < uint64(len(tree.Nodes)) {
			e.Label = tree.Nodes[iv.Node].Label
		}
		list = append(list, e)
		return true
	})
	return list, more, err
}

// classesOf answers api/classes.
func (s *Server) classesOf(_ context.Context, p *params) (any, error) {
	c, err := report.NewClasses(p.run.Run)
	if err != nil {
		return nil, err
	}
	return &Classes{Options: c.Options, Groups: c.Groups}, nil
}
