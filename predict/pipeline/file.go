package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// Limits of a model file.
const (
	MaxFile       = 8 << 20
	mostFileParts = 2_000_000
)

// FileError says what is wrong in a model, and where in its file if it came from one.
type FileError = tomltree.Error

// entry is a value of a file.
type entry = tomltree.Value

// FileSchema is what a model file begins with.
const FileSchema = "coppice.capacity/1"

// Parse reads a model file (docs/capacity.md) strictly: every key must be known and every name defined. Errors are
// *FileError.
func Parse(data []byte) (*Model, error) {
	if len(data) > MaxFile {
		return nil, &FileError{Text: fmt.Sprintf("%d bytes are too many for a model file: at most %d", len(data), MaxFile)}
	}
	root, err := tomltree.Parse(data, mostFileParts)
	if err != nil {
		return nil, err
	}
	f := &file{root: root, m: &Model{}, centers: map[string]int{}, visits: 1}
	f.read()
	if f.err != nil {
		return nil, f.err
	}
	err = f.m.Validate()
	if e, ok := errors.AsType[*FileError](err); ok {
		e.Line = root.LineOf(e.Key)
	}
	return f.m, err
}

// file is a model file that is being read. After the first error everything reads as zero.
type file struct {
	root    *entry
	m       *Model
	err     error
	centers map[string]int
	// Defaults for classes that do not have their own.
	visits    int
	geometric bool
}

func (f *file) fail(e *entry, format string, args ...any) {
	if f.err == nil {
		f.err = &FileError{Line: e.Line, Text: fmt.Sprintf(format, args...)}
	}
}

// known refuses keys that are not in the list.
func (f *file) known(e *entry, what string, list ...string) {
	for _, k := range e.Keys {
		if !slices.Contains(list, k) {
			f.fail(e.Fields[k], "unknown key %q in %s; there are %s", k, what, strings.Join(list, ", "))
		}
	}
}

// field returns the value of a key if it is of the kind. Floats may be written as integers.
func (f *file) field(e *entry, key string, kind tomltree.Kind) *entry {
	v, ok := e.Fields[key]
	if !ok || f.err != nil {
		return nil
	}
	if v.Kind != kind && (kind != tomltree.Float || v.Kind != tomltree.Integer) {
		f.fail(v, "%s is %v, not %v", key, v.Kind, kind)
		return nil
	}
	return v
}

func (f *file) text(e *entry, key string) string {
	if v := f.field(e, key, tomltree.String); v != nil {
		return v.Text
	}
	return ""
}

func (f *file) number(e *entry, key string, otherwise float64) float64 {
	if v := f.field(e, key, tomltree.Float); v != nil {
		return v.Number
	}
	return otherwise
}

// integer reads an integer of 32 bits. The checks of the model refuse those that are too large.
func (f *file) integer(e *entry, key string, otherwise int) int {
	if v := f.field(e, key, tomltree.Integer); v != nil {
		return int(max(math.MinInt32, min(math.MaxInt32, v.Whole)))
	}
	return otherwise
}

func (f *file) list(e *entry, key string) []*entry {
	if v := f.field(e, key, tomltree.List); v != nil {
		return v.Items
	}
	return nil
}

func (f *file) tables(e *entry, key string) []*entry {
	items := f.list(e, key)
	for _, item := range items {
		if item.Kind != tomltree.Table {
			f.fail(item, "%s holds %v, not tables", key, item.Kind)
			return nil
		}
	}
	return items
}

func (f *file) read() {
	r := f.root
	job := []string{"load", "pipeline", "classes", "tasks", "tree"}
	if got := f.text(r, "schema"); got != FileSchema && f.err == nil {
		f.fail(r, "schema is %q, not %q", got, FileSchema)
	}
	f.known(r, "the file", append([]string{"schema", "visits", "visit_law", "centers", "machines", "types", "origin"}, job...)...)
	f.visits = f.integer(r, "visits", 1)
	f.geometric = f.law(r)
	f.readCenters()
	f.readMachines()
	types := f.tables(r, "types")
	if types == nil {
		f.m.Types = append(f.m.Types, f.job(r))
	}
	for _, e := range types {
		f.known(e, "types", append([]string{"name"}, job...)...)
		t := f.job(e)
		if t.Name = f.text(e, "name"); t.Name == "" {
			f.fail(e, "a type without a name")
		}
		f.m.Types = append(f.m.Types, t)
	}
	if types != nil {
		for _, k := range job {
			if v, ok := r.Fields[k]; ok {
				f.fail(v, "%s belongs into types, where there are some", k)
			}
		}
	}
	f.readOrigin()
}

