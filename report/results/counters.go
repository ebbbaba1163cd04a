package results

import (
	"cmp"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Counters find the counter that a row of METRIC is about, and its value.
type Counters struct {
	defs    *trace.Definitions
	member  map[uint32]int                // place of a member in the definitions
	classes map[uint32]*trace.MetricClass // by their own references, and those of their instances
}

// NewCounters reads the definitions.
func NewCounters(d *trace.Definitions) *Counters {
	x := &Counters{defs: d, member: make(map[uint32]int, len(d.MetricMembers)), classes: make(map[uint32]*trace.MetricClass, len(d.MetricClasses))}
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

// Of returns the place of the row's counter among the members of the definitions.
func (x *Counters) Of(m *xtf.Metric) (int, bool) {
	c := x.classes[m.Metric]
	k := m.Flags >> 8
	if c == nil || uint64(k) >= uint64(len(c.Members)) {
		return 0, false
	}
	i, ok := x.member[c.Members[k]]
	return i, ok
}

// Name is the name of a member, by its place.
func (x *Counters) Name(i int) string {
	m := &x.defs.MetricMembers[i]
	return cmp.Or(x.defs.Text(m.Name), fmt.Sprintf("metric %d", m.Ref))
}

// Unit is the unit of a member, by its place.
func (x *Counters) Unit(i int) string { return x.defs.Text(x.defs.MetricMembers[i].Unit) }

// How values of a metric come: the low bits of its mode in OTF2.
const (
	counterModeMask = 0xf

	Accumulated = 0 // since the begin
	Relative    = 2 // since the record before
)

// CounterMode is how the values of a member come.
func CounterMode(m *trace.MetricMember) uint32 { return uint32(m.Mode) & counterModeMask }

// CounterTypes are what the bits of a value are, as OTF2 allows for metrics.
var CounterTypes = []string{"uint64", "int64", "double"}

// CounterValue is a value as a floating-point number, rounded where an integer is beyond 2^53, and its place in CounterTypes.
func CounterValue(m *xtf.Metric) (v float64, kind int) {
	switch trace.ValueType(m.Flags & 0xff) {
	case trace.TypeInt64, trace.TypeInt32, trace.TypeInt16, trace.TypeInt8:
		return float64(int64(m.Value)), 1
	case trace.TypeDouble:
		return math.Float64frombits(m.Value), 2
	case trace.TypeFloat:
		return float64(math.Float32frombits(uint32(m.Value))), 2
	}
	return float64(m.Value), 0
}
