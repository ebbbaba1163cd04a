package archive

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Options are the same on all ranks.
type Options struct {
	Run       string // the XTF file
	Output    string // the anchor file, or the folder for one named traces.otf2
	Force     bool   // replace an existing archive
	Strict    bool   // a location that cannot be read is an error
	Version   string // of the tool
	Host, Job string // for the lock file
	PID       int
	Show      func(jobs.Progress) // on rank 0
	// Select returns which locations to write; nil writes all.
	Select func(d *trace.Definitions) (func(p trace.P) bool, error)
	// Window returns the slice of time to write; nil writes all. It is called on rank 0.
	Window func() (Window, error)
}

// Result is what all ranks wrote together. Differs and Unreadable are set on rank 0 only.
type Result struct {
	Anchor     string // path
	FileID     string // of the XTF file
	Events     uint64
	Bytes      uint64 // of the event files
	Locations  int
	LeftOut    int               // locations that were not selected: they have no events
	Deviation  graph.Deviation   // how far times may be from the true ones
	Differs    []stats.CodeTotal // diagnostics of what the analysis left out or changed, by ascending code
	Lost       int               // locations whose part of the file is damaged: they have no events, or their diagnostics are unknown
	Unreadable []Lost            // these locations
	EventChunk int               // bytes
	Window     *Window           // nil: all
	Cut        Cut
}

// Lost is a location that could not be read.
type Lost struct {
	Location        uint64 // id in the trace
	Process, Thread uint32
	Error           string
}

// Exact reports whether the archive has every event of the analysed trace as it was, with corrected clocks.
func (r *Result) Exact() bool {
	return r.Deviation.Lossless() && len(r.Differs) == 0 && r.Lost == 0 && r.LeftOut == 0 && r.Window == nil
}

// export is one job on one rank.
type export struct {
	o        Options
	c        mpi.Comm
	file     *xtf.File
	defs     *trace.Definitions
	shared   *graph.Shared
	selected func(p trace.P) bool
	ws       *xtfwriter.Workspace
	place    *archivePlace
	sizes    []graphSize
	own      partition.Range
	written  []uint64   // by location of this rank: events
	last     trace.Time // of the events written
	rowless  bool       // the file has no rows of events; set on rank 0
	window   *Window
	members  map[uint32]bool // by communicator: all members are selected; see whole
	lost     []Lost
	meter    *jobs.Meter
	res      Result
}

// Write writes the event streams of the call graph as an OTF2 archive. Under its final name the archive is complete or missing: the anchor
// file comes last. Its bytes do not depend on the number of ranks. Collective: all ranks return the same error.
//
// Memory of a rank: 4 times the definitions; the shared graph, 20 to 40 bytes per node, and its section once; 16 bytes per location; and of
// one location the blob, 24 bytes per node, 4 per slot, 56 for each 1 024 values and 8 KiB per column, a batch of 4 096 events and a
// chunk of the archive.
func Write(c mpi.Comm, o Options) (*Result, error) {
	x := &export{o: o, c: c, place: newArchivePlace(o.Output)}
	side, err := c.Dup()
	if err != nil {
		return nil, err
	}
	x.meter = jobs.NewMeter(side, o.Show)
	return &x.res, x.meter.End(x.run())
}

func (x *export) run() error {
	x.meter.Stage("open", 0, 0)
	var err error
	x.file, err = callview.OpenFile(x.o.Run, xtf.Options{})
	if err == nil {
		defer x.file.Close()
	}
	if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	if err := x.claim(); err != nil {
		return err
	}
	err = x.work()
	var cleaned error
	if x.c.Rank() == 0 {
		cleaned = xtfwriter.OutputError("", os.RemoveAll(x.place.work))
	}
	for _, e := range []error{jobs.Agree(x.c, cleaned), x.ws.Close()} {
		if err == nil {
			err = jobs.Coded(e)
		}
	}
	if err != nil && x.c.Rank() == 0 {
		x.place.leave()
	}
	return err
}

func (x *export) work() error {
	if err := x.measure(); err != nil {
		return err
	}
	if err := x.write(); err != nil {
		return err
	}
	x.meter.Stage("commit", 0, 0)
	return x.commit()
}

// open reads definitions, graph and options on rank 0, and gives them to all ranks.
func (x *export) open() error {
	for _, part := range []struct {
		read  func() ([]byte, error)
		parse func(b []byte) error
	}{
		{
			x.file.Definitions,
			func(b []byte) (err error) {
				x.defs, err = callview.ParseDefinitions(b, x.file.Procs())
				return err
			},
		},
		{
			func() ([]byte, error) { return x.file.SectionBytes(xtf.KindCCG) },
			func(b []byte) (err error) {
				x.shared, err = graph.OpenShared(x.defs, b)
				return err
			},
		},
	} {
		b, err := jobs.FromRank(x.c, 0, func() ([]byte, error) {
			b, err := part.read()
			return b, jobs.InputError(x.o.Run, err)
		})
		if err != nil {
			return err
		}
		if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, part.parse(b))); err != nil {
			return err
		}
	}
	id := x.file.FileID()
	x.res.FileID = hex.EncodeToString(id[:])
	x.res.Deviation = x.shared.Options().Deviation
	x.res.Locations = x.defs.NumLocations()
	var err error
	x.selected = func(trace.P) bool { return true }
	if x.o.Select != nil {
		x.selected, err = x.o.Select(x.defs)
	}
	if x.c.Rank() == 0 && err == nil {
		err = jobs.InputError(x.o.Run, x.readOptions())
	}
	if err = jobs.Agree(x.c, err); err != nil {
		return err
	}
	return x.openWindow()
}

// readOptions reads from the provenance whether the file has rows.
func (x *export) readOptions() error {
	p, err := jobs.ProvenanceOf(x.file)
	x.rowless = p.Options["events"] == "none"
	return err
}

// claim locks the output and makes the folder of this job.
func (x *export) claim() error {
	var err error
	if x.c.Rank() == 0 {
		err = x.place.prepare(x.o.Force)
	}
	if err := jobs.Agree(x.c, err); err != nil {
		return err
	}
	x.ws, err = xtfwriter.Begin(x.c, xtfwriter.Config{
		Output: x.place.anchor(), Identity: "export " + x.res.FileID, Host: x.o.Host, PID: x.o.PID, Job: x.o.Job, Force: x.o.Force,
	})
	if err == nil {
		x.place.work = fmt.Sprintf("%s.work/archive.%d", x.place.anchor(), x.ws.Epoch())
		if x.c.Rank() == 0 {
			err = xtfwriter.OutputError("", x.place.begin())
		}
		err = jobs.Agree(x.c, err)
		if err != nil {
			err = errors.Join(err, x.ws.Close())
		}
	}
	if err != nil && x.c.Rank() == 0 {
		x.place.leave()
	}
	return err
}
