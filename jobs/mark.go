package jobs

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/causes"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// After the finish of all locations, what the rest of an analysis needs is in segments but for a few tables. So the
// ends of the later stages are marks: the segments as they are then, and one more with the tables, on rank 0.

// Stages whose end can be marked, by ascending order. The numbers are those of marks; 1 to 4 were others.
const (
	notMarked  uint32 = 0
	markFinish uint32 = 4 + iota
	markCauses
	markThreads
)

var markNames = [...]string{markFinish: "finish", markCauses: "causes", markThreads: "threads"}

// tables are what an analysis holds outside of segments from finish on.
type tables struct {
	Last     uint64 // event of the run
	Events   uint64 // of all locations
	Each     []uint64
	Levels   stats.Levels
	Slabs    causes.Slabs
	Hash     string // of the numbers of events
	Problems trace.Diagnostics
	Summary  *stats.Summary
	Section  []byte // shared call graph
}

// Kinds of segments of stageMark, all of the whole run.
const (
	kindTables = xtfwriter.KindCaller
	kindTrees  = xtfwriter.KindCaller + 1
)

func markKey(kind uint32) xtfwriter.Key {
	return xtfwriter.Key{Unit: xtfwriter.Unit{P: xtf.WholeRun, Stage: stageMark}, Kind: kind}
}

// mark keeps the end of a stage. Collective.
func (a *analysis) mark(stage uint32) error {
	began := time.Now()
	var own []byte
	for _, n := range a.events {
		own = binary.LittleEndian.AppendUint64(own, n)
	}
	parts, err := a.c.Gather(own, 0)
	if err != nil {
		return err
	}
	if a.c.Rank() == 0 {
		err = a.putTables(parts)
	}
	if err = agree(a.c, err); err == nil {
		err = a.ws.Mark(stage)
	}
	a.pace.saved = time.Now()
	a.pace.longest = max(a.pace.longest, a.pace.saved.Sub(began))
	return coded(err)
}

func (a *analysis) putTables(events [][]byte) error {
	t := tables{
		Last: a.last, Events: a.res.Events, Levels: a.levels, Slabs: a.slabs, Hash: a.prov.Events, Problems: a.problems, Summary: a.summary,
		Section: a.section,
	}
	for _, b := range events {
		for ; len(b) >= 8; b = b[8:] {
			t.Each = append(t.Each, binary.LittleEndian.Uint64(b))
		}
	}
	b, err := json.Marshal(&t)
	if err != nil {
		return err
	}
	trees := forest{a.nodes, a.paths}
	for kind, b := range map[uint32][]byte{kindTables: b, kindTrees: trees.encode()} {
		if s, err := a.store.Segment(markKey(kind)); err == nil {
			s.Drop() // of the mark before
		}
		if err := a.store.Put(markKey(kind), b); err != nil {
			return err
		}
	}
	return nil
}

// restore goes back to the last mark of an earlier run and returns its stage; notMarked if there is none, or if something
// of it is damaged. An error leaves the mark as it is. Collective.
func (a *analysis) restore() (uint32, error) {
	k := a.ws.Kept()
	if k == nil || k.Stage() == notMarked || int(k.Stage()) >= len(markNames) || markNames[k.Stage()] == "" { // another build may have other stages
		return notMarked, nil
	}
	a.meter.Stage("resume", a.ownBytes())
	var stop error // ErrStopped, which the workspace does not tell apart
	ok, err := a.ws.AdoptStage(xtf.Proc(a.own.First), xtf.Proc(a.own.End), a.c.Rank() == 0, func(n int64) error {
		a.meter.Add(uint64(n))
		stop = a.pace.poll()
		return stop
	})
	if err != nil { // on all ranks
		return k.Stage(), cmp.Or(agree(a.c, stop), coded(err))
	}
	if !ok {
		if a.c.Rank() == 0 {
			a.pace.redo++
		}
		return notMarked, nil
	}
	a.pace.loading = false
	return k.Stage(), a.takeTables()
}

// takeTables gives all ranks what rank 0 finds in the segments of a mark. Collective.
func (a *analysis) takeTables() error {
	var b, trees []byte
	var err error
	if a.c.Rank() == 0 {
		if b, err = a.store.Get(markKey(kindTables)); err == nil {
			trees, err = a.store.Get(markKey(kindTrees))
		}
	}
	if err = agree(a.c, err); err != nil {
		return err
	}
	for _, part := range []*[]byte{&b, &trees} {
		if *part, err = a.c.Bcast(*part, 0); err != nil {
			return err
		}
	}
	var t tables
	err = json.Unmarshal(b, &t)
	if err == nil && len(t.Each) != a.defs.NumLocations() {
		err = fmt.Errorf("%d locations in a mark of %d", len(t.Each), a.defs.NumLocations())
	}
	var f *forest
	if err == nil {
		f, err = parseForest(trees)
	}
	if err = agree(a.c, err); err != nil {
		return err
	}
	a.nodes, a.paths = f.nodes, f.paths
	a.last, a.res.Events, a.levels, a.slabs, a.prov.Events = t.Last, t.Events, t.Levels, t.Slabs, t.Hash
	a.events = t.Each[a.own.First:a.own.End:a.own.End]
	if a.c.Rank() == 0 {
		a.summary, a.section, a.problems = t.Summary, t.Section, t.Problems
	}
	return nil
}

// due says whether the end of a stage is to be marked: when the last checkpoint is long enough ago on any rank, or the
// job stops. stop says whether any rank was asked to. Collective.
func (p *pacer) due() (mark, stop bool, err error) {
	flag := []int64{0}
	if p.a.o.Every > 0 && time.Since(p.saved) >= p.a.o.Every {
		flag[0] = 1
	}
	if p.asked() {
		flag[0] = 2
	}
	err = p.a.c.AllreduceInt64(flag, mpi.Max)
	return flag[0] > 0, flag[0] > 1, err
}

// boundary ends a stage: all ranks go on, or all stop. Collective.
func (p *pacer) boundary(stage uint32) error {
	mark, stop, err := p.due()
	if err == nil && mark && stage != notMarked {
		if err = p.a.mark(stage); err == nil {
			p.marked = stage
		}
	}
	if err == nil && stop {
		err = ErrStopped
	}
	return err
}
