package oracle

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Result is what Analyze finds.
type Result struct {
	Origin     trace.Time
	Nodes      []Node // in their order; 0 is the whole run
	Paths      []Path // depth first, by region; 0 is outside of all calls
	Locations  []Location
	Processes  []Process
	Problems   []Problem // of markers, by location
	Delays     map[DelayKey]*Cost
	Replayed   bool   // the replay on the ideal network came to its end
	Resolution uint64 // ticks a second

	Profiles     []Profile             // by location and region
	Messages     []Traffic             // by sender and receiver
	Collectives  []Instances           // by communicator
	Matches      []Match               // by sender
	Diagnostics  map[trace.Code]uint64 // what the analysis itself notices
	WorstReverse uint64                // the longest time from where a message is received to where it is sent
}

// Location is what is known about one location.
type Location struct {
	P          trace.P
	Process    uint32
	Executions []Execution
	Components []Components // by node
	Waits      []WaitSpan   // by begin
	Critical   []Piece      // of the critical path, by begin
}

// Execution is one execution of a node.
type Execution struct {
	Node     int
	From, To uint64
	Flags    uint32 // 1: closed at the last event, 2: by the end of another one
}

// Analyze computes everything.
func Analyze(src trace.Source, o Options) (*Result, error) {
	a := &analysis{d: src.Definitions(), o: o, r: &Result{Diagnostics: map[trace.Code]uint64{}}}
	a.paths.child(0, trace.Undefined) // makes the root
	a.paths = pathTree{list: a.paths.list[:1], index: map[[2]uint32]int{}}
	a.nodes.child(-1, Key{}, false)
	if err := a.read(src); err != nil {
		return nil, err
	}
	a.numberPaths()
	a.r.Locations = make([]Location, len(a.locs))
	for _, l := range a.locs {
		a.communication(l)
	}
	a.match()
	a.synchronise()
	a.gather()
	for _, l := range a.locs {
		a.findMarks(l)
		a.execute(l)
		if a.o.MarkerAsMPI {
			l.unmark()
		}
	}
	a.numberNodes()
	for i, l := range a.locs {
		a.timeline(l)
		r := &a.r.Locations[i]
		r.P, r.Process = l.p, l.process
		r.Waits = a.waits(l)
	}
	a.devices()
	a.replays = a.replayAll()
	a.r.Replayed = a.replays != nil
	a.r.Delays = a.delays()
	for i, list := range a.criticalPath() {
		a.r.Locations[i].Critical = list
	}
	for i, l := range a.locs {
		r := &a.r.Locations[i]
		r.Waits = a.apart(l, append(r.Waits, l.kernels...)) // which cost nobody: the device works
		r.Components = a.components(l)
		for _, e := range l.execs {
			r.Executions = append(r.Executions, Execution{e.node, e.from, e.to, e.flags})
		}
		slices.SortStableFunc(r.Executions, func(x, y Execution) int {
			return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Node, y.Node))
		})
	}
	a.r.Origin, a.r.Nodes, a.r.Paths, a.r.Resolution = a.origin, a.nodes.list, a.paths.list, a.d.Clock().TimerResolution
	a.r.Processes = a.processes()
	for _, l := range a.locs {
		a.r.Profiles = append(a.r.Profiles, a.profile(l)...)
	}
	a.messages()
	return a.r, nil
}

// unmark makes markers ordinary messages.
func (l *location) unmark() {
	for i := range l.visits {
		l.visits[i].marker = false
	}
	for _, m := range l.ops {
		m.marker = false
	}
}

// numberPaths brings the call paths into their order: depth first, by region.
func (a *analysis) numberPaths() {
	children := make([][]int, len(a.paths.list))
	for i := 1; i < len(a.paths.list); i++ {
		children[a.paths.list[i].Parent] = append(children[a.paths.list[i].Parent], i)
	}
	number := make([]int, len(a.paths.list))
	var list []Path
	stack := []int{0}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		number[n] = len(list)
		p := a.paths.list[n]
		p.Parent = number[p.Parent]
		list = append(list, p)
		slices.SortFunc(children[n], func(x, y int) int { return cmp.Compare(a.paths.list[y].Region, a.paths.list[x].Region) })
		stack = append(stack, children[n]...)
	}
	a.paths.list = list
	for _, l := range a.locs {
		for i := range l.calls {
			l.calls[i].path = number[l.calls[i].path]
		}
		for i := range l.visits {
			l.visits[i].path = number[l.visits[i].path]
		}
	}
}
