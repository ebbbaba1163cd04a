package predict

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/predict/pipeline/extract"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrNoRows means that a file lacks the rows of events that Observe needs.
var ErrNoRows = errors.New("the file has no rows of events")

// nobody is the cause of waits without a cause.
const nobody = 1<<32 - 1

// observer reads a run for package extract.
type observer struct {
	f       *xtf.File
	d       *trace.Definitions
	seconds float64  // length of a tick
	rank    []int    // of each location: its process if it is the first location of that, else -1
	class   []string // class of the process of each location; nil: there are no classes
}

// Observe reads messages, collectives, file operations and wait states of the first location of each process: the input for extracting a
// capacity model. jobs says what counts as a job. Memory: 130 bytes for each message, 80 for each collective, 24 for each wait, 16 for each
// MPI call and file operation.
func Observe(f *xtf.File, jobs ObservedJobs) (*extract.Run, error) {
	d, err := callview.Definitions(f)
	if err != nil {
		return nil, err
	}
	o := &observer{f: f, d: d}
	o.seconds = 1 / float64(max(1, o.d.Clock().TimerResolution))
	o.rank = slices.Repeat([]int{-1}, o.d.NumLocations())
	out := &extract.Run{Ranks: make([]extract.Rank, len(o.d.Processes()))}
	for r, p := range o.d.Processes() {
		o.rank[p.First] = r
	}
	if err := o.classes(); err != nil {
		return nil, err
	}
	for r, p := range o.d.Processes() {
		if err := o.process(&out.Ranks[r], p); err != nil {
			return nil, fmt.Errorf("process %d: %w", r, err)
		}
	}
	if err := o.jobs(out, jobs); err != nil {
		return nil, err
	}
	out.Input, err = o.input()
	return out, err
}

// classes reads which processes compute alike.
func (o *observer) classes() error {
	return xtf.Each(o.f, xtf.WholeRun, func(_ uint64, m *xtf.Member) error {
		if m.Key >= uint64(len(o.rank)) {
			return xtf.ErrCorrupt
		}
		if o.class == nil {
			o.class = make([]string, len(o.rank))
		}
		o.class[m.Key] = fmt.Sprintf("class %d", m.Class)
		return nil
	})
}

// input returns the identity of the trace from the provenance.
func (o *observer) input() (string, error) {
	b, err := o.f.Provenance()
	if err != nil {
		return "", err
	}
	var p struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return "", fmt.Errorf("provenance: %w", errors.Join(err, xtf.ErrCorrupt))
	}
	return "sha256:" + strings.ToValidUTF8(p.Input, "?"), nil
}

// process reads the first location of a process.
func (o *observer) process(r *extract.Rank, p trace.Process) error {
	proc := xtf.Proc(p.First)
	_, node := o.d.Place(p.Group)
	r.Node = cmp.Or(strings.ToValidUTF8(node, "?"), "node")
	if o.class != nil {
		r.Class = o.class[proc]
	}
	process, _ := o.d.Process(p.First)
	calls := 0
	err := xtf.Each(o.f, proc, func(_ uint64, c *xtf.Call) error {
		if c.End < c.T {
			return xtf.ErrCorrupt
		}
		if calls == 0 {
			r.Begin = o.time(c.T)
		}
		calls++
		if c.Flags&xtf.FlagOutermostMPI != 0 && c.Flags&xtf.FlagMarker == 0 && c.End != xtf.Never {
			r.Calls = append(r.Calls, extract.Span{Begin: o.time(c.T), End: o.time(c.End)})
		}
		switch region := o.d.Region(c.Region); {
		case o.d.StartsMPI(region):
			r.Begin = o.time(c.End)
		case o.d.EndsMPI(region):
			r.End = o.time(c.T)
		}
		return nil
	})
	err = cmp.Or(err,
		xtf.Each(o.f, proc, func(n uint64, m *xtf.P2P) error { return o.message(r, n, m) }),
		xtf.Each(o.f, proc, func(_ uint64, c *xtf.Coll) error { return o.collective(r, process, c) }),
		xtf.Each(o.f, proc, func(_ uint64, x *xtf.IO) error { return o.file(r, x) }),
		xtf.Each(o.f, proc, func(_ uint64, w *xtf.Wait) error { return o.wait(r, w) }))
	if err != nil {
		return err
	}
	if calls == 0 {
		return ErrNoRows
	}
	slices.SortStableFunc(r.Messages, func(a, b extract.Message) int { return cmp.Compare(a.End, b.End) })
	slices.SortStableFunc(r.Collectives, func(a, b extract.Collective) int { return cmp.Compare(a.End, b.End) })
	if n := len(r.Messages); n > 0 {
		r.End = max(r.End, r.Messages[n-1].End)
	}
	if n := len(r.Collectives); n > 0 {
		r.End = max(r.End, r.Collectives[n-1].End)
	}
	return nil
}

