package analyze

import (
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// compArrays are the arrays that the reduction fills for each location.
var compArrays = []xtf.TypeID{xtf.TypeComp}

// reduce writes the components of all locations, their distributions over processes, and the rows of the whole run. After it all rows are
// complete. Memory of a rank: nodes x items.
func (a *job) reduce(in *finished) (*finished, error) {
	a.begin("reduce")
	r := reduction{job: a, found: in, sums: stats.NewReducer(a.tables, a.ranges, a.c.Rank(), in.Forest.nodes.Len())}
	var err error
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		if err = r.location(p); err != nil {
			err = fmt.Errorf("components of location %d: %w", p, err)
		}
	}
	if err := in.facts.overflows(a.c, r.over, "times on an ideal network"); err != nil {
		return nil, err
	}
	spreads, err := r.sums.Reduce(a.c, err)
	if err != nil {
		return nil, err
	}
	sumMax, err := r.sumOfLongest(spreads, r.sums.Claimed())
	if err != nil {
		return nil, err
	}
	partial, err := jobs.FromRank(a.c, 0, func() ([]byte, error) {
		if err := r.end(spreads, sumMax); err != nil || !a.res.Partial {
			return nil, err
		}
		return []byte{1}, nil
	})
	if err == nil {
		a.res.Partial = len(partial) > 0
	}
	return in, err
}

// overflows makes a diagnostic for the sums of locations, on all ranks, that were too large and are unknown. Collective.
func (f *facts) overflows(c mpi.Comm, own uint64, what string) error {
	err := jobs.OverRanks(c, mpi.Sum, &own)
	if err == nil && own > 0 {
		f.problem(c, trace.Diagnostic{Code: trace.DiagOverflow, Count: own, Detail: what})
	}
	return err
}

// reduction is stage reduce.
type reduction struct {
	*job
	found *finished
	sums  *stats.Reducer
	over  uint64 // number of times that were too large
}

// location writes the COMP rows of a location and adds it to the sums. It drops ideal times above xtf.Most: in the replay a location may
// wait for the computation of all others, one after another.
func (a *reduction) location(p trace.P) error {
	c, err := a.components(p)
	if err != nil {
		return err
	}
	for n := range uint32(c.Len()) {
		for _, item := range [...]xtf.Item{xtf.ItemIdeal, xtf.ItemIdealFirst, xtf.ItemIdealLast} {
			if c.Value(n, item) > xtf.Most(a.defs.NumLocations()) {
				c.Forget(item)
				a.over++
			}
		}
	}
	arrays, err := a.newArrays(unit(p, stageReduce), compArrays)
	if err != nil {
		return err
	}
	out := arrays[xtf.TypeComp]
	c.Each(func(node uint32, item xtf.Item, v uint64) {
		row, _ := out.Append()
		x := xtf.Comp{Key: xtf.NodeKey(node, uint32(item)), Value: v}
		x.Put(row)
	})
	if err := saveArrays(arrays, compArrays); err != nil {
		return err
	}
	a.sums.Add(p, c)
	for _, kind := range []uint32{kindComponents, kindOverhead, kindNotes} {
		a.drop(p, kind)
	}
	a.meter.Add(a.size.Weights[p])
	return nil
}

// sumOfLongest returns INTERVAL.sumMax of all nodes (stats.SumOfLongest). A node that no process executed twice has the longest execution.
// Without rows other nodes have xtf.Never. spreads are on rank 0. Collective.
func (a *reduction) sumOfLongest(spreads stats.Spreads, claimed []bool) ([]uint64, error) {
	var b []byte
	for i := range spreads {
		x, _ := spreads[i].Item(xtf.ItemExecutions)
		b = jobs.AppendWords(b, x.Max)
	}
	b, err := a.c.Bcast(b, 0)
	if err != nil {
		return nil, err
	}
	counts := jobs.TakeWords[uint64](b)
	sums := make([]uint64, len(counts))
	if !a.o.GraphOnly {
		if sums, err = stats.SumOfLongest(a.c, counts, a.firstExecutions(claimed)); err != nil {
			return nil, err
		}
	}
	for n := range spreads {
		if counts[n] < 2 {
			x, _ := spreads[n].Item(xtf.ItemTime)
			sums[n] = x.Max
		} else if a.o.GraphOnly {
			sums[n] = xtf.Never
		}
	}
	return sums, nil
}

// firstExecutions returns a function that visits the executions of this rank's processes: for each node and process those of the first
// location that executed it. claimed are the nodes for which that location of the rank's first process is on a lower rank.
func (a *reduction) firstExecutions(claimed []bool) func(visit func(*xtf.Ival)) error {
	return func(visit func(*xtf.Ival)) error {
		owner := make([]ownership, a.found.Forest.nodes.Len())
		if claimed != nil {
			process, _ := a.defs.Process(a.own.First)
			for n := range claimed {
				if claimed[n] {
					owner[n] = ownership{process + 1, trace.P(trace.Undefined)}
				}
			}
		}
		for p := a.own.First; p < a.own.End; p++ {
			if a.defs.Location(p).Type == trace.MetricLocation {
				continue
			}
			rows, err := a.rows(p, stageNumber, xtf.TypeIval)
			if err != nil {
				return err
			}
			process, _ := a.defs.Process(p)
			for executions := xtf.RowsOf[xtf.Ival](rows); executions.Next(); {
				x := &executions.Row
				o := &owner[x.Node]
				if o.process != process+1 {
					*o = ownership{process + 1, p}
				}
				if o.location == p {
					visit(x)
				}
			}
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

// ownership is the first location of a process that executed a node.
type ownership struct {
	process  uint32 // 1 + its number
	location trace.P
}

// end writes the rows of the whole run, on rank 0.
func (a *reduction) end(spreads stats.Spreads, sumMax []uint64) error {
	f := a.found
	f.Summary.AddProblems(a.defs.Problems())
	f.Summary.AddProblems(&f.Problems)
	a.res.Codes = f.Summary.Codes
	a.res.Partial = f.Summary.Partial()
	if a.o.Strict && a.res.Partial {
		return jobs.Fail(jobs.ExitPartial, jobs.ErrDamaged)
	}
	return a.whole(stageWhole, wholeArrays, func(arrays arrays) {
		last, _ := spreads[0].Item(xtf.ItemLast)
		f.Summary.Write(a.tables, f.Levels.Top, last.Max, arrays[xtf.TypeTimeBin].ArrayBuilder, arrays[xtf.TypeDiag].ArrayBuilder)
		spreads.Write(f.Forest.nodes, sumMax, stats.NodeOutputs{
			Intervals: arrays[xtf.TypeInterval].ArrayBuilder, Stats: arrays[xtf.TypeStat].ArrayBuilder, Unmatched: a.o.GraphOnly,
		})
	})
}

// wholeArrays are the arrays about all locations.
var wholeArrays = []xtf.TypeID{xtf.TypeTimeBin, xtf.TypeDiag, xtf.TypeInterval, xtf.TypeStat}
