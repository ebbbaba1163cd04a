package prediction

import (
	"math"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// measurer is one rank of a pair that measures.
type measurer struct {
	c      mpi.Comm
	o      MeasureOptions
	peer   int // the own rank where it is alone
	lead   bool
	fewest int // repetitions of the shortest series
}

// measuredLink is what a pair found. Only its leader has times.
type measuredLink struct {
	samples predict.LinkSamples
	fewest  int
}

// tagGoOn is the tag by which a leader tells its partner whether a series goes on.
const tagGoOn = 17

// series repeats an operation until it has been done often enough, or took too long, and returns the least time.
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
		s.Bursts = append(s.Bursts, predict.Sample{N: uint64(n), NS: t})
	}
	for _, n := range tripSizes(s.Eager, s.EagerInside) {
		t, err := m.series(mpi.RoundTrip, n, 0)
		if err != nil {
			return nil, err
		}
		s.Trips = append(s.Trips, predict.Sample{N: uint64(n), NS: t})
	}
	l.fewest = m.fewest
	return l, nil
}

// tripSizes are the powers of two, those in the middle between two of them, and both sides of the eager limits.
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

// eager finds the largest message whose send ends without its receiver, to the byte. Both ranks of the pair get it.
func (m *measurer) eager(op mpi.Operation) (uint64, error) {
	// least is sent eagerly, or 0; most is not.
	least, most := 0, 1
	for {
		ok, err := m.isEager(op, most)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if most >= largestEager {
			return math.MaxUint64, nil
		}
		least, most = most, 2*most
	}
	for most-least > 1 {
		n := least + (most-least)/2
		ok, err := m.isEager(op, n)
		if err != nil {
			return 0, err
		}
		if ok {
			least = n
		} else {
			most = n
		}
	}
	return uint64(least), nil
}

// isEager tries a size up to three times: a send that ends once did not need its receiver, one that did not may have been
// kept from its processor.
func (m *measurer) isEager(op mpi.Operation, bytes int) (bool, error) {
	ns := make([]int64, 3)
	t := mpi.Timing{Operation: op, Peer: m.peer, Lead: m.lead, Bytes: bytes}
	if err := mpi.Time(m.c, t, ns); err != nil {
		return false, err
	}
	return m.agreed(ns[0]+ns[1]+ns[2] > 0)
}

// gamma measures reductions, on this rank alone.
func (m *measurer) gamma() (simnet.Rate, error) {
	m.peer, m.fewest = m.c.Rank(), math.MaxInt
	var s []predict.Sample
	for n := 1 << 10; n <= 256<<10; n *= 2 {
		t, err := m.series(mpi.ReduceLocal, n, 0)
		if err != nil {
			return 0, err
		}
		s = append(s, predict.Sample{N: uint64(n), NS: t})
	}
	return predict.FitGamma(s), nil
}
