package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Schema is the name of the form of JSON documents. Within a version keys are only added.
const Schema = "coppice.report/1"

// Envelope is the beginning of the documents of every verb.
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

// Complete fills in the parts that depend on what has been read.
func (e *Envelope) Complete() {
	e.Schema = Schema
	if e.Diagnostics == nil {
		e.Diagnostics = []CodeTotal{}
	}
}

// WriteJSON writes the document of a verb other than report: the envelope, a summary, and the result under key.
func (e *Envelope) WriteJSON(w io.Writer, b *Brief, key string, v any) error {
	e.Complete()
	head, err := json.Marshal(struct {
		*Envelope
		Summary *Brief `json:"summary"`
	}{e, b})
	if err != nil {
		return err
	}
	result, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return table.WriteJSON(w, json.RawMessage(fmt.Appendf(head[:len(head)-1], ",%q:%s}", key, result)))
}

// Bounds of what a page shows of intervals: lines of the tree, and blocks of details.
const (
	HtmlNodes   = 300
	HtmlDetails = 30
)

// ScreenRows bounds the intervals of the first screen. The deepest ones are left out first.
const ScreenRows = 24

// Brief is the summary in documents of verbs other than report.
type Brief struct {
	Resolution uint64          `json:"resolution"`
	First      *uint64         `json:"first_event"` // ticks; nil where it is not known
	Last       *uint64         `json:"last_event"`
	Partial    bool            `json:"partial"`
	Provenance json.RawMessage `json:"provenance"`
}

// Brief reads the summary of a short document.
func (r *Run) Brief() (*Brief, error) {
	b := &Brief{Resolution: r.Units().Resolution, Provenance: r.Provenance}
	codes, err := r.Codes()
	if err != nil {
		return nil, err
	}
	for _, c := range codes {
		b.Partial = b.Partial || c.Code.Severity() == trace.Damage
	}
	root, err := ProgramOf(r)
	if root != nil {
		b.First, b.Last = &root.FirstBegin, &root.LastEnd
	}
	return b, err
}

// Predicted returns what a predicted run says of itself, nil for a recorded one: properties of the machine, or of the first
// process.
func Predicted(r *Run) (list [][2]string) {
	for name, value := range r.properties {
		if text, ok := strings.CutPrefix(name, "coppice: predicted "); ok && len(list) < 8 {
			list = append(list, [2]string{numbers.Clean(text, 40), numbers.Clean(value, 200)})
		}
	}
	return list
}

// Provenance is the facts that decide a result, by name.
type Provenance struct {
	Events, Format, Input, Kind, Tool string
	Options                           map[string]string
}

// ParseProvenance reads the provenance.
func ParseProvenance(b json.RawMessage) Provenance {
	var p Provenance
	_ = json.Unmarshal(b, &p) // a provenance of another form has no names to show
	return p
}

// Lines prints the provenance for people.
func (p *Provenance) Lines() [][2]string {
	list := [][2]string{{"written by", p.Tool}, {"format", "XTF " + p.Format}, {"input", p.Kind}, {"input's identity (SHA-256)", p.Input}}
	if p.Events != "" {
		list = append(list, [2]string{"events' identity (SHA-256)", p.Events})
	}
	for _, k := range slices.Sorted(maps.Keys(p.Options)) {
		list = append(list, [2]string{"option " + k, cmp.Or(p.Options[k], "default")})
	}
	for i := range list {
		list[i][0], list[i][1] = numbers.Clean(list[i][0], 60), numbers.Clean(list[i][1], 300)
	}
	return list
}

// Command returns the canonical command that makes the file from its trace, and a note if the provenance does not have all of it.
func (p *Provenance) Command(resolution uint64) (command, note string) {
	o := p.Options
	words := []string{"coppice analyze TRACE -o RUN.xtf"}
	add := func(name, value string) { words = append(words, name, quoted(value)) }
	if o["events"] == "none" {
		add("--events", "none")
	}
	if v := o["deviation"]; v != "" && v != "0" {
		add("--deviation", v)
	}
	if v := o["pages"]; v != "" && v != "packed" {
		add("--pages", v)
	}
	if o["clock_repair"] == "true" {
		words = append(words, "--clock-repair")
	}
	f, whole, err := interval.FlagsOf(o["intervals"], resolution)
	if err != nil {
		note = "# the intervals of this file are those of another version: " + numbers.Clean(o["intervals"], 200)
	}
	words = append(words, intervalFlags(&f)...)
	if !whole && err == nil {
		words = append(words, "--intervals-file FILE")
		note = "# FILE: the intervals file of that analysis, of which the file keeps only the digest"
	}
	words = append(words, classFlags(o["classes"])...)
	return strings.Join(words, " "), note
}

