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
	Schema      string      `json:"schema"`
	Processes   int         `json:"processes"`
	Locations   int         `json:"locations"`
	Events      uint64      `json:"events"`
	Diagnostics []CodeTotal `json:"diagnostics"`
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

// value is a json.Marshaler around a plain value.
type value[T any] struct{ v T }

func (v value[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.v) }

// Value makes a member of a document out of anything that has a JSON form.
func Value[T any](v T) json.Marshaler { return value[T]{v} }

// Complete fills in what every envelope has.
func (e *Envelope) Complete() {
	e.Schema = Schema
	if e.Diagnostics == nil {
		e.Diagnostics = []CodeTotal{}
	}
}

// WriteJSON writes a document of another verb: the envelope, a summary, and one
// key with the verb's result.
func (e *Envelope) WriteJSON(w io.Writer, b *Brief, key string, v json.Marshaler) error {
	e.Complete()
	head, err := json.Marshal(struct {
		*Envelope
		Summary *Brief `json:"summary"`
	}{e, b})
	if err != nil {
		return err
	}
	result, err := v.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return table.WriteJSON(w, json.RawMessage(fmt.Appendf(head[:len(head)-1], ",%q:%s}", key, result)))
}

// Bounds of what a page has of intervals: lines of the tree, and blocks of details.
const (
	HtmlNodes   = 300
	HtmlDetails = 30
)

// ScreenRows bounds the intervals of the first screen; the deepest go first.
const ScreenRows = 24
