package scaling

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// useful counts what hardware counters saw outside MPI.
type useful struct {
	Instructions, Cycles float64 // those of a large run need more than 64 bits
	HasInstructions      bool
	HasCycles            bool
}

// counter is a hardware counter that efficiencies use.
type counter struct {
	index    uint32 // in its class
	relative bool   // counted since the record before
	cycles   bool   // else instructions
}

// Properties of a metric's value: the low bits of its mode in OTF2.
const (
	modeValueMask   = 0xf
	modeAccumulated = 0
	ModeRelative    = 2
)

// counterNames are how tools call the two counters, in lower case.
var counterNames = map[string]bool{
	"papi_tot_ins": false, "instructions": false, "perf::instructions": false,
	"papi_tot_cyc": true, "cycles": true, "cpu-cycles": true, "perf::cycles": true, "perf::cpu-cycles": true,
}

// counters finds the counters of each metric class or instance.
func counters(d *trace.Definitions) map[uint32][]counter {
	members := map[uint32]*trace.MetricMember{}
	for i := range d.MetricMembers {
		members[d.MetricMembers[i].Ref] = &d.MetricMembers[i]
	}
	found := map[uint32][]counter{}
	for i := range d.MetricClasses {
		class := &d.MetricClasses[i]
		for k, ref := range class.Members {
			m := members[ref]
			if m == nil || m.ValueType != trace.TypeUint64 && m.ValueType != trace.TypeInt64 {
				continue
			}
			cycles, known := counterNames[strings.ToLower(d.Text(m.Name))]
			if mode := m.Mode & modeValueMask; known && (mode == modeAccumulated || mode == ModeRelative) {
				found[class.Ref] = append(found[class.Ref], counter{uint32(k), mode == ModeRelative, cycles})
			}
		}
	}
	for i := range d.MetricInstances {
		if x := &d.MetricInstances[i]; found[x.Class] != nil {
			found[x.Ref] = found[x.Class]
		}
	}
	return found
}

// UsefulCounters adds up what the counters of all locations saw between two
// readings that do not lie in MPI. It reads all rows of metrics and calls, and
// only where the trace defines the counters.
func UsefulCounters(r *results.Run) (*useful, error) {
	u := &useful{}
	of := counters(r.Defs)
	if rows, err := r.HasRows(); err != nil || !rows || len(of) == 0 {
		return u, err
	}
	for p := range trace.P(r.Defs.NumLocations()) {
		if err := addCounters(r, p, of, u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func addCounters(r *results.Run, p trace.P, of map[uint32][]counter, u *useful) error {
	calls, err := r.File.Array(xtf.Proc(p), xtf.TypeCall)
	if err != nil {
		return err
	}
	metrics, err := r.File.Array(xtf.Proc(p), xtf.TypeMetric)
	if err != nil {
		return err
	}
	mpi := outermost{rows: calls.Rows(0, calls.Len())}
	var last [2]struct { // reading of instructions, of cycles
		t, v uint64
		seen bool
	}
	err = results.EachRow(metrics, 0, metrics.Len(), func(m *xtf.Metric) {
		list := of[m.Metric]
		i := slices.IndexFunc(list, func(c counter) bool { return c.index == m.Flags>>8 })
		if i < 0 {
			return
		}
		c, k := list[i], 0
		if c.cycles {
			k = 1
		}
		before := last[k]
		last[k].t, last[k].v, last[k].seen = m.T, m.Value, true
		v := m.Value
		if !c.relative {
			if v < before.v {
				return // counted anew
			}
			v -= before.v
		}
		if !before.seen || m.T <= before.t || mpi.most(before.t, m.T) {
			return
		}
		if c.cycles {
			u.Cycles += float64(v)
			u.HasCycles = true
		} else {
			u.Instructions += float64(v)
			u.HasInstructions = true
		}
	})
	if err == nil {
		err = mpi.rows.Err()
	}
	return err
}

// outermost walks over the outermost MPI calls of a location; the spans it is
// asked about may step back by a reading of another counter.
type outermost struct {
	rows *xtf.Cursor
	open []xtf.Call // that may still overlap a span, ascending
	done bool
}

// most reports whether MPI calls take at least half of [a, b).
func (o *outermost) most(a, b uint64) bool {
	for !o.done && (len(o.open) == 0 || o.open[len(o.open)-1].T < b) {
		if o.done = !o.rows.Next(); o.done {
			break
		}
		var x xtf.Call
		if x.Load(o.rows.Row()); x.Flags&xtf.FlagOutermostMPI != 0 {
			o.open = append(o.open, x)
		}
	}
	gone := 0
	inside := uint64(0)
	for i := range o.open {
		x := &o.open[i]
		if x.End <= a && gone == i && len(o.open) > 64 {
			gone++
		}
		if from, to := max(x.T, a), min(x.End, b); from < to {
			inside += to - from
		}
	}
	o.open = o.open[gone:]
	return inside >= (b-a+1)/2
}
