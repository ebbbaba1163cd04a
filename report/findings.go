package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// threshold is the efficiency below which POP calls for a look.
const threshold = 0.8

// leastFinding is the part of the runtime, in percent, below which a loss is no
// finding.
const leastFinding = 1

// Kinds of findings.
const (
	kindLateSender       = "late_sender"
	kindWrongOrder       = "wrong_order"
	kindBarrier          = "barrier_wait"
	kindNxN              = "nxn_wait"
	kindImbalance        = "imbalance"
	kindSerial           = "serial"
	kindIO               = "io"
	kindSmallMessages    = "small_messages"
	kindLongMessages     = "long_messages"
	kindTransfer         = "transfer"
	kindThreadImbalance  = "thread_imbalance"
	kindOverhead         = "overhead"
	kindDeviceWait       = "device_wait"
	kindDeviceCall       = "device_call"
	kindLockWait         = "lock_wait"
	kindIdle             = "idle"
	kindSetup            = "setup"
	kindHang             = "hang"
	kindOversubscription = "oversubscription"
	kindClock            = "clock"
)

// RunFinding is a loss, or a doubt about the trace, with its evidence. Ticks are what
// the run could be shorter by at most, never a sum over processes; docs/metrics.md
// has the formula of each kind.
type RunFinding struct {
	Kind     string        `json:"kind"`
	Seconds  Ratio         `json:"seconds"` // null where the trace does not tell its clock's resolution
	Ticks    uint64        `json:"ticks"`
	Basis    string        `json:"basis"` // how Ticks was computed
	Where    FindingWhere  `json:"where"`
	Cause    *FindingCause `json:"cause,omitempty"` // of a wait: who made others wait
	Evidence string        `json:"evidence"`
	Query    string        `json:"query"`  // a command that shows it
	Advice   string        `json:"advice"` // "" where no row of the table matches
	Text     string        `json:"text"`   // all of it but the advice, in a sentence

	facts findingFacts
}

// FindingWhere is where a loss is: of a wait who waits, of all others who has most.
type FindingWhere struct {
	Interval  string   `json:"interval"`         // "" for the whole program
	Path      []string `json:"path"`             // names of regions, outermost first; of the place with the largest part
	Region    string   `json:"region"`           // the innermost one
	Processes []uint32 `json:"processes"`        // ranks, ascending
	Thread    *uint32  `json:"thread,omitempty"` // of the process, in findings about single threads
}

// FindingCause is what makes others wait: an activity on a call path, and the process
// with the largest part of it.
type FindingCause struct {
	Process  uint32   `json:"process"`
	Activity string   `json:"activity"`
	Path     []string `json:"path"`
	Region   string   `json:"region"`
	Share    Ratio    `json:"share"`         // of the waits of this kind, at least
	OfRow    Ratio    `json:"process_share"` // of that, by the process
}

// finder gathers the findings of a run.
type finder struct {
	r       *Run
	s       *Summary
	hot     *hot
	u       unit
	runtime uint64
	each    eachSums // what is largest of a process
	causes  *causes  // nil without rows
	teams   *teamWaits
	nodes   []node
	codes   []CodeTotal
	usages  []usage    // of processors, by process
	sharing []*sharing // where processes share them
	crowdOf map[uint32]*sharing
	lost    []Lost // processes that no finding counts
	list    []RunFinding
}

