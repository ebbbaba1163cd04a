package report

import (
	"fmt"
	"strconv"

	"github.com/coppice-hpc/coppice/xtf"
)

// POPs are POP's efficiencies of every interval.
type POPs struct {
	Resolution uint64    `json:"resolution"`
	Ranks      string    `json:"ranks"`
	Span       *Span     `json:"time,omitempty"`
	Replayed   bool      `json:"replayed"` // serialisation and transfer come from a replay on an ideal network
	Hosts      int       `json:"hosts"`    // that the trace tells
	Nodes      []NodePOP `json:"nodes"`
}

// NodePOP is the efficiencies of an interval. Balance within the nodes of the
// machine times balance between them is the load balance.
type NodePOP struct {
	Path       []int  `json:"path"`
	Label      string `json:"label"`
	Processors uint64 `json:"processors"`
	POP
	Inside  Ratio `json:"load_balance_in"`  // largest mean useful time of a host over the largest of a process
	Between Ratio `json:"load_balance_out"` // mean useful time over the largest mean of a host
	level   uint32
}

// ThreadPOP is the efficiencies of threads of processes that have several, over
// the time of all threads outside MPI. OpenMP is the product of the other three.
type ThreadPOP struct {
	OpenMP     Ratio `json:"openmp"`
	Serial     Ratio `json:"serial"`       // what is left without idling outside of parallel regions
	Balance    Ratio `json:"load_balance"` // of that, without waiting for the busiest thread of parallel regions
	Scheduling Ratio `json:"scheduling"`   // of that, without what even the busiest thread idles
}

// threads computes the efficiencies of threads; nil without any.
func (m *measured) threads() *ThreadPOP {
	left := m.threadTimes()
	if left == nil {
		return nil
	}
	return &ThreadPOP{ratio(left[3], left[0]), ratio(left[1], left[0]), ratio(left[2], left[1]), ratio(left[3], left[2])}
}

// threadTimes are the time of all threads, and what is left of it without each loss
// in turn; nil without threads.
func (m *measured) threadTimes() []Sum {
	all := m.sum(xtf.ItemThreadTime)
	if all <= 0 {
		return nil
	}
	left := []Sum{all}
	for _, i := range []xtf.Item{xtf.ItemThreadSerial, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling} {
		left = append(left, sub(left[len(left)-1], m.sum(i)))
	}
	return left
}

