package recording

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Kinds of definitions.
const (
	defProcess   = 1
	defComm      = 2
	defName      = 3
	defClock     = 4
	defCommName  = 5
	defFunctions = 6
	defEnd       = 7
	defCounters  = 8
	defUncounted = 9
	defUsage     = 10
	defWindow    = 11
	defFile      = 12
	defSessions  = 13
	defCalls     = 14
	defUnseen    = 15
	defTeam      = 16
	defPart      = 17
	defPosix     = 18
	defThread    = 19
	defModule    = 20
	defSite      = 21
	defSamples   = 22
	defContext   = 23
	defReplaced  = 24
	defSignal    = 25
	defStuck     = 26
)

// Words of defUsage.
const (
	usageCPU = iota
	usageDelay
	usageSwitches
	usageWords
)

// process is what one definition file says.
type process struct {
	machine
	tables
	references
	crews
	missing
	ending
	rank, size int
	command    string
	real       int64 // ns between the process's clock and the time of day
	clocks     []clockReading
	files      []file // event files, the first thread's first
	period     uint64 // ns of processor time between samples, 0 where none are taken
	sampler    uint64 // what they come by, of samplers
	part       part
}

// machine is where a process ran.
type machine struct {
	host       string
	boot       string
	online     uint64   // processors of the host, 0 if not known
	processors string   // those that the process may use, as the kernel writes lists
	usage      []uint64 // words of defUsage, nil if there are none
}

// tables are what a process numbers.
type tables struct {
	comms     []comm // by number here, from 1
	names     []string
	functions []string
	calls     []string // functions of file I/O: paradigm, data or metadata, name
	wins      []uint64 // numbers of the communicators of windows
	ioFiles   []ioFile // by number here, from 1
	counters  []string
	modules   []Address
	sites     []site
	contexts  []context
}

// references of the definitions, by number of the process.
type references struct {
	functionRefs  []uint32 // regions; from 0
	callRefs      []uint32 // regions; from 0
	commRefs      []uint32
	nameRefs      []uint32 // regions, the program's first
	textRefs      []uint32 // strings
	siteRefs      []uint32 // regions; from 0
	metric        uint32   // class of the counters
	winRefs       map[uint64]uint32
	contextRefs   map[uint64]contextRef
	constructRefs []uint32 // regions; from 0
}

// crews are the threads of a process.
type crews struct {
	threads    bool                 // are recorded
	team       crew                 // of OpenMP
	contingent crew                 // of POSIX threads and those that made them
	threadName map[uint32]string    // what the program calls its threads
	stuck      map[uint32][2]uint64 // threads that wait for long: the lock, the thread that has it + 1 or 0
}

// missing says what a recording lacks.
type missing struct {
	unseen    []uint64 // calls of file I/O that are not recorded, bytes read, bytes written; nil if there are none
	sessions  string   // what sessions of MPI leave out, "" without them
	replaced  string   // the runtime of OpenMP that is in the place of GNU's, "" where that does not matter
	uncounted string   // why counters are missing, "" if none are
	damaged   string   // what is wrong with the file, "" if nothing is
	absent    bool     // it is not there
}

// ending is how a process ended.
type ending struct {
	ended    uint64 // reason, 0 where the process did not end its recording
	exit     uint64 // status given to exit, or code given to MPI_Abort, + 1; 0 where it is not known
	signal   fatal
	signaled string // which signal or error ended it, and where, "" for none
	newest   uint64 // time of the last event, where it did
	running  bool   // and may go on
}

type comm struct {
	global       uint64
	size, remote uint64
	inter        bool
	members      []uint64 // of the first member's process
	name         string
}

// ioFile is a file that the program opened on a communicator, or deleted: its comm is 0. Without MPI its comm is withoutMPI and what
// follows there.
type ioFile struct {
	comm         uint64
	name         string
	file, handle uint32 // references
	paradigm     uint8
}

// Files that are opened without MPI: their comm has this bit; the interface; a bit for one that was open before its first use was seen, and
// then the access mode and flags of status.
const (
	withoutMPI   = 1 << 63
	openedBefore = 1 << 8
)

// ioInterfaces are the paradigms of files, by the reference that they would have if all were used: that of MPI, then those of the
// numbers of interfaces.
var ioInterfaces = [...]trace.IoParadigm{{Class: 1}, {Flags: 1}, {}}

var ioNames = [len(ioInterfaces)][2]string{{"MPI-IO", "MPI-IO"}, {"POSIX", "POSIX I/O"}, {"ISOC", "ISO C I/O"}}

// ioInterface is the place of f's paradigm there.
func (f *ioFile) ioInterface() int {
	if f.comm&withoutMPI == 0 {
		return 0
	}
	return 1 + int(f.comm&1)
}

