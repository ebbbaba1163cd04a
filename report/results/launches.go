package results

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Launch is the kernels of a region with known launches. Times are ticks from the begin of the launching call to the begin of the
// kernel, summed over all kernels.
type Launch struct {
	Kernel  string `json:"kernel"`
	Call    string `json:"call"` // the region that launched them
	Kernels uint64 `json:"kernels"`
	Delay   uint64 `json:"delay"`
	Queued  uint64 `json:"queued"` // part of the delay in which the stream was in an earlier kernel or transfer that it has as a call
	Longest uint64 `json:"longest_delay"`
}

// Launches are the launches of kernels with a parameter "callsite id", which Score-P writes in the call and in the kernel. The id
// names a place in the program. Kernels and launches of a place are joined by their order. That is right if one thread launches
// them into one stream, which keeps the order, and there are as many of both. Other launches are not known.
type Launches struct {
	List    []Launch `json:"list"` // by falling delay
	Unknown uint64   `json:"unknown"`
}

// mostLaunches is the most launches of a process that are read, 24 bytes each, and the most kernels.
const mostLaunches = 1 << 20

// launchSite is the calls and kernels of a process with one id.
type launchSite struct{ calls, kernels siteSide }

type siteSide struct {
	at   trace.P
	many bool // of several locations
	list []sited
}

// sited is a call or kernel with an id.
type sited struct {
	begin, busy trace.Time // busy: the stream was in kernels and transfers until then
	region      uint32
}

// launchParameter is the name of the parameter.
const launchParameter = "callsite id"

// ReadsParameters reports whether the run's launches are read, and whether its trace has parameters that are not read.
func (x *Devices) ReadsParameters(r *Run) (reads, others bool) {
	others = slices.ContainsFunc(r.Defs.Parameters, func(p trace.Parameter) bool { return r.Defs.Text(p.Name) != launchParameter })
	return x != nil && x.Launches != nil, others
}

// launches reads the launches; nil where the trace does not have any, or does not have exact times.
func launches(r *Run) (*Launches, error) {
	named := map[uint32]bool{}
	for i := range r.Defs.Parameters {
		if x := &r.Defs.Parameters[i]; r.Defs.Text(x.Name) == launchParameter {
			named[x.Ref] = true
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	shared, err := r.Graph()
	if err != nil || !shared.Options().Deviation.Lossless() {
		return nil, err
	}
	out, sums := &Launches{}, map[[2]uint32]*Launch{}
	for _, x := range r.Defs.Processes() {
		sites := map[uint64]*launchSite{}
		n := 0
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			stream := r.Defs.Location(p).Type == trace.AcceleratorStream
			if !stream && !r.Defs.Location(p).Type.OnHost() {
				continue
			}
			err := r.eachSited(p, named, func(id uint64, x sited) {
				side := &Made(sites, id).calls
				if stream {
					side = &sites[id].kernels
				}
				n++
				if side.many = side.many || n > 2*mostLaunches || len(side.list) > 0 && side.at != p; n <= 2*mostLaunches {
					side.at, side.list = p, append(side.list, x)
				}
			})
			if err != nil {
				return nil, err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(sites)) {
			out.join(r, sites[id], sums)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(sums), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }) {
		out.List = append(out.List, *sums[k])
	}
	slices.SortStableFunc(out.List, func(a, b Launch) int { return cmp.Compare(b.Delay, a.Delay) })
	return out, nil
}

// join joins the launches and kernels of a place.
func (x *Launches) join(r *Run, s *launchSite, sums map[[2]uint32]*Launch) {
	calls, kernels := s.calls.list, s.kernels.list
	known := !s.calls.many && !s.kernels.many && len(calls) == len(kernels)
	for i := range kernels {
		known = known && calls[i].begin <= kernels[i].begin // else clocks differ, or the order does
	}
	if !known {
		x.Unknown += uint64(len(kernels))
		return
	}
	for i, k := range kernels {
		at := [2]uint32{k.region, calls[i].region}
		l := sums[at]
		if l == nil {
			l = &Launch{Kernel: r.RegionName(k.region), Call: CallName(r, calls[i].region)}
			sums[at] = l
		}
		delay := uint64(k.begin - calls[i].begin)
		l.Kernels, l.Delay, l.Longest = l.Kernels+1, l.Delay+delay, max(l.Longest, delay)
		l.Queued += uint64(min(max(k.busy, calls[i].begin), k.begin) - calls[i].begin)
	}
}

// eachSited passes the calls of a location with one of the named parameters.
func (r *Run) eachSited(p trace.P, named map[uint32]bool, f func(id uint64, x sited)) (err error) {
	var open []sited
	busy := trace.Time(0)
	for b, e := range r.Events(p, "calls", &err) {
		switch {
		case e.Kind == trace.Enter:
			open = append(open, sited{e.Time, busy, e.Ref})
		case e.Kind == trace.Leave && len(open) > 0:
			if slices.Contains(deviceStates[:], r.State(open[len(open)-1].region)) {
				busy = e.Time
			}
			open = open[:len(open)-1]
		case e.Kind == trace.ParameterUnsignedInt && len(open) > 0:
			if w := b.Words(e); len(w) > 1 && named[uint32(w[0])] {
				f(w[1], open[len(open)-1])
			}
		}
	}
	return err
}
