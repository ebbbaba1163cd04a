package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Topology is values of processes by where they are: in the tree of the machine, and in Cartesian topologies of the program.
type Topology struct {
	Metrics []PlaceMetric `json:"metrics"`
	Machine []Place       `json:"machine"` // nodes with processes, depth first
	Grids   []Grid        `json:"cartesian"`
	Traffic []NodePair    `json:"traffic"` // messages from each innermost node with processes to each
}

// PlaceMetric is a component of the whole program, or a counter.
type PlaceMetric struct {
	Name   string    `json:"name"`
	Ticks  bool      `json:"ticks"`
	values []float64 // by process; not a number where it has none
}

// Place is a node of the machine, or the processes with a coordinate.
type Place struct {
	Name      string       `json:"name"`
	Processes int          `json:"processes"`
	Values    []PlaceValue `json:"values"`       // by metric
	Inside    uint64       `json:"bytes_inside"` // sent by its processes to its processes
	Out       uint64       `json:"bytes_out"`    // and to others
	level     int
}

// PlaceValue is a metric over the processes of a place that have values.
type PlaceValue struct {
	Sum     numbers.Ratio `json:"sum"`
	Mean    numbers.Ratio `json:"mean"`
	Least   numbers.Ratio `json:"least"`
	Largest numbers.Ratio `json:"largest"`
	Rank    uint32        `json:"largest_rank"`
}

// Grid is a Cartesian topology.
type Grid struct {
	Name       string         `json:"name"`
	Comm       string         `json:"communicator"`
	Dimensions []Dimension    `json:"dimensions"`
	Planes     []Place        `json:"planes"`    // of each dimension, by coordinate
	Distances  []GridDistance `json:"distances"` // of messages inside
	at         map[uint32][]uint32
}

// Dimension is one of a Cartesian topology.
type Dimension struct {
	Name     string `json:"name"`
	Size     uint32 `json:"size"`
	Periodic bool   `json:"periodic"`
}

