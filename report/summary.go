package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

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
	Total         *big.Int `json:"total"`
	Productive    Fraction `json:"productive"`
	Lost          Fraction `json:"lost"`
	CPU           *big.Int `json:"cpu"`
	IO            *big.Int `json:"io"`
	MPI           *big.Int `json:"mpi"`
	MPIProductive Fraction `json:"mpi_productive"`
	MPILost       Fraction `json:"mpi_lost"`
	Idle          *big.Int `json:"idle"`
	Marker        *big.Int `json:"marker"`
	P2P           *big.Int `json:"p2p"`
	CollectiveAll *big.Int `json:"collective_all"`
	AllToAll      *big.Int `json:"all_to_all"`
	Barrier       *big.Int `json:"barrier"`
	FileIO        *big.Int `json:"mpi_io"`
	RMA           *big.Int `json:"rma"`
	Management    *big.Int `json:"mgmt"`
	Comm          *big.Int `json:"comm"`
	Start         *big.Int `json:"t_start"`
	SendRecv      *big.Int `json:"send_recv"`
	PotentialSync *big.Int `json:"potent_sync"`
	Variation     *big.Int `json:"time_variation"`
	LoadImbalance *big.Int `json:"load_imbalance"`
}

// POP are the multiplicative efficiencies: parallel = load balance times
// communication. Serialisation and transfer need a replay.
type POP struct {
	LoadBalance   Ratio `json:"load_balance"`
	Communication Ratio `json:"communication"`
	Parallel      Ratio `json:"parallel"`
	Serialisation Ratio `json:"serialisation"`
	Transfer      Ratio `json:"transfer"`
}

// Messages are the counts of point-to-point messages. A receive counts when it
// completes.
type Messages struct {
	Sent           *big.Int `json:"sent"`
	Received       *big.Int `json:"received"`
	BytesOut       *big.Int `json:"bytes_out"`
	BytesIn        *big.Int `json:"bytes_in"`
	UnmatchedSends *uint64  `json:"unmatched_sends"` // this and the next: nil if messages were not matched
	UnmatchedRecvs *uint64  `json:"unmatched_receives"`
	ClockViolation *uint64  `json:"clock_violations"`
}

// Collectives are the counts of calls of collective operations, one for each
// member.
type Collectives struct {
	Calls    *big.Int `json:"calls"`
	BytesOut *big.Int `json:"bytes_out"`
	BytesIn  *big.Int `json:"bytes_in"`
}

// FileInfo describes the file.
type FileInfo struct {
	Bytes int64  `json:"bytes"`
	ID    string `json:"id"`
}

// Spread is the distribution of an item over the processes.
type Spread struct {
	Item      xtf.Item
	Sum       *big.Int
	Min, Max  uint64
	MinP      uint32 // the lowest process with the least value
	MaxP      uint32
	Mean      Ratio
	Deviation Ratio // population standard deviation
}

// Spreads are listed by ascending item.
type Spreads []Spread

// MarshalJSON writes an object with the items' names as keys, in their order.
func (s Spreads) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range s {
		x := &s[i]
		v, err := json.Marshal(struct {
			Sum    *big.Int  `json:"sum"`
			Min    [2]uint64 `json:"min"`
			Max    [2]uint64 `json:"max"`
			Mean   Ratio     `json:"mean"`
			StdDev Ratio     `json:"stddev"`
		}{x.Sum, [2]uint64{x.Min, uint64(x.MinP)}, [2]uint64{x.Max, uint64(x.MaxP)}, x.Mean, x.Deviation})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", x.Item, v)
	}
	return append(b, '}'), nil
}

// Item returns the distribution of an item; an item that the file does not have
// is 0 everywhere.
func (s *Summary) Item(i xtf.Item) *Spread {
	for k := range s.Spreads {
		if s.Spreads[k].Item == i {
			return &s.Spreads[k]
		}
	}
	return &Spread{Item: i, Sum: new(big.Int)}
}

// Summary reads the characteristics of the whole program.
func (r *Run) Summary() (*Summary, error) {
	s := &Summary{Resolution: r.Defs.Clock().TimerResolution, Rule: "mean"}
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
	if err := r.rows(xtf.WholeRun, xtf.TypeStat, s.addStat); err != nil {
		return nil, fmt.Errorf("%s: sums over processes: %w", r.Name, err)
	}
	codes, err := r.Codes()
	if err != nil {
		return nil, err
	}
	if s.Rows, err = r.HasRows(); err != nil {
		return nil, err
	}
	s.setTicks()
	s.setCounts(codes)
	most := s.Item(xtf.ItemCPU).Max
	if s.Ticks.IO.Sign() > 0 {
		if most, err = r.mostUseful(); err != nil {
			return nil, err
		}
	}
	s.setPOP(most)
	id := r.File.FileID()
	s.File = FileInfo{Bytes: r.Size, ID: hex.EncodeToString(id[:])}
	s.Provenance, err = r.Provenance()
	return s, err
}

