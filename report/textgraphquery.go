package report

import (
	"fmt"
	"io"
	"strings"
)

// noteBound says how exact the times of an answer are.
func (w *writer) noteBound(b *Bound, off *uint64) {
	switch {
	case b == nil:
	case off == nil:
		w.line("lossy graph: %s", b.Text)
	default:
		w.line("lossy graph: %s; times here are off by at most %s", b.Text, w.unit.span(*off))
	}
}

func (u Units) writer() *writer { return &writer{unit: u.u} }

// WriteText prints the events in the order in which they were passed.
func (x *Walk) WriteText(out io.Writer, u Units) error {
	w := u.writer()
	w.line("%s of %s", plural(len(x.Events), "event"), x.Place.text())
	w.noteBound(x.Bound, nil)
	tab := table{head: []string{"event", "time " + w.unit.name(), "<record", "depth", "<region"}}
	if x.Bound != nil {
		tab.head = append(tab.head, "±")
	}
	for _, e := range x.Events {
		cells := []string{count(e.Event), w.unit.ticks(e.Time), e.Kind, fmt.Sprint(e.Depth), clean(e.Name, 60)}
		if e.Off != nil {
			cells = append(cells, w.unit.ticks(*e.Off))
		}
		tab.add(cells...)
	}
	w.table(&tab)
	return w.flush(out)
}

// WriteText prints the profile of the window.
func (x *Window) WriteText(out io.Writer, u Units, limit int) error {
	w := u.writer()
	w.style.Limit = limit
	w.line("%s to %s, %s: %s, %s of %s sent, %s of %s received", u.Time(x.Begin), u.Time(x.End), plural(x.Locations, "location"),
		plural(int(x.Events), "event"), plural(int(x.Sent), "message"), Bytes(x.SentBytes), count(x.Received), Bytes(x.ReceivedBytes))
	w.noteBound(x.Bound, x.Off)
	tab := table{head: []string{"<region", "calls", "open", "exclusive " + w.unit.name(), "share", "inclusive " + w.unit.name()}}
	for i := range x.Regions[:min(len(x.Regions), w.style.rows())] {
		r := &x.Regions[i]
		tab.add(clean(r.Name, 60), count(r.Calls), count(r.Touching), w.unit.ticks(r.Exclusive), r.Share.percent(), w.unit.ticks(r.Inclusive))
	}
	if x.Outside > 0 {
		tab.add("(outside recorded calls)", "", "", w.unit.ticks(x.Outside))
	}
	w.table(&tab)
	w.more(len(x.Regions), w.style.rows(), "region")
	w.lost(x.Lost)
	return w.flush(out)
}

// letters stand for regions in a picture, the last one for all others.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#"

// WriteText draws a line per location and a legend.
func (p *Picture) WriteText(out io.Writer, u Units) error {
	w := u.writer()
	w.line("%s to %s in %s of %s", u.Time(p.Begin), u.Time(p.End), plural(p.Width, "pixel"), u.u.span((p.End-p.Begin)/uint64(p.Width)))
	w.noteBound(p.Bound, p.Off)
	tab := table{head: []string{"<", "<"}}
	for _, row := range p.Rows {
		var b strings.Builder
		for _, k := range row.Pixels {
			if k < 0 {
				b.WriteByte('.')
			} else {
				b.WriteByte(letters[min(k, len(letters)-1)])
			}
		}
		tab.add(fmt.Sprintf("%d.%d", row.Process, row.Thread), b.String())
	}
	w.table(&tab)
	tab = table{head: []string{"<", "<region", "pixels", w.unit.name()}}
	for k, r := range p.Regions {
		if k >= len(letters) {
			w.line("# stands for %s more", plural(len(p.Regions)-len(letters)+1, "region"))
			break
		}
		tab.add(letters[k:k+1], clean(r.Name, 60), count(r.Pixels), w.unit.ticks(r.Time))
	}
	w.table(&tab)
	w.lost(p.Lost)
	return w.flush(out)
}

// lost lists what was left out.
func (w *writer) lost(list []Lost) {
	for i := range list {
		l := &list[i]
		w.line("left out of %s: %s: %s", l.Section, l.where(), clean(l.Error, 300))
	}
}
