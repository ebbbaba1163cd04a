package analyze

import (
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// replay adds the times in an ideal network to the components. Where locations
// wait for each other in a circle there are none.
func (a *causeFinder) replay(r *causes.Ideal) error {
	report, err := r.Run()
	if err != nil {
		return fmt.Errorf("replay in an ideal network: %w", err)
	}
	a.res.Replay = *report
	if d := report.Deadlock; d != nil {
		a.found.problem(a.c, trace.Diagnostic{Code: trace.DiagReplayStuck, Count: d.Stuck, Detail: d.String()})
		return nil
	}
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		err = a.addIdeal(p, r.Nodes(int(p-a.own.First)))
	}
	return jobs.Agree(a.c, err)
}

// addIdeal adds the times of the replay to the components of a location.
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
