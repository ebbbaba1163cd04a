package analyze

import (
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// threading finds what the threads of processes lose. The rank with the first thread of a process does so. If other threads are on other
// ranks, these get the regions and send back the work of their threads. Only the last process of a rank can continue on others.
type threading struct {
	*job
	roles   *threads.Roles
	tail    int            // the process that continues on other ranks, -1 for none
	regions []threads.Span // of tail
}

// tagThreads is the tag of messages about processes that ranks share.
const tagThreads = 31

// threads adds the losses of threads to the components of first threads. Memory: 40 bytes for each parallel region of a process, twice for
// a process that several ranks share.
func (a *job) threads(in *finished) (*finished, error) {
	a.begin("threads")
	t := &threading{job: a, roles: threads.NewRoles(a.defs), tail: -1}
	parts, err := t.outlines()
	if err := jobs.Agree(a.c, err); err != nil {
		return nil, err
	}
	if parts, err = mpi.SparseAlltoall(a.c, tagThreads, parts); err != nil {
		return nil, err
	}
	parts, err = t.help(parts)
	if err := jobs.Agree(a.c, err); err != nil {
		return nil, err
	}
	if parts, err = mpi.SparseAlltoall(a.c, tagThreads, parts); err != nil {
		return nil, err
	}
	return in, t.account(parts)
}

// outlines returns the parallel regions of the process that continues on other ranks, for these.
func (t *threading) outlines() (parts []mpi.Part, err error) {
	if t.own.First >= t.own.End {
		return nil, nil
	}
	process, _ := t.defs.Process(t.own.End - 1)
	team := threads.TeamOf(t.defs, int(process))
	if team.First < t.own.First || !meets(t.own, team) || team.First+trace.P(team.Count) <= t.own.End {
		return nil, nil
	}
	t.tail = int(process)
	if t.regions, err = t.outline(team.First); err != nil || len(t.regions) == 0 {
		return nil, err
	}
	b := appendSpans(nil, t.regions)
	for rank, r := range t.ranges {
		if rank != t.c.Rank() && meets(r, team) {
			parts = append(parts, mpi.Part{Rank: rank, Data: b})
		}
	}
	return parts, nil
}

// meets reports whether threads of a team are in a range.
func meets(r partition.Range, team threads.Team) bool {
	return max(r.First, team.First) < min(r.End, team.First+trace.P(team.Count))
}

// outline returns the parallel regions of a location.
func (t *threading) outline(p trace.P) (list []threads.Span, err error) {
	calls, err := t.rows(p, stageLoad, xtf.TypeCall)
	if err != nil {
		return nil, err
	}
	if err = t.roles.Outline(calls, func(s threads.Span) { list = append(list, s) }, nil); err != nil || len(list) == 0 {
		return nil, err
	}
	return list, t.roles.Lock(func() (threads.Calls, error) { return t.rows(p, stageLoad, xtf.TypeCall) }, list)
}

// help adds up the work of this rank's threads in the regions of another rank's process.
func (t *threading) help(got []mpi.Part) (parts []mpi.Part, err error) {
	for _, x := range got {
		regions := parseSpans(x.Data)
		process, _ := t.defs.Process(t.own.First)
		work := threads.NewWork(len(regions))
		if err := t.work(threads.TeamOf(t.defs, int(process)), regions, work); err != nil {
			return nil, err
		}
		parts = append(parts, mpi.Part{Rank: x.Rank, Data: jobs.AppendWords(jobs.AppendWords(nil, work.Sum...), work.Max...)})
	}
	return parts, nil
}

// work adds up the work of those threads of a team that are on this rank.
func (t *threading) work(team threads.Team, regions []threads.Span, w *threads.Work) error {
	first, end := max(t.own.First, team.First), min(t.own.End, team.First+trace.P(team.Count))
	for p := first; p < end; p++ {
		calls, err := t.rows(p, stageLoad, xtf.TypeCall)
		if err != nil {
			return err
		}
		spent, err := t.roles.Busy(calls, regions)
		if err != nil {
			return fmt.Errorf("threads: location %d: %w", p, err)
		}
		w.Add(spent)
		t.meter.Add(t.size.Weights[p])
	}
	return nil
}

// account adds the losses of the processes whose first thread is on this rank. got is the work of threads on other ranks.
func (t *threading) account(got []mpi.Part) error {
	for process, x := range t.defs.Processes() {
		team := threads.TeamOf(t.defs, process)
		if x.First < t.own.First || x.First >= t.own.End || team.Count < 2 {
			continue
		}
		regions := t.regions
		if process != t.tail {
			var err error
			if regions, err = t.outline(team.First); err != nil {
				return err
			}
		}
		if len(regions) == 0 {
			continue
		}
		work := threads.NewWork(len(regions))
		if err := t.work(team, regions, work); err != nil {
			return err
		}
		for _, x := range got {
			if process != t.tail {
				break
			}
			v := jobs.TakeWords[uint64](x.Data)
			if len(v) != 2*len(regions) {
				return errThreads
			}
			work.Merge(&threads.Work{Sum: v[:len(regions)], Max: v[len(regions):]})
		}
		if err := t.add(team, regions, work); err != nil {
			return fmt.Errorf("threads: location %d: %w", team.First, err)
		}
	}
	return nil
}

func (t *threading) add(team threads.Team, regions []threads.Span, w *threads.Work) error {
	calls, err := t.rows(team.First, stageLoad, xtf.TypeCall)
	if err != nil {
		return err
	}
	c, err := t.components(team.First)
	if err != nil {
		return err
	}
	executions := func() (interval.Executions, error) { return t.rows(team.First, stageNumber, xtf.TypeIval) }
	if err := t.roles.Account(team.Count, calls, executions, regions, w, c); err != nil {
		return err
	}
	return t.putComponents(team.First, c)
}

var errThreads = errors.New("the work of threads arrived damaged from another rank")

// appendSpans encodes spans for another rank.
func appendSpans(b []byte, list []threads.Span) []byte {
	for _, s := range list {
		b = jobs.AppendWords(b, s.Begin, s.End, s.Locked)
	}
	return b
}

// parseSpans decodes what appendSpans wrote.
func parseSpans(b []byte) (list []threads.Span) {
	for v := jobs.TakeWords[uint64](b); len(v) >= 3; v = v[3:] {
		list = append(list, threads.Span{Begin: v[0], End: v[1], Locked: v[2]})
	}
	return list
}
