package synthetic

import "github.com/coppice-hpc/coppice/trace"

// masterWorker deals out tasks: process 0 receives results from any source in
// the order of their arrival and answers with the next task. A result is sent
// synchronously, so a worker waits for a busy master (late receiver), and then
// for its task (late sender).
//
// Time is cut into rounds. A task takes 1 to 4 rounds, by hash, and in every
// fourth round all workers come. In a round the master serves the workers by
// cohorts, each in a window of its own; who comes when inside the window, and
// hence how long the others wait, follows from the workers' hashed times. A
// step of the master is a window, a step of a worker is a round.
type masterWorker struct {
	base
	cohorts uint64
	window  uint64 // length of a window
	round   uint64
}

const (
	cohort  = 32 // workers
	blocks  = 4  // rounds of which the first has all workers
	tagWork = 11
	tagStop = 12
	tagDone = 13
	think   = 300 // the master's time for an answer
)

func (v *masterWorker) slotLength() (slot, tail uint64) { return v.round, 0 }

func (v *masterWorker) rounds(proc uint32, slots uint64) uint64 {
	if proc == 0 && v.n > 1 {
		return slots * v.cohorts
	}
	return slots
}

// comes reports whether a worker has finished a task in a round.
func (v *masterWorker) comes(p uint32, round uint64) bool {
	return round%blocks == 0 || mix(v.o.Seed, uint64(p), round/blocks, saltTask)>>(round%blocks)&1 != 0
}

// windowStart is when the master turns to a cohort.
func (v *masterWorker) windowStart(round, c uint64) trace.Time {
	return v.slotStart(round) + trace.Time(c*v.window)
}

// done is when worker p has its result in a round.
func (v *masterWorker) done(p uint32, round uint64) trace.Time {
	c, k := uint64(p-1)/cohort, uint64(p-1)%cohort
	return v.windowStart(round, c) + trace.Time(gap+20*k+v.work(p, round)-v.o.Work)
}

func (v *masterWorker) idle(p uint32, i uint64) trace.Time {
	switch {
	case p == 0 && v.n > 1:
		return v.windowStart(i/v.cohorts, i%v.cohorts) - slack
	case p == 0 || i >= v.steps:
		return v.slotStart(i) - slack
	}
	return v.done(p, i) - slack
}

// served is what the master does for one worker.
type served struct {
	proc    uint32
	sent    trace.Time // the worker starts to send its result
	receive trace.Time // the master starts to receive
	got     trace.Time // both calls end
	answer  trace.Time // the master starts to send the task
}

// serve simulates a window into s and returns the workers in order of service.
func (v *masterWorker) serve(s *[cohort]served, round, c uint64) []served {
	n := 0
	for p := uint32(c*cohort + 1); p < v.n && p <= uint32((c+1)*cohort); p++ {
		if !v.comes(p, round) {
			continue
		}
		e := served{proc: p, sent: v.done(p, round)}
		j := n
		for ; j > 0 && s[j-1].sent > e.sent; j-- {
			s[j] = s[j-1]
		}
		s[j] = e
		n++
	}
	t := v.windowStart(round, c) + gap
	for j := range n {
		e := &s[j]
		e.receive = t
		e.got = max(t, e.sent+trace.Time(Flight(v.o.Bytes))) + overhead
		e.answer = e.got + gap + think + trace.Time(v.perturb(think, e.proc, round, saltArrive))
		t = e.answer + callTime
	}
	return s[:n]
}

// taskBytes is the size of a task; a result has Options.Bytes.
func (v *masterWorker) taskBytes() uint64 { return v.o.Bytes/4 + 1 }

func (v *masterWorker) step(w *pen, i uint64) {
	switch {
	case v.n == 1:
		t := v.slotStart(i)
		v.compute(w, i, t, t+trace.Time(v.work(0, i)))
	case w.proc == 0:
		v.master(w, i/v.cohorts, i%v.cohorts)
	case v.comes(w.proc, i):
		v.worker(w, i)
	}
}

// answer returns the tag of a task, that of the last one tells to stop.
func (v *masterWorker) answer(p uint32, round uint64) (tag uint64, next uint64) {
	for next = round + 1; next < v.steps; next++ {
		if v.comes(p, next) {
			return tagWork, next
		}
	}
	return tagStop, next
}

func (v *masterWorker) master(w *pen, round, c uint64) {
	if w.thread > 0 {
		return
	}
	var buffer [cohort]served
	t := v.windowStart(round, c)
	w.enter(t, rStep)
	for _, e := range v.serve(&buffer, round, c) {
		w.recv(e.receive, e.got, e.proc, commWorld, tagDone, v.o.Bytes)
		tag, _ := v.answer(e.proc, round)
		t = e.answer + overhead
		w.send(e.answer, t, rSend, e.proc, commWorld, tag, v.taskBytes())
	}
	w.leave(t+gap, rStep)
}

func (v *masterWorker) worker(w *pen, round uint64) {
	tag, next := v.answer(w.proc, round)
	if w.thread > 0 && tag == tagStop {
		return
	}
	var buffer [cohort]served
	for _, e := range v.serve(&buffer, round, uint64(w.proc-1)/cohort) {
		if e.proc != w.proc {
			continue
		}
		w.send(e.sent, e.got, rSsend, 0, commWorld, tagDone, v.o.Bytes)
		t := e.got + gap
		end := e.answer + trace.Time(Flight(v.taskBytes())) + overhead
		w.recv(t, end, 0, commWorld, tag, v.taskBytes())
		if tag == tagStop {
			return
		}
		end += gap
		if v.o.IO && round%ioEvery == 0 {
			v.writeOp(w, round, round/ioEvery+1, end)
			end += ioTime + gap
		}
		v.compute(w, round, end, v.done(w.proc, next)-slack-gap)
	}
}
