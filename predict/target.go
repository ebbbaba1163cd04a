package predict

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrTarget says that a file does not have valid computation vectors.
var ErrTarget = errors.New("no table of computation vectors")

// ErrTooLong says that a time does not fit 2^63 ps, 106 days.
var ErrTooLong = errors.New("a time of more than 106 days")

// Target is the measured computation vector of one process, from another machine or a replay.
type Target struct {
	Process uint32
	// Index is the entry of the vector for each time, ascending; nil for a replay, whose times are in program order after MPI_Init.
	Index []uint64
	Times []int64 // ns
	// Function is, for a replay, the MPI function that ended each piece of computation, as index into Names.
	Function []uint32
	Names    []string
	Totals   Totals
}

// Totals are the sums after the times of a replay, in ns; 0 if it has none.
type Totals struct {
	Sum         int64
	Off         int64 // elapsed time off the processor
	Least, Most int64 // processor time of the repetitions with the least and the most
}

// Values of entries without a measured time.
const (
	notMeasured = -1
	kept        = -2 // keep the recorded time, for every process
)

// Place returns a vector of entries with the times in ps; entries without a time are notMeasured. For a replay it needs the function of
// each call of the process in the recorded run (calls, as index into names): entry i precedes call i.
//
// It matches a replay with the run from both ends, as far as the functions agree: of a replay with fewer iterations, the first and the last
// pieces find their places. A function that the run never calls (for example MPI_Wtime) was not recorded; pieces that it separates are one
// entry.
func (t *Target) Place(entries uint64, calls []uint32, names []string) ([]int64, error) {
	if entries > math.MaxInt32 {
		return nil, fmt.Errorf("process %d: %d entries: %w", t.Process, entries, ErrTooLong)
	}
	v := slices.Repeat([]int64{notMeasured}, int(entries))
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

// numbers converts the functions of the target to those of the run.
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

// joining matches a replay's pieces with the entries of a run.
type joining struct {
	v         []int64
	calls     []uint32 // function of each call of the run
	times     []int64  // ns, of each piece
	functions []uint32 // function that ended each piece
	piece     int      // pieces matched from the front
	call      int      // first call without a matched piece
}

// forward matches from the first call after MPI_Init.
func (j *joining) forward() {
	j.call = min(1, len(j.calls))
	var open int64 // ns of pieces that an unknown function ended
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

// backward matches from the last call, down to what forward has matched.
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

// Clock chooses which time of a replay's pieces to use.
type Clock uint8

// Clocks.
const (
	WallClock Clock = iota // elapsed time, as in the recorded run
	CPUClock               // processor time
)

// maxTargetNS is the most ns of one time, and of their sum: 2^63 ps.
const maxTargetNS = math.MaxInt64 / 1000

// Headers of the two forms.
var (
	tableHeader  = []string{"rank", "index", "ns"}
	replayHeader = []string{"sequence", "function", "count", "cpu_ns", "wall_ns"}
)

// maxFunctions is the most names of functions in a replay.
const maxFunctions = 4096

// ReadTargets reads vectors from CSV: rows rank,index,ns of any tool, in any order, or one process's file of coppice replay, whose name is
// the rank: 7.csv. Memory: 16 bytes for each row.
func ReadTargets(name string, from io.Reader, clock Clock) ([]Target, error) {
	in := targetReader{name: name, clock: clock}
	r := bufio.NewReader(from)
	if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	in.csv = csv.NewReader(r)
	in.csv.ReuseRecord, in.csv.FieldsPerRecord, in.csv.TrimLeadingSpace = true, -1, true
	head, err := in.csv.Read()
	if err != nil {
		return nil, in.failed(err)
	}
	switch {
	case slices.Equal(head, tableHeader):
		return in.table()
	case slices.Equal(head, replayHeader):
		return in.replay()
	}
	return nil, in.fail(0, "the first line is neither %q nor %q", strings.Join(tableHeader, ","), strings.Join(replayHeader, ","))
}

// targetReader reads one file.
type targetReader struct {
	name  string
	clock Clock
	csv   *csv.Reader
}

// fail returns an error about column i of the current row.
func (in *targetReader) fail(i int, format string, args ...any) error {
	line, _ := in.csv.FieldPos(i)
	return fmt.Errorf("%s:%d: %w: %s", in.name, line, ErrTarget, fmt.Sprintf(format, args...))
}

// failed returns an error of reading.
func (in *targetReader) failed(err error) error {
	var p *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s:1: %w: the file is empty", in.name, ErrTarget)
	case errors.As(err, &p):
		return fmt.Errorf("%s:%d: %w: %w", in.name, p.Line, ErrTarget, p.Err)
	}
	return fmt.Errorf("%s: %w", in.name, err)
}

// next reads a row; false at the end.
func (in *targetReader) next(fields int) ([]string, bool, error) {
	row, err := in.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, in.failed(err)
	}
	if len(row) != fields {
		return nil, false, in.fail(0, "%d values in a row of %d columns", len(row), fields)
	}
	return row, true, nil
}

