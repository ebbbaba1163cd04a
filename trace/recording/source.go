package recording

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Source is a recording. It is safe for concurrent use.
type Source struct {
	dir       string
	processes []*process // by rank
	names     map[Address][]Frame
	defs      *trace.Definitions
	identity  [32]byte
}

// file is the event file of a thread.
type file struct {
	path  string
	size  int64
	skip  map[int][]uint32 // events that are left out, by window
	first int              // window: those before it were given up
	begin place            // then: of the event where the recording begins
	opens []uint64         // names of the regions that are open there, the program's, 0, first
}

// Marker is the name of the empty file that tells a recording's folder.
const Marker = "coppice.recording"

// maxDefinitions bounds the definition file of a process.
const maxDefinitions = 256 << 20

// namesRank is the number of the names file among the definition files. It is larger than any rank.
const namesRank = 1 << 24

// Is reports whether a folder is a recording.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, Marker))
	return err == nil
}

// Load reads the definition files of a recording into one string of bytes, for Open here or on other ranks.
func Load(dir string) ([]byte, error) {
	all, err := loadProcesses(dir)
	if err != nil {
		return nil, err
	}
	names, err := readNames(dir)
	return withNames(all, names), err
}

func withNames(all, names []byte) []byte {
	if len(names) == 0 {
		return all
	}
	return append(varint.Append(all, namesRank, uint64(len(names))), names...)
}

func loadProcesses(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, e := range entries { // in the order of their names
		rank, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ".def"), 10, 24)
		if err != nil || !strings.HasSuffix(e.Name(), ".def") {
			continue
		}
		b, err := readDefinitions(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(varint.Append(all, rank, uint64(len(b))), b...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w: no process has written here", dir, trace.ErrNotTrace)
	}
	return all, nil
}

// Open makes the source of a recording from what Load read.
func Open(dir string, loaded []byte) (*Source, error) {
	s, err := parse(dir, loaded)
	if err == nil {
		err = s.leaveOut()
	}
	if err != nil {
		return nil, err
	}
	s.definitions()
	return s, nil
}

// OpenNaming opens a recording whose call sites have the names in a file that write writes. running: its processes may go on.
func OpenNaming(dir string, running bool, write func([]Address) ([]byte, error)) (*Source, error) {
	b, err := loadProcesses(dir)
	if err != nil {
		return nil, err
	}
	s, err := parse(dir, b)
	if err != nil {
		return nil, err
	}
	for _, p := range s.processes {
		p.running = running && p.ended == 0
	}
	if list := s.addresses(); len(list) > 0 {
		text, err := write(list)
		if err != nil {
			return nil, err
		}
		s.names, s.identity = parseNames(text), sha256.Sum256(withNames(b, text))
	}
	if err := s.leaveOut(); err != nil {
		return nil, err
	}
	s.definitions()
	return s, nil
}

// parse reads what the processes defined.
func parse(dir string, loaded []byte) (*Source, error) {
	s := &Source{dir: dir, identity: sha256.Sum256(loaded)}
	byRank := make(map[int]*process)
	for r := varint.Read(loaded); r.Len() > 0; {
		rank, b := r.Next(), r.Block()
		if r.Failed() {
			return nil, fmt.Errorf("%s: %w: the definitions arrived damaged", dir, trace.ErrCorrupt)
		}
		if rank == namesRank {
			s.names = parseNames(b)
			continue
		}
		none := func() crew { return crew{map[uint32]uint32{}, trace.Undefined} }
		p := &process{rank: -1, crews: crews{team: none(), contingent: none(), threadName: map[uint32]string{}, stuck: map[uint32][2]uint64{}}}
		p.read(b)
		if !p.ticks() {
			p.clocks = p.clocks[:1]
			p.damaged = cmp.Or(p.damaged, "its clock readings contradict each other")
		}
		if p.rank < 0 || uint64(p.rank) != rank {
			return nil, fmt.Errorf("%s: %w: it does not say that it is of process %d", filepath.Join(dir, fmt.Sprintf("%d.def", rank)), trace.ErrCorrupt, rank)
		}
		byRank[p.rank] = p
	}
	if err := s.fill(byRank); err != nil {
		return nil, err
	}
	for _, p := range s.processes {
		p.findFiles(dir)
	}
	return s, nil
}

