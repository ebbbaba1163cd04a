// Command queueing solves closed networks with predict/pipeline: for each one a line with name, seconds of processor time of
// one solution, and the results. peer.octave does the same with GNU Octave's queueing package, from the same formulas; bench/run
// queueing compares both.
//
//	queueing [quick]    quick: solves each network once
package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

// cases are the networks: classes of so many jobs, centers of so many servers each, and what solves them.
var cases = []struct {
	name             string
	jobs             []int
	centers, servers int
	solve            func(*pipeline.Network) ([]float64, error)
}{
	{"exact-1-class", []int{1000}, 50, 1, responses(pipeline.ExactMVA)},
	{"exact-servers", []int{20}, 10, 4, responses(pipeline.ExactMVA)},
	{"exact-busy-servers", []int{200}, 10, 4, responses(pipeline.ExactMVA)},
	{"exact-2-classes", []int{50, 50}, 10, 1, responses(pipeline.ExactMultiMVA)},
	{"exact-3-classes", []int{12, 12, 12}, 10, 1, responses(pipeline.ExactMultiMVA)},
	{"schweitzer", []int{100, 80, 60, 40, 20}, 50, 1, responses(pipeline.Schweitzer)},
	{"bounds", []int{100}, 50, 1, bounds},
}

func main() {
	quick := len(os.Args) > 1 && os.Args[1] == "quick"
	for _, c := range cases {
		n := network(c.jobs, c.centers, c.servers)
		var results []float64
		var err error
		solutions, begin := 0, processorTime()
		for solutions == 0 || !quick && processorTime()-begin < 0.3 {
			if results, err = c.solve(n); err != nil {
				fmt.Fprintf(os.Stderr, "queueing: %s: %v\n", c.name, err)
				os.Exit(1)
			}
			solutions++
		}
		fmt.Printf("%s %.3g", c.name, (processorTime()-begin)/float64(solutions))
		for _, r := range results {
			fmt.Printf(" %.17g", r)
		}
		fmt.Println()
	}
}

// network has demands from 1/16 to 17/16 seconds, and a second of think time more for each class.
func network(jobs []int, centers, servers int) *pipeline.Network {
	n := &pipeline.Network{Jobs: jobs}
	for range centers {
		n.Centers = append(n.Centers, pipeline.Center{Kind: pipeline.PS, Servers: servers})
	}
	for c := range jobs {
		demand := make([]float64, centers)
		for k := range demand {
			demand[k] = float64(1+(7*c+13*k+3*c*k)%17) / 16
		}
		n.Demand = append(n.Demand, demand)
		n.Think = append(n.Think, float64(c))
	}
	return n
}

// responses solves a network and returns the response and the throughput of each class.
func responses(solve func(*pipeline.Network) (*pipeline.Steady, error)) func(*pipeline.Network) ([]float64, error) {
	return func(n *pipeline.Network) ([]float64, error) {
		s, err := solve(n)
		if err != nil {
			return nil, err
		}
		return append(append([]float64(nil), s.Response...), s.Throughput...), nil
	}
}

// bounds are of the response: asymptotic ones, then balanced ones.
func bounds(n *pipeline.Network) ([]float64, error) {
	low, high, err := pipeline.AsymptoticBounds(n)
	if err != nil {
		return nil, err
	}
	lowest, highest, err := pipeline.BalancedBounds(n)
	return []float64{low, high, lowest, highest}, err
}

// processorTime returns the seconds of processor time that the process has taken.
func processorTime() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for other arguments alone
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
