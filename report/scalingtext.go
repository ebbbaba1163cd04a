package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteJSON writes one document.
func (s *Scaling) WriteJSON(out io.Writer) error { return writeJSON(out, s) }

// WriteText writes what scales how.
func (s *Scaling) WriteText(out io.Writer, style Style) error {
	w := &writer{style: style}
	p := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		p[i] = strconv.FormatUint(r.Processes, 10)
	}
	kind := string(s.Mode) + " scaling"
	if s.Mode == ModeUndecided {
		kind = "scaling"
	}
	w.title(fmt.Sprintf("%s over %s of %s processes, against %s", kind, plural(len(s.Runs), "run"), strings.Join(p, ", "), s.Runs[0].Name))
	switch {
	case s.Mode == ModeUndecided:
		w.line("useful computation does not tell strong from weak scaling: both readings follow; choose with --mode")
	case s.Told:
		w.line("%s: told by the useful computation of %s; --mode chooses", s.Mode, map[Mode]string{ModeStrong: "all processes", ModeWeak: "each process"}[s.Mode])
	}
	if distinct := s.distinct(); distinct < leastPoints {
		w.line("no growth is fitted: %s, at least %d are needed, and %d to trust it", plural(distinct, "number")+" of processes", leastPoints, fivePoints)
	} else if distinct < fivePoints {
		w.line("only %d numbers of processes: take fitted growth as a guess; %d are enough to trust it", distinct, fivePoints)
	}
	if s.Mode == ModeUndecided {
		s.writeNodes(w, "as strong scaling", s.Intervals)
		s.writeNodes(w, "as weak scaling", s.Weak)
	} else {
		s.writeNodes(w, "interval", s.Intervals)
	}
	s.writeGrowth(w)
	s.writeRegions(w)
	if n := len(s.Missing); n > 0 {
		w.line("\nnot in all runs: %s", clean(strings.Join(s.Missing, ", "), 500))
	}
	w.lost(s.Lost)
	return w.flush(out)
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

// writeNodes lists the efficiencies of intervals, in one reading.
func (s *Scaling) writeNodes(w *writer, title string, list []ScalingNode) {
	w.line("")
	tab := table{head: []string{"<" + title, "processes", "runtime " + s.seconds(), "speed-up", "global", "parallel", "balance", "serial", "transfer", "computation", "<"}}
	for i := range list {
		n := &list[i]
		name := strings.Repeat("  ", n.level) + n.Label
		for _, f := range n.Points {
			note := ""
			if f.Approximate {
				note = "approx"
			}
			tab.add(name, strconv.FormatUint(f.Processes, 10), significant(f.Runtime), f.Speedup.text(2), w.grade(f.Global, f.Global.text(3)), f.Parallel.text(3),
				f.LoadBalance.text(3), f.Serialisation.text(3), f.Transfer.text(3), f.Computation.text(3), note)
			name = ""
		}
	}
	w.table(&tab)
	w.line("global = parallel x computation, parallel = balance x serialisation x transfer; computation: useful time of the reference over that here")
	writeCounters(w, list)
}

// writeGrowth lists how the runtime of intervals grows.
func (s *Scaling) writeGrowth(w *writer) {
	tab := table{head: []string{"<growth of the runtime", "<" + s.seconds() + ", p processes", "<", "R2", "SMAPE", s.atName()}}
	for i := range s.Intervals {
		if n := &s.Intervals[i]; n.Growth != nil {
			g := n.Growth
			tab.add(strings.Repeat("  ", n.level)+n.Label, g.text(), "", g.R2.text(3), g.SMAPE.percent(), significant(n.At))
		}
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
	}
}

// writeCounters splits computation where there are hardware counters.
func writeCounters(w *writer, list []ScalingNode) {
	if len(list) == 0 {
		return
	}
	tab := table{head: []string{"<computation", "processes", "computation", "instructions", "IPC", "frequency"}}
	name := list[0].Label
	for _, f := range list[0].Points {
		if f.Instructions.Defined || f.Frequency.Defined {
			tab.add(name, strconv.FormatUint(f.Processes, 10), f.Computation.text(3), f.Instructions.text(3), f.IPC.text(3), f.Frequency.text(3))
			name = ""
		}
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
		w.line("computation = instructions x IPC x frequency, from hardware counters outside MPI")
	}
}

