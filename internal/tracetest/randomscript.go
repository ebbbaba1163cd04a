package tracetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// RandomScript makes a small program of everything that scripts can do, without
// deadlock. Markers may be broken: closed twice, crossed, or never.
func RandomScript(seed uint64) *Script {
	r := &scriptWriter{Rand: rand.New(rand.NewPCG(seed, 77))}
	n := 2 + r.IntN(4)
	s := &Script{Steps: make([][]Step, n), Latency: uint64(r.IntN(4))}
	s.Regions = []ScriptRegion{
		{"main", "main.c", 1, 0},
		{"solve", "solve.c", 20 + uint32(r.IntN(2)), 0},
		{"phase", "solve.c", 40, regionDynamicFlag},
		{"kernel", "kernel.c", 7, 0},
	}
	odd := ScriptComm{Name: "odd"}
	for p := range n {
		s.Comms = append(s.Comms, ScriptComm{"coppice.intervals", []int{p}})
		if q := n - 1 - p; q == 0 || r.IntN(2) == 0 {
			odd.Members = append(odd.Members, q)
		}
	}
	r.odd = odd.Members
	s.Comms = append(s.Comms, odd)
	r.s, r.cost, r.got = s, uint64(1+r.IntN(3)), map[target]int{}
	if r.IntN(4) == 0 {
		r.cost = 0 // calls of no length
	}
	r.write(3 + r.IntN(14))
	return s
}

// regionDynamicFlag marks regions whose executions a user tells apart.
const regionDynamicFlag = 1

type scriptWriter struct {
	*rand.Rand
	s    *Script
	cost uint64
	next int // request
	tag  uint32
	odd  []int          // members of the smaller communicator
	open [][]string     // user regions of each process
	got  map[target]int // locks of windows that were asked for
}

// all adds steps to every process.
func (r *scriptWriter) all(f func(p int) []Step) {
	for p := range r.s.Steps {
		r.add(p, f(p)...)
	}
}

func (r *scriptWriter) add(p int, steps ...Step) {
	for _, st := range steps {
		if st.Call != "" {
			st.Ticks = r.cost
			if st.Ticks > 0 {
				st.Ticks += uint64(r.IntN(2))
			}
		}
		r.s.Steps[p] = append(r.s.Steps[p], st)
	}
	if r.IntN(3) > 0 {
		r.s.Steps[p] = append(r.s.Steps[p], Step{Ticks: uint64(r.IntN(12))})
	}
}

func (r *scriptWriter) request() int {
	r.next++
	return r.next
}

func (r *scriptWriter) write(rounds int) {
	n := len(r.s.Steps)
	r.open = make([][]string, n)
	for p := range n {
		if r.IntN(3) == 0 {
			r.s.Start = append(r.s.Start, uint64(r.IntN(9)))
		} else {
			r.s.Start = append(r.s.Start, 0)
		}
		r.enter(p, "main")
		r.add(p, Step{Ticks: 1}) // nothing happens at the first instant
	}
	ends := r.IntN(2) == 0
	if ends {
		r.all(func(int) []Step { return []Step{{Call: "Init", As: "Barrier"}} })
	}
	var mix []func() // another one in each program
	for _, kind := range []func(){r.message, r.reversed, r.ring, r.collective, r.started, r.markers, r.regions, r.shift, r.cancelled, r.together, r.epoch, r.locks, r.fence} {
		mix = append(mix, slices.Repeat([]func(){kind}, r.IntN(4))...)
	}
	for range min(rounds, rounds*len(mix)) {
		mix[r.IntN(len(mix))]()
	}
	if ends {
		r.all(func(int) []Step { return []Step{{Call: "Finalize"}} })
	}
	for p := range n {
		for len(r.open[p]) > 0 && r.IntN(8) > 0 {
			r.leave(p)
		}
	}
}

func (r *scriptWriter) enter(p int, name string) {
	r.open[p] = append(r.open[p], name)
	r.add(p, Step{Enter: name})
}

func (r *scriptWriter) leave(p int) {
	n := len(r.open[p]) - 1
	r.add(p, Step{Leave: r.open[p][n]})
	r.open[p] = r.open[p][:n]
}

// pair chooses two processes and a new tag.
func (r *scriptWriter) pair() (from, to int, tag uint32) {
	n := len(r.s.Steps)
	from = r.IntN(n)
	to = (from + 1 + r.IntN(n-1)) % n
	r.tag++
	return from, to, r.tag
}

