package results

import (
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// NoteGraph says that numbers come from the graph, and how exact they are.
func NoteGraph(c *table.Chapter, s Source, b *Bound) {
	switch {
	case s != SourceGraph:
	case b == nil:
		c.Say("from the call graph, exact")
	default:
		c.Say("from the call graph: %s", b.Text)
	}
}

// NoteBound says how exact the times of an answer are.
func NoteBound(c *table.Chapter, b *Bound, off *uint64, u numbers.Units) {
	switch {
	case b == nil:
	case off == nil:
		c.Say("lossy graph: %s", b.Text)
	default:
		c.Say("lossy graph: %s; times here are off by at most %s", b.Text, u.Span(*off))
	}
}
