package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Direction is the side of a message that a location is on.
type Direction uint8

// Directions.
const (
	Sent       Direction = iota // from the location to the partner
	Received                    // from the partner; messages of MPI_Irecv when they complete
	Collective                  // an operation of all members of a communicator; operations on files and windows have no bytes
)

// Channel is what a location exchanged with one partner on one communicator with one tag, or its collectives on a communicator and on the
// communicator's files and windows.
type Channel struct {
	Direction Direction
	Process   uint32 // partner; trace.UnknownProcess: a rank that is not defined; trace.Undefined for collectives
	Comm      uint32
	Tag       uint32 // trace.Undefined of collectives
	Count     uint64
	Bytes     uint64 // of collectives: sent
	BytesIn   uint64 // of collectives: received
	Others    uint64 // of Count: collectives on files and windows, for which OTF2 has no operation numbers
}

// RegionBytes is what was sent and received in the outermost MPI calls of a region; trace.Undefined: outside of MPI calls.
type RegionBytes struct {
	Region uint32
	Bytes  uint64
}

// Traffic has the messages and collectives of one location.
type Traffic struct {
	Channels []Channel     // ascending by direction, process, communicator, tag
	Regions  []RegionBytes // ascending by region
}

// Traffic returns the location's messages and collectives: rows of the message matrix. Values are exact even in lossy graphs. Cancelled
// sends count.
//
// Counts come from multiplicities. Bytes come from the heads of columns if all values of a column belong to one channel and one region:
// O(nodes). Others are read in one walk that enters only nodes with such values.
func (l *Location) Traffic() (*Traffic, error) {
	t := traffic{l: l, channels: map[channelKey]*Channel{}, regions: map[uint32]uint64{}, columns: make([]trafficColumn, len(l.cols))}
	t.findOuter()
	t.findChannels()
	t.findFiles()
	if err := t.sums(); err != nil {
		return nil, err
	}
	if err := t.walk(); err != nil {
		return nil, err
	}
	if t.over {
		return nil, fmt.Errorf("call graph: location %d: bytes of messages exceed 64 bits: %w", l.p, graph.ErrLimit)
	}
	return t.result(), nil
}

// channelKey identifies a channel.
type channelKey struct {
	direction          Direction
	process, comm, tag uint32
}

// trafficColumn describes a column of byte counts before it is read.
type trafficColumn struct {
	channel *Channel // nil: not byte counts
	outer   int32    // state of the outermost MPI call around its slots
	in      bool     // bytes received in collectives
	mixed   bool     // slots of several channels or regions
}

// traffic computes a Traffic.
type traffic struct {
	l        *Location
	channels map[channelKey]*Channel
	regions  map[uint32]uint64
	outer    *stateMap  // by the outermost MPI call
	events   []*Channel // of each node: channel of an Event that has one
	columns  []trafficColumn
	over     bool // a sum exceeds 64 bits
}

// findOuter finds the outermost MPI call around each node.
func (t *traffic) findOuter() {
	v := t.l.view
	t.outer = newStates(v, func(s *states, around int32, region uint32) int32 {
		if x := v.Defs.Region(region); around == 0 && x != nil && v.Defs.Class(x)&trace.ClassMPI != 0 {
			return s.number(0, region)
		}
		return around
	}).assign(v)
}

// findChannels finds the channel of each Event, and what each column of byte counts has.
func (t *traffic) findChannels() {
	v := t.l.view
	pls := graph.NewPlaces(v.Defs)
	pls.Of(t.l.p)
	t.events = make([]*Channel, v.Nodes.Len()+1)
	for _, id := range v.Order {
		h := v.ShapeOf(id)
		if h.Class != graph.ClassEvent {
			continue
		}
		key, ok := t.channelOf(pls, h, v.Tuples.At(v.Nodes.Tuple(id)))
		if !ok || h.Kind == trace.RmaCollectiveEnd && t.outer.node[id] == 0 { // on a window outside of MPI calls: of no channel
			continue
		}
		c := t.count(key, v.Mult[id])
		if h.Kind == trace.RmaCollectiveEnd { // it transfers no bytes itself
			c.Others += v.Mult[id]
			continue
		}
		t.events[id] = c
		first, n := t.byteSlots(id)
		for i := range n {
			x := &t.columns[v.Column[first+i]]
			switch {
			case x.channel == nil:
				*x = trafficColumn{channel: c, outer: t.outer.node[id], in: i > 0, mixed: t.outer.node[id] == mixedState}
			case x.channel != c || x.outer != t.outer.node[id] || x.outer == mixedState:
				x.mixed = true
			}
		}
	}
}