func readDefinitions(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDefinitions))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// fill makes the list of processes; one whose files are not there has no events.
func (s *Source) fill(byRank map[int]*process) error {
	if len(byRank) == 0 {
		return fmt.Errorf("%s: %w: no process has written here", s.dir, trace.ErrNotTrace)
	}
	size := 0
	var functions, calls []string // of the process that wrote them for all
	for _, p := range byRank {
		if len(p.functions) > len(functions) {
			functions = p.functions
		}
		if len(p.calls) > len(calls) {
			calls = p.calls
		}
		size = max(size, p.size)
	}
	if size > 4*len(byRank)+64 {
		return fmt.Errorf("%s: %w: %d processes wrote here of %d", s.dir, trace.ErrMissing, len(byRank), size)
	}
	var first *process
	for r := range size {
		p := byRank[r]
		if p == nil {
			p = &process{rank: r, size: size, missing: missing{absent: true}}
		} else if first == nil {
			first = p
		}
		if len(p.functions) == 0 {
			p.functions = functions
		}
		if len(p.calls) == 0 {
			p.calls = calls
		}
		s.processes = append(s.processes, p)
	}
	s.processes[0].command = first.command
	return nil
}

// findFiles looks for the event files of a process: threads are numbered without a gap.
func (p *process) findFiles(dir string) {
	for t := 0; ; t++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.evt", p.rank))
		if t > 0 {
			path = filepath.Join(dir, fmt.Sprintf("%d.%d.evt", p.rank, t))
		}
		st, err := os.Stat(path)
		if err != nil && t > 0 {
			return
		}
		f := file{path: path}
		if err == nil {
			f.size = st.Size()
		}
		p.files = append(p.files, f)
	}
}

// clock returns the clock of the recording: ns, from the first to the last event.
func (s *Source) clock() trace.ClockProperties {
	c := trace.ClockProperties{TimerResolution: 1_000_000_000, RealtimeTimestamp: trace.Undefined64}
	first, last, found := trace.Time(0), trace.Time(0), false
	for _, p := range s.processes {
		for i := range p.files {
			from, to, ok := p.span(&p.files[i])
			if !ok {
				continue
			}
			if !found {
				first, last, found = from, to, true
			}
			first, last = min(first, from), max(last, to)
		}
	}
	c.GlobalOffset, c.TraceLength = uint64(first), uint64(last-first)
	if p := s.processes[0]; p.real != 0 && found {
		c.RealtimeTimestamp = uint64(int64(first) + p.real)
	}
	return c
}

// Definitions implements trace.Source.
func (s *Source) Definitions() *trace.Definitions { return s.defs }

// Format implements trace.Source.
func (s *Source) Format() string { return "recording 1" }

// Identity implements trace.Source: it hashes the definition files.
func (s *Source) Identity() [32]byte { return s.identity }

// Close implements trace.Source.
func (s *Source) Close() error { return nil }

// at returns the process and the thread of a location.
func (s *Source) at(p trace.P) (*process, *file) {
	ref := s.defs.Location(p).Ref
	q := s.processes[uint32(ref)]
	return q, &q.files[ref>>32]
}

// Measure implements trace.Source.
func (s *Source) Measure(p trace.P) (trace.Extent, error) {
	q, f := s.at(p)
	x := trace.Extent{Bytes: uint64(f.size), Chunks: windows(f.size)}
	if from, _, ok := q.span(f); ok {
		x.First, x.HasFirst = from, true
	}
	return x, nil
}

