package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/fileio"
	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
)

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
	SectionTopology    Section = "topology"
	SectionIO          Section = "io"
	SectionCounters    Section = "counters"
	SectionClasses     Section = "classes"
	SectionCCG         Section = "ccg"
	SectionDiagnostics Section = "diagnostics"
	SectionUntold      Section = "untold"
)

// section says how a section is read, and to which chapter it leads.
type section struct {
	name    Section
	heading string // on a page
	read    func(d *Document, r *results.Run, o *Options) ([]table.Lost, error)
	fill    func(d *Document, b *table.Book, c *table.Chapter)
}

// sections lists all sections, in the order in which a document has them.
var sections = []section{
	{SectionSummary, "Summary", (*Document).readSummary, (*Document).summary},
	{SectionIntervals, "Intervals", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		x := o.Intervals
		x.Ranks, x.Span = o.Ranks, o.Span
		return keep(&d.Intervals)(NewIntervals(r, x))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Intervals.chapter(d, b, c) }},
	{SectionWaits, "Waits and their causes", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Waits)(NewWaits(r, o.Ranks, o.Span))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Waits.chapter(b, c, d.run) }},
	{SectionPOP, "Efficiencies (POP)", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.POPs)(NewPOPs(r, o.Ranks, o.Span, o.Intervals.Rules))
	}, func(d *Document, b *table.Book, c *table.Chapter) {
		d.POPs.chapter(b, c)
		for _, note := range d.unmeasured(b.Unit) {
			c.Say("%s", note)
		}
	}},
	{SectionProfile, "Regions", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Profile)(results.NewProfile(r, o.Ranks, o.Source))
	}, func(d *Document, b *table.Book, c *table.Chapter) { profileChapter(d.Profile, d, b, c) }},
	{SectionPaths, "Call paths", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Paths)(NewPaths(r, o.Ranks))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Paths.chapter(d, b, c) }},
	{SectionHistogram, "Durations", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Histogram)(NewHistogram(r, o.Ranks, o.Region, o.Gaps))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Histogram.chapter(b, c) }},
	{SectionComm, "Messages between ranks", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Comm)(NewComm(r, d.Summary, o.Source))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Comm.chapter(d, b, c) }},
	{SectionTopology, "Topology", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Topology)(newTopology(r, d.Summary, o))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Topology.chapter(b, c) }},
	{SectionIO, "File I/O", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.IO)(fileio.New(r, o.Ranks))
	}, func(d *Document, b *table.Book, c *table.Chapter) { fileChapter(d.IO, b, c, d.Summary.Ticks.Runtime) }},
	{SectionCounters, "Counters", func(d *Document, r *results.Run, o *Options) ([]table.Lost, error) {
		return keep(&d.Counters)(counters.NewCounted(r, o.Ranks, nil, true))
	}, func(d *Document, b *table.Book, c *table.Chapter) { countersChapter(d.Counters, b, c) }},
	{SectionClasses, "Classes of processes", func(d *Document, r *results.Run, _ *Options) (_ []table.Lost, err error) {
		d.Classes, err = NewClasses(r)
		return nil, err
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.Classes.chapter(b, c) }},
	{SectionCCG, "Call graph", func(d *Document, r *results.Run, _ *Options) ([]table.Lost, error) {
		return keep(&d.CCG)(NewGraph(r))
	}, func(d *Document, b *table.Book, c *table.Chapter) { d.CCG.chapter(b, c) }},
	{SectionDiagnostics, "Diagnostics", func(d *Document, r *results.Run, _ *Options) ([]table.Lost, error) {
		return results.AddOccurrences(r, d.Diagnostics)
	}, (*Document).problems},
	{SectionUntold, "What this trace cannot tell", (*Document).readUntold, func(d *Document, _ *table.Book, c *table.Chapter) { d.Untold.Chapter(c, 0, "") }},
}

// keep returns a function that stores the result of a section and passes on its losses.
func keep[T any](to *T) func(result T, lost []table.Lost, err error) ([]table.Lost, error) {
	return func(result T, lost []table.Lost, err error) ([]table.Lost, error) {
		*to = result
		return lost, err
	}
}

// Sections lists the names of all sections.
func Sections() []Section {
	list := make([]Section, len(sections))
	for i := range sections {
		list[i] = sections[i].name
	}
	return list
}

// Options choose the content of a document.
type Options struct {
	Sections  []Section               // none: the summary
	Ranks     results.Ranks           // of profile, paths, histogram, intervals, waits and pop
	Source    results.Source          // of profile and comm
	Region    uint32                  // of the histogram
	Gaps      bool                    // histogram of gaps, not of calls
	Counters  []string                // of topology, next to the components that intervals list
	Span      *results.Span           // of intervals, waits and pop; nil: the whole run
	Intervals results.IntervalOptions // of intervals, and its rules of the summary; ranks and span are those above
}

