package simnet

import (
	"cmp"
	"encoding/binary"

	"github.com/coppice-hpc/coppice/mpi"
)

// When no worker of any rank has anything to do and no batch is under way, all ranks decide together how to go on. Rank 0
// finds that moment by counting: it asks all ranks how many batches they sent and received, which they answer when they are
// idle. When two rounds give the same numbers, and as many were received as sent, nothing moves (Mattern 1987, four
// counters).

// control is a message about the run.
type control struct {
	kind           int64
	sent, received int64
	err            error // of the communicator
}

const (
	controlAsk  = iota // rank 0 asks for counts
	controlTell        // the answer
	controlStop        // nothing moves: decide
	controlEnd         // to one's own goroutine that receives
)

// simulate runs the workers to the end. Collective.
func (r *run) simulate() (*Result, error) {
	many := r.comm.Size() > 1
	received := make(chan struct{})
	if many {
		go r.receive(received)
	}
	for _, w := range r.workers {
		r.group.Add(1)
		go w.serve()
	}
	err := r.govern()
	r.mu.Lock()
	r.quit, r.held = true, false
	for _, w := range r.workers {
		r.rouse(&w.desk)
	}
	r.mu.Unlock()
	r.stop()
	r.group.Wait()
	if !many {
		if err != nil {
			return nil, err
		}
		return r.result()
	}
	if e := r.tell(r.comm.Rank(), control{kind: controlEnd}); e == nil {
		<-received
	}
	var res *Result
	if err == nil {
		res, err = r.result()
	}
	return res, cmp.Or(err, r.comm.Free())
}

// receive takes what other ranks send.
func (r *run) receive(done chan struct{}) {
	defer close(done)
	for {
		b, st, err := r.comm.Recv(mpi.AnySource, mpi.AnyTag)
		if err == nil && len(b) < 8 {
			err = errBatch
		}
		if err != nil {
			r.control <- control{err: err}
			return
		}
		words := make([]uint64, 0, len(b)/8)
		for ; len(b) >= 8; b = b[8:] {
			words = append(words, binary.LittleEndian.Uint64(b))
		}
		switch {
		case st.Tag == tagBatch && words[0] < uint64(len(r.workers)):
			r.deliver(int(words[0]), words[1:], true)
		case st.Tag == tagControl && len(words) == 3 && words[0] == controlEnd:
			return
		case st.Tag == tagControl && len(words) == 3:
			r.control <- control{kind: int64(words[0]), sent: int64(words[1]), received: int64(words[2])}
		default:
			r.control <- control{err: errBatch}
			return
		}
	}
}

