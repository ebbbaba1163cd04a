package recording

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// regionLife is the region of the first of lifeFunctions: region 0 is the program of the first process.
const regionLife uint32 = 1

// definer makes definitions as Score-P writes them.
type definer struct {
	d       *trace.Definitions
	str     func(text string) uint32 // the reference of a string
	regions map[string]uint32
	groups  map[string]uint32
	comms   map[uint64]uint32
}

// definitions joins what the processes say. Processes come by rank.
func (s *Source) definitions() {
	d := &trace.Definitions{}
	b := definer{d, d.Interned(map[string]uint32{}), map[string]uint32{}, map[string]uint32{}, map[uint64]uint32{}}
	b.str("")
	b.d.Paradigms = []trace.Paradigm{{Paradigm: trace.ParadigmMPI, Name: b.str("MPI")}}
	b.d.Parameters = []trace.Parameter{{Ref: paramLevel, Name: b.str("level"), Type: 1}, {Ref: paramName, Name: b.str("name"), Type: 0}}
	b.system(s)
	b.allRegions(s)
	b.constructs(s)
	b.callSites(s)
	b.callingContexts(s)
	b.communicators(s)
	b.crews(s, trace.ParadigmOpenMP, "OpenMP", func(p *process) *crew { return &p.team })
	b.crews(s, trace.ParadigmPthread, "POSIX", func(p *process) *crew { return &p.contingent })
	b.windows(s)
	b.files(s)
	b.allCounters(s)
	b.d.Clocks = []trace.ClockProperties{s.clock()}
	b.d.Seal()
	s.defs = b.d
}

// system defines machine, nodes, processes and their threads.
func (b *definer) system(s *Source) {
	b.d.SystemTreeNodes = []trace.SystemTreeNode{{Name: b.str("machine"), Class: b.str("machine"), Parent: trace.Undefined}}
	b.d.SystemTreeNodeDomains = []trace.SystemTreeNodeDomain{{}}
	nodes := make(map[string]uint32)
	for _, p := range s.processes {
		kernel := p.host + "\n" + p.boot // machines may have the same name
		node, ok := nodes[kernel]
		if !ok {
			node = uint32(len(b.d.SystemTreeNodes))
			nodes[kernel] = node
			b.d.SystemTreeNodes = append(b.d.SystemTreeNodes, trace.SystemTreeNode{Ref: node, Name: b.str(p.host), Class: b.str("node")})
			b.d.SystemTreeNodeDomains = append(b.d.SystemTreeNodeDomains, trace.SystemTreeNodeDomain{Node: node, Domain: 1})
			if p.online > 0 {
				b.d.SystemTreeNodeProperties = append(b.d.SystemTreeNodeProperties, trace.SystemTreeNodeProperty{
					Node: node, Name: b.str(trace.PropertyProcessors), StringValue: b.str(strconv.FormatUint(p.online, 10)),
					Value: trace.Value{Type: trace.TypeUint64, Bits: p.online},
				})
			}
		}
		b.d.LocationGroups = append(b.d.LocationGroups, trace.LocationGroup{
			Ref: uint32(p.rank), Name: b.str(fmt.Sprintf("MPI Rank %d", p.rank)), Type: trace.ProcessGroup, Parent: node, Creator: trace.Undefined,
		})
		for t := range p.files {
			b.d.Locations = append(b.d.Locations, trace.Location{
				Ref: locationID(p.rank, t), Name: b.str(p.threadTitle(t)), Type: trace.CPUThread, Events: trace.Undefined64, Group: uint32(p.rank),
			})
			if x, ok := p.stuck[uint32(t)]; ok {
				text := fmt.Sprintf("lock %d", x[0])
				if x[1] > 0 {
					text += ", which " + p.threadTitle(int(x[1]-1)) + " has"
				}
				ref := b.str(text)
				b.d.LocationProperties = append(b.d.LocationProperties, trace.LocationProperty{
					Location: locationID(p.rank, t), Name: b.str(trace.PropertyWaitsFor), StringValue: ref, Value: trace.Value{Type: trace.TypeString, Bits: uint64(ref)},
				})
			}
		}
		p.signaled = s.ending(p)
		property, why := p.cut()
		b.property(p, property, why)
		b.property(p, PropertyUncounted, p.uncounted)
		b.property(p, trace.PropertySessions, p.sessions)
		b.property(p, trace.PropertyReplaced, p.replaced)
		b.property(p, trace.PropertyUnseen, p.unseenText())
		b.part(p)
		b.property(p, trace.PropertyProcessors, p.processors)
		for i, name := range [usageWords]string{trace.PropertyCPUTime, trace.PropertyDelay, trace.PropertySwitches} {
			if p.usage != nil && p.usage[i] != math.MaxUint64 {
				b.number(p, name, p.usage[i])
			}
		}
	}
}

// threadTitle is the name of a thread's location.
func (p *process) threadTitle(t int) string {
	name := "Master thread"
	if t > 0 {
		name = fmt.Sprintf("Thread %d", t)
	}
	if own := p.threadName[uint32(t)]; own != "" {
		name += " (" + own + ")"
	}
	return name
}

