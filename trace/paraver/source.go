package paraver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/coppice-hpc/coppice/trace"
)

// Trace is a Paraver trace as a trace.Source. It is safe for concurrent use.
type Trace struct {
	path   string
	head   *head
	names  *names
	index  *index
	defs   *trace.Definitions
	tables *tables
	text   func() (io.ReadCloser, error)
	limits limits

	mu     sync.Mutex
	splits []*split
}

var (
	_ trace.Source      = (*Trace)(nil)
	_ trace.Interleaved = (*Trace)(nil)
)

// Open makes a trace of what Load read. Opening a stream reads the records again.
func Open(f *Files) (*Trace, error) {
	t := &Trace{path: f.Path, names: parseNames(f.Names), limits: usualLimits, text: func() (io.ReadCloser, error) { return openText(f.Path) }}
	var err error
	if t.head, err = parseHead(f.Head, trace.Undefined64); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if t.index, err = parseIndex(f.Index); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if len(t.index.Locations) != int(t.head.threads) || len(t.index.Roots) != len(t.head.comms) {
		return nil, fmt.Errorf("%s: %w", f.Path, errIndex)
	}
	t.defs, t.tables = define(t.head, t.names, parseRows(f.Rows), t.index)
	if f.Names == nil {
		t.defs.Problems().Add(trace.Diagnostic{Code: trace.DiagNoNames, Detail: "no .pcf file next to the trace"})
	}
	return t, nil
}

// Definitions returns the definitions that the header, the names and the records
// make together.
func (t *Trace) Definitions() *trace.Definitions { return t.defs }

// Format names the format.
func (t *Trace) Format() string { return "Paraver" }

// Identity is the SHA-256 of the names and of the hash of all lines, whether
// the file is compressed or not.
func (t *Trace) Identity() [32]byte { return t.index.Identity }

// Records returns how many state, event and communication records there are.
func (t *Trace) Records() (states, events, comms uint64) {
	return t.index.States, t.index.Events, t.index.Comms
}

// Date returns the date in the header, as written.
func (t *Trace) Date() string { return t.head.date }

// Measure tells what the records of a location take. Events counts pairs of
// type and value, and messages twice.
func (t *Trace) Measure(p trace.P) (trace.Extent, error) {
	if err := t.check(p); err != nil {
		return trace.Extent{}, err
	}
	l := &t.index.Locations[t.thread(p)]
	x := trace.Extent{Bytes: l.Bytes, Events: l.Records, Chunks: 1}
	if l.First != trace.Undefined64 {
		x.First, x.HasFirst = trace.Time(l.First), true
	}
	return x, nil
}

func (t *Trace) check(p trace.P) error {
	if uint64(p) >= uint64(t.head.threads) {
		return fmt.Errorf("paraver: %s: no location with ordinal %d, there are %d", t.path, p, t.head.threads)
	}
	return nil
}

// Gather reads the file and keeps the records of locations first to end-1, in
// memory as far as 8 MiB hold them, else in a file in folder dir that has no name.
func (t *Trace) Gather(first, end trace.P, dir string) error {
	if first >= end {
		return nil
	}
	if err := t.check(end - 1); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lo, hi := t.head.threads, uint32(0)
	for p := first; p < end; p++ { // streams of devices come after all threads of their process
		lo, hi = min(lo, t.thread(p)), max(hi, t.thread(p)+1)
	}
	_, err := t.gather(lo, hi, dir)
	return err
}

func (t *Trace) gather(first, end uint32, dir string) (*split, error) {
	r, err := t.text()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s, err := newSplit(t.head, r, first, end, dir, t.index.Stateful, t.limits)
	if err != nil {
		return nil, err
	}
	t.splits = append(t.splits, s)
	return s, nil
}

// Stream opens location p. Without a call of Gather that has it the first one
// reads the file for all locations, with temporary files in the system's folder.
func (t *Trace) Stream(p trace.P) (trace.Stream, error) {
	if err := t.check(p); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.thread(p)
	for _, s := range t.splits {
		if at >= s.first && at < s.end {
			return t.stream(at, s), nil
		}
	}
	s, err := t.gather(0, t.head.threads, os.TempDir())
	if err != nil {
		return nil, err
	}
	return t.stream(at, s), nil
}

// thread is the number in the file of a location.
func (t *Trace) thread(p trace.P) uint32 { return uint32(t.defs.Location(p).Ref) }

// Close frees temporary files.
func (t *Trace) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	for _, s := range t.splits {
		err = errors.Join(err, s.Close())
	}
	t.splits = nil
	return err
}

// stream is one location, thread at. It has one chunk: what a record means depends on the calls that are open.
func (t *Trace) stream(at uint32, s *split) trace.Stream {
	return trace.NewStream(1, func(int) (trace.ChunkReader, error) {
		return newDecoder(t, at, newMerger(s.data(), s.runs[at-s.first])), nil
	})
}