// Document is a report as a value. Sections that were not asked for are nil.
type Document struct {
	results.Envelope
	Name      string             `json:"-"`
	Summary   *results.Summary   `json:"summary"`
	Findings  []findings.Finding `json:"findings,omitzero"` // with the summary
	Energy    []counters.Counter `json:"energy,omitempty"`  // with the summary: counters of joules and watts
	Intervals *Intervals         `json:"intervals,omitempty"`
	Waits     *Waits             `json:"waits,omitempty"`
	POPs      *POPs              `json:"pop,omitempty"`
	Profile   *results.Profile   `json:"profile,omitempty"`
	Paths     *Paths             `json:"paths,omitempty"`
	Histogram *Histogram         `json:"histogram,omitempty"`
	Comm      *Comm              `json:"comm,omitempty"`
	Topology  *Topology          `json:"topology,omitempty"`
	IO        *fileio.Totals     `json:"io,omitempty"`
	Counters  *counters.Counted  `json:"counters,omitempty"`
	Classes   *Classes           `json:"classes,omitempty"`
	CCG       *Graph             `json:"ccg,omitempty"`
	Untold    *findings.Untold   `json:"cannot_tell,omitempty"` // of the summary too
	Lost      []table.Lost       `json:"lost,omitempty"`        // what could not be read

	text   []Section
	run    *results.Run
	hot    *results.Hot // regions that the text of the summary names
	screen *firstScreen // intervals that it names
}