// intervalFlags prints the flags that are set.
func intervalFlags(f *interval.Flags) []string {
	var words []string
	for _, v := range f.Intervals {
		words = append(words, "--interval "+quoted(v))
	}
	for _, x := range [][2]string{{"--markers", f.Markers}, {"--slice", f.Slice}, {"--between", f.Between}, {"--marker-cost", f.MarkerCost}, {"--recv-point", f.RecvPoint}, {"--init", f.Init}} {
		if x[1] != "" {
			words = append(words, x[0]+" "+quoted(x[1]))
		}
	}
	if f.SliceCount > 0 {
		words = append(words, fmt.Sprintf("--slice-count %d", f.SliceCount))
	}
	if f.Fold {
		words = append(words, "--fold-recursion")
	}
	return words
}

// classFlags prints the flags of the options of classes, threshold=50000ppm,linkage=complete,...
func classFlags(options string) []string {
	var words []string
	for _, part := range strings.Split(options, ",") {
		name, value, _ := strings.Cut(part, "=")
		var ppm uint64
		if n, err := fmt.Sscanf(value, "%dppm", &ppm); n == 1 && err == nil {
			value = numbers.Divide64(ppm, 10000).Fixed(4)
			value = strings.TrimSuffix(strings.TrimRight(value, "0"), ".") + "%"
		}
		flag := map[string]string{
			"threshold": "--classes", "linkage": "--linkage", "metric": "--metric", "representative": "--representative", "sequence": "--sequence",
			"quantum": "--quantum", "classes-max": "--classes-max", "dendrogram": "--dendrogram",
		}[name]
		defaults := map[string]string{"linkage": "complete", "metric": "l1", "representative": "mean"}
		switch {
		case flag == "" || defaults[name] == value && value != "":
		case value == "":
			words = append(words, flag)
		default:
			words = append(words, flag+" "+quoted(value))
		}
	}
	return words
}

// quoted prints a word for a shell.
func quoted(v string) string {
	v = numbers.Clean(v, 300)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=:,.%/@", r)
	}
	if v != "" && strings.IndexFunc(v, func(r rune) bool { return !plain(r) }) < 0 {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}

// CodeTotal is the problems of one kind in the whole input.
type CodeTotal struct {
	Code      trace.Code
	Count     uint64
	Worst     uint64 // largest magnitude, 0 where there is none
	Locations uint64 // with the problem; 0: in the trace as a whole
	First     []Occurrence
}

var severityNames = [...]string{trace.Note: "note", trace.Warning: "warning", trace.Damage: "damage"}

// SeverityName is the name of a severity in documents.
func SeverityName(s trace.Severity) string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "unknown"
}

// CodeName is the name of a code in documents.
func CodeName(c trace.Code) string {
	if n := c.String(); n != "" {
		return n
	}
	return fmt.Sprintf("code-%d", uint32(c))
}

// MarshalJSON writes the code by name, with its meaning.
func (c CodeTotal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code      string       `json:"code"`
		Severity  string       `json:"severity"`
		Text      string       `json:"text"`
		Count     uint64       `json:"count"`
		Worst     uint64       `json:"worst"`
		Locations uint64       `json:"locations"`
		First     []Occurrence `json:"first,omitempty"`
	}{CodeName(c.Code), SeverityName(c.Code.Severity()), c.Code.Text(), c.Count, c.Worst, c.Locations, c.First})
}

// Codes reads the totals of all diagnostics, by ascending code.
func (r *Run) Codes() ([]CodeTotal, error) {
	list := []CodeTotal{}
	err := Load(r, xtf.WholeRun, func(d *xtf.Diag) {
		list = append(list, CodeTotal{Code: trace.Code(d.Code), Count: d.Count, Worst: d.Worst, Locations: d.Event})
	})
	return list, r.Failed(xtf.WholeRun, "totals of diagnostics", err)
}

// Occurrence is one problem and where it was found.
type Occurrence struct {
	Place
	Time  uint64     `json:"time"`  // ticks
	Event *uint64    `json:"event"` // number in the location's stream, nil if not known
	Count uint64     `json:"count"`
	Worst uint64     `json:"worst"`
	Text  string     `json:"text"`
	Code  trace.Code `json:"-"`
	P     trace.P    `json:"-"`
}

// KeptOccurrences bounds the occurrences of one code.
const KeptOccurrences = 16

