package threads

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// state is what a thread does in a call.
type state uint8

const (
	asAround state = iota // as in the calling call
	idle
	busy
	locked // waits for a lock or a critical section
)

// role is what a region means for the threads that are in it.
type role struct {
	state    state
	alone    bool // the state does not hold in calls inside of it, which are work unless they wait
	parallel bool
}

// Roles has the role of each region. It is safe for concurrent use.
type Roles struct {
	defs       *trace.Definitions
	list       []role // by index of the region
	any, locks bool   // some are parallel; in some threads wait for locks
}

// NewRoles finds the roles of all regions.
func NewRoles(d *trace.Definitions) *Roles {
	r := &Roles{defs: d, list: make([]role, len(d.Regions))}
	outside := busy // in parallel regions, outside of their bodies
	for i := range d.Regions {
		if isBody(d, &d.Regions[i]) {
			outside = idle
		}
	}
	for i := range d.Regions {
		x, to := &d.Regions[i], &r.list[i]
		s := xtf.States[d.StateOf(x)]
		to.alone = s.Inside != 0
		switch {
		case s.Item == xtf.ItemLockWait:
			to.state, r.locks = locked, true
		case s.Item == xtf.ItemThreadWait:
			to.state = idle
		case x.Paradigm == trace.ParadigmOpenMP && x.Role == trace.RoleParallel, called(d, x, "OpenMP parallel"):
			to.parallel, to.state, r.any = true, outside, true
		case x.Paradigm == trace.ParadigmOpenMP && x.Role == trace.RoleTask, isBody(d, x):
			to.state = busy
		}
	}
	return r
}

// isBody reports whether a region is the body of parallel regions.
func isBody(d *trace.Definitions, r *trace.Region) bool {
	return r.Paradigm == trace.ParadigmOpenMP && r.Role == trace.RoleCode || called(d, r, "OpenMP implicit task")
}

// called reports whether a region of EZTrace has a name. EZTrace's regions do not have the paradigm OpenMP, so the name decides.
func called(d *trace.Definitions, r *trace.Region, name string) bool {
	return r.Paradigm == trace.ParadigmUser && d.Text(r.Name) == name
}

// Any reports whether there are parallel regions.
func (r *Roles) Any() bool { return r.any }

// Parallel reports whether calls of a region are parallel regions.
func (r *Roles) Parallel(region uint32) bool { return r.of(region).parallel }

// of returns the role of a region; the zero role for an unknown one.
func (r *Roles) of(region uint32) role {
	i, ok := r.defs.RegionIndex(region)
	if !ok {
		return role{}
	}
	return r.list[i]
}

// Team is the CPU threads of a process.
type Team struct {
	First trace.P
	Count uint32
}

// TeamOf returns the CPU threads of a process, which are before its other locations.
func TeamOf(d *trace.Definitions, process int) Team {
	p := d.Processes()[process]
	t := Team{First: p.First}
	for t.Count < p.Count && d.Location(p.First+trace.P(t.Count)).Type.OnHost() {
		t.Count++
	}
	return t
}
