package simnet

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

var errBatch = errors.New("simnet: a damaged message from another rank")

// run is one simulation on one rank: its workers, and what lies between them and those of other ranks. Each worker has a
// goroutine; a goroutine receives what other ranks send; the caller's decides when nothing moves any more.
type run struct {
	comm    mpi.Comm // where there are several ranks, one for this run alone
	code    *code
	workers []*worker
	begins  []uint32 // first process of each worker of all ranks
	ranks   []int    // rank of each
	first   int      // number of the first of this rank
	ctx     context.Context
	stop    context.CancelFunc
	skip    skipper

	mu       sync.Mutex
	idle     int  // workers that have nothing to do
	held     bool // workers that have mail are not woken: all ranks decide what to do next
	quit     bool
	sent     int64 // batches to other ranks
	received int64 // batches from other ranks
	spare    [][]uint64

	idled   chan struct{} // of capacity 1: all workers were idle
	control chan control  // from other ranks
	group   sync.WaitGroup
}

// Tags of messages between ranks.
const (
	tagBatch   = 1
	tagControl = 2
)

// newRun prepares a run. Collective.
func newRun(ctx context.Context, comm mpi.Comm, lo, hi uint32, p *program.Program, calc Calc, n *network.Network, o Options) (*run, error) {
	r := &run{comm: comm, idled: make(chan struct{}, 1), control: make(chan control, comm.Size()+4)}
	r.skip.run = r
	err := p.Check()
	if err == nil {
		r.code, err = compile(p, n)
	}
	if err == nil && (lo > hi || int64(hi) > int64(len(p.Roots))) {
		err = program.Errorf("processes %d to %d of %d", lo, hi, len(p.Roots))
	}
	if err := r.agree(err); err != nil {
		return nil, err
	}
	if err := r.share(o.Workers, lo, hi); err != nil {
		return nil, err
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	errs := make([]error, len(r.workers))
	for i := range r.workers {
		r.group.Add(1)
		go func() {
			defer r.group.Done()
			r.workers[i], errs[i] = newWorker(r, r.first+i, calc, o)
		}()
	}
	r.group.Wait()
	if err := r.agree(cmp.Or(errs...)); err != nil {
		r.stop()
		return nil, err
	}
	if err := r.skip.lookForLoops(calc, o); err != nil {
		r.stop()
		return nil, err
	}
	if comm.Size() > 1 {
		if r.comm, err = comm.Dup(); err != nil {
			r.stop()
			return nil, err
		}
	}
	return r, nil
}

// agree makes an error of one rank that of all. Collective.
func (r *run) agree(err error) error {
	if r.comm.Size() == 1 {
		return err
	}
	return mpi.AgreeOn(r.comm, err, program.ErrInvalid, context.Canceled, context.DeadlineExceeded)
}

// packed makes a message of words, and unpacked the words of a message.
func packed(lists ...[]uint64) (b []byte) {
	for _, list := range lists {
		b, _ = binary.Append(b, binary.LittleEndian, list) // fails for other types alone
	}
	return b
}

func unpacked(b []byte) []uint64 {
	words := make([]uint64, len(b)/8)
	_, _ = binary.Decode(b, binary.LittleEndian, words) // likewise
	return words
}

// least returns the least n of all ranks.
func (r *run) least(n int64) (int64, error) {
	v := []int64{n}
	err := r.comm.AllreduceInt64(v, mpi.Min)
	return v[0], err
}

// perWorker is the least number of processes for which a second worker pays.
const perWorker = 256

// share divides the processes between workers. Collective.
func (r *run) share(workers int, lo, hi uint32) error {
	count := int(hi - lo)
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), count/perWorker)
	}
	workers = max(min(workers, count), 1)
	all, err := r.comm.Allgather(packed([]uint64{uint64(lo), uint64(hi), uint64(workers)}))
	if err != nil {
		return err
	}
	next := uint32(0)
	for rank, b := range all {
		x := unpacked(b)
		lo, hi, n := uint32(x[0]), uint32(x[1]), x[2]
		if lo != next {
			return program.Errorf("rank %d has processes from %d on, not %d", rank, lo, next)
		}
		next = hi
		if rank == r.comm.Rank() {
			r.first = len(r.begins)
			r.workers = make([]*worker, n)
		}
		for i := range n {
			r.begins = append(r.begins, lo+uint32(uint64(hi-lo)*i/n))
			r.ranks = append(r.ranks, rank)
		}
	}
	if int(next) != len(r.code.program.Roots) {
		return program.Errorf("the ranks have %d of %d processes", next, len(r.code.program.Roots))
	}
	return nil
}

