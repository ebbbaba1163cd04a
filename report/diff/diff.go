package diff

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// DiffSchema is the name of the form of JSON documents about two runs.
const DiffSchema = "coppice.diff/1"

// ErrRuns says that two runs cannot be compared.
var ErrRuns = errors.New("runs that cannot be compared")

// Options choose what a comparison says.
type Options struct {
	Rules     results.Rules
	Threshold numbers.Fraction // change that counts as worse or better; 1/20 if not known
}

// leastShare: changes of time below 1/leastShare of the first run's length are ignored, because short intervals vary by much.
const leastShare = 100

// Diff is two runs side by side, by interval, region and pattern of waits. Times are
// seconds, or ticks where the traces do not tell the resolution of their clocks.
type Diff struct {
	Schema     string       `json:"schema"`
	Runs       [2]DiffRun   `json:"runs"`
	Identical  bool         `json:"identical"` // byte by byte
	Threshold  DiffNumber   `json:"threshold"`
	Rule       string       `json:"rule"`       // time or efficiency: what decides about worse and better
	Provenance []DiffOption `json:"provenance"` // what differs in how the files were made
	Intervals  []DiffNode   `json:"intervals"`  // that both have, depth-first; the first is the whole program
	Only       [2][]string  `json:"only"`       // intervals that only one run has, the outermost ones
	Waits      []DiffLine   `json:"waits"`      // of the whole program by pattern
	Regions    []DiffRegion `json:"regions"`    // by falling difference of time
	Worse      []DiffFound  `json:"worse"`      // intervals, by falling difference
	Better     []DiffFound  `json:"better"`
	Doubts     []string     `json:"doubts,omitempty"` // reasons to doubt that the runs compare
	Lost       []table.Lost `json:"lost,omitempty"`   // what could not be read, of both
	samples    [2]*diffSample
	pairs      [][2]int
	rules      results.Rules
}

// DiffRun is one of the two runs.
type DiffRun struct {
	Name       string     `json:"name"`
	Processes  int        `json:"processes"`
	Events     uint64     `json:"events"`
	Resolution uint64     `json:"resolution"`
	ID         string     `json:"id"`
	Partial    bool       `json:"partial"`
	Predicted  bool       `json:"predicted"`
	Runtime    DiffNumber `json:"runtime"`
	path       string
	size       int64
}

// DiffOption is an option or another fact that differs.
type DiffOption struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// DiffNumber is an exact number. In JSON it is an integer
// or the nearest floating-point number.
type DiffNumber struct{ numbers.Fraction }

// MarshalJSON writes null for what is not known.
func (n DiffNumber) MarshalJSON() ([]byte, error) {
	if n.IsInt() {
		return strconv.AppendInt(nil, n.Floor(), 10), nil
	}
	return numbers.Nearest(n.Fraction).MarshalJSON()
}

// DiffLine is a number of both runs.
type DiffLine struct {
	Name   string     `json:"name"`
	A      DiffNumber `json:"a"`
	B      DiffNumber `json:"b"`
	Change DiffNumber `json:"change"` // b - a
	Ratio  DiffNumber `json:"ratio"`  // b / a
	kind   conditions.Kind
}

// newLine computes change and ratio.
func newLine(name string, kind conditions.Kind, a, b numbers.Fraction) DiffLine {
	x := DiffLine{Name: name, A: DiffNumber{a}, B: DiffNumber{b}, kind: kind}
	x.Change.Fraction, x.Ratio.Fraction = b.Minus(a), b.Over(a)
	return x
}

// DiffNode is an interval of both runs.
type DiffNode struct {
	Path    []string   `json:"path"` // labels from the whole program on
	Verdict string     `json:"verdict"`
	Metrics []DiffLine `json:"metrics"`
	level   int
}

// Metric returns a line by its name.
func (n *DiffNode) Metric(name string) *DiffLine {
	for i := range n.Metrics {
		if n.Metrics[i].Name == name {
			return &n.Metrics[i]
		}
	}
	return &DiffLine{Name: name}
}

