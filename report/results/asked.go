package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrCondition says that a condition is misspelt.
var ErrCondition = errors.New("not a condition")

// ConditionOf is a comparison of a metric, as of one interval, with a number:
//
//	condition = [ "interval:" name "." ] metric op number [ unit ]
//	name      = "root" | id | NAME | FILE:LINE | "#" node number, or any text in double quotes
//	metric    = a name of the verb's, or "counter:" and the name of a counter, which may be in double quotes, with or without one of its numbers
//	op        = "<" | "<=" | ">" | ">=" | "==" | "!="
//	number    = decimal digits with a point, no exponent
//	unit      = "%" of shares; "s", "ms", "us", "ns" or "ticks" of times
//
// Without "interval:" the whole program is meant. A metric may end in a point and one
// of the suffixes of the verb. Times without a unit are
// seconds, or ticks where the trace does not give the resolution of its clock.
// Numbers are exact, and so are comparisons.
type ConditionOf[T any] struct {
	Text     string
	Interval string // as FindNode takes it
	Metric   MetricOf[T]
	Suffix   string // of the metric's name, "" for none
	Op       string
	Value    numbers.Fraction
	Unit     string
}

// Condition is about an interval.
type Condition = ConditionOf[*Interval]

// MetricKind is what a metric measures.
type MetricKind uint8

const (
	KindShare MetricKind = iota // a quotient; % divides by 100
	KindTime                    // ticks
	KindCount
	KindReal // a number of any unit
)

// MetricOf is a number that conditions can name.
type MetricOf[T any] struct {
	Name  string
	Kind  MetricKind
	Value func(of T) numbers.Fraction // not known, or over 0, where it is not defined
}

// NewMetric makes a metric.
func NewMetric[T any](name string, kind MetricKind, value func(of T) numbers.Fraction) MetricOf[T] {
	return MetricOf[T]{name, kind, value}
}

// Metric is a number of an interval.
type Metric = MetricOf[*Interval]

// FindMetric is the place of a metric in a list, -1 where it is not there.
func FindMetric[T any](list []MetricOf[T], name string) int {
	return slices.IndexFunc(list, func(m MetricOf[T]) bool { return m.Name == name })
}

// MetricNames are the names of metrics.
func MetricNames[T any](metrics []MetricOf[T]) (list []string) {
	for _, m := range metrics {
		list = append(list, m.Name)
	}
	return list
}

// maxCondition bounds the text of a condition.
const maxCondition = 1000

// Unknown is an error about a name that is none of those that there are.
type Unknown struct {
	error
	Name  string
	Among []string
}

func (e *Unknown) Unwrap() error { return e.error }

// conditionAt is an error at a byte of the text, from 1.
func conditionAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("%q, character %d: %w: %s", numbers.Clean(text, 120), at+1, ErrCondition, fmt.Sprintf(format, args...))
}

// ParseCondition reads a condition about an interval.
func ParseCondition(text string) (*Condition, error) {
	return ParseOf(text, slices.Concat(Metrics(), deviceMetrics(), fileMetrics(), counterMetrics(text)))
}

// ParseOf reads a condition about metrics, whose names may end in a point and one of the suffixes. A ratio is a share.
func ParseOf[T any](text string, metrics []MetricOf[T], suffixes ...string) (*ConditionOf[T], error) {
	if len(text) > maxCondition {
		return nil, conditionAt(text, maxCondition, "longer than %d bytes", maxCondition)
	}
	c := &ConditionOf[T]{Text: text, Interval: "root"}
	at := len(text) - len(strings.TrimLeft(text, " "))
	if rest, ok := strings.CutPrefix(text[at:], "interval:"); ok {
		from := len(text) - len(rest)
		var err error
		if c.Interval, at, err = intervalName(text, from, suffixes); err != nil {
			return nil, err
		}
	}
	op := operator(text[at:])
	if op < 0 {
		return nil, conditionAt(text, len(text), "a comparison is missing: METRIC<NUMBER, or one of <= > >= == !=")
	}
	name := strings.TrimSpace(text[at : at+op])
	base := name
	for _, s := range suffixes {
		if b, ok := strings.CutSuffix(name, "."+s); ok {
			base, c.Suffix = b, s
		}
	}
	i := FindMetric(metrics, base)
	if i < 0 {
		names := MetricNames(metrics)
		if len(suffixes) > 0 {
			names = append(names, "and these with ."+strings.Join(suffixes, " or ."))
		}
		err := conditionAt(text, at, "no metric %q: choose from %s", numbers.Clean(name, 60), strings.Join(names, ", "))
		return nil, &Unknown{err, base, MetricNames(metrics)}
	}
	c.Metric = metrics[i]
	if c.Metric.Name = name; c.Suffix == "ratio" {
		c.Metric.Kind = KindShare
	}
	at += op
	for _, known := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(text[at:], known) {
			c.Op = known
			return c, c.number(text, at+len(known))
		}
	}
	return nil, conditionAt(text, at, "no comparison: choose one of < <= > >= == !=")
}

