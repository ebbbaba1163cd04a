package analyze

import (
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Members of a team with work of their own next to groups, as numbers of leader.load. In a small team the owner makes the
// sums itself, in one pass with the counting; in a larger one that pass would take longer than all the others.
const (
	graphMaker  = 1
	sumMaker    = 2
	largeHelped = 4 // helpers of a large team
)

// sumsApart says whether a helper makes the sums.
func (a *loads) sumsApart(t *partition.Team) bool {
	return !a.o.GraphOnly && len(t.Helpers) >= largeHelped
}

// loadSums is what a pass over all events leaves next to rows and channels.
type loadSums struct {
	parts   [3][]byte // encoded: stats.Loaded, trees, components
	borders *xtfwriter.Segment
}

// makeSums passes all events of a location for its sums and executions.
func (a *loads) makeSums(p trace.P) (*loadSums, error) {
	s := &loadSums{borders: a.store.Scratch()}
	loader, err := a.newLoader(p, stats.Outputs{Counts: true, Borders: s.borders})
	if err != nil {
		return nil, err
	}
	if _, err := a.decode(p, func(_ place, b *trace.Batch) error { return loader.Add(b) }); err != nil {
		return nil, err
	}
	loaded, err := loader.Finish()
	if err != nil {
		return nil, err
	}
	f := forest{loaded.Tree, loaded.Paths}
	s.parts = [...][]byte{loaded.AppendBinary(nil), f.encode(), loaded.Components.AppendBinary(nil)}
	s.borders.Seal()
	return s, nil
}

// begin does the work of this helper that is its own.
func (h *helper) begin() {
	if h.err != nil {
		return
	}
	for i, r := range h.team.Helpers {
		switch {
		case r != h.c.Rank():
		case i+1 == graphMaker:
			h.graph, h.err = h.makeGraph(h.team.P)
		case i+1 == sumMaker && h.sumsApart(h.team):
			h.sums, h.err = h.makeSums(h.team.P)
		}
	}
}

// sendSums sends the sums: a message with the parts and the length of borders, then these.
func (h *helper) sendSums() error {
	if h.err != nil {
		return h.answer(nil)
	}
	parts := append(h.sums.parts[:], jobs.AppendWords(nil, h.sums.borders.Size()))
	if err := h.answer(append([]byte{answerDone}, jobs.PackParts(0, parts...)...)); err != nil {
		return err
	}
	err := eachPiece(h.sums.borders, func(b []byte) error { return h.c.Send(b, h.team.Owner, tagAnswer) })
	h.sums.borders.Drop()
	return err
}

// fetchSums takes the sums of a location, all but the channels.
func (l *leader) fetchSums(work *loading) (*stats.Loaded, error) {
	b, err := l.ask(sumMaker, []byte{teamSums})
	if err != nil {
		return nil, err
	}
	_, parts, err := jobs.UnpackParts(b)
	if err != nil || len(parts) != 4 || len(parts[3]) != 8 {
		return nil, errTeam
	}
	failed, err := l.pieces(sumMaker, jobs.TakeWords[uint64](parts[3])[0], appendTo(work.staged[3]))
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	loaded, err := l.tables.Parse(parts[0])
	if err != nil {
		return nil, err
	}
	f, err := parseForest(parts[1])
	if err != nil {
		return nil, err
	}
	loaded.Tree, loaded.Paths = f.nodes, f.paths
	loaded.Components, err = interval.ParseComponents(parts[2])
	return loaded, err
}