// DiffRegion is a region of both runs, or of one: regions of one name are together.
type DiffRegion struct {
	Name  string   `json:"name"`
	Class string   `json:"class"`
	Time  DiffLine `json:"time"` // exclusive, mean of a process
	Calls DiffLine `json:"calls"`
	Bytes DiffLine `json:"bytes"`
	only  int      // 1, 2: only in the first or second run

	system bool // a function of a library of the system
}

// DiffFound is an interval that got worse or better.
type DiffFound struct {
	Interval string     `json:"interval"`
	Metric   string     `json:"metric"`
	A        DiffNumber `json:"a"`
	B        DiffNumber `json:"b"`
	Ratio    DiffNumber `json:"ratio"`
	Text     string     `json:"text"`
	weight   numbers.Fraction
}

// The verdicts about an interval.
const (
	diffWorse  = "worse"
	diffBetter = "better"
	diffSame   = "same"
)

// diffSample is a run as a comparison needs it.
type diffSample struct {
	*results.Sample
	nodes     []results.Node
	intervals []*results.Interval
	hot       *results.Hot
}

// New compares two runs. It reads the components of each process of both, the
// profile of the whole runs, and all bytes of two files that have the same identity
// and size.
func New(a, b *results.Run, o Options) (*Diff, error) {
	if !o.Threshold.Known() {
		o.Threshold = numbers.Divide(1, 20)
	}
	d := &Diff{Schema: DiffSchema, rules: o.Rules, Threshold: DiffNumber{o.Threshold}, Provenance: []DiffOption{}, Waits: []DiffLine{}, Regions: []DiffRegion{}, Worse: []DiffFound{}, Better: []DiffFound{}}
	if (a.Defs.Clock().TimerResolution == 0) != (b.Defs.Clock().TimerResolution == 0) {
		return nil, fmt.Errorf("%s and %s: %w: one gives the resolution of its clock, the other does not", a.Name, b.Name, ErrRuns)
	}
	var lists [2]results.Provenance
	var lost [2][]table.Lost
	for i, r := range []*results.Run{a, b} {
		x, err := results.NewSample(r, "diff", o.Rules)
		if err != nil {
			return nil, err
		}
		lost[i], d.samples[i] = x.Survey.Lost, &diffSample{Sample: x, nodes: x.Survey.Nodes}
		for n := range x.Survey.Nodes {
			d.samples[i].intervals = append(d.samples[i].intervals, x.Survey.Interval(n, o.Rules))
		}
		if d.Runs[i], lists[i], err = diffRun(r, d.samples[i], o.Rules); err != nil {
			return nil, err
		}
	}
	same, err := sameBytes(&d.Runs[0], &d.Runs[1])
	if err != nil {
		return nil, err
	}
	d.Identical = same
	d.compareProvenance(&lists[0], &lists[1])
	d.Doubts = results.Unended(d.samples[0].Sample, d.samples[1].Sample)
	if d.samples[0].Sampled != d.samples[1].Sampled {
		d.Doubts = append(d.Doubts, fmt.Sprintf("functions of %s are known from samples, those of the other run from calls: their times compare as far as samples are exact", map[bool]string{true: "A", false: "B"}[d.samples[0].Sampled]))
	}
	d.compareNodes()
	d.compareRegions()
	if d.Runs[0].ID == d.Runs[1].ID && !same && !d.changed() { // else they are two traces with the same definitions and numbers of events
		a.File.Damaged(xtf.WholeRun, fmt.Errorf("%s and %s have one identity, but not the same bytes: one of them changed after it was written, or another build of coppice made it", a.Name, b.Name))
	}
	d.Lost = append(a.Complete(lost[0]), b.Complete(lost[1])...)
	d.Rule = "time"
	if d.Runs[0].Processes != d.Runs[1].Processes && d.samples[0].Processes != d.samples[1].Processes { // a monitor without events is not another process
		d.Rule = "efficiency"
	}
	d.findWorse()
	return d, nil
}

// diffRun is the head of one run.
func diffRun(r *results.Run, x *diffSample, rules results.Rules) (DiffRun, results.Provenance, error) {
	s, err := r.Summary(rules)
	if err != nil {
		return DiffRun{}, results.Provenance{}, err
	}
	if x.hot, err = results.NewHot(r, s); err != nil {
		return DiffRun{}, results.Provenance{}, err
	}
	e, err := r.Envelope()
	run := DiffRun{
		Name: r.Name, Processes: len(r.Defs.Processes()), Events: e.Events, Resolution: s.Resolution, ID: s.File.ID, Partial: s.Partial,
		Predicted: len(results.Predicted(r)) > 0, Runtime: DiffNumber{x.Time(numbers.Integer(s.Ticks.Runtime))}, path: r.Path, size: r.Size,
	}
	return run, results.ParseProvenance(s.Provenance), err
}