func (f *file) law(e *entry) bool {
	switch law := f.text(e, "visit_law"); law {
	case "", "fixed":
		return false
	case "geometric":
		return true
	default:
		f.fail(e.Fields["visit_law"], "visit_law %q is neither fixed nor geometric", law)
		return false
	}
}

func (f *file) readCenters() {
	for _, e := range f.tables(f.root, "centers") {
		f.known(e, "centers", "name", "kind", "servers")
		c := Center{Name: f.text(e, "name"), Servers: f.integer(e, "servers", 1)}
		kind := slices.Index(kinds, f.text(e, "kind"))
		if kind < 0 {
			f.fail(e, "center %q: kind %q is not ps, fcfs or is", c.Name, f.text(e, "kind"))
		}
		c.Kind = Kind(max(0, kind))
		if _, ok := f.centers[c.Name]; !ok {
			f.centers[c.Name] = len(f.m.Centers)
		}
		f.m.Centers = append(f.m.Centers, c)
	}
}

func (f *file) readMachines() {
	for _, e := range f.tables(f.root, "machines") {
		f.known(e, "machines", "name", "centers", "count", "price")
		g := Machine{Name: f.text(e, "name"), Count: f.integer(e, "count", 1), Price: f.number(e, "price", 1)}
		for _, c := range f.list(e, "centers") {
			k, ok := f.centers[c.Text]
			if !ok || c.Kind != tomltree.String {
				f.fail(c, "machine %q: unknown center %q", g.Name, c.Text)
			}
			g.Centers = append(g.Centers, k)
		}
		f.m.Machines = append(f.m.Machines, g)
	}
}

func (f *file) readOrigin() {
	e := f.field(f.root, "origin", tomltree.Table)
	if e == nil {
		return
	}
	f.known(e, "origin", "input", "window_s", "self_check_error")
	o := &Origin{Input: f.text(e, "input"), SelfCheckError: f.number(e, "self_check_error", math.NaN())}
	if list := f.field(e, "window_s", tomltree.List); list != nil {
		if len(list.Items) != 2 {
			f.fail(list, "window_s is not a list of two numbers")
			return
		}
		for i, v := range list.Items {
			if v.Kind != tomltree.Float && v.Kind != tomltree.Integer {
				f.fail(v, "window_s is not a list of two numbers")
			}
			o.Window[i] = v.Number
		}
	}
	f.m.Origin = o
}

// job reads the load and the work of a type.
func (f *file) job(e *entry) Type {
	t := Type{Jobs: 1}
	if l := f.field(e, "load", tomltree.Table); l != nil {
		f.known(l, "load", "jobs", "think")
		t.Jobs, t.Think = f.integer(l, "jobs", 1), f.number(l, "think", 0)
	}
	if p := f.field(e, "pipeline", tomltree.Table); p != nil {
		t.Pipeline = f.pipeline(p)
	}
	names := map[string]int{}
	if c := f.field(e, "classes", tomltree.Table); c != nil {
		for _, name := range c.Keys {
			if v := f.field(c, name, tomltree.Table); v != nil {
				names[name] = len(t.Classes)
				t.Classes = append(t.Classes, f.class(v, name, "demand", "scv", "task_scv", "visits"))
			}
		}
		if t.Pipeline != nil {
			f.fail(c, "classes belong to tasks and tree, not to pipeline")
		}
	}
	if _, ok := e.Fields["tasks"]; ok {
		t.Tasks = f.tasks(f.tables(e, "tasks"), names)
	}
	if v := f.field(e, "tree", tomltree.List); v != nil {
		t.Tree = &Tree{}
		f.tree(t.Tree, v, 0, names)
	}
	return t
}

