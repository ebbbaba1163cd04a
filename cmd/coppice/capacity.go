package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// capacityFlags are the flags that the verbs of capacity share.
type capacityFlags struct {
	output
	options pipeline.Options
	plot    string
	vary    []string
	workers int
	model   *pipeline.Model
	knobs   []pipeline.Knob
}

// define defines the flags of how a model is solved.
func (x *capacityFlags) define(f *pflag.FlagSet) {
	x.output.define(f)
	f.Uint64Var(&x.options.Seed, "seed", 7, "of random numbers: the same seed gives the same result")
	atLeast(f, 0, &x.options.Samples, "samples", "", 0, "walks that a mean is taken of (default: 200000 tasks in all, at most 1000)")
	f.Uint32Var(&x.options.SimJobs, "sim-jobs", 0, "jobs that a simulation ends (default: 1000000 visits to centers in all, 2000 to 60000 jobs)")
	x.options.Method, x.options.Operator = pipeline.MethodWalk, pipeline.OpExp
}

// defineMethod defines the flags of verbs that solve by any method, and draw.
func (x *capacityFlags) defineMethod(f *pflag.FlagSet, plot string) {
	oneOf(f, (*string)(&x.options.Method), "method", string(pipeline.MethodWalk), "walk, bounds, tree or sim", texts(pipeline.Methods())...)
	oneOf(f, (*string)(&x.options.Operator), "op", string(pipeline.OpExp), "operator of tree: exp, fj, varki or two", texts(pipeline.Operators())...)
	f.StringVar(&x.plot, "plot", "", "SVG file with "+plot)
}

// defineVary defines the flags of verbs that change numbers of the model.
func (x *capacityFlags) defineVary(f *pflag.FlagSet) {
	f.StringArrayVar(&x.vary, "vary", nil, "NAME=VALUES: jobs=1..32, chunks=1,2,4, machines.node=1..8, CENTER.servers, buffer, STAGE.workers, and of sweep think, STAGE.demand=FACTORS (repeatable)")
	f.IntVarP(&x.workers, "workers", "j", 0, "settings solved at once (default: one for each processor); results do not depend on it")
}

// texts are names as texts.
func texts[T ~string](list []T) []string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return out
}

// capacityVerb gives a verb what it does with its model: what is printed, then drawn. Errors of solvers get their exit codes.
func (s streams) capacityVerb(c *cobra.Command, x *capacityFlags, solve func(ctx context.Context) (*capacityReport, error)) *cobra.Command {
	return s.does(c, func(operands []string, s streams) error {
		err := x.read(operands[0])
		if err != nil {
			return err
		}
		r, err := solve(context.Background())
		if err != nil {
			return capacityError(err)
		}
		r.model, r.knobs, r.options = x.model, x.knobs, x.options
		if err := x.print(r, s); err != nil {
			return err
		}
		if x.plot != "" {
			o := output{path: x.plot, force: x.force}
			if err := o.write(s, writeBytes(r.drawing)); err != nil {
				return err
			}
		}
		if r.failed || r.unreliable() {
			return jobs.Fail(jobs.ExitFound, errSilent)
		}
		return nil
	}, x.check, func() error { return x.free(x.plot) })
}

// read reads what to change, and the model.
func (x *capacityFlags) read(path string) error {
	for _, v := range x.vary {
		k, err := pipeline.ParseKnob(v)
		if err != nil {
			return usage("--vary %w", err)
		}
		x.knobs = append(x.knobs, k)
	}
	st, err := os.Stat(path)
	if err == nil && st.Size() > pipeline.MaxFile {
		err = fmt.Errorf("%s: %d bytes are not a model file", path, st.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("capacity: %w", err))
	}
	if x.model, err = pipeline.Parse(data); err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// capacityError gives an error of a solver its exit code.
func capacityError(err error) error {
	var field *pipeline.FieldError
	switch {
	case errors.As(err, &field), errors.Is(err, pipeline.ErrKnob), errors.Is(err, pipeline.ErrMethod):
		return usage("%w", err)
	case errors.Is(err, pipeline.ErrTooLarge):
		return fail(jobs.ExitResource, "%w", err)
	}
	return ofVerb{err}
}

func capacitySolve(s streams) *cobra.Command {
	var x capacityFlags
	c := verb("solve MODEL.toml", "response, throughput, bottleneck, bounds, advice", 1, 1,
		"coppice capacity solve model.toml", "coppice capacity solve model.toml --method sim", "coppice capacity solve model.toml --plot curve.svg -o report.json")
	x.define(c.Flags())
	x.defineMethod(c.Flags(), "response and throughput by the number of jobs")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacityReport, error) {
		r := &capacityReport{}
		var err error
		if r.answer, err = pipeline.Solve(ctx, x.model, x.options); err == nil && x.options.Method == pipeline.MethodWalk {
			if r.chunks, err = pipeline.TryChunks(ctx, x.model, x.options); err == nil {
				r.more, err = pipeline.TryMore(ctx, x.model, r.answer)
			}
		}
		if err == nil && x.plot != "" {
			r.drawing = svg.File(r.answer.Curves(), r.answer.OccupancyBar())
		}
		return r, err
	})
}

