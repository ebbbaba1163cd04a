package analyze_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/jobs/analyze"
)

// TestWindowsAgainstOracle compares what is found of epochs and locks of random programs, and of those with tables.
func TestWindowsAgainstOracle(t *testing.T) {
	cases := []waitCase{windows(), groupSyncs(), fences()}
	for seed := range uint64(24) {
		cases = append(cases, randomWindows(seed))
	}
	patterns := map[oracle.Item]int{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			src := c.source(t)
			checkAgainstOracle(t, src, analyze.Options{}, oracle.Options{}, 1, 3)
			want, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range want.Locations {
				for _, w := range l.Waits {
					patterns[w.Pattern]++
				}
			}
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
			analyzed(t, 2, o)
			compareCauses(t, o.Output, src, want)
		})
	}
	for _, x := range []oracle.Item{oracle.LatePost, oracle.EarlyWait, oracle.LockContention} {
		if patterns[x] < len(cases) && !t.Failed() {
			t.Errorf("%d waits are %s: the programs do not exercise them", patterns[x], x)
		}
	}
}

// windowProgram is a program of processes that use one window.
type windowProgram struct {
	*rand.Rand
	waitCase
	now  []uint64 // of each process, ticks
	held []holders
}

// holders says of a lock when it was asked for and granted last, until when processes share it, and until when one has it alone.
type holders struct{ asked, granted, shared, alone uint64 }

// randomWindows has epochs and locks between computing of random length.
func randomWindows(seed uint64) waitCase {
	x := windowProgram{Rand: rand.New(rand.NewPCG(seed, 23)), now: make([]uint64, 2+seed%4), held: make([]holders, 2+seed%4)}
	x.name, x.definitions = fmt.Sprint("seed ", seed), "RMA_WIN self=0 name=0 comm=0\n"
	for range 20 {
		target := x.IntN(len(x.now))
		var others []int
		for p := range x.now {
			if p != target && (len(others) == 0 || x.IntN(3) > 0) {
				others = append(others, p)
			}
		}
		if x.IntN(2) == 0 {
			x.epoch(target, others)
		} else {
			x.locks(target)
		}
	}
	slices.SortStableFunc(x.calls, func(a, b smallCall) int { return int(a.enter) - int(b.enter) })
	end := slices.Max(x.now) + 1
	for range x.now {
		x.last = append(x.last, end)
	}
	return x.waitCase
}

// compute lets a process work for a while, and returns when it is done.
func (x *windowProgram) compute(p int) uint64 {
	x.now[p] += 1 + x.Uint64N(40)
	return x.now[p]
}

// call adds a call of a process that lasts until an instant at least.
func (x *windowProgram) call(p int, region string, until uint64, record string) {
	from := x.now[p]
	x.now[p] = max(until, from) + 1
	x.calls = append(x.calls, smallCall{p, from, x.now[p], region, "", record})
}

// epoch is one in which others have access to the window of a target. The library waits for the target at the begin or at the end.
func (x *windowProgram) epoch(target int, others []int) {
	lazy, group := x.IntN(2) == 0, x.IntN(2) == 0
	with := func(ranks []int, way string) string {
		if !group {
			return fmt.Sprintf("RMA_SYNC 0 %d %s", ranks[0], way)
		}
		members := ""
		for _, r := range ranks {
			members += fmt.Sprint(" ", r)
		}
		n := 100 + len(x.definitions)
		x.definitions += fmt.Sprintf("GROUP self=%d number_of_members=%d%s group_type=5 paradigm=4\n", n, len(ranks), members)
		return fmt.Sprintf("RMA_GROUP_SYNC PROCESS 0 %d", n)
	}
	if !group {
		others = others[:1]
	}
	posted, completed := x.compute(target), uint64(0)
	x.call(target, "MPI_Win_post", 0, with(others, "NOTIFY_OUT"))
	for _, p := range others {
		begin, end := posted, uint64(0)
		if lazy {
			begin, end = end, begin
		}
		x.compute(p)
		x.call(p, "MPI_Win_start", begin, with([]int{target}, "NOTIFY_IN"))
		completed = max(completed, x.compute(p))
		x.call(p, "MPI_Win_complete", end, with([]int{target}, "NOTIFY_OUT"))
	}
	x.compute(target)
	x.call(target, "MPI_Win_wait", completed, with(others, "NOTIFY_IN"))
}

// locks lets all processes have the lock of a target in the order in which they ask for it.
func (x *windowProgram) locks(target int) {
	h := &x.held[target]
	order := x.Perm(len(x.now))
	for _, p := range order {
		x.now[p] = max(x.now[p], h.asked)
		x.compute(p)
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(x.now[a]) - int(x.now[b]) })
	for _, p := range order {
		h.asked = x.now[p]
		kind, free := "SHARED", h.alone
		if x.IntN(2) == 0 {
			kind, free = "EXCLUSIVE", max(h.alone, h.shared)
		}
		x.call(p, "MPI_Win_lock", max(h.granted, free), fmt.Sprintf("RMA_ACQUIRE_LOCK 0 %d 0 %s", target, kind))
		if way := x.IntN(3); way > 0 { // as Score-P writes it, or with both records
			c := &x.calls[len(x.calls)-1]
			if c.begin = strings.Replace(c.end, "ACQUIRE", "REQUEST", 1); way == 1 {
				c.end = ""
			}
		}
		h.granted = x.now[p]
		end := x.compute(p)
		x.call(p, "MPI_Win_unlock", 0, fmt.Sprintf("RMA_RELEASE_LOCK 0 %d 0", target))
		if kind == "SHARED" {
			h.shared = max(h.shared, end)
		} else {
			h.alone = end
		}
	}
}
