package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report"
)

// short is a number for people: four digits.
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

// text writes the report for people.
func (r *capacityReport) text(w io.Writer) {
	switch {
	case r.rows != nil:
		r.textSweep(w)
	case r.plan != nil:
		r.textPlan(w)
	case r.simulated != nil:
		r.textCheck(w)
	default:
		r.textAnswer(w)
	}
	for _, x := range r.warnings() {
		fmt.Fprintf(w, "warning      %s\n", x)
	}
}

// method says how the answer came about.
func (r *capacityReport) method() string {
	a := r.answer
	s := "method " + string(a.Method)
	switch a.Method {
	case pipeline.MethodTree:
		return s + ", operator " + string(a.Options.Operator)
	case pipeline.MethodBounds:
		return s
	case pipeline.MethodSim:
		return fmt.Sprintf("%s (seed %d, %s)", s, a.Options.Seed, report.Plural(a.Types[0].Samples, "job"))
	}
	if a.Types[0].Samples == 0 {
		return s + " (all states)"
	}
	return fmt.Sprintf("%s (seed %d, %s)", s, a.Options.Seed, report.Plural(a.Types[0].Samples, "sample"))
}

func (r *capacityReport) textAnswer(w io.Writer) {
	fmt.Fprint(w, r.method())
	if o := r.model.Origin; o != nil && !math.IsNaN(o.SelfCheckError) {
		fmt.Fprintf(w, "      self-check against trace: %+.1f %%", 100*o.SelfCheckError)
	}
	fmt.Fprintln(w)
	for i := range r.answer.Types {
		r.textType(w, &r.answer.Types[i])
	}
	fmt.Fprintln(w)
	var rows [][]string
	busiest, _ := r.answer.Busiest()
	for k, c := range r.answer.Centers {
		note := ""
		if k == busiest {
			note = "bottleneck"
		}
		queue := short(c.Queue)
		if r.answer.Method == pipeline.MethodBounds {
			queue = "-"
		}
		rows = append(rows, []string{r.center(k), fmt.Sprintf("%.2f", c.Utilisation), queue, note})
	}
	_ = table(w, []string{"<center", "util", "queue", "<"}, rows) // into memory
	fmt.Fprintln(w)
	r.textOccupancy(w)
	r.textAdvice(w)
}

// textType writes what holds for one type.
func (r *capacityReport) textType(w io.Writer, t *pipeline.TypeAnswer) {
	if t.Name != "" {
		fmt.Fprintf(w, "\n%s\n", t.Name)
	}
	fmt.Fprintf(w, "jobs %d  think %s        response %s s", t.Jobs, short(t.Think), short(t.Response))
	if t.HalfWidth > 0 {
		fmt.Fprintf(w, " +- %s", short(t.HalfWidth))
	}
	fmt.Fprintf(w, "   throughput %s jobs/s\n", short(t.Throughput))
	b := &t.Bounds
	why := "alone"
	switch {
	case b.Bottleneck >= 0 && b.Saturation >= b.Alone && b.Saturation >= b.Path:
		why = r.center(b.Bottleneck)
	case b.Path >= b.Alone:
		why = "longest path"
	}
	if t.Response <= b.Response*1.0000001 {
		why += ", reached"
	}
	fmt.Fprintf(w, "lower bound %s s (%s)  longest path %s s", short(b.Response), why, short(b.Path))
	if r.answer.Method == pipeline.MethodWalk {
		fmt.Fprintf(w, "  alone %s s", short(b.Alone))
		if b.SaturatesAt > 0 {
			fmt.Fprintf(w, "  saturates at N* = %.1f jobs", b.SaturatesAt)
		}
	}
	fmt.Fprintln(w)
	var parts []string
	for i, p := range t.Percentile {
		if math.IsNaN(p) { // a warning says why
			break
		}
		parts = append(parts, fmt.Sprintf("%g %% within %s s", 100*pipeline.Percentiles[i], short(p)))
	}
	if parts != nil {
		fmt.Fprintf(w, "of the jobs  %s\n", strings.Join(parts, ", "))
	}
}

// textOccupancy lists what is under way at once.
func (r *capacityReport) textOccupancy(w io.Writer) {
	if len(r.answer.Types) != 1 {
		return
	}
	for i, x := range r.answer.Types[0].Occupancy {
		if i == 6 {
			break
		}
		label := ""
		if i == 0 {
			label = "under way"
		}
		fmt.Fprintf(w, "%-12s %3.0f %%  %s\n", label, 100*x.Share, strings.Join(x.Classes, " + "))
	}
}

// worthwhile is the gain from which a change is advised.
const worthwhile = 0.02

// textAdvice writes what other numbers of chunks and one more of what is short would bring.
func (r *capacityReport) textAdvice(w io.Writer) {
	if len(r.answer.Types) != 1 {
		return
	}
	now := r.answer.Types[0].Response
	jobs := r.answer.Types[0].Jobs
	var all, alone []string
	best := pipeline.Change{Response: now}
	for _, c := range r.chunks {
		s := fmt.Sprintf("%.0f: %s", c.Value, short(c.Response))
		if c.Jobs != jobs {
			alone = append(alone, s)
			continue
		}
		all = append(all, s)
		if c.Response < best.Response*(1-worthwhile) {
			best = c
		}
	}
	if all != nil {
		fmt.Fprintf(w, "chunks       %s", strings.Join(all, "   "))
		if alone != nil {
			fmt.Fprintf(w, "      (alone %s)", strings.Join(alone, "  "))
		}
		fmt.Fprintln(w)
	}
	var advice []string
	switch {
	case all != nil && best.Value > 0:
		advice = append(advice, fmt.Sprintf("%.0f chunks: %s s", best.Value, short(best.Response)))
	case all != nil:
		advice = append(advice, "other numbers of chunks gain nothing at this load")
	}
	for _, c := range r.more {
		gain := ""
		if c.Response > now*(1-worthwhile) {
			gain = ", no gain"
		}
		advice = append(advice, fmt.Sprintf("%s = %.0f: %s s%s", c.Knob, c.Value, short(c.Response), gain))
	}
	if advice != nil {
		fmt.Fprintf(w, "advice       %s\n", strings.Join(advice, "; "))
	}
}

