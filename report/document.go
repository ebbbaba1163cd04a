package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// Schema names the form of JSON documents. Keys are only added within a version.
const Schema = "coppice.report/1"

// Section is a part of a report.
type Section string

// Sections, in the order in which a document has them.
const (
	SectionSummary     Section = "summary"
	SectionIntervals   Section = "intervals"
	SectionWaits       Section = "waits"
	SectionPOP         Section = "pop"
	SectionProfile     Section = "profile"
	SectionPaths       Section = "paths"
	SectionHistogram   Section = "histogram"
	SectionComm        Section = "comm"
	SectionClasses     Section = "classes"
	SectionCCG         Section = "ccg"
	SectionDiagnostics Section = "diagnostics"
	SectionUntold      Section = "untold"
)

// Sections lists the sections there are.
func Sections() []Section {
	return []Section{
		SectionSummary, SectionIntervals, SectionWaits, SectionPOP, SectionProfile, SectionPaths, SectionHistogram, SectionComm, SectionClasses, SectionCCG, SectionDiagnostics, SectionUntold,
	}
}

// Options choose the content of a document.
type Options struct {
	Sections  []Section       // none: the summary
	Ranks     Ranks           // of profile, paths, histogram, intervals, waits and pop
	Source    Source          // of profile and comm
	Region    uint32          // of the histogram
	Gaps      bool            // histogram of gaps, not of calls
	Span      *Span           // of intervals, waits and pop; nil: the whole run
	Intervals IntervalOptions // of intervals, and its rules of the summary; ranks and span are those above
}

// Envelope is the part that documents of every verb begin with.
type Envelope struct {
	Processes   int
	Locations   int
	Events      uint64
	Diagnostics []CodeTotal
}

