package main

import (
	"context"
	"io"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// events runs a program with the event engine and the policy Arrival, which has the rules of LogGOPSim.
func events(w io.Writer, args []string) error {
	s, err := spec(args)
	if err != nil {
		return err
	}
	p, c, err := workload.Make(s)
	if err != nil {
		return err
	}
	before := processorTime()
	r, err := simnet.Events(context.Background(), p, c, comparison(network.Arrival), simnet.Options{})
	if err != nil {
		return err
	}
	return report(w, s, r, processorTime()-before)
}
