package archive

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// graphSize is the size of a location's part of the graph.
type graphSize struct {
	bytes  uint64 // in the file
	events uint64
}

// outside are codes of diagnostics of events or of definitions. A definition with such a diagnostic is not in the file.
var outside = [...]trace.Code{trace.DiagUnknownRecord, trace.DiagSurplus}

// changing are codes of diagnostics that say that the streams of the file differ from those of the trace it was made from.
var changing = []trace.Code{
	trace.DiagMissingEvents, trace.DiagTruncated, trace.DiagCorrupt, trace.DiagTimeBackwards, trace.DiagMissingLocalDef, trace.DiagBadLocalDef, trace.DiagBadDefinition,
}

// measure reads the sizes of all locations, each rank an equal share, and distributes the locations by their events, on which the time
// depends.
func (x *export) measure() error {
	n := x.defs.NumLocations()
	lo, hi := n*x.c.Rank()/x.c.Size(), n*(x.c.Rank()+1)/x.c.Size()
	own := make([]byte, 0, 16*(hi-lo))
	inside := make([]int64, len(outside))
	var err error
	for p := xtf.Proc(lo); int(p) < hi && err == nil; p++ {
		var s graphSize
		if s, err = x.sizeOf(p); err == nil {
			own = jobs.AppendWords(own, s.bytes, s.events)
			err = x.countOutside(p, inside)
		}
	}
	if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
		return err
	}
	parts, err := x.c.Allgather(own)
	if err == nil {
		err = x.c.AllreduceInt64(inside, mpi.Sum)
	}
	if err != nil {
		return err
	}
	var weights []uint64
	for v := jobs.TakeWords[uint64](parts...); len(v) >= 2; v = v[2:] {
		s, w := graphSize{v[0], v[1]}, uint64(0)
		if p := trace.P(len(x.sizes)); x.selected(p) {
			w = s.events
		} else {
			s.bytes = 0
			x.res.LeftOut++
		}
		x.sizes, weights = append(x.sizes, s), append(weights, w)
	}
	x.own = partition.Ranges(weights, x.c.Size())[x.c.Rank()]
	if x.c.Rank() == 0 {
		if err = jobs.InputError(x.o.Run, x.differences(inside)); err == nil && x.o.Strict && len(x.res.Differs) > 0 {
			err = jobs.Fail(jobs.ExitPartial, jobs.ErrDamaged)
		}
	}
	return jobs.Agree(x.c, err)
}

// sizeOf reads the size of location p. If it is damaged the size is 0; the error comes again when the location is written.
func (x *export) sizeOf(p xtf.Proc) (graphSize, error) {
	var s graphSize
	row, err := x.file.Dir(p)
	if err != nil {
		return s, err
	}
	s.events = row.Events
	blobs, err := x.file.Blobs(p)
	for _, b := range blobs {
		if b.Kind == xtf.KindCCGColumns {
			s.bytes = uint64(b.Size)
		}
	}
	if jobs.Unreadable(err) {
		return s, nil
	}
	return s, err
}

// countOutside adds the diagnostics of location p with codes of outside. If they are damaged it adds so many that none counts for
// definitions.
func (x *export) countOutside(p xtf.Proc, n []int64) error {
	err := x.diagnostics(p, func(d *xtf.Diag) {
		for i, c := range outside {
			if d.Code == uint32(c) && d.Detail == xtf.DiagTotal {
				n[i] += int64(min(d.Count, 1<<40))
			}
		}
	})
	if jobs.Unreadable(err) {
		for i := range n {
			n[i] += 1 << 40
		}
		return nil
	}
	return err
}

func (x *export) diagnostics(p xtf.Proc, f func(d *xtf.Diag)) error {
	return xtf.Each(x.file, p, func(_ uint64, d *xtf.Diag) error {
		f(d)
		return nil
	})
}

// differences lists the diagnostics of what was left out or changed before it came into the file. inside is the number of diagnostics of
// locations, by index in outside.
func (x *export) differences(inside []int64) error {
	return x.diagnostics(xtf.WholeRun, func(d *xtf.Diag) {
		t := stats.CodeTotal{Code: trace.Code(d.Code), Count: d.Count, Worst: d.Worst, Locations: d.Event}
		for _, c := range changing {
			if t.Code == c {
				x.res.Differs = append(x.res.Differs, t)
			}
		}
		for i, c := range outside {
			if n := uint64(inside[i]); t.Code == c && n < t.Count {
				t.Count, t.Locations = t.Count-n, 0
				x.res.Differs = append(x.res.Differs, t)
			}
		}
	})
}

