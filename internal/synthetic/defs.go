package synthetic

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// definer builds definitions as Score-P writes them.
type definer struct {
	*model
	d   *trace.Definitions
	str func(text string) uint32 // the reference of a string
}

func (m *model) definitions() *trace.Definitions {
	d := &trace.Definitions{}
	b := &definer{m, d, d.Interned(map[string]uint32{})}
	b.str("")
	b.str("/opt/" + m.o.Program)
	b.clock()
	b.system()
	b.locations()
	b.regions()
	b.groups()
	b.extras()
	b.d.Seal()
	return b.d
}

func (b *definer) clock() {
	first, last := origin, b.end()+gap
	if b.skews {
		low, high := ^trace.Time(0), trace.Time(0)
		for p := range b.n {
			low, high = min(low, first+b.skewOf(p)), max(high, last+b.skewOf(p))
		}
		first, last = low, high
	}
	b.d.Clocks = []trace.ClockProperties{{
		TimerResolution: 1_000_000_000, GlobalOffset: uint64(first), TraceLength: uint64(last - first), RealtimeTimestamp: trace.Undefined64,
	}}
	b.d.Paradigms = []trace.Paradigm{{Paradigm: trace.ParadigmMPI, Name: b.str("MPI")}}
	if b.o.Threads > 1 {
		b.d.Paradigms = append(b.d.Paradigms, trace.Paradigm{Paradigm: trace.ParadigmOpenMP, Name: b.str("OpenMP"), Class: 1})
	}
}

// Define adds to d what Score-P defines for an MPI program of so many processes and threads: the system, locations, groups and
// communicators, the program's own after the two of MPI. str returns the reference of a string.
func Define(d *trace.Definitions, str func(text string) uint32, processes, threads uint32, own []Comm) {
	b := &definer{&model{n: processes, own: own}, d, str}
	b.str("")
	b.d.Paradigms = append(b.d.Paradigms, trace.Paradigm{Paradigm: trace.ParadigmMPI, Name: b.str("MPI")})
	b.system()
	for p := range processes {
		b.process(p)
		for t := range threads {
			b.thread(p, t, fmt.Sprintf("thread %d", t), 0)
		}
	}
	b.groups()
}

const processesPerNode = 32

func (b *definer) system() {
	b.d.SystemTreeNodes = []trace.SystemTreeNode{{Name: b.str("synthetic"), Class: b.str("machine"), Parent: trace.Undefined}}
	b.d.SystemTreeNodeDomains = []trace.SystemTreeNodeDomain{{}}
	for i := uint32(1); i <= (b.n+processesPerNode-1)/processesPerNode; i++ {
		b.d.SystemTreeNodes = append(b.d.SystemTreeNodes, trace.SystemTreeNode{Ref: i, Name: b.str(fmt.Sprintf("node%d", i)), Class: b.str("node")})
		b.d.SystemTreeNodeDomains = append(b.d.SystemTreeNodeDomains, trace.SystemTreeNodeDomain{Node: i, Domain: 1})
	}
}

// wrongCount is what a wrong announcement is off by.
const wrongCount = 7

// locationID numbers locations as Score-P does: the thread above, the rank below.
func locationID(proc, thread uint32) uint64 { return uint64(thread)<<32 | uint64(proc) }

func (b *definer) locations() {
	for p := range b.n {
		b.process(p)
		for t := range uint32(b.o.Threads) {
			name := "Master thread"
			if t > 0 {
				name = fmt.Sprintf("OMP thread %d", t)
			}
			events := b.unitEvents(p, t, 0, b.units(p))
			if b.hits(WrongCount, p) && t == 0 {
				events += wrongCount
			}
			b.thread(p, t, name, events)
		}
	}
	if b.o.Broken&EmptyLocation != 0 {
		b.thread(b.n-1, uint32(b.o.Threads), "idle thread", 0)
	}
}

func (b *definer) process(p uint32) {
	b.d.LocationGroups = append(b.d.LocationGroups, trace.LocationGroup{
		Ref: p, Name: b.str(fmt.Sprintf("MPI Rank %d", p)), Type: trace.ProcessGroup, Parent: 1 + p/processesPerNode, Creator: trace.Undefined,
	})
}

func (b *definer) thread(p, t uint32, name string, events uint64) {
	b.d.Locations = append(b.d.Locations, trace.Location{Ref: locationID(p, t), Name: b.str(name), Type: trace.CPUThread, Events: events, Group: p})
}

