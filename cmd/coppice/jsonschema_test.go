package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/scaling"
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

// fits holds a value against a schema. A key that a type does not have is an error; readers have to expect such keys.
func fits(v any, s, defs object) error {
	if ref, ok := s["$ref"].(string); ok {
		return fits(v, defs[strings.TrimPrefix(ref, "#/$defs/")].(object), defs)
	}
	if any, ok := s["anyOf"].([]any); ok {
		if v == nil {
			return nil
		}
		return fits(v, any[0].(object), defs)
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

// TestJSONSchemas: docs/format has the schemas of the JSON of report, diff and report scaling, and what these write fits. Write them
// anew with -update.
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
	for _, x := range []struct {
		name string
		of   reflect.Type
		args [][]string
	}{
		{"report", reflect.TypeFor[report.Document](), [][]string{every, {"report", runs[0], "histogram", "--region", "MPI_Send", "--format", "json"}, {"report", runs[1], "--format", "json"}}},
		{"diff", reflect.TypeFor[diff.Diff](), [][]string{{"diff", runs[0], runs[1], "--format", "json"}}},
		{"scaling", reflect.TypeFor[scaling.Scaling](), [][]string{{"report", "scaling", runs[0], runs[1], "--mode", "weak", "--format", "json"}}},
	} {
		s := schemas{defs: object{}, of: map[string]reflect.Type{}}
		whole := s.typ(x.of)
		whole["$schema"], whole["title"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", "coppice."+x.name+"/1", s.defs
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
