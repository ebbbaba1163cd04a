package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report"
)

// capacityReport is what a verb of capacity prints. What it did not compute is nil.
type capacityReport struct {
	model     *pipeline.Model
	options   pipeline.Options
	answer    *pipeline.Answer
	simulated *pipeline.Answer
	chunks    []pipeline.Change
	more      []pipeline.Change
	knobs     []pipeline.Knob
	rows      []pipeline.Row
	plan      *pipeline.Plan
	drawing   []byte // with --plot
	failed    bool   // the answer is not what was asked for
}

// print writes the report in the chosen format.
func (x *capacityFlags) print(r *capacityReport, s streams) error {
	return x.write(s, func(w io.Writer) error {
		switch x.format {
		case "json":
			return r.writeJSON(w)
		case "csv":
			return r.writeCSV(w)
		}
		r.text(w)
		return nil
	})
}

func writeBytes(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// figure is a number of a document: nine digits, null where it is not finite.
type figure float64

// MarshalJSON writes the number.
func (x figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', 9, 64), 64)
	if err != nil {
		return nil, err
	}
	return json.Marshal(rounded)
}

// object is a JSON object whose keys have an order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the object.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		v, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", m.key, v)
	}
	return append(b, '}'), nil
}

// some adds a key unless its list is empty.
func some[T any](o *object, key string, list []T) {
	if len(list) > 0 {
		*o = append(*o, member{key, list})
	}
}

// document makes the JSON form. Keys are only added.
func (r *capacityReport) document() object {
	o := r.options
	if r.answer != nil {
		o = r.answer.Options
	}
	d := object{{"method", o.Method}}
	if o.Method == pipeline.MethodTree {
		d = append(d, member{"operator", o.Operator})
	}
	d = append(d, member{"seed", o.Seed})
	if origin := r.model.Origin; origin != nil && !math.IsNaN(origin.SelfCheckError) {
		d = append(d, member{"self_check_error", figure(origin.SelfCheckError)})
	}
	var changes, sweep, checks []object
	if a := r.answer; a != nil {
		if len(a.Types) == 1 {
			d = append(d, member{"response", figure(a.Types[0].Response)}, member{"throughput", figure(a.Types[0].Throughput)})
		}
		var types []object
		for i := range a.Types {
			types = append(types, r.typeKeys(&a.Types[i]))
			if r.simulated != nil {
				t, s := &a.Types[i], &r.simulated.Types[i]
				checks = append(checks, object{
					{"name", t.Name}, {"model", figure(t.Response)}, {"simulated", figure(s.Response)}, {"half_width", figure(s.HalfWidth)}, {"error", figure(t.Response/s.Response - 1)},
				})
			}
		}
		some(&d, "types", types)
		utilisation, queue := map[string]figure{}, map[string]figure{}
		for k, c := range a.Centers {
			utilisation[r.center(k)], queue[r.center(k)] = figure(c.Utilisation), figure(c.Queue)
		}
		if len(a.Centers) > 0 {
			d = append(d, member{"utilisation", utilisation}, member{"queue", queue})
		}
	}
	for _, c := range slices.Concat(r.chunks, r.more) {
		changes = append(changes, object{{"knob", c.Knob}, {"value", figure(c.Value)}, {"jobs", c.Jobs}, {"response", figure(c.Response)}, {"throughput", figure(c.Throughput)}})
	}
	for _, row := range r.rows {
		sweep = append(sweep, object{
			{"values", values(r.knobs, row.Values)},
			{"response", figures(row.Response)},
			{"throughput", figures(row.Throughput)},
			{"alone", figures(row.Alone)},
			{"bound", figures(row.Bound)},
			{"bottleneck", r.center(row.Bottleneck)},
			{"utilisation", figure(row.Busy)},
		})
	}
	some(&d, "what_if", changes)
	some(&d, "sweep", sweep)
	some(&d, "check", checks)
	if p := r.plan; p != nil {
		d = append(d, member{"plan", object{
			{"settings", p.Settings},
			{"solved", p.Solved},
			{"bisected", p.Bisected},
			{"excluded_by_path", p.ByPath},
			{"excluded_by_work", p.ByWork},
			{"answer", setting(p, p.Answer)},
			{"cheaper", setting(p, p.Cheaper)},
			{"closest", setting(p, p.Closest)},
		}})
	}
	return append(d, member{"warnings", r.warnings()})
}