// class reads the keys that stages and classes have in common.
func (f *file) class(e *entry, name string, keys ...string) Class {
	f.known(e, fmt.Sprintf("%q", name), keys...)
	c := Class{
		Name: name, SCV: f.number(e, "scv", 1), Visits: f.integer(e, "visits", f.visits), Geometric: f.geometric,
		Demand: f.demand(e, "demand", name),
	}
	if v := f.field(e, "task_scv", tomltree.Float); v != nil {
		switch _, both := e.Fields["scv"]; {
		case both:
			f.fail(v, "%q: give scv, of a visit, or task_scv, of a whole task", name)
		case !(v.Number >= 0 && v.Number <= MaxSCV):
			f.fail(v, "%q: task_scv %v is not 0 to %v", name, v.Number, float64(MaxSCV))
		case c.Visits < 1 || c.Visits > MaxVisits: // the model's check reports it
		case !c.SCVOfTask(v.Number):
			f.fail(v, "%q: task_scv %v is less than the random number of visits alone makes", name, v.Number)
		}
	}
	return c
}

// demand reads seconds by name of center, in the order of the file.
func (f *file) demand(e *entry, key, name string) []Demand {
	v := f.field(e, key, tomltree.Table)
	if v == nil {
		return nil
	}
	var list []Demand
	for _, center := range v.Keys {
		k, ok := f.centers[center]
		if !ok {
			f.fail(v.Fields[center], "%q: unknown center %q in %s", name, center, key)
			return nil
		}
		list = append(list, Demand{k, f.number(v, center, 0)})
	}
	return list
}

func (f *file) pipeline(e *entry) *Pipeline {
	f.known(e, "pipeline", "chunks", "buffer", "stages")
	p := &Pipeline{Chunks: f.integer(e, "chunks", 1), Buffer: f.integer(e, "buffer", 0)}
	for _, s := range f.tables(e, "stages") {
		name := f.text(s, "name")
		c := f.class(s, name, "name", "demand", "scv", "task_scv", "visits", "overhead_per_chunk", "workers", "buffer")
		buffer := 0 // that of the pipeline
		if _, own := s.Fields["buffer"]; own {
			if buffer = f.integer(s, "buffer", 0); buffer == 0 {
				buffer = Unbounded
			} else if buffer < 0 {
				f.fail(s.Fields["buffer"], "stage %q: buffer %d is negative", name, buffer)
			}
		}
		p.Stages = append(p.Stages, Stage{Class: c, Overhead: f.demand(s, "overhead_per_chunk", name), Workers: f.integer(s, "workers", 1), Buffer: buffer})
	}
	return p
}

// tasks reads a graph. It puts the tasks into an order in which each comes after those it waits for.
func (f *file) tasks(list []*entry, classes map[string]int) []Task {
	ids, class, after := make([]int64, len(list)), make([]int, len(list)), make([][]int, len(list))
	place := make(map[int64]int, len(list))
	for i, e := range list {
		f.known(e, "tasks", "id", "class", "after")
		id := f.field(e, "id", tomltree.Integer)
		if id == nil {
			f.fail(e, "a task without an id")
			return nil
		}
		ids[i] = id.Whole
		if _, ok := place[id.Whole]; ok {
			f.fail(id, "two tasks with id %d", id.Whole)
		}
		place[id.Whole] = i
		name := f.text(e, "class")
		var ok bool
		if class[i], ok = classes[name]; !ok {
			f.fail(e, "task %d: unknown class %q", id.Whole, name)
		}
	}
	for i, e := range list {
		for _, v := range f.list(e, "after") {
			p, ok := place[v.Whole]
			if !ok || v.Kind != tomltree.Integer {
				f.fail(v, "task %d: after names %d, which is not a task", ids[i], v.Whole)
			}
			after[i] = append(after[i], p)
		}
	}
	if f.err != nil {
		return nil
	}
	order := Topological(after)
	if len(order) < len(list) {
		cycle := findCycle(after, order)
		var names []string
		for i := len(cycle) - 1; i >= 0 && len(names) < 10; i-- {
			names = append(names, fmt.Sprint(ids[cycle[i]]))
		}
		if len(cycle) > len(names) {
			names = append(names, "...")
		}
		f.fail(list[cycle[0]], "tasks wait for each other in a cycle: %s, %s", strings.Join(names, ", "), names[0])
		return nil
	}
	return InOrder(order, class, after)
}

