package capacity

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/predict/pipeline/extract"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// short prints a number for people: four digits.
func short(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case math.Abs(x) >= 1e6 || x != 0 && math.Abs(x) < 1e-3:
		return fmt.Sprintf("%.3g", x)
	case x == 0:
		return "0"
	case math.Abs(x) >= 1000:
		return fmt.Sprintf("%.1f", x)
	case math.Abs(x) >= 10:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// lines are lines of a name and a text.
type lines [][]string

func (l *lines) add(name, format string, args ...any) {
	*l = append(*l, []string{name, fmt.Sprintf(format, args...)})
}

// text prints the report for people.
func (r *Report) text(w io.Writer) error {
	var l lines
	switch {
	case r.Rows != nil:
		head, rows := r.sweep(short)
		head[len(head)-2] = "<bottleneck"
		if err := table.WriteTable(w, head, rows); err != nil {
			return err
		}
	case r.Plan != nil:
		r.plan(&l)
	case r.Simulated != nil:
		r.check(&l)
	default:
		if err := r.answer(w); err != nil {
			return err
		}
		if len(r.Answer.Types) == 1 {
			r.advice(&l)
		}
	}
	for _, x := range r.warnings() {
		l.add("warning", "%s", x)
	}
	return table.WriteTable(w, []string{"<", "<"}, l)
}

func (r *Report) answer(w io.Writer) error {
	fmt.Fprint(w, r.method())
	if r.checked() {
		fmt.Fprintf(w, "      self-check against trace: %+.1f %%", 100*r.Model.Origin.SelfCheckError)
	}
	fmt.Fprintln(w)
	for i := range r.Answer.Types {
		r.ofType(w, &r.Answer.Types[i])
	}
	fmt.Fprintln(w)
	var rows [][]string
	busiest, _ := r.Answer.Busiest()
	for k, c := range r.Answer.Centers {
		row := []string{c.Name, fmt.Sprintf("%.2f", c.Utilisation), short(c.Queue), ""}
		if r.Answer.Method == pipeline.MethodBounds {
			row[2] = "-"
		}
		if k == busiest {
			row[3] = "bottleneck"
		}
		rows = append(rows, row)
	}
	if err := table.WriteTable(w, []string{"<center", "util", "queue", "<"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// ofType prints the answer for one type.
func (r *Report) ofType(w io.Writer, t *pipeline.TypeAnswer) {
	if t.Name != "" {
		fmt.Fprintf(w, "\n%s\n", t.Name)
	}
	fmt.Fprintf(w, "jobs %d  think %s        response %s s", t.Jobs, short(t.Think), short(t.Response))
	if t.Spread != nil && t.HalfWidth > 0 {
		fmt.Fprintf(w, " +- %s", short(t.HalfWidth))
	}
	fmt.Fprintf(w, "   throughput %s jobs/s\n", short(t.Throughput))
	b := &t.Bounds
	why := "alone"
	switch {
	case b.Bottleneck != pipeline.Nowhere && b.Saturation >= b.Alone && b.Saturation >= b.Path:
		why = b.Bottleneck
	case b.Path >= b.Alone:
		why = "longest path"
	}
	if t.Response <= b.Response*1.0000001 {
		why += ", reached"
	}
	fmt.Fprintf(w, "lower bound %s s (%s)  longest path %s s", short(b.Response), why, short(b.Path))
	if r.Answer.Method == pipeline.MethodWalk {
		fmt.Fprintf(w, "  alone %s s", short(b.Alone))
		if t.SaturatesAt > 0 {
			fmt.Fprintf(w, "  saturates at N* = %.1f jobs", t.SaturatesAt)
		}
	}
	fmt.Fprintln(w)
	if t.Spread != nil && !math.IsNaN(t.HalfWidth) { // a warning says why a number is not known
		var parts []string
		for _, p := range pipeline.Percentiles {
			parts = append(parts, fmt.Sprintf("%g %% within %s s", 100*p, short(t.Percentile[p])))
		}
		fmt.Fprintf(w, "of the jobs  %s\n", strings.Join(parts, ", "))
	}
}

// worthwhile is the least gain for which a change is advised.
const worthwhile = 0.02

// advice says which stages are in progress at once, and the gains of other numbers of chunks and of one more of a bottleneck.
func (r *Report) advice(l *lines) {
	t := &r.Answer.Types[0]
	for i, x := range t.Occupancy[:min(len(t.Occupancy), 6)] {
		name := ""
		if i == 0 {
			name = "in progress"
		}
		l.add(name, "%3.0f %%  %s", 100*x.Share, strings.Join(x.Classes, " + "))
	}
	var all, alone, advice []string
	best := pipeline.Change{Point: pipeline.Point{Response: t.Response}}
	for _, c := range r.Chunks {
		s := fmt.Sprintf("%.0f: %s", c.Value, short(c.Response))
		if c.Jobs != t.Jobs {
			alone = append(alone, s)
			continue
		}
		all = append(all, s)
		if c.Response < best.Response*(1-worthwhile) {
			best = c
		}
	}
	if all != nil {
		text := strings.Join(all, "   ")
		if alone != nil {
			text += "      (alone " + strings.Join(alone, "  ") + ")"
		}
		l.add("chunks", "%s", text)
	}
	switch {
	case all != nil && best.Value > 0:
		advice = append(advice, fmt.Sprintf("%.0f chunks: %s s", best.Value, short(best.Response)))
	case all != nil:
		advice = append(advice, "other numbers of chunks gain nothing at this load")
	}
	for _, c := range r.More {
		gain := ""
		if c.Response > t.Response*(1-worthwhile) {
			gain = ", no gain"
		}
		advice = append(advice, fmt.Sprintf("%s = %.0f: %s s%s", c.Knob, c.Value, short(c.Response), gain))
	}
	if advice != nil {
		l.add("advice", "%s", strings.Join(advice, "; "))
	}
}

func (r *Report) check(l *lines) {
	for i := range r.Answer.Types {
		a, b := &r.Answer.Types[i], &r.Simulated.Types[i]
		text := fmt.Sprintf("walk %s s   sim %s s +- %s (%s)   error %+.1f %%, ", short(a.Response), short(b.Response), short(b.HalfWidth), numbers.Plural(b.Samples, "job"), 100*(a.Response/b.Response-1))
		switch {
		case math.IsNaN(b.Response): // a warning says why
			text = fmt.Sprintf("walk %s s   sim -: not compared", short(a.Response))
		case agrees(a, b):
			text += fmt.Sprintf("within the interval + %.0f %%", 100*checkError)
		default:
			text += fmt.Sprintf("OUTSIDE of the interval + %.0f %%", 100*checkError)
		}
		l.add(a.Name, "%s", text)
	}
}

func (r *Report) plan(l *lines) {
	p := r.Plan
	var target []string
	if p.Target.MaxResponse > 0 {
		target = append(target, "response <= "+short(p.Target.MaxResponse)+" s")
	}
	if p.Target.MinThroughput > 0 {
		target = append(target, "throughput >= "+short(p.Target.MinThroughput)+" jobs/s")
	}
	l.add("target", "%s", strings.Join(target, ", "))
	how := "in order of cost"
	if p.Bisected {
		how = "by bisection: a cheaper setting is possible"
	}
	l.add("settings", "%d, searched %s; %d solved, the bounds excluded the others", p.Settings, how, p.Solved)
	a, c := p.Answer, p.Closest
	if a == nil {
		l.add("answer", "none")
		switch {
		case p.ByPath == p.Settings:
			l.add("why", "the longest path of a job takes at least %s s with any machines; more or smaller chunks may help, machines cannot", short(c.Path))
		case p.ByWork == p.Settings:
			l.add("why", "%s has too much to do in every setting; more of it helps, chunks cannot", c.Bottleneck)
		case p.Solved == 0:
			l.add("why", "the bounds exclude every setting: %d by the longest path of a job, %d by the work of the busiest center", p.ByPath, p.ByWork)
		}
		l.add("closest", "%s   misses: %s", join(p.Knobs, c.Values), c.Misses)
		return
	}
	l.add("answer", "%s   cost %s", join(p.Knobs, a.Values), short(a.Cost))
	response, throughput := short(a.Response)+" s", short(a.Throughput)+" jobs/s"
	if limit := p.Target.MaxResponse; limit > 0 {
		response += fmt.Sprintf(" (margin %.0f %%)", 100*(1-a.Response/limit))
	}
	if limit := p.Target.MinThroughput; limit > 0 {
		throughput += fmt.Sprintf(" (margin %.0f %%)", 100*(a.Throughput/limit-1))
	}
	l.add("", "response %s   throughput %s   %s", response, throughput, verdict(a))
	l.add("fails next", "%s, %.0f %% used", a.Bottleneck, 100*a.Busy)
	if c := p.Cheaper; c != nil {
		by := "by a bound"
		if !c.Bounded {
			by = verdict(c)
		}
		l.add("cheaper", "%s   cost %s   misses: %s, %s", join(p.Knobs, c.Values), short(c.Cost), c.Misses, by)
	}
}

// join joins the names and values of a setting.
func join(knobs []pipeline.Knob, list []float64) string {
	var parts []string
	for i, k := range knobs {
		parts = append(parts, k.Name+" "+fmt.Sprint(list[i]))
	}
	return strings.Join(parts, "  ")
}

// verdict prints the result of a simulation of a setting.
func verdict(x *pipeline.Setting) string {
	if x.Simulated == nil {
		return string(x.Verdict)
	}
	return fmt.Sprintf("%s (sim %s s +- %s)", x.Verdict, short(x.Mean), short(x.HalfWidth))
}

// WriteExtracted says what was found in runs, and how well the model predicts its own run. ok is false if that is not reliable.
func WriteExtracted(w io.Writer, e *extract.Result) (ok bool, err error) {
	var b strings.Builder
	if e.Jobs > 1 {
		fmt.Fprintf(&b, "%d jobs; times are means over them\n", e.Jobs)
	}
	const most = 20
	for i := range e.Stages[:min(len(e.Stages), most)] {
		g := &e.Stages[i]
		files := ""
		if g.Files > 0 {
			files = fmt.Sprintf(", %s s in files", short(g.Files))
		}
		what, varies := "chunks", fmt.Sprintf(", scv %.3f", g.SCV)
		if e.Form == extract.FormGraph {
			what, varies = "tasks", ""
		}
		fmt.Fprintf(&b, "%s  ranks %s  %d %s of %s s (%s s in calls%s)%s, waited %s s; from first to last %s s, by the model %s s\n",
			g.Name, results.RankList(g.Ranks), g.Chunks, what, short(g.Busy), short(g.Overhead), files, varies, short(g.Waited), short(g.Traced), short(g.Predicted))
	}
	if n := len(e.Stages) - most; n > 0 {
		fmt.Fprintf(&b, "and %d more\n", n)
	}
	for _, x := range e.Warnings {
		fmt.Fprintln(&b, "warning:", x)
	}
	gap := 0.0
	for i := range e.Runs {
		r := &e.Runs[i]
		with := "a job"
		if r.Chunks > 0 {
			with = fmt.Sprintf("with %d chunks the run", r.Chunks)
		}
		fmt.Fprintf(&b, "self-check: %s took %s s, the model says %s s, %+.1f %%\n", with, short(r.Traced), short(r.Predicted), 100*r.Error())
		gap = max(gap, math.Abs(r.Error()))
	}
	if gap > reliable {
		worst := e.Worst()
		fmt.Fprintf(&b, "UNRELIABLE: above %.0f %%. The largest gap is in %s, %+.1f %%.\n", 100*reliable, worst.Name, 100*worst.Gap())
	}
	_, err = io.WriteString(w, b.String())
	return gap <= reliable, err
}
