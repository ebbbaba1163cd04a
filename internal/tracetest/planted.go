package tracetest

import "math/rand/v2"

// Plant is a program with known results. Node counts intervals in their order,
// 0 is the whole run; items and activities have the names of reports.
type Plant struct {
	Name   string
	Script *Script
	Items  []PlantedItem
	Costs  []PlantedCost // all delay costs
	Path   []PlantedItem // the critical path by activity, of node 0
}

// PlantedItem is a component of a node on a process.
type PlantedItem struct {
	Process, Node int
	Item          string
	Value         uint64
}

// PlantedCost is what a process's delays cost others, over all call paths.
type PlantedCost struct {
	Process     int
	Activity    string
	Pattern     string
	Short, Long uint64
}

// Planted makes programs of every kind, of sizes and times that seed chooses.
func Planted(seed uint64) []Plant {
	g := &gardener{rand.New(rand.NewPCG(seed, 5))}
	return []Plant{
		g.late("Send", "late_sender"), g.late("Ssend", "late_receiver"), g.synchronised("Barrier", "wait_barrier"), g.synchronised("Allreduce", "wait_nxn"), g.synchronised("File_write_all", "wait_barrier"),
		g.broadcast(), g.reduce(), g.scan(), g.wrongOrder(), g.chain(), g.marked(), g.epochs(), g.lock(),
	}
}

type gardener struct{ *rand.Rand }

// ticks is a length of 1 to 1000 ticks.
func (g *gardener) ticks() uint64 { return 1 + uint64(g.IntN(1000)) }

// late lets one process of each pair come late to every message: the sender, or
// for synchronous sends the receiver. Both leave together, so a round begins where
// the one before ended, and the other waits as long as the late one computes more.
func (g *gardener) late(call, pattern string) Plant {
	pairs, rounds, cost := 1+g.IntN(3), 1+g.IntN(20), g.ticks()
	p := Plant{Name: pattern, Script: &Script{Steps: make([][]Step, 2*pairs)}}
	for i := range pairs {
		waiting, delaying := 2*i+1, 2*i
		if call == "Ssend" {
			waiting, delaying = delaying, waiting
		}
		var sum uint64
		for range rounds {
			less, more := g.ticks(), g.ticks()
			work := map[int]uint64{waiting: less, delaying: less + more}
			p.add(2*i, Step{Ticks: work[2*i]}, Step{Call: call, Peer: 2*i + 1, Ticks: cost})
			p.add(2*i+1, Step{Ticks: work[2*i+1]}, Step{Call: "Recv", Peer: 2 * i, Ticks: cost})
			sum += more
		}
		p.frame(2 * i)
		p.frame(2*i + 1)
		p.item(waiting, pattern, sum)
		p.item(delaying, pattern, 0)
		p.item(waiting, "wait_count", uint64(rounds))
		p.Costs = append(p.Costs, PlantedCost{delaying, "cpu", pattern, sum, 0})
	}
	return p
}

func (p *Plant) add(process int, steps ...Step) {
	p.Script.Steps[process] = append(p.Script.Steps[process], steps...)
}

// frame puts main around the steps of a process.
func (p *Plant) frame(process int) {
	s := append([]Step{{Enter: "main"}}, p.Script.Steps[process]...)
	p.Script.Steps[process] = append(s, Step{Leave: "main"})
}

func (p *Plant) item(process int, item string, v uint64) {
	p.Items = append(p.Items, PlantedItem{process, 0, item, v})
}

// synchronised lets processes meet in every round after computations of different
// lengths: everyone waits for the longest.
func (g *gardener) synchronised(call, pattern string) Plant {
	n, rounds, cost := 2+g.IntN(5), 1+g.IntN(15), g.ticks()
	p := Plant{Name: pattern, Script: &Script{Steps: make([][]Step, n)}}
	waits, blame, works := make([]uint64, n), make([]uint64, n), make([]uint64, n)
	var path uint64
	for range rounds {
		last := g.IntN(n)
		longest := 1001 + g.ticks()
		for q := range n {
			w := g.ticks()
			if q == last {
				w = longest
			}
			p.add(q, Step{Ticks: w}, Step{Call: call, Ticks: cost})
			waits[q] += longest - w
			blame[last] += longest - w
			works[q] += w
		}
		path += longest
	}
	for q := range n {
		p.frame(q)
		p.item(q, pattern, waits[q])
		p.item(q, "potent_sync", waits[q])
		p.item(q, "time_variation", 0)
		p.item(q, "cpu", works[q])
		p.item(q, "ideal", path)
		if blame[q] > 0 { // all have met in the round before, whoever was last there
			p.Costs = append(p.Costs, PlantedCost{q, "cpu", pattern, blame[q], 0})
		}
	}
	p.Path = []PlantedItem{{Item: "critical_cpu", Value: path}, {Item: "critical_mpi", Value: cost * uint64(rounds)}}
	return p
}

