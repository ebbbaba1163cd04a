package otf2

import (
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// namer finds the names after references. It is built for listings: a map for
// each kind of definition.
type namer struct {
	defs      *trace.Definitions
	names     [trace.NumRefKinds]map[uint64]string // by reference
	windows   map[uint32]trace.RmaWin
	comms     map[uint32]trace.Comm
	inter     map[uint32]trace.InterComm
	groups    map[uint32]*trace.Group
	paradigms map[uint64]uint32 // I/O paradigm -> name
	members   map[uint32]uint32 // metric member -> name
}

func newNamer(d *trace.Definitions) *namer {
	n := &namer{
		defs: d, windows: make(map[uint32]trace.RmaWin), comms: make(map[uint32]trace.Comm), inter: make(map[uint32]trace.InterComm),
		groups: make(map[uint32]*trace.Group), paradigms: make(map[uint64]uint32), members: make(map[uint32]uint32),
	}
	for k := range n.names {
		n.names[k] = make(map[uint64]string)
	}
	d.Each(n.learn)
	return n
}

// learn notes the name of a definition.
func (n *namer) learn(_ trace.DefKind, r trace.Record) {
	d := n.defs
	quoted := func(k trace.RefKind, ref uint64, name string) { n.names[k][ref] = `"` + name + `"` }
	switch r := r.(type) {
	case *trace.String:
		quoted(trace.RefString, uint64(r.Ref), r.Value)
	case *trace.Attribute:
		quoted(trace.RefAttribute, uint64(r.Ref), d.Text(r.Name))
	case *trace.Location:
		quoted(trace.RefLocation, r.Ref, d.Text(r.Name))
	case *trace.Region:
		quoted(trace.RefRegion, uint64(r.Ref), d.Text(r.Name))
	case *trace.Group:
		quoted(trace.RefGroup, uint64(r.Ref), d.Text(r.Name))
		n.groups[r.Ref] = r
	case *trace.MetricMember:
		n.members[r.Ref] = r.Name
	case *trace.MetricClass:
		n.names[trace.RefMetric][uint64(r.Ref)] = ""
	case *trace.MetricInstance:
		n.names[trace.RefMetric][uint64(r.Ref)] = ""
	case *trace.Comm:
		quoted(trace.RefComm, uint64(r.Ref), d.Text(r.Name))
		n.comms[r.Ref] = *r
	case *trace.InterComm:
		quoted(trace.RefComm, uint64(r.Ref), d.Text(r.Name))
		n.inter[r.Ref] = *r
	case *trace.Parameter:
		quoted(trace.RefParameter, uint64(r.Ref), d.Text(r.Name))
	case *trace.RmaWin:
		quoted(trace.RefRmaWin, uint64(r.Ref), d.Text(r.Name))
		n.windows[r.Ref] = *r
	case *trace.SourceCodeLocation:
		quoted(trace.RefSourceCodeLocation, uint64(r.Ref), d.Text(r.File)+":"+strconv.FormatUint(uint64(r.LineNumber), 10))
	case *trace.CallingContext:
		quoted(trace.RefCallingContext, uint64(r.Ref), n.callingContext(r))
	case *trace.InterruptGenerator:
		quoted(trace.RefInterruptGenerator, uint64(r.Ref), d.Text(r.Name))
	case *trace.IoRegularFile:
		quoted(trace.RefIoFile, uint64(r.Ref), "file://"+d.Text(r.Name))
	case *trace.IoDirectory:
		quoted(trace.RefIoFile, uint64(r.Ref), "directory://"+d.Text(r.Name))
	case *trace.IoHandle:
		quoted(trace.RefIoHandle, uint64(r.Ref), d.Text(r.Name))
	case *trace.LocationGroup:
		quoted(trace.RefLocationGroup, uint64(r.Ref), d.Text(r.Name))
	case *trace.IoParadigm:
		n.paradigms[uint64(r.Ref)] = r.Name
	}
}

func (n *namer) callingContext(c *trace.CallingContext) string {
	name := ""
	if r := n.defs.Region(c.Region); r != nil {
		name = n.defs.Text(r.Name)
	}
	for i := range n.defs.SourceCodeLocations {
		if l := &n.defs.SourceCodeLocations[i]; l.Ref == c.SourceCodeLocation {
			return name + "@" + n.defs.Text(l.File) + ":" + strconv.FormatUint(uint64(l.LineNumber), 10)
		}
	}
	return name
}

// reference appends the name and the number of a reference.
func (n *namer) reference(b []byte, k trace.RefKind, v uint64) []byte {
	name, ok := n.names[k][v]
	switch {
	case ok && k == trace.RefMetric:
		return strconv.AppendUint(b, v, 10)
	case ok:
		b = append(b, name...)
	case v == trace.Undefined && k != trace.RefLocation, v == trace.Undefined64:
		return append(b, "UNDEFINED"...)
	default:
		b = append(b, "INVALID"...)
	}
	return appendNumber(b, v)
}

func appendNumber(b []byte, v uint64) []byte {
	b = append(b, " <"...)
	b = strconv.AppendUint(b, v, 10)
	return append(b, '>')
}

// paradigm appends the name that the trace or else the format gives a paradigm.
func (n *namer) paradigm(b []byte, v uint64) []byte {
	for i := range n.defs.Paradigms {
		if p := &n.defs.Paradigms[i]; uint64(p.Paradigm) == v {
			b = append(b, '"')
			b = append(b, n.defs.Text(p.Name)...)
			return appendNumber(append(b, '"'), v)
		}
	}
	return append(b, tracetest.Enums["Paradigm"].Text(v)...)
}

func (n *namer) ioParadigm(b []byte, v uint64) []byte {
	if name, ok := n.paradigms[v]; ok {
		b = append(b, '"')
		b = append(b, n.defs.Text(name)...)
		return appendNumber(append(b, '"'), v)
	}
	return appendNumber(append(b, "INVALID"...), v)
}

// member appends a metric member.
func (n *namer) member(b []byte, ref uint32) []byte {
	name, ok := n.members[ref]
	if !ok {
		return appendNumber(append(b, "INVALID"...), uint64(ref))
	}
	b = append(b, '"')
	b = append(b, n.defs.Text(name)...)
	return appendNumber(append(b, '"'), uint64(ref))
}

// metricMembers returns the members of a metric class, or of the class of an
// instance.
func (n *namer) metricMembers(ref uint32) []uint32 {
	for i := range n.defs.MetricInstances {
		if m := &n.defs.MetricInstances[i]; m.Ref == ref {
			ref = m.Class
			break
		}
	}
	for i := range n.defs.MetricClasses {
		if c := &n.defs.MetricClasses[i]; c.Ref == ref {
			return c.Members
		}
	}
	return nil
}

// peer returns the location that a rank of a communicator stands for, seen from
// a location.
func (n *namer) peer(comm, rank uint32, self uint64) (uint64, bool) {
	if c, ok := n.comms[comm]; ok {
		return n.rankOfGroup(c.Group, rank, self)
	}
	c, ok := n.inter[comm]
	if !ok {
		return 0, false
	}
	if n.isMember(c.GroupA, self) {
		return n.rankOfGroup(c.GroupB, rank, self)
	}
	return n.rankOfGroup(c.GroupA, rank, self)
}

func (n *namer) rankOfGroup(group, rank uint32, self uint64) (uint64, bool) {
	g, ok := n.groups[group]
	if !ok {
		return 0, false
	}
	if g.Type == trace.GroupCommSelf {
		return self, rank == 0
	}
	member := uint64(rank)
	if g.Flags&trace.GlobalMembers == 0 && g.Type == trace.GroupCommGroup {
		if uint64(rank) >= uint64(len(g.Members)) {
			return 0, false
		}
		member = g.Members[rank]
	}
	all := n.locations(g.Paradigm)
	if member >= uint64(len(all)) {
		return 0, false
	}
	return all[member], true
}

// locations returns the location list of a paradigm.
func (n *namer) locations(p trace.ParadigmID) []uint64 {
	for i := range n.defs.Groups {
		if g := &n.defs.Groups[i]; g.Type == trace.GroupCommLocations && g.Paradigm == p {
			return g.Members
		}
	}
	return nil
}

// isMember reports whether a location is in a group of communicator ranks.
func (n *namer) isMember(group uint32, location uint64) bool {
	g, ok := n.groups[group]
	if !ok {
		return false
	}
	all := n.locations(g.Paradigm)
	return slices.ContainsFunc(g.Members, func(m uint64) bool { return m < uint64(len(all)) && all[m] == location })
}
