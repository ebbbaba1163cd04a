package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// flow runs a program with the dataflow engine. Arguments before those of the program: unroll makes one long sequence of each
// loop, workers=N, and runs=N for the best of several runs.
func flow(w io.Writer, args []string) error {
	o := simnet.Options{Workers: 1}
	unrolled, runs := false, 1
	for ; len(args) > 0; args = args[1:] {
		name, value, _ := strings.Cut(args[0], "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "unroll":
			unrolled = true
			continue
		case "workers":
			o.Workers = n
			continue
		case "runs":
			runs = n
			continue
		}
		break
	}
	s, err := spec(args)
	if err != nil {
		return err
	}
	p, c, err := workload.Make(s)
	if err != nil {
		return err
	}
	if unrolled {
		unroll(p)
	}
	var r *simnet.Result
	best := 0.0
	for i := range max(runs, 1) {
		before := processorTime()
		r, err = simnet.Dataflow(context.Background(), mpi.Serial(), 0, uint32(len(p.Roots)), p, c, comparison(network.Copy), o)
		if err != nil {
			return err
		}
		if t := processorTime() - before; i == 0 || t < best {
			best = t
		}
	}
	return report(w, s, r, best)
}

// unroll replaces the loop at the root of each process by one sequence.
func unroll(p *program.Program) {
	done := map[program.NodeID]program.NodeID{}
	for i, root := range p.Roots {
		if _, ok := done[root]; !ok {
			loop := p.Nodes[root]
			body := p.Nodes[p.Children[loop.First]]
			first := uint32(len(p.Children))
			for range loop.Count {
				p.Children = append(p.Children, p.Children[body.First:body.First+body.Len]...)
			}
			p.Nodes = append(p.Nodes, program.Node{Kind: program.Seq, First: first, Len: uint32(len(p.Children)) - first})
			done[root] = program.NodeID(len(p.Nodes) - 1)
		}
		p.Roots[i] = done[root]
	}
}