// operator is the place of the first character of a comparison outside of quotes, -1 for none.
func operator(text string) int {
	quoted := false
	return strings.IndexFunc(text, func(r rune) bool {
		quoted = quoted != (r == '"')
		return !quoted && strings.ContainsRune("<>=!", r)
	})
}

// intervalName reads the name of an interval and the point after it.
func intervalName(text string, from int, suffixes []string) (name string, at int, err error) {
	if strings.HasPrefix(text[from:], `"`) {
		end := strings.IndexByte(text[from+1:], '"')
		if end < 0 {
			return "", 0, conditionAt(text, from, "the quoted name does not end")
		}
		at = from + 1 + end + 1
		if !strings.HasPrefix(text[at:], ".") {
			return "", 0, conditionAt(text, at, "a point and a metric have to follow the name")
		}
		return text[from+1 : from+1+end], at + 1, nil
	}
	end := operator(text[from:])
	if end < 0 {
		end = len(text) - from
	}
	if k := strings.Index(text[from:from+end], "."+counterMark); k > 0 {
		return text[from : from+k], from + k + 1, nil
	}
	rest := strings.TrimRight(text[from:from+end], " ")
	for _, s := range suffixes {
		if before, ok := strings.CutSuffix(rest, "."+s); ok {
			rest = before
			break
		}
	}
	point := strings.LastIndexByte(rest, '.')
	if point < 1 {
		return "", 0, conditionAt(text, from, "write interval:NAME.METRIC")
	}
	return text[from : from+point], from + point + 1, nil
}

// number reads the number and its unit.
func (c *ConditionOf[T]) number(text string, at int) error {
	rest := strings.TrimSpace(text[at:])
	at = len(text) - len(strings.TrimLeft(text[at:], " "))
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(rest)
	}
	v, ok := exact.Parse(rest[:digits])
	if !ok || digits > 40 {
		return conditionAt(text, at, "%q is not a number", numbers.Clean(rest, 40))
	}
	c.Value, c.Unit = v, strings.TrimSpace(rest[digits:])
	units := map[MetricKind][]string{KindShare: {"%"}, KindTime: {"s", "ms", "us", "ns", "ticks"}}[c.Metric.Kind]
	switch {
	case c.Unit == "" || slices.Contains(units, c.Unit):
		return nil
	case len(units) == 0:
		return conditionAt(text, at+digits, "%s has no unit", c.Metric.Name)
	}
	return conditionAt(text, at+digits, "no unit of %s: choose from %s", c.Metric.Name, strings.Join(units, ", "))
}

// Limit is the number in the metric's own unit: ticks of times.
func (c *ConditionOf[T]) Limit(resolution uint64) (numbers.Fraction, error) {
	switch scale := map[string]uint64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "": 1}[c.Unit]; {
	case c.Unit == "%":
		return c.Value.Div(100), nil
	case c.Metric.Kind != KindTime || c.Unit == "ticks" || c.Unit == "" && resolution == 0:
	case resolution == 0:
		return numbers.Fraction{}, fmt.Errorf("%q: %w: the trace does not give the resolution of its clock, compare with ticks", c.Text, ErrCondition)
	default:
		return c.Value.Scale(resolution, scale), nil
	}
	return c.Value, nil
}

// Verdict is whether a condition holds of a run.
type Verdict struct {
	Holds bool
	Text  string // for people
}

