package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
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
		var b bytes.Buffer
		r.text(&b)
		_, err := w.Write(b.Bytes())
		return err
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

// The form of the document. Keys are only added.
type (
	capacityDocument struct {
		Method      string            `json:"method"`
		Operator    string            `json:"operator,omitempty"`
		Seed        uint64            `json:"seed"`
		SelfCheck   *figure           `json:"self_check_error,omitempty"`
		Response    *figure           `json:"response,omitempty"`
		Throughput  *figure           `json:"throughput,omitempty"`
		Types       []capacityType    `json:"types,omitempty"`
		Utilisation map[string]figure `json:"utilisation,omitempty"`
		Queue       map[string]figure `json:"queue,omitempty"`
		WhatIf      []capacityChange  `json:"what_if,omitempty"`
		Sweep       []capacityRow     `json:"sweep,omitempty"`
		Check       []capacityCheck   `json:"check,omitempty"`
		Plan        *capacityPlan     `json:"plan,omitempty"`
		Warnings    []string          `json:"warnings"`
	}
	capacityType struct {
		Name       string              `json:"name"`
		Jobs       int                 `json:"jobs"`
		Think      figure              `json:"think"`
		Chunks     int                 `json:"chunks,omitempty"`
		Response   figure              `json:"response"`
		HalfWidth  *figure             `json:"half_width,omitempty"`
		Percentile map[string]figure   `json:"percentiles,omitempty"`
		Throughput figure              `json:"throughput"`
		Samples    int                 `json:"samples"`
		Bounds     capacityBounds      `json:"bounds"`
		NStar      figure              `json:"n_star"`
		Curve      []capacityPoint     `json:"curve,omitempty"`
		Occupancy  []capacityOccupancy `json:"occupancy,omitempty"`
	}
	capacityBounds struct {
		Alone      figure `json:"alone"`
		Path       figure `json:"path"`
		Saturation figure `json:"saturation"`
		Response   figure `json:"response"`
		Throughput figure `json:"throughput"`
		Bottleneck string `json:"bottleneck"`
	}
	capacityPoint struct {
		Jobs       int    `json:"jobs"`
		Response   figure `json:"response"`
		Throughput figure `json:"throughput"`
	}
	capacityOccupancy struct {
		Stages []string `json:"stages"`
		Share  figure   `json:"share"`
	}
	capacityChange struct {
		Knob       string `json:"knob"`
		Value      figure `json:"value"`
		Jobs       int    `json:"jobs"`
		Response   figure `json:"response"`
		Throughput figure `json:"throughput"`
	}
	capacityRow struct {
		Values     map[string]figure `json:"values"`
		Response   []figure          `json:"response"`
		Throughput []figure          `json:"throughput"`
		Alone      []figure          `json:"alone"`
		Bound      []figure          `json:"bound"`
		Bottleneck string            `json:"bottleneck"`
		Busy       figure            `json:"utilisation"`
	}
	capacityCheck struct {
		Name      string `json:"name"`
		Model     figure `json:"model"`
		Simulated figure `json:"simulated"`
		HalfWidth figure `json:"half_width"`
		Error     figure `json:"error"`
	}
	capacityPlan struct {
		Settings int              `json:"settings"`
		Solved   int              `json:"solved"`
		Bisected bool             `json:"bisected"`
		ByPath   int              `json:"excluded_by_path"`
		ByWork   int              `json:"excluded_by_work"`
		Answer   *capacitySetting `json:"answer"`
		Cheaper  *capacitySetting `json:"cheaper"`
		Closest  *capacitySetting `json:"closest"`
	}
	capacitySetting struct {
		Values     map[string]figure `json:"values"`
		Cost       figure            `json:"cost"`
		Response   figure            `json:"response"`
		Throughput figure            `json:"throughput"`
		Bounded    bool              `json:"bounded"`
		Path       figure            `json:"path"`
		Bottleneck string            `json:"bottleneck"`
		Busy       figure            `json:"utilisation"`
		Misses     string            `json:"misses"`
		Verdict    string            `json:"verdict"`
		Simulated  *figure           `json:"simulated,omitempty"`
		HalfWidth  *figure           `json:"half_width,omitempty"`
	}
)

func pointer(x float64) *figure { return (*figure)(&x) }