// count adds n to a channel.
func (t *traffic) count(key channelKey, n uint64) *Channel {
	c := t.channels[key]
	if c == nil {
		c = &Channel{Direction: key.direction, Process: key.process, Comm: key.comm, Tag: key.tag}
		t.channels[key] = c
	}
	c.Count += n
	return c
}

// findFiles counts collective operations on files: calls with a record of a file that several processes have open together. The first such
// record decides the communicator.
func (t *traffic) findFiles() {
	v := t.l.view
	comms := map[uint32]uint32{} // by handle
	for i := range v.Defs.IoHandles {
		if h := &v.Defs.IoHandles[i]; v.Defs.CommSize(h.Comm) > 1 {
			comms[h.Ref] = h.Comm
		}
	}
	if len(comms) == 0 {
		return
	}
	first := make([]uint32, v.Nodes.Len()+1) // of each node: communicator of the first such record, + 1
	for id := uint32(1); id <= v.Root; id++ {
		h := v.ShapeOf(id)
		if h.Class == graph.ClassEvent {
			switch h.Kind {
			case trace.IoCreateHandle, trace.IoDestroyHandle, trace.IoSeek, trace.IoOperationBegin:
				if comm, ok := comms[uint32(v.Tuples.At(v.Nodes.Tuple(id))[graph.Recipes[h.Kind].HardAt(0)])]; ok {
					first[id] = comm + 1
				}
			}
			continue
		}
		for _, c := range v.Nodes.Children(id) {
			if first[id] = first[c]; first[id] > 0 {
				break
			}
		}
		if s := t.outer.node[id]; h.Class == graph.ClassCall && first[id] > 0 && s > 0 && t.outer.states.region[s] == h.Region(v.Defs) {
			if _, collective := v.Defs.OnFile(v.Defs.Region(h.Region(v.Defs))); collective {
				t.count(channelKey{direction: Collective, process: trace.Undefined, comm: first[id] - 1, tag: trace.Undefined}, v.Mult[id]).Others += v.Mult[id]
			}
		}
	}
}

// byteSlots returns the first slot of an Event's byte counts, and how many there are. They are the first values of all records with a
// channel.
func (t *traffic) byteSlots(id uint32) (first, n uint32) {
	v := t.l.view
	first, _ = v.ValueSlots(v.ShapeOf(id), id, graph.StepEvent)
	if t.events[id].Direction == Collective {
		return first, 2
	}
	return first, 1
}

// channelOf returns the channel of an Event; false if it has none.
func (t *traffic) channelOf(pls *graph.Places, h *graph.Shape, w []uint64) (channelKey, bool) {
	k := channelKey{process: trace.Undefined, tag: trace.Undefined}
	switch h.Kind {
	case trace.MpiSend, trace.MpiIsend:
		k.direction = Sent
	case trace.MpiRecv, trace.MpiIrecv:
		k.direction = Received
	case trace.MpiCollectiveEnd, trace.NonBlockingCollectiveComplete:
		k.direction = Collective
		k.comm = uint32(w[graph.Recipes[h.Kind].HardAt(1)])
		return k, true
	case trace.RmaCollectiveEnd:
		r, known := &graph.Recipes[h.Kind], false
		k.direction = Collective
		k.comm, known = t.l.view.Defs.WindowComm(uint32(w[r.HardAt(2)]))
		_, told := trace.OnWindow(w[r.HardAt(0)])
		return k, known && told && t.l.view.Defs.CommSize(k.comm) > 1
	default:
		return k, false
	}
	k.process = t.partner(pls, h, w)
	k.comm = uint32(w[graph.Recipes[h.Kind].HardAt(1)])
	k.tag = uint32(w[graph.Recipes[h.Kind].HardAt(2)])
	return k, true
}

