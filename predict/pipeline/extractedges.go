package pipeline

import (
	"fmt"
	"slices"
)

// tasks makes those of the job's ranks, each after the one before it.
func (g *precedence) tasks() {
	g.sides = make([]map[uint64]*ObservedMessage, len(g.job.Ranks))
	for r := range g.job.Ranks {
		x := &g.job.Ranks[r]
		g.sides[r] = make(map[uint64]*ObservedMessage, len(x.Messages))
		for i := range x.Messages {
			g.sides[r][x.Messages[i].Row] = &x.Messages[i]
		}
		for i := range g.cuts[r] {
			t := g.task(g.kindOf(r, i))
			if i > 0 {
				g.after[t] = append(g.after[t], t-1)
			}
		}
	}
}

// task adds one.
func (g *precedence) task(k taskKind) int {
	g.classOf, g.after = append(g.classOf, g.class(k)), append(g.after, nil)
	return len(g.after) - 1
}

// join adds the edges of messages and collectives.
func (g *precedence) join() error {
	for r := range g.job.Ranks {
		for i := range g.job.Ranks[r].Messages {
			if m := &g.job.Ranks[r].Messages[i]; !m.Send {
				g.receive(r, m)
			}
		}
	}
	if g.outside > 0 {
		g.warn("%d messages come from outside of their job, and nobody waits for them in the model", g.outside)
	}
	return g.collectives()
}

// receive adds the edges of a message to rank.
func (g *precedence) receive(rank int, m *ObservedMessage) {
	if m.Peer < 0 || m.Peer >= len(g.sides) || g.sides[m.Peer][m.Mate] == nil || !g.sides[m.Peer][m.Mate].Send {
		g.outside++
		return
	}
	send := g.sides[m.Peer][m.Mate]
	to := g.beginning(rank, m.Begin)
	if send.Begin > g.job.Ranks[m.Peer].Begin {
		from := g.ending(m.Peer, send.Begin)
		if g.x.Net != nil && g.job.Ranks[rank].Node != g.job.Ranks[m.Peer].Node {
			from = g.transfer(from, m.Bytes)
		}
		g.edge(from, to)
	}
	if ready := min(m.Ready, m.Begin); send.Awaited && ready > g.job.Ranks[rank].Begin {
		at := send.Begin
		if send.Done > send.End {
			at = send.Done
		}
		g.edge(g.ending(rank, ready), g.beginning(m.Peer, at))
	}
}

// transfer adds the task of a message between nodes after the one that sends it.
func (g *precedence) transfer(from int, bytes uint64) int {
	t := g.task(taskKind{size: bitsOf(bytes)})
	c := g.classOf[t]
	if len(g.list[c].Demand) == 0 {
		carry, delay := g.message(1)
		g.list[c].Demand = []Demand{carry, delay}
	}
	g.times[c] = append(g.times[c], float64(bytes))
	g.after[t] = []int{from}
	return t
}

func bitsOf(n uint64) (bits int) {
	for ; n > 0; n >>= 1 {
		bits++
	}
	return max(1, bits)
}

// edge makes a task come after another one; -1 is none.
func (g *precedence) edge(from, to int) {
	if from != to && from >= 0 {
		g.after[to] = append(g.after[to], from)
	}
}

// member is one of a collective operation.
type member struct {
	rank int
	*ObservedCollective
}

// collectives adds the edges of collective operations: over a task without work where all need all.
func (g *precedence) collectives() error {
	type name struct {
		comm    uint32
		ordinal uint64
	}
	groups := map[name][]member{}
	var order []name
	for r := range g.job.Ranks {
		for i := range g.job.Ranks[r].Collectives {
			c := &g.job.Ranks[r].Collectives[i]
			k := name{c.Comm, c.Ordinal}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], member{r, c})
		}
	}
	for _, k := range order {
		g.collective(groups[k])
		if len(g.after) > 2*MaxExtractedTasks {
			return fmt.Errorf("%w: more than %d with messages and collectives", ErrTooLarge, 2*MaxExtractedTasks)
		}
	}
	return nil
}

// collective adds the edges of one operation; members are in order of rank.
func (g *precedence) collective(members []member) {
	if len(members) < 2 {
		return
	}
	needs := func(from, to member) { g.edge(g.coming(from), g.beginning(to.rank, to.Begin)) }
	switch flow := members[0].Flow; flow {
	case AllToAll:
		j := g.task(taskKind{})
		for _, m := range members {
			g.edge(g.coming(m), j)
			g.edge(j, g.beginning(m.rank, m.Begin))
		}
	case Prefix:
		before := -1
		for _, m := range members {
			if before >= 0 {
				g.edge(before, g.beginning(m.rank, m.Begin))
			}
			j := g.task(taskKind{})
			g.edge(g.coming(m), j)
			g.edge(before, j)
			before = j
		}
	case OneToAll, AllToOne:
		root := slices.IndexFunc(members, func(m member) bool { return m.Root })
		for i, m := range members {
			switch {
			case root < 0 || i == root:
			case flow == OneToAll:
				needs(members[root], m)
			default:
				needs(m, members[root])
			}
		}
	}
}

// coming is the task with which a member comes to its call; -1: the job begins inside of it.
func (g *precedence) coming(m member) int {
	if m.Begin <= g.job.Ranks[m.rank].Begin {
		return -1
	}
	return g.ending(m.rank, m.Begin)
}

// order numbers the tasks so that each comes after those that it needs, and drops edges that others imply: of several tasks
// of one process the last is enough.
func (g *precedence) order() ([]Task, error) {
	for t := range g.after {
		slices.Sort(g.after[t])
		g.after[t] = g.lastOfEach(slices.Compact(g.after[t]))
	}
	order := topological(g.after)
	if len(order) < len(g.after) {
		return nil, ErrClocks
	}
	tasks := inOrder(order, g.classOf, g.after)
	for _, t := range tasks {
		slices.Sort(t.After)
	}
	return tasks, nil
}

// lastOfEach keeps, of tasks of one process, the last. list is in order.
func (g *precedence) lastOfEach(list []int) []int {
	kept := list[:0]
	rank := func(t int) int { // ranks without tasks begin where the next one does
		i, _ := slices.BinarySearch(g.first, t+1)
		return i - 1
	}
	last := len(g.first) - 1
	own := g.first[last] + len(g.cuts[last]) // tasks of processes; those of messages and joins follow
	for i, t := range list {
		if i+1 < len(list) && list[i+1] < own && rank(list[i+1]) == rank(t) {
			continue
		}
		kept = append(kept, t)
	}
	return kept
}
