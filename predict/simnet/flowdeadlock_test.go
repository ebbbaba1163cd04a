package simnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// stuckScript makes a program of messages whose ends are anywhere in their processes: many such stop for ever.
func stuckScript(r *rand.Rand) script {
	s := make(script, 2+r.IntN(4))
	late := make(script, len(s))
	name := 0
	add := func(p int, kind string, peer, tag, bytes int) {
		op := fmt.Sprintf("%s %d %d %d", kind, peer, tag, bytes)
		if r.IntN(4) == 0 {
			name++
			op = fmt.Sprintf("i%s %d", op, name)
			late[p] = append(late[p], fmt.Sprintf("wait %d", name))
		}
		s[p] = slices.Insert(s[p], r.IntN(len(s[p])+1), op)
	}
	for range 1 + r.IntN(8) {
		src, dst, tag := r.IntN(len(s)), r.IntN(len(s)), r.IntN(2)
		bytes := []int{8, 70000}[r.IntN(2)]
		add(src, []string{"send", "ssend", "bsend"}[r.IntN(3)], dst, tag, bytes)
		add(dst, "recv", src, tag, bytes)
	}
	for p := range s {
		s[p] = append(s[p], late[p]...)
	}
	return s
}

// need is how many posts of an end of a channel an operation needs.
type need struct {
	end   string
	posts int
}

// ends tells whether a script comes to its end, by MPI's rules without times: sends up to the limit need no receive, others
// need that it is posted.
func (s script) ends(eager int) bool {
	at := make([]int, len(s))
	posted := make([]bool, len(s))
	counts := map[string]int{}    // posts on an end of a channel
	requests := map[[2]int]need{} // of each process and name
	for moved := true; moved; {
		moved = false
		for p := range s {
			for at[p] < len(s[p]) {
				f := strings.Fields(s[p][at[p]])
				var n [4]int
				for i := 1; i < len(f); i++ {
					_, _ = fmt.Sscan(f[i], &n[i-1])
				}
				name := -1
				if f[0] == "wait" {
					name = n[0]
				} else if f[0][0] == 'i' {
					name = n[3]
				}
				if f[0] != "wait" && !posted[p] {
					kind := strings.TrimPrefix(f[0], "i")
					own, other := fmt.Sprint("s", p, n[0], n[1]), fmt.Sprint("r", p, n[0], n[1])
					if kind == "recv" {
						own, other = fmt.Sprint("r", n[0], p, n[1]), fmt.Sprint("s", n[0], p, n[1])
					}
					counts[own]++
					requests[[2]int{p, name}] = need{}
					if kind == "recv" || kind == "ssend" || kind == "send" && n[2] > eager {
						requests[[2]int{p, name}] = need{other, counts[own]}
					}
					posted[p], moved = true, true
				}
				if x := requests[[2]int{p, name}]; f[0][0] != 'i' && counts[x.end] < x.posts {
					break
				}
				at[p]++
				posted[p], moved = false, true
			}
		}
	}
	for p := range s {
		if at[p] < len(s[p]) {
			return false
		}
	}
	return true
}

// TestDeadlockModel compares random programs with the model without times, and the advice with what it promises.
func TestDeadlockModel(t *testing.T) {
	t.Parallel()
	count := 1500
	if testing.Short() {
		count = 300
	}
	stuck, helped := 0, 0
	for seed := range uint64(count) {
		s := stuckScript(rng(seed))
		p, v := s.build(t)
		n := oracleNet(network.DMA)
		_, err := flow(p, v, n, Options{Ring: 1})
		var d *Deadlock
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		if want := s.ends(65535); want != (err == nil) {
			t.Fatalf("seed %d: %v, ends %v\n%q", seed, err, want, s)
		}
		if d == nil {
			continue
		}
		stuck++
		for i, b := range d.Cycle {
			if next := d.Cycle[(i+1)%len(d.Cycle)]; b.For != next.Process {
				t.Fatalf("seed %d: %+v is not a cycle", seed, d.Cycle)
			}
		}
		if _, again := flowOn(2, p, v, n, Options{}); again == nil || again.Error() != err.Error() {
			t.Fatalf("seed %d: %v; on two ranks %v", seed, err, again)
		}
		if d.Eager == 0 {
			continue
		}
		helped++
		for i := range n.Links {
			n.Links[i].Eager = d.Eager
		}
		var other *Deadlock
		if _, err := flow(p, v, n, Options{}); errors.As(err, &other) && slices.Equal(other.Cycle, d.Cycle) {
			t.Fatalf("seed %d: the cycle is there with an eager limit of %d", seed, d.Eager)
		}
	}
	if stuck < count/10 || helped == 0 {
		t.Errorf("%d programs stop, %d for a limit", stuck, helped)
	}
}
