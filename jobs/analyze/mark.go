package analyze

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// From finish on, the result of a stage is a value that can be encoded, and segments. So there can be a mark at the end of these stages: the
// segments at that time, and one more with the value of rank 0.

// Stages with marks, ascending. Their numbers are in files; 1 to 4 were other stages.
const (
	notMarked  uint32 = 0
	markFinish uint32 = 4 + iota
	markCauses
	markThreads
)

var markNames = [...]string{markFinish: "finish", markCauses: "causes", markThreads: "threads"}

// markKey is the segment of the value.
var markKey = xtfwriter.Key{Unit: xtfwriter.Unit{P: xtf.WholeRun, Stage: stageMark}, Kind: xtfwriter.KindCaller}

// mark saves a mark at the end of a stage, with its result. Collective.
func (p *pacer) mark(stage uint32, found any) error {
	began := time.Now()
	a := p.a
	var err error
	if a.c.Rank() == 0 {
		var b []byte
		if b, err = json.Marshal(found); err == nil {
			if s, e := a.store.Segment(markKey); e == nil {
				s.Drop() // of the mark before
			}
			err = a.store.Put(markKey, b)
		}
	}
	if err = jobs.Agree(a.c, err); err == nil {
		err = a.ws.Mark(stage)
	}
	p.marked, p.saved = stage, time.Now()
	p.longest = max(p.longest, p.saved.Sub(began))
	return jobs.Coded(err)
}

// restore restores the last mark of an earlier run and returns its value; nil if there is none or it is damaged. An error does not change
// the mark. Collective.
func (a *job) restore() (*finished, error) {
	k := a.ws.Kept()
	if k == nil || k.Stage() == notMarked || int(k.Stage()) >= len(markNames) || markNames[k.Stage()] == "" { // another build may have other stages
		return nil, nil
	}
	a.begin("resume")
	var stop error // jobs.ErrStopped; AdoptStage does not return it as such
	ok, err := a.ws.AdoptStage(xtf.Proc(a.own.First), xtf.Proc(a.own.End), a.c.Rank() == 0, func(n int64) error {
		a.meter.Add(uint64(n))
		stop = a.pace.poll()
		return stop
	})
	if ok || err != nil { // on all ranks
		a.pace.from = k.Stage()
	}
	if err != nil {
		return nil, cmp.Or(jobs.Agree(a.c, stop), jobs.Coded(err))
	}
	if !ok {
		if a.c.Rank() == 0 {
			a.pace.redo++
		}
		return nil, nil
	}
	a.pace.loading = false
	return a.takeFound()
}

// takeFound returns the value of the mark on all ranks. Collective.
func (a *job) takeFound() (*finished, error) {
	b, err := jobs.FromRank(a.c, 0, func() ([]byte, error) { return a.store.Get(markKey) })
	if err != nil {
		return nil, err
	}
	f := &finished{}
	err = json.Unmarshal(b, f)
	if err == nil && (len(f.Each) != a.defs.NumLocations() || f.Forest == nil) {
		err = fmt.Errorf("%d locations in a mark of %d", len(f.Each), a.defs.NumLocations())
	}
	if err = jobs.Agree(a.c, err); err != nil {
		return nil, err
	}
	f.own = f.Each[a.own.First:a.own.End:a.own.End]
	a.res.Events = f.Events
	if a.c.Rank() != 0 {
		f.Summary, f.Section, f.Problems = nil, nil, trace.Diagnostics{}
	}
	return f, nil
}

// wants returns what this rank wants at the end of a stage: 0 to go on; 1 to save a mark, because the last checkpoint is long enough ago; 2
// to stop too, because it was asked to.
func (p *pacer) wants() int64 {
	switch {
	case p.asked():
		return 2
	case p.a.o.Every > 0 && time.Since(p.saved) >= p.a.o.Every:
		return 1
	}
	return 0
}

// boundary ends a stage with its result or error on this rank: all ranks go on, or all stop. It saves a mark if a rank wants that.
// Collective.
func (p *pacer) boundary(stage string, found any, err error) error {
	var agreed *mpi.AgreedError
	if errors.As(err, &agreed) {
		return err // on all ranks
	}
	const failed = 3 // more than any rank wants
	most := []int64{p.wants()}
	if err != nil {
		most[0] = failed
	}
	if rerr := p.a.c.AllreduceInt64(most, mpi.Max); rerr != nil {
		return errors.Join(err, rerr)
	}
	if most[0] == failed {
		return jobs.Agree(p.a.c, err)
	}
	if n := slices.Index(markNames[:], stage); most[0] > 0 && n >= 0 {
		err = p.mark(uint32(n), found)
	}
	if err == nil && most[0] > 1 {
		err = jobs.ErrStopped
	}
	return err
}
