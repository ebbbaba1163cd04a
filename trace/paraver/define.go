package paraver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// mostMembers is how many counters one record of OTF2 can have.
const mostMembers = 255

// relativeLast is OTF2's mode of counters that were counted since the record before.
const relativeLast = 2 | 2<<4

// parameterUint64 is OTF2's type of parameters with unsigned values.
const parameterUint64 = 2

// tables translate what records say to references of definitions.
type tables struct {
	regions    map[pair]uint32
	behaviours []behaviour       // by region
	parameters map[uint64]uint32 // by type
	attributes map[uint64]uint32 // by type
	values     map[pair]uint32   // strings of attributes
	counters   map[uint64]uint32 // by type
	sets       [][]uint64        // as in index; the reference is the place
	messages   []uint32          // communicator of messages, by application
	universe   uint32            // communicator of messages between applications
}

// definer makes definitions.
type definer struct {
	*trace.Definitions
	*tables
	head    *head
	names   *names
	rows    map[string][]string
	index   *index
	meters  []bool                   // by application
	devices map[string]uint32        // groups of streams, by task and name
	text    func(text string) uint32 // the reference of a string
}

// define makes the definitions of a trace. Processes are the tasks in the
// order of the header, and so are their ranks; locations are numbered like that too.
func define(h *head, n *names, rows map[string][]string, x *index) (*trace.Definitions, *tables) {
	defs := &trace.Definitions{}
	d := &definer{
		Definitions: defs, head: h, names: n, rows: rows, index: x, devices: map[string]uint32{}, text: defs.Interned(map[string]uint32{}),
		tables: &tables{
			regions: make(map[pair]uint32), parameters: make(map[uint64]uint32), attributes: make(map[uint64]uint32),
			values: make(map[pair]uint32), counters: make(map[uint64]uint32), sets: x.Sets,
		},
	}
	d.text("")
	d.Clocks = []trace.ClockProperties{{TimerResolution: h.resolution, TraceLength: max(h.length, x.Last), RealtimeTimestamp: trace.Undefined64}}
	d.meters = x.meters(h)
	d.machine()
	d.communicators()
	for _, p := range x.Named {
		e := d.names.typeOf(p.Type)
		switch {
		case e.isRegion():
			d.region(p, &e)
		case e.use == calledFrom:
			d.caller(p)
		}
	}
	for _, p := range x.Positions {
		d.locate(p)
	}
	d.metrics()
	for i, t := range x.Types {
		d.parameters[t] = uint32(i)
		d.Parameters = append(d.Parameters, trace.Parameter{Ref: uint32(i), Name: d.text(n.typed(t)), Type: parameterUint64})
	}
	d.Seal()
	d.Problems().Merge(&h.problems)
	d.Problems().Merge(&x.Problems)
	return d.Definitions, d.tables
}

// row returns the name of an object of a level of the .row file.
func (d *definer) row(level string, i int, format string, v ...any) uint32 {
	if names := d.rows[level]; i < len(names) && names[i] != "" {
		return d.text(names[i])
	}
	return d.text(fmt.Sprintf(format, v...))
}

// machine defines nodes, processes and threads.
func (d *definer) machine() {
	d.SystemTreeNodes = []trace.SystemTreeNode{{Name: d.text("machine"), Class: d.text("machine"), Parent: trace.Undefined}}
	for i := range d.head.nodes {
		d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{
			Ref: uint32(i + 1), Name: d.row("NODE", i, "node %d", i+1), Class: d.text("node"),
		})
	}
	for i, t := range d.head.tasks {
		parent := uint32(0)
		if uint64(t.node) <= uint64(len(d.head.nodes)) {
			parent = t.node
		}
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{
			Ref: uint32(i), Name: d.row("TASK", i, "TASK %d.%d", t.app+1, t.number+1), Type: trace.ProcessGroup,
			Parent: parent, Creator: trace.Undefined,
		})
		for k := range t.threads {
			at := t.first + k
			l := trace.Location{
				Ref: uint64(at), Name: d.row("THREAD", int(at), "THREAD %d.%d.%d", t.app+1, t.number+1, k+1), Type: trace.CPUThread,
				Events: trace.Undefined64, Group: uint32(i),
			}
			switch {
			case d.meters[t.app]:
				l.Type = trace.MetricLocation
			case d.index.Locations[at].Device && k > 0:
				l.Type, l.Group = trace.AcceleratorStream, d.device(uint32(i), parent, d.rows["THREAD"], int(at))
			}
			d.Locations = append(d.Locations, l)
		}
	}
}

// device returns the location group of a stream of a task: that of the device in the stream's name (the second device in
// GPU-D2.S1), else that of the task.
func (d *definer) device(task, node uint32, names []string, at int) uint32 {
	if at >= len(names) {
		return task
	}
	device, _, ok := strings.Cut(names[at], ".S")
	if !ok {
		return task
	}
	key := fmt.Sprintf("%d %s", task, device)
	ref, known := d.devices[key]
	if !known {
		ref = uint32(len(d.head.tasks) + len(d.devices))
		d.devices[key] = ref
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: ref, Name: d.text(device), Type: trace.AcceleratorGroup, Parent: node, Creator: task})
	}
	return ref
}