// typeKeys is what a method found of one type.
func (r *capacityReport) typeKeys(t *pipeline.TypeAnswer) object {
	d := object{{"name", t.Name}, {"jobs", t.Jobs}, {"think", figure(t.Think)}}
	if t.Chunks != 0 {
		d = append(d, member{"chunks", t.Chunks})
	}
	d = append(d, member{"response", figure(t.Response)})
	if r.answer.Method == pipeline.MethodSim {
		percentiles := map[string]figure{}
		for i, p := range t.Percentile {
			percentiles[fmt.Sprint(pipeline.Percentiles[i])] = figure(p)
		}
		d = append(d, member{"half_width", figure(t.HalfWidth)})
		if len(percentiles) > 0 {
			d = append(d, member{"percentiles", percentiles})
		}
	}
	b := &t.Bounds
	alone, saturates := figure(b.Alone), figure(b.SaturatesAt)
	if r.answer.Method != pipeline.MethodWalk { // only walk knows what a job takes alone
		alone, saturates = figure(math.NaN()), figure(math.NaN())
	}
	d = append(d, object{
		{"throughput", figure(t.Throughput)},
		{"samples", t.Samples},
		{"bounds", object{
			{"alone", alone}, {"path", figure(b.Path)}, {"saturation", figure(b.Saturation)}, {"response", figure(b.Response)}, {"throughput", figure(b.Throughput)}, {"bottleneck", r.center(b.Bottleneck)},
		}},
		{"n_star", saturates},
	}...)
	var curve, occupancy []object
	for _, p := range t.Curve {
		curve = append(curve, object{{"jobs", p.Jobs}, {"response", figure(p.Response)}, {"throughput", figure(p.Throughput)}})
	}
	for _, p := range t.Occupancy {
		occupancy = append(occupancy, object{{"stages", p.Classes}, {"share", figure(p.Share)}})
	}
	some(&d, "curve", curve)
	some(&d, "occupancy", occupancy)
	return d
}

func values(knobs []pipeline.Knob, list []float64) map[string]figure {
	m := map[string]figure{}
	for i, k := range knobs {
		m[k.Name] = figure(list[i])
	}
	return m
}

func figures(list []float64) []figure {
	var out []figure
	for _, x := range list {
		out = append(out, figure(x))
	}
	return out
}

// setting is one setting of a plan, null where there is none.
func setting(p *pipeline.Plan, x *pipeline.Setting) any {
	if x == nil {
		return nil
	}
	s := object{
		{"values", values(p.Knobs, x.Values)},
		{"cost", figure(x.Cost)},
		{"response", figure(x.Response)},
		{"throughput", figure(x.Throughput)},
		{"bounded", x.Bounded},
		{"path", figure(x.Path)},
		{"bottleneck", x.Bottleneck},
		{"utilisation", figure(x.Busy)},
		{"misses", x.Misses},
		{"verdict", x.Verdict},
	}
	if x.Verdict != pipeline.NotSimulated {
		s = append(s, member{"simulated", figure(x.Simulated)}, member{"half_width", figure(x.HalfWidth)})
	}
	return s
}

// warnings are those of the answer, and what the model says of itself.
func (r *capacityReport) warnings() []string {
	list := []string{}
	if r.unreliable() {
		list = append(list, fmt.Sprintf("UNRELIABLE: the model is %+.1f %% off its own trace", 100*r.model.Origin.SelfCheckError))
	}
	for _, a := range []*pipeline.Answer{r.answer, r.simulated} {
		if a != nil {
			list = append(list, a.Warnings...)
		}
	}
	return list
}

// writeJSON writes the envelope of all documents with one key.
func (r *capacityReport) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(object{{"schema", report.Schema}, {"capacity", r.document()}})
}

// writeCSV writes the rows of a sweep, a column for each number of each type.
func (r *capacityReport) writeCSV(w io.Writer) error {
	c := csvwriter.New(w)
	var head []string
	for _, k := range r.knobs {
		head = append(head, k.Name)
	}
	for i := range r.model.Types {
		prefix := r.model.Types[i].Name
		if prefix != "" {
			prefix += "."
		}
		for _, name := range []string{"response", "throughput", "alone", "bound"} {
			head = append(head, prefix+name)
		}
	}
	if err := c.Write(append(head, "bottleneck", "utilisation")); err != nil {
		return err
	}
	for _, row := range r.rows {
		var line []string
		for _, v := range row.Values {
			line = append(line, digits(v))
		}
		for i := range row.Response {
			line = append(line, digits(row.Response[i]), digits(row.Throughput[i]), digits(row.Alone[i]), digits(row.Bound[i]))
		}
		if err := c.Write(append(line, r.center(row.Bottleneck), digits(row.Busy))); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// digits is a number as in documents.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// join joins the names and values of a setting.
func join(knobs []pipeline.Knob, list []float64) string {
	var parts []string
	for i, k := range knobs {
		parts = append(parts, k.Name+" "+fmt.Sprint(list[i]))
	}
	return strings.Join(parts, "  ")
}
