package network

import (
	"math/rand/v2"
	"testing"
)

// placed is a topology that knows its size, and how its links lead from one switch to another.
type placed interface {
	Topology
	Nodes() uint64
}

func made[T placed](t *testing.T) func(x T, err error) placed {
	return func(x T, err error) placed {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// TestTopologies: ways are as long as said, as long back, and lead over links that exist; between all nodes together every
// link goes from one switch to one other.
func TestTopologies(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]placed{
		"torus 4":             made[*TorusNet](t)(NewTorus([]uint32{4})),
		"torus 5x1x3":         made[*TorusNet](t)(NewTorus([]uint32{5, 1, 3})),
		"torus 4x2x3":         made[*TorusNet](t)(NewTorus([]uint32{4, 2, 3})),
		"fat tree 4":          made[*FatTreeNet](t)(NewFatTree([]uint32{4}, []uint32{1})),
		"fat tree 4,4":        made[*FatTreeNet](t)(NewFatTree([]uint32{4, 4}, []uint32{1, 4})),
		"fat tree 2,3,4":      made[*FatTreeNet](t)(NewFatTree([]uint32{2, 3, 4}, []uint32{1, 2, 3})),
		"fat tree, two rails": made[*FatTreeNet](t)(NewFatTree([]uint32{2, 3, 2}, []uint32{2, 2, 1})),
		"dragonfly 5,2,2":     made[*DragonflyNet](t)(NewDragonfly(5, 2, 2)),
		"dragonfly 9,4,2":     made[*DragonflyNet](t)(NewDragonfly(9, 4, 2)),
		"dragonfly 1,3,2":     made[*DragonflyNet](t)(NewDragonfly(1, 3, 2)),
		"dragonfly 3,7,1":     made[*DragonflyNet](t)(NewDragonfly(3, 7, 1)),
	} {
		ends := newUnion(x.Links())
		for a := range uint32(x.Nodes()) {
			for b := range uint32(x.Nodes()) {
				way := x.Route(nil, a, b)
				if len(way) != x.Hops(a, b) || x.Hops(a, b) != x.Hops(b, a) || a == b && len(way) > 0 {
					t.Fatalf("%s: %d to %d: %d hops, back %d, way %d", name, a, b, x.Hops(a, b), x.Hops(b, a), way)
				}
				for i, l := range way {
					if int(l) >= x.Links() {
						t.Fatalf("%s: %d to %d: link %d of %d", name, a, b, l, x.Links())
					}
					if i > 0 {
						ends.join(2*int(way[i-1])+1, 2*int(l))
					}
				}
			}
		}
		for l := range x.Links() {
			if ends.find(2*l) == ends.find(2*l+1) {
				t.Errorf("%s: link %d ends where it begins", name, l)
			}
		}
	}
}

// union joins the ends of links that meet at a switch.
type union []int

func newUnion(links int) union {
	u := make(union, 2*links)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) find(i int) int {
	for u[i] != i {
		i = u[i]
	}
	return i
}

func (u union) join(a, b int) { u[u.find(a)] = u.find(b) }

// TestTorusWays: a way is the sum of the distances in all dimensions.
func TestTorusWays(t *testing.T) {
	t.Parallel()
	x, err := NewTorus([]uint32{6, 5, 4})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		a, b := [3]int{}, [3]int{}
		want := 0
		for d, size := range []int{6, 5, 4} {
			a[d], b[d] = rng.IntN(size), rng.IntN(size)
			far := a[d] - b[d]
			far = max(far, -far)
			want += min(far, size-far)
		}
		na, nb := a[0]+6*(a[1]+5*a[2]), b[0]+6*(b[1]+5*b[2])
		if got := x.Hops(uint32(na), uint32(nb)); got != want {
			t.Fatalf("%d to %d: %d, want %d", a, b, got, want)
		}
		at := na
		for _, l := range x.Route(nil, uint32(na), uint32(nb)) {
			if int(l)/6 != at {
				t.Fatalf("%d to %d: link %d does not leave node %d", a, b, l, at)
			}
			d := int(l) % 6 / 2
			stride, size := [3]int{1, 6, 30}[d], [3]int{6, 5, 4}[d]
			c := at / stride % size
			next := (c + 1) % size
			if l%2 == 1 {
				next = (c + size - 1) % size
			}
			at += (next - c) * stride
		}
		if at != nb {
			t.Fatalf("%d to %d: the way ends at %d", a, b, at)
		}
	}
}

// TestFatTreeDown: with D-mod-k, messages from far away to one node come down over the same links, and those to the nodes
// of a switch are spread over all of its parents.
func TestFatTreeDown(t *testing.T) {
	t.Parallel()
	x, err := NewFatTree([]uint32{4, 4, 4}, []uint32{1, 4, 4})
	if err != nil {
		t.Fatal(err)
	}
	last := map[uint32]bool{}
	for b := range uint32(4) {
		first := x.Route(nil, 63, b)
		for a := uint32(16); a < 64; a++ {
			way := x.Route(nil, a, b)
			if len(way) != 4 || way[2] != first[2] || way[3] != first[3] {
				t.Errorf("%d to %d: %d, not down as %d", a, b, way, first)
			}
		}
		last[first[3]] = true
	}
	if len(last) != 4 {
		t.Errorf("4 nodes of a switch are reached over %d links", len(last))
	}
}

func TestTopologyLimits(t *testing.T) {
	t.Parallel()
	const big = 1 << 31
	for _, bad := range [][]uint32{{0}, {big, big}, {big}} {
		if _, err := NewTorus(bad); err == nil {
			t.Errorf("torus %d", bad)
		}
		if _, err := NewFatTree(bad, make([]uint32, len(bad))); err == nil {
			t.Errorf("fat tree %d", bad)
		}
	}
	if _, err := NewFatTree([]uint32{2}, []uint32{1, 2}); err == nil {
		t.Error("fat tree with more ups than downs")
	}
	if _, err := NewFatTree([]uint32{2, 2}, []uint32{big, big}); err == nil {
		t.Error("fat tree with too many parents")
	}
	for _, bad := range [][3]uint32{{0, 1, 1}, {big, 1, 1}, {1, big, 1}, {big, big, big}} {
		if _, err := NewDragonfly(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("dragonfly %d", bad)
		}
	}
}
