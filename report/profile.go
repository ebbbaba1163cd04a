package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// profileChapter has the regions by falling exclusive time.
func profileChapter(p *results.Profile, d *Document, b *table.Book, c *table.Chapter) {
	u := b.Unit
	of := numbers.Plural(p.Processes, "process")
	if p.Ranks != "all" {
		of += " (ranks " + p.Ranks + ")"
	}
	c.Title = fmt.Sprintf("profile of %s, %s %s", of, u.Ticks(p.Time), u.Name())
	results.NoteGraph(c, p.Source, p.Bound)
	var sum results.Sampling
	for i := range p.Regions {
		sum.Add(p.Regions[i].Samples, p.Regions[i].Estimated)
	}
	sum.Note(c, d.run)
	t := &table.Table{Title: "Regions by exclusive time, all processes together", Columns: append([]table.Column{
		table.Words("region", "name"), table.Ints("", "region").Hidden(), table.Words("", "file").Hidden(), table.Ints("", "line").Hidden(), table.Ints("calls", "calls"), table.Ints(table.Of(u, "exclusive"), "exclusive"), table.Reals("share", "share"),
		table.Ints(table.Of(u, "inclusive"), "inclusive"), table.Reals(u.PerCallName(), ""), table.Reals("mean", "mean"), table.Ints("max", "max"), table.Ranks("rank", "max_rank"), table.Reals("max/mean", ""), table.Ints("ranks", "processes"),
		table.Ints("bytes", "bytes"), table.Words("class", "class"), table.Ints("exclusive ±", "exclusive_deviation"), table.Ints("inclusive ±", "inclusive_deviation"),
	}, sum.Columns()...)}
	table.Fill(t, "region", p.Nested(), func(x *results.RegionTime) []table.Cell {
		mean := x.Mean(p.Processes)
		uneven := numbers.Ratio{}
		if mean.Defined && mean.Value > 0 {
			uneven = numbers.Ratio{Value: float64(x.Max[0]) / mean.Value, Defined: true}
		}
		bytes := table.Size(x.Bytes)
		if x.Bytes == 0 {
			bytes.Text = ""
		}
		return append([]table.Cell{
			d.nested(x), table.PlainNumber(x.Region), table.Word(x.File), table.PlainNumber(x.Line), x.Recorded(), table.Time(u, x.Exclusive), table.Share(x.Share),
			table.Time(u, x.Inclusive), table.Word(x.PerCall(u)), table.Mean(u, mean), table.Time(u, x.Max[0]), table.AtRank(x.Max[1]), table.Quotient(uneven, 2), table.Number(x.Processes),
			bytes, table.Named(results.StateLabel(x.Class), x.Class), table.Off(u, x.ExclusiveOff), table.Off(u, x.InclusiveOff),
		}, sum.Cells(x.Samples, x.Estimated)...)
	})
	if p.Outside > 0 {
		t.Add(table.Word("(outside recorded calls)"), table.None(), table.None(), table.None(), table.None(), table.Time(u, p.Outside), table.Share(numbers.NewRatio(p.Outside, p.Time)))
	}
	c.Table(t)
}

// nested is the label of a line, indented below the sum that it is a part of, which programs do not get.
func (d *Document) nested(x *results.RegionTime) table.Cell {
	c := table.Named(d.label(x, 48), x.Name)
	c.Sum = len(x.Sites) > 0
	if x.Within {
		c.Level = 1
	}
	return c
}
