package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// HTMLOptions are those of a document that WriteHTML prints: all sections that
// the file has results for.
func (r *Run) HTMLOptions(rules Rules) (Options, error) {
	o := Options{
		Sections:  []Section{SectionSummary, SectionIntervals, SectionPOP, SectionProfile, SectionComm, SectionDiagnostics},
		Intervals: IntervalOptions{Rules: rules},
	}
	rows, err := r.HasRows()
	if err != nil {
		return o, err
	}
	if rows {
		o.Sections = append(o.Sections, SectionWaits)
	}
	classes, err := r.File.Classes()
	if err == nil && classes != nil {
		o.Sections = append(o.Sections, SectionClasses)
	}
	return o, err
}

// htmlReport is the page of a run. Sections without content are nil.
type htmlReport struct {
	htmlPage
	Name       string
	Partial    bool
	Cards      []htmlCard
	Headline   []string
	Findings   []string
	POP        []htmlMetric
	POPNote    string
	Intervals  *htmlIntervals
	Waits      *htmlWaits
	Regions    *htmlTable
	Ranks      *htmlFigure
	Matrix     *htmlFigure
	Timeline   *htmlTimeline
	Classes    *htmlClasses
	Predicted  [][2]string
	Problems   *htmlTable
	Untold     []string
	Lost       []string
	Provenance [][2]string
	Reproduce  []string
}

// htmlCard is a number of the headline.
type htmlCard struct {
	Name, Value, Note, Grade string
}

// htmlFigure is a picture with its table.
type htmlFigure struct {
	Picture template.HTML
	Caption string
	Legend  []htmlKey
	Table   *htmlTable
	Notes   []string
}

// htmlKey is a colour of a legend.
type htmlKey struct {
	Class, Text string
}

// WriteHTML writes the report as one file of HTML that needs no other and no
// network: pictures are SVG in it, tables are complete without its small script.
// Its size does not grow with the run: long tables are cut, pictures merge rows
// and columns. The same document gives the same bytes.
func (d *Document) WriteHTML(out io.Writer) error {
	page, err := newHTMLPage(clean(d.Name, 80) + ": performance report")
	if err != nil {
		return err
	}
	u := unit{d.Summary.Resolution}
	h := &htmlReport{htmlPage: page, Name: clean(d.Name, 120), Partial: d.Summary.Partial}
	h.Cards = d.htmlCards(u)
	h.Headline, h.Findings = d.htmlHeadline(u)
	pop := &d.Summary.POP
	if len(d.POPs.Nodes) > 0 {
		pop = &d.POPs.Nodes[0].POP // with estimates where there was no replay
	}
	h.POP = htmlMetrics(pop, u)
	if pop.Approximate {
		h.POPNote = "Serialisation and transfer are estimates: without a replay on an ideal network, its runtime is taken as the longest time without MPI calls that do not wait."
	}
	h.Intervals = d.htmlIntervals(u)
	if d.Waits != nil {
		h.Waits = d.htmlWaits(u)
	}
	h.Regions = d.htmlRegions(u)
	if h.Ranks, err = d.htmlRanks(u); err != nil {
		return err
	}
	h.Matrix = d.htmlMatrix()
	if h.Timeline, err = d.htmlTimeline(u); err != nil {
		return err
	}
	for i := range h.POP {
		absent := map[string]bool{"waits": h.Waits == nil, "ranks": h.Ranks == nil, "matrix": h.Matrix == nil}
		if absent[h.POP[i].Where] {
			h.POP[i].Where = ""
		}
	}
	h.Classes = d.htmlClasses(u)
	h.Predicted = d.run.predicted()
	h.Problems = d.htmlProblems(u)
	h.Untold = d.Untold.lines()
	h.Lost = htmlLost(d.run.complete(d.Lost))
	h.Provenance, h.Reproduce = d.htmlProvenance()
	return writeHTML(out, "report.tmpl", h)
}

// htmlLost lists what was left out.
func htmlLost(lost []Lost) []string {
	var list []string
	for _, l := range lost[:min(len(lost), htmlRows)] {
		list = append(list, fmt.Sprintf("%s, section %s: %s", l.where(), l.Section, clean(l.Error, 300)))
	}
	if n := len(lost) - htmlRows; n > 0 {
		list = append(list, "and "+plural(n, "more part"))
	}
	return list
}

