package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// LeastFinding is the least share of the runtime, in percent, that makes a loss a finding.
const LeastFinding = 1

// Kinds of findings.
const (
	KindLateSender       = "late_sender"
	KindWrongOrder       = "wrong_order"
	kindBarrier          = "barrier_wait"
	kindNxN              = "nxn_wait"
	kindImbalance        = "imbalance"
	kindSerial           = "serial"
	KindIO               = "io"
	KindSmallMessages    = "small_messages"
	kindLongMessages     = "long_messages"
	KindTransfer         = "transfer"
	kindThreadImbalance  = "thread_imbalance"
	kindOverhead         = "overhead"
	kindDeviceIdle       = "device_idle"
	kindDeviceImbalance  = "device_imbalance"
	kindDeviceTransfer   = "device_transfer"
	kindDeviceCollective = "device_collective"
	KindKernel           = "kernel"
	kindLockWait         = "lock_wait"
	kindThreadWait       = "thread_wait"
	kindIdle             = "idle"
	kindTrend            = "trend"
	kindInterruptions    = "interruptions"
	kindPolling          = "polling"
	KindSetup            = "setup"
	kindHang             = "hang"
	kindAbort            = "abort"
	KindOversubscription = "oversubscription"
	KindClock            = "clock"
)

// Finding is a loss, or a doubt about the trace, with its evidence. Ticks is the most by which the run could be shorter, never a
// sum over processes. docs/metrics.md has the formula of each kind.
type Finding struct {
	Kind     string        `json:"kind"`
	Seconds  numbers.Ratio `json:"seconds"` // null where the trace does not give the resolution of its clock
	Ticks    uint64        `json:"ticks"`
	Basis    string        `json:"basis"` // how Ticks was computed
	Where    FindingWhere  `json:"where"`
	Late     string        `json:"late,omitempty"`  // of waits: the call that came late, with its place in the source
	Cause    *FindingCause `json:"cause,omitempty"` // of a wait: who made others wait
	Evidence string        `json:"evidence"`
	Query    string        `json:"query"`  // a command that shows it
	Advice   string        `json:"advice"` // "" where no row of the table matches
	Text     string        `json:"text"`   // the finding in a sentence, without the advice

	facts  FindingFacts
	spared uint64 // of Ticks: what no other order of calls gains and no even dealing out of the same work
}

// FindingWhere is where a loss is. For a wait: who waits. For other losses: who has most.
type FindingWhere struct {
	Interval  string   `json:"interval"`         // "" for the whole program
	Path      []string `json:"path"`             // names of regions, outermost first, of the place with the largest part
	Region    string   `json:"region"`           // the innermost region
	Place     string   `json:"place,omitempty"`  // place of the call in the source, as "halo.c:42"
	Processes []uint32 `json:"processes"`        // ranks, ascending
	Thread    *uint32  `json:"thread,omitempty"` // of the process, in findings about single threads
}

// FindingCause is the cause of a wait: an activity on a call path, and the process with the largest part of it.
type FindingCause struct {
	Process  uint32        `json:"process"`
	Activity string        `json:"activity"`
	Path     []string      `json:"path"`
	Region   string        `json:"region"`
	Place    string        `json:"place,omitempty"` // as in FindingWhere
	Share    numbers.Ratio `json:"share"`           // of the waits of this kind, at least
	OfRow    numbers.Ratio `json:"process_share"`   // of that share, the part of the process
}

// finder gathers the findings of a run.
type finder struct {
	r           *results.Run
	s           *results.Summary
	hot         *results.Hot
	u           numbers.Units
	runtime     uint64
	each        eachSums        // largest values of single processes
	causes      *results.Causes // nil without rows
	others      map[xtf.Item]threadWaits
	lines       lines
	waitedInMPI map[trace.P]uint64 // by threads other than the first of their process
	teams       *teamWaits
	nodes       []results.Node
	codes       []results.CodeTotal
	usages      []usage    // of processors, by process
	sharing     []*sharing // crowds whose processes share processors
	crowdOf     map[uint32]*sharing
	times       []processTimes
	work        results.Spread // what processes compute, after MPI_Init where that is known
	lost        []table.Lost   // processes that findings leave out
	list        []Finding
}

// New lists what could be gained, the largest gain first: losses of 1 % of the run or more each.
// A hang is before them, and clocks that are wrong by that much; smaller doubts about clocks, and set-up, are after them.
func New(r *results.Run, s *results.Summary, h *results.Hot) ([]Finding, []table.Lost, error) {
	f := &finder{r: r, s: s, hot: h, u: numbers.Units{Resolution: s.Resolution, Rounded: true}, runtime: s.Ticks.Runtime}
	if err := f.read(); err != nil {
		return nil, nil, err
	}
	hang, err := f.hang()
	if err != nil {
		return nil, nil, err
	}
	if err := f.waits(); err != nil {
		return nil, nil, err
	}
	told := len(h.Profile.Regions) > 0 || s.Item(xtf.ItemMPI).Max > 0
	started, ended := results.Lives(r, h.Profile.Regions)
	cut := has(f, trace.DiagTruncated) || ended > 0 && ended < started
	if len(hang) == 0 && !cut && told { // else times do not compare: processes end when they hang or are cut, or nothing says what they do
		if err := cmp.Or(f.imbalance(), f.polling(), f.idle()); err != nil {
			return nil, nil, err
		}
		f.devices()
		f.deviceCollectives()
	}
	if err := f.serial(); err != nil {
		return nil, nil, err
	}
	completion(f)
	f.io()
	if err := cmp.Or(f.trends(), f.transfer(), f.threads(), f.locks(), conditions(f)); err != nil {
		return nil, nil, err
	}
	if err := f.items(); err != nil {
		return nil, nil, err
	}
	dealing(f)
	f.oversubscription(true)
	f.list = slices.DeleteFunc(f.list, func(x Finding) bool { return !f.matters(x.Ticks) })
	slices.SortStableFunc(f.list, byGain)
	f.kernel()
	if err := f.setup(); err != nil {
		return nil, nil, err
	}
	f.oversubscription(false)
	f.list = append(append([]Finding{}, hang...), f.list...)
	f.clock()
	for i := range f.list {
		x := &f.list[i]
		x.Seconds = numbers.NewRatio(x.Ticks, f.s.Resolution)
		x.Advice = Advice(x.Kind, &x.facts)
		if x.Where.Path == nil {
			x.Where.Path = []string{}
		}
		if x.Where.Processes == nil {
			x.Where.Processes = []uint32{}
		}
	}
	return f.list, f.lost, nil
}

