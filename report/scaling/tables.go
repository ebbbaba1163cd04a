package scaling

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// Book shows how the program scales. If the mode is undecided, it has intervals as strong scaling and once more as weak.
func (s *Scaling) Book(page bool, _ int) (*table.Book, error) {
	b := &table.Book{Page: page, Lost: s.Lost, Subtitle: "Several runs of one program", Commands: []string{"coppice report scaling RUN.xtf... --format html -o scaling.html"}}
	p := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		p[i] = strconv.FormatUint(r.Processes, 10)
	}
	kind := string(s.Mode) + " scaling"
	if s.Mode == ModeUndecided {
		kind = "scaling"
	}
	b.Name = fmt.Sprintf("%s over %s", kind, numbers.Plural(len(s.Runs), "run"))
	b.Heads = []string{fmt.Sprintf("%s over %s of %s processes, against %s", kind, numbers.Plural(len(s.Runs), "run"), strings.Join(p, ", "), s.Runs[0].Name)}
	say := func(format string, args ...any) { b.Notes = append(b.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case s.Mode == ModeUndecided:
		say("useful computation does not show whether scaling is strong or weak: both readings follow; choose with --mode")
	case s.Told:
		say("%s, as the useful computation of %s shows; --mode chooses", s.Mode, map[Mode]string{ModeStrong: "all processes", ModeWeak: "each process"}[s.Mode])
	}
	distinct := 0
	for i := range s.Runs {
		if i == 0 || s.Runs[i].Processes != s.Runs[i-1].Processes {
			distinct++
		}
	}
	if distinct < leastPoints {
		say("no growth is fitted: %s, at least %d are needed, and %d to trust it", numbers.Plural(distinct, "number")+" of processes", leastPoints, fivePoints)
	} else if distinct < fivePoints {
		say("only %d numbers of processes: take fitted growth as a guess; %d are enough to trust it", distinct, fivePoints)
	}
	if last := s.Runs[len(s.Runs)-1].Processes; s.At > last && distinct >= leastPoints {
		say("%d processes are %.3g times as many as in the largest run: what is said of them is extrapolated; a cost that the runs do not show yet is not in it", s.At, float64(s.At)/float64(last))
	}
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Partial {
			say("partial: the input of %s was damaged or incomplete; its numbers describe what could be read", numbers.Clean(r.Name, 80))
		}
	}
	b.Notes = append(b.Notes, s.Doubts...)
	for i := range s.Runs {
		if r := &s.Runs[i]; r.NoProcessor.Value >= manyWithout {
			say("%s, %s: for %s of what they compute they were ready to run and had no processor: computation and growth tell of that too", numbers.Clean(r.Name, 80), numbers.Plural(int(r.Processes), "process"), r.NoProcessor.Percent())
		}
	}
	if s.without {
		say("times are without MPI_Init and MPI_Finalize; --init include has them too")
	}
	c := b.Chapter("intervals", "Intervals", "")
	if s.Mode == ModeUndecided {
		s.nodeTables(c, "as strong scaling", "interval", s.Intervals)
		s.nodeTables(c, "as weak scaling", "interval_weak", s.Weak)
	} else {
		s.nodeTables(c, "interval", "interval", s.Intervals)
	}
	c.Table(s.growthTable())
	c = b.Chapter("regions", "Regions", "")
	s.regionTables(c)
	if len(s.Missing) > 0 {
		c.Line(table.GapLine, "")
		c.Say("not in all runs: %s", numbers.Clean(strings.Join(s.Missing, ", "), 500))
	}
	for _, c := range b.Chapters {
		c.Command = "coppice report scaling RUN.xtf..."
	}
	return b, nil
}

func (s *Scaling) seconds() string {
	if s.Runs[0].Resolution == 0 {
		return "ticks"
	}
	return "s"
}

