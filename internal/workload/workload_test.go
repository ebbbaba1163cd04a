package workload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// calls lists a process's calls as text, with the computation before each.
func calls(t *testing.T, p *simnet.Program, c simnet.Calc, process int) string {
	t.Helper()
	var out strings.Builder
	n := uint64(0)
	var x [1]int64
	fill := func() {
		if err := c.Fill(uint32(process), n, x[:]); err != nil {
			t.Fatal(err)
		}
		n++
		if x[0] != 0 {
			fmt.Fprintf(&out, "calc %d\n", x[0])
		}
	}
	Walk(p, process, func(actions []simnet.Action) {
		fill()
		for _, a := range actions {
			a = absolute(p, a, int32(process))
			fmt.Fprintf(&out, "%d %d %d %d\n", a.Kind, a.Peer, a.Tag, a.Bytes)
		}
	})
	fill()
	return out.String()
}

// TestMatched: every send has its receive, each process computes as often as the pattern says, and the expanded form is
// the same program.
func TestMatched(t *testing.T) {
	computations := map[string]uint64{"pingpong": 0, "chain": 1, "stencil3d": 1, "allreduce_rd": 1, "sweep2d": 80}
	for _, name := range Patterns() {
		for _, n := range []int{2, 4, 7, 12, 16} {
			s := Spec{name, n, 3, 100, 1000, 0}
			p, c, err := Make(s)
			if err != nil {
				if name != "allreduce_rd" {
					t.Error(err)
				}
				continue
			}
			open := map[[3]int32]int{}
			e := Expand(p)
			for r := range n {
				own := calls(t, p, c, r)
				if calls(t, e, c, r) != own {
					t.Fatalf("%v: process %d does something else when expanded", s, r)
				}
				if got, want := uint64(strings.Count(own, "calc 1000000\n")), 3*computations[name]; got != want {
					t.Errorf("%v: process %d computes %d times, not %d", s, r, got, want)
				}
				Walk(e, r, func(actions []simnet.Action) {
					for _, a := range actions {
						switch a.Kind {
						case simnet.PostSend:
							open[[3]int32{int32(r), a.Peer, int32(a.Tag)}]++
						case simnet.PostRecv:
							open[[3]int32{a.Peer, int32(r), int32(a.Tag)}]--
						}
					}
				})
			}
			for ch, n := range open {
				if n != 0 {
					t.Errorf("%v: %d sends without receive on %v", s, n, ch)
				}
			}
		}
	}
}

// TestFillPieces: a vector is the same however it is asked for.
func TestFillPieces(t *testing.T) {
	for _, name := range Patterns() {
		_, c, err := Make(Spec{name, 16, 3, 100, 1000, 50})
		if err != nil {
			t.Fatal(err)
		}
		whole := make([]int64, 1200)
		for process := range uint32(16) {
			if err := c.Fill(process, 0, whole); err != nil {
				t.Fatal(err)
			}
			for first, n := 0, 1; first+n < len(whole); first, n = first+n, n%7+1 {
				part := make([]int64, n)
				if err := c.Fill(process, uint64(first), part); err != nil {
					t.Fatal(err)
				}
				for i := range part {
					if part[i] != whole[first+i] {
						t.Fatalf("%s: entry %d of process %d: %d, then %d", name, first+i, process, whole[first+i], part[i])
					}
				}
			}
		}
	}
}

func TestGOAL(t *testing.T) {
	p, c, err := Make(Spec{"chain", 3, 2, 8, 5, 0})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteGOAL(&out, p, c); err != nil {
		t.Fatal(err)
	}
	const want = `num_ranks 3
rank 0 {
l1: calc 5
l2: send 8b to 1 tag 0
l2 requires l1
l3: calc 5
l3 requires l2
l4: send 8b to 1 tag 0
l4 requires l3
}
rank 1 {
l1: recv 8b from 0 tag 0
l2: calc 5
l2 requires l1
l3: send 8b to 2 tag 0
l3 requires l2
l4: recv 8b from 0 tag 0
l4 requires l3
l5: calc 5
l5 requires l4
l6: send 8b to 2 tag 0
l6 requires l5
}
rank 2 {
l1: recv 8b from 1 tag 0
l2: calc 5
l2 requires l1
l3: recv 8b from 1 tag 0
l3 requires l2
l4: calc 5
l4 requires l3
}
`
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

func TestSMPI(t *testing.T) {
	for _, c := range []struct {
		s       Spec
		process int
		want    string
	}{
		{Spec{"chain", 3, 2, 8, 5, 0}, 1, `1 init
1 recv 0 0 8 6
1 compute 5
1 send 2 0 8 6
1 recv 0 0 8 6
1 compute 5
1 send 2 0 8 6
1 finalize
`},
		{Spec{"stencil3d", 8, 1, 8, 5, 0}, 0, `0 init
0 irecv 4 0 8 6
0 irecv 4 1 8 6
0 irecv 2 2 8 6
0 irecv 2 3 8 6
0 irecv 1 4 8 6
0 irecv 1 5 8 6
0 isend 4 1 8 6
0 isend 4 0 8 6
0 isend 2 3 8 6
0 isend 2 2 8 6
0 isend 1 5 8 6
0 isend 1 4 8 6
0 waitall
0 compute 5
0 finalize
`},
	} {
		p, calc, err := Make(c.s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteSMPI(&out, p, calc, c.process); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%v: got %s", c.s, out.String())
		}
	}
}
