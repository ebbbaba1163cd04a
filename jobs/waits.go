package jobs

import (
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/waits"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// waitArrays are the arrays of stageWaits in the region of a location.
var waitArrays = []xtf.TypeID{xtf.TypeWait, xtf.TypeWaitSum}

// waitTotals are those of the whole run.
var waitTotals = []xtf.TypeID{xtf.TypeWaitTotal}

// waits finds the wait states of every location, and what messages and collectives
// add to its intervals; then the waits of all locations add up. Nothing is waited
// for without rows.
func (a *analysis) waits() error {
	if a.o.GraphOnly {
		return nil
	}
	a.meter.Stage("waits", a.ownBytes())
	run := waits.NewRun(a.defs, a.derivedNodes(), waits.Options{PostPoint: a.intervals.PostPoint})
	totals := waits.NewTotals(a.c, a.paths)
	over := uint64(0)
	err := a.eachOwn(func(p trace.P) error {
		n, err := a.waitsOf(run, p)
		over += n
		a.meter.Add(a.size.Weights[p])
		if err != nil {
			return err
		}
		return a.scanSums(p, totals.Note)
	})
	if err := agree(a.c, err); err != nil {
		return err
	}
	if err := a.reportOverflows(over, "spans of messages and collectives"); err != nil {
		return err
	}
	if err := totals.Agree(); err != nil {
		return err
	}
	err = a.eachOwn(func(p trace.P) error {
		return a.scanSums(p, func(c *xtf.Cursor) error { return totals.Add(p, c) })
	})
	if err := agree(a.c, err); err != nil {
		return err
	}
	if err := totals.Reduce(); err != nil {
		return err
	}
	if a.c.Rank() == 0 {
		err = a.writeWaitTotals(totals)
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

// waitsOf finds the waits of a location, and returns how many sums were too large.
func (a *analysis) waitsOf(run *waits.Run, p trace.P) (overflows uint64, err error) {
	in, err := a.waitLocation(p)
	if err != nil || in.P2PRows|in.CollRows == 0 {
		return 0, err
	}
	arrays, err := a.newArrays(unit(p, stageWaits), waitArrays)
	if err != nil {
		return 0, err
	}
	c, err := a.components(p)
	if err != nil {
		return 0, err
	}
	scratch := a.store.Scratch()
	defer scratch.Drop()
	overflows, err = run.Locate(in, waits.Outputs{
		Waits: arrays[xtf.TypeWait].ArrayBuilder, Sums: arrays[xtf.TypeWaitSum].ArrayBuilder, Components: c, Scratch: scratch,
	})
	if err != nil {
		return 0, err
	}
	if err := saveArrays(arrays, waitArrays); err != nil {
		return 0, err
	}
	return overflows, a.putComponents(p, c)
}

// waitLocation opens what is known of the messages and collectives of a location.
func (a *analysis) waitLocation(p trace.P) (waits.Location, error) {
	in := waits.Location{P: p}
	arrays := map[xtf.TypeID]xtf.FinishedArray{}
	for _, x := range []struct {
		stage uint32
		id    xtf.TypeID
		rows  *uint64
	}{{stageFinish, xtf.TypeP2P, &in.P2PRows}, {stageFinish, xtf.TypeColl, &in.CollRows}, {stageNumber, xtf.TypeIval, nil}} {
		array, ok, err := a.store.LoadArray(unit(p, x.stage), x.id)
		if err != nil {
			return in, err
		}
		if arrays[x.id] = array; ok && x.rows != nil {
			*x.rows = array.Summary.Len()
		}
	}
	in.Scan = func(id xtf.TypeID) *xtf.Cursor { return xtf.ScanArray(a.types, arrays[id], 0) }
	var segments [4]*xtfwriter.Segment
	for i, x := range []struct{ stage, kind uint32 }{{stageLoad, kindP2PPaths}, {stageLoad, kindCollPaths}, {stageFinish, kindCollCauses}, {stageFinish, kindSendCalls}} {
		var err error
		if segments[i], err = a.store.Segment(a.key(p, x.stage, x.kind)); err != nil {
			return in, err
		}
	}
	in.P2PPaths, in.CollPaths, in.Causes, in.Sends = segments[0], segments[1], segments[2], segments[3]
	in.SendCalls = uint64(segments[3].Size()) / xtf.SendCallBytes
	var err error
	in.Paths, err = a.pathTable(p)
	return in, err
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
