package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

func (d *Document) writeProfile(w *writer) {
	p := d.Profile
	u := w.unit
	w.title(fmt.Sprintf("profile of %s, %s %s", ofRanks(p), u.ticks(p.Time), u.name()))
	w.noteGraph(p.Source, p.Bound)
	tab := table{head: []string{
		"<region", "calls", "exclusive " + u.name(), "share", "inclusive " + u.name(), u.perCallName(),
		"mean", "max", "<rank", "max/mean", "ranks", "bytes", "<class",
	}}
	if p.Bound != nil {
		tab.head = append(tab.head, "exclusive ±", "inclusive ±")
	}
	var sum sampling
	for i := range p.Regions {
		sum.add(p.Regions[i].Samples, p.Regions[i].Estimated)
	}
	sum.head(w, &tab, d.run)
	list := p.byTime()
	for i := range list[:min(len(list), w.style.rows())] {
		x := &list[i]
		mean := x.mean(p.Processes)
		uneven := "n/a"
		if mean.Defined && mean.Value > 0 {
			uneven = Ratio{float64(x.Max[0]) / mean.Value, true}.text(2)
		}
		size := ""
		if x.Bytes > 0 {
			size = Bytes(x.Bytes)
		}
		cells := []string{
			d.label(x, 48), x.calls(), u.ticks(x.Exclusive), x.Share.percent(), u.ticks(x.Inclusive), x.perCall(u),
			u.real(mean), u.ticks(x.Max[0]), fmt.Sprintf("@%d", x.Max[1]), uneven, count(uint64(x.Processes)), size, stateLabel(x.Class),
		}
		if p.Bound != nil {
			cells = append(cells, u.ticks(*x.ExclusiveOff), u.ticks(*x.InclusiveOff))
		}
		cells = append(cells, sum.cells(x.Samples, x.Estimated)...)
		tab.add(cells...)
	}
	addOutside(&tab, p, u)
	w.table(&tab)
	w.more(len(list), w.style.rows(), "region")
}

func ofRanks(p *Profile) string {
	if p.Ranks == "all" {
		return plural(p.Processes, "process")
	}
	return fmt.Sprintf("%s (ranks %s)", plural(p.Processes, "process"), p.Ranks)
}

// more tells how many rows were left out.
func (w *writer) more(all, shown int, what string) {
	if n := all - shown; n > 0 {
		w.line("and %s more: --limit %d shows all", plural(n, what), all)
	}
}

// matrixSize is the largest number of processes whose matrix is drawn whole.
const matrixSize = 16

func (d *Document) writeComm(w *writer) {
	c := d.Comm
	w.title(fmt.Sprintf("messages: %s of %s between %s", count(c.Messages), Bytes(c.Bytes), plural(len(c.Pairs), "pair")))
	w.noteGraph(c.Source, nil)
	if c.Messages == 0 && len(c.Pairs) == 0 {
		w.line("none")
	} else {
		d.writePairs(w)
		if d.Processes <= matrixSize {
			d.writeMatrix(w)
		}
		d.writeEnds(w)
	}
	if c.Unknown.Sent+c.Unknown.Received > 0 {
		w.line("with partners that the definitions do not name: %s sent, %s received", count(c.Unknown.Sent), count(c.Unknown.Received))
	}
	d.writeComms(w)
	d.writeOperations(w)
}

func (d *Document) writePairs(w *writer) {
	tab := table{head: []string{"from", "to", "messages", "bytes", "share", "each", "<"}}
	list := slices.Clone(d.Comm.Pairs)
	slices.SortStableFunc(list, heavier)
	for _, x := range list[:min(len(list), w.style.rows())] {
		note := ""
		if x.Messages != x.Received {
			note = fmt.Sprintf("received: %s", count(x.Received))
		}
		each := ""
		if x.Messages > 0 {
			each = Bytes(x.Bytes / x.Messages)
		}
		tab.add(fmt.Sprint(x.From), fmt.Sprint(x.To), count(x.Messages), Bytes(x.Bytes), ratio64(x.Bytes, d.Comm.Bytes).percent(), each, note)
	}
	w.table(&tab)
	w.more(len(list), w.style.rows(), "pair")
}

// writeMatrix draws bytes from each process to each.
func (d *Document) writeMatrix(w *writer) {
	n := d.Processes
	tab := table{head: []string{"bytes from \\ to"}}
	cells := make([][]string, n)
	for i := range n {
		tab.head = append(tab.head, fmt.Sprint(i))
		cells[i] = make([]string, n+1)
		cells[i][0] = fmt.Sprint(i)
		for k := range n {
			cells[i][k+1] = "."
		}
	}
	for _, x := range d.Comm.Pairs {
		if int64(x.From) < int64(n) && int64(x.To) < int64(n) {
			cells[x.From][x.To+1] = short(x.Bytes)
		}
	}
	for _, row := range cells {
		tab.add(row...)
	}
	w.line("")
	w.table(&tab)
}

