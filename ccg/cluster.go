package ccg

import (
	"iter"

	"github.com/coppice-hpc/coppice/trace"
)

// Cluster is a set of locations that are equal as far as the graph shares them.
type Cluster struct {
	Root      uint32 // id of their Root: the same structure
	Row       int    // row of the Root's class: the same stored gaps too; -1 if those are not shared
	Locations []trace.P
}

// Clusters groups locations by structure, and where the whole of a location is
// in classes, by its stored gaps: a comparison of two numbers each. Clusters
// are in the order of their first location.
func Clusters(locations iter.Seq2[*Location, error]) ([]Cluster, error) {
	type key struct {
		root uint32
		row  int
	}
	var list []Cluster
	place := map[key]int{}
	for l, err := range locations {
		if err != nil {
			return nil, err
		}
		k := key{l.root, l.view.RootRow}
		i, ok := place[k]
		if !ok {
			i = len(list)
			place[k] = i
			list = append(list, Cluster{Root: k.root, Row: k.row})
		}
		list[i].Locations = append(list[i].Locations, l.p)
	}
	return list, nil
}
