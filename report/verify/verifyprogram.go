package verify

import (
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// withoutInit is the option that ends the program at MPI_Init and MPI_Finalize.
const withoutInit = "init=exclude"

// program is the execution of the whole program on a location: its first and last
// event, or only what lies between MPI_Init and MPI_Finalize.
type program struct {
	from, to     uint64
	begins, ends bool // cut there, by MPI_Init and MPI_Finalize: what lies on the border may be outside
}

// readProgram finds the row of the whole program.
func (c *locationCheck) readProgram() error {
	c.program = program{to: xtf.Never}
	if !c.kept.Has(withoutInit) {
		return nil
	}
	c.program = program{begins: true, ends: true} // nothing, where there is none
	err := results.Load(c.r, xtf.Proc(c.p), func(x *xtf.Ival) {
		if x.Node == 0 {
			c.program = program{from: x.T, to: x.End, begins: x.T > c.stored[xtf.ItemFirst], ends: x.End < c.stored[xtf.ItemLast]}
		}
	})
	if err != nil || c.program.ends {
		return err
	}
	return results.Load(c.r, xtf.Proc(c.p), func(x *xtf.Call) { // whose last event is the enter of MPI_Finalize
		if x.T == c.program.to && strings.Contains(strings.ToLower(c.r.RegionName(x.Region)), "mpi_finalize") {
			c.program.ends = true
		}
	})
}

// clip is the ticks of [x, y) in the program.
func (p *program) clip(x, y uint64) uint64 {
	y = min(y, p.to)
	return y - min(max(x, p.from), y)
}

// point reports whether what happens at t counts; all does that is not cut off.
func (p *program) point(t uint64) bool { return p.from <= t && (t < p.to || t == p.to && !p.ends) }

// completion reports whether what is complete at t counts.
func (p *program) completion(t uint64) bool {
	return (p.from < t || p.from == t && !p.begins) && t <= p.to
}
