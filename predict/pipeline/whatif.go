package pipeline

import (
	"context"
	"slices"
)

// Change is one number of a model that is changed, and what comes of it.
type Change struct {
	Knob  string  `json:"knob"`
	Value float64 `json:"value"`
	Point         // with so many jobs of the type
}

// chunkFactor is the step between numbers of chunks that are tried.
const chunkFactor = 4

// TryChunks solves a model with one pipeline at a quarter of its chunks, as many as it has, and four times as many; with all
// its jobs, then with one that is alone. It is nil for other models.
func TryChunks(ctx context.Context, m *Model, o Options) ([]Change, error) {
	if len(m.Types) != 1 || m.Types[0].Pipeline == nil {
		return nil, nil
	}
	p, jobs := m.Types[0].Pipeline, []int{m.Types[0].Jobs, 1}
	var list []Change
	for _, n := range slices.Compact(jobs) {
		chunks := []int{max(1, p.Chunks/chunkFactor), p.Chunks, chunkFactor * min(p.Chunks, MaxTasks/chunkFactor/len(p.Stages))}
		for i, x := range chunks {
			if i > 0 && x <= slices.Max(chunks[:i]) {
				continue
			}
			c := Change{Knob: "chunks", Value: float64(x)}
			if err := c.solve(ctx, m, o, n); err != nil {
				return nil, err
			}
			list = append(list, c)
		}
	}
	return list, nil
}

// solve solves a model of one type with some jobs and the change.
func (c *Change) solve(ctx context.Context, m *Model, o Options, jobs int) error {
	x, err := m.With(c.Knob, c.Value)
	if err != nil {
		return err
	}
	x.Types[0].Jobs = jobs
	a, err := Solve(ctx, x, o)
	if err == nil {
		c.Point = Point{jobs, a.Types[0].Response, a.Types[0].Throughput}
	}
	return err
}

// TryMore solves a model of one type with one server more at the center that is used most, and with one more of the machine
// that it belongs to.
func TryMore(ctx context.Context, m *Model, a *Answer) ([]Change, error) {
	k, _ := a.Busiest()
	if k < 0 || len(m.Types) != 1 {
		return nil, nil
	}
	list := []Change{{Knob: m.Centers[k].Name + ".servers", Value: float64(m.Centers[k].Servers + 1)}}
	for _, g := range m.Machines {
		if slices.Contains(g.Centers, k) {
			list = append(list, Change{Knob: "machines." + g.Name, Value: float64(g.Count + 1)})
		}
	}
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Value > MaxServers })
	for i := range list {
		if err := list[i].solve(ctx, m, a.Options, m.Types[0].Jobs); err != nil {
			return nil, err
		}
	}
	return list, nil
}
