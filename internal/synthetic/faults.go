package synthetic

import "github.com/coppice-hpc/coppice/trace"

// Tags and request ids that no program uses.
const (
	tagUnmatchedSend = 901
	tagUnmatchedRecv = 902
	tagDangling      = 903
	tagBytesDiffer   = 904
	unknownRequest   = 1 << 40
	openRequest      = 1 << 41
)

// victim is the process that a fault is planted in.
func (m *model) victim(d Defects) uint32 {
	if d == MixedCollective {
		return (m.n/2 + 1) % m.n
	}
	return m.n / 2
}

// helper is the partner in faults that take two.
func (m *model) helper() uint32 { return (m.n/2 + 1) % m.n }

// hits reports whether fault d is wanted and planted in proc.
func (m *model) hits(d Defects, proc uint32) bool {
	return m.o.Broken&d != 0 && proc == m.victim(d) && (!m.bare || d&(ShortCollective|MixedCollective) == 0)
}

// plant writes the faults that belong before step i, in the middle of the run.
// The receive of BytesDiffer comes at the end, when the send is long done.
func (m *model) plant(w *pen, i, last uint64) {
	if m.o.Broken == 0 || w.thread > 0 {
		return
	}
	if i == middle(last) && w.proc == m.victim(0) {
		m.plantAll(w, m.prog.idle(w.proc, i))
	}
	if i == last && w.proc == m.helper() && m.o.Broken&BytesDiffer != 0 {
		t := m.finish - gap - 2*overhead
		w.recv(t, t+overhead, m.victim(0), commWorld, tagBytesDiffer, 4)
	}
}

// middle is the step before which faults are planted.
func middle(last uint64) uint64 { return last / 8 * 4 }

func (m *model) plantAll(w *pen, t trace.Time) {
	has := func(d Defects) bool {
		t += callTime
		return m.hits(d, w.proc)
	}
	if has(StrayLeave) {
		w.leave(t, rBroken)
	}
	if has(Backwards) {
		w.enter(t, rBroken)
		w.leave(t-60, rBroken)
	}
	if has(DanglingRegion) {
		w.call(t, t+overhead, dangling)
	}
	if has(DanglingComm) {
		w.send(t, t+overhead, rSend, 0, dangling, tagDangling, 8)
	}
	if has(UnmatchedSend) {
		w.send(t, t+overhead, rSend, m.helper(), commWorld, tagUnmatchedSend, 8)
	}
	if has(UnmatchedRecv) {
		w.recv(t, t+overhead, m.helper(), commWorld, tagUnmatchedRecv, 8)
	}
	if has(UnknownRequest) {
		w.enter(t, rWait)
		w.record(t+overhead, trace.MpiIsendComplete, unknownRequest)
		w.leave(t+overhead, rWait)
	}
	if has(OpenRequest) {
		w.irecv(t, openRequest)
	}
	if has(BytesDiffer) {
		w.send(t, t+overhead, rSend, m.helper(), commWorld, tagBytesDiffer, 8)
	}
}
