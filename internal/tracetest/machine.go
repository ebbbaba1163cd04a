package tracetest

import (
	"fmt"
	"slices"
	"strings"
)

// machine simulates a Script: every process does its steps until it has to wait
// for what another one has not done yet.
type machine struct {
	s         *Script
	processes []*actor
	sends     map[route][]uint64 // enters, in the order of posting
	posts     map[route][]uint64 // of receives
	members   map[string][]int   // of communicators
	entered   map[string][][]int64
	notices   map[notice][]uint64 // enters
	locks     map[target]map[int]*grant
}

// notice is what a call of one process on a window says to another one.
type notice struct {
	target
	from int
	call string
}

// target is a process and a window.
type target struct {
	comm string
	p    int
}

// grant is when a lock was released, once it was.
type grant struct {
	exclusive, over bool
	released        uint64
}

type route struct {
	comm     string
	from, to int
	tag      uint32
}

// actor is a process of a script.
type actor struct {
	p       int
	now     uint64
	pc      int
	in      bool // in the call of the current step
	enter   uint64
	out     strings.Builder
	pending map[int]pendingStep
	counts  map[string]int // collectives begun, by communicator
	heard   map[notice]int // waited for
	held    map[target]*grant
	turn    turn // of the current call
}

// pendingStep is a request that is open.
type pendingStep struct {
	step      Step
	turn      turn
	cancelled bool
}

// turn is the place of an operation among those of its channel or communicator.
type turn struct{ send, receive, collective int }

func newMachine(s *Script) *machine {
	m := &machine{
		s: s, sends: map[route][]uint64{}, posts: map[route][]uint64{}, entered: map[string][][]int64{},
		members: map[string][]int{"": nil}, notices: map[notice][]uint64{}, locks: map[target]map[int]*grant{},
	}
	for p := range s.Steps {
		a := &actor{p: p, pending: map[int]pendingStep{}, counts: map[string]int{}, heard: map[notice]int{}, held: map[target]*grant{}}
		if p < len(s.Start) {
			a.now = s.Start[p]
		}
		m.processes = append(m.processes, a)
		m.members[""] = append(m.members[""], p)
	}
	for i, c := range s.Comms {
		m.members[c.Name] = c.Members
		m.members[fmt.Sprint(ownComm+i)] = c.Members
	}
	return m
}

func (a *actor) write(format string, args ...any) {
	fmt.Fprintf(&a.out, "%d %d "+format+"\n", append([]any{a.p, a.now}, args...)...)
}

// step does the next step of a process, or its first half; false if it has to wait.
func (m *machine) step(a *actor) bool {
	if a.pc == len(m.s.Steps[a.p]) {
		return false
	}
	st := &m.s.Steps[a.p][a.pc]
	switch {
	case st.Enter != "":
		a.write("ENTER %s", st.Enter)
		a.parameter(st)
	case st.Leave != "":
		a.write("LEAVE %s", st.Leave)
	case st.Call == "":
		a.now += st.Ticks
	case !a.in && st.tests():
		return m.test(a, st)
	case !a.in:
		a.in, a.enter = true, a.now
		a.write("ENTER MPI_%s", st.Call)
		a.parameter(st)
		m.post(a, st)
		return true
	default:
		at, ok := m.ready(a, st)
		if !ok {
			return false
		}
		a.in, a.now = false, max(at, a.now)+st.Ticks
		m.complete(a, st)
		a.write("LEAVE MPI_%s", st.Call)
	}
	a.pc++
	return true
}

// tests reports whether a step asks whether its requests are done, again and again until they are.
func (st *Step) tests() bool { return strings.HasPrefix(st.Call, "Test") }