// Stream implements trace.Source.
func (s *Source) Stream(p trace.P) (trace.Stream, error) {
	q, f := s.at(p)
	st := &stream{p: q, file: f}
	if q.damaged != "" && f == &q.files[0] {
		st.diags.Add(trace.Diagnostic{Code: trace.DiagBadLocalDef, Detail: "definitions of the process: " + q.damaged})
	}
	property, why := q.cut()
	if code, ok := trace.CutBy(property); ok && f == &q.files[0] {
		st.diags.Add(trace.Diagnostic{Code: code, Detail: why})
	}
	if text := q.part.text(); text != "" && f == &q.files[0] {
		st.diags.Add(trace.Diagnostic{Code: trace.DiagPart, Detail: text})
	}
	h, err := os.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (q.ended == endSessions || q.absent):
		return st, nil
	case errors.Is(err, fs.ErrNotExist):
		st.diags.Add(trace.Diagnostic{Code: trace.DiagMissingEvents, Detail: "the event file is not there"})
		return st, nil
	case err != nil:
		return nil, err
	}
	st.h = h
	if err := st.look(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return st, nil
}

// Reasons of an end.
const (
	endFinalize = iota + 1
	endExit
	endAbort
	endBudget
	endDisk
	endMemory
	endSessions
)

// Absent is why there is nothing of a process that has no files.
const Absent = "nothing of it is recorded: its files are not in the folder, which all nodes have to see, and on which there has to be room"

// cut returns the property that says why the recording of a process has no MPI_Finalize, and its value; "" where it has.
func (p *process) cut() (property, why string) {
	const recording = "the recording ended before the program: "
	switch p.ended {
	case endFinalize:
		return "", ""
	case 0:
		if p.absent {
			return trace.PropertyCut, Absent
		}
		if p.damaged != "" { // how the process ended is not known
			return trace.PropertyCut, "definitions of the process: " + p.damaged
		}
		if p.running {
			return trace.PropertyUnfinished, "it goes on: the recording was written before its end"
		}
		return trace.PropertyUnfinished, cmp.Or(p.signaled, trace.UnfinishedUnknown)
	case endExit:
		if p.exit > 0 {
			return trace.PropertyUnfinished, fmt.Sprintf("%s with status %d", trace.UnfinishedExit, p.exit-1)
		}
		return trace.PropertyUnfinished, trace.UnfinishedExit
	case endAbort:
		if p.exit > 0 {
			return trace.PropertyUnfinished, fmt.Sprintf("%s with code %d", trace.UnfinishedAbort, int32(p.exit-1))
		}
		return trace.PropertyUnfinished, trace.UnfinishedAbort
	case endBudget:
		return trace.PropertyCut, recording + "its share of the size given was used up"
	case endDisk:
		return trace.PropertyCut, recording + "no room on the disk"
	case endMemory:
		return trace.PropertyCut, recording + "no memory for the recorder"
	case endSessions:
		return trace.PropertyCut, trace.SessionsAlone + "; call MPI_Init next to it"
	}
	return trace.PropertyCut, recording + "unknown reason"
}

// Cut returns the processes whose recordings have no MPI_Finalize, by rank, with the reason.
func (s *Source) Cut() map[int]string {
	return s.told(func(p *process) string {
		_, why := p.cut()
		return why
	})
}

// told returns what there is to say of each process, by rank.
func (s *Source) told(what func(p *process) string) map[int]string {
	m := make(map[int]string)
	for _, p := range s.processes {
		if text := what(p); text != "" {
			m[p.rank] = text
		}
	}
	return m
}

const (
	windowBytes = 1 << 20
	windowHead  = 48
)

var magic = []byte("CPREVT1\x00")

func windows(size int64) int { return int((size + windowBytes - 1) / windowBytes) }

// span returns the corrected times of the first and about the last event of a file. For a process that was killed, the last time
// is that of the first event of the last window.
func (p *process) span(f *file) (first, last trace.Time, ok bool) {
	n := windows(f.size)
	from, ok := windowTime(f.path, f.first)
	if n == 0 || !ok {
		return 0, 0, false
	}
	to := max(from, p.newest)
	if t, ok := windowTime(f.path, n-1); ok {
		to = max(to, t)
	}
	return p.correct(from), p.correct(to), true
}

func windowTime(path string, i int) (uint64, bool) {
	h, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer h.Close()
	var b [windowHead + 1]byte // with the kind of its first event
	if _, err := h.ReadAt(b[:], int64(i)*windowBytes); err != nil || !bytes.HasPrefix(b[:windowHead], magic) || b[windowHead] == evEnd {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[24:]), true
}
