package report

import "github.com/coppice-hpc/coppice/xtf"

// withoutInit is the option that ends the program at MPI_Init and MPI_Finalize.
const withoutInit = "init=exclude"

// program is the execution of the whole program on a location: its first and last
// event, or only what lies between MPI_Init and MPI_Finalize.
type program struct {
	from, to uint64
	cut      bool
}

// readProgram finds the row of the whole program.
func (c *locationCheck) readProgram() error {
	c.program = program{to: xtf.Never, cut: c.kept.has(withoutInit)}
	if c.program.cut {
		c.program.to = 0 // where there is none
	}
	return c.each(xtf.TypeIval, func(_ uint64, row []byte) {
		var x xtf.Ival
		if x.Load(row); x.Node == 0 {
			c.program.from, c.program.to = x.T, x.End
		}
	})
}

// clip is the ticks of [x, y) in the program.
func (p *program) clip(x, y uint64) uint64 {
	y = min(y, p.to)
	return y - min(max(x, p.from), y)
}

// point reports whether what happens at t counts; all does that is not cut off.
func (p *program) point(t uint64) bool { return !p.cut || p.from <= t && t < p.to }

// completion reports whether what is complete at t counts.
func (p *program) completion(t uint64) bool { return !p.cut || p.from < t && t <= p.to }