// unseenText says what file I/O is not recorded, "" for none.
func (p *process) unseenText() string {
	if p.unseen == nil {
		return ""
	}
	return fmt.Sprintf("%d calls, %d bytes read, %d bytes written, of threads that do not call MPI, or in signal handlers that interrupt a call", p.unseen[0], p.unseen[1], p.unseen[2])
}

// clockReading says how far rank 0 was ahead at a time of the process.
type clockReading struct{ at, ahead int64 }

// maxMembers bounds the processes of a communicator, and of a run.
const maxMembers = 1 << 24

func (p *process) read(b []byte) {
	for len(b) > 0 {
		if len(b) < 5 {
			p.damaged = "it ends inside a definition"
			return
		}
		kind, n := b[0], binary.LittleEndian.Uint32(b[1:])
		if uint64(n) > uint64(len(b)-5) {
			p.damaged = "it ends inside a definition"
			return
		}
		if !p.define(kind, b[5:5+n]) {
			p.damaged = fmt.Sprintf("a definition of kind %d is not one", kind)
			return
		}
		b = b[5+n:]
	}
}

// leastWords are the words that definitions of a kind begin with.
var leastWords = [256]int{
	defName: 1, defCommName: 1, defClock: 3, defUsage: usageWords, defWindow: 1, defUnseen: 3, defFile: 1, defThread: 1, defPart: 2, defModule: 1,
	defSite: 4, defSamples: 1, defEnd: 5, defComm: commWords, defTeam: 1, defPosix: 1, defContext: 4, defStuck: 3,
}

// commWords are the words of a communicator before its members.
const commWords = 7

// define takes one definition; unknown kinds are left out.
func (p *process) define(kind byte, b []byte) bool {
	if len(b) < 8*leastWords[kind] {
		return false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	switch kind {
	case defProcess:
		return p.describe(string(b))
	case defComm:
		return p.addComm(b)
	case defName:
		if word(0) != uint64(len(p.names)+1) {
			return false
		}
		p.names = append(p.names, clean(b[8:]))
	case defCommName:
		if word(0) == 0 || word(0) > uint64(len(p.comms)) {
			return false
		}
		p.comms[word(0)-1].name = clean(b[8:])
	case defClock:
		p.clocks = append(p.clocks, clockReading{int64(word(0)), int64(word(1))})
	case defFunctions:
		if p.functions = strings.Split(clean(b), "\n"); len(p.functions) > lifeFirst {
			return false
		}
	case defCounters:
		if p.counters = strings.Split(clean(b), "\n"); len(p.counters) > maxCounters {
			return false
		}
	case defUncounted:
		p.uncounted = clean(b)
	case defUsage:
		p.usage = []uint64{word(usageCPU), word(usageDelay), word(usageSwitches)}
	case defWindow:
		p.wins = append(p.wins, word(0))
	case defSessions:
		p.sessions = "calls before MPI_Init and after MPI_Finalize are not recorded"
	case defCalls:
		if p.calls = strings.Split(clean(b), "\n"); len(p.calls) > maxCalls {
			return false
		}
	case defUnseen:
		p.unseen = []uint64{word(0), word(1), word(2)}
	case defFile:
		p.ioFiles = append(p.ioFiles, ioFile{comm: word(0), name: clean(b[8:])})
	case defTeam:
		return p.team.add(b)
	case defPosix:
		return p.contingent.add(b)
	case defThread:
		if word(0) > math.MaxUint32 {
			return false
		}
		p.threadName[uint32(word(0))] = clean(b[8:])
	case defStuck:
		if delete(p.stuck, uint32(word(0)&mask)); word(1) != math.MaxUint64 {
			p.stuck[uint32(word(0)&mask)] = [2]uint64{word(1), word(2)}
		}
	case defPart:
		p.part.tell(word(0), word(1))
	case defModule:
		return p.addModule(b)
	case defSite:
		return p.addSite(b)
	case defSamples:
		p.period = word(0)
		if len(b) >= 16 {
			p.sampler = word(1)
		}
	case defReplaced:
		p.replaced = cmp.Or(clean(b), trace.NotReplaced)
	case defContext:
		return p.addContext(b)
	case defSignal:
		return p.addSignal(clean(b))
	case defEnd:
		if p.ended, p.newest = word(0), word(4); p.ended == endSessions {
			p.sessions = trace.SessionsAlone
		}
		if len(b) >= 48 {
			p.exit = word(5)
		}
	}
	return true
}

// clean makes a text valid UTF-8.
func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func (p *process) addComm(b []byte) bool {
	const head = 8 * commWords
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	members := word(6)
	if word(0) != uint64(len(p.comms)+1) || word(2) > maxMembers || word(3) > maxMembers || members > uint64(len(b)-head)/8 {
		return false
	}
	c := comm{global: word(1), size: word(2), remote: word(3), inter: word(5) != 0}
	if members != 0 && members != c.size+c.remote {
		return false
	}
	for i := range members {
		c.members = append(c.members, word(7+int(i)))
	}
	c.name = clean(b[head+8*members:])
	p.comms = append(p.comms, c)
	return true
}

func (p *process) describe(text string) bool {
	values := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			values[name] = value
		}
	}
	rank, err := strconv.Atoi(values["rank"])
	if err != nil || rank < 0 {
		return false
	}
	if p.size, err = strconv.Atoi(values["size"]); err != nil || p.size <= rank || p.size > maxMembers {
		return false
	}
	now, err1 := strconv.ParseInt(values["now"], 10, 64)
	real, err2 := strconv.ParseInt(values["real"], 10, 64)
	if err1 == nil && err2 == nil {
		p.real = real - now
	}
	p.rank = rank
	p.host, p.command = clean([]byte(values["host"])), clean([]byte(values["command"]))
	p.threads = values["threads"] != ""
	p.boot, p.processors = values["boot"], clean([]byte(values["processors"]))
	p.online, _ = strconv.ParseUint(values["online"], 10, 64) // 0 where the recorder does not tell
	return true
}

