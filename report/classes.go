package report

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/coppice-hpc/coppice/xtf"
)

// Classes are the processes of a run, parted by what they call and then by what they compute in between. Times are ticks.
type Classes struct {
	Options string       `json:"options"` // that made them
	Groups  []ClassGroup `json:"groups"`
	members []xtf.Member // by process
}

// ClassGroup is a set of processes whose MPI calls follow each other in the same order.
type ClassGroup struct {
	Group         uint32         `json:"group"`
	Processes     uint32         `json:"processes"`
	Ranks         string         `json:"ranks"`
	Calls         uint64         `json:"calls"`     // of each process, tests that completed nothing not counted
	Threshold     uint64         `json:"threshold"` // height of the cut
	Approximation *Approximation `json:"approximation"`
	Classes       []ProcessClass `json:"classes"`
	Merges        []ClassMerge   `json:"merges"`
}

// Approximation is what classes owe to rounding, null where they are exact.
type Approximation struct {
	Rounded uint64 `json:"rounded"` // what --quantum moved a process at most
	Leaders uint32 `json:"leaders"` // processes that stood for others
	Led     uint32 `json:"led"`     // these
	Radius  uint64 `json:"radius"`  // how far they were at most
}

// ProcessClass is a set of processes that compute alike.
type ProcessClass struct {
	Class          uint32 `json:"class"`
	Representative uint32 `json:"representative"`
	Processes      uint32 `json:"processes"`
	Ranks          string `json:"ranks"`
	Height         uint64 `json:"height"` // of its last merge
	Least          uint64 `json:"least"`  // computation of its processes
	Mean           uint64 `json:"mean"`
	Most           uint64 `json:"most"`
	Spread         Ratio  `json:"spread"` // (most - least) / mean
}

// ClassMerge is a step of a dendrogram: two clusters, by their first processes, became one of so many processes.
type ClassMerge struct {
	Height    uint64 `json:"height"`
	First     uint32 `json:"first"`
	Second    uint32 `json:"second"`
	Processes uint32 `json:"processes"`
}

// Classes reports classes of processes.
func (r *Run) Classes() (*Classes, error) {
	t, err := r.File.Classes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if t == nil {
		return nil, fmt.Errorf("%s: classes of processes: %w: coppice analyze TRACE -o RUN.xtf --classes 5%% finds them", r.Name, ErrNoResult)
	}
	if len(t.Members) != len(r.Defs.Processes()) {
		return nil, fmt.Errorf("%s: classes of %d processes, the run has %d: %w", r.Name, len(t.Members), len(r.Defs.Processes()), xtf.ErrCorrupt)
	}
	k, err := r.kept()
	if err != nil {
		return nil, err
	}
	x := &Classes{Options: k.Classes, members: t.Members}
	groups, classes := make([][]uint32, len(t.Groups)), make([][]uint32, len(t.Classes))
	for p, m := range t.Members {
		groups[m.Group], classes[m.Class] = append(groups[m.Group], uint32(p)), append(classes[m.Class], uint32(p))
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		y := ClassGroup{
			Group: uint32(i), Processes: g.Processes, Ranks: Ranks{groups[i]}.String(), Calls: max(g.Entries, 1) - 1, Threshold: g.Threshold,
			Classes: []ProcessClass{}, Merges: []ClassMerge{},
		}
		if g.Rounded > 0 || g.Led > 0 {
			y.Approximation = &Approximation{g.Rounded, g.Leaders, g.Led, g.Radius}
		}
		x.Groups = append(x.Groups, y)
	}
	for i := range t.Classes {
		c, s := &t.Classes[i], &t.Sums[i]
		g := &x.Groups[c.Group]
		g.Classes = append(g.Classes, ProcessClass{
			Class: uint32(i), Representative: c.Representative, Processes: c.Members, Ranks: Ranks{classes[i]}.String(), Height: c.Diameter,
			Least: s.Least, Mean: s.Mean, Most: s.Most, Spread: ratio(integer(s.Most-s.Least), integer(s.Mean)),
		})
	}
	x.addMerges(t)
	return x, nil
}