// matters reports whether a loss is at least 1 % of the run.
func (f *finder) matters(ticks uint64) bool {
	return ticks > 0 && numbers.MulDiv(ticks, 100/LeastFinding, 1) >= f.runtime
}

// query is the command that prints a section of a report about the run.
func (f *finder) query(section string) string {
	return fmt.Sprintf("coppice report %s %s", f.r.Path, section)
}

// loss begins a finding about a loss of a process, limited to the runtime.
func (f *finder) loss(kind string, ticks uint64, rank uint32, basis, section string) Finding {
	return Finding{Kind: kind, Ticks: min(ticks, f.runtime), Basis: basis, Where: FindingWhere{Processes: []uint32{rank}}, Query: f.query(section)}
}

// add completes a finding. Its text says what it is about, what it could gain, and how the loss is distributed.
func (f *finder) add(x Finding, what, spread string) {
	x.Text = fmt.Sprintf("%s: %s%s", what, f.upTo(x.Ticks), spread)
	f.list = append(f.list, x)
}

// together prints a time of all processes.
func (f *finder) together(sum numbers.Sum) string {
	return fmt.Sprintf("all processes together %s %s", f.u.Big(sum), f.u.Name())
}

// upTo prints what a finding could gain.
func (f *finder) upTo(ticks uint64) string {
	return fmt.Sprintf("up to %s %s of the run (%s)", f.u.Ticks(ticks), f.u.Name(), numbers.NewRatio(ticks, f.runtime).Percent())
}

// processTimes are times of a process, in ticks.
type processTimes struct {
	first   uint64 // first event
	cpu     uint64
	since   uint64 // part of computing after MPI_Init, where that is known
	before  uint64 // before MPI_Init, once begun is set
	begun   bool
	polls   uint64 // part of computing between calls that ask in vain
	works   uint64 // computing without waits for other threads and for locks
	waited  uint64 // in MPI, by its first thread in parallel regions, or anywhere if there are none
	without uint64 // part of works without a processor
	left    uint64 // how much earlier it could end with the same computing, reading and writing: time in MPI except set-up, waiting for locks, or before its begin or after its end; waitInFinalize is added
}

// eachSums are extremes of single processes, and sums.
type eachSums struct {
	slack      uint64               // least of a process: time in which it waits, makes others wait, is idle, or is in set-up
	slackRank  uint32               // who has it
	withIO     uint64               // least of a process: slack and its file input and output
	ioRank     uint32               // who has it
	leastIO    uint64               // of a process: file input and output
	mpiIO      uint64               // largest of a process: file I/O of MPI, less waits there
	leastRank  uint32               // who has it
	largest    [numSums]uint64      // of a process, by sum
	rank       [numSums]uint32      // who has it
	total      [numSums]numbers.Sum // over all processes
	scheduling bool                 // most of the largest of sumThreads is idle time even of the busiest thread
	collWaits  uint64               // in collectives, of the process with the largest sumColl
}

// Sums of a process that are not components.
const (
	sumP2P     = iota // in point-to-point calls, less waits there
	sumColl           // in collective calls, less waits there and spans of completion
	sumRMA            // in one-sided calls
	sumMgmt           // in calls of management except set-up and end, less waits there
	sumIO             // file input and output, of MPI too, less waits there
	sumSerial         // of threads: idle outside of parallel regions, for one thread
	sumThreads        // of threads: what even work between their barriers would gain
	numSums
)

// read reads the components of each process, and its delay costs.
func (f *finder) read() error {
	var err error
	if f.nodes, err = f.r.Nodes(); err != nil {
		return err
	}
	if f.codes, err = f.r.Codes(); err != nil {
		return err
	}
	processes := make([]locationSums, len(f.r.Defs.Processes()))
	f.times, f.waitedInMPI = make([]processTimes, len(processes)), map[trace.P]uint64{}
	if f.r.Rows {
		f.causes = &results.Causes{R: f.r}
		if err := f.causes.Read(); err != nil {
			return err
		}
		if err := f.readLocations(processes); err != nil {
			return err
		}
	}
	f.readCrowds()
	var lost []table.Lost
	if f.teams, lost, err = runTeamWaits(f.r); err != nil {
		return err
	}
	e := &f.each
	f.others = map[xtf.Item]threadWaits{}
	e.slack, e.withIO, e.leastIO = xtf.Never, xtf.Never, xtf.Never
	f.lost, err = f.r.EachProcess(results.Ranks{}, "findings", func(x *results.ProcessItems) { f.addProcess(x, &processes[x.Rank]) })
	f.lose(lost...)
	if e.slack == xtf.Never {
		e.slack, e.withIO = 0, 0
	}
	if err == nil && e.leastIO != xtf.Never {
		var init xtf.Call // it ends no earlier when other losses are gone
		init, err = f.setupCall(e.ioRank, (*trace.Definitions).StartsMPI)
		e.withIO -= min(e.withIO, init.End-init.T)
	}
	return err
}

// setupCall returns the call of set-up that a process makes, among its first and last calls; an empty call if there is none.
func (f *finder) setupCall(rank uint32, is setupKind) (call xtf.Call, err error) {
	const looked = 64
	p := f.r.Defs.Processes()[rank]
	if !f.r.Rows || p.Count == 0 {
		return call, nil
	}
	a, err := xtf.ArrayOf[xtf.Call](f.r.File, xtf.Proc(p.First))
	if err != nil {
		return call, beyond(err)
	}
	visit := func(_ uint64, row []byte) bool {
		var x xtf.Call
		if x.Load(row); x.Class&xtf.ClassInit != 0 && is(f.r.Defs, f.r.Defs.Region(x.Region)) {
			call = x
		}
		return call.Class == 0
	}
	n := a.Len()
	if err = a.Each(0, min(n, looked), visit); err == nil && call.Class == 0 {
		err = a.Each(n-min(n, looked), n, visit)
	}
	return call, beyond(err)
}

