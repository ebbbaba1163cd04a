package verify

import (
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// maxExecutions bounds the memory for comparing executions of different processes.
const maxExecutions = 4 << 20

// nodeCheck compares all parts of a file that describe interval nodes.
type nodeCheck struct {
	v     *Verified
	r     *results.Run
	list  []results.Node
	rows  bool // there are rows of executions
	cut   bool // the program is from MPI_Init to MPI_Finalize
	stats map[uint64]*xtf.Stat
	took  []uint32 // processes with executions, by node
	first []uint64 // earliest begin of any location
	last  []uint64
	whole [2]uint64 // first and last event of the processes
	base  []uint64  // number of the first execution of each node, of the process with most executions
	long  []uint64  // the longest k-th execution of a process; nil if there are too many
	found int
}

// Intervals compares INTERVAL, STAT, COMP and IVAL: the tree with its numbers, the
// executions with the tree and their sums, and the distributions with the
// processes' components. Memory: 100 bytes per node and item, 8 per execution of
// the process with most, up to maxExecutions.
func (v *Verified) Intervals(r *results.Run, rows bool) error {
	list, err := r.Nodes()
	if errors.Is(err, results.ErrNoResult) || errors.Is(err, xtf.ErrCorrupt) {
		v.add("INTERVAL", "%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	n := len(list)
	c := &nodeCheck{
		v: v, r: r, list: list, rows: rows, stats: map[uint64]*xtf.Stat{}, took: make([]uint32, n),
		first: make([]uint64, n), last: make([]uint64, n), whole: [2]uint64{xtf.Never}, base: make([]uint64, n+1),
	}
	for i := range list {
		c.first[i] = xtf.Never
		c.base[i+1] = c.base[i] + min(list[i].ExeMax, maxExecutions+1)
	}
	if rows && c.base[n] <= maxExecutions {
		c.long = make([]uint64, c.base[n])
	} else if rows {
		v.skip("longest executions: %d executions of one process are too many to compare", c.base[n])
	}
	c.cut = r.Kept.Has(withoutInit)
	c.order()
	for rank, p := range r.Defs.Processes() {
		x, err := r.ProcessItems(uint32(rank), p)
		if err != nil {
			return err
		}
		c.process(x)
		if !rows {
			continue
		}
		if err := c.executions(p); err != nil {
			return err
		}
	}
	if err := c.compareStats(); err != nil {
		return err
	}
	c.compareNodes()
	return nil
}

// add lists the first findings.
func (c *nodeCheck) add(array, format string, args ...any) {
	if c.found++; c.found > keptFindings {
		c.v.Found++
		return
	}
	c.v.add(array, format, args...)
}

// order checks that nodes are numbered depth first: the parent of a node must be open after the node before it.
func (c *nodeCheck) order() {
	for i := 1; i < len(c.list); i++ {
		at := uint32(i - 1)
		for at != c.list[i].Parent && at != 0 {
			at = c.list[at].Parent
		}
		if at != c.list[i].Parent {
			c.add("INTERVAL", "node %d below node %d does not follow it depth first", i, c.list[i].Parent)
		}
	}
}

// process adds the components of a process to what STAT should say.
func (c *nodeCheck) process(x *results.ProcessItems) {
	for n := range c.list {
		if !x.Took(uint32(n)) {
			continue
		}
		if n == 0 {
			c.whole = [2]uint64{min(c.whole[0], x.At(0, xtf.ItemFirst)), max(c.whole[1], x.At(0, xtf.ItemLast))}
		}
		for i := range xtf.NumItems {
			key := xtf.NodeKey(uint32(n), uint32(i))
			s := results.Made(c.stats, key)
			s.Key = key
			results.AddStat(s, x.Values[key], x.Rank, c.took[n] == 0)
		}
		c.took[n]++
	}
}

// executions checks the IVAL rows of a process and compares them with COMP.
func (c *nodeCheck) executions(p trace.Process) error {
	before := make([]bool, len(c.list)) // executed by an earlier location
	for i := range trace.P(p.Count) {
		w := executionWalk{nodeCheck: c, p: p.First + i, nodes: make([]executed, len(c.list))}
		metric := c.r.Defs.Location(w.p).Type == trace.MetricLocation
		err := results.Load(c.r, xtf.Proc(w.p), func(x *xtf.Ival) {
			if !w.row(x) || metric || before[x.Node] || c.long == nil {
				return
			}
			if k := c.base[x.Node] + x.Execution; k < c.base[x.Node+1] {
				c.long[k] = max(c.long[k], x.End-x.T)
			}
		})
		if err == nil {
			err = w.compare()
		}
		if err != nil {
			return fmt.Errorf("location %d: intervals: %w", c.r.Defs.Location(w.p).Ref, err)
		}
		for n := range before {
			before[n] = before[n] || !metric && w.nodes[n].count > 0
		}
	}
	return nil
}

// executionWalk is the IVAL rows of one location.
type executionWalk struct {
	*nodeCheck
	p     trace.P
	n     uint64 // rows
	nodes []executed
}

// executed is what is known of a node on the location: count and ticks of executions, and the newest execution.
type executed struct{ count, ticks, begin, end uint64 }

// row checks the next execution. It returns false if the row is of an unknown node.
func (w *executionWalk) row(x *xtf.Ival) bool {
	n := w.n
	w.n++
	id := w.r.Defs.Location(w.p).Ref
	if uint64(x.Node) >= uint64(len(w.nodes)) || x.End < x.T || x.End == xtf.Never {
		w.add("IVAL", "location %d, row %d: node %d from %d to %d", id, n, x.Node, x.T, x.End)
		return false
	}
	o := &w.nodes[x.Node]
	if x.Execution != o.count || o.count > 0 && x.T < o.end {
		w.add("IVAL", "location %d, row %d: execution %d of node %d at %d, the one before is number %d and ends at %d", id, n, x.Execution, x.Node, x.T, o.count-1, o.end)
	}
	if x.Node > 0 {
		if parent := &w.nodes[w.list[x.Node].Parent]; parent.count == 0 || x.T < parent.begin || x.End > parent.end {
			w.add("IVAL", "location %d, row %d: node %d from %d to %d is not inside of node %d", id, n, x.Node, x.T, x.End, w.list[x.Node].Parent)
		}
	}
	*o = executed{o.count + 1, o.ticks + x.End - x.T, x.T, x.End}
	w.first[x.Node], w.last[x.Node] = min(w.first[x.Node], x.T), max(w.last[x.Node], x.End)
	return true
}

// compare compares the location's executions with its components.
func (w *executionWalk) compare() error {
	items := map[uint64]uint64{}
	err := results.Load(w.r, xtf.Proc(w.p), func(x *xtf.Comp) { items[x.Key] = x.Value })
	id := w.r.Defs.Location(w.p).Ref
	for n := range w.nodes {
		at := func(i xtf.Item) uint64 { return items[xtf.NodeKey(uint32(n), uint32(i))] }
		if o := &w.nodes[n]; o.count != at(xtf.ItemExecutions) || o.ticks != at(xtf.ItemTime) {
			w.add("COMP", "location %d, node %d: %d executions in %d ticks, the rows have %d in %d", id, n, at(xtf.ItemExecutions), at(xtf.ItemTime), o.count, o.ticks)
		}
		parts := at(xtf.ItemCPU)
		for _, i := range xtf.AsideItems {
			parts += at(i)
		}
		if parts != at(xtf.ItemTime) {
			w.add("COMP", "location %d, node %d: time is %d, its parts are %d", id, n, at(xtf.ItemTime), parts)
		}
	}
	return err
}

// compareStats compares the rows of STAT with the processes.
func (c *nodeCheck) compareStats() error {
	err := results.Load(c.r, xtf.WholeRun, func(got *xtf.Stat) {
		want := xtf.Stat{Key: got.Key}
		if s := c.stats[got.Key]; s != nil {
			want = *s
		}
		if node := got.Key >> 32; *got != want && (node >= uint64(len(c.list)) || c.took[node] > 0) {
			c.add("STAT", "node %d, %s: %+v, the processes have %+v", node, xtf.Item(uint32(got.Key)), *got, want)
		}
		delete(c.stats, got.Key)
	})
	if err != nil {
		return err
	}
	for n := range c.list { // in order
		for i := range xtf.NumItems {
			if s := c.stats[xtf.NodeKey(uint32(n), uint32(i))]; s != nil && s.Max > 0 {
				c.add("STAT", "node %d, %s is missing: the processes have up to %d", n, i, s.Max)
			}
		}
	}
	return nil
}

func (c *nodeCheck) compareNodes() {
	for n := range c.list {
		x := &c.list[n]
		if x.Participants != c.took[n] {
			c.add("INTERVAL", "node %d: %d processes, %d executed it", n, x.Participants, c.took[n])
		}
		if uneven := x.ExeMax != x.ExeMin; uneven != (x.Flags&xtf.IntervalUneven != 0) {
			c.add("INTERVAL", "node %d: %d to %d executions, flags %d", n, x.ExeMin, x.ExeMax, x.Flags)
		}
		if n == 0 && c.took[0] > 0 && !c.cut && [2]uint64{x.FirstBegin, x.LastEnd} != c.whole {
			c.add("INTERVAL", "from %d to %d, the processes from %d to %d", x.FirstBegin, x.LastEnd, c.whole[0], c.whole[1])
		}
		if n == 0 || !c.rows {
			continue
		}
		if x.FirstBegin != c.first[n] || x.LastEnd != c.last[n] {
			c.add("INTERVAL", "node %d from %d to %d, the executions from %d to %d", n, x.FirstBegin, x.LastEnd, c.first[n], c.last[n])
		}
		if c.long == nil {
			continue
		}
		sum := uint64(0)
		for _, v := range c.long[c.base[n]:c.base[n+1]] {
			sum += v
		}
		if x.SumMax != sum {
			c.add("INTERVAL", "node %d: the longest executions take %d, the rows say %d", n, x.SumMax, sum)
		}
	}
}
