package results

import (
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// POP are the efficiencies of POP. With useful time U (CPU; with I/O outside MPI by
// the rules), its mean u and largest value U*, runtime R and runtime on an ideal
// network I:
//
//	multiplicative   load balance u/U*, serialisation U*/I, transfer I/R,
//	                 communication U*/R = serialisation * transfer, process u/R = load balance * communication
//	additive         1 - loss/R, with the losses U*-u, I-U* and R-I; process = 1 - all three
//
// Parallel is process times the efficiency of threads, where there are several.
type POP struct {
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Communication numbers.Ratio `json:"communication"`
	Parallel      numbers.Ratio `json:"parallel"` // process x threads
	Process       numbers.Ratio `json:"process"`
	IO            numbers.Ratio `json:"io"`               // CPU / (CPU + I/O); not defined without I/O
	IOBalance     numbers.Ratio `json:"io_balance"`       // mean / largest I/O of a process; likewise
	Unburdened    numbers.Ratio `json:"without_overhead"` // process, of the time without measurement overhead; not defined without any
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
	Additive      Losses        `json:"additive"`
	Approximate   bool          `json:"approximate,omitempty"` // the ideal runtime is estimated from waits, not replayed

	Runtime numbers.Sum `json:"runtime"` // R in ticks
	Ideal   numbers.Sum `json:"ideal"`   // null: not known
	Largest uint64      `json:"largest_useful"`
	Useful  numbers.Sum `json:"useful"` // sum

	Threads *ThreadPOP `json:"threads,omitempty"` // of processes with several

	Participants uint64           `json:"-"`
	parallel     numbers.Fraction // exactly
}

// Losses are the additive efficiencies.
type Losses struct {
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
	Communication numbers.Ratio `json:"communication"`
}

// Pop computes the efficiencies.
func (m *Measured) Pop() POP {
	r := m.runtime()
	x := POP{Threads: m.threads(), Runtime: r, Ideal: m.ideal, Approximate: m.approx && m.ideal != numbers.NotKnown, Largest: m.Useful, Participants: m.Participants}
	x.Useful = m.UsefulSum()
	most := numbers.Integer(m.Useful)
	all := numbers.Times(r, m.Participants)
	x.Process = numbers.Quotient(x.Useful, all)
	x.parallel = numbers.Divide(x.Useful, all)
	if left := m.threadTimes(); left != nil {
		x.parallel = x.parallel.Over(numbers.Divide(left[0], left[3]))
	}
	x.Parallel = numbers.Nearest(x.parallel)
	if io := m.Sum(xtf.ItemIO); io > 0 {
		x.IO = numbers.Quotient(m.Sum(xtf.ItemCPU), numbers.Add(m.Sum(xtf.ItemCPU), io))
		x.IOBalance = numbers.Quotient(io, numbers.Times(numbers.Integer(m.Spreads.Item(xtf.ItemIO).Max), m.Participants))
	}
	if overhead := m.Sum(xtf.ItemOverhead); overhead > 0 {
		x.Unburdened = numbers.Quotient(x.Useful, numbers.Sub(all, overhead))
	}
	x.LoadBalance = numbers.Quotient(x.Useful, numbers.Times(most, m.Participants))
	x.Communication = numbers.Quotient(most, r)
	// 1 - (U* - u)/R = (P (R - U*) + sum U) / (P R)
	x.Additive.LoadBalance = numbers.Quotient(numbers.Add(numbers.Sub(all, numbers.Times(most, m.Participants)), x.Useful), all)
	x.Additive.Communication = x.Communication
	if m.ideal == numbers.NotKnown {
		return x
	}
	if m.hasSetup() { // a process may compute before the last one has begun
		x.Ideal = min(max(x.Ideal, most), r)
	}
	x.Serialisation = numbers.Quotient(most, x.Ideal)
	x.Transfer = numbers.Quotient(x.Ideal, r)
	x.Additive.Serialisation = numbers.Quotient(numbers.Add(numbers.Sub(r, x.Ideal), most), r)
	x.Additive.Transfer = x.Transfer
	return x
}

// setIdeal takes the runtime of the replay on an ideal network, of a run that
// has one.
func (m *Measured) setIdeal() {
	first, last := m.Spreads.Item(xtf.ItemIdealFirst), m.Spreads.Item(xtf.ItemIdealLast)
	if !m.single {
		m.ideal = numbers.Integer(m.Spreads.Item(xtf.ItemIdeal).Max)
		return
	}
	begin := first.Min
	if m.hasSetup() {
		begin = first.Max // set-up takes no time in the replay: it is over when the last process has begun
	}
	m.ideal = numbers.Integer(last.Max - min(begin, last.Max))
}

// estimate is the ideal time of a process where no replay was made: what remains
// without the MPI time that is not a waiting.
func (x *ProcessItems) estimate(n uint32) uint64 {
	wait := uint64(0)
	for _, i := range WaitItems {
		wait += x.At(n, i)
	}
	mpi := x.At(n, xtf.ItemMPI)
	return x.At(n, xtf.ItemTime) - min(x.At(n, xtf.ItemTime), mpi-min(mpi, wait))
}

// ThreadPOP is the efficiencies of threads of processes that have several, over
// the time of all threads outside MPI. OpenMP is the product of the other three.
type ThreadPOP struct {
	OpenMP     numbers.Ratio `json:"openmp"`
	Serial     numbers.Ratio `json:"serial"`       // what is left without idling outside of parallel regions
	Balance    numbers.Ratio `json:"load_balance"` // of that, without waiting for the busiest thread of parallel regions
	Scheduling numbers.Ratio `json:"scheduling"`   // of that, without what even the busiest thread idles
}

// threads computes the efficiencies of threads; nil without any.
func (m *Measured) threads() *ThreadPOP {
	left := m.threadTimes()
	if left == nil {
		return nil
	}
	return &ThreadPOP{numbers.Quotient(left[3], left[0]), numbers.Quotient(left[1], left[0]), numbers.Quotient(left[2], left[1]), numbers.Quotient(left[3], left[2])}
}

// threadTimes are the time of all threads, and what is left of it without each loss
// in turn; nil without threads.
func (m *Measured) threadTimes() []numbers.Sum {
	all := m.Sum(xtf.ItemThreadTime)
	if all <= 0 {
		return nil
	}
	left := []numbers.Sum{all}
	for _, i := range []xtf.Item{xtf.ItemThreadSerial, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling} {
		left = append(left, numbers.Sub(left[len(left)-1], m.Sum(i)))
	}
	return left
}