// test asks once.
func (m *machine) test(a *actor, st *Step) bool {
	done, ok := m.done(a, st.Requests)
	if !ok {
		return false
	}
	a.write("ENTER MPI_%s", st.Call)
	is := done <= a.now
	for _, q := range st.Requests {
		if x := a.pending[q].step; !is && x.oneSided() != "" {
			a.write("RMA_OP_TEST %d %d", m.file(&x), q)
		} else if !is {
			a.write("MPI_REQUEST_TEST %d", q)
		}
	}
	a.now += max(st.Ticks, 1)
	if is {
		for _, q := range st.Requests {
			m.completeRequest(a, q)
		}
		a.pc++
	}
	a.write("LEAVE MPI_%s", st.Call)
	return true
}

// done returns when all of some requests are.
func (m *machine) done(a *actor, requests []int) (at uint64, ok bool) {
	for _, q := range requests {
		p := a.pending[q]
		t, ok := uint64(0), p.cancelled
		if !ok {
			t, ok = m.fulfilled(a, &p.step, p.turn)
		}
		if !ok {
			return 0, false
		}
		at = max(at, t)
	}
	return at, true
}

func (a *actor) parameter(st *Step) {
	if st.Parameter == "" {
		return
	}
	ref := slices.Index(scriptParameters, st.Parameter)
	a.write("PARAMETER_INT64 %d %d", ref, st.Level)
	if st.Text != "" {
		a.write("PARAMETER_STRING %d %q", 1, st.Text)
	}
}

func commOf(st *Step) string {
	if st.Comm == "" {
		return "MPI_COMM_WORLD"
	}
	return st.Comm
}

// peer translates a process to its rank in the communicator of a step.
func (m *machine) peer(st *Step, p int) int {
	if st.Comm == "MPI_COMM_SELF" {
		return 0
	}
	return slices.Index(m.members[st.Comm], p)
}

// post makes known what a call starts.
func (m *machine) post(a *actor, st *Step) {
	out, in := route{st.Comm, a.p, st.Peer, st.Tag}, route{st.Comm, st.Peer, a.p, st.Tag}
	a.turn = turn{}
	if op := st.oneSided(); op != "" {
		a.write("RMA_%s %d %d %s %d", op, m.file(st), m.peer(st, st.Peer), map[bool]string{true: "FETCH_AND_ADD 8 8", false: "8"}[op == "ATOMIC"], st.Requests[0])
		a.pending[st.Requests[0]] = pendingStep{*st, a.turn, false}
		return
	}
	switch st.does() {
	case "Startall":
		for i := range st.Starts {
			m.post(a, &st.Starts[i])
		}
	case "Win_post", "Win_start", "Win_complete", "Win_wait", "Win_lock", "Win_unlock", "Win_flush":
		m.onWindow(a, st)
	case "Send", "Ssend", "Sendrecv":
		a.turn.send = m.addSend(out, a.now)
		a.write("MPI_SEND %d %s %d 8", m.peer(st, st.Peer), commOf(st), st.Tag)
		if st.does() == "Sendrecv" {
			a.turn.receive = m.addPost(route{st.Comm, st.Source, a.p, st.Tag}, a.now)
		}
	case "Isend", "Issend":
		a.turn.send = m.addSend(out, a.now)
		a.write("MPI_ISEND %d %s %d 8 %d", m.peer(st, st.Peer), commOf(st), st.Tag, st.Requests[0])
		a.pending[st.Requests[0]] = pendingStep{*st, a.turn, false}
	case "Recv":
		a.turn.receive = m.addPost(in, a.now)
	case "Probe":
		a.turn.receive = len(m.posts[in])
	case "Irecv":
		a.turn.receive = m.addPost(in, a.now)
		a.write("MPI_IRECV_REQUEST %d", st.Requests[0])
		a.pending[st.Requests[0]] = pendingStep{*st, a.turn, false}
	case "Wait", "Waitall", "Pcontrol":
	case "Cancel":
		p := a.pending[st.Requests[0]]
		p.cancelled = true
		a.pending[st.Requests[0]] = p
	default:
		a.turn.collective = m.addMember(a, st)
		if st.starts() {
			a.write("NON_BLOCKING_COLLECTIVE_REQUEST %d", st.Requests[0])
			a.pending[st.Requests[0]] = pendingStep{*st, a.turn, false}
		} else if st.onFile() {
			a.write("IO_OPERATION_BEGIN %d WRITE COLLECTIVE 8 %d", m.file(st), a.turn.collective)
		} else if st.fences() {
			a.write("RMA_COLLECTIVE_BEGIN")
		} else if collectiveOf(st) != "" {
			a.write("MPI_COLLECTIVE_BEGIN")
		}
	}
}