// once makes a program of one collective that processes enter at given times.
func (g *gardener) once(name, call string, root int) (p Plant, enters []uint64) {
	n := 2 + g.IntN(6)
	p = Plant{Name: name, Script: &Script{Steps: make([][]Step, n)}}
	cost := g.ticks()
	for q := range n {
		enters = append(enters, g.ticks())
		p.add(q, Step{Ticks: enters[q]}, Step{Call: call, Root: root, Ticks: cost})
		p.frame(q)
	}
	return p, enters
}

func (g *gardener) broadcast() Plant {
	p, enters := g.once("late_broadcast", "Bcast", 1)
	var sum uint64
	for q, at := range enters {
		wait := enters[1] - min(enters[1], at)
		p.item(q, "late_broadcast", wait)
		sum += wait
	}
	if sum > 0 {
		p.Costs = []PlantedCost{{1, "cpu", "late_broadcast", sum, 0}}
	}
	return p
}

func (g *gardener) reduce() Plant {
	p, enters := g.once("early_reduce", "Reduce", 0)
	first := 1
	for q := range enters {
		if q > 0 && enters[q] < enters[first] {
			first = q
		}
		p.item(q, "early_scan", 0)
	}
	wait := enters[first] - min(enters[first], enters[0])
	p.item(0, "early_reduce", wait)
	if wait > 0 {
		p.Costs = []PlantedCost{{first, "cpu", "early_reduce", wait, 0}}
	}
	return p
}

func (g *gardener) scan() Plant {
	p, enters := g.once("early_scan", "Scan", 0)
	blame := make([]uint64, len(enters))
	for q := range enters {
		last := 0
		for j := range q {
			if enters[j] > enters[last] {
				last = j
			}
		}
		wait := enters[last] - min(enters[last], enters[q])
		p.item(q, "early_scan", wait)
		blame[last] += wait
	}
	for q, b := range blame {
		if b > 0 {
			p.Costs = append(p.Costs, PlantedCost{q, "cpu", "early_scan", b, 0})
		}
	}
	return p
}

// wrongOrder lets process 0 wait for the second message of process 1 and then for
// that of process 2, which was there before.
func (g *gardener) wrongOrder() Plant {
	p := Plant{Name: "wrong order", Script: &Script{Steps: make([][]Step, 3)}}
	first, between, cost := g.ticks(), 1001+g.ticks(), g.ticks()
	p.add(0, Step{Call: "Recv", Peer: 1, Tag: 2, Ticks: cost}, Step{Call: "Recv", Peer: 1, Tag: 3, Ticks: cost}, Step{Call: "Recv", Peer: 1, Tag: 1, Ticks: cost}, Step{Call: "Recv", Peer: 2, Tag: 1, Ticks: cost})
	p.add(1, Step{Ticks: first}, Step{Call: "Send", Tag: 1, Ticks: cost}, Step{Ticks: between}, Step{Call: "Send", Tag: 2, Ticks: cost}, Step{Ticks: 3000}, Step{Call: "Send", Tag: 3, Ticks: cost})
	p.add(2, Step{Ticks: g.ticks()}, Step{Call: "Send", Tag: 1, Ticks: cost})
	for q := range 3 {
		p.frame(q)
	}
	wait := first + cost + between
	p.item(0, "late_sender", wait+3000)
	p.item(0, "late_sender_wrong_order_same", wait+3000)
	p.item(0, "late_sender_wrong_order_different", 0)
	return p
}

// epochs lets process 0 wait in MPI_Win_start for the post of process 1, and that one in MPI_Win_wait until process 0 has computed and
// completes. They meet at the end of each wait, so each is as long as the late one computes more since then.
func (g *gardener) epochs() Plant {
	rounds, cost := 1+g.IntN(10), g.ticks()
	p := Plant{Name: "late_post", Script: &Script{Steps: make([][]Step, 2)}}
	var late, early, path uint64
	for range rounds {
		less, more, work := g.ticks(), g.ticks(), g.ticks()
		p.add(0, Step{Ticks: less}, Step{Call: "Win_start", Blocks: true, Group: []int{1}, Ticks: cost}, Step{Ticks: work}, Step{Call: "Win_complete", Blocks: true, Group: []int{1}, Ticks: cost})
		p.add(1, Step{Ticks: less + more}, Step{Call: "Win_post", Group: []int{0}, Ticks: cost}, Step{Call: "Win_wait", Group: []int{0}, Ticks: cost})
		late, early, path = late+more, early+work, path+less+more+work
	}
	for q := range 2 {
		p.frame(q)
		p.item(q, "wait_count", uint64(rounds))
	}
	p.item(0, "late_post", late)
	p.item(1, "early_wait", early)
	p.Costs = []PlantedCost{{1, "cpu", "late_post", late, 0}, {0, "cpu", "early_wait", early, 0}}
	p.Path = []PlantedItem{{Item: "critical_cpu", Value: path}, {Item: "critical_mpi", Value: 2 * cost * uint64(rounds)}}
	return p
}