func (s *Scaling) atName() string {
	if s.At == 0 {
		return ""
	}
	return fmt.Sprintf("at %d", s.At)
}

// writeRegions lists the regions that take most, there or in the largest run.
func (s *Scaling) writeRegions(w *writer) {
	w.line("")
	at := fmt.Sprintf("at %d", s.Runs[len(s.Runs)-1].Processes)
	if s.At > 0 {
		at = fmt.Sprintf("at %d", s.At)
	}
	tab := table{head: []string{"<region, " + s.seconds() + " of a process"}}
	for _, r := range s.Runs {
		tab.head = append(tab.head, strconv.FormatUint(r.Processes, 10))
	}
	tab.head = append(tab.head, at, "share", "<growth", "R2", "SMAPE")
	shown := s.Regions[:min(len(s.Regions), w.style.rows())]
	for i := range shown {
		r := &shown[i]
		cells := []string{clean(r.Name, 48)}
		for _, v := range r.Seconds {
			cells = append(cells, significant(v))
		}
		cells = append(cells, significant(r.At), r.Share.percent())
		if g := r.Growth; g != nil {
			cells = append(cells, g.text(), g.R2.text(3), g.SMAPE.percent())
		} else {
			cells = append(cells, "", "", "")
		}
		tab.add(cells...)
	}
	w.table(&tab)
	w.more(len(s.Regions), len(shown), "region")
	if len(s.Regions) > 0 && s.At > 0 && s.Regions[0].Growth != nil {
		w.line("> with %d processes %s dominates: %s of a process's time", s.At, clean(s.Regions[0].Name, 60), s.Regions[0].Share.percent())
	}
}

// significant prints a time with five digits.
func significant(r Ratio) string {
	if !r.Defined {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'g', 5, 64)
}

// WriteCSV writes a row for every interval and run, then one for every region. Where the mode is undecided, intervals are as strong
// scaling, and follow once more as weak: their kind is interval_weak.
func (s *Scaling) WriteCSV(out io.Writer) error {
	rows := [][]string{{"kind", "name", "run", "processes", "runtime", "speedup", "global", "parallel", "load_balance", "communication", "serialisation", "transfer", "computation", "instruction_scaling", "ipc_scaling", "frequency_scaling", "c0", "c1", "power", "log_power", "r2", "smape", "at"}}
	for i := range len(s.Intervals) + len(s.Weak) {
		kind, list := "interval", s.Intervals
		if i >= len(list) {
			kind, list, i = "interval_weak", s.Weak, i-len(list)
		}
		n := &list[i]
		for k, f := range n.Points {
			row := []string{kind, n.Label, s.Runs[k].Name, strconv.FormatUint(f.Processes, 10)}
			for _, r := range []Ratio{f.Runtime, f.Speedup, f.Global, f.Parallel, f.LoadBalance, f.Communication, f.Serialisation, f.Transfer, f.Computation, f.Instructions, f.IPC, f.Frequency} {
				row = append(row, r.csv())
			}
			rows = append(rows, append(row, n.Growth.csv(n.At)...))
		}
	}
	for i := range s.Regions {
		r := &s.Regions[i]
		for k, v := range r.Seconds {
			row := []string{"region", r.Name, s.Runs[k].Name, strconv.FormatUint(s.Runs[k].Processes, 10), v.csv(), "", "", "", "", "", "", "", "", "", "", ""}
			rows = append(rows, append(row, r.Growth.csv(r.At)...))
		}
	}
	return writeTable(out, rows)
}

func (g *Growth) csv(at Ratio) []string {
	if g == nil {
		return []string{"", "", "", "", "", "", at.csv()}
	}
	number := func(v float64) string { return Ratio{v, true}.csv() }
	return []string{number(g.C0), number(g.C1), number(float64(g.Power) / 6), strconv.Itoa(g.Logs), g.R2.csv(), g.SMAPE.csv(), at.csv()}
}
