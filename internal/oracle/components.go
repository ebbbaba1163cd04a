package oracle

import (
	"math"

	"github.com/coppice-hpc/coppice/trace"
)

// Item names a component of an interval on one location.
type Item string

// Components. Times are ticks, sizes bytes.
const (
	Time            Item = "time"
	MPITime         Item = "mpi"
	MarkerTime      Item = "marker"
	IOTime          Item = "io"
	CPUTime         Item = "cpu"
	P2PTime         Item = "p2p"
	CollTime        Item = "collective_all"
	NxNTime         Item = "all_to_all"
	BarrierTime     Item = "barrier"
	FileIOTime      Item = "mpi_io"
	RMATime         Item = "rma"
	MgmtTime        Item = "mgmt"
	CommTime        Item = "comm"
	StartTime       Item = "t_start"
	SendRecv        Item = "send_recv"
	PotentialSync   Item = "potent_sync"
	Variation       Item = "time_variation"
	Events          Item = "events"
	Calls           Item = "calls"
	Sends           Item = "sends"
	Receives        Item = "receives"
	BytesOut        Item = "bytes_out"
	BytesIn         Item = "bytes_in"
	Collectives     Item = "collectives"
	CollOut         Item = "coll_bytes_out"
	CollIn          Item = "coll_bytes_in"
	FirstEvent      Item = "first_event"
	LastEvent       Item = "last_event"
	Executions      Item = "executions"
	LateSender      Item = "late_sender"
	LateSenderSame  Item = "late_sender_wrong_order_same"
	LateSenderOther Item = "late_sender_wrong_order_different"
	LateReceiver    Item = "late_receiver"
	LateProgress    Item = "late_progress"
	WaitBarrier     Item = "wait_barrier"
	BarrierDone     Item = "barrier_completion"
	WaitNxN         Item = "wait_nxn"
	NxNDone         Item = "nxn_completion"
	LateBroadcast   Item = "late_broadcast"
	EarlyReduce     Item = "early_reduce"
	EarlyScan       Item = "early_scan"
	LatePost        Item = "late_post"
	EarlyWait       Item = "early_wait"
	LockContention  Item = "lock_contention"
	LateKernel      Item = "late_kernel"
	WaitCount       Item = "wait_count"
	Overlap         Item = "overlap"
	Ideal           Item = "ideal"
	IdealFirst      Item = "ideal_first"
	IdealLast       Item = "ideal_last"
	CriticalCPU     Item = "critical_cpu"
	CriticalMPI     Item = "critical_mpi"
	CriticalIO      Item = "critical_io"
	CriticalMarker  Item = "critical_marker"
	DeviceCall      Item = "device_call"
	DeviceWait      Item = "device_wait"
	LockWait        Item = "lock_wait"
	Overhead        Item = "overhead"
	Setup           Item = "setup"
	Measured        Item = "measured"
	ThreadWait      Item = "thread_wait"
)

// Components are the items of one node on one location that are not 0.
type Components map[Item]uint64

type rule int

const (
	clipped    rule = iota // a span, cut to the interval
	pointed                // an instant t with b <= t < e
	completing             // one with b < t <= e
)

// contribution is what one thing that happened adds to the intervals around it.
type contribution struct {
	item     Item
	rule     rule
	from, to uint64 // of an instant both are the same
	value    uint64
}

// in returns what c adds to an execution.
func (c *contribution) in(e execution, whole bool) uint64 {
	switch {
	case c.rule == clipped:
		return clip(c.from, c.to, e.from, e.to)
	case whole,
		c.rule == pointed && e.from <= c.from && c.from < e.to,
		c.rule == completing && e.from < c.from && c.from <= e.to:
		return c.value
	}
	return 0
}

func clip(x, y, b, e uint64) uint64 {
	return max(max(x, b), min(y, e)) - max(x, b)
}

// components sums up the contributions of a location for every node.
func (a *analysis) components(l *location) []Components {
	list := make([]Components, len(a.nodes.list))
	for i := range list {
		list[i] = Components{}
	}
	if len(l.records) == 0 {
		return list
	}
	all := a.contributions(l)
	for _, e := range l.execs {
		c := list[e.node]
		c[Executions]++
		c[Time] += e.to - e.from
		for i := range all {
			c[all[i].item] += all[i].in(e, e.node == 0 && l.whole)
		}
	}
	list[0][Events] = uint64(len(l.records))
	list[0][FirstEvent], list[0][LastEvent] = l.first, l.last
	for _, c := range list {
		c[CommTime] = c[P2PTime] + c[CollTime] + c[RMATime]
		c[Measured] = c[Time] - c[Setup]
	}
	a.idealComponents(l, list)
	for _, c := range list {
		for item, v := range c {
			if v == 0 {
				delete(c, item)
			}
		}
	}
	return list
}

