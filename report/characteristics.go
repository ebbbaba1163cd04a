package report

import (
	"fmt"
	"math/big"

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
	useful       uint64 // largest time outside MPI and markers of a process
	rank0        uint64 // MPI time of process 0
	rows         bool   // messages and collectives were matched
	part         bool   // of a span of time: what has no running totals is not known
	single       bool   // every process executed it at most once
	span         uint64 // first begin to last end
	sumMax       uint64 // xtf.Never: not known
	ideal        *big.Int
	approx       bool // ideal is an approximation
}

func (m *measured) sum(i xtf.Item) *big.Int { return m.spreads.item(i).Sum }

// check refuses sums that the arithmetic cannot use: times by class are parts of
// the time, so they always fit.
func (m *measured) check() error {
	for _, i := range []xtf.Item{xtf.ItemTime, xtf.ItemMPI, xtf.ItemMarker, xtf.ItemIO, xtf.ItemCPU} {
		if m.sum(i) == nil {
			return fmt.Errorf("%s does not fit 64 bits: %w", i, xtf.ErrCorrupt)
		}
	}
	return nil
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
	t.CPU, t.IO, t.MPI, t.Marker = m.sum(xtf.ItemCPU), m.sum(xtf.ItemIO), m.sum(xtf.ItemMPI), m.sum(xtf.ItemMarker)
	t.P2P, t.CollectiveAll, t.AllToAll, t.Barrier = m.sum(xtf.ItemP2P), m.sum(xtf.ItemColl), m.sum(xtf.ItemNxN), m.sum(xtf.ItemBarrier)
	t.FileIO, t.RMA, t.Management, t.Comm = m.sum(xtf.ItemFileIO), m.sum(xtf.ItemRMA), m.sum(xtf.ItemManagement), m.sum(xtf.ItemComm)
	t.Start = m.sum(xtf.ItemStart)
	if m.rows {
		t.SendRecv, t.PotentialSync, t.Variation = m.sum(xtf.ItemSendRecv), m.sum(xtf.ItemPotentialSync), m.sum(xtf.ItemVariation)
	}
	if m.rows && !m.part {
		t.Overlap = m.sum(xtf.ItemOverlap)
	}
	if m.sumMax != xtf.Never && m.sumMax >= t.Execution {
		longest, dephasing := m.sumMax, m.sumMax-t.Execution
		t.SumOfMax, t.Dephasing = &longest, &dephasing
	}
	t.Idle = sub(t.Total, m.sum(xtf.ItemTime))
	t.LoadImbalance = sub(times(integer(m.spreads.item(xtf.ItemCPU).Max), p), t.CPU)
	t.setProductive(m.productive(rules), p)
	return t
}

// productive is the MPI time that counts as productive: the part num of den.
func (m *measured) productive(rules Rules) Fraction {
	mpi := m.spreads.item(xtf.ItemMPI)
	one := big.NewInt(1)
	switch rules.rule() {
	case ProductiveMin:
		if m.count(rules) > m.participants {
			return Fraction{new(big.Int), one}
		}
		return Fraction{integer(mpi.Min), one}
	case ProductiveMax:
		return Fraction{integer(mpi.Max), one}
	case ProductiveRank0:
		return Fraction{integer(m.rank0), one}
	case ProductiveNone:
		return Fraction{new(big.Int), one}
	}
	return Fraction{mpi.Sum, integer(max(m.count(rules), 1))}
}

// setProductive splits the total into productive and lost time.
func (t *Ticks) setProductive(mpi Fraction, p uint64) {
	scaled := func(v *big.Int) *big.Int { return new(big.Int).Mul(v, mpi.Den) }
	t.MPIProductive = mpi
	t.MPILost = Fraction{sub(scaled(t.MPI), mpi.Num), mpi.Den}
	t.Productive = Fraction{add(scaled(add(t.CPU, t.IO)), mpi.Num), mpi.Den}
	t.Lost = Fraction{add(t.MPILost.Num, scaled(add(t.Idle, t.Marker))), mpi.Den}
}

// efficiency is the productive part of the total, 1 for an empty interval, and
// the estimated speed-up.
func (t *Ticks) efficiency() (efficiency, speedup Ratio) {
	efficiency = Ratio{1, true}
	if t.Total.Sign() > 0 {
		efficiency = t.Productive.over(t.Total)
	}
	return efficiency, t.Productive.over(integer(t.Execution))
}

// efficiencyText is the efficiency with 6 decimals, half away from zero.
func (t *Ticks) efficiencyText() string {
	if t.Total.Sign() == 0 {
		return "1.000000"
	}
	return Fraction{t.Productive.Num, new(big.Int).Mul(t.Productive.Den, t.Total)}.fixed(6)
}

// runtime is what POP's efficiencies divide by: of an interval executed once the
// time from its first begin to its last end, of a repeated one the longest sum.
func (m *measured) runtime() *big.Int {
	if m.single {
		return integer(m.span)
	}
	return integer(m.spreads.item(xtf.ItemTime).Max)
}
