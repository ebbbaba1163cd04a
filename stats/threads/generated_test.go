package threads

import (
	"errors"
	"io"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// record makes the calls of a location of any source, and what is open at each
// tick, in the terms of the tests.
func record(t *testing.T, src trace.Source, p trace.P, origin trace.Time) *thread {
	t.Helper()
	d := src.Definitions()
	h := &thread{}
	var rows [][]byte // of open calls
	st, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	var b trace.Batch
	var now []uint32
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		for err == nil {
			if err = r.Next(&b); err != nil {
				break
			}
			for k := range b.Events {
				e := &b.Events[k]
				for ; h.now < uint64(e.Time-origin); h.now++ {
					h.inside = append(h.inside, now)
				}
				switch e.Kind {
				case trace.Enter:
					c := xtf.Call{T: h.now, Region: e.Ref, Depth: uint32(len(rows))}
					what := meaning(d, d.Region(e.Ref))
					if what == mpiCall {
						c.Flags = xtf.FlagOutermostMPI
					}
					row := make([]byte, xtf.CallRowBytes)
					c.Put(row)
					h.rows, rows = append(h.rows, row), append(rows, row)
					now = append(append([]uint32(nil), now...), what)
				case trace.Leave:
					xtf.SetU64(rows[len(rows)-1], xtf.CallEnd, h.now)
					rows, now = rows[:len(rows)-1], now[:len(now)-1]
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return h
}

// meaning returns the region of the tests that is like r.
func meaning(d *trace.Definitions, r *trace.Region) uint32 {
	switch {
	case d.IsMPI(r):
		return mpiCall
	case r.Paradigm != trace.ParadigmOpenMP:
		return function
	}
	switch r.Role {
	case trace.RoleParallel:
		return parallel
	case trace.RoleBarrier, trace.RoleImplicitBarrier, trace.RoleTaskWait:
		return barrier
	case trace.RoleCritical, trace.RoleOrdered:
		return critical
	case trace.RoleCriticalSblock, trace.RoleOrderedSblock:
		return sblock
	case trace.RoleTask:
		return task
	}
	return function
}

// TestGenerated compares with a count of every tick of generated programs.
func TestGenerated(t *testing.T) {
	o, err := synthetic.ParseOptions("irregular:procs=1,threads=3,events=400,seed=2")
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	origin := trace.Time(d.Clock().GlobalOffset)
	for process := range d.Processes() {
		at := TeamOf(d, process)
		var team []*thread
		for p := range at.Count {
			team = append(team, record(t, src, at.First+trace.P(p), origin))
		}
		r := NewRoles(d)
		var regions []Span
		if err := r.Outline(&rows{list: team[0].rows}, func(s Span) { regions = append(regions, s) }, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Lock(func() (Calls, error) { return &rows{list: team[0].rows}, nil }, regions); err != nil {
			t.Fatal(err)
		}
		work := NewWork(len(regions))
		for _, h := range team {
			spent, err := r.Busy(&rows{list: h.rows}, regions)
			if err != nil {
				t.Fatal(err)
			}
			work.Add(spent)
		}
		whole := xtf.Ival{End: team[0].now, Flags: xtf.IvalWhole}
		ival := make([]byte, xtf.IvalRowBytes)
		whole.Put(ival)
		var c interval.Components
		executions := func() (interval.Executions, error) { return &rows{list: [][]byte{ival}}, nil }
		if err := r.Account(at.Count, &rows{list: team[0].rows}, executions, regions, work, &c); err != nil {
			t.Fatal(err)
		}
		var want [4]uint64
		want[0], want[1], want[2], want[3] = expected(team, false)
		for i, item := range Items {
			if got := c.Value(0, item); got != want[i] || got == 0 {
				t.Errorf("process %d: %v %d, want %d", process, item, got, want[i])
			}
		}
	}
}