// number reads an integer from 0 to most.
func (in *targetReader) number(row, header []string, i int, most uint64) (uint64, error) {
	v, err := strconv.ParseUint(strings.TrimSpace(row[i]), 10, 64)
	if err != nil || v > most {
		return 0, in.fail(i, "%s: %.40q is not a whole number from 0 to %d", header[i], row[i], most)
	}
	return v, nil
}

// targetRow is a row of a table.
type targetRow struct {
	index uint64
	ns    int64
}

// total reads a sum after the times of a replay.
func (in *targetReader) total(row []string, column int, to *int64, all *Totals) error {
	var ns [2]uint64 // on a processor, and elapsed
	for i := range ns {
		var err error
		if ns[i], err = in.number(row, replayHeader, 3+i, maxTargetNS); err != nil {
			return err
		}
	}
	*to = int64(ns[column-3])
	if row[0] == "sum" {
		all.Off = int64(max(ns[1], ns[0]) - ns[0])
	}
	return nil
}

// table reads rows of any ranks.
func (in *targetReader) table() ([]Target, error) {
	rows := map[uint32][]targetRow{}
	for {
		row, ok, err := in.next(len(tableHeader))
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		var x [3]uint64
		for i, most := range [...]uint64{math.MaxUint32 - 1, math.MaxInt64, maxTargetNS} {
			if x[i], err = in.number(row, tableHeader, i, most); err != nil {
				return nil, err
			}
		}
		rows[uint32(x[0])] = append(rows[uint32(x[0])], targetRow{x[1], int64(x[2])})
	}
	var list []Target
	for _, p := range slices.Sorted(maps.Keys(rows)) {
		own := rows[p]
		slices.SortFunc(own, func(a, b targetRow) int { return cmp.Compare(a.index, b.index) })
		t := Target{Process: p, Index: make([]uint64, len(own)), Times: make([]int64, len(own))}
		var sum uint64
		for i, r := range own {
			if i > 0 && r.index == own[i-1].index {
				return nil, fmt.Errorf("%s: %w: rank %d has index %d twice", in.name, ErrTarget, p, r.index)
			}
			if sum += uint64(r.ns); sum > maxTargetNS {
				return nil, fmt.Errorf("%s: %w: the times of rank %d add up to more than 106 days", in.name, ErrTarget, p)
			}
			t.Index[i], t.Times[i] = r.index, r.ns
		}
		list = append(list, t)
		delete(rows, p)
	}
	return list, nil
}

func (in *targetReader) replay() ([]Target, error) {
	base := filepath.Base(in.name)
	rank, err := strconv.ParseUint(strings.TrimSuffix(base, filepath.Ext(base)), 10, 32)
	if err != nil || rank == math.MaxUint32 {
		return nil, fmt.Errorf("%s: %w: the name of a vector file of coppice replay is its process: RANK.csv", in.name, ErrTarget)
	}
	t := Target{Process: uint32(rank)}
	number := map[string]uint32{}
	column, sum := 4, uint64(0)
	if in.clock == CPUClock {
		column = 3
	}
	for {
		row, ok, err := in.next(len(replayHeader))
		if err != nil {
			return nil, err
		}
		if !ok {
			return []Target{t}, nil
		}
		if total := map[string]*int64{"sum": &t.Totals.Sum, "least": &t.Totals.Least, "most": &t.Totals.Most}[row[0]]; total != nil {
			if err := in.total(row, column, total, &t.Totals); err != nil {
				return nil, err
			}
			continue
		}
		at, err := in.number(row, replayHeader, 0, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		if at != uint64(len(t.Times)) {
			return nil, in.fail(0, "sequence %d where %d comes next", at, len(t.Times))
		}
		ns, err := in.number(row, replayHeader, column, maxTargetNS)
		if err != nil {
			return nil, err
		}
		if sum += ns; sum > maxTargetNS {
			return nil, in.fail(column, "%s: the times add up to more than 106 days", replayHeader[column])
		}
		f, known := number[row[1]]
		if !known {
			if f = uint32(len(number)); f == maxFunctions {
				return nil, in.fail(1, "more than %d different functions", maxFunctions)
			}
			name := strings.Clone(row[1])
			number[name] = f
			t.Names = append(t.Names, name)
		}
		t.Function, t.Times = append(t.Function, f), append(t.Times, int64(ns))
	}
}
