package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
)

// Fabric is how the nodes of a machine are connected.
type Fabric struct {
	Names []string                // of switches
	Above [][]int                 // the switches that each switch is attached to; without circles
	Of    func(node string) []int // the switches that a node is attached to
}

// SwitchTraffic is processes and messages, by switch.
type SwitchTraffic struct {
	Switches []Place       `json:"switches"` // that have processes below them, in the order of the file
	Levels   []SwitchLevel `json:"levels"`
	Unknown  []string      `json:"nodes_without_switch"`
}

// SwitchLevel counts the messages that go up Level switches. 0: they stay on a node. 1: they meet at a switch of both nodes. 2:
// they meet at a switch one level above that, and so on. -1: no switch connects the nodes, or the file does not have them.
type SwitchLevel struct {
	Level    int    `json:"level"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// notConnected is the level of nodes that no switch connects.
const notConnected = -1

// heights returns the switches above a node, with the least number of steps to each.
func (f *Fabric) heights(node string) map[int]int {
	steps := map[int]int{}
	for level, list := 1, f.Of(node); len(list) > 0; level++ {
		var above []int
		for _, k := range list {
			if steps[k] == 0 {
				steps[k] = level
				above = append(above, f.Above[k]...)
			}
		}
		list = above
	}
	return steps
}

// meet returns the lowest level at which two nodes meet, from their heights.
func meet(a, b map[int]int) int {
	least := notConnected
	for k, up := range a {
		if other := b[k]; other > 0 && (least == notConnected || max(up, other) < least) {
			least = max(up, other)
		}
	}
	return least
}

// overSwitches adds up the processes below each switch, and messages by level. The node of a process is the innermost node of the
// machine that the file of the fabric names.
func (x *Topology) overSwitches(d *trace.Definitions, comm *Comm, f *Fabric) *SwitchTraffic {
	s := &SwitchTraffic{Switches: []Place{}, Levels: []SwitchLevel{}, Unknown: []string{}}
	type host struct {
		node  uint32
		above map[int]int
	}
	known := map[uint32]map[int]int{} // by node
	hosts, ranks := make([]host, len(d.Processes())), map[int][]uint32{}
	for rank := range uint32(len(hosts)) {
		h := &hosts[rank]
		h.node = trace.Undefined
		for _, n := range results.NodesOf(d, rank) {
			above, ok := known[n]
			if !ok {
				above = f.heights(d.NodeName(n))
				known[n] = above
			}
			if h.node == trace.Undefined || len(above) > 0 {
				h.node, h.above = n, above
			}
			if len(above) > 0 {
				break
			}
		}
		for k := range h.above {
			ranks[k] = append(ranks[k], rank)
		}
		if name := numbers.Clean(d.NodeName(h.node), 60); len(h.above) == 0 && !slices.Contains(s.Unknown, name) {
			s.Unknown = append(s.Unknown, name)
		}
	}
	at := map[int]int{}
	for _, k := range slices.Sorted(maps.Keys(ranks)) {
		at[k] = len(s.Switches)
		s.Switches = append(s.Switches, x.place(f.Names[k], ranks[k]))
	}
	flows(comm, s.Switches, func(rank uint32) (list []int) {
		if int64(rank) < int64(len(hosts)) {
			for _, k := range slices.Sorted(maps.Keys(hosts[rank].above)) {
				list = append(list, at[k])
			}
		}
		return list
	})
	levels, between := map[int]*SwitchLevel{}, map[[2]uint32]int{}
	for i := range comm.Pairs {
		c := &comm.Pairs[i]
		if int64(c.From) >= int64(len(hosts)) || int64(c.To) >= int64(len(hosts)) {
			continue
		}
		a, b := &hosts[c.From], &hosts[c.To]
		level := 0
		if a.node != b.node || a.node == trace.Undefined {
			pair := [2]uint32{a.node, b.node}
			var ok bool
			if level, ok = between[pair]; !ok {
				level = meet(a.above, b.above)
				between[pair] = level
			}
		}
		l := results.Made(levels, level)
		l.Level, l.Messages, l.Bytes = level, l.Messages+c.Messages, l.Bytes+c.Bytes
	}
	for _, k := range slices.Sorted(maps.Keys(levels)) {
		s.Levels = append(s.Levels, *levels[k])
	}
	return s
}

// switchTables show messages by level, and what is below each switch.
func (x *Topology) switchTables(b *table.Book, c *table.Chapter) {
	s := x.SwitchTraffic
	if s == nil {
		return
	}
	all := uint64(0)
	for _, l := range s.Levels {
		all += l.Bytes
	}
	t := &table.Table{Title: "Messages by level of switches", Kind: "level", Columns: []table.Column{table.Words("messages meet", "name"), table.Words("level", "level"), table.Ints("messages", "messages"), table.Ints("bytes", "bytes"), table.Reals("share", "share")}}
	table.Fill(t, "level", s.Levels, func(l *SwitchLevel) []table.Cell {
		name := fmt.Sprintf("%d switches above their nodes", l.Level)
		switch l.Level {
		case notConnected:
			name = "at no switch of the file"
		case 0:
			name = "on a node"
		case 1:
			name = "at a switch of both nodes"
		}
		return []table.Cell{table.Word(name), table.Word(fmt.Sprint(l.Level)), table.Number(l.Messages), table.Size(l.Bytes), table.Share(numbers.NewRatio(l.Bytes, all))}
	})
	c.Table(t)
	c.Table(x.placeTable(b.Unit, "Switches", "switch", "switch", s.Switches))
	if len(s.Unknown) > 0 {
		c.Say("%s not in the file, as %s", numbers.Plural(len(s.Unknown), "node"), s.Unknown[0])
	}
}
