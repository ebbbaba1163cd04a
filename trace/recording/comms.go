package recording

import (
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// communicators defines the groups and communicators of all processes. A communicator has a number that all its members
// know, and its list of members from the first of them; without that list its members are unknown.
func (b *definer) communicators(s *Source) {
	masters, world := make([]uint64, len(s.processes)), make([]uint64, len(s.processes))
	for i, p := range s.processes {
		masters[i], world[i] = locationID(p.rank, 0), uint64(i)
	}
	b.d.Groups = append(b.d.Groups, trace.Group{Type: trace.GroupCommLocations, LegacyType: 6, Paradigm: trace.ParadigmMPI, Members: masters})
	b.group(world)
	self := b.newGroup(trace.Group{Type: trace.GroupCommSelf, LegacyType: 5, Paradigm: trace.ParadigmMPI, Members: []uint64{}})
	members := membersOf(s.processes)
	var alone []uint32
	for _, p := range s.processes {
		n := 0
		for i := range p.comms {
			c := &p.comms[i]
			if !c.inter && c.size == 1 { // the n-th communicator of a process alone is that of all processes: one definition
				if n == len(alone) {
					alone = append(alone, b.comm(c, self))
				}
				p.commRefs = append(p.commRefs, alone[n])
				n++
				continue
			}
			ref, ok := b.comms[c.global]
			if !ok {
				ref = b.define(c, members[c.global])
			}
			p.commRefs = append(p.commRefs, ref)
		}
	}
}

// membersOf returns the lists of members by the communicators' common numbers.
func membersOf(processes []*process) map[uint64]*comm {
	lists := make(map[uint64]*comm)
	for _, p := range processes {
		for i := range p.comms {
			c := &p.comms[i]
			if old := lists[c.global]; len(c.members) > 0 && (old == nil || c.name != "" && old.name == "") {
				lists[c.global] = c
			}
		}
	}
	return lists
}

func (b *definer) newGroup(g trace.Group) uint32 {
	g.Ref, g.Name = uint32(len(b.d.Groups)), b.str("")
	b.d.Groups = append(b.d.Groups, g)
	return g.Ref
}

// group returns the group of a list of world ranks.
func (b *definer) group(members []uint64) uint32 {
	var key []byte
	for _, m := range members {
		key = binary.AppendUvarint(key, m)
	}
	ref, ok := b.groups[string(key)]
	if !ok {
		ref = b.newGroup(trace.Group{Type: trace.GroupCommGroup, LegacyType: 4, Paradigm: trace.ParadigmMPI, Members: slices.Clone(members)})
		b.groups[string(key)] = ref
	}
	return ref
}

func (b *definer) next() uint32 { return uint32(len(b.d.Comms) + len(b.d.InterComms)) }

func (b *definer) comm(c *comm, group uint32) uint32 {
	ref := b.next()
	b.d.Comms = append(b.d.Comms, trace.Comm{Ref: ref, Name: b.str(c.name), Group: group, Parent: trace.Undefined})
	b.comms[c.global] = ref
	return ref
}

// define adds a communicator with the given list, nil where nobody wrote one.
func (b *definer) define(c, list *comm) uint32 {
	if list == nil {
		list = &comm{global: c.global, name: c.name, inter: c.inter}
	}
	if !c.inter {
		return b.comm(&comm{global: c.global, name: list.name}, b.group(list.members))
	}
	ref, near := b.next(), min(list.size, uint64(len(list.members)))
	b.d.InterComms = append(b.d.InterComms, trace.InterComm{
		Ref: ref, Name: b.str(list.name), GroupA: b.group(list.members[:near]), GroupB: b.group(list.members[near:]), CommonComm: 0,
	})
	b.comms[c.global] = ref
	return ref
}

// windows defines the windows of all processes: each has a communicator of its own.
func (b *definer) windows(s *Source) {
	refs := make(map[uint32]uint32) // by communicator
	for _, p := range s.processes {
		p.winRefs = make(map[uint64]uint32)
		for _, n := range p.wins {
			comm := p.commRef(n)
			ref, ok := refs[comm]
			if !ok && comm != trace.Undefined {
				ref = uint32(len(b.d.RmaWins))
				refs[comm] = ref
				b.d.RmaWins = append(b.d.RmaWins, trace.RmaWin{Ref: ref, Name: b.str("MPI window"), Comm: comm})
			}
			if comm != trace.Undefined {
				p.winRefs[n] = ref
			}
		}
	}
}

// files defines the files of all processes. All members of a communicator open a file on it together, so the n-th handle of one
// name is the same on all of them. Without MPI each process opens a file for itself; the n-th handles of all processes are one
// definition, as those on MPI_COMM_SELF are.
func (b *definer) files(s *Source) {
	type opening struct {
		comm  uint64
		name  string
		count int // earlier openings of the name on the communicator
	}
	files, handles := make(map[string]uint32), make(map[opening]uint32)
	var paradigms [len(ioInterfaces)]uint8 // reference + 1 of each interface, 0 until it is used
	for _, p := range s.processes {
		before := make(map[opening]int)
		for i := range p.ioFiles {
			f := &p.ioFiles[i]
			ref, ok := files[f.name]
			if !ok {
				ref = uint32(len(b.d.IoRegularFiles))
				files[f.name] = ref
				b.d.IoRegularFiles = append(b.d.IoRegularFiles, trace.IoRegularFile{Ref: ref, Name: b.str(f.name), Scope: trace.Undefined})
			}
			f.file, f.handle = ref, trace.Undefined
			f.paradigm = b.ioParadigm(f.ioInterface(), &paradigms)
			if f.comm == 0 {
				continue
			}
			h := trace.IoHandle{Name: b.str(""), File: ref, Paradigm: f.paradigm, Comm: trace.Undefined, Parent: trace.Undefined}
			key := opening{comm: f.comm, name: f.name}
			if f.comm&withoutMPI == 0 {
				h.Comm = p.commRef(f.comm)
				key.comm = uint64(h.Comm)
			}
			key.count = before[key]
			before[opening{comm: key.comm, name: key.name}]++
			if f.handle, ok = handles[key]; ok {
				continue
			}
			f.handle = uint32(len(b.d.IoHandles))
			handles[key] = f.handle
			h.Ref = f.handle
			if f.comm&withoutMPI != 0 && f.comm&openedBefore != 0 {
				h.Flags = 1
				b.d.IoPreCreatedHandleStates = append(b.d.IoPreCreatedHandleStates, trace.IoPreCreatedHandleState{
					Handle: f.handle, Mode: uint8(f.comm >> 16 & 0xff), StatusFlags: uint32(f.comm>>32) & 0xffff,
				})
			}
			b.d.IoHandles = append(b.d.IoHandles, h)
		}
	}
	if len(files) > 0 {
		b.d.Attributes = []trace.Attribute{{
			Ref: attributeOffset, Name: b.str("Offset"), Type: trace.TypeUint64, Description: b.str("Absolute read/write offset within a file."),
		}}
	}
}

// ioParadigm returns the reference of a paradigm of files, which it defines at its first use.
func (b *definer) ioParadigm(i int, known *[len(ioInterfaces)]uint8) uint8 {
	if known[i] == 0 {
		p := ioInterfaces[i]
		p.Ref, p.Identification, p.Name = uint8(len(b.d.IoParadigms)), b.str(ioNames[i][0]), b.str(ioNames[i][1])
		b.d.IoParadigms = append(b.d.IoParadigms, p)
		known[i] = p.Ref + 1
	}
	return known[i] - 1
}
