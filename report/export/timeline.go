package export

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Drawn counts what a timeline has.
type Drawn struct {
	Bytes    int64  `json:"bytes"`
	Slices   uint64 `json:"slices"`    // calls and executions of intervals
	Flows    uint64 `json:"flows"`     // messages with both ends in the window
	OneEnded uint64 `json:"one_ended"` // messages whose other end is outside of the window or of the chosen processes, or does not exist
	Counters uint64 `json:"counters"`  // values of metrics
}

// ErrTooLarge says that a timeline exceeds its limit of bytes.
var ErrTooLarge = errors.New("larger than allowed")

// Timeline writes a timeline in the form perfetto or chrome, at most limit bytes of it: with more it stops with
// ErrTooLarge.
func (s *Source) Timeline(out io.Writer, form string, limit int64) (*Drawn, error) {
	t := &timeline{s: s}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	err := t.write(out, form, limit)
	return &t.drawn, err
}

func (t *timeline) write(out io.Writer, form string, limit int64) error {
	count := &Counted{Out: out, Limit: limit}
	buffer := bufio.NewWriterSize(count, 1<<16)
	switch form {
	case "perfetto":
		t.sink = &perfetto{out: buffer, next: 1, parents: map[trace.P]uint64{}}
	case "chrome":
		t.sink = &chrome{out: buffer, texts: map[string]string{}}
	default:
		return fmt.Errorf("%q: not a form of timelines: perfetto or chrome: %w", form, ErrRun)
	}
	t.written = func() int64 { return count.N + int64(buffer.Buffered()) }
	t.failed = func() error {
		_, err := buffer.Write(nil)
		return err
	}
	err := t.draw()
	if err == nil {
		err = buffer.Flush()
	}
	t.drawn.Bytes = count.N
	return err
}

// Counted counts the bytes that pass to a writer, up to a limit.
type Counted struct {
	Out      io.Writer
	N, Limit int64
}

func (c *Counted) Write(b []byte) (int, error) {
	if int64(len(b)) > c.Limit-c.N {
		return 0, fmt.Errorf("more than %d bytes: %w", c.Limit, ErrTooLarge)
	}
	n, err := c.Out.Write(b)
	c.N += int64(n)
	return n, err
}

// sink writes the events of a timeline in one form. Its writer remembers the first error. Times are nanoseconds from the begin of
// the trace. They never decrease within a track, and begins and ends are balanced.
type sink interface {
	head(id string, regions, categories []string)
	process(first trace.P, rank uint32, name string)
	// thread begins the tracks of a location. The events that follow belong to it.
	thread(x thread)
	begin(ns uint64, e *event)
	end(ns uint64, flows []uint64)
	// instant is a message outside of calls.
	instant(ns uint64, receive bool, e *event)
	intervalBegin(ns uint64, name string)
	intervalEnd(ns uint64, name string)
	// counter takes member i's next value.
	counter(ns uint64, i int, name, unit string, value float64, bits uint64, kind int)
	tail()
}

// thread is a location in a timeline. Its numbers are those of an imaginary system: they are unique in a timeline, and the first
// thread of a process has the number of the process.
type thread struct {
	process, self int32
	name          string
}

// event describes the begin of a slice.
type event struct {
	region   int // index of its name
	category trace.State
	flows    []uint64 // messages that begin
	args     []arg
}

// arg is an annotation: a text if Text is not empty, else a number.
type arg struct {
	name  argName
	value uint64
	text  string
}

// argName says what an annotation is about.
type argName uint8

// Annotations.
const (
	argPeer argName = iota // process
	argBytes
	argTag
	argComm
	argSends
	argReceives
	argSent     // bytes
	argReceived // bytes
	argRoot
	argWait // ns
	argPattern
	argCause // process
	argCut
	numArgs
)

var argNames = [numArgs]string{
	"peer", "bytes", "tag", "comm", "sends", "receives", "bytes_sent", "bytes_received", "root", "wait_ns", "wait", "late_rank", "cut",
}

// timeline draws a source into a sink.
type timeline struct {
	s       *Source
	sink    sink
	part    *sample
	clock   clock
	drawn   Drawn
	written func() int64 // bytes so far
	failed  func() error // the first error of the writer
	windows []span       // of each location, empty where it is not chosen
	base    []uint64     // number of the first message of each location in the run, from 1
	count   []uint64     // of messages of each location
	index   map[uint32]int
	states  states
	comms   map[uint32]string
	metrics *counters.Members
}

type span struct{ begin, end uint64 }

func (w span) has(t uint64) bool { return w.begin <= t && t < w.end }

// maxLocations is the number of threads that the forms can number.
const maxLocations = math.MaxInt32 - 1

