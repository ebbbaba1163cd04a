package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrNoResult says that the file was written without what a section needs.
var ErrNoResult = errors.New("result is not in the file")

// ErrNoRows is ErrNoResult for missing rows of events.
var ErrNoRows = fmt.Errorf("%w: it was analyzed with --events none", ErrNoResult)

// Run is an open file with its definitions.
type Run struct {
	File *xtf.File
	Defs *trace.Definitions
	Name string // of the file, for people
	Path string // as it was given
	Size int64  // of the file in bytes

	Provenance json.RawMessage // canonical JSON of the facts that decide the result
	Kept       Kept            // what the provenance says of the events in the file
	Rows       bool            // there are rows of calls, messages and collectives; else only the call graph and sums

	shared  func() (*graph.Shared, error) // read once
	devices func() (*Devices, error)      // of the whole run; read once
	lives   []atomic.Pointer[Span]        // of locations, read when needed
}

// Open opens the run at path.
func Open(path string, o xtf.Options) (*Run, error) {
	f, err := xtf.OpenFile(path, o)
	if err != nil {
		return nil, err
	}
	r := &Run{File: f, Name: filepath.Base(path), Path: path}
	r.shared = sync.OnceValues(func() (*graph.Shared, error) {
		b, err := r.File.SectionBytes(xtf.KindCCG)
		if errors.Is(err, xtf.ErrNoSection) {
			err = errors.Join(ErrNoResult, err)
		}
		if err != nil {
			return nil, err
		}
		s, err := graph.OpenShared(r.Defs, b)
		if Partial(err) {
			r.File.Damaged(xtf.WholeRun, err)
		}
		return s, err
	})
	r.devices = sync.OnceValues(func() (*Devices, error) { return readDevices(r, nil) })
	callview.Attach(f, r.Graph)
	if st, err := os.Stat(path); err == nil {
		r.Size = st.Size()
	}
	if r.Defs, err = callview.Definitions(f); err == nil {
		r.lives = make([]atomic.Pointer[Span], r.Defs.NumLocations())
		err = r.readProvenance()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *Run) readProvenance() error {
	b, err := r.File.Provenance()
	if err != nil {
		return fmt.Errorf("provenance: %w", err)
	}
	var p struct{ Options Kept }
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("provenance: %w: %w", xtf.ErrCorrupt, err)
	}
	r.Provenance, r.Kept, r.Rows = b, p.Options, p.Options.Events != "none"
	return nil
}

// Units are the units of the run's clock.
func (r *Run) Units() numbers.Units { return numbers.UnitsOf(r.Defs.Clock().TimerResolution) }

// Close closes the file.
func (r *Run) Close() error { return r.File.Close() }

// Made returns the value of a key. The first use of the key makes the value.
func Made[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

// ByRef maps references of definitions to what of returns for each definition.
func ByRef[T, V any, K comparable](list []T, of func(x *T) (K, V)) map[K]V {
	m := make(map[K]V, len(list))
	for i := range list {
		k, v := of(&list[i])
		m[k] = v
	}
	return m
}

// Load calls f for every row of type T of location p, in their order. The row is valid during the call.
func Load[T any, R xtf.Form[T]](r *Run, p xtf.Proc, f func(x *T)) error {
	return xtf.Each[T, R](r.File, p, func(_ uint64, x *T) error { f(x); return nil })
}

// Overlapping yields the rows of type T of location p that overlap [begin, end), with their numbers. A row is valid until the
// next one. An error ends the rows early and is stored in err.
func Overlapping[T any, R xtf.Form[T]](r *Run, p trace.P, begin, end uint64, err *error) iter.Seq2[uint64, *T] {
	return passed[T, R](r, p, err, func(a *xtf.Array, visit func(uint64, []byte) bool) error { return a.Overlapping(begin, end, visit) })
}

// Begun yields the rows of type T of location p that begin in [begin, end), in the same way.
func Begun[T any, R xtf.Form[T]](r *Run, p trace.P, begin, end uint64, err *error) iter.Seq2[uint64, *T] {
	return passed[T, R](r, p, err, func(a *xtf.Array, visit func(uint64, []byte) bool) error {
		first, err := a.Rank(begin)
		last := a.Len()
		if err == nil && end != xtf.Never {
			last, err = a.Rank(end)
		}
		if err != nil {
			return err
		}
		return a.Each(first, last, visit)
	})
}

func passed[T any, R xtf.Form[T]](r *Run, p trace.P, err *error, each func(a *xtf.Array, visit func(n uint64, row []byte) bool) error) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		a, failed := xtf.ArrayOf[T, R](r.File, xtf.Proc(p))
		if failed == nil && a.Len() > 0 {
			var x T
			failed = each(a, func(n uint64, row []byte) bool {
				R(&x).Load(row)
				return yield(n, &x)
			})
		}
		if failed != nil {
			*err = failed
		}
	}
}

