package view

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// mostArrow is how many rows one stream has at most.
const mostArrow = 1_000_000

// stream is an answer that is written while it is read.
type stream struct {
	mediaType string
	write     func(w io.Writer) error
}

// arrow answers api/arrow: it counts the rows; what it returns reads them.
func (s *Server) arrow(ctx context.Context, p *params) (any, error) {
	table, err := p.choice("table", export.Tables()...)
	if err != nil {
		return nil, err
	}
	o, err := p.window()
	if err != nil {
		return nil, err
	}
	most, err := p.limit(mostArrow, mostArrow)
	if err != nil {
		return nil, err
	}
	labels, err := results.NodeLabels(p.run.Run)
	if err != nil {
		return nil, err
	}
	of := o.ranks.Locations(p.run.Defs)
	src := &export.Source{
		File: p.run.File, Defs: p.run.Defs, Nodes: labels, Window: export.Window{Begin: o.begin, End: o.end},
		Selected: func(l trace.P) bool { return ctx.Err() == nil && of(l) },
	}
	n, err := src.Rows(table, uint64(most))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if n > uint64(most) {
		return nil, bad("t", fmt.Sprintf("more than %d rows of %s overlap the window", most, table),
			"Choose fewer ranks or a shorter window, or use coppice export --to arrow")
	}
	return stream{"application/vnd.apache.arrow.stream", func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		_, err := src.Events(table, func(schema *export.Schema) (export.TableWriter, error) { return export.NewTable(b, "arrow", schema) })
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return b.Flush()
	}}, nil
}

// stream sends a stream. An error after its first bytes breaks the connection, so that nobody takes a part for all.
func (t *turn) stream(r *http.Request, x stream) error {
	if r.Method == http.MethodHead {
		t.w.Header().Set("Content-Type", x.mediaType)
		return nil
	}
	if err := t.hold(streamHeld); err != nil {
		return err
	}
	t.w.Header().Set("Cache-Control", "no-store")
	out := &begun{t: t, ctx: r.Context(), mediaType: x.mediaType}
	err := x.write(out)
	if err != nil && out.n > 0 {
		panic(http.ErrAbortHandler)
	}
	return err
}

// begun counts what was written of an answer, and gives it its type. While the reader takes it, others have their turns.
type begun struct {
	t         *turn
	ctx       context.Context
	mediaType string
	n         int
}

func (b *begun) Write(p []byte) (int, error) {
	if b.n == 0 {
		b.t.w.Header().Set("Content-Type", b.mediaType)
	}
	n, err := b.t.send(p)
	b.n += max(1, n)
	if err == nil {
		err = b.t.wait(b.ctx, math.MaxInt)
	}
	return n, err
}
