package predict

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
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
	d := src.Definitions()
	f := &graphFile{}
	var err error
	if f.defs, err = d.AppendBinary(nil); err != nil {
		return nil, err
	}
	partners := ccg.NewPartners(d)
	var locals []*ccg.Local
	for p := range trace.P(d.NumLocations()) {
		b := ccg.NewBuilder(d, p, ccg.Options{})
		n, err := eachBatch(src, p, b.Add)
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
	union := ccg.NewUnion(d, partners.Choose(), ccg.Options{})
	for _, l := range locals {
		if err := union.Add(l); err != nil {
			return nil, err
		}
	}
	shared := union.Shared()
	f.section = shared.Encode()
	for _, l := range locals {
		b, err := ccg.Distribute(shared, l)
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
func inputs(t testing.TB, f graphs, ranks int) []*Input {
	t.Helper()
	list := make([]*Input, ranks)
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		in, err := open(c, f)
		list[c.Rank()] = in
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