// findings lists what could be gained, by falling time: at least 1 % of the run each.
// A hang is before them, doubts about clocks and set-up after them.
func (r *Run) findings(s *Summary, h *hot) ([]RunFinding, []Lost, error) {
	f := &finder{r: r, s: s, hot: h, u: unit{s.Resolution}, runtime: s.Ticks.Runtime}
	if err := f.read(); err != nil {
		return nil, nil, err
	}
	hang, err := f.hang()
	if err != nil {
		return nil, nil, err
	}
	f.waits()
	if len(hang) == 0 { // else processes end when they hang: their times do not compare
		f.imbalance()
		f.idle()
	}
	if err := f.serial(); err != nil {
		return nil, nil, err
	}
	f.io()
	f.transfer()
	if err := f.threads(); err != nil {
		return nil, nil, err
	}
	if err := f.locks(); err != nil {
		return nil, nil, err
	}
	f.items()
	f.oversubscription(true)
	slices.SortStableFunc(f.list, func(a, b RunFinding) int { return cmp.Compare(b.Ticks, a.Ticks) })
	f.list = slices.DeleteFunc(f.list, func(x RunFinding) bool { return !f.matters(x.Ticks) })
	f.setup()
	f.oversubscription(false)
	f.clock()
	f.list = append(hang, f.list...)
	for i := range f.list {
		x := &f.list[i]
		x.Seconds = ratio64(x.Ticks, f.s.Resolution)
		x.Advice = adviceFor(x)
		if x.Where.Path == nil {
			x.Where.Path = []string{}
		}
		if x.Where.Processes == nil {
			x.Where.Processes = []uint32{}
		}
	}
	return f.list, f.lost, nil
}

// matters reports whether a loss is 1 % of the run or more.
func (f *finder) matters(ticks uint64) bool {
	return ticks > 0 && muldiv(ticks, 100/leastFinding, 1) >= f.runtime
}

// command is a command about the run.
func (f *finder) command(verb, rest string) string {
	return fmt.Sprintf("coppice %s %s %s", verb, f.r.Path, rest)
}

// upTo says what a finding could gain.
func (f *finder) upTo(ticks uint64) string {
	return fmt.Sprintf("up to %s %s of the run (%s)", f.u.ticks(ticks), f.u.name(), ratio64(ticks, f.runtime).percent())
}

// eachSums are sums of single processes.
type eachSums struct {
	slack      uint64          // least of a process: what it waits, makes others wait, idles, or spends in set-up
	slackRank  uint32          // who has it
	withIO     uint64          // least of a process: the same and its file input and output
	largest    [numSums]uint64 // of a process, by sum
	rank       [numSums]uint32 // who has it
	total      [numSums]Sum    // over all processes
	scheduling bool            // most of the largest of sumThreads is what even the busiest thread idles
}

// Sums of a process that are no item.
const (
	sumP2P     = iota // in point-to-point calls, less waits there
	sumColl           // in collective calls, less waits there and spans of completion
	sumRMA            // in one-sided calls
	sumMgmt           // in calls of management but set-up and end
	sumIO             // file input and output, of MPI too
	sumSerial         // of threads: idle outside of parallel regions, of one thread
	sumThreads        // of threads: idle in parallel regions, of the one that waits longest
	numSums
)

// read takes the components of each process, and its delay costs.
func (f *finder) read() error {
	rows, err := f.r.HasRows()
	if err != nil {
		return err
	}
	if f.nodes, err = f.r.nodes(); err != nil {
		return err
	}
	if f.codes, err = f.r.Codes(); err != nil {
		return err
	}
	caused := make([]uint64, len(f.r.Defs.Processes()))
	if rows {
		f.causes = &causes{r: f.r}
		if err := f.causes.read(); err != nil {
			return err
		}
		if len(f.causes.delays) > 0 {
			if err := f.r.delaysOfProcesses(caused); err != nil {
				return err
			}
		}
	}
	f.readCrowds()
	var lost []Lost
	if f.teams, lost, err = f.r.teamWaits(); err != nil {
		return err
	}
	e := &f.each
	e.slack, e.withIO = xtf.Never, xtf.Never
	f.lost, err = f.r.eachProcess(Ranks{}, "findings", func(x *processItems) { f.addProcess(x, caused[x.rank]) })
	f.lose(lost...)
	if e.slack == xtf.Never {
		e.slack, e.withIO = 0, 0
	}
	return err
}

