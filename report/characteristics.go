package report

import "github.com/coppice-hpc/coppice/xtf"

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
	switch x.rule() {
	case ProductiveMin, ProductiveMax, ProductiveRank0:
		return true
	}
	return false
}

// rule is the rule of productive MPI time.
func (x Rules) rule() Productive {
	if x.Productive == "" {
		return ProductiveMean
	}
	return x.Productive
}

// measured is what characteristics of one interval are computed from.
type measured struct {
	spreads      Spreads // over the participants
	participants uint64
	processes    uint64 // of the run, or chosen
	rules        Rules  // of useful time and of what is measured
	useful       uint64 // largest useful time of a process
	least, most  uint64 // MPI time of a process without set-up; known where the rules need it
	rank0        uint64 // the same of process 0
	rows         bool   // messages and collectives were matched
	part         bool   // of a span of time: what has no running totals is not known
	single       bool   // every process executed it at most once
	span         uint64 // first begin to last end
	sumMax       uint64 // xtf.Never: not known
	ideal        Sum    // notKnown where it is not
	approx       bool   // ideal is an approximation
}

func (m *measured) sum(i xtf.Item) Sum { return m.spreads.item(i).Sum }

// hasSetup reports whether set-up and end are left out of what is measured.
func (m *measured) hasSetup() bool { return !m.rules.Init && m.spreads.has(xtf.ItemSetup) }

// execution is the largest time of a process between set-up and end.
func (m *measured) execution() uint64 {
	if m.hasSetup() {
		return m.spreads.item(xtf.ItemMeasured).Max
	}
	return m.spreads.item(xtf.ItemTime).Max
}

// setup is the sum of set-up and end, where they are left out.
func (m *measured) setup() Sum {
	if m.hasSetup() {
		return m.sum(xtf.ItemSetup)
	}
	return 0
}

// usefulSum is the useful time of all processes.
func (m *measured) usefulSum() Sum {
	if m.rules.IO {
		return add(m.sum(xtf.ItemCPU), m.sum(xtf.ItemIO))
	}
	return m.sum(xtf.ItemCPU)
}

// visit takes what the rules need of one process.
func (m *measured) visit(x *processItems, n uint32, first bool) {
	mpi := x.at(n, xtf.ItemMPI)
	if !m.rules.Init {
		mpi -= min(mpi, x.at(n, xtf.ItemSetup))
	}
	if first || mpi < m.least {
		m.least = mpi
	}
	m.most = max(m.most, mpi)
	if x.rank == 0 {
		m.rank0 = mpi
	}
	m.useful = max(m.useful, x.useful(n, m.rules))
}

// count is the number of processors by the rules.
func (m *measured) count(rules Rules) uint64 {
	if rules.AllProcesses {
		return max(m.processes, m.participants)
	}
	return m.participants
}

// ticks computes the characteristics, exactly.
func (m *measured) ticks(rules Rules) Ticks {
	p := m.count(rules)
	t := Ticks{Execution: m.spreads.item(xtf.ItemTime).Max, Runtime: m.span}
	t.Total = times(integer(t.Execution), p)
	t.Measured = times(integer(m.execution()), p)
	t.longest = integer(m.execution())
	t.Setup = sub(t.Total, t.Measured)
	t.DeviceCall, t.DeviceWait, t.LockWait, t.Overhead = m.sum(xtf.ItemDeviceCall), m.sum(xtf.ItemDeviceWait), m.sum(xtf.ItemLockWait), m.sum(xtf.ItemOverhead)
	t.CPU, t.IO, t.MPI, t.Marker = m.sum(xtf.ItemCPU), m.sum(xtf.ItemIO), m.sum(xtf.ItemMPI), m.sum(xtf.ItemMarker)
	t.P2P, t.CollectiveAll, t.AllToAll, t.Barrier = m.sum(xtf.ItemP2P), m.sum(xtf.ItemColl), m.sum(xtf.ItemNxN), m.sum(xtf.ItemBarrier)
	t.FileIO, t.RMA, t.Management, t.Comm = m.sum(xtf.ItemFileIO), m.sum(xtf.ItemRMA), m.sum(xtf.ItemManagement), m.sum(xtf.ItemComm)
	t.Start = m.sum(xtf.ItemStart)
	t.SendRecv, t.PotentialSync, t.Variation = notKnown, notKnown, notKnown
	if m.rows {
		t.SendRecv, t.PotentialSync, t.Variation = m.sum(xtf.ItemSendRecv), m.sum(xtf.ItemPotentialSync), m.sum(xtf.ItemVariation)
	}
	t.Overlap = notKnown
	if m.rows && !m.part {
		t.Overlap = m.sum(xtf.ItemOverlap)
	}
	if m.sumMax != xtf.Never && m.sumMax >= t.Execution {
		t.SumOfMax, t.Dephasing = new(m.sumMax), new(m.sumMax-t.Execution)
	}
	t.Idle = sub(t.Measured, sub(m.sum(xtf.ItemTime), m.setup()))
	t.LoadImbalance = sub(times(integer(m.spreads.item(xtf.ItemCPU).Max), p), t.CPU)
	t.ioProductive, t.asides = m.rules.IO, map[xtf.Item]Sum{}
	for _, i := range xtf.AsideItems {
		t.asides[i] = m.sum(i)
	}
	t.setProductive(sub(t.MPI, m.setup()), m.productive(rules))
	return t
}

