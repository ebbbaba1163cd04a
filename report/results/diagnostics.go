package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// CodeTotal is what was found of one kind of problem in the whole input.
type CodeTotal struct {
	Code      trace.Code
	Count     uint64
	Worst     uint64 // largest magnitude, 0 where there is none
	Locations uint64 // with the problem; 0: in the definitions
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

// Occurrences are the problems of a location, as it has them.
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

// Detail returns the text that DIAG.detail stands for.
func Detail(texts []byte, at uint32) string {
	if at == 0 || uint64(at) > uint64(len(texts)) {
		return ""
	}
	r := varint.Read(texts[at-1:])
	return r.Text() // "" where it is damaged
}

// UnitWorst is how bad a problem is, nothing where that is not known.
func UnitWorst(u numbers.Units, code trace.Code, v uint64) table.Cell {
	if v == 0 {
		return table.None()
	}
	return table.Named(Magnitude(u, code, v), strconv.FormatUint(v, 10))
}

// Occurrences are the first ones of a code.
func (x *CodeTotal) Occurrences(u numbers.Units) *table.Table {
	t := &table.Table{Title: CodeName(x.Code), Kind: "first", Columns: []table.Column{
		table.Words(CodeName(x.Code), "code").Hidden(), table.Ints("location", "location"), table.Ints("process", "process"), table.Ints("thread", "thread"), table.Ints(u.Name(), "time"), table.Ints("event", "event"), table.Ints("worst", "worst"), table.Words("", "text"),
	}}
	if len(x.First) > 0 {
		t.Lead = fmt.Sprintf("%s: where first", CodeName(x.Code))
	}
	if _, each := x.Code.Unread(); !each && x.Count > uint64(len(x.First)) { // else one line counts all of a location
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

// Text is what was found, how often and where.
func (c *CodeTotal) Text(u numbers.Units) string {
	if k, ok := c.Code.Unread(); ok {
		return fmt.Sprintf("%s %v records in %s: %s", numbers.Count(c.Count), k, numbers.Plural(int(c.Locations), "location"), k.Account().Untold)
	}
	text := fmt.Sprintf("%s: %s in %s", c.Code.Text(), numbers.Count(c.Count), numbers.Plural(int(c.Locations), "location"))
	if c.Locations == 0 {
		text = fmt.Sprintf("%s: %s in the definitions", c.Code.Text(), numbers.Count(c.Count))
	}
	if c.Worst > 0 {
		text += ", worst " + Magnitude(u, c.Code, c.Worst)
	}
	return text
}

// Magnitude prints how bad a problem is: clocks differ by less than a microsecond
// too, so times have 9 decimals.
func Magnitude(u numbers.Units, code trace.Code, v uint64) string {
	switch {
	case !code.InTicks():
		return numbers.Count(v)
	case u.Resolution == 0:
		return numbers.Count(v) + " ticks"
	}
	return numbers.Divide64(v, u.Resolution).Fixed(9) + " s"
}

// Problems reports whether anything is wrong with the input, which records that nobody reads are not.
func Problems(codes []CodeTotal) bool {
	return slices.ContainsFunc(codes, func(c CodeTotal) bool {
		_, unread := c.Code.Unread()
		return !unread
	})
}