// addProcess takes what a process has; caused is what it makes others wait.
func (f *finder) addProcess(x *processItems, caused uint64) {
	f.shares(x)
	var p2p, coll uint64
	for _, i := range WaitItems {
		if v := x.at(0, i); slices.Contains(p2pWaits, i) {
			p2p += v
		} else {
			coll += v
		}
	}
	for _, i := range completionItems {
		coll += x.at(0, i)
	}
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	slack := p2p + coll + caused + x.at(0, xtf.ItemManagement)
	slack += less(f.runtime, x.at(0, xtf.ItemTime))
	e := &f.each
	if slack < e.slack {
		e.slack, e.slackRank = slack, x.rank
	}
	io := x.at(0, xtf.ItemIO) + x.at(0, xtf.ItemFileIO)
	e.withIO = min(e.withIO, slack+io)
	count := uint64(max(threads.TeamOf(f.r.Defs, int(x.rank)).Count, 1))
	waits := f.teams.of(x.rank)
	scheduling := x.at(0, xtf.ItemThreadScheduling)
	idle := x.at(0, xtf.ItemThreadImbalance) + scheduling
	for i, v := range [numSums]uint64{
		sumP2P: less(x.at(0, xtf.ItemP2P), p2p), sumColl: less(x.at(0, xtf.ItemColl), coll), sumRMA: x.at(0, xtf.ItemRMA),
		sumMgmt: less(x.at(0, xtf.ItemManagement), x.at(0, xtf.ItemSetup)),
		sumIO:   io, sumSerial: x.at(0, xtf.ItemThreadSerial) / count,
		sumThreads: max(waits.longest.barrier, less(idle, waits.locks)/count),
	} {
		e.total[i] = add(e.total[i], integer(v))
		if v > e.largest[i] {
			e.largest[i], e.rank[i] = v, x.rank
			if i == sumThreads {
				e.scheduling = scheduling > idle-scheduling
			}
		}
	}
}

// delaysOfProcesses adds up the delay costs, short and long, by the process that
// causes them. A location that cannot be read has none.
func (r *Run) delaysOfProcesses(sums []uint64) error {
	for p := range trace.P(r.Defs.NumLocations()) {
		rank, _ := r.Defs.Process(p)
		err := load(r, xtf.Proc(p), func(x *xtf.Delay) {
			sums[rank] += x.Short + x.Long
		})
		if err != nil && !Partial(err) {
			return fmt.Errorf("%s: location %d: delay costs: %w", r.Name, r.Defs.Location(p).Ref, err)
		}
	}
	return nil
}

// io is what file input and output takes.
func (f *finder) io() {
	ticks, rank := f.each.largest[sumIO], f.each.rank[sumIO]
	basis := "largest time of a process in file input and output"
	if f.each.withIO < ticks {
		basis = "what any process could end earlier by: its file input and output, waits, the waits that it causes, set-up and idle time; the largest time of a process in file input and output is more"
	}
	x := RunFinding{
		Kind: kindIO, Ticks: min(ticks, f.each.withIO, f.runtime), Basis: basis,
		Where: FindingWhere{Processes: []uint32{rank}}, Query: f.command("report", "profile"),
	}
	f.placeRegion(&x, xtf.ClassIO|xtf.ClassMPIIO)
	x.facts.mean = ratio(f.each.total[sumIO], integer(f.s.Processors))
	x.facts.uneven = x.facts.mean.Defined && float64(ticks) >= 1.5*x.facts.mean.Value
	x.Evidence = fmt.Sprintf("all processes together %s %s, the mean is %s, balance %s", f.u.big(f.each.total[sumIO]), f.u.name(), f.u.real(x.facts.mean),
		ratio(f.each.total[sumIO], times(integer(f.s.Processors), ticks)).text(3))
	x.Text = fmt.Sprintf("file input and output: %s: rank %d has most, %s%s; %s", f.upTo(x.Ticks), rank, f.u.ticks(ticks), x.mostIn(), x.Evidence)
	f.absorb(&x, "io")
	f.list = append(f.list, x)
}