// Judge decides conditions. One whose metric is not defined, or not in the file,
// holds: what was to be watched cannot be seen.
func Judge(r *Run, list []*Condition, rules Rules) ([]Verdict, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s, err := r.Survey(SurveyOptions{Section: "conditions", Deep: true, Rules: rules})
	if err == nil && len(s.Lost) > 0 {
		err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, s.Lost[0].Error)
	}
	if err != nil {
		return nil, err
	}
	more := newReadOnDemand(r)
	u := r.Units()
	var verdicts []Verdict
	for _, c := range list {
		n, err := FindNode(s.Nodes, c.Interval)
		if err != nil {
			return nil, err
		}
		i := s.Interval(n, rules)
		i.more = more
		verdict, err := c.Verdict(c.Metric.Value(i), u, " of "+i.Text)
		if err = cmp.Or(more.err, err); err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// readOnDemand has what only some conditions are about, of the whole run, each read when the first one asks; nil where the file has none.
type readOnDemand struct {
	counted func() *Counted
	files   func() *FileIO
	devices func() *Devices
	err     error
}

func newReadOnDemand(r *Run) *readOnDemand {
	x := &readOnDemand{}
	x.counted = demanded(x, func() (*Counted, []table.Lost, error) { return NewCounted(r, Ranks{}, nil, false) })
	x.files = demanded(x, func() (*FileIO, []table.Lost, error) { return NewFileIO(r, Ranks{}) })
	x.devices = demanded(x, func() (*Devices, []table.Lost, error) {
		v, err := r.Devices(nil)
		return v, nil, err
	})
	return x
}

func demanded[T any](x *readOnDemand, read func() (*T, []table.Lost, error)) func() *T {
	return sync.OnceValue(func() *T {
		v, lost, err := read()
		if err == nil && len(lost) > 0 {
			err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, lost[0].Error)
		}
		if err == nil {
			return v
		}
		if !errors.Is(err, ErrNoResult) {
			x.err = err
		}
		return nil
	})
}

// Verdict compares the value of the metric, of what is named, with the limit. One that is not known holds.
func (c *ConditionOf[T]) Verdict(v numbers.Fraction, u numbers.Units, of string) (Verdict, error) {
	limit, err := c.Limit(u.Resolution)
	holds := !v.Known() || err != nil || slices.Contains([...][]string{{"<", "<=", "!="}, {"<=", "==", ">="}, {">", ">=", "!="}}[1+v.Compare(limit)], c.Op)
	return Verdict{holds, fmt.Sprintf("%s: %s%s is %s", c.Text, c.Metric.Name, of, c.Metric.text(v, u))}, err
}

func (m *MetricOf[T]) text(v numbers.Fraction, u numbers.Units) string {
	switch {
	case !v.Known():
		return "not known, which counts as failing"
	case m.Kind == KindCount:
		return v.Fixed(0)
	case m.Kind == KindTime:
		return u.Plain(v) + " " + u.Name()
	}
	return v.Fixed(6)
}