// before returns how long a process exists before it calls MPI_Init, if that is among its first calls. The recorder does not ask
// the kernel before MPI_Init, and computing before it makes others wait only in MPI_Init.
func (f *finder) before(rank uint32) (uint64, error) {
	if uint64(rank) >= uint64(len(f.times)) {
		return 0, nil
	}
	t := &f.times[rank]
	if t.begun {
		return t.before, nil
	}
	init, err := f.setupCall(rank, (*trace.Definitions).StartsMPI)
	t.before, t.begun = init.T-min(init.T, t.first), err == nil
	return t.before, err
}

// setupKind selects calls that begin or end MPI.
type setupKind func(*trace.Definitions, *trace.Region) bool

// meeting is the times at which processes come to a call of set-up.
type meeting struct {
	first, last uint64
	early, late int
	kept        bool // nobody leaves before the last one comes
	without     bool // a process does not have the call
}

func meetingIn(f *finder, is setupKind) (m meeting, err error) {
	m.first = xtf.Never
	leave := uint64(xtf.Never)
	for rank := range trace.MPIProcesses(f.r.Defs) {
		x, err := f.setupCall(uint32(rank), is)
		if m.without = err != nil || x.Class == 0; m.without {
			return m, err
		}
		if x.T < m.first {
			m.first, m.early = x.T, rank
		}
		if x.T > m.last {
			m.last, m.late = x.T, rank
		}
		leave = min(leave, x.End)
	}
	m.kept = leave >= m.last
	return m, nil
}

// waitInFinalize returns an upper bound of the time that a process is in MPI_Finalize before the last one comes.
func waitInFinalize(f *finder, rank uint32) (uint64, error) {
	own, err := f.setupCall(rank, (*trace.Definitions).EndsMPI)
	if err != nil || own.Class == 0 {
		return 0, err
	}
	end := own.End
	if trace.MPIProcesses(f.r.Defs) <= manyProcesses {
		m, err := meetingIn(f, (*trace.Definitions).EndsMPI)
		if err != nil {
			return 0, err
		}
		if m.kept {
			end = m.last
		}
	}
	return end - min(own.T, end), nil
}

// setupWaits says who waits longest for the last process to come to MPI_Init and to MPI_Finalize. The evidence is that nobody
// left before. told is the sum of the longest such waits, known reports whether there is evidence for both.
func (f *finder) setupWaits() (text string, told uint64, known bool, err error) {
	if n := trace.MPIProcesses(f.r.Defs); n < 2 || n > manyProcesses {
		return "", 0, false, nil
	}
	known = true
	for i, is := range []setupKind{(*trace.Definitions).StartsMPI, (*trace.Definitions).EndsMPI} {
		name := [...]string{"MPI_Init", "MPI_Finalize"}[i]
		m, err := meetingIn(f, is)
		if err != nil || m.without {
			return text, told, false, err
		}
		if known = known && m.kept; m.kept && f.matters(m.last-m.first) {
			told += m.last - m.first
			text += fmt.Sprintf("; rank %d waits %s %s in %s for rank %d, which comes last", m.early, f.u.Ticks(m.last-m.first), f.u.Name(), name, m.late)
			if before := m.last - min(m.last, f.times[m.late].first); i == 0 && before >= (m.last-m.first)/2 {
				text += fmt.Sprintf(" and runs for %s before", f.u.Ticks(before))
			}
		}
	}
	return text, told, known, nil
}

// timesOf are what a process computes.
func timesOf(x *results.ProcessItems) processTimes {
	t := processTimes{first: x.At(0, xtf.ItemFirst), cpu: x.At(0, xtf.ItemCPU), polls: x.At(0, xtf.ItemPolling)}
	t.works = t.cpu - min(t.cpu, x.At(0, xtf.ItemThreadWait)+x.At(0, xtf.ItemLockWait))
	return t
}

func (f *finder) addProcess(x *results.ProcessItems, of *locationSums) {
	waited := uint64(0)
	for _, i := range slices.Concat(results.WaitItems, results.CompletionItems) {
		waited += x.At(0, i)
	}
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	if !mostlyOf(waited+x.At(0, xtf.ItemThreadWait)+x.At(0, xtf.ItemLockWait), of.others) {
		of.others, of.each = 0, nil // the first thread works while they wait, as it does next to a thread that communicates
	}
	for item, o := range of.each {
		f.others[item] = f.others[item].with(o)
	}
	slack := of.caused + less(x.At(0, xtf.ItemManagement), of.waits[sumMgmt]) + waited + of.others
	absent := less(f.runtime, x.At(0, xtf.ItemTime))
	slack += absent
	t := &f.times[x.Rank]
	*t = timesOf(x)
	t.waited, t.left = of.inside, absent+x.At(0, xtf.ItemLockWait)+less(x.At(0, xtf.ItemMPI), x.At(0, xtf.ItemSetup))
	f.shares(x)
	e := &f.each
	if slack < e.slack {
		e.slack, e.slackRank = slack, x.Rank
	}
	ofMPI := less(x.At(0, xtf.ItemFileIO), of.waits[sumIO])
	e.mpiIO = max(e.mpiIO, ofMPI)
	io := x.At(0, xtf.ItemIO) + ofMPI
	if slack+io < e.withIO {
		e.withIO, e.ioRank = slack+io, x.Rank
	}
	if io < e.leastIO {
		e.leastIO, e.leastRank = io, x.Rank
	}
	count := uint64(max(threads.TeamOf(f.r.Defs, int(x.Rank)).Count, 1))
	scheduling := x.At(0, xtf.ItemThreadScheduling)
	idle := x.At(0, xtf.ItemThreadImbalance) + scheduling
	serial := x.At(0, xtf.ItemThreadSerial)
	if has(f, trace.DiagOff) { // the regions that the first thread enters while its measurement is off are not known
		serial = less(serial, (count-1)*x.At(0, xtf.ItemOverhead))
	}
	for i, v := range [numSums]uint64{
		sumP2P: less(x.At(0, xtf.ItemP2P), of.waits[sumP2P]), sumColl: less(x.At(0, xtf.ItemColl), of.waits[sumColl]),
		sumRMA:  less(x.At(0, xtf.ItemRMA), of.waits[sumRMA]),
		sumMgmt: less(x.At(0, xtf.ItemManagement), x.At(0, xtf.ItemSetup)+of.waits[sumMgmt]),
		sumIO:   io, sumSerial: serial / count,
		sumThreads: dealt(f, x, count),
	} {
		e.total[i] = numbers.Add(e.total[i], numbers.Integer(v))
		if v > e.largest[i] {
			e.largest[i], e.rank[i] = v, x.Rank
			switch i {
			case sumThreads:
				e.scheduling = scheduling > idle-scheduling
			case sumColl:
				e.collWaits = of.waits[sumColl]
			}
		}
	}
}