// productive is the MPI time that counts as productive: the part num of den.
func (m *measured) productive(rules Rules) Fraction {
	switch rules.rule() {
	case ProductiveMin:
		if m.count(rules) > m.participants {
			return whole(0)
		}
		return whole(integer(m.least))
	case ProductiveMax:
		return whole(integer(m.most))
	case ProductiveRank0:
		return whole(integer(m.rank0))
	case ProductiveNone:
		return whole(0)
	}
	return fraction(sub(m.sum(xtf.ItemMPI), m.setup()), integer(max(m.count(rules), 1)))
}

// loss is a part of the lost time.
type loss struct {
	name, note string
	ticks      Sum
}

// lossNotes explain losses.
var lossNotes = map[xtf.Item]string{
	xtf.ItemDeviceWait: "the host waits for a device", xtf.ItemDeviceCall: "launches, transfers, memory of a device",
	xtf.ItemOverhead: "flushes, and where the measurement was off",
}

// losses are the parts of the lost time next to MPI.
func (t *Ticks) losses() []loss {
	var list []loss
	for _, i := range otherAsides(xtf.ItemMPI, xtf.ItemMarker) {
		if i != xtf.ItemIO || !t.ioProductive {
			list = append(list, loss{ItemWord(i), lossNotes[i], t.asides[i]})
		}
	}
	list = append(list, loss{"idle", "processes that began late or ended early", t.Idle}, loss{ItemWord(xtf.ItemMarker), "", t.Marker})
	return list
}

// setProductive splits what is measured into productive and lost time; all is the
// MPI time in there, mpi its productive part.
func (t *Ticks) setProductive(all Sum, mpi Fraction) {
	useful, lost := t.CPU, Sum(0)
	if t.ioProductive {
		useful = add(useful, t.IO)
	}
	for _, x := range t.losses() {
		lost = add(lost, x.ticks)
	}
	t.MPIProductive = mpi
	t.MPILost = whole(all).Minus(mpi)
	t.Productive = mpi.Plus(whole(useful))
	t.Lost = t.MPILost.Plus(whole(lost))
}

// efficiency is the productive part of what is measured, 1 for an empty interval,
// and the estimated speed-up.
func (t *Ticks) efficiency() (efficiency, speedup Ratio) {
	efficiency = Ratio{1, true}
	if t.Measured != 0 {
		efficiency = over(t.Productive, t.Measured)
	}
	return efficiency, over(t.Productive, t.longest)
}

// efficiencyText is the efficiency with 6 decimals, half away from zero.
func (t *Ticks) efficiencyText() string {
	if t.Measured == 0 {
		return "1.000000"
	}
	return t.Productive.Div(uint64(max(t.Measured, 0))).Fixed(6)
}

// runtime is what POP's efficiencies divide by: of an interval executed once the
// time from its first begin to its last end, of a repeated one the longest sum. If
// set-up is left out it is the longest time between set-up and end: processes that
// begin one after the other meet in there.
func (m *measured) runtime() Sum {
	if m.single && !m.hasSetup() {
		return integer(m.span)
	}
	return integer(m.execution())
}
