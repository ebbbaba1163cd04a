package pipeline

import (
	"fmt"
	"slices"
	"strconv"
)

// Kind is the discipline of a center.
type Kind uint8

// The disciplines.
const (
	PS    Kind = iota // processors that share their time: a CPU
	FCFS              // one customer after the other: a disk, a link
	Delay             // no queue: latency
)

// String returns the name that model files use.
func (k Kind) String() string { return kinds[k] }

var kinds = []string{"ps", "fcfs", "is"}

// Limits of a model. They bound memory before any is allocated.
const (
	MaxTasks   = 20_000_000 // of all types together, chunks times stages
	MaxCenters = 100_000
	MaxClasses = 100_000
	MaxServers = 1_000_000
	MaxJobs    = 1_000_000 // of a type
	MaxTypes   = 16
	MaxVisits  = 1_000_000
	MaxSeconds = 1e12 // of a demand or of a think time
	MaxSCV     = 1e6
)

// Center is a place of service.
type Center struct {
	Name    string
	Kind    Kind
	Servers int
}

// Demand is service at one center, in seconds.
type Demand struct {
	Center  int // index in Model.Centers
	Seconds float64
}

// Class is a kind of task. A task passes Visits times over its centers, in the order of Demand.
type Class struct {
	Name      string
	Demand    []Demand // of the whole task
	SCV       float64  // squared coefficient of variation of the service of one visit to one center
	Visits    int      // mean number of passes
	Geometric bool     // another pass follows with probability 1 - 1/Visits; else there are exactly Visits
}

// Task is one node of a precedence graph.
type Task struct {
	Class int
	After []int // tasks that must have ended; their indices are lower
}

// Stage is one stage of a pipeline: a class whose demand is that of the whole stage. Each chunk gets its share of it.
type Stage struct {
	Class
	Overhead []Demand // added to every chunk
	Workers  int      // chunks that may be in progress at once
	Buffer   int      // chunks by which it may be ahead of the next stage; 0: as the pipeline says, Unbounded: any number
}

// Unbounded is the buffer of a stage that never waits for the next one.
const Unbounded = -1

// Pipeline is a job whose stages work on chunks, one after the other.
type Pipeline struct {
	Chunks int
	Buffer int // chunks that a stage may be ahead of what its successor has finished; 0: any number
	Stages []Stage
}

// Type is one type of jobs. A fixed number of jobs circulates, each an instance of the same work.
type Type struct {
	Name  string
	Jobs  int
	Think float64 // mean seconds between two runs of a job
	// The work of a job is one of these three.
	Pipeline *Pipeline
	Tasks    []Task
	Tree     *Tree
	Classes  []Class // of Tasks and Tree
}

// Machine is a group of centers that is bought as a whole. Jobs are dealt out to its copies in turn, and a job stays on its copy.
type Machine struct {
	Name    string
	Centers []int
	Count   int
	Price   float64
}

// Origin says from which trace a model was extracted.
type Origin struct {
	Input          string
	Window         [2]float64 // seconds of the trace
	SelfCheckError float64    // relative; NaN: not checked
}

