package results

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Summary is the characteristics of the whole program (sections 3 to 5 of the interval model): exact sums of ticks over
// processes, and their quotients.
type Summary struct {
	Resolution  uint64          `json:"resolution"` // ticks per second, 0 if the trace does not tell
	First       uint64          `json:"first_event"`
	Last        uint64          `json:"last_event"`
	Partial     bool            `json:"partial"`
	Rows        bool            `json:"rows"` // of events; without them results that need partners are null
	Processors  uint64          `json:"processors"`
	Rule        string          `json:"mpi_productive_rule"`
	Ticks       Ticks           `json:"ticks"`
	Efficiency  numbers.Ratio   `json:"efficiency"`
	Speedup     numbers.Ratio   `json:"speedup_estimate"`
	POP         POP             `json:"pop"`
	Spreads     Spreads         `json:"stats"`
	Messages    Messages        `json:"messages"`
	Collectives Collectives     `json:"collectives"`
	File        FileInfo        `json:"file"`
	Provenance  json.RawMessage `json:"provenance"`
	Devices     *Devices        `json:"devices,omitempty"` // nil without devices, or without rows
}

// Ticks are sums over processes, except execution and runtime.
type Ticks struct {
	Execution     uint64           `json:"execution"` // longest process
	Runtime       uint64           `json:"runtime"`   // first event of all to last event of all
	Total         numbers.Sum      `json:"total"`
	Productive    numbers.Fraction `json:"productive"`
	Lost          numbers.Fraction `json:"lost"`
	Setup         numbers.Sum      `json:"setup"`    // part of the total in set-up and end; with Measured all of it
	Measured      numbers.Sum      `json:"measured"` // part of the total between set-up and end: productive and lost
	DeviceCall    numbers.Sum      `json:"device_call"`
	DeviceWait    numbers.Sum      `json:"device_wait"`
	DeviceWork    numbers.Sum      `json:"device_work"` // productive part of both: a device of the process computes meanwhile
	LockWait      numbers.Sum      `json:"lock_wait"`
	Overhead      numbers.Sum      `json:"overhead"`
	CPU           numbers.Sum      `json:"cpu"`
	IO            numbers.Sum      `json:"io"`
	MPI           numbers.Sum      `json:"mpi"`
	MPIProductive numbers.Fraction `json:"mpi_productive"`
	MPILost       numbers.Fraction `json:"mpi_lost"`
	Idle          numbers.Sum      `json:"idle"`
	Marker        numbers.Sum      `json:"marker"`
	P2P           numbers.Sum      `json:"p2p"`
	CollectiveAll numbers.Sum      `json:"collective_all"`
	AllToAll      numbers.Sum      `json:"all_to_all"`
	Barrier       numbers.Sum      `json:"barrier"`
	FileIO        numbers.Sum      `json:"mpi_io"`
	RMA           numbers.Sum      `json:"rma"`
	Management    numbers.Sum      `json:"mgmt"`
	Comm          numbers.Sum      `json:"comm"`
	Start         numbers.Sum      `json:"t_start"`
	SendRecv      numbers.Sum      `json:"send_recv"`
	PotentialSync numbers.Sum      `json:"potent_sync"`
	Variation     numbers.Sum      `json:"time_variation"`
	LoadImbalance numbers.Sum      `json:"load_imbalance"`
	SumOfMax      *uint64          `json:"execution_sum_of_max"` // sum over executions of the longest of each; nil: not known
	Dephasing     *uint64          `json:"dephasing"`            // that minus execution: imbalance that cancels over executions
	Overlap       numbers.Sum      `json:"overlap"`              // CPU time while a request is open

	Longest      numbers.Sum              `json:"-"` // largest time of a process between set-up and end
	IoProductive bool                     `json:"-"`
	asides       map[xtf.Item]numbers.Sum // by xtf.AsideItems
}