func (b *definer) regions() {
	file := map[trace.ParadigmID]uint32{trace.ParadigmMPI: b.str("MPI"), trace.ParadigmCompiler: b.str("solver.c"), trace.ParadigmOpenMP: b.str("solver.c")}
	add := func(ref uint32, r regionInfo) {
		source, ok := file[r.paradigm]
		if !ok {
			source = trace.Undefined
		}
		b.d.Regions = append(b.d.Regions, trace.Region{
			Ref: ref, Name: b.str(r.name), SourceFile: source, CanonicalName: b.str(r.name), Role: r.role, Paradigm: r.paradigm,
		})
	}
	for ref, r := range regionTable() {
		add(uint32(ref), r)
	}
	for k := range b.o.Depth {
		name := "compute"
		if k > 0 {
			name = fmt.Sprintf("compute_%d", k+1)
		}
		add(rUser+uint32(k), regionInfo{name: name, role: trace.RoleFunction, paradigm: trace.ParadigmCompiler})
	}
}

// Groups with fixed references; the location list of OpenMP, if there are
// threads, a program's own and the teams follow without a gap.
const (
	groupMPI uint32 = iota
	groupWorld
	groupSelf
	groupNext
)

func (b *definer) group(ref uint32, t trace.GroupType, p trace.ParadigmID, members []uint64) {
	legacy := map[trace.GroupType]uint8{trace.GroupCommGroup: 4, trace.GroupCommSelf: 5, trace.GroupCommLocations: 6}[t]
	if p != trace.ParadigmMPI {
		legacy = 0
	}
	b.d.Groups = append(b.d.Groups, trace.Group{Ref: ref, LegacyType: legacy, Members: members, Type: t, Paradigm: p})
}

func (b *definer) comm(ref uint32, name string, group, parent, flags uint32) {
	b.d.Comms = append(b.d.Comms, trace.Comm{Ref: ref, Name: b.str(name), Group: group, Parent: parent, Flags: flags})
}

func (b *definer) groups() {
	masters, world := make([]uint64, b.n), make([]uint64, b.n)
	for p := range b.n {
		masters[p], world[p] = locationID(p, 0), uint64(p)
	}
	b.group(groupMPI, trace.GroupCommLocations, trace.ParadigmMPI, masters)
	b.group(groupWorld, trace.GroupCommGroup, trace.ParadigmMPI, world)
	b.group(groupSelf, trace.GroupCommSelf, trace.ParadigmMPI, []uint64{})
	b.comm(commWorld, "MPI_COMM_WORLD", groupWorld, trace.Undefined, 1)
	b.comm(commSelf, "MPI_COMM_SELF", groupSelf, trace.Undefined, 1)
	own := groupNext
	if b.o.Threads > 1 {
		var all []uint64
		for p := range b.n {
			for t := range uint32(b.o.Threads) {
				all = append(all, locationID(p, t))
			}
		}
		b.group(own, trace.GroupCommLocations, trace.ParadigmOpenMP, all)
		own++
	}
	for i, c := range b.own {
		members := make([]uint64, len(c.Members))
		for r, p := range c.Members {
			members[r] = uint64(p)
		}
		b.group(own+uint32(i), trace.GroupCommGroup, trace.ParadigmMPI, members)
		b.comm(commOwn+uint32(i), c.Name, own+uint32(i), commWorld, 0)
	}
	if b.o.Threads > 1 {
		b.teams(own + uint32(len(b.own)))
	}
}

// teams defines a communicator for the threads of each process.
func (b *definer) teams(first uint32) {
	for p := range b.n {
		members := make([]uint64, b.o.Threads)
		for t := range members {
			members[t] = uint64(p)*uint64(b.o.Threads) + uint64(t)
		}
		b.group(first+p, trace.GroupCommGroup, trace.ParadigmOpenMP, members)
		b.comm(b.team(p), "", first+p, trace.Undefined, 0)
	}
}

// extras defines what metrics, parameters and I/O need.
func (b *definer) extras() {
	if b.o.Metrics {
		b.d.MetricMembers = []trace.MetricMember{{
			Name: b.str("PAPI_TOT_INS"), Description: b.str("Instr completed"), Type: 1, Mode: 0,
			ValueType: trace.TypeUint64, Base: 1, Unit: b.str("#"),
		}}
		b.d.MetricClasses = []trace.MetricClass{{Members: []uint32{0}, RecorderKind: 2}}
	}
	if b.o.Parameters {
		b.d.Parameters = []trace.Parameter{{Ref: parameterStep, Name: b.str("step"), Type: 2}}
	}
	if b.o.IO {
		b.d.IoParadigms = []trace.IoParadigm{{Identification: b.str("POSIX"), Name: b.str("POSIX I/O"), Flags: 1, Properties: []trace.IoProperty{}}}
		for p := range b.n {
			b.d.IoRegularFiles = append(b.d.IoRegularFiles, trace.IoRegularFile{
				Ref: p, Name: b.str(fmt.Sprintf("/scratch/out.%d", p)), Scope: 1 + p/processesPerNode,
			})
			b.d.IoHandles = append(b.d.IoHandles, trace.IoHandle{Ref: b.ioHandle(p), File: p, Comm: trace.Undefined, Parent: trace.Undefined})
		}
	}
}
