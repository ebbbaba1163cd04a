package predict

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrTarget says that a file holds no computation vectors, or damaged ones.
var ErrTarget = errors.New("no table of computation vectors")

// ErrTooLong says that times do not fit 2^63 ps, 106 days.
var ErrTooLong = errors.New("a time of more than 106 days")

// Target is what was measured of the computation vector of one process, on another machine or in a replay.
type Target struct {
	Process uint32
	// Index tells which entry of the vector each time is, ascending; nil for a replay, whose times lie in program order
	// after MPI_Init.
	Index []uint64
	Times []int64 // ns
	// Function is, of a replay, the MPI function that ended each piece of computation, as an index into Names.
	Function []uint32
	Names    []string
	Totals   Totals
}

// Totals are the sums below the times of a replay, ns; 0 where it has none.
type Totals struct {
	Sum         int64
	Off         int64 // of the time that passed, when it was not on a processor
	Least, Most int64 // of the repetitions with the least and the most processor time
}

// Entries without a measured time.
const (
	notMeasured = -1
	kept        = -2 // as recorded, for every process
)

// Place puts the times into a vector of so many entries, in ps; entries without one are notMeasured. For a replay it needs the
// functions of the process's calls in the recorded run, by number into names: entry i lies before call i.
//
// A replay is joined to the run from both ends, as far as the functions agree: one that had fewer iterations has its first and
// last pieces in place. A function that the run never calls was not recorded there (MPI_Wtime, say): what it divides is one
// entry of the run.
func (t *Target) Place(entries uint64, calls []uint32, names []string) ([]int64, error) {
	if entries > math.MaxInt32 {
		return nil, fmt.Errorf("process %d: %d entries: %w", t.Process, entries, ErrTooLong)
	}
	v := make([]int64, entries)
	for i := range v {
		v[i] = notMeasured
	}
	if t.Index != nil {
		for k, i := range t.Index {
			if i >= entries {
				return nil, fmt.Errorf("process %d: entry %d of a vector that has %d: %w", t.Process, i, entries, ErrTarget)
			}
			v[i] = t.Times[k] * 1000
		}
		return v, nil
	}
	if uint64(len(calls))+1 != entries {
		return nil, fmt.Errorf("process %d: %d calls for %d entries", t.Process, len(calls), entries)
	}
	j := joining{v: v, calls: calls, times: t.Times, functions: t.numbers(names)}
	j.forward()
	j.backward()
	return v, nil
}

// unknownFunction is the number of a function that the run never calls.
const unknownFunction = math.MaxUint32

// numbers translates the functions of the target to those of the run.
func (t *Target) numbers(names []string) []uint32 {
	of := make(map[string]uint32, len(names))
	for i, n := range names {
		key := strings.ToLower(n)
		if _, ok := of[key]; !ok {
			of[key] = uint32(i)
		}
	}
	own := make([]uint32, len(t.Names))
	for i, n := range t.Names {
		own[i] = unknownFunction
		if k, ok := of[strings.ToLower(n)]; ok {
			own[i] = k
		}
	}
	list := make([]uint32, len(t.Function))
	for i, f := range t.Function {
		list[i] = own[f]
	}
	return list
}

// joining puts a replay's pieces to the entries of a run.
type joining struct {
	v         []int64
	calls     []uint32 // function of each call of the run
	times     []int64  // ns, of each piece
	functions []uint32 // that ended each piece
	piece     int      // pieces joined from the front
	call      int      // first call without a joined piece
}

// forward joins from the first call after MPI_Init.
func (j *joining) forward() {
	j.call = min(1, len(j.calls))
	var open int64 // ns of pieces that an unrecorded function ended
	for i := 0; i < len(j.times); i++ {
		if j.functions[i] == unknownFunction {
			open += j.times[i]
			continue
		}
		if j.call >= len(j.calls) || j.calls[j.call] != j.functions[i] {
			return
		}
		j.v[j.call] = (open + j.times[i]) * 1000
		open = 0
		j.call++
		j.piece = i + 1
	}
}

// backward joins from the last call, as far as nothing is joined.
func (j *joining) backward() {
	last := len(j.calls)
	for i := len(j.times) - 1; i >= j.piece; i-- {
		if j.functions[i] == unknownFunction {
			if last < len(j.calls) {
				j.v[last] += j.times[i] * 1000
			}
			continue
		}
		if last-1 < j.call || j.calls[last-1] != j.functions[i] {
			return
		}
		last--
		j.v[last] = j.times[i] * 1000
	}
}
