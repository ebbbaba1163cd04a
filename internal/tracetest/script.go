package tracetest

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Script is a program as a list of steps for each process. Unlike the programs of
// Options its processes wait for each other as long as it takes, so what is
// planted in it can be worked out by hand: a process goes on as soon as it can.
type Script struct {
	Steps   [][]Step // by process
	Latency uint64   // ticks from the enter of a send, or of the last member, to the earliest leave of who waits for it
	Comms   []ScriptComm
	Regions []ScriptRegion
	Start   []uint64 // of processes, in ticks; missing ones are 0
}

// ScriptComm is a communicator next to MPI_COMM_WORLD and MPI_COMM_SELF.
type ScriptComm struct {
	Name    string
	Members []int
}

// ScriptRegion describes a region that steps enter; regions not described have
// no source.
type ScriptRegion struct {
	Name  string
	File  string
	Line  uint32
	Flags uint32
}

// Step is one step of a process. Step{Ticks: n} computes for n ticks. A step with
// Enter or Leave opens or closes a user's region, one with Call makes an MPI call
// that takes Ticks next to its waiting.
type Step struct {
	Ticks        uint64
	Enter, Leave string
	Parameter    string // of a region or of MPI_Pcontrol: its name, with Level, or Text if that is not ""
	Level        int64
	Text         string

	Call     string // MPI function, without MPI_; MPI_Win_ functions use the window of Comm
	As       string // the function that it is like, if that is another one: a collective inside of MPI_Init or MPI_Finalize, what MPI_Start starts
	Peer     int    // of the message
	Tag      uint32
	Source   int    // Sendrecv: where it receives from, with Tag
	Blocks   bool   // Win_start: waits for the posts, which Win_complete does else; Win_lock: nobody else may have it
	Requests []int  // that the call posts or completes; one-sided operations too
	Starts   []Step // Startall, Isendrecv: what it starts
	Group    []int  // processes of an epoch of a window
	Turn     int    // Win_lock: its place among all for the target, in which they get the lock
	Comm     string
	Root     int
}

// does is the function that a call is, or is like.
func (st *Step) does() string {
	if st.As != "" {
		return st.As
	}
	return st.Call
}

// Source simulates the script. It fails if processes wait for each other forever.
func (s *Script) Source() (trace.Source, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Text simulates the script and writes the trace in the form that Parse reads.
func (s *Script) Text() (string, error) {
	m := newMachine(s)
	for moved := true; moved; {
		moved = false
		for _, p := range m.processes {
			for m.step(p) {
				moved = true
			}
		}
	}
	for i, p := range m.processes {
		if p.pc < len(s.Steps[i]) {
			return "", fmt.Errorf("%w: process %d waits forever in step %d, %+v", ErrText, i, p.pc, s.Steps[i][p.pc])
		}
	}
	var b strings.Builder
	s.header(&b)
	for _, p := range m.processes {
		b.WriteString(p.out.String())
	}
	return b.String(), nil
}

// Names of the parameters that steps may use, in the order of their references.
var scriptParameters = []string{"level", "name", "interval", "step"}

func (s *Script) header(b *strings.Builder) {
	b.WriteString("-- definitions --\n")
	n := 0
	str := func(v string) int {
		fmt.Fprintf(b, "STRING self=%d string=%q\n", n, v)
		n++
		return n - 1
	}
	for i, p := range scriptParameters {
		kind := 1
		if p == "name" {
			kind = 0
		}
		fmt.Fprintf(b, "PARAMETER self=%d name=%d parameter_type=%d\n", i, str(p), kind)
	}
	for i, r := range s.Regions {
		name, file := str(r.Name), str(r.File)
		fmt.Fprintf(b, "REGION self=%d name=%d description=0 region_type=0 source_file=%d begin_line_number=%d end_line_number=%d canonical_name=%d region_role=1 paradigm=1 region_flags=%d\n",
			i, name, file, r.Line, r.Line, name, r.Flags)
	}
	for i := range ownComm + len(s.Comms) {
		fmt.Fprintf(b, "RMA_WIN self=%d name=0 comm=%d\n", i, i)
		fmt.Fprintf(b, "IO_HANDLE self=%d name=0 file=4294967295 io_paradigm=1 comm=%d parent=4294967295\n", i, i)
	}
	fmt.Fprintf(b, "-- program --\nprocesses %d\nresolution 1000000\n", len(s.Steps))
	for _, c := range s.Comms {
		fmt.Fprintf(b, "comm %s %s\n", c.Name, strings.Trim(fmt.Sprint(c.Members), "[]"))
	}
	b.WriteString("-- events --\n")
}