// lock lets process 1 want the lock of a window while process 0 has it: it waits for the rest of what that one computes, and for the end of
// its call.
func (g *gardener) lock() Plant {
	before, less, rest, cost := g.ticks(), g.ticks(), g.ticks(), g.ticks()
	p := Plant{Name: "lock_contention", Script: &Script{Steps: [][]Step{
		{{Ticks: before}, {Call: "Win_lock", Peer: 1, Blocks: true, Ticks: cost}, {Ticks: less + rest}, {Call: "Win_unlock", Peer: 1, Ticks: cost}},
		{{Ticks: before + less}, {Call: "Win_lock", Peer: 1, Turn: 1, Ticks: cost}, {Call: "Win_unlock", Peer: 1, Ticks: cost}},
	}}}
	for q := range 2 {
		p.frame(q)
	}
	p.item(1, "lock_contention", rest+cost)
	p.item(0, "lock_contention", 0)
	p.Costs = []PlantedCost{{0, "cpu", "lock_contention", rest, 0}, {0, "mpi", "lock_contention", cost, 0}}
	p.Path = []PlantedItem{{Item: "critical_cpu", Value: before + less + rest}, {Item: "critical_mpi", Value: 3 * cost}}
	return p
}

// chain lets every process wait from the begin for the one before it. The first
// one's computation delays all of them.
func (g *gardener) chain() Plant {
	n, cost, delay := 3+g.IntN(6), g.ticks(), g.ticks()
	p := Plant{Name: "chain", Script: &Script{Steps: make([][]Step, n)}}
	at, path := delay, delay // enter of the send of the process before
	p.add(0, Step{Ticks: delay}, Step{Call: "Send", Peer: 1, Ticks: cost})
	p.Costs = append(p.Costs, PlantedCost{0, "cpu", "late_sender", delay, delay * uint64(n-2)})
	for q := 1; q < n; q++ {
		work := g.ticks()
		p.add(q, Step{Call: "Recv", Peer: q - 1, Ticks: cost}, Step{Ticks: work})
		p.item(q, "late_sender", at)
		if q < n-1 {
			p.add(q, Step{Call: "Send", Peer: q + 1, Ticks: cost})
			later := uint64(n - 2 - q) // processes that wait in turn
			p.Costs = append(p.Costs, PlantedCost{q, "cpu", "late_sender", work, work * later}, PlantedCost{q, "mpi", "late_sender", cost, cost * later})
			at += cost + work
		} else {
			work += 1000 + cost // the last one ends last
			p.add(q, Step{Ticks: 1000 + cost})
		}
		path += work
	}
	for q := range n {
		p.frame(q)
	}
	p.Path = []PlantedItem{{Item: "critical_cpu", Value: path}, {Item: "critical_mpi", Value: cost * uint64(n-1)}}
	return p
}

// marked executes an interval of each form several times, one form after the other.
func (g *gardener) marked() Plant {
	p := Plant{Name: "marked", Script: &Script{Steps: make([][]Step, 1), Comms: []ScriptComm{{"coppice.intervals", []int{0}}}}}
	p.Script.Regions = []ScriptRegion{{"phase", "phase.c", 12, regionDynamicFlag}, {"work", "work.c", 3, 0}}
	cost := g.ticks()
	var markers uint64
	for form := 1; form <= 7; form++ {
		count := 1 + g.IntN(5)
		var sum uint64
		for range count {
			w := g.ticks()
			begin, end := Mark(0, form, 20+form, false), Mark(0, form, 20+form, true)
			switch form {
			case 1, 2, 3:
				markers += 2 * cost * uint64(len(begin))
			case 4, 5:
				sum += cost // the begin lies in the call
			case 6:
				begin, end = []Step{{Enter: "phase"}}, []Step{{Leave: "phase"}}
			case 7:
				begin, end = []Step{{Enter: "work", Parameter: "interval", Level: 9}}, []Step{{Leave: "work"}}
			}
			for i := range begin {
				begin[i].Ticks = cost
			}
			for i := range end {
				end[i].Ticks = cost
			}
			p.add(0, begin...)
			p.add(0, Step{Ticks: w})
			p.add(0, end...)
			p.add(0, Step{Ticks: g.ticks()})
			sum += w
		}
		p.Items = append(p.Items, PlantedItem{0, form, "executions", uint64(count)}, PlantedItem{0, form, "time", sum}, PlantedItem{0, form, "marker", 0})
	}
	p.frame(0)
	p.item(0, "marker", markers)
	return p
}