// AddOccurrences reads the earliest problems of every code into codes.
func AddOccurrences(r *Run, codes []CodeTotal) ([]table.Lost, error) {
	var all []Occurrence
	lost, err := r.EachLocation(Ranks{}, "diagnostics", func(p trace.P) error {
		list, err := Occurrences(r, p)
		if err == nil && len(list) > 0 {
			all = KeepFirst(append(all, list...))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range codes {
		for _, o := range all {
			if o.Code == codes[i].Code {
				codes[i].First = append(codes[i].First, o)
			}
		}
	}
	return lost, nil
}

// KeepFirst sorts the list and keeps the first of each code.
func KeepFirst(list []Occurrence) []Occurrence {
	slices.SortStableFunc(list, func(a, b Occurrence) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Time, b.Time), cmp.Compare(a.P, b.P))
	})
	n, run := 0, 0
	for i := range list {
		if i == 0 || list[i].Code != list[i-1].Code {
			run = 0
		}
		if run++; run <= KeptOccurrences {
			list[n] = list[i]
			n++
		}
	}
	return list[:n]
}

// Occurrences reads the problems of a location, in the order of the file.
func Occurrences(r *Run, p trace.P) ([]Occurrence, error) {
	var list []Occurrence
	var details []uint32
	err := Load(r, xtf.Proc(p), func(d *xtf.Diag) {
		if d.Detail == xtf.DiagTotal {
			return
		}
		o := Occurrence{Place: r.Place(p), Time: d.T, Count: d.Count, Worst: d.Worst, Code: trace.Code(d.Code), P: p}
		if d.Event != xtf.Never {
			o.Event = new(d.Event)
		}
		list, details = append(list, o), append(details, d.Detail)
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	texts, err := r.File.BlobBytes(xtf.Proc(p), xtf.KindDetails)
	if err != nil && !errors.Is(err, xtf.ErrNoSection) {
		return nil, err
	}
	for i, d := range details {
		list[i].Text = Detail(texts, d)
	}
	return list, nil
}

// Detail returns the text at an offset that DIAG.detail gives.
func Detail(texts []byte, at uint32) string {
	if at == 0 || uint64(at) > uint64(len(texts)) {
		return ""
	}
	r := varint.Read(texts[at-1:])
	return r.Text() // "" where it is damaged
}

// UnitWorst prints how bad a problem is, nothing where that is not known.
func UnitWorst(u numbers.Units, code trace.Code, v uint64) table.Cell {
	if v == 0 {
		return table.None()
	}
	return table.Named(Magnitude(u, code, v), strconv.FormatUint(v, 10))
}

// Occurrences lists the first problems of a code.
func (x *CodeTotal) Occurrences(u numbers.Units) *table.Table {
	t := &table.Table{Title: CodeName(x.Code), Kind: "first", Columns: []table.Column{
		table.Words(CodeName(x.Code), "code").Hidden(), table.Ints("location", "location"), table.Ints("process", "process"), table.Ints("thread", "thread"), table.Ints(u.Name(), "time"), table.Ints("event", "event"), table.Ints("worst", "worst"), table.Words("", "text"),
	}}
	if len(x.First) > 0 {
		t.Lead = fmt.Sprintf("%s: where first", CodeName(x.Code))
	}
	if _, each := x.Code.Unread(); !each && x.Count > uint64(len(x.First)) { // else one line counts all problems of a location
		t.Lead += fmt.Sprintf(", %d of %s", len(x.First), numbers.Count(x.Count))
	}
	table.Fill(t, "place", x.First, func(o *Occurrence) []table.Cell {
		event, process := table.Cell{Text: "?"}, table.PlainNumber(o.Process)
		if o.Event != nil {
			event = table.PlainNumber(*o.Event)
		}
		if o.Process == trace.Undefined {
			process = table.Cell{Text: "?"}
		}
		return []table.Cell{table.Word(CodeName(x.Code)), table.PlainNumber(o.Location), process, table.PlainNumber(o.Thread), table.Time(u, o.Time), event, UnitWorst(u, x.Code, o.Worst), table.Named(numbers.Clean(o.Text, 160), o.Text)}
	})
	return t
}

// Text says what was found, how often and where.
func (c *CodeTotal) Text(u numbers.Units) string {
	if k, ok := c.Code.Unread(); ok {
		return fmt.Sprintf("%s %v records in %s: %s", numbers.Count(c.Count), k, numbers.Plural(int(c.Locations), "location"), k.Info().Untold)
	}
	text := fmt.Sprintf("%s: %s in %s", c.Code.Text(), numbers.Count(c.Count), numbers.Locations(c.Locations))
	if c.Worst > 0 {
		text += ", worst " + Magnitude(u, c.Code, c.Worst)
	}
	return text
}

// Magnitude prints how bad a problem is. Clocks differ by less than a microsecond too, so times have 9 decimals.
func Magnitude(u numbers.Units, code trace.Code, v uint64) string {
	switch {
	case !code.InTicks():
		return numbers.Count(v)
	case u.Resolution == 0:
		return numbers.Count(v) + " ticks"
	}
	return numbers.Divide64(v, u.Resolution).Fixed(9) + " s"
}
