package ccg

import (
	"errors"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

func TestClusters(t *testing.T) {
	for _, c := range []struct {
		name string
		o    graph.Options
		want [][]trace.P
	}{
		{"lossless", graph.Options{}, [][]trace.P{{0, 1, 3}, {2}}},
		{"classes", graph.Options{Deviation: graph.Deviation{Abs: 1 << 40}}, [][]trace.P{{0, 1, 3}, {2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &made{defs: ccgtest.Definitions(4)}
			for p := range 4 {
				n := 600
				if p == 2 {
					n = 500
				}
				m.streams = append(m.streams, ccgtest.CallEvents(n))
			}
			m.finish(t, c.o)
			list, err := Clusters(m.each())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) != len(c.want) {
				t.Fatalf("%+v", list)
			}
			for i, k := range list {
				if !slices.Equal(k.Locations, c.want[i]) || k.Root != m.locs[k.Locations[0]].Root() {
					t.Errorf("%+v, want %v", k, c.want[i])
				}
			}
		})
	}
	failed := errors.New("cannot be read")
	if _, err := Clusters(func(yield func(*Location, error) bool) { yield(nil, failed) }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
