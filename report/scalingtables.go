package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteJSON writes one document.
func (s *Scaling) WriteJSON(out io.Writer) error { return writeJSON(out, s) }

// book has what scales how. Where the mode is undecided, intervals are as strong scaling, and follow once more as weak.
func (s *Scaling) book(page bool, _ int) (*book, error) {
	b := &book{page: page, lost: s.Lost, subtitle: "Several runs of one program", commands: []string{"coppice report scaling RUN.xtf... --format html -o scaling.html"}}
	p := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		p[i] = strconv.FormatUint(r.Processes, 10)
	}
	kind := string(s.Mode) + " scaling"
	if s.Mode == ModeUndecided {
		kind = "scaling"
	}
	b.name = fmt.Sprintf("%s over %s", kind, plural(len(s.Runs), "run"))
	b.heads = []string{fmt.Sprintf("%s over %s of %s processes, against %s", kind, plural(len(s.Runs), "run"), strings.Join(p, ", "), s.Runs[0].Name)}
	say := func(format string, args ...any) { b.notes = append(b.notes, fmt.Sprintf(format, args...)) }
	switch {
	case s.Mode == ModeUndecided:
		say("useful computation does not tell strong from weak scaling: both readings follow; choose with --mode")
	case s.Told:
		say("%s: told by the useful computation of %s; --mode chooses", s.Mode, map[Mode]string{ModeStrong: "all processes", ModeWeak: "each process"}[s.Mode])
	}
	if distinct := s.distinct(); distinct < leastPoints {
		say("no growth is fitted: %s, at least %d are needed, and %d to trust it", plural(distinct, "number")+" of processes", leastPoints, fivePoints)
	} else if distinct < fivePoints {
		say("only %d numbers of processes: take fitted growth as a guess; %d are enough to trust it", distinct, fivePoints)
	}
	c := b.chapter("intervals", "Intervals", "")
	if s.Mode == ModeUndecided {
		s.nodeTables(c, "as strong scaling", "interval", s.Intervals)
		s.nodeTables(c, "as weak scaling", "interval_weak", s.Weak)
	} else {
		s.nodeTables(c, "interval", "interval", s.Intervals)
	}
	c.table(s.growthTable())
	c = b.chapter("regions", "Regions", "")
	s.regionTables(c)
	if len(s.Missing) > 0 {
		c.line(gapLine, "")
		c.say("not in all runs: %s", clean(strings.Join(s.Missing, ", "), 500))
	}
	for _, c := range b.chapters {
		c.command = "coppice report scaling RUN.xtf..."
	}
	return b, nil
}

func (s *Scaling) distinct() int {
	n := 0
	for i := range s.Runs {
		if i == 0 || s.Runs[i].Processes != s.Runs[i-1].Processes {
			n++
		}
	}
	return n
}

func (s *Scaling) seconds() string {
	if s.Runs[0].Resolution == 0 {
		return "ticks"
	}
	return "s"
}

// growthColumns are those of a fitted growth that programs get.
var growthColumns = []Column{
	reals("", "c0").hidden(), reals("", "c1").hidden(), reals("", "power").hidden(), ints("", "log_power").hidden(), reals("", "r2").hidden(), reals("", "smape").hidden(), reals("", "at").hidden(),
}

// cells fill growthColumns.
func (g *Growth) cells(at Ratio) []Cell {
	if g == nil {
		return append(make([]Cell, 6), quotient(at, 3))
	}
	number := func(v float64) Cell { return quotient(Ratio{v, true}, 3) }
	return []Cell{number(g.C0), number(g.C1), number(float64(g.Power) / 6), word(strconv.Itoa(g.Logs)), quotient(g.R2, 3), share(g.SMAPE), quotient(at, 3)}
}