// reliableCheck is the largest error of the self-check with which answers count.
const reliableCheck = 0.10

func (r *capacityReport) unreliable() bool {
	o := r.model.Origin
	return o != nil && math.Abs(o.SelfCheckError) > reliableCheck
}

func capacitySweep(s streams) *cobra.Command {
	x := capacityFlags{output: output{more: []string{"csv"}}}
	c := verb("sweep MODEL.toml", "the same for all combinations of changed numbers of the model", 1, 1,
		"coppice capacity sweep model.toml --vary jobs=1..32 --vary chunks=1,2,4,8,16,32 -o sweep.csv --plot sweep.svg")
	x.define(c.Flags())
	x.defineVary(c.Flags())
	x.defineMethod(c.Flags(), "the response over the longest of the lists, a line for each combination of the others")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacityReport, error) {
		if len(x.knobs) == 0 {
			return nil, usage("give --vary NAME=VALUES at least once")
		}
		rows, err := pipeline.Sweep(ctx, x.model, x.knobs, x.options, x.workers)
		r := &capacityReport{rows: rows}
		if err == nil && x.plot != "" {
			r.drawing = svg.File([]svg.Chart{pipeline.SweepChart(x.knobs, rows)}, nil)
		}
		return r, err
	})
}

// checkError is how far walk may be from the interval of the simulation.
const checkError = 0.08

// agrees reports whether walk is within the interval of the simulation and checkError.
func agrees(walk, sim *pipeline.TypeAnswer) bool {
	return math.Abs(walk.Response-sim.Response) <= sim.HalfWidth+float64(checkError*sim.Response)
}

func capacityCheck(s streams) *cobra.Command {
	var x capacityFlags
	c := verb("check MODEL.toml", "the answers for a model beside a simulation of it", 1, 1,
		"coppice capacity check model.toml", "coppice capacity check model.toml --sim-jobs 100000")
	x.define(c.Flags())
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacityReport, error) {
		r := &capacityReport{}
		sim := x.options
		sim.Method = pipeline.MethodSim
		var err error
		if r.answer, err = pipeline.Solve(ctx, x.model, x.options); err == nil {
			r.simulated, err = pipeline.Solve(ctx, x.model, sim)
		}
		if err != nil {
			return nil, err
		}
		for i := range r.answer.Types {
			r.failed = r.failed || !agrees(&r.answer.Types[i], &r.simulated.Types[i])
		}
		return r, nil
	})
}

func capacityPlan(s streams) *cobra.Command {
	var x capacityFlags
	var target pipeline.Target
	var noSim bool
	c := verb("plan MODEL.toml", "the cheapest setting that reaches a response time or a throughput", 1, 1,
		"coppice capacity plan model.toml --max-response 20 --vary machines.node=1..64",
		"coppice capacity plan model.toml --jobs 8 --min-throughput 0.3 --vary disk.servers=1..4 --vary chunks=1..32")
	f := c.Flags()
	x.define(f)
	x.defineVary(f)
	atLeast(f, 0, &target.Jobs, "jobs", "", 0, "jobs that circulate (default: what the model says)")
	f.Float64Var(&target.MaxResponse, "max-response", 0, "largest mean response, in seconds")
	f.Float64Var(&target.MinThroughput, "min-throughput", 0, "least throughput, in jobs per second")
	f.BoolVar(&noSim, "no-sim", false, "do not judge the answer by a simulation")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacityReport, error) {
		if !(target.MaxResponse > 0) && !(target.MinThroughput > 0) || target.MaxResponse < 0 || target.MinThroughput < 0 {
			return nil, usage("give --max-response or --min-throughput, above 0")
		}
		if len(x.knobs) == 0 {
			return nil, usage("say what may be changed: --vary machines.NAME=1..8, --vary CENTER.servers=1..4, --vary chunks=1..32")
		}
		p, err := pipeline.MakePlan(ctx, x.model, x.knobs, target, pipeline.PlanOptions{Options: x.options, Workers: x.workers, NoSim: noSim})
		if err != nil {
			return nil, err
		}
		return &capacityReport{plan: p, failed: p.Answer == nil || p.Answer.Verdict == pipeline.Refuted}, nil
	})
}

