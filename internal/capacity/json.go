package capacity

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report/results"
)

// figure is a number of a document: nine digits, null where it is not finite.
type figure float64

// MarshalJSON writes the number.
func (x figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(digits(float64(x)), 64)
	if err != nil {
		return nil, err
	}
	return json.Marshal(rounded)
}

// digits is a number of a document as text.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// document is the JSON form. Keys are only added.
type document struct {
	Method      pipeline.Method   `json:"method"`
	Operator    pipeline.Operator `json:"operator,omitempty"`
	Seed        uint64            `json:"seed"`
	SelfCheck   *figure           `json:"self_check_error,omitempty"`
	Response    *figure           `json:"response,omitempty"` // of the one type, as the next
	Throughput  *figure           `json:"throughput,omitempty"`
	Types       []typeKeys        `json:"types,omitempty"`
	Utilisation map[string]figure `json:"utilisation,omitempty"`
	Queue       map[string]figure `json:"queue,omitempty"`
	WhatIf      []changeKeys      `json:"what_if,omitempty"`
	Sweep       []rowKeys         `json:"sweep,omitempty"`
	Check       []checkKeys       `json:"check,omitempty"`
	Plan        *planKeys         `json:"plan,omitempty"`
	Warnings    []string          `json:"warnings"`
}

// typeKeys is what a method found of one type.
type typeKeys struct {
	Name        string            `json:"name"`
	Jobs        int               `json:"jobs"`
	Think       figure            `json:"think"`
	Chunks      int               `json:"chunks,omitempty"`
	Response    figure            `json:"response"`
	HalfWidth   *figure           `json:"half_width,omitempty"` // of a simulation, as the next
	Percentiles map[string]figure `json:"percentiles,omitempty"`
	Throughput  figure            `json:"throughput"`
	Samples     int               `json:"samples"`
	Bounds      struct {
		Alone      figure `json:"alone"`
		Path       figure `json:"path"`
		Saturation figure `json:"saturation"`
		Response   figure `json:"response"`
		Throughput figure `json:"throughput"`
		Bottleneck string `json:"bottleneck"`
	} `json:"bounds"`
	SaturatesAt figure      `json:"n_star"`
	Curve       []point     `json:"curve,omitempty"`
	Occupancy   []occupancy `json:"occupancy,omitempty"`
}

type point struct {
	Jobs       int    `json:"jobs"`
	Response   figure `json:"response"`
	Throughput figure `json:"throughput"`
}

type occupancy struct {
	Stages []string `json:"stages"`
	Share  figure   `json:"share"`
}

type changeKeys struct {
	Knob  string `json:"knob"`
	Value figure `json:"value"`
	point
}

type rowKeys struct {
	Values      map[string]figure `json:"values"`
	Response    []figure          `json:"response"`
	Throughput  []figure          `json:"throughput"`
	Alone       []figure          `json:"alone"`
	Bound       []figure          `json:"bound"`
	Bottleneck  string            `json:"bottleneck"`
	Utilisation figure            `json:"utilisation"`
}

type checkKeys struct {
	Name      string `json:"name"`
	Model     figure `json:"model"`
	Simulated figure `json:"simulated"`
	HalfWidth figure `json:"half_width"`
	Error     figure `json:"error"`
}

type planKeys struct {
	Settings int          `json:"settings"`
	Solved   int          `json:"solved"`
	Bisected bool         `json:"bisected"`
	ByPath   int          `json:"excluded_by_path"`
	ByWork   int          `json:"excluded_by_work"`
	Answer   *settingKeys `json:"answer"`
	Cheaper  *settingKeys `json:"cheaper"`
	Closest  *settingKeys `json:"closest"`
}

type settingKeys struct {
	Values      map[string]figure `json:"values"`
	Cost        figure            `json:"cost"`
	Response    figure            `json:"response"`
	Throughput  figure            `json:"throughput"`
	Bounded     bool              `json:"bounded"`
	Path        figure            `json:"path"`
	Bottleneck  string            `json:"bottleneck"`
	Utilisation figure            `json:"utilisation"`
	Misses      string            `json:"misses"`
	Verdict     pipeline.Verdict  `json:"verdict"`
	Simulated   *figure           `json:"simulated,omitempty"`
	HalfWidth   *figure           `json:"half_width,omitempty"`
}