// Failed adds to an error the part of the run and what could not be read; nil stays nil.
func (r *Run) Failed(p xtf.Proc, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case p == xtf.WholeRun:
		return fmt.Errorf("%s: %s: %w", r.Name, what, err)
	}
	return fmt.Errorf("%s: location %d: %s: %w", r.Name, r.Defs.Location(trace.P(p)).Ref, what, err)
}

// each calls f for the chosen processes, one after another. It returns parts that cannot be read as lost.
func (r *Run) each(ranks Ranks, section string, f func(rank uint32, x trace.Process) error) (lost []table.Lost, err error) {
	for rank, x := range r.Defs.Processes() {
		if err == nil && ranks.Contains(uint32(rank)) {
			err = r.LeftOut(&lost, x.First, section, f(uint32(rank), x))
		}
	}
	return lost, err
}

// EachLocation calls f for the locations of the chosen processes, in the same way.
func (r *Run) EachLocation(ranks Ranks, section string, f func(p trace.P) error) (lost []table.Lost, err error) {
	of := ranks.Locations(r.Defs)
	for p := trace.P(0); err == nil && p < trace.P(r.Defs.NumLocations()); p++ {
		if of(p) {
			err = r.LeftOut(&lost, p, section, f(p))
		}
	}
	return lost, err
}

// LeftOut adds a location to lost if err is damage of it. It returns other errors.
func (r *Run) LeftOut(lost *[]table.Lost, p trace.P, section string, err error) error {
	if Partial(err) {
		*lost = append(*lost, r.Lost(p, section, err))
		return nil
	}
	return err
}

// EachRow calls f for the rows [first, end) of a, in the same way as Load.
func EachRow[T any, R xtf.Form[T]](a *xtf.Array, first, end uint64, f func(x *T)) error {
	rows := xtf.RowsOf[T, R](a.Rows(first, end))
	for rows.Next() {
		f(&rows.Row)
	}
	return rows.Err()
}

// Lost describes a location that a section leaves out because of err. The file remembers err as damage.
func (r *Run) Lost(p trace.P, section string, err error) table.Lost {
	r.File.Damaged(xtf.Proc(p), err)
	process, thread := r.Defs.Process(p)
	return table.Lost{Location: r.Defs.Location(p).Ref, Process: process, Thread: thread, Section: section, Error: err.Error()}
}

// Partial reports whether err is damage of a part of the file, so that the rest is readable. The file remembers the part, and
// Complete lists it.
func Partial(err error) bool {
	return errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, graph.ErrCorrupt)
}

// Complete adds to the losses of sections other damage that reads of the file have met so far. Every result made until now may
// lack it.
func (r *Run) Complete(lost []table.Lost) []table.Lost {
	const section = "report"
	whole, told := false, map[uint64]bool{}
	for i := range lost {
		if lost[i].WholeRun {
			whole = true
		} else {
			told[lost[i].Location] = true
		}
	}
	for _, d := range r.File.Damage() {
		switch {
		case d.P != xtf.WholeRun && !told[r.Defs.Location(trace.P(d.P)).Ref]:
			lost = append(lost, r.Lost(trace.P(d.P), section, d.Err))
		case d.P == xtf.WholeRun && !whole:
			lost = append(lost, table.Lost{WholeRun: true, Section: section, Error: d.Err.Error()})
		}
	}
	return lost
}

