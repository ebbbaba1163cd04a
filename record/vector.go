package record

import (
	"bufio"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Vector is the computation of a process between its MPI calls, in program order: row i is what it did between call i and
// call i+1, counted from 0, and the call that ended it.
type Vector []Segment

// Segment is one piece of computation.
type Segment struct {
	Function string // MPI function that ends it
	CPU      int64  // ns of processor time of the thread
	Wall     int64  // ns that passed
}

// CPU returns the sum of the processor times in ns.
func (v Vector) CPU() int64 {
	var sum int64
	for i := range v {
		sum += v[i].CPU
	}
	return sum
}

// Wall returns the sum of the times that passed in ns.
func (v Vector) Wall() int64 {
	var sum int64
	for i := range v {
		sum += v[i].Wall
	}
	return sum
}

// vectorMagic begins the files that recorder and replay write; rows of 24 bytes follow.
const (
	vectorMagic = "CPRVEC1\x00"
	vectorRow   = 24
)

// ErrVector says that a file is no computation vector.
var ErrVector = errors.New("no computation vector")

// vectorHeader are the columns of a vector as CSV.
var vectorHeader = []string{"sequence", "function", "count", "cpu_ns", "wall_ns"}

// readRows reads what a process wrote. A row that is cut at the end of the file is left out.
func readRows(path string) (Vector, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < len(vectorMagic) || string(b[:len(vectorMagic)]) != vectorMagic {
		return nil, fmt.Errorf("%s: %w", path, ErrVector)
	}
	b = b[len(vectorMagic):]
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return nil, fmt.Errorf("%s: %w: cut in its names", path, ErrVector)
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	names := strings.Split(string(b[4:n]), "\n")
	b = b[n:]
	v := make(Vector, 0, len(b)/vectorRow)
	for ; len(b) >= vectorRow; b = b[vectorRow:] {
		f := binary.LittleEndian.Uint32(b)
		v = append(v, Segment{functionName(names, f), int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))})
	}
	return v, nil
}

// handWritten are the functions whose wrappers are not made from mpi.h, by number from 4096.
var handWritten = [...]string{"Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "Wtime"}

func functionName(names []string, f uint32) string {
	switch {
	case int64(f) < int64(len(names)):
		return "MPI_" + strings.TrimPrefix(names[f], "MPI_")
	case f >= 1<<12 && f-1<<12 < uint32(len(handWritten)):
		return "MPI_" + handWritten[f-1<<12]
	}
	return "function " + strconv.Itoa(int(f))
}

// WriteCSV writes a row for each segment, and one for all: its sequence is "sum", and its count the number of segments.
func (v Vector) WriteCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	err := w.Write(vectorHeader)
	for i, s := range v {
		err = errors.Join(err, w.Write([]string{strconv.Itoa(i), s.Function, "1", number(s.CPU), number(s.Wall)}))
	}
	err = errors.Join(err, w.Write([]string{"sum", "", strconv.Itoa(len(v)), number(v.CPU()), number(v.Wall())}))
	w.Flush()
	return errors.Join(err, w.Error())
}

// ReadVector reads a vector that WriteCSV wrote.
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
		if line == 1 || row[0] == "sum" {
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

// vectorFolder is where a recording has the vectors of its processes.
const vectorFolder = "vectors"

// finishVectors makes CSV files of what the processes of a recording wrote.
func finishVectors(output string) error {
	list, err := filepath.Glob(filepath.Join(output, vectorFolder, "*.vec"))
	if err != nil {
		return err
	}
	for _, path := range list {
		v, err := readRows(path)
		if err == nil {
			err = writeVector(strings.TrimSuffix(path, ".vec")+".csv", v)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeVector(path string, v Vector) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	return errors.Join(v.WriteCSV(w), w.Flush())
}
