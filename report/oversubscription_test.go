package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// told is what the recorder of a process tells; 0 ns are not told.
type told struct {
	processors           string
	cpu, delay, switches uint64
}

// onHosts are definitions of processes with so many threads that lie on hosts, by number, with some processors each; 0: the trace does not tell.
func onHosts(t *testing.T, threads int, hosts []uint32, processors []uint64, list []told) *trace.Definitions {
	t.Helper()
	src, err := synthetic.New(synthetic.Options{Processes: len(list), Threads: threads, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	next := uint32(1 << 20)
	text := func(s string) uint32 {
		next++
		d.Strings = append(d.Strings, trace.String{Ref: next, Value: s})
		return next
	}
	d.SystemTreeNodes = []trace.SystemTreeNode{{Name: text("machine"), Class: text("machine"), Parent: trace.Undefined}}
	d.SystemTreeNodeDomains = nil
	for i, n := range processors {
		node := uint32(i + 1)
		d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: node, Name: text(fmt.Sprintf("n%d", i)), Class: text("node")})
		if n > 0 {
			d.SystemTreeNodeProperties = append(d.SystemTreeNodeProperties, trace.SystemTreeNodeProperty{
				Node: node, Name: text(trace.PropertyProcessors), Value: trace.Value{Type: trace.TypeUint64, Bits: n},
			})
		}
	}
	add := func(rank int, name string, v trace.Value) {
		d.LocationProperties = append(d.LocationProperties, trace.LocationProperty{Location: d.Location(d.Processes()[rank].First).Ref, Name: text(name), Value: v})
	}
	groups := map[uint32]uint32{}
	for rank, x := range list {
		groups[d.Processes()[rank].Group] = hosts[rank] + 1
		if x.processors != "" {
			add(rank, trace.PropertyProcessors, trace.Value{Type: trace.TypeString, Bits: uint64(text(x.processors))})
		}
		for name, n := range map[string]uint64{trace.PropertyCPUTime: x.cpu, trace.PropertyDelay: x.delay, trace.PropertySwitches: x.switches} {
			if n > 0 {
				add(rank, name, trace.Value{Type: trace.TypeUint64, Bits: n})
			}
		}
	}
	for i := range d.LocationGroups {
		d.LocationGroups[i].Parent = groups[d.LocationGroups[i].Ref]
	}
	d.Seal()
	return d
}