// htmlRows bounds long tables of the page.
const htmlRows = 40

// htmlCards are the numbers of the headline.
func (d *Document) htmlCards(u unit) []htmlCard {
	s := d.Summary
	t := &s.Ticks
	lost := over(t.Lost, t.Total)
	processes := plural(d.Locations, "location")
	if d.Locations == d.Processes {
		processes = count(d.Events) + " events"
	} else {
		processes += ", " + count(d.Events) + " events"
	}
	cards := []htmlCard{
		{"Efficiency", s.Efficiency.text(2), "productive part of all time: " + gradeWord(s.Efficiency), gradeClass(s.Efficiency)},
		{"Runtime", u.short(whole(integer(t.Runtime))) + " " + u.name(), "first to last event", ""},
		{"Processes", count(uint64(d.Processes)), processes, ""},
		{"Lost time", u.short(t.Lost) + " " + u.name(), lost.percent() + " of " + u.short(whole(t.Total)) + " " + u.name() + " that all processes took", ""},
	}
	if p := s.POP.Parallel; p.Defined {
		cards = append(cards[:1], append([]htmlCard{{"Parallel efficiency (POP)", p.text(2), "useful part of all time: " + gradeWord(p), gradeClass(p)}}, cards[1:]...)...)
	}
	return cards
}

// htmlHeadline says how well the run used its time, and what the two largest findings
// are; the others are the second list.
func (d *Document) htmlHeadline(u unit) (head, more []string) {
	s := d.Summary
	t := &s.Ticks
	of := fmt.Sprintf("of %s %s that %s took together", u.short(whole(t.Total)), u.name(), plural(d.Processes, "process"))
	if d.Processes == 1 {
		of = fmt.Sprintf("of %s %s of the one process", u.short(whole(t.Total)), u.name())
	}
	first := fmt.Sprintf("efficiency %s, which is good from %.1f on: %s, %s were productive", s.Efficiency.text(2), threshold, of, over(t.Productive, t.Total).percent())
	if s.Efficiency.Defined && s.Efficiency.Value < threshold {
		first = fmt.Sprintf("efficiency %s, where less than %.1f calls for a look: %s, %s %s were lost, mostly %s",
			s.Efficiency.text(2), threshold, of, u.short(t.Lost), u.name(), d.htmlMostly(u))
	}
	head = []string{sentence(first)}
	for i, f := range d.findingLines() {
		if i < 2 {
			head = append(head, sentence(f))
		} else {
			more = append(more, sentence(f))
		}
	}
	if !s.Rows {
		head = append(head, sentence("who waits for whom is not known: the file has the call graph alone (--events none)"))
	}
	return head, more
}

// htmlMostly is the largest part of the whole program's lost time.
func (d *Document) htmlMostly(u unit) string {
	if d.Intervals != nil && len(d.Intervals.Nodes) > 0 {
		return d.Intervals.Nodes[0].mostly(u)
	}
	return "MPI"
}

// htmlMetric is a line of the efficiency tree.
type htmlMetric struct {
	Level                   int
	Name, Value, Grade      string
	Bar                     template.HTML
	Formula, Meaning, Where string
}