// placeRegion sets the region of a class with most time.
func (f *finder) placeRegion(x *RunFinding, class uint32) {
	if r := f.hot.largest(class); r != nil {
		x.Where.Region = clean(r.Name, 60)
		x.Where.Path = []string{x.Where.Region}
		x.facts.region = x.Where.Region
	}
}

// mostIn names the region with the largest part, where there is one.
func (x *RunFinding) mostIn() string {
	if x.Where.Region == "" {
		return ""
	}
	return ", most of it in " + x.Where.Region
}

// absorb joins waits that an activity caused with the finding about that activity:
// one loss is one finding.
func (f *finder) absorb(x *RunFinding, activity string) {
	if !f.matters(x.Ticks) {
		return
	}
	f.list = slices.DeleteFunc(f.list, func(w RunFinding) bool {
		if w.Cause == nil || w.Cause.Activity != activity || !(w.Cause.Share.Value >= 0.5) || w.Ticks > x.Ticks {
			return false
		}
		note := fmt.Sprintf("; others wait for it: %s %s %s on one process", patternLabel(w.facts.pattern), f.u.ticks(w.Ticks), f.u.name())
		x.Evidence += note
		x.Text += note
		return true
	})
}

// Sizes of messages, in bytes: below the first latency is what they cost, from the
// second on the network's rate.
const (
	smallMessage = 1 << 10
	longMessage  = 1 << 18
)

// transfer is MPI time in which nobody is waited for.
func (f *finder) transfer() {
	loss := f.runtime
	basis := ""
	if i := f.s.POP.Ideal; i >= 0 && uint64(i) <= f.runtime {
		loss = f.runtime - uint64(i)
		basis = ", at most what the run is longer than on an ideal network"
	}
	m := &f.s.Messages
	unrecorded := slices.ContainsFunc(f.codes, func(c CodeTotal) bool { return c.Code == trace.DiagNoCollRecord })
	for _, k := range []struct {
		sum   int
		class uint32
		name  string
	}{
		{sumP2P, xtf.ClassP2P, ItemWord(xtf.ItemP2P)}, {sumColl, xtf.ClassColl, ItemWord(xtf.ItemColl)},
		{sumRMA, xtf.ClassRMA, ItemWord(xtf.ItemRMA)}, {sumMgmt, xtf.ClassMgmt, ItemWord(xtf.ItemManagement)},
	} {
		most := f.hot.largest(k.class)
		loss, basis := loss, basis
		tests := most != nil && f.r.polls(most.Region)
		if tests || k.sum == sumMgmt { // the replay for an ideal network leaves them as they are
			loss, basis = f.runtime, ""
		}
		without := "without waits"
		switch {
		case f.causes == nil || k.sum == sumRMA || k.sum == sumMgmt || k.sum == sumP2P && m.Sent+m.Received == 0:
			without = "with waits, which are not known"
		case tests:
			without = "with waits in tests, which are not known"
		case unrecorded:
			without = "without waits for what has records"
		}
		x := RunFinding{
			Kind: kindTransfer, Ticks: min(f.each.largest[k.sum], loss), Basis: "largest time of a process in " + k.name + " calls " + without + basis,
			Where: FindingWhere{Processes: []uint32{f.each.rank[k.sum]}}, Query: f.command("report", "comm"),
		}
		f.placeRegion(&x, k.class)
		x.Evidence = fmt.Sprintf("all processes together %s %s in %s calls", f.u.big(f.each.total[k.sum]), f.u.name(), k.name)
		if k.sum == sumP2P && m.Sent > 0 {
			mean := meanOf(m.BytesOut, m.Sent)
			x.Evidence += fmt.Sprintf("; %s messages of %s each on average", count(m.Sent), Bytes(mean))
			switch {
			case mean <= smallMessage && m.Sent >= 1000:
				x.Kind = kindSmallMessages
			case mean >= longMessage:
				x.Kind = kindLongMessages
			}
		}
		if most != nil && most.class&xtf.ClassNToOne != 0 {
			x.Evidence += "; of the waiting of a root only the time until the first other process comes is known"
		}
		x.Text = fmt.Sprintf("%s calls %s: %s: rank %d has most%s; %s", k.name, without, f.upTo(x.Ticks), f.each.rank[k.sum], x.mostIn(), x.Evidence)
		f.list = append(f.list, x)
	}
}

