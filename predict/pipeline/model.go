package pipeline

import (
	"fmt"
	"math"
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
func (k Kind) String() string { return [...]string{"ps", "fcfs", "is"}[k] }

// Limits of what a model may hold. They bound memory before any is taken.
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

// Stage is one stage of a pipeline.
type Stage struct {
	Name     string
	Demand   []Demand // of the whole stage: a chunk gets its share
	Overhead []Demand // added to every chunk
	SCV      float64
	Visits   int
	Workers  int // chunks that may be under way at once
	Buffer   int // chunks it may be ahead of the next stage; 0: that of the pipeline, Unbounded: any number
}

// Unbounded is the buffer of a stage that never waits for the next one.
const Unbounded = -1

// Pipeline is a job whose stages work on chunks, one behind the other.
type Pipeline struct {
	Chunks int
	Buffer int // chunks that a stage may be ahead of what its successor has finished; 0: any number
	Stages []Stage
	// Law of the visits of all stages.
	Geometric bool
}

// Type is one type of jobs: so many circulate, each an instance of the same work.
type Type struct {
	Name  string
	Jobs  int
	Think float64 // mean seconds between two runs of a job
	// The work is one of these three.
	Pipeline *Pipeline
	Tasks    []Task
	Tree     *Tree
	Classes  []Class // of Tasks and Tree
}

// Machine is a group of centers that is bought as a whole. Jobs are dealt to its copies in turn, and a job stays on one.
type Machine struct {
	Name    string
	Centers []int
	Count   int
	Price   float64
}

// Origin tells which trace a model was taken from.
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

// FieldError says which entry of a model is impossible. Path is the entry as model files name it.
type FieldError struct {
	Path string
	Text string
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return e.Path + ": " + e.Text
}

func bad(path, format string, args ...any) error {
	return &FieldError{path, fmt.Sprintf(format, args...)}
}

// at is the path of an element of a list.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// under is the path of a field.
func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Validate returns the first impossible entry, as a *FieldError. Every solver calls it. It takes time and memory linear in
// the model as written, not in the number of chunks.
func (m *Model) Validate() error {
	if err := m.validateCenters(); err != nil {
		return err
	}
	if len(m.Types) == 0 {
		return bad("", "no job: give pipeline, tasks or tree")
	}
	if len(m.Types) > MaxTypes {
		return bad("types", "there are %d, not 1 to %d", len(m.Types), MaxTypes)
	}
	tasks, seen := 0, map[string]bool{}
	for i := range m.Types {
		t, path := &m.Types[i], m.path(i)
		if seen[t.Name] {
			return bad(under(path, "name"), "two types are called %q", t.Name)
		}
		seen[t.Name] = true
		n, err := m.validateType(t, path)
		if err != nil {
			return err
		}
		if tasks += n; tasks > MaxTasks {
			return bad(path, "more than %d tasks (chunks times stages)", MaxTasks)
		}
	}
	return nil
}

// path is the path of a type. The only type of a model has no name and is written at the top of the file.
func (m *Model) path(i int) string {
	if len(m.Types) == 1 && m.Types[0].Name == "" {
		return ""
	}
	return at("types", i)
}

func (m *Model) validateCenters() error {
	if len(m.Centers) == 0 {
		return bad("centers", "there is none")
	}
	if len(m.Centers) > MaxCenters {
		return bad("centers", "more than %d", MaxCenters)
	}
	seen := map[string]bool{}
	for k, c := range m.Centers {
		path := at("centers", k)
		switch {
		case c.Name == "":
			return bad(path, "no name")
		case seen[c.Name]:
			return bad(under(path, "name"), "two centers are called %q", c.Name)
		case c.Kind > Delay:
			return bad(under(path, "kind"), "center %q is of no known kind", c.Name)
		case c.Servers < 1 || c.Servers > MaxServers:
			return bad(under(path, "servers"), "center %q has %d servers, not 1 to %d", c.Name, c.Servers, MaxServers)
		}
		seen[c.Name] = true
	}
	return m.validateMachines()
}

func (m *Model) validateMachines() error {
	owner, seen := map[int]string{}, map[string]bool{}
	for i, g := range m.Machines {
		path := at("machines", i)
		switch {
		case g.Name == "" || seen[g.Name]:
			return bad(under(path, "name"), "%q is no name, or one that another machine has", g.Name)
		case g.Count < 1 || g.Count > MaxServers:
			return bad(under(path, "count"), "machine %q: %d is not 1 to %d", g.Name, g.Count, MaxServers)
		case !(g.Price >= 0 && g.Price <= MaxSeconds):
			return bad(under(path, "price"), "machine %q: %v is no price", g.Name, g.Price)
		}
		seen[g.Name] = true
		for _, k := range g.Centers {
			if k < 0 || k >= len(m.Centers) {
				return bad(under(path, "centers"), "machine %q names a center that is not there", g.Name)
			}
			if o, taken := owner[k]; taken {
				return bad(under(path, "centers"), "center %q is in machine %q and in %q", m.Centers[k].Name, o, g.Name)
			}
			owner[k] = g.Name
		}
	}
	return nil
}

// seconds tells whether x can be a time.
func seconds(x float64) bool { return x >= 0 && x <= MaxSeconds }

// validateType returns how many tasks a job has.
func (m *Model) validateType(t *Type, path string) (int, error) {
	load := under(path, "load")
	if t.Jobs < 1 || t.Jobs > MaxJobs {
		return 0, bad(under(load, "jobs"), "%d is not 1 to %d", t.Jobs, MaxJobs)
	}
	if !seconds(t.Think) {
		return 0, bad(under(load, "think"), "%v is not 0 to %v seconds", t.Think, float64(MaxSeconds))
	}
	forms := 0
	for _, has := range []bool{t.Pipeline != nil, t.Tasks != nil, t.Tree != nil} {
		if has {
			forms++
		}
	}
	if forms != 1 {
		return 0, bad(path, "give one of pipeline, tasks and tree, not %d", forms)
	}
	if t.Pipeline != nil {
		return m.validatePipeline(t.Pipeline, under(path, "pipeline"))
	}
	if len(t.Classes) == 0 || len(t.Classes) > MaxClasses {
		return 0, bad(under(path, "classes"), "there are %d, not 1 to %d", len(t.Classes), MaxClasses)
	}
	names := map[string]bool{}
	for i := range t.Classes {
		c := &t.Classes[i]
		where := under(under(path, "classes"), c.Name)
		if c.Name == "" || names[c.Name] {
			return 0, bad(where, "%q is no name of a class, or one that another has", c.Name)
		}
		names[c.Name] = true
		if err := m.validateService(where, c.Name, c.Demand, nil, c.SCV, c.Visits); err != nil {
			return 0, err
		}
	}
	if t.Tree != nil {
		return t.Tree.validate(len(t.Classes), under(path, "tree"))
	}
	return len(t.Tasks), validateTasks(t, under(path, "tasks"))
}

func validateTasks(t *Type, path string) error {
	if len(t.Tasks) == 0 || len(t.Tasks) > MaxTasks {
		return bad(path, "there are %d, not 1 to %d", len(t.Tasks), MaxTasks)
	}
	for i, k := range t.Tasks {
		if k.Class < 0 || k.Class >= len(t.Classes) {
			return bad(under(at(path, i), "class"), "task %d has no class", i)
		}
		for _, p := range k.After {
			if p < 0 || p >= i {
				return bad(under(at(path, i), "after"), "task %d comes after task %d, which is not before it", i, p)
			}
		}
	}
	return nil
}

func (m *Model) validatePipeline(p *Pipeline, path string) (int, error) {
	switch {
	case p.Chunks < 1 || p.Chunks > MaxTasks:
		return 0, bad(under(path, "chunks"), "%d is not 1 to %d", p.Chunks, MaxTasks)
	case p.Buffer < 0 || p.Buffer > MaxTasks:
		return 0, bad(under(path, "buffer"), "%d is not 0 to %d", p.Buffer, MaxTasks)
	case len(p.Stages) == 0 || len(p.Stages) > MaxClasses:
		return 0, bad(under(path, "stages"), "there are %d, not 1 to %d", len(p.Stages), MaxClasses)
	case p.Chunks > MaxTasks/len(p.Stages):
		return 0, bad(under(path, "chunks"), "%d chunks of %d stages are more than %d tasks", p.Chunks, len(p.Stages), MaxTasks)
	}
	names := map[string]bool{}
	for i := range p.Stages {
		s := &p.Stages[i]
		where := at(under(path, "stages"), i)
		if s.Name == "" || names[s.Name] {
			return 0, bad(under(where, "name"), "%q is no name of a stage, or one that another has", s.Name)
		}
		names[s.Name] = true
		if s.Workers < 1 || s.Workers > MaxTasks {
			return 0, bad(under(where, "workers"), "stage %q: %d is not 1 to %d", s.Name, s.Workers, MaxTasks)
		}
		if s.Buffer < Unbounded || s.Buffer > MaxTasks {
			return 0, bad(under(where, "buffer"), "stage %q: %d is not 0 to %d", s.Name, s.Buffer, MaxTasks)
		}
		if err := m.validateService(where, s.Name, s.Demand, s.Overhead, s.SCV, s.Visits); err != nil {
			return 0, err
		}
	}
	return p.Chunks * len(p.Stages), nil
}

// validateService checks what classes and stages have in common.
func (m *Model) validateService(path, name string, demand, overhead []Demand, scv float64, visits int) error {
	if !(scv >= 0 && scv <= MaxSCV) {
		return bad(under(path, "scv"), "%q: %v is not 0 to %v", name, scv, float64(MaxSCV))
	}
	if visits < 1 || visits > MaxVisits {
		return bad(under(path, "visits"), "%q: %d is not 1 to %d", name, visits, MaxVisits)
	}
	var total float64
	for i, list := range [][]Demand{demand, overhead} {
		field := under(path, [...]string{"demand", "overhead_per_chunk"}[i])
		seen := map[int]bool{}
		for _, d := range list {
			if d.Center < 0 || d.Center >= len(m.Centers) {
				return bad(field, "%q names a center that is not there", name)
			}
			center := m.Centers[d.Center].Name
			if !seconds(d.Seconds) {
				return bad(under(field, center), "%q: %v is not 0 to %v seconds", name, d.Seconds, float64(MaxSeconds))
			}
			if seen[d.Center] {
				return bad(under(field, center), "%q names it twice", name)
			}
			seen[d.Center] = true
			total += d.Seconds
		}
	}
	if !(total >= leastDemand) || math.IsInf(total, 1) {
		return bad(under(path, "demand"), "%q has %v s of demand in all, not at least %v", name, total, leastDemand)
	}
	return nil
}

// leastDemand keeps rates of service finite.
const leastDemand = 1e-12
