package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// deviations are the bounds that are compared, as --deviation takes them: none,
// far below, about and above the jitter, and with a floor for short gaps.
var deviations = []string{lossless, "1%", "10%", "50%", moderate, moderate + ",timestamps"}

const (
	lossless = "0"
	moderate = "10%,1us"
)

// figure is what is measured of one program at one deviation.
type figure struct {
	ccg.Stats
	roots   int    // distinct structures of locations
	largest uint64 // ticks between a time stamp and the original
	mean    float64
}

// nodeRatio is R_n, instances per stored node.
func (f *figure) nodeRatio() float64 { return ratio(f.Instances, f.Nodes) }

// memoryRatio is R_m, bytes of the unshared graph per byte stored.
func (f *figure) memoryRatio() float64 { return ratio(f.RawBytes, f.StoredBytes) }

// bytesPerEvent counts the shared section and the blobs.
func (f *figure) bytesPerEvent() float64 { return ratio(f.SharedBytes+f.ColumnBytes, f.Events) }

// singleShare is the share of nodes used once: what does not repeat.
func (f *figure) singleShare() float64 { return ratio(f.Single, f.Nodes) }

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// slice is the locations of one process in memory.
type slice []*build.Local

func (s slice) Len() int                         { return len(s) }
func (s slice) Open(i int) (*build.Local, error) { return s[i], nil }

// each calls f for every batch of a location.
func each(src trace.Source, p trace.P, f func(*trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			if err = f(&b); err != nil {
				break
			}
		}
		r.Close()
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// locals makes the graphs of all locations.
func locals(src trace.Source, o graph.Options) ([]*build.Local, error) {
	d := src.Definitions()
	locals := make([]*build.Local, d.NumLocations())
	for p := range locals {
		b := build.NewBuilder(d, trace.P(p), o)
		err := each(src, trace.P(p), b.Add)
		if err == nil {
			locals[p], err = b.Finish()
		}
		if err != nil {
			return nil, fmt.Errorf("location %d: %w", p, err)
		}
	}
	return locals, nil
}

// encode makes the shared section and the locations' blobs, on one rank: the
// bytes are those of any number.
func encode(d *trace.Definitions, locals []*build.Local, o graph.Options) (section []byte, blobs [][]byte, err error) {
	err = mpi.RunInProcess(1, func(c mpi.Comm) error {
		shared, book, _, err := ccgmerge.Reduce(c, d, slice(locals), o, ccgmerge.Config{})
		if err != nil {
			return err
		}
		section = shared.Encode()
		dist := build.NewDistributor(shared)
		for _, l := range locals {
			stored, err := book.Quantise(l)
			if err != nil {
				return err
			}
			b, err := dist.Distribute(stored)
			if err != nil {
				return err
			}
			blobs = append(blobs, b)
		}
		return nil
	})
	return section, blobs, err
}

// measure reads an encoded graph back, as a reader of the file would, and
// compares its times with those of the source.
func measure(src trace.Source, section []byte, blobs [][]byte) (figure, error) {
	var f figure
	shared, err := graph.OpenShared(src.Definitions(), section)
	if err != nil {
		return f, err
	}
	sum := ccg.NewSummary(shared, len(section))
	roots := map[uint32]bool{}
	var d drift
	for p, b := range blobs {
		l, err := ccg.OpenLocation(shared, b)
		if err != nil {
			return f, fmt.Errorf("location %d: %w", p, err)
		}
		sum.Add(l)
		roots[l.Root()] = true
		if err := d.add(src, l); err != nil {
			return f, fmt.Errorf("location %d: %w", p, err)
		}
	}
	f.Stats, f.roots = sum.Stats(), len(roots)
	f.largest, f.mean = d.largest, d.mean()
	return f, nil
}

// measureAt measures a source at one deviation.
func measureAt(src trace.Source, deviation string) (f figure, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("deviation %s: %w", deviation, err)
		}
	}()
	d := src.Definitions()
	second := d.Clock().TimerResolution
	if second == 0 {
		second = 1e9 // of a trace without clock a tick is taken for 1 ns
	}
	var o graph.Options
	if o.Deviation, err = graph.ParseDeviation(deviation, second); err != nil {
		return f, err
	}
	locals, err := locals(src, o)
	if err != nil {
		return f, err
	}
	section, blobs, err := encode(d, locals, o)
	if err != nil {
		return f, err
	}
	return measure(src, section, blobs)
}