// center is the name of a center of the model, or a dash.
func (r *capacityReport) center(k int) string {
	if k < 0 {
		return "-"
	}
	return strings.ToValidUTF8(r.model.Centers[k].Name, "?")
}

// capacityReport is what a verb of capacity prints. What it did not compute is nil.
type capacityReport struct {
	model     *pipeline.Model
	options   pipeline.Options
	answer    *pipeline.Answer
	simulated *pipeline.Answer
	chunks    []pipeline.Change
	more      []pipeline.Change
	knobs     []pipeline.Knob
	rows      []pipeline.Row
	plan      *pipeline.Plan
	drawing   []byte // with --plot
	failed    bool   // the answer is not what was asked for
}

// print writes the report in the chosen format.
func (x *capacityFlags) print(r *capacityReport, s streams) error {
	return x.write(s, func(w io.Writer) error {
		switch x.format {
		case "json":
			return r.writeJSON(w)
		case "csv":
			return r.writeCSV(w)
		}
		r.text(w)
		return nil
	})
}

func writeBytes(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// figure is a number of a document: nine digits, null where it is not finite.
type figure float64

// MarshalJSON writes the number.
func (x figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', 9, 64), 64)
	if err != nil {
		return nil, err
	}
	return json.Marshal(rounded)
}

// document makes the JSON form. Keys are only added.
func (r *capacityReport) document() object {
	o := r.options
	if r.answer != nil {
		o = r.answer.Options
	}
	d := object{{"method", o.Method}}
	if o.Method == pipeline.MethodTree {
		d = append(d, member{"operator", o.Operator})
	}
	d = append(d, member{"seed", o.Seed})
	if origin := r.model.Origin; origin != nil && !math.IsNaN(origin.SelfCheckError) {
		d = append(d, member{"self_check_error", figure(origin.SelfCheckError)})
	}
	var changes, sweep, checks []object
	if a := r.answer; a != nil {
		if len(a.Types) == 1 {
			d = append(d, member{"response", figure(a.Types[0].Response)}, member{"throughput", figure(a.Types[0].Throughput)})
		}
		var types []object
		for i := range a.Types {
			types = append(types, r.typeKeys(&a.Types[i]))
			if r.simulated != nil {
				t, s := &a.Types[i], &r.simulated.Types[i]
				checks = append(checks, object{
					{"name", t.Name}, {"model", figure(t.Response)}, {"simulated", figure(s.Response)}, {"half_width", figure(s.HalfWidth)}, {"error", figure(t.Response/s.Response - 1)},
				})
			}
		}
		some(&d, "types", types)
		utilisation, queue := map[string]figure{}, map[string]figure{}
		for k, c := range a.Centers {
			utilisation[r.center(k)], queue[r.center(k)] = figure(c.Utilisation), figure(c.Queue)
		}
		if len(a.Centers) > 0 {
			d = append(d, member{"utilisation", utilisation}, member{"queue", queue})
		}
	}
	for _, c := range slices.Concat(r.chunks, r.more) {
		changes = append(changes, object{{"knob", c.Knob}, {"value", figure(c.Value)}, {"jobs", c.Jobs}, {"response", figure(c.Response)}, {"throughput", figure(c.Throughput)}})
	}
	for _, row := range r.rows {
		sweep = append(sweep, object{
			{"values", values(r.knobs, row.Values)},
			{"response", figures(row.Response)},
			{"throughput", figures(row.Throughput)},
			{"alone", figures(row.Alone)},
			{"bound", figures(row.Bound)},
			{"bottleneck", r.center(row.Bottleneck)},
			{"utilisation", figure(row.Busy)},
		})
	}
	some(&d, "what_if", changes)
	some(&d, "sweep", sweep)
	some(&d, "check", checks)
	if p := r.plan; p != nil {
		d = append(d, member{"plan", object{
			{"settings", p.Settings},
			{"solved", p.Solved},
			{"bisected", p.Bisected},
			{"excluded_by_path", p.ByPath},
			{"excluded_by_work", p.ByWork},
			{"answer", setting(p, p.Answer)},
			{"cheaper", setting(p, p.Cheaper)},
			{"closest", setting(p, p.Closest)},
		}})
	}
	return append(d, member{"warnings", r.warnings()})
}

// typeKeys is what a method found of one type.
func (r *capacityReport) typeKeys(t *pipeline.TypeAnswer) object {
	d := object{{"name", t.Name}, {"jobs", t.Jobs}, {"think", figure(t.Think)}}
	if t.Chunks != 0 {
		d = append(d, member{"chunks", t.Chunks})
	}
	d = append(d, member{"response", figure(t.Response)})
	if r.answer.Method == pipeline.MethodSim {
		percentiles := map[string]figure{}
		for i, p := range t.Percentile {
			percentiles[fmt.Sprint(pipeline.Percentiles[i])] = figure(p)
		}
		d = append(d, member{"half_width", figure(t.HalfWidth)})
		if len(percentiles) > 0 {
			d = append(d, member{"percentiles", percentiles})
		}
	}
	b := &t.Bounds
	alone, saturates := figure(b.Alone), figure(b.SaturatesAt)
	if r.answer.Method != pipeline.MethodWalk { // only walk knows what a job takes alone
		alone, saturates = figure(math.NaN()), figure(math.NaN())
	}
	d = append(d, object{
		{"throughput", figure(t.Throughput)},
		{"samples", t.Samples},
		{"bounds", object{
			{"alone", alone}, {"path", figure(b.Path)}, {"saturation", figure(b.Saturation)}, {"response", figure(b.Response)}, {"throughput", figure(b.Throughput)}, {"bottleneck", r.center(b.Bottleneck)},
		}},
		{"n_star", saturates},
	}...)
	var curve, occupancy []object
	for _, p := range t.Curve {
		curve = append(curve, object{{"jobs", p.Jobs}, {"response", figure(p.Response)}, {"throughput", figure(p.Throughput)}})
	}
	for _, p := range t.Occupancy {
		occupancy = append(occupancy, object{{"stages", p.Classes}, {"share", figure(p.Share)}})
	}
	some(&d, "curve", curve)
	some(&d, "occupancy", occupancy)
	return d
}

func values(knobs []pipeline.Knob, list []float64) map[string]figure {
	m := map[string]figure{}
	for i, k := range knobs {
		m[k.Name] = figure(list[i])
	}
	return m
}

func figures(list []float64) []figure {
	var out []figure
	for _, x := range list {
		out = append(out, figure(x))
	}
	return out
}

// setting is one setting of a plan, null where there is none.
func setting(p *pipeline.Plan, x *pipeline.Setting) any {
	if x == nil {
		return nil
	}
	s := object{
		{"values", values(p.Knobs, x.Values)},
		{"cost", figure(x.Cost)},
		{"response", figure(x.Response)},
		{"throughput", figure(x.Throughput)},
		{"bounded", x.Bounded},
		{"path", figure(x.Path)},
		{"bottleneck", x.Bottleneck},
		{"utilisation", figure(x.Busy)},
		{"misses", x.Misses},
		{"verdict", x.Verdict},
	}
	if x.Verdict != pipeline.NotSimulated {
		s = append(s, member{"simulated", figure(x.Simulated)}, member{"half_width", figure(x.HalfWidth)})
	}
	return s
}

// warnings are those of the answer, and what the model says of itself.
func (r *capacityReport) warnings() []string {
	list := []string{}
	if r.unreliable() {
		list = append(list, fmt.Sprintf("UNRELIABLE: the model is %+.1f %% off its own trace", 100*r.model.Origin.SelfCheckError))
	}
	for _, a := range []*pipeline.Answer{r.answer, r.simulated} {
		if a != nil {
			list = append(list, a.Warnings...)
		}
	}
	return list
}

// writeJSON writes the envelope of all documents with one key.
func (r *capacityReport) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(object{{"schema", report.Schema}, {"capacity", r.document()}})
}