// end returns the process after the last of a worker.
func (r *run) end(number int) uint32 {
	if number+1 < len(r.begins) {
		return r.begins[number+1]
	}
	return uint32(len(r.code.program.Roots))
}

// buffer returns an empty batch.
func (r *run) buffer() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b[:0]
	}
	return make([]uint64, 0, batchWords)
}

// send hands a batch to a worker, which may be another rank's.
func (r *run) send(to int, b []uint64) error {
	if r.ranks[to] == r.comm.Rank() {
		r.deliver(to-r.first, b, false)
		return nil
	}
	bytes := packed([]uint64{uint64(to - r.firstOf(to))}, b)
	r.mu.Lock()
	r.sent++
	r.mu.Unlock()
	r.recycle(b)
	return r.comm.Send(bytes, r.ranks[to], tagBatch)
}

// recycle keeps batches that were read.
func (r *run) recycle(batches ...[]uint64) {
	r.mu.Lock()
	r.spare = append(r.spare, batches...)
	r.mu.Unlock()
}

// workerOf returns the number of the worker, of all ranks, that runs a process.
func (r *run) workerOf(process uint32) int {
	i, found := slices.BinarySearch(r.begins, process)
	if !found {
		return i - 1
	}
	for i+1 < len(r.begins) && r.begins[i+1] == process { // workers without processes
		i++
	}
	return i
}

// firstOf returns the number of the first worker of the rank of a worker.
func (r *run) firstOf(worker int) int {
	n, _ := slices.BinarySearch(r.ranks, r.ranks[worker])
	return n
}

// deliver puts a batch on a worker's desk.
func (r *run) deliver(worker int, b []uint64, remote bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if remote {
		r.received++
	}
	d := &r.workers[worker].mail.desk
	d.mail = append(d.mail, b)
	if !r.held {
		r.rouse(d)
	}
}

// rouse wakes a worker that is idle. The lock is held.
func (r *run) rouse(d *desk) {
	if d.idle {
		d.idle = false
		r.idle--
		d.wake <- struct{}{}
	}
}

// nudge sends on a channel of capacity 1, unless something is in it.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// When no worker of any rank has anything to do and no batch is in progress, all ranks decide together how to go on. Rank 0
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
		r.rouse(&w.mail.desk)
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
		words := unpacked(b)
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
	return r.comm.Send(packed([]uint64{uint64(c.kind), uint64(c.sent), uint64(c.received)}), to, tagControl)
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
	asked          bool // a round is in progress; at other ranks, an answer is due
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
		if len(w.ready) > 0 || len(w.mail.desk.mail) > 0 {
			r.rouse(&w.mail.desk)
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
	if err := r.comm.AllreduceInt64(n[:], mpi.Sum); err != nil {
		return true, err
	}
	switch {
	case n[failed] > 0:
		return true, r.agree(err)
	case n[running] == 0:
		return true, nil
	case n[standing] == n[running]:
		if err := r.skip.advance(); err != nil {
			return true, err
		}
		r.skip.goOn()
	case n[woken] > 0:
	case n[standing] > 0: // a process needs what another does in the next iteration
		r.skip.giveUp()
		r.skip.goOn()
	default:
		return true, r.deadlock()
	}
	r.release()
	return false, nil
}

// result gathers what the workers found. Collective.
func (r *run) result() (*Result, error) {
	res := &Result{First: r.begins[r.first], Skipped: r.skip.skipped}
	for _, w := range r.workers {
		res.add(w.times...)
		res.Events += w.events
		res.Unmatched += w.unmatched
	}
	sums, most := []int64{int64(res.Events), int64(res.Unmatched)}, []int64{res.Makespan}
	if err := cmp.Or(r.comm.AllreduceInt64(sums, mpi.Sum), r.comm.AllreduceInt64(most, mpi.Max)); err != nil {
		return nil, err
	}
	res.Events, res.Unmatched, res.Makespan = uint64(sums[0]), uint64(sums[1]), most[0]
	return res, nil
}