func (m *machine) addSend(r route, at uint64) int {
	m.sends[r] = append(m.sends[r], at)
	return len(m.sends[r]) - 1
}

func (m *machine) addPost(r route, at uint64) int {
	m.posts[r] = append(m.posts[r], at)
	return len(m.posts[r]) - 1
}

func (m *machine) addMember(a *actor, st *Step) int {
	if collectiveOf(st) == "" {
		return 0
	}
	n := a.counts[st.Comm]
	a.counts[st.Comm]++
	for len(m.entered[st.Comm]) <= n {
		row := make([]int64, len(m.s.Steps))
		for i := range row {
			row[i] = -1
		}
		m.entered[st.Comm] = append(m.entered[st.Comm], row)
	}
	m.entered[st.Comm][n][a.p] = int64(a.now)
	return n
}

// ready returns when the current call can end, without its own ticks.
func (m *machine) ready(a *actor, st *Step) (uint64, bool) {
	switch st.does() {
	case "Wait", "Waitall":
		at, ok := m.done(a, st.Requests)
		return max(at, a.enter), ok
	case "Isend", "Issend", "Irecv", "Pcontrol", "Cancel", "Startall":
		return a.enter, true
	case "Win_start", "Win_complete", "Win_wait", "Win_lock":
		return m.admitted(a, st)
	}
	if st.starts() || st.oneSided() != "" {
		return a.enter, true
	}
	return m.fulfilled(a, st, a.turn)
}

// fulfilled returns when what an operation waits for has happened.
func (m *machine) fulfilled(a *actor, st *Step, t turn) (uint64, bool) {
	arrived := func(from int) (uint64, bool) {
		list := m.sends[route{st.Comm, from, a.p, st.Tag}]
		if t.receive >= len(list) {
			return 0, false
		}
		return list[t.receive] + m.s.Latency, true
	}
	switch st.does() {
	case "Send", "Ssend", "Isend", "Issend":
		if st.does() == "Isend" || st.does() == "Send" && !st.Blocks {
			return 0, true
		}
		list := m.posts[route{st.Comm, a.p, st.Peer, st.Tag}]
		if t.send >= len(list) {
			return 0, false
		}
		return list[t.send], true
	case "Recv", "Irecv", "Probe":
		return arrived(st.Peer)
	case "Sendrecv":
		return arrived(st.Source)
	}
	return m.gathered(a, st, t.collective)
}

// gathered returns when the members that a collective waits for have entered.
func (m *machine) gathered(a *actor, st *Step, n int) (uint64, bool) {
	if collectiveOf(st) == "" {
		return 0, true
	}
	var needs []int
	own, root := a.p, m.members[st.Comm][st.Root]
	switch scriptCollectives[collectiveOf(st)] {
	case "all":
		needs = m.members[st.Comm]
	case "root":
		if own != root {
			needs = []int{root}
		}
	case "to root":
		if own == root {
			needs = m.members[st.Comm]
		}
	case "lower":
		needs = m.members[st.Comm][:slices.Index(m.members[st.Comm], own)]
	}
	at := uint64(0)
	for _, q := range needs {
		e := m.entered[st.Comm][n][q]
		if e < 0 {
			return 0, false
		}
		at = max(at, uint64(e))
		if q != own {
			at = max(at, uint64(e)+m.s.Latency)
		}
	}
	return at, true
}

