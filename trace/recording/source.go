package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Source is a recording. It is safe for concurrent use.
type Source struct {
	dir       string
	processes []*process // by rank
	defs      *trace.Definitions
	identity  [32]byte
}

// file is the event file of a thread.
type file struct {
	path string
	size int64
}

// Marker is the name of the empty file that tells a recording's folder.
const Marker = "coppice.recording"

// maxDefinitions bounds the definition file of a process.
const maxDefinitions = 256 << 20

// Is reports whether a folder is a recording.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, Marker))
	return err == nil
}

// Open reads the definitions of a recording.
func Open(dir string) (*Source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{dir: dir}
	h := sha256.New()
	byRank := make(map[int]*process)
	for _, e := range entries { // in the order of their names
		rank, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".def"))
		if err != nil || !strings.HasSuffix(e.Name(), ".def") {
			continue
		}
		b, err := readDefinitions(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		p := parseProcess(b)
		if p.rank != rank {
			return nil, fmt.Errorf("%s: %w: it does not say that it is of process %d", filepath.Join(dir, e.Name()), trace.ErrCorrupt, rank)
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(h, "%d %x\n", rank, sum)
		byRank[rank] = p
	}
	if len(byRank) == 0 {
		return nil, fmt.Errorf("%s: %w: no process has written here", dir, trace.ErrNotTrace)
	}
	h.Sum(s.identity[:0])
	if err := s.fill(byRank); err != nil {
		return nil, err
	}
	for _, p := range s.processes {
		p.findFiles(dir)
	}
	s.definitions()
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
	size := 0
	for _, p := range byRank {
		size = max(size, p.size)
	}
	if size > 4*len(byRank)+64 {
		return fmt.Errorf("%s: %w: %d processes wrote here of %d", s.dir, trace.ErrMissing, len(byRank), size)
	}
	var first *process
	for r := range size {
		p := byRank[r]
		if p == nil {
			p = &process{rank: r, size: size, damaged: "its definition file is not there"}
		} else if first == nil {
			first = p
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
		if t == 0 {
			continue
		}
	}
}

// clock returns the clock of the recording: ns, from the first process's start to the last reading or event.
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
	h, err := os.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.diags.Add(trace.Diagnostic{Code: trace.DiagMissingEvents, Detail: "the event file is not there"})
		return st, nil
	case err != nil:
		return nil, err
	}
	st.h = h
	if q.ended != endFinalize && f == &q.files[0] {
		st.diags.Add(trace.Diagnostic{Code: trace.DiagTruncated, Detail: "the recording ends before MPI_Finalize: " + endText(q.ended)})
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
)

func endText(reason uint64) string {
	switch reason {
	case 0:
		return "the process was killed or the machine stopped"
	case endExit:
		return "the process ended without it"
	case endAbort:
		return "MPI_Abort"
	case endBudget:
		return "the size given for a process was reached"
	case endDisk:
		return "no room on the disk"
	}
	return "unknown reason"
}

const (
	windowBytes = 1 << 20
	windowHead  = 48
)

var magic = []byte("CPREVT1\x00")

func windows(size int64) int { return int((size + windowBytes - 1) / windowBytes) }

// span returns the first time of the first window and of the last one, corrected.
func (p *process) span(f *file) (first, last trace.Time, ok bool) {
	h, err := os.Open(f.path)
	if err != nil {
		return 0, 0, false
	}
	defer h.Close()
	n := windows(f.size)
	for _, i := range slices.Compact([]int{0, n - 1}) {
		var b [windowHead]byte
		if i < 0 {
			return 0, 0, false
		}
		if _, err := h.ReadAt(b[:], int64(i)*windowBytes); err != nil || !bytes.HasPrefix(b[:], magic) {
			return first, last, ok
		}
		t := p.correct(binary.LittleEndian.Uint64(b[24:]))
		if i == 0 {
			first = t
		}
		last, ok = max(last, t), true
	}
	return first, last, ok
}