// growthColumns are the columns of a fitted growth for programs.
var growthColumns = []table.Column{
	table.Reals("", "c0").Hidden(), table.Reals("", "c1").Hidden(), table.Reals("", "c2").Hidden(), table.Reals("", "power").Hidden(), table.Ints("", "log_power").Hidden(), table.Reals("", "r2").Hidden(), table.Reals("", "smape").Hidden(), table.Reals("", "at").Hidden(), table.Reals("", "at_least").Hidden(), table.Reals("", "at_most").Hidden(),
}

// cells fill growthColumns.
func (g *Growth) cells(r *Reach) []table.Cell {
	at := []table.Cell{table.Quotient(r.At, 3), table.Quotient(r.Least, 3), table.Quotient(r.Most, 3)}
	if g == nil {
		return append(make([]table.Cell, 7), at...)
	}
	number := func(v float64) table.Cell { return table.Quotient(numbers.Ratio{Value: v, Defined: true}, 3) }
	return append([]table.Cell{number(g.C0), number(g.C1), number(g.C2), number(float64(g.Power) / 6), table.Word(strconv.Itoa(g.Logs)), table.Quotient(g.R2, 3), table.Share(g.SMAPE)}, at...)
}

// nodeTables list the efficiencies of intervals, and split computation if there are hardware counters.
func (s *Scaling) nodeTables(c *table.Chapter, title, kind string, list []ScalingNode) {
	t := &table.Table{Title: "Efficiencies of intervals", Kind: kind, Columns: append([]table.Column{
		table.Words(title, "name"), table.Words("", "run").Hidden(), table.Ints("processes", "processes"), table.Reals("runtime "+s.seconds(), "runtime"), table.Reals("speed-up", "speedup"), table.Reals("global", "global"), table.Reals("parallel", "parallel"),
		table.Reals("balance", "load_balance"), table.Reals("", "communication").Hidden(), table.Reals("serial", "serialisation"), table.Reals("transfer", "transfer"), table.Reals("computation", "computation"),
		table.Reals("", "instruction_scaling").Hidden(), table.Reals("", "ipc_scaling").Hidden(), table.Reals("", "frequency_scaling").Hidden(), table.Words("", ""),
	}, growthColumns...), Notes: []string{
		"global = parallel x computation, parallel = balance x serialisation x transfer; computation: useful time of the reference over that here",
	}}
	counters := &table.Table{Title: "Computation of the whole program", Notes: []string{"computation = instructions x IPC x frequency, from hardware counters outside MPI"}, Columns: []table.Column{
		table.Words("computation", ""), table.Ints("processes", ""), table.Reals("computation", ""), table.Reals("instructions", ""), table.Reals("IPC", ""), table.Reals("frequency", ""),
	}}
	t.Each(func(yield func([]table.Cell) bool) {
		for i := range list {
			n := &list[i]
			for k, f := range n.Points {
				label, note := table.Cell{Text: n.Label, Value: n.Label, Level: n.level}, ""
				if k > 0 {
					label.Text = ""
				}
				if f.Approximate {
					note = "approx"
				}
				if !yield(append([]table.Cell{
					label, table.Word(s.Runs[k].Name), table.PlainNumber(f.Processes), significant(f.Runtime), table.Quotient(f.Speedup, 2), table.Graded(f.Global), table.Quotient(f.Parallel, 3), table.Quotient(f.LoadBalance, 3),
					table.Quotient(f.Communication, 3), table.Quotient(f.Serialisation, 3), table.Quotient(f.Transfer, 3), table.Quotient(f.Computation, 3), table.Quotient(f.Instructions, 3), table.Quotient(f.IPC, 3),
					table.Quotient(f.Frequency, 3), table.Word(note),
				}, n.Growth.cells(&n.Reach)...)) {
					return
				}
			}
		}
	})
	for _, n := range list[:min(len(list), 1)] {
		for _, f := range n.Points {
			if f.Instructions.Defined || f.Frequency.Defined {
				counters.Add(table.Word(n.Label), table.PlainNumber(f.Processes), table.Quotient(f.Computation, 3), table.Quotient(f.Instructions, 3), table.Quotient(f.IPC, 3), table.Quotient(f.Frequency, 3))
			}
		}
	}
	c.Table(t)
	c.Table(counters)
}

