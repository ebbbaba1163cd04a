package workload

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Spec describes a program of iterations.
type Spec struct {
	Pattern    string // one of Patterns
	Processes  int
	Iterations int
	Bytes      uint64 // of a message
	Calc       int64  // of a computation, ns
	Jitter     int64  // ns
}

// String returns pattern, processes and iterations.
func (s Spec) String() string { return fmt.Sprintf("%s-%d-%d", s.Pattern, s.Processes, s.Iterations) }

var patterns = map[string]func(b *builder, s Spec) []shape{
	"pingpong":     pingpong,
	"stencil3d":    stencil3d,
	"sweep2d":      sweep2d,
	"allreduce_rd": allreduceDoubling,
	"chain":        chain,
}

// Patterns returns the names of the patterns.
func Patterns() []string {
	var names []string
	for name := range patterns {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Make returns the program of a spec, in loops that processes share, and its computation.
// The processes of allreduce_rd are a power of two.
func Make(s Spec) (*program.Program, simnet.Calc, error) {
	shapes, ok := patterns[s.Pattern]
	if !ok || s.Processes < 2 || s.Iterations < 1 || s.Pattern == "allreduce_rd" && s.Processes&(s.Processes-1) != 0 {
		return nil, nil, fmt.Errorf("no workload %+v", s)
	}
	b := &builder{}
	b.p.Comms = []program.Comm{{Size: uint32(s.Processes)}}
	c := &iterations{count: uint64(s.Iterations), base: s.Calc, jitter: s.Jitter, of: make([]uint8, s.Processes)}
	c.perIteration = 1
	if s.Pattern == "sweep2d" {
		c.perIteration = octants * blocks
	}
	c.shapes = shapes(b, s)
	roots := make(map[uint8]program.NodeID, len(c.shapes))
	for p := range s.Processes {
		i := shapeOf(s, p)
		if _, ok := roots[i]; !ok {
			roots[i] = b.loop(uint64(s.Iterations), c.shapes[i].root)
		}
		c.of[p] = i
		b.p.Roots = append(b.p.Roots, roots[i])
	}
	return &b.p, c, nil
}

// shapeOf returns which of the shapes of a pattern a process has.
func shapeOf(s Spec, process int) uint8 {
	switch s.Pattern {
	case "pingpong", "chain":
		switch process {
		case 0:
			return 0
		case s.Processes - 1:
			return 2
		}
		return 1
	case "sweep2d":
		a, b := sweepGrid(s.Processes)
		return edges(process, a, b)
	}
	return 0
}

// pingpong: process 0 sends to the last, which answers. The others do nothing but one empty call.
func pingpong(b *builder, s Spec) []shape {
	first, last := partner{peer: 0}, partner{peer: int32(s.Processes - 1)}
	return []shape{
		{b.seq(b.call(last.send(0, s.Bytes)...), b.call(last.recv(0, s.Bytes)...)), []int32{none, none}, none},
		{b.call(), []int32{none}, none},
		{b.seq(b.call(first.recv(0, s.Bytes)...), b.call(first.send(0, s.Bytes)...)), []int32{none, none}, none},
	}
}

// chain: a pipeline; each process receives from the one before, computes, and sends to the next.
func chain(b *builder, s Spec) []shape {
	before, next := partner{program.PeerRelative, -1}, partner{program.PeerRelative, 1}
	recv, send := b.call(before.recv(0, s.Bytes)...), b.call(next.send(0, s.Bytes)...)
	return []shape{
		{b.seq(send), []int32{0}, none},
		{b.seq(recv, send), []int32{none, 0}, none},
		{b.seq(recv), []int32{none}, 0},
	}
}

// allreduceDoubling: recursive doubling of blocking sends and receives. Processes must be a power of two.
func allreduceDoubling(b *builder, s Spec) []shape {
	var calls []program.NodeID
	var calcs []int32
	for mask := 1; mask < s.Processes; mask *= 2 {
		o := partner{program.PeerXor, int32(mask)}
		calls = append(calls, b.call(o.send(0, s.Bytes)...), b.call(o.recv(0, s.Bytes)...))
		calcs = append(calcs, none, none)
	}
	calcs[0] = 0
	return []shape{{b.seq(calls...), calcs, none}}
}

// stencil3d: six neighbours of a periodic grid, non-blocking.
func stencil3d(b *builder, s Spec) []shape {
	x, y, z := stencilGrid(s.Processes)
	var calls []program.NodeID
	var waits []program.Action
	var neighbours [6]partner
	for d := range neighbours {
		neighbours[d] = b.table(shift(s.Processes, x, y, z, d))
	}
	for d, o := range neighbours {
		calls = append(calls, b.call(o.action(program.PostRecv, 0, uint32(d), s.Bytes)))
		waits = append(waits, o.action(program.WaitRecv, 0, uint32(d), s.Bytes))
	}
	for d, o := range neighbours {
		calls = append(calls, b.call(o.action(program.PostSend, 0, uint32(d^1), s.Bytes)))
		waits = append(waits, o.action(program.WaitSend, 0, uint32(d^1), s.Bytes))
	}
	calls = append(calls, b.call(waits...))
	return []shape{{b.seq(calls...), slices.Repeat([]int32{none}, len(calls)), 0}}
}

// stencilGrid returns the factorisation with the least surface.
func stencilGrid(n int) (x, y, z int) {
	best := 3*n*n + 1
	for a := 1; a <= n; a++ {
		if n%a != 0 {
			continue
		}
		for b := 1; b <= n/a; b++ {
			if n/a%b != 0 {
				continue
			}
			c := n / a / b
			if surface := a*b + b*c + a*c; surface < best {
				best, x, y, z = surface, a, b, c
			}
		}
	}
	return x, y, z
}

// shift returns each process's neighbour in direction d: -x, +x, -y, +y, -z, +z.
func shift(n, nx, ny, nz, d int) []int32 {
	peers := make([]int32, n)
	step := 2*(d%2) - 1
	for r := range peers {
		x, y, z := r/nz/ny, r/nz%ny, r%nz
		switch d / 2 {
		case 0:
			x = (x + step + nx) % nx
		case 1:
			y = (y + step + ny) % ny
		default:
			z = (z + step + nz) % nz
		}
		peers[r] = int32((x*ny+y)*nz + z)
	}
	return peers
}
