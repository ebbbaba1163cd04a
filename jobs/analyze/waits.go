package analyze

import (
	"bufio"
	"io"

	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/stats/waits"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// waitArrays are the arrays of stageWaits in the region of a location.
var waitArrays = []xtf.TypeID{xtf.TypeWait, xtf.TypeWaitSum}

// waitTotals are the arrays of stageWaits of the whole run.
var waitTotals = []xtf.TypeID{xtf.TypeWaitTotal}

// waitTotals adds up the waits of all locations. Collective; the error may be of this rank alone.
func (a *finishPass) waitTotals() error {
	if err := a.found.facts.overflows(a.c, a.over, "spans of messages and collectives"); err != nil {
		return err
	}
	if err := a.totals.Agree(); err != nil {
		return err
	}
	err := a.eachOwn(func(p trace.P) error {
		return a.scanSums(p, func(c *xtf.Cursor) error { return a.totals.Add(p, c) })
	})
	if err := a.totals.Reduce(err); err != nil {
		return err
	}
	if a.c.Rank() == 0 {
		err = a.whole(stageWaits, waitTotals, func(arrays arrays) { a.totals.Write(arrays[xtf.TypeWaitTotal].ArrayBuilder) })
	}
	return err
}

// locate finds the waits of a location, and makes its rows and its time line on the way.
func (a *finishPass) locate(p trace.P, rows *match.Rows) error {
	ival, _, err := a.store.LoadArray(unit(p, stageNumber), xtf.TypeIval)
	if err != nil {
		return err
	}
	in := waits.Location{P: p, Rows: rows, Executions: func() *xtf.Cursor { return xtf.ScanArray(a.types, ival, 0) }, Hosts: func() (*waits.HostWait, error) {
		x, call, ok, err := a.within.Wait(p)
		if !ok {
			return nil, err
		}
		return &waits.HostWait{Wait: x, CallN: call}, err
	}}
	if in.Paths, err = a.pathTable(p); err != nil {
		return err
	}
	arrays, err := a.newArrays(unit(p, stageWaits), waitArrays)
	if err == nil {
		err = a.follow(p, arrays[xtf.TypeWait])
	}
	if err != nil {
		return err
	}
	c, err := a.components(p)
	if err != nil {
		return err
	}
	scratch := a.store.Scratch()
	defer scratch.Drop()
	lines, err := a.store.Create(a.key(p, stageFinish, kindLines))
	if err != nil {
		return err
	}
	line, err := a.timeline(p, c, in.Paths)
	if err != nil {
		return err
	}
	a.lines.Begin(p, line, lines)
	over, err := a.waits.Locate(in, waits.Outputs{
		Waits: arrays[xtf.TypeWait].ArrayBuilder, Sums: arrays[xtf.TypeWaitSum].ArrayBuilder, Components: c, Scratch: scratch, Follower: a.lines,
	})
	if err == nil {
		err = a.lines.End()
	}
	if err != nil {
		return err
	}
	lines.Seal()
	a.over += over
	if err := saveArrays(arrays, waitArrays); err != nil {
		return err
	}
	if err := a.putComponents(p, c); err != nil {
		return err
	}
	return a.scanSums(p, a.totals.Note)
}

// timeline opens the rows from which the time line of a location is made.
func (a *finishPass) timeline(p trace.P, c *interval.Components, paths []uint32) (*causes.Location, error) {
	l := &causes.Location{Paths: callpath.New(), Global: paths, First: c.Value(0, xtf.ItemFirst), Last: c.Value(0, xtf.ItemLast)}
	var err error
	if l.Calls, err = a.rows(p, stageLoad, xtf.TypeCall); err != nil {
		return nil, err
	}
	if l.Intervals, err = a.rows(p, stageNumber, xtf.TypeIval); err != nil {
		return nil, err
	}
	if l.Transfers, err = a.rows(p, stageLoad, xtf.TypeRMA); err != nil {
		return nil, err
	}
	overhead, err := a.store.Segment(a.key(p, stageLoad, kindOverhead))
	if err != nil {
		return nil, err
	}
	if n := overhead.Size(); n > 0 {
		l.Overhead = bufio.NewReader(io.NewSectionReader(overhead, 0, n))
	}
	return l, nil
}