// writeCSV writes the rows of a sweep, a column for each number of each type.
func (r *capacityReport) writeCSV(w io.Writer) error {
	c := csvwriter.New(w)
	var head []string
	for _, k := range r.knobs {
		head = append(head, k.Name)
	}
	for i := range r.model.Types {
		prefix := r.model.Types[i].Name
		if prefix != "" {
			prefix += "."
		}
		for _, name := range []string{"response", "throughput", "alone", "bound"} {
			head = append(head, prefix+name)
		}
	}
	if err := c.Write(append(head, "bottleneck", "utilisation")); err != nil {
		return err
	}
	for _, row := range r.rows {
		var line []string
		for _, v := range row.Values {
			line = append(line, digits(v))
		}
		for i := range row.Response {
			line = append(line, digits(row.Response[i]), digits(row.Throughput[i]), digits(row.Alone[i]), digits(row.Bound[i]))
		}
		if err := c.Write(append(line, r.center(row.Bottleneck), digits(row.Busy))); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// digits is a number as in documents.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// join joins the names and values of a setting.
func join(knobs []pipeline.Knob, list []float64) string {
	var parts []string
	for i, k := range knobs {
		parts = append(parts, k.Name+" "+fmt.Sprint(list[i]))
	}
	return strings.Join(parts, "  ")
}

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

// textOccupancy lists what is in progress at once.
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
