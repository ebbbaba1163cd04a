package predict

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// graphFile is what a file holds, made in memory.
type graphFile struct {
	defs, section []byte
	blobs         [][]byte
	events        []uint64
}

func (f *graphFile) Procs() uint32                                  { return uint32(len(f.blobs)) }
func (f *graphFile) Definitions() ([]byte, error)                   { return f.defs, nil }
func (f *graphFile) SectionBytes(uint32) ([]byte, error)            { return f.section, nil }
func (f *graphFile) Dir(p xtf.Proc) (xtf.DirRow, error)             { return xtf.DirRow{Events: f.events[p]}, nil }
func (f *graphFile) BlobBytes(p xtf.Proc, _ uint32) ([]byte, error) { return f.blobs[p], nil }

// graphsOf makes the call graph of a trace.
func graphsOf(src trace.Source) (*graphFile, error) {
	return graphsWith(src.Definitions(), func(p trace.P, add func(*trace.Batch) error) (uint64, error) { return eachBatch(src, p, add) })
}

// graphsOfBatches makes the call graph of events in memory.
func graphsOfBatches(t testing.TB, d *trace.Definitions, list []*trace.Batch) *graphFile {
	t.Helper()
	f, err := graphsWith(d, func(p trace.P, add func(*trace.Batch) error) (uint64, error) {
		return uint64(len(list[p].Events)), add(list[p])
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func graphsWith(d *trace.Definitions, read func(p trace.P, add func(*trace.Batch) error) (uint64, error)) (*graphFile, error) {
	f := &graphFile{}
	var err error
	if f.defs, err = d.AppendBinary(nil); err != nil {
		return nil, err
	}
	partners := build.NewPartners(d)
	var locals []*build.Local
	for p := range trace.P(d.NumLocations()) {
		b := build.NewBuilder(d, p, graph.Options{})
		n, err := read(p, b.Add)
		if err != nil {
			return nil, fmt.Errorf("location %d: %w", p, err)
		}
		l, err := b.Finish()
		if err != nil {
			return nil, err
		}
		partners.Add(l)
		locals, f.events = append(locals, l), append(f.events, n)
	}
	union := build.NewUnion(d, partners.Choose(), graph.Options{})
	for _, l := range locals {
		if err := union.Add(l); err != nil {
			return nil, err
		}
	}
	shared := union.Shared()
	f.section = shared.Encode()
	for _, l := range locals {
		b, err := build.NewDistributor(shared).Distribute(l)
		if err != nil {
			return nil, err
		}
		f.blobs = append(f.blobs, b)
	}
	return f, nil
}

// eachBatch reads a location, times running backwards raised.
func eachBatch(src trace.Source, p trace.P, add func(*trace.Batch) error) (uint64, error) {
	s, err := src.Stream(p)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var batch trace.Batch
	var n uint64
	var last trace.Time
	for i := range s.Chunks() {
		c, err := s.Chunk(i)
		if err != nil {
			return 0, err
		}
		for {
			err := c.Next(&batch)
			for i := range batch.Events {
				e := &batch.Events[i]
				e.Time = max(e.Time, last)
				last = e.Time
			}
			n += uint64(len(batch.Events))
			if e := add(&batch); e != nil {
				return 0, e
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// inputs opens a file on so many ranks.
func inputs(t testing.TB, f Graphs, ranks int) []*Input {
	t.Helper()
	list := make([]*Input, ranks)
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		in, err := Open(c, f, OpenOptions{})
		list[c.Rank()] = in
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Regions of the definitions that tests make.
const (
	inMain uint32 = iota
	inWork
	inInit
	inSend
	inRecv
	inIsend
	inIrecv
	inWait
	inBarrier
	inTest
	inProbe
	inSendrecv
	inAllreduce
	inIbarrier
	inSsend
	inFinalize
	inWtime
	inPut
	inWrite // outside of MPI
	numRegions
)

var regionNames = [numRegions]string{
	"main", "work", "MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Barrier", "MPI_Test",
	"MPI_Probe", "MPI_Sendrecv", "MPI_Allreduce", "MPI_Ibarrier", "MPI_Ssend", "MPI_Finalize", "MPI_Wtime", "MPI_Put", "write",
}

// worldOf defines n processes and a communicator 0 of all, 1 of the even ones, with a clock of 1 ns.
func worldOf(n int) *trace.Definitions {
	d := &trace.Definitions{Clocks: []trace.ClockProperties{{TimerResolution: 1e9}}}
	var all, even []uint64
	for i := range n {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(i), Type: trace.ProcessGroup, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Type: trace.CPUThread, Group: uint32(i)})
		all = append(all, uint64(i))
		if i%2 == 0 {
			even = append(even, uint64(i))
		}
	}
	d.Groups = []trace.Group{
		{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: all},
		{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: all},
		{Ref: 2, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: even},
	}
	d.Comms = []trace.Comm{{Ref: 0, Group: 1, Parent: trace.Undefined}, {Ref: 1, Group: 2, Parent: 0}}
	for i, name := range regionNames {
		d.Strings = append(d.Strings, trace.String{Ref: uint32(i), Value: name})
		r := trace.Region{Ref: uint32(i), Name: uint32(i), Paradigm: trace.ParadigmMPI}
		if i <= int(inWork) {
			r.Paradigm = trace.ParadigmUser
		}
		if uint32(i) == inWrite {
			r.Paradigm, r.Role = trace.ParadigmUser, trace.RoleFileIO
		}
		d.Regions = append(d.Regions, r)
	}
	d.Seal()
	return d
}

// scribe writes the events of one process.
type scribe struct {
	*trace.Batch
	now trace.Time
}

// work computes for so many ns.
func (s *scribe) work(ns int) { s.now += trace.Time(ns) }

// call writes a call that takes 10 ns around records, which are pairs of a kind and its words.
func (s *scribe) call(region uint32, records ...func()) {
	s.Append(s.now, trace.Enter, region)
	s.now += 5
	for _, r := range records {
		r()
	}
	s.now += 5
	s.Append(s.now, trace.Leave, region)
}

// record returns what writes a record.
func (s *scribe) record(k trace.Kind, words ...uint64) func() {
	return func() { s.Append(s.now, k, 0, words...) }
}