// locationSums are ticks of a process: the time that it makes others wait (delay costs, short and long), and its own waits,
// including spans of completion, by the kind of call. The wait for a non-blocking collective is in a call of point-to-point
// communication. A fence is a call of one-sided communication.
type locationSums struct {
	caused uint64
	waits  [sumIO + 1]uint64 // of the first thread
	inside uint64            // of these, in parallel regions where there are any
	others uint64            // waits of the other thread with most waits
	each   map[xtf.Item]threadWaits
}

// threadWaits are waits of a pattern of threads other than the first of their process: of all together, and of the thread with
// most.
type threadWaits struct {
	sum   numbers.Sum
	most  uint64
	where trace.P
}

func (w threadWaits) with(o threadWaits) threadWaits {
	o.sum = numbers.Add(o.sum, w.sum)
	if w.most >= o.most && w.most > 0 {
		o.most, o.where = w.most, w.where
	}
	return o
}

// readLocations computes these sums. Those of a location that cannot be read are 0.
func (f *finder) readLocations(sums []locationSums) error {
	r := f.r
	kinds := map[uint32]int{} // of calls, by region
	inside, _ := inParallel(r, f.causes.Paths)
	f.lines.names, f.lines.costs = &names{f.causes, map[string]uint32{}, map[place]uint32{}}, map[line]bool{}
	_, err := r.EachLocation(results.Ranks{}, "findings", func(p trace.P) error {
		rank, _ := r.Defs.Process(p)
		of := &sums[rank]
		own := map[xtf.Item]uint64{} // waits of another thread than the first
		defer f.lines.end(p)
		err := r.Failed(xtf.Proc(p), "waits", results.Load(r, xtf.Proc(p), func(x *xtf.WaitSum) {
			f.lines.wait(x)
			if p != r.Defs.Processes()[rank].First {
				if item := xtf.PatternItem(x.Pattern); slices.Contains(results.WaitItems, item) {
					own[item] += x.Ticks
				}
				return
			}
			region := f.causes.Paths.Region(uint32(x.Key))
			kind, known := kinds[region]
			if !known {
				kind = kindOfCall(r.Defs, region)
				kinds[region] = kind
			}
			if kind <= sumIO {
				of.waits[kind] += x.Ticks
			}
			if path := uint32(x.Key); inside == nil || uint64(path) < uint64(len(inside)) && inside[path] {
				of.inside += x.Ticks
			}
		}))
		all := uint64(0)
		for item, ticks := range own {
			f.waitedInMPI[p] += ticks
			if of.each == nil {
				of.each = map[xtf.Item]threadWaits{}
			}
			of.each[item] = of.each[item].with(threadWaits{numbers.Integer(ticks), ticks, p})
			all += ticks
		}
		of.others = max(of.others, all)
		if err != nil || len(f.causes.Delays) == 0 {
			return err
		}
		return r.Failed(xtf.Proc(p), "delay costs", results.Load(r, xtf.Proc(p), func(x *xtf.Delay) {
			of.caused += x.Short + x.Long
			f.lines.cost(x)
		}))
	})
	return err
}

// kindOfCall returns sumP2P, sumColl, sumRMA, sumMgmt or, for file I/O of MPI, sumIO; numSums for other regions.
func kindOfCall(d *trace.Definitions, region uint32) int {
	own := d.Class(d.Region(region))
	for kind, class := range [...]trace.CallClass{sumP2P: trace.ClassP2P, sumColl: trace.ClassColl, sumRMA: trace.ClassRMA, sumMgmt: trace.ClassManagement, sumIO: trace.ClassFileIO} {
		if own&class != 0 {
			return kind
		}
	}
	return numSums
}

func (f *finder) io() {
	largestTime, rank := f.each.largest[sumIO], f.each.rank[sumIO]
	ticks, basis := largestTime, "largest time of a process in file input and output"
	outside, onPath := f.s.Item(xtf.ItemIO), uint64(max(f.s.Item(xtf.ItemCriticalIO).Sum, 0))
	if f.causes != nil && outside.Max > 0 { // if processes write in turn, the whole chain is on the path
		ticks, basis = onPath, "file input and output on the critical path"
		if mpi := f.each.mpiIO; mpi > 0 {
			ticks, basis = onPath+mpi, basis+", and the largest time of a process in that of MPI"
		}
	}
	if f.each.withIO < ticks {
		ticks, basis = f.each.withIO, "what any process could end earlier by: its file input and output, waits, the waits that it causes, set-up but MPI_Init, and idle time; "+basis+" is more"
	}
	x := f.loss(KindIO, ticks, rank, basis, "profile")
	f.placeRegion(&x, largest(f.hot, xtf.ClassIO|xtf.ClassMPIIO, nil))
	mean := numbers.Quotient(f.each.total[sumIO], numbers.Integer(f.s.Processors))
	x.facts.Uneven = mean.Defined && float64(largestTime) >= 1.5*mean.Value
	x.Evidence = fmt.Sprintf("%s, the mean is %s, balance %s", f.together(f.each.total[sumIO]), f.u.Real(mean),
		numbers.Quotient(f.each.total[sumIO], numbers.Times(numbers.Integer(f.s.Processors), largestTime)).Text(3))
	spread := fmt.Sprintf(": rank %d has most, %s%s; ", rank, f.u.Ticks(largestTime), x.mostIn())
	if waitsInFiles(f) {
		x.facts.Uneven = false
		x.Evidence += fmt.Sprintf("; all processes take part in such a call, and waits for the last one are part of its time, which are not known: rank %d has least, %s", f.each.leastRank, f.u.Ticks(f.each.leastIO))
	}
	if all := uint64(max(outside.Sum, 0)); f.causes != nil && mostlyOf(onPath, all) && !mostlyOf(outside.Max, all) {
		x.facts.inTurn = fmt.Sprintf("processes read and write one after another, %s of %s %s of all that is on the critical path", f.u.Ticks(onPath), f.u.Ticks(all), f.u.Name())
		x.Evidence += "; " + x.facts.inTurn
	}
	f.absorb(&x, "io")
	f.add(x, "file input and output", spread+x.Evidence)
}

