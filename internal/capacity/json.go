package capacity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report/results"
)

// document is the JSON form. Keys are only added.
type document struct {
	Method      pipeline.Method       `json:"method"`
	Operator    pipeline.Operator     `json:"operator,omitempty"`
	Seed        uint64                `json:"seed"`
	SelfCheck   *float64              `json:"self_check_error,omitempty"`
	Response    *float64              `json:"response,omitempty"` // of the one type, as the next
	Throughput  *float64              `json:"throughput,omitempty"`
	Types       []pipeline.TypeAnswer `json:"types,omitempty"`
	Utilisation map[string]float64    `json:"utilisation,omitempty"`
	Queue       map[string]float64    `json:"queue,omitempty"`
	WhatIf      []pipeline.Change     `json:"what_if,omitempty"`
	Sweep       []row                 `json:"sweep,omitempty"`
	Check       []checked             `json:"check,omitempty"`
	Plan        *plan                 `json:"plan,omitempty"`
	Warnings    []string              `json:"warnings"`
}

// named are values, each with the name of its knob.
type named struct {
	Values map[string]float64 `json:"values"`
}

func nameValues(knobs []pipeline.Knob, list []float64) named {
	m := map[string]float64{}
	for i, k := range knobs {
		m[k.Name] = list[i]
	}
	return named{m}
}

type row struct {
	named
	pipeline.Row
}

type setting struct {
	named
	*pipeline.Setting
}

type plan struct {
	*pipeline.Plan
	Answer  *setting `json:"answer"`
	Cheaper *setting `json:"cheaper"`
	Closest *setting `json:"closest"`
}

type checked struct {
	Name      string  `json:"name"`
	Model     float64 `json:"model"`
	Simulated float64 `json:"simulated"`
	HalfWidth float64 `json:"half_width"`
	Error     float64 `json:"error"`
}

// document makes the JSON form.
func (r *Report) document() *document {
	o := r.Options
	if r.Answer != nil {
		o = r.Answer.Options
	}
	d := &document{Method: o.Method, Seed: o.Seed, WhatIf: slices.Concat(r.Chunks, r.More), Warnings: r.warnings()}
	if o.Method == pipeline.MethodTree {
		d.Operator = o.Operator
	}
	if r.checked() {
		d.SelfCheck = &r.Model.Origin.SelfCheckError
	}
	if a := r.Answer; a != nil {
		d.Types = slices.Clone(a.Types)
		if len(a.Types) == 1 {
			d.Response, d.Throughput = &a.Types[0].Response, &a.Types[0].Throughput
		}
		for i := range d.Types {
			t := &d.Types[i]
			if r.Simulated != nil {
				s := &r.Simulated.Types[i]
				d.Check = append(d.Check, checked{t.Name, t.Response, s.Response, s.HalfWidth, t.Response/s.Response - 1})
			}
			if a.Method != pipeline.MethodWalk { // only walk computes the time of a job alone
				t.Bounds.Alone, t.SaturatesAt = math.NaN(), math.NaN()
			}
		}
		d.Utilisation, d.Queue = map[string]float64{}, map[string]float64{}
		for _, c := range a.Centers {
			d.Utilisation[c.Name], d.Queue[c.Name] = c.Utilisation, c.Queue
		}
	}
	for _, x := range r.Rows {
		d.Sweep = append(d.Sweep, row{nameValues(r.Knobs, x.Values), x})
	}
	if p := r.Plan; p != nil {
		one := func(x *pipeline.Setting) *setting {
			if x == nil {
				return nil
			}
			return &setting{nameValues(p.Knobs, x.Values), x}
		}
		d.Plan = &plan{p, one(p.Answer), one(p.Cheaper), one(p.Closest)}
	}
	return d
}

// digits prints a number of a document: nine digits.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// appendJSON appends a value in the form of package json, but numbers that are not integers have nine digits, and those that are
// not finite are null.
func appendJSON(b []byte, v reflect.Value) []byte {
	comma := func(i int) {
		if i > 0 {
			b = append(b, ',')
		}
	}
	switch k := v.Kind(); {
	case k == reflect.Pointer && !v.IsNil():
		return appendJSON(b, v.Elem())
	case k == reflect.Float64:
		x, err := strconv.ParseFloat(digits(v.Float()), 64)
		if text, failed := json.Marshal(x); err == nil && failed == nil {
			return append(b, text...)
		}
		return append(b, "null"...)
	case k == reflect.Struct:
		b = append(b, '{')
		first := len(b)
		for f, x := range fields(v) {
			name, option, _ := strings.Cut(f, ",")
			if option == "" || !x.IsZero() && (x.Kind() != reflect.Slice && x.Kind() != reflect.Map || x.Len() > 0) {
				comma(len(b) - first)
				b = appendJSON(append(strconv.AppendQuote(b, name), ':'), x)
			}
		}
		return append(b, '}')
	case k == reflect.Slice && !v.IsNil():
		b = append(b, '[')
		for i := range v.Len() {
			comma(i)
			b = appendJSON(b, v.Index(i))
		}
		return append(b, ']')
	case k == reflect.Map && !v.IsNil():
		b = append(b, '{')
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
		for i, key := range keys {
			comma(i)
			b = appendJSON(append(appendJSON(b, reflect.ValueOf(fmt.Sprint(key))), ':'), v.MapIndex(key))
		}
		return append(b, '}')
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// fields yields the fields of a struct that have a key. Fields of embedded structs without a key are among them.
func fields(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			f, x := v.Type().Field(i), v.Field(i)
			key := f.Tag.Get("json")
			if f.Anonymous && key == "" {
				if x.Kind() == reflect.Pointer {
					x = x.Elem()
				}
				if x.IsValid() {
					fields(x)(yield)
				}
			} else if key != "" && key != "-" && !yield(key, x) {
				return
			}
		}
	}
}

// Write prints the report as text, json or, for a sweep, csv.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		text := appendJSON(nil, reflect.ValueOf(struct {
			Schema   string    `json:"schema"`
			Capacity *document `json:"capacity"`
		}{results.Schema, r.document()}))
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", " "); err != nil {
			return err
		}
		b.WriteByte('\n')
		_, err := b.WriteTo(w)
		return err
	case "csv":
		head, rows := r.sweep(digits)
		return csvwriter.New(w).WriteAll(append([][]string{head}, rows...))
	}
	return r.text(w)
}