// message is one message, sent and received in some way.
func (r *scriptWriter) message() {
	from, to, tag := r.pair()
	q := r.request()
	receive := []Step{{Call: "Recv", Peer: from, Tag: tag}}
	switch r.IntN(6) {
	case 0:
		receive = []Step{{Call: "Probe", Peer: from, Tag: tag}, {Call: "Recv", Peer: from, Tag: tag}}
	case 1:
		receive = []Step{{Call: "Mprobe", As: "Probe", Peer: from, Tag: tag}, {Call: "Mrecv", As: "Recv", Peer: from, Tag: tag}}
	case 2:
		receive = []Step{r.completion(q)}
		r.add(to, Step{Call: "Irecv", Peer: from, Tag: tag, Requests: []int{q}})
	case 3:
		receive = []Step{r.completion(q)}
		r.add(to, Step{Call: "Start", As: "Irecv", Peer: from, Tag: tag, Requests: []int{q}})
	}
	s := r.request()
	switch r.IntN(6) {
	case 0:
		r.add(from, Step{Call: "Ssend", Peer: to, Tag: tag})
	case 1, 2:
		call := []string{"Isend", "Ibsend", "Irsend", "Start"}[r.IntN(4)]
		r.add(from, Step{Call: call, As: "Isend", Peer: to, Tag: tag, Requests: []int{s}})
		r.add(from, r.completion(s))
	case 3:
		r.add(from, Step{Call: "Issend", Peer: to, Tag: tag, Requests: []int{s}})
		r.add(to, receive...)
		r.add(from, r.completion(s))
		return
	case 4:
		r.add(from, Step{Call: []string{"Bsend", "Rsend"}[r.IntN(2)], As: "Send", Peer: to, Tag: tag})
	default:
		r.add(from, Step{Call: "Send", Peer: to, Tag: tag, Blocks: r.IntN(2) == 0})
	}
	r.add(to, receive...)
}

// completion is a call that completes requests, or tests of them until they are complete.
func (r *scriptWriter) completion(requests ...int) Step {
	if r.IntN(5) == 0 {
		return Step{Call: []string{"Test", "Testall", "Testany", "Testsome"}[r.IntN(4)], As: "Waitall", Requests: requests}
	}
	return Step{Call: []string{"Wait", "Waitall", "Waitany", "Waitsome"}[r.IntN(4)], As: "Waitall", Requests: requests}
}

// cancelled is a message that nobody sends or receives, and that is cancelled.
func (r *scriptWriter) cancelled() {
	p, peer, tag := r.pair()
	q := r.request()
	r.add(p, Step{Call: []string{"Irecv", "Isend"}[r.IntN(2)], Peer: peer, Tag: tag, Requests: []int{q}})
	r.add(p, Step{Call: "Cancel", Requests: []int{q}})
	r.add(p, Step{Call: "Wait", Requests: []int{q}})
}

// together exchanges messages with both neighbours, which one call starts.
func (r *scriptWriter) together() {
	n := len(r.s.Steps)
	r.tag += 2
	up, down := r.tag-1, r.tag
	as := []string{"Isend", "Issend"}[r.IntN(2)]
	call := []string{"Startall", "Isendrecv"}[r.IntN(2)]
	r.all(func(p int) []Step {
		left, right := (p+n-1)%n, (p+1)%n
		q := []int{r.request(), r.request(), r.request(), r.request()}
		starts := []Step{
			{Call: "Irecv", Peer: left, Tag: up, Requests: q[:1]},
			{Call: as, Peer: right, Tag: up, Requests: q[1:2]},
			{Call: "Irecv", Peer: right, Tag: down, Requests: q[2:3]},
			{Call: as, Peer: left, Tag: down, Requests: q[3:]},
		}
		steps := []Step{{Ticks: uint64(r.IntN(30))}, {Call: call, As: "Startall", Starts: starts}, {Ticks: uint64(r.IntN(30))}}
		if r.IntN(3) == 0 {
			return append(steps, r.completion(q[2:]...), r.completion(q[:2]...))
		}
		return append(steps, r.completion(q...))
	})
}

// window chooses a communicator with a window and one of its members, and lists the others in random order.
func (r *scriptWriter) window() (comm string, p int, others []int) {
	members := r.odd
	if comm = "odd"; len(r.odd) < 2 || r.IntN(2) == 0 {
		comm, members = "", r.Perm(len(r.s.Steps))
	}
	members = slices.Clone(members)
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return comm, members[0], members[1:]
}

