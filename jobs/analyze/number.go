package analyze

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// forest is the trees of intervals and call paths of some locations.
type forest struct {
	nodes *interval.Tree
	paths *callpath.Tree
}

// derived returns, by interval node, whether it was derived from time or operations.
func (f *forest) derived() []bool {
	list := make([]bool, f.nodes.Len())
	for n := range list {
		list[n] = f.nodes.Node(uint32(n)).Form == interval.FormDerived
	}
	return list
}

// regions returns the innermost region of each call path.
func (f *forest) regions() []uint32 {
	list := make([]uint32, f.paths.Len())
	for path := range list {
		list[path] = f.paths.Path(uint32(path)).Region
	}
	return list
}

// numbered is the result of stage number.
type numbered struct {
	*loaded
	*forest // of all locations
}

// number numbers the nodes and call paths of all locations. Components and IVAL rows of this rank's locations have these numbers afterwards.
// Memory of a rank: the union of all trees, twice.
func (a *job) number(in *loaded) (*numbered, error) {
	a.begin("number")
	own, err := a.ownForest()
	encode := func(f *forest) ([]byte, error) { return f.encode(), nil }
	b, err := mpi.TreeShare(a.c, own, err, encode, parseForest, mergeForests, func(all *forest) ([]byte, error) {
		all.nodes.Number()
		all.paths.Number()
		return encode(all)
	})
	if err != nil {
		return nil, err
	}
	all, err := parseForest(b)
	if err == nil {
		n := numbering{a, all}
		err = n.run()
	}
	return &numbered{in, all}, err
}

// ownForest returns the union of the trees of this rank's locations.
func (a *job) ownForest() (*forest, error) {
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

// encode encodes a forest: the length of the tree of intervals, that tree, the tree of call paths.
func (f *forest) encode() []byte {
	nodes := f.nodes.AppendBinary(nil)
	return f.paths.AppendBinary(append(binary.AppendUvarint(nil, uint64(len(nodes))), nodes...))
}

// MarshalJSON implements json.Marshaler: a forest is part of a mark.
func (f *forest) MarshalJSON() ([]byte, error) { return json.Marshal(f.encode()) }

// UnmarshalJSON implements json.Unmarshaler.
func (f *forest) UnmarshalJSON(text []byte) error {
	var b []byte
	err := json.Unmarshal(text, &b)
	if err == nil {
		var x *forest
		if x, err = parseForest(b); err == nil {
			*f = *x
		}
	}
	return err
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
			err = jobs.Fail(jobs.ExitResource, fmt.Errorf("%w. Say with --markers or --interval which ones to keep", err))
		}
		return nil, err
	}
	x.paths.Merge(y.paths)
	return x, nil
}

// numbering applies the numbers of the run to the results of the load.
type numbering struct {
	*job
	all *forest
}

func (a *numbering) run() error {
	err := a.eachOwn(func(p trace.P) error {
		if err := a.location(p); err != nil {
			return fmt.Errorf("intervals of location %d: %w", p, err)
		}
		a.meter.Add(a.size.Weights[p])
		return nil
	})
	if err != nil || a.c.Rank() != 0 || a.o.GraphOnly {
		return err
	}
	return a.whole(stageNumber, pathArrays, func(arrays arrays) {
		for n := range uint32(a.all.paths.Len()) {
			x := a.all.paths.Path(n)
			row, _ := arrays[xtf.TypePath].Append()
			r := xtf.Path{Key: uint64(n), Parent: x.Parent, Region: x.Region, Level: x.Level}
			r.Put(row)
		}
	})
}

func (a *numbering) location(p trace.P) error {
	f, err := a.forestOf(p)
	if err != nil {
		return err
	}
	a.drop(p, kindForest)
	nodes := a.all.nodes.Locate(f.nodes)
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
	for _, path := range a.all.paths.Locate(f.paths) {
		table = binary.LittleEndian.AppendUint32(table, path)
	}
	if err := a.store.Put(a.key(p, stageNumber, kindPaths), table); err != nil {
		return err
	}
	return a.writeExecutions(p, nodes)
}

// writeExecutions makes the IVAL rows of a location from its borders.
func (a *numbering) writeExecutions(p trace.P, nodes []uint32) error {
	borders, err := a.store.Segment(a.key(p, stageLoad, kindBorders))
	if err != nil {
		return err
	}
	rows, err := a.store.NewArray(a.enc, a.types.Lookup(xtf.TypeIval), unit(p, stageNumber))
	if err != nil {
		return err
	}
	w := interval.NewRowWriter(rows.ArrayBuilder, nodes)
	buf := make([]byte, min(4096*interval.BorderBytes, borders.Size()))
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
