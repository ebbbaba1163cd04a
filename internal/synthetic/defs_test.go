package synthetic

import (
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestDefinitions checks what an analysis derives from the definitions against
// what the programs mean by them.
func TestDefinitions(t *testing.T) {
	s := open(t, "irregular:procs=13,threads=2,iterations=4,io,metrics,parameters")
	d := s.Definitions()
	for ref, r := range regionTable() {
		if got := d.Class(d.Region(uint32(ref))); got != r.class {
			t.Errorf("%s: class %#x, want %#x", r.name, got, r.class)
		}
	}
	if len(d.Processes()) != 13 || d.NumLocations() != 26 {
		t.Errorf("%d processes, %d locations", len(d.Processes()), d.NumLocations())
	}
	for p := range trace.P(26) {
		proc, thread, _ := s.place(p)
		if gp, gt := d.Process(p); gp != proc || gt != thread || d.Location(p).Ref != locationID(proc, thread) {
			t.Errorf("location %d is thread %d of process %d, want %d of %d", p, gt, gp, thread, proc)
		}
	}
	v := s.m.prog.(*irregular)
	for family := range families {
		for p := range uint32(13) {
			c := v.see(family, p)
			if r, ok := d.RankIn(c.comm, p); !ok || r != c.rank || d.CommSize(c.comm) != int(c.size) {
				t.Errorf("process %d in communicator %d: rank %d, %v of %d, want %d of %d", p, c.comm, r, ok, d.CommSize(c.comm), c.rank, c.size)
			}
			for r := range c.size {
				if q := d.Peer(c.comm, r, p); q != v.process(c, r) {
					t.Errorf("rank %d of communicator %d is process %d, want %d", r, c.comm, q, v.process(c, r))
				}
			}
			if d.CommSize(v.team(p)) != 2 {
				t.Errorf("team of process %d has %d threads", p, d.CommSize(v.team(p)))
			}
		}
	}
	if !d.IsSelf(commSelf) || d.CommSize(commWorld) != 13 {
		t.Error("MPI_COMM_SELF and MPI_COMM_WORLD")
	}
	if list := d.Problems().Codes; len(list) > 0 {
		t.Errorf("definitions with problems: %+v", list)
	}
	for i := 1; i < len(d.Groups); i++ {
		if d.Groups[i].Ref != d.Groups[i-1].Ref+1 {
			t.Errorf("group %d follows group %d", d.Groups[i].Ref, d.Groups[i-1].Ref)
		}
	}
}
