package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// Append appends the model as a file that Parse reads back. The same model gives the same bytes.
func (m *Model) Append(b []byte) []byte {
	w := &writer{m: m, b: b}
	w.line("schema = %s", tomltree.Quote(FileSchema))
	geometric := false
	for i := range m.Types {
		t := &m.Types[i]
		geometric = geometric || t.Pipeline != nil && t.Pipeline.Geometric
		for _, c := range t.Classes {
			geometric = geometric || c.Geometric
		}
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

// float is the shortest text that is read back as the same number.
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

// demand is an inline table of seconds by center.
func (w *writer) demand(list []Demand) string {
	var parts []string
	for _, d := range list {
		parts = append(parts, tomltree.Quote(w.m.Centers[d.Center].Name)+" = "+float(d.Seconds))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// job writes a type; what is not a table comes first.
func (w *writer) job(t *Type, prefix string) {
	w.line("load = { jobs = %d, think = %s }", t.Jobs, float(t.Think))
	if t.Tree != nil {
		w.line("tree = %s", w.tree(t))
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

// tree is the nested lists of a tree, built from the leaves up.
func (w *writer) tree(t *Type) string {
	names := map[Op]string{}
	for name, op := range operators {
		names[op] = name
	}
	text := make([]string, len(t.Tree.Nodes))
	for v := len(text) - 1; v >= 0; v-- {
		n := &t.Tree.Nodes[v]
		if n.Op == Leaf {
			text[v] = tomltree.Quote(t.Classes[n.Class].Name)
			continue
		}
		parts := []string{tomltree.Quote(names[n.Op])}
		for _, p := range n.Parts {
			if n.Op == Choice {
				text[p] = "[" + float(t.Tree.Nodes[p].Prob) + ", " + text[p] + "]"
			}
			parts = append(parts, text[p])
			text[p] = ""
		}
		text[v] = "[" + strings.Join(parts, ", ") + "]"
	}
	return text[0]
}