// GridDistance is the messages between processes so many steps apart.
type GridDistance struct {
	Steps    uint64 `json:"steps"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// NodePair is the messages from one node to another.
type NodePair struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// newTopology reads the metrics of all processes, and the messages between them. Memory: of processes, times metrics, and of pairs.
func newTopology(r *results.Run, s *results.Summary, o *Options) (*Topology, []table.Lost, error) {
	x := &Topology{Machine: []Place{}, Grids: []Grid{}, Traffic: []NodePair{}}
	lost, err := x.read(r, o)
	if err != nil {
		return nil, lost, err
	}
	comm, more, err := NewComm(r, s, o.Source)
	if err != nil {
		return nil, lost, err
	}
	x.machine(r.Defs, comm)
	x.traffic(r.Defs, comm)
	for i := range r.Defs.CartTopologies {
		if g := newGrid(r, &r.Defs.CartTopologies[i]); g != nil {
			x.planes(g, comm)
			x.Grids = append(x.Grids, *g)
		}
	}
	return x, append(lost, more...), nil
}

func (x *Topology) read(r *results.Run, o *Options) ([]table.Lost, error) {
	items := o.Intervals.Ordered
	if len(items) == 0 && len(o.Counters) == 0 {
		items = []xtf.Item{xtf.ItemCPU, xtf.ItemMPI}
	}
	add := func(name string, ticks bool) []float64 {
		m := PlaceMetric{name, ticks, slices.Repeat([]float64{unknown}, len(r.Defs.Processes()))}
		x.Metrics = append(x.Metrics, m)
		return m.values
	}
	values := make([][]float64, len(items))
	for k, i := range items {
		values[k] = add(i.String(), !results.IsCount(i))
	}
	lost, err := r.EachProcess(results.Ranks{}, "topology", func(p *results.ProcessItems) {
		for k, i := range items {
			if p.Took(0) {
				values[k][p.Rank] = float64(p.At(0, i))
			}
		}
	})
	if err != nil || len(o.Counters) == 0 {
		return lost, err
	}
	counted, more, err := counters.NewCounted(r, results.Ranks{}, func(name, _ string) bool { return slices.Contains(o.Counters, name) }, true)
	if err != nil {
		return lost, err
	}
	for _, name := range o.Counters {
		values := add(name, false)
		for i := range counted.Processes {
			p := &counted.Processes[i]
			if v := cmp.Or(p.Sum, p.Mean); p.Counter == name && p.Rank != nil && v.Defined {
				values[*p.Rank] = v.Value
			}
		}
	}
	return append(lost, more...), nil
}

// unknown is the value of a process that does not have a metric.
var unknown = math.NaN()

// machine makes the tree of the nodes with processes.
func (x *Topology) machine(d *trace.Definitions, comm *Comm) {
	ranks, children := map[uint32][]uint32{}, map[uint32][]uint32{}
	for rank := range uint32(len(d.Processes())) {
		for _, n := range results.NodesOf(d, rank) {
			ranks[n] = append(ranks[n], rank)
		}
	}
	var roots []uint32
	for i := range d.SystemTreeNodes {
		n := &d.SystemTreeNodes[i]
		switch {
		case ranks[n.Ref] == nil:
		case ranks[n.Parent] == nil:
			roots = append(roots, n.Ref)
		default:
			children[n.Parent] = append(children[n.Parent], n.Ref)
		}
	}
	at := map[uint32]int{}
	var add func(list []uint32, level int)
	add = func(list []uint32, level int) {
		for _, ref := range list {
			n := d.Node(ref)
			p := x.place(strings.TrimSpace(d.Text(n.Class)+" "+d.Text(n.Name)), ranks[ref])
			p.level, at[ref] = level, len(x.Machine)
			x.Machine = append(x.Machine, p)
			add(children[ref], level+1)
		}
	}
	add(roots, 0)
	flows(comm, x.Machine, func(rank uint32) (list []int) {
		if int64(rank) < int64(len(d.Processes())) {
			for _, n := range results.NodesOf(d, rank) {
				if i, ok := at[n]; ok {
					list = append(list, i)
				}
			}
		}
		return list
	})
}

// flows adds messages to the places of the processes at their ends.
func flows(comm *Comm, list []Place, of func(rank uint32) []int) {
	for i := range comm.Pairs {
		c := &comm.Pairs[i]
		to := of(c.To)
		for _, k := range of(c.From) {
			if slices.Contains(to, k) {
				list[k].Inside += c.Bytes
			} else {
				list[k].Out += c.Bytes
			}
		}
	}
}

func (x *Topology) place(name string, ranks []uint32) Place {
	p := Place{Name: name, Processes: len(ranks), Values: make([]PlaceValue, len(x.Metrics))}
	for k := range x.Metrics {
		n, to := 0, &p.Values[k]
		known := func(v float64) numbers.Ratio { return numbers.Ratio{Value: v, Defined: true} }
		for _, rank := range ranks {
			v := x.Metrics[k].values[rank]
			if math.IsNaN(v) {
				continue
			}
			if n++; n == 1 || v > to.Largest.Value {
				to.Largest, to.Rank = known(v), rank
			}
			if n == 1 || v < to.Least.Value {
				to.Least = known(v)
			}
			to.Sum = known(to.Sum.Value + v)
			to.Mean = known(to.Sum.Value / float64(n))
		}
	}
	return p
}

// traffic adds up messages by the nodes at their ends.
func (x *Topology) traffic(d *trace.Definitions, comm *Comm) {
	nodes, of := results.Hosts(d)
	name := func(rank uint32) string {
		k := of[rank]
		if text := d.NodeName(nodes[k]); text != "" {
			return fmt.Sprintf("%d %s", k, text)
		}
		return fmt.Sprintf("%d", k)
	}
	at := map[[2]int]*NodePair{}
	for i := range comm.Pairs {
		c := &comm.Pairs[i]
		if int64(c.From) >= int64(len(of)) || int64(c.To) >= int64(len(of)) {
			continue
		}
		k := [2]int{of[c.From], of[c.To]}
		if at[k] == nil {
			at[k] = &NodePair{From: name(c.From), To: name(c.To)}
		}
		at[k].Messages, at[k].Bytes = at[k].Messages+c.Messages, at[k].Bytes+c.Bytes
	}
	for _, k := range slices.SortedFunc(maps.Keys(at), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		x.Traffic = append(x.Traffic, *at[k])
	}
}

// newGrid reads a topology. It is nil for a topology of threads, which tracers make on their own.
func newGrid(r *results.Run, t *trace.CartTopology) *Grid {
	d := r.Defs
	for i := range d.Comms {
		group := slices.IndexFunc(d.Groups, func(g trace.Group) bool { return d.Comms[i].Ref == t.Comm && g.Ref == d.Comms[i].Group })
		if group >= 0 && d.Groups[group].Paradigm != trace.ParadigmMPI {
			return nil
		}
	}
	g := &Grid{Name: d.Text(t.Name), Comm: r.CommName(t.Comm), at: map[uint32][]uint32{}, Planes: []Place{}, Distances: []GridDistance{}}
	for _, ref := range t.Dimensions {
		i := slices.IndexFunc(d.CartDimensions, func(x trace.CartDimension) bool { return x.Ref == ref })
		if i < 0 {
			return nil
		}
		x := &d.CartDimensions[i]
		g.Dimensions = append(g.Dimensions, Dimension{cmp.Or(d.Text(x.Name), fmt.Sprintf("dimension %d", len(g.Dimensions))), x.Size, x.Periodicity != 0})
	}
	members := d.CommMembers(t.Comm)
	for i := range d.CartCoordinates {
		c := &d.CartCoordinates[i]
		if c.Topology == t.Ref && len(c.Coordinates) == len(g.Dimensions) && uint64(c.Rank) < uint64(len(members)) && members[c.Rank] != trace.UnknownProcess {
			g.at[members[c.Rank]] = c.Coordinates
		}
	}
	return g
}

// planes adds up the processes with each coordinate, and messages by distance.
func (x *Topology) planes(g *Grid, comm *Comm) {
	ranks := slices.Sorted(maps.Keys(g.at))
	for k, dimension := range g.Dimensions {
		planes := map[uint32][]uint32{}
		for _, rank := range ranks {
			planes[g.at[rank][k]] = append(planes[g.at[rank][k]], rank)
		}
		if len(planes) < 2 {
			continue // all processes
		}
		at, list := map[uint32]int{}, []Place{}
		for _, c := range slices.Sorted(maps.Keys(planes)) {
			at[c] = len(list)
			list = append(list, x.place(fmt.Sprintf("%s = %d", dimension.Name, c), planes[c]))
		}
		flows(comm, list, func(rank uint32) []int {
			if g.at[rank] == nil {
				return nil
			}
			return []int{at[g.at[rank][k]]}
		})
		g.Planes = append(g.Planes, list...)
	}
	steps := map[uint64]*GridDistance{}
	for i := range comm.Pairs {
		c := &comm.Pairs[i]
		a, b := g.at[c.From], g.at[c.To]
		if a == nil || b == nil {
			continue
		}
		n := g.steps(a, b)
		y := results.Made(steps, n)
		y.Steps, y.Messages, y.Bytes = n, y.Messages+c.Messages, y.Bytes+c.Bytes
	}
	for _, n := range slices.Sorted(maps.Keys(steps)) {
		g.Distances = append(g.Distances, *steps[n])
	}
}

// steps is the number of steps between two places, over all dimensions.
func (g *Grid) steps(a, b []uint32) (n uint64) {
	for k, d := range g.Dimensions {
		away := max(a[k], b[k]) - min(a[k], b[k])
		if d.Periodic && d.Size > away {
			away = min(away, d.Size-away)
		}
		n += uint64(away)
	}
	return n
}

// chapter shows the places of the machine and of each grid, and messages between them.
func (x *Topology) chapter(b *table.Book, c *table.Chapter) {
	c.Title = fmt.Sprintf("topology: %s of the system tree, Cartesian topologies: %d", numbers.Plural(len(x.Machine), "place"), len(x.Grids))
	c.Table(x.placeTable(b.Unit, "The machine", "machine", "node", x.Machine))
	inside, all := uint64(0), uint64(0)
	for _, p := range x.Traffic {
		if all += p.Bytes; p.From == p.To {
			inside += p.Bytes
		}
	}
	t := &table.Table{Title: "Messages between nodes", Kind: "traffic", Columns: []table.Column{table.Words("from node", "name"), table.Words("to node", "to"), table.Ints("messages", "messages"), table.Ints("bytes", "bytes"), table.Reals("share", "share")}}
	table.Fill(t, "pair", x.Traffic, func(p *NodePair) []table.Cell {
		return []table.Cell{table.Word(p.From), table.Word(p.To), table.Number(p.Messages), table.Size(p.Bytes), table.Share(numbers.NewRatio(p.Bytes, all))}
	})
	c.Table(t)
	if inside < all {
		c.Say("%s of the bytes of messages stay on a node", numbers.NewRatio(inside, all).Percent())
	}
	for i := range x.Grids {
		g := &x.Grids[i]
		var sizes []string
		for _, d := range g.Dimensions {
			text := fmt.Sprintf("%s: %d", d.Name, d.Size)
			if d.Periodic {
				text += " (periodic)"
			}
			sizes = append(sizes, text)
		}
		c.Say("%s of %s: %s", cmp.Or(numbers.Clean(g.Name, 60), "topology without a name"), numbers.Clean(g.Comm, 60), numbers.Clean(strings.Join(sizes, " x "), 200))
		c.Table(x.placeTable(b.Unit, "Planes", "plane", "plane", g.Planes))
		t := &table.Table{Title: "Messages by distance", Kind: "distance", Columns: []table.Column{table.Ints("steps", "steps"), table.Ints("messages", "messages"), table.Ints("bytes", "bytes"), table.Reals("share", "share")}}
		all := uint64(0)
		for _, y := range g.Distances {
			all += y.Bytes
		}
		table.Fill(t, "distance", g.Distances, func(y *GridDistance) []table.Cell {
			return []table.Cell{table.Number(y.Steps), table.Number(y.Messages), table.Size(y.Bytes), table.Share(numbers.NewRatio(y.Bytes, all))}
		})
		c.Table(t)
	}
}

// placeTable has a line for each metric of each place.
func (x *Topology) placeTable(u numbers.Units, title, kind, of string, list []Place) *table.Table {
	t := &table.Table{Title: title, Kind: kind, Columns: []table.Column{
		table.Words(of, "name"), table.Ints("procs", "processes"), table.Words("metric", "metric"), table.Reals("sum", "sum"), table.Reals("mean", "mean"), table.Reals("least", "least"), table.Reals("largest", "largest"),
		table.Ranks("rank", "largest_rank"), table.Ints("bytes inside", "bytes_inside"), table.Ints("bytes out", "bytes_out"),
	}}
	type line struct {
		p *Place
		k int
	}
	var lines []line
	for i := range list {
		for k := range x.Metrics {
			lines = append(lines, line{&list[i], k})
		}
	}
	table.Fill(t, of, lines, func(l *line) []table.Cell {
		v, m := &l.p.Values[l.k], &x.Metrics[l.k]
		name := table.Cell{Text: numbers.Clean(l.p.Name, 48), Value: l.p.Name, Level: l.p.level}
		cells := []table.Cell{name, table.Number(l.p.Processes), table.Word(numbers.Clean(m.Name, 48)), m.cell(u, v.Sum), m.cell(u, v.Mean), m.cell(u, v.Least), m.cell(u, v.Largest), table.AtRank(v.Rank), table.Size(l.p.Inside), table.Size(l.p.Out)}
		if l.k > 0 {
			cells[0].Text, cells[1].Text, cells[8].Text, cells[9].Text = "", "", "", ""
		}
		return cells
	})
	return t
}

// cell prints a value; times have the unit of the report.
func (m *PlaceMetric) cell(u numbers.Units, v numbers.Ratio) table.Cell {
	if m.Ticks && v.Defined {
		return table.Named(u.Real(v)+" "+u.Name(), v.Csv())
	}
	return amount(v)
}
