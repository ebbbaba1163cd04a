package jobs

import (
	"errors"

	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/waits"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// waitArrays are the arrays of stageWaits in the region of a location.
var waitArrays = []xtf.TypeID{xtf.TypeWait, xtf.TypeWaitSum}

// waitTotals are those of the whole run.
var waitTotals = []xtf.TypeID{xtf.TypeWaitTotal}

// waitTotals adds up the waits of all locations. Collective.
func (a *analysis) waitTotals(pass *finishPass) error {
	if err := a.reportOverflows(pass.over, "spans of messages and collectives"); err != nil {
		return err
	}
	if err := pass.totals.Agree(); err != nil {
		return err
	}
	err := a.eachOwn(func(p trace.P) error {
		return a.scanSums(p, func(c *xtf.Cursor) error { return pass.totals.Add(p, c) })
	})
	if err := agree(a.c, err); err != nil {
		return err
	}
	if err := pass.totals.Reduce(); err != nil {
		return err
	}
	if a.c.Rank() == 0 {
		err = a.writeWaitTotals(pass.totals)
	}
	return agree(a.c, err)
}

// eachOwn calls f for the locations of this rank until one fails.
func (a *analysis) eachOwn(f func(p trace.P) error) (err error) {
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		if err = f(p); err == nil {
			err = a.pace.poll()
		}
	}
	return err
}

// derivedNodes says of each interval node whether it was derived from time or
// operations.
func (a *analysis) derivedNodes() []bool {
	list := make([]bool, a.nodes.Len())
	for n := range list {
		list[n] = a.nodes.Node(uint32(n)).Form == interval.FormDerived
	}
	return list
}

// scanSums passes the WAITSUM rows of a location to f.
func (a *analysis) scanSums(p trace.P, f func(*xtf.Cursor) error) error {
	c, err := a.rows(p, stageWaits, xtf.TypeWaitSum)
	if err != nil {
		return err
	}
	return f(c)
}

// locate finds the waits of a location while its messages and collectives are finished. What of them is more than can be added up
// over all counts as too large.
func (a *finishPass) locate(p trace.P, f *stats.Finisher) error {
	ival, _, err := a.store.LoadArray(unit(p, stageNumber), xtf.TypeIval)
	if err != nil {
		return err
	}
	causes, err := a.store.Create(a.key(p, stageFinish, kindCollCauses))
	if err != nil {
		return err
	}
	rows := &causeRows{Finisher: f, to: causes}
	in := waits.Location{P: p, Rows: rows, Executions: func() *xtf.Cursor { return xtf.ScanArray(a.types, ival, 0) }}
	if in.Paths, err = a.pathTable(p); err != nil {
		return err
	}
	arrays, err := a.newArrays(unit(p, stageWaits), waitArrays)
	if err != nil {
		return err
	}
	c, err := a.components(p)
	if err != nil {
		return err
	}
	scratch := a.store.Scratch()
	defer scratch.Drop()
	over, err := a.waits.Locate(in, waits.Outputs{
		Waits: arrays[xtf.TypeWait].ArrayBuilder, Sums: arrays[xtf.TypeWaitSum].ArrayBuilder, Components: c, Scratch: scratch,
	})
	if err != nil {
		return err
	}
	a.over += over
	if err := rows.flush(); err != nil {
		return err
	}
	causes.Seal()
	if err := saveArrays(arrays, waitArrays); err != nil {
		return err
	}
	if err := a.putComponents(p, c); err != nil {
		return err
	}
	return a.scanSums(p, a.totals.Note)
}

// causeRows keeps the causes of collectives that pass.
type causeRows struct {
	*stats.Finisher
	to  *xtfwriter.Segment
	buf []byte
	err error
}

// NextCollective keeps the cause of the next one.
func (r *causeRows) NextCollective() *xtf.Collective {
	c := r.Finisher.NextCollective()
	if c != nil {
		if r.buf = c.Cause.Append(r.buf); len(r.buf) >= 4096*xtf.CollCauseBytes {
			r.err = errors.Join(r.err, r.flush())
		}
	}
	return c
}

func (r *causeRows) flush() error {
	_, err := r.to.Append(r.buf)
	r.buf = r.buf[:0]
	return errors.Join(r.err, err)
}

// writeWaitTotals writes the waits of the whole run, on rank 0.
func (a *analysis) writeWaitTotals(t *waits.Totals) error {
	arrays, err := a.newArrays(xtfwriter.Unit{P: xtf.WholeRun, Stage: stageWaits}, waitTotals)
	if err != nil {
		return err
	}
	t.Write(arrays[xtf.TypeWaitTotal].ArrayBuilder)
	return saveArrays(arrays, waitTotals)
}
