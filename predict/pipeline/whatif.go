package pipeline

import "context"

// Change is one number of a model that is changed, and what comes of it.
type Change struct {
	Knob       string
	Value      float64
	Jobs       int // of the type it was solved with
	Response   float64
	Throughput float64
}

// chunkFactor is the step between numbers of chunks that are tried.
const chunkFactor = 4

// TryChunks solves a model with one pipeline at a quarter of its chunks, as many as it has, and four times as many; with all
// its jobs, then with one that is alone. It is nil for other models.
func TryChunks(ctx context.Context, m *Model, o Options) ([]Change, error) {
	if len(m.Types) != 1 || m.Types[0].Pipeline == nil {
		return nil, nil
	}
	t := &m.Types[0]
	p := t.Pipeline
	var list []Change
	for _, jobs := range []int{t.Jobs, 1} {
		last := 0
		for _, chunks := range []int{max(1, p.Chunks/chunkFactor), p.Chunks, chunkFactor * min(p.Chunks, MaxTasks/chunkFactor/len(p.Stages))} {
			if chunks <= last {
				continue
			}
			last = chunks
			c, err := try(ctx, m, o, jobs, "chunks", chunks)
			if err != nil {
				return nil, err
			}
			list = append(list, c)
		}
		if t.Jobs == 1 {
			break
		}
	}
	return list, nil
}

// try solves a model of one type with some jobs and one knob changed.
func try(ctx context.Context, m *Model, o Options, jobs int, knob string, value int) (Change, error) {
	c := Change{Knob: knob, Value: float64(value), Jobs: jobs}
	x, err := m.With(knob, c.Value)
	if err != nil {
		return c, err
	}
	x.Types[0].Jobs = jobs
	a, err := Solve(ctx, x, o)
	if err != nil {
		return c, err
	}
	c.Response, c.Throughput = a.Types[0].Response, a.Types[0].Throughput
	return c, nil
}

// TryMore solves a model of one type with one server more at the center that is used most, and with one more of the machine
// that it belongs to.
func TryMore(ctx context.Context, m *Model, a *Answer) ([]Change, error) {
	k, _ := a.Busiest()
	if k < 0 || len(m.Types) != 1 {
		return nil, nil
	}
	var list []Change
	add := func(knob string, value int) error {
		if value > MaxServers {
			return nil
		}
		c, err := try(ctx, m, a.Options, m.Types[0].Jobs, knob, value)
		list = append(list, c)
		return err
	}
	if err := add(m.Centers[k].Name+".servers", m.Centers[k].Servers+1); err != nil {
		return nil, err
	}
	for _, g := range m.Machines {
		for _, center := range g.Centers {
			if center == k {
				if err := add("machines."+g.Name, g.Count+1); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}
