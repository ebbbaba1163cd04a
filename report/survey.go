package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// survey is what the reports about intervals are made of: the tree, and for each
// node what its characteristics are computed from.
type survey struct {
	run      *Run
	nodes    []node
	measured []measured // by node
	rows     bool       // of events
	replayed bool       // on an ideal network
	cut      bool       // Init and Finalize are left out: first and last events are not the program's
	lost     []Lost
	cost     xtf.Stats // of index statistics over a span of time
}

// surveyOptions choose what a survey reads. Without any it reads the rows of the
// whole run alone, however many processes there are.
type surveyOptions struct {
	ranks   Ranks
	span    *Span // nil: the whole run
	deep    bool  // read every process
	rules   Rules
	section string
	each    func(x *processItems) // of a deep survey: called for each process
}

// survey reads the interval tree and the components of its nodes.
func (r *Run) survey(o surveyOptions) (*survey, error) {
	s := &survey{run: r}
	var err error
	if s.nodes, err = r.nodes(); err != nil {
		return nil, err
	}
	if s.rows, err = r.HasRows(); err != nil {
		return nil, err
	}
	k, err := r.kept()
	if err != nil {
		return nil, err
	}
	s.cut = k.has("init=exclude")
	s.measured = make([]measured, len(s.nodes))
	for n := range s.measured {
		s.measured[n].rules, s.measured[n].ideal = o.rules, notKnown
	}
	whole := o.ranks.All() && o.span == nil
	if whole {
		err = s.readStats()
	}
	if err == nil && (!whole || o.deep || o.rules.processes() || o.rules.IO && s.measured[0].spreads.has(xtf.ItemIO)) {
		err = s.readProcesses(&o, whole)
	}
	if err != nil {
		return nil, err
	}
	s.setIdeal(&o, whole)
	return s, nil
}

// readStats takes the distributions over all processes from the file.
func (s *survey) readStats() error {
	at, last := s.measured, int64(-1)
	var bad error
	err := load(s.run, xtf.WholeRun, func(x *xtf.Stat) {
		n := x.Key >> 32
		switch {
		case n >= uint64(len(at)) || int64(x.Key) <= last:
			bad = fmt.Errorf("row of node %d: %w", n, xtf.ErrCorrupt)
		case uint32(x.Key) < uint32(xtf.NumItems):
			at[n].spreads = append(at[n].spreads, spreadOf(x, uint64(s.nodes[n].Participants)))
		}
		last = int64(x.Key)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("%s: sums over processes: %w", s.run.Name, err)
	}
	for n := range s.nodes {
		x, m := &s.nodes[n], &at[n]
		m.participants, m.processes, m.rows = uint64(x.Participants), uint64(len(s.run.Defs.Processes())), s.rows
		m.single, m.span, m.sumMax = x.ExeMax <= 1, x.LastEnd-min(x.FirstBegin, x.LastEnd), x.SumMax
		if x.SumMax == 0 && n > 0 {
			m.sumMax = xtf.Never
		}
		if n == 0 {
			m.sumMax = m.spreads.item(xtf.ItemTime).Max
		}
		m.useful = m.spreads.item(xtf.ItemCPU).Max // with productive I/O readProcesses knows
	}
	return nil
}

// readProcesses takes what the whole run's rows do not tell from every chosen
// process: all of it for a part of the processes or of the time.
func (s *survey) readProcesses(o *surveyOptions, whole bool) error {
	sums := make([]*gathered, len(s.nodes))
	for n := range s.measured {
		s.measured[n].useful = 0
	}
	estimates := make([]uint64, len(s.nodes))
	seen := make([]bool, len(s.nodes))
	visit := func(x *processItems) {
		for n := range s.nodes {
			m, n := &s.measured[n], uint32(n)
			if !x.took(n) {
				continue
			}
			if !whole {
				if sums[n] == nil {
					sums[n] = &gathered{}
				}
				sums[n].add(x, n)
			}
			m.visit(x, n, !seen[n])
			seen[n] = true
			estimates[n] = max(estimates[n], x.estimate(n))
		}
		if o.each != nil {
			o.each(x)
		}
	}
	var err error
	if o.span != nil {
		s.lost, err = s.eachWindow(o, visit)
	} else {
		s.lost, err = s.run.eachProcess(o.ranks, o.section, visit)
	}
	if err != nil {
		return err
	}
	if !whole {
		s.setGathered(o, sums)
	}
	for n := range s.measured {
		m := &s.measured[n]
		m.approx = true
		m.ideal = integer(estimates[n])
	}
	return nil
}

// setGathered completes nodes of chosen processes, or of a span of time.
func (s *survey) setGathered(o *surveyOptions, sums []*gathered) {
	chosen := uint64(0)
	for rank := range s.run.Defs.Processes() {
		if o.ranks.Contains(uint32(rank)) {
			chosen++
		}
	}
	none := &gathered{}
	for n := range s.measured {
		m := &s.measured[n]
		if sums[n] == nil {
			sums[n] = none
		}
		m.spreads, m.participants, m.processes, m.rows, m.sumMax = sums[n].spreads(), sums[n].count, chosen, s.rows, xtf.Never
		m.part = o.span != nil
		if first, last := m.spreads.item(xtf.ItemFirst), m.spreads.item(xtf.ItemLast); n == 0 {
			m.single, m.span = !s.cut || o.span != nil, last.Max-min(first.Min, last.Max)
		}
	}
}

// setIdeal takes the runtime on an ideal network from the replay; where there is
// none, or only a part was looked at, the estimate of the processes stays.
func (s *survey) setIdeal(o *surveyOptions, whole bool) {
	s.replayed = s.measured[0].spreads.has(xtf.ItemIdeal) && o.span == nil
	for n := range s.measured {
		m := &s.measured[n]
		if m.participants == 0 || !s.rows {
			m.ideal = notKnown
			continue
		}
		if s.replayed && (whole || !m.single) {
			m.approx = false
			m.setIdeal()
		}
	}
}

// waits is the sum of the waits for partners of a node, and of spans of completion;
// notKnown where they are not.
func (m *measured) waits() (partner, completion Sum) {
	if !m.rows {
		return notKnown, notKnown
	}
	sum := func(items []xtf.Item) Sum {
		v := Sum(0)
		for _, i := range items {
			v = add(v, m.sum(i))
		}
		return v
	}
	return sum(WaitItems), sum(completionItems)
}

// hosts returns the nodes of the system that processes run on, in the order of
// their first process, and which of them each process runs on.
func hosts(d *trace.Definitions) (nodes []uint32, of []int) {
	parents := make(map[uint32]uint32, len(d.LocationGroups))
	for i := range d.LocationGroups {
		parents[d.LocationGroups[i].Ref] = d.LocationGroups[i].Parent
	}
	at := map[uint32]int{}
	for _, x := range d.Processes() {
		host := parents[x.Group]
		i, ok := at[host]
		if !ok {
			i = len(nodes)
			at[host] = i
			nodes = append(nodes, host)
		}
		of = append(of, i)
	}
	return nodes, of
}