// Messages are the counts of point-to-point messages. A receive counts when it completes.
type Messages struct {
	Sent           uint64  `json:"sent"`
	Received       uint64  `json:"received"`
	BytesOut       uint64  `json:"bytes_out"`
	BytesIn        uint64  `json:"bytes_in"`
	UnmatchedSends *uint64 `json:"unmatched_sends"` // like the next field: nil if messages were not matched
	UnmatchedRecvs *uint64 `json:"unmatched_receives"`
	ClockViolation *uint64 `json:"clock_violations"`
}

// Collectives are the counts of calls of collective operations, one for each member.
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

// Item returns the distribution of an item. An item that the file does not have is 0 everywhere.
func (s *Summary) Item(i xtf.Item) *Spread { return s.Spreads.Item(i) }

// Summary reads the characteristics of the whole program, by the given rules.
func (r *Run) Summary(rules Rules) (*Summary, error) {
	s := &Summary{Resolution: r.Units().Resolution, Rule: string(rules.Rule()), Rows: r.Rows, Provenance: r.Provenance}
	root, err := ProgramOf(r)
	if err == nil && root == nil {
		err = r.Failed(xtf.WholeRun, programPart, ErrNoResult)
	}
	if err != nil {
		return nil, err
	}
	s.First, s.Last, s.Processors = root.FirstBegin, root.LastEnd, uint64(root.Participants)
	if s.Spreads, err = r.NodeStats(0, s.Processors); err != nil {
		return nil, err
	}
	codes, err := r.Codes()
	if err != nil {
		return nil, err
	}
	if s.Devices, err = r.Devices(nil); err != nil {
		return nil, err
	}
	n, err := wholeProgram(r, s, root, rules)
	if err != nil {
		return nil, r.Failed(xtf.WholeRun, programPart, err)
	}
	s.Ticks = n.Ticks(rules)
	s.Processors = n.count(rules)
	s.Efficiency, s.Speedup = s.Ticks.efficiency()
	s.POP = n.Pop()
	if x := s.Devices; x != nil && len(x.List) > 0 {
		to := [...]*numbers.Ratio{&x.Efficiency, &x.LoadBalance, &x.Communication, &x.Orchestration}
		for k, e := range x.Efficiencies(s.POP.Runtime) {
			*to[k] = numbers.Quotient(e[0], e[1])
		}
	}
	s.setCounts(codes)
	id := r.File.FileID()
	s.File = FileInfo{Bytes: r.Size, ID: hex.EncodeToString(id[:])}
	return s, nil
}

// programPart is the name of the row of the whole program in messages.
const programPart = "the whole program's interval"

// ProgramOf reads the row of the whole program, nil where there is none.
func ProgramOf(r *Run) (root *xtf.Interval, err error) {
	err = Load(r, xtf.WholeRun, func(x *xtf.Interval) {
		if x.Key == 0 {
			root = new(*x)
		}
	})
	return root, r.Failed(xtf.WholeRun, programPart, err)
}

