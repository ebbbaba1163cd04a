package record

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
)

// Vector is the computation of a process between its MPI calls, in program order: segment i lies between call i and call i+1, counted from
// 0.
type Vector []Segment

// Segment is the computation between two MPI calls.
type Segment struct {
	Function string // MPI function that ends the segment
	CPU      int64  // ns of processor time of the thread
	Wall     int64  // ns of elapsed time, less the time in which the thread was ready to run and had no processor
}

// total returns the row that sums up all segments.
func (v Vector) total(name string) total {
	t := total{name: name}
	for i := range v {
		t.cpu, t.wall = t.cpu+v[i].CPU, t.wall+v[i].Wall
	}
	return t
}

// CPU returns the processor time of all segments in ns.
func (v Vector) CPU() int64 { return v.total("").cpu }

// Wall returns the elapsed time of all segments in ns.
func (v Vector) Wall() int64 { return v.total("").wall }

// steady combines the vectors of repetitions of the same process. A segment gets the median of the processor times (of an even number the
// lower one of the two) plus the least time off the processor: other programs delay repetitions unequally, but sleeping and waiting for a
// disk is in all of them. Repetitions with other calls than the one with the least processor time are ignored. totals are the sums of the
// repetitions with the least and the most processor time, each with the combined time off the processor; there are none for a single
// repetition.
func steady(all []Vector) (v Vector, totals []total) {
	if len(all) == 0 {
		return nil, nil
	}
	base := slices.MinFunc(all, func(a, b Vector) int { return cmp.Compare(a.CPU(), b.CPU()) })
	same := func(a, b Segment) bool { return a.Function == b.Function }
	all = slices.DeleteFunc(slices.Clone(all), func(x Vector) bool { return !slices.EqualFunc(base, x, same) })
	v = slices.Clone(base)
	cpu := make([]int64, len(all))
	for i := range v {
		off := int64(math.MaxInt64)
		for k, x := range all {
			cpu[k] = x[i].CPU
			off = min(off, max(x[i].Wall-x[i].CPU, 0)) // the two clocks are not read at the same instant, so this may be negative
		}
		slices.Sort(cpu)
		v[i].CPU = cpu[(len(cpu)-1)/2]
		v[i].Wall = v[i].CPU + off
	}
	if len(all) == 1 {
		return base, nil
	}
	off := v.Wall() - v.CPU()
	for _, x := range []total{{"least", base.CPU(), 0}, {"most", slices.MaxFunc(all, func(a, b Vector) int { return cmp.Compare(a.CPU(), b.CPU()) }).CPU(), 0}} {
		x.wall = x.cpu + off
		totals = append(totals, x)
	}
	return v, totals
}

// total is a row of a vector's CSV file that follows the segments.
type total struct {
	name      string
	cpu, wall int64 // ns
}

// Files that recorder and replay write begin with vectorMagic. Function names follow, then rows of vectorRow bytes.
const (
	vectorMagic = "CPRVEC1\x00"
	vectorRow   = 24
)

// ErrVector says that a file does not have a computation vector.
var ErrVector = errors.New("no computation vector")

// vectorHeader are the columns of a vector's CSV file.
var vectorHeader = []string{"sequence", "function", "count", "cpu_ns", "wall_ns"}

// readRows reads a file that a process wrote. delay is the total ns in which the process was ready to run and had no processor. An
// incomplete last row is ignored.
func readRows(path string) (v Vector, delay int64, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if len(b) < len(vectorMagic) || string(b[:len(vectorMagic)]) != vectorMagic {
		return nil, 0, fmt.Errorf("%s: %w", path, ErrVector)
	}
	b = b[len(vectorMagic):]
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return nil, 0, fmt.Errorf("%s: %w: cut in its names", path, ErrVector)
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	names := strings.Split(string(b[4:n]), "\n")
	b = b[n:]
	v = make(Vector, 0, len(b)/vectorRow)
	for ; len(b) >= vectorRow; b = b[vectorRow:] {
		f := binary.LittleEndian.Uint32(b)
		away := 1000 * int64(binary.LittleEndian.Uint32(b[4:]))
		v = append(v, Segment{functionName(names, f), int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:])) - away})
		delay += away
	}
	return v, delay, nil
}

// handWritten are the functions whose wrappers are not generated. Their numbers begin at 4096.
var handWritten = [...]string{"Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "Wtime"}

func functionName(names []string, f uint32) string {
	switch {
	case int64(f) < int64(len(names)):
		if strings.HasPrefix(names[f], "MPI") {
			return names[f]
		}
		return "MPI_" + names[f]
	case f >= 1<<12 && f-1<<12 < uint32(len(handWritten)):
		return "MPI_" + handWritten[f-1<<12]
	}
	return "function " + strconv.Itoa(int(f))
}

// writeCSV writes a row for each segment, then a row "sum" whose count is the number of segments, then a row for each of totals.
func (v Vector) writeCSV(to io.Writer, totals ...total) error {
	w := csvwriter.New(to)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	err := w.Write(vectorHeader)
	for i, s := range v {
		err = errors.Join(err, w.Write([]string{strconv.Itoa(i), s.Function, "1", number(s.CPU), number(s.Wall)}))
	}
	for _, x := range append([]total{v.total("sum")}, totals...) {
		err = errors.Join(err, w.Write([]string{x.name, "", strconv.Itoa(len(v)), number(x.cpu), number(x.wall)}))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// ReadVector reads the segments of a CSV file that a recording or replay wrote.
func ReadVector(path string) (Vector, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(bufio.NewReader(f))
	var v Vector
	for line := 1; ; line++ {
		row, err := r.Read()
		if err == io.EOF {
			return v, nil
		}
		if err == nil && line == 1 && strings.Join(row, ",") != strings.Join(vectorHeader, ",") {
			err = ErrVector
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if line == 1 || row[1] == "" { // the row of a total
			continue
		}
		cpu, err1 := strconv.ParseInt(row[3], 10, 64)
		wall, err2 := strconv.ParseInt(row[4], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		v = append(v, Segment{row[1], cpu, wall})
	}
}

// vectorFolder is the folder in the output with the vectors of a recording.
const vectorFolder = "vectors"

// finishVectors converts the files of all processes to CSV.
func finishVectors(output string) error {
	list, err := filepath.Glob(filepath.Join(output, vectorFolder, "*.vec"))
	if err != nil {
		return err
	}
	for _, path := range list {
		v, _, err := readRows(path)
		if err == nil {
			err = writeVector(strings.TrimSuffix(path, ".vec")+".csv", v)
		}
		if err == nil {
			err = written(os.Remove(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeVector(path string, v Vector, totals ...total) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return written(err)
	}
	defer func() { err = errors.Join(err, written(f.Close())) }()
	w := bufio.NewWriter(f)
	return written(errors.Join(v.writeCSV(w, totals...), w.Flush()))
}
