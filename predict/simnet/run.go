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

var errRecord = errors.New("simnet: a damaged message from another rank")

// run is one simulation on one rank. In each round all workers run, each in a goroutine, until none of their processes can continue; then
// the records that they wrote are exchanged. If no worker of any rank wrote any, all ranks decide together how to go on.
type run struct {
	comm    mpi.Comm
	code    *code
	workers []*worker
	begins  []uint32 // first process of each worker of all ranks
	ranks   []int    // rank of each worker
	first   int      // number of this rank's first worker
	ctx     context.Context
}

// tagRecords is the tag of messages between ranks.
const tagRecords = 1

func newRun(ctx context.Context, comm mpi.Comm, lo, hi uint32, p *program.Program, calc Calc, n *network.Network, o Options) (*run, error) {
	r := &run{comm: comm, ctx: ctx}
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
	errs := make([]error, len(r.workers))
	r.each(func(i int) { r.workers[i], errs[i] = newWorker(r, r.first+i, calc, o) })
	if err := r.agree(cmp.Or(errs...)); err != nil {
		return nil, err
	}
	return r, nil
}

// each calls f for every worker of the rank at the same time.
func (r *run) each(f func(i int)) {
	var group sync.WaitGroup
	for i := range r.workers[1:] {
		group.Go(func() { f(i + 1) })
	}
	f(0)
	group.Wait()
}

// agree returns an error on all ranks if one has one. Collective.
func (r *run) agree(err error) error {
	if r.comm.Size() == 1 {
		return err
	}
	return r.agreeing().Agree(err)
}

// agreeing returns the communicator with an Agree that keeps errors that callers distinguish.
func (r *run) agreeing() mpi.Comm {
	return mpi.Keeping{Comm: r.comm, Sentinels: []error{program.ErrInvalid, context.Canceled, context.DeadlineExceeded}}
}

// packed encodes words as a message; unpacked decodes them.
func packed(lists ...[]uint64) (b []byte) {
	for _, list := range lists {
		b, _ = binary.Append(b, binary.LittleEndian, list) // fails for other types only
	}
	return b
}

func unpacked(b []byte) []uint64 {
	words := make([]uint64, len(b)/8)
	_, _ = binary.Decode(b, binary.LittleEndian, words) // likewise
	return words
}

// perWorker is the least number of processes of a worker, if there are several.
const perWorker = 256

// share distributes the processes over workers. Collective.
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

// end returns the process after the last one of a worker.
func (r *run) end(number int) uint32 {
	if number+1 < len(r.begins) {
		return r.begins[number+1]
	}
	return uint32(len(r.code.program.Roots))
}

// workerOf returns the number, among all ranks' workers, of the worker that runs a process.
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

// simulate runs the workers until the run ends. Collective.
func (r *run) simulate() (*Result, error) {
	for {
		r.each(func(i int) {
			r.workers[i].read()
			r.workers[i].work()
		})
		moved, err := r.exchange()
		done := false
		if err == nil && !moved {
			done, err = r.decide()
		}
		if err != nil {
			return nil, err
		}
		if done {
			return r.result()
		}
	}
}

// exchange passes on the records of a round and reports whether any worker of any rank wrote some. A message to a rank has, for each of its
// workers, the worker's number, the number of words, and the words. Collective.
func (r *run) exchange() (moved bool, err error) {
	parts := map[int][]byte{} // by rank
	var n [2]int64            // workers written to, errors
	for _, w := range r.workers {
		n[0] += int64(len(w.mail.turn()))
		w.mail.far = w.mail.far[:0]
		for _, to := range w.mail.to {
			if rank := r.ranks[to]; rank != r.comm.Rank() {
				list := w.mail.sent[to]
				parts[rank] = append(parts[rank], packed([]uint64{uint64(to), uint64(len(list))}, list)...)
			}
		}
	}
	if r.comm.Size() == 1 {
		return n[0] > 0, nil
	}
	var out []mpi.Part
	for rank, b := range parts {
		out = append(out, mpi.Part{Rank: rank, Data: b})
	}
	got, err := mpi.SparseAlltoall(r.comm, tagRecords, out)
	if err != nil {
		return false, err
	}
	for _, x := range got {
		for words := unpacked(x.Data); len(words) > 0; {
			i := uint64(len(r.workers))
			if len(words) > 1 {
				i = words[0] - uint64(r.first)
			}
			if i >= uint64(len(r.workers)) || words[1] > uint64(len(words)-2) {
				n[1]++
				break
			}
			mail := &r.workers[i].mail
			mail.far = append(mail.far, words[2:2+words[1]])
			words = words[2+words[1]:]
		}
	}
	if err := r.comm.AllreduceInt64(n[:], mpi.Sum); err != nil {
		return false, err
	}
	if n[1] > 0 {
		return false, errRecord
	}
	return n[0] > 0, nil
}

// decide ends the run if all processes have finished. Otherwise it lets senders go further ahead, if some wait for that, or returns a
// deadlock. No process of any rank can continue. Collective.
func (r *run) decide() (done bool, err error) {
	const failed, running, woken = 0, 1, 2
	var n [3]int64
	for _, w := range r.workers {
		if w.err != nil && err == nil {
			n[failed], err = 1, w.err
		}
		n[running] += int64(w.running)
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
	case n[woken] > 0:
		for _, w := range r.workers {
			w.limLog++
		}
	default:
		return true, r.deadlock()
	}
	return false, nil
}

// result combines the results of the workers. Collective.
func (r *run) result() (*Result, error) {
	res := &Result{First: r.begins[r.first]}
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