// Metrics are the numbers of an interval that conditions can name: efficiencies, characteristics
// in ticks, and the sum over processes of every component.
func Metrics() []Metric {
	share := func(name string, f func(i *Interval) (a, b numbers.Sum)) Metric {
		return Metric{name, KindShare, func(i *Interval) numbers.Fraction { return numbers.Divide(f(i)) }}
	}
	ticks := func(name string, f func(t *Ticks) numbers.Fraction) Metric {
		return Metric{name, KindTime, func(i *Interval) numbers.Fraction { return f(&i.Ticks) }}
	}
	all := func(i *Interval, largest uint64) numbers.Sum {
		return numbers.Times(numbers.Integer(largest), i.POP.Participants)
	}
	list := []Metric{
		{"efficiency", KindShare, func(i *Interval) numbers.Fraction { return i.Ticks.exactEfficiency() }},
		{"parallel_efficiency", KindShare, func(i *Interval) numbers.Fraction { return i.POP.parallel }},
		share("process_efficiency", func(i *Interval) (a, b numbers.Sum) {
			return i.POP.Useful, numbers.Times(i.POP.Runtime, i.POP.Participants)
		}),
		share("io_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.CPU, numbers.Add(i.Ticks.CPU, i.Ticks.IO) }),
		share("io_balance", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.IO, all(i, i.Stats.Item(xtf.ItemIO).Max) }),
		share("load_balance", func(i *Interval) (a, b numbers.Sum) { return i.POP.Useful, all(i, i.POP.Largest) }),
		share("communication_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Runtime }),
		share("serialisation_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Ideal }),
		share("transfer_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.POP.Ideal, i.POP.Runtime }),
		share("device_offload", func(i *Interval) (a, b numbers.Sum) {
			return numbers.Sub(i.POP.Useful, numbers.Add(i.Ticks.DeviceCall, i.Ticks.DeviceWait)), i.POP.Useful
		}),
		share("wait_share", func(i *Interval) (a, b numbers.Sum) { return i.waitTotal(), i.Stats.Item(xtf.ItemTime).Sum }),
		ticks("execution", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Execution)) }),
		{"measured_execution", KindTime, func(i *Interval) numbers.Fraction { return numbers.Whole(i.POP.Runtime) }},
		{"largest_useful", KindTime, func(i *Interval) numbers.Fraction { return numbers.Divide64(i.POP.Largest, 1) }},
		ticks("runtime", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Runtime)) }),
		ticks("total", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Total) }),
		ticks("productive", func(t *Ticks) numbers.Fraction { return t.Productive }),
		ticks("lost", func(t *Ticks) numbers.Fraction { return t.Lost }),
		ticks("lost_mpi", func(t *Ticks) numbers.Fraction { return t.MPILost }),
		ticks("idle", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Idle) }),
		ticks("load_imbalance", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.LoadImbalance) }),
		ticks("dephasing", func(t *Ticks) numbers.Fraction { return numbers.Whole(Optional(t.Dephasing)) }),
		{"wait", KindTime, func(i *Interval) numbers.Fraction { return numbers.Whole(i.waitTotal()) }},
		{"processors", KindCount, func(i *Interval) numbers.Fraction { return numbers.Divide64(i.Processors, 1) }},
	}
	for item := range xtf.NumItems {
		kind := KindTime
		if IsCount(item) {
			kind = KindCount
		}
		if item == xtf.ItemFirst || item == xtf.ItemLast || item >= xtf.ItemIdeal && item <= xtf.ItemIdealLast {
			continue // no sums over processes
		}
		list = append(list, Metric{item.String(), kind, func(i *Interval) numbers.Fraction {
			if item.NeedsPartners() && i.Waits == nil {
				return numbers.Fraction{}
			}
			return numbers.Whole(i.Stats.Item(item).Sum)
		}})
	}
	return list
}

func (i *Interval) waitTotal() numbers.Sum {
	if i.Waits == nil {
		return numbers.NotKnown
	}
	return i.Waits.Total
}

// Answer is a result of another verb than report: what all documents tell of a file, the value in JSON, and text for people.
type Answer struct {
	Envelope
	Brief *Brief
	Value any                                // with a JSON form
	Text  func(w io.Writer, limit int) error // with so many rows
}

// NewAnswer begins an answer about a run.
func NewAnswer(r *Run, v any, text func(w io.Writer, limit int) error) (*Answer, error) {
	e, err := r.Envelope()
	if err != nil {
		return nil, err
	}
	b, err := r.Brief()
	return &Answer{e, b, v, text}, err
}

// Refused is an error of what was asked for, not of the file.
type Refused struct{ err error }

func (e *Refused) Error() string { return e.err.Error() }

func (e *Refused) Unwrap() error { return e.err }

// Refuse makes a Refused.
func Refuse(format string, args ...any) error { return &Refused{fmt.Errorf(format, args...)} }

// Asked is an error as Refused where it is about the name of an interval or a metric, which what names; else as it is.
func Asked(what string, err error) error {
	if errors.Is(err, ErrInterval) || errors.Is(err, ErrCondition) {
		return Refuse("%s: %w", what, err)
	}
	return err
}

// Instant reads 12.5s, 40% of the run, or #TICKS; flag is for messages.
func Instant(r *Run, flag, text string) (uint64, error) {
	if ticks, ok := strings.CutPrefix(text, "#"); ok {
		n, err := strconv.ParseUint(ticks, 0, 64)
		if err != nil {
			return 0, Refuse("%s %s: not a number", flag, ticks)
		}
		return n, nil
	}
	b, err := r.Brief()
	if err != nil {
		return 0, err
	}
	share, percent := strings.CutSuffix(text, "%")
	v, ok := exact.Parse(strings.TrimSuffix(share, "s"))
	switch {
	case !ok || len(text) > 40 || strings.ContainsAny(text, "eE"):
		return 0, Refuse("%s %s: write for example 12.5s, 40%% or #1000", flag, text)
	case percent && (b.First == nil || b.Last == nil):
		return 0, Refuse("%s %s: the run has no span", flag, text)
	case percent:
		v = v.Times(*b.Last - min(*b.First, *b.Last)).Div(100).Plus(exact.Share(0, *b.First, 1))
	case b.Resolution == 0:
		return 0, Refuse("%s %s: the trace does not give the resolution of its clock, give #TICKS", flag, text)
	default:
		v = v.Times(b.Resolution)
	}
	if !v.Known() || v.Sign() < 0 {
		return 0, Refuse("%s %s: outside of what a clock can show", flag, text)
	}
	return uint64(v.Floor()), nil
}

