package oracle

import "github.com/coppice-hpc/coppice/trace"

// Form is a way to mark an interval in a program. Forms are numbered as in the
// user's documentation, F1 to F10.
type Form uint32

// Forms of markers. FormNone is the whole run.
const (
	FormNone Form = iota
	FormRaw
	FormPortable
	FormComm
	FormPcontrolNumber
	FormPcontrolName
	FormRegion
	FormParameter
	FormParaver
	FormSidecar
	FormDerived
)

// Options choose among the definitions; the zero value has the defaults.
type Options struct {
	Forms        map[Form]bool // markers that count; nil: all but Paraver's
	Regions      []string      // patterns of region names; without any, dynamic and phase regions count
	Sidecar      []SidecarInterval
	Slices       []Slice // derived intervals, the same on every location
	Between      string  // blocking operation on the world communicator: the time from one to the next
	MarkerAsMPI  bool    // markers are ordinary MPI calls
	PostedPoint  bool    // a receive can block from its posting on
	ExcludeInit  bool
	FoldRecursed bool // a key that is open already opens nothing
}

// SidecarInterval is one execution of an interval that a file next to the trace
// names, on one process.
type SidecarInterval struct {
	Process    uint32
	Begin, End uint64 // ticks from the origin
	Key        Key
}

// Slice is a derived interval.
type Slice struct {
	Key        Key
	Begin, End uint64 // ticks from the origin
}

// Key names an interval within its parent. Form is where it was seen first and
// tells nothing apart.
type Key struct {
	File string
	Line uint32
	ID   uint64
	Name string
	Form Form
}

// Problem is what a marker did wrong.
type Problem struct {
	Code string
	P    trace.P
	Time uint64
	ID   uint64
	Name string
}

// Codes of problems.
const (
	Unclosed        = "unclosed"
	EndWithoutBegin = "end without begin"
	Crossed         = "crossed"
	Dangling        = "dangling marker"
)
