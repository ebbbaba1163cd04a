package ccg

import (
	"iter"

	"github.com/coppice-hpc/coppice/trace"
)

// Cluster is a set of locations that are equal as far as the graph shares them.
type Cluster struct {
	Root      uint32 // id of their Root: they have the same structure
	Row       int    // row of the Root's class: they also have the same stored gaps; -1 if that is not known
	Locations []trace.P
}

// Clusters groups locations by structure and, for locations that are in class tables as a whole, by stored gaps. It compares two numbers
// for each location. Clusters are ordered by their first location.
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
