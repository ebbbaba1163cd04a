package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Summary is the characteristics of the whole program (sections 3 to 5 of the
// interval model): sums over processes of exact ticks, and their quotients.
type Summary struct {
	Resolution  uint64          `json:"resolution"` // ticks per second, 0 if the trace does not tell
	First       uint64          `json:"first_event"`
	Last        uint64          `json:"last_event"`
	Partial     bool            `json:"partial"`
	Rows        bool            `json:"rows"` // of events; without them what needs partners is null
	Processors  uint64          `json:"processors"`
	Rule        string          `json:"mpi_productive_rule"`
	Ticks       Ticks           `json:"ticks"`
	Efficiency  Ratio           `json:"efficiency"`
	Speedup     Ratio           `json:"speedup_estimate"`
	POP         POP             `json:"pop"`
	Spreads     Spreads         `json:"stats"`
	Messages    Messages        `json:"messages"`
	Collectives Collectives     `json:"collectives"`
	File        FileInfo        `json:"file"`
	Provenance  json.RawMessage `json:"provenance"`
}

// Ticks are sums over processes but execution and runtime.
type Ticks struct {
	Execution     uint64   `json:"execution"` // longest process
	Runtime       uint64   `json:"runtime"`   // first event of all to last event of all
	Total         Sum      `json:"total"`
	Productive    Fraction `json:"productive"`
	Lost          Fraction `json:"lost"`
	Setup         Sum      `json:"setup"`    // what set-up and end take of the total; with Measured all of it
	Measured      Sum      `json:"measured"` // the total between set-up and end: productive and lost
	DeviceCall    Sum      `json:"device_call"`
	DeviceWait    Sum      `json:"device_wait"`
	LockWait      Sum      `json:"lock_wait"`
	Overhead      Sum      `json:"overhead"`
	CPU           Sum      `json:"cpu"`
	IO            Sum      `json:"io"`
	MPI           Sum      `json:"mpi"`
	MPIProductive Fraction `json:"mpi_productive"`
	MPILost       Fraction `json:"mpi_lost"`
	Idle          Sum      `json:"idle"`
	Marker        Sum      `json:"marker"`
	P2P           Sum      `json:"p2p"`
	CollectiveAll Sum      `json:"collective_all"`
	AllToAll      Sum      `json:"all_to_all"`
	Barrier       Sum      `json:"barrier"`
	FileIO        Sum      `json:"mpi_io"`
	RMA           Sum      `json:"rma"`
	Management    Sum      `json:"mgmt"`
	Comm          Sum      `json:"comm"`
	Start         Sum      `json:"t_start"`
	SendRecv      Sum      `json:"send_recv"`
	PotentialSync Sum      `json:"potent_sync"`
	Variation     Sum      `json:"time_variation"`
	LoadImbalance Sum      `json:"load_imbalance"`
	SumOfMax      *uint64  `json:"execution_sum_of_max"` // sum over the executions of the longest of each; nil: not known
	Dephasing     *uint64  `json:"dephasing"`            // that minus execution: imbalance that cancels over executions
	Overlap       Sum      `json:"overlap"`              // CPU time while a request is open

	longest      Sum // largest time of a process between set-up and end
	ioProductive bool
	asides       map[xtf.Item]Sum // by xtf.AsideItems
}

// Messages are the counts of point-to-point messages. A receive counts when it
// completes.
type Messages struct {
	Sent           uint64  `json:"sent"`
	Received       uint64  `json:"received"`
	BytesOut       uint64  `json:"bytes_out"`
	BytesIn        uint64  `json:"bytes_in"`
	UnmatchedSends *uint64 `json:"unmatched_sends"` // this and the next: nil if messages were not matched
	UnmatchedRecvs *uint64 `json:"unmatched_receives"`
	ClockViolation *uint64 `json:"clock_violations"`
}

// Collectives are the counts of calls of collective operations, one for each
// member.
type Collectives struct {
	Calls          uint64  `json:"calls"`
	BytesOut       uint64  `json:"bytes_out"`
	BytesIn        uint64  `json:"bytes_in"`
	ClockViolation *uint64 `json:"clock_violations"` // members that left too early; nil if members were not matched
}

// FileInfo describes the file.
type FileInfo struct {
	Bytes int64  `json:"bytes"`
	ID    string `json:"id"`
}

// Item returns the distribution of an item; an item that the file does not have
// is 0 everywhere.
func (s *Summary) Item(i xtf.Item) *Spread { return s.Spreads.item(i) }

// Summary reads the characteristics of the whole program.
func (r *Run) Summary() (*Summary, error) { return r.summary(Rules{}) }

func (r *Run) summary(rules Rules) (*Summary, error) {
	s := &Summary{Resolution: r.Defs.Clock().TimerResolution, Rule: string(rules.rule())}
	var root xtf.Interval
	found := false
	err := load(r, xtf.WholeRun, func(x *xtf.Interval) {
		if x.Key == 0 {
			root, found = *x, true
		}
	})
	if err == nil && !found {
		err = ErrNoResult
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the whole program's interval: %w", r.Name, err)
	}
	s.First, s.Last, s.Processors = root.FirstBegin, root.LastEnd, uint64(root.Participants)
	if s.Spreads, err = r.nodeStats(0, s.Processors); err != nil {
		return nil, err
	}
	codes, err := r.Codes()
	if err != nil {
		return nil, err
	}
	if s.Rows, err = r.HasRows(); err != nil {
		return nil, err
	}
	n, err := r.wholeProgram(s, &root, rules)
	if err != nil {
		return nil, fmt.Errorf("%s: the whole program's interval: %w", r.Name, err)
	}
	s.Ticks = n.ticks(rules)
	s.Processors = n.count(rules)
	s.Efficiency, s.Speedup = s.Ticks.efficiency()
	s.POP = n.pop()
	s.setCounts(codes)
	id := r.File.FileID()
	s.File = FileInfo{Bytes: r.Size, ID: hex.EncodeToString(id[:])}
	s.Provenance, err = r.Provenance()
	return s, err
}

// wholeProgram is what the characteristics of node 0 are computed from.
func (r *Run) wholeProgram(s *Summary, root *xtf.Interval, rules Rules) (*measured, error) {
	n := &measured{
		rules: rules, spreads: s.Spreads, participants: s.Processors, processes: uint64(len(r.Defs.Processes())), rows: s.Rows, single: true,
		sumMax: s.Item(xtf.ItemTime).Max, span: root.LastEnd - min(root.FirstBegin, root.LastEnd), useful: s.Item(xtf.ItemCPU).Max, ideal: notKnown,
	}
	if n.spreads.has(xtf.ItemIdeal) {
		n.setIdeal()
	}
	if !rules.processes() && (!rules.IO || s.Item(xtf.ItemIO).Max == 0) {
		return n, nil
	}
	n.useful = 0
	first := true
	for rank, p := range r.Defs.Processes() {
		x, err := r.processItems(uint32(rank), p)
		if err != nil {
			return nil, err
		}
		if x.took(0) {
			n.visit(x, 0, first)
			first = false
		}
	}
	return n, nil
}

func (s *Summary) setCounts(codes []CodeTotal) {
	sum := func(i xtf.Item) uint64 { return uint64(max(s.Item(i).Sum, 0)) }
	s.Messages = Messages{
		Sent: sum(xtf.ItemSends), Received: sum(xtf.ItemReceives), BytesOut: sum(xtf.ItemBytesOut), BytesIn: sum(xtf.ItemBytesIn),
	}
	s.Collectives = Collectives{Calls: sum(xtf.ItemCollectives), BytesOut: sum(xtf.ItemCollOut), BytesIn: sum(xtf.ItemCollIn)}
	if s.Rows {
		m := &s.Messages
		m.UnmatchedSends, m.UnmatchedRecvs, m.ClockViolation = new(uint64), new(uint64), new(uint64)
		s.Collectives.ClockViolation = new(uint64)
	}
	for _, c := range codes {
		n := map[trace.Code]*uint64{
			trace.DiagUnmatchedSend: s.Messages.UnmatchedSends, trace.DiagUnmatchedRecv: s.Messages.UnmatchedRecvs, trace.DiagClockViolation: s.Messages.ClockViolation, trace.DiagClockCollective: s.Collectives.ClockViolation,
		}[c.Code]
		if n != nil {
			*n = c.Count
		}
		s.Partial = s.Partial || c.Code.Severity() == trace.Damage
	}
}

// summary is the chapter about the whole program.
func (d *Document) summary(b *book, c *chapter) {
	if b.page {
		c.blocks = append(c.blocks, block{cards: d.cards(b.unit)})
		c.line(findingLine, d.verdict(b.unit))
		d.found(c)
	}
	if d.screen != nil && !(b.page && d.Intervals != nil) {
		d.screenTables(b, c)
	}
	c.table(d.programTable(b))
	spreads := b.spreads("per process", "Time of a process by component", d.Summary.Spreads, componentLines(), d.Summary.Ticks.Total, ItemWord)
	spreads.Columns[len(spreads.Columns)-1].view = viewWide // the deviation
	c.table(spreads)
	c.table(d.efficiencyTable(b))
	if !b.page || d.Profile == nil {
		c.table(d.hotTable(b))
	}
	predicted := &Table{Title: "A predicted run, not a measured one", Columns: []Column{words("predicted", ""), words("", "")}}
	for _, x := range d.run.predicted() {
		predicted.add(word(x[0]), word(x[1]))
	}
	c.table(predicted)
	d.traffic(c)
	c.table(d.problemTable(b.unit, trace.Warning))
	if b.page {
		return
	}
	d.Untold.chapter(c, untoldLines, "coppice report "+d.run.Path+" untold")
	c.line(gapLine, "")
	d.found(c)
	c.say("next: coppice report %s %s", d.run.Path, d.next())
}

// found lists the findings.
func (d *Document) found(c *chapter) {
	for _, f := range d.findingLines() {
		c.line(findingLine, f)
	}
}

// cards are the numbers of a page's headline.
func (d *Document) cards(u unit) []card {
	s := d.Summary
	t := &s.Ticks
	processes := count(d.Events) + " events"
	if d.Locations != d.Processes {
		processes = plural(d.Locations, "location") + ", " + processes
	}
	list := []card{{"Efficiency", s.Efficiency.text(2), "productive part of all time: " + gradeWord(s.Efficiency), gradeClass(s.Efficiency)}}
	if p := s.POP.Parallel; p.Defined {
		list = append(list, card{"Parallel efficiency (POP)", p.text(2), "useful part of all time: " + gradeWord(p), gradeClass(p)})
	}
	return append(list, card{"Runtime", u.short(whole(integer(t.Runtime))) + " " + u.name(), "first to last event", ""}, card{"Processes", count(uint64(d.Processes)), processes, ""},
		card{"Lost time", u.short(t.Lost) + " " + u.name(), over(t.Lost, t.Total).percent() + " of " + u.short(whole(t.Total)) + " " + u.name() + " that all processes took", ""})
}

// verdict says how well the run used its time.
func (d *Document) verdict(u unit) string {
	s := d.Summary
	t := &s.Ticks
	of := fmt.Sprintf("of %s %s that %s took together", u.short(whole(t.Total)), u.name(), plural(d.Processes, "process"))
	if d.Processes == 1 {
		of = fmt.Sprintf("of %s %s of the one process", u.short(whole(t.Total)), u.name())
	}
	if !s.Efficiency.Defined || s.Efficiency.Value >= threshold {
		return fmt.Sprintf("efficiency %s, which is good from %.1f on: %s, %s were productive", s.Efficiency.text(2), threshold, of, over(t.Productive, t.Total).percent())
	}
	mostly := "MPI"
	if d.Intervals != nil && len(d.Intervals.Nodes) > 0 {
		mostly = d.Intervals.Nodes[0].mostly(u)
	}
	return fmt.Sprintf("efficiency %s, where less than %.1f calls for a look: %s, %s %s were lost, mostly %s", s.Efficiency.text(2), threshold, of, u.short(t.Lost), u.name(), mostly)
}

// next is the section to read next: waits of the interval that lost most, where
// there are intervals.
func (d *Document) next() string {
	if d.screen != nil && d.screen.next > 0 {
		return fmt.Sprintf("waits --time interval:#%d", d.screen.next)
	}
	if d.Summary.Rows && d.Summary.Spreads.has(xtf.ItemWaitCount) {
		return "waits pop profile"
	}
	return "profile comm ccg diagnostics"
}

// programTable has the characteristics of section 4 of the interval model.
func (d *Document) programTable(b *book) *Table {
	s, t, u := d.Summary, &d.Summary.Ticks, b.unit
	tab := &Table{Title: "Whole program", Kind: "program", Columns: []Column{words("whole program", "name"), reals(u.of("time"), "time"), reals("of total", "share"), words("", "")}}
	row := func(name string, f Fraction, note string, level int) {
		if f.Sign() != 0 {
			tab.add(tree(name, level), u.exact(f), share(over(f, t.Total)), word(note))
		}
	}
	tab.add(word("execution"), u.time(t.Execution), none(), word(fmt.Sprintf("longest process: rank %d", s.Item(xtf.ItemTime).MaxP)))
	tab.add(word("total, "+plural(int(s.Processors), "process")), u.sum(t.Total), share(Ratio{1, true}), word("execution times processes"))
	row(ItemWord(xtf.ItemSetup), whole(t.Setup), "MPI_Init and MPI_Finalize: what follows is between them", 0)
	tab.add(word("productive"), u.exact(t.Productive), share(over(t.Productive, t.Total)))
	row(ItemWord(xtf.ItemCPU), whole(t.CPU), "", 1)
	if t.ioProductive {
		row(ItemWord(xtf.ItemIO), whole(t.IO), "", 1)
	}
	row("MPI of one processor", t.MPIProductive, "rule: "+map[string]string{"mean": "the mean process", "min": "the process with least", "max": "the process with most", "rank0": "process 0"}[s.Rule], 1)
	tab.add(word("lost"), u.exact(t.Lost), share(over(t.Lost, t.Total)))
	row("MPI", t.MPILost, "", 1)
	for _, x := range t.losses() {
		row(x.name, whole(x.ticks), x.note, 1)
	}
	return tab
}

// componentLine is a component in the list of all; parts of one are after it.
type componentLine struct {
	level int
	item  xtf.Item
}

// componentLines are the components of States in their order: first what is outside of MPI, then MPI, each with its parts, then
// what is not a state.
func componentLines() []componentLine {
	lists := [2][]componentLine{{{0, xtf.ItemTime}}, {{0, xtf.ItemMPI}}} // outside of MPI, MPI
	for _, i := range xtf.Parts {
		s := xtf.StatesOf(i)
		if len(s) == 0 || xtf.States[s[0]].Within != xtf.NumItems {
			continue
		}
		level, list := 0, &lists[0]
		if xtf.States[s[0]].Activity == xtf.ActivityMPI {
			level, list = 1, &lists[1]
		}
		*list = append(*list, componentLine{level, i})
		if i == xtf.ItemColl {
			*list = append(*list, componentLine{level + 1, xtf.ItemNxN})
		}
		for _, part := range xtf.PartsOf(i) {
			*list = append(*list, componentLine{level + 1, part})
		}
	}
	return append(append(lists[0], lists[1]...), componentLine{1, xtf.ItemStart}, componentLine{0, xtf.ItemPotentialSync},
		componentLine{0, xtf.ItemVariation}, componentLine{0, xtf.ItemSendRecv})
}

// spreads is a table of what processes have of components that are not 0: their sum, mean, least and largest value.
func (b *book) spreads(head, title string, s Spreads, list []componentLine, total Sum, name func(xtf.Item) string) *Table {
	u := b.unit
	t := &Table{Title: title, Kind: "component", Columns: []Column{
		words(head, "name"), ints(u.of("sum"), "sum"), reals("of total", "share"), reals("mean", "mean"),
		ints("min", "min"), ranks("rank", "min_rank"), ints("max", "max"), ranks("rank", "max_rank"), reals("std dev", "deviation"),
	}}
	for _, x := range list {
		i := s.item(x.item)
		if i.Sum == 0 {
			continue
		}
		label, of := named(name(x.item), x.item.String()), none()
		label.level = x.level
		if total != notKnown && !isCount(x.item) && x.item != xtf.ItemSendRecv { // spans of messages overlap and are no share of anything
			of = share(ratio(i.Sum, total))
		}
		if isCount(x.item) {
			mean := func(r Ratio) Cell { return named(r.mean(), r.csv()) }
			t.add(label, named(i.Sum.count(), i.Sum.json()), of, mean(i.Mean), number(i.Min), atRank(i.MinP), number(i.Max), atRank(i.MaxP), mean(i.Deviation))
			continue
		}
		t.add(label, u.sum(i.Sum), of, u.mean(i.Mean), u.time(i.Min), atRank(i.MinP), u.time(i.Max), atRank(i.MaxP), u.mean(i.Deviation))
	}
	return t
}

// hotRows is how many regions the summary names.
const hotRows = 8

func (d *Document) hotTable(b *book) *Table {
	u, p := b.unit, d.hot.profile
	t := &Table{Title: "Regions by exclusive time", Kind: "region", most: hotRows, whole: "coppice report " + d.run.Path + " profile", Columns: []Column{
		words("regions by exclusive time", "name"), ints("calls", "calls"), ints(u.name(), "exclusive"), reals("share", "share"), reals(u.perCallName(), ""), words("class", "class"),
	}}
	fill(t, "region", p.byTime(), func(x *RegionTime) []Cell {
		return []Cell{named(d.label(x, 40), x.Name), x.calls(), u.time(x.Exclusive), share(x.Share), word(x.perCall(u)), named(stateLabel(x.Class), x.Class)}
	})
	if p.Outside > 0 {
		t.add(word("(outside recorded calls)"), none(), u.time(p.Outside), share(ratio64(p.Outside, p.Time)))
	}
	return t
}

// label is a region's name with its place in the source, where known.
func (d *Document) label(x *RegionTime, limit int) string {
	name := clean(x.Name, limit)
	file := clean(x.File[strings.LastIndexByte(x.File, '/')+1:], limit)
	if x.class != 0 || !strings.Contains(file, ".") || strings.HasPrefix(file, "<") { // some writers name a paradigm there
		return name
	}
	if x.Line == 0 || x.Line == trace.Undefined {
		return name + "  " + file
	}
	return fmt.Sprintf("%s  %s:%d", name, file, x.Line)
}

// traffic says how much was sent.
func (d *Document) traffic(c *chapter) {
	s := d.Summary
	m, coll := &s.Messages, &s.Collectives
	c.line(gapLine, "")
	if m.Sent > 0 || m.Received > 0 {
		text := fmt.Sprintf("messages     %s of %s", count(m.Sent), Bytes(m.BytesOut))
		if m.Sent > 0 {
			text += fmt.Sprintf(", %s each", Bytes(meanOf(m.BytesOut, m.Sent)))
		}
		if s.Rows && *m.UnmatchedSends+*m.UnmatchedRecvs > 0 {
			text += fmt.Sprintf("; unmatched: %s, %s", plural(int(*m.UnmatchedSends), "send"), plural(int(*m.UnmatchedRecvs), "receive"))
		}
		c.say("%s", text)
	}
	if coll.Calls > 0 {
		c.say("collectives  %s calls, %s sent, %s received", count(coll.Calls), Bytes(coll.BytesOut), Bytes(coll.BytesIn))
	}
	if !s.Rows {
		c.say("kept         the call graph alone (--events none): messages and collectives were not matched, so who waits for whom and clock violations are not known")
	}
}
