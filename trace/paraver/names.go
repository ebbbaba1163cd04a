package paraver

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// names is what the file of names (.pcf) says: labels of event types, of their values and of
// states. Colours and defaults of the viewer are left out.
type names struct {
	types  map[uint64]typeName
	values []map[uint64]string // by block
	states map[uint64]string
}

// typeName is the label of an event type; the types of one block share values.
type typeName struct {
	label string
	block int
}

// parseNames reads a .pcf file. People write such files, so lines that it does not understand are
// ignored. Memory: the labels, about 100 bytes each.
func parseNames(b []byte) *names {
	n := &names{types: make(map[uint64]typeName), states: make(map[uint64]string)}
	section := ""
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line))
		first, rest := cutWord(text)
		if number, err := strconv.ParseUint(first, 10, 64); err == nil {
			n.add(section, number, rest)
			continue
		}
		if text == "" && section != "VALUES" {
			continue
		}
		section = first
		if section == "EVENT_TYPE" {
			n.values = append(n.values, nil)
		}
	}
	return n
}

// add takes over one numbered line of a section.
func (n *names) add(section string, number uint64, label string) {
	block := len(n.values) - 1
	switch section {
	case "STATES":
		n.states[number] = label
	case "EVENT_TYPE":
		first, rest := cutWord(label) // number is the colour
		t, err := strconv.ParseUint(first, 10, 64)
		if _, known := n.types[t]; err == nil && !known {
			n.types[t] = typeName{rest, block}
		}
	case "VALUES":
		if block < 0 {
			return
		}
		if n.values[block] == nil {
			n.values[block] = make(map[uint64]string)
		}
		if _, known := n.values[block][number]; !known {
			n.values[block][number] = whole(label)
		}
	}
}

// cutWord splits a text at its first space or tab.
func cutWord(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// whole undoes the shortening of long labels: "sho..ned [the whole label]".
func whole(label string) string {
	short, rest, ok := strings.Cut(label, " [")
	if ok && strings.HasSuffix(rest, "]") && strings.Contains(short, "..") {
		return strings.TrimSuffix(rest, "]")
	}
	return label
}

// value returns the label of a value of a type.
func (n *names) value(t, v uint64) (string, bool) {
	x, ok := n.types[t]
	if !ok {
		return "", false
	}
	s, ok := n.values[x.block][v]
	return s, ok && s != ""
}

// typed returns the name of an event type by which it can be asked for, with
// its label.
func (n *names) typed(t uint64) string {
	if t == typeState {
		return "prv:state"
	}
	s := "prv:" + strconv.FormatUint(t, 10)
	if l := n.types[t].label; l != "" {
		s += " " + l
	}
	return s
}

// region returns the name of the region that a value of a type opens. MPI calls
// and functions have the label of the value, others that of the type too.
func (n *names) region(t, v uint64) string {
	if t == typeState {
		if label, ok := n.states[v]; ok {
			return label
		}
		if v < uint64(len(stateNames)) {
			return stateNames[v]
		}
		return "state " + strconv.FormatUint(v, 10)
	}
	e := n.typeOf(t)
	label, ok := n.value(t, v)
	if e.use == nested || e.paradigm == trace.ParadigmMPI || e.role == trace.RoleKernel || e.isDeviceCall() {
		switch {
		case ok:
			return label
		case e.paradigm == trace.ParadigmMPI && v-1 < uint64(len(mpiCalls)):
			return "MPI_" + mpiCalls[v-1]
		}
	}
	of := n.types[t].label
	if of == "" {
		of = "event type " + strconv.FormatUint(t, 10)
	}
	label = strings.TrimSuffix(label, " (open)")
	switch {
	case label == "Begin" || !ok && e.use == call && v == 1:
		return of
	case !ok && e.use == lock && v == lockAsked:
		label = "Lock"
	case !ok && e.use == lock && v == lockGiven:
		label = "Unlock"
	case !ok:
		return of + " " + strconv.FormatUint(v, 10)
	}
	return of + ": " + label
}

// parseRows reads a .row file: the names of the objects of each level.
//
//	LEVEL THREAD SIZE 2
//	THREAD 1.1.1
//	THREAD 1.1.2
func parseRows(b []byte) map[string][]string {
	m := make(map[string][]string)
	level, left := "", uint64(0)
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line))
		if left > 0 {
			m[level] = append(m[level], text)
			left--
			continue
		}
		f := strings.Fields(text)
		if len(f) == 4 && f[0] == "LEVEL" && f[2] == "SIZE" {
			level = f[1]
			left, _ = strconv.ParseUint(f[3], 10, 64)
		}
	}
	return m
}
