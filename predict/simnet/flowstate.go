package simnet

import "slices"

// earliest returns the earliest clock of a process and arrival of a message that is not received.
func (w *worker) earliest() int64 {
	t := int64(Never)
	for i := range w.procs {
		t = min(t, w.procs[i].cpu)
	}
	for i := range w.chans {
		c := &w.chans[i]
		if c.flags&(alias|null|toFar) != 0 {
			continue
		}
		for k := c.doneR; k != c.sent; k++ {
			if c.flags&wide == 0 {
				t = min(t, *w.narrow(c, k))
			} else {
				t = min(t, w.wide(c, k)[slotArrival])
			}
		}
	}
	return t
}

// sink takes the numbers of a state, to keep them or to compare them with those kept.
type sink struct {
	list    []int64
	at      int
	compare bool
	differs bool
}

func (s *sink) put(x int64) {
	if !s.compare {
		s.list = append(s.list, x)
		return
	}
	s.differs = s.differs || s.at >= len(s.list) || s.list[s.at] != x
	s.at++
}

// state gives all clocks and stamps under way, relative to base. A clock that can no longer matter counts as the least that
// can: a send begins at the process's own clock at the earliest, and no message arrives before floor.
func (w *worker) state(s *sink, base, floor int64) {
	for i := range w.procs {
		p := &w.procs[i]
		s.put(p.cpu - base)
		s.put(max(p.tx, p.cpu) - base)
		s.put(max(p.tb, p.cpu) - base)
		s.put(max(p.rx, floor) - base)
	}
	for i := range w.chans {
		c := &w.chans[i]
		if c.flags&(alias|null) != 0 {
			continue
		}
		if s.differs {
			return
		}
		first := c.first()
		s.put(int64(c.sent - first))
		if c.flags&(toFar|fromFar) == 0 { // a half knows of the other what it was told
			s.put(int64(c.doneS-first)<<32 | int64(c.doneR-first))
		}
		if c.flags&toFar == 0 || c.flags&rendezvous != 0 {
			s.put(int64(c.posted - first))
		}
		for k := first; k != c.sent; k++ {
			if c.flags&wide == 0 {
				s.put(*w.narrow(c, k) - base)
				continue
			}
			slot := w.wide(c, k)
			s.put(slot[slotArrival] - base)
			s.put(slot[slotData] - base)
			s.put(slot[slotCost])
		}
		if c.flags&rendezvous == 0 {
			continue
		}
		for k := first; int32(c.posted-k) > 0; k++ {
			s.put(max(w.wide(c, k)[slotPosted], floor) - base)
		}
	}
}

// plain tells whether the state holds all that is under way: no collective operation and nothing completed out of order.
func (w *worker) plain() bool {
	return len(w.holes) == 0 && len(w.meetings) == 0 && w.messages.used == 0 &&
		!slices.ContainsFunc(w.pending, func(q []pending) bool { return len(q) > 0 })
}

// keep remembers the state.
func (w *worker) keep(base, floor int64) {
	m := &w.mark
	s := sink{list: m.state[:0]}
	w.state(&s, base, floor)
	m.state, m.plain, m.kept = s.list, w.plain(), true
	if w.observer != nil {
		m.log = make([][]int64, len(w.procs))
	}
	m.times = append(m.times[:0], w.times...)
	m.entered = append(m.entered[:0], w.entered...)
	m.events = w.events
	m.calls = m.calls[:0]
	for i := range w.procs {
		m.calls = append(m.calls, w.procs[i].calls)
	}
}

// same tells whether the state is the one kept.
func (w *worker) same(base, floor int64) bool {
	if !w.mark.plain || !w.plain() {
		return false
	}
	s := sink{list: w.mark.state, compare: true}
	w.state(&s, base, floor)
	return !s.differs && s.at == len(s.list)
}

// report tells the observer of the calls of a process in n periods that are skipped.
func (w *worker) report(i int, n uint64, time int64) error {
	times := w.mark.log[i]
	first := w.procs[i].calls
	for range n {
		for k := range times {
			times[k] += time
		}
		if err := w.observer.Calls(w.lo+uint32(i), first, times); err != nil {
			return err
		}
		first += uint64(len(times) / 2)
	}
	return nil
}

// jump adds n times what happened since the state was kept: so many iterations, and so much time.
func (w *worker) jump(n, iterations uint64, time int64) error {
	most := int64(0)
	for i := range w.procs {
		p := &w.procs[i]
		most = max(most, p.cpu, p.tx, p.tb, p.rx)
	}
	shift := mulTime(int64(n), time)
	if most > Never-shift-largest {
		return programError("a process is busy for more than 106 days, the range of a clock")
	}
	for i := range w.procs {
		p, t, old := &w.procs[i], &w.times[i], &w.mark.times[i]
		if w.observer != nil && len(w.mark.log[i]) > 0 {
			if err := w.report(i, n, time); err != nil {
				return err
			}
		}
		p.cpu, p.tx, p.tb, p.rx = p.cpu+shift, p.tx+shift, p.tb+shift, p.rx+shift
		p.calls += n * (p.calls - w.mark.calls[i])
		w.frames[p.stack+uint32(p.outer)-1].left -= n * iterations
		k := int64(n)
		t.Compute += k * (t.Compute - old.Compute)
		t.Send += k * (t.Send - old.Send)
		t.Receive += k * (t.Receive - old.Receive)
		t.Wait += k * (t.Wait - old.Wait)
		t.Collective += k * (t.Collective - old.Collective)
		t.File += k * (t.File - old.File)
		t.Messages += n * (t.Messages - old.Messages)
		mask := uint64(1)<<w.calcLog - 1
		mine := w.entries[i<<w.calcLog : (i+1)<<w.calcLog]
		if p.calls&mask != 0 {
			if err := w.calc.Fill(w.lo+uint32(i), p.calls&^mask, mine); err != nil {
				return err
			}
		}
	}
	for i := range w.entered {
		w.entered[i] += n * (w.entered[i] - w.mark.entered[i])
	}
	w.events += n * (w.events - w.mark.events)
	w.shift(shift)
	return nil
}

// shift makes all stamps later.
func (w *worker) shift(by int64) {
	for i := range w.chans {
		c := &w.chans[i]
		if c.flags&(alias|null) != 0 {
			continue
		}
		first := c.first()
		for k := first; k != c.sent; k++ {
			if c.flags&wide == 0 {
				*w.narrow(c, k) += by
				continue
			}
			slot := w.wide(c, k)
			slot[slotArrival] += by
			slot[slotData] += by
		}
		if c.flags&rendezvous != 0 {
			for k := first; int32(c.posted-k) > 0; k++ {
				w.wide(c, k)[slotPosted] += by
			}
		}
	}
}
