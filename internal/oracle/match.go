package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// message is one side of a point-to-point message. Its row is its place among
// all sends, receives and notices of windows of the location.
type message struct {
	at          *location
	row         int
	send        bool
	nonBlocking bool
	comm, tag   uint32
	peer        uint32 // process
	bytes       uint64
	visit       int // of a send the starting call, of a receive the completing one
	post        int // visit of the posting
	seq         int // order of posting on the location
	done        int // visit in which a send is complete, -1
	cancelled   bool
	mate        *message
	marker      bool
	probe       int // visit of the probe before a blocking receive, -1
}

// member is a process's part in a collective operation.
type member struct {
	at             *location
	row            int
	op, root, comm uint32
	sent, received uint64
	visit          int // in which it completes
	start          int // in which it starts
	seq            int
	all            []*member // of the operation, by process; nil if the process is its only member
	file           string    // what an operation on a file or a window does, "" for others
}

// window is the time in which a request is open: from the leave of the call
// that posts it to the enter of the one that completes or cancels it. One that
// never ends is open to the end.
type window struct {
	post, done int // visits; -1 for none
	send       *message
}

func (m *message) enter() uint64    { return m.at.visits[m.visit].enter }
func (m *message) leave() uint64    { return m.at.visits[m.visit].leave }
func (m *message) postedAt() uint64 { return m.at.visits[m.post].enter }
func (m *member) enter() uint64     { return m.at.visits[m.visit].enter }
func (m *member) leave() uint64     { return m.at.visits[m.visit].leave }
func (m *member) started() uint64   { return m.at.visits[m.start].enter }

// communication collects messages, collectives and requests of a location.
func (a *analysis) communication(l *location) {
	w := &requests{a: a, l: l, open: map[uint64]request{}}
	files := map[[2]uint64]bool{} // operations in progress by handle and number
	oneSided := map[uint64]bool{}
	var once [2]int // one-sided operations that completed at one of both ends: how many more may complete at the other
	for i := range l.records {
		switch e := &l.records[i]; e.kind {
		case trace.IoOperationBegin:
			o := [2]uint64{e.fields[0], e.fields[4]}
			if files[o] {
				a.diagnose(trace.DiagOpenRequest)
			}
			files[o] = true
		case trace.RmaPut, trace.RmaGet, trace.RmaAtomic:
			id := e.fields[len(e.fields)-1]
			if oneSided[id] {
				a.diagnose(trace.DiagOpenRequest)
			}
			oneSided[id] = true
		case trace.RmaOpCompleteBlocking, trace.RmaOpCompleteNonBlocking, trace.RmaOpCompleteRemote:
			end := 0
			if e.kind == trace.RmaOpCompleteRemote {
				end = 1
			}
			switch id := e.fields[1]; {
			case oneSided[id]:
				delete(oneSided, id)
				once[1-end]++
			case once[end] > 0:
				once[end]--
			default:
				a.diagnose(trace.DiagUnknownRequest)
			}
		case trace.IoOperationComplete, trace.IoOperationCancelled:
			o := [2]uint64{e.fields[0], e.fields[len(e.fields)-1]}
			if !files[o] {
				a.diagnose(trace.DiagUnknownRequest)
			}
			delete(files, o)
		}
		if e := &l.records[i]; e.visit >= 0 && communicates(e.kind) {
			w.record(e)
		} else if e.visit >= 0 && namesFile(e.kind) {
			w.onFile(e)
		} else if e.visit >= 0 {
			w.synchronisation(e)
		}
	}
	for range len(files) + len(oneSided) {
		a.diagnose(trace.DiagOpenRequest)
	}
	for _, r := range w.open {
		a.diagnose(trace.DiagOpenRequest)
		l.windows = append(l.windows, window{r.visit, -1, r.send})
	}
}

// request is an open non-blocking operation.
type request struct {
	visit, seq int
	send       *message
}

type requests struct {
	a    *analysis
	l    *location
	open map[uint64]request
	seq  int
}

func (w *requests) next() int {
	w.seq++
	return w.seq
}

func (w *requests) record(e *record) {
	f := e.fields
	switch e.kind {
	case trace.MpiSend:
		w.message(e, &message{send: true, post: e.visit, seq: w.next(), done: e.visit})
	case trace.MpiIsend:
		m := &message{send: true, nonBlocking: true, post: e.visit, seq: w.next(), done: -1}
		w.open[f[4]] = request{e.visit, m.seq, m}
		w.message(e, m)
	case trace.MpiRecv:
		w.message(e, &message{post: e.visit, seq: w.next(), done: e.visit})
	case trace.MpiIrecv:
		m := &message{nonBlocking: true, post: e.visit, done: e.visit}
		m.seq = w.complete(f[4], e.visit, &m.post)
		w.message(e, m)
	case trace.MpiIrecvRequest, trace.NonBlockingCollectiveRequest:
		w.open[f[0]] = request{e.visit, w.next(), nil}
	case trace.MpiIsendComplete:
		if r := w.open[f[0]]; r.send != nil {
			r.send.done = e.visit
		}
		w.complete(f[0], e.visit, nil)
	case trace.MpiRequestCancelled:
		if r := w.open[f[0]]; r.send != nil {
			r.send.cancelled = true
		}
		w.complete(f[0], e.visit, nil)
	case trace.MpiCollectiveEnd:
		w.collective(e, &member{start: e.visit, seq: w.next()})
	case trace.NonBlockingCollectiveComplete:
		m := &member{start: e.visit}
		m.seq = w.complete(f[5], e.visit, &m.start)
		w.collective(e, m)
	}
}

