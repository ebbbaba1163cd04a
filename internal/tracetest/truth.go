package tracetest

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Truth is what the program knows about itself.
type Truth struct {
	Facts
	Planted  Defects               // faults in the trace
	Problems map[trace.Code]uint64 // what an analysis has to report about them
}

// problems lists what an analysis reports about the planted faults.
func (m *model) problems() map[trace.Code]uint64 {
	out := map[trace.Code]uint64{}
	for _, e := range []struct {
		defect Defects
		code   trace.Code
		count  uint64
	}{
		{OpenCall, trace.DiagOpenCall, 2},
		{StrayLeave, trace.DiagStrayLeave, 1},
		{Backwards, trace.DiagTimeBackwards, 1},
		{DanglingRegion, trace.DiagBadReference, 2},
		{DanglingComm, trace.DiagUnknownPeer, 1},
		{UnmatchedSend, trace.DiagUnmatchedSend, 1},
		{UnmatchedRecv, trace.DiagUnmatchedRecv, 1},
		{UnknownRequest, trace.DiagUnknownRequest, 1},
		{OpenRequest, trace.DiagOpenRequest, 1},
		{ShortCollective, trace.DiagShortCollective, 1},
		{MixedCollective, trace.DiagMixedCollective, 1},
		{BytesDiffer, trace.DiagBytesDiffer, 1},
	} {
		if m.hits(e.defect, m.victim(e.defect)) {
			out[e.code] += e.count
		}
	}
	if m.n == 2 && m.o.Broken&ShortCollective != 0 {
		delete(out, trace.DiagMixedCollective) // nobody is left to disagree with
	}
	if m.o.Metrics && m.o.Broken&Backwards != 0 {
		out[trace.DiagTimeBackwards]++ // the counter before the leave
	}
	return out
}

// Counts returns the closed forms: events, messages and collectives. Its cost
// does not depend on the length of a stencil, ring or wavefront; the others
// hash once per step.
func (s *Source) Counts() Truth {
	m := s.m
	t := Truth{Planted: m.o.Broken, Problems: m.problems()}
	for p := range m.n {
		for th := range uint32(m.o.Threads) {
			t.Events = append(t.Events, m.events(m.unitSize(p, th, 0, m.units(p))))
		}
	}
	if s.empty {
		t.Events = append(t.Events, 0)
	}
	messages := traffic{}
	m.prog.messages(messages.add)
	m.faultyMessages(messages)
	t.Messages = messages.list()
	instances := map[uint32]uint64{}
	if !m.bare {
		instances[commWorld] = 2 // in MPI_Init, and the last barrier
	}
	m.prog.collectives(func(c uint32, n uint64) { instances[c] += n })
	t.Collectives = instancesOf(instances)
	return t
}

// Truth returns all facts: Counts and, summed over the program's calls step by
// step, the times. It takes about as long as reading the source once.
func (s *Source) Truth() Truth {
	t := s.Counts()
	m := s.m
	table := regionTable()
	class := func(region uint32) trace.CallClass {
		if region < uint32(len(table)) {
			return table[region].class
		}
		return 0
	}
	classes := map[trace.CallClass]uint64{}
	operations := map[shareKey][]member{}
	for p := range m.n {
		var c Component
		for th := range uint32(m.o.Threads) {
			y := newTally(class)
			w := pen{m: m, proc: p, thread: th, sum: y, skew: m.skewOf(p)}
			for i := range m.units(p) {
				m.unit(&w, i)
			}
			y.end()
			t.take(y, trace.P(int(p)*m.o.Threads+int(th)), &c, classes)
			for _, s := range y.parts {
				operations[s.key] = append(operations[s.key], member{p, s})
			}
		}
		t.Processes = append(t.Processes, c)
	}
	for _, list := range operations {
		t.operation(list)
	}
	t.MPITime = classTimesOf(classes)
	t.sumProcesses()
	return t
}

// take adds the tally of a location. The master's events span the process's time.
func (t *Truth) take(y *tally, loc trace.P, c *Component, classes map[trace.CallClass]uint64) {
	rows := make([]Profile, 0, len(y.regions))
	for r, p := range y.regions {
		p.P, p.Region = loc, r
		rows = append(rows, *p)
		if y.class(r) == trace.ClassIO {
			c.IO += p.Inclusive
		}
	}
	slices.SortFunc(rows, func(a, b Profile) int { return cmp.Compare(a.Region, b.Region) })
	t.Profiles = append(t.Profiles, rows...)
	c.Time = max(c.Time, uint64(y.now-y.first))
	for class, d := range y.mpi {
		c.addMPI(class, d)
		classes[class] += d
	}
	c.SendRecv += y.sendRecv
	c.PotentialSync += y.potential
	t.Late.Count += y.late
	t.Late.Potential += y.potential
	t.Late.Wait += y.wait
}

// member is a process's part in a collective operation.
type member struct {
	proc uint32
	share
}

// operation adds what the members of one collective operation lose.
func (t *Truth) operation(list []member) {
	var started, left trace.Time
	for _, x := range list {
		started, left = max(started, x.started), max(left, x.left)
	}
	for _, x := range list {
		c := &t.Processes[x.proc]
		if started > x.enter {
			c.PotentialSync += uint64(started - x.enter)
		}
		c.Variation += uint64(left - x.left)
	}
}
