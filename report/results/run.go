package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrNoResult says that the file was written without what a section needs.
var ErrNoResult = errors.New("result is not in the file")

// errNoRows is that error where rows of events are missing.
var errNoRows = fmt.Errorf("%w: it was analyzed with --events none", ErrNoResult)

// Run is an open file with its definitions.
type Run struct {
	File *xtf.File
	Defs *trace.Definitions
	Name string // of the file, for people
	Path string // as it was given
	Size int64  // of the file in bytes

	Provenance json.RawMessage // canonical JSON of what decided the result
	Kept       Kept            // and what it says of the events in the file
	Rows       bool            // calls, messages and collectives have rows; else there is the call graph and sums

	shared func() (*ccg.Shared, error) // read once
}

// Open opens the run at path.
func Open(path string, o xtf.Options) (*Run, error) {
	f, err := xtf.OpenFile(path, o)
	if err != nil {
		return nil, err
	}
	r := &Run{File: f, Name: filepath.Base(path), Path: path}
	r.shared = sync.OnceValues(func() (*ccg.Shared, error) { return openShared(r) })
	callview.Attach(f, r.Graph)
	if st, err := os.Stat(path); err == nil {
		r.Size = st.Size()
	}
	if err = r.readDefinitions(); err == nil {
		err = r.readProvenance()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *Run) readDefinitions() error {
	b, err := r.File.Definitions()
	r.Defs = &trace.Definitions{}
	if err == nil {
		if err = r.Defs.UnmarshalBinary(b); err != nil {
			err = errors.Join(err, xtf.ErrCorrupt)
		}
	}
	if err == nil && uint64(r.Defs.NumLocations()) != uint64(r.File.Procs()) {
		err = fmt.Errorf("%d regions for %d locations: %w", r.File.Procs(), r.Defs.NumLocations(), xtf.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	return nil
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

// Units are those of the run's clock.
func (r *Run) Units() numbers.Units { return numbers.UnitsOf(r.Defs.Clock().TimerResolution) }

// Close closes the file.
func (r *Run) Close() error { return r.File.Close() }

// Load calls f for every row of type T of location p, in their order. The row is valid during the call.
func Load[T any, R xtf.Form[T]](r *Run, p xtf.Proc, f func(x *T)) error {
	return xtf.Each[T, R](r.File, p, func(_ uint64, x *T) error { f(x); return nil })
}

// Overlapping passes the rows of type T of location p that overlap [begin, end), with their numbers. A row is valid until the next one.
// What ends them before their end is in err.
func Overlapping[T any, R xtf.Form[T]](r *Run, p trace.P, begin, end uint64, err *error) iter.Seq2[uint64, *T] {
	return passed[T, R](r, p, err, func(a *xtf.Array, visit func(uint64, []byte) bool) error { return a.Overlapping(begin, end, visit) })
}

// Begun does the same for the rows that begin in [begin, end).
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

// Failed says of which part of the run an error is, and what could not be read; nil stays.
func (r *Run) Failed(p xtf.Proc, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case p == xtf.WholeRun:
		return fmt.Errorf("%s: %s: %w", r.Name, what, err)
	}
	return fmt.Errorf("%s: location %d: %s: %w", r.Name, r.Defs.Location(trace.P(p)).Ref, what, err)
}

// each calls f for the chosen processes, one after another. What of them cannot be read is returned as lost.
func (r *Run) each(ranks Ranks, section string, f func(rank uint32, x trace.Process) error) (lost []table.Lost, err error) {
	for rank, x := range r.Defs.Processes() {
		if !ranks.Contains(uint32(rank)) {
			continue
		}
		if err := f(uint32(rank), x); Partial(err) {
			lost = append(lost, r.Lost(x.First, section, err))
		} else if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// EachLocation does the same for the locations of the chosen processes.
func (r *Run) EachLocation(ranks Ranks, section string, f func(p trace.P) error) (lost []table.Lost, err error) {
	of := ranks.Locations(r.Defs)
	for p := range trace.P(r.Defs.NumLocations()) {
		if !of(p) {
			continue
		}
		if err := f(p); Partial(err) {
			lost = append(lost, r.Lost(p, section, err))
		} else if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// EachRow does the same for the rows [first, end) of a.
func EachRow[T any, R xtf.Form[T]](a *xtf.Array, first, end uint64, f func(x *T)) error {
	rows := xtf.RowsOf[T, R](a.Rows(first, end))
	for rows.Next() {
		f(&rows.Row)
	}
	return rows.Err()
}

// Lost describes a location that a section leaves out because of err, which the
// file remembers as damage.
func (r *Run) Lost(p trace.P, section string, err error) table.Lost {
	r.File.Damaged(xtf.Proc(p), err)
	process, thread := r.Defs.Process(p)
	return table.Lost{Location: r.Defs.Location(p).Ref, Process: process, Thread: thread, Section: section, Error: err.Error()}
}

// Partial reports whether err is damage of a part of the file, which leaves the
// rest readable. The file remembers that part: Left
// has it in the end.
func Partial(err error) bool { return errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, ccg.ErrCorrupt) }

// Left lists all damage that reading the file has met so far: what every result
// made from it until now may lack.
func (r *Run) Left() []table.Lost { return r.Complete(nil) }

// Complete adds to what sections of a result leave out the other damage that
// reading the file has met.
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

// RegionName returns the name of a region for people, with the place in the source of calls from one place.
func (r *Run) RegionName(ref uint32) string { return r.Defs.RegionLabel(ref) }

// CallName returns the name of a region without that place.
func CallName(r *Run, ref uint32) string {
	if x := r.Defs.Region(ref); x != nil && r.Defs.CallSite(x) != nil {
		return r.Defs.Text(x.Name)
	}
	return r.RegionName(ref)
}

// CallPlace returns that place, as "halo.c:42", "" where the trace does not tell.
func CallPlace(r *Run, ref uint32) string {
	if x := r.Defs.Region(ref); x != nil {
		return r.Defs.CallPlace(x)
	}
	return ""
}

// Where returns source file and line of a region, "" where the trace does not
// tell.
func (r *Run) Where(ref uint32) (file string, line uint32) {
	x := r.Defs.Region(ref)
	if x == nil {
		return "", 0
	}
	return r.Defs.Text(x.SourceFile), x.BeginLine
}

// CommName returns the name of a communicator for people.
func (r *Run) CommName(ref uint32) string {
	for i := range r.Defs.Comms {
		if r.Defs.Comms[i].Ref == ref {
			return cmp.Or(r.Defs.Text(r.Defs.Comms[i].Name), fmt.Sprintf("communicator %d", ref))
		}
	}
	for i := range r.Defs.InterComms {
		if r.Defs.InterComms[i].Ref == ref {
			return cmp.Or(r.Defs.Text(r.Defs.InterComms[i].Name), fmt.Sprintf("communicator %d", ref))
		}
	}
	return fmt.Sprintf("communicator %d (undefined)", ref)
}

// Place is where an answer is about.
type Place struct {
	Location uint64 `json:"location"` // id in the trace
	Process  uint32 `json:"process"`
	Thread   uint32 `json:"thread"`
}

// Place is where location p is.
func (r *Run) Place(p trace.P) Place {
	process, thread := r.Defs.Process(p)
	return Place{r.Defs.Location(p).Ref, process, thread}
}

// Text names the place for people.
func (p Place) Text() string {
	return fmt.Sprintf("process %d, thread %d (location %d)", p.Process, p.Thread, p.Location)
}