// growthTable lists how the runtime of intervals grows.
func (s *Scaling) growthTable() *table.Table {
	at := ""
	if s.At > 0 {
		at = fmt.Sprintf("at %d", s.At)
	}
	t := &table.Table{Title: "Growth of the runtime", Columns: []table.Column{table.Words("growth of the runtime", ""), table.Words(s.seconds()+", p processes", ""), table.Reals("R2", ""), table.Reals("SMAPE", ""), table.Reals(at, ""), table.Words("between", "")}}
	for i := range s.Intervals {
		if n := &s.Intervals[i]; n.Growth != nil {
			t.Add(table.Tree(n.Label, n.level), table.Word(n.Growth.text()), table.Quotient(n.Growth.R2, 3), table.Share(n.Growth.SMAPE), significant(n.At), n.cell())
		}
	}
	return t
}

// regionTables list the regions with most time, at --at or in the largest run; programs get a row for each run.
func (s *Scaling) regionTables(c *table.Chapter) {
	at := cmp.Or(s.At, s.Runs[len(s.Runs)-1].Processes)
	t := &table.Table{Title: "Regions, time of a process", Columns: []table.Column{table.Words("region, "+s.seconds()+" of a process", "")}}
	for _, r := range s.Runs {
		t.Columns = append(t.Columns, table.Reals(strconv.FormatUint(r.Processes, 10), ""))
	}
	t.Columns = append(t.Columns, table.Reals(fmt.Sprintf("at %d", at), ""), table.Words("between", ""), table.Reals("share", ""), table.Words("growth", ""), table.Reals("R2", ""), table.Reals("SMAPE", ""))
	table.Fill(t, "region", s.Regions, func(r *ScalingRegion) []table.Cell {
		row := []table.Cell{table.Word(numbers.Clean(r.Name, 48))}
		for _, v := range r.Seconds {
			row = append(row, significant(v))
		}
		row = append(row, significant(r.At), r.cell(), table.Share(r.Share))
		if g := r.Growth; g != nil {
			row = append(row, table.Word(g.text()), table.Quotient(g.R2, 3), table.Share(g.SMAPE))
		}
		return row
	})
	c.Table(t)
	if len(s.Regions) > 0 && s.Regions[0].Least.Defined {
		c.Line(table.FindingLine, s.dominates())
	}
	data := &table.Table{Kind: "region", Columns: append([]table.Column{table.Words("", "name").Hidden(), table.Words("", "run").Hidden(), table.Ints("", "processes").Hidden(), table.Reals("", "runtime").Hidden()}, growthColumns...)}
	for i := range s.Regions {
		r := &s.Regions[i]
		for k, v := range r.Seconds {
			data.Add(append([]table.Cell{table.Word(r.Name), table.Word(s.Runs[k].Name), table.PlainNumber(s.Runs[k].Processes), significant(v)}, r.Growth.cells(&r.Reach)...)...)
		}
	}
	c.Table(data)
}

// dominates says which region takes most time at --at, or that the runs do not tell.
func (s *Scaling) dominates() string {
	top, other := &s.Regions[0], &ScalingRegion{}
	for i := range s.Regions[1:] {
		if x := &s.Regions[1+i]; x.Most.Value > other.Most.Value {
			other = x
		}
	}
	if top.Least.Value < other.Most.Value {
		return fmt.Sprintf("the runs do not determine what dominates with %d processes: %s may take %.3g to %.3g %s of a process, %s %.3g to %.3g",
			s.At, numbers.Clean(top.Name, 60), top.Least.Value, top.Most.Value, s.seconds(), numbers.Clean(other.Name, 60), other.Least.Value, other.Most.Value)
	}
	return fmt.Sprintf("with %d processes %s dominates: %s of a process's time", s.At, numbers.Clean(top.Name, 60), top.Share.Percent())
}

// significant prints a time with five digits.
func significant(r numbers.Ratio) table.Cell {
	if !r.Defined {
		return table.None()
	}
	return table.Named(strconv.FormatFloat(r.Value, 'g', 5, 64), r.Csv())
}
