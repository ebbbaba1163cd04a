package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// PatternName is the name of the pattern of a WAIT row in documents.
func PatternName(pattern uint32) string {
	if i := xtf.PatternItem(pattern); i != xtf.NumItems {
		return i.String()
	}
	return fmt.Sprintf("pattern %d", pattern&xtf.WaitPatternMask)
}

// OrderName says which kind of wrong order caused a late sender: same or different; "" for none.
func OrderName(pattern uint32) string {
	return map[uint32]string{xtf.WaitOrderSame: "same", xtf.WaitOrderDifferent: "different"}[pattern&xtf.WaitOrderMask]
}

// LaunchName says what is known of the launch of the kernel that a host waits for: queued or late, "" for neither.
func LaunchName(pattern uint32) string {
	return map[uint32]string{xtf.WaitLaunchQueued: "queued", xtf.WaitLaunchLate: "late"}[pattern&xtf.WaitLaunchMask]
}

// IsCompletion reports whether a pattern is a span at the end of a collective. That is not a wait for a partner.
func IsCompletion(pattern uint32) bool {
	p := pattern & xtf.WaitPatternMask
	return p == xtf.WaitBarrierCompletion || p == xtf.WaitNxNCompletion
}

// IsApart reports whether a pattern is not in the total of waits: completions, and waits of hosts for devices, which work
// meanwhile.
func IsApart(pattern uint32) bool {
	return IsCompletion(pattern) || xtf.PatternItem(pattern) == xtf.ItemLateKernel
}

// CallPaths are the call paths of waits and causes, the rows of PATH. Memory: 12 bytes each.
type CallPaths struct {
	r       *Run
	parents []uint32
	regions []uint32
	own     []uint32
}

// MaxPathDepth bounds the regions of a call path that are shown.
const MaxPathDepth = 512

// ReadCallPaths reads the call paths.
func ReadCallPaths(r *Run) (*CallPaths, error) {
	p := &CallPaths{r: r}
	err := xtf.Each(r.File, xtf.WholeRun, func(n uint64, x *xtf.Path) error {
		if x.Key != n || n > 0 && uint64(x.Parent) >= n {
			return fmt.Errorf("row %d of path %d: %w", n, x.Key, xtf.ErrCorrupt)
		}
		p.parents, p.regions = append(p.parents, x.Parent), append(p.regions, x.Region)
		return nil
	})
	if err == nil {
		p.findOwn()
	}
	return p, r.Failed(xtf.WholeRun, "call paths", err)
}

// findOwn finds the results of Own. Parents are before their children.
func (p *CallPaths) findOwn() {
	first, within := map[[2]uint32]uint32{}, make([]bool, len(p.parents)) // the path has a function of the program
	p.own = make([]uint32, len(p.parents))
	for id := 1; id < len(p.parents); id++ {
		parent := p.parents[id]
		x := p.r.Defs.Region(p.regions[id])
		within[id] = within[parent]
		switch {
		case x == nil || parent == 0 && x.Paradigm != trace.ParadigmCompiler: // the program or a thread as a whole
			p.own[id] = uint32(id)
		case !p.r.Defs.OfSystem(x):
			p.own[id], within[id] = uint32(id), true
			if at, ok := first[[2]uint32{p.own[parent], p.regions[id]}]; ok {
				p.own[id] = at
			}
			first[[2]uint32{p.own[parent], p.regions[id]}] = p.own[id]
		case within[id]:
			p.own[id] = p.own[parent]
		default:
			p.own[id] = uint32(id)
		}
	}
}

// Len returns the number of paths, including the one outside of all calls.
func (p *CallPaths) Len() int { return len(p.parents) }

// Parent returns the path of the caller. Path 0 has none.
func (p *CallPaths) Parent(id uint32) uint32 { return p.parents[id] }

// Region returns the reference of the innermost region of a path, trace.Undefined outside of all calls.
func (p *CallPaths) Region(id uint32) uint32 {
	if id == 0 || uint64(id) >= uint64(len(p.regions)) {
		return trace.Undefined
	}
	return p.regions[id]
}

// Own returns a path up to its innermost function of the program: without the functions of the system's libraries inside it. It
// returns the path itself if it has no function of the program. Of several paths that differ only in functions of the system
// (such as recursive sorting), it returns the first.
func (p *CallPaths) Own(id uint32) uint32 {
	if uint64(id) >= uint64(len(p.own)) {
		return id
	}
	return p.own[id]
}

// Names returns the names of the path's regions, outermost first, with the frames of call sites between them. A function that is
// both a region and a frame comes once.
func (p *CallPaths) Names(id uint32) []string {
	list := []string{}
	var frames []string // the next regions may be the same
	for n := 0; id > 0 && uint64(id) < uint64(len(p.parents)) && n < MaxPathDepth; n++ {
		name := CallName(p.r, p.regions[id])
		if k := slices.IndexFunc(frames, func(f string) bool { return f == name || strings.HasPrefix(f, name+" (") }); k >= 0 {
			frames, id = frames[k+1:], p.parents[id]
			continue
		}
		list = append(list, name)
		if x := p.r.Defs.Region(p.regions[id]); x != nil {
			frames = p.r.Defs.CallSite(x)
			slices.Reverse(frames)
			list = append(list, frames...)
		}
		id = p.parents[id]
	}
	slices.Reverse(list)
	return list
}