// scriptCollectives are the operations of scripts and what they compute, by the names of OTF2.
var scriptCollectives = map[string]string{
	"BARRIER": "all", "ALLREDUCE": "all", "ALLTOALL": "all", "ALLTOALLV": "all", "ALLGATHER": "all", "ALLGATHERV": "all",
	"REDUCE_SCATTER": "all", "REDUCE_SCATTER_BLOCK": "all", "CREATE_HANDLE": "all", "FILE_WRITE_ALL": "all", "FILE_READ_ALL": "nobody",
	"FENCE": "all", "LOOSE_FENCE": "nobody",
	"BCAST": "root", "SCATTER": "root", "SCATTERV": "root",
	"REDUCE": "to root", "GATHER": "to root", "GATHERV": "to root",
	"SCAN": "lower", "EXSCAN": "lower",
}

// collectiveOf names the collective of a step as OTF2 does, "" for other calls.
func collectiveOf(st *Step) string {
	name := strings.ToUpper(st.does())
	if scriptCollectives[name] == "" && name != "" {
		name = name[1:] // without blocking
	}
	if scriptCollectives[name] == "" {
		return ""
	}
	return name
}

// Collective reports whether a step is a member of a collective operation.
func (st *Step) Collective() bool { return collectiveOf(st) != "" }

// onFile reports whether a step is a collective operation on the file of its communicator. Of MPI_File_write_all nobody leaves before all
// have come, in others nobody waits.
func (st *Step) onFile() bool { return strings.HasPrefix(st.Call, "File_") }

// file is the handle of the file of a step's communicator, whose number it has.
func (m *machine) file(st *Step) int {
	if st.Comm == "" {
		return 0
	}
	return ownComm + slices.IndexFunc(m.s.Comms, func(c ScriptComm) bool { return c.Name == st.Comm })
}

// starts reports whether a step starts a collective that another one completes.
func (st *Step) starts() bool {
	name := collectiveOf(st)
	return name != "" && len(name) < len(st.does())
}

// complete writes what a call completes.
func (m *machine) complete(a *actor, st *Step) {
	switch st.does() {
	case "Send", "Ssend", "Isend", "Issend", "Irecv", "Probe", "Pcontrol", "Cancel", "Startall":
	case "Recv":
		a.write("MPI_RECV %d %s %d 8", m.peer(st, st.Peer), commOf(st), st.Tag)
	case "Sendrecv":
		a.write("MPI_RECV %d %s %d 8", m.peer(st, st.Source), commOf(st), st.Tag)
	case "Wait", "Waitall":
		for _, q := range st.Requests {
			m.completeRequest(a, q)
		}
	case "Win_post", "Win_start", "Win_complete", "Win_wait", "Win_lock", "Win_unlock", "Win_flush":
		m.noted(a, st)
	default:
		if st.Call == "Win_fence" {
			m.noted(a, st)
		}
		if st.onFile() {
			a.write("IO_OPERATION_COMPLETE %d 8 %d", m.file(st), a.turn.collective)
		} else if st.fences() {
			a.write("RMA_COLLECTIVE_END BARRIER MEMORY %d none 0 0", m.file(st))
		} else if collectiveOf(st) != "" && !st.starts() {
			a.write("MPI_COLLECTIVE_END %s %s %s 8 8", collectiveOf(st), commOf(st), rootOf(st))
		}
	}
}

func (m *machine) completeRequest(a *actor, q int) {
	st, cancelled := a.pending[q].step, a.pending[q].cancelled
	delete(a.pending, q)
	if cancelled {
		a.write("MPI_REQUEST_CANCELLED %d", q)
		return
	}
	switch st.does() {
	case "Put", "Get", "Fetch_and_op":
		a.write("RMA_OP_COMPLETE_NON_BLOCKING %d %d", m.file(&st), q)
	case "Isend", "Issend":
		a.write("MPI_ISEND_COMPLETE %d", q)
	case "Irecv":
		a.write("MPI_IRECV %d %s %d 8 %d", m.peer(&st, st.Peer), commOf(&st), st.Tag, q)
	default:
		a.write("NON_BLOCKING_COLLECTIVE_COMPLETE %s %s %s 8 8 %d", collectiveOf(&st), commOf(&st), rootOf(&st), q)
	}
}