// Topological returns an order in which each task comes after its predecessors. Of tasks whose predecessors are done it takes the
// first in the list. Tasks on cycles, and after cycles, are missing.
func Topological(after [][]int) []int {
	left, next := make([]int, len(after)), make([][]int32, len(after))
	order := make([]int, 0, len(after))
	for i := range after {
		left[i] = len(after[i])
		for _, p := range after[i] {
			next[p] = append(next[p], int32(i))
		}
		if left[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, s := range next[order[at]] {
			if left[s]--; left[s] == 0 {
				order = append(order, int(s))
			}
		}
	}
	return order
}

// InOrder returns tasks in the given order, renumbered.
func InOrder(order, class []int, after [][]int) []Task {
	number, out := make([]int, len(order)), make([]Task, len(order))
	for n, i := range order {
		number[i] = n
		out[n].Class = class[i]
		for _, p := range after[i] {
			out[n].After = append(out[n].After, number[p])
		}
	}
	return out
}

// findCycle goes back from a task without a place in the order until it meets a task again: those between wait for each other.
func findCycle(after [][]int, order []int) []int {
	done := make([]bool, len(after))
	for _, i := range order {
		done[i] = true
	}
	var path []int
	seen := make([]int, len(after)) // places in the path, plus one
	at := slices.Index(done, false)
	for seen[at] == 0 {
		path = append(path, at)
		seen[at] = len(path)
		at = after[at][slices.IndexFunc(after[at], func(p int) bool { return !done[p] })]
	}
	return path[seen[at]-1:]
}

var operators = []string{Series: "S", And: "P", Or: "OR", Choice: "ALT"}

// tree reads nested lists: an operator, then its parts, each a class or another list. Parts of ALT are lists of a probability and
// the part. It returns the node. Its recursion is as deep as the nesting of the file, which is bounded.
func (f *file) tree(t *Tree, e *entry, prob float64, classes map[string]int) int {
	v := len(t.Nodes)
	t.Nodes = append(t.Nodes, Node{Prob: prob})
	if e.Kind == tomltree.String {
		class, ok := classes[e.Text]
		if !ok {
			f.fail(e, "tree: unknown class %q", e.Text)
		}
		t.Nodes[v].Class = class
		return v
	}
	if e.Kind != tomltree.List || len(e.Items) < 2 || e.Items[0].Kind != tomltree.String {
		f.fail(e, "tree: not a list of an operator and its parts")
		return v
	}
	op := slices.Index(operators, e.Items[0].Text)
	if op <= int(Leaf) {
		f.fail(e.Items[0], "tree: unknown operator %q; there are S, P, OR and ALT", e.Items[0].Text)
		return v
	}
	t.Nodes[v].Op = Op(op)
	for _, part := range e.Items[1:] {
		prob := 0.0
		if Op(op) == Choice {
			if part.Kind != tomltree.List || len(part.Items) != 2 || part.Items[0].Kind != tomltree.Float && part.Items[0].Kind != tomltree.Integer {
				f.fail(part, "tree: a part of ALT is a list of a probability and the part")
				return v
			}
			part, prob = part.Items[1], part.Items[0].Number
		}
		p := f.tree(t, part, prob, classes)
		t.Nodes[v].Parts = append(t.Nodes[v].Parts, p)
	}
	return v
}

// Append appends the model as a file that Parse reads back. The same model gives the same bytes.
func (m *Model) Append(b []byte) []byte {
	w := &writer{m: m, b: b}
	w.line("schema = %s", tomltree.Quote(FileSchema))
	geometric := false
	for i := range m.Types {
		t := &m.Types[i]
		geometric = geometric || slices.ContainsFunc(t.Classes, func(c Class) bool { return c.Geometric }) ||
			t.Pipeline != nil && slices.ContainsFunc(t.Pipeline.Stages, func(s Stage) bool { return s.Geometric })
	}
	if geometric {
		w.line("visit_law = \"geometric\"")
	}
	w.line("centers = [")
	for _, c := range m.Centers {
		w.line("  { name = %s, kind = %s, servers = %d },", tomltree.Quote(c.Name), tomltree.Quote(c.Kind.String()), c.Servers)
	}
	w.line("]")
	if len(m.Machines) > 0 {
		w.line("machines = [")
		for _, g := range m.Machines {
			var names []string
			for _, k := range g.Centers {
				names = append(names, tomltree.Quote(m.Centers[k].Name))
			}
			w.line("  { name = %s, centers = [%s], count = %d, price = %s },", tomltree.Quote(g.Name), strings.Join(names, ", "), g.Count, float(g.Price))
		}
		w.line("]")
	}
	single := len(m.Types) == 1 && m.Types[0].Name == ""
	for i := range m.Types {
		if single {
			w.job(&m.Types[i], "")
			continue
		}
		w.line("\n[[types]]\nname = %s", tomltree.Quote(m.Types[i].Name))
		w.job(&m.Types[i], "types.")
	}
	if o := m.Origin; o != nil {
		w.line("\n[origin]\ninput = %s\nwindow_s = [%s, %s]", tomltree.Quote(o.Input), float(o.Window[0]), float(o.Window[1]))
		if !math.IsNaN(o.SelfCheckError) {
			w.line("self_check_error = %s", float(o.SelfCheckError))
		}
	}
	return w.b
}

type writer struct {
	m *Model
	b []byte
}

func (w *writer) line(format string, args ...any) {
	w.b = append(fmt.Appendf(w.b, format, args...), '\n')
}

// float prints the shortest text that is read back as the same number.
func float(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+"))
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// demand prints an inline table of seconds by center.
func (w *writer) demand(list []Demand) string {
	var parts []string
	for _, d := range list {
		parts = append(parts, tomltree.Quote(w.m.Centers[d.Center].Name)+" = "+float(d.Seconds))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// job writes a type: first the values that are not tables.
func (w *writer) job(t *Type, prefix string) {
	w.line("load = { jobs = %d, think = %s }", t.Jobs, float(t.Think))
	if t.Tree != nil {
		w.line("tree = %s", w.tree(t, 0))
	}
	if p := t.Pipeline; p != nil {
		w.line("\n[%spipeline]\nchunks = %d\nbuffer = %d\nstages = [", prefix, p.Chunks, p.Buffer)
		for _, s := range p.Stages {
			more := ""
			if len(s.Overhead) > 0 {
				more = ", overhead_per_chunk = " + w.demand(s.Overhead)
			}
			if s.Buffer != 0 {
				more += fmt.Sprintf(", buffer = %d", max(0, s.Buffer))
			}
			w.line("  { name = %s, demand = %s, scv = %s, visits = %d, workers = %d%s },",
				tomltree.Quote(s.Name), w.demand(s.Demand), float(s.SCV), s.Visits, s.Workers, more)
		}
		w.line("]")
	}
	for _, c := range t.Classes {
		w.line("\n[%sclasses.%s]\ndemand = %s\nscv = %s\nvisits = %d", prefix, tomltree.Quote(c.Name), w.demand(c.Demand), float(c.SCV), c.Visits)
	}
	for i, k := range t.Tasks {
		after := strings.ReplaceAll(strings.Trim(fmt.Sprint(k.After), "[]"), " ", ", ")
		w.line("\n[[%stasks]]\nid = %d\nclass = %s\nafter = [%s]", prefix, i, tomltree.Quote(t.Classes[k.Class].Name), after)
	}
}

// tree prints the nested lists of a node of a tree.
func (w *writer) tree(t *Type, v int) string {
	n := &t.Tree.Nodes[v]
	if n.Op == Leaf {
		return tomltree.Quote(t.Classes[n.Class].Name)
	}
	parts := []string{tomltree.Quote(operators[n.Op])}
	for _, p := range n.Parts {
		text := w.tree(t, p)
		if n.Op == Choice {
			text = "[" + float(t.Tree.Nodes[p].Prob) + ", " + text + "]"
		}
		parts = append(parts, text)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