func (r *run) tell(to int, c control) error {
	var b []byte
	for _, x := range []int64{c.kind, c.sent, c.received} {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return r.comm.Send(b, to, tagControl)
}

// tellAll sends to all other ranks.
func (r *run) tellAll(kind int64) error {
	for to := range r.comm.Size() {
		if to == r.comm.Rank() {
			continue
		}
		if err := r.tell(to, control{kind: kind}); err != nil {
			return err
		}
	}
	return nil
}

// counting is where a rank is in the search for the moment at which nothing moves.
type counting struct {
	asked          bool // a round is under way; at other ranks, an answer is due
	answers        int
	sent, received int64
	last           int64 // what the last round counted, sent and received alike; -1 where they differed
}

// govern waits for the moments at which nothing moves, and decides how to go on, until the run ends.
func (r *run) govern() error {
	n := counting{last: -1}
	for {
		stop := false
		select {
		case <-r.idled:
		case c := <-r.control:
			if c.err != nil {
				return c.err
			}
			switch c.kind {
			case controlAsk:
				n.asked = true
			case controlTell:
				n.answers++
				n.sent += c.sent
				n.received += c.received
			case controlStop:
				stop = true
			}
		}
		still, err := r.count(&n)
		if err != nil {
			return err
		}
		if !still && !stop {
			continue
		}
		n = counting{last: -1}
		if done, err := r.decide(); done || err != nil {
			return err
		}
	}
}

// count takes the next step of counting, if the rank is idle, and reports whether nothing moves.
func (r *run) count(n *counting) (still bool, err error) {
	r.mu.Lock()
	idle, sent, received := r.idle == len(r.workers), r.sent, r.received
	r.mu.Unlock()
	switch {
	case !idle:
		return false, nil
	case r.comm.Size() == 1:
		return true, nil
	case r.comm.Rank() > 0:
		if n.asked {
			n.asked = false
			err = r.tell(0, control{kind: controlTell, sent: sent, received: received})
		}
		return false, err
	case !n.asked:
		n.asked = true
		return false, r.tellAll(controlAsk)
	case n.answers < r.comm.Size()-1:
		return false, nil
	}
	sent, received = sent+n.sent, received+n.received
	if sent == received && sent == n.last {
		r.hold()
		return true, r.tellAll(controlStop)
	}
	last := int64(-1)
	if sent == received {
		last = sent
	}
	*n = counting{asked: true, last: last}
	return false, r.tellAll(controlAsk)
}

// hold keeps workers from running until release.
func (r *run) hold() {
	r.mu.Lock()
	r.held = true
	r.mu.Unlock()
}

// release wakes the workers that have something to do.
func (r *run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = false
	for _, w := range r.workers {
		if len(w.ready) > 0 || len(w.desk.mail) > 0 {
			r.rouse(&w.desk)
		}
	}
	if r.idle == len(r.workers) {
		nudge(r.idled)
	}
}

// decide lets senders go further ahead where the run stands still for that, and ends it where all processes are finished or
// it stands still for ever. All workers of all ranks are idle. Collective.
func (r *run) decide() (done bool, err error) {
	r.hold()
	const failed, running, woken, standing = 0, 1, 2, 3
	var n [4]int64
	for _, w := range r.workers {
		if w.err != nil && err == nil {
			n[failed], err = 1, w.err
		}
		n[running] += int64(w.running)
		n[standing] += int64(w.stopped)
		if w.makeRoom() {
			n[woken]++
		}
	}
	if r.comm.Size() > 1 {
		if err := r.comm.AllreduceInt64(n[:], mpi.Sum); err != nil {
			return true, err
		}
	}
	switch {
	case n[failed] > 0:
		return true, r.agree(err)
	case n[running] == 0:
		return true, nil
	case n[standing] == n[running]:
		if err := r.advance(); err != nil {
			return true, err
		}
		r.goOn()
	case n[woken] > 0:
	case n[standing] > 0: // a process needs what another does in the next iteration
		r.giveUp()
		r.goOn()
	default:
		return true, r.deadlock()
	}
	r.release()
	return false, nil
}

// result gathers what the workers found. Collective.
func (r *run) result() (*Result, error) {
	res := &Result{First: r.lo, Skipped: r.skip.skipped, Times: make([]ProcessTimes, 0, r.hi-r.lo)}
	for _, w := range r.workers {
		if len(r.workers) == 1 {
			res.Times = w.times
		} else {
			res.Times = append(res.Times, w.times...)
		}
		w.times = nil
		res.Events += w.events
		res.Unmatched += w.unpaired
	}
	for i := range res.Times {
		res.Makespan = max(res.Makespan, res.Times[i].Finish)
	}
	if r.comm.Size() == 1 {
		return res, nil
	}
	sums, most := []int64{int64(res.Events), int64(res.Unmatched)}, []int64{res.Makespan}
	if err := cmp.Or(r.comm.AllreduceInt64(sums, mpi.Sum), r.comm.AllreduceInt64(most, mpi.Max)); err != nil {
		return nil, err
	}
	res.Events, res.Unmatched, res.Makespan = uint64(sums[0]), uint64(sums[1]), most[0]
	return res, nil
}
