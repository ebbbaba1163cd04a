package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"sync/atomic"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// learned are the numbers of ranks of the runs that lists are made from.
var learned = []int{8, 16, 32}

// simulation makes lists from runs on few ranks, and runs them on the described cluster.
func simulation(w io.Writer, s *settings) error {
	machine, err := platform.Open(s.cluster)
	if err != nil {
		return err
	}
	segments, largest, err := learnRuns()
	if err != nil {
		return err
	}
	machine.ModelCollectives = machine.ModelCollectives || s.model
	in := &input{events: s.events, loose: largest.loosely()}
	if in.costs, err = measureCosts(w, 2_000_000); err != nil {
		return err
	}
	net := machine.Links[network.LinkNet]
	in.costs.message = net.Latency + net.SendOver + net.RecvOver
	small, err := s.eventsOf(largest)
	if err != nil {
		return err
	}
	in.factor = max(1, s.events/small)
	fmt.Fprintf(w, "counted on %d ranks of %d events, of each but for jumps: %+v\n", len(largest), small, in.loose)
	for _, n := range s.ranks {
		if !power(n) || n < learned[0] {
			return fmt.Errorf("lists are for powers of two from %d on, not for %d ranks", learned[0], n)
		}
		p := newProgram(segments, n, in)
		r, err := p.run(machine)
		if err != nil {
			return err
		}
		r.print(w, p, machine)
	}
	return nil
}

// learnRuns returns the segments of runs on few ranks, and the calls of the largest.
func learnRuns() ([]segment, sample, error) {
	var samples []sample
	s := &settings{program: ringProgram, each: 1}
	for _, n := range learned {
		all, err := s.inProcess(n)
		if err != nil {
			return nil, nil, err
		}
		samples = append(samples, newSample(all))
	}
	segments, err := learn(samples)
	return segments, samples[len(samples)-1], err
}

// eventsOf is how many events a rank of a sample has.
func (s *settings) eventsOf(x sample) (int64, error) {
	small := &settings{program: ringProgram, each: 1}
	src, err := small.source(len(x))
	if err != nil {
		return 0, err
	}
	e, err := src.Measure(1)
	return int64(e.Events), err
}

// Fill implements [simnet.Calc].
func (p *ranksProgram) Fill(rank uint32, first uint64, dst []int64) error {
	clear(dst)
	end := first + uint64(len(dst))
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].first >= first })
	for ; i < len(p.spans) && p.spans[i].first < end; i++ {
		if s := &p.spans[i]; s.work != nil {
			dst[s.first-first] += s.work(int(rank))
		}
	}
	return nil
}

// Repeats implements [simnet.Periodic]: inside of a span, and after its first call, nothing is computed.
func (p *ranksProgram) Repeats(_ uint32, first, period, n uint64) (uint64, error) {
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].first+p.spans[i].count > first })
	if i == len(p.spans) || first == p.spans[i].first {
		return 0, nil
	}
	end := p.spans[i].first + p.spans[i].count
	if end < first+2*period {
		return 0, nil
	}
	return min(n, (end-first-period)/period), nil
}

// clock is when each stage ended.
type clock struct {
	stage []uint16       // of each call
	ends  []atomic.Int64 // of each stage, ps
}

func newClock(p *ranksProgram) *clock {
	c := &clock{make([]uint16, p.calls), make([]atomic.Int64, len(p.stages))}
	for _, s := range p.spans {
		for i := range s.count {
			c.stage[s.first+i] = uint16(s.stage)
		}
	}
	return c
}

// Calls implements [simnet.Observer].
func (c *clock) Calls(_ uint32, first uint64, times []int64) error {
	for i := 0; i < len(times); i += 2 {
		end := &c.ends[c.stage[first+uint64(i/2)]]
		for old := end.Load(); old < times[i+1] && !end.CompareAndSwap(old, times[i+1]); old = end.Load() {
		}
	}
	return nil
}

// simulated is the time of each stage of a run, ps.
type simulated struct {
	stages []string
	ends   []int64
}

// run simulates the program on a machine.
func (p *ranksProgram) run(machine *platform.Platform) (*simulated, error) {
	network, err := machine.Network(uint32(p.size))
	if err != nil {
		return nil, err
	}
	c := newClock(p)
	_, err = simnet.Dataflow(context.Background(), mpi.Serial(), 0, uint32(p.size), &p.Program, p, network, simnet.Options{Observer: c})
	if err != nil {
		return nil, err
	}
	s := &simulated{stages: p.stages}
	last := int64(0)
	for i := range c.ends {
		last = max(last, c.ends[i].Load())
		s.ends = append(s.ends, last)
	}
	return s, nil
}

// time returns how long stage i took.
func (s *simulated) time(i int) int64 {
	if i == 0 {
		return s.ends[0]
	}
	return s.ends[i] - s.ends[i-1]
}

const picosPerSecond = 1e12

// print prints the stages: simulated time, that of a rank alone, efficiency, and what the rest is.
func (s *simulated) print(w io.Writer, p *ranksProgram, machine *platform.Platform) {
	fmt.Fprintf(w, "simulated: %d ranks, %d events each (%.3g TB of input), on %s\n\n", p.size, p.in.events, float64(p.in.events*p.in.costs.input)*float64(p.size)/1e12, machine.Name)
	fmt.Fprintf(w, "%-8s %12s %12s %12s %12s  %s\n", "stage", "simulated s", "work s", "files s", "efficiency", "limit")
	var all, works, files float64
	for i, name := range s.stages {
		t := float64(s.time(i)) / picosPerSecond
		work, file := float64(p.in.events*p.in.costs.picos[name])/picosPerSecond, p.files(name, machine)
		all, works, files = all+t, works+work, files+file
		fmt.Fprintf(w, "%-8s %12.4f %12.4f %12.4f %12s  %s\n", name, t, work, file, percent(work, t), limit(t, work, file))
	}
	fmt.Fprintf(w, "%-8s %12.4f %12.4f %12.4f %12s\n\n", "all", all, works, files, percent(works, all))
}

func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

// limit names what takes most of a stage.
func limit(t, work, file float64) string {
	switch rest := t - work - file; {
	case work >= file && work >= rest:
		return "work"
	case file >= rest:
		return "file system"
	}
	return "messages"
}

// files is how long a stage's bytes take when all ranks transfer them at once, s.
func (p *ranksProgram) files(stage string, machine *platform.Platform) float64 {
	per := map[string]int64{"load": p.in.costs.input, "commit": 2 * p.in.costs.output}[stage]
	bytes := float64(p.in.events * per)
	slowest := bytes / float64(machine.Files.Client)
	return max(slowest, bytes*float64(p.size)/float64(machine.Files.Total))
}
