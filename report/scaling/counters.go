package scaling

import (
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

// counterNames are how tools call the two counters, in lower case, and whether they count cycles.
var counterNames = map[string]bool{
	"papi_tot_ins": false, "instructions": false, "perf::instructions": false,
	"papi_tot_cyc": true, "cycles": true, "cpu-cycles": true, "perf::cycles": true, "perf::cpu-cycles": true,
}

// counters are the hardware counters that efficiencies use, of the metrics of a trace.
type counters struct {
	*results.Counters
	cycles map[int]bool // by the place of a member: else it counts instructions
	modes  map[int]uint32
}

func countersOf(d *trace.Definitions) *counters {
	c := &counters{results.NewCounters(d), map[int]bool{}, map[int]uint32{}}
	for i := range d.MetricMembers {
		m := &d.MetricMembers[i]
		cycles, known := counterNames[strings.ToLower(d.Text(m.Name))]
		mode := results.CounterMode(m)
		if known && (m.ValueType == trace.TypeUint64 || m.ValueType == trace.TypeInt64) && (mode == results.Accumulated || mode == results.Relative) {
			c.cycles[i], c.modes[i] = cycles, mode
		}
	}
	return c
}

// UsefulCounters adds up what the counters of all locations saw between two
// readings that do not lie in MPI. It reads all rows of metrics and calls, and
// only where the trace defines the counters.
func UsefulCounters(r *results.Run) (*useful, error) {
	u := &useful{}
	of := countersOf(r.Defs)
	if !r.Rows || len(of.modes) == 0 {
		return u, nil
	}
	for p := range trace.P(r.Defs.NumLocations()) {
		if err := addCounters(r, p, of, u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func addCounters(r *results.Run, p trace.P, of *counters, u *useful) error {
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
		i, ok := of.Of(m)
		mode, counts := of.modes[i]
		if !ok || !counts {
			return
		}
		k := 0
		if of.cycles[i] {
			k = 1
		}
		before := last[k]
		last[k].t, last[k].v, last[k].seen = m.T, m.Value, true
		v := m.Value
		if mode != results.Relative {
			if v < before.v {
				return // counted anew
			}
			v -= before.v
		}
		if !before.seen || m.T <= before.t || mpi.most(before.t, m.T) {
			return
		}
		if k == 1 {
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