// waitsInFiles reports whether most input and output is in calls of all processes whose waits are not known.
func waitsInFiles(f *finder) bool {
	most := largest(f.hot, xtf.ClassIO|xtf.ClassMPIIO, nil)
	if most == nil || filesMeet(f.r, f.s) {
		return false
	}
	name := trace.CallOf(f.r.RegionName(most.Region))
	return strings.HasPrefix(name, "file_") && strings.HasSuffix(name, "_all")
}

// placeRegion sets the region with most time, if there is one.
func (f *finder) placeRegion(x *Finding, r *results.RegionTime) {
	if r != nil {
		x.Where.Region, x.Where.Place = numbers.Clean(results.CallName(f.r, r.Region), 60), results.CallPlace(f.r, r.Region)
		x.Where.Path = []string{x.Where.Region}
		x.facts.Region = x.Where.Region
	}
}

// at names a call with its place in the source, if that is known.
func at(region, place string) string {
	if place == "" {
		return region
	}
	return region + " at " + place
}

// mostIn names the region with the largest part, if there is one.
func (x *Finding) mostIn() string {
	if x.Where.Region == "" {
		return ""
	}
	return ", most of it in " + at(x.Where.Region, x.Where.Place)
}

// absorb joins waits that an activity caused with the finding about that activity, because they are the same loss.
func (f *finder) absorb(x *Finding, activity string) {
	if !f.matters(x.Ticks) {
		return
	}
	f.list = slices.DeleteFunc(f.list, func(w Finding) bool {
		if w.Cause == nil || w.Cause.Activity != activity || !(w.facts.ofActivity.Value >= 0.5) || w.Ticks > x.Ticks && !(w.facts.ofActivity.Value >= 0.75) {
			return false
		}
		note := fmt.Sprintf("; others wait for it: %s %s %s on one process", results.PatternLabel(w.facts.pattern), f.u.Ticks(w.Ticks), f.u.Name())
		x.Evidence += note
		return true
	})
}

// Sizes of messages in bytes: below the first, latency decides their cost; above the second, the rate of the network.
const (
	smallMessage = 1 << 10
	longMessage  = 1 << 18
	manyCalls    = 1000
)

// marks returns an upper bound of the messages that mark intervals: two for each begin and end.
func marks(s *results.Summary, nodes []results.Node) (n uint64) {
	if s.Item(xtf.ItemMarker).Sum == 0 {
		return 0
	}
	for i := range nodes {
		if i > 0 { // not the whole program
			n += 4 * nodes[i].ExeMax * uint64(nodes[i].Participants)
		}
	}
	return n
}

// oftenText says how often a process calls a collective operation with few bytes.
func oftenText(region string, calls, each uint64) string {
	return fmt.Sprintf("; a process calls %s %s times, with %s a member on average", region, numbers.Count(calls), numbers.Bytes(each))
}

// sizes counts the collective operations of a process in a region, the bytes that it sends and receives there, and the mean bytes
// that a call gives to or gets from a member. Score-P and the recorder count a reduction of 8 bytes over 1000 members as 8000
// bytes sent by each.
func sizes(f *finder, region, rank uint32) (calls, own, each uint64, err error) {
	err = results.Load(f.r, xtf.Proc(f.r.Defs.Processes()[rank].First), func(c *xtf.Coll) {
		if c.Region != region || !xtf.Add(&own, c.Sent) || !xtf.Add(&own, c.Received) {
			return
		}
		members := uint64(1)
		if class := trace.CollectiveClass(c.Flags & xtf.CollOpMask); class&trace.ClassNxN != 0 || class&trace.ClassPrefix == 0 && c.Sent > 0 && c.Received > 0 { // a root
			members = uint64(max(f.r.Defs.CommSize(c.Comm), 1))
		}
		calls, each = calls+1, each+max(c.Sent, c.Received)/members
	})
	return calls, own, each / max(calls, 1), beyond(err)
}

