package threads

import "github.com/coppice-hpc/coppice/trace"

// state is what a thread does in a call.
type state uint8

const (
	asAround state = iota // as in the call around it
	idle
	busy
)

// Roles tell of each region what it means for the threads that are in it. They
// are safe for concurrent use.
type Roles struct {
	defs     *trace.Definitions
	states   []state // by index of the region
	parallel []bool
	any      bool
}

// NewRoles looks at all regions.
func NewRoles(d *trace.Definitions) *Roles {
	r := &Roles{defs: d, states: make([]state, len(d.Regions)), parallel: make([]bool, len(d.Regions))}
	bodies := false
	for i := range d.Regions {
		bodies = bodies || isBody(&d.Regions[i])
	}
	for i := range d.Regions {
		x := &d.Regions[i]
		if x.Paradigm != trace.ParadigmOpenMP {
			continue
		}
		switch x.Role {
		case trace.RoleParallel:
			r.parallel[i], r.any = true, true
			r.states[i] = busy
			if bodies {
				r.states[i] = idle
			}
		case trace.RoleCriticalSblock, trace.RoleOrderedSblock, trace.RoleTask:
			r.states[i] = busy
		}
		if isBody(x) {
			r.states[i] = busy
		}
		if s := d.StateOf(x); s == trace.StateThreadWait || s == trace.StateCritical {
			r.states[i] = idle
		}
	}
	return r
}

// isBody says whether a region is the body of parallel regions.
func isBody(r *trace.Region) bool {
	return r.Paradigm == trace.ParadigmOpenMP && r.Role == trace.RoleCode
}

// Any reports whether there are parallel regions at all.
func (r *Roles) Any() bool { return r.any }

// of returns what a region means; unknown ones mean nothing.
func (r *Roles) of(region uint32) (s state, parallel bool) {
	i, ok := r.defs.RegionIndex(region)
	if !ok {
		return asAround, false
	}
	return r.states[i], r.parallel[i]
}

// Team is the CPU threads of a process.
type Team struct {
	First trace.P
	Count uint32
}

// TeamOf returns the CPU threads of a process, which stand before its other locations.
func TeamOf(d *trace.Definitions, process int) Team {
	p := d.Processes()[process]
	t := Team{First: p.First}
	for t.Count < p.Count {
		switch d.Location(p.First + trace.P(t.Count)).Type {
		case trace.CPUThread, trace.UnknownLocation:
			t.Count++
			continue
		}
		break
	}
	return t
}
