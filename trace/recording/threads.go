package recording

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// threadFirst is the number of the first construct in events.
const threadFirst = lifeFirst + 64

// constructs are what threads do outside of MPI, numbered as the recorder numbers them.
var constructs = [...]struct {
	name     string
	role     trace.RegionRole
	paradigm trace.ParadigmID
}{
	{"!$omp parallel", trace.RoleParallel, trace.ParadigmOpenMP},
	{"!$omp barrier", trace.RoleBarrier, trace.ParadigmOpenMP},
	{"!$omp implicit barrier", trace.RoleImplicitBarrier, trace.ParadigmOpenMP},
	{"!$omp for", trace.RoleLoop, trace.ParadigmOpenMP},
	{"!$omp sections", trace.RoleSections, trace.ParadigmOpenMP},
	{"!$omp single", trace.RoleSingle, trace.ParadigmOpenMP},
	{"!$omp workshare", trace.RoleWorkshare, trace.ParadigmOpenMP},
	{"!$omp distribute", trace.RoleLoop, trace.ParadigmOpenMP},
	{"!$omp taskloop", trace.RoleLoop, trace.ParadigmOpenMP},
	{"!$omp critical", trace.RoleCritical, trace.ParadigmOpenMP},
	{"!$omp critical sblock", trace.RoleCriticalSblock, trace.ParadigmOpenMP},
	{"!$omp ordered", trace.RoleOrdered, trace.ParadigmOpenMP},
	{"!$omp ordered sblock", trace.RoleOrderedSblock, trace.ParadigmOpenMP},
	{"!$omp task", trace.RoleTask, trace.ParadigmOpenMP},
	{"!$omp taskwait", trace.RoleTaskWait, trace.ParadigmOpenMP},
	{"!$omp taskgroup", trace.RoleTaskWait, trace.ParadigmOpenMP},
	{"omp_set_lock", trace.RoleWrapper, trace.ParadigmOpenMP},
	{"omp_set_nest_lock", trace.RoleWrapper, trace.ParadigmOpenMP},
}

// constructs defines their regions, where a process records threads.
func (b *definer) constructs(s *Source) {
	var refs []uint32
	for _, p := range s.processes {
		for i := len(refs); p.threads && i < len(constructs); i++ {
			refs = append(refs, b.region(constructs[i].name, trace.Region{Role: constructs[i].role, Paradigm: constructs[i].paradigm}))
		}
		if p.threads {
			p.constructRefs = refs
		}
	}
}

// members returns the threads of a process that are in teams, in the order of their numbers.
func (p *process) members() []uint64 {
	list := make([]uint64, len(p.team))
	for thread, i := range p.team {
		list[i] = locationID(p.rank, int(thread))
	}
	return list
}

// Alone returns the processes of which threads were asked for and that have no parallel region.
func (s *Source) Alone() (ranks []int) {
	for _, p := range s.processes {
		if p.threads && len(p.team) == 0 {
			ranks = append(ranks, p.rank)
		}
	}
	return ranks
}

// teams defines the communicator that stands for the teams of each process: its members are all threads that were in one.
func (b *definer) teams(s *Source) {
	var all []uint64
	for _, p := range s.processes {
		all = append(all, p.members()...)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	b.d.Paradigms = append(b.d.Paradigms, trace.Paradigm{Paradigm: trace.ParadigmOpenMP, Name: b.str("OpenMP")})
	b.newGroup(trace.Group{Type: trace.GroupCommLocations, LegacyType: 6, Paradigm: trace.ParadigmOpenMP, Members: all})
	for _, p := range s.processes {
		if len(p.team) == 0 {
			continue
		}
		list := p.members()
		for i, location := range list {
			at, _ := slices.BinarySearch(all, location)
			list[i] = uint64(at)
		}
		p.teamRef = b.next()
		b.d.Comms = append(b.d.Comms, trace.Comm{
			Ref: p.teamRef, Name: b.str(fmt.Sprintf("OpenMP threads of rank %d", p.rank)), Parent: trace.Undefined,
			Group: b.newGroup(trace.Group{Type: trace.GroupCommGroup, LegacyType: 4, Paradigm: trace.ParadigmOpenMP, Members: list}),
		})
	}
}

// thread appends an event of a team, a lock or a task.
func (r *reader) thread(b *trace.Batch, n *[1 + maxCounters]uint64, t trace.Time) {
	paradigm, team := n[0]>>8&0xff, uint64(r.p.teamRef)
	task := func(k trace.Kind) {
		if i, ok := r.p.team[uint32(n[1])]; ok {
			b.Append(t, k, 0, team, uint64(i), n[2]&mask)
		}
	}
	switch n[0] & 0xff {
	case 0:
		b.Append(t, trace.ThreadFork, 0, paradigm, n[1]&mask)
	case 1:
		b.Append(t, trace.ThreadJoin, 0, paradigm)
	case 2:
		b.Append(t, trace.ThreadTeamBegin, 0, team)
	case 3:
		b.Append(t, trace.ThreadTeamEnd, 0, team)
	case 4:
		b.Append(t, trace.ThreadAcquireLock, 0, paradigm, n[1]&mask, n[2]&mask)
	case 5:
		b.Append(t, trace.ThreadReleaseLock, 0, paradigm, n[1]&mask, n[2]&mask)
	case 6:
		task(trace.ThreadTaskCreate)
	case 7:
		task(trace.ThreadTaskSwitch)
	case 8:
		task(trace.ThreadTaskComplete)
	}
}
