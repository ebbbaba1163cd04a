package tracetest

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

// planted lists the faults of the main loop with their sizes.
var planted = []struct {
	defect Defects
	size   size
}{
	{StrayLeave, size{1, 0}},
	{Backwards, calls(1, 0)},
	{DanglingRegion, calls(1, 0)},
	{DanglingComm, calls(1, 1)},
	{UnmatchedSend, calls(1, 1)},
	{UnmatchedRecv, calls(1, 1)},
	{UnknownRequest, calls(1, 1)},
	{OpenRequest, calls(1, 1)},
	{BytesDiffer, calls(1, 1)},
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
		sender := m.victim(0)
		sent := m.prog.idle(sender, middle(m.units(sender)-1)) + trace.Time(len(planted))*callTime // the last of plantAll
		w.late(sent, t, t+overhead, sender, true)
		w.recv(t, t+overhead, sender, commWorld, tagBytesDiffer, 4)
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

// faultSize is the size of the faults planted in the units [from, to).
func (m *model) faultSize(proc uint32, from, to, last uint64) size {
	var z size
	if mid := middle(last); from <= mid && mid < to {
		for _, p := range planted {
			if m.hits(p.defect, proc) {
				z = z.plus(p.size)
			}
		}
	}
	if from <= last && last < to && proc == m.helper() && m.o.Broken&BytesDiffer != 0 {
		z = z.plus(calls(1, 1))
	}
	return z
}

// faultsAtEnd is what the epilogue lacks because of faults.
func (m *model) faultsAtEnd(proc uint32) size {
	var z size
	if m.hits(ShortCollective, proc) {
		z = z.plus(calls(1, 2))
	}
	if m.hits(OpenCall, proc) && m.o.IO {
		z.records++ // main's leave is replaced by an enter, the end of the program is missing
	}
	return z
}

// faultyMessages adds the messages of planted faults.
func (m *model) faultyMessages(t traffic) {
	victim, helper := m.victim(0), m.helper()
	if m.o.Broken&UnmatchedSend != 0 {
		t.send(victim, helper, 1, 8)
	}
	if m.o.Broken&UnmatchedRecv != 0 {
		t.receive(helper, victim, 1, 8)
	}
	if m.o.Broken&BytesDiffer != 0 {
		t.send(victim, helper, 1, 8)
		t.receive(victim, helper, 1, 4)
	}
}