// property gives the first thread of a process a property. An empty text gives none.
func (b *definer) property(p *process, name, text string) {
	if text != "" {
		ref := b.str(text)
		b.value(p, name, ref, trace.Value{Type: trace.TypeString, Bits: uint64(ref)})
	}
}

// part says what part of the run is recorded of a process.
func (b *definer) part(p *process) {
	q := &p.part
	b.property(p, trace.PropertyPart, q.text())
	switch {
	case q.nothing:
		b.number(p, trace.PropertyNothing, 1)
	case q.late:
		b.number(p, trace.PropertyBegins, q.begins)
	}
	if q.is && q.ends != never {
		b.number(p, trace.PropertyEnds, q.ends)
	}
}

func (b *definer) number(p *process, name string, n uint64) {
	b.value(p, name, b.str(strconv.FormatUint(n, 10)), trace.Value{Type: trace.TypeUint64, Bits: n})
}

func (b *definer) value(p *process, name string, text uint32, v trace.Value) {
	b.d.LocationProperties = append(b.d.LocationProperties, trace.LocationProperty{
		Location: locationID(p.rank, 0), Name: b.str(name), StringValue: text, Value: v,
	})
}

// locationID numbers locations as Score-P does: the thread above, the rank below.
func locationID(rank, thread int) uint64 { return uint64(thread)<<32 | uint64(rank) }

func (b *definer) region(name string, r trace.Region) uint32 {
	return b.regionOf(name, name, "", &Frame{}, 0, r)
}

// regionOf returns the region of a key. The first use of the key defines the region, in the file and line of f where both are
// known.
func (b *definer) regionOf(key, name, description string, f *Frame, line uint32, r trace.Region) uint32 {
	ref, ok := b.regions[key]
	if !ok {
		ref = uint32(len(b.d.Regions))
		r.Ref, r.Name, r.CanonicalName, r.Description, r.SourceFile = ref, b.str(name), b.str(name), b.str(description), trace.Undefined
		if f.File != "" && line > 0 {
			r.SourceFile, r.BeginLine, r.EndLine = b.file(f), line, line
		}
		b.regions[key] = ref
		b.d.Regions = append(b.d.Regions, r)
	}
	return ref
}

// programOf returns the region of a process's program: processes may run several.
func (b *definer) programOf(p *process) uint32 {
	program := "program"
	if fields := strings.Fields(p.command); len(fields) > 0 {
		program = filepath.Base(fields[0])
	}
	return b.region(program, trace.Region{Role: trace.RoleFunction, Paradigm: trace.ParadigmUser})
}

// allRegions defines the programs, the MPI functions and the program's own regions, and tells every process its references.
func (b *definer) allRegions(s *Source) {
	b.programOf(s.processes[0])
	mpi := func(name string) uint32 {
		return b.region(name, trace.Region{Role: roleOf(name), Paradigm: trace.ParadigmMPI})
	}
	for _, f := range lifeFunctions {
		mpi(f)
	}
	refs := make(map[*string][]uint32) // lists that processes share
	for _, p := range s.processes {
		if len(p.functions) == 0 {
			continue
		}
		list, ok := refs[&p.functions[0]]
		if !ok {
			for _, f := range p.functions {
				list = append(list, mpi(f))
			}
			refs[&p.functions[0]] = list
		}
		p.functionRefs = list
	}
	b.calls(s)
	for _, p := range s.processes {
		p.nameRefs = []uint32{b.programOf(p)}
		for _, name := range p.names {
			p.textRefs = append(p.textRefs, b.str(name))
			p.nameRefs = append(p.nameRefs, b.own(name, s.names[p.placed(name)]))
		}
	}
}

// own defines a region of the program. Where its name is a place in a file, it gets the name and the line of the function there,
// if these are known.
func (b *definer) own(name string, frames []Frame) uint32 {
	key, f := name, Frame{Function: name}
	if !nameless(frames) {
		f = frames[len(frames)-1]
		name, _, _ = strings.Cut(f.Function, "+0x")
		f.Function = shorten(name)
		key = fmt.Sprintf("%s\x00%s\x00%d", f.Function, f.File, f.Begin) // files may have functions of the same name
	}
	return b.regionOf(key, f.Function, "", &f, f.Begin, trace.Region{Role: trace.RoleCode, Paradigm: trace.ParadigmUser})
}

// calls defines the functions of file I/O. The program may have a region of such a name too.
func (b *definer) calls(s *Source) {
	for _, p := range s.processes {
		for _, line := range p.calls {
			words := append(strings.Fields(line), "", "", "")
			role := trace.RoleFileIO
			if words[1] == "metadata" {
				role = trace.RoleFileIOMetadata
			}
			p.callRefs = append(p.callRefs, b.regionOf("\x00"+line, words[2], "", &Frame{}, 0, trace.Region{Role: role, Paradigm: trace.ParadigmNone}))
		}
	}
}

// roleOf is the role of an MPI function, told by its name as everywhere.
func roleOf(name string) trace.RegionRole {
	var d trace.Definitions
	d.Strings = []trace.String{{Ref: 0, Value: name}}
	d.Seal()
	return d.Class(&trace.Region{Name: 0, Paradigm: trace.ParadigmMPI}).Role()
}