// wait adds a wait state that another process caused. It leaves out waits for a device, and waits until the others have passed (no
// process is their cause), which are part of the operation.
func (o *observer) wait(r *extract.Rank, w *xtf.Wait) error {
	if w.End < w.T {
		return xtf.ErrCorrupt
	}
	if w.CauseP == nobody || xtf.PatternItem(w.Pattern) == xtf.ItemLateKernel {
		return nil
	}
	r.Waits = append(r.Waits, extract.Wait{
		Span: extract.Span{Begin: o.time(w.T), End: o.time(w.End)}, InSend: xtf.WaitsForMessage(w.Pattern) && w.Pattern&xtf.WaitPatternMask != xtf.WaitLateSender,
	})
	return nil
}

// message adds one side of a message whose other side is another process's.
func (o *observer) message(r *extract.Rank, n uint64, m *xtf.P2P) error {
	if m.Kind&(xtf.P2PMarker|xtf.P2PUnmatched|xtf.P2PIncomplete) != 0 || m.End == xtf.Never {
		return nil
	}
	if uint64(m.MateP) >= uint64(len(o.rank)) || m.End < m.T {
		return xtf.ErrCorrupt
	}
	peer := o.rank[m.MateP]
	if peer < 0 {
		return nil
	}
	x := extract.Message{
		Peer: peer, Send: m.Kind&xtf.P2PKindMask == xtf.P2PSend, Begin: o.time(m.T), End: o.time(m.End), Bytes: m.Bytes, Row: n, Mate: m.MateN,
		Function: o.name(m.Region),
	}
	x.Done, x.Ready = x.End, x.Begin
	if x.Send && m.Done != xtf.Never {
		x.Done = max(x.End, o.time(m.Done))
	}
	x.Awaited = x.Send && m.Kind&(xtf.P2PAwaited|xtf.P2PAwaitedPost) != 0
	if !x.Send && m.Kind&xtf.P2PAwaitedPost != 0 {
		x.Ready = min(x.Begin, o.time(m.Post))
	}
	r.Messages = append(r.Messages, x)
	return nil
}

// collective adds a member of a collective operation.
func (o *observer) collective(r *extract.Rank, process uint32, c *xtf.Coll) error {
	if c.End == xtf.Never || c.Ordinal == xtf.Never || o.d.IsSelf(c.Comm) {
		return nil
	}
	if c.End < c.T {
		return xtf.ErrCorrupt
	}
	x := extract.Collective{
		Begin: o.time(c.T), End: o.time(c.End), Comm: c.Comm, Ordinal: c.Ordinal, Flow: extract.NoFlow, Function: o.name(c.Region),
	}
	switch trace.CollectiveClass(c.Flags&xtf.CollOpMask) &^ trace.ClassColl {
	case trace.ClassBarrier, trace.ClassNxN:
		x.Flow = extract.AllToAll
	case trace.ClassOneToN:
		x.Flow = extract.OneToAll
	case trace.ClassNToOne:
		x.Flow = extract.AllToOne
	case trace.ClassPrefix:
		x.Flow = extract.Prefix
	}
	x.Root = o.d.IsRoot(c.Comm, c.Root, process)
	r.Collectives = append(r.Collectives, x)
	return nil
}

func (o *observer) file(r *extract.Rank, x *xtf.IO) error {
	if x.End == xtf.Never {
		return nil
	}
	if x.End < x.T {
		return xtf.ErrCorrupt
	}
	s := extract.Span{Begin: o.time(x.T), End: o.time(x.End)}
	if n := len(r.Files); n > 0 { // operations that overlap count once
		s.Begin = max(s.Begin, r.Files[n-1].End)
	}
	if s.Begin < s.End {
		r.Files = append(r.Files, s)
	}
	return nil
}

func (o *observer) time(ticks uint64) float64 { return float64(ticks) * o.seconds }

func (o *observer) name(region uint32) string {
	if r := o.d.Region(region); r != nil {
		return o.d.Text(r.Name)
	}
	return ""
}

// ErrNoJob means that the run does not have the requested jobs.
var ErrNoJob = errors.New("no such job in the run")

// ObservedJobs says what a job is. Zero value: the run is one job, from MPI_Init to MPI_Finalize.
type ObservedJobs struct {
	Node   *uint32 // each execution of this node of the interval tree
	Region string  // each call of this function that is not inside of another
	Repeat bool    // each execution of the outermost interval, or else function, that all processes execute more than once
}

func (o *observer) jobs(out *extract.Run, j ObservedJobs) error {
	if j.Repeat {
		var err error
		if j, err = o.repeated(out); err != nil {
			return err
		}
	}
	if j.Node == nil && j.Region == "" {
		return nil
	}
	found := false
	for r, p := range o.d.Processes() {
		x := &out.Ranks[r]
		var err error
		if j.Node != nil {
			err = o.executions(x, p, *j.Node)
		} else {
			names := o.regionsOf(j.Region)
			var end uint64
			err = xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, c *xtf.Call) error {
				if c.End == xtf.Never || !names[c.Region] || c.T < end {
					return nil
				}
				end = c.End
				return o.job(x, c.T, c.End)
			})
		}
		if err != nil {
			return fmt.Errorf("process %d: %w", r, err)
		}
		found = found || len(x.Jobs) > 0
	}
	if !found {
		return fmt.Errorf("%w: no process executes it", ErrNoJob)
	}
	return nil
}