// htmlMetrics are POP's efficiencies, each with its formula in numbers.
func htmlMetrics(p *POP, u unit) []htmlMetric {
	line := func(level int, name string, r Ratio, formula, meaning, where string) htmlMetric {
		return htmlMetric{level, name, r.text(3), gradeWord(r), htmlBar(r), formula, meaning, where}
	}
	mean := u.real(ratio(p.Useful, integer(p.participants)))
	most, runtime, name := u.ticks(p.Largest), u.big(p.Runtime), u.name()
	formula := fmt.Sprintf("load balance × communication efficiency = mean useful time / runtime = %s / %s %s", mean, runtime, name)
	if p.Threads != nil {
		formula += fmt.Sprintf(" = %s, × threads %s", p.Process.text(3), p.Threads.OpenMP.text(3))
	}
	list := []htmlMetric{
		line(0, "Parallel efficiency", p.Parallel, formula,
			"the part of the run between set-up and end in which processes compute", "intervals"),
		line(1, "Load balance", p.LoadBalance, fmt.Sprintf("mean useful time / largest useful time = %s / %s %s", mean, most, name),
			"low: some processes have more work than others", "ranks"),
		line(1, "Communication efficiency", p.Communication, fmt.Sprintf("serialisation × transfer = largest useful time / runtime = %s / %s %s", most, runtime, name),
			"low: even the busiest process is often in MPI, or in what is lost beside it", "waits"),
	}
	if p.Ideal != notKnown {
		list = append(list,
			line(2, "Serialisation efficiency", p.Serialisation, fmt.Sprintf("largest useful time / runtime on an ideal network = %s / %s %s", most, u.big(p.Ideal), name),
				"low: processes wait for one another in turn, though each has as much work", "waits"),
			line(2, "Transfer efficiency", p.Transfer, fmt.Sprintf("runtime on an ideal network / runtime = %s / %s %s", u.big(p.Ideal), runtime, name),
				"low: the network or the MPI library is slow for what is sent", "matrix"))
	}
	if p.IO.Defined {
		list = append(list,
			line(0, "I/O efficiency", p.IO, "computing time / computing time and file input and output", "low: much of the time goes to files", "ranks"),
			line(1, "Balance of I/O", p.IOBalance, "mean / largest file input and output of a process", "low: some processes read and write more than others", "ranks"))
	}
	if t := p.Threads; t != nil {
		list = append(list, line(0, "Threads", t.OpenMP, fmt.Sprintf("serial × balance × scheduling = %s × %s × %s, of the threads' time outside MPI", t.Serial.text(3), t.Balance.text(3), t.Scheduling.text(3)),
			"low: threads idle outside of parallel regions, wait for the busiest one, or lose time to scheduling", "intervals"))
	}
	return list
}

// htmlRegions are the regions with most exclusive time.
func (d *Document) htmlRegions(u unit) *htmlTable {
	p := d.Profile
	t := &htmlTable{
		Caption: "Regions by exclusive time, all processes together",
		Head:    heads("<region", "<class", "calls", "exclusive "+u.name(), "share", u.perCallName(), "largest of a process", "at rank", "largest / mean"),
	}
	list := p.byTime()
	for i := range list[:min(len(list), htmlRows)] {
		x := &list[i]
		mean := x.mean(p.Processes)
		uneven := Ratio{}
		if mean.Defined && mean.Value > 0 {
			uneven = Ratio{float64(x.Max[0]) / mean.Value, true}
		}
		kind := cmp.Or(stateLabel(x.Class), trace.States[trace.StateOwn].Text)
		t.add(htmlCell{Text: d.label(x, 60)}, htmlCell{Text: kind}, exactCell(x.Calls, x.calls()), exactCell(x.Exclusive, u.ticks(x.Exclusive)), ratioCell(x.Share, x.Share.percent()),
			ratioCell(ratio64(x.Exclusive, x.Calls), x.perCall(u)), numberCell(u.ticks(x.Max[0]), float64(x.Max[0])), numberCell(fmt.Sprint(x.Max[1]), float64(x.Max[1])), ratioCell(uneven, uneven.text(2)))
	}
	if p.Outside > 0 {
		none := htmlCell{Sort: "-1"}
		share := ratio64(p.Outside, p.Time)
		t.add(htmlCell{Text: "(outside recorded calls)"}, htmlCell{}, none, exactCell(p.Outside, u.ticks(p.Outside)), ratioCell(share, share.percent()), none, none, none, none)
	}
	t.left(len(list), htmlRows, "region", "profile")
	return t
}

// exactCell sorts by a number of which no digit is lost.
func exactCell(v uint64, text string) htmlCell { return htmlCell{text, strconv.FormatUint(v, 10)} }

// bigCell is a cell of an exact number; unknown ones sort last.
func bigCell(v Sum, text string) htmlCell {
	if v == notKnown {
		return htmlCell{text, "-1"}
	}
	return htmlCell{text, v.json()}
}

func ratioCell(r Ratio, text string) htmlCell {
	if !r.Defined {
		return htmlCell{text, "-1"}
	}
	return numberCell(text, r.Value)
}

// fractionCell sorts by the nearest floating-point number.
func fractionCell(f Fraction, text string) htmlCell { return ratioCell(ratioOf(f), text) }

// known reports whether the sum of an item is known and not 0.
func (n *Interval) known(i xtf.Item) bool { return n.Stats.item(i).Sum > 0 }