// wholeProgram returns the base of the characteristics of node 0.
func wholeProgram(r *Run, s *Summary, root *xtf.Interval, rules Rules) (*Measured, error) {
	n := &Measured{
		rules: rules, Spreads: s.Spreads, Participants: s.Processors, processes: uint64(len(r.Defs.Processes())), rows: s.Rows, single: true,
		sumMax: s.Item(xtf.ItemTime).Max, span: root.LastEnd - min(root.FirstBegin, root.LastEnd), Useful: s.Item(xtf.ItemCPU).Max, ideal: numbers.NotKnown,
	}
	if n.Spreads.Has(xtf.ItemIdeal) {
		n.setIdeal()
	}
	for rank := range r.Defs.Processes() {
		n.addWork(s.Devices, uint32(rank), 0)
	}
	if !rules.processes() && !rules.several(n.Spreads) {
		return n, nil
	}
	n.Useful = 0
	first := true
	for rank, p := range r.Defs.Processes() {
		x, err := r.ProcessItems(uint32(rank), p)
		if err != nil {
			return nil, err
		}
		if x.Took(0) {
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

// SpreadTable lists the components of processes that are not 0: their sum, mean, least and largest value.
func SpreadTable(b *table.Book, head, title string, s Spreads, list []ComponentLine, total numbers.Sum, name func(xtf.Item) string) *table.Table {
	u := b.Unit
	t := &table.Table{Title: title, Kind: "component", Columns: []table.Column{
		table.Words(head, "name"), table.Ints(table.Of(u, "sum"), "sum"), table.Reals("of total", "share"), table.Reals("mean", "mean"),
		table.Ints("min", "min"), table.Ranks("rank", "min_rank"), table.Ints("max", "max"), table.Ranks("rank", "max_rank"), table.Reals("std dev", "deviation"),
	}}
	for _, x := range list {
		i := s.Item(x.Item)
		if i.Sum == 0 {
			continue
		}
		label, of := table.Named(name(x.Item), x.Item.String()), table.None()
		label.Level = x.Level
		if total != numbers.NotKnown && !IsCount(x.Item) && x.Item != xtf.ItemSendRecv { // spans of messages overlap, so they are not a share of anything
			of = table.Share(numbers.Quotient(i.Sum, total))
		}
		if IsCount(x.Item) {
			mean := func(r numbers.Ratio) table.Cell { return table.Named(r.Mean(), r.Csv()) }
			t.Add(label, table.Named(i.Sum.Count(), i.Sum.JSON()), of, mean(i.Mean), table.Number(i.Min), table.AtRank(i.MinP), table.Number(i.Max), table.AtRank(i.MaxP), mean(i.Deviation))
			continue
		}
		t.Add(label, table.Ticks(u, i.Sum), of, table.Mean(u, i.Mean), table.Time(u, i.Min), table.AtRank(i.MinP), table.Time(u, i.Max), table.AtRank(i.MaxP), table.Mean(u, i.Deviation))
	}
	return t
}

// Productive says how much MPI time counts as productive.
type Productive string

// Rules of productive MPI time. The model says that "the MPI time of one processor is productive", and leaves open which one.
const (
	ProductiveMean  Productive = "mean" // of all processes: each keeps 1/P of its own
	ProductiveMin   Productive = "min"
	ProductiveMax   Productive = "max"
	ProductiveRank0 Productive = "rank0"
	ProductiveNone  Productive = "none"
)

// Productives are the rules.
var Productives = []Productive{ProductiveMean, ProductiveMin, ProductiveMax, ProductiveRank0, ProductiveNone}

// Rules are choices that decide numbers of an interval. The zero value is the usual choice.
type Rules struct {
	Productive   Productive // "" is the mean
	AllProcesses bool       // every process counts, with no time if it did not execute the interval
	Init         bool       // MPI_Init and MPI_Finalize are MPI like all other calls; else they have a line of their own, and are not lost
	IO           bool       // I/O outside MPI is productive
}

// processes reports whether the rules need the values of each process, not only sums.
func (x Rules) processes() bool {
	return slices.Contains([]Productive{ProductiveMin, ProductiveMax, ProductiveRank0}, x.Rule())
}

// Rule returns the rule of productive MPI time.
func (x Rules) Rule() Productive { return cmp.Or(x.Productive, ProductiveMean) }

// useful returns the components that are useful time.
func (x Rules) useful() []xtf.Item {
	list := append([]xtf.Item{xtf.ItemCPU}, deviceItems[:]...)
	if x.IO {
		list = append(list, xtf.ItemIO)
	}
	return list
}

// several reports whether useful time is the sum of several components. Then the whole run's rows do not have its largest value.
func (x Rules) several(s Spreads) bool {
	return slices.ContainsFunc(x.useful()[1:], s.Has)
}

// Measured is the base of the characteristics of one interval.
type Measured struct {
	Spreads      Spreads // over the participants
	Participants uint64
	processes    uint64 // of the run, or chosen
	rules        Rules  // that define useful and measured time
	Useful       uint64 // largest useful time of a process
	mpiTimes
	rows   bool        // messages and collectives were matched
	part   bool        // of a span of time: values without running totals are not known
	single bool        // every process executed it at most once
	span   uint64      // first begin to last end
	sumMax uint64      // xtf.Never: not known
	ideal  numbers.Sum // notKnown where it is not
	approx bool        // ideal is an approximation
	work   [len(deviceItems)]numbers.Sum
}

// Sum returns the sum of an item over the participants.
func (m *Measured) Sum(i xtf.Item) numbers.Sum { return m.Spreads.Item(i).Sum }

// hasSetup reports whether set-up and end are left out of what is measured.
func (m *Measured) hasSetup() bool { return !m.rules.Init && m.Spreads.Has(xtf.ItemSetup) }

// execution returns the largest time of a process between set-up and end.
func (m *Measured) execution() uint64 {
	if m.hasSetup() {
		return m.Spreads.Item(xtf.ItemMeasured).Max
	}
	return m.Spreads.Item(xtf.ItemTime).Max
}

// setup returns the sum of set-up and end, if they are left out.
func (m *Measured) setup() numbers.Sum {
	if m.hasSetup() {
		return m.Sum(xtf.ItemSetup)
	}
	return 0
}

// UsefulSum returns the useful time of all processes.
func (m *Measured) UsefulSum() numbers.Sum {
	sum := numbers.Sum(0)
	for _, i := range m.rules.useful() {
		sum = numbers.Add(sum, m.Sum(i))
	}
	return sum
}

// visit takes the values of a process that the rules need.
func (m *Measured) visit(x *ProcessItems, n uint32, first bool) {
	m.mpiTimes.visit(x.Rank, x.At(n, xtf.ItemMPI), x.At(n, xtf.ItemSetup), m.rules, first)
	m.Useful = max(m.Useful, x.Useful(n, m.rules))
}

// mpiTimes are MPI times of processes without set-up, as far as the rules need them.
type mpiTimes struct{ least, most, rank0 uint64 }

// visit takes those of a process.
func (m *mpiTimes) visit(rank uint32, mpi, setup uint64, rules Rules, first bool) {
	if !rules.Init {
		mpi -= min(mpi, setup)
	}
	if first || mpi < m.least {
		m.least = mpi
	}
	m.most = max(m.most, mpi)
	if rank == 0 {
		m.rank0 = mpi
	}
}

// count returns the number of processors by the rules.
func (m *Measured) count(rules Rules) uint64 {
	if rules.AllProcesses {
		return max(m.processes, m.Participants)
	}
	return m.Participants
}

// Ticks computes the characteristics, exactly.
func (m *Measured) Ticks(rules Rules) Ticks {
	p := m.count(rules)
	t := Ticks{Execution: m.Spreads.Item(xtf.ItemTime).Max, Runtime: m.span}
	t.Total = numbers.Times(numbers.Integer(t.Execution), p)
	t.Measured = numbers.Times(numbers.Integer(m.execution()), p)
	t.Longest = numbers.Integer(m.execution())
	t.Setup = numbers.Sub(t.Total, t.Measured)
	t.DeviceCall, t.DeviceWait, t.LockWait, t.Overhead = m.Sum(xtf.ItemDeviceCall), m.Sum(xtf.ItemDeviceWait), m.Sum(xtf.ItemLockWait), m.Sum(xtf.ItemOverhead)
	t.CPU, t.IO, t.MPI, t.Marker = m.Sum(xtf.ItemCPU), m.Sum(xtf.ItemIO), m.Sum(xtf.ItemMPI), m.Sum(xtf.ItemMarker)
	t.P2P, t.CollectiveAll, t.AllToAll, t.Barrier = m.Sum(xtf.ItemP2P), m.Sum(xtf.ItemColl), m.Sum(xtf.ItemNxN), m.Sum(xtf.ItemBarrier)
	t.FileIO, t.RMA, t.Management, t.Comm = m.Sum(xtf.ItemFileIO), m.Sum(xtf.ItemRMA), m.Sum(xtf.ItemManagement), m.Sum(xtf.ItemComm)
	t.Start = m.Sum(xtf.ItemStart)
	t.SendRecv, t.PotentialSync, t.Variation = numbers.NotKnown, numbers.NotKnown, numbers.NotKnown
	if m.rows {
		t.SendRecv, t.PotentialSync, t.Variation = m.Sum(xtf.ItemSendRecv), m.Sum(xtf.ItemPotentialSync), m.Sum(xtf.ItemVariation)
	}
	t.Overlap = numbers.NotKnown
	if m.rows && !m.part {
		t.Overlap = m.Sum(xtf.ItemOverlap)
	}
	if m.sumMax != xtf.Never && m.sumMax >= t.Execution {
		t.SumOfMax, t.Dephasing = new(m.sumMax), new(m.sumMax-t.Execution)
	}
	t.Idle = numbers.Sub(t.Measured, numbers.Sub(m.Sum(xtf.ItemTime), m.setup()))
	t.LoadImbalance = numbers.Sub(numbers.Times(numbers.Integer(m.Spreads.Item(xtf.ItemCPU).Max), p), t.CPU)
	t.IoProductive, t.asides = m.rules.IO, map[xtf.Item]numbers.Sum{}
	for _, i := range xtf.AsideItems {
		t.asides[i] = m.Sum(i)
	}
	for k, i := range deviceItems {
		work := min(m.work[k], m.Sum(i))
		t.asides[i] = numbers.Sub(t.asides[i], work)
		t.DeviceWork = numbers.Add(t.DeviceWork, work)
	}
	t.setProductive(numbers.Sub(t.MPI, m.setup()), m.productive(rules))
	return t
}

// productive returns the MPI time that counts as productive.
func (m *Measured) productive(rules Rules) numbers.Fraction {
	switch rules.Rule() {
	case ProductiveMin:
		if m.count(rules) > m.Participants {
			return numbers.Whole(0)
		}
		return numbers.Whole(numbers.Integer(m.least))
	case ProductiveMax:
		return numbers.Whole(numbers.Integer(m.most))
	case ProductiveRank0:
		return numbers.Whole(numbers.Integer(m.rank0))
	case ProductiveNone:
		return numbers.Whole(0)
	}
	return numbers.Divide(numbers.Sub(m.Sum(xtf.ItemMPI), m.setup()), numbers.Integer(max(m.count(rules), 1)))
}

// Loss is a part of the lost time.
type Loss struct {
	Name, Note string
	Ticks      numbers.Sum
	Device     bool // in calls of a device's runtime
}

// lossNotes explain losses.
var lossNotes = map[xtf.Item]string{
	xtf.ItemDeviceWait: "the host waits for a device", xtf.ItemDeviceCall: "launches, transfers, memory of a device",
	xtf.ItemOverhead: "flushes, and where the measurement was off",
}

// Losses lists the parts of the lost time other than MPI.
func (t *Ticks) Losses() []Loss {
	var list []Loss
	for _, i := range OtherAsides(xtf.ItemMPI, xtf.ItemMarker) {
		if i != xtf.ItemIO || !t.IoProductive {
			list = append(list, Loss{ItemWord(i), lossNotes[i], t.asides[i], slices.Contains(deviceItems[:], i)})
		}
	}
	list = append(list, Loss{Name: "idle", Note: "processes that began late or ended early", Ticks: t.Idle}, Loss{Name: ItemWord(xtf.ItemMarker), Ticks: t.Marker})
	return list
}

// setProductive splits measured time into productive and lost time. all is its MPI time, mpi the productive part of that.
func (t *Ticks) setProductive(all numbers.Sum, mpi numbers.Fraction) {
	useful, lost := numbers.Add(t.CPU, t.DeviceWork), numbers.Sum(0)
	if t.IoProductive {
		useful = numbers.Add(useful, t.IO)
	}
	for _, x := range t.Losses() {
		lost = numbers.Add(lost, x.Ticks)
	}
	t.MPIProductive = mpi
	t.MPILost = numbers.Whole(all).Minus(mpi)
	t.Productive = mpi.Plus(numbers.Whole(useful))
	t.Lost = t.MPILost.Plus(numbers.Whole(lost))
}

// exactEfficiency returns the productive share of measured time, 1 for an empty interval.
func (t *Ticks) exactEfficiency() numbers.Fraction {
	if t.Measured == 0 {
		return numbers.Whole(1)
	}
	return t.Productive.Div(uint64(max(t.Measured, 0)))
}

// efficiency returns that share as a quotient, undefined for an empty interval, and the estimated speed-up.
func (t *Ticks) efficiency() (efficiency, speedup numbers.Ratio) {
	return numbers.Part(t.Productive, t.Measured), numbers.Part(t.Productive, t.Longest)
}

// EfficiencyText prints the efficiency with 6 decimals, half away from zero.
func (t *Ticks) EfficiencyText() string { return t.exactEfficiency().Fixed(6) }

// runtime returns the divisor of POP's efficiencies. For an interval that was executed once it is the time from its first begin
// to its last end, for a repeated one the longest sum. If set-up is left out, it is the longest time between set-up and end:
// processes that begin one after the other meet in set-up.
func (m *Measured) runtime() numbers.Sum {
	if m.single && !m.hasSetup() {
		return numbers.Integer(m.span)
	}
	return numbers.Integer(m.execution())
}

// POP are the efficiencies of POP. With useful time U (CPU; by the rules also I/O outside MPI), its mean u and largest value U*,
// runtime R and runtime on an ideal network I:
//
//	multiplicative   load balance u/U*, serialisation U*/I, transfer I/R,
//	                 communication U*/R = serialisation * transfer, process u/R = load balance * communication
//	additive         1 - loss/R, with the losses U*-u, I-U* and R-I; process = 1 - all three
//
// Parallel is process times the efficiency of threads, if there are several.
type POP struct {
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Communication numbers.Ratio `json:"communication"`
	Parallel      numbers.Ratio `json:"parallel"` // process x threads
	Process       numbers.Ratio `json:"process"`
	IO            numbers.Ratio `json:"io"`               // CPU / (CPU + I/O); not defined without I/O
	IOBalance     numbers.Ratio `json:"io_balance"`       // mean / largest I/O of a process; not defined without I/O
	Unburdened    numbers.Ratio `json:"without_overhead"` // process, of the time without measurement overhead; not defined without overhead
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
	Offload       numbers.Ratio `json:"device_offload"` // useful time outside of calls of a device's runtime / useful time; not defined without such calls
	Host          numbers.Ratio `json:"host"`           // parallel x device offload; not defined without such calls
	Additive      Losses        `json:"additive"`
	Approximate   bool          `json:"approximate,omitempty"` // the ideal runtime is estimated from waits, not replayed

	Runtime numbers.Sum `json:"runtime"` // R in ticks
	Ideal   numbers.Sum `json:"ideal"`   // null: not known
	Largest uint64      `json:"largest_useful"`
	Useful  numbers.Sum `json:"useful"` // sum

	Threads *ThreadPOP `json:"threads,omitempty"` // of processes with several threads

	Participants uint64           `json:"-"`
	parallel     numbers.Fraction // the exact value
}

// Losses are the additive efficiencies.
type Losses struct {
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Serialisation numbers.Ratio `json:"serialisation"`
	Transfer      numbers.Ratio `json:"transfer"`
	Communication numbers.Ratio `json:"communication"`
}

// Pop computes the efficiencies.
func (m *Measured) Pop() POP {
	r := m.runtime()
	x := POP{Runtime: r, Ideal: m.ideal, Approximate: m.approx && m.ideal != numbers.NotKnown, Largest: m.Useful, Participants: m.Participants}
	x.Useful = m.UsefulSum()
	most := numbers.Integer(m.Useful)
	all := numbers.Times(r, m.Participants)
	x.Process = numbers.Quotient(x.Useful, all)
	left := m.threadTimes()
	if left != nil {
		x.Threads = &ThreadPOP{numbers.Quotient(left[3], left[0]), numbers.Quotient(left[1], left[0]), numbers.Quotient(left[2], left[1]), numbers.Quotient(left[3], left[2])}
	}
	hybrid := func(useful numbers.Sum) numbers.Fraction {
		if left == nil {
			return numbers.Divide(useful, all)
		}
		return numbers.Divide(useful, all).Over(numbers.Divide(left[0], left[3]))
	}
	x.parallel = hybrid(x.Useful)
	x.Parallel = numbers.Nearest(x.parallel)
	if device := numbers.Add(m.Sum(xtf.ItemDeviceCall), m.Sum(xtf.ItemDeviceWait)); device > 0 {
		own := numbers.Sub(x.Useful, device)
		x.Offload, x.Host = numbers.Quotient(own, x.Useful), numbers.Nearest(hybrid(own))
	}
	if io := m.Sum(xtf.ItemIO); io > 0 {
		x.IO = numbers.Quotient(m.Sum(xtf.ItemCPU), numbers.Add(m.Sum(xtf.ItemCPU), io))
		x.IOBalance = numbers.Quotient(io, numbers.Times(numbers.Integer(m.Spreads.Item(xtf.ItemIO).Max), m.Participants))
	}
	if overhead := m.Sum(xtf.ItemOverhead); overhead > 0 {
		x.Unburdened = numbers.Quotient(x.Useful, numbers.Sub(all, overhead))
	}
	x.LoadBalance = numbers.Quotient(x.Useful, numbers.Times(most, m.Participants))
	x.Communication = numbers.Quotient(most, r)
	// 1 - (U* - u)/R = (P (R - U*) + sum U) / (P R)
	x.Additive.LoadBalance = numbers.Quotient(numbers.Add(numbers.Sub(all, numbers.Times(most, m.Participants)), x.Useful), all)
	x.Additive.Communication = x.Communication
	if m.ideal == numbers.NotKnown {
		return x
	}
	if m.hasSetup() { // a process may compute before the last one has begun
		x.Ideal = min(max(x.Ideal, most), r)
	}
	x.Serialisation = numbers.Quotient(most, x.Ideal)
	x.Transfer = numbers.Quotient(x.Ideal, r)
	x.Additive.Serialisation = numbers.Quotient(numbers.Add(numbers.Sub(r, x.Ideal), most), r)
	x.Additive.Transfer = x.Transfer
	return x
}

// setIdeal takes the runtime of the replay on an ideal network, if the run has one.
func (m *Measured) setIdeal() {
	first, last := m.Spreads.Item(xtf.ItemIdealFirst), m.Spreads.Item(xtf.ItemIdealLast)
	if !m.single {
		m.ideal = numbers.Integer(m.Spreads.Item(xtf.ItemIdeal).Max)
		return
	}
	begin := first.Min
	if m.hasSetup() {
		begin = first.Max // set-up takes no time in the replay: it is over when the last process has begun
	}
	m.ideal = numbers.Integer(last.Max - min(begin, last.Max))
}

// estimate returns the ideal time of a process in a run without replay: its time without MPI time that is not waiting.
func (x *ProcessItems) estimate(n uint32) uint64 {
	wait := uint64(0)
	for _, i := range WaitItems {
		wait += x.At(n, i)
	}
	mpi := x.At(n, xtf.ItemMPI)
	return x.At(n, xtf.ItemTime) - min(x.At(n, xtf.ItemTime), mpi-min(mpi, wait))
}

// ThreadPOP is the efficiencies of the threads of processes with several threads, over the time of all threads outside MPI.
// OpenMP is the product of the other three.
type ThreadPOP struct {
	OpenMP     numbers.Ratio `json:"openmp"`
	Serial     numbers.Ratio `json:"serial"`       // without idle time outside of parallel regions
	Balance    numbers.Ratio `json:"load_balance"` // of that, without waits for the busiest thread of parallel regions
	Scheduling numbers.Ratio `json:"scheduling"`   // of that, without idle time of the busiest thread
}

// threadTimes returns the time of all threads, and what remains after each loss in turn; nil without threads.
func (m *Measured) threadTimes() []numbers.Sum {
	all := m.Sum(xtf.ItemThreadTime)
	if all <= 0 {
		return nil
	}
	left := []numbers.Sum{all}
	for _, i := range []xtf.Item{xtf.ItemThreadSerial, xtf.ItemThreadImbalance, xtf.ItemThreadScheduling} {
		left = append(left, numbers.Sub(left[len(left)-1], m.Sum(i)))
	}
	return left
}
