package threads

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// rows are written rows.
type rows struct {
	list [][]byte
	at   int
}

func (r *rows) Next() bool  { r.at++; return r.at <= len(r.list) }
func (r *rows) Row() []byte { return r.list[r.at-1] }
func (r *rows) Err() error  { return nil }

// Regions of the tests.
const (
	parallel = iota
	barrier
	critical
	sblock
	task
	function
	mpiCall
	lock
	body
	code
)

// definitions are those regions, bodies only where they are asked for.
func definitions(bodies bool) *trace.Definitions {
	d := &trace.Definitions{Strings: []trace.String{{}, {Ref: 1, Value: "omp_set_lock"}}}
	for i, r := range []trace.Region{
		parallel: {Role: trace.RoleParallel, Paradigm: trace.ParadigmOpenMP},
		barrier:  {Role: trace.RoleImplicitBarrier, Paradigm: trace.ParadigmOpenMP},
		critical: {Role: trace.RoleCritical, Paradigm: trace.ParadigmOpenMP},
		sblock:   {Role: trace.RoleCriticalSblock, Paradigm: trace.ParadigmOpenMP},
		task:     {Role: trace.RoleTask, Paradigm: trace.ParadigmOpenMP},
		function: {Role: trace.RoleFunction, Paradigm: trace.ParadigmUser},
		mpiCall:  {Role: trace.RoleBarrier, Paradigm: trace.ParadigmMPI},
		lock:     {Name: 1, Role: trace.RoleWrapper, Paradigm: trace.ParadigmOpenMP},
		body:     {Role: trace.RoleCode, Paradigm: trace.ParadigmOpenMP},
		code:     {Role: trace.RoleCode, Paradigm: trace.ParadigmCompiler},
	} {
		r.Ref = uint32(i)
		if i != body || bodies {
			d.Regions = append(d.Regions, r)
		}
	}
	d.Seal()
	return d
}

// thread makes the calls of a thread: spans that nest, and what happens at each tick.
type thread struct {
	random *rand.Rand
	rows   [][]byte
	now    uint64
	depth  uint32
	mpi    int
	inside [][]uint32 // open regions by tick
	open   []uint32
}

func (h *thread) pass(n int) {
	for range n {
		h.inside = append(h.inside, append([]uint32(nil), h.open...))
		h.now++
	}
}

// call makes a call and up to width calls in it.
func (h *thread) call(region uint32, levels, width int) {
	c := xtf.Call{T: h.now, Region: region, Depth: h.depth}
	if region == mpiCall {
		if h.mpi == 0 {
			c.Flags = xtf.FlagOutermostMPI
		}
		h.mpi++
	}
	row := make([]byte, xtf.CallRowBytes)
	h.rows = append(h.rows, row)
	h.open = append(h.open, region)
	h.depth++
	h.pass(h.random.IntN(3))
	for range h.random.IntN(width + 1) {
		if levels > 0 {
			h.call([]uint32{barrier, critical, sblock, task, function, mpiCall, parallel, lock, body, code}[h.random.IntN(10)], levels-1, width)
		}
		h.pass(h.random.IntN(3))
	}
	h.open = h.open[:len(h.open)-1]
	h.depth--
	if region == mpiCall {
		h.mpi--
	}
	c.End = h.now
	c.Put(row)
}

// run makes a thread of some calls at its outermost level.
func run(random *rand.Rand, regions ...uint32) *thread {
	h := &thread{random: random}
	for range 12 {
		h.pass(random.IntN(4))
		h.call(regions[random.IntN(len(regions))], 3, 3)
	}
	return h
}

// does says by the open regions what a thread does. A call that means nothing is work in a barrier and in a critical
// section, and else what the call around it is.
func does(open []uint32, bodies bool) state {
	for i := len(open) - 1; i >= 0; i-- {
		switch open[i] {
		case barrier:
			return idle
		case critical, lock:
			return locked
		case task:
			return busy
		case body:
			if bodies {
				return busy
			}
		case parallel:
			if bodies {
				return idle
			}
			return busy
		}
		if i > 0 && (open[i-1] == barrier || open[i-1] == critical) {
			return busy
		}
	}
	return idle
}

