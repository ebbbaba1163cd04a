package results

import (
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// Productive says how much MPI time counts as productive.
type Productive string

// Rules of productive MPI time: "the MPI time of one processor is productive"
// leaves open which one.
const (
	ProductiveMean  Productive = "mean" // of all: every process keeps 1/P of its own
	ProductiveMin   Productive = "min"
	ProductiveMax   Productive = "max"
	ProductiveRank0 Productive = "rank0"
	ProductiveNone  Productive = "none"
)

// Productives lists the rules.
func Productives() []Productive {
	return []Productive{ProductiveMean, ProductiveMin, ProductiveMax, ProductiveRank0, ProductiveNone}
}

// Rules are choices that numbers of an interval depend on; the zero value is the
// usual one.
type Rules struct {
	Productive   Productive // "" is the mean
	AllProcesses bool       // every process counts, with no time where it did not execute the interval
	Init         bool       // MPI_Init and MPI_Finalize are MPI like all other; else they are a line of their own, and no loss
	IO           bool       // I/O outside MPI is productive
}

// processes reports whether numbers need what each process did, not sums alone.
func (x Rules) processes() bool {
	switch x.Rule() {
	case ProductiveMin, ProductiveMax, ProductiveRank0:
		return true
	}
	return false
}

// Rule is the rule of productive MPI time.
func (x Rules) Rule() Productive {
	if x.Productive == "" {
		return ProductiveMean
	}
	return x.Productive
}

// Measured is what characteristics of one interval are computed from.
type Measured struct {
	Spreads      Spreads // over the participants
	Participants uint64
	processes    uint64 // of the run, or chosen
	rules        Rules  // of useful time and of what is measured
	Useful       uint64 // largest useful time of a process
	mpiTimes
	rows   bool        // messages and collectives were matched
	part   bool        // of a span of time: what has no running totals is not known
	single bool        // every process executed it at most once
	span   uint64      // first begin to last end
	sumMax uint64      // xtf.Never: not known
	ideal  numbers.Sum // notKnown where it is not
	approx bool        // ideal is an approximation
}

// Sum is the sum of an item over the participants.
func (m *Measured) Sum(i xtf.Item) numbers.Sum { return m.Spreads.Item(i).Sum }

// hasSetup reports whether set-up and end are left out of what is measured.
func (m *Measured) hasSetup() bool { return !m.rules.Init && m.Spreads.Has(xtf.ItemSetup) }

// execution is the largest time of a process between set-up and end.
func (m *Measured) execution() uint64 {
	if m.hasSetup() {
		return m.Spreads.Item(xtf.ItemMeasured).Max
	}
	return m.Spreads.Item(xtf.ItemTime).Max
}

// setup is the sum of set-up and end, where they are left out.
func (m *Measured) setup() numbers.Sum {
	if m.hasSetup() {
		return m.Sum(xtf.ItemSetup)
	}
	return 0
}

// UsefulSum is the useful time of all processes.
func (m *Measured) UsefulSum() numbers.Sum {
	if m.rules.IO {
		return numbers.Add(m.Sum(xtf.ItemCPU), m.Sum(xtf.ItemIO))
	}
	return m.Sum(xtf.ItemCPU)
}

// visit takes what the rules need of one process.
func (m *Measured) visit(x *ProcessItems, n uint32, first bool) {
	m.mpiTimes.visit(x.Rank, x.At(n, xtf.ItemMPI), x.At(n, xtf.ItemSetup), m.rules, first)
	m.Useful = max(m.Useful, x.Useful(n, m.rules))
}

// mpiTimes are MPI times of a process without set-up; known where the rules need them.
type mpiTimes struct{ least, most, rank0 uint64 }

// visit takes those of a process, by the rules.
func (m *mpiTimes) visit(rank uint32, mpi, setup uint64, rules Rules, first bool) {
	if !rules.Init {
		mpi -= min(mpi, setup)
	}
	if first || mpi < m.least {
		m.least = mpi
	}
	m.most = max(m.most, mpi)
	if rank == 0 {
		m.rank0 = mpi
	}
}

// count is the number of processors by the rules.
func (m *Measured) count(rules Rules) uint64 {
	if rules.AllProcesses {
		return max(m.processes, m.Participants)
	}
	return m.Participants
}

// Ticks computes the characteristics, exactly.
func (m *Measured) Ticks(rules Rules) Ticks {
	p := m.count(rules)
	t := Ticks{Execution: m.Spreads.Item(xtf.ItemTime).Max, Runtime: m.span}
	t.Total = numbers.Times(numbers.Integer(t.Execution), p)
	t.Measured = numbers.Times(numbers.Integer(m.execution()), p)
	t.Longest = numbers.Integer(m.execution())
	t.Setup = numbers.Sub(t.Total, t.Measured)
	t.DeviceCall, t.DeviceWait, t.LockWait, t.Overhead = m.Sum(xtf.ItemDeviceCall), m.Sum(xtf.ItemDeviceWait), m.Sum(xtf.ItemLockWait), m.Sum(xtf.ItemOverhead)
	t.CPU, t.IO, t.MPI, t.Marker = m.Sum(xtf.ItemCPU), m.Sum(xtf.ItemIO), m.Sum(xtf.ItemMPI), m.Sum(xtf.ItemMarker)
	t.P2P, t.CollectiveAll, t.AllToAll, t.Barrier = m.Sum(xtf.ItemP2P), m.Sum(xtf.ItemColl), m.Sum(xtf.ItemNxN), m.Sum(xtf.ItemBarrier)
	t.FileIO, t.RMA, t.Management, t.Comm = m.Sum(xtf.ItemFileIO), m.Sum(xtf.ItemRMA), m.Sum(xtf.ItemManagement), m.Sum(xtf.ItemComm)
	t.Start = m.Sum(xtf.ItemStart)
	t.SendRecv, t.PotentialSync, t.Variation = numbers.NotKnown, numbers.NotKnown, numbers.NotKnown
	if m.rows {
		t.SendRecv, t.PotentialSync, t.Variation = m.Sum(xtf.ItemSendRecv), m.Sum(xtf.ItemPotentialSync), m.Sum(xtf.ItemVariation)
	}
	t.Overlap = numbers.NotKnown
	if m.rows && !m.part {
		t.Overlap = m.Sum(xtf.ItemOverlap)
	}
	if m.sumMax != xtf.Never && m.sumMax >= t.Execution {
		t.SumOfMax, t.Dephasing = new(m.sumMax), new(m.sumMax-t.Execution)
	}
	t.Idle = numbers.Sub(t.Measured, numbers.Sub(m.Sum(xtf.ItemTime), m.setup()))
	t.LoadImbalance = numbers.Sub(numbers.Times(numbers.Integer(m.Spreads.Item(xtf.ItemCPU).Max), p), t.CPU)
	t.IoProductive, t.asides = m.rules.IO, map[xtf.Item]numbers.Sum{}
	for _, i := range xtf.AsideItems {
		t.asides[i] = m.Sum(i)
	}
	t.setProductive(numbers.Sub(t.MPI, m.setup()), m.productive(rules))
	return t
}

// productive is the MPI time that counts as productive: the part num of den.
func (m *Measured) productive(rules Rules) numbers.Fraction {
	switch rules.Rule() {
	case ProductiveMin:
		if m.count(rules) > m.Participants {
			return numbers.Whole(0)
		}
		return numbers.Whole(numbers.Integer(m.least))
	case ProductiveMax:
		return numbers.Whole(numbers.Integer(m.most))
	case ProductiveRank0:
		return numbers.Whole(numbers.Integer(m.rank0))
	case ProductiveNone:
		return numbers.Whole(0)
	}
	return numbers.Divide(numbers.Sub(m.Sum(xtf.ItemMPI), m.setup()), numbers.Integer(max(m.count(rules), 1)))
}

// Loss is a part of the lost time.
type Loss struct {
	Name, Note string
	Ticks      numbers.Sum
}

// lossNotes explain losses.
var lossNotes = map[xtf.Item]string{
	xtf.ItemDeviceWait: "the host waits for a device", xtf.ItemDeviceCall: "launches, transfers, memory of a device",
	xtf.ItemOverhead: "flushes, and where the measurement was off",
}

// Losses are the parts of the lost time next to MPI.
func (t *Ticks) Losses() []Loss {
	var list []Loss
	for _, i := range OtherAsides(xtf.ItemMPI, xtf.ItemMarker) {
		if i != xtf.ItemIO || !t.IoProductive {
			list = append(list, Loss{ItemWord(i), lossNotes[i], t.asides[i]})
		}
	}
	list = append(list, Loss{"idle", "processes that began late or ended early", t.Idle}, Loss{ItemWord(xtf.ItemMarker), "", t.Marker})
	return list
}

// setProductive splits what is measured into productive and lost time; all is the
// MPI time in there, mpi its productive part.
func (t *Ticks) setProductive(all numbers.Sum, mpi numbers.Fraction) {
	useful, lost := t.CPU, numbers.Sum(0)
	if t.IoProductive {
		useful = numbers.Add(useful, t.IO)
	}
	for _, x := range t.Losses() {
		lost = numbers.Add(lost, x.Ticks)
	}
	t.MPIProductive = mpi
	t.MPILost = numbers.Whole(all).Minus(mpi)
	t.Productive = mpi.Plus(numbers.Whole(useful))
	t.Lost = t.MPILost.Plus(numbers.Whole(lost))
}

// exactEfficiency is the productive part of what is measured, 1 for an empty interval.
func (t *Ticks) exactEfficiency() numbers.Fraction {
	if t.Measured == 0 {
		return numbers.Whole(1)
	}
	return t.Productive.Div(uint64(max(t.Measured, 0)))
}

// efficiency is that as a quotient, and the estimated speed-up.
func (t *Ticks) efficiency() (efficiency, speedup numbers.Ratio) {
	return numbers.Nearest(t.exactEfficiency()), numbers.Part(t.Productive, t.Longest)
}

// EfficiencyText is the efficiency with 6 decimals, half away from zero.
func (t *Ticks) EfficiencyText() string { return t.exactEfficiency().Fixed(6) }

// runtime is what POP's efficiencies divide by: of an interval executed once the
// time from its first begin to its last end, of a repeated one the longest sum. If
// set-up is left out it is the longest time between set-up and end: processes that
// begin one after the other meet in there.
func (m *Measured) runtime() numbers.Sum {
	if m.single && !m.hasSetup() {
		return numbers.Integer(m.span)
	}
	return numbers.Integer(m.execution())
}