// document makes the JSON form.
func (r *capacityReport) document() capacityDocument {
	o := r.options
	if r.answer != nil {
		o = r.answer.Options
	}
	d := capacityDocument{Method: string(o.Method), Seed: o.Seed, Warnings: r.warnings()}
	if o.Method == pipeline.MethodTree {
		d.Operator = string(o.Operator)
	}
	if origin := r.model.Origin; origin != nil && !math.IsNaN(origin.SelfCheckError) {
		d.SelfCheck = pointer(origin.SelfCheckError)
	}
	if r.answer != nil {
		r.answerInto(&d)
	}
	for _, list := range [][]pipeline.Change{r.chunks, r.more} {
		for _, c := range list {
			d.WhatIf = append(d.WhatIf, capacityChange{c.Knob, figure(c.Value), c.Jobs, figure(c.Response), figure(c.Throughput)})
		}
	}
	for _, row := range r.rows {
		d.Sweep = append(d.Sweep, capacityRow{
			values(r.knobs, row.Values), figures(row.Response), figures(row.Throughput), figures(row.Alone), figures(row.Bound), r.center(row.Bottleneck), figure(row.Busy),
		})
	}
	if p := r.plan; p != nil {
		d.Plan = &capacityPlan{p.Settings, p.Solved, p.Bisected, p.ByPath, p.ByWork, setting(p, p.Answer), setting(p, p.Cheaper), setting(p, p.Closest)}
	}
	return d
}

// answerInto adds what a method found.
func (r *capacityReport) answerInto(d *capacityDocument) {
	a := r.answer
	for i := range a.Types {
		t := &a.Types[i]
		b := &t.Bounds
		x := capacityType{
			Name: t.Name, Jobs: t.Jobs, Think: figure(t.Think), Chunks: t.Chunks, Response: figure(t.Response), Throughput: figure(t.Throughput), Samples: t.Samples,
			Bounds: capacityBounds{figure(b.Alone), figure(b.Path), figure(b.Saturation), figure(b.Response), figure(b.Throughput), r.center(b.Bottleneck)},
			NStar:  figure(b.SaturatesAt),
		}
		if a.Method != pipeline.MethodWalk { // only walk knows what a job takes alone
			x.Bounds.Alone, x.NStar = figure(math.NaN()), figure(math.NaN())
		}
		if a.Method == pipeline.MethodSim {
			x.HalfWidth, x.Percentile = pointer(t.HalfWidth), map[string]figure{}
			for i, p := range t.Percentile {
				x.Percentile[fmt.Sprint(pipeline.Percentiles[i])] = figure(p)
			}
		}
		for _, p := range t.Curve {
			x.Curve = append(x.Curve, capacityPoint{p.Jobs, figure(p.Response), figure(p.Throughput)})
		}
		for _, p := range t.Occupancy {
			x.Occupancy = append(x.Occupancy, capacityOccupancy{p.Classes, figure(p.Share)})
		}
		d.Types = append(d.Types, x)
		if r.simulated != nil {
			s := &r.simulated.Types[i]
			d.Check = append(d.Check, capacityCheck{t.Name, figure(t.Response), figure(s.Response), figure(s.HalfWidth), figure(t.Response/s.Response - 1)})
		}
	}
	if len(a.Types) == 1 {
		d.Response, d.Throughput = pointer(a.Types[0].Response), pointer(a.Types[0].Throughput)
	}
	d.Utilisation, d.Queue = map[string]figure{}, map[string]figure{}
	for k, c := range a.Centers {
		d.Utilisation[r.center(k)] = figure(c.Utilisation)
		d.Queue[r.center(k)] = figure(c.Queue)
	}
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

func setting(p *pipeline.Plan, x *pipeline.Setting) *capacitySetting {
	if x == nil {
		return nil
	}
	s := &capacitySetting{
		values(p.Knobs, x.Values), figure(x.Cost), figure(x.Response), figure(x.Throughput), x.Bounded, figure(x.Path), x.Bottleneck, figure(x.Busy), x.Misses, string(x.Verdict), nil, nil,
	}
	if x.Verdict != pipeline.NotSimulated {
		s.Simulated, s.HalfWidth = pointer(x.Simulated), pointer(x.HalfWidth)
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
	b, err := json.MarshalIndent(struct {
		Schema   string           `json:"schema"`
		Capacity capacityDocument `json:"capacity"`
	}{report.Schema, r.document()}, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
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
