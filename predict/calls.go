package predict

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// CallNodes returns the calls of a process in order, as nodes of the program: 4 bytes a call.
func (in *Input) CallNodes(process uint32) ([]simnet.NodeID, error) {
	calls := in.Calls(process)
	if calls >= math.MaxInt32 {
		return nil, fmt.Errorf("process %d: %d calls are too many to be replaced", process, calls)
	}
	list := make([]simnet.NodeID, 0, calls)
	r := newRope(in.Program, in.Program.Roots[process])
	for c, ok := r.next(); ok; c, ok = r.next() {
		list = append(list, c)
	}
	return list, nil
}

// Function returns the name of the MPI function of a call.
func (in *Input) Function(node simnet.NodeID) string {
	if r := in.Defs.Region(in.Region[node]); r != nil {
		if name := in.Defs.Text(r.Name); name != "" {
			return name
		}
		return fmt.Sprintf("region %d", r.Ref)
	}
	return "an operation outside of calls"
}

// Functions returns a number for the function of each call, and the names by number.
func (in *Input) Functions(calls []simnet.NodeID) (numbers []uint32, names []string) {
	known := map[uint32]uint32{} // by region
	numbers = make([]uint32, len(calls))
	for i, c := range calls {
		k, ok := known[in.Region[c]]
		if !ok {
			k = uint32(len(names))
			known[in.Region[c]] = k
			names = append(names, in.Function(c))
		}
		numbers[i] = k
	}
	return numbers, names
}

// Span returns the times of the first and the last event of a process; false if it has none.
func (in *Input) Span(process uint32) (first, last trace.Time, ok bool, err error) {
	l, err := in.Location(in.processes[process].First)
	if err != nil || l.Events() == 0 {
		return 0, 0, false, err
	}
	return l.First(), lastTime(l), true, nil
}

// Picoseconds converts a difference of times of the run, rounded down; false if that is 2^63 ps or more.
func (in *Input) Picoseconds(ticks trace.Time) (int64, bool) {
	return in.Tick().of(uint64(ticks))
}

// Tick is the length of a tick of the run, in ps.
func (in *Input) Tick() Scale {
	return Scale{picosecondClock, max(in.Defs.Clock().TimerResolution, 1)}
}

// Delayed is the computation of processes that begin at different times, entry 0 takes as much longer, and whose calls take time
// that is not simulated: it goes to the entry before each.
type Delayed struct {
	simnet.Calc
	First uint32
	Delay []int64     // ps, of process First and those after it
	Kept  simnet.Calc // of calls, see [Vectors.Kept]
}

// Fill implements [simnet.Calc].
func (d *Delayed) Fill(process uint32, first uint64, dst []int64) error {
	if err := d.Calc.Fill(process, first, dst); err != nil {
		return err
	}
	var buf [256]int64
	for i := 0; i < len(dst); i += len(buf) {
		part := dst[i:min(i+len(buf), len(dst))]
		if err := d.Kept.Fill(process, first+uint64(i), buf[:len(part)]); err != nil {
			return err
		}
		for k, t := range buf[:len(part)] {
			if part[k] += t; part[k] < 0 {
				return fmt.Errorf("process %d: entry %d: %w", process, first+uint64(i+k), ErrTooLong)
			}
		}
	}
	if first == 0 && len(dst) > 0 {
		if dst[0] += d.Delay[process-d.First]; dst[0] < 0 {
			return fmt.Errorf("process %d: %w", process, ErrTooLong)
		}
	}
	return nil
}

// Alike returns the processes that call the same in the same order: ascending lists in the order of their first members.
// Collective.
func (in *Input) Alike(c mpi.Comm) ([][]uint32, error) { return in.group(c, in.keys, in.sequences) }