// executions makes a job of each execution of a node on the first location of a process.
func (o *observer) executions(r *extract.Rank, p trace.Process, node uint32) error {
	return xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, x *xtf.Ival) error {
		if x.Node == node {
			return o.job(r, x.T, x.End)
		}
		return nil
	})
}

func (o *observer) job(r *extract.Rank, begin, end uint64) error {
	if end < begin {
		return xtf.ErrCorrupt
	}
	r.Jobs = append(r.Jobs, extract.Span{Begin: o.time(begin), End: o.time(end)})
	return nil
}

// regionsOf returns the regions with a name.
func (o *observer) regionsOf(name string) map[uint32]bool {
	found := map[uint32]bool{}
	for i := range o.d.Regions {
		if r := &o.d.Regions[i]; o.d.Text(r.Name) == name {
			found[r.Ref] = true
		}
	}
	return found
}

// repeat counts the executions of a candidate for a job, rank by rank.
type repeat struct {
	here   int // executions of the current rank
	each   int // executions of each earlier rank that communicates
	ranks  int // number of these ranks
	uneven bool
	ticks  float64
}

func (x *repeat) add(ticks uint64) {
	x.here++
	x.ticks += float64(ticks)
}

// repeats are the candidates, by node or region.
type repeats map[uint32]*repeat

func (list repeats) end(communicates bool) {
	for _, x := range list {
		if x.here > 0 && communicates {
			x.each = cmp.Or(x.each, x.here)
			x.uneven = x.uneven || x.here != x.each
			x.ranks++
		}
		x.here = 0
	}
}

// regular reports whether all communicating ranks have the same number of executions, more than one.
func (x *repeat) regular(communicating int) bool {
	return x.ranks == communicating && !x.uneven && x.each > 1
}

// repeated returns the outermost node or function that all processes execute repeatedly; of several the one with the most time.
func (o *observer) repeated(out *extract.Run) (ObservedJobs, error) {
	nodes, regions, parents := repeats{}, repeats{}, map[uint32]uint32{}
	err := xtf.Each(o.f, xtf.WholeRun, func(_ uint64, x *xtf.Interval) error {
		if uint64(x.Parent) >= x.Key && x.Key > 0 {
			return xtf.ErrCorrupt
		}
		if x.Key > 0 && x.Key < 1<<32 {
			nodes[uint32(x.Key)], parents[uint32(x.Key)] = &repeat{}, x.Parent
		}
		return nil
	})
	if err != nil {
		return ObservedJobs{}, err
	}
	communicating := 0
	for r, p := range o.d.Processes() {
		err = xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, x *xtf.Ival) error {
			if n := nodes[x.Node]; n != nil {
				n.add(x.End - min(x.T, x.End))
			}
			return nil
		})
		if err == nil {
			err = o.countRegions(regions, xtf.Proc(p.First))
		}
		if err != nil {
			return ObservedJobs{}, err
		}
		talks := out.Ranks[r].Talks()
		nodes.end(talks)
		regions.end(talks)
		if talks {
			communicating++
		}
	}
	covered := map[uint32]bool{} // descendant of a candidate; parents have lower numbers
	if n, ok := mostTime(nodes, func(n uint32, x *repeat) bool {
		above := nodes[parents[n]]
		covered[n] = covered[parents[n]] || above != nil && above.regular(communicating)
		return !covered[n] && x.regular(communicating)
	}); ok {
		return ObservedJobs{Node: &n}, nil
	}
	if ref, ok := mostTime(regions, func(_ uint32, x *repeat) bool { return x.regular(communicating) }); ok {
		return ObservedJobs{Region: o.name(ref)}, nil
	}
	return ObservedJobs{}, fmt.Errorf("%w: no interval and no function is executed equally often, and more than once, by all processes. "+
		"Name what a job is, or give the run intervals: analyze --between coll:Allreduce, or markers in the program", ErrNoJob)
}

// countRegions counts the calls of functions of the program, without recursive calls.
func (o *observer) countRegions(list repeats, p xtf.Proc) error {
	open := map[uint32]uint64{}
	return xtf.Each(o.f, p, func(_ uint64, c *xtf.Call) error {
		if c.End == xtf.Never || c.End < c.T || c.T < open[c.Region] || c.Flags&xtf.FlagMarker != 0 || o.d.IsMPI(o.d.Region(c.Region)) {
			return nil
		}
		open[c.Region] = c.End
		if list[c.Region] == nil {
			list[c.Region] = &repeat{}
		}
		list[c.Region].add(c.End - c.T)
		return nil
	})
}

// mostTime returns the candidate with the most time, of equals the lowest. It calls candidate in ascending order.
func mostTime(list repeats, candidate func(uint32, *repeat) bool) (best uint32, ok bool) {
	for _, k := range slices.Sorted(maps.Keys(list)) {
		if candidate(k, list[k]) && (!ok || list[k].ticks > list[best].ticks) {
			best, ok = k, true
		}
	}
	return best, ok
}
