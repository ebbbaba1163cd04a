package results

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
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

// Brief is the summary in documents of other verbs than report.
type Brief struct {
	Resolution uint64          `json:"resolution"`
	First      *uint64         `json:"first_event"` // ticks; nil where it is not known
	Last       *uint64         `json:"last_event"`
	Partial    bool            `json:"partial"`
	Provenance json.RawMessage `json:"provenance"`
}

// Brief reads what a short document tells about the run.
func (r *Run) Brief() (*Brief, error) {
	b := &Brief{Resolution: r.Units().Resolution, Provenance: r.Provenance}
	codes, err := r.Codes()
	if err != nil {
		return nil, err
	}
	for _, c := range codes {
		b.Partial = b.Partial || c.Code.Severity() == trace.Damage
	}
	root, err := programOf(r)
	if root != nil {
		b.First, b.Last = &root.FirstBegin, &root.LastEnd
	}
	return b, err
}

// LocationTypes counts locations by type.
type LocationTypes struct {
	CPU         int `json:"cpu_threads"`
	Accelerator int `json:"accelerator_streams"`
	Metric      int `json:"metric_recorders"`
	Other       int `json:"other"`
}

// CountLocations counts the locations of d by type.
func CountLocations(d *trace.Definitions) LocationTypes {
	var t LocationTypes
	for i := range d.Locations {
		switch d.Locations[i].Type {
		case trace.CPUThread:
			t.CPU++
		case trace.AcceleratorStream:
			t.Accelerator++
		case trace.MetricLocation:
			t.Metric++
		default:
			t.Other++
		}
	}
	return t
}

// DefinitionCounts counts definition records.
type DefinitionCounts struct {
	Strings       int `json:"strings"`
	Regions       int `json:"regions"`
	Groups        int `json:"groups"`
	Communicators int `json:"communicators"`
	Windows       int `json:"rma_windows"`
	Metrics       int `json:"metrics"`
	Contexts      int `json:"calling_contexts"`
	Handles       int `json:"io_handles"`
	All           int `json:"all"`
}

// CountDefinitions counts the records of d.
func CountDefinitions(d *trace.Definitions) DefinitionCounts {
	c := DefinitionCounts{
		Strings: len(d.Strings), Regions: len(d.Regions), Groups: len(d.Groups), Communicators: len(d.Comms) + len(d.InterComms),
		Windows: len(d.RmaWins), Metrics: len(d.MetricMembers), Contexts: len(d.CallingContexts), Handles: len(d.IoHandles),
	}
	d.Each(func(trace.DefKind, trace.Record) { c.All++ })
	return c
}

// Content is what an XTF file consists of.
type Content struct {
	Format      string           `json:"format"`
	ID          string           `json:"id"`
	Bytes       int64            `json:"bytes"`
	PageBytes   int64            `json:"alignment"`
	Rows        bool             `json:"rows"`  // of events; else the call graph and sums alone
	Bound       *Bound           `json:"bound"` // of times in the call graph; nil: exact
	Locations   LocationTypes    `json:"locations"`
	Definitions DefinitionCounts `json:"definitions"`
	Arrays      []ArrayTotal     `json:"arrays"`   // by type
	Sections    []PartTotal      `json:"sections"` // of the file, and blobs of locations, by kind
	Lost        []table.Lost     `json:"lost,omitempty"`
}

// ArrayTotal sums up the arrays of one type.
type ArrayTotal struct {
	Type   string `json:"type"`
	Arrays uint64 `json:"arrays"`
	Rows   uint64 `json:"rows"`
	Bytes  uint64 `json:"bytes"` // stored
}

// PartTotal sums up the sections or blobs of one kind.
type PartTotal struct {
	Name  string `json:"name"`
	Parts uint64 `json:"parts"`
	Bytes uint64 `json:"bytes"`
}