// transfer finds MPI time in which a process does not wait for anybody.
func (f *finder) transfer() error {
	loss := f.runtime
	basis := ""
	if longer := numbers.Sub(f.s.POP.Runtime, f.s.POP.Ideal); longer >= 0 {
		loss = min(loss, uint64(longer))
		basis = ", at most what the run is longer than on an ideal network"
	}
	waited := map[uint32]uint64{} // ticks of all processes, by region, as far as waits are known
	var onPath map[int]uint64     // by kind of call; nil without critical path
	if f.causes != nil {
		for k, x := range f.causes.Waits {
			waited[f.causes.Paths.Region(uint32(k.Key))] += x.Ticks
		}
		for k, ticks := range f.causes.OnPath {
			if onPath == nil {
				onPath = map[int]uint64{}
			}
			if k.Activity == xtf.ActivityMPI {
				onPath[kindOfCall(f.r.Defs, k.Region)] += ticks
			}
		}
	}
	before, strange, err := f.beforeLast()
	if err != nil {
		return err
	}
	m := &f.s.Messages
	unrecorded := has(f, trace.DiagNoCollRecord) || has(f, trace.DiagPart)
	for _, k := range []struct {
		sum   int
		class uint32
		name  string
	}{
		{sumP2P, xtf.ClassP2P, results.ItemWord(xtf.ItemP2P)},
		{sumColl, xtf.ClassColl, results.ItemWord(xtf.ItemColl)},
		{sumRMA, xtf.ClassRMA, results.ItemWord(xtf.ItemRMA)},
		{sumMgmt, xtf.ClassMgmt, results.ItemWord(xtf.ItemManagement)},
	} {
		most := largest(f.hot, k.class, waited)
		loss, basis := loss, basis
		tests := most != nil && polls(f.r, most.Region)
		if tests || k.sum == sumMgmt { // the replay for an ideal network does not change them
			loss, basis = f.runtime, ""
		}
		without := "without waits"
		untold := most == nil || waited[most.Region] == 0 // calls that make windows or communicators may have records
		completes := k.sum == sumP2P && m.Sent+m.Received == 0 && f.begins(xtf.ClassColl, "i")
		if completes || k.sum == sumP2P && m.Sent+m.Received == 0 && f.begins(xtf.ClassRMA, "r") { // it completes what other calls begin
			k.name = "completing"
		}
		switch {
		case f.causes == nil || k.sum == sumRMA && untold && !f.tellsWaits(most) || k.sum == sumMgmt && untold || k.sum == sumP2P && !completes && !f.mostlyMatched():
			without = "with waits, which are not known"
		case tests:
			without = "with waits in tests, which are not known"
		case k.sum == sumP2P && (exchanges(f.r, most) || f.matters(f.each.largest[k.sum]) && most != nil && f.r.Defs.OfRequests(f.r.Defs.Region(most.Region)) && sendsEndUnseen(f.r, f.each.rank[k.sum])):
			without = "with waits of their sends, which are not known"
		case k.sum == sumColl && mostlyOf(strange, f.each.largest[sumColl]):
			without = "with waits for processes that are not in the trace, which are not known"
		case unrecorded, k.sum == sumMgmt, k.sum == sumRMA && !f.tellsWaits(most):
			without = "without waits for what has records"
		case k.sum == sumColl && most != nil && mostlyOf(before, f.each.largest[sumColl]):
			without = "mostly until their last member comes"
		}
		ticks, what := f.each.largest[k.sum], "largest time of a process in "+k.name+" calls "+without
		if onPath != nil && k.sum != sumMgmt { // what one process passes on to the next is entirely on the path
			ticks, what = onPath[k.sum], k.name+" calls on the critical path"
			if all := f.each.total[k.sum]; all >= 0 && uint64(all) < ticks { // waits that last longer than the path's stay there are on it too
				ticks, what = uint64(all), k.name+" calls of all processes "+without
			}
		}
		x := f.loss(KindTransfer, min(ticks, loss), f.each.rank[k.sum], what+basis, "comm")
		f.placeRegion(&x, most)
		if most != nil && most.Calls > f.s.Processors {
			x.facts.known = againAndAgain
		}
		x.Evidence = f.together(f.each.total[k.sum]) + " in " + k.name + " calls"
		if k.sum == sumP2P && m.Sent > 0 {
			mean, own := numbers.MeanOf(m.BytesOut, m.Sent), m.Sent-min(m.Sent, marks(f.s, f.nodes))
			x.Evidence += fmt.Sprintf("; %s of %s each on average", numbers.Plural(int(m.Sent), "message"), numbers.Bytes(mean))
			most := numbers.MeanOf(m.BytesOut, max(own, 1))
			if own < m.Sent {
				x.Evidence += ", those of markers too"
			}
			if own < m.Sent && own > 0 {
				x.Evidence += ": without them no more than " + numbers.Bytes(most)
			}
			switch {
			case most <= smallMessage && own >= manyCalls:
				few, err := inFewCalls(f, x.Where.Processes[0], xtf.ClassP2P, results.WaitItems...)
				if err != nil {
					return err
				}
				if x.Evidence += few; few == "" {
					x.Kind = KindSmallMessages
				} else {
					without = strings.Replace(without, "without waits", "without known waits", 1)
				}
			case mean >= longMessage:
				x.Kind = kindLongMessages
				if all := f.each.total[k.sum]; all > 0 && f.s.Resolution > 0 { // data types with gaps are far below the rate of a network
					x.Evidence += fmt.Sprintf("; a process sends %s in a second of that on average", numbers.Bytes(numbers.MulDiv(m.BytesOut, f.s.Resolution, uint64(all))))
				}
			}
		}
		if k.sum == sumP2P && most != nil {
			send := "send" // a send that ends before the receive begins may have waited for room in buffers
			if exchanges(f.r, most) {
				send = "such call"
				x.Evidence += "; whether the send of a call that sends and receives in one waited for its receiver is not known"
			}
			if err := f.lateMate(&x, most.Region, send); err != nil {
				return err
			}
			if f.matters(x.Ticks) {
				if err := cmp.Or(queued(f, &x, most.Region, x.Where.Processes[0]), overlaps(f, &x)); err != nil {
					return err
				}
			}
		}
		if tests {
			if err := asked(f, &x, x.Where.Processes[0]); err != nil {
				return err
			}
		}
		if most != nil && most.Kind&xtf.ClassNToOne != 0 {
			x.Evidence += "; of the waiting of a root only the time until the first other process comes is known, of that of others nothing"
		}
		if most != nil && most.Kind&(xtf.ClassOneToN|xtf.ClassPrefix) != 0 {
			x.Evidence += "; only the wait for the process that has the data is known, not that for one which passes them on"
		}
		if k.sum == sumColl && most != nil && reduces(f.r, most) && slices.ContainsFunc(f.hot.Profile.Regions, func(r results.RegionTime) bool {
			return isCall(f.r, r.Region, "op_create")
		}) {
			x.Evidence += "; the program has operators of its own (MPI_Op_create): whether their functions take the time is not known"
		}
		mostly := mostlyOf(before, f.each.largest[sumColl])
		if k.sum == sumColl && most != nil && !mostly {
			mean, calls := numbers.MeanOf(most.Bytes, max(most.Calls, 1)), most.Calls/max(f.s.Processors, 1)
			rows, _, each, err := sizes(f, most.Region, f.each.rank[sumColl])
			if err != nil {
				return err
			}
			if rows == 0 {
				each = mean
			}
			switch reduced := reduces(f.r, most); {
			case reduced && rows > 0:
				mean = 2 * each
			case reduced:
				mean /= max(f.s.Processors, 1)
			}
			switch {
			case mean >= longMessage:
				x.Kind = kindLongMessages
				x.Evidence += fmt.Sprintf("; a process sends and receives %s in a call of %s on average", numbers.Bytes(mean), x.Where.Region)
				f.uneven(&x, most)
			case each <= smallMessage && calls >= manyCalls:
				few, err := inFewCalls(f, x.Where.Processes[0], xtf.ClassColl, slices.Concat(results.WaitItems, results.CompletionItems)...)
				if err != nil {
					return err
				}
				if x.Evidence += few; few == "" {
					x.Kind, x.facts.often = KindSmallMessages, true
					x.Evidence += oftenText(x.Where.Region, calls, each)
				} else {
					without = strings.Replace(without, "without waits", "without known waits", 1)
				}
			}
		}
		if k.sum == sumColl && most != nil && f.matters(x.Ticks) && before >= f.each.largest[sumColl]/4 {
			if !mostly {
				x.Evidence += fmt.Sprintf("; %s of rank %d are before their last member comes", f.u.Ticks(min(before, f.each.largest[sumColl])), f.each.rank[sumColl])
			}
			if err := f.lastMember(&x, most.Region, x.Where.Processes[0], false); err != nil {
				return err
			}
		}
		f.add(x, k.name+" calls "+without, fmt.Sprintf(": rank %d has most%s; %s", f.each.rank[k.sum], x.mostIn(), x.Evidence))
	}
	return nil
}