func (a *analysis) contributions(l *location) []contribution {
	var all []contribution
	span := func(item Item, from, to uint64) { all = append(all, contribution{item, clipped, from, to, 0}) }
	for _, s := range l.slices {
		span(activityItems[s.what].sum, s.from, s.to)
		if s.waiting && s.what == CPU {
			span(ThreadWait, s.from, s.to)
		}
	}
	for i := range l.visits {
		v := &l.visits[i]
		for _, c := range classItems {
			if v.class&c.class != 0 && !v.marker {
				span(c.item, v.enter, v.leave)
			}
		}
	}
	for i := range l.calls {
		all = append(all, contribution{Calls, pointed, l.calls[i].enter, l.calls[i].enter, 1})
	}
	for _, m := range l.ops {
		all = append(all, m.contributions(a)...)
	}
	for _, m := range l.colls {
		all = append(all, m.contributions()...)
	}
	for i := range a.r.Locations[l.p].Waits {
		all = append(all, a.r.Locations[l.p].Waits[i].contributions()...)
	}
	for i := range a.r.Locations[l.p].Critical {
		c := &a.r.Locations[l.p].Critical[i]
		if c.Activity == Outside { // part of no interval
			continue
		}
		span(activityItems[c.Activity].critical, c.From, c.To)
	}
	return append(all, overlaps(l)...)
}

// activityItems are the items that an activity adds to, in all and on the critical path.
var activityItems = map[Activity]struct{ sum, critical Item }{
	CPU: {CPUTime, CriticalCPU}, MPI: {MPITime, CriticalMPI}, IO: {IOTime, CriticalIO}, Marker: {MarkerTime, CriticalMarker},
	InDeviceCall: {DeviceCall, CriticalCPU}, InDeviceWait: {DeviceWait, CriticalCPU}, InLock: {LockWait, CriticalCPU}, InOverhead: {Overhead, CriticalCPU},
	InKernel: {critical: CriticalCPU}, InTransfer: {critical: CriticalCPU}, InIdle: {critical: CriticalCPU},
}

// overhead is what records tell of the measurement: flushes, and where it is off.
func (l *location) overhead() []markerSpan {
	var spans []markerSpan
	for i := range l.records {
		e := &l.records[i]
		switch {
		case e.kind == trace.BufferFlush && e.fields[0] != trace.Undefined64 && e.fields[0] > e.raw:
			spans = append(spans, markerSpan{e.at, e.at + (e.fields[0] - e.raw)})
		case e.kind == trace.MeasurementOnOff && e.fields[0] == 2:
			to := l.last
			for _, x := range l.records[i+1:] {
				if x.kind == trace.MeasurementOnOff && x.fields[0] != 2 {
					to = x.at
					break
				}
			}
			spans = append(spans, markerSpan{e.at, to})
		}
	}
	return union(spans)
}

var classItems = []struct {
	class trace.CallClass
	item  Item
}{
	{trace.ClassP2P, P2PTime},
	{trace.ClassColl, CollTime},
	{trace.ClassNxN, NxNTime},
	{trace.ClassBarrier, BarrierTime},
	{trace.ClassFileIO, FileIOTime},
	{trace.ClassRMA, RMATime},
	{trace.ClassManagement, MgmtTime},
	{trace.ClassStart, StartTime},
	{trace.ClassInit, Setup},
}

func (m *message) contributions(a *analysis) []contribution {
	at := m.enter()
	if m.send {
		return []contribution{{Sends, pointed, at, at, 1}, {BytesOut, pointed, at, at, m.bytes}}
	}
	end := m.leave()
	list := []contribution{{Receives, completing, end, end, 1}, {BytesIn, completing, end, end, m.bytes}}
	if m.mate == nil || m.marker {
		return list
	}
	sent, ready := m.mate.enter(), m.ready(a)
	return append(list,
		contribution{SendRecv, completing, end, end, end - min(sent, end)},
		contribution{PotentialSync, completing, end, end, sent - min(sent, ready)})
}

// point is the enter of the call in which a receiver can block for a message.
func (m *message) point() uint64 { return m.at.visits[m.pointVisit()].enter }

func (m *message) pointVisit() int {
	if m.probe >= 0 {
		return m.probe
	}
	return m.visit
}

// ready is the instant from which potential synchronisation counts.
func (m *message) ready(a *analysis) uint64 {
	if a.o.PostedPoint {
		return min(m.postedAt(), m.point())
	}
	return m.point()
}

func (m *member) contributions() []contribution {
	at := m.enter()
	list := []contribution{{Collectives, pointed, at, at, 1}, {CollOut, pointed, at, at, m.sent}, {CollIn, pointed, at, at, m.received}}
	if m.file != "" {
		list = nil
	}
	var last, left uint64
	for _, q := range m.all {
		last, left = max(last, q.started()), max(left, q.leave())
	}
	if m.all != nil {
		list = append(list, contribution{PotentialSync, pointed, at, at, last - min(last, at)}, contribution{Variation, pointed, at, at, left - m.leave()})
	}
	return list
}

// overlaps are the stretches of CPU time in which a request is open.
func overlaps(l *location) []contribution {
	var spans []markerSpan
	for _, w := range l.windows {
		if w.send != nil && w.send.marker {
			continue
		}
		from, to := l.visits[w.post].leave, l.last
		if w.done >= 0 {
			to = l.visits[w.done].enter
		}
		if from < to {
			spans = append(spans, markerSpan{from, to})
		}
	}
	spans = union(spans)
	var list []contribution
	k := 0
	for _, s := range l.slices {
		for k < len(spans) && spans[k].to <= s.from {
			k++
		}
		for j := k; s.what == CPU && j < len(spans) && spans[j].from < s.to; j++ {
			list = append(list, contribution{Overlap, clipped, max(s.from, spans[j].from), min(s.to, spans[j].to), 0})
		}
	}
	return list
}

// noTime is later than every instant.
const noTime = math.MaxUint64
