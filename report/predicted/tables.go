package predicted

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// unnamed is printed for a platform without a name.
const unnamed = "an unnamed platform"

// warnAbove is the share above which a part of the error gets a warning.
const warnAbove = 0.05

// predictedTimes are the columns for PredictedTimes.list.
func predictedTimes(data bool) []table.Column {
	list := []table.Column{table.Ints("predicted s", "finish")}
	for _, name := range []string{"compute", "send", "receive", "wait", "collective", "file", "kept"} {
		list = append(list, table.Ints(strings.Replace(name, "compute", "computing", 1), name))
	}
	if !data {
		for i := range list {
			list[i].Key = ""
		}
	}
	return list
}

func (t *PredictedTimes) cells(u numbers.Units) (row []table.Cell) {
	for _, v := range t.list() {
		row = append(row, table.Time(u, v))
	}
	return row
}

// Book shows the prediction. Programs get the points of a sweep or, without a sweep, the processes.
func (p *Prediction) Book(page bool, _ int) (*table.Book, error) {
	b := &table.Book{Unit: numbers.Units{Resolution: Picoseconds}, Page: page, Name: p.Name, Subtitle: "Predicted by coppice"}
	title := fmt.Sprintf("%s  %s", numbers.Clean(p.Name, 60), numbers.Plural(len(p.Processes), "process"))
	if m := p.Platform; m != nil {
		title += fmt.Sprintf("  predicted on %s, %s", numbers.Clean(cmp.Or(m.Name, unnamed), 60), numbers.Plural(int(m.Nodes), "node"))
		b.Notes = append(b.Notes, fmt.Sprintf("engine %s, contention %s, receive policy %s, mapping %s", m.Engine, m.Contention, m.Policy, m.Mapping))
	}
	b.Heads = []string{title}
	b.Notes = append(b.Notes, p.Computation.text(len(p.Processes)))
	c := b.Chapter("run", "Runtime", "")
	c.Table(p.Computation.donorTable(b.Unit))
	p.run(b.Unit, c)
	p.classTable(b.Unit, c)
	c.Table(p.processTable(b.Unit))
	c.Table(p.errorTable(b.Unit))
	if p.Unmatched > 0 {
		c.Say("left out: %s of messages and collectives without the other end", numbers.Plural(int(p.Unmatched), "side"))
	}
	for _, x := range p.LeftOut {
		c.Say("%s: %s", x.Text, numbers.Count(x.Count))
	}
	if p.Sweep != nil {
		c.Table(p.Sweep.table(b.Unit))
	}
	if len(p.Commands) > 0 {
		c.Line(table.GapLine, "")
		c.Say("the computation is that of the recorded run; to measure it on a node of the target:")
	}
	for _, x := range p.Commands {
		c.Line(table.ItemLine, x)
	}
	return b, nil
}

// text says where the computation times come from.
func (c *PredictedComputing) text(processes int) string {
	switch c.Source {
	case "recorded":
		return "computation: as recorded"
	case "scaled":
		return "computation: recorded times x " + c.Scale
	}
	return fmt.Sprintf("computation: vectors of %s by rule %s, for %s of %d; the others recorded times x %s",
		numbers.Plural(len(c.Donors), "process"), c.Rule, numbers.Plural(int(c.Replaced), "process"), processes, c.Scale)
}

func (c *PredictedComputing) donorTable(u numbers.Units) *table.Table {
	return table.Fill(&table.Table{Title: "Processes whose computation was measured", Columns: []table.Column{
		table.Ints("process", ""), table.Ints("for", ""), table.Ints("target s", ""), table.Ints("recorded s", ""), table.Reals("x", ""), table.Words("", ""),
	}}, "process", c.Donors, func(d *Donor) []table.Cell {
		off := ""
		if d.Measured+2 < d.Entries { // before MPI_Init and after MPI_Finalize nothing is measured
			off = fmt.Sprintf("; %s of %s entries measured, the others follow them by site", numbers.Count(d.Measured), numbers.Count(d.Entries))
		}
		if d.Off > 0 {
			off += fmt.Sprintf("; %s s of the replay not on a processor", u.Ticks(d.Off))
		}
		return []table.Cell{table.PlainNumber(d.Process), table.Number(d.Processes), table.Time(u, d.Target), table.Time(u, d.Host), table.Quotient(numbers.NewRatio(d.Target, d.Host), 4), table.Word(strings.TrimPrefix(off, "; "))}
	})
}

