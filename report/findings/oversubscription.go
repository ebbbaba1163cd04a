package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// usage is what a process had of the processors that it may use, as its recorder tells.
type usage struct {
	processors string // a list as Linux writes it; "" if not known
	cpu        uint64 // ns; math.MaxUint64 if not known, as all below
	delay      uint64
	switches   uint64
}

// Usages returns what the trace tells of each process.
func Usages(d *trace.Definitions) []usage {
	list := make([]usage, len(d.Processes()))
	for i := range list {
		list[i] = usage{"", math.MaxUint64, math.MaxUint64, math.MaxUint64}
	}
	for i := range d.LocationProperties {
		q := &d.LocationProperties[i]
		p, ok := d.Ordinal(q.Location)
		if !ok {
			continue
		}
		rank, thread := d.Process(p)
		u, name := &list[rank], d.Text(q.Name)
		switch {
		case thread > 0:
		case q.Value.Type == trace.TypeString && name == trace.PropertyProcessors:
			u.processors = d.Text(uint32(q.Value.Bits))
		case q.Value.Type != trace.TypeUint64:
		case name == trace.PropertyCPUTime:
			u.cpu = q.Value.Bits
		case name == trace.PropertyDelay:
			u.delay = q.Value.Bits
		case name == trace.PropertySwitches:
			u.switches = q.Value.Bits
		}
	}
	return list
}

// processorSet is a set of processors as spans from first to last, ascending, that do not touch.
type processorSet [][2]uint64

// maxProcessor bounds numbers of processors; no machine has as many.
const maxProcessor = 1 << 20

// processorsOf reads a list such as 0-3,8; nil if it is none.
func processorsOf(text string) processorSet {
	var set processorSet
	for part := range strings.SplitSeq(text, ",") {
		a, b, span := strings.Cut(part, "-")
		if !span {
			b = a
		}
		first, err1 := strconv.ParseUint(a, 10, 64)
		last, err2 := strconv.ParseUint(b, 10, 64)
		if err1 != nil || err2 != nil || first > last || last >= maxProcessor {
			return nil
		}
		set = append(set, [2]uint64{first, last})
	}
	return set.joined()
}

