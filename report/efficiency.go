package report

import "github.com/coppice-hpc/coppice/xtf"

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
	LoadBalance   Ratio  `json:"load_balance"`
	Communication Ratio  `json:"communication"`
	Parallel      Ratio  `json:"parallel"` // process x threads
	Process       Ratio  `json:"process"`
	IO            Ratio  `json:"io"`               // CPU / (CPU + I/O); not defined without I/O
	IOBalance     Ratio  `json:"io_balance"`       // mean / largest I/O of a process; likewise
	Unburdened    Ratio  `json:"without_overhead"` // process, of the time without measurement overhead; not defined without any
	Serialisation Ratio  `json:"serialisation"`
	Transfer      Ratio  `json:"transfer"`
	Additive      Losses `json:"additive"`
	Approximate   bool   `json:"approximate,omitempty"` // the ideal runtime is estimated from waits, not replayed

	Runtime Sum    `json:"runtime"` // R in ticks
	Ideal   Sum    `json:"ideal"`   // null: not known
	Largest uint64 `json:"largest_useful"`
	Useful  Sum    `json:"useful"` // sum

	Threads *ThreadPOP `json:"threads,omitempty"` // of processes with several

	participants uint64
	parallel     Fraction // exactly
}

// Losses are the additive efficiencies.
type Losses struct {
	LoadBalance   Ratio `json:"load_balance"`
	Serialisation Ratio `json:"serialisation"`
	Transfer      Ratio `json:"transfer"`
	Communication Ratio `json:"communication"`
}

// pop computes the efficiencies.
func (m *measured) pop() POP {
	r := m.runtime()
	x := POP{Threads: m.threads(), Runtime: r, Ideal: m.ideal, Approximate: m.approx && m.ideal != notKnown, Largest: m.useful, participants: m.participants}
	x.Useful = m.usefulSum()
	most := integer(m.useful)
	all := times(r, m.participants)
	x.Process = ratio(x.Useful, all)
	x.parallel = fraction(x.Useful, all)
	if left := m.threadTimes(); left != nil {
		x.parallel = x.parallel.Over(fraction(left[0], left[3]))
	}
	x.Parallel = ratioOf(x.parallel)
	if io := m.sum(xtf.ItemIO); io > 0 {
		x.IO = ratio(m.sum(xtf.ItemCPU), add(m.sum(xtf.ItemCPU), io))
		x.IOBalance = ratio(io, times(integer(m.spreads.item(xtf.ItemIO).Max), m.participants))
	}
	if overhead := m.sum(xtf.ItemOverhead); overhead > 0 {
		x.Unburdened = ratio(x.Useful, sub(all, overhead))
	}
	x.LoadBalance = ratio(x.Useful, times(most, m.participants))
	x.Communication = ratio(most, r)
	// 1 - (U* - u)/R = (P (R - U*) + sum U) / (P R)
	x.Additive.LoadBalance = ratio(add(sub(all, times(most, m.participants)), x.Useful), all)
	x.Additive.Communication = x.Communication
	if m.ideal == notKnown {
		return x
	}
	if m.hasSetup() { // a process may compute before the last one has begun
		x.Ideal = min(max(x.Ideal, most), r)
	}
	x.Serialisation = ratio(most, x.Ideal)
	x.Transfer = ratio(x.Ideal, r)
	x.Additive.Serialisation = ratio(add(sub(r, x.Ideal), most), r)
	x.Additive.Transfer = x.Transfer
	return x
}

// setIdeal takes the runtime of the replay on an ideal network, of a run that
// has one.
func (m *measured) setIdeal() {
	first, last := m.spreads.item(xtf.ItemIdealFirst), m.spreads.item(xtf.ItemIdealLast)
	if !m.single {
		m.ideal = integer(m.spreads.item(xtf.ItemIdeal).Max)
		return
	}
	begin := first.Min
	if m.hasSetup() {
		begin = first.Max // set-up takes no time in the replay: it is over when the last process has begun
	}
	m.ideal = integer(last.Max - min(begin, last.Max))
}

// WaitItems are the waits for a partner. Spans of completion are no waits for
// anybody and stand apart.
var WaitItems = []xtf.Item{
	xtf.ItemLateSender, xtf.ItemLateReceiver, xtf.ItemLateProgress, xtf.ItemWaitBarrier, xtf.ItemWaitNxN,
	xtf.ItemLateBroadcast, xtf.ItemEarlyReduce, xtf.ItemEarlyScan,
}

// completionItems are spans at the end of collectives.
var completionItems = []xtf.Item{xtf.ItemBarrierCompletion, xtf.ItemNxNCompletion}

// estimate is the ideal time of a process where no replay was made: what remains
// without the MPI time that is not a waiting.
func (x *processItems) estimate(n uint32) uint64 {
	wait := uint64(0)
	for _, i := range WaitItems {
		wait += x.at(n, i)
	}
	mpi := x.at(n, xtf.ItemMPI)
	return x.at(n, xtf.ItemTime) - min(x.at(n, xtf.ItemTime), mpi-min(mpi, wait))
}
