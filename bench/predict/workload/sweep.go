package workload

import (
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

const (
	octants = 8
	blocks  = 10 // of an octant
)

// sweepGrid returns the rows and columns of a sweep; columns are the largest divisor not above the square root.
func sweepGrid(n int) (rows, columns int) {
	columns = 1
	for d := 2; d <= n/d; d++ {
		if n%d == 0 {
			columns = d
		}
	}
	return n / columns, columns
}

// edges returns which neighbours a process of the grid has: bits for row - 1, row + 1, column - 1, column + 1.
func edges(process, rows, columns int) uint8 {
	e := uint8(0)
	row, column := process/columns, process%columns
	for bit, has := range [4]bool{row > 0, row < rows-1, column > 0, column < columns-1} {
		if has {
			e |= 1 << bit
		}
	}
	return e
}

// sweep2d: wavefronts over a grid, two from each corner, blocking: a block is received from two sides, computed, and sent
// to the other two. Shapes are by edges.
func sweep2d(b *builder, s Spec) []shape {
	_, columns := sweepGrid(s.Processes)
	var sides [4]partner
	for i, distance := range [4]int{-columns, columns, -1, 1} {
		sides[i] = partner{program.PeerRelative, int32(distance)}
	}
	shapes := make([]shape, 16)
	for e := 1; e < len(shapes); e++ {
		shapes[e] = sweepShape(b, s, uint8(e), &sides)
	}
	return shapes
}

func sweepShape(b *builder, s Spec, e uint8, sides *[4]partner) shape {
	sh := shape{trail: none}
	if e&0b0101 == 0 { // the last octant goes to lower rows and columns: nothing is sent after its last block
		sh.trail = octants*blocks - 1
	}
	pending := none // a computation that no call has come after yet; in the first octant that of the iteration before
	var parts []program.NodeID
	for oct := range octants {
		recvs, sends := octantCalls(b, s, e, oct, sides)
		if len(recvs) == 0 && (pending != none || oct == 0 && sh.trail != none) {
			// Two computations follow one another: a call that does nothing keeps them apart.
			parts = append(parts, b.call())
			sh.calcs = append(sh.calcs, int32(pending))
			pending = none
		}
		parts = append(parts, b.loop(blocks, b.seq(append(recvs[:len(recvs):len(recvs)], sends...)...)))
		for block := range blocks {
			for range recvs {
				sh.calcs = append(sh.calcs, int32(pending))
				pending = none
			}
			pending = oct*blocks + block
			for range sends {
				sh.calcs = append(sh.calcs, int32(pending))
				pending = none
			}
		}
	}
	sh.root = b.seq(parts...)
	return sh
}

// octantCalls returns the calls of a block: receives from where the octant comes from, sends to where it goes.
func octantCalls(b *builder, s Spec, e uint8, oct int, sides *[4]partner) (recvs, sends []program.NodeID) {
	for axis := range 2 {
		up := 2*axis + oct>>axis&1
		if e>>up&1 != 0 {
			recvs = append(recvs, b.call(sides[up].recv(uint32(oct), s.Bytes)...))
		}
		if down := up ^ 1; e>>down&1 != 0 {
			sends = append(sends, b.call(sides[down].send(uint32(oct), s.Bytes)...))
		}
	}
	return recvs, sends
}
