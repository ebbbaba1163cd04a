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

// section says how a section is read, and which chapter it becomes.
type section struct {
	name    Section
	heading string // on a page
	read    func(d *Document, r *Run, o *Options) ([]Lost, error)
	fill    func(d *Document, b *book, c *chapter)
}

// sections are those there are, in the order in which a document has them.
var sections = []section{
	{SectionSummary, "Summary", (*Document).readSummary, (*Document).summary},
	{SectionIntervals, "Intervals", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		x := o.Intervals
		x.Ranks, x.Span = o.Ranks, o.Span
		return keep(&d.Intervals)(r.Intervals(x))
	}, func(d *Document, b *book, c *chapter) { d.Intervals.chapter(d, b, c) }},
	{SectionWaits, "Waits and their causes", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.Waits)(r.Waits(o.Ranks, o.Span))
	}, func(d *Document, b *book, c *chapter) { d.Waits.chapter(b, c, d.run) }},
	{SectionPOP, "Efficiencies (POP)", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.POPs)(r.POP(o.Ranks, o.Span, o.Intervals.Rules))
	}, func(d *Document, b *book, c *chapter) { d.POPs.chapter(b, c) }},
	{SectionProfile, "Regions", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.Profile)(r.Profile(o.Ranks, o.Source))
	}, func(d *Document, b *book, c *chapter) { d.Profile.chapter(d, b, c) }},
	{SectionPaths, "Call paths", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.Paths)(r.Paths(o.Ranks))
	}, func(d *Document, b *book, c *chapter) { d.Paths.chapter(d, b, c) }},
	{SectionHistogram, "Durations", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.Histogram)(r.Histogram(o.Ranks, o.Region, o.Gaps))
	}, func(d *Document, b *book, c *chapter) { d.Histogram.chapter(b, c) }},
	{SectionComm, "Messages between ranks", func(d *Document, r *Run, o *Options) ([]Lost, error) {
		return keep(&d.Comm)(r.Comm(d.Summary, o.Source))
	}, func(d *Document, b *book, c *chapter) { d.Comm.chapter(d, b, c) }},
	{SectionClasses, "Classes of processes", func(d *Document, r *Run, _ *Options) (_ []Lost, err error) {
		d.Classes, err = r.Classes()
		return nil, err
	}, func(d *Document, b *book, c *chapter) { d.Classes.chapter(b, c) }},
	{SectionCCG, "Call graph", func(d *Document, r *Run, _ *Options) ([]Lost, error) {
		return keep(&d.CCG)(r.CCG())
	}, func(d *Document, b *book, c *chapter) { d.CCG.chapter(b, c) }},
	{SectionDiagnostics, "Diagnostics", func(d *Document, r *Run, _ *Options) ([]Lost, error) {
		return r.addOccurrences(d.Diagnostics)
	}, (*Document).problems},
	{SectionUntold, "What this trace cannot tell", (*Document).readUntold, func(d *Document, _ *book, c *chapter) { d.Untold.chapter(c, 0, "") }},
}

// keep puts a result into its place, and returns what it leaves out.
func keep[T any](to *T) func(result T, lost []Lost, err error) ([]Lost, error) {
	return func(result T, lost []Lost, err error) ([]Lost, error) {
		*to = result
		return lost, err
	}
}

// Sections lists the sections there are.
func Sections() []Section {
	list := make([]Section, len(sections))
	for i := range sections {
		list[i] = sections[i].name
	}
	return list
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
	for i := range sections {
		if !slices.Contains(d.text, sections[i].name) {
			continue
		}
		lost, err := sections[i].read(d, r, &o)
		if err != nil {
			return nil, err
		}
		d.Lost = append(d.Lost, lost...)
	}
	d.Lost = r.complete(d.Lost)
	return d, nil
}

// readSummary reads what a summary has in addition to its numbers.
func (d *Document) readSummary(r *Run, o *Options) (lost []Lost, err error) {
	if d.hot, err = r.hot(d.Summary); err != nil {
		return nil, err
	}
	if d.screen, err = r.firstScreen(o.Intervals.Rules); err != nil {
		return nil, err
	}
	if d.Findings, lost, err = r.findings(d.Summary, d.hot); err != nil {
		return nil, err
	}
	_, err = d.readUntold(r, o)
	return lost, err
}