// reduces reports whether an operation applies an operator.
func reduces(r *results.Run, x *results.RegionTime) bool {
	name := strings.ToLower(results.CallName(r, x.Region))
	return strings.Contains(name, "reduce") || strings.Contains(name, "scan")
}

// uneven says who sends and who receives most in an all-to-all operation that moves most of the bytes of collectives, if that is
// a third more than an even share.
func (f *finder) uneven(x *Finding, r *results.RegionTime) {
	out, in := f.s.Item(xtf.ItemCollOut), f.s.Item(xtf.ItemCollIn)
	if r.Kind&xtf.ClassNxN == 0 || !mostlyOf(r.Bytes, uint64(max(numbers.Add(out.Sum, in.Sum), 0))) {
		return
	}
	for i, m := range []*results.Spread{out, in} {
		if m.Sum > 0 && numbers.Times(numbers.Integer(m.Max), 3*f.s.Processors) >= numbers.Times(m.Sum, 4) {
			x.facts.heavy = true
			x.Evidence += fmt.Sprintf("; rank %d %s %s of %s that all do in collectives", m.MaxP, [...]string{"sends", "receives"}[i], numbers.Bytes(m.Max), numbers.Bytes(uint64(m.Sum)))
		}
	}
}

// mostlyMatched reports whether the other side of at least half of the messages is known. If not, waits for them are not known.
func (f *finder) mostlyMatched() bool {
	m := &f.s.Messages
	if m.UnmatchedSends == nil || m.UnmatchedRecvs == nil {
		return false
	}
	all, without := m.Sent+m.Received, *m.UnmatchedSends+*m.UnmatchedRecvs
	for _, c := range f.codes {
		if c.Code == trace.DiagUnknownPeer {
			without += c.Count
		}
	}
	return all > 0 && without <= all/2 && (m.Sent == 0 || *m.UnmatchedSends < (m.Sent+1)/2)
}

// threads finds losses inside of processes with several threads.
func (f *finder) threads() error {
	for _, k := range []struct {
		sum                   int
		kind, basis, sentence string
	}{
		{sumSerial, kindSerial, "largest of a process: idle time of its threads outside of parallel regions, over its threads", "other threads idle outside of parallel regions"},
		{sumThreads, kindThreadImbalance, "largest of a process: idle time of its threads inside of parallel regions but for locks and critical sections, over its threads", "threads idle inside of parallel regions"},
	} {
		rank := f.each.rank[k.sum]
		x := f.loss(k.kind, f.each.largest[k.sum], rank, k.basis, "pop")
		x.facts.threads = true
		if k.sum == sumThreads && f.matters(x.Ticks) {
			if x.facts.scheduling = f.each.scheduling; !x.facts.scheduling {
				x.Basis = evenWork
			}
			if err := f.imbalancedThreads(&x); err != nil {
				return err
			}
			if x.facts.Region == posixBarrier {
				k.sentence = "threads wait in barriers of POSIX threads"
			}
		}
		if t := f.s.POP.Threads; t != nil {
			if x.Evidence != "" {
				x.Evidence += "; "
			}
			x.Evidence += fmt.Sprintf("efficiency of threads %s: serial %s x balance %s x scheduling %s", t.OpenMP.Text(3), t.Serial.Text(3), t.Balance.Text(3), t.Scheduling.Text(3))
		}
		f.add(x, k.sentence, fmt.Sprintf(", most on rank %d; %s", rank, x.Evidence))
	}
	return nil
}

// items finds losses of processes in components that are losses by themselves.
func (f *finder) items() error {
	for _, item := range []xtf.Item{xtf.ItemOverhead, xtf.ItemMarker} {
		m := f.s.Item(item)
		basis, off := "largest time of a process: "+results.ItemWord(item), ""
		if item == xtf.ItemOverhead && has(f, trace.DiagOff) {
			var err error
			if m, err = busyTracer(f); err != nil {
				return err
			}
			basis, off = basis+", but for where the measurement was off", ", without what passed while the measurement was off: that is the program's own"
		}
		x := f.loss(kindOverhead, m.Max, m.MaxP, basis, "intervals --ordered "+item.String())
		x.facts.item = item
		x.Evidence = f.together(m.Sum) + off
		f.absorb(&x, item.String())
		f.add(x, results.ItemWord(item), fmt.Sprintf(", most on rank %d; %s", m.MaxP, x.Evidence))
	}
	return nil
}

// busyTracer returns the overhead of processes, without the times in which their measurement was off.
func busyTracer(f *finder) (*results.Spread, error) {
	m := *f.s.Item(xtf.ItemOverhead)
	m.Max = 0
	for rank, x := range f.r.Defs.Processes() {
		v, err := f.r.Components(x.First)
		if err != nil && !results.Partial(err) {
			return nil, err
		}
		off, _, err := measurementOff(f, uint32(rank))
		if err != nil {
			return nil, err
		}
		off = min(off, v[xtf.ItemOverhead])
		m.Sum -= numbers.Sum(off)
		if own := v[xtf.ItemOverhead] - off; own > m.Max {
			m.Max, m.MaxP = own, uint32(rank)
		}
	}
	return &m, nil
}

