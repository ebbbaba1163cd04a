package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// writeGOAL writes a program of point-to-point messages as a schedule in the text form that LogGOPSim's txt2bin reads
// (Hoefler, Siebert, Lumsdaine 2009). Times are rounded down to workload.Nanoseconds, empty messages have one byte.
func writeGOAL(w io.Writer, p *program.Program, calc simnet.Calc) error {
	out := bufio.NewWriterSize(w, 1<<20)
	fmt.Fprintf(out, "num_ranks %d\n", len(p.Roots))
	for process := range p.Roots {
		fmt.Fprintf(out, "rank %d {\n", process)
		g := goalRank{out: out, process: process}
		ordinal := uint64(0)
		var buf [1]int64
		workload.Walk(p, process, func(actions []program.Action) {
			if g.err == nil {
				g.err = calc.Fill(uint32(process), ordinal, buf[:])
			}
			ordinal++
			g.compute(buf[0])
			g.call(actions)
		})
		if g.err == nil {
			g.err = calc.Fill(uint32(process), ordinal, buf[:])
		}
		if g.err != nil {
			return g.err
		}
		g.compute(buf[0])
		fmt.Fprint(out, "}\n")
	}
	return out.Flush()
}

// goalRank writes the operations of one process. An operation starts when the last one that blocked is done, and all that
// was waited for since: what is posted without blocking in between waits for nobody.
type goalRank struct {
	out     *bufio.Writer
	process int
	err     error
	last    int                  // number of the last operation, from 1
	after   []int                // operations that must be done before the next starts
	open    map[channelKey][]int // posts, not completed, in order
}

type channelKey struct {
	send bool
	peer int32
	tag  uint32
}

// op begins an operation and returns its number.
func (g *goalRank) op(format string, args ...any) int {
	g.last++
	fmt.Fprintf(g.out, "l%d: ", g.last)
	fmt.Fprintf(g.out, format+"\n", args...)
	for _, a := range g.after {
		fmt.Fprintf(g.out, "l%d requires l%d\n", g.last, a)
	}
	return g.last
}

func (g *goalRank) compute(ps int64) {
	if ns := ps / workload.Nanosecond; ns > 0 {
		g.after = []int{g.op("calc %d", ns)}
	}
}

func (g *goalRank) call(actions []program.Action) {
	if g.open == nil {
		g.open = map[channelKey][]int{}
	}
	var waited []int
	for _, a := range actions {
		key := channelKey{a.Kind == program.PostSend || a.Kind == program.WaitSend, a.Peer, a.Tag}
		switch a.Kind {
		case program.PostSend:
			g.open[key] = append(g.open[key], g.op("send %db to %d tag %d", max(a.Bytes, 1), a.Peer, a.Tag))
		case program.PostRecv:
			g.open[key] = append(g.open[key], g.op("recv %db from %d tag %d", max(a.Bytes, 1), a.Peer, a.Tag))
		case program.WaitSend, program.WaitRecv:
			q := g.open[key]
			if int(a.Age) >= len(q) {
				g.err = fmt.Errorf("process %d completes what it has not posted", g.process)
				return
			}
			waited = append(waited, q[a.Age])
			g.open[key] = append(q[:a.Age:a.Age], q[a.Age+1:]...)
		default:
			g.err = fmt.Errorf("action %d has no form in a schedule", a.Kind)
			return
		}
	}
	switch {
	case len(waited) == 0:
	case len(actions) == 2 && actions[0].Flags&program.Blocking != 0:
		g.after = waited
	default: // an operation that takes no time stands for the wait
		g.after = append(g.after, waited...)
		g.after = []int{g.op("calc 0")}
	}
}
