package prediction

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// MeasureOptions are the options of MeasurePlatform.
type MeasureOptions struct {
	Name        string
	Repetitions int           // the least number, of each operation
	Patience    time.Duration // a series that takes longer ends with fewer repetitions
}

// MeasuredPlatform is the result of MeasurePlatform.
type MeasuredPlatform struct {
	Platform *platform.Platform
	Notes    []string // for the file: how it was measured, residuals
	Warnings []string // for the user
}

// Sizes of measurements.
const (
	largestTrip  = 4 << 20  // bytes of a round trip
	largestEager = 64 << 20 // bytes; a library that sends this eagerly is assumed to send everything so
	seriesBlock  = 100      // repetitions between two decisions to go on
	leastSeries  = 10       // repetitions in the first block of a series
)

// MeasurePlatform measures the machine on which the ranks of c run, with the MPI library: a rank with itself, two ranks of one node, and
// two nodes, as far as there are any. One pair measures at a time; the other ranks wait without using their cores. Rank 0 gets the
// result, the others nil. Collective.
func MeasurePlatform(c mpi.Comm, o MeasureOptions) (*MeasuredPlatform, error) {
	if err := mpi.Time(c, mpi.Timing{Operation: mpi.ClockRead, Peer: c.Rank(), Lead: true}, make([]int64, 1)); err != nil {
		if errors.Is(err, mpi.ErrLaunch) {
			return nil, jobs.Fail(jobs.ExitUsage, errors.New("start it on ranks of an MPI library, as in mpirun -n 2 coppice platform measure -o P.toml"))
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
	var links [network.NumLinkClasses]*measuredLink
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

// nodesOf returns the node of each rank. Nodes are numbered in the order of their first ranks.
func nodesOf(c mpi.Comm) ([]int, error) {
	first, _ := c.Node()
	leaders := make([]int64, c.Size())
	leaders[c.Rank()] = int64(first)
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

// pairsOf returns, by class of links, the rank with which rank 0 measures it; -1 for none.
func pairsOf(nodes []int) [network.NumLinkClasses]int {
	pairs := [network.NumLinkClasses]int{0, -1, -1}
	for rank, node := range nodes {
		class := network.LinkNode
		if node != nodes[0] {
			class = network.LinkNet
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

// disturbed is the factor: a message that takes more than this times as long as a larger one was disturbed by other programs.
const disturbed = 3

// describePlatform makes the platform of the measurements, with notes and warnings.
func describePlatform(o MeasureOptions, nodes []int, links [network.NumLinkClasses]*measuredLink, gamma network.Rate, crowded int) *MeasuredPlatform {
	p := platform.New()
	ranks := make([]int, slices.Max(nodes)+1)
	for _, node := range nodes {
		ranks[node]++
	}
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
		name := platform.LinkName(network.LinkClass(class))
		fit := l.samples.Fit()
		p.Links[class] = &fit.Link
		if l.fewest < o.Repetitions {
			m.warn(fmt.Sprintf("%s: one operation was repeated %d times only, as it took long", name, l.fewest))
		}
		for _, n := range fit.Notes {
			m.Notes = append(m.Notes, name+": "+n)
		}
		for k := 1; k < len(fit.Rows); k++ {
			if a, b := fit.Rows[k-1], fit.Rows[k]; a.Measured > disturbed*b.Measured {
				m.warn(fmt.Sprintf("%s: a message of %d bytes took %.0f ns and one of %d bytes %.0f: other programs ran, so measure again when none does", name, a.Bytes, a.Measured, b.Bytes, b.Measured))
				break
			}
		}
		m.Notes = append(m.Notes, fmt.Sprintf("%s: half round trips, ns measured and as the parameters have them, worst %.1f %%", name, fit.Worst))
		for _, r := range fit.Rows {
			m.Notes = append(m.Notes, fmt.Sprintf("%s: %8d bytes %12.0f %12.0f", name, r.Bytes, r.Measured, r.Fit))
		}
	}
	return m
}

// warn adds a text to warnings and notes.
func (m *MeasuredPlatform) warn(text string) {
	m.Warnings = append(m.Warnings, text)
	m.Notes = append(m.Notes, text)
}

// measurer is one rank of a pair that measures.
type measurer struct {
	c      mpi.Comm
	o      MeasureOptions
	peer   int  // this rank itself if it is alone
	lead   bool // this rank has the clock
	fewest int  // repetitions of the shortest series
}

// measuredLink is the measurements of a pair. Only the leader has times.
type measuredLink struct {
	samples platform.LinkSamples
	fewest  int
}

// tagGoOn is the tag of messages in which a leader tells its partner whether a series goes on.
const tagGoOn = 17

// series repeats an operation until it has enough repetitions or has taken too long, and returns the least time, in ns.
func (m *measurer) series(op mpi.Operation, bytes, messages int) (int64, error) {
	least := int64(math.MaxInt64)
	block := make([]int64, seriesBlock)
	t := mpi.Timing{Operation: op, Peer: m.peer, Lead: m.lead, Bytes: bytes, Messages: messages}
	begin := time.Now()
	for done := 0; ; {
		// The first block is short, in case each repetition takes long.
		n := seriesBlock
		if done == 0 {
			n = leastSeries
		}
		if err := mpi.Time(m.c, t, block[:n]); err != nil {
			return 0, err
		}
		done += n
		if m.lead {
			for _, v := range block[:n] {
				least = min(least, v)
			}
		}
		more, err := m.agreed(done < m.o.Repetitions && time.Since(begin) < m.o.Patience)
		if err != nil {
			return 0, err
		}
		if !more {
			m.fewest = min(m.fewest, done)
			return least, nil
		}
	}
}

// agreed returns the leader's decision on both ranks.
func (m *measurer) agreed(yes bool) (bool, error) {
	if m.peer == m.c.Rank() {
		return yes, nil
	}
	if !m.lead {
		b, _, err := m.c.Recv(m.peer, tagGoOn)
		return err == nil && b[0] == 1, err
	}
	b := []byte{0}
	if yes {
		b[0] = 1
	}
	return yes, m.c.Send(b, m.peer, tagGoOn)
}

// link measures one class of links.
func (m *measurer) link() (*measuredLink, error) {
	m.fewest = math.MaxInt
	l := &measuredLink{}
	s := &l.samples
	var err error
	if m.lead {
		if s.Clock, err = (&measurer{c: m.c, o: m.o, peer: m.c.Rank(), lead: true, fewest: m.fewest}).series(mpi.ClockRead, 0, 0); err != nil {
			return nil, err
		}
	}
	if s.Eager, err = m.eager(mpi.EagerSend); err != nil {
		return nil, err
	}
	if s.EagerInside, err = m.eager(mpi.EagerInside); err != nil {
		return nil, err
	}
	if s.Send, err = m.series(mpi.SendCall, 1, 0); err != nil {
		return nil, err
	}
	if s.Receive, err = m.series(mpi.ReceiveCall, 1, 0); err != nil {
		return nil, err
	}
	for n := 1; n <= 33; n += 8 {
		t, err := m.series(mpi.Burst, 1, n)
		if err != nil {
			return nil, err
		}
		s.Bursts = append(s.Bursts, platform.Sample{N: uint64(n), NS: t})
	}
	for _, n := range tripSizes(s.Eager, s.EagerInside) {
		t, err := m.series(mpi.RoundTrip, n, 0)
		if err != nil {
			return nil, err
		}
		s.Trips = append(s.Trips, platform.Sample{N: uint64(n), NS: t})
	}
	l.fewest = m.fewest
	return l, nil
}

// tripSizes returns the sizes of round trips: powers of two, the middles between them, and both sides of the eager limits.
func tripSizes(limits ...uint64) []int {
	sizes := []int{1}
	for n := 2; n <= largestTrip; n *= 2 {
		sizes = append(sizes, n, n+n/2)
	}
	for _, l := range limits {
		if 1 < l && l < largestTrip {
			sizes = append(sizes, int(l), int(l)+1)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// eager returns the size, in bytes, of the largest message whose send ends without its receiver, on both ranks of the pair.
func (m *measurer) eager(op mpi.Operation) (uint64, error) {
	var err error
	waits := func(bytes int) bool {
		ok := false
		if err == nil {
			ok, err = m.isEager(op, bytes)
		}
		return !ok
	}
	most := 1 // the first power of two that is not sent eagerly
	for ; !waits(most); most *= 2 {
		if most >= largestEager {
			return math.MaxUint64, nil
		}
	}
	least := most / 2
	return uint64(least + sort.Search(max(most-least-1, 0), func(i int) bool { return waits(least + 1 + i) })), err
}

// isEager reports whether a send of a size ends without its receiver in one of three tries. In the others the rank may just not have had
// its processor.
func (m *measurer) isEager(op mpi.Operation, bytes int) (bool, error) {
	ns := make([]int64, 3)
	t := mpi.Timing{Operation: op, Peer: m.peer, Lead: m.lead, Bytes: bytes}
	if err := mpi.Time(m.c, t, ns); err != nil {
		return false, err
	}
	return m.agreed(ns[0]+ns[1]+ns[2] > 0)
}

// gamma measures the rate of local reductions, on this rank alone.
func (m *measurer) gamma() (network.Rate, error) {
	m.peer, m.fewest = m.c.Rank(), math.MaxInt
	var s []platform.Sample
	for n := 1 << 10; n <= 256<<10; n *= 2 {
		t, err := m.series(mpi.ReduceLocal, n, 0)
		if err != nil {
			return 0, err
		}
		s = append(s, platform.Sample{N: uint64(n), NS: t})
	}
	return platform.FitGamma(s), nil
}
