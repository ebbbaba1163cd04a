package oracle

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Tags of markers.
const (
	rawMark       = 0xAA
	rawEnd        = 0xBB
	portableBegin = 0x2AAA
	portableEnd   = 0x2ABB
	largestTag    = 32767
	markerComm    = "coppice.intervals"
	leastLevel    = 5 // of MPI_Pcontrol
)

// mark is one border of an interval.
type mark struct {
	at    uint64
	order int // records, for marks at the same instant
	end   bool
	key   Key
}

// markerSpan is the time that a call of a marker of messages takes; time between the calls of one marker is CPU time.
type markerSpan struct{ from, to uint64 }

func (a *analysis) takes(f Form) bool {
	if a.o.Forms == nil {
		return f != FormParaver
	}
	return a.o.Forms[f]
}

// findMarks finds the markers of a location, in the order of its events.
func (a *analysis) findMarks(l *location) {
	a.messageMarks(l)
	a.parameterMarks(l)
	a.regionMarks(l)
	for _, s := range a.o.Sidecar {
		if s.Process == l.process && a.d.Processes()[l.process].First == l.p && s.Begin <= l.last {
			l.marks = append(l.marks, mark{at: max(s.Begin, l.first), order: -1, key: s.Key}, mark{at: max(s.End, l.first), order: -1, end: true, key: s.Key})
		}
	}
	slices.SortStableFunc(l.marks, func(x, y mark) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.order, y.order)) })
}

// messageMarks finds forms F1 to F3. A marker is a message of a process to
// itself; it spans from the enter of its first send to the leave of its last
// receive.
func (a *analysis) messageMarks(l *location) {
	var first *message // of a portable marker that waits for its second one
	for _, m := range l.ops {
		if !m.send || m.peer != l.process || m.mate == nil || m.mate.at != l {
			continue
		}
		if first != nil {
			if m.comm == first.comm && m.tag <= largestTag && a.adjacent(l, first, m) {
				a.messageMark(l, first, m, FormPortable, uint64(m.tag), first.tag == portableEnd)
				first = nil
				continue
			}
			a.problem(Dangling, l, first.enter(), Key{})
			first = nil
		}
		tag := m.tag
		switch {
		case a.takes(FormComm) && a.commName(m.comm) == markerComm:
			a.messageMark(l, m, m, FormComm, uint64(tag/2), tag%2 == 1)
		case a.takes(FormRaw) && tag>>24 == rawMark && (tag&0xFF == rawMark || tag&0xFF == rawEnd):
			a.messageMark(l, m, m, FormRaw, uint64(tag>>8&0xFFFF), tag&0xFF == rawEnd)
		case a.takes(FormPortable) && (tag == portableBegin || tag == portableEnd):
			first = m
		}
	}
	if first != nil {
		a.problem(Dangling, l, first.enter(), Key{})
	}
}

func (a *analysis) commName(ref uint32) string {
	for i := range a.d.Comms {
		if a.d.Comms[i].Ref == ref {
			return a.d.Text(a.d.Comms[i].Name)
		}
	}
	return ""
}

// adjacent reports whether nothing but counters lies between two messages.
func (a *analysis) adjacent(l *location, x, y *message) bool {
	from, to := l.visits[x.mate.visit].last+1, l.visits[y.visit].first
	if y.visit <= x.mate.visit {
		return false
	}
	for i := from; i < to; i++ {
		if l.records[i].kind != trace.Metric {
			return false
		}
	}
	return true
}

func (a *analysis) messageMark(l *location, first, last *message, f Form, id uint64, end bool) {
	from, to := first.enter(), last.mate.leave()
	for _, m := range []*message{first, first.mate, last, last.mate} {
		m.marker = true
		l.visits[m.visit].marker = true
		l.spans = append(l.spans, markerSpan{m.enter(), m.leave()})
	}
	k := mark{at: to, order: l.visits[last.mate.visit].last, end: end, key: Key{ID: id, Form: f}}
	if end {
		k.at, k.order = from, l.visits[first.visit].first
	}
	k.key.File, k.key.Line = a.position(l, l.visits[first.visit].call)
	l.marks = append(l.marks, k)
}

// position tells where a marker is: at its call site if the trace has it,
// else in the user's region around it.
func (a *analysis) position(l *location, c int) (string, uint32) {
	if c < 0 {
		return "", 0
	}
	if f, line, ok := a.callSite(l.calls[c].context); ok {
		return f, line
	}
	for c = l.calls[c].parent; c >= 0; c = l.calls[c].parent {
		if r := a.d.Region(l.calls[c].region); r != nil && !a.d.IsMPI(r) {
			return a.d.Text(r.SourceFile), r.BeginLine
		}
	}
	return "", 0
}

