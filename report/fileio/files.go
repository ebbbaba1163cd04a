// Package fileio adds up what the processes of a run read from files and write to them: by file, interface, process and node.
package fileio

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Totals is what a run reads from files and writes to them: the operations in the trace, counted for the interface that the
// program called. An operation that MPI-IO does through POSIX is in the sums of both interfaces, if both were recorded.
type Totals struct {
	Interfaces []Use   `json:"interfaces"` // over all files and processes
	Files      []Use   `json:"files"`      // by file and interface
	Nodes      []Use   `json:"nodes"`      // where processes of several nodes have operations
	Processes  []Use   `json:"processes"`
	Sizes      []Sizes `json:"sizes"` // by interface and size, ascending
}

// Use is a sum of operations. Lists of Use begin with the longest.
type Use struct {
	Interface string  `json:"interface"`
	File      string  `json:"file,omitempty"`
	Node      string  `json:"node,omitempty"`
	Process   *uint32 `json:"process,omitempty"`
	Users     int     `json:"used_by"` // processes
	Top       uint32  `json:"most_by"` // the process that read and wrote most bytes
	TopBytes  uint64  `json:"most_bytes"`
	Read      Sum     `json:"read"`
	Write     Sum     `json:"write"`
	Other     Sum     `json:"other"` // flush and similar ones

	Busy [Bins]uint64 `json:"-"` // time of operations in each of as many equal parts of the run
	user uint32       // the process added last
	own  uint64       // its bytes
}

// Bins is the number of parts of the run for which Busy has the time of a file.
const Bins = 96

// Sum is the operations of one kind. Time is the sum of their durations in ticks, so operations in progress at the same time
// count several times.
type Sum struct {
	Count   uint64 `json:"count"`
	Bytes   uint64 `json:"bytes"` // that were read or written
	Time    uint64 `json:"time"`
	Small   uint64 `json:"small"`       // asked for fewer than SmallIO bytes
	Unended uint64 `json:"without_end"` // without an end: they have no time and no bytes

	// Of operations that moved bytes at a known offset. A sequential one begins at or after the end of the one before (of the
	// same process, file and kind); a consecutive one begins exactly there.
	Placed      uint64 `json:"placed"`
	Followed    uint64 `json:"followed"` // those with an operation before
	Sequential  uint64 `json:"sequential"`
	Consecutive uint64 `json:"consecutive"`
	Unaligned   uint64 `json:"unaligned"`   // do not begin at a multiple of Alignment
	Again       uint64 `json:"bytes_again"` // at least so many were read before by the same process, and not written since

	once, reach uint64 // of reads: bytes that are not in Again, and the largest end of a read
}

// Shared is a lower bound of the bytes that several processes read, of a file that nobody writes.
func (s *Sum) Shared() uint64 { return s.once - min(s.once, s.reach) }

// Random is the number of operations that begin before the end of the one before.
func (s *Sum) Random() uint64 { return s.Followed - s.Sequential }

// Add adds another sum. It returns false if bytes or time do not fit.
func (s *Sum) Add(o *Sum) bool {
	s.Count, s.Small, s.Unended = s.Count+o.Count, s.Small+o.Small, s.Unended+o.Unended
	s.Placed, s.Followed, s.Sequential = s.Placed+o.Placed, s.Followed+o.Followed, s.Sequential+o.Sequential
	s.Consecutive, s.Unaligned, s.Again = s.Consecutive+o.Consecutive, s.Unaligned+o.Unaligned, s.Again+o.Again
	s.once, s.reach = s.once+o.once, max(s.reach, o.reach)
	return xtf.Add(&s.Bytes, o.Bytes) && xtf.Add(&s.Time, o.Time)
}

// Sizes counts operations by size: those that ask for at least From bytes and fewer than the next From.
type Sizes struct {
	Interface string `json:"interface"`
	From      uint64 `json:"from"`
	Reads     uint64 `json:"reads"`
	Writes    uint64 `json:"writes"`
}

const (
	SmallIO   = 1 << 20 // bytes
	Alignment = 4096    // bytes: the usual block of file systems, which Darshan takes too where they tell no other
)

// ioSizes are the lower bounds of the classes of sizes, in bytes.
var ioSizes = [...]uint64{0, 100, 1e3, 10e3, 100e3, 1e6, 10e6, 100e6, 1e9}