// ticks tells whether the clock readings leave the order of times: the clocks drift apart by less than half of what passes.
func (p *process) ticks() bool {
	if len(p.clocks) < 2 {
		return true
	}
	a, b := p.clocks[0], p.clocks[len(p.clocks)-1]
	passed, drift := b.at-a.at, b.ahead-a.ahead
	overflows := (b.ahead > a.ahead) != (drift > 0) && b.ahead != a.ahead
	return passed <= 0 || !overflows && magnitude(drift) < uint64(passed)/2
}

// correct turns a time of the process into one of rank 0. Two readings make a line, exactly in integers.
func (p *process) correct(t uint64) trace.Time {
	switch len(p.clocks) {
	case 0:
		return trace.Time(t)
	case 1:
		return trace.Time(int64(t) + p.clocks[0].ahead)
	}
	a, b := p.clocks[0], p.clocks[len(p.clocks)-1]
	if b.at <= a.at {
		return trace.Time(int64(t) + a.ahead)
	}
	return trace.Time(int64(t) + a.ahead + mulDiv(int64(t)-a.at, b.ahead-a.ahead, b.at-a.at))
}

func ref(list []uint32, n uint64) uint32 {
	if n == 0 || n > uint64(len(list)) {
		return trace.Undefined
	}
	return list[n-1]
}

// lifeFunctions are the functions whose wrappers are not made from mpi.h; their numbers begin at lifeFirst.
var lifeFunctions = [...]string{"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Pcontrol"}

const lifeFirst = 1 << 12

// Numbers of the functions of file I/O.
const (
	callFirst = 5 << 10
	maxCalls  = siteFirst - callFirst
)

func (p *process) functionRef(n uint64) uint32 {
	switch {
	case n < uint64(len(p.functionRefs)):
		return p.functionRefs[n]
	case n >= lifeFirst && n < lifeFirst+uint64(len(lifeFunctions)):
		return regionLife + uint32(n-lifeFirst)
	case n >= threadFirst && n < threadFirst+uint64(len(constructs)):
		return ref(p.constructRefs, n-threadFirst+1)
	case n >= callFirst && n-callFirst < uint64(len(p.callRefs)):
		return p.callRefs[n-callFirst]
	case n >= siteFirst && n-siteFirst < uint64(len(p.siteRefs)):
		return p.siteRefs[n-siteFirst]
	}
	return trace.Undefined
}

func (p *process) commRef(n uint64) uint32 { return ref(p.commRefs, n) }
func (p *process) winRef(n uint64) uint32 {
	if ref, ok := p.winRefs[n]; ok {
		return ref
	}
	return trace.Undefined
}

func (p *process) opened(n uint64) ioFile {
	if n == 0 || n > uint64(len(p.ioFiles)) {
		return ioFile{file: trace.Undefined, handle: trace.Undefined}
	}
	return p.ioFiles[n-1]
}

// nameRef returns the region of a name; 0 is the program.
func (p *process) nameRef(n uint64) uint32 { return ref(p.nameRefs, n+1) }

// mulDiv returns x*y/z, rounded down, for z > 0; a result that does not fit 63 bits is the largest there is.
func mulDiv(x, y, z int64) int64 {
	negative := (x < 0) != (y < 0)
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if hi >= uint64(z) {
		if negative {
			return -1<<63 + 1
		}
		return 1<<63 - 1
	}
	q, r := bits.Div64(hi, lo, uint64(z))
	if q > 1<<63-2 {
		q, r = 1<<63-2, 0
	}
	if !negative {
		return int64(q)
	}
	if r > 0 {
		q++
	}
	return -int64(q)
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