// ParseSpan reads a span of time: A..B with either side left out, or interval:NAME for the
// time from its first begin to its last end, or interval:NAME[K] for its K-th
// execution on each process. Without a text it is nil.
func ParseSpan(r *Run, text string) (*Span, error) {
	if text == "" {
		return nil, nil
	}
	if name, ok := strings.CutPrefix(text, "interval:"); ok {
		s, err := IntervalSpan(r, name)
		return s, Asked("--time "+text, err)
	}
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return nil, Refuse("--time %s: give a span A..B, or interval:NAME", text)
	}
	return SpanBetween(r, text, first, last)
}

// SpanBetween is the span from an instant to another, of which each can be left out; text names it in messages.
func SpanBetween(r *Run, text, first, last string) (*Span, error) {
	b, err := r.Brief()
	if err != nil {
		return nil, err
	}
	s := &Span{}
	if b.First != nil && b.Last != nil {
		s.Begin, s.End = *b.First, *b.Last+1 // the last event is inside
	}
	if first != "" {
		if s.Begin, err = Instant(r, "--time", first); err != nil {
			return nil, err
		}
	}
	if last != "" {
		if s.End, err = Instant(r, "--time", last); err != nil {
			return nil, err
		}
	}
	u := numbers.UnitsOf(b.Resolution)
	switch {
	case s.Begin > s.End:
		return s, Refuse("--time %s: it ends before it begins", text)
	case b.First != nil && b.Last != nil && (s.Begin > 0 && s.Begin-1 > *b.Last || s.End < *b.First): // the tick after the last event ends the run
		return s, Refuse("--time %s: the run is not in it: it goes from %s to %s", text, u.Time(*b.First), u.Time(*b.Last))
	}
	return s, nil
}

// ChosenRanks reads --ranks: all without a text.
func ChosenRanks(text string, d *trace.Definitions) (set Ranks, err error) {
	if text != "" {
		if set, err = ParseRanks(text, d); err != nil {
			err = Refuse("--ranks %w", err)
		}
	}
	return set, err
}

// FindRegion returns the reference of the region with a name or number. A function whose calls have places in the source is a region for
// each place, known by its label, and one without calls.
func FindRegion(r *Run, name string) (uint32, error) {
	var refs []uint32
	for i := range r.Defs.Regions {
		if x := &r.Defs.Regions[i]; r.Defs.Text(x.Name) == name || r.RegionName(x.Ref) == name || fmt.Sprint(x.Ref) == name {
			refs = append(refs, x.Ref)
		}
	}
	placed := slices.DeleteFunc(slices.Clone(refs), func(ref uint32) bool { return CallPlace(r, ref) == "" })
	if len(placed) > 0 {
		refs = placed
	}
	switch len(refs) {
	case 1:
		return refs[0], nil
	case 0:
		var names []string
		for i := range r.Defs.Regions {
			names = append(names, r.Defs.Text(r.Defs.Regions[i].Name))
		}
		slices.Sort(names)
		err := fmt.Errorf("--region %s: the trace has no region of this name or number; coppice report %s profile lists them", name, r.Path)
		return 0, &Refused{&Unknown{err, name, slices.Compact(names)}}
	}
	list := make([]string, len(refs))
	for i, ref := range refs {
		if list[i] = fmt.Sprint(ref); len(placed) > 0 {
			list[i] += " " + r.RegionName(ref)
		}
	}
	return 0, Refuse("--region %s: several regions have this name: choose one by its number, of %s", name, strings.Join(list, ", "))
}

// ErrRanks says that a set of ranks is misspelt or names nothing.
var ErrRanks = errors.New("not a set of ranks")

// Ranks is a set of processes, ascending; the zero value stands for all.
type Ranks struct {
	List []uint32
}

