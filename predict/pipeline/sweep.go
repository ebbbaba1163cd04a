package pipeline

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Row is one setting of a sweep and what it gives.
type Row struct {
	Values     []float64 `json:"-"`        // of the knobs
	Response   []float64 `json:"response"` // seconds, by type
	Throughput []float64 `json:"throughput"`
	Alone      []float64 `json:"alone"`
	Bound      []float64 `json:"bound"`       // no response is less
	Bottleneck string    `json:"bottleneck"`  // center that is used most; Nowhere: none
	Busy       float64   `json:"utilisation"` // of it
}

// maxSweep bounds a sweep.
const maxSweep = 100_000

// Sweep solves the model at all combinations of the values of the knobs, the last one changing fastest. Workers at most
// solve at once, 0 means one for each processor; rows do not depend on it.
func Sweep(ctx context.Context, m *Model, knobs []Knob, o Options, workers int) ([]Row, error) {
	list, err := settings(knobs, maxSweep)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(list))
	err = parallel(ctx, len(list), workers, func(ctx context.Context, i int) error {
		x, err := m.apply(knobs, list[i])
		if err != nil {
			return err
		}
		a, err := Solve(ctx, x, o)
		if err != nil {
			return err
		}
		rows[i] = a.row(list[i])
		return nil
	})
	return rows, err
}

// parallel calls f for 0 to n-1, several at once.
func parallel(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return g.Wait()
}

// row is an answer as a row of a table.
func (a *Answer) row(values []float64) Row {
	r := Row{Values: values}
	for i := range a.Types {
		t := &a.Types[i]
		r.Response, r.Throughput = append(r.Response, t.Response), append(r.Throughput, t.Throughput)
		r.Alone, r.Bound = append(r.Alone, t.Bounds.Alone), append(r.Bound, t.Bounds.Response)
	}
	k, busy := a.Busiest()
	if r.Bottleneck, r.Busy = Nowhere, busy; k >= 0 {
		r.Bottleneck = a.Centers[k].Name
	}
	return r
}

// Busiest is the center with the largest utilisation, the first of several; -1 where none has a queue.
func (a *Answer) Busiest() (center int, utilisation float64) {
	center = -1
	for k, c := range a.Centers {
		if c.Utilisation > utilisation {
			center, utilisation = k, c.Utilisation
		}
	}
	return center, utilisation
}
