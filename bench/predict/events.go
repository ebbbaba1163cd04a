package main

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"github.com/coppice-hpc/coppice/internal/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// comparison is the network of the comparison with LogGOPSim: L=2500 o=1500 g=1000 G=6 O=0 S=65535, ns.
func comparison(policy simnet.Policy) *simnet.Network {
	n := &simnet.Network{Policy: policy, RanksPerNode: 1, NoRendezvousLatency: policy == simnet.Arrival}
	for i := range n.Links {
		n.Links[i] = simnet.Link{
			Latency: 2_500_000, SendOver: 1_500_000, RecvOver: 1_500_000, Gap: 1_000_000, PerByte: 6000 << 32, Eager: 65535,
		}
	}
	return n
}

// events runs a program with the event engine and the policy Arrival, and prints makespan in ns, events, and seconds of
// processor time, all set-up but that of the program included.
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
	r, err := simnet.Events(context.Background(), p, c, comparison(simnet.Arrival), simnet.Options{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d %d %.3f\n", r.Makespan/1000, r.Events, processorTime()-before)
	return err
}

// processorTime returns the seconds of processor time that the process has taken, of user and system.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