// communicators defines the lines of the head, in their order, and after them
// those of messages where no line is the world.
func (d *definer) communicators() {
	h := d.head
	all := trace.Group{Name: d.text("tasks"), Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	place := make([]uint32, len(h.tasks)) // among those
	for i, t := range h.tasks {
		if place[i] = uint32(len(all.Members)); !d.meters[t.app] {
			all.Members = append(all.Members, uint64(t.first))
		}
	}
	d.Groups = append(d.Groups, all)
	worlds := h.worlds()
	for _, i := range worlds {
		d.messages = append(d.messages, uint32(i))
	}
	groups := make([]uint32, len(h.comms))
	for i := range h.comms {
		c := &h.comms[i]
		if c.inter {
			d.InterComms = append(d.InterComms, trace.InterComm{
				Ref: uint32(i), Name: d.text(fmt.Sprintf("communicator %d", c.id)), GroupA: groups[c.a], GroupB: groups[c.b],
				CommonComm: trace.Undefined,
			})
			continue
		}
		name := fmt.Sprintf("communicator %d", c.id)
		if worlds[c.app] == i {
			name = "MPI_COMM_WORLD"
		}
		groups[i] = d.communicator(uint32(i), name, c.members, place)
	}
	next := uint32(len(h.comms))
	for app, a := range h.apps {
		if worlds[app] < 0 && !d.meters[app] {
			d.communicator(next, "MPI_COMM_WORLD", from(a.first, a.tasks), place)
			d.messages[app] = next
			next++
		}
	}
	if d.universe = next; d.index.Foreign {
		d.communicator(next, "all applications", from(0, uint32(len(h.tasks))), place)
	}
}

func from(first, n uint32) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = first + uint32(i)
	}
	return list
}

// communicator defines a communicator of tasks, which have places in the list of all, and returns its group.
func (d *definer) communicator(ref uint32, name string, members, place []uint32) uint32 {
	g := trace.Group{Ref: uint32(len(d.Groups)), Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: make([]uint64, len(members))}
	for i, m := range members {
		g.Members[i] = uint64(place[m])
	}
	d.Groups = append(d.Groups, g)
	d.Comms = append(d.Comms, trace.Comm{Ref: ref, Name: d.text(name), Group: g.Ref, Parent: trace.Undefined})
	return g.Ref
}

// region defines the region that a value of a type opens.
func (d *definer) region(p pair, e *eventType) {
	if e.use == lock && p.Value != lockAsked && p.Value != lockGiven {
		return
	}
	b := behaviour{collective: noCollective}
	if p.Type == typeState {
		*e, b.role = stateType(p.Value, int(d.head.threads) > len(d.head.tasks))
	}
	ref := uint32(len(d.Regions))
	name := d.names.region(p.Type, p.Value)
	r := trace.Region{
		Ref: ref, Name: d.text(name), CanonicalName: d.text(name), Description: d.text(d.names.typed(p.Type)), SourceFile: d.text(""),
		Role: e.role, Paradigm: e.paradigm,
	}
	if e.paradigm == trace.ParadigmMPI && p.Type != typeState {
		b = behaviourOf(name)
		r.Role = collectiveRole(b.collective, r.Role)
	}
	if e.use == lock {
		r.Role = trace.RoleCritical // whose body is not a call
		if p.Value == lockGiven {
			r.Role = trace.RoleWrapper
		}
	}
	d.regions[p] = ref
	d.behaviours = append(d.behaviours, b)
	d.Regions = append(d.Regions, r)
}

// collectiveRole returns the role of a collective operation.
func collectiveRole(op uint8, other trace.RegionRole) trace.RegionRole {
	if op == noCollective {
		return other
	}
	return trace.CollectiveClass(uint32(op)).Role()
}

// caller defines the attribute of a caller and its value.
func (d *definer) caller(p pair) {
	if _, ok := d.attributes[p.Type]; !ok {
		ref := uint32(len(d.Attributes))
		d.attributes[p.Type] = ref
		d.Attributes = append(d.Attributes, trace.Attribute{
			Ref: ref, Name: d.text(d.names.typed(p.Type)), Type: trace.TypeString, Description: d.text(""),
		})
	}
	label, ok := d.names.value(p.Type, p.Value)
	if !ok {
		label = strconv.FormatUint(p.Value, 10)
	}
	d.values[p] = d.text(label)
}

// locate sets the position of a region from a label "line (file, module)".
func (d *definer) locate(p position) {
	ref, ok := d.regions[p.Region]
	label, known := d.names.value(p.At.Type, p.At.Value)
	if !ok || !known {
		return
	}
	first, rest, _ := strings.Cut(label, " (")
	line, err := strconv.ParseUint(first, 10, 32)
	if err != nil || line == 0 {
		return
	}
	file, _, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
	d.Regions[ref].SourceFile, d.Regions[ref].BeginLine = d.text(file), uint32(line)
}

// metrics defines the counters, their sets, and after these a set for each
// counter alone.
func (d *definer) metrics() {
	for i, t := range d.index.Counters {
		d.counters[t] = uint32(i)
		name, description, _ := strings.Cut(strings.TrimSuffix(d.names.types[t].label, "]"), " [")
		if name == "" {
			name = d.names.typed(t)
		}
		m := trace.MetricMember{
			Ref: uint32(i), Name: d.text(name), Description: d.text(description), Mode: relativeLast, ValueType: trace.TypeUint64,
			Base: 1, Unit: d.text("#"),
		}
		if strings.HasPrefix(name, "PAPI_") {
			m.Type = 1
		}
		d.MetricMembers = append(d.MetricMembers, m)
	}
	class := func(members ...uint32) {
		d.MetricClasses = append(d.MetricClasses, trace.MetricClass{
			Ref: uint32(len(d.MetricClasses)), Members: members, Occurrence: 1, RecorderKind: 2,
		})
	}
	for _, s := range d.index.Sets {
		members := make([]uint32, len(s))
		for i, t := range s {
			members[i] = d.counters[t]
		}
		class(members...)
	}
	for i := range d.index.Counters {
		class(uint32(i))
	}
}
