package report

import (
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
)

// problems has what was found wrong with the input, and where first.
func (d *Document) problems(b *table.Book, c *table.Chapter) {
	c.Title = "diagnostics"
	u := b.Unit
	if !results.Problems(d.Diagnostics) {
		c.Say("nothing was found wrong with the input")
	}
	c.Table(d.problemTable(u, trace.Note))
	for i := range d.Diagnostics {
		c.Table(d.Diagnostics[i].Occurrences(u))
	}
}

// problemTable has the totals of what is as bad as least, or worse.
func (d *Document) problemTable(u numbers.Units, least trace.Severity) *table.Table {
	t := &table.Table{Title: "What was found in the input", Kind: "total", Columns: []table.Column{
		table.Words("severity", "severity"), table.Words("code", "code"), table.Words("found", ""), table.Ints("", "count").Hidden(), table.Ints("", "locations").Hidden(), table.Ints("", "worst").Hidden(),
	}}
	for i := range d.Diagnostics {
		x := &d.Diagnostics[i]
		if s := x.Code.Severity(); s >= least {
			t.Add(table.Word(results.SeverityName(s)), table.Word(results.CodeName(x.Code)), table.Word(x.Text(u)), table.Number(x.Count), table.Number(x.Locations), results.UnitWorst(u, x.Code, x.Worst))
		}
	}
	return t
}
