package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// Classes are groups of processes: first by what they call, then by what they compute in between. Times are ticks.
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
	Calls         uint64         `json:"calls"`     // of each process, without tests that completed nothing
	Threshold     uint64         `json:"threshold"` // height of the cut
	Approximation *Approximation `json:"approximation"`
	Classes       []ProcessClass `json:"classes"`
	Merges        []ClassMerge   `json:"merges"`
}

// Approximation is how far classes are from exact ones because of rounding; null in JSON where they are exact.
type Approximation struct {
	Rounded uint64 `json:"rounded"` // the most that --quantum moved a process
	Leaders uint32 `json:"leaders"` // processes that represent others
	Led     uint32 `json:"led"`     // the processes that they represent
	Radius  uint64 `json:"radius"`  // the most that such a process is away from its leader
}

// ProcessClass is a set of processes that compute alike.
type ProcessClass struct {
	Class          uint32        `json:"class"`
	Representative uint32        `json:"representative"`
	Processes      uint32        `json:"processes"`
	Ranks          string        `json:"ranks"`
	Height         uint64        `json:"height"` // of its last merge
	Least          uint64        `json:"least"`  // computation of its processes
	Mean           uint64        `json:"mean"`
	Most           uint64        `json:"most"`
	Spread         numbers.Ratio `json:"spread"` // (most - least) / mean
}

// ClassMerge is a step of a dendrogram: two clusters, named by their first processes, became one of Size processes.
type ClassMerge struct {
	Height    uint64 `json:"height"`
	First     uint32 `json:"first"`
	Second    uint32 `json:"second"`
	Processes uint32 `json:"processes"`
}

// NewClasses reports classes of processes.
func NewClasses(r *results.Run) (*Classes, error) {
	t, err := r.File.Classes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if t == nil {
		return nil, fmt.Errorf("%s: classes of processes: %w: coppice analyze TRACE -o RUN.xtf --classes 5%% finds them", r.Name, results.ErrNoResult)
	}
	if len(t.Members) != len(r.Defs.Processes()) {
		return nil, fmt.Errorf("%s: classes of %d processes, the run has %d: %w", r.Name, len(t.Members), len(r.Defs.Processes()), xtf.ErrCorrupt)
	}
	x := &Classes{Options: r.Kept.Classes, members: t.Members}
	groups, classes := make([][]uint32, len(t.Groups)), make([][]uint32, len(t.Classes))
	for p, m := range t.Members {
		groups[m.Group], classes[m.Class] = append(groups[m.Group], uint32(p)), append(classes[m.Class], uint32(p))
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		y := ClassGroup{
			Group: uint32(i), Processes: g.Processes, Ranks: results.Ranks{List: groups[i]}.String(), Calls: max(g.Entries, 1) - 1, Threshold: g.Threshold,
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
			Class: uint32(i), Representative: c.Representative, Processes: c.Members, Ranks: results.Ranks{List: classes[i]}.String(), Height: c.Diameter,
			Least: s.Least, Mean: s.Mean, Most: s.Most, Spread: numbers.Quotient(numbers.Integer(s.Most-s.Least), numbers.Integer(s.Mean)),
		})
	}
	size := slices.Repeat([]uint32{1}, len(t.Members)) // by first process
	for _, m := range t.Merges {
		size[m.First] += size[m.Second]
		g := &x.Groups[m.Key>>32]
		g.Merges = append(g.Merges, ClassMerge{m.Height, m.First, m.Second, size[m.First]})
	}
	return x, nil
}

// chapter shows the classes of each group and the last steps that made them. Programs get the class of each process.
func (x *Classes) chapter(b *table.Book, c *table.Chapter) {
	u := b.Unit
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
	c.Title = fmt.Sprintf("%s of processes in %s that call the same (%s)", numbers.Plural(len(list), "class"), numbers.Plural(len(x.Groups), "set"), x.Options)
	c.Table(table.Fill(&table.Table{Title: "Processes of a class call the same in the same order and compute alike", Columns: []table.Column{
		table.Ints("group", ""), table.Ints("class", ""), table.Ints("processes", ""), table.Ranks("representative", ""), table.Ints(table.Of(u, "computation"), ""), table.Reals("spread", ""), table.Ints("merged within", ""), table.Words("ranks", ""),
	}}, "class", list, func(y *line) []table.Cell {
		return []table.Cell{
			table.PlainNumber(y.group), table.PlainNumber(y.Class), table.Number(y.Processes), table.AtRank(y.Representative), table.Time(u, y.Mean), table.Share(y.Spread),
			table.Named(u.Span(y.Height), strconv.FormatUint(y.Height, 10)), table.Word(table.Shortened(y.Ranks, 40)),
		}
	}))
	c.Table(x.mergeTable(u))
	data := &table.Table{}
	for _, name := range []string{"rank", "group", "class", "representative", "processes", "height", "least", "mean", "most"} {
		data.Columns = append(data.Columns, table.Ints("", name).Hidden())
	}
	p := uint64(0)
	table.Fill(data, "process", x.members, func(m *xtf.Member) []table.Cell {
		y := of[m.Class]
		row := []table.Cell{}
		for _, v := range []uint64{p, uint64(m.Group), uint64(m.Class), uint64(y.Representative), uint64(y.Processes), y.Height, y.Least, y.Mean, y.Most} {
			row = append(row, table.PlainNumber(v))
		}
		p++
		return row
	})
	c.Table(data)
}

// mergeTable lists the last merges of groups: they show where another cut would make more or fewer classes.
func (x *Classes) mergeTable(u numbers.Units) *table.Table {
	t := &table.Table{Title: "Last merges", Columns: []table.Column{table.Ints("group", ""), table.Ints("calls", ""), table.Ints("cut at", ""), table.Words("last merges (classes left: height)", ""), table.Words("", "")}}
	table.Fill(t, "group", x.Groups, func(g *ClassGroup) []table.Cell {
		text, off := "", ""
		for k, shown := len(g.Merges)-1, 0; k >= 0 && shown < 6; k, shown = k-1, shown+1 {
			text += fmt.Sprintf("%d: %s  ", int(g.Processes)-k-1, u.Span(g.Merges[k].Height))
		}
		if a := g.Approximation; a != nil {
			off = fmt.Sprintf("not exact: times moved by up to %s, %d processes stand for %d others within %s", u.Span(a.Rounded), a.Leaders, a.Led, u.Span(a.Radius))
		}
		return []table.Cell{table.PlainNumber(g.Group), table.Number(g.Calls), table.Word(u.Span(g.Threshold)), table.Word(strings.TrimSpace(text)), table.Word(off)}
	})
	return t
}
