package predict

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/trace"
)

// picosecondClock is the resolution of predicted runs, in ticks a second.
const picosecondClock = 1e12

// Retimed is a recorded run with other times, as a source for an analysis: the recorded events of each location, in order. With a method
// Gather it is a [trace.Interleaved].
type Retimed struct {
	Defs *trace.Definitions
	ID   [32]byte // identifies the recorded run and what determines the times
	Size func(p trace.P) (events uint64, err error)
	Open func(p trace.P) (*ccg.Location, error)
	// Times returns a function that sets the times of a location's events, batch by batch.
	Times func(p trace.P, l *ccg.Location) (set func(b *trace.Batch) error, err error)
}

// Definitions returns the definitions of the run with other times.
func (r *Retimed) Definitions() *trace.Definitions { return r.Defs }

// Format names the kind of source.
func (r *Retimed) Format() string { return "prediction" }

// Identity returns a hash of what determines the result.
func (r *Retimed) Identity() [32]byte { return r.ID }

// Close does nothing: the recorded run belongs to the caller.
func (r *Retimed) Close() error { return nil }

// Measure returns the number of events of a location as its size, because reading it takes as much time.
func (r *Retimed) Measure(p trace.P) (trace.Extent, error) {
	n, err := r.Size(p)
	if err != nil || n == 0 {
		return trace.Extent{}, err
	}
	return trace.Extent{Bytes: n, Events: n, Chunks: 1}, nil
}

// Stream opens a location. Its times must be on this rank.
func (r *Retimed) Stream(p trace.P) (trace.Stream, error) {
	loc, err := r.Open(p)
	if err != nil {
		return nil, err
	}
	return trace.NewStream(int(min(loc.Events(), 1)), func(int) (trace.ChunkReader, error) {
		set, err := r.Times(p, loc)
		events := loc.Expand()
		return trace.Fill(func(b *trace.Batch) error {
			if err := events.Next(b); err != nil {
				return err
			}
			err := set(b)
			b.KeepRecords()
			return err
		}), err
	}), nil
}

// Run is a predicted run as a source for an analysis. It is a [trace.Interleaved].
//
// On the first location of a process, calls of the program get their simulated times. All times between two of these, also of other threads
// of the process and of calls that count as computation, are interpolated. Locations whose process is not in the program keep their
// recorded times.
type Run struct {
	Retimed
	o RunOptions
}

// RunOptions are the parts of a predicted run.
type RunOptions struct {
	Comm       mpi.Comm   // of all ranks; the run keeps it
	Recorded   *Input     // what was predicted
	Times      Segments   // written by Times, of this rank's processes
	First, End uint32     // this rank's processes
	Origin     trace.Time // recorded time that is 0 in the simulation
	Makespan   int64      // ps
	Properties []Property // added to the definitions
	Identity   []byte     // what else determines the result
}

// NewRun returns the predicted run.
func NewRun(o RunOptions) (*Run, error) {
	defs, err := predictedDefinitions(o.Recorded.Defs, o.Makespan, o.Properties)
	if err != nil {
		return nil, err
	}
	b, err := defs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	r := &Run{o: o}
	r.Retimed = Retimed{Defs: defs, ID: sha256.Sum256(append(b, o.Identity...)), Size: o.Recorded.Events, Open: o.Recorded.Location, Times: r.times}
	return r, nil
}

// times returns the function that interpolates the times of a location. They must be on this rank, see Gather.
func (r *Run) times(p trace.P, l *ccg.Location) (func(b *trace.Batch) error, error) {
	process, thread := r.Defs.Process(p)
	if process >= r.o.Recorded.Processes() {
		return r.recordedTimes, nil
	}
	k, err := r.knots(process, thread, l)
	switch {
	case err != nil:
		return nil, err
	case thread == 0:
		return k.byNumber, nil
	}
	return k.byTime, nil
}

// recordedTimes keeps recorded times, converted to ps.
func (r *Run) recordedTimes(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		ps := r.o.Recorded.Tick().Of(int64(min(e.Time-min(r.o.Origin, e.Time), math.MaxInt64)))
		if ps == network.Never {
			return ErrTooLong
		}
		e.Time = trace.Time(ps)
	}
	return nil
}