// NewContent lists what the file holds: one region head per location is read.
func NewContent(r *Run) (*Content, error) {
	id := r.File.FileID()
	c := &Content{
		Format: fmt.Sprintf("XTF %d", xtf.Major), ID: hex.EncodeToString(id[:]), Bytes: r.Size, PageBytes: r.File.Types().Align(),
		Rows: r.Rows, Locations: CountLocations(r.Defs), Definitions: CountDefinitions(r.Defs),
	}
	var err error
	if c.Bound, err = keptBound(r); err != nil {
		return nil, err
	}
	arrays := make([]ArrayTotal, len(r.File.Types().All()))
	columns, details := PartTotal{Name: "call graph columns"}, PartTotal{Name: "diagnostic texts"}
	procs := make([]xtf.Proc, 0, r.File.Procs()+1)
	for p := range xtf.Proc(r.File.Procs()) {
		procs = append(procs, p)
	}
	for _, p := range append(procs, xtf.WholeRun) {
		blobs, err := addRegion(r, p, arrays)
		if err != nil {
			if !Partial(err) || p == xtf.WholeRun {
				return nil, fmt.Errorf("%s: region %d: %w", r.Name, p, err)
			}
			c.Lost = append(c.Lost, r.Lost(trace.P(p), "info", err))
			continue
		}
		for _, b := range blobs {
			t := &details
			if b.Kind == xtf.KindCCGColumns {
				t = &columns
			}
			t.Parts++
			t.Bytes += uint64(b.Size)
		}
	}
	for _, a := range arrays {
		if a.Arrays > 0 {
			c.Arrays = append(c.Arrays, a)
		}
	}
	for _, s := range r.File.Sections() {
		c.Sections = append(c.Sections, PartTotal{cmp.Or(sectionNames[s.Kind], fmt.Sprintf("section %d", s.Kind)), 1, uint64(s.Size)})
	}
	c.Sections = append(c.Sections, columns, details)
	return c, nil
}

// addRegion adds the arrays of a region, by the place of their type in the
// table, and returns its blobs.
func addRegion(r *Run, p xtf.Proc, totals []ArrayTotal) ([]xtf.SectionInfo, error) {
	for i := range totals {
		t := &r.File.Types().All()[i]
		a, err := r.File.Array(p, t.ID)
		if err != nil {
			return nil, err
		}
		totals[i].Type = t.Name
		if a.Len() == 0 {
			continue
		}
		totals[i].Arrays++
		totals[i].Rows += a.Len()
		totals[i].Bytes += a.StoredBytes()
	}
	return r.File.Blobs(p)
}

// sectionNames are those of the sections of a file.
var sectionNames = map[uint32]string{
	xtf.KindDefinitions: "definitions", xtf.KindTypes: "types", xtf.KindDirectory: "directory", xtf.KindProvenance: "provenance",
	xtf.KindCCG: "call graph", xtf.KindNames: "names", xtf.KindNodeNames: "names of intervals",
}

// Binary prints bytes in binary units with one digit.
func Binary(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// WriteFacts writes lines of a name and what is so called, below a title. A line without a text is left out.
func WriteFacts(w io.Writer, title string, rows [][]string) error {
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	return table.WriteTable(w, []string{"<", "<"}, slices.DeleteFunc(rows, func(r []string) bool { return r[1] == "" }))
}

// WriteText lists the content.
func (c *Content) WriteText(out io.Writer) error {
	return table.WriteText(numbers.Units{}, out, len(c.Arrays), nil, func(p *table.Chapter) {
		rows := &table.Table{Columns: []table.Column{table.Words("rows", ""), table.Ints("arrays", ""), table.Ints("rows", ""), table.Ints("stored", ""), table.Reals("bytes/row", "")}}
		for _, a := range c.Arrays {
			rows.Add(table.Word(a.Type), table.Number(a.Arrays), table.Number(a.Rows), table.Size(a.Bytes), table.Quotient(numbers.NewRatio(a.Bytes, a.Rows), 2))
		}
		p.Table(rows)
		sections := &table.Table{Columns: []table.Column{table.Words("sections", ""), table.Ints("parts", ""), table.Ints("bytes", "")}}
		for _, s := range c.Sections {
			if s.Parts > 0 {
				sections.Add(table.Word(s.Name), table.Number(s.Parts), table.Size(s.Bytes))
			}
		}
		p.Table(sections)
	})
}
