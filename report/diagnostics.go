package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/varint"
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

func severityName(s trace.Severity) string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "unknown"
}

func codeName(c trace.Code) string {
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
	}{codeName(c.Code), severityName(c.Code.Severity()), c.Code.Text(), c.Count, c.Worst, c.Locations, c.First})
}

// Codes reads the totals of all diagnostics, by ascending code.
func (r *Run) Codes() ([]CodeTotal, error) {
	list := []CodeTotal{}
	err := load(r, xtf.WholeRun, func(d *xtf.Diag) {
		list = append(list, CodeTotal{Code: trace.Code(d.Code), Count: d.Count, Worst: d.Worst, Locations: d.Event})
	})
	if err != nil {
		return nil, fmt.Errorf("%s: totals of diagnostics: %w", r.Name, err)
	}
	return list, nil
}

// Occurrence is one problem and where it was found.
type Occurrence struct {
	Location uint64  `json:"location"`
	Process  uint32  `json:"process"`
	Thread   uint32  `json:"thread"`
	Time     uint64  `json:"time"`  // ticks
	Event    *uint64 `json:"event"` // number in the location's stream, nil if not known
	Count    uint64  `json:"count"`
	Worst    uint64  `json:"worst"`
	Text     string  `json:"text"`
	code     trace.Code
	p        trace.P
}

// keptOccurrences bounds the occurrences of one code.
const keptOccurrences = 16

// addOccurrences reads the earliest problems of every code into codes.
func (r *Run) addOccurrences(codes []CodeTotal) ([]Lost, error) {
	var all []Occurrence
	lost, err := r.eachLocation(Ranks{}, "diagnostics", func(p trace.P) error {
		list, err := r.occurrences(p)
		if err == nil && len(list) > 0 {
			all = keepFirst(append(all, list...))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range codes {
		for _, o := range all {
			if o.code == codes[i].Code {
				codes[i].First = append(codes[i].First, o)
			}
		}
	}
	return lost, nil
}

// keepFirst sorts the list and keeps the first of each code.
func keepFirst(list []Occurrence) []Occurrence {
	slices.SortStableFunc(list, func(a, b Occurrence) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.Time, b.Time), cmp.Compare(a.p, b.p))
	})
	n, run := 0, 0
	for i := range list {
		if i == 0 || list[i].code != list[i-1].code {
			run = 0
		}
		if run++; run <= keptOccurrences {
			list[n] = list[i]
			n++
		}
	}
	return list[:n]
}

func (r *Run) occurrences(p trace.P) ([]Occurrence, error) {
	var list []Occurrence
	var details []uint32
	process, thread := r.Defs.Process(p)
	err := load(r, xtf.Proc(p), func(d *xtf.Diag) {
		if d.Detail == xtf.DiagTotal {
			return
		}
		code := trace.Code(d.Code)
		o := Occurrence{
			Location: r.Defs.Location(p).Ref, Process: process, Thread: thread,
			Time: d.T, Count: d.Count, Worst: d.Worst, code: code, p: p,
		}
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
		list[i].Text = detail(texts, d)
	}
	return list, nil
}

// detail returns the text that DIAG.detail stands for.
func detail(texts []byte, at uint32) string {
	if at == 0 || uint64(at) > uint64(len(texts)) {
		return ""
	}
	r := varint.Read(texts[at-1:])
	return r.Text() // "" where it is damaged
}

// problems has what was found wrong with the input, and where first.
func (d *Document) problems(b *book, c *chapter) {
	c.title = "diagnostics"
	u := b.unit
	if !problems(d.Diagnostics) {
		c.say("nothing was found wrong with the input")
	}
	c.table(d.problemTable(u, trace.Note))
	for i := range d.Diagnostics {
		c.table(d.Diagnostics[i].occurrences(u))
	}
}

// problemTable has the totals of what is as bad as least, or worse.
func (d *Document) problemTable(u unit, least trace.Severity) *Table {
	t := &Table{Title: "What was found in the input", Kind: "total", Columns: []Column{
		words("severity", "severity"), words("code", "code"), words("found", ""), ints("", "count").hidden(), ints("", "locations").hidden(), ints("", "worst").hidden(),
	}}
	for i := range d.Diagnostics {
		x := &d.Diagnostics[i]
		if s := x.Code.Severity(); s >= least {
			t.add(word(severityName(s)), word(codeName(x.Code)), word(x.text(u)), number(x.Count), number(x.Locations), u.worst(x.Code, x.Worst))
		}
	}
	return t
}

// worst is how bad a problem is, nothing where that is not known.
func (u unit) worst(code trace.Code, v uint64) Cell {
	if v == 0 {
		return none()
	}
	return named(u.magnitude(code, v), strconv.FormatUint(v, 10))
}

// occurrences are the first ones of a code.
func (x *CodeTotal) occurrences(u unit) *Table {
	t := &Table{Title: codeName(x.Code), Kind: "first", Columns: []Column{
		words(codeName(x.Code), "code").hidden(), ints("location", "location"), ints("process", "process"), ints("thread", "thread"), ints(u.name(), "time"), ints("event", "event"), ints("worst", "worst"), words("", "text"),
	}}
	if len(x.First) > 0 {
		t.Lead = fmt.Sprintf("%s: where first", codeName(x.Code))
	}
	if _, each := x.Code.Unread(); !each && x.Count > uint64(len(x.First)) { // else one line counts all of a location
		t.Lead += fmt.Sprintf(", %d of %s", len(x.First), count(x.Count))
	}
	fill(t, "place", x.First, func(o *Occurrence) []Cell {
		event, process := Cell{Text: "?"}, plainNumber(o.Process)
		if o.Event != nil {
			event = plainNumber(*o.Event)
		}
		if o.Process == trace.Undefined {
			process = Cell{Text: "?"}
		}
		return []Cell{word(codeName(x.Code)), plainNumber(o.Location), process, plainNumber(o.Thread), u.time(o.Time), event, u.worst(x.Code, o.Worst), named(clean(o.Text, 160), o.Text)}
	})
	return t
}

// text is what was found, how often and where.
func (c *CodeTotal) text(u unit) string {
	if k, ok := c.Code.Unread(); ok {
		return fmt.Sprintf("%s %v records in %s: %s", count(c.Count), k, plural(int(c.Locations), "location"), k.Account().Untold)
	}
	text := fmt.Sprintf("%s: %s in %s", c.Code.Text(), count(c.Count), plural(int(c.Locations), "location"))
	if c.Locations == 0 {
		text = fmt.Sprintf("%s: %s in the definitions", c.Code.Text(), count(c.Count))
	}
	if c.Worst > 0 {
		text += ", worst " + u.magnitude(c.Code, c.Worst)
	}
	return text
}

// magnitude prints how bad a problem is: clocks differ by less than a microsecond
// too, so times have 9 decimals.
func (u unit) magnitude(code trace.Code, v uint64) string {
	switch {
	case !code.InTicks():
		return count(v)
	case u.resolution == 0:
		return count(v) + " ticks"
	}
	return fraction64(v, u.resolution).Fixed(9) + " s"
}