// sameBytes compares two files whose identity and size are equal.
func sameBytes(a, b *DiffRun) (bool, error) {
	if a.ID != b.ID || a.size != b.size {
		return false, nil
	}
	var files [2]*os.File
	for i, path := range []string{a.path, b.path} {
		f, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer f.Close()
		files[i] = f
	}
	left, right := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(files[0], left)
		m, err2 := io.ReadFull(files[1], right)
		if n != m || !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		for _, e := range []error{err, err2} {
			if e != nil && !errors.Is(e, io.EOF) && !errors.Is(e, io.ErrUnexpectedEOF) {
				return false, e
			}
		}
		if err != nil {
			return true, nil
		}
	}
}

// compareProvenance lists what differs in how the files were made.
func (d *Diff) compareProvenance(a, b *results.Provenance) {
	values := [2]map[string]string{{}, {}}
	var names []string
	for i, p := range []*results.Provenance{a, b} {
		for _, l := range p.Lines() {
			values[i][l[0]] = l[1]
			if !slices.Contains(names, l[0]) {
				names = append(names, l[0])
			}
		}
	}
	for _, n := range names {
		x, y := cmp.Or(values[0][n], "not given"), cmp.Or(values[1][n], "not given")
		if x != y {
			d.Provenance = append(d.Provenance, DiffOption{n, x, y})
		}
	}
	if d.Runs[0].Predicted != d.Runs[1].Predicted {
		kind := map[bool]string{true: "predicted", false: "recorded"}
		d.Provenance = append(d.Provenance, DiffOption{"run", kind[d.Runs[0].Predicted], kind[d.Runs[1].Predicted]})
	}
}

// Condition is a comparison of a number of two runs with a limit, in the form of [conditions.Condition]. METRIC is the number of
// the second run, METRIC.change how much more that is than in the first, METRIC.ratio how many times as much. Times are sums over
// processes where those of one run are.
type Condition = conditions.Condition[*results.Interval]

// ParseCondition reads a condition.
func ParseCondition(text string) (*Condition, error) {
	return conditions.Parse(text, results.Metrics(), "change", "ratio")
}

// Judge decides conditions. A condition holds if its metric is not defined, or if it needs both runs and only one has the
// interval: what was to be watched cannot be seen.
func (d *Diff) Judge(list []*Condition) ([]conditions.Verdict, error) {
	var verdicts []conditions.Verdict
	b := d.samples[1]
	for _, c := range list {
		n, err := results.FindNode(b.nodes, c.Interval)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Run.Name, err)
		}
		if c.Unit == "ticks" && d.Runs[0].Resolution > 0 {
			return nil, fmt.Errorf("%q: %w: times of two runs are compared in seconds", numbers.Clean(c.Text, 120), conditions.ErrSyntax)
		}
		verdict, err := c.Verdict(d.numberOf(c, n), numbers.Units{Resolution: min(d.Runs[0].Resolution, 1)}, " of "+b.intervals[n].Text)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// numberOf returns the number that a condition is about, for node n of the second run; not known where it is not defined.
func (d *Diff) numberOf(c *Condition, n int) numbers.Fraction {
	plain := results.Metrics()[conditions.Find(results.Metrics(), strings.TrimSuffix(c.Metric.Name, "."+c.Suffix))]
	y := d.samples[1].value(&plain, d.samples[1].intervals[n], false)
	if c.Suffix == "" || !y.Known() {
		return y
	}
	for _, p := range d.pairs {
		if p[1] != n {
			continue
		}
		x := newLine("", plain.Kind, d.samples[0].value(&plain, d.samples[0].intervals[p[0]], false), y)
		if c.Suffix == "ratio" {
			return x.Ratio.Fraction
		}
		return x.Change.Fraction
	}
	return numbers.Fraction{}
}