// run compares the whole run, or names the cycle of a deadlock.
func (p *Prediction) run(u numbers.Units, c *table.Chapter) {
	switch d := p.Deadlock; {
	case d != nil:
		c.Say("deadlock: the program never ends on this platform")
		t := &table.Table{Title: "Processes that wait for each other", Columns: []table.Column{table.Ints("process", ""), table.Words("waits in", ""), table.Ints("call", ""), table.Ints("for process", "")}}
		table.Fill(t, "process", d.Cycle, func(b *BlockedCall) []table.Cell {
			return []table.Cell{table.PlainNumber(b.Process), table.Word(numbers.Clean(b.Function, 60)), table.Number(b.Call), table.PlainNumber(b.For)}
		})
		c.Table(t)
		if d.Eager > 0 {
			c.Say("eager_bytes = %d or more resolves this cycle", d.Eager)
		}
	case p.Makespan != nil:
		c.Say("runtime: measured %s s, predicted %s s, x %s", u.Ticks(p.Measured), u.Ticks(*p.Makespan), p.Ratio.Text(4))
		if p.Least != nil && *p.Makespan-min(*p.Least, *p.Makespan) > *p.Makespan/100 {
			c.Say("at least %s s: processes of the recorded run shared processors, and what calls took then and now (column kept) may be waits for these", u.Ticks(*p.Least))
		}
	default:
		c.Say("runtime: measured %s s", u.Ticks(p.Measured))
	}
	if p.Bound > 0 {
		c.Say("recorded times of a process are within %s s of the true ones", u.Ticks(p.Bound))
	}
}

// classTable has a line for each class, unless each process is a class.
func (p *Prediction) classTable(u numbers.Units, c *table.Chapter) {
	if p.Makespan == nil || len(p.Classes) == len(p.Processes) {
		return
	}
	t := &table.Table{Title: "Classes of processes", Columns: append([]table.Column{table.Ints("class", ""), table.Ints("like", ""), table.Ints("processes", ""), table.Ints("measured s", ""), table.Ints("computing", "")}, predictedTimes(false)...)}
	table.Fill(t, "class", p.Classes, func(x *PredictedClass) []table.Cell {
		return append([]table.Cell{table.PlainNumber(x.Class), table.PlainNumber(x.Representative), table.Number(x.Processes), table.Time(u, x.Measured.Finish), table.Time(u, x.Measured.Compute)}, x.Mean.cells(u)...)
	})
	t.Notes = []string{"means of the processes of a class: they call the same in the same order"}
	if p.Computation.Threshold != "" {
		t.Notes[0] = fmt.Sprintf("means of the processes of a class: they call the same and compute alike (%s)", numbers.Clean(p.Computation.Threshold, 40))
	}
	c.Table(t)
}

func (p *Prediction) processTable(u numbers.Units) *table.Table {
	t := &table.Table{Title: "Processes", Columns: append([]table.Column{
		table.Ints("process", "rank"), table.Ints("class", "class"), table.Ints("node", "node"), table.Ints("", "calls").Hidden(), table.Ints("", "messages_sent").Hidden(), table.Ints("measured s", "measured_finish"), table.Ints("computing", "measured_compute"),
	}, predictedTimes(true)...)}
	for i := range t.Columns {
		if p.Makespan == nil {
			t.Columns[i] = t.Columns[i].Hidden()
		}
		if p.Sweep != nil {
			t.Columns[i].Key = ""
		}
	}
	table.Fill(t, "process", p.Processes, func(x *PredictedProcess) []table.Cell {
		return append([]table.Cell{
			table.PlainNumber(x.Process), table.PlainNumber(x.Class), table.PlainNumber(x.Node), table.Number(x.Calls), table.Number(x.Messages), table.Time(u, x.Measured.Finish), table.Time(u, x.Measured.Compute),
		}, x.Predicted.cells(u)...)
	})
	return t
}