// Property is a name and a value in the definitions of a prediction. Neither may be a path, because they determine bytes of the result.
type Property struct{ Name, Value string }

// predictedDefinitions returns the definitions of the recorded run with the clock of the simulation and the properties.
func predictedDefinitions(recorded *trace.Definitions, makespan int64, list []Property) (*trace.Definitions, error) {
	d, err := Annotated(recorded, list)
	if err == nil {
		d.Clocks = []trace.ClockProperties{{TimerResolution: picosecondClock, TraceLength: uint64(makespan), RealtimeTimestamp: trace.Undefined64}}
		d.Seal()
	}
	return d, err
}

// Annotated returns the definitions of a recorded run with properties of the root of the system tree or, if there is none, of the first
// location group.
func Annotated(recorded *trace.Definitions, list []Property) (*trace.Definitions, error) {
	b, err := recorded.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	d := &trace.Definitions{}
	if err := d.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	next := uint64(0)
	for i := range d.Strings {
		next = max(next, uint64(d.Strings[i].Ref)+1)
	}
	if next+2*uint64(len(list)) > math.MaxUint32 {
		return nil, fmt.Errorf("the recorded run has string %d, none is left for the properties of the prediction", next-1)
	}
	text := func(s string) uint32 {
		d.Strings = append(d.Strings, trace.String{Ref: uint32(next), Value: s})
		next++
		return uint32(next - 1)
	}
	for _, p := range list {
		name, value := text(p.Name), text(p.Value)
		switch v := (trace.Value{Type: trace.TypeString, Bits: uint64(value)}); {
		case len(d.SystemTreeNodes) > 0:
			d.SystemTreeNodeProperties = append(d.SystemTreeNodeProperties, trace.SystemTreeNodeProperty{
				Node: d.SystemTreeNodes[0].Ref, Name: name, StringValue: value, Value: v,
			})
		case len(d.LocationGroups) > 0:
			d.LocationGroupProperties = append(d.LocationGroupProperties, trace.LocationGroupProperty{
				LocationGroup: d.LocationGroups[0].Ref, Name: name, StringValue: value, Value: v,
			})
		}
	}
	d.Seal()
	return d, nil
}

// roles returns the role that calls and events of a process's first location have in the program, by node of the shared graph. Open makes
// the program by the same rule. A node that is missing has no role.
func (in *Input) roles(process uint32, l *ccg.Location, sync *synchronised) (map[uint32]ccg.Role, error) {
	t := newTracer(&builder{tables: in.tables}, l, process)
	t.sync = sync
	if err := t.survey(); err != nil {
		return nil, fmt.Errorf("process %d: %w", process, err)
	}
	t.count()
	roles := map[uint32]ccg.Role{}
	for n, r := range t.roles() {
		if r != ccg.Within {
			roles[t.s.ID(uint32(n))] = r
		}
	}
	return roles, nil
}

// Segments store what is appended for each process of a rank, in memory or in files. Concurrent appends to different processes are safe.
type Segments interface {
	Append(process uint32, b []byte) error
	// Reader reads all that was appended.
	Reader(process uint32) (io.Reader, error)
}

// Times writes the simulated begin and end of calls to segments, each as distance from the previous time: 6 to 8 bytes for a call if calls
// are microseconds apart. It is a [simnet.Observer].
type Times struct {
	out   Segments
	first uint32
	last  []int64  // of each process
	calls []uint64 // of each process
	pool  sync.Pool
}

// NewTimes returns an observer for processes first to first+processes-1.
func NewTimes(out Segments, first uint32, processes int) *Times {
	return &Times{out: out, first: first, last: make([]int64, processes), calls: make([]uint64, processes), pool: sync.Pool{New: func() any { return new([]byte) }}}
}

