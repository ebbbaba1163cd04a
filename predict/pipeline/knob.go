package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Knob is a number of a model that is varied: jobs, think, chunks, buffer, STAGE.workers, STAGE.demand (a factor of it),
// CENTER.servers, machines.NAME; where a model has several types, TYPE.jobs and so on.
type Knob struct {
	Name   string
	Values []float64
}

// ErrKnob means that a knob or its values are not possible.
var ErrKnob = errors.New("cannot be varied")

// maxValues bounds the values of a knob.
const maxValues = 10_000

// ParseKnob reads NAME=VALUES, where values are numbers and ranges of integers: 1,2,8..12.
func ParseKnob(text string) (Knob, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || name == "" || list == "" {
		return Knob{}, fmt.Errorf("%q: give NAME=VALUES, as in chunks=1,2,4..8", text)
	}
	k := Knob{Name: name}
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "..")
		if !ranged {
			x, err := strconv.ParseFloat(part, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return Knob{}, fmt.Errorf("%q: %q is not a number", text, part)
			}
			k.Values = append(k.Values, x)
			continue
		}
		a, err1 := strconv.ParseInt(first, 10, 32)
		b, err2 := strconv.ParseInt(last, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a >= maxValues {
			return Knob{}, fmt.Errorf("%q: %q is not a range of at most %d integers", text, part, maxValues)
		}
		for x := a; x <= b; x++ {
			k.Values = append(k.Values, float64(x))
		}
	}
	if len(k.Values) > maxValues {
		return Knob{}, fmt.Errorf("%q: more than %d values", text, maxValues)
	}
	seen := map[float64]bool{}
	for _, x := range k.Values {
		if seen[x] {
			return Knob{}, fmt.Errorf("%q: %v is there twice", text, x)
		}
		seen[x] = true
	}
	return k, nil
}

// clone copies what knobs change.
func (m *Model) clone() *Model {
	c := *m
	c.Centers, c.Machines, c.Types = slices.Clone(m.Centers), slices.Clone(m.Machines), slices.Clone(m.Types)
	for i := range c.Types {
		if p := c.Types[i].Pipeline; p != nil {
			q := *p
			q.Stages = slices.Clone(p.Stages)
			c.Types[i].Pipeline = &q
		}
		c.Types[i].Classes = slices.Clone(c.Types[i].Classes)
	}
	return &c
}

// numbers calls f with the name of each number that can be varied, and where it is: an *int, a *float64, or a *[]Demand, of which
// a factor is varied.
func (m *Model) numbers(f func(name string, at any)) {
	for i := range m.Machines {
		f("machines."+m.Machines[i].Name, &m.Machines[i].Count)
	}
	for k := range m.Centers {
		f(m.Centers[k].Name+".servers", &m.Centers[k].Servers)
	}
	for i := range m.Types {
		t := &m.Types[i]
		add := func(name string, at any) {
			f(name, at)
			if t.Name != "" {
				f(t.Name+"."+name, at)
			}
		}
		add("jobs", &t.Jobs)
		add("think", &t.Think)
		for i := range t.Classes {
			add(t.Classes[i].Name+".demand", &t.Classes[i].Demand)
		}
		if p := t.Pipeline; p != nil {
			add("chunks", &p.Chunks)
			add("buffer", &p.Buffer)
			for i := range p.Stages {
				s := &p.Stages[i]
				add(s.Name+".workers", &s.Workers)
				add(s.Name+".buffer", &s.Buffer)
				add(s.Name+".demand", &s.Demand)
			}
		}
	}
}

// With returns the model with a knob at a value. The result may be impossible; Validate tells.
func (m *Model) With(name string, value float64) (*Model, error) {
	c := m.clone()
	var found []any
	c.numbers(func(n string, at any) {
		if n == name {
			found = append(found, at)
		}
	})
	switch n := len(found); {
	case n == 0:
		return nil, fmt.Errorf("%s %w: the model has no such number; there are jobs, think, chunks, buffer, STAGE.workers, STAGE.demand, CENTER.servers and machines.NAME", name, ErrKnob)
	case n > 1:
		return nil, fmt.Errorf("%s %w: several types have it; write TYPE.%s", name, ErrKnob, name)
	}
	switch at := found[0].(type) {
	case *float64:
		*at = value
	case *[]Demand:
		*at = slices.Clone(*at)
		for i := range *at {
			(*at)[i].Seconds *= value
		}
	case *int:
		if *at = int(max(math.MinInt32, min(math.MaxInt32, value))); float64(*at) != value {
			return nil, fmt.Errorf("%s=%v %w: it is an integer", name, value, ErrKnob)
		}
	}
	return c, nil
}

// apply sets several knobs.
func (m *Model) apply(knobs []Knob, values []float64) (*Model, error) {
	for i, k := range knobs {
		var err error
		if m, err = m.With(k.Name, values[i]); err != nil {
			return nil, err
		}
	}
	return m, m.Validate()
}

// settings are all combinations of values; the last knob changes fastest.
func settings(knobs []Knob, limit int) ([][]float64, error) {
	n := 1
	for i, k := range knobs {
		for _, other := range knobs[:i] {
			if other.Name == k.Name {
				return nil, fmt.Errorf("%s %w: it is varied twice", k.Name, ErrKnob)
			}
		}
		if len(k.Values) == 0 || n > limit/len(k.Values) {
			return nil, fmt.Errorf("%s %w: more than %d combinations, or none", k.Name, ErrKnob, limit)
		}
		n *= len(k.Values)
	}
	out := make([][]float64, n)
	for i := range out {
		row, rest := make([]float64, len(knobs)), i
		for q := len(knobs) - 1; q >= 0; q-- {
			row[q] = knobs[q].Values[rest%len(knobs[q].Values)]
			rest /= len(knobs[q].Values)
		}
		out[i] = row
	}
	return out, nil
}
