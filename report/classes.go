package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// chapter has the classes of each group, and the last steps that made them; programs get the class of each process.
func (x *Classes) chapter(b *book, c *chapter) {
	u := b.unit
	type line struct {
		group int
		*ProcessClass
	}
	var list []line
	of := map[uint32]*ProcessClass{}
	for i := range x.Groups {
		for k := range x.Groups[i].Classes {
			y := &x.Groups[i].Classes[k]
			list = append(list, line{i, y})
			of[y.Class] = y
		}
	}
	c.title = fmt.Sprintf("%s of processes in %s that call the same (%s)", plural(len(list), "class"), plural(len(x.Groups), "set"), x.Options)
	t := &Table{Title: "Processes of a class call the same in the same order and compute alike", Columns: []Column{
		ints("group", ""), ints("class", ""), ints("processes", ""), ranks("representative", ""), ints(u.of("computation"), ""), reals("spread", ""), ints("merged within", ""), words("ranks", ""),
	}}
	fill(t, "class", list, func(y *line) []Cell {
		return []Cell{
			plainNumber(y.group), plainNumber(y.Class), number(y.Processes), atRank(y.Representative), u.time(y.Mean), share(y.Spread),
			named(u.span(y.Height), strconv.FormatUint(y.Height, 10)), word(shortened(y.Ranks, 40)),
		}
	})
	c.table(t)
	c.table(x.mergeTable(u))
	data := &Table{}
	for _, name := range []string{"rank", "group", "class", "representative", "processes", "height", "least", "mean", "most"} {
		data.Columns = append(data.Columns, ints("", name).hidden())
	}
	p := uint64(0)
	fill(data, "process", x.members, func(m *xtf.Member) []Cell {
		y := of[m.Class]
		row := []Cell{}
		for _, v := range []uint64{p, uint64(m.Group), uint64(m.Class), uint64(y.Representative), uint64(y.Processes), y.Height, y.Least, y.Mean, y.Most} {
			row = append(row, plainNumber(v))
		}
		p++
		return row
	})
	c.table(data)
}

// mergeTable lists the last merges of groups: where a cut would make more or fewer classes.
func (x *Classes) mergeTable(u unit) *Table {
	t := &Table{Title: "Last merges", Columns: []Column{ints("group", ""), ints("calls", ""), ints("cut at", ""), words("last merges (classes left: height)", ""), words("", "")}}
	fill(t, "group", x.Groups, func(g *ClassGroup) []Cell {
		text, off := "", ""
		for k, shown := len(g.Merges)-1, 0; k >= 0 && shown < 6; k, shown = k-1, shown+1 {
			text += fmt.Sprintf("%d: %s  ", int(g.Processes)-k-1, u.span(g.Merges[k].Height))
		}
		if a := g.Approximation; a != nil {
			off = fmt.Sprintf("not exact: times moved by up to %s, %d processes stand for %d others within %s", u.span(a.Rounded), a.Leaders, a.Led, u.span(a.Radius))
		}
		return []Cell{plainNumber(g.Group), number(g.Calls), word(u.span(g.Threshold)), word(strings.TrimSpace(text)), word(off)}
	})
	return t
}

// shortened cuts a text that is too long.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
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