// handleUse is what a location did with a handle: reads, writes, others.
type handleUse struct {
	sums  [3]Sum
	sizes [len(ioSizes)][2]uint64
	busy  [Bins]uint64
}

// addBusy adds the time of an operation to the parts of the run that it overlaps.
func (u *handleUse) addBusy(run results.Span, from, to uint64) {
	if from, to = max(from, run.Begin), min(to, run.End); from >= to {
		return
	}
	length := run.End - run.Begin
	for k := numbers.MulDiv(from-run.Begin, Bins, length); k < Bins; k++ {
		end := min(run.Begin+numbers.MulDiv(length, k+1, Bins), to)
		u.busy[k] += end - min(from, end)
		if from = end; from >= to {
			return
		}
	}
}

// fileTable adds up the operations of locations. Memory: of the handles of a location, and of files, nodes and processes with
// operations.
type fileTable struct {
	defs       *trace.Definitions
	names      map[uint32][2]string // interface and file of a handle
	nodes      []uint32
	of         []int // node of each process
	uses       map[useKey]*Use
	sizes      map[string]*[len(ioSizes)][2]uint64
	operations map[uint32]*handleUse // of the current location
	over       bool                  // a sum exceeds 64 bits
	run        results.Span
	owner      map[handleOf]trace.P // the location of a process that uses a handle; Undefined32: several
}

// useKey identifies a sum: of an interface, and of a file, a node, a process, or all.
type useKey struct {
	of     byte // 'f', 'n', 'p' or 'i'
	name   [2]string
	number uint32
}

// New adds up the file operations of the chosen processes.
func New(r *results.Run, ranks results.Ranks) (*Totals, []table.Lost, error) {
	if !r.Rows {
		return nil, nil, fmt.Errorf("%s: file operations: %w: it was analyzed with --events none", r.Name, results.ErrNoResult)
	}
	g := fileTable{defs: r.Defs, names: handleNames(r.Defs), uses: map[useKey]*Use{}, sizes: map[string]*[len(ioSizes)][2]uint64{}}
	g.nodes, g.of = results.Hosts(r.Defs)
	g.owner = map[handleOf]trace.P{}
	root, err := results.ProgramOf(r)
	if err != nil {
		return nil, nil, err
	}
	if root != nil {
		g.run = results.Span{Begin: root.FirstBegin, End: root.LastEnd}
	}
	tooMuch := fmt.Errorf("%s: file operations: bytes or times beyond 63 bits: %w", r.Name, xtf.ErrCorrupt)
	lost, err := r.EachLocation(ranks, "io", func(p trace.P) error {
		over := g.over
		g.operations = map[uint32]*handleUse{}
		if err := results.Load(r, xtf.Proc(p), g.count); err != nil {
			return err
		}
		if g.over && !over { // leave this location out
			g.over = false
			return tooMuch
		}
		g.join(p)
		return nil
	})
	if err == nil && g.over {
		err = tooMuch
	}
	if err == nil {
		var more []table.Lost
		more, err = g.places(r, ranks)
		lost = append(lost, more...)
	}
	return g.result(), lost, err
}

// handleNames finds interface and file of each handle.
func handleNames(d *trace.Definitions) map[uint32][2]string {
	paradigms, files := results.ByRef(d.IoParadigms, func(x *trace.IoParadigm) (uint8, string) { return x.Ref, d.Text(x.Name) }), d.IoFiles()
	return results.ByRef(d.IoHandles, func(h *trace.IoHandle) (uint32, [2]string) {
		return h.Ref, [2]string{cmp.Or(paradigms[h.Paradigm], "not known"), cmp.Or(files[h.Ref], fmt.Sprintf("handle %d", h.Ref))}
	})
}

// count adds an operation of the current location.
func (g *fileTable) count(x *xtf.IO) {
	u := results.Made(g.operations, x.Handle)
	op := min(x.Op&xtf.IOOpMask, xtf.IOOther)
	s := &u.sums[op]
	s.Count++
	if op != xtf.IOOther && x.Asked != xtf.Never {
		if x.Asked < SmallIO {
			s.Small++
		}
		k, exact := slices.BinarySearch(ioSizes[:], x.Asked)
		if !exact {
			k--
		}
		u.sizes[k][op]++
	}
	if x.End == xtf.Never {
		s.Unended++
		return
	}
	done := x.Done
	if done == xtf.Never {
		done = 0
	}
	u.addBusy(g.run, x.T, x.End)
	g.over = !xtf.Add(&s.Time, x.End-x.T) || !xtf.Add(&s.Bytes, done) || g.over
}

