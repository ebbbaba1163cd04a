package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// calls lists a process's calls as text, with the computation before each.
func calls(t *testing.T, p *program.Program, c simnet.Calc, process int) string {
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
	Walk(p, process, func(actions []program.Action) {
		fill()
		for _, a := range actions {
			fmt.Fprintf(&out, "%d %d %d %d\n", a.Kind, a.Peer, a.Tag, a.Bytes)
		}
	})
	fill()
	return out.String()
}

// TestMatched: every send has its receive, and each process computes as often as the pattern says.
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
			for r := range n {
				own := calls(t, p, c, r)
				if got, want := uint64(strings.Count(own, "calc 1000000\n")), 3*computations[name]; got != want {
					t.Errorf("%v: process %d computes %d times, not %d", s, r, got, want)
				}
				Walk(p, r, func(actions []program.Action) {
					for _, a := range actions {
						switch a.Kind {
						case program.PostSend:
							open[[3]int32{int32(r), a.Peer, int32(a.Tag)}]++
						case program.PostRecv:
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
