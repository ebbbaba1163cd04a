package pipeline

import "math"

// graph is a precedence graph: tasks in topological order, with the lists of who comes before and after. Task i comes after
// pred[predAt[i]:predAt[i+1]]. 4 bytes for each entry.
type graph struct {
	class          []int32
	predAt, pred   []int32
	succAt, succ   []int32
	roots          []int32
	widthByLevels  int // most tasks of one level, where a level holds the tasks with equally long paths to them
	levelOf        []int32
	levels         int
	maxConcurrency int // tasks of one job that may be in progress at once; 0: not known
}

// preds and succs are the neighbours of task i.
func (g *graph) preds(i int32) []int32 { return g.pred[g.predAt[i]:g.predAt[i+1]] }
func (g *graph) succs(i int32) []int32 { return g.succ[g.succAt[i]:g.succAt[i+1]] }

// tasks is the number of tasks.
func (g *graph) tasks() int { return len(g.class) }

// finish completes a graph that has class, predAt and pred.
func (g *graph) finish() {
	n := len(g.class)
	g.succAt = make([]int32, n+1)
	for _, p := range g.pred {
		g.succAt[p+1]++
	}
	for i := range n {
		g.succAt[i+1] += g.succAt[i]
	}
	g.succ = make([]int32, len(g.pred))
	fill := make([]int32, n)
	g.levelOf = make([]int32, n)
	for i := range int32(n) {
		list := g.preds(i)
		if len(list) == 0 {
			g.roots = append(g.roots, i)
		}
		for _, p := range list {
			g.succ[g.succAt[p]+fill[p]] = i
			fill[p]++
			g.levelOf[i] = max(g.levelOf[i], g.levelOf[p]+1)
		}
		g.levels = max(g.levels, int(g.levelOf[i])+1)
	}
	count := fill[:0:0]
	count = append(count, make([]int32, g.levels)...)
	for _, l := range g.levelOf {
		count[l]++
		g.widthByLevels = max(g.widthByLevels, int(count[l]))
	}
}

// graph makes the tasks of a pipeline, chunk after chunk. Class s is stage s. Chunk c of a stage comes after the chunk that
// its worker had before, after chunk c of the stage before, and, where buffers are limited, after the chunk of the next
// stage that frees a place.
func (p *Pipeline) graph(chunks int) *graph {
	stages := len(p.Stages)
	n := chunks * stages
	g := &graph{class: make([]int32, 0, n), predAt: make([]int32, 1, n+1), pred: make([]int32, 0, 3*n)}
	task := func(s, c int) int32 { return int32(c*stages + s) }
	for c := range chunks {
		for s := range stages {
			g.class = append(g.class, int32(s))
			// In order of task numbers, each once.
			if b := p.buffer(s); b > 0 && s+1 < stages && c >= b {
				g.pred = append(g.pred, task(s+1, c-b))
			}
			if w := p.Stages[s].Workers; c >= w {
				g.pred = append(g.pred, task(s, c-w))
			}
			if s > 0 {
				g.pred = append(g.pred, task(s-1, c))
			}
			g.predAt = append(g.predAt, int32(len(g.pred)))
		}
	}
	g.finish()
	for _, s := range p.Stages {
		g.maxConcurrency += min(s.Workers, chunks)
	}
	return g
}

// buffer is how far a stage may be ahead of the next one; 0: as far as it likes.
func (p *Pipeline) buffer(stage int) int {
	switch b := p.Stages[stage].Buffer; b {
	case 0:
		return p.Buffer
	case Unbounded:
		return 0
	default:
		return b
	}
}

// classes are the kinds of chunks: a stage's demand by the number of chunks, and the overhead of one.
func (p *Pipeline) classes(chunks int) []Class {
	list := make([]Class, len(p.Stages))
	for i, s := range p.Stages {
		c := Class{Name: s.Name, SCV: s.SCV, Visits: s.Visits, Geometric: p.Geometric}
		place := map[int]int{}
		for _, d := range s.Demand {
			place[d.Center] = len(c.Demand)
			c.Demand = append(c.Demand, Demand{d.Center, d.Seconds / float64(chunks)})
		}
		for _, d := range s.Overhead {
			j, has := place[d.Center]
			if !has {
				j = len(c.Demand)
				c.Demand = append(c.Demand, Demand{Center: d.Center})
			}
			c.Demand[j].Seconds += d.Seconds
		}
		list[i] = c
	}
	return list
}

// explicit makes the graph of tasks that were given one by one. Edges given twice count once.
func explicit(tasks []Task) *graph {
	g := &graph{class: make([]int32, 0, len(tasks)), predAt: make([]int32, 1, len(tasks)+1)}
	seen := make([]int32, len(tasks)) // the task that last named this one, plus one
	for i, t := range tasks {
		g.class = append(g.class, int32(t.Class))
		for _, p := range t.After {
			if seen[p] != int32(i)+1 {
				seen[p] = int32(i) + 1
				g.pred = append(g.pred, int32(p))
			}
		}
		g.predAt = append(g.predAt, int32(len(g.pred)))
	}
	g.finish()
	return g
}

// spans are the first begin and the last end of the tasks of each class, when each takes the time of its class and none waits.
func (g *graph) spans(seconds []float64) (begin, end []float64) {
	begin, end = make([]float64, len(seconds)), make([]float64, len(seconds))
	for c := range begin {
		begin[c] = math.Inf(1)
	}
	ends := make([]float64, g.tasks())
	for i, c := range g.class {
		var start float64
		for _, p := range g.preds(int32(i)) {
			start = max(start, ends[p])
		}
		ends[i] = start + seconds[c]
		begin[c], end[c] = min(begin[c], start), max(end[c], ends[i])
	}
	return begin, end
}
