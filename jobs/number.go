package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/callpath"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// forest is the intervals and call paths of some locations.
type forest struct {
	nodes *interval.Tree
	paths *callpath.Tree
}

// number gives the nodes and call paths of all locations their numbers: all ranks
// have a.nodes and a.paths afterwards, and components and IVAL rows of their
// locations hold these numbers. Memory of a rank: the trees of all, twice.
func (a *analysis) number() error {
	a.meter.Stage("number", a.ownBytes())
	own, err := a.ownForest()
	all, rerr := mpi.TreeReduce(a.c, own, func(f *forest) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return f.encode(), nil
	}, parseForest, mergeForests)
	if rerr != nil {
		return rerr
	}
	if err = agree(a.c, err); err != nil {
		return err
	}
	var b []byte
	if a.c.Rank() == 0 {
		all.nodes.Number()
		all.paths.Number()
		b = all.encode()
	}
	if b, err = a.c.Bcast(b, 0); err != nil {
		return err
	}
	if all, err = parseForest(b); err == nil {
		a.nodes, a.paths = all.nodes, all.paths
		err = a.renumber()
	}
	return agree(a.c, err)
}

// ownForest joins the trees of this rank's locations.
func (a *analysis) ownForest() (*forest, error) {
	own := &forest{interval.NewTree(), callpath.New()}
	for p := a.own.First; p < a.own.End; p++ {
		f, err := a.forestOf(p)
		if err == nil {
			own, err = mergeForests(own, f)
		}
		if err != nil {
			return own, fmt.Errorf("intervals of location %d: %w", p, err)
		}
	}
	return own, nil
}

func (a *analysis) forestOf(p trace.P) (*forest, error) {
	b, err := a.store.Get(a.key(p, stageLoad, kindForest))
	if err != nil {
		return nil, err
	}
	return parseForest(b)
}

// encode writes the length of the first tree, the first tree, the second.
func (f *forest) encode() []byte {
	nodes := f.nodes.AppendBinary(nil)
	return f.paths.AppendBinary(append(binary.AppendUvarint(nil, uint64(len(nodes))), nodes...))
}

func parseForest(b []byte) (*forest, error) {
	r := varint.Read(b)
	first := r.Block()
	if r.Failed() {
		return nil, errors.New("damaged trees of intervals and call paths")
	}
	nodes, err := interval.ParseTree(first)
	if err != nil {
		return nil, err
	}
	paths, err := callpath.Parse(r.Rest())
	return &forest{nodes, paths}, err
}

func mergeForests(x, y *forest) (*forest, error) {
	if _, err := x.nodes.Merge(y.nodes); err != nil {
		if errors.Is(err, interval.ErrTooMany) {
			err = Fail(ExitResource, fmt.Errorf("%w. Say with --markers or --interval which ones to keep", err))
		}
		return nil, err
	}
	x.paths.Merge(y.paths)
	return x, nil
}

// renumber brings the numbers of the run into what the load left.
func (a *analysis) renumber() error {
	for p := a.own.First; p < a.own.End; p++ {
		if err := a.renumberLocation(p); err != nil {
			return fmt.Errorf("intervals of location %d: %w", p, err)
		}
		a.meter.Add(a.size.Weights[p])
		if err := a.pace.poll(); err != nil {
			return err
		}
	}
	if a.c.Rank() == 0 && !a.o.GraphOnly {
		return a.writePaths()
	}
	return nil
}

func (a *analysis) renumberLocation(p trace.P) error {
	f, err := a.forestOf(p)
	if err != nil {
		return err
	}
	a.drop(p, stageLoad, kindForest)
	nodes := a.nodes.Locate(f.nodes)
	c, err := a.components(p)
	if err != nil {
		return err
	}
	if err := c.Renumber(nodes); err != nil {
		return err
	}
	if err := a.putComponents(p, c); err != nil || a.o.GraphOnly {
		return err
	}
	var table []byte
	for _, path := range a.paths.Locate(f.paths) {
		table = binary.LittleEndian.AppendUint32(table, path)
	}
	if err := a.store.Put(a.key(p, stageNumber, kindPaths), table); err != nil {
		return err
	}
	return a.writeExecutions(p, nodes)
}

// writeExecutions makes the IVAL rows of a location from its borders.
func (a *analysis) writeExecutions(p trace.P, nodes []uint32) error {
	borders, err := a.store.Segment(a.key(p, stageLoad, kindBorders))
	if err != nil {
		return err
	}
	rows, err := a.store.NewArray(a.enc, a.types.Lookup(xtf.TypeIval), unit(p, stageNumber))
	if err != nil {
		return err
	}
	w := interval.NewRowWriter(rows.ArrayBuilder, nodes)
	buf := make([]byte, 4096*interval.BorderBytes)
	for at := int64(0); at < borders.Size(); {
		b := buf[:min(int64(len(buf)), borders.Size()-at)]
		if _, err := borders.ReadAt(b, at); err != nil {
			return err
		}
		if err := w.Add(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	if err := w.Finish(); err != nil {
		return err
	}
	borders.Drop()
	return rows.Save()
}

// pathArrays are the whole-run arrays of call paths.
var pathArrays = []xtf.TypeID{xtf.TypePath}

// writePaths writes the call paths of the run.
func (a *analysis) writePaths() error {
	u := xtfwriter.Unit{P: xtf.WholeRun, Stage: stageNumber}
	arrays, err := a.newArrays(u, pathArrays)
	if err != nil {
		return err
	}
	for n := range uint32(a.paths.Len()) {
		x := a.paths.Path(n)
		row, _ := arrays[xtf.TypePath].Append()
		r := xtf.Path{Key: uint64(n), Parent: x.Parent, Region: x.Region, Level: x.Level}
		r.Put(row)
	}
	return saveArrays(arrays, pathArrays)
}

// components returns what is known of a location's executions.
func (a *analysis) components(p trace.P) (*interval.Components, error) {
	b, err := a.store.Get(a.key(p, stageLoad, kindComponents))
	if err != nil {
		return nil, err
	}
	return interval.ParseComponents(b)
}

// putComponents replaces what is known of a location's executions.
func (a *analysis) putComponents(p trace.P, c *interval.Components) error {
	a.drop(p, stageLoad, kindComponents)
	return a.store.Put(a.key(p, stageLoad, kindComponents), c.AppendBinary(nil))
}

// pathTable returns the run's number of each call path of a location.
func (a *analysis) pathTable(p trace.P) ([]uint32, error) {
	b, err := a.store.Get(a.key(p, stageNumber, kindPaths))
	if err != nil {
		return nil, err
	}
	table := make([]uint32, len(b)/4)
	for i := range table {
		table[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return table, nil
}

// rows iterates over the rows of an array that a stage saved; none if it had none.
func (a *analysis) rows(p trace.P, stage uint32, t xtf.TypeID) (*xtf.Cursor, error) {
	x, _, err := a.store.LoadArray(unit(p, stage), t)
	if err != nil {
		return nil, err
	}
	return xtf.ScanArray(a.types, x, 0), nil
}
