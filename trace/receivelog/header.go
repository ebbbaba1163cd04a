package receivelog

import (
	"fmt"
	"strconv"
	"strings"
)

// Header says whose log it is. Open ignores pairs that it does not know.
type Header struct {
	Library, MPI string // version text; openmpi or mpich
	Rank, Size   int
	Host         string
	PID          int
	Begin        int64 // ns since 1970
	Program, Dir string
	Args, Env    []string
	Wtime        bool
	Functions    map[uint64]Function
}

// Class says how a replay treats a function.
type Class byte

// Classes of functions.
const (
	Logged  Class = 'C' // every call has a record
	Local   Class = 'L' // the library answers
	Refused Class = 'X' // cannot be replayed
)

// Function is a function of the MPI library, without MPI_.
type Function struct {
	Name  string
	Class Class
}

func (b *body) header() *Header {
	h := &Header{Functions: make(map[uint64]Function), Rank: -1}
	for b.more() {
		name, value := b.text(), b.text()
		if err := h.set(name, value); err != nil {
			b.fail("header: %s: %v", name, err)
		}
	}
	if h.Rank < 0 || h.Rank >= h.Size {
		b.fail("header: rank %d of %d", h.Rank, h.Size)
	}
	return h
}

func (h *Header) set(name, value string) (err error) {
	switch name {
	case "library":
		h.Library = value
	case "mpi":
		h.MPI = value
	case "rank":
		h.Rank, err = strconv.Atoi(value)
	case "size":
		h.Size, err = strconv.Atoi(value)
	case "host":
		h.Host = value
	case "pid":
		h.PID, err = strconv.Atoi(value)
	case "begin":
		h.Begin, err = strconv.ParseInt(value, 10, 64)
	case "program":
		h.Program = value
	case "cwd":
		h.Dir = value
	case "arg":
		h.Args = append(h.Args, value)
	case "env":
		h.Env = append(h.Env, value)
	case "wtime":
		h.Wtime = value == "1"
	case "function":
		err = h.function(value)
	}
	return err
}

func (h *Header) function(value string) error {
	w := strings.Split(value, " ")
	if len(w) != 3 || len(w[1]) != 1 || !strings.Contains("CLX", w[1]) {
		return fmt.Errorf("%q", value)
	}
	n, err := strconv.ParseUint(w[0], 10, 64)
	if err != nil {
		return err
	}
	if _, ok := h.Functions[n]; ok {
		return fmt.Errorf("number %d twice", n)
	}
	h.Functions[n] = Function{w[2], Class(w[1][0])}
	return nil
}