// addMerges counts the processes of each merged cluster.
func (x *Classes) addMerges(t *xtf.ClassTable) {
	size := make([]uint32, len(t.Members)) // by first process
	for p := range size {
		size[p] = 1
	}
	for _, m := range t.Merges {
		size[m.First] += size[m.Second]
		g := &x.Groups[m.Key>>32]
		g.Merges = append(g.Merges, ClassMerge{m.Height, m.First, m.Second, size[m.First]})
	}
}

func (d *Document) writeClasses(w *writer) {
	x := d.Classes
	n, group := 0, plural(len(x.Groups), "set")
	for i := range x.Groups {
		n += len(x.Groups[i].Classes)
	}
	w.title(fmt.Sprintf("%s of processes in %s that call the same (%s)", plural(n, "class"), group, x.Options))
	tab := table{head: []string{"group", "class", "processes", "representative", "computation " + w.unit.name(), "spread", "merged within", "<ranks"}}
	for i := range x.Groups {
		for k := range x.Groups[i].Classes {
			c := &x.Groups[i].Classes[k]
			tab.add(strconv.Itoa(i), fmt.Sprint(c.Class), count(uint64(c.Processes)), fmt.Sprintf("@%d", c.Representative), w.unit.ticks(c.Mean),
				c.Spread.percent(), w.unit.span(c.Height), shortened(c.Ranks, 40))
		}
	}
	all := len(tab.rows)
	tab.rows = tab.rows[:min(all, w.style.rows())]
	w.table(&tab)
	if all > len(tab.rows) {
		w.line("and %d more: --limit %d shows all", all-len(tab.rows), all)
	}
	d.writeHeights(w)
}

// writeHeights lists the last merges of groups: where a cut would make more or fewer classes.
func (d *Document) writeHeights(w *writer) {
	tab := table{head: []string{"group", "calls", "cut at", "<last merges (classes left: height)"}}
	for i := range d.Classes.Groups {
		g := &d.Classes.Groups[i]
		if g.Processes < 2 {
			continue
		}
		text := ""
		for k, shown := len(g.Merges)-1, 0; k >= 0 && shown < 6; k, shown = k-1, shown+1 {
			if text != "" {
				text += "  "
			}
			text += fmt.Sprintf("%d: %s", int(g.Processes)-k-1, w.unit.span(g.Merges[k].Height))
		}
		tab.add(strconv.Itoa(i), count(g.Calls), w.unit.span(g.Threshold), text)
		if a := g.Approximation; a != nil {
			tab.add("", "", "", fmt.Sprintf("not exact: times moved by up to %s, %d processes stand for %d others within %s", w.unit.span(a.Rounded), a.Leaders, a.Led, w.unit.span(a.Radius)))
		}
	}
	tab.rows = tab.rows[:min(len(tab.rows), w.style.rows())]
	w.table(&tab)
}

// shortened cuts a text that is too long.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

// writeCSV writes a row for each process; times are ticks.
func (x *Classes) writeCSV(w rowWriter) error {
	if err := w.Write([]string{"rank", "group", "class", "representative", "processes", "height", "least", "mean", "most"}); err != nil {
		return err
	}
	list := map[uint32]*ProcessClass{}
	for i := range x.Groups {
		for k := range x.Groups[i].Classes {
			list[x.Groups[i].Classes[k].Class] = &x.Groups[i].Classes[k]
		}
	}
	for p, m := range x.members {
		c := list[m.Class]
		row := []string{}
		for _, v := range []uint64{uint64(p), uint64(m.Group), uint64(m.Class), uint64(c.Representative), uint64(c.Processes), c.Height, c.Least, c.Mean, c.Most} {
			row = append(row, strconv.FormatUint(v, 10))
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// classes checks that the classes fit together and are of this run's processes.
func (v *Verified) classes(r *Run) error {
	t, err := r.File.Classes()
	if errors.Is(err, xtf.ErrClasses) {
		v.add("CLASS", "%v", err)
		return nil
	}
	if err != nil || t == nil {
		return err
	}
	if n := len(r.Defs.Processes()); len(t.Members) != n {
		v.add("MEMBER", "classes of %d processes, the run has %d", len(t.Members), n)
	}
	return nil
}