// firstChunk is the size of event chunks unless a record needs larger ones.
const firstChunk = 1 << 20

// write writes the files of all locations. If a record does not fit in a chunk, all ranks begin again with chunks four times as large.
func (x *export) write() error {
	var own, all uint64
	for p := range x.sizes {
		all += x.sizes[p].bytes
	}
	for p := x.own.First; p < x.own.End; p++ {
		own += x.sizes[p].bytes
	}
	for chunk := firstChunk; ; chunk = min(4*chunk, otf2.MaxChunk) {
		x.meter.Stage("write", own, all)
		x.res.EventChunk = chunk
		err := x.writeLocations(chunk)
		again := []int64{0}
		if errors.Is(err, otf2.ErrTooLong) && chunk < otf2.MaxChunk {
			again[0], err = 1, nil
		}
		if err := jobs.Agree(x.c, err); err != nil {
			return err
		}
		if err := x.c.AllreduceInt64(again, mpi.Max); err != nil || again[0] == 0 {
			return err
		}
		if x.c.Rank() == 0 {
			err = xtfwriter.OutputError("", errors.Join(os.RemoveAll(x.place.work), os.Mkdir(x.place.work, 0o777)))
		}
		if err := jobs.Agree(x.c, err); err != nil {
			return err
		}
	}
}

func (x *export) writeLocations(chunk int) error {
	x.written, x.lost, x.last, x.res.Bytes, x.res.Cut = x.written[:0], nil, 0, 0, Cut{}
	w, err := otf2.Create(x.place.work, x.place.name, x.defs, otf2.Options{EventChunk: chunk})
	if err != nil {
		return xtfwriter.OutputError("", err)
	}
	var batch trace.Batch
	for p := x.own.First; p < x.own.End; p++ {
		if q, ok := x.defs.Ordinal(x.defs.Location(p).Ref); ok && q != p {
			x.written = append(x.written, 0) // defined twice: they share one file
			continue
		}
		if err := x.writeLocation(w, p, &batch); err != nil {
			return fmt.Errorf("location %d: %w", x.defs.Location(p).Ref, err)
		}
	}
	return nil
}

func (x *export) writeLocation(w *otf2.Writer, p trace.P, batch *trace.Batch) error {
	l, err := w.Location(p)
	if err != nil {
		return xtfwriter.OutputError("", err)
	}
	if x.selected(p) {
		err = x.writeEvents(l, p, batch)
		lost := err
		if err == nil {
			lost = jobs.InputError(x.o.Run, x.diagnostics(xtf.Proc(p), func(*xtf.Diag) {}))
		}
		if jobs.Unreadable(lost) && !x.o.Strict {
			process, thread := x.defs.Process(p)
			x.lost = append(x.lost, Lost{x.defs.Location(p).Ref, process, thread, lost.Error()})
			if lost = nil; err != nil {
				lost = xtfwriter.OutputError("", l.Discard())
			}
		}
		err = lost
	}
	if cerr := l.Close(); err == nil {
		err = xtfwriter.OutputError("", cerr)
	}
	x.written = append(x.written, l.Events())
	x.res.Bytes += l.Bytes()
	return err
}

// writeEvents writes the events of a location. Errors of reading have the exit code of input.
func (x *export) writeEvents(l *otf2.LocationWriter, p trace.P, batch *trace.Batch) error {
	left := x.sizes[p].bytes
	defer func() { x.meter.Add(left) }()
	loc, _, err := callview.Location(x.file, x.shared, xtf.Proc(p))
	if err != nil {
		return jobs.InputError(x.o.Run, fmt.Errorf("call graph of location %d: %w", p, err))
	}
	if loc.Events() != x.sizes[p].events {
		return jobs.InputError(x.o.Run, fmt.Errorf("call graph of location %d with %d events, the directory has %d: %w", p, loc.Events(), x.sizes[p].events, xtf.ErrCorrupt))
	}
	if x.window != nil {
		return x.sliceError(x.writeSlice(l, loc))
	}
	r, read := loc.Expand(), uint64(0)
	for {
		err := r.Next(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return jobs.InputError(x.o.Run, err)
		}
		x.last = max(x.last, batch.Events[len(batch.Events)-1].Time)
		read += uint64(len(batch.Events))
		batch.KeepRecords()
		if err := l.Add(batch); err != nil {
			return xtfwriter.OutputError("", err)
		}
		done := min(left, x.sizes[p].bytes/loc.Events()*uint64(len(batch.Events)))
		x.meter.Add(done)
		left -= done
	}
	if read != loc.Events() {
		return fmt.Errorf("%d events read of %d", read, loc.Events())
	}
	return nil
}