// threads are losses inside of processes with several threads.
func (f *finder) threads() error {
	for _, k := range []struct {
		sum                   int
		kind, basis, sentence string
	}{
		{sumSerial, kindSerial, "largest of a process: idle time of its threads outside of parallel regions, over its threads", "other threads idle outside of parallel regions"},
		{sumThreads, kindThreadImbalance, "largest of a process: idle time of its threads inside of parallel regions but for locks and critical sections, over its threads", "threads idle inside of parallel regions"},
	} {
		rank, ticks := f.each.rank[k.sum], f.each.largest[k.sum]
		x := RunFinding{
			Kind: k.kind, Ticks: min(ticks, f.runtime), Basis: k.basis, Where: FindingWhere{Processes: []uint32{rank}},
			Query: f.command("report", "pop"), facts: findingFacts{threads: true},
		}
		if k.sum == sumThreads && f.matters(x.Ticks) {
			x.facts.scheduling = f.each.scheduling
			if err := f.imbalancedThreads(&x); err != nil {
				return err
			}
		}
		if t := f.s.POP.Threads; t != nil {
			if x.Evidence != "" {
				x.Evidence += "; "
			}
			x.Evidence += fmt.Sprintf("efficiency of threads %s: serial %s x balance %s x scheduling %s", t.OpenMP.text(3), t.Serial.text(3), t.Balance.text(3), t.Scheduling.text(3))
		}
		x.Text = fmt.Sprintf("%s: %s, most on rank %d; %s", k.sentence, f.upTo(x.Ticks), rank, x.Evidence)
		f.list = append(f.list, x)
	}
	return nil
}

// lostItems are components that are a loss by themselves.
var lostItems = []struct {
	kind string
	item xtf.Item
}{
	{kindDeviceWait, xtf.ItemDeviceWait},
	{kindDeviceCall, xtf.ItemDeviceCall},
	{kindOverhead, xtf.ItemOverhead},
	{kindOverhead, xtf.ItemMarker},
}

// items is what a process loses in components that are a loss by themselves.
func (f *finder) items() {
	for _, k := range lostItems {
		m := f.s.Item(k.item)
		x := RunFinding{
			Kind: k.kind, Ticks: min(m.Max, f.runtime), Basis: "largest time of a process: " + ItemWord(k.item),
			Where: FindingWhere{Processes: []uint32{m.MaxP}}, Query: f.command("report", "intervals --ordered "+k.item.String()), facts: findingFacts{item: k.item},
		}
		x.Evidence = fmt.Sprintf("all processes together %s %s", f.u.big(m.Sum), f.u.name())
		x.Text = fmt.Sprintf("%s: %s, most on rank %d; %s", ItemWord(k.item), f.upTo(x.Ticks), m.MaxP, x.Evidence)
		f.absorb(&x, k.item.String())
		f.list = append(f.list, x)
	}
}

// idle is time in which processes have not begun or have ended. Where the trace has
// MPI_Init, that is set-up: processes are started one after another.
func (f *finder) idle() {
	t := f.s.Item(xtf.ItemTime)
	if f.hot.largest(xtf.ClassInit) != nil || f.s.Processors == 0 {
		return
	}
	if f.s.Ticks.Idle < 0 {
		return
	}
	x := RunFinding{
		Kind: kindIdle, Ticks: min(meanOf(uint64(f.s.Ticks.Idle), f.s.Processors), f.runtime), Basis: "time of the longest process, less the mean",
		Where: FindingWhere{Processes: []uint32{t.MinP}}, Query: f.command("report", "intervals --ordered time"),
		Evidence: fmt.Sprintf("rank %d lives for %s %s, rank %d for %s", t.MinP, f.u.ticks(t.Min), f.u.name(), t.MaxP, f.u.ticks(t.Max)),
	}
	x.Text = fmt.Sprintf("processes live for different times: %s: %s", f.upTo(x.Ticks), x.Evidence)
	f.list = append(f.list, x)
}

