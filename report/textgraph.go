package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/exact"
)

func (d *Document) writeCCG(w *writer) {
	g := d.CCG
	w.title(fmt.Sprintf("call graph of %s: %s instances in %s nodes", plural(int(g.Locations), "location"), count(g.Instances), count(g.Nodes)))
	if g.Bound != nil {
		w.line("lossy: %s", g.Bound.Text)
	}
	tab := table{head: []string{"<", "", "<"}}
	tab.add("instances per node, R_n", g.NodeRatio.text(2), "how often structure repeats")
	tab.add("memory ratio, R_m", g.MemoryRatio.text(2), fmt.Sprintf("%s unshared, %s shared", Bytes(g.RawBytes), Bytes(g.StoredBytes)))
	tab.add("different structures", count(uint64(g.Structures)), fmt.Sprintf("of %s", plural(int(g.Locations), "location")))
	tab.add("nodes used once", count(g.SingleUse), g.SingleShare.percent()+" of the nodes: what does not repeat")
	tab.add("distinct records", count(g.Tuples), "")
	if g.Bound != nil {
		tab.add("classes", count(g.ClassRows), "different timings of nodes, shared by all locations")
	}
	tab.add("columns", count(g.Columns), "of times and values")
	parts := fmt.Sprintf("%s structure, %s columns", count(g.StructureBytes), count(g.ColumnBytes))
	if g.Bound != nil {
		parts += fmt.Sprintf(", %s classes", count(g.ClassBytes))
	}
	tab.add("bytes in the file", count(g.Bytes), parts)
	tab.add("bytes per event", g.BytesPerEvent.text(2), fmt.Sprintf("of %s events", count(g.Events)))
	if e := g.TimeError; e != nil {
		mean := exact.Share(e.sum[1], e.sum[0], max(g.Events, 1)).Round()
		tab.add("time stamps off by", w.unit.span(e.Largest), fmt.Sprintf("at most; %s on average", w.unit.span(uint64(max(mean, 0)))))
	}
	tab.add("bounds", fmt.Sprintf("%d", g.Fold), fmt.Sprintf("longest folded loop body; fan-out %d", g.Fan))
	w.table(&tab)
	d.writeGroups(w)
	w.line("> %s", g.Finding)
}

// writeGroups lists equal locations.
func (d *Document) writeGroups(w *writer) {
	list := d.CCG.Groups
	if len(list) < 2 {
		return
	}
	tab := table{head: []string{"<equal locations", "", "<", "<"}}
	for i, g := range list[:min(len(list), w.style.rows())] {
		equal := "structure"
		if g.EqualTimes {
			equal = "structure and times"
		}
		tab.add(fmt.Sprintf("group %d", i), count(uint64(g.Count)), clean(g.Locations, 60), equal)
	}
	w.line("")
	w.table(&tab)
	w.more(len(list), w.style.rows(), "group")
}
