package oracle

import (
	"maps"
	"math/big"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Process is one process: what its locations do together.
type Process struct {
	Components []Components  // by node
	Executions [][]Execution // by node
}

// summed are the items that the locations of a process add up; times by class, and
// waits as parts of them, are those of its first location, the one that calls MPI.
var summed = []Item{
	SendRecv, PotentialSync, Variation, Events, Calls, Sends, Receives, BytesOut, BytesIn, Collectives, CollOut, CollIn,
	CriticalCPU, CriticalMPI, CriticalIO, CriticalMarker,
}

// of returns the executions of a node.
func (l *Location) of(node int) []Execution {
	return slices.DeleteFunc(slices.Clone(l.Executions), func(e Execution) bool { return e.Node != node })
}

// processes joins locations. A process runs from the first to the last event of
// all; its other intervals are those of the first location that has them. Metric
// recorders add events only.
func (a *analysis) processes() []Process {
	out := make([]Process, len(a.d.Processes()))
	for i, pr := range a.d.Processes() {
		own := &a.r.Locations[pr.First]
		out[i].Executions = make([][]Execution, len(a.nodes.list))
		for n := range a.nodes.list {
			out[i].Executions[n] = own.of(n)
		}
		for n := range a.nodes.list {
			c := maps.Clone(own.Components[n])
			for p := pr.First + 1; p < pr.First+trace.P(pr.Count); p++ {
				if l := &a.r.Locations[p]; n > 0 && c[Executions] == 0 && a.d.Location(p).Type != trace.MetricLocation {
					c = maps.Clone(l.Components[n])
					out[i].Executions[n] = l.of(n)
				} else {
					a.join(c, l, n)
				}
			}
			out[i].Components = append(out[i].Components, c)
		}
		if c := out[i].Components[0]; pr.Count > 1 && c[Events] > 0 && !a.o.ExcludeInit {
			out[i].Executions[0] = []Execution{{From: c[FirstEvent], To: c[LastEvent]}}
		}
	}
	return out
}

// join adds another location of the same process.
func (a *analysis) join(c Components, l *Location, node int) {
	o := l.Components[node]
	if a.d.Location(l.P).Type == trace.MetricLocation {
		if o[Events] > 0 {
			c[Events] += o[Events]
		}
		return
	}
	for _, item := range summed {
		if o[item] > 0 {
			c[item] += o[item]
		}
	}
	if node == 0 && o[Events] > 0 {
		c[FirstEvent], c[LastEvent] = min(c[FirstEvent], o[FirstEvent]), max(c[LastEvent], o[LastEvent])
		if a.o.ExcludeInit {
			return // the program is a part of the events, and that of the first location
		}
		c[Time] = c[LastEvent] - c[FirstEvent]
		c[CPUTime] = c[Time] - min(c[Time], c[MPITime]+c[MarkerTime]+c[IOTime]+c[DeviceCall]+c[DeviceWait]+c[LockWait]+c[Overhead])
		c[Measured] = c[Time] - min(c[Time], c[Setup])
	}
}

// Rule says whose MPI time counts as productive.
type Rule int

// Rules of --mpi-productive.
const (
	Mean Rule = iota
	Min
	Max
	Rank0
	None
)

// Rules choose among definitions of characteristics.
type Rules struct {
	Productive Rule
	All        bool // processes that never execute the interval take part
}

// Characteristics are those of section 4 of an interval; times are exact.
type Characteristics struct {
	Processors       int
	Execution        uint64
	SumOfMax         uint64
	Total            *big.Rat
	Sum              map[Item]uint64
	Idle, Imbalance  uint64
	Productive, Lost *big.Rat
	LostMPI          *big.Rat
	Efficiency       *big.Rat
	Speedup          *big.Rat
	Runtime          uint64
	// POP; nil where it is not defined.
	LoadBalance, Communication, Parallel, Serialisation, Transfer *big.Rat
}

// Characteristics returns those of a node.
func (r *Result) Characteristics(node int, rules Rules) Characteristics {
	return Characterize(r.members(node, rules.All), rules.Productive)
}

// Member is a process's share in a node.
type Member struct {
	Components Components
	Executions []Execution
}

func (r *Result) members(node int, all bool) []Member {
	var list []Member
	for _, p := range r.Processes {
		if all || p.Components[node][Executions] > 0 {
			list = append(list, Member{p.Components[node], p.Executions[node]})
		}
	}
	return list
}

// Characterize computes the characteristics of a node from its processes.
func Characterize(list []Member, rule Rule) Characteristics {
	c := Characteristics{Processors: len(list), Sum: map[Item]uint64{}}
	var least, most, cpu uint64
	for i, m := range list {
		for item, v := range m.Components {
			c.Sum[item] += v
		}
		c.Execution = max(c.Execution, m.Components[Time])
		cpu = max(cpu, m.Components[CPUTime])
		if v := m.Components[MPITime]; i == 0 || v < least {
			least = v
		}
		most = max(most, m.Components[MPITime])
	}
	for _, m := range list {
		c.Idle += c.Execution - m.Components[Time]
		c.Imbalance += cpu - m.Components[CPUTime]
	}
	for k := 0; ; k++ {
		longest, any := uint64(0), false
		for _, m := range list {
			if k < len(m.Executions) {
				longest, any = max(longest, m.Executions[k].To-m.Executions[k].From), true
			}
		}
		if !any {
			break
		}
		c.SumOfMax += longest
	}
	c.Total = whole(uint64(len(list)) * c.Execution)
	mpi := whole(0)
	if len(list) > 0 {
		switch rule {
		case Mean:
			mpi = ratio(c.Sum[MPITime], uint64(len(list)))
		case Min:
			mpi = whole(least)
		case Max:
			mpi = whole(most)
		case Rank0:
			mpi = whole(list[0].Components[MPITime])
		}
	}
	c.Productive = new(big.Rat).Add(whole(c.Sum[CPUTime]+c.Sum[IOTime]), mpi)
	c.Lost = new(big.Rat).Sub(c.Total, c.Productive)
	c.LostMPI = new(big.Rat).Sub(whole(c.Sum[MPITime]), mpi)
	c.Efficiency, c.Speedup = whole(1), nil
	if c.Execution > 0 {
		c.Efficiency = new(big.Rat).Quo(c.Productive, c.Total)
		c.Speedup = new(big.Rat).Quo(c.Productive, whole(c.Execution))
	}
	c.pop(list)
	return c
}

// pop computes the factors of section 5.
func (c *Characteristics) pop(list []Member) {
	var most, sum, first, last, ideal uint64
	first = noTime
	single := true
	idealFirst, idealLast := uint64(noTime), uint64(0)
	for _, m := range list {
		u := m.Components[CPUTime] + m.Components[IOTime]
		most, sum = max(most, u), sum+u
		single = single && len(m.Executions) <= 1
		for _, e := range m.Executions {
			first, last = min(first, e.From), max(last, e.To)
		}
		ideal = max(ideal, m.Components[Ideal])
		idealFirst, idealLast = min(idealFirst, m.Components[IdealFirst]), max(idealLast, m.Components[IdealLast])
	}
	c.Runtime = c.Execution
	if single && first <= last {
		c.Runtime = last - first
		ideal = idealLast - min(idealFirst, idealLast)
	}
	n := uint64(len(list))
	c.LoadBalance = ratio(sum, n*most)
	c.Communication = ratio(most, c.Runtime)
	c.Parallel = ratio(sum, n*c.Runtime)
	c.Serialisation = ratio(most, ideal)
	c.Transfer = ratio(ideal, c.Runtime)
}

func whole(v uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(v)) }

// ratio returns nil for division by 0.
func ratio(v, w uint64) *big.Rat {
	if w == 0 {
		return nil
	}
	return new(big.Rat).Quo(whole(v), whole(w))
}