// RegionName returns the name of a region for people. It includes the place in the source if the region is calls from one place.
func (r *Run) RegionName(ref uint32) string { return r.Defs.RegionLabel(ref) }

// CallName returns the name of a region without such a place.
func CallName(r *Run, ref uint32) string {
	if x := r.Defs.Region(ref); r.Defs.CallSite(x) != nil {
		return r.Defs.Text(x.Name)
	}
	return r.RegionName(ref)
}

// CallPlace returns such a place, as "halo.c:42", "" where the trace does not have it.
func CallPlace(r *Run, ref uint32) string { return r.Defs.CallPlace(r.Defs.Region(ref)) }

// State returns what a location does in a region, given by its reference.
func (r *Run) State(ref uint32) trace.State { return r.Defs.StateOf(r.Defs.Region(ref)) }

// Where returns source file and line of a region, "" where the trace does not have them.
func (r *Run) Where(ref uint32) (file string, line uint32) {
	x := r.Defs.Region(ref)
	if x == nil {
		return "", 0
	}
	return r.Defs.Text(x.SourceFile), x.BeginLine
}

// CommName returns the name of a communicator for people.
func (r *Run) CommName(ref uint32) string {
	name, known := r.Defs.CommName(ref)
	if !known {
		return fmt.Sprintf("communicator %d (undefined)", ref)
	}
	return cmp.Or(name, fmt.Sprintf("communicator %d", ref))
}

// Place is the location that an answer is about.
type Place struct {
	Location uint64 `json:"location"` // id in the trace
	Process  uint32 `json:"process"`
	Thread   uint32 `json:"thread"`
}

// Place returns location p as a Place.
func (r *Run) Place(p trace.P) Place {
	process, thread := r.Defs.Process(p)
	return Place{r.Defs.Location(p).Ref, process, thread}
}

// Text prints the place for people.
func (p Place) Text() string {
	return fmt.Sprintf("process %d, thread %d (location %d)", p.Process, p.Thread, p.Location)
}

// Source is where the numbers of a section come from.
type Source string

// Sources. Rows are exact; the graph is exact or within its bound.
const (
	SourceAuto  Source = ""      // rows where the file has them, else the graph
	SourceRows  Source = "rows"  // calls, messages, collectives, and sums of them
	SourceGraph Source = "graph" // the complete call graph
)

// PredictedFrom is the name of a property of a predicted run. Its value is the identity of the run that it was predicted from.
const PredictedFrom = "coppice: predicted from"

// PredictedFrom returns the identity of the run that this one was predicted from, in hexadecimal digits; "" for a measured run.
func (r *Run) PredictedFrom() string {
	for name, text := range r.properties {
		if name == PredictedFrom {
			return text
		}
	}
	return ""
}

// properties yields names and texts of properties of the machine and of processes.
func (r *Run) properties(yield func(name, text string) bool) {
	for i := range r.Defs.SystemTreeNodeProperties {
		if p := &r.Defs.SystemTreeNodeProperties[i]; !yield(r.Defs.Text(p.Name), r.Defs.Text(p.StringValue)) {
			return
		}
	}
	for i := range r.Defs.LocationGroupProperties {
		if p := &r.Defs.LocationGroupProperties[i]; !yield(r.Defs.Text(p.Name), r.Defs.Text(p.StringValue)) {
			return
		}
	}
}

// Kept is what the provenance says about the events in the file.
type Kept struct {
	Events    string // "none": the call graph and sums alone
	Deviation string // of the call graph, as graph.ParseDeviation reads it
	Intervals string // interval.Options.Canonical
	Classes   string // predict.ClassOptions; "": no classes
}

// Has reports whether an option of intervals was given.
func (k *Kept) Has(option string) bool { return slices.Contains(strings.Fields(k.Intervals), option) }

