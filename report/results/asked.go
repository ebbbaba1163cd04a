package results

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
)

// Answer is the result of a verb other than report: what all documents say of a file, the value in JSON, and text for people.
type Answer struct {
	Envelope
	Brief *Brief
	Value any                                // with a JSON form
	Text  func(w io.Writer, limit int) error // at most limit rows
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

// Refused is an error in what the user asked for, not in the file.
type Refused struct{ err error }

func (e *Refused) Error() string { return e.err.Error() }

func (e *Refused) Unwrap() error { return e.err }

// Refuse makes a Refused.
func Refuse(format string, args ...any) error { return &Refused{fmt.Errorf(format, args...)} }

// Asked returns err as Refused if it is about the name of an interval or a metric, which what names; else it returns err.
func Asked(what string, err error) error {
	if errors.Is(err, ErrInterval) || errors.Is(err, conditions.ErrSyntax) {
		return Refuse("%s: %w", what, err)
	}
	return err
}

// Instant reads a time of the run: 12.5s, 40% or #TICKS. flag names the flag in messages.
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

// ParseSpan reads a span of time: A..B, where either side may be missing; interval:NAME for the time from its first begin to its
// last end; or interval:NAME[K] for its K-th execution on each process. It returns nil for an empty text.
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

// SpanBetween returns the span from instant first to instant last, either of which may be missing. text names it in messages.
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

// ChosenRanks reads --ranks. An empty text means all.
func ChosenRanks(text string, d *trace.Definitions) (set Ranks, err error) {
	if text != "" {
		if set, err = ParseRanks(text, d); err != nil {
			err = Refuse("--ranks %w", err)
		}
	}
	return set, err
}

// FindRegion returns the reference of the region with a name or number. A function whose calls have places in the source is
// several regions: one for each place, known by its label, and one for other calls.
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
		return 0, &Refused{&conditions.Unknown{Err: err, Name: name, Among: slices.Compact(names)}}
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

// Ranks is a set of processes in ascending order. The zero value is all processes.
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

// nodeRanks returns the processes of a node, by its number in Hosts.
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

// All reports whether r is all processes.
func (r Ranks) All() bool { return r.List == nil }

// Contains reports whether process p is in the set.
func (r Ranks) Contains(p uint32) bool {
	if r.List == nil {
		return true
	}
	_, ok := slices.BinarySearch(r.List, p)
	return ok
}

// Locations returns a function that reports whether a location belongs to a process of the set.
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

// RankList prints ranks, with ranges for consecutive ones.
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
