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
)

var errBatch = errors.New("simnet: a damaged message from another rank")

// run is one simulation on one rank: its workers, and what lies between them and those of other ranks. Each worker has a
// goroutine; a goroutine receives what other ranks send; the caller's decides when nothing moves any more.
type run struct {
	comm    mpi.Comm // where there are several ranks, one for this run alone
	code    *code
	workers []*worker
	lo, hi  uint32
	begins  []uint32 // first process of each worker of all ranks
	ranks   []int    // rank of each
	first   int      // number of the first of this rank
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

// desk is where a worker finds what others send. The lock of the run guards it.
type desk struct {
	mail [][]uint64
	idle bool
	wake chan struct{} // of capacity 1
}

// Tags of messages between ranks.
const (
	tagBatch   = 1
	tagControl = 2
)

// newRun prepares a run. Collective.
func newRun(ctx context.Context, comm mpi.Comm, lo, hi uint32, p *Program, calc Calc, n *Network, o Options) (*run, error) {
	r := &run{comm: comm, lo: lo, hi: hi, idled: make(chan struct{}, 1), control: make(chan control, comm.Size()+4)}
	err := p.Check()
	if err == nil {
		r.code, err = compile(p, n)
	}
	if err == nil && (lo > hi || int64(hi) > int64(len(p.Roots))) {
		err = programError("processes %d to %d of %d", lo, hi, len(p.Roots))
	}
	if err := r.agree(err); err != nil {
		return nil, err
	}
	if err := r.share(o.Workers); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	errs := make([]error, len(r.workers))
	for i := range r.workers {
		r.group.Add(1)
		go func() {
			defer r.group.Done()
			r.workers[i], errs[i] = newWorker(ctx, r, r.first+i, calc, o)
		}()
	}
	r.group.Wait()
	if err := r.agree(cmp.Or(errs...)); err != nil {
		r.stop()
		return nil, err
	}
	if err := r.lookForLoops(calc, o); err != nil {
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
	return mpi.AgreeOn(r.comm, err, ErrProgram, context.Canceled, context.DeadlineExceeded)
}

// perWorker is the least number of processes for which a second worker pays.
const perWorker = 256

// share divides the processes between workers. Collective.
func (r *run) share(workers int) error {
	count := int(r.hi - r.lo)
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), count/perWorker)
	}
	workers = max(min(workers, count), 1)
	mine := make([]byte, 0, 12)
	for _, x := range []uint32{r.lo, r.hi, uint32(workers)} {
		mine = binary.LittleEndian.AppendUint32(mine, x)
	}
	all, err := r.comm.Allgather(mine)
	if err != nil {
		return err
	}
	next := uint32(0)
	for rank, b := range all {
		lo, hi, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		if lo != next {
			return programError("rank %d has processes from %d on, not %d", rank, lo, next)
		}
		next = hi
		if rank == r.comm.Rank() {
			r.first = len(r.begins)
			r.workers = make([]*worker, n)
		}
		for i := range uint64(n) {
			r.begins = append(r.begins, lo+uint32(uint64(hi-lo)*i/uint64(n)))
			r.ranks = append(r.ranks, rank)
		}
	}
	if int(next) != len(r.code.program.Roots) {
		return programError("the ranks have %d of %d processes", next, len(r.code.program.Roots))
	}
	return nil
}

// end returns the process behind the last of a worker.
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
func (r *run) send(w *worker, to int, b []uint64) {
	if r.ranks[to] == r.comm.Rank() {
		r.deliver(to-r.first, b, false)
		return
	}
	bytes := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+8*len(b)), uint64(to-r.firstOf(to)))
	for _, x := range b {
		bytes = binary.LittleEndian.AppendUint64(bytes, x)
	}
	r.mu.Lock()
	r.sent++
	r.spare = append(r.spare, b)
	r.mu.Unlock()
	if err := r.comm.Send(bytes, r.ranks[to], tagBatch); err != nil {
		w.fail(err)
	}
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
	d := &r.workers[worker].desk
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

// serve runs a worker until the run ends.
func (w *worker) serve() {
	defer w.run.group.Done()
	for {
		w.work()
		w.flush()
		if !w.rest() {
			return
		}
		w.read()
	}
}

// read takes the mail.
func (w *worker) read() {
	r := w.run
	r.mu.Lock()
	mail := w.desk.mail
	w.desk.mail = nil
	r.mu.Unlock()
	if len(mail) == 0 {
		return
	}
	for _, b := range mail {
		if w.err == nil {
			w.takeBatch(b)
		}
	}
	r.mu.Lock()
	r.spare = append(r.spare, mail...)
	r.mu.Unlock()
}

// rest waits until there is mail or work; false when the run ends.
func (w *worker) rest() bool {
	r := w.run
	r.mu.Lock()
	if len(w.desk.mail) == 0 && !r.quit {
		w.desk.idle = true
		if r.idle++; r.idle == len(r.workers) {
			nudge(r.idled)
		}
		r.mu.Unlock()
		<-w.desk.wake
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	return !r.quit
}

// nudge sends on a channel of capacity 1, unless something is in it.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