// Source decides from what a section is computed.
func (r *Run) Source(want Source) (Source, error) {
	switch {
	case want == SourceRows && !r.Rows:
		return "", r.Failed(xtf.WholeRun, "rows", ErrNoRows)
	case want == SourceGraph || !r.Rows:
		return SourceGraph, nil
	}
	return SourceRows, nil
}

// Graph returns the part of the call graph that all locations share. It is read once.
func (r *Run) Graph() (*graph.Shared, error) {
	s, err := r.shared()
	return s, r.Failed(xtf.WholeRun, "call graph", err)
}

// Location opens the graph of location p.
func (r *Run) Location(p trace.P) (*ccg.Location, error) {
	shared, err := r.Graph()
	if err != nil {
		return nil, err
	}
	l, _, err := callview.Location(r.File, shared, xtf.Proc(p))
	if err = r.Failed(xtf.Proc(p), "call graph", err); Partial(err) {
		r.File.Damaged(xtf.Proc(p), err)
	}
	return l, err
}

// Events yields the events of location p from its graph, each with the batch that has its words. An error ends them early and is
// stored in err.
func (r *Run) Events(p trace.P, what string, err *error) iter.Seq2[*trace.Batch, *trace.Event] {
	return func(yield func(*trace.Batch, *trace.Event) bool) {
		l, failed := r.Location(p)
		if failed != nil {
			*err = failed
			return
		}
		events, b := l.Expand(), &trace.Batch{}
		for failed = events.Next(b); failed == nil; failed = events.Next(b) {
			for i := range b.Events {
				if !yield(b, &b.Events[i]) {
					return
				}
			}
		}
		if !errors.Is(failed, io.EOF) {
			*err = r.Failed(xtf.Proc(p), what, failed)
		}
	}
}

// Bound is how far times from a lossy graph may be from the truth.
type Bound struct {
	Text       string  `json:"text"`
	Absolute   uint64  `json:"absolute"` // ticks
	Relative   float64 `json:"relative"`
	TimeStamps bool    `json:"time_stamps"` // bounded too
}

// Bound returns the bound of the file's call graph, nil if it is lossless.
func (r *Run) Bound() (*Bound, error) {
	s, err := r.Graph()
	if err != nil {
		return nil, err
	}
	return r.BoundOf(s.Options().Deviation), nil
}

// BoundOf returns the guarantee of a deviation, nil if it is lossless.
func (r *Run) BoundOf(d graph.Deviation) *Bound {
	if d.Lossless() {
		return nil
	}
	b := &Bound{Text: BoundText(d, r.Units()), Absolute: d.Abs, TimeStamps: d.TimeStamps}
	if d.Num > 0 {
		b.Relative = float64(d.Num) / float64(d.Den)
	}
	return b
}

// KeptBound is Bound from the provenance, without a look at the graph.
func KeptBound(r *Run) (*Bound, error) {
	if r.Kept.Deviation == "" {
		return nil, nil
	}
	d, err := graph.ParseDeviation(r.Kept.Deviation, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: provenance: %w: %w", r.Name, xtf.ErrCorrupt, err)
	}
	return r.BoundOf(d), nil
}

// BoundText says what a deviation guarantees.
func BoundText(d graph.Deviation, u numbers.Units) string {
	text := ""
	if d.Num > 0 {
		percent, ok := strings.CutSuffix(graph.Deviation{Num: d.Num, Den: d.Den}.String(), "%")
		text = percent + map[bool]string{true: " %", false: " of it"}[ok]
	}
	if d.Abs > 0 {
		if text != "" {
			text += " or "
		}
		text += u.Span(d.Abs)
	}
	text = "every gap within " + text
	if d.TimeStamps {
		text += fmt.Sprintf(", no time stamp late or early by %s or more", u.Span(d.Abs))
	}
	return text
}

// NoteBound notes how exact the times of an answer are.
func NoteBound(c *table.Chapter, b *Bound, off *uint64, u numbers.Units) {
	switch {
	case b == nil:
	case off == nil:
		c.Say("lossy graph: %s", b.Text)
	default:
		c.Say("lossy graph: %s; times here are off by at most %s", b.Text, u.Span(*off))
	}
}
