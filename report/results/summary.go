package results

import (
	"encoding/hex"
	"encoding/json"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
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
	Efficiency  numbers.Ratio   `json:"efficiency"`
	Speedup     numbers.Ratio   `json:"speedup_estimate"`
	POP         POP             `json:"pop"`
	Spreads     Spreads         `json:"stats"`
	Messages    Messages        `json:"messages"`
	Collectives Collectives     `json:"collectives"`
	File        FileInfo        `json:"file"`
	Provenance  json.RawMessage `json:"provenance"`
}

// Ticks are sums over processes but execution and runtime.
type Ticks struct {
	Execution     uint64           `json:"execution"` // longest process
	Runtime       uint64           `json:"runtime"`   // first event of all to last event of all
	Total         numbers.Sum      `json:"total"`
	Productive    numbers.Fraction `json:"productive"`
	Lost          numbers.Fraction `json:"lost"`
	Setup         numbers.Sum      `json:"setup"`    // what set-up and end take of the total; with Measured all of it
	Measured      numbers.Sum      `json:"measured"` // the total between set-up and end: productive and lost
	DeviceCall    numbers.Sum      `json:"device_call"`
	DeviceWait    numbers.Sum      `json:"device_wait"`
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
	SumOfMax      *uint64          `json:"execution_sum_of_max"` // sum over the executions of the longest of each; nil: not known
	Dephasing     *uint64          `json:"dephasing"`            // that minus execution: imbalance that cancels over executions
	Overlap       numbers.Sum      `json:"overlap"`              // CPU time while a request is open

	Longest      numbers.Sum              `json:"-"` // largest time of a process between set-up and end
	IoProductive bool                     `json:"-"`
	asides       map[xtf.Item]numbers.Sum // by xtf.AsideItems
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
func (s *Summary) Item(i xtf.Item) *Spread { return s.Spreads.Item(i) }

// Summary reads the characteristics of the whole program by some rules.
func (r *Run) Summary(rules Rules) (*Summary, error) {
	s := &Summary{Resolution: r.Units().Resolution, Rule: string(rules.Rule()), Rows: r.Rows, Provenance: r.Provenance}
	root, err := programOf(r)
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
	n, err := wholeProgram(r, s, root, rules)
	if err != nil {
		return nil, r.Failed(xtf.WholeRun, programPart, err)
	}
	s.Ticks = n.Ticks(rules)
	s.Processors = n.count(rules)
	s.Efficiency, s.Speedup = s.Ticks.efficiency()
	s.POP = n.Pop()
	s.setCounts(codes)
	id := r.File.FileID()
	s.File = FileInfo{Bytes: r.Size, ID: hex.EncodeToString(id[:])}
	return s, nil
}

// programPart is the row of the whole program, in messages.
const programPart = "the whole program's interval"

// programOf is that row, nil where there is none.
func programOf(r *Run) (root *xtf.Interval, err error) {
	err = Load(r, xtf.WholeRun, func(x *xtf.Interval) {
		if x.Key == 0 {
			root = new(*x)
		}
	})
	return root, r.Failed(xtf.WholeRun, programPart, err)
}

// wholeProgram is what the characteristics of node 0 are computed from.
func wholeProgram(r *Run, s *Summary, root *xtf.Interval, rules Rules) (*Measured, error) {
	n := &Measured{
		rules: rules, Spreads: s.Spreads, Participants: s.Processors, processes: uint64(len(r.Defs.Processes())), rows: s.Rows, single: true,
		sumMax: s.Item(xtf.ItemTime).Max, span: root.LastEnd - min(root.FirstBegin, root.LastEnd), Useful: s.Item(xtf.ItemCPU).Max, ideal: numbers.NotKnown,
	}
	if n.Spreads.Has(xtf.ItemIdeal) {
		n.setIdeal()
	}
	if !rules.processes() && (!rules.IO || s.Item(xtf.ItemIO).Max == 0) {
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

// SpreadTable is a table of what processes have of components that are not 0: their sum, mean, least and largest value.
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
		if total != numbers.NotKnown && !IsCount(x.Item) && x.Item != xtf.ItemSendRecv { // spans of messages overlap and are no share of anything
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