// measurementOff returns for how long the measurement of a process was off outside of MPI, and whether it was off at the end.
func measurementOff(f *finder, rank uint32) (ticks uint64, atEnd bool, err error) {
	if !has(f, trace.DiagOff) {
		return 0, false, nil
	}
	list, err := results.Occurrences(f.r, f.r.Defs.Processes()[rank].First)
	if err != nil && !results.Partial(err) {
		return 0, false, err
	}
	for _, o := range list {
		if o.Code == trace.DiagOff {
			ticks, atEnd = o.Worst, o.Text == trace.OffToEnd
		}
	}
	return ticks, atEnd, nil
}

// has reports whether there are problems with that code.
func has(f *finder, code trace.Code) bool {
	return slices.ContainsFunc(f.codes, func(c results.CodeTotal) bool { return c.Code == code })
}

// idle finds time before processes begin and after they end. If the trace has MPI_Init, that is set-up: processes are started one
// after another.
func (f *finder) idle() error {
	t := f.s.Item(xtf.ItemTime)
	_, off, err := measurementOff(f, t.MinP)
	if largest(f.hot, xtf.ClassInit, nil) != nil || f.s.Processors == 0 || f.s.Ticks.Idle < 0 || off { // a process without measurement at its end may still run
		return err
	}
	x := f.loss(kindIdle, numbers.MeanOf(uint64(f.s.Ticks.Idle), f.s.Processors), t.MinP, "time of the longest process, less the mean", "intervals --ordered time")
	x.Evidence = fmt.Sprintf("rank %d lives for %s %s, rank %d for %s", t.MinP, f.u.Ticks(t.Min), f.u.Name(), t.MaxP, f.u.Ticks(t.Max))
	f.add(x, "processes live for different times", ": "+x.Evidence)
	return err
}

// setup finds the time of MPI_Init and similar calls. The finding comes after all others, because it says little about the
// program. Processes meet in these calls: one that spends more time there than another may be waiting.
func (f *finder) setup() error {
	m := f.s.Item(xtf.ItemSetup)
	if !f.matters(m.Max) {
		return nil
	}
	x := f.loss(KindSetup, m.Min, m.MinP, "least time of a process in MPI_Init and MPI_Finalize: who has more may wait there for others", "profile")
	f.placeRegion(&x, largest(f.hot, xtf.ClassInit, nil))
	x.Evidence = f.together(m.Sum)
	if t := f.s.Item(xtf.ItemTime); f.s.Ticks.Idle > 0 {
		x.Evidence += fmt.Sprintf("; processes live for %s to %s %s", f.u.Ticks(t.Min), f.u.Ticks(t.Max), f.u.Name())
	}
	x.Text = fmt.Sprintf("%s: MPI_Init and the like take %s %s of each process or more (%s of the run)%s", results.ItemWord(xtf.ItemSetup),
		f.u.Ticks(m.Min), f.u.Name(), numbers.NewRatio(m.Min, f.runtime).Percent(), x.mostIn())
	more, told, known, err := f.setupWaits()
	if over := m.Max - m.Min; !known && f.matters(over-min(over, told)) {
		more += fmt.Sprintf("; rank %d is in them for %s: it may wait there for others, which is not known", m.MaxP, f.u.Ticks(m.Max))
	}
	x.Evidence += more
	x.Text += more
	f.list = append(f.list, x)
	return err
}

// clock says that times of different processes do not compare.
func (f *finder) clock() {
	var evidence []string
	worst := uint64(0)
	for _, c := range f.codes {
		if (c.Code == trace.DiagClockViolation || c.Code == trace.DiagClockCollective) && c.Count > 0 {
			worst = max(worst, c.Worst)
			evidence = append(evidence, fmt.Sprintf("%s: %s in %s, worst %s", c.Code.Text(), numbers.Count(c.Count), numbers.Plural(int(c.Locations), "location"), results.Magnitude(f.u, c.Code, c.Worst)))
		}
	}
	left := has(f, trace.DiagUnmatchedSend) || has(f, trace.DiagUnmatchedRecv) || has(f, trace.DiagShortCollective)
	if len(evidence) == 0 || has(f, trace.DiagCorrupt) || has(f, trace.DiagOff) && left { // if events are missing, the wrong ones pair up, whatever the clocks
		return
	}
	x := Finding{Kind: KindClock, Basis: "no gain: a doubt about the times", Query: f.query("diagnostics"), Evidence: strings.Join(evidence, "; ")}
	x.Text = "clocks disagree, and times between processes are wrong by at least that much: " + x.Evidence
	unlike(f, &x)
	if f.matters(worst) {
		f.list = slices.Insert(f.list, 0, x)
	} else {
		f.list = append(f.list, x)
	}
}

// tellsWaits reports whether the waits of a one-sided call are known.
func (f *finder) tellsWaits(x *results.RegionTime) bool {
	if x == nil {
		return false
	}
	r := f.r.Defs.Region(x.Region)
	return f.r.Defs.TellsWaits(r) && !has(f, trace.DiagNoRecord) && (!has(f, trace.UnreadCode(trace.RmaCollectiveEnd)) || f.r.Defs.CallName(r) != "win_fence")
}

// begins reports whether the run has calls of a class whose names begin with name, after MPI_. Their operations complete in other
// calls.
func (f *finder) begins(class uint32, name string) bool {
	return slices.ContainsFunc(f.hot.Profile.Regions, func(x results.RegionTime) bool {
		return x.Kind&class != 0 && strings.HasPrefix(trace.CallOf(f.r.RegionName(x.Region)), name)
	})
}

// largest returns the region of a class with the most exclusive time, less known waits there. Init and Finalize are a class of
// their own.
func largest(h *results.Hot, class uint32, waited map[uint32]uint64) *results.RegionTime {
	var best *results.RegionTime
	var most uint64
	for i := range h.Profile.Regions {
		x := &h.Profile.Regions[i]
		if x.Kind&class == 0 || x.Kind&xtf.ClassInit != 0 && class&xtf.ClassInit == 0 {
			continue
		}
		if left := x.Exclusive - min(x.Exclusive, waited[x.Region]); best == nil || left > most {
			best, most = x, left
		}
	}
	return best
}