// New makes a report. The summary is always part of it.
func New(r *results.Run, o Options) (*Document, error) {
	d := &Document{Name: r.Name, text: o.Sections, run: r}
	if len(d.text) == 0 {
		d.text = []Section{SectionSummary}
	}
	var err error
	if d.Envelope, err = r.Envelope(); err != nil {
		return nil, err
	}
	if d.Summary, err = r.Summary(o.Intervals.Rules); err != nil {
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
	d.Lost = r.Complete(d.Lost)
	return d, nil
}

// readSummary reads what a summary has in addition to its numbers.
func (d *Document) readSummary(r *results.Run, o *Options) (lost []table.Lost, err error) {
	if d.hot, err = results.NewHot(r, d.Summary); err != nil {
		return nil, err
	}
	if d.screen, err = runFirstScreen(r, o.Intervals.Rules); err != nil {
		return nil, err
	}
	if d.Findings, lost, err = findings.New(r, d.Summary, d.hot); err != nil {
		return nil, err
	}
	var more []table.Lost
	if d.Energy, more, err = counters.Energy(r); err != nil {
		return nil, err
	}
	_, err = d.readUntold(r, o)
	return append(lost, more...), err
}

func (d *Document) readUntold(r *results.Run, _ *Options) (_ []table.Lost, err error) {
	d.Untold, err = findings.NewUntold(r, d.Summary, d.Diagnostics)
	return nil, err
}

// Section is the only section that was asked for, "" for several.
func (d *Document) Section() Section {
	if len(d.text) != 1 {
		return ""
	}
	return d.text[0]
}

// PageSections are the sections of a page about the whole run: all for which the file has results.
func PageSections(r *results.Run) ([]Section, error) {
	list := []Section{SectionSummary, SectionIntervals, SectionPOP, SectionProfile, SectionComm, SectionDiagnostics, SectionUntold}
	if r.Rows {
		list = append(list, SectionWaits)
	}
	nodes, _ := results.Hosts(r.Defs)
	if len(nodes) > 1 || slices.ContainsFunc(r.Defs.CartTopologies, func(t trace.CartTopology) bool { return newGrid(r, &t) != nil }) {
		list = append(list, SectionTopology)
	}
	if r.Rows && len(r.Defs.IoHandles) > 0 {
		list = append(list, SectionIO)
	}
	if r.Rows && len(r.Defs.MetricMembers) > 0 {
		list = append(list, SectionCounters)
	}
	classes, err := r.File.Classes()
	if err == nil && classes != nil {
		list = append(list, SectionClasses)
	}
	return list, err
}

// Book has a chapter for each section that was asked for. A page adds pictures of the run to its summary.
func (d *Document) Book(page bool, rows int) (*table.Book, error) {
	s := d.Summary
	b := &table.Book{Unit: numbers.Units{Resolution: s.Resolution}, Page: page, Rows: rows, Mixed: d.Section() == "", Name: d.Name, Subtitle: "Performance report of coppice"}
	if rows < 0 && d.Paths != nil {
		b.Rows = len(d.Paths.Paths)
	}
	head := fmt.Sprintf("%s  %s", d.Name, numbers.Plural(d.Processes, "process"))
	if d.Locations != d.Processes {
		head += "  " + numbers.Plural(d.Locations, "location")
	}
	b.Heads = []string{head + fmt.Sprintf("  %s %s  %s events  file %s", b.Unit.Ticks(s.Ticks.Runtime), b.Unit.Name(), numbers.Count(d.Events), numbers.Bytes(uint64(s.File.Bytes)))}
	if s.Partial {
		b.Notes = []string{"partial: the input was damaged or incomplete; these numbers describe what could be read (section diagnostics)"}
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
		c := b.Chapter(string(name), sections[i].heading, "")
		c.Command = "coppice report RUN.xtf " + string(name)
		sections[i].fill(d, b, c)
		if page && name == SectionSummary {
			if err := d.pictures(b); err != nil {
				return nil, err
			}
		}
	}
	b.Lost = d.Lost
	if page { // whose pictures read more of the file
		b.Lost = d.run.Complete(d.Lost)
		b.About, b.Commands = d.origin()
	}
	return b, nil
}

// pictures adds the pictures of the whole run.
func (d *Document) pictures(b *table.Book) error {
	f, err := d.ranks(b.Unit)
	if err != nil {
		return err
	}
	if f != nil {
		b.Chapter("ranks", "Ranks", "").Figure(f)
	}
	if f, err = d.timeline(b.Unit); err != nil || f == nil {
		return err
	}
	c := b.Chapter("timeline", "Timeline", "")
	c.Figure(f)
	c.Table(d.viewerSpans())
	return nil
}

// WriteJSON writes one document in the envelope of every verb.
func (d *Document) WriteJSON(w io.Writer) error {
	d.Envelope.Complete()
	return table.WriteJSON(w, d)
}

// origin says how the file came to be, and which commands make the file and this page again.
func (d *Document) origin() (lines [][2]string, commands []string) {
	p := results.ParseProvenance(d.Summary.Provenance)
	lines = append(p.Lines(), [2]string{"file", fmt.Sprintf("%s, %s", d.Summary.File.ID, numbers.Bytes(uint64(max(d.Summary.File.Bytes, 0))))})
	analyze, note := p.Command(d.Summary.Resolution)
	commands = []string{analyze, "coppice report RUN.xtf --format html -o report.html" + d.ruleFlags()}
	if note != "" {
		commands = append(commands, note)
	}
	return lines, commands
}

// ruleFlags are the flags of the rules that are not the default.
func (d *Document) ruleFlags() string {
	text := ""
	if d.Intervals == nil {
		return text
	}
	if o := &d.Intervals.Options; o.Productive != string(results.ProductiveMean) {
		text += " --mpi-productive " + o.Productive
	}
	if d.Intervals.Options.Processors == "all" {
		text += " --processors all"
	}
	if r := d.Intervals.text.Rules; r.Init {
		text += " --init include"
	}
	if d.Intervals.text.Rules.IO {
		text += " --io-productive"
	}
	return text
}

// problems lists what is wrong with the input, and where it was found first.
func (d *Document) problems(b *table.Book, c *table.Chapter) {
	c.Title = "diagnostics"
	u := b.Unit
	if !problems(d.Diagnostics) {
		c.Say("nothing was found wrong with the input")
	}
	c.Table(d.problemTable(u, trace.Note))
	for i := range d.Diagnostics {
		c.Table(d.Diagnostics[i].Occurrences(u))
	}
}

// problemTable lists the totals of diagnostics of severity least and above.
func (d *Document) problemTable(u numbers.Units, least trace.Severity) *table.Table {
	t := &table.Table{Title: "What was found in the input", Kind: "total", Columns: []table.Column{
		table.Words("severity", "severity"), table.Words("code", "code"), table.Words("found", ""), table.Ints("", "count").Hidden(), table.Ints("", "locations").Hidden(), table.Ints("", "worst").Hidden(),
	}}
	for i := range d.Diagnostics {
		x := &d.Diagnostics[i]
		if s := x.Code.Severity(); s >= least {
			t.Add(table.Word(results.SeverityName(s)), table.Word(results.CodeName(x.Code)), table.Word(x.Text(u)), table.Number(x.Count), table.Number(x.Locations), results.UnitWorst(u, x.Code, x.Worst))
		}
	}
	return t
}

// problems reports whether anything is wrong with the input. Records that no analysis reads are not wrong.
func problems(codes []results.CodeTotal) bool {
	return slices.ContainsFunc(codes, func(c results.CodeTotal) bool {
		_, unread := c.Code.Unread()
		return !unread
	})
}
