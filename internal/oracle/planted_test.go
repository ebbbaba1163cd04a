package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// TestPlanted finds what was planted, exactly.
func TestPlanted(t *testing.T) {
	for seed := range seeds() / 20 {
		for _, p := range tracetest.Planted(seed) {
			src, err := p.Script.Source()
			if err != nil {
				t.Fatalf("%s, seed %d: %v", p.Name, seed, err)
			}
			r := analyze(t, src, oracle.Options{})
			for _, x := range p.Items {
				if x.Node >= len(r.Nodes) {
					t.Fatalf("%s, seed %d: no node %d", p.Name, seed, x.Node)
				}
				if got := r.Processes[x.Process].Components[x.Node][oracle.Item(x.Item)]; got != x.Value {
					t.Errorf("%s, seed %d: process %d, node %d: %s is %d, want %d", p.Name, seed, x.Process, x.Node, x.Item, got, x.Value)
				}
			}
			sums := r.Characteristics(0, oracle.Rules{}).Sum
			for _, x := range p.Path {
				if got := sums[oracle.Item(x.Item)]; got != x.Value {
					t.Errorf("%s, seed %d: %s is %d, want %d", p.Name, seed, x.Item, got, x.Value)
				}
			}
			if p.Costs != nil {
				comparePlanted(t, p.Name, p.Costs, r)
			}
		}
	}
}

func comparePlanted(t *testing.T, name string, costs []tracetest.PlantedCost, r *oracle.Result) {
	t.Helper()
	type key struct {
		p                 int
		activity, pattern string
	}
	want, got := map[key]oracle.Cost{}, map[key]oracle.Cost{}
	for _, c := range costs {
		want[key{c.Process, c.Activity, c.Pattern}] = oracle.Cost{Short: c.Short, Long: c.Long}
	}
	for k, c := range r.Delays {
		x := key{int(k.P), []string{"cpu", "mpi", "io", "marker"}[k.Activity], string(k.Pattern)}
		sum := got[x]
		got[x] = oracle.Cost{Short: sum.Short + c.Short, Long: sum.Long + c.Long}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: delay costs (-want +got):\n%s", name, d)
	}
}
