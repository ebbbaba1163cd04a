package prediction

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// MeasureOptions steer MeasurePlatform.
type MeasureOptions struct {
	Name        string
	Repetitions int           // of each operation, at least
	Patience    time.Duration // a series that takes longer ends with fewer repetitions
}

// MeasuredPlatform is what MeasurePlatform found.
type MeasuredPlatform struct {
	Platform *predict.Platform
	Notes    []string // for the file: how it was measured, residuals
	Warnings []string // for the user
}

// Sizes of what is measured.
const (
	largestTrip  = 4 << 20  // bytes
	largestEager = 64 << 20 // bytes; above it a library is taken to send everything eagerly
	seriesBlock  = 100      // repetitions between two decisions to go on
	leastSeries  = 10       // repetitions of a series that takes long
)

// MeasurePlatform measures the machine that the ranks of c run on, over the MPI library: a rank with itself, two ranks of
// one node, two nodes, whatever of these there is. One pair measures at a time, the others wait without using their core.
// Rank 0 gets the result, the others nil. Collective.
func MeasurePlatform(c mpi.Comm, o MeasureOptions) (*MeasuredPlatform, error) {
	if err := mpi.Time(c, mpi.Timing{Operation: mpi.ClockRead, Peer: c.Rank(), Lead: true}, make([]int64, 1)); err != nil {
		if errors.Is(err, mpi.ErrLaunch) {
			return nil, jobs.Fail(jobs.ExitUsage, fmt.Errorf("the ranks need an MPI library: start them by its launcher, as in mpirun -n 2 coppice platform measure -o P.toml: %w", err))
		}
		return nil, err
	}
	if c.Size() < 2 {
		return nil, jobs.Fail(jobs.ExitUsage, errors.New("one rank has nobody to send to: start two or more, as in mpirun -n 2 coppice platform measure -o P.toml"))
	}
	nodes, err := nodesOf(c)
	if err != nil {
		return nil, err
	}
	pairs := pairsOf(nodes)
	var links [simnet.NumLinkClasses]*measuredLink
	for class, peer := range pairs {
		if peer < 0 {
			continue
		}
		if c.Rank() == 0 || c.Rank() == peer {
			m := measurer{c: c, o: o, lead: c.Rank() == 0}
			if m.lead {
				m.peer = peer
			}
			// An error here is not agreed on: the partner may be inside a call. The launcher ends it.
			if links[class], err = m.link(); err != nil {
				return nil, err
			}
		}
		if err := c.Barrier(); err != nil {
			return nil, err
		}
	}
	crowded, err := crowdedNodes(c, nodes)
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	gamma, err := (&measurer{c: c, o: o, lead: true}).gamma()
	if err != nil {
		return nil, err
	}
	return describePlatform(o, nodes, links, gamma, crowded), nil
}

// nodesOf returns the node of each rank, numbered by their first ranks.
func nodesOf(c mpi.Comm) ([]int, error) {
	node, err := c.SplitNode()
	if err != nil {
		return nil, err
	}
	first := []int64{int64(c.Rank())}
	if err := node.AllreduceInt64(first, mpi.Min); err != nil {
		return nil, err
	}
	if err := node.Free(); err != nil {
		return nil, err
	}
	leaders := make([]int64, c.Size())
	leaders[c.Rank()] = first[0]
	if err := c.AllreduceInt64(leaders, mpi.Sum); err != nil {
		return nil, err
	}
	number := map[int64]int{}
	nodes := make([]int, len(leaders))
	for rank, l := range leaders {
		if _, ok := number[l]; !ok {
			number[l] = len(number)
		}
		nodes[rank] = number[l]
	}
	return nodes, nil
}

// pairsOf returns the rank that rank 0 measures each class of links with, -1 where there is none.
func pairsOf(nodes []int) [simnet.NumLinkClasses]int {
	pairs := [simnet.NumLinkClasses]int{0, -1, -1}
	for rank, node := range nodes {
		class := simnet.LinkNode
		if node != nodes[0] {
			class = simnet.LinkNet
		}
		if rank != 0 && pairs[class] < 0 {
			pairs[class] = rank
		}
	}
	return pairs
}

// crowdedNodes counts the nodes where ranks share processors. Collective.
func crowdedNodes(c mpi.Comm, nodes []int) (int, error) {
	crowded := make([]int64, slices.Max(nodes)+1)
	if mpi.Crowded(c) {
		crowded[nodes[c.Rank()]] = 1
	}
	if err := c.AllreduceInt64(crowded, mpi.Max); err != nil {
		return 0, err
	}
	n := 0
	for _, x := range crowded {
		n += int(x)
	}
	return n, nil
}

// ranksOf counts the ranks of each node.
func ranksOf(nodes []int) []int {
	n := make([]int, slices.Max(nodes)+1)
	for _, node := range nodes {
		n[node]++
	}
	return n
}

// describePlatform puts the parts together.
func describePlatform(o MeasureOptions, nodes []int, links [simnet.NumLinkClasses]*measuredLink, gamma simnet.Rate, crowded int) *MeasuredPlatform {
	p := predict.NewPlatform()
	ranks := ranksOf(nodes)
	p.Name, p.Nodes, p.Gamma = o.Name, uint32(len(ranks)), gamma
	if len(ranks) > 1 {
		p.RanksPerNode = uint32(slices.Max(ranks))
	}
	m := &MeasuredPlatform{Platform: p}
	m.Notes = append(m.Notes, fmt.Sprintf("coppice platform measure: ranks %d, nodes %d, %s, least times of %d repetitions",
		len(nodes), len(ranks), mpi.LibraryVersion(), o.Repetitions))
	if crowded > 0 {
		m.warn(fmt.Sprintf("nodes whose ranks share processors: %d of %d. Ranks wait for a processor there, and times may be too long: measure with fewer ranks", crowded, len(ranks)))
	}
	for class, l := range links {
		if l == nil {
			continue
		}
		name := predict.LinkName(simnet.LinkClass(class))
		fit := l.samples.Fit()
		p.Links[class] = &fit.Link
		if l.fewest < o.Repetitions {
			m.warn(fmt.Sprintf("%s: one operation was repeated %d times only, as it took long", name, l.fewest))
		}
		for _, n := range fit.Notes {
			m.Notes = append(m.Notes, name+": "+n)
		}
		m.Notes = append(m.Notes, fmt.Sprintf("%s: half round trips, ns measured and as the parameters have them, worst %.1f %%", name, fit.Worst))
		for _, r := range fit.Rows {
			m.Notes = append(m.Notes, fmt.Sprintf("%s: %8d bytes %12.0f %12.0f", name, r.Bytes, r.Measured, r.Fit))
		}
	}
	return m
}

// warn tells both the user and the file.
func (m *MeasuredPlatform) warn(text string) {
	m.Warnings = append(m.Warnings, text)
	m.Notes = append(m.Notes, text)
}