func (p *Prediction) errorTable(u numbers.Units) *table.Table {
	e := &p.Errors
	network, classes := "", "0 by construction: recorded times are scaled, not copied"
	if e.HostMakespan != nil {
		network = fmt.Sprintf("simulated on %s %s s, measured %s s", numbers.Clean(cmp.Or(e.HostPlatform, unnamed), 60), u.Ticks(*e.HostMakespan), u.Ticks(p.Measured))
	}
	if e.ClassMakespan != nil {
		classes = u.Ticks(*e.ClassMakespan) + " s with the vectors of representatives"
	}
	of := func(process *uint32, format string, times ...uint64) string {
		if process == nil {
			return ""
		}
		args := []any{*process}
		for _, t := range times {
			args = append(args, u.Ticks(t))
		}
		return fmt.Sprintf(format, args...)
	}
	t := &table.Table{Title: "Parts of the error", Columns: []table.Column{table.Words("part of the error", ""), table.Reals("", ""), table.Words("", "")}}
	for _, x := range []struct {
		name  string
		share numbers.Ratio
		text  string
		need  string
	}{
		{"network", e.Net, network, "needs --host-platform"},
		{"classes", e.Class, classes, "needs --host-platform or --platform"},
		{"replay", e.Replay, of(e.WorstReplay, "of process %d, the worst: %s s replayed, %s s recorded", e.Replayed, e.Recorded), "needs --host-vectors"},
		{"spread", e.Spread, of(e.WorstSpread, "repetitions of process %d, the farthest apart: %s to %s s", e.Least, e.Most), "needs vectors of replays with --repeat"},
		{"delay", e.Delay, of(e.WorstDelay, "of the recorded computation of process %d, the most: it had no processor for %s s", e.Delayed), "needs a run of coppice record"},
	} {
		if !x.share.Defined {
			x.text = x.need
		} else if x.share.Value > warnAbove {
			x.text += "; above 5 %: do not trust the prediction further than that"
		}
		t.Add(table.Word(x.name), table.Share(x.share), table.Word(x.text))
	}
	return t
}

func (s *PredictedSweep) table(u numbers.Units) *table.Table {
	t := &table.Table{Title: "Sweep", Notes: []string{"x: against the platform as it is"}}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, table.Column{Name: a.Name, Key: a.Name, Kind: table.TextColumn})
	}
	t.Columns = append(t.Columns, table.Ints("predicted s", "makespan"), table.Ints("computing", "compute"), table.Reals("x", "ratio"))
	for _, x := range s.Points {
		var row []table.Cell
		for _, v := range x.Values {
			row = append(row, table.Named(numbers.Clean(v, 40), v))
		}
		if x.Makespan == nil {
			t.Add(append(row, table.Cell{Text: "deadlock"}, table.Cell{Value: strconv.FormatUint(x.Compute, 10)}, table.Cell{Value: x.Ratio.Csv()})...)
			continue
		}
		t.Add(append(row, table.Time(u, *x.Makespan), table.Time(u, x.Compute), table.Quotient(x.Ratio, 4))...)
	}
	return t
}

// WriteSVG draws the sweep: the first axis to the right, the predicted runtime upwards, a line for each combination of the other
// axes. A deadlock is a cross on the lower edge, and a gap.
func (s *PredictedSweep) WriteSVG(out io.Writer, title string) error {
	c := svg.Chart{Title: numbers.Clean(title, 90), Y: "runtime, s", Gap: "×"}
	if len(s.Axes) > 0 {
		c.X = numbers.Clean(s.Axes[0].Name, 40)
		for _, v := range s.Axes[0].Values {
			c.Places = append(c.Places, numbers.Clean(v, 40))
		}
		for k := range len(s.Points) / max(len(c.Places), 1) {
			c.Lines = append(c.Lines, s.line(k, len(c.Places)))
		}
	}
	_, err := out.Write(svg.File([]svg.Chart{c}, nil))
	return err
}

// line draws combination k of the axes other than the first, which has n values.
func (s *PredictedSweep) line(k, n int) svg.Line {
	others := len(s.Points) / n
	var names []string
	for i, v := range s.Points[k].Values[1:] {
		names = append(names, numbers.Clean(s.Axes[i+1].Name+" "+v, 40))
	}
	l := svg.Line{Name: strings.Join(names, ", ")}
	for i := range n {
		y := math.NaN()
		if m := s.Points[i*others+k].Makespan; m != nil {
			y = float64(*m) / Picoseconds
		}
		l.X, l.Y = append(l.X, float64(i)), append(l.Y, y)
	}
	return l
}
