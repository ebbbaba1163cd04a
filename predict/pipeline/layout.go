package pipeline

import (
	"fmt"
	"slices"
)

// layout makes the centers of an extracted model: processors and disk of each node, and the network between them.
type layout struct {
	model     *Model
	options   *ExtractOptions
	cpu, disk map[string]int // center of a node
	net, wire int            // centers of messages between nodes, plus one; 0: not made
}

// center adds a center, with a name of its own.
func (l *layout) center(name string, kind Kind, servers int) int {
	k := len(l.model.Centers)
	if slices.ContainsFunc(l.model.Centers, func(c Center) bool { return c.Name == name }) {
		name = fmt.Sprintf("%s.%d", name, k)
	}
	l.model.Centers = append(l.model.Centers, Center{name, kind, servers})
	return k
}

// processor is the center of a node's cores.
func (l *layout) processor(node string) int { return l.of(l.cpu, node, ".cpu", PS) }

// files is the center of a node's disk.
func (l *layout) files(node string) int { return l.of(l.disk, node, ".disk", FCFS) }

func (l *layout) of(list map[string]int, node, suffix string, kind Kind) int {
	if _, ok := list[node]; !ok {
		list[node] = l.center(node+suffix, kind, 1)
	}
	return list[node]
}

// message is the demand of bytes between two nodes: the network's, and the delay of one message.
func (l *layout) message(bytes float64) (carry, delay Demand) {
	if l.net == 0 {
		l.net = 1 + l.center("net", FCFS, 1)
		l.wire = 1 + l.center("wire", Delay, 1)
	}
	return Demand{l.net - 1, bytes * l.options.Net.PerByte}, Demand{l.wire - 1, l.options.Net.Latency}
}

// cores of a node: as said, or one for each of its processes that communicate.
func (l *layout) cores(o *Observed, node string) int {
	switch n, ok := l.options.CoresOf[node]; {
	case ok:
		return n
	case l.options.Cores > 0:
		return l.options.Cores
	}
	return max(1, processesOn(o, node))
}

func processesOn(o *Observed, node string) (n int) {
	for r := range o.Ranks {
		if x := &o.Ranks[r]; x.Node == node && x.talks() {
			n++
		}
	}
	return n
}

// crowded are the processors with fewer cores than processes.
func (l *layout) crowded(o *Observed) (list []int) {
	for node, k := range l.cpu {
		if l.cores(o, node) < processesOn(o, node) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}
