package results

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// Schema names the form of JSON documents. Keys are only added within a version.
const Schema = "coppice.report/1"

// Envelope is the part that documents of every verb begin with.
type Envelope struct {
	Processes   int
	Locations   int
	Events      uint64
	Diagnostics []CodeTotal
}

// Envelope reads the head of a document.
func (r *Run) Envelope() (Envelope, error) {
	e := Envelope{Processes: len(r.Defs.Processes()), Locations: r.Defs.NumLocations()}
	whole, err := r.File.Dir(xtf.WholeRun)
	if err != nil {
		return e, fmt.Errorf("%s: directory: %w", r.Name, err)
	}
	e.Events = whole.Events
	e.Diagnostics, err = r.Codes()
	return e, err
}

// Member is one key of a JSON document.
type Member struct {
	Key   string
	Value json.Marshaler
}

// value is a json.Marshaler around a plain value.
type value[T any] struct{ v T }

func (v value[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.v) }

// Value makes a member of a document out of anything that has a JSON form.
func Value[T any](v T) json.Marshaler { return value[T]{v} }

// WriteJSON writes a document of another verb: the envelope, a summary, and one
// key with the verb's result.
func (e *Envelope) WriteJSON(w io.Writer, b *Brief, key string, v json.Marshaler) error {
	return e.Write(w, []Member{{"summary", Value(b)}, {key, v}})
}

// Write writes the envelope and members.
func (e *Envelope) Write(w io.Writer, list []Member) error {
	diagnostics := e.Diagnostics
	if diagnostics == nil {
		diagnostics = []CodeTotal{}
	}
	head := []Member{
		{"schema", Value(Schema)},
		{"processes", Value(e.Processes)},
		{"locations", Value(e.Locations)},
		{"events", Value(e.Events)},
		{"diagnostics", Value(diagnostics)},
	}
	b := []byte{'{'}
	for i, m := range append(head, list...) {
		v, err := m.Value.MarshalJSON()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Key, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", m.Key, v)
	}
	return table.WriteJSON(w, json.RawMessage(append(b, '}')))
}

// Bounds of what a page has of intervals: lines of the tree, and blocks of details.
const (
	HtmlNodes   = 300
	HtmlDetails = 30
)

// ScreenRows bounds the intervals of the first screen; the deepest go first.
const ScreenRows = 24