// operations begins one-sided operations. It completes those with requests, and returns the others.
func (r *scriptWriter) operations(p, target int, comm string) (open []int) {
	var requests []int
	for range r.IntN(3) {
		q := r.request()
		st := Step{Call: []string{"Put", "Get", "Accumulate", "Fetch_and_op", "Rput", "Rget"}[r.IntN(6)], Peer: target, Comm: comm, Requests: []int{q}}
		switch st.Call {
		case "Rput", "Accumulate":
			st.As = "Put"
		case "Rget":
			st.As = "Get"
		}
		if r.add(p, st); st.Call[0] == 'R' {
			requests = append(requests, q)
		} else {
			open = append(open, q)
		}
	}
	if len(requests) > 0 {
		r.add(p, r.completion(requests...))
	}
	return open
}

// epoch is one in which others have access to the window of a process.
func (r *scriptWriter) epoch() {
	comm, target, others := r.window()
	others = others[:1+r.IntN(len(others))]
	r.add(target, Step{Ticks: uint64(r.IntN(30))}, Step{Call: "Win_post", Comm: comm, Group: others})
	for _, p := range others {
		waits := r.IntN(2) == 0
		r.add(p, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_start", Comm: comm, Group: []int{target}, Blocks: waits})
		open := r.operations(p, target, comm)
		r.add(p, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_complete", Comm: comm, Group: []int{target}, Blocks: waits, Requests: open})
	}
	r.add(target, Step{Call: "Win_wait", Comm: comm, Group: others})
}

// locks lets processes have the lock of a window one after the other, or together.
func (r *scriptWriter) locks() {
	comm, at, others := r.window()
	if r.IntN(2) == 0 {
		others = append(others, at)
	}
	for _, p := range others {
		turn := r.got[target{comm, at}]
		r.got[target{comm, at}]++
		r.add(p, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_lock", Comm: comm, Peer: at, Blocks: r.IntN(2) == 0, Turn: turn})
		open := r.operations(p, at, comm)
		if r.IntN(3) == 0 {
			r.add(p, Step{Call: "Win_flush", Comm: comm, Peer: at, Requests: open})
			open = nil
		}
		r.add(p, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_unlock", Comm: comm, Peer: at, Requests: open})
	}
}

// fence has operations between two fences.
func (r *scriptWriter) fence() {
	comm, p, others := r.window()
	open := map[int][]int{}
	as := []string{"Barrier", "Fence", "Loose_fence"}[r.IntN(3)] // the first one need not wait
	for _, q := range append(others, p) {
		r.add(q, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_fence", As: as, Comm: comm})
		if q != p {
			open[q] = r.operations(q, p, comm)
		}
	}
	for _, q := range append(others, p) {
		r.add(q, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Win_fence", As: "Barrier", Comm: comm, Requests: open[q]})
	}
}

// reversed is two messages that are received in the other order, from one
// sender or from two.
func (r *scriptWriter) reversed() {
	from, to, first := r.pair()
	other := from
	if n := len(r.s.Steps); n > 2 && r.IntN(2) == 0 {
		for other == from || other == to {
			other = r.IntN(n)
		}
	}
	r.tag++
	second := r.tag
	r.add(from, Step{Call: "Send", Peer: to, Tag: first})
	r.add(other, Step{Ticks: uint64(r.IntN(20))}, Step{Call: "Send", Peer: to, Tag: second})
	r.add(to, Step{Call: "Recv", Peer: other, Tag: second})
	r.add(to, Step{Call: "Recv", Peer: from, Tag: first})
}

// ring exchanges messages with both neighbours and waits for all.
func (r *scriptWriter) ring() {
	n := len(r.s.Steps)
	r.tag += 2
	up, down := r.tag-1, r.tag
	r.all(func(p int) []Step {
		left, right := (p+n-1)%n, (p+1)%n
		q := []int{r.request(), r.request(), r.request(), r.request()}
		steps := []Step{
			{Call: "Irecv", Peer: left, Tag: up, Requests: q[:1]},
			{Call: "Irecv", Peer: right, Tag: down, Requests: q[1:2]},
			{Ticks: uint64(r.IntN(10))},
			{Call: "Isend", Peer: right, Tag: up, Requests: q[2:3]},
			{Call: "Isend", Peer: left, Tag: down, Requests: q[3:]},
			{Ticks: uint64(r.IntN(30))},
		}
		if r.IntN(3) == 0 {
			return append(steps, Step{Call: "Waitall", Requests: q[1:]}, Step{Call: "Wait", Requests: q[:1]})
		}
		return append(steps, r.completion(q...))
	})
}

// shift sends to the right and receives from the left in one call.
func (r *scriptWriter) shift() {
	n := len(r.s.Steps)
	r.tag++
	call := []string{"Sendrecv", "Sendrecv_replace"}[r.IntN(2)]
	r.all(func(p int) []Step {
		return []Step{{Ticks: uint64(r.IntN(25))}, {Call: call, As: "Sendrecv", Peer: (p + 1) % n, Source: (p + n - 1) % n, Tag: r.tag}}
	})
}

// members calls f for the processes of a communicator.
func (r *scriptWriter) members(f func(p int, comm string) []Step) {
	if r.IntN(3) == 0 {
		for _, p := range r.odd {
			r.add(p, f(p, "odd")...)
		}
		return
	}
	r.all(func(p int) []Step { return f(p, "") })
}

func (r *scriptWriter) collective() {
	call := Step{Call: dataOperations[r.IntN(len(dataOperations))], Root: r.IntN(len(r.odd))}
	switch r.IntN(6) {
	case 0:
		call.Call = []string{"Barrier", "File_write_all", "File_read_all"}[r.IntN(3)]
	case 1:
		call.Call, call.As = "Comm_dup", "Create_handle"
	}
	r.members(func(_ int, comm string) []Step {
		call.Comm = comm
		return []Step{{Ticks: uint64(r.IntN(30))}, call}
	})
}

// dataOperations are collective operations that move data.
var dataOperations = []string{
	"Allreduce", "Alltoall", "Alltoallv", "Allgather", "Allgatherv", "Reduce_scatter", "Reduce_scatter_block",
	"Bcast", "Scatter", "Scatterv", "Reduce", "Gather", "Gatherv", "Scan", "Exscan",
}

// started is one or two non-blocking collectives, completed together.
func (r *scriptWriter) started() {
	call := Step{Call: "I" + strings.ToLower(dataOperations[r.IntN(len(dataOperations))]), Root: r.IntN(len(r.odd))}
	if r.IntN(5) == 0 {
		call.Call = "Ibarrier"
	}
	if r.IntN(4) == 0 {
		call.Call, call.As = "Start", call.Call
	}
	both := r.IntN(3) == 0
	r.members(func(_ int, comm string) []Step {
		call := call
		call.Comm, call.Requests = comm, []int{r.request()}
		steps, q := []Step{{Ticks: uint64(r.IntN(20))}, call}, call.Requests
		if both {
			x := r.request()
			steps = append(steps, Step{Call: "Ibarrier", Comm: comm, Requests: []int{x}})
			q = []int{q[0], x}
		}
		return append(steps, Step{Ticks: uint64(r.IntN(20))}, r.completion(q...))
	})
}

// regions opens or closes a region of the user's.
func (r *scriptWriter) regions() {
	name := r.s.Regions[1+r.IntN(len(r.s.Regions)-1)].Name
	closing := r.IntN(2) == 0
	for p := range r.s.Steps {
		switch {
		case r.IntN(6) == 0:
		case closing && len(r.open[p]) > 1:
			r.leave(p)
		default:
			r.enter(p, name)
		}
	}
	if r.IntN(4) == 0 {
		v := int64(r.IntN(3))
		for p := range r.s.Steps {
			r.open[p] = append(r.open[p], "kernel")
			r.add(p, Step{Enter: "kernel", Parameter: "interval", Level: v})
		}
	}
}

// markers writes the same marker on all processes, or on some.
func (r *scriptWriter) markers() {
	form, id, end := r.IntN(5), 5+r.IntN(3), r.IntN(2) == 0
	for p := range r.s.Steps {
		if r.IntN(7) > 0 {
			r.add(p, Mark(p, form+1, id, end)...)
		}
	}
}

// ownComm is the first communicator after MPI_COMM_WORLD and MPI_COMM_SELF.
const ownComm = 2

// OwnComm is the reference of process p's own communicator, if these are the first
// ones of a script.
func OwnComm(p int) string { return fmt.Sprint(ownComm + p) }

// Mark returns the steps of a marker of forms F1 to F5 on process p. F3 takes the
// process's own communicator of the name coppice.intervals.
func Mark(p, form, id int, end bool) []Step {
	self := func(comm string, tag uint32) Step {
		return Step{Call: "Sendrecv", Peer: p, Source: p, Tag: tag, Comm: comm}
	}
	bit, sign := uint32(0), int64(1)
	if end {
		bit, sign = 1, -1
	}
	switch form {
	case 1:
		return []Step{self("", 0xAA0000AA|uint32(id)<<8+0x11*bit)}
	case 2:
		return []Step{self("MPI_COMM_SELF", 0x2AAA+0x11*bit), self("MPI_COMM_SELF", uint32(id))}
	case 3:
		return []Step{self(OwnComm(p), 2*uint32(id)+bit)}
	case 4:
		return []Step{{Call: "Pcontrol", Parameter: "level", Level: sign * int64(id)}}
	}
	return []Step{{Call: "Pcontrol", Parameter: "level", Level: sign, Text: fmt.Sprint("part", id)}}
}
