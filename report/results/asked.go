package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
)

// Answer is a result of another verb than report: what all documents tell of a file, the value in JSON, and text for people.
type Answer struct {
	Envelope
	Brief *Brief
	Value json.Marshaler
	Text  func(w io.Writer, limit int) error // with so many rows
}

// NewAnswer begins an answer about a run.
func NewAnswer(r *Run, v json.Marshaler, text func(w io.Writer, limit int) error) (*Answer, error) {
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
	return s, spanInside(b, text, s.Begin, s.End)
}

// spanInside refuses a span of time that is none, or in which the run is not.
func spanInside(b *Brief, text string, begin, end uint64) error {
	u := numbers.UnitsOf(b.Resolution)
	switch {
	case begin > end:
		return Refuse("--time %s: it ends before it begins", text)
	case b.First != nil && b.Last != nil && (begin > 0 && begin-1 > *b.Last || end < *b.First): // the tick after the last event ends the run
		return Refuse("--time %s: the run is not in it: it goes from %s to %s", text, u.Time(*b.First), u.Time(*b.Last))
	}
	return nil
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
		return 0, Refuse("--region %s: the trace has no region of this name or number; coppice report %s profile lists them", name, r.Path)
	}
	list := make([]string, len(refs))
	for i, ref := range refs {
		if list[i] = fmt.Sprint(ref); len(placed) > 0 {
			list[i] += " " + r.RegionName(ref)
		}
	}
	return 0, Refuse("--region %s: several regions have this name: choose one by its number, of %s", name, strings.Join(list, ", "))
}
