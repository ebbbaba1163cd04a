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

// PatternName is the name of the pattern of a WAIT row, as in documents.
func PatternName(pattern uint32) string {
	if i := xtf.PatternItem(pattern); i != xtf.NumItems {
		return i.String()
	}
	return fmt.Sprintf("pattern %d", pattern&xtf.WaitPatternMask)
}

// OrderName says which kind of wrong order a late sender is, same or different; ""
// for none.
func OrderName(pattern uint32) string {
	switch pattern & xtf.WaitOrderMask {
	case xtf.WaitOrderSame:
		return "same"
	case xtf.WaitOrderDifferent:
		return "different"
	}
	return ""
}

// IsCompletion reports whether a pattern is a span at the end of a collective,
// which is not a wait for a partner.
func IsCompletion(pattern uint32) bool {
	p := pattern & xtf.WaitPatternMask
	return p == xtf.WaitBarrierCompletion || p == xtf.WaitNxNCompletion
}

// CallPaths are the call paths that waits and causes refer to, the rows of PATH.
// Memory: 8 bytes each.
type CallPaths struct {
	r       *Run
	parents []uint32
	regions []uint32
}

// MaxPathDepth bounds what is shown of a call path.
const MaxPathDepth = 512

// ReadCallPaths reads them.
func ReadCallPaths(r *Run) (*CallPaths, error) {
	p := &CallPaths{r: r}
	var bad error
	err := Load(r, xtf.WholeRun, func(x *xtf.Path) {
		if n := uint64(len(p.parents)); x.Key != n || n > 0 && uint64(x.Parent) >= n {
			bad = fmt.Errorf("row %d of path %d: %w", n, x.Key, xtf.ErrCorrupt)
		}
		p.parents, p.regions = append(p.parents, x.Parent), append(p.regions, x.Region)
	})
	if err == nil {
		err = bad
	}
	return p, r.Failed(xtf.WholeRun, "call paths", err)
}

// Region is the reference of the innermost region of a path, trace.Undefined
// outside of all calls.
func (p *CallPaths) Region(id uint32) uint32 {
	if id == 0 || uint64(id) >= uint64(len(p.regions)) {
		return trace.Undefined
	}
	return p.regions[id]
}

// Names are the names of the path's regions, outermost first, with the frames of call sites between them.
func (p *CallPaths) Names(id uint32) []string {
	list := []string{}
	for n := 0; id > 0 && uint64(id) < uint64(len(p.parents)) && n < MaxPathDepth; n++ {
		list = append(list, CallName(p.r, p.regions[id]))
		if x := p.r.Defs.Region(p.regions[id]); x != nil {
			frames := p.r.Defs.CallSite(x)
			slices.Reverse(frames)
			list = append(list, frames...)
		}
		id = p.parents[id]
	}
	slices.Reverse(list)
	return list
}

// pathShown is how many regions of a call path people see.
const pathShown = 4

// PathLabel is a call path for people: its innermost regions.
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

// PathCell is a call path in a table.
func PathCell(names []string) table.Cell {
	return table.Named(PathLabel(names), strings.Join(names, " > "))
}

// RanksText names a set of processes.
func RanksText(ranks string) string {
	if ranks == "all" {
		return "all processes"
	}
	return "ranks " + ranks
}