func rootOf(st *Step) string {
	if of := scriptCollectives[collectiveOf(st)]; of == "root" || of == "to root" {
		return fmt.Sprint(st.Root)
	}
	return "none"
}

// fences reports whether a step is a fence of a window that is not recorded as a barrier.
func (st *Step) fences() bool { return strings.HasSuffix(strings.ToLower(st.As), "fence") }

// oneSided is the record of a one-sided operation, "" for other calls.
func (st *Step) oneSided() string {
	return map[string]string{"Put": "PUT", "Get": "GET", "Fetch_and_op": "ATOMIC"}[st.does()]
}

// onWindow makes known what a call on a window lets others do.
func (m *machine) onWindow(a *actor, st *Step) {
	switch st.does() {
	case "Win_post", "Win_complete":
		for _, q := range st.Group {
			n := notice{target{st.Comm, q}, a.p, st.does()}
			m.notices[n] = append(m.notices[n], a.now)
		}
	case "Win_lock":
		at := target{st.Comm, st.Peer}
		if m.locks[at] == nil {
			m.locks[at] = map[int]*grant{}
		}
		a.held[at] = &grant{exclusive: st.Blocks}
		m.locks[at][st.Turn] = a.held[at]
	case "Win_unlock":
		g := a.held[target{st.Comm, st.Peer}]
		g.over, g.released = true, a.now
	}
}

// admitted returns when a call on a window can end.
func (m *machine) admitted(a *actor, st *Step) (at uint64, ok bool) {
	at = a.enter
	call := "Win_post"
	switch {
	case st.Call == "Win_lock":
		for turn := range st.Turn {
			switch g := m.locks[target{st.Comm, st.Peer}][turn]; {
			case g == nil || !g.over && (g.exclusive || st.Blocks):
				return 0, false
			case g.exclusive || st.Blocks:
				at = max(at, g.released+m.s.Latency)
			}
		}
		return at, true
	case st.Call == "Win_wait":
		call = "Win_complete"
	case st.Call == "Win_start" && !st.Blocks || st.Call == "Win_complete" && st.Blocks:
		return at, true // the other one of both waits
	}
	for _, q := range st.Group {
		n := notice{target{st.Comm, a.p}, q, call}
		if len(m.notices[n]) <= a.heard[n] {
			return 0, false
		}
		at = max(at, m.notices[n][a.heard[n]]+m.s.Latency)
	}
	return at, true
}

// noted writes what a call on a window did.
func (m *machine) noted(a *actor, st *Step) {
	win := m.file(st)
	for _, q := range st.Requests {
		m.completeRequest(a, q)
	}
	call, way := "", "NOTIFY_OUT"
	switch {
	case st.Call == "Win_lock":
		a.write("RMA_ACQUIRE_LOCK %d %d 0 %s", win, m.peer(st, st.Peer), map[bool]string{true: "EXCLUSIVE", false: "SHARED"}[st.Blocks])
	case st.Call == "Win_unlock":
		a.write("RMA_RELEASE_LOCK %d %d 0", win, m.peer(st, st.Peer))
	case st.Call == "Win_flush":
		a.write("RMA_SYNC %d %d MEMORY", win, m.peer(st, st.Peer))
	case st.Call == "Win_wait":
		call, way = "Win_complete", "NOTIFY_IN"
	case st.Call == "Win_start" && st.Blocks || st.Call == "Win_complete" && !st.Blocks:
		call = "Win_post"
	}
	if st.Call == "Win_start" {
		way = "NOTIFY_IN"
	}
	for _, q := range st.Group {
		if call != "" {
			a.heard[notice{target{st.Comm, a.p}, q, call}]++
		}
		a.write("RMA_SYNC %d %d %s", win, m.peer(st, q), way)
	}
}
