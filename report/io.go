package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// FileIO is what a run reads from files and writes to them: operations that the trace has, each counted for the interface that the program
// called. One that MPI-IO does through POSIX is in the sums of both, where both were recorded.
type FileIO struct {
	Interfaces []FileUse `json:"interfaces"` // over all files and processes
	Files      []FileUse `json:"files"`      // by file and interface
	Nodes      []FileUse `json:"nodes"`      // where processes of more than one have operations
	Processes  []FileUse `json:"processes"`
	Sizes      []IOSizes `json:"sizes"` // by interface and size, ascending
}

// FileUse adds up operations. Lists of it have the longest first.
type FileUse struct {
	Interface string  `json:"interface"`
	File      string  `json:"file,omitempty"`
	Node      string  `json:"node,omitempty"`
	Process   *uint32 `json:"process,omitempty"`
	Users     int     `json:"used_by"` // processes
	Top       uint32  `json:"most_by"` // the process that read and wrote most bytes
	TopBytes  uint64  `json:"most_bytes"`
	Read      IOSum   `json:"read"`
	Write     IOSum   `json:"write"`
	Other     IOSum   `json:"other"` // flush and the like

	user uint32 // the last process
	own  uint64 // its bytes
}

// IOSum is operations of one kind. Time is from begin to end of each, in ticks: those in progress at the same time add up.
type IOSum struct {
	Count   uint64 `json:"count"`
	Bytes   uint64 `json:"bytes"` // that were read or written
	Time    uint64 `json:"time"`
	Small   uint64 `json:"small"`       // asked for fewer than smallIO bytes
	Unended uint64 `json:"without_end"` // have no time, and no bytes
}

// IOSizes counts operations that ask for at least From bytes and fewer than those of the next size.
type IOSizes struct {
	Interface string `json:"interface"`
	From      uint64 `json:"from"`
	Reads     uint64 `json:"reads"`
	Writes    uint64 `json:"writes"`
}

// The thresholds for small operations are those of Drishti (Bez and others, PDSW 2022): more than a tenth of at least 1000 operations
// ask for less than 1 MiB.
const (
	smallIO     = 1 << 20
	smallOneOf  = 10
	smallAmong  = 1000
	serialShare = 0.9 // of the bytes by one process
)

// ioSizes begin the classes of sizes.
var ioSizes = [...]uint64{0, 100, 1e3, 10e3, 100e3, 1e6, 10e6, 100e6, 1e9}

// handleUse is what a location did with a handle: read, write, other.
type handleUse struct {
	sums  [3]IOSum
	sizes [len(ioSizes)][2]uint64
}

// fileTable adds up what locations do. Memory: of the handles of a location, and of files, nodes and processes that have operations.
type fileTable struct {
	defs       *trace.Definitions
	names      map[uint32][2]string // interface and file of a handle
	nodes      []uint32
	of         []int // node of each process
	uses       map[useKey]*FileUse
	sizes      map[string]*[len(ioSizes)][2]uint64
	operations map[uint32]*handleUse // of the location in hand
	over       bool                  // a sum exceeds 64 bits
}

// useKey names a sum: of an interface, and of a file, a node or a process, or of all.
type useKey struct {
	of     byte // 'f', 'n', 'p' or 'i'
	name   [2]string
	number uint32
}

// NewFileIO adds up the file operations of the chosen processes.
func NewFileIO(r *results.Run, ranks results.Ranks) (*FileIO, []table.Lost, error) {
	if !r.Rows {
		return nil, nil, fmt.Errorf("%s: file operations: %w: it was analyzed with --events none", r.Name, results.ErrNoResult)
	}
	g := fileTable{defs: r.Defs, names: handleNames(r.Defs), uses: map[useKey]*FileUse{}, sizes: map[string]*[len(ioSizes)][2]uint64{}}
	g.nodes, g.of = results.Hosts(r.Defs)
	lost, err := r.EachLocation(ranks, "io", func(p trace.P) error {
		over := g.over
		g.operations = map[uint32]*handleUse{}
		if err := results.Load(r, xtf.Proc(p), g.count); err != nil {
			return err
		}
		if g.over && !over { // this location is left out
			g.over = false
			return tooMuch(r)
		}
		g.join(p)
		return nil
	})
	if err == nil && g.over {
		err = tooMuch(r)
	}
	return g.result(), lost, err
}

// tooMuch says that operations cannot be those of a trace.
func tooMuch(r *results.Run) error {
	return fmt.Errorf("%s: file operations: bytes or times beyond 63 bits: %w", r.Name, xtf.ErrCorrupt)
}