// partner returns the process that a message tuple refers to.
func (t *traffic) partner(pls *graph.Places, h *graph.Shape, w []uint64) uint32 {
	r := &graph.Recipes[h.Kind]
	comm := uint32(w[r.HardAt(r.Comm)])
	rank, ok := pls.At(comm, r.Window).Decode(t.l.shared.Encoding.Of(h, comm), w[r.HardAt(r.Rank)])
	if !ok || rank > trace.Undefined {
		return trace.UnknownProcess
	}
	return t.l.view.Defs.Peer(comm, uint32(rank), pls.Process)
}

// sums adds the columns that belong to one channel and region.
func (t *traffic) sums() error {
	for i := range t.columns {
		x := &t.columns[i]
		if x.channel == nil || x.mixed {
			continue
		}
		bytes, err := t.l.sum(i)
		if err != nil {
			return err
		}
		t.over = t.over || bytes.Hi != 0
		t.add(x.channel, x.outer, bytes.Lo, x.in)
	}
	return nil
}

func (t *traffic) add(c *Channel, outer int32, bytes uint64, in bool) {
	sum := &c.Bytes
	if in {
		sum = &c.BytesIn
	}
	region := t.outer.states.region[outer]
	all := t.regions[region]
	t.over = !addTimes(sum, bytes, 1) || !addTimes(&all, bytes, 1) || t.over
	t.regions[region] = all
}

// walk reads the columns of several channels or regions, in execution order.
func (t *traffic) walk() error {
	v := t.l.view
	wanted := t.wanted()
	if !wanted[v.Root] {
		return nil
	}
	r := t.l.readInside(wanted)
	outer, inside := int32(0), 0 // state of the outermost MPI call, and how many calls are open in it
	for {
		switch st, id, _ := r.Next(); st {
		case graph.StepEnd:
			return r.err()
		case graph.StepEvent:
			if wanted[id] {
				t.read(id, outer, r.cursors)
			}
		case graph.StepOpen:
			if inside > 0 {
				inside++
			} else if outer = t.outer.states.enter(v, 0, id); outer > 0 {
				inside = 1
			}
		default:
			if inside > 0 {
				inside--
			}
			if inside == 0 {
				outer = 0
			}
		}
	}
}

// wanted marks the Events with values to read, and all nodes above them.
func (t *traffic) wanted() []bool {
	v := t.l.view
	wanted := make([]bool, v.Nodes.Len()+1)
	for id := uint32(1); id <= v.Root; id++ {
		if t.events[id] == nil {
			wanted[id] = slices.ContainsFunc(v.Nodes.Children(id), func(c uint32) bool { return wanted[c] })
			continue
		}
		first, n := t.byteSlots(id)
		for i := range n {
			wanted[id] = wanted[id] || t.columns[v.Column[first+i]].mixed
		}
	}
	return wanted
}

// read reads the next values of an Event from mixed columns.
func (t *traffic) read(id uint32, outer int32, cursors []column.Cursor) {
	first, n := t.byteSlots(id)
	for i := range n {
		if c := t.l.view.Column[first+i]; t.columns[c].mixed {
			t.add(t.events[id], outer, cursors[c].Next(), i > 0)
		}
	}
}

// result sorts the results.
func (t *traffic) result() *Traffic {
	r := &Traffic{Channels: make([]Channel, 0, len(t.channels)), Regions: make([]RegionBytes, 0, len(t.regions))}
	for _, c := range t.channels {
		r.Channels = append(r.Channels, *c)
	}
	slices.SortFunc(r.Channels, func(a, b Channel) int {
		return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Tag, b.Tag))
	})
	for region, bytes := range t.regions {
		r.Regions = append(r.Regions, RegionBytes{region, bytes})
	}
	slices.SortFunc(r.Regions, func(a, b RegionBytes) int { return cmp.Compare(a.Region, b.Region) })
	return r
}
