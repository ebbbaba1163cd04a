package tracetest

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Facts are numbers that an analysis of a run has to find. Truth derives them
// from the program's model, package oracle from the events. Lists are sorted by
// their keys and hold no empty entries.
type Facts struct {
	Events      []uint64    // by location
	Messages    []Traffic   // by sender and receiver
	Collectives []Instances // by communicator
	Profiles    []Profile   // by location and region
	MPITime     []ClassTime // of outermost MPI calls, by class, all processes
	Processes   []Component // by process
	Execution   uint64      // the longest Time of a process
	CPU         uint64      // sums over processes
	MPI         uint64
	IO          uint64
	SendRecv    uint64
	Potential   uint64
	Variation   uint64
	Late        Late
}

// Traffic is what one process sent to another, matched or not, and what the
// other received from it.
type Traffic struct {
	From, To      uint32 // processes
	Count, Bytes  uint64 // as sent
	Received      uint64
	ReceivedBytes uint64
}

// Instances counts collective operations, one for all members together; on a
// communicator of one process only, one for each call.
type Instances struct {
	Comm  uint32
	Count uint64
}

// Profile is the sum of a region's calls on a location. Inclusive time counts
// the outermost call of a recursion only.
type Profile struct {
	P         trace.P
	Region    uint32 // reference; trace.Undefined for all that are not defined
	Calls     uint64
	Inclusive uint64
	Exclusive uint64
}

// ClassTime is the time in outermost MPI calls of one exact class.
type ClassTime struct {
	Class trace.CallClass
	Time  uint64
}

// Component is a process's share of the whole-program characteristics. Time
// runs from the first to the last event of its locations; MPI, its classes and
// IO are those of its first location, the one that calls MPI; CPU is the rest.
type Component struct {
	Time, CPU, MPI, IO                                      uint64
	Aside                                                   uint64 // devices, locks and measurement, outside MPI
	P2P, Coll, NxN, Barrier, FileIO, RMA, Management, Start uint64 // MPI time by class
	SendRecv                                                uint64 // spans from the enter of the send to the leave of the receive, at the receiver
	PotentialSync                                           uint64 // late senders, and waiting for the last member of collectives
	Variation                                               uint64 // from leaving a collective until its last member leaves
}

// addMPI adds time in calls of one class.
func (c *Component) addMPI(class trace.CallClass, t uint64) {
	c.MPI += t
	for _, x := range []struct {
		class trace.CallClass
		sum   *uint64
	}{
		{trace.ClassP2P, &c.P2P},
		{trace.ClassColl, &c.Coll},
		{trace.ClassNxN, &c.NxN},
		{trace.ClassBarrier, &c.Barrier},
		{trace.ClassFileIO, &c.FileIO},
		{trace.ClassRMA, &c.RMA},
		{trace.ClassManagement, &c.Management},
		{trace.ClassStart, &c.Start},
	} {
		if class&x.class != 0 {
			*x.sum += t
		}
	}
}

// Late sums up late senders: messages whose send began after the receiver
// could block for them, the sum of those delays (potential synchronisation),
// and the wait, which a call that completes several messages has only once,
// for the latest, and not beyond its end.
type Late struct {
	Count     uint64
	Potential uint64
	Wait      uint64
}

type pair struct{ from, to uint32 }

// traffic adds up messages by pair of processes.
type traffic map[pair]*Traffic

func (m traffic) pair(from, to uint32) *Traffic {
	t := m[pair{from, to}]
	if t == nil {
		t = &Traffic{From: from, To: to}
		m[pair{from, to}] = t
	}
	return t
}

func (m traffic) send(from, to uint32, count, bytes uint64) {
	t := m.pair(from, to)
	t.Count += count
	t.Bytes += bytes
}

func (m traffic) receive(from, to uint32, count, bytes uint64) {
	t := m.pair(from, to)
	t.Received += count
	t.ReceivedBytes += bytes
}

// add adds messages that arrive as they were sent.
func (m traffic) add(from, to uint32, count, bytes uint64) {
	if count > 0 {
		m.send(from, to, count, bytes)
		m.receive(from, to, count, bytes)
	}
}

func (m traffic) list() []Traffic {
	var out []Traffic
	for _, t := range m {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Traffic) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

func instancesOf(m map[uint32]uint64) []Instances {
	var out []Instances
	for c, n := range m {
		if n > 0 {
			out = append(out, Instances{c, n})
		}
	}
	slices.SortFunc(out, func(a, b Instances) int { return cmp.Compare(a.Comm, b.Comm) })
	return out
}

func classTimesOf(m map[trace.CallClass]uint64) []ClassTime {
	var out []ClassTime
	for c, t := range m {
		if t > 0 {
			out = append(out, ClassTime{c, t})
		}
	}
	slices.SortFunc(out, func(a, b ClassTime) int { return cmp.Compare(a.Class, b.Class) })
	return out
}

// sumProcesses derives the whole-program figures from the processes.
func (f *Facts) sumProcesses() {
	for i := range f.Processes {
		c := &f.Processes[i]
		c.CPU = c.Time - c.MPI - c.IO - c.Aside
		f.Execution = max(f.Execution, c.Time)
		f.CPU += c.CPU
		f.MPI += c.MPI
		f.IO += c.IO
		f.SendRecv += c.SendRecv
		f.Potential += c.PotentialSync
		f.Variation += c.Variation
	}
}
