package report

import (
	"fmt"
	"strconv"

	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// POPs are POP's efficiencies of every interval.
type POPs struct {
	Resolution uint64        `json:"resolution"`
	Ranks      string        `json:"ranks"`
	Span       *results.Span `json:"time,omitempty"`
	Replayed   bool          `json:"replayed"` // serialisation and transfer come from a replay on an ideal network
	Hosts      int           `json:"hosts"`    // that the trace tells
	Nodes      []NodePOP     `json:"nodes"`
	Overhead   numbers.Sum   `json:"overhead_as_cpu,omitzero"` // as in Intervals
}

// NodePOP is the efficiencies of an interval. Balance within the nodes of the
// machine times balance between them is the load balance.
type NodePOP struct {
	Path       []int  `json:"path"`
	Label      string `json:"label"`
	Processors uint64 `json:"processors"`
	results.POP
	Inside  numbers.Ratio `json:"load_balance_in"`  // largest mean useful time of a host over the largest of a process
	Between numbers.Ratio `json:"load_balance_out"` // mean useful time over the largest mean of a host
	level   uint32
}

// NewPOPs reports the efficiencies.
func NewPOPs(r *results.Run, ranks results.Ranks, span *results.Span, rules results.Rules) (*POPs, []table.Lost, error) {
	x := &POPs{Resolution: r.Units().Resolution, Ranks: ranks.String(), Span: span}
	nodes, of := results.Hosts(r.Defs)
	x.Hosts = len(nodes)
	useful := map[uint64]*hostSum{} // by interval and host
	s, err := r.Survey(results.SurveyOptions{Ranks: ranks, Span: span, Section: "pop", Deep: true, Rules: rules, Each: func(p *results.ProcessItems) {
		for _, k := range p.Keys() {
			if node := uint32(k >> 32); xtf.Item(uint32(k)) == xtf.ItemTime && p.Took(node) {
				h := results.Made(useful, xtf.NodeKey(node, uint32(of[p.Rank])))
				h.useful += p.Useful(node, rules)
				h.processes++
			}
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	x.Replayed = s.Replayed
	for i := range s.Nodes {
		m := &s.Measured[i]
		if m.Participants == 0 && i > 0 {
			continue
		}
		p := NodePOP{Path: results.PathOf(s.Nodes, i), Label: s.Nodes[i].Label(), Processors: m.Participants, POP: m.Pop(), level: s.Nodes[i].Level}
		p.setHosts(m, uint32(i), len(nodes), useful)
		x.Nodes = append(x.Nodes, p)
	}
	if span != nil {
		x.Overhead, err = lookup.OverheadAsCPU(r)
	}
	return x, s.Lost, err
}

// hostSum is the useful time of the processes of one host.
type hostSum struct {
	useful    uint64
	processes uint64
}

// setHosts splits the load balance into that within hosts and that between them, where there are several.
func (p *NodePOP) setHosts(m *results.Measured, n uint32, hosts int, useful map[uint64]*hostSum) {
	if hosts < 2 {
		return
	}
	best := numbers.Fraction{}
	for h := range hosts {
		x := useful[xtf.NodeKey(n, uint32(h))]
		if x == nil {
			continue
		}
		if f := numbers.Divide64(x.useful, x.processes); !best.Known() || f.Compare(best) > 0 {
			best = f
		}
	}
	if !best.Known() {
		return
	}
	p.Inside = numbers.Part(best, numbers.Integer(m.Useful))
	p.Between = numbers.Nearest(numbers.Divide(p.Useful, numbers.Integer(m.Participants)).Over(best))
}

// efficiencyTable lists the efficiencies of the whole program, each with its formula in words. A page has it in numbers too.
func (d *Document) efficiencyTable(b *table.Book) *table.Table {
	s, p, u := d.Summary, &d.Summary.POP, b.Unit
	t := &table.Table{Title: "Efficiencies; those of POP are products of those below them; from 0.8 on an efficiency is good", Kind: "efficiency", Columns: []table.Column{
		table.Words("efficiency", "name"), table.Reals("value", "value"), table.Words("", "").Wide(), table.Words("formula", ""), table.Words("in numbers", "").Wide(), table.Words("what it means", "").Wide(),
	}}
	row := func(level int, name string, value table.Cell, formula, figures, meaning string) {
		label, word := table.Tree(name, level), table.GradeWord(value.Grade)
		if !value.Grade.Defined && value.Value != "" { // known, but not to be graded
			word = ""
		}
		t.Add(label, value, table.Word(word), table.Word(formula), table.Word(figures), table.Word(meaning))
	}
	mean := u.Real(numbers.Quotient(p.Useful, numbers.Integer(p.Participants)))
	most, runtime := u.Ticks(p.Largest), u.Big(p.Runtime)+" "+u.Name()
	row(0, "efficiency", table.Barred(s.Efficiency, 3), fmt.Sprintf("productive over total time%s; speed-up %s of %d", without(&s.Ticks), s.Speedup.Text(2), s.Processors), "", "low: much of the time is lost, see there")
	d.deviceEfficiencies(row)
	note := "useful time over all time" + without(&s.Ticks)
	if p.Offload.Defined {
		note += ", calls of a device's runtime too"
	}
	figures := "load balance × communication = mean useful time / runtime = " + mean + " / " + runtime
	if p.Threads != nil {
		note = fmt.Sprintf("process efficiency %s (load balance x communication) x threads %s", p.Process.Text(3), p.Threads.OpenMP.Text(3))
		figures += fmt.Sprintf(" = %s, × threads %s", p.Process.Text(3), p.Threads.OpenMP.Text(3))
	}
	row(0, "parallel efficiency", table.Barred(p.Parallel, 3), note, figures, "the part of the run between set-up and end in which processes compute")
	row(1, "load balance", table.Barred(p.LoadBalance, 3), "mean useful time over the largest", mean+" / "+most+" "+u.Name(), "low: some processes have more work than others")
	if communicates := s.Spreads.Has(xtf.ItemMPI); !communicates {
		row(1, "busiest process", table.Barred(p.Communication, 3), "largest useful time over the runtime", most+" / "+runtime, "low: even the busiest process does not compute for long")
	} else if row(1, "communication", table.Barred(p.Communication, 3), "largest useful time over the runtime", "serialisation × transfer = "+most+" / "+runtime, "low: even the busiest process is often in MPI, or in what is lost next to it"); p.Ideal != numbers.NotKnown {
		row(2, "serialisation", table.Barred(p.Serialisation, 3), "largest useful time over the runtime on an ideal network", most+" / "+u.Big(p.Ideal)+" "+u.Name(),
			"low: processes wait for one another in turn, though each has as much work")
		row(2, "transfer", table.Barred(p.Transfer, 3), "that over the runtime", u.Big(p.Ideal)+" / "+runtime, "low: the network or the MPI library is slow for what is sent")
	}
	if p.Offload.Defined {
		row(0, "host efficiency", table.Quotient(p.Host, 3), "parallel efficiency x device offload", "", "the part of their time in which hosts compute themselves: low is not a loss while devices compute")
		row(1, "device offload", table.Quotient(p.Offload, 3), "useful time but that in calls of a device's runtime, over useful time", "", "low: hosts launch work and wait for it")
	}
	if p.IO.Defined {
		row(0, "I/O efficiency", table.Barred(p.IO, 3), "CPU time over CPU and I/O time", "", "low: much of the time goes to files")
		row(0, "balance of I/O", table.Barred(p.IOBalance, 3), "mean I/O time over the largest", "", "low: some processes read and write more than others")
	}
	if p.Unburdened.Defined {
		row(0, "without overhead", table.Barred(p.Unburdened, 3), "useful time over all time but that of the measurement", "", "higher than the parallel efficiency: the measurement takes time")
	}
	if x := p.Threads; x != nil {
		row(0, "threads", table.Barred(x.OpenMP, 3), fmt.Sprintf("serial %s x balance %s x scheduling %s, of the threads' time outside MPI", x.Serial.Text(3), x.Balance.Text(3), x.Scheduling.Text(3)), "",
			"low: threads idle outside of parallel regions, wait for the busiest one, or lose time to scheduling")
	}
	t.Notes = d.unmeasured(u)
	return t
}

// unmeasured says that efficiencies count as lost what the measurement did not see, where that matters.
func (d *Document) unmeasured(u numbers.Units) []string {
	ticks, runtime := findings.Unmeasured(d.Diagnostics, d.Summary.Ticks.Runtime), d.Summary.Ticks.Runtime
	if u.Rounded = true; ticks == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the measurement was off for up to %s %s of a process (%s of the run): efficiencies count that as lost, whatever the program did", u.Ticks(ticks), u.Name(), numbers.NewRatio(ticks, runtime).Percent())}
}

// popTables are the tables of efficiencies of intervals that people see: title, first column, and a note below.
var popTables = [...]struct{ title, head, note string }{
	{"Multiplicative efficiencies", "interval", "process = balance x communication, communication = serialisation x transfer, parallel = process x openmp"},
	{"Additive efficiencies", "additive", "each is 1 - loss / runtime; process = balance + serialisation + transfer - 2"},
	{"Load balance by hosts", "load balance", "within x between = load balance"},
	{"Efficiencies of threads", "threads", "openmp = serial x balance x scheduling, of the threads' time outside MPI"},
	{"Efficiencies of hosts with devices", "hosts", "host = parallel x device offload"},
	{"Efficiencies of file input and output", "file input and output", "CPU time over CPU and I/O time; mean I/O time over the largest of a process"},
}

// popRatios are the efficiencies of an interval: name in CSV, table for people, and name there.
var popRatios = []struct {
	key   string
	table int
	name  string
	of    func(n *NodePOP) numbers.Ratio
}{
	{"parallel", 0, "parallel", func(n *NodePOP) numbers.Ratio { return n.Parallel }},
	{"", 0, "process", func(n *NodePOP) numbers.Ratio { return n.Process }},
	{"load_balance", 0, "balance", func(n *NodePOP) numbers.Ratio { return n.LoadBalance }},
	{"communication", 0, "comm", func(n *NodePOP) numbers.Ratio { return n.Communication }},
	{"serialisation", 0, "serial", func(n *NodePOP) numbers.Ratio { return n.Serialisation }},
	{"transfer", 0, "transfer", func(n *NodePOP) numbers.Ratio { return n.Transfer }},
	{"", 1, "process", func(n *NodePOP) numbers.Ratio { return n.Process }},
	{"additive_load_balance", 1, "balance", func(n *NodePOP) numbers.Ratio { return n.Additive.LoadBalance }},
	{"additive_serialisation", 1, "serial", func(n *NodePOP) numbers.Ratio { return n.Additive.Serialisation }},
	{"additive_transfer", 1, "transfer", func(n *NodePOP) numbers.Ratio { return n.Additive.Transfer }},
	{"additive_communication", 1, "comm", func(n *NodePOP) numbers.Ratio { return n.Additive.Communication }},
	{"load_balance_in", 2, "within hosts", func(n *NodePOP) numbers.Ratio { return n.Inside }},
	{"load_balance_out", 2, "between hosts", func(n *NodePOP) numbers.Ratio { return n.Between }},
	{"openmp", 3, "openmp", func(n *NodePOP) numbers.Ratio { return n.threads().OpenMP }},
	{"openmp_serial", 3, "serial", func(n *NodePOP) numbers.Ratio { return n.threads().Serial }},
	{"openmp_load_balance", 3, "balance", func(n *NodePOP) numbers.Ratio { return n.threads().Balance }},
	{"openmp_scheduling", 3, "scheduling", func(n *NodePOP) numbers.Ratio { return n.threads().Scheduling }},
	{"host", 4, "host", func(n *NodePOP) numbers.Ratio { return n.Host }},
	{"device_offload", 4, "device offload", func(n *NodePOP) numbers.Ratio { return n.Offload }},
	{"io", 5, "efficiency", func(n *NodePOP) numbers.Ratio { return n.IO }},
	{"io_balance", 5, "balance", func(n *NodePOP) numbers.Ratio { return n.IOBalance }},
}

func (n *NodePOP) threads() results.ThreadPOP {
	if n.Threads == nil {
		return results.ThreadPOP{}
	}
	return *n.Threads
}

// chapter has a table for each kind of efficiency. Programs get all of them in one.
func (x *POPs) chapter(b *table.Book, c *table.Chapter) {
	c.Title = "POP efficiencies of " + results.RanksText(x.Ranks)
	if x.Span != nil {
		c.Title += ", " + x.Span.Text(b.Unit)
	}
	all := &table.Table{Columns: []table.Column{table.Words("", "path").Hidden(), table.Words("", "interval").Hidden(), table.Ints("", "processors").Hidden(), table.Ints("", "runtime").Hidden(), table.Ints("", "ideal").Hidden()}}
	for _, r := range popRatios {
		if r.key != "" {
			all.Columns = append(all.Columns, table.Reals("", r.key).Hidden())
		}
	}
	all.Columns = append(all.Columns, table.Words("", "approximate").Hidden())
	approximate := ""
	table.Fill(all, "", x.Nodes, func(n *NodePOP) []table.Cell {
		row := []table.Cell{table.Word(results.PathText(n.Path)), table.Word(n.Label), table.Number(n.Processors), table.Ticks(b.Unit, n.Runtime), table.Ticks(b.Unit, n.Ideal)}
		for _, r := range popRatios {
			if r.key != "" {
				row = append(row, table.Quotient(r.of(n), 3))
			}
		}
		return append(row, table.Word(strconv.FormatBool(n.Approximate)))
	})
	c.Table(all)
	for k, p := range popTables {
		t := &table.Table{Title: p.title, Notes: []string{p.note}, Columns: []table.Column{table.Words(p.head, "")}}
		if k == 0 {
			t.Columns = append(t.Columns, table.Ints("processors", ""), table.Ints(table.Of(b.Unit, "runtime"), ""))
		}
		for _, r := range popRatios {
			if r.table == k {
				t.Columns = append(t.Columns, table.Reals(r.name, ""))
			}
		}
		t.Columns = append(t.Columns, table.Words("", ""))
		for i := range x.Nodes {
			n := &x.Nodes[i]
			row := []table.Cell{table.Tree(n.Label, int(n.level))}
			if k == 0 {
				row = append(row, table.Number(n.Processors), table.Ticks(b.Unit, n.Runtime))
			}
			defined := k < 2
			for _, r := range popRatios {
				if r.table == k {
					cell := table.Graded(r.of(n))
					if k == 4 { // a low value is not a loss while devices compute
						cell.Grade = numbers.Ratio{}
					}
					row, defined = append(row, cell), defined || r.of(n).Defined
				}
			}
			if k == 0 && n.Approximate {
				row, approximate = append(row, table.Word("approx")), "approx: without a replay on an ideal network, its runtime is estimated as the longest time without MPI calls that do not wait"
			}
			if defined {
				t.Add(row...)
			}
		}
		if k == 2 {
			t.Notes[0] = fmt.Sprintf("%d hosts; %s", x.Hosts, p.note)
		}
		c.Table(t)
	}
	if approximate != "" {
		c.Say("%s", approximate)
	}
	if note := lookup.NoteOverhead(x.Overhead, b.Unit); note != "" {
		c.Say("%s", note)
	}
}