// joined sorts the spans and joins those that touch.
func (s processorSet) joined() processorSet {
	slices.SortFunc(s, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	n := 0
	for _, x := range s {
		if n > 0 && x[0] <= s[n-1][1]+1 {
			s[n-1][1] = max(s[n-1][1], x[1])
			continue
		}
		s[n] = x
		n++
	}
	return s[:n]
}

func (s processorSet) count() (n uint64) {
	for _, x := range s {
		n += x[1] - x[0] + 1
	}
	return n
}

// crowd is processes of a host that are more than the processors that they may use.
type crowd struct {
	Host       string
	Processors uint64
	List       string // of these, where the trace has it
	Ranks      []uint32
	Bound      bool // the other processes of the host may use others
}

// Crowds finds the hosts with more processes than processors that these may use: all processes of the host together, or
// those that are bound to the same processors. unknown is how many hosts with several processes do not tell.
func Crowds(d *trace.Definitions, used []usage) (list []crowd, unknown int) {
	limits := map[uint32]uint64{} // processors of hosts
	for i := range d.SystemTreeNodeProperties {
		if q := &d.SystemTreeNodeProperties[i]; q.Value.Type == trace.TypeUint64 && d.Text(q.Name) == trace.PropertyProcessors {
			limits[q.Node] = q.Value.Bits
		}
	}
	names := make(map[uint32]string, len(d.SystemTreeNodes))
	for i := range d.SystemTreeNodes {
		names[d.SystemTreeNodes[i].Ref] = d.Text(d.SystemTreeNodes[i].Name)
	}
	nodes, of := results.Hosts(d)
	ranks := make([][]uint32, len(nodes))
	for rank, h := range of {
		ranks[h] = append(ranks[h], uint32(rank))
	}
	for h, node := range nodes {
		name, ok := names[node]
		if !ok { // the trace has no host for these
			continue
		}
		bound := map[string][]uint32{}
		var order []string
		var all processorSet
		told := true
		for _, rank := range ranks[h] {
			text := used[rank].processors
			if bound[text] == nil {
				set := processorsOf(text)
				told = told && set != nil
				all = append(all, set...)
				order = append(order, text)
			}
			bound[text] = append(bound[text], rank)
		}
		all = all.joined()
		switch {
		case !told && limits[node] == 0:
			if len(ranks[h]) > 1 {
				unknown++
			}
		case !told:
			if uint64(len(ranks[h])) > limits[node] {
				list = append(list, crowd{Host: numbers.Clean(name, 40), Processors: limits[node], Ranks: ranks[h]})
			}
		case uint64(len(ranks[h])) > all.count():
			list = append(list, crowd{numbers.Clean(name, 40), all.count(), all.text(), ranks[h], false})
		default:
			for _, text := range order {
				if set := processorsOf(text); uint64(len(bound[text])) > set.count() {
					list = append(list, crowd{numbers.Clean(name, 40), set.count(), set.text(), bound[text], true})
				}
			}
		}
	}
	return list, unknown
}

// text is the list as Linux writes it.
func (s processorSet) text() string {
	var parts []string
	for _, x := range s {
		if x[0] == x[1] {
			parts = append(parts, strconv.FormatUint(x[0], 10))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", x[0], x[1]))
		}
	}
	return numbers.Clean(strings.Join(parts, ","), 40)
}

// sharing is what the processes of a crowd lose.
type sharing struct {
	crowd
	worst     uint64 // ticks, of a process
	worstRank uint32
	computes  uint64 // that process
	slept     bool   // what it slept is part of it
	total     uint64 // over the processes that tell
	told      int    // how many these are
}

// readCrowds finds who shares processors.
func (f *finder) readCrowds() {
	if len(results.Predicted(f.r)) > 0 { // the processors of the recorded run are not those of the predicted one
		return
	}
	f.usages = Usages(f.r.Defs)
	list, _ := Crowds(f.r.Defs, f.usages)
	for _, x := range list {
		f.sharing = append(f.sharing, &sharing{crowd: x})
		for _, rank := range x.Ranks {
			if f.crowdOf == nil {
				f.crowdOf = map[uint32]*sharing{}
			}
			f.crowdOf[rank] = f.sharing[len(f.sharing)-1]
		}
	}
}

// shares adds what a process computed without a processor. The kernel tells when it was ready to run and had none; where it
// does not, that is no more than its time without processor time, and what it slept is part of that.
func (f *finder) shares(x *results.ProcessItems) {
	s := f.crowdOf[x.Rank]
	if s == nil {
		return
	}
	u, lost, slept := &f.usages[x.Rank], uint64(0), false
	switch {
	case u.delay != math.MaxUint64:
		lost = f.ticksOf(u.delay)
	case u.cpu != math.MaxUint64:
		measured := x.At(0, xtf.ItemTime) - min(x.At(0, xtf.ItemTime), x.At(0, xtf.ItemSetup))
		lost, slept = measured-min(measured, f.ticksOf(u.cpu)), true
	default:
		return
	}
	lost = min(lost, x.At(0, xtf.ItemCPU))
	s.told++
	s.total += lost
	if lost > s.worst {
		s.worst, s.worstRank, s.computes, s.slept = lost, x.Rank, x.At(0, xtf.ItemCPU), slept
	}
}

// ticksOf are the ticks of a time in ns.
func (f *finder) ticksOf(ns uint64) uint64 {
	if f.s.Resolution == 0 {
		return 0
	}
	return numbers.MulDiv(ns, f.s.Resolution, 1e9)
}

// oversubscription says where more processes than processors compute, and what that costs between MPI calls. Where nothing
// tells that, or where it is too little for a finding, it gains nothing that is known and comes after the others: in MPI calls
// processes wait for such that have no processor, and no record tells how long.
func (f *finder) oversubscription(known bool) {
	var s *sharing
	for _, x := range f.sharing {
		if s == nil || x.worst > s.worst {
			s = x
		}
	}
	if s == nil || known != (s.told > 0 && f.matters(min(s.worst, f.runtime))) {
		return
	}
	x := Finding{
		Kind: KindOversubscription, Ticks: min(s.worst, f.runtime), Query: f.query("intervals --ordered cpu"), facts: FindingFacts{bound: s.Bound},
		Basis: "no gain that is known: the trace does not say for how long processes had a processor",
	}
	if !known {
		x.Ticks = 0
	}
	if s.told > 0 {
		x.Basis = "no gain that is known: the trace says for how long processes had no processor between MPI calls, and not in them"
	}
	x.Where.Processes = []uint32{s.worstRank}
	x.Evidence = fmt.Sprintf("%s on host %s may use %s", numbers.Plural(len(s.Ranks), "process"), s.Host, numbers.Plural(int(s.Processors), "processor"))
	if s.List != "" {
		x.Evidence += " (" + s.List + ")"
	}
	if n := len(f.sharing) - 1; n > 0 {
		x.Evidence += fmt.Sprintf(", and so it is in %s more", numbers.Plural(n, "place"))
	}
	if !known {
		x.Where.Processes = s.Ranks[:1]
		if s.told > 0 {
			x.Evidence += fmt.Sprintf("; between MPI calls rank %d had none for %s %s, in MPI calls that is not known", s.worstRank, f.u.Ticks(s.worst), f.u.Name())
		}
		x.Text = "more processes than processors: " + x.Evidence
		f.list = append(f.list, x)
		return
	}
	u := &f.usages[s.worstRank]
	without := "ready to run and had no processor"
	x.Basis = "largest of a process: its time between MPI calls in which it was ready to run and had no processor, and not more than it computes"
	if s.slept {
		without = "without a processor or asleep"
		x.Basis = "largest of a process: its time less its processor time, and not more than it computes; what it slept is part of it"
	}
	x.Evidence += fmt.Sprintf("; rank %d computes %s %s, and was %s for %s of that; these processes together %s", s.worstRank, f.u.Ticks(s.computes), f.u.Name(), without, f.u.Ticks(s.worst), f.u.Ticks(s.total))
	if u.cpu != math.MaxUint64 {
		x.Evidence += fmt.Sprintf("; it had %s of processor time", f.u.Ticks(f.ticksOf(u.cpu)))
	}
	if u.switches != math.MaxUint64 {
		x.Evidence += fmt.Sprintf(", involuntary context switches: %s", numbers.Count(u.switches))
	}
	f.add(x, "more processes than processors", ": "+x.Evidence)
}