// addStat takes a row of node 0.
func (s *Summary) addStat(row []byte) {
	var x xtf.Stat
	x.Load(row)
	item := xtf.Item(uint32(x.Key))
	if x.Key>>32 != 0 || item >= xtf.NumItems {
		return
	}
	p := integer(s.Processors)
	sum, squares := words(x.Sum0, x.Sum1), words(x.Square0, x.Square1, x.Square2)
	d := Spread{Item: item, Sum: sum, Min: x.Min, Max: x.Max, MinP: x.MinP, MaxP: x.MaxP, Mean: ratio(sum, p)}
	// variance = (P * sum of squares - sum * sum) / (P * P)
	variance := ratio(sub(new(big.Int).Mul(p, squares), new(big.Int).Mul(sum, sum)), new(big.Int).Mul(p, p))
	d.Deviation = Ratio{math.Sqrt(max(variance.Value, 0)), variance.Defined}
	s.Spreads = append(s.Spreads, d)
}

// setTicks computes the characteristics from the sums.
func (s *Summary) setTicks() {
	sum := func(i xtf.Item) *big.Int { return s.Item(i).Sum }
	p := s.Processors
	t := &s.Ticks
	t.Execution = s.Item(xtf.ItemTime).Max
	t.Runtime = s.Last - min(s.First, s.Last)
	t.Total = times(integer(t.Execution), p)
	t.CPU, t.IO, t.MPI, t.Marker = sum(xtf.ItemCPU), sum(xtf.ItemIO), sum(xtf.ItemMPI), sum(xtf.ItemMarker)
	t.P2P, t.CollectiveAll, t.AllToAll, t.Barrier = sum(xtf.ItemP2P), sum(xtf.ItemColl), sum(xtf.ItemNxN), sum(xtf.ItemBarrier)
	t.FileIO, t.RMA, t.Management, t.Comm = sum(xtf.ItemFileIO), sum(xtf.ItemRMA), sum(xtf.ItemManagement), sum(xtf.ItemComm)
	t.Start, t.SendRecv, t.PotentialSync, t.Variation = sum(xtf.ItemStart), sum(xtf.ItemSendRecv), sum(xtf.ItemPotentialSync), sum(xtf.ItemVariation)
	if !s.Rows {
		t.SendRecv, t.PotentialSync, t.Variation = nil, nil, nil
	}
	t.Idle = sub(t.Total, sum(xtf.ItemTime))
	t.LoadImbalance = sub(times(integer(s.Item(xtf.ItemCPU).Max), p), t.CPU)
	// MPI_productive = MPI / P: every process keeps 1/P of its own MPI time
	den := integer(max(p, 1))
	t.MPIProductive = Fraction{t.MPI, den}
	t.MPILost = Fraction{sub(times(t.MPI, max(p, 1)), t.MPI), den}
	t.Productive = Fraction{add(times(add(t.CPU, t.IO), max(p, 1)), t.MPI), den}
	t.Lost = Fraction{add(t.MPILost.Num, times(add(t.Idle, t.Marker), max(p, 1))), den}
	s.Efficiency = Ratio{1, true}
	if t.Total.Sign() > 0 {
		s.Efficiency = t.Productive.over(t.Total)
	}
	s.Speedup = t.Productive.over(integer(t.Execution))
}

// setPOP computes the efficiencies of useful time U = CPU + I/O over the
// runtime R; most is the largest U of a process.
func (s *Summary) setPOP(most uint64) {
	t := &s.Ticks
	p, r := integer(s.Processors), integer(t.Runtime)
	useful := add(t.CPU, t.IO)
	s.POP.Parallel = ratio(useful, new(big.Int).Mul(p, r))
	s.POP.LoadBalance = ratio(useful, times(p, most))
	s.POP.Communication = ratio(integer(most), r)
}

func (s *Summary) setCounts(codes []CodeTotal) {
	sum := func(i xtf.Item) *big.Int { return s.Item(i).Sum }
	s.Messages = Messages{
		Sent: sum(xtf.ItemSends), Received: sum(xtf.ItemReceives), BytesOut: sum(xtf.ItemBytesOut), BytesIn: sum(xtf.ItemBytesIn),
	}
	s.Collectives = Collectives{Calls: sum(xtf.ItemCollectives), BytesOut: sum(xtf.ItemCollOut), BytesIn: sum(xtf.ItemCollIn)}
	if s.Rows {
		m := &s.Messages
		m.UnmatchedSends, m.UnmatchedRecvs, m.ClockViolation = new(uint64), new(uint64), new(uint64)
	}
	for _, c := range codes {
		n := map[trace.Code]*uint64{
			trace.DiagUnmatchedSend: s.Messages.UnmatchedSends, trace.DiagUnmatchedRecv: s.Messages.UnmatchedRecvs, trace.DiagClockViolation: s.Messages.ClockViolation,
		}[c.Code]
		if n != nil {
			*n = c.Count
		}
		s.Partial = s.Partial || c.Code.Severity() == trace.Damage
	}
}