// setup is what MPI_Init and the like take: a line of its own after the others, for
// it says little about the program.
func (f *finder) setup() {
	m := f.s.Item(xtf.ItemSetup)
	if !f.matters(m.Max) {
		return
	}
	x := RunFinding{
		Kind: kindSetup, Ticks: min(m.Max, f.runtime), Basis: "largest time of a process in MPI_Init and MPI_Finalize",
		Where: FindingWhere{Processes: []uint32{m.MaxP}}, Query: f.command("report", "profile"),
	}
	f.placeRegion(&x, xtf.ClassInit)
	x.Evidence = fmt.Sprintf("all processes together %s %s", f.u.big(m.Sum), f.u.name())
	if t := f.s.Item(xtf.ItemTime); f.s.Ticks.Idle > 0 {
		x.Evidence += fmt.Sprintf("; processes live for %s to %s %s", f.u.ticks(t.Min), f.u.ticks(t.Max), f.u.name())
	}
	x.Text = fmt.Sprintf("%s: MPI_Init and the like take %s %s on rank %d (%s of the run)%s", ItemWord(xtf.ItemSetup),
		f.u.ticks(m.Max), f.u.name(), m.MaxP, ratio64(m.Max, f.runtime).percent(), x.mostIn())
	f.list = append(f.list, x)
}

// clockCodes are the diagnostics that say that times of processes do not compare.
var clockCodes = []trace.Code{trace.DiagClockViolation, trace.DiagClockCollective}

// clock says that times of different processes do not compare.
func (f *finder) clock() {
	for _, c := range f.codes {
		if !slices.Contains(clockCodes, c.Code) || c.Count == 0 {
			continue
		}
		x := RunFinding{Kind: kindClock, Basis: "no gain: a doubt about the times", Query: f.command("report", "diagnostics")}
		x.Evidence = fmt.Sprintf("%s: %s in %s, worst %s", c.Code.Text(), count(c.Count), plural(int(c.Locations), "location"), f.u.magnitude(c.Code, c.Worst))
		x.Text = "clocks disagree, and times between processes are wrong by at least that much: " + x.Evidence
		f.list = append(f.list, x)
	}
}

// largest returns the region of a class with the most exclusive time. Init and Finalize are a class of their own.
func (h *hot) largest(class uint32) *RegionTime {
	var best *RegionTime
	for i := range h.profile.Regions {
		x := &h.profile.Regions[i]
		if x.class&class != 0 && (x.class&xtf.ClassInit == 0 || class&xtf.ClassInit != 0) && (best == nil || x.Exclusive > best.Exclusive) {
			best = x
		}
	}
	return best
}

// findingLines are the findings as sentences, with their advice.
func (d *Document) findingLines() []string {
	var list []string
	losses := false
	for i := range d.Findings {
		x := &d.Findings[i]
		text := x.Text
		if x.Advice != "" {
			text += ". " + strings.ToUpper(x.Advice[:1]) + x.Advice[1:]
		}
		losses = losses || x.Kind != kindSetup && x.Kind != kindClock && (x.Kind != kindOversubscription || x.Ticks > 0)
		list = append(list, text)
	}
	if !losses {
		text := fmt.Sprintf("nothing above %d %% of the run", leastFinding)
		if !d.Summary.Rows {
			text += " is known; waits are not: the file has the call graph alone (--events none)"
		}
		list = append([]string{text}, list...)
	}
	return list
}
