package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/query"
	"github.com/coppice-hpc/coppice/jobs/levers"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/scaling"
	"github.com/coppice-hpc/coppice/xtf"
)

// object is a JSON Schema, draft 2020-12, or a part of one.
type object = map[string]any

// schemas makes the schema of a document of the types that it is written from.
type schemas struct {
	defs object
	of   map[string]reflect.Type
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (s *schemas) typ(t reflect.Type) object {
	pointer := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []any{s.typ(t.Elem()), object{"type": "null"}}}
	case t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface:
		return object{}
	case t == reflect.TypeFor[lookup.Limits](): // its zero value is exact
		return object{"anyOf": []any{object{"type": "integer"}, s.typ(reflect.TypeFor[struct {
			Lower uint64 `json:"lower"`
			Upper uint64 `json:"upper"`
		}]())}}
	case pointer.Implements(marshaler):
		b, err := json.Marshal(reflect.New(t).Interface())
		var v any
		if err != nil || json.Unmarshal(b, &v) != nil {
			return object{}
		}
		return like(v)
	case pointer.Implements(textMarshaler):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": []any{"array", "null"}, "items": s.typ(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": s.typ(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": s.typ(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return object{"type": "integer"}
}

// like is the schema of what a type that writes itself writes of its zero value.
func like(v any) object {
	switch x := v.(type) {
	case map[string]any:
		o := object{"type": "object", "properties": object{}}
		for k, v := range x {
			o["properties"].(object)[k] = like(v)
		}
		return o
	case string:
		return object{"type": "string"}
	case float64, nil: // a quotient by zero is null
		return object{"type": []any{"number", "null"}}
	}
	return object{}
}

func (s *schemas) structure(t reflect.Type) object {
	name := t.Name()
	if other := s.of[name]; other != nil && other != t {
		name = strings.ReplaceAll(t.String(), ".", "")
	}
	if name == "" || s.of[name] == nil {
		o := object{"type": "object", "properties": object{}}
		if name != "" {
			s.of[name], s.defs[name] = t, o
		}
		var required []any
		s.fields(t, o["properties"].(object), &required)
		if required != nil {
			o["required"] = required
		}
		if name == "" {
			return o
		}
	}
	return object{"$ref": "#/$defs/" + name}
}

func (s *schemas) fields(t reflect.Type, properties object, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer: // not there where it is nil
			s.fields(f.Type.Elem(), properties, new([]any))
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			properties[name] = s.typ(f.Type)
			if !strings.Contains(options, "omit") {
				*required = append(*required, name)
			}
		}
	}
}

// answer is the schema of an answer about a run, which has its result as the value of a key.
func (s *schemas) answer(key string, result object) object {
	o := s.typ(reflect.TypeFor[struct {
		results.Envelope
		Summary *results.Brief `json:"summary"`
	}]())
	o["properties"].(object)[key], o["required"] = result, append(o["required"].([]any), key)
	return o
}