func (a *analysis) callSite(context uint32) (string, uint32, bool) {
	for i := range a.d.CallingContexts {
		if c := &a.d.CallingContexts[i]; c.Ref == context && context != trace.Undefined {
			for j := range a.d.SourceCodeLocations {
				if s := &a.d.SourceCodeLocations[j]; s.Ref == c.SourceCodeLocation {
					return a.d.Text(s.File), s.LineNumber, true
				}
			}
		}
	}
	return "", 0, false
}

// parameterMarks finds forms F4, F5 and F7.
func (a *analysis) parameterMarks(l *location) {
	level, name := map[int]int64{}, map[int]string{} // of a call of MPI_Pcontrol
	for i := range l.records {
		e := &l.records[i]
		if e.call < 0 {
			continue
		}
		c := &l.calls[e.call]
		control := strings.EqualFold(a.regionName(c.region), "MPI_Pcontrol")
		switch {
		case e.kind == trace.ParameterString && control:
			name[e.call] = a.d.Text(uint32(e.fields[1]))
		case (e.kind == trace.ParameterInt || e.kind == trace.ParameterUnsignedInt) && control:
			level[e.call] = int64(e.fields[1])
		case (e.kind == trace.ParameterInt || e.kind == trace.ParameterUnsignedInt) && a.takes(FormParameter):
			if a.parameterName(uint32(e.fields[0])) == "interval" && a.directlyAfter(l, c, i) {
				k := Key{ID: e.fields[1], Form: FormParameter}
				if r := a.d.Region(c.region); r != nil {
					k.File, k.Line, k.Name = a.d.Text(r.SourceFile), r.BeginLine, a.d.Text(r.Name)
				}
				l.marks = append(l.marks, mark{at: e.at, order: i, key: k})
				if c.last < len(l.records) {
					l.marks = append(l.marks, mark{at: c.leave, order: c.last, end: true, key: k})
				}
			}
			continue
		default:
			continue
		}
		a.pcontrol(l, i, level, name)
	}
}

// pcontrol adds the marker that a call of MPI_Pcontrol is, known at record i.
func (a *analysis) pcontrol(l *location, i int, level map[int]int64, name map[int]string) {
	e := &l.records[i]
	n, has := level[e.call]
	s, named := name[e.call]
	k := Key{}
	k.File, k.Line = a.position(l, e.call)
	switch {
	case has && named && (n == 1 || n == -1) && a.takes(FormPcontrolName):
		k.Name, k.Form = s, FormPcontrolName
	case has && !named && (n >= leastLevel || n <= -leastLevel) && a.takes(FormPcontrolNumber):
		k.ID, k.Form = uint64(max(n, -n)), FormPcontrolNumber
	default:
		return
	}
	l.marks = append(l.marks, mark{at: e.at, order: i, end: n < 0, key: k})
}

func (a *analysis) parameterName(ref uint32) string {
	for i := range a.d.Parameters {
		if a.d.Parameters[i].Ref == ref {
			return a.d.Text(a.d.Parameters[i].Name)
		}
	}
	return ""
}

// directlyAfter reports whether record i follows the enter of c with only
// parameters and counters between.
func (a *analysis) directlyAfter(l *location, c *call, i int) bool {
	for j := c.first + 1; j < i; j++ {
		switch l.records[j].kind {
		case trace.Metric, trace.ParameterInt, trace.ParameterUnsignedInt, trace.ParameterString:
		default:
			return false
		}
	}
	return true
}

// Flags of regions that their user meant as intervals.
const regionMeant = 1 | 2 // dynamic, phase

// regionMarks finds form F6.
func (a *analysis) regionMarks(l *location) {
	if !a.takes(FormRegion) {
		return
	}
	for i := range l.calls {
		c := &l.calls[i]
		r := a.d.Region(c.region)
		if r == nil || a.d.IsMPI(r) {
			continue
		}
		name := a.d.Text(r.Name)
		chosen := len(a.o.Regions) == 0 && r.Flags&regionMeant != 0
		for _, p := range a.o.Regions {
			if ok, err := path.Match(p, name); ok && err == nil {
				chosen = true
			}
		}
		if chosen {
			k := Key{File: a.d.Text(r.SourceFile), Line: r.BeginLine, Name: name, Form: FormRegion}
			l.marks = append(l.marks, mark{at: c.enter, order: c.first, key: k})
			if c.last < len(l.records) {
				l.marks = append(l.marks, mark{at: c.leave, order: c.last, end: true, key: k})
			}
		}
	}
}

func (a *analysis) problem(code string, l *location, at uint64, k Key) {
	a.r.Problems = append(a.r.Problems, Problem{Code: code, P: l.p, Time: at, ID: k.ID, Name: k.Name})
}