// Model is a capacity model.
type Model struct {
	Centers  []Center
	Machines []Machine
	Types    []Type
	Origin   *Origin
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// validation is a check of a model. It keeps the first impossible entry.
type validation struct {
	m   *Model
	err error
}

// want checks an entry, and reports whether all entries so far are possible.
func (v *validation) want(ok bool, path, format string, args ...any) bool {
	if !ok && v.err == nil {
		v.err = &FileError{Key: path, Text: fmt.Sprintf(format, args...)}
	}
	return v.err == nil
}

// name checks that a name is there and not given twice.
func (v *validation) name(seen map[string]bool, name, path, what string) {
	v.want(name != "" && !seen[name], path, "%q is not a name of a %s, or one that another has", name, what)
	seen[name] = true
}

// Validate returns the first impossible entry, as a *FileError whose Key is the entry as model files name it. Every solver calls it. It takes time and memory linear in
// the model as written, not in the number of chunks.
func (m *Model) Validate() error {
	v := &validation{m: m}
	v.centers()
	v.machines()
	v.want(len(m.Types) > 0, "", "no job: give pipeline, tasks or tree")
	v.want(len(m.Types) <= MaxTypes, "types", "there are %d, not 1 to %d", len(m.Types), MaxTypes)
	tasks, seen := 0, map[string]bool{}
	for i := range m.Types {
		t, path := &m.Types[i], at("types", i)
		if len(m.Types) == 1 && t.Name == "" { // written at the top of the file
			path = ""
		}
		v.want(!seen[t.Name], under(path, "name"), "two types are called %q", t.Name)
		seen[t.Name] = true
		tasks += v.job(t, path)
		if !v.want(tasks <= MaxTasks, path, "more than %d tasks (chunks times stages)", MaxTasks) {
			break
		}
	}
	return v.err
}

func (v *validation) centers() {
	n := len(v.m.Centers)
	v.want(n > 0, "centers", "there is none")
	v.want(n <= MaxCenters, "centers", "more than %d", MaxCenters)
	seen := map[string]bool{}
	for k, c := range v.m.Centers {
		path := at("centers", k)
		v.want(c.Name != "", path, "no name")
		v.want(!seen[c.Name], under(path, "name"), "two centers are called %q", c.Name)
		v.want(c.Kind <= Delay, under(path, "kind"), "center %q is of no known kind", c.Name)
		v.want(c.Servers >= 1 && c.Servers <= MaxServers, under(path, "servers"), "center %q has %d servers, not 1 to %d", c.Name, c.Servers, MaxServers)
		seen[c.Name] = true
	}
}

func (v *validation) machines() {
	owner, seen := map[int]string{}, map[string]bool{}
	for i, g := range v.m.Machines {
		path := at("machines", i)
		v.name(seen, g.Name, under(path, "name"), "machine")
		v.want(g.Count >= 1 && g.Count <= MaxServers, under(path, "count"), "machine %q: %d is not 1 to %d", g.Name, g.Count, MaxServers)
		v.want(seconds(g.Price), under(path, "price"), "machine %q: %v is not a price", g.Name, g.Price)
		for _, k := range g.Centers {
			if !v.want(k >= 0 && k < len(v.m.Centers), under(path, "centers"), "machine %q names a center that is not there", g.Name) {
				return
			}
			o, taken := owner[k]
			v.want(!taken, under(path, "centers"), "center %q is in machine %q and in %q", v.m.Centers[k].Name, o, g.Name)
			owner[k] = g.Name
		}
	}
}

// seconds tells whether x can be a time.
func seconds(x float64) bool { return x >= 0 && x <= MaxSeconds }

// job returns how many tasks a job of a type has.
func (v *validation) job(t *Type, path string) int {
	load, classes := under(path, "load"), under(path, "classes")
	v.want(t.Jobs >= 1 && t.Jobs <= MaxJobs, under(load, "jobs"), "%d is not 1 to %d", t.Jobs, MaxJobs)
	v.want(seconds(t.Think), under(load, "think"), "%v is not 0 to %v seconds", t.Think, float64(MaxSeconds))
	forms := 0
	for _, has := range []bool{t.Pipeline != nil, t.Tasks != nil, t.Tree != nil} {
		if has {
			forms++
		}
	}
	v.want(forms == 1, path, "give one of pipeline, tasks and tree, not %d", forms)
	if t.Pipeline != nil {
		return v.pipeline(t.Pipeline, under(path, "pipeline"))
	}
	v.want(len(t.Classes) > 0 && len(t.Classes) <= MaxClasses, classes, "there are %d, not 1 to %d", len(t.Classes), MaxClasses)
	names := map[string]bool{}
	for i := range t.Classes {
		c := &t.Classes[i]
		v.name(names, c.Name, under(classes, c.Name), "class")
		v.service(under(classes, c.Name), c, nil)
	}
	if t.Tree != nil {
		return v.tree(t.Tree, len(t.Classes), under(path, "tree"))
	}
	v.tasks(t, under(path, "tasks"))
	return len(t.Tasks)
}

func (v *validation) tasks(t *Type, path string) {
	v.want(len(t.Tasks) > 0 && len(t.Tasks) <= MaxTasks, path, "there are %d, not 1 to %d", len(t.Tasks), MaxTasks)
	for i, k := range t.Tasks {
		if k.Class < 0 || k.Class >= len(t.Classes) {
			v.want(false, under(at(path, i), "class"), "task %d has no class", i)
		}
		for _, p := range k.After {
			if p < 0 || p >= i {
				v.want(false, under(at(path, i), "after"), "task %d comes after task %d, which is not before it", i, p)
			}
		}
	}
}

// pipeline returns the number of tasks.
func (v *validation) pipeline(p *Pipeline, path string) int {
	stages, n := under(path, "stages"), len(p.Stages)
	v.want(p.Chunks >= 1 && p.Chunks <= MaxTasks, under(path, "chunks"), "%d is not 1 to %d", p.Chunks, MaxTasks)
	v.want(p.Buffer >= 0 && p.Buffer <= MaxTasks, under(path, "buffer"), "%d is not 0 to %d", p.Buffer, MaxTasks)
	v.want(n > 0 && n <= MaxClasses, stages, "there are %d, not 1 to %d", n, MaxClasses)
	v.want(p.Chunks <= MaxTasks/max(1, n), under(path, "chunks"), "%d chunks of %d stages are more than %d tasks", p.Chunks, n, MaxTasks)
	names := map[string]bool{}
	for i := range p.Stages {
		s, where := &p.Stages[i], at(stages, i)
		v.name(names, s.Name, under(where, "name"), "stage")
		v.want(s.Workers >= 1 && s.Workers <= MaxTasks, under(where, "workers"), "stage %q: %d is not 1 to %d", s.Name, s.Workers, MaxTasks)
		v.want(s.Buffer >= Unbounded && s.Buffer <= MaxTasks, under(where, "buffer"), "stage %q: %d is not 0 to %d", s.Name, s.Buffer, MaxTasks)
		v.service(where, &s.Class, s.Overhead)
	}
	return p.Chunks * n
}

// service checks what classes and stages have in common.
func (v *validation) service(path string, c *Class, overhead []Demand) {
	v.want(c.SCV >= 0 && c.SCV <= MaxSCV, under(path, "scv"), "%q: %v is not 0 to %v", c.Name, c.SCV, float64(MaxSCV))
	v.want(c.Visits >= 1 && c.Visits <= MaxVisits, under(path, "visits"), "%q: %d is not 1 to %d", c.Name, c.Visits, MaxVisits)
	var total float64
	for i, list := range [][]Demand{c.Demand, overhead} {
		field := under(path, [...]string{"demand", "overhead_per_chunk"}[i])
		seen := map[int]bool{}
		for _, d := range list {
			if !v.want(d.Center >= 0 && d.Center < len(v.m.Centers), field, "%q names a center that is not there", c.Name) {
				return
			}
			where := under(field, v.m.Centers[d.Center].Name)
			v.want(seconds(d.Seconds), where, "%q: %v is not 0 to %v seconds", c.Name, d.Seconds, float64(MaxSeconds))
			v.want(!seen[d.Center], where, "%q names it twice", c.Name)
			seen[d.Center] = true
			total += d.Seconds
		}
	}
	v.want(total >= LeastDemand, under(path, "demand"), "%q has %v s of demand in all, not at least %v", c.Name, total, LeastDemand)
}

// LeastDemand keeps rates of service finite.
const LeastDemand = 1e-12

// Op says how the parts of a node of a tree belong together.
type Op uint8

// The operators.
const (
	Leaf   Op = iota // one task
	Series           // one part after the other
	And              // all at once, until the last has ended
	Or               // all at once, until the first has ended; the others are given up
	Choice           // one of them, with its probability
)

// Node is one node of a tree. Parts come later in the list than the node itself.
type Node struct {
	Op    Op
	Class int     // of a Leaf
	Parts []int   // indices in Tree.Nodes
	Prob  float64 // of a part of a Choice
}

// Tree is a job of series and parallel parts. Nodes[0] is the whole; every other node is a part of exactly one before it.
type Tree struct {
	Nodes []Node
}

// MaxNodes bounds a tree.
const MaxNodes = 1_000_000

// tree returns the number of tasks.
func (v *validation) tree(t *Tree, classes int, path string) (leaves int) {
	v.want(len(t.Nodes) > 0 && len(t.Nodes) <= MaxNodes, path, "there are %d nodes, not 1 to %d", len(t.Nodes), MaxNodes)
	part := make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		v.want(i == 0 || part[i], path, "a node is a part of none before it")
		if n.Op == Leaf {
			v.want(n.Class >= 0 && n.Class < classes, path, "a task has no class")
			leaves++
			continue
		}
		v.want(n.Op <= Choice && len(n.Parts) > 0, path, "a node has no known operator, or no parts")
		var sum float64
		for _, c := range n.Parts {
			if !v.want(c > i && c < len(t.Nodes) && !part[c], path, "a node is a part of none, or of two") {
				return 0
			}
			part[c] = true
			p := t.Nodes[c].Prob
			v.want(n.Op != Choice || p >= 0 && p <= 1, path, "%v is not a probability", p)
			sum += p
		}
		v.want(n.Op != Choice || sum > 1-1e-9 && sum < 1+1e-9, path, "the probabilities of ALT sum to %v, not to 1", sum)
	}
	return leaves
}

