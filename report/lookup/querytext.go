package lookup

import (
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// WriteText prints the events in the order in which they were passed.
func (x *Walk) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, len(x.Events), nil, func(c *table.Chapter) {
		c.Say("%s of %s", numbers.Plural(len(x.Events), "event"), x.Place.Text())
		results.NoteBound(c, x.Bound, nil, u)
		t := &table.Table{Columns: []table.Column{table.Ints("event", ""), table.Ints(table.Of(u, "time"), ""), table.Words("record", ""), table.Ints("depth", ""), table.Words("region", ""), table.Ints("±", "")}}
		for _, e := range x.Events {
			t.Add(table.Number(e.Event), table.Time(u, e.Time), table.Word(e.Kind), table.PlainNumber(e.Depth), table.Word(numbers.Clean(e.Name, 60)), table.Off(u, e.Off))
		}
		c.Table(t)
	})
}

// WriteText prints the profile of the window.
func (x *Window) WriteText(out io.Writer, u numbers.Units, limit int) error {
	return table.WriteText(u, out, limit, x.Lost, func(c *table.Chapter) {
		c.Say("%s to %s, %s: %s, %s of %s sent, %s of %s received", u.Time(x.Begin), u.Time(x.End), numbers.Plural(x.Locations, "location"),
			numbers.Plural(int(x.Events), "event"), numbers.Plural(int(x.Sent), "message"), numbers.Bytes(x.SentBytes), numbers.Count(x.Received), numbers.Bytes(x.ReceivedBytes))
		results.NoteBound(c, x.Bound, x.Off, u)
		t := &table.Table{Columns: []table.Column{table.Words("region", ""), table.Ints("calls", ""), table.Ints("open", ""), table.Ints(table.Of(u, "exclusive"), ""), table.Reals("share", ""), table.Ints(table.Of(u, "inclusive"), "")}}
		table.Fill(t, "region", x.Regions, func(r *WindowRegion) []table.Cell {
			return []table.Cell{table.Word(numbers.Clean(r.Name, 60)), table.Number(r.Calls), table.Number(r.Touching), table.Time(u, r.Exclusive), table.Share(r.Share), table.Time(u, r.Inclusive)}
		})
		if x.Outside > 0 {
			t.Add(table.Word("(outside recorded calls)"), table.None(), table.None(), table.Time(u, x.Outside))
		}
		c.Table(t)
	})
}

// letters stand for regions in a picture, the last one for all others.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#"

// WriteText draws a line per location and a legend.
func (p *Picture) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, len(letters), p.Lost, func(c *table.Chapter) {
		c.Say("%s to %s in %s of %s", u.Time(p.Begin), u.Time(p.End), numbers.Plural(p.Width, "pixel"), u.Span((p.End-p.Begin)/uint64(p.Width)))
		results.NoteBound(c, p.Bound, p.Off, u)
		t := &table.Table{Columns: []table.Column{table.Words("", ""), table.Words("", "")}}
		for _, row := range p.Rows {
			line := make([]byte, len(row.Pixels))
			for i, k := range row.Pixels {
				if line[i] = '.'; k >= 0 {
					line[i] = letters[min(k, len(letters)-1)]
				}
			}
			t.Add(table.Word(fmt.Sprintf("%d.%d", row.Process, row.Thread)), table.Word(string(line)))
		}
		c.Table(t)
		if n := len(p.Regions) - len(letters); n > 0 {
			c.Say("# stands for %s more", numbers.Plural(n+1, "region"))
		}
		t = &table.Table{Columns: []table.Column{table.Words("", ""), table.Words("region", ""), table.Ints("pixels", ""), table.Ints(u.Name(), "")}}
		for k, r := range p.Regions[:min(len(p.Regions), len(letters))] {
			t.Add(table.Word(letters[k:k+1]), table.Word(numbers.Clean(r.Name, 60)), table.Number(r.Pixels), table.Time(u, r.Time))
		}
		c.Table(t)
	})
}
