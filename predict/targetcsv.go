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

// Clock chooses one of the two times that a replay has of each piece of computation.
type Clock uint8

// Clocks.
const (
	WallClock Clock = iota // time that passed, as in the recorded run
	CPUClock               // processor time
)

// maxTargetNS bounds one time and their sum: 2^63 ps.
const maxTargetNS = math.MaxInt64 / 1000

// Headers of the two forms.
var (
	tableHeader  = []string{"rank", "index", "ns"}
	replayHeader = []string{"sequence", "function", "count", "cpu_ns", "wall_ns"}
)

// maxFunctions bounds the names of a replay, which are those of MPI.
const maxFunctions = 4096

// ReadTargets reads vectors from CSV: the rows rank,index,ns of any tool, in any order, or what coppice replay writes of one
// process, whose rank is the file's name: 7.csv. Name is for messages, and for that. Memory: 16 bytes a row.
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

// fail is an error in column i of the row in progress.
func (in *targetReader) fail(i int, format string, args ...any) error {
	line, _ := in.csv.FieldPos(i)
	return fmt.Errorf("%s:%d: %w: %s", in.name, line, ErrTarget, fmt.Sprintf(format, args...))
}

// failed is an error of reading.
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

// number reads a whole number up to most.
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

// total reads a sum in a row below the times of a replay.
func (in *targetReader) total(row []string, column int, to *int64, all *Totals) error {
	var ns [2]uint64 // on a processor, and all that passed
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

// replay reads the vector of one process.
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
