package report

import (
	"fmt"
	"io"
)

// noteGraph says that numbers come from the graph, and how exact they are.
func (c *chapter) noteGraph(s Source, b *Bound) {
	switch {
	case s != SourceGraph:
	case b == nil:
		c.say("from the call graph, exact")
	default:
		c.say("from the call graph: %s", b.Text)
	}
}

// noteBound says how exact the times of an answer are.
func (c *chapter) noteBound(b *Bound, off *uint64, u unit) {
	switch {
	case b == nil:
	case off == nil:
		c.say("lossy graph: %s", b.Text)
	default:
		c.say("lossy graph: %s; times here are off by at most %s", b.Text, u.span(*off))
	}
}

// WriteText prints the events in the order in which they were passed.
func (x *Walk) WriteText(out io.Writer, u unit) error {
	return u.print(out, len(x.Events), nil, func(c *chapter) {
		c.say("%s of %s", plural(len(x.Events), "event"), x.Place.text())
		c.noteBound(x.Bound, nil, u)
		t := &Table{Columns: []Column{ints("event", ""), ints(u.of("time"), ""), words("record", ""), ints("depth", ""), words("region", ""), ints("±", "")}}
		for _, e := range x.Events {
			t.add(number(e.Event), u.time(e.Time), word(e.Kind), plainNumber(e.Depth), word(clean(e.Name, 60)), u.off(e.Off))
		}
		c.table(t)
	})
}

// WriteText prints the profile of the window.
func (x *Window) WriteText(out io.Writer, u unit, limit int) error {
	return u.print(out, limit, x.Lost, func(c *chapter) {
		c.say("%s to %s, %s: %s, %s of %s sent, %s of %s received", u.Time(x.Begin), u.Time(x.End), plural(x.Locations, "location"),
			plural(int(x.Events), "event"), plural(int(x.Sent), "message"), Bytes(x.SentBytes), count(x.Received), Bytes(x.ReceivedBytes))
		c.noteBound(x.Bound, x.Off, u)
		t := &Table{Columns: []Column{words("region", ""), ints("calls", ""), ints("open", ""), ints(u.of("exclusive"), ""), reals("share", ""), ints(u.of("inclusive"), "")}}
		fill(t, "region", x.Regions, func(r *WindowRegion) []Cell {
			return []Cell{word(clean(r.Name, 60)), number(r.Calls), number(r.Touching), u.time(r.Exclusive), share(r.Share), u.time(r.Inclusive)}
		})
		if x.Outside > 0 {
			t.add(word("(outside recorded calls)"), none(), none(), u.time(x.Outside))
		}
		c.table(t)
	})
}

// letters stand for regions in a picture, the last one for all others.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#"

// WriteText draws a line per location and a legend.
func (p *Picture) WriteText(out io.Writer, u unit) error {
	return u.print(out, len(letters), p.Lost, func(c *chapter) {
		c.say("%s to %s in %s of %s", u.Time(p.Begin), u.Time(p.End), plural(p.Width, "pixel"), u.span((p.End-p.Begin)/uint64(p.Width)))
		c.noteBound(p.Bound, p.Off, u)
		t := &Table{Columns: []Column{words("", ""), words("", "")}}
		for _, row := range p.Rows {
			line := make([]byte, len(row.Pixels))
			for i, k := range row.Pixels {
				if line[i] = '.'; k >= 0 {
					line[i] = letters[min(k, len(letters)-1)]
				}
			}
			t.add(word(fmt.Sprintf("%d.%d", row.Process, row.Thread)), word(string(line)))
		}
		c.table(t)
		if n := len(p.Regions) - len(letters); n > 0 {
			c.say("# stands for %s more", plural(n+1, "region"))
		}
		t = &Table{Columns: []Column{words("", ""), words("region", ""), ints("pixels", ""), ints(u.name(), "")}}
		for k, r := range p.Regions[:min(len(p.Regions), len(letters))] {
			t.add(word(letters[k:k+1]), word(clean(r.Name, 60)), number(r.Pixels), u.time(r.Time))
		}
		c.table(t)
	})
}