// pure tells whether the tree has only series and parallel parts, all of which are done.
func (t *Tree) pure() bool {
	return !slices.ContainsFunc(t.Nodes, func(n Node) bool { return n.Op == Or || n.Op == Choice })
}

// maxTreeEdges bounds the graph that a tree is turned into.
const maxTreeEdges = 4_000_000

// graph is the precedence graph of a pure tree: what ends a part comes before all that begins the next one. It is nil where
// there would be too many edges.
func (t *Tree) graph() *graph {
	n := len(t.Nodes)
	// Leaves in the order in which a walk from the left meets them, which is topological.
	order := t.leaves()
	number := make([]int, n)
	for i, v := range order {
		number[v] = i
	}
	first, last := make([][]int, n), make([][]int, n)
	tasks := make([]Task, len(order))
	edges := 0
	for v := n - 1; v >= 0; v-- { // parts come after their node
		node := &t.Nodes[v]
		switch node.Op {
		case Leaf:
			first[v] = []int{number[v]}
			last[v] = first[v]
			tasks[number[v]].Class = node.Class
		case Series:
			for i, c := range node.Parts[1:] {
				ends := last[node.Parts[i]]
				if edges += len(ends) * len(first[c]); edges > maxTreeEdges {
					return nil
				}
				for _, b := range first[c] {
					tasks[b].After = append(tasks[b].After, ends...)
				}
			}
			first[v], last[v] = first[node.Parts[0]], last[node.Parts[len(node.Parts)-1]]
		default:
			for _, c := range node.Parts {
				first[v] = append(first[v], first[c]...)
				last[v] = append(last[v], last[c]...)
			}
			if edges += len(first[v]) + len(last[v]); edges > maxTreeEdges {
				return nil // deep nests of wide nodes
			}
		}
	}
	return explicit(tasks)
}

// leaves lists the tasks from left to right.
func (t *Tree) leaves() (list []int32) {
	var visit func(v int)
	visit = func(v int) {
		if t.Nodes[v].Op == Leaf {
			list = append(list, int32(v))
		}
		for _, p := range t.Nodes[v].Parts {
			visit(p)
		}
	}
	visit(0)
	return list
}