// prepare reads what locations must know of each other.
func (t *timeline) prepare() error {
	s := t.s
	n := s.Defs.NumLocations()
	t.clock = s.clock()
	switch {
	case t.clock.resolution == 0:
		return fmt.Errorf("the trace does not give the resolution of its clock, and timelines are in nanoseconds: %w", ErrRun)
	case n > maxLocations:
		return fmt.Errorf("%d locations, a timeline has at most %d: choose a part with --ranks: %w", n, maxLocations, ErrRun)
	}
	t.windows, t.base, t.count = make([]span, n), make([]uint64, n), make([]uint64, n)
	t.index, t.states, t.comms, t.metrics = make(map[uint32]int), s.states(), make(map[uint32]string), counters.NewMembers(s.Defs)
	for _, ref := range s.Defs.CommRefs() {
		t.comms[ref] = s.CommName(ref)
	}
	next := uint64(1)
	for p := range trace.P(n) {
		if !s.selected(p) {
			continue
		}
		begin, end, ok, err := s.window(p)
		if err != nil {
			return err
		}
		if ok {
			t.windows[p] = span{begin, end}
		}
		a, err := s.array(p, xtf.TypeP2P)
		if err != nil {
			return err
		}
		t.base[p], t.count[p] = next, a.Len()
		next += a.Len()
	}
	return nil
}

func (t *timeline) draw() error {
	s := t.s
	// list has the names of regions by the numbers in events. The last one is for all unknown regions.
	var list []string
	for i := range t.s.Defs.Regions {
		ref := t.s.Defs.Regions[i].Ref
		t.index[ref] = len(list)
		list = append(list, strings.ToValidUTF8(t.s.Defs.RegionLabel(ref), "\uFFFD"))
	}
	names := append(list, "(undefined region)")
	id := s.File.FileID()
	t.sink.head(fmt.Sprintf("%x", id[:]), names, stateNames())
	for rank, x := range s.Defs.Processes() {
		chosen := slices.Collect(func(yield func(trace.P) bool) {
			for i := range trace.P(x.Count) {
				if p := x.First + i; (t.s.selected(p) && (t.part == nil || t.part.locations[p])) && !yield(p) {
					return
				}
			}
		})
		if len(chosen) == 0 {
			continue
		}
		t.sink.process(x.First, uint32(rank), fmt.Sprintf("rank %d", rank))
		for _, p := range chosen {
			if err := t.location(x.First, p, len(names)-1); err != nil {
				return err
			}
		}
	}
	t.sink.tail()
	return nil
}

// location draws the tracks of one location.
func (t *timeline) location(first, p trace.P, unknown int) error {
	name := cmp.Or(strings.ToValidUTF8(t.s.Defs.Text(t.s.Defs.Location(p).Name), "\uFFFD"), fmt.Sprintf("location %d", t.s.Defs.Location(p).Ref))
	t.sink.thread(thread{process: int32(first) + 1, self: int32(p) + 1, name: name})
	w := t.windows[p]
	if w.begin >= w.end {
		return nil
	}
	l := &lane{t: t, p: p, window: w, unknown: unknown}
	for k, draw := range [numKinds]func() error{l.calls, l.intervals, l.counters} {
		before := t.written()
		if err := draw(); err != nil {
			return err
		}
		if t.part != nil {
			t.part.bytes[k] += t.written() - before
			t.part.taken[k] += min(l.drawn, t.part.rows)
		}
	}
	return nil
}

// Kinds of rows in a location's part of a timeline.
const (
	kindCalls = iota
	kindIntervals
	kindCounters
	numKinds
)

var kindTypes = [numKinds]xtf.TypeID{xtf.TypeCall, xtf.TypeIval, xtf.TypeMetric}

// Sizes of a sample: locations, and rows of each of their arrays.
const (
	sampleLocations = 8
	sampleRows      = 2048
)

// sample bounds what is drawn of a timeline to estimate its size.
type sample struct {
	locations map[trace.P]bool
	rows      uint64           // at most, of an array of a location
	taken     [numKinds]uint64 // rows
	bytes     [numKinds]int64
}

// errSampled ends the rows of an array in a sample.
var errSampled = errors.New("enough of the array")

// Estimate is the approximate size of a timeline.
type Estimate struct {
	Bytes  int64  `json:"bytes"`
	Slices uint64 `json:"slices"`
}

// Estimate returns the approximate size of the source's timeline in a form. It counts the rows, with two descents for each array.
// The bytes of a row come from a sample of at most 8 locations and 2 048 rows of each of their arrays.
func (s *Source) Estimate(form string) (*Estimate, error) {
	t := &timeline{s: s}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	var rows [numKinds]uint64
	var chosen []trace.P
	for p, w := range t.windows {
		if w.begin >= w.end {
			continue
		}
		chosen = append(chosen, trace.P(p))
		for k, typ := range kindTypes {
			a, err := s.array(trace.P(p), typ)
			if err != nil {
				return nil, err
			}
			first, last, err := s.between(a, w.begin, w.end)
			if err != nil {
				return nil, s.at(trace.P(p), err)
			}
			rows[k] += last - first
		}
	}
	t.part = &sample{locations: map[trace.P]bool{}, rows: sampleRows}
	n := min(len(chosen), sampleLocations)
	for i := range n {
		t.part.locations[chosen[i*len(chosen)/n]] = true
	}
	if err := t.write(io.Discard, form, math.MaxInt64); err != nil {
		return nil, err
	}
	e := &Estimate{Slices: rows[kindCalls] + rows[kindIntervals], Bytes: t.drawn.Bytes}
	for k := range rows {
		if e.Bytes -= t.part.bytes[k]; t.part.taken[k] > 0 {
			e.Bytes += int64(min(numbers.MulDiv(uint64(t.part.bytes[k]), rows[k], t.part.taken[k]), uint64(math.MaxInt64-e.Bytes)))
		}
	}
	return e, nil
}
