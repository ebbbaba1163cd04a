package ccgmerge

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// Locals are a rank's locations, ascending, one at a time: from memory or from a segment store. Reduce opens each location twice, for a
// lossy graph five times. It does not use a location after it has opened the next one. A lossless graph does not need streams.
type Locals interface {
	Len() int
	Open(i int) (*build.Local, error)
}

// Config bounds the work; it does not change the result.
type Config struct {
	Message int // bytes of a message, approximately; 0: 8 MiB
}

const defaultMessage = 8 << 20

// Level counts what one level of the tree moved, over all ranks.
type Level struct {
	Messages uint64
	Bytes    uint64
	Nodes    uint64 // nodes, or rows of class tables, received
	New      uint64 // of these, those that the receiver did not have
}

// Report has figures for the log, the same on every rank.
type Report struct {
	LocalNodes     uint64 // sum over all locations
	Nodes          uint64 // of the result
	PartnerBytes   uint64 // largest message of partner counts
	GapBytes       uint64 // largest message of gap counts, of a lossy graph
	CodebookBytes  uint64 // bytes of the codebook
	GapContexts    uint64 // contexts of the codebook
	GapValues      uint64 // values that gaps are stored as, in all contexts
	Levels         []Level
	SlotBytes      uint64  // largest message of gap counts by slot, of a lossy graph
	ClassLevels    []Level // of its class tables
	Rows           uint64  // of the class tables
	BroadcastBytes uint64
}

// sentinels are the errors that errors.Is finds on all ranks.
var sentinels = []error{graph.ErrCorrupt, graph.ErrLimit, graph.ErrForeign, graph.ErrVersion}

// Reduce makes the shared graph of all ranks' locations. The locations of rank r come before those of rank r+1. It returns the same graph,
// codebook (lossy graphs only) or error on every rank. No message of the caller may be in progress. Collective.
func Reduce(c mpi.Comm, defs *trace.Definitions, locals Locals, o graph.Options, cfg Config) (*graph.Shared, *build.Codebook, Report, error) {
	if cfg.Message <= 0 {
		cfg.Message = defaultMessage
	}
	r := &reduction{c: mpi.Keeping{Comm: c, Sentinels: sentinels}, defs: defs, locals: locals, opt: o, cfg: cfg}
	shared, err := r.run()
	if err != nil {
		return nil, nil, r.report, fmt.Errorf("call graph: reduction: %w", err)
	}
	return shared, r.book, r.report, nil
}

type reduction struct {
	c      mpi.Comm
	defs   *trace.Definitions
	locals Locals
	opt    graph.Options
	cfg    Config
	report Report
	book   *build.Codebook // nil until it is known
	levels []Level         // of this rank

	classLevels []Level // also of this rank
}

func (r *reduction) run() (*graph.Shared, error) {
	if err := r.opt.Deviation.Check(); err != nil {
		return nil, err
	}
	book, err := r.codebook()
	if err != nil {
		return nil, err
	}
	encodings, err := r.partners()
	if err != nil {
		return nil, err
	}
	u := build.NewUnion(r.defs, encodings, r.opt)
	local, err := r.join(u)
	r.levels, err = climb(r, u, err)
	if err := r.c.Agree(err); err != nil {
		return nil, err
	}
	shared, err := r.broadcast(u)
	if err := r.c.Agree(err); err != nil {
		return nil, err
	}
	if r.book = book; book != nil {
		if shared, err = r.classes(shared); err != nil {
			return nil, err
		}
	}
	return shared, r.count(local, shared)
}

// partners counts partner encodings over all ranks and returns the choice.
func (r *reduction) partners() (*graph.Encodings, error) {
	own := build.NewPartners(r.defs)
	partners := choice[*build.Partners]{
		add:     func(l *build.Local) error { own.Add(l); return nil },
		open:    func(b []byte) (*build.Partners, error) { return build.OpenPartners(r.defs, b) },
		merge:   func(a, b *build.Partners) error { a.Merge(b); return nil },
		decide:  func(all *build.Partners) ([]byte, error) { return all.Choose().AppendBinary(nil) },
		largest: &r.report.PartnerBytes,
	}
	b, err := partners.of(r, own)
	if err != nil {
		return nil, err
	}
	return graph.OpenEncodings(b)
}

// join adds this rank's locations to u. It returns the sum of their nodes.
func (r *reduction) join(u *build.Union) (uint64, error) {
	nodes := uint64(0)
	err := r.each(func(l *build.Local) error {
		nodes += uint64(l.Nodes())
		return u.Add(l)
	})
	return nodes, err
}

// broadcast returns the finished graph on every rank.
func (r *reduction) broadcast(u *build.Union) (*graph.Shared, error) {
	var shared *graph.Shared
	var b []byte
	if r.c.Rank() == 0 {
		shared = u.Shared()
		if r.c.Size() == 1 {
			return shared, nil
		}
		b = shared.Encode()
	}
	b, err := r.c.Bcast(b, 0)
	if err != nil {
		return nil, err
	}
	r.report.BroadcastBytes = uint64(len(b)) * uint64(r.c.Size()-1)
	if shared == nil {
		return graph.OpenShared(r.defs, b)
	}
	return shared, nil
}

// count adds up the figures of all ranks.
func (r *reduction) count(local uint64, shared *graph.Shared) error {
	depth := 0
	for bit := 1; bit < r.c.Size(); bit *= 2 {
		depth++
	}
	sums := make([]int64, 1+8*depth)
	sums[0] = int64(local)
	for k, levels := range [][]Level{r.levels, r.classLevels} {
		for i, l := range levels {
			copy(sums[1+4*(i+k*depth):], []int64{int64(l.Messages), int64(l.Bytes), int64(l.Nodes), int64(l.New)})
		}
	}
	if err := r.c.AllreduceInt64(sums, mpi.Sum); err != nil {
		return err
	}
	most := []int64{int64(r.report.PartnerBytes), int64(r.report.GapBytes), int64(r.report.SlotBytes)}
	if err := r.c.AllreduceInt64(most, mpi.Max); err != nil {
		return err
	}
	r.report.PartnerBytes, r.report.GapBytes, r.report.SlotBytes = uint64(most[0]), uint64(most[1]), uint64(most[2])
	r.report.LocalNodes, r.report.Nodes = uint64(sums[0]), uint64(shared.Nodes())
	levels := make([]Level, 2*depth)
	for i := range levels {
		v := sums[1+4*i:]
		levels[i] = Level{uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3])}
	}
	r.report.Levels = levels[:depth:depth]
	if !r.opt.Deviation.Lossless() {
		r.report.ClassLevels = levels[depth:]
	}
	return nil
}
