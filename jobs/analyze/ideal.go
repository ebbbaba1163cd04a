package analyze

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// replay runs the run in an ideal network. Where locations wait for each other in a circle there are no times.
func (a *causeFinder) replay(r *causes.Ideal) error {
	report, err := r.Run()
	if err != nil {
		return fmt.Errorf("replay in an ideal network: %w", err)
	}
	a.res.Replay = *report
	return nil
}

// addIdeals adds the times of the replay to the components.
func (a *causeFinder) addIdeals(r *causes.Ideal) (err error) {
	report := &a.res.Replay
	if d := report.Deadlock; d != nil {
		a.found.problem(a.c, trace.Diagnostic{Code: trace.DiagReplayStuck, Count: d.Stuck, Detail: d.String()})
		return nil
	}
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		err = a.addIdeal(p, r.Nodes(int(p-a.own.First)))
	}
	return err
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
