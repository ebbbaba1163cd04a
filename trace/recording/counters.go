package recording

import (
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// PropertyUncounted is the name of the location property that says why counters are missing that were asked for. Its value
// is a string.
const PropertyUncounted = "coppice: not counted"

// recorderCPU says that threads of the processor record a class of counters.
const recorderCPU = 2

// allCounters defines the counters of all processes as Score-P does: read at every enter and leave, counted from the start of
// the thread. Processes with the same counters have one class.
func (b *definer) allCounters(s *Source) {
	members, classes := make(map[string]uint32), make(map[string]uint32)
	for _, p := range s.processes {
		if len(p.counters) == 0 {
			continue
		}
		key := strings.Join(p.counters, "\n")
		class, ok := classes[key]
		if !ok {
			c := trace.MetricClass{Ref: uint32(len(b.d.MetricClasses)), RecorderKind: recorderCPU}
			for _, name := range p.counters {
				c.Members = append(c.Members, b.counter(name, members))
			}
			b.d.MetricClasses = append(b.d.MetricClasses, c)
			class = c.Ref
			classes[key] = class
		}
		p.metric = class
	}
}

func (b *definer) counter(name string, members map[string]uint32) uint32 {
	if ref, ok := members[name]; ok {
		return ref
	}
	description, unit := "perf_event counter", "#"
	base, user := strings.CutSuffix(name, ":u")
	if user {
		description = "perf_event counter, in user mode"
	}
	if strings.HasSuffix(base, "-clock") {
		unit = "ns"
	}
	m := trace.MetricMember{
		Ref: uint32(len(b.d.MetricMembers)), Name: b.str(name), Description: b.str(description), ValueType: trace.TypeUint64,
		Base: 1, Unit: b.str(unit), // type OTHER, mode ACCUMULATED_START, base decimal
	}
	members[name] = m.Ref
	b.d.MetricMembers = append(b.d.MetricMembers, m)
	return m.Ref
}

// Uncounted returns the processes without counters that were asked for, by rank, with the reason.
func (s *Source) Uncounted() map[int]string {
	return s.told(func(p *process) string { return p.uncounted })
}