func (r *capacityReport) textSweep(w io.Writer) {
	var head []string
	for _, k := range r.knobs {
		head = append(head, k.Name)
	}
	for i := range r.model.Types {
		name := r.model.Types[i].Name
		head = append(head, strings.TrimSpace(name+" response"), strings.TrimSpace(name+" throughput"))
	}
	head = append(head, "util", "<bottleneck")
	var rows [][]string
	for _, row := range r.rows {
		var line []string
		for _, v := range row.Values {
			line = append(line, fmt.Sprint(v))
		}
		for i := range row.Response {
			line = append(line, short(row.Response[i]), short(row.Throughput[i]))
		}
		rows = append(rows, append(line, fmt.Sprintf("%.2f", row.Busy), r.center(row.Bottleneck)))
	}
	_ = table(w, head, rows) // into memory
}

func (r *capacityReport) textCheck(w io.Writer) {
	for i := range r.answer.Types {
		a, b := &r.answer.Types[i], &r.simulated.Types[i]
		name := a.Name
		if name != "" {
			name += ": "
		}
		if math.IsNaN(b.Response) { // a warning says why
			fmt.Fprintf(w, "%swalk %s s   sim -: not compared\n", name, short(a.Response))
			continue
		}
		verdict := "within"
		if !agrees(a, b) {
			verdict = "OUTSIDE of"
		}
		fmt.Fprintf(w, "%swalk %s s   sim %s s +- %s (%s)   error %+.1f %%, %s the interval + %.0f %%\n", name, short(a.Response), short(b.Response), short(b.HalfWidth),
			report.Plural(b.Samples, "job"), 100*(a.Response/b.Response-1), verdict, 100*checkError)
	}
}

func (r *capacityReport) textPlan(w io.Writer) {
	p := r.plan
	var target []string
	if p.Target.MaxResponse > 0 {
		target = append(target, "response <= "+short(p.Target.MaxResponse)+" s")
	}
	if p.Target.MinThroughput > 0 {
		target = append(target, "throughput >= "+short(p.Target.MinThroughput)+" jobs/s")
	}
	fmt.Fprintf(w, "target       %s\n", strings.Join(target, ", "))
	how := "in order of cost"
	if p.Bisected {
		how = "by bisection: a cheaper setting is possible"
	}
	fmt.Fprintf(w, "settings     %d, searched %s; %d solved, the bounds excluded the others\n", p.Settings, how, p.Solved)
	if p.Answer == nil {
		r.textNoAnswer(w)
		return
	}
	a := p.Answer
	fmt.Fprintf(w, "answer       %s   cost %s\n", join(p.Knobs, a.Values), short(a.Cost))
	fmt.Fprintf(w, "             response %s s", short(a.Response))
	if limit := p.Target.MaxResponse; limit > 0 {
		fmt.Fprintf(w, " (margin %.0f %%)", 100*(1-a.Response/limit))
	}
	fmt.Fprintf(w, "   throughput %s jobs/s", short(a.Throughput))
	if limit := p.Target.MinThroughput; limit > 0 {
		fmt.Fprintf(w, " (margin %.0f %%)", 100*(a.Throughput/limit-1))
	}
	fmt.Fprintf(w, "   %s%s\n", a.Verdict, simulatedText(a))
	fmt.Fprintf(w, "fails next   %s, %.0f %% used\n", a.Bottleneck, 100*a.Busy)
	if c := p.Cheaper; c != nil {
		bound := ""
		if c.Bounded {
			bound = ", by a bound"
		} else {
			bound = ", " + string(c.Verdict) + simulatedText(c)
		}
		fmt.Fprintf(w, "cheaper      %s   cost %s   misses: %s%s\n", join(p.Knobs, c.Values), short(c.Cost), c.Misses, bound)
	}
}

// simulatedText is what a simulation said of a setting.
func simulatedText(x *pipeline.Setting) string {
	if x.Verdict == pipeline.NotSimulated {
		return ""
	}
	return fmt.Sprintf(" (sim %s s +- %s)", short(x.Simulated), short(x.HalfWidth))
}

// textNoAnswer says why nothing meets the target.
func (r *capacityReport) textNoAnswer(w io.Writer) {
	p := r.plan
	fmt.Fprintf(w, "answer       none\n")
	c := p.Closest
	switch {
	case p.ByPath == p.Settings:
		fmt.Fprintf(w, "why          the longest path of a job takes at least %s s with any machines; more or smaller chunks may help, machines cannot\n", short(c.Path))
	case p.ByWork == p.Settings:
		fmt.Fprintf(w, "why          %s has too much to do in every setting; more of it helps, chunks cannot\n", c.Bottleneck)
	case p.Solved == 0:
		fmt.Fprintf(w, "why          the bounds exclude every setting: %d by the longest path of a job, %d by the work of the busiest center\n", p.ByPath, p.ByWork)
	}
	fmt.Fprintf(w, "closest      %s   misses: %s\n", join(p.Knobs, c.Values), c.Misses)
}