// complete ends a request and returns its order of posting; one that was never
// posted is posted now.
func (w *requests) complete(id uint64, visit int, post *int) int {
	r, ok := w.open[id]
	if !ok {
		w.a.diagnose(trace.DiagUnknownRequest)
		return w.next()
	}
	delete(w.open, id)
	w.l.windows = append(w.l.windows, window{r.visit, visit, r.send})
	if post != nil {
		*post = r.visit
	}
	return r.seq
}

func (w *requests) message(e *record, m *message) {
	f := e.fields
	m.at, m.row, m.visit, m.probe = w.l, len(w.l.ops)+len(w.l.notices), e.visit, -1
	m.comm, m.tag, m.bytes = uint32(f[1]), uint32(f[2]), f[3]
	m.peer = w.a.d.Peer(m.comm, uint32(f[0]), w.l.process)
	if !m.send && !m.nonBlocking {
		m.probe = w.a.probeBefore(w.l, e.visit)
	}
	w.l.ops = append(w.l.ops, m)
}

// probeBefore returns the visit of a blocking probe that is the MPI call directly before the given one, but for
// calls of management that say nothing, as MPI_Get_count; -1 if there is none.
func (a *analysis) probeBefore(l *location, v int) int {
	if l.visits[v].call < 0 {
		return -1
	}
	for v--; v >= 0 && l.visits[v].call >= 0; v-- {
		x := &l.visits[v]
		switch strings.ToLower(a.regionName(x.region)) {
		case "mpi_probe", "mpi_mprobe", "pmpi_probe", "pmpi_mprobe":
			return v
		}
		if x.class != trace.ClassMPI|trace.ClassManagement || slices.ContainsFunc(l.records[x.first:x.last], func(e record) bool { return communicates(e.kind) }) {
			break
		}
	}
	return -1
}

func (w *requests) collective(e *record, m *member) {
	f := e.fields
	m.at, m.row, m.visit = w.l, len(w.l.colls), e.visit
	m.op, m.comm, m.root, m.sent, m.received = uint32(f[0]), uint32(f[1]), uint32(f[2]), f[3], f[4]
	if w.l.colls = append(w.l.colls, m); w.a.d.CommSize(m.comm) == 0 {
		w.a.diagnose(trace.DiagBadReference)
	}
}

type channel struct{ comm, from, to, tag uint32 }

// match pairs the k-th send posted on a channel with the k-th receive posted.
func (a *analysis) match() {
	sends, recvs := map[channel][]*message{}, map[channel][]*message{}
	for _, l := range a.locs {
		for _, m := range l.ops {
			switch {
			case m.peer == trace.UnknownProcess || m.cancelled:
			case m.send:
				c := channel{m.comm, l.process, m.peer, m.tag}
				sends[c] = append(sends[c], m)
			default:
				c := channel{m.comm, m.peer, l.process, m.tag}
				recvs[c] = append(recvs[c], m)
			}
		}
	}
	order := func(x, y *message) int {
		return cmp.Or(cmp.Compare(x.postedAt(), y.postedAt()), cmp.Compare(x.at.p, y.at.p), cmp.Compare(x.seq, y.seq))
	}
	for c, s := range sends {
		r := recvs[c]
		slices.SortFunc(s, order)
		slices.SortFunc(r, order)
		for k := range min(len(s), len(r)) {
			s[k].mate, r[k].mate = r[k], s[k]
		}
	}
}

// gather joins the n-th collectives of all processes on a communicator. Those of a process alone are counted one by one.
func (a *analysis) gather() {
	type key struct{ comm, process uint32 }
	lists := map[key][]*member{}
	counts := map[uint32]*Instances{}
	count := func(comm uint32, n int) {
		if counts[comm] == nil {
			counts[comm] = &Instances{Comm: comm}
		}
		counts[comm].Count += uint64(n)
	}
	comms := map[uint32][][]*member{}
	for _, l := range a.locs {
		for _, m := range l.colls {
			if a.d.IsSelf(m.comm) {
				count(m.comm, 1)
			} else {
				k := key{m.comm, l.process}
				lists[k] = append(lists[k], m)
			}
		}
	}
	for k, list := range lists {
		slices.SortFunc(list, func(x, y *member) int {
			return cmp.Or(cmp.Compare(x.started(), y.started()), cmp.Compare(x.at.p, y.at.p), cmp.Compare(x.seq, y.seq))
		})
		for n, m := range list {
			for len(comms[k.comm]) <= n {
				comms[k.comm] = append(comms[k.comm], nil)
			}
			comms[k.comm][n] = append(comms[k.comm][n], m)
		}
	}
	for comm, operations := range comms {
		count(comm, len(operations))
		for _, all := range operations {
			slices.SortFunc(all, func(x, y *member) int { return cmp.Compare(x.at.p, y.at.p) })
			for _, m := range all {
				m.all = all
			}
			a.operation(all)
		}
	}
	a.r.Collectives = sorted(counts, func(x, y Instances) int { return cmp.Compare(x.Comm, y.Comm) })
}