// ParseRanks reads a set such as "0-3,8,16-31:4" (every fourth of 16 to 31),
// "comm:NAME" (the members of a communicator) or "node:2" (the processes of the
// third node, in the order of their processes). Parts are joined by commas.
func ParseRanks(spec string, d *trace.Definitions) (Ranks, error) {
	set := Ranks{List: []uint32{}}
	for _, part := range strings.Split(spec, ",") {
		list, err := parseRanks(strings.TrimSpace(part), d)
		if err != nil {
			return Ranks{}, err
		}
		set.List = append(set.List, list...)
	}
	slices.Sort(set.List)
	set.List = slices.Compact(set.List)
	return set, nil
}

func parseRanks(part string, d *trace.Definitions) ([]uint32, error) {
	if name, ok := strings.CutPrefix(part, "comm:"); ok {
		return commRanks(name, d)
	}
	if node, ok := strings.CutPrefix(part, "node:"); ok {
		return nodeRanks(node, d)
	}
	span, stepText, stepped := strings.Cut(part, ":")
	firstText, lastText, isSpan := strings.Cut(span, "-")
	if !isSpan {
		lastText = firstText
	}
	first, err1 := strconv.ParseUint(firstText, 10, 32)
	last, err2 := strconv.ParseUint(lastText, 10, 32)
	step, err3 := uint64(1), error(nil)
	if stepped {
		step, err3 = strconv.ParseUint(stepText, 10, 32)
	}
	n := uint64(len(d.Processes()))
	switch {
	case err1 != nil || err2 != nil || err3 != nil || step == 0 || last < first:
		return nil, fmt.Errorf("%q: %w: write for example 0-3,8,16-31:4, comm:NAME or node:0", part, ErrRanks)
	case last >= n:
		return nil, fmt.Errorf("%q: %w: the run has processes 0 to %d", part, ErrRanks, int64(n)-1)
	}
	var list []uint32
	for r := first; r <= last; r += step {
		list = append(list, uint32(r))
	}
	return list, nil
}

func commRanks(name string, d *trace.Definitions) ([]uint32, error) {
	var list []uint32
	for i := range d.Comms {
		if d.Text(d.Comms[i].Name) == name {
			list = append(list, d.CommMembers(d.Comms[i].Ref)...)
		}
	}
	list = slices.DeleteFunc(list, func(p uint32) bool { return p == trace.UnknownProcess })
	if len(list) == 0 {
		return nil, fmt.Errorf("comm:%s: %w: no communicator of this name with known members", name, ErrRanks)
	}
	return list, nil
}

// nodeRanks are the processes of a node, which Hosts numbers.
func nodeRanks(text string, d *trace.Definitions) ([]uint32, error) {
	want, err := strconv.ParseUint(text, 10, 32)
	nodes, of := Hosts(d)
	var list []uint32
	for p, node := range of {
		if uint64(node) == want {
			list = append(list, uint32(p))
		}
	}
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("node:%s: %w: the run has nodes 0 to %d", text, ErrRanks, len(nodes)-1)
	}
	return list, nil
}

// All reports whether r stands for all processes.
func (r Ranks) All() bool { return r.List == nil }

// Contains reports whether process p is in the set.
func (r Ranks) Contains(p uint32) bool {
	if r.List == nil {
		return true
	}
	_, ok := slices.BinarySearch(r.List, p)
	return ok
}

// Locations returns which locations belong to processes of the set.
func (r Ranks) Locations(d *trace.Definitions) func(p trace.P) bool {
	return func(p trace.P) bool {
		process, _ := d.Process(p)
		return r.Contains(process)
	}
}

// String writes the set with as few spans as its order allows.
func (r Ranks) String() string {
	if r.List == nil {
		return "all"
	}
	return RankList(r.List)
}

// RankList names ranks, those that follow one another as ranges.
func RankList[T uint32 | uint64 | int](ranks []T) string {
	var parts []string
	for i := 0; i < len(ranks); {
		n := i
		for n+1 < len(ranks) && ranks[n+1] == ranks[n]+1 {
			n++
		}
		text := fmt.Sprint(ranks[i])
		if n > i {
			text += fmt.Sprintf("-%d", ranks[n])
		}
		parts = append(parts, text)
		i = n + 1
	}
	return strings.Join(parts, ",")
}
