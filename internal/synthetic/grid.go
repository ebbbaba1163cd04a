package synthetic

// grid lays processes out in two dimensions, as square as their number allows.
type grid struct{ width, height uint32 }

func newGrid(n uint32) grid {
	h := uint32(1)
	for d := uint32(1); d*d <= n; d++ {
		if n%d == 0 {
			h = d
		}
	}
	return grid{n / h, h}
}

// Directions of neighbours; d^1 is the opposite one.
const (
	west uint32 = iota
	east
	north
	south
)

// neighbour returns the process in a direction, false at the border.
func (g grid) neighbour(p, direction uint32) (uint32, bool) {
	x, y := p%g.width, p/g.width
	switch direction {
	case west:
		return p - 1, x > 0
	case east:
		return p + 1, x+1 < g.width
	case north:
		return p - g.width, y > 0
	}
	return p + g.width, y+1 < g.height
}

// diagonal returns the distance of p from the north-west corner.
func (g grid) diagonal(p uint32) uint64 { return uint64(p%g.width) + uint64(p/g.width) }

func (g grid) degree(p uint32) (n uint32) {
	for d := range uint32(4) {
		if _, ok := g.neighbour(p, d); ok {
			n++
		}
	}
	return n
}