// pathShown is the number of regions of a call path in text.
const pathShown = 4

// PathLabel prints the innermost regions of a call path.
func PathLabel(names []string) string {
	if len(names) == 0 {
		return "(outside recorded calls)"
	}
	shown := names[max(0, len(names)-pathShown):]
	parts := make([]string, len(shown))
	for i, n := range shown {
		parts[i] = numbers.Clean(n, 40)
	}
	text := strings.Join(parts, " > ")
	if len(shown) < len(names) {
		text = "... > " + text
	}
	return text
}

// PathCell is a cell with a call path.
func PathCell(names []string) table.Cell {
	return table.Named(PathLabel(names), strings.Join(names, " > "))
}

// RanksText prints a set of processes.
func RanksText(ranks string) string {
	if ranks == "all" {
		return "all processes"
	}
	return "ranks " + ranks
}

// Side is a call on one side of a message, or of a member of a collective.
type Side struct {
	P          trace.P
	Begin, End uint64
	Region     uint32
	Call       uint64 // its row, xtf.Never for none
	posted     uint64 // begin of the call that starts it; for a message, the call that is waited for
}

// Referred reads a row that another row names. If it does not exist, the file is damaged.
func Referred[T any, R xtf.Form[T]](r *Run, p uint32, n uint64) (x T, err error) {
	if uint64(p) >= uint64(r.Defs.NumLocations()) {
		return x, fmt.Errorf("%s: location %d of %d: %w", r.Name, p, r.Defs.NumLocations(), xtf.ErrCorrupt)
	}
	a, err := xtf.ArrayOf[T, R](r.File, xtf.Proc(p))
	if err != nil {
		return x, err
	}
	if n >= a.Len() {
		return x, fmt.Errorf("%s: row %d of %d of type %s: %w", r.Name, n, a.Len(), a.Type().Name, xtf.ErrCorrupt)
	}
	row, err := a.Row(n, nil)
	if err == nil {
		R(&x).Load(row)
	}
	return x, err
}

// Mate returns the other side of a message, nil if there is none.
func Mate(r *Run, m *xtf.P2P) (*Side, error) {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PUnmatched != 0 {
		return nil, nil
	}
	o, err := Referred[xtf.P2P](r, m.MateP, m.MateN)
	return &Side{trace.P(m.MateP), o.T, o.End, o.Region, o.CallN, o.T}, err
}

// Member returns the call of location p in the collective of c; nil if p did not take part.
func Member(r *Run, c *xtf.Coll, p trace.P) (*Side, error) {
	var s *Side
	err := r.File.Members(c.Comm, c.Ordinal, xtf.Proc(p), xtf.Proc(p)+1, nil, func(_ xtf.Proc, _ uint64, row []byte) bool {
		var o xtf.Coll
		o.Load(row)
		s = &Side{p, o.T, o.End, o.Region, o.CallN, o.Post}
		return false
	})
	return s, err
}

// started returns the call that starts what the call of s completes; s itself if that is the same call.
func started(r *Run, s *Side) (*Side, error) {
	if s == nil || s.posted >= s.Begin {
		return s, nil
	}
	var err error
	for n, x := range Overlapping[xtf.Call](r, s.P, s.posted, s.posted+1, &err) {
		if x.T == s.posted && trace.CallClass(x.Class)&trace.ClassMPI != 0 {
			return &Side{s.P, x.T, x.End, x.Region, n, x.T}, nil
		}
	}
	return s, err
}

// WaitedFor finds the call that ended a wait of location p: the other side of the message, for a send the call that posts its
// receive or in which the receiver makes progress; the kernel or transfer; or the call of the member that was last to start its
// part in the collective. It returns nil where that is not known.
func WaitedFor(r *Run, p trace.P, w *xtf.Wait) (*Side, error) {
	if xtf.WaitsForMessage(w.Pattern) {
		m, err := Referred[xtf.P2P](r, uint32(p), w.RecN)
		if err != nil {
			return nil, err
		}
		s, err := Mate(r, &m)
		if k := w.Pattern & xtf.WaitPatternMask; s != nil && err == nil && (k == xtf.WaitLateReceiver || k == xtf.WaitLateProgress) {
			s.posted = w.End
			return started(r, s)
		}
		return s, err
	}
	if uint64(w.CauseP) >= uint64(r.Defs.NumLocations()) {
		return nil, nil
	}
	if w.Pattern&xtf.WaitPatternMask == xtf.WaitLateKernel {
		if w.RecN == xtf.Never { // a transfer that is not a call
			return nil, nil
		}
		k, err := Referred[xtf.Call](r, w.CauseP, w.RecN)
		return &Side{trace.P(w.CauseP), k.T, k.End, k.Region, w.RecN, k.T}, err
	}
	c, err := Referred[xtf.Coll](r, uint32(p), w.RecN)
	if err != nil {
		return nil, err
	}
	s, err := Member(r, &c, trace.P(w.CauseP))
	if err != nil {
		return nil, err
	}
	return started(r, s)
}