// POP reports the efficiencies.
func (r *Run) POP(ranks Ranks, span *Span, rules Rules) (*POPs, []Lost, error) {
	x := &POPs{Resolution: r.Defs.Clock().TimerResolution, Ranks: ranks.String(), Span: span}
	nodes, of := hosts(r.Defs)
	x.Hosts = len(nodes)
	useful := map[uint64]*hostSum{} // by interval and host
	s, err := r.survey(surveyOptions{ranks: ranks, span: span, section: "pop", deep: true, rules: rules, each: func(p *processItems) {
		for _, k := range p.keys() {
			if node := uint32(k >> 32); xtf.Item(uint32(k)) == xtf.ItemTime && p.took(node) {
				h := useful[xtf.NodeKey(node, uint32(of[p.rank]))]
				if h == nil {
					h = &hostSum{}
					useful[xtf.NodeKey(node, uint32(of[p.rank]))] = h
				}
				h.useful += p.useful(node, rules)
				h.processes++
			}
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	x.Replayed = s.replayed
	for i := range s.nodes {
		m := &s.measured[i]
		if m.participants == 0 && i > 0 {
			continue
		}
		p := NodePOP{Path: pathOf(s.nodes, i), Label: s.nodes[i].label(), Processors: m.participants, POP: m.pop(), level: s.nodes[i].Level}
		p.setHosts(m, uint32(i), len(nodes), useful)
		x.Nodes = append(x.Nodes, p)
	}
	return x, s.lost, nil
}

// hostSum is the useful time of the processes of a host.
type hostSum struct {
	useful    uint64
	processes uint64
}

// setHosts splits the load balance by hosts, where there are several.
func (p *NodePOP) setHosts(m *measured, n uint32, hosts int, useful map[uint64]*hostSum) {
	if hosts < 2 {
		return
	}
	best := Fraction{}
	for h := range hosts {
		x := useful[xtf.NodeKey(n, uint32(h))]
		if x == nil {
			continue
		}
		if f := fraction64(x.useful, x.processes); !best.Known() || f.Compare(best) > 0 {
			best = f
		}
	}
	if !best.Known() {
		return
	}
	p.Inside = over(best, integer(m.useful))
	p.Between = ratioOf(fraction(p.Useful, integer(m.participants)).Over(best))
}

// efficiencyTable has the efficiencies of the whole program, each with its formula: in words, on a page in numbers too.
func (d *Document) efficiencyTable(b *book) *Table {
	s, p, u := d.Summary, &d.Summary.POP, b.unit
	t := &Table{Title: "Efficiencies; those of POP are products of those below them; from 0.8 on an efficiency is good", Kind: "efficiency", Columns: []Column{
		words("efficiency", "name"), reals("value", "value"), words("", "").wide(), words("formula", ""), words("in numbers", "").wide(), words("what it means", "").wide(),
	}}
	row := func(level int, name string, value Cell, formula, figures, meaning string) {
		label := tree(name, level)
		t.add(label, value, word(gradeWord(value.grade)), word(formula), word(figures), word(meaning))
	}
	mean := u.real(ratio(p.Useful, integer(p.participants)))
	most, runtime := u.ticks(p.Largest), u.big(p.Runtime)+" "+u.name()
	row(0, "efficiency", barred(s.Efficiency, 6), fmt.Sprintf("productive over total time; speed-up %s of %d", s.Speedup.text(2), s.Processors), "", "low: much of the time is lost, see there")
	note := "useful time over all time"
	figures := "load balance × communication = mean useful time / runtime = " + mean + " / " + runtime
	if p.Threads != nil {
		note = fmt.Sprintf("process efficiency %s (load balance x communication) x threads %s", p.Process.text(3), p.Threads.OpenMP.text(3))
		figures += fmt.Sprintf(" = %s, × threads %s", p.Process.text(3), p.Threads.OpenMP.text(3))
	}
	row(0, "parallel efficiency", barred(p.Parallel, 3), note, figures, "the part of the run between set-up and end in which processes compute")
	row(1, "load balance", barred(p.LoadBalance, 3), "mean useful time over the largest", mean+" / "+most+" "+u.name(), "low: some processes have more work than others")
	row(1, "communication", barred(p.Communication, 3), "largest useful time over the runtime", "serialisation × transfer = "+most+" / "+runtime, "low: even the busiest process is often in MPI, or in what is lost beside it")
	if p.Ideal != notKnown {
		row(2, "serialisation", barred(p.Serialisation, 3), "largest useful time over the runtime on an ideal network", most+" / "+u.big(p.Ideal)+" "+u.name(),
			"low: processes wait for one another in turn, though each has as much work")
		row(2, "transfer", barred(p.Transfer, 3), "that over the runtime", u.big(p.Ideal)+" / "+runtime, "low: the network or the MPI library is slow for what is sent")
	}
	if p.IO.Defined {
		row(0, "I/O efficiency", barred(p.IO, 3), "CPU time over CPU and I/O time", "", "low: much of the time goes to files")
		row(0, "balance of I/O", barred(p.IOBalance, 3), "mean I/O time over the largest", "", "low: some processes read and write more than others")
	}
	if p.Unburdened.Defined {
		row(0, "without overhead", barred(p.Unburdened, 3), "useful time over all time but that of the measurement", "", "higher than the parallel efficiency: the measurement takes time")
	}
	if x := p.Threads; x != nil {
		row(0, "threads", barred(x.OpenMP, 3), fmt.Sprintf("serial %s x balance %s x scheduling %s, of the threads' time outside MPI", x.Serial.text(3), x.Balance.text(3), x.Scheduling.text(3)), "",
			"low: threads idle outside of parallel regions, wait for the busiest one, or lose time to scheduling")
	}
	return t
}

// popTables are what people see of the efficiencies of intervals: their first column, and what is below them.
var popTables = [...]struct{ title, head, note string }{
	{"Multiplicative efficiencies", "interval", "process = balance x communication, communication = serialisation x transfer, parallel = process x openmp"},
	{"Additive efficiencies", "additive", "each is 1 - loss / runtime; process = balance + serialisation + transfer - 2"},
	{"Load balance by hosts", "load balance", "within x between = load balance"},
	{"Efficiencies of threads", "threads", "openmp = serial x balance x scheduling, of the threads' time outside MPI"},
	{"Efficiencies of file input and output", "file input and output", "CPU time over CPU and I/O time; mean I/O time over the largest of a process"},
}

// popRatios are the efficiencies of an interval: their name in CSV, the table that people see them in, and their name there.
var popRatios = []struct {
	key   string
	table int
	name  string
	of    func(n *NodePOP) Ratio
}{
	{"parallel", 0, "parallel", func(n *NodePOP) Ratio { return n.Parallel }},
	{"", 0, "process", func(n *NodePOP) Ratio { return n.Process }},
	{"load_balance", 0, "balance", func(n *NodePOP) Ratio { return n.LoadBalance }},
	{"communication", 0, "comm", func(n *NodePOP) Ratio { return n.Communication }},
	{"serialisation", 0, "serial", func(n *NodePOP) Ratio { return n.Serialisation }},
	{"transfer", 0, "transfer", func(n *NodePOP) Ratio { return n.Transfer }},
	{"", 1, "process", func(n *NodePOP) Ratio { return n.Process }},
	{"additive_load_balance", 1, "balance", func(n *NodePOP) Ratio { return n.Additive.LoadBalance }},
	{"additive_serialisation", 1, "serial", func(n *NodePOP) Ratio { return n.Additive.Serialisation }},
	{"additive_transfer", 1, "transfer", func(n *NodePOP) Ratio { return n.Additive.Transfer }},
	{"additive_communication", 1, "comm", func(n *NodePOP) Ratio { return n.Additive.Communication }},
	{"load_balance_in", 2, "within hosts", func(n *NodePOP) Ratio { return n.Inside }},
	{"load_balance_out", 2, "between hosts", func(n *NodePOP) Ratio { return n.Between }},
	{"openmp", 3, "openmp", func(n *NodePOP) Ratio { return n.threads().OpenMP }},
	{"openmp_serial", 3, "serial", func(n *NodePOP) Ratio { return n.threads().Serial }},
	{"openmp_load_balance", 3, "balance", func(n *NodePOP) Ratio { return n.threads().Balance }},
	{"openmp_scheduling", 3, "scheduling", func(n *NodePOP) Ratio { return n.threads().Scheduling }},
	{"io", 4, "efficiency", func(n *NodePOP) Ratio { return n.IO }},
	{"io_balance", 4, "balance", func(n *NodePOP) Ratio { return n.IOBalance }},
}

func (n *NodePOP) threads() ThreadPOP {
	if n.Threads == nil {
		return ThreadPOP{}
	}
	return *n.Threads
}

// chapter has a table for each kind of efficiencies, and all of them in one for programs.
func (x *POPs) chapter(b *book, c *chapter) {
	c.title = "POP efficiencies of " + ranksText(x.Ranks)
	if x.Span != nil {
		c.title += ", " + x.Span.text(b.unit)
	}
	all := &Table{Columns: []Column{words("", "path").hidden(), words("", "interval").hidden(), ints("", "processors").hidden(), ints("", "runtime").hidden(), ints("", "ideal").hidden()}}
	for _, r := range popRatios {
		if r.key != "" {
			all.Columns = append(all.Columns, reals("", r.key).hidden())
		}
	}
	all.Columns = append(all.Columns, words("", "approximate").hidden())
	approximate := ""
	fill(all, "", x.Nodes, func(n *NodePOP) []Cell {
		row := []Cell{word(pathText(n.Path)), word(n.Label), number(n.Processors), b.unit.sum(n.Runtime), b.unit.sum(n.Ideal)}
		for _, r := range popRatios {
			if r.key != "" {
				row = append(row, quotient(r.of(n), 3))
			}
		}
		return append(row, word(strconv.FormatBool(n.Approximate)))
	})
	c.table(all)
	for k, p := range popTables {
		t := &Table{Title: p.title, Notes: []string{p.note}, Columns: []Column{words(p.head, "")}}
		if k == 0 {
			t.Columns = append(t.Columns, ints("processors", ""), ints(b.unit.of("runtime"), ""))
		}
		for _, r := range popRatios {
			if r.table == k {
				t.Columns = append(t.Columns, reals(r.name, ""))
			}
		}
		t.Columns = append(t.Columns, words("", ""))
		for i := range x.Nodes {
			n := &x.Nodes[i]
			row := []Cell{tree(n.Label, int(n.level))}
			if k == 0 {
				row = append(row, number(n.Processors), b.unit.sum(n.Runtime))
			}
			defined := k < 2
			for _, r := range popRatios {
				if r.table == k {
					row, defined = append(row, graded(r.of(n))), defined || r.of(n).Defined
				}
			}
			if k == 0 && n.Approximate {
				row, approximate = append(row, word("approx")), "approx: without a replay on an ideal network, its runtime is estimated as the longest time without MPI calls that do not wait"
			}
			if defined {
				t.add(row...)
			}
		}
		if k == 2 {
			t.Notes[0] = fmt.Sprintf("%d hosts; %s", x.Hosts, p.note)
		}
		c.table(t)
	}
	if approximate != "" {
		c.say("%s", approximate)
	}
}

// csv is the number with all its digits, empty where it is not defined.
func (r Ratio) csv() string {
	if !r.Defined {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'g', -1, 64)
}
