package report

import (
	"fmt"
	"strconv"
	"strings"

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

// writePOPs writes the multiplicative, then the additive efficiencies.
func (d *Document) writePOPs(w *writer) {
	x := d.POPs
	head := "POP efficiencies of " + ranksText(x.Ranks)
	if x.Span != nil {
		head += ", " + x.Span.text(w.unit)
	}
	w.title(head)
	tab := table{head: []string{"<interval", "processors", "runtime " + w.unit.name(), "parallel", "process", "balance", "comm", "serial", "transfer", "<"}}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		note := ""
		if n.Approximate {
			note = "approx"
		}
		tab.add(strings.Repeat("  ", int(n.level))+n.Label, count(n.Processors), w.unit.big(n.Runtime), w.grade(n.Parallel, n.Parallel.text(3)), n.Process.text(3),
			w.grade(n.LoadBalance, n.LoadBalance.text(3)), w.grade(n.Communication, n.Communication.text(3)),
			w.grade(n.Serialisation, n.Serialisation.text(3)), w.grade(n.Transfer, n.Transfer.text(3)), note)
	}
	w.table(&tab)
	w.line("process = balance x communication, communication = serialisation x transfer, parallel = process x openmp")
	w.line("")
	tab = table{head: []string{"<additive", "process", "balance", "serial", "transfer", "comm"}}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		a := &n.Additive
		tab.add(strings.Repeat("  ", int(n.level))+n.Label, n.Process.text(3), a.LoadBalance.text(3), a.Serialisation.text(3), a.Transfer.text(3), a.Communication.text(3))
	}
	w.table(&tab)
	w.line("each is 1 - loss / runtime; process = balance + serialisation + transfer - 2")
	if x.Hosts > 1 {
		w.line("")
		tab = table{head: []string{"<load balance", "within hosts", "between hosts"}}
		for i := range x.Nodes {
			n := &x.Nodes[i]
			tab.add(strings.Repeat("  ", int(n.level))+n.Label, n.Inside.text(3), n.Between.text(3))
		}
		w.table(&tab)
		w.line("%d hosts; within x between = load balance", x.Hosts)
	}
	x.writeIO(w)
	x.writeThreads(w)
	for i := range x.Nodes {
		if x.Nodes[i].Approximate {
			w.line("approx: without a replay on an ideal network, its runtime is estimated as the longest time without MPI calls that do not wait")
			break
		}
	}
}

// writeIO writes the efficiencies of file input and output, where there is any.
func (x *POPs) writeIO(w *writer) {
	tab := table{head: []string{"<file input and output", "efficiency", "balance"}}
	for i := range x.Nodes {
		if n := &x.Nodes[i]; n.IO.Defined {
			tab.add(strings.Repeat("  ", int(n.level))+n.Label, w.grade(n.IO, n.IO.text(3)), w.grade(n.IOBalance, n.IOBalance.text(3)))
		}
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
		w.line("CPU time over CPU and I/O time; mean I/O time over the largest of a process")
	}
}

// writeThreads writes the efficiencies of threads, where there are any.
func (x *POPs) writeThreads(w *writer) {
	tab := table{head: []string{"<threads", "openmp", "serial", "balance", "scheduling"}}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		if t := n.Threads; t != nil {
			tab.add(strings.Repeat("  ", int(n.level))+n.Label, w.grade(t.OpenMP, t.OpenMP.text(3)), t.Serial.text(3), t.Balance.text(3), t.Scheduling.text(3))
		}
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
		w.line("openmp = serial x balance x scheduling, of the threads' time outside MPI")
	}
}

// writeCSV writes a row for every interval.
func (x *POPs) writeCSV(w rowWriter) error {
	head := []string{"path", "interval", "processors", "runtime", "ideal", "parallel", "load_balance", "communication", "serialisation", "transfer"}
	head = append(head, "additive_load_balance", "additive_serialisation", "additive_transfer", "additive_communication", "load_balance_in", "load_balance_out", "openmp", "openmp_serial", "openmp_load_balance", "openmp_scheduling", "io", "io_balance", "approximate")
	if err := w.Write(head); err != nil {
		return err
	}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		var threads ThreadPOP
		if n.Threads != nil {
			threads = *n.Threads
		}
		row := []string{pathText(n.Path), n.Label, strconv.FormatUint(n.Processors, 10), n.Runtime.json(), n.Ideal.json()}
		for _, r := range []Ratio{
			n.Parallel, n.LoadBalance, n.Communication, n.Serialisation, n.Transfer,
			n.Additive.LoadBalance, n.Additive.Serialisation, n.Additive.Transfer, n.Additive.Communication, n.Inside, n.Between,
			threads.OpenMP, threads.Serial, threads.Balance, threads.Scheduling, n.IO, n.IOBalance,
		} {
			row = append(row, r.csv())
		}
		if err := w.Write(append(row, fmt.Sprint(n.Approximate))); err != nil {
			return err
		}
	}
	return nil
}

// csv is the number with all its digits, empty where it is not defined.
func (r Ratio) csv() string {
	if !r.Defined {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'g', -1, 64)
}