// expected counts tick by tick.
func expected(team []*thread, bodies bool) (spent, serial, imbalance, scheduling uint64) {
	m := uint64(len(team))
	first := team[0]
	for t := 0; t < len(first.inside); {
		switch open := first.inside[t]; {
		case len(open) > 0 && outer(open) == mpiCall:
			t++
		case outer(open) == parallel:
			last := t
			work, wait := make([]uint64, m), make([]uint64, m)
			for ; last < len(first.inside) && outer(first.inside[last]) == parallel && !begins(first, uint64(last), uint64(t)); last++ {
				for i, h := range team {
					if last >= len(h.inside) {
						continue
					}
					switch does(h.inside[last], bodies) {
					case busy:
						work[i]++
					case locked:
						wait[i]++
					}
				}
			}
			most, all, long := uint64(0), uint64(0), uint64(last-t)
			for i, w := range work {
				w += min(wait[i], wait[0]) // what the first thread waits is a loss of the process
				most, all = max(most, w), all+w
			}
			spent += m * long
			imbalance += m*most - all
			scheduling += m * (long - most)
			t = last
		default:
			spent, serial = spent+m, serial+m-1
			t++
		}
	}
	return spent, serial, imbalance, scheduling
}

// outer returns the outermost parallel region or MPI call.
func outer(open []uint32) uint32 {
	for _, r := range open {
		if r == parallel || r == mpiCall {
			return r
		}
	}
	return function
}

// begins says whether an outermost parallel region begins at tick t, after from.
func begins(h *thread, t, from uint64) bool {
	if t == from {
		return false
	}
	end := uint64(0)
	for _, row := range h.rows {
		b, e, r := xtf.U64(row, xtf.CallT), xtf.U64(row, xtf.CallEnd), xtf.U32(row, xtf.CallRegion)
		if b < end || r != parallel && r != mpiCall {
			continue
		}
		if end = e; b == t && e > b && r == parallel {
			return true
		}
	}
	return false
}

// TestAccount compares with a count of every tick, of threads with nested calls.
func TestAccount(t *testing.T) {
	var total [4]uint64
	for seed := range uint64(80) {
		random := rand.New(rand.NewPCG(seed, 1))
		bodies := seed%2 == 0
		d := definitions(bodies)
		team := []*thread{run(random, parallel, parallel, mpiCall, function)}
		for range 1 + seed%3 {
			team = append(team, run(random, parallel, body, task, function))
		}
		r := NewRoles(d)
		var regions []Span
		if err := r.Outline(&rows{list: team[0].rows}, func(s Span) { regions = append(regions, s) }, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Lock(func() (Calls, error) { return &rows{list: team[0].rows}, nil }, regions); err != nil {
			t.Fatal(err)
		}
		here, there := NewWork(len(regions)), NewWork(len(regions))
		for i, h := range team {
			spent, err := r.Busy(&rows{list: h.rows}, regions)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				here.Add(spent)
			} else {
				there.Add(spent)
			}
		}
		here.Merge(there)
		whole := xtf.Ival{T: 0, End: team[0].now, Flags: xtf.IvalWhole}
		ival := make([]byte, xtf.IvalRowBytes)
		whole.Put(ival)
		var c interval.Components
		executions := func() (interval.Executions, error) { return &rows{list: [][]byte{ival}}, nil }
		if err := r.Account(uint32(len(team)), &rows{list: team[0].rows}, executions, regions, here, &c); err != nil {
			t.Fatal(err)
		}
		var want [4]uint64
		want[0], want[1], want[2], want[3] = expected(team, bodies)
		for i, item := range Items {
			total[i] += want[i]
			if got := c.Value(0, item); got != want[i] {
				t.Errorf("seed %d: %v %d, want %d", seed, item, got, want[i])
			}
		}
	}
	for i, item := range Items {
		if total[i] == 0 {
			t.Errorf("%v is 0 in all runs: nothing is tested", item)
		}
	}
}

// TestTeams leaves out what is not a CPU thread.
func TestTeams(t *testing.T) {
	d := &trace.Definitions{
		LocationGroups: []trace.LocationGroup{{Type: trace.ProcessGroup, Creator: trace.Undefined}},
		Locations: []trace.Location{
			{Ref: 0, Type: trace.CPUThread},
			{Ref: 1, Type: trace.MetricLocation},
			{Ref: 2, Type: trace.CPUThread},
			{Ref: 3, Type: trace.AcceleratorStream},
		},
	}
	d.Seal()
	if got := TeamOf(d, 0); got != (Team{0, 2}) {
		t.Errorf("%+v", got)
	}
	if NewRoles(d).Any() {
		t.Error("parallel regions in a trace without regions")
	}
}
