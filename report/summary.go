package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

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
	err := r.rows(xtf.WholeRun, xtf.TypeInterval, func(row []byte) {
		if x := xtf.U64(row, 0); x == 0 {
			root.Load(row)
			found = true
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