// query is the schema of what query answers: of rows, or of what the call graph and running totals tell.
func (s *schemas) query(t *testing.T, run string) object {
	r, err := results.Open(run, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := query.Ask(r, &query.Question{Primitive: "rows", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	list := []any{s.typ(reflect.TypeOf(rows.Value).Elem())}
	for _, x := range []struct {
		primitive string
		of        reflect.Type
	}{
		{"window", reflect.TypeFor[lookup.Statistics]()},
		{"stack", reflect.TypeFor[lookup.Stack]()},
		{"instance", reflect.TypeFor[lookup.Instance]()},
		{"interval", reflect.TypeFor[lookup.Window]()},
		{"timeline", reflect.TypeFor[lookup.Picture]()},
		{"walk", reflect.TypeFor[lookup.Walk]()},
	} {
		list = append(list, object{"type": "object", "required": []any{"primitive", "answer", "cost"}, "properties": object{
			"primitive": object{"type": "string", "const": x.primitive}, "answer": s.typ(x.of), "cost": s.typ(reflect.TypeFor[xtf.Stats]()),
		}})
	}
	return object{"anyOf": list}
}

// fits holds a value against a schema. A key that a type does not have is an error; readers have to expect such keys.
func fits(v any, s, defs object) error {
	if ref, ok := s["$ref"].(string); ok {
		return fits(v, defs[strings.TrimPrefix(ref, "#/$defs/")].(object), defs)
	}
	if list, ok := s["anyOf"].([]any); ok {
		var all error
		for _, x := range list {
			err := fits(v, x.(object), defs)
			if err == nil {
				return nil
			}
			all = errors.Join(all, err)
		}
		return all
	}
	if c, ok := s["const"]; ok && v != c {
		return fmt.Errorf("%v, want %v", v, c)
	}
	want := s["type"]
	if want == nil {
		return nil
	}
	got := "number"
	switch x := v.(type) {
	case nil:
		got = "null"
	case bool:
		got = "boolean"
	case string:
		got = "string"
	case json.Number:
		if !strings.ContainsAny(x.String(), ".eE") {
			got = "integer"
		}
	case []any:
		got = "array"
		for i, e := range x {
			if err := fits(e, s["items"].(object), defs); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case object:
		got = "object"
		properties, _ := s["properties"].(object)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			p, ok := properties[k].(object)
			if !ok {
				p, ok = s["additionalProperties"].(object)
			}
			if !ok && s["required"] != nil {
				return fmt.Errorf("key %s is not in the schema", k)
			}
			if err := fits(x[k], p, defs); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
		required, _ := s["required"].([]any)
		for _, k := range required {
			if _, ok := x[k.(string)]; !ok {
				return fmt.Errorf("no %s", k)
			}
		}
	}
	list, ok := want.([]any)
	if !ok {
		list = []any{want}
	}
	if !slices.Contains(list, any(got)) && !(got == "integer" && slices.Contains(list, any("number"))) {
		return fmt.Errorf("%s, want %v", got, want)
	}
	return nil
}

// TestJSONSchemas: docs/format has the schemas of JSON results, and what verbs write fits. Write them anew with -update.
func TestJSONSchemas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var runs []string
	for i, spec := range []string{"stencil:procs=4,events=4k,imbalance=30,metrics,io", "stencil:procs=8,events=8k"} {
		folder := filepath.Join(dir, fmt.Sprint(i))
		must(t, "demo", "-o", folder, "--spec", spec)
		must(t, "analyze", folder, "-o", folder+".xtf", "-q", "--classes", "5%", "--interval", "region:timestep")
		runs = append(runs, folder+".xtf")
	}
	every := []string{"report", runs[0], "--format", "json"}
	for _, s := range report.Sections() {
		if s != "histogram" {
			every = append(every, string(s))
		}
	}
	platform := filepath.Join(dir, "platform.toml")
	if err := os.WriteFile(platform, []byte(platformOf4), 0o600); err != nil {
		t.Fatal(err)
	}
	predict := []string{"predict", runs[0], "--platform", platform, "-q", "--format", "json"}
	of := func(x reflect.Type) func(*schemas) object { return func(s *schemas) object { return s.typ(x) } }
	for _, x := range []struct {
		name, title string
		schema      func(*schemas) object
		args        [][]string
	}{
		{"report", "report", of(reflect.TypeFor[report.Document]()), [][]string{
			every,
			{"report", runs[0], "histogram", "--region", "MPI_Send", "--format", "json"},
			{"report", runs[1], "--format", "json"},
		}},
		{"diff", "diff", of(reflect.TypeFor[diff.Diff]()), [][]string{{"diff", runs[0], runs[1], "--format", "json"}}},
		{"scaling", "scaling", of(reflect.TypeFor[scaling.Scaling]()), [][]string{{"report", "scaling", runs[0], runs[1], "--mode", "weak", "--format", "json"}}},
		{"levers", "report", func(s *schemas) object {
			return s.answer("levers", s.typ(reflect.TypeFor[levers.Report]()))
		}, [][]string{{"levers", runs[0], "-q", "--format", "json"}, {"levers", runs[0], "-q", "--scale", "region:timestep=0.5", "--format", "json"}}},
		{"predict", "report", func(s *schemas) object {
			return s.answer("predict", s.typ(reflect.TypeFor[predicted.Prediction]()))
		}, [][]string{
			predict,
			append(predict[:len(predict):len(predict)], "--sweep", "latency=1,2"),
			append(predict[:len(predict):len(predict)], "--host-platform", platform, "--substitute", "copy"),
			{"predict", runs[0], "--self-check", "--host-platform", platform, "-q", "--format", "json"},
		}},
		{"query", "report", func(s *schemas) object { return s.answer("query", s.query(t, runs[0])) }, queries(runs[0])},
	} {
		s := schemas{defs: object{}, of: map[string]reflect.Type{}}
		whole := x.schema(&s)
		whole["$schema"], whole["title"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", "coppice."+x.title+"/1", s.defs
		b, err := json.MarshalIndent(whole, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(repository, "docs", "format", x.name+".schema.json")
		if b = append(b, '\n'); *update {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, b) {
			t.Errorf("%s is not made of the types (%v); go test ./cmd/coppice -run JSONSchemas -update", path, err)
		}
		var schema object
		if err := json.Unmarshal(b, &schema); err != nil {
			t.Fatal(err)
		}
		if fits(object{}, schema, schema["$defs"].(object)) == nil || fits(json.Number("1"), schema, schema["$defs"].(object)) == nil {
			t.Errorf("%s: the schema fits other things, too", x.name)
		}
		for _, args := range x.args {
			d := json.NewDecoder(strings.NewReader(must(t, args...)))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			if err := fits(v, schema, schema["$defs"].(object)); err != nil {
				t.Errorf("coppice %s: %v", strings.Join(args, " "), err)
			}
		}
	}
}

// queries ask a run with every primitive.
func queries(run string) [][]string {
	var list [][]string
	for _, p := range []string{
		"search --type coll --time 10% --mode ge", "size --type coll --time 10%", "next --time 10%", "at -n 3", "rows --limit 3", "rows --type p2p --limit 3",
		"visible --time 10%..20%", "stats --time 10%..20%", "partner --type p2p -n 3", "members --type coll -n 0", "bins --whole --time 10%..50% --width 20",
		"window --time 10%..30%", "window --time 10%..30% --exact", "stack --time 20%", "stack --time 20% --source graph", "instance --region MPI_Send -n 2",
		"interval --time 10%..20%", "timeline --time 10%..20% --width 20", "walk --time 20% --limit 5",
	} {
		list = append(list, append([]string{"query", run, "--format", "json"}, strings.Fields(p)...))
	}
	return list
}