// join adds the current location to its sums.
func (g *fileTable) join(p trace.P) {
	process, _ := g.defs.Process(p)
	for handle, u := range g.operations {
		of := handleOf{process, handle}
		if _, several := g.owner[of]; several {
			g.owner[of] = trace.P(trace.Undefined)
		} else {
			g.owner[of] = p
		}
		name := g.name(handle)
		for _, k := range g.keys(process, name) {
			g.over = !g.use(k).join(process, u) || g.over
		}
		sizes := results.Made(g.sizes, name[0])
		for k := range sizes {
			sizes[k][0] += u.sizes[k][0]
			sizes[k][1] += u.sizes[k][1]
		}
	}
}

// name returns the interface and the file of a handle.
func (g *fileTable) name(handle uint32) [2]string {
	if name, ok := g.names[handle]; ok {
		return name
	}
	return [2]string{"not known", fmt.Sprintf("handle %d", handle)}
}

// keys are the sums that the operations of a process belong to.
func (g *fileTable) keys(process uint32, name [2]string) []useKey {
	keys := []useKey{{'i', [2]string{name[0]}, 0}, {'f', name, 0}, {'p', [2]string{name[0]}, process}}
	if int(process) < len(g.of) {
		keys = append(keys, useKey{'n', [2]string{name[0]}, uint32(g.of[process])})
	}
	return keys
}

func (g *fileTable) use(k useKey) *Use {
	u := g.uses[k]
	if u == nil {
		u = &Use{Interface: k.name[0], File: k.name[1]}
		switch k.of {
		case 'p':
			u.Process = &k.number
		case 'n':
			u.Node = fmt.Sprintf("node %d", k.number)
			if name := g.defs.NodeName(g.nodes[k.number]); name != "" {
				u.Node += " " + name
			}
		}
		g.uses[k] = u
	}
	return u
}

// join adds what a process did with a handle. Processes come in ascending order.
func (u *Use) join(process uint32, x *handleUse) (fits bool) {
	fits = true
	if u.Users == 0 || u.user != process {
		u.Users, u.user, u.own = u.Users+1, process, 0
	}
	for i, to := range []*Sum{&u.Read, &u.Write, &u.Other} {
		s := &x.sums[i]
		fits = to.Add(s) && xtf.Add(&u.own, s.Bytes) && fits
	}
	for k, v := range x.busy {
		u.Busy[k] += v
	}
	if u.own > u.TopBytes || u.Users == 1 {
		u.Top, u.TopBytes = process, u.own
	}
	return fits
}

// Ticks is the time of all operations.
func (u *Use) Ticks() uint64 { return u.Read.Time + u.Write.Time + u.Other.Time }

// Moved is the bytes that were read or written.
func (u *Use) Moved() uint64 { return u.Read.Bytes + u.Write.Bytes }

// result sorts what was found.
func (g *fileTable) result() *Totals {
	lists := map[byte][]Use{'i': {}, 'f': {}, 'n': {}, 'p': {}}
	nodes := map[uint32]bool{}
	for k, u := range g.uses {
		lists[k.of] = append(lists[k.of], *u)
		if k.of == 'n' {
			nodes[k.number] = true
		}
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b Use) int {
			return cmp.Or(cmp.Compare(b.Ticks(), a.Ticks()), cmp.Compare(b.Moved(), a.Moved()), cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.File, b.File), cmp.Compare(a.Node, b.Node), cmp.Compare(a.user, b.user))
		})
	}
	x := &Totals{Interfaces: lists['i'], Files: lists['f'], Nodes: []Use{}, Processes: lists['p'], Sizes: []Sizes{}}
	if len(nodes) > 1 {
		x.Nodes = lists['n']
	}
	for _, u := range x.Interfaces {
		for k, n := range g.sizes[u.Interface] {
			if n[0]+n[1] > 0 {
				x.Sizes = append(x.Sizes, Sizes{u.Interface, ioSizes[k], n[0], n[1]})
			}
		}
	}
	return x
}
