package analyze

import (
	"errors"

	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// tileArrays are the arrays of a unit of stageTiles.
var tileArrays = []xtf.TypeID{xtf.TypeTile}

// tiling makes the tiles of this rank's locations. The array of a location stays open until the last group that begins with it is
// complete. At most one array is open for each size of groups.
type tiling struct {
	groups *stats.TileGroups // nil without rows
	open   map[trace.P]*openTiles
}

type openTiles struct {
	*xtfwriter.Array
	missing int // groups that are not complete
}

func newTiling(a *job, levels stats.Levels) *tiling {
	if a.o.GraphOnly {
		return &tiling{}
	}
	return &tiling{stats.NewTileGroups(a.tables, a.ranges, a.c.Rank(), levels), map[trace.P]*openTiles{}}
}

// add takes a location, whose own tiles are in the array own.
func (t *tiling) add(l *stats.Loaded, own *xtfwriter.Array) error {
	heads := []trace.P{l.P}
	t.open[l.P] = &openTiles{own, t.groups.Groups(l.P)}
	t.groups.Add(l, func(head trace.P) *xtf.ArrayBuilder {
		heads = append(heads, head)
		return t.next(head)
	})
	return t.save(heads)
}

// next returns the array for the next complete group that begins with a location.
func (t *tiling) next(head trace.P) *xtf.ArrayBuilder {
	t.open[head].missing--
	return t.open[head].ArrayBuilder
}

// save saves the arrays that are complete.
func (t *tiling) save(heads []trace.P) error {
	for _, p := range heads {
		o := t.open[p]
		if o == nil || o.missing > 0 {
			continue
		}
		delete(t.open, p)
		if err := o.Save(); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the groups that ranks share. Collective.
func (t *tiling) finish(a *job) error {
	if t.groups == nil {
		return nil
	}
	var heads []trace.P
	err := t.groups.Join(a.c, func(head trace.P) *xtf.ArrayBuilder {
		heads = append(heads, head)
		return t.next(head)
	})
	if err = errors.Join(err, t.save(heads)); err == nil && len(t.open) > 0 {
		err = errors.New("groups of locations are not complete")
	}
	return err
}
