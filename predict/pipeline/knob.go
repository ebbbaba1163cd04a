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
				return Knob{}, fmt.Errorf("%q: %q is no number", text, part)
			}
			k.Values = append(k.Values, x)
			continue
		}
		a, err1 := strconv.ParseInt(first, 10, 32)
		b, err2 := strconv.ParseInt(last, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a >= maxValues {
			return Knob{}, fmt.Errorf("%q: %q is no range of at most %d integers", text, part, maxValues)
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

// With returns the model with a knob at a value. The result may be impossible; Validate tells.
func (m *Model) With(name string, value float64) (*Model, error) {
	c := m.clone()
	whole := int(max(math.MinInt32, min(math.MaxInt32, value)))
	set := func(to *int) error {
		if float64(whole) != value {
			return fmt.Errorf("%s=%v %w: it is an integer", name, value, ErrKnob)
		}
		*to = whole
		return nil
	}
	for i := range c.Machines {
		if name == "machines."+c.Machines[i].Name {
			return c, set(&c.Machines[i].Count)
		}
	}
	for k := range c.Centers {
		if name == c.Centers[k].Name+".servers" {
			return c, set(&c.Centers[k].Servers)
		}
	}
	var found []func() error
	for i := range c.Types {
		found = append(found, c.Types[i].knob(name, value, set)...)
		if short, ok := strings.CutPrefix(name, c.Types[i].Name+"."); ok && c.Types[i].Name != "" {
			found = append(found, c.Types[i].knob(short, value, set)...)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s %w: the model has no such number; there are jobs, think, chunks, buffer, STAGE.workers, STAGE.demand, CENTER.servers and machines.NAME", name, ErrKnob)
	case 1:
		return c, found[0]()
	}
	return nil, fmt.Errorf("%s %w: several types have it; write TYPE.%s", name, ErrKnob, name)
}

// knob returns how to set a number of a type, if it has it.
func (t *Type) knob(name string, value float64, set func(*int) error) []func() error {
	var found []func() error
	add := func(f func() error) { found = append(found, f) }
	switch name {
	case "jobs":
		add(func() error { return set(&t.Jobs) })
	case "think":
		add(func() error { t.Think = value; return nil })
	}
	for i := range t.Classes {
		if name == t.Classes[i].Name+".demand" {
			add(func() error { t.Classes[i].Demand = scaled(t.Classes[i].Demand, value); return nil })
		}
	}
	p := t.Pipeline
	if p == nil {
		return found
	}
	switch name {
	case "chunks":
		add(func() error { return set(&p.Chunks) })
	case "buffer":
		add(func() error { return set(&p.Buffer) })
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		switch name {
		case s.Name + ".workers":
			add(func() error { return set(&s.Workers) })
		case s.Name + ".buffer":
			add(func() error { return set(&s.Buffer) })
		case s.Name + ".demand":
			add(func() error { s.Demand = scaled(s.Demand, value); return nil })
		}
	}
	return found
}

// scaled is a demand by a factor.
func scaled(list []Demand, factor float64) []Demand {
	out := slices.Clone(list)
	for i := range out {
		out[i].Seconds *= factor
	}
	return out
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