func (d *Document) readUntold(r *Run, _ *Options) (_ []Lost, err error) {
	d.Untold, err = r.untold(d.Summary, d.Diagnostics)
	return nil, err
}

// Section is the one section that was asked for, "" for several.
func (d *Document) Section() Section {
	if len(d.text) != 1 {
		return ""
	}
	return d.text[0]
}

// PageSections are those of a page about the whole run: all that the file has results for.
func (r *Run) PageSections() ([]Section, error) {
	list := []Section{SectionSummary, SectionIntervals, SectionPOP, SectionProfile, SectionComm, SectionDiagnostics, SectionUntold}
	rows, err := r.HasRows()
	if err != nil {
		return nil, err
	}
	if rows {
		list = append(list, SectionWaits)
	}
	classes, err := r.File.Classes()
	if err == nil && classes != nil {
		list = append(list, SectionClasses)
	}
	return list, err
}

// book has a chapter for each section that was asked for; a page has the pictures of the run with its summary.
func (d *Document) book(page bool, rows int) (*book, error) {
	s := d.Summary
	b := &book{unit: unit{s.Resolution}, page: page, rows: rows, mixed: d.Section() == "", name: d.Name, subtitle: "Performance report of coppice"}
	if rows < 0 && d.Paths != nil {
		b.rows = len(d.Paths.Paths)
	}
	head := fmt.Sprintf("%s  %s", d.Name, plural(d.Processes, "process"))
	if d.Locations != d.Processes {
		head += "  " + plural(d.Locations, "location")
	}
	b.heads = []string{head + fmt.Sprintf("  %s %s  %s events  file %s", b.unit.ticks(s.Ticks.Runtime), b.unit.name(), count(d.Events), Bytes(uint64(s.File.Bytes)))}
	if s.Partial {
		b.notes = []string{"partial: the input was damaged or incomplete; these numbers describe what could be read (section diagnostics)"}
	}
	order := d.text
	if page {
		order = Sections()
	}
	for _, name := range order {
		i := slices.IndexFunc(sections, func(x section) bool { return x.name == name })
		if page && !slices.Contains(d.text, name) {
			continue
		}
		c := b.chapter(string(name), sections[i].heading, "")
		c.command = "coppice report RUN.xtf " + string(name)
		sections[i].fill(d, b, c)
		if page && name == SectionSummary {
			if err := d.pictures(b); err != nil {
				return nil, err
			}
		}
	}
	b.lost = d.Lost
	if page { // whose pictures read more of the file
		b.lost = d.run.complete(d.Lost)
		b.about, b.commands = d.origin()
	}
	return b, nil
}

// pictures adds those of the whole run.
func (d *Document) pictures(b *book) error {
	f, err := d.ranks(b.unit)
	if err != nil {
		return err
	}
	if f != nil {
		b.chapter("ranks", "Ranks", "").figure(f)
	}
	if f, err = d.timeline(b.unit); err != nil || f == nil {
		return err
	}
	c := b.chapter("timeline", "Timeline", "")
	c.figure(f)
	c.table(d.viewerSpans())
	return nil
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
	add := func(present bool, key string, v json.Marshaler) {
		if present {
			list = append(list, member{key, v})
		}
	}
	add(d.hot != nil, "findings", Value(append([]RunFinding{}, d.Findings...)))
	add(d.Intervals != nil, "intervals", Value(d.Intervals))
	add(d.Waits != nil, "waits", Value(d.Waits))
	add(d.POPs != nil, "pop", Value(d.POPs))
	add(d.Profile != nil, "profile", Value(d.Profile))
	add(d.Paths != nil, "paths", Value(d.Paths))
	add(d.Histogram != nil, "histogram", Value(d.Histogram))
	add(d.Comm != nil, "comm", Value(d.Comm))
	add(d.Classes != nil, "classes", Value(d.Classes))
	add(d.CCG != nil, "ccg", Value(d.CCG))
	add(d.Untold != nil, "cannot_tell", Value(d.Untold))
	add(len(d.Lost) > 0, "lost", Value(d.Lost))
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