// short prints bytes in at most four characters.
func short(n uint64) string {
	v := float64(n)
	for _, u := range []string{"", "k", "M", "G", "T", "P"} {
		switch {
		case v < 9.95 && u != "":
			return fmt.Sprintf("%.1f%s", v, u)
		case v < 999.5:
			return fmt.Sprintf("%.0f%s", v, u)
		}
		v /= 1000
	}
	return "huge"
}

// writeEnds names the processes that send and receive most.
func (d *Document) writeEnds(w *writer) {
	type end struct{ sent, received, partners uint64 }
	ends := map[uint32]*end{}
	at := func(p uint32) *end {
		if ends[p] == nil {
			ends[p] = &end{}
		}
		return ends[p]
	}
	for _, x := range d.Comm.Pairs {
		at(x.From).sent += x.Bytes
		at(x.From).partners++
		at(x.To).received += x.ReceivedBytes
	}
	tab := table{head: []string{"<per process", "mean", "min", "<rank", "max", "<rank"}}
	for _, k := range []struct {
		name string
		of   func(e *end) uint64
		text func(v uint64) string
	}{
		{"bytes sent", func(e *end) uint64 { return e.sent }, Bytes},
		{"bytes received", func(e *end) uint64 { return e.received }, Bytes},
		{"receivers", func(e *end) uint64 { return e.partners }, count},
	} {
		sum := uint64(0)
		var low, high, lowP, highP uint64
		for p := range uint64(d.Processes) {
			v := k.of(at(uint32(p)))
			sum += v
			if p == 0 || v < low {
				low, lowP = v, p
			}
			if p == 0 || v > high {
				high, highP = v, p
			}
		}
		mean := "n/a"
		if d.Processes > 0 {
			mean = k.text(meanOf(sum, uint64(d.Processes)))
		}
		tab.add(k.name, mean, k.text(low), fmt.Sprintf("@%d", lowP), k.text(high), fmt.Sprintf("@%d", highP))
	}
	w.line("")
	w.table(&tab)
}

func (d *Document) writeComms(w *writer) {
	tab := table{head: []string{"<communicator", "size", "channels", "messages", "bytes", "collectives", "calls", "bytes sent"}}
	list := d.Comm.Comms
	for i := range list[:min(len(list), w.style.rows())] {
		c := &list[i]
		size := fmt.Sprint(c.Size)
		if c.Size == 0 {
			size = "?"
		}
		tab.add(fmt.Sprintf("%d %s", c.Ref, clean(c.Name, 32)), size, count(c.Channels), count(c.Messages), Bytes(c.Bytes),
			count(c.Instances), count(c.CollCalls), Bytes(c.CollBytes))
	}
	if len(list) > 0 {
		w.line("")
	}
	w.table(&tab)
	w.more(len(list), w.style.rows(), "communicator")
}

func (d *Document) writeOperations(w *writer) {
	u := w.unit
	list := slices.Clone(d.Comm.Operation)
	slices.SortStableFunc(list, func(a, b CollOperation) int { return cmp.Compare(b.Time, a.Time) })
	tab := table{head: []string{"<collective", "calls", u.name(), "of total", u.perCallName(), "bytes"}}
	for _, x := range list {
		tab.add(clean(x.Name, 40), count(x.Calls), u.ticks(x.Time), ratio(integer(x.Time), d.Summary.Ticks.Total).percent(), u.perCall(x.Time, x.Calls), Bytes(x.Bytes))
	}
	if len(list) > 0 {
		w.line("")
	}
	w.table(&tab)
}

func (d *Document) writeDiagnostics(w *writer) {
	w.title("diagnostics")
	if !problems(d.Diagnostics) {
		w.line("nothing was found wrong with the input")
	}
	for i := range d.Diagnostics {
		c := &d.Diagnostics[i]
		w.line("%-8s %s  %s", severityName(c.Code.Severity()), codeName(c.Code), d.codeLine(c, w.unit))
		tab := table{head: []string{"", "location", "process", "thread", w.unit.name(), "event", "worst", "<"}}
		for k := range c.First[:min(len(c.First), w.style.rows())] {
			o := &c.First[k]
			event := "?"
			if o.Event != nil {
				event = fmt.Sprint(*o.Event)
			}
			worst := ""
			if o.Worst > 0 {
				worst = w.unit.magnitude(c.Code, o.Worst)
			}
			process := fmt.Sprint(o.Process)
			if o.Process == trace.Undefined {
				process = "?"
			}
			tab.add("  ", fmt.Sprint(o.Location), process, fmt.Sprint(o.Thread), w.unit.ticks(o.Time), event, worst, clean(o.Text, 160))
		}
		w.table(&tab)
		if _, each := c.Code.Unread(); each { // one line counts all of a location
			continue
		}
		if n := c.Count - uint64(len(c.First)); n > 0 && len(c.First) > 0 && n < c.Count {
			w.line("    the first %d of %s", min(len(c.First), w.style.rows()), count(c.Count))
		}
	}
}
