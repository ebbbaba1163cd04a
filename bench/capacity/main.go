// Command capacity draws random pipelines and prints how far each method of predict/pipeline is off a simulation of them.
//
//	bench/tool capacity                    # 60 pipelines
//	bench/tool capacity -rows 180 -seed 2  # others
//	bench/tool capacity -write predict/pipeline/testdata/holdout.jsonl
//
// No constant of the package was chosen by these pipelines.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"golang.org/x/sync/errgroup"
)

// row is a pipeline and what simulation says of it.
type row struct {
	Name      string  `json:"name"`
	Model     string  `json:"model"`
	Simulated float64 `json:"simulated"`
	HalfWidth float64 `json:"half_width"`
	err       map[string]float64
}

// method is a column of the table.
type method struct {
	name    string
	options pipeline.Options
}

func methods(seed uint64) []method {
	list := []method{{"walk", pipeline.Options{Method: pipeline.MethodWalk, Seed: seed}}}
	for _, op := range pipeline.Operators() {
		list = append(list, method{"tree " + string(op), pipeline.Options{Method: pipeline.MethodTree, Operator: op}})
	}
	return append(list, method{"bounds", pipeline.Options{Method: pipeline.MethodBounds}})
}

func main() {
	log.SetFlags(0)
	rows := flag.Int("rows", 60, "pipelines")
	seed := flag.Uint64("seed", 1, "of the pipelines and of the simulations")
	tasks := flag.Int("tasks", 600_000, "tasks that each simulation ends")
	list := flag.Bool("list", false, "print every pipeline")
	write := flag.String("write", "", "write models and simulated responses, one JSON object a line")
	flag.Parse()
	out := make([]row, *rows)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		g.Go(func() (err error) {
			out[i], err = measure(*seed, i, *tasks)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}
	if *list {
		printRows(out, methods(*seed))
	}
	printErrors(out, methods(*seed))
	if *write != "" {
		if err := writeRows(*write, out); err != nil {
			log.Fatal(err)
		}
	}
}

// measure solves one pipeline by every method.
func measure(seed uint64, number, tasks int) (row, error) {
	name, m := draw(rand.New(rand.NewPCG(seed, uint64(number))), number)
	p := m.Types[0].Pipeline
	jobs := tasks / (p.Chunks * len(p.Stages))
	r := row{Name: name, Model: string(m.Append(nil)), err: map[string]float64{}}
	s, err := pipeline.Solve(context.Background(), m, pipeline.Options{Method: pipeline.MethodSim, Seed: seed + 500, SimJobs: uint32(max(4000, jobs))})
	if err != nil {
		return r, err
	}
	r.Simulated, r.HalfWidth = s.Types[0].Response, s.Types[0].HalfWidth
	for _, x := range methods(seed) {
		a, err := pipeline.Solve(context.Background(), m, x.options)
		if err != nil {
			return r, fmt.Errorf("%s: %s: %w", name, x.name, err)
		}
		r.err[x.name] = a.Types[0].Response/r.Simulated - 1
	}
	return r, nil
}

// law is how service varies.
type law struct {
	name      string
	scv       float64
	visits    int
	geometric bool
}

var laws = [...]law{{"exponential", 1, 1, false}, {"geometric", 1, 5, true}, {"five visits", 1, 5, false}, {"Erlang", .25, 1, false}, {"low", .1, 3, false}, {"high", 4, 1, false}}

// draw makes a pipeline: nodes of one processor center each, one disk, one network.
func draw(r *rand.Rand, number int) (string, *pipeline.Model) {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	between := func(a, b float64) float64 { return math.Round(1000*(a+float64((b-a)*r.Float64()))) / 1000 }
	stages, chunks, jobs := pick(2, 3, 3, 4, 5), pick(2, 4, 8, 16), pick(1, 2, 3, 4, 6, 8)
	nodes, cores := pick(1, 2, 3), pick(1, 1, 2, 4)
	m := &pipeline.Model{}
	for i := range nodes {
		m.Centers = append(m.Centers, pipeline.Center{Name: fmt.Sprintf("cpu%d", i), Kind: pipeline.PS, Servers: cores})
	}
	m.Centers = append(m.Centers, pipeline.Center{Name: "disk", Kind: pipeline.FCFS, Servers: 1}, pipeline.Center{Name: "net", Kind: pipeline.FCFS, Servers: 1})
	l := laws[number%len(laws)]
	p := &pipeline.Pipeline{Chunks: chunks}
	var total float64
	for i := range stages {
		work := between(.5, 2)
		if cores > 1 {
			work = math.Round(1600*work) / 1000
		}
		s := pipeline.Stage{Class: pipeline.Class{Name: fmt.Sprintf("s%d", i), SCV: l.scv, Visits: l.visits, Geometric: l.geometric}, Workers: 1}
		s.Demand = append(s.Demand, pipeline.Demand{Center: i * nodes / stages, Seconds: work})
		if r.Float64() < .4 {
			s.Demand = append(s.Demand, pipeline.Demand{Center: nodes, Seconds: between(.1, .9)})
		}
		if nodes > 1 && r.Float64() < .7 {
			s.Demand = append(s.Demand, pipeline.Demand{Center: nodes + 1, Seconds: between(.05, .5)})
		}
		for _, d := range s.Demand {
			total += d.Seconds
		}
		p.Stages = append(p.Stages, s)
	}
	think := 0.0
	if r.Float64() >= .5 && jobs > 1 {
		think = math.Round(100*total*between(.5, 3)) / 100
	}
	p.Buffer = pick(0, 0, 1, 2)
	m.Types = []pipeline.Type{{Jobs: jobs, Think: think, Pipeline: p}}
	return fmt.Sprintf("%03d %d stages %d chunks %d jobs %d nodes %d cores buffer %d think %g %s", number, stages, chunks, jobs, nodes, cores, p.Buffer, think, l.name), m
}

func printRows(rows []row, list []method) {
	for _, r := range rows {
		fmt.Printf("%-80s sim %8.3f +- %4.1f %%", r.Name, r.Simulated, 100*r.HalfWidth/r.Simulated)
		for _, x := range list {
			fmt.Printf("  %s %+.1f", x.name, 100*r.err[x.name])
		}
		fmt.Println()
	}
	fmt.Println()
}

func printErrors(rows []row, list []method) {
	fmt.Printf("error of the response against simulation, %d pipelines, percent\n", len(rows))
	fmt.Printf("%-12s %6s %6s %6s %6s %10s %10s\n", "method", "mean", "p95", "max", "bias", "in 11.5 %", "in 15 %")
	for _, x := range list {
		var size []float64
		var bias, sum float64
		near, close := 0, 0
		for _, r := range rows {
			e := 100 * r.err[x.name]
			bias += e
			sum += math.Abs(e)
			size = append(size, math.Abs(e))
			if math.Abs(e) <= 11.5 {
				near++
			}
			if math.Abs(e) <= 15 {
				close++
			}
		}
		slices.Sort(size)
		n := float64(len(rows))
		fmt.Printf("%-12s %6.1f %6.1f %6.1f %+6.1f %8.0f %% %8.0f %%\n", x.name, sum/n, size[int(.95*(n-1))], size[len(size)-1], bias/n, 100*float64(near)/n, 100*float64(close)/n)
	}
	var half float64
	for _, r := range rows {
		half += 100 * r.HalfWidth / r.Simulated / float64(len(rows))
	}
	fmt.Printf("mean half-width of the simulated means: %.1f %%\n", half)
}

func writeRows(path string, rows []row) error {
	var b []byte
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	return os.WriteFile(path, b, 0o644)
}
