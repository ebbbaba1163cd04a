// Package capacity computes the answers of coppice capacity about a model, and prints them: as text, as JSON, and sweeps as CSV.
//
//	r, err := capacity.Solve(ctx, model, pipeline.Options{Method: pipeline.MethodWalk})
//	err = r.Write(os.Stdout, "text")
//
// Numbers of documents have nine digits, those of texts four. Null and a dash mean that a number is not known.
package capacity

import (
	"context"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// Report is the answers about a model. Answers that were not asked for are nil.
type Report struct {
	Model     *pipeline.Model
	Options   pipeline.Options
	Answer    *pipeline.Answer
	Simulated *pipeline.Answer
	Chunks    []pipeline.Change
	More      []pipeline.Change
	Knobs     []pipeline.Knob
	Rows      []pipeline.Row
	Plan      *pipeline.Plan
}

// Solve solves a model, and tries other numbers of chunks and more machines.
func Solve(ctx context.Context, m *pipeline.Model, o pipeline.Options) (*Report, error) {
	r := &Report{Model: m, Options: o}
	var err error
	if r.Answer, err = pipeline.Solve(ctx, m, o); err != nil || o.Method != pipeline.MethodWalk {
		return r, err
	}
	if r.Chunks, err = pipeline.TryChunks(ctx, m, o); err == nil {
		r.More, err = pipeline.TryMore(ctx, m, r.Answer)
	}
	return r, err
}

// Check solves a model, and simulates it.
func Check(ctx context.Context, m *pipeline.Model, o pipeline.Options) (*Report, error) {
	r := &Report{Model: m, Options: o}
	var err error
	if r.Answer, err = pipeline.Solve(ctx, m, o); err == nil {
		o.Method = pipeline.MethodSim
		r.Simulated, err = pipeline.Solve(ctx, m, o)
	}
	return r, err
}

// reliable is the largest error of the self-check with which answers are trusted.
const reliable = 0.10

// Failed reports whether the answer does not meet the target, or is not to be trusted.
func (r *Report) Failed() bool {
	if r.Simulated != nil {
		for i := range r.Answer.Types {
			if !agrees(&r.Answer.Types[i], &r.Simulated.Types[i]) {
				return true
			}
		}
	}
	return r.unreliable() || r.Plan != nil && (r.Plan.Answer == nil || r.Plan.Answer.Verdict == pipeline.Refuted)
}

func (r *Report) unreliable() bool {
	return r.Model.Origin != nil && math.Abs(r.Model.Origin.SelfCheckError) > reliable
}

// checked reports whether the model has the error of a self-check.
func (r *Report) checked() bool {
	return r.Model.Origin != nil && !math.IsNaN(r.Model.Origin.SelfCheckError)
}

// checkError is the largest accepted distance of walk from the interval of the simulation.
const checkError = 0.08

// agrees reports whether walk is within the interval of the simulation and checkError.
func agrees(walk, sim *pipeline.TypeAnswer) bool {
	return math.Abs(walk.Response-sim.Response) <= sim.HalfWidth+float64(checkError*sim.Response)
}

// warnings returns the warnings of the answers, and those of the model itself.
func (r *Report) warnings() []string {
	list := []string{}
	if r.unreliable() {
		list = append(list, fmt.Sprintf("UNRELIABLE: the model is %+.1f %% off its own trace", 100*r.Model.Origin.SelfCheckError))
	}
	for _, a := range []*pipeline.Answer{r.Answer, r.Simulated} {
		if a != nil {
			list = append(list, a.Warnings...)
		}
	}
	return list
}

// sweep is the table of a sweep: the numbers that vary, then those of each type.
func (r *Report) sweep(number func(float64) string) (head []string, rows [][]string) {
	for _, k := range r.Knobs {
		head = append(head, k.Name)
	}
	for i := range r.Model.Types {
		prefix := r.Model.Types[i].Name
		if prefix != "" {
			prefix += "."
		}
		head = append(head, prefix+"response", prefix+"throughput", prefix+"alone", prefix+"bound")
	}
	head = append(head, "bottleneck", "utilisation")
	for _, x := range r.Rows {
		var row []string
		for _, v := range x.Values {
			row = append(row, digits(v))
		}
		for i := range x.Response {
			row = append(row, number(x.Response[i]), number(x.Throughput[i]), number(x.Alone[i]), number(x.Bound[i]))
		}
		rows = append(rows, append(row, x.Bottleneck, number(x.Busy)))
	}
	return head, rows
}

// method says how the answer was computed.
func (r *Report) method() string {
	a := r.Answer
	text, samples := "method "+string(a.Method), "all states"
	switch n := a.Types[0].Samples; {
	case a.Method == pipeline.MethodTree:
		return text + ", operator " + string(a.Options.Operator)
	case a.Method == pipeline.MethodBounds:
		return text
	case a.Method == pipeline.MethodSim:
		samples = fmt.Sprintf("seed %d, %s", a.Options.Seed, numbers.Plural(n, "job"))
	case n > 0:
		samples = fmt.Sprintf("seed %d, %s", a.Options.Seed, numbers.Plural(n, "sample"))
	}
	return text + " (" + samples + ")"
}
