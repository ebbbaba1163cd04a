package recording

import (
	"encoding/binary"
	"fmt"
	"math"
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
	{"POSIX thread", trace.RoleFunction, trace.ParadigmPthread},
	{"pthread_create", trace.RoleThreadCreate, trace.ParadigmPthread},
	{"pthread_join", trace.RoleThreadWait, trace.ParadigmPthread},
	{"pthread_timedjoin_np", trace.RoleThreadWait, trace.ParadigmPthread},
	{"pthread_mutex_lock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_mutex_timedlock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_mutex_clocklock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_rwlock_rdlock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_rwlock_timedrdlock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_rwlock_wrlock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_rwlock_timedwrlock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_spin_lock", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_cond_wait", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_cond_timedwait", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_cond_clockwait", trace.RoleWrapper, trace.ParadigmPthread},
	{"pthread_barrier_wait", trace.RoleBarrier, trace.ParadigmPthread},
	{"sem_wait", trace.RoleWrapper, trace.ParadigmPthread},
	{"sem_timedwait", trace.RoleWrapper, trace.ParadigmPthread},
	{"sem_clockwait", trace.RoleThreadWait, trace.ParadigmPthread},
	{"futex", trace.RoleThreadWait, trace.ParadigmPthread},
}

// constructThread is the number in events of the first function of a POSIX thread.
const constructThread = threadFirst + 18

// constructs defines the regions of constructs, where a process records threads.
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

// crew is the threads of a process that have records of one paradigm. Members have numbers in the order of their first record.
type crew struct {
	members map[uint32]uint32
	ref     uint32 // their communicator
}

func (c *crew) add(b []byte) bool {
	if binary.LittleEndian.Uint64(b) > math.MaxUint32 {
		return false
	}
	thread := uint32(binary.LittleEndian.Uint64(b))
	if _, ok := c.members[thread]; !ok {
		c.members[thread] = uint32(len(c.members))
	}
	return true
}

// locations returns the members in the order of their numbers.
func (c *crew) locations(rank int) []uint64 {
	list := make([]uint64, len(c.members))
	for thread, i := range c.members {
		list[i] = locationID(rank, int(thread))
	}
	return list
}

// Alone returns the processes whose threads were to be recorded and have no records.
func (s *Source) Alone() (ranks []int) {
	for _, p := range s.processes {
		if p.threads && len(p.team.members)+len(p.contingent.members) == 0 {
			ranks = append(ranks, p.rank)
		}
	}
	return ranks
}

// crews defines a communicator for each process: of all its threads that were in a team of OpenMP, or of its POSIX threads and
// the threads that made them.
func (b *definer) crews(s *Source, paradigm trace.ParadigmID, name string, of func(p *process) *crew) {
	var all []uint64
	for _, p := range s.processes {
		all = append(all, of(p).locations(p.rank)...)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	b.d.Paradigms = append(b.d.Paradigms, trace.Paradigm{Paradigm: paradigm, Name: b.str(name)})
	b.newGroup(trace.Group{Type: trace.GroupCommLocations, LegacyType: 6, Paradigm: paradigm, Members: all})
	for _, p := range s.processes {
		c := of(p)
		if len(c.members) == 0 {
			continue
		}
		list := c.locations(p.rank)
		for i, location := range list {
			at, _ := slices.BinarySearch(all, location)
			list[i] = uint64(at)
		}
		c.ref = b.next()
		b.d.Comms = append(b.d.Comms, trace.Comm{
			Ref: c.ref, Name: b.str(fmt.Sprintf("%s threads of rank %d", name, p.rank)), Parent: trace.Undefined,
			Group: b.newGroup(trace.Group{Type: trace.GroupCommGroup, LegacyType: 4, Paradigm: paradigm, Members: list}),
		})
	}
}

// thread appends an event of a team, a lock or a task.
func (r *reader) thread(b *trace.Batch, n *[1 + maxCounters]uint64, t trace.Time) {
	paradigm, team, contingent := n[0]>>8&0xff, uint64(r.p.team.ref), uint64(r.p.contingent.ref)
	task := func(k trace.Kind) {
		if i, ok := r.p.team.members[uint32(n[1])]; ok {
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
	case 9:
		b.Append(t, trace.ThreadCreate, 0, contingent, n[1])
	case 10:
		b.Append(t, trace.ThreadBegin, 0, contingent, n[1])
	case 11:
		b.Append(t, trace.ThreadWait, 0, contingent, n[1])
	case 12:
		b.Append(t, trace.ThreadEnd, 0, contingent, n[1])
	}
}