// TestCrowds counts processes, their threads, and the processors that they may use.
func TestCrowds(t *testing.T) {
	t.Parallel()
	may := func(lists ...string) (x []told) {
		for _, l := range lists {
			x = append(x, told{processors: l})
		}
		return x
	}
	for _, c := range []struct {
		name       string
		hosts      []uint32
		processors []uint64
		told       []told
		want       string
		unknown    int
	}{
		{"as many", []uint32{0, 0}, []uint64{2}, may("0-1", "0-1"), "", 0},
		{"union of all", []uint32{0, 0, 0}, []uint64{64}, may("0", "1", "2"), "", 0},
		{"more than all", []uint32{0, 0, 0}, []uint64{64}, may("0-1", "1", "0"), "n0 2 0-1 [0 1 2] false", 0},
		{"the host has more, these may not use them", []uint32{0, 0}, []uint64{64}, may("7", "7"), "n0 1 7 [0 1] false", 0},
		{"two bound to one", []uint32{0, 0, 0}, []uint64{4}, may("0", "2-3", "0"), "n0 1 0 [0 2] true", 0},
		{"each host for itself", []uint32{0, 1, 0, 1}, []uint64{2, 1}, may("0-1", "0", "0-1", "0"), "n1 1 0 [1 3] false", 0},
		{"lists overlap", []uint32{0, 0, 0}, []uint64{8}, may("0-1,2", "1-3", "3,0"), "", 0},
		{"the host's number alone", []uint32{0, 0, 0}, []uint64{2}, may("", "", ""), "n0 2  [0 1 2] false", 0},
		{"the host's number is enough", []uint32{0, 0, 0}, []uint64{3}, may("", "0", ""), "", 0},
		{"nothing is known", []uint32{0, 0, 1}, []uint64{0, 0}, may("", "", ""), "", 1},
		{"no lists", []uint32{0, 0}, []uint64{0}, may("1-0", "0-99999999999999999999"), "", 1},
		{"a list of more than there can be", []uint32{0, 0}, []uint64{0}, may("0-18446744073709551615", "-"), "", 1},
		{"2 threads: as many", []uint32{0, 0}, []uint64{4}, may("0-3", "0-3"), "", 0},
		{"2 threads: more than all", []uint32{0, 0}, []uint64{4}, may("0-2", "0-2"), "n0 3 0-2 [0 1] false 4", 0},
		{"2 threads: bound to one", []uint32{0, 0}, []uint64{8}, may("0", "1-4"), "n0 1 0 [0] true 2", 0},
		{"2 threads: the host's number alone", []uint32{0, 1}, []uint64{2, 1}, may("", ""), "n1 1  [1] false 2", 0},
		{"2 threads: more processes than processors", []uint32{0, 0}, []uint64{8}, may("0", "0"), "n0 1 0 [0 1] false", 0},
	} {
		threads := 1
		_, _ = fmt.Sscanf(c.name, "%d threads", &threads)
		d := onHosts(t, threads, c.hosts, c.processors, c.told)
		list, unknown := findings.Crowds(d, findings.Usages(d))
		var got []string
		for _, x := range list {
			text := fmt.Sprint(x.Host, " ", x.Processors, " ", x.List, " ", x.Ranks, " ", x.Bound)
			if x.Threads > 0 {
				text += fmt.Sprint(" ", x.Threads)
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != c.want || unknown != c.unknown {
			t.Errorf("%s: %q, %d unknown, want %q, %d", c.name, got, unknown, c.want, c.unknown)
		}
	}
}

// TestOversubscription: three processes of 1000 ticks, 10 of set-up, on a host where two processors may be used; a tick is 1 us.
// Of rank 0 the kernel tells a delay of 300 us in 700 of computing: 300. Rank 1 computes 200 and had no processor for 450, in
// MPI too: 200 at most. Of rank 2 only the processor time is known, 600 us: of 1000 - 10 measured it was 390 without, and it
// computes 900: 390. The largest is 390, together 890.
func TestOversubscription(t *testing.T) {
	t.Parallel()
	processes := []items{
		{xtf.ItemTime: 1000, xtf.ItemMPI: 300, xtf.ItemManagement: 300, xtf.ItemSetup: 10, xtf.ItemCPU: 700, xtf.ItemMeasured: 990, xtf.ItemEvents: 2, xtf.ItemLast: 1000},
		{xtf.ItemTime: 1000, xtf.ItemMPI: 800, xtf.ItemManagement: 800, xtf.ItemSetup: 10, xtf.ItemCPU: 200, xtf.ItemMeasured: 990, xtf.ItemEvents: 2, xtf.ItemLast: 1000},
		{xtf.ItemTime: 1000, xtf.ItemMPI: 100, xtf.ItemManagement: 100, xtf.ItemSetup: 10, xtf.ItemCPU: 900, xtf.ItemMeasured: 990, xtf.ItemEvents: 2, xtf.ItemLast: 1000},
	}
	list := []told{{"0-1", 1, 300_000, 7}, {"0-1", 1, 450_000, 7}, {"0-1", 600_000, 0, 7}}
	hosts, threads := []uint32{0, 0, 0}, 1
	find := func(hosts []uint32, list []told, note string) *findings.Finding {
		t.Helper()
		d := onHosts(t, threads, hosts, make([]uint64, len(hosts)), list)
		d.Clocks = []trace.ClockProperties{{TimerResolution: 1_000_000, TraceLength: 1000}}
		if note != "" {
			d.Strings = append(d.Strings, trace.String{Ref: 1 << 21, Value: note})
			d.SystemTreeNodeProperties = append(d.SystemTreeNodeProperties, trace.SystemTreeNodeProperty{Name: 1 << 21, Value: trace.Value{Type: trace.TypeString}})
		}
		d.Seal()
		doc, err := New(buildOn(t, d, processes), Options{Sections: []Section{SectionSummary}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(doc.Findings, func(x findings.Finding) bool {
			return x.Kind == findings.KindOversubscription || x.Kind == "interruptions"
		})
		if i < 0 {
			return nil
		}
		return &doc.Findings[i]
	}
	x := find(hosts, list, "")
	if x == nil || x.Ticks != 390 || !slices.Equal(x.Where.Processes, []uint32{2}) || x.Seconds != numbers.NewRatio(390, 1_000_000) || x.Advice != "start fewer processes, or take more hosts" {
		t.Fatalf("%+v", x)
	}
	for _, want := range []string{"3 processes on host n0 may use 2 processors (0-1)", "asleep for 0.000390 of that", "these processes together 0.000890", "switches: 7"} {
		if !strings.Contains(x.Text, want) {
			t.Errorf("no %q in %s", want, x.Text)
		}
	}
	processes[0][xtf.ItemThreadWait] = 500 // of the 700: no more than 200 of its own work can be without a processor
	if x := find(hosts, []told{list[0], {"0-1", 1, 1, 7}, {"0-1", 1, 1, 7}}, ""); x == nil || x.Ticks != 200 || !strings.Contains(x.Text, "rank 0 computes 0.000200 s, and was ready to run and had no processor for up to 0.000200 of that") {
		t.Errorf("next to waits for threads: %+v", x)
	}
	delete(processes[0], xtf.ItemThreadWait)
	if x := find(hosts, []told{list[0], list[1], {"0-1", 600_000, 1, 7}}, ""); x == nil || x.Ticks != 300 || x.Where.Processes[0] != 0 {
		t.Errorf("a delay that is known counts in place of processor time: %+v", x)
	}
	if x := find(hosts, []told{{"0", 400_000, 300_000, 7}, {"0", 400_000, 450_000, 7}, {"1-2", 1, 1, 7}}, ""); x == nil || x.Ticks != 300 || x.Advice != "bind each process to a processor of its own" {
		t.Errorf("bound to one processor: %+v", x)
	}
	if x := find(hosts, []told{{"0-1", 0, 0, 0}, {"0-1", 0, 0, 0}, {"0-1", 0, 0, 0}}, ""); x == nil || x.Ticks != 0 {
		t.Errorf("without times: %+v", x)
	}
	if x := find(hosts, []told{{"0-2", 990_000, 1000, 7}, {"0-2", 990_000, 1000, 7}, {"0-2", 1, 1, 7}}, ""); x != nil {
		t.Errorf("a processor for each: %+v", x)
	}
	if x := find(hosts, []told{{"0-1", 1, 300_000, 7}, {"0-1", 100_000, 450_000, 7}, {"0-1", 20_000, 1, 7}}, ""); x == nil || x.Kind != "interruptions" || x.Ticks != 300 ||
		!strings.Contains(x.Text, "no processor: up to 0.000300 s") || !strings.HasSuffix(x.Text, "; the other processes there had 0.000120, so for 0.000180 or more of that time something else had it: other programs, or threads that are not recorded") ||
		!strings.HasPrefix(x.Advice, "look at what else runs on this host") {
		t.Errorf("more than all others can have had: %+v", x)
	}
	if x := find(hosts, []told{{"0-2", 1, 300_000, 7}, {"0-2", 200_000, 450_000, 7}, {"0-2", 90_000, 1, 7}}, ""); x == nil || x.Kind != "interruptions" || x.Ticks != 300 || !strings.Contains(x.Text, ": 3 processes on host n0; rank 0 computes 0.000700 s") {
		t.Errorf("a processor for each, which others had: %+v", x)
	}
	if x := find(hosts, list, "coppice: predicted runtime"); x != nil {
		t.Errorf("a predicted run: %+v", x)
	}
	if x := find(hosts, []told{{"0-1", 995_000, math.MaxUint64, 7}, {"0-1", 1, 1, 7}, {"0-1", 1, 1, 7}}, ""); x == nil || x.Ticks != 0 || !strings.Contains(x.Text, "between MPI calls they nearly always had one, in MPI calls that is not known") {
		t.Errorf("no delay, more processor time than time, and a delay of less than a tick: %+v", x)
	}
	// Two threads of a process on one processor. The first computes 900, waits 500 of that for the other one, 300 of these while both wait: its
	// delay is no more than 400 and 300 of these.
	threads = 2
	processes = []items{
		{xtf.ItemTime: 1000, xtf.ItemMPI: 100, xtf.ItemCPU: 900, xtf.ItemThreadWait: 500, xtf.ItemThreadScheduling: 600, xtf.ItemMeasured: 990, xtf.ItemEvents: 2, xtf.ItemLast: 1000},
		{xtf.ItemTime: 1000, xtf.ItemCPU: 900, xtf.ItemEvents: 2, xtf.ItemLast: 1000},
	}
	for delay, want := range map[uint64]uint64{650_000: 650, 800_000: 700} {
		if x := find([]uint32{0}, []told{{"3", 1, delay, 7}}, ""); x == nil || x.Ticks != want || !strings.Contains(x.Text, "more threads than processors: up to 0.000"+fmt.Sprint(want)) ||
			!strings.Contains(x.Text, "2 threads of 1 process on host n0 may use 1 processor (3)") || x.Advice != "start fewer threads, or let the processes use more processors" {
			t.Errorf("threads with a delay of %d ns: %+v", delay, x)
		}
	}
	if x := find([]uint32{0}, []told{{"3", 600_000, 0, 7}}, ""); x != nil {
		t.Errorf("threads of which only the processor time is known: %+v", x)
	}
}

// TestAsleep: two processes compute 700 and 900 us, of which they have a processor for 100 and 200 and want one for 50 more: they sleep for 550 and 650.
func TestAsleep(t *testing.T) {
	t.Parallel()
	process := func(cpu, polls uint64) items {
		return items{xtf.ItemTime: 1000, xtf.ItemMPI: 1000 - cpu, xtf.ItemCPU: cpu, xtf.ItemPolling: polls, xtf.ItemMeasured: 1000, xtf.ItemEvents: 2, xtf.ItemLast: 1000}
	}
	both := []told{{"0-3", 100_000, 50_000, 7}, {"0-3", 200_000, 50_000, 7}}
	for _, c := range []struct {
		name      string
		processes []items
		list      []told
		want      string
	}{
		{"both", []items{process(700, 0), process(900, 0)}, both, "each process sleeps for 0.000550 s or more between MPI calls (55.0 % of the run)"},
		{"but between calls that ask", []items{process(700, 0), process(900, 500)}, both, "each process sleeps for 0.000150 s or more between MPI calls (15.0 % of the run)"},
		{"one computes", []items{process(700, 0), process(900, 0)}, []told{both[0], {"0-3", 890_000, 1, 7}}, ""},
		{"of one nothing is told", []items{process(700, 0), process(900, 0)}, []told{both[0], {"0-3", 200_000, 0, 7}}, ""},
	} {
		d := onHosts(t, 1, []uint32{0, 0}, []uint64{4}, c.list)
		d.Clocks = []trace.ClockProperties{{TimerResolution: 1_000_000, TraceLength: 1000}}
		d.Seal()
		doc, err := New(buildOn(t, d, c.processes), Options{Sections: []Section{SectionSummary}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range doc.Untold.Missing {
			if x.What == findings.Sleep {
				got = x.Text
			}
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestStarvedThreads: of the 900 us that rank 0 computes it waits for its threads in 500. It has no processor for 650, in these too: of the 400 that
// it works it cannot lack one for longer.
func TestStarvedThreads(t *testing.T) {
	t.Parallel()
	first := func(cpu, wait, scheduling uint64) items {
		return items{xtf.ItemTime: 1000, xtf.ItemMPI: 1000 - cpu, xtf.ItemCPU: cpu, xtf.ItemThreadWait: wait, xtf.ItemThreadScheduling: scheduling, xtf.ItemMeasured: 1000, xtf.ItemEvents: 2, xtf.ItemLast: 1000}
	}
	other := items{xtf.ItemTime: 1000, xtf.ItemCPU: 900, xtf.ItemEvents: 2, xtf.ItemLast: 1000}
	d := onHosts(t, 2, []uint32{0, 0}, []uint64{2}, []told{{"0-1", 1, 650_000, 7}, {"0-1", 1, 1, 7}})
	d.Clocks = []trace.ClockProperties{{TimerResolution: 1_000_000, TraceLength: 1000}}
	d.Seal()
	doc, err := New(buildOn(t, d, []items{first(900, 500, 600), other, first(100, 0, 0), other}), Options{Sections: []Section{SectionSummary}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doc.Findings, func(x findings.Finding) bool { return x.Kind == "imbalance" })
	if i < 0 || !strings.Contains(doc.Findings[i].Text, "rank 0 was ready to run and had no processor for 0.000400 of 0.000400 s that it computes") {
		t.Errorf("%+v", doc.Findings)
	}
}