// nodeTables list the efficiencies of intervals, in one reading, and split computation where there are hardware counters.
func (s *Scaling) nodeTables(c *chapter, title, kind string, list []ScalingNode) {
	t := &Table{Title: "Efficiencies of intervals", Kind: kind, Columns: append([]Column{
		words(title, "name"), words("", "run").hidden(), ints("processes", "processes"), reals("runtime "+s.seconds(), "runtime"), reals("speed-up", "speedup"), reals("global", "global"), reals("parallel", "parallel"),
		reals("balance", "load_balance"), reals("", "communication").hidden(), reals("serial", "serialisation"), reals("transfer", "transfer"), reals("computation", "computation"),
		reals("", "instruction_scaling").hidden(), reals("", "ipc_scaling").hidden(), reals("", "frequency_scaling").hidden(), words("", ""),
	}, growthColumns...), Notes: []string{
		"global = parallel x computation, parallel = balance x serialisation x transfer; computation: useful time of the reference over that here",
	}}
	counters := &Table{Title: "Computation of the whole program", Notes: []string{"computation = instructions x IPC x frequency, from hardware counters outside MPI"}, Columns: []Column{
		words("computation", ""), ints("processes", ""), reals("computation", ""), reals("instructions", ""), reals("IPC", ""), reals("frequency", ""),
	}}
	t.each(func(yield func([]Cell) bool) {
		for i := range list {
			n := &list[i]
			for k, f := range n.Points {
				label, note := Cell{Text: n.Label, Value: n.Label, level: n.level}, ""
				if k > 0 {
					label.Text = ""
				}
				if f.Approximate {
					note = "approx"
				}
				if !yield(append([]Cell{
					label, word(s.Runs[k].Name), plainNumber(f.Processes), significant(f.Runtime), quotient(f.Speedup, 2), graded(f.Global), quotient(f.Parallel, 3), quotient(f.LoadBalance, 3),
					quotient(f.Communication, 3), quotient(f.Serialisation, 3), quotient(f.Transfer, 3), quotient(f.Computation, 3), quotient(f.Instructions, 3), quotient(f.IPC, 3),
					quotient(f.Frequency, 3), word(note),
				}, n.Growth.cells(n.At)...)) {
					return
				}
			}
		}
	})
	for _, n := range list[:min(len(list), 1)] {
		for _, f := range n.Points {
			if f.Instructions.Defined || f.Frequency.Defined {
				counters.add(word(n.Label), plainNumber(f.Processes), quotient(f.Computation, 3), quotient(f.Instructions, 3), quotient(f.IPC, 3), quotient(f.Frequency, 3))
			}
		}
	}
	c.table(t)
	c.table(counters)
}

// growthTable lists how the runtime of intervals grows.
func (s *Scaling) growthTable() *Table {
	at := ""
	if s.At > 0 {
		at = fmt.Sprintf("at %d", s.At)
	}
	t := &Table{Title: "Growth of the runtime", Columns: []Column{words("growth of the runtime", ""), words(s.seconds()+", p processes", ""), reals("R2", ""), reals("SMAPE", ""), reals(at, "")}}
	for i := range s.Intervals {
		if n := &s.Intervals[i]; n.Growth != nil {
			t.add(tree(n.Label, n.level), word(n.Growth.text()), quotient(n.Growth.R2, 3), share(n.Growth.SMAPE), significant(n.At))
		}
	}
	return t
}

// regionTables list the regions that take most, there or in the largest run; programs get a row for each run.
func (s *Scaling) regionTables(c *chapter) {
	at := s.At
	if at == 0 {
		at = s.Runs[len(s.Runs)-1].Processes
	}
	t := &Table{Title: "Regions, time of a process", Columns: []Column{words("region, "+s.seconds()+" of a process", "")}}
	for _, r := range s.Runs {
		t.Columns = append(t.Columns, reals(strconv.FormatUint(r.Processes, 10), ""))
	}
	t.Columns = append(t.Columns, reals(fmt.Sprintf("at %d", at), ""), reals("share", ""), words("growth", ""), reals("R2", ""), reals("SMAPE", ""))
	fill(t, "region", s.Regions, func(r *ScalingRegion) []Cell {
		row := []Cell{word(clean(r.Name, 48))}
		for _, v := range r.Seconds {
			row = append(row, significant(v))
		}
		row = append(row, significant(r.At), share(r.Share))
		if g := r.Growth; g != nil {
			row = append(row, word(g.text()), quotient(g.R2, 3), share(g.SMAPE))
		}
		return row
	})
	c.table(t)
	if len(s.Regions) > 0 && s.At > 0 && s.Regions[0].Growth != nil {
		c.line(findingLine, fmt.Sprintf("with %d processes %s dominates: %s of a process's time", s.At, clean(s.Regions[0].Name, 60), s.Regions[0].Share.percent()))
	}
	data := &Table{Kind: "region", Columns: append([]Column{words("", "name").hidden(), words("", "run").hidden(), ints("", "processes").hidden(), reals("", "runtime").hidden()}, growthColumns...)}
	for i := range s.Regions {
		r := &s.Regions[i]
		for k, v := range r.Seconds {
			data.add(append([]Cell{word(r.Name), word(s.Runs[k].Name), plainNumber(s.Runs[k].Processes), significant(v)}, r.Growth.cells(r.At)...)...)
		}
	}
	c.table(data)
}

// significant is a time with five digits.
func significant(r Ratio) Cell {
	if !r.Defined {
		return none()
	}
	return named(strconv.FormatFloat(r.Value, 'g', 5, 64), r.csv())
}
