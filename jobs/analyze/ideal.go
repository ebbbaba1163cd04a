package analyze

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// replay replays the run in an ideal network, and adds its times to the components. failed is an error of this rank alone. If locations wait
// for each other in a cycle there are no times. Collective.
func (a *causeFinder) replay(r *causes.Ideal) (failed, err error) {
	report, err := r.Run()
	if err != nil {
		return nil, fmt.Errorf("replay in an ideal network: %w", err)
	}
	a.res.Replay = *report
	if d := report.Deadlock; d != nil {
		a.found.problem(a.c, trace.Diagnostic{Code: trace.DiagReplayStuck, Count: d.Stuck, Detail: d.String()})
		return nil, nil
	}
	for p := a.own.First; p < a.own.End && failed == nil; p++ {
		failed = a.addIdeal(p, r.Nodes(int(p-a.own.First)))
	}
	return failed, nil
}

// addIdeal adds the times of nodes to the components of a location.
func (a *causeFinder) addIdeal(p trace.P, nodes []causes.NodeIdeal) error {
	if len(nodes) == 0 {
		return nil
	}
	c, err := a.components(p)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		c.Add(n.Node, xtf.ItemIdeal, n.Sum)
		c.Add(n.Node, xtf.ItemIdealFirst, n.First)
		c.Add(n.Node, xtf.ItemIdealLast, n.Last)
	}
	return a.putComponents(p, c)
}
