package pipeline

import "fmt"

// Models of the reference tables. Demands are written as pairs of center and seconds.

func centersOf(list ...Center) []Center { return list }

// cpus are n processors of their own.
func cpus(n int) []Center {
	var list []Center
	for i := range n {
		list = append(list, Center{fmt.Sprintf("c%d", i), PS, 1})
	}
	return list
}

type service struct {
	scv       float64
	visits    int
	geometric bool
}

var exponential = service{scv: 1, visits: 1}

// line is a pipeline; its stages have the given demands.
func line(centers []Center, n int, think float64, chunks, buffer int, s service, stages ...[]Demand) *Model {
	p := &Pipeline{Chunks: chunks, Buffer: buffer}
	for i, d := range stages {
		p.Stages = append(p.Stages, Stage{Class: Class{Name: fmt.Sprintf("s%d", i), Demand: d, SCV: s.scv, Visits: s.visits, Geometric: s.geometric}, Workers: 1})
	}
	return &Model{Centers: centers, Types: []Type{{Jobs: n, Think: think, Pipeline: p}}}
}

// fork is a job of independent tasks.
func fork(centers []Center, n int, tasks ...[]Demand) *Model {
	t := Type{Jobs: n}
	for i, d := range tasks {
		t.Classes = append(t.Classes, Class{Name: fmt.Sprint(i), Demand: d, SCV: 1, Visits: 1})
		t.Tasks = append(t.Tasks, Task{Class: i})
	}
	return &Model{Centers: centers, Types: []Type{t}}
}

func d(list ...float64) []Demand {
	var out []Demand
	for i := 0; i < len(list); i += 2 {
		out = append(out, Demand{int(list[i]), list[i+1]})
	}
	return out
}

// biJob is a query of three stages on four centers.
func biJob(n int, think float64, chunks int, s service) *Model {
	return line(centersOf(Center{"cpuA", PS, 2}, Center{"diskA", FCFS, 1}, Center{"net", FCFS, 1}, Center{"cpuB", PS, 2}),
		n, think, chunks, 0, s, d(1, 4, 0, 1, 2, .8), d(3, 3, 2, .4), d(3, 1.6))
}

// wave is a line of four ranks on two nodes.
func wave(n int, think float64, s service) *Model {
	return line(centersOf(Center{"n0", PS, 2}, Center{"n1", PS, 2}, Center{"net", FCFS, 1}),
		n, think, 12, 1, s, d(0, 2, 2, .3), d(0, 2, 2, .3), d(1, 2, 2, .3), d(1, 2, 2, .3))
}

// hop is a map and reduce job: 8 maps on 2 nodes, chunks of each map to each of 2 reducers.
func hop(n int, think float64, s service) *Model {
	const nodes, maps = 2, 8
	t := Type{Jobs: n, Think: think}
	var centers []Center
	class := func(name string, demand []Demand) {
		t.Classes = append(t.Classes, Class{Name: name, Demand: demand, SCV: s.scv, Visits: s.visits, Geometric: s.geometric})
	}
	for q := range nodes {
		centers = append(centers, Center{fmt.Sprintf("cpu%d", q), PS, 2}, Center{fmt.Sprintf("disk%d", q), FCFS, 1})
		class(fmt.Sprintf("map%d", q), d(float64(2*q), 2, float64(2*q+1), .5))
	}
	centers = append(centers, Center{"net", FCFS, 1})
	for r := range nodes {
		class(fmt.Sprintf("copy%d", r), d(2*nodes, .1, float64(2*r), .3))
	}
	for r := range nodes {
		class(fmt.Sprintf("final%d", r), d(float64(2*r), 1.5, float64(2*r+1), 1))
	}
	for i := range maps {
		task := Task{Class: i % nodes}
		if i >= 2*nodes {
			task.After = []int{i - 2*nodes}
		}
		t.Tasks = append(t.Tasks, task)
	}
	for i := range maps {
		for r := range nodes {
			task := Task{Class: nodes + r, After: []int{i}}
			if i > 0 {
				task.After = append(task.After, len(t.Tasks)-nodes)
			}
			t.Tasks = append(t.Tasks, task)
		}
	}
	for r := range nodes {
		t.Tasks = append(t.Tasks, Task{Class: 2*nodes + r, After: []int{len(t.Tasks) - nodes}})
	}
	return &Model{Centers: centers, Types: []Type{t}}
}

// finding is the model whose pipelining pays under light load and not after saturation.
func finding(n int, think float64, chunks int) *Model {
	m := line(cpus(4), n, think, chunks, 0, service{scv: .25, visits: 1}, d(0, 1), d(1, 1), d(2, 1), d(3, 1))
	for i := range m.Types[0].Pipeline.Stages {
		m.Types[0].Pipeline.Stages[i].Overhead = d(float64(i), .02)
	}
	return m
}

// disks is the model of the documentation: a disk that saturates.
func disks(n int) *Model {
	m := line(centersOf(Center{"node0.cpu", PS, 4}, Center{"node0.disk", FCFS, 1}, Center{"net", FCFS, 1}, Center{"wire", Delay, 1}),
		n, 0, 16, 2, service{scv: .3, visits: 1}, d(1, 4, 0, 1), d(0, 9, 2, .4), d(1, 1.5))
	p := m.Types[0].Pipeline
	p.Stages[0].Name, p.Stages[1].Name, p.Stages[2].Name = "read", "solve", "write"
	p.Stages[0].Overhead = d(0, .002)
	return m
}
