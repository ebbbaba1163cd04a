package paraver

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// mostNames bounds how many event types, values that have names, counters and
// sets of counters a trace may have. Real ones have some thousands.
const mostNames = 1 << 18

// index is what one pass over the records finds: what definitions are needed,
// and what of the records only all of them tell together. Memory: 32 bytes per
// thread, 40 per named value, 16 per change of roots.
type index struct {
	Identity  [32]byte
	States    uint64 // records
	Events    uint64
	Comms     uint64
	Locations []locationIndex
	Types     []uint64    // of markers, ascending
	Named     []pair      // values of types that have names, ascending
	Positions []position  // of regions
	Counters  []uint64    // types, ascending
	Sets      [][]uint64  // of counters, in the order they appear
	Roots     [][]rootRun // by communicator
	Last      uint64      // time of the newest event
	Foreign   bool        // messages between applications
	Stateful  bool        // no calls: states become calls
	Problems  trace.Diagnostics
}

// locationIndex is what the records of one thread take.
type locationIndex struct {
	Bytes   uint64 // of its lines
	Records uint64 // events and messages that its stream will have, about
	First   uint64 // time of the earliest
	Device  bool   // it is a stream of a device
	Program bool   // it has states, calls or messages, so it runs the program
}

// position tells where a region lies: the value of its file and line.
type position struct {
	Region pair
	At     pair
}

// meters tells which applications count events of the machine and run nothing: others have states, these have none, no calls, no messages
// and no communicator.
func (x *index) meters(h *head) []bool {
	list := make([]bool, len(h.apps))
	for i, a := range h.apps {
		end := h.threads
		if next := int(a.first + a.tasks); next < len(h.tasks) {
			end = h.tasks[next].first
		}
		threads := x.Locations[h.tasks[a.first].first:end]
		list[i] = x.States > 0 && !x.Foreign &&
			!slices.ContainsFunc(threads, func(l locationIndex) bool { return l.Program }) &&
			slices.ContainsFunc(threads, func(l locationIndex) bool { return l.Records > 0 }) &&
			!slices.ContainsFunc(h.comms, func(c communicator) bool { return c.app == uint32(i) })
	}
	return list
}

// encode returns the index for other ranks.
func (x *index) encode() ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(x)
	return b.Bytes(), err
}

// parseIndex reads what encode wrote.
func parseIndex(b []byte) (*index, error) {
	x, r := &index{}, bytes.NewReader(b)
	if err := gob.NewDecoder(r).Decode(x); err != nil || r.Len() > 0 {
		return nil, errors.Join(errIndex, err)
	}
	return x, nil
}

var errIndex = errors.New("paraver: the index of the trace is damaged")

// comparePairs orders by type and value.
func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
}
