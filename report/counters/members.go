package counters

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Members find the counter that a row of METRIC is about, and its value.
type Members struct {
	defs    *trace.Definitions
	member  map[uint32]int                // index of a member in the definitions
	classes map[uint32]*trace.MetricClass // by their own references and those of their instances
}

// NewMembers reads the definitions.
func NewMembers(d *trace.Definitions) *Members {
	x := &Members{defs: d, member: make(map[uint32]int, len(d.MetricMembers))}
	x.classes = results.ByRef(d.MetricClasses, func(c *trace.MetricClass) (uint32, *trace.MetricClass) { return c.Ref, c })
	for i := range d.MetricMembers {
		x.member[d.MetricMembers[i].Ref] = i
	}
	for i := range d.MetricInstances {
		if c := x.classes[d.MetricInstances[i].Class]; c != nil {
			x.classes[d.MetricInstances[i].Ref] = c
		}
	}
	return x
}

// Of returns the index of the row's counter among the members of the definitions.
func (x *Members) Of(m *xtf.Metric) (int, bool) {
	c := x.classes[m.Metric]
	k := m.Flags >> 8
	if c == nil || uint64(k) >= uint64(len(c.Members)) {
		return 0, false
	}
	i, ok := x.member[c.Members[k]]
	return i, ok
}

// Name is the name of member i.
func (x *Members) Name(i int) string {
	m := &x.defs.MetricMembers[i]
	return cmp.Or(x.defs.Text(m.Name), fmt.Sprintf("metric %d", m.Ref))
}

// Unit is the unit of member i.
func (x *Members) Unit(i int) string { return x.defs.Text(x.defs.MetricMembers[i].Unit) }

// How a metric gives values: the low bits of its mode in OTF2.
const (
	counterModeMask = 0xf

	Accumulated = 0 // since the begin
	Relative    = 2 // since the record before
)

// Mode is how a member gives values.
func Mode(m *trace.MetricMember) uint32 { return uint32(m.Mode) & counterModeMask }

// Types are the types that OTF2 allows for the values of metrics.
var Types = []string{"uint64", "int64", "double"}

// Value is a value as a floating-point number, rounded where an integer is beyond 2^53, and the index of its type in Types.
func Value(m *xtf.Metric) (v float64, kind int) {
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

// Bits of the mode in OTF2: what a value is, and which time it is about. 0 means the time since the begin.
const (
	counterTiming = 0xf0

	absolute = 1

	atPoint   = 0x10
	sinceLast = 0x20
	untilNext = 0x30
)

// IsInstructions reports whether a counter with this name counts instructions.
func IsInstructions(name string) bool { return named(name, instructionNames) }

// Names of the two counters that efficiencies use, in lower case.
var (
	instructionNames = []string{"papi_tot_ins", "instructions", "perf::instructions"}
	cycleNames       = []string{"papi_tot_cyc", "cycles", "cpu-cycles", "perf::cycles", "perf::cpu-cycles"}
)

// named reports whether the name is in the list, with or without perf's mark of user mode.
func named(name string, names []string) bool {
	return slices.Contains(names, strings.TrimSuffix(strings.ToLower(name), ":u"))
}

// physical is the factor by which the values of a counter become joules or watts; 0 for other counters.
type physical struct {
	power bool
	scale float64
}

// physicalUnits are units as tracers write them.
var physicalUnits = map[string]physical{
	"J": {false, 1}, "Joule": {false, 1}, "Joules": {false, 1}, "joules": {false, 1}, "mJ": {false, 1e-3}, "uJ": {false, 1e-6}, "µJ": {false, 1e-6}, "nJ": {false, 1e-9}, "kJ": {false, 1e3},
	"W": {true, 1}, "Watt": {true, 1}, "Watts": {true, 1}, "watts": {true, 1}, "mW": {true, 1e-3}, "uW": {true, 1e-6}, "µW": {true, 1e-6}, "kW": {true, 1e3},
}

// physicalNames are counters whose traces do not give units, by their source: components of PAPI, and hwmon of Linux below one.
var physicalNames = []struct {
	source, part string
	physical
}{
	{"rocm_smi:::", "energy_count", physical{false, 1e-6}},
	{"rocm_smi:::", "current_socket_power", physical{true, 1e-6}},
	{"rocm_smi:::", "power_average", physical{true, 1e-6}},
	{":::hwmon", "energy", physical{false, 1e-6}},
	{":::hwmon", "power", physical{true, 1e-6}},
	{"rapl:::", "_ENERGY:", physical{false, 1e-9}},
	{"powercap:::", "ENERGY_UJ", physical{false, 1e-6}},
}

// physicalOf returns what a counter measures, from its unit or, with byName, from its name.
func physicalOf(name, unit string) (p physical, byName bool) {
	if p, ok := physicalUnits[unit]; ok {
		return p, false
	}
	for _, k := range physicalNames {
		if _, rest, ok := strings.Cut(name, k.source); ok && strings.Contains(rest, k.part) && (k.source != ":::hwmon" || strings.HasSuffix(name, "_input")) {
			return k.physical, true
		}
	}
	return physical{}, false
}
