package stats

import (
	"math"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Tables is what all locations of a trace share: what its definitions mean, and its origin. It is read-only and safe for concurrent use.
type Tables struct {
	Defs   *trace.Definitions
	Origin trace.Time // times in rows are ticks since this instant

	// By index of the region; the last one is for unknown regions.
	class []trace.CallClass
	times []uint32      // timesOf
	state []trace.State // Definitions.StateOf
	alone bool          // some region has a state that does not hold in calls inside
	probe []bool        // Definitions.IsProbe
	polls []bool        // Definitions.Polls

	synchronous []bool        // Definitions.IsSynchronous
	unrecorded  []trace.Code  // Definitions.Unrecorded
	epoch       []trace.Epoch // Definitions.Epoch
	onFile      []uint32      // Definitions.OnFile, 0 for none
	progress    []bool        // its calls communicate and do not only start an operation: messages make progress in them

	files   map[uint32]uint32 // by handle of a file: its communicator, if that has several processes
	metrics map[uint32]bool   // metrics that are defined
	periods map[uint32]uint64 // by interrupt generator that is a timer: ticks
	guid    int64             // attribute with the task of a call, as of APEX; -1 for none

	leastBins uint64
	plan      *interval.Plan
}

// NewTables prepares the tables of a trace whose earliest time is origin.
func NewTables(defs *trace.Definitions, origin trace.Time) *Tables {
	n := len(defs.Regions) + 1
	t := &Tables{
		Defs: defs, Origin: origin, class: make([]trace.CallClass, n), times: make([]uint32, n), state: make([]trace.State, n), probe: make([]bool, n), polls: make([]bool, n), synchronous: make([]bool, n), unrecorded: make([]trace.Code, n), epoch: make([]trace.Epoch, n), onFile: make([]uint32, n), files: map[uint32]uint32{}, progress: make([]bool, n),
		leastBins: leastBins(defs), plan: interval.Default(defs), guid: -1,
	}
	for i := range defs.Attributes {
		if a := &defs.Attributes[i]; defs.Text(a.Name) == "GUID" {
			t.guid = int64(a.Ref)
		}
	}
	t.metrics = make(map[uint32]bool, len(defs.MetricClasses)+len(defs.MetricInstances))
	for i := range defs.MetricClasses {
		t.metrics[defs.MetricClasses[i].Ref] = true
	}
	for i := range defs.MetricInstances {
		t.metrics[defs.MetricInstances[i].Ref] = true
	}
	t.periods = make(map[uint32]uint64, len(defs.InterruptGenerators))
	for i := range defs.InterruptGenerators {
		g := &defs.InterruptGenerators[i]
		if ticks, ok := defs.PeriodTicks(g); ok {
			t.periods[g.Ref] = ticks
		}
	}
	for i := range defs.IoHandles {
		if h := &defs.IoHandles[i]; defs.CommSize(h.Comm) > 1 {
			t.files[h.Ref] = h.Comm
		}
	}
	for i := range defs.Regions {
		t.class[i] = defs.Class(&defs.Regions[i])
		t.times[i] = timesOf(t.class[i])
		t.state[i] = defs.StateOf(&defs.Regions[i])
		t.alone = t.alone || xtf.States[t.state[i]].Inside != 0
		t.probe[i] = defs.IsProbe(&defs.Regions[i])
		t.polls[i] = defs.Polls(&defs.Regions[i])
		t.synchronous[i] = defs.IsSynchronous(&defs.Regions[i])
		t.unrecorded[i] = defs.Unrecorded(&defs.Regions[i])
		t.onFile[i], _ = defs.OnFile(&defs.Regions[i])
		t.epoch[i] = defs.Epoch(&defs.Regions[i])
		t.progress[i] = t.class[i]&trace.ClassStart == 0 && t.class[i]&(trace.ClassP2P|trace.ClassColl|trace.ClassRMA|trace.ClassFileIO) != 0
	}
	return t
}

// period returns the ticks between two samples of an interrupt generator, at most half of what 64 bits hold, also if it is not a timer.
func (t *Tables) period(generator uint32) uint64 {
	if ticks, ok := t.periods[generator]; ok {
		return min(ticks, math.MaxUint64/2)
	}
	return math.MaxUint64 / 2
}

// SetIntervals sets the plan of intervals; the default is interval.Default. It must be called before t is used.
func (t *Tables) SetIntervals(p *interval.Plan) { t.plan = p }

// unknownRegion returns the index of regions without definition.
func (t *Tables) unknownRegion() int { return len(t.class) - 1 }