// Calls implements [simnet.Observer].
func (t *Times) Calls(process uint32, first uint64, times []int64) error {
	k := process - t.first
	if uint64(process) < uint64(t.first) || int(k) >= len(t.last) || t.calls[k] != first || len(times)%2 != 0 {
		return fmt.Errorf("process %d: times of %d calls from number %d on", process, len(times)/2, first)
	}
	buf := t.pool.Get().(*[]byte)
	defer t.pool.Put(buf)
	b, last := (*buf)[:0], t.last[k]
	for _, x := range times {
		if x < last {
			return fmt.Errorf("process %d: time %d ps after %d ps", process, x, last)
		}
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	t.last[k] = last
	t.calls[k] += uint64(len(times) / 2)
	*buf = b
	return t.out.Append(process, b)
}

// Finish appends the times at which processes end.
func (t *Times) Finish(r *simnet.Result) error {
	if r.First != t.first || len(r.Times) != len(t.last) {
		return fmt.Errorf("a result of %d processes from number %d on, times of %d from number %d on", len(r.Times), r.First, len(t.last), t.first)
	}
	for k := range r.Times {
		end := r.Times[k].Finish
		if end < t.last[k] {
			return fmt.Errorf("process %d ends at %d ps, before its last call at %d ps", t.first+uint32(k), end, t.last[k])
		}
		if err := t.out.Append(t.first+uint32(k), binary.AppendUvarint(nil, uint64(end-t.last[k]))); err != nil {
			return err
		}
	}
	return nil
}

// timeReader reads the times of one process; the last one is its end.
type timeReader struct {
	from *bufio.Reader
	last int64
}

func newTimeReader(out Segments, process uint32) (*timeReader, error) {
	r, err := out.Reader(process)
	if err != nil {
		return nil, err
	}
	return &timeReader{from: bufio.NewReaderSize(r, 4096)}, nil
}

func (r *timeReader) next() (int64, error) {
	gap, err := binary.ReadUvarint(r.from)
	if err != nil {
		return 0, err
	}
	r.last += int64(gap)
	return r.last, nil
}

const (
	pieceBytes = 1 << 20 // most bytes of a process's times in a message to another rank
	tagPiece   = 12
)

// passage is the times of a process that are sent to another rank.
type passage struct {
	process uint32
	to      int
	from    io.Reader
}

// Gather moves the times of the processes of locations first to end-1 to this rank. The simulation distributes processes over ranks, the
// analysis locations, so they may differ at the borders between ranks. Collective; the folder is not used.
func (r *Run) Gather(first, end trace.P, _ string) error {
	need := [2]uint32{}
	if first < end {
		a, _ := r.Defs.Process(first)
		b, _ := r.Defs.Process(end - 1)
		need = [2]uint32{min(a, r.o.Recorded.Processes()), min(b+1, r.o.Recorded.Processes())}
	}
	all, err := r.o.Comm.Allgather(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, need[0]), need[1]))
	if err != nil {
		return err
	}
	var list []passage
	var failed error
	for to, b := range all {
		from, end := max(binary.LittleEndian.Uint32(b), r.o.First), min(binary.LittleEndian.Uint32(b[4:]), r.o.End)
		for p := from; p < end && to != r.o.Comm.Rank() && failed == nil; p++ {
			x := passage{process: p, to: to}
			x.from, failed = r.o.Times.Reader(p)
			list = append(list, x)
		}
	}
	for {
		var parts []mpi.Part
		for i := 0; i < len(list) && failed == nil; i++ {
			b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+pieceBytes), list[i].process)[:4+pieceBytes]
			n, err := io.ReadFull(list[i].from, b[4:])
			if n > 0 {
				parts = append(parts, mpi.Part{Rank: list[i].to, Data: b[:4+n]})
			}
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				failed = err
			}
		}
		left := []int64{int64(len(parts))}
		got, err := mpi.SparseAlltoall(r.o.Comm, tagPiece, parts)
		if err != nil {
			return err
		}
		for _, x := range got {
			failed = cmp.Or(failed, r.o.Times.Append(binary.LittleEndian.Uint32(x.Data), x.Data[4:]))
		}
		if err := r.o.Comm.AllreduceInt64(left, mpi.Sum); err != nil {
			return err
		}
		if left[0] == 0 {
			return r.o.Comm.Agree(failed)
		}
	}
}