// Document is a report as a value. Sections that were not asked for are nil.
type Document struct {
	Envelope
	Name     string
	Summary  *Summary
	Findings []RunFinding // with the summary
	Profile  *Profile
	Paths    *Paths
	Comm     *Comm
	Classes  *Classes
	CCG      *Graph
	Lost     []Lost // what could not be read
	text     []Section
	run      *Run

	Histogram *Histogram
	Intervals *Intervals
	Waits     *Waits
	POPs      *POPs
	Untold    *Untold // of the summary too

	hot    *hot         // what the text of the summary says about regions
	screen *firstScreen // and about intervals
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

// Document makes a report. The summary is always part of it.
func (r *Run) Document(o Options) (*Document, error) {
	d := &Document{Name: r.Name, text: o.Sections, run: r}
	if len(d.text) == 0 {
		d.text = []Section{SectionSummary}
	}
	var err error
	if d.Envelope, err = r.Envelope(); err != nil {
		return nil, err
	}
	if d.Summary, err = r.summary(o.Intervals.Rules); err != nil {
		return nil, err
	}
	if slices.Contains(d.text, SectionSummary) {
		if d.hot, err = r.hot(d.Summary); err != nil {
			return nil, err
		}
		if d.screen, err = r.firstScreen(o.Intervals.Rules); err != nil {
			return nil, err
		}
		if d.Findings, d.Lost, err = r.findings(d.Summary, d.hot); err != nil {
			return nil, err
		}
	}
	if slices.Contains(d.text, SectionSummary) || slices.Contains(d.text, SectionUntold) {
		if d.Untold, err = r.untold(d.Summary, d.Diagnostics); err != nil {
			return nil, err
		}
	}
	for _, s := range Sections() {
		if !slices.Contains(d.text, s) {
			continue
		}
		lost, err := d.fill(s, &o)
		if err != nil {
			return nil, err
		}
		d.Lost = append(d.Lost, lost...)
	}
	d.Lost = r.complete(d.Lost)
	return d, nil
}

// fill makes a section.
func (d *Document) fill(s Section, o *Options) (lost []Lost, err error) {
	r := d.run
	switch s {
	case SectionIntervals:
		x := o.Intervals
		x.Ranks, x.Span = o.Ranks, o.Span
		d.Intervals, lost, err = r.Intervals(x)
	case SectionWaits:
		d.Waits, lost, err = r.Waits(o.Ranks, o.Span)
	case SectionPOP:
		d.POPs, lost, err = r.POP(o.Ranks, o.Span, o.Intervals.Rules)
	case SectionProfile:
		d.Profile, lost, err = r.Profile(o.Ranks, o.Source)
	case SectionPaths:
		d.Paths, lost, err = r.Paths(o.Ranks)
	case SectionHistogram:
		d.Histogram, lost, err = r.Histogram(o.Ranks, o.Region, o.Gaps)
	case SectionComm:
		d.Comm, lost, err = r.Comm(d.Summary, o.Source)
	case SectionClasses:
		d.Classes, err = r.Classes()
	case SectionCCG:
		d.CCG, lost, err = r.CCG()
	case SectionDiagnostics:
		lost, err = r.addOccurrences(d.Diagnostics)
	}
	return lost, err
}

// member is one key of a JSON document.
type member struct {
	key   string
	value json.Marshaler
}

// value is a json.Marshaler around a plain value.
type value[T any] struct{ v T }

func (v value[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.v) }

// Value makes a member of a document out of anything that has a JSON form.
func Value[T any](v T) json.Marshaler { return value[T]{v} }

// WriteJSON writes one document in the envelope of every verb: the keys of the
// envelope, then what the document holds. Keys have a fixed order.
func (d *Document) WriteJSON(w io.Writer) error {
	list := []member{{"summary", Value(d.Summary)}}
	if d.hot != nil {
		list = append(list, member{"findings", Value(append([]RunFinding{}, d.Findings...))})
	}
	if d.Intervals != nil {
		list = append(list, member{"intervals", Value(d.Intervals)})
	}
	if d.Waits != nil {
		list = append(list, member{"waits", Value(d.Waits)})
	}
	if d.POPs != nil {
		list = append(list, member{"pop", Value(d.POPs)})
	}
	if d.Profile != nil {
		list = append(list, member{"profile", Value(d.Profile)})
	}
	if d.Paths != nil {
		list = append(list, member{"paths", Value(d.Paths)})
	}
	if d.Histogram != nil {
		list = append(list, member{"histogram", Value(d.Histogram)})
	}
	if d.Comm != nil {
		list = append(list, member{"comm", Value(d.Comm)})
	}
	if d.Classes != nil {
		list = append(list, member{"classes", Value(d.Classes)})
	}
	if d.CCG != nil {
		list = append(list, member{"ccg", Value(d.CCG)})
	}
	if d.Untold != nil {
		list = append(list, member{"cannot_tell", Value(d.Untold)})
	}
	if len(d.Lost) > 0 {
		list = append(list, member{"lost", Value(d.Lost)})
	}
	return d.Envelope.write(w, list)
}

// WriteJSON writes a document of another verb: the envelope, a summary, and one
// key with the verb's result.
func (e *Envelope) WriteJSON(w io.Writer, b *Brief, key string, v json.Marshaler) error {
	return e.write(w, []member{{"summary", Value(b)}, {key, v}})
}

func (e *Envelope) write(w io.Writer, list []member) error {
	diagnostics := e.Diagnostics
	if diagnostics == nil {
		diagnostics = []CodeTotal{}
	}
	head := []member{
		{"schema", Value(Schema)},
		{"processes", Value(e.Processes)},
		{"locations", Value(e.Locations)},
		{"events", Value(e.Events)},
		{"diagnostics", Value(diagnostics)},
	}
	b := []byte{'{'}
	for i, m := range append(head, list...) {
		v, err := m.value.MarshalJSON()
		if err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", m.key, v)
	}
	return writeJSON(w, json.RawMessage(append(b, '}')))
}

// writeJSON writes one document, indented.
func writeJSON[T any](w io.Writer, v T) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