// document makes the JSON form.
func (r *Report) document() *document {
	o := r.Options
	if r.Answer != nil {
		o = r.Answer.Options
	}
	d := &document{Method: o.Method, Seed: o.Seed, Warnings: r.warnings()}
	if o.Method == pipeline.MethodTree {
		d.Operator = o.Operator
	}
	if r.checked() {
		d.SelfCheck = new(figure(r.Model.Origin.SelfCheckError))
	}
	if a := r.Answer; a != nil {
		if len(a.Types) == 1 {
			d.Response, d.Throughput = new(figure(a.Types[0].Response)), new(figure(a.Types[0].Throughput))
		}
		for i := range a.Types {
			t := &a.Types[i]
			d.Types = append(d.Types, r.typeKeys(t))
			if r.Simulated != nil {
				s := &r.Simulated.Types[i]
				d.Check = append(d.Check, checkKeys{t.Name, figure(t.Response), figure(s.Response), figure(s.HalfWidth), figure(t.Response/s.Response - 1)})
			}
		}
		d.Utilisation, d.Queue = map[string]figure{}, map[string]figure{}
		for k, c := range a.Centers {
			d.Utilisation[r.center(k)], d.Queue[r.center(k)] = figure(c.Utilisation), figure(c.Queue)
		}
	}
	for _, c := range slices.Concat(r.Chunks, r.More) {
		d.WhatIf = append(d.WhatIf, changeKeys{c.Knob, figure(c.Value), point{c.Jobs, figure(c.Response), figure(c.Throughput)}})
	}
	for _, x := range r.Rows {
		d.Sweep = append(d.Sweep, rowKeys{
			values(r.Knobs, x.Values), figures(x.Response), figures(x.Throughput), figures(x.Alone), figures(x.Bound), r.center(x.Bottleneck), figure(x.Busy),
		})
	}
	if p := r.Plan; p != nil {
		d.Plan = &planKeys{p.Settings, p.Solved, p.Bisected, p.ByPath, p.ByWork, setting(p, p.Answer), setting(p, p.Cheaper), setting(p, p.Closest)}
	}
	return d
}

func (r *Report) typeKeys(t *pipeline.TypeAnswer) typeKeys {
	d := typeKeys{Name: t.Name, Jobs: t.Jobs, Think: figure(t.Think), Chunks: t.Chunks, Response: figure(t.Response), Throughput: figure(t.Throughput), Samples: t.Samples}
	if r.Answer.Method == pipeline.MethodSim {
		d.HalfWidth, d.Percentiles = new(figure(t.HalfWidth)), map[string]figure{}
		for i, p := range t.Percentile {
			d.Percentiles[fmt.Sprint(pipeline.Percentiles[i])] = figure(p)
		}
	}
	b := &t.Bounds
	d.Bounds.Alone, d.Bounds.Path, d.Bounds.Saturation = figure(b.Alone), figure(b.Path), figure(b.Saturation)
	d.Bounds.Response, d.Bounds.Throughput, d.Bounds.Bottleneck, d.SaturatesAt = figure(b.Response), figure(b.Throughput), r.center(b.Bottleneck), figure(b.SaturatesAt)
	if r.Answer.Method != pipeline.MethodWalk { // only walk knows what a job takes alone
		d.Bounds.Alone, d.SaturatesAt = figure(math.NaN()), figure(math.NaN())
	}
	for _, p := range t.Curve {
		d.Curve = append(d.Curve, point{p.Jobs, figure(p.Response), figure(p.Throughput)})
	}
	for _, p := range t.Occupancy {
		d.Occupancy = append(d.Occupancy, occupancy{p.Classes, figure(p.Share)})
	}
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

// setting is one setting of a plan, nil where there is none.
func setting(p *pipeline.Plan, x *pipeline.Setting) *settingKeys {
	if x == nil {
		return nil
	}
	s := &settingKeys{
		Values: values(p.Knobs, x.Values), Cost: figure(x.Cost), Response: figure(x.Response), Throughput: figure(x.Throughput), Bounded: x.Bounded,
		Path: figure(x.Path), Bottleneck: x.Bottleneck, Utilisation: figure(x.Busy), Misses: x.Misses, Verdict: x.Verdict,
	}
	if x.Verdict != pipeline.NotSimulated {
		s.Simulated, s.HalfWidth = new(figure(x.Simulated)), new(figure(x.HalfWidth))
	}
	return s
}

// Write prints the report as text, json or, of a sweep, csv.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(struct {
			Schema   string    `json:"schema"`
			Capacity *document `json:"capacity"`
		}{results.Schema, r.document()})
	case "csv":
		head, rows := r.sweep(digits)
		return csvwriter.New(w).WriteAll(append([][]string{head}, rows...))
	}
	return r.text(w)
}
