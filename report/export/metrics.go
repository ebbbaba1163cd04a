package export

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// metrics find the counter that a row of METRIC is about.
type metrics struct {
	defs    *trace.Definitions
	member  map[uint32]int                // place of a member in the definitions
	classes map[uint32]*trace.MetricClass // by their own references, and those of their instances
}

func (s *Source) metrics() *metrics {
	d := s.Defs
	x := &metrics{defs: d, member: make(map[uint32]int, len(d.MetricMembers)), classes: make(map[uint32]*trace.MetricClass, len(d.MetricClasses))}
	for i := range d.MetricMembers {
		x.member[d.MetricMembers[i].Ref] = i
	}
	for i := range d.MetricClasses {
		x.classes[d.MetricClasses[i].Ref] = &d.MetricClasses[i]
	}
	for i := range d.MetricInstances {
		if c := x.classes[d.MetricInstances[i].Class]; c != nil {
			x.classes[d.MetricInstances[i].Ref] = c
		}
	}
	return x
}

// of returns the place of the row's counter among the members of the definitions.
func (x *metrics) of(m *xtf.Metric) (int, bool) {
	c := x.classes[m.Metric]
	k := m.Flags >> 8
	if c == nil || uint64(k) >= uint64(len(c.Members)) {
		return 0, false
	}
	i, ok := x.member[c.Members[k]]
	return i, ok
}

// name and unit of a member, by its place.
func (x *metrics) name(i int) string {
	m := &x.defs.MetricMembers[i]
	if name := x.defs.Text(m.Name); name != "" {
		return name
	}
	return fmt.Sprintf("metric %d", m.Ref)
}

func (x *metrics) unit(i int) string { return x.defs.Text(x.defs.MetricMembers[i].Unit) }

// metricTypes are what the bits of a value are, as OTF2 allows for metrics.
var metricTypes = []string{"uint64", "int64", "double"}

// metricValue is a value as a floating-point number, rounded where an integer is beyond 2^53, and its type.
func metricValue(m *xtf.Metric) (v float64, kind int) {
	switch trace.ValueType(m.Flags & 0xFF) {
	case trace.TypeInt64:
		return float64(int64(m.Value)), 1
	case trace.TypeDouble:
		return math.Float64frombits(m.Value), 2
	}
	return float64(m.Value), 0
}