// handleNames finds interface and file of each handle.
func handleNames(d *trace.Definitions) map[uint32][2]string {
	paradigms := map[uint8]string{}
	for i := range d.IoParadigms {
		paradigms[d.IoParadigms[i].Ref] = d.Text(d.IoParadigms[i].Name)
	}
	names, files := map[uint32][2]string{}, d.IoFiles()
	for i := range d.IoHandles {
		h := &d.IoHandles[i]
		names[h.Ref] = [2]string{cmp.Or(paradigms[h.Paradigm], "not known"), cmp.Or(files[h.Ref], fmt.Sprintf("handle %d", h.Ref))}
	}
	return names
}

// count takes an operation of the location in hand.
func (g *fileTable) count(x *xtf.IO) {
	u := g.operations[x.Handle]
	if u == nil {
		u = &handleUse{}
		g.operations[x.Handle] = u
	}
	op := min(x.Op&xtf.IOOpMask, xtf.IOOther)
	s := &u.sums[op]
	s.Count++
	if op != xtf.IOOther && x.Asked != xtf.Never {
		if x.Asked < smallIO {
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
	g.over = !xtf.Add(&s.Time, x.End-x.T) || !xtf.Add(&s.Bytes, done) || g.over
}

// join adds the location in hand to what it belongs to.
func (g *fileTable) join(p trace.P) {
	process, _ := g.defs.Process(p)
	for handle, u := range g.operations {
		name, ok := g.names[handle]
		if !ok {
			name = [2]string{"not known", fmt.Sprintf("handle %d", handle)}
		}
		keys := []useKey{{'i', [2]string{name[0]}, 0}, {'f', name, 0}, {'p', [2]string{name[0]}, process}}
		if int(process) < len(g.of) {
			keys = append(keys, useKey{'n', [2]string{name[0]}, uint32(g.of[process])})
		}
		for _, k := range keys {
			g.over = !g.use(k).join(process, u) || g.over
		}
		sizes := g.sizes[name[0]]
		if sizes == nil {
			sizes = new([len(ioSizes)][2]uint64)
			g.sizes[name[0]] = sizes
		}
		for k := range sizes {
			sizes[k][0] += u.sizes[k][0]
			sizes[k][1] += u.sizes[k][1]
		}
	}
}

func (g *fileTable) use(k useKey) *FileUse {
	u := g.uses[k]
	if u == nil {
		u = &FileUse{Interface: k.name[0], File: k.name[1]}
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

// join adds what a process did with a handle; processes ascend.
func (u *FileUse) join(process uint32, x *handleUse) (fits bool) {
	fits = true
	if u.Users == 0 || u.user != process {
		u.Users, u.user, u.own = u.Users+1, process, 0
	}
	for i, to := range []*IOSum{&u.Read, &u.Write, &u.Other} {
		s := &x.sums[i]
		to.Count, to.Small, to.Unended = to.Count+s.Count, to.Small+s.Small, to.Unended+s.Unended
		fits = xtf.Add(&to.Bytes, s.Bytes) && xtf.Add(&to.Time, s.Time) && xtf.Add(&u.own, s.Bytes) && fits
	}
	if u.own > u.TopBytes || u.Users == 1 {
		u.Top, u.TopBytes = process, u.own
	}
	return fits
}

// time is that of all operations.
func (u *FileUse) time() uint64 { return u.Read.Time + u.Write.Time + u.Other.Time }

func (u *FileUse) bytes() uint64 { return u.Read.Bytes + u.Write.Bytes }

// result sorts what was found.
func (g *fileTable) result() *FileIO {
	lists := map[byte][]FileUse{'i': {}, 'f': {}, 'n': {}, 'p': {}}
	nodes := map[uint32]bool{}
	for k, u := range g.uses {
		lists[k.of] = append(lists[k.of], *u)
		if k.of == 'n' {
			nodes[k.number] = true
		}
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b FileUse) int {
			return cmp.Or(cmp.Compare(b.time(), a.time()), cmp.Compare(b.bytes(), a.bytes()), cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.File, b.File), cmp.Compare(a.Node, b.Node), cmp.Compare(a.user, b.user))
		})
	}
	x := &FileIO{Interfaces: lists['i'], Files: lists['f'], Nodes: []FileUse{}, Processes: lists['p'], Sizes: []IOSizes{}}
	if len(nodes) > 1 {
		x.Nodes = lists['n']
	}
	for _, u := range x.Interfaces {
		for k, n := range g.sizes[u.Interface] {
			if n[0]+n[1] > 0 {
				x.Sizes = append(x.Sizes, IOSizes{u.Interface, ioSizes[k], n[0], n[1]})
			}
		}
	}
	return x
}

// chapter has the tables, and what they show.
func (x *FileIO) chapter(b *table.Book, c *table.Chapter, runtime uint64) {
	least := runtime / 100
	c.Title = fmt.Sprintf("file I/O: %s", numbers.Plural(len(x.Files), "file"))
	if len(x.Interfaces) == 0 {
		c.Say("no operations on files: the program has none, or they were not recorded (coppice record --io)")
	}
	c.Table(x.table(b.Unit, "Interfaces", "interface", "", x.Interfaces, func(*FileUse) table.Cell { return table.None() }))
	c.Table(x.table(b.Unit, "Files", "file", "file", x.Files, func(u *FileUse) table.Cell { return table.Named(numbers.Clean(u.File, 48), u.File) }))
	c.Table(x.table(b.Unit, "Nodes", "node", "node", x.Nodes, func(u *FileUse) table.Cell { return table.Named(numbers.Clean(u.Node, 32), u.Node) }))
	c.Table(x.table(b.Unit, "Processes", "process", "process", x.Processes, func(u *FileUse) table.Cell { return table.PlainNumber(*u.Process) }))
	c.Table(x.sizeTable())
	for i := range x.Files {
		for _, text := range x.Files[i].advice(least) {
			c.Say("%s", text)
		}
	}
}

// advice is what stands out in the use of a file, of operations that take least ticks and more. C streams gather small ones in a buffer.
func (u *FileUse) advice(least uint64) (list []string) {
	name := numbers.Clean(u.File, 48)
	if u.time() < least {
		return nil
	}
	for i, s := range []*IOSum{&u.Read, &u.Write} {
		if s.Count >= smallAmong && s.Small > s.Count/smallOneOf && s.Time >= least && !strings.HasPrefix(u.Interface, "ISO C") {
			list = append(list, fmt.Sprintf("%s: %s of %s %s ask for less than 1 MiB, the mean is %s: ask for more at once, or let MPI-IO's collective calls gather them (reported from a tenth of %d on)",
				name, numbers.Count(s.Small), numbers.Count(s.Count), [...]string{"reads", "writes"}[i], numbers.Bytes(numbers.MeanOf(s.Bytes, s.Count)), smallAmong))
		}
	}
	if u.Users > 1 && float64(u.TopBytes) >= serialShare*float64(u.bytes()) && u.TopBytes > 0 {
		list = append(list, fmt.Sprintf("%s: rank %d reads and writes %s of its %s, %s use it", name, u.Top, numbers.Bytes(u.TopBytes), numbers.Bytes(u.bytes()), numbers.Plural(u.Users, "process")))
	}
	return list
}

// table is one of uses; what names a use is its first column.
func (x *FileIO) table(u numbers.Units, title, kind, key string, list []FileUse, what func(*FileUse) table.Cell) *table.Table {
	t := &table.Table{Title: title, Kind: kind}
	if key != "" {
		t.Columns = append(t.Columns, table.Words(key, key))
	}
	t.Columns = append(t.Columns, table.Words("interface", "interface"), table.Ints("procs", "used_by"),
		table.Ints("reads", "reads"), table.Ints("bytes read", "read_bytes"), table.Ints(u.Name(), "read_time"), table.Ints("per "+u.Name(), ""),
		table.Ints("writes", "writes"), table.Ints("bytes written", "write_bytes"), table.Ints(u.Name(), "write_time"), table.Ints("per "+u.Name(), ""),
		table.Ints("others", "others"), table.Ints(u.Name(), "other_time"), table.Ints("unended", "without_end"))
	table.Fill(t, kind, list, func(x *FileUse) []table.Cell {
		var cells []table.Cell
		if key != "" {
			cells = append(cells, what(x))
		}
		cells = append(cells, table.Word(x.Interface), table.Number(x.Users))
		for _, s := range []*IOSum{&x.Read, &x.Write} {
			cells = append(cells, table.Number(s.Count), table.Size(s.Bytes), table.Time(u, s.Time), rate(u, s))
		}
		return append(cells, table.Number(x.Other.Count), table.Time(u, x.Other.Time), table.Number(x.Read.Unended+x.Write.Unended+x.Other.Unended))
	})
	return t
}

// rate is bytes for each unit of the time that operations took.
func rate(u numbers.Units, s *IOSum) table.Cell {
	if s.Time == 0 {
		return table.None()
	}
	return table.Size(uint64(float64(s.Bytes) / float64(s.Time) * float64(max(u.Resolution, 1))))
}

func (x *FileIO) sizeTable() *table.Table {
	t := &table.Table{Title: "Sizes that are asked for", Kind: "size", Columns: []table.Column{table.Words("interface", "interface"), table.Ints("from", "from"), table.Ints("reads", "reads"), table.Ints("writes", "writes")}}
	table.Fill(t, "size", x.Sizes, func(s *IOSizes) []table.Cell {
		return []table.Cell{table.Word(s.Interface), table.Size(s.From), table.Number(s.Reads), table.Number(s.Writes)}
	})
	return t
}
