package results

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Devices is what the devices of a run did from its first to its last event, and what their hosts did meanwhile. The host of a
// stream is the first thread of its process. The efficiencies are those of TALP (arXiv 2603.26576). With N devices, kernel times
// K, times K + T in kernels or transfers, and POP's runtime R: load balance is (sum of K) / (N max K), communication max K / max
// (K + T), orchestration max (K + T) / R. Their product is (sum of K) / (N R).
type Devices struct {
	Efficiency    numbers.Ratio `json:"efficiency"`
	LoadBalance   numbers.Ratio `json:"load_balance"`
	Communication numbers.Ratio `json:"communication"`
	Orchestration numbers.Ratio `json:"orchestration"`
	List          []*Device     `json:"list"`
	Hosts         []HostTime    `json:"hosts"` // all hosts together, by state, most first
	Launches      *Launches     `json:"launches,omitempty"`

	Collectives *DeviceCollectives `json:"collectives,omitempty"`

	Threads bool `json:"-"` // a host has several threads

	work map[uint32]*interval.Components // by rank
}

// Device is one device. Times are ticks. Time in which several of its streams work counts once.
type Device struct {
	Name      string     `json:"name"`
	Processes []uint32   `json:"processes"`
	Streams   int        `json:"streams"`
	Kernel    uint64     `json:"kernel"`
	Transfer  uint64     `json:"transfer"`
	Both      uint64     `json:"overlap"`        // in kernels and transfers
	MPI       uint64     `json:"kernel_and_mpi"` // in kernels while the host is in MPI
	Idle      uint64     `json:"idle"`           // in neither
	While     []HostTime `json:"idle_while"`     // what the host did then, most first: the host of the process whose kernel or transfer came next, or was the last one
	Gaps      uint64     `json:"idle_gaps"`
	Gap       [2]uint64  `json:"longest_idle"` // begin and end

	streams []trace.P
	hosts   []*host     // by process
	ends    [2]uint64   // of the newest kernel and the newest transfer
	last    int         // process of the newer of these
	idles   bool        // since an instant
	since   uint64      // that instant
	pending []hostTimes // what the hosts did since then, by process
	idle    hostTimes   // what they did in gaps that are over
}

// HostTime is time of hosts in a state.
type HostTime struct {
	State     string `json:"state"` // name of the state, as trace.States has it
	Ticks     uint64 `json:"ticks"`
	Computing uint64 `json:"while_computing"` // part of it with a device of the process in a kernel; for idle time: another device
}

// hostTimes are times by state: all, and those while a device computes.
type hostTimes [trace.NumStates][2]uint64

func (x *hostTimes) add(s trace.State, took uint64, computes bool) {
	x[s][0] += took
	if computes {
		x[s][1] += took
	}
}

func (x *hostTimes) merge(o *hostTimes) {
	for s := range x {
		x[s][0], x[s][1] = x[s][0]+o[s][0], x[s][1]+o[s][1]
	}
}

// list returns the states with time, most first.
func (x *hostTimes) list() (list []HostTime) {
	for s, v := range x {
		if v[0] > 0 {
			list = append(list, HostTime{trace.State(s).String(), v[0], v[1]})
		}
	}
	slices.SortStableFunc(list, func(a, b HostTime) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return list
}

// Active is the time of a device in kernels or transfers.
func (d *Device) Active() uint64 { return d.Kernel + d.Transfer - d.Both }

// Work returns the time of a process in calls of a device's runtime while one of its devices is in a kernel. item is one of
// deviceItems.
func (x *Devices) Work(rank, node uint32, item xtf.Item) uint64 {
	if x == nil || x.work[rank] == nil {
		return 0
	}
	return x.work[rank].Value(node, item)
}

// addWork adds the work of the devices of a process to the base of a node's characteristics.
func (m *Measured) addWork(x *Devices, rank, node uint32) {
	for i := range m.work {
		m.work[i] = numbers.Add(m.work[i], numbers.Integer(x.Work(rank, node, deviceItems[i])))
	}
}

// deviceItems are the components of hosts in calls of a device's runtime.
var deviceItems = [...]xtf.Item{xtf.ItemDeviceCall, xtf.ItemDeviceWait}

// Largest returns the largest value of a device, and the first device with it.
func (x *Devices) Largest(of func(d *Device) uint64) (*Device, uint64) {
	var best *Device
	for _, d := range x.List {
		if best == nil || of(d) > of(best) {
			best = d
		}
	}
	return best, of(best)
}

// Kernels is the time of all devices in kernels.
func (x *Devices) Kernels() (sum numbers.Sum) {
	for _, d := range x.List {
		sum = numbers.Add(sum, numbers.Integer(d.Kernel))
	}
	return sum
}

// Efficiencies returns the quotients of DeviceMetrics over a runtime.
func (x *Devices) Efficiencies(runtime numbers.Sum) [len(DeviceMetrics)][2]numbers.Sum {
	n := uint64(len(x.List))
	_, kernel := x.Largest(func(d *Device) uint64 { return d.Kernel })
	_, active := x.Largest((*Device).Active)
	largest, longest := numbers.Integer(kernel), numbers.Integer(active)
	return [...][2]numbers.Sum{{x.Kernels(), numbers.Times(runtime, n)}, {x.Kernels(), numbers.Times(largest, n)}, {largest, longest}, {longest, runtime}}
}

var DeviceMetrics = [...]string{"device_efficiency", "device_load_balance", "device_communication", "device_orchestration"}

// deviceKey identifies a device: by the node of the machine, or by the location group of its streams if the node does not name a
// device.
type deviceKey struct {
	node bool
	ref  uint32
}

// deviceStates are the states of streams that keep a device from being idle.
var deviceStates = [...]trace.State{inKernel: trace.StateKernel, inTransfer: trace.StateTransfer}

const (
	inKernel = iota
	inTransfer
)

// host is the first thread of a process.
type host struct {
	rank        uint32
	p           trace.P
	first, last uint64    // its events
	span        Span      // in which the work of devices counts
	ends        [3]uint64 // of the newest calls: waits without a part in what they call, other states, MPI; a later kind hides earlier ones
	states      [3]trace.State
	state       trace.State // current state
	computes    bool        // one of its devices is in a kernel
	times       hostTimes
	sums        *interval.Sums
}

// at returns the state at an instant.
func (h *host) at(t uint64) trace.State {
	switch {
	case t < h.first:
		return trace.StateBefore
	case t >= h.last:
		return trace.StateAfter
	}
	for k := len(h.ends) - 1; k >= 0; k-- {
		if t < h.ends[k] {
			return h.states[k]
		}
	}
	return trace.StateOwn
}

// HasStreams reports whether the run has locations of devices.
func (r *Run) HasStreams() bool { return trace.CountLocations(r.Defs).Accelerator > 0 }

// Devices reads what the devices did; nil where the trace has no devices, or no rows of calls. With a span, only work in it
// counts as work of devices. Without one, the devices are read once.
func (r *Run) Devices(span *Span) (*Devices, error) {
	switch {
	case !r.Rows || !r.HasStreams():
		return nil, nil
	case span == nil:
		return r.devices()
	}
	return readDevices(r, span)
}

func readDevices(r *Run, span *Span) (*Devices, error) {
	root, err := ProgramOf(r)
	if err != nil || root == nil {
		return nil, err
	}
	x := &Devices{work: map[uint32]*interval.Components{}}
	states := map[uint32]trace.State{}
	var hosts hostTimes
	for _, g := range x.groups(r.Defs) {
		s := &sweep{r: r, devices: g, states: states, now: root.FirstBegin}
		if err = s.run(x, span, root.LastEnd); err == nil {
			for _, h := range s.hosts {
				hosts.merge(&h.times)
				x.Threads = x.Threads || r.Defs.Processes()[h.rank].Count > 1 && r.Defs.Location(h.p+1).Type.OnHost()
			}
			continue
		}
		if !Partial(err) {
			return nil, err
		}
		x.List = slices.DeleteFunc(x.List, func(d *Device) bool { return slices.Contains(g, d) })
		for _, h := range s.hosts {
			delete(x.work, h.rank)
		}
	}
	x.Hosts = hosts.list()
	if span == nil {
		if x.Launches, err = launches(r); err == nil || Partial(err) {
			x.Collectives, err = x.collectives(r)
		}
		if Partial(err) {
			err = nil
		}
	}
	return x, err
}

// groups lists the devices, and which of them are read together: devices of the same processes, and of processes that share a
// device.
func (x *Devices) groups(defs *trace.Definitions) (groups [][]*Device) {
	domains := map[uint32]bool{}
	for _, n := range defs.SystemTreeNodeDomains {
		domains[n.Node] = domains[n.Node] || n.Domain == trace.DomainAccelerator
	}
	at := map[deviceKey]*Device{}
	shares := make([]uint32, len(defs.Processes())) // an earlier process of the same group, or the process itself
	for i := range shares {
		shares[i] = uint32(i)
	}
	first := func(rank uint32) uint32 {
		for shares[rank] != rank {
			rank = shares[rank]
		}
		return rank
	}
	grouped := make([]bool, len(shares)) // streams of the process name their devices
	accelerator := func(l *trace.Location) *trace.LocationGroup {
		if g := defs.LocationGroup(l.Group); l.Type == trace.AcceleratorStream && g != nil && g.Type == trace.AcceleratorGroup {
			return g
		}
		return nil
	}
	for p := range trace.P(defs.NumLocations()) {
		rank, _ := defs.Process(p)
		grouped[rank] = grouped[rank] || accelerator(defs.Location(p)) != nil
	}
	named := map[string][]*Device{}
	for p := range trace.P(defs.NumLocations()) {
		l := defs.Location(p)
		rank, _ := defs.Process(p)
		g := accelerator(l)
		if l.Type != trace.AcceleratorStream || g == nil && grouped[rank] {
			continue // rocprofv3 has a stream for memory that the process frees
		}
		key, name := deviceKey{false, l.Group}, fmt.Sprintf("device of rank %d", rank)
		if g != nil {
			name = defs.Text(g.Name)
			if n := defs.Node(g.Parent); n != nil && domains[g.Parent] {
				key, name = deviceKey{true, g.Parent}, defs.Text(n.Class)+" "+defs.Text(n.Name)
			}
		}
		d := at[key]
		if d == nil {
			d = &Device{Name: numbers.Clean(name, 60)}
			at[key] = d
			named[name] = append(named[name], d)
			x.List = append(x.List, d)
		}
		d.Streams++
		d.streams = append(d.streams, p)
		if !slices.Contains(d.Processes, rank) {
			d.Processes = append(d.Processes, rank)
			a, b := first(d.Processes[0]), first(rank)
			shares[max(a, b)] = min(a, b)
		}
	}
	for _, same := range named {
		for i, d := range same {
			if len(same) > 1 {
				d.Name += fmt.Sprintf(" %d", i)
			}
		}
	}
	number := map[uint32]int{} // of a group, by its first process
	for _, d := range x.List {
		k, ok := number[first(d.Processes[0])]
		if !ok {
			k, groups = len(groups), append(groups, nil)
			number[first(d.Processes[0])] = k
		}
		groups[k] = append(groups[k], d)
	}
	return groups
}

// sweep passes over the time of devices and their hosts, from one change to the next. Memory: a page of each stream and host.
type sweep struct {
	r       *Run
	devices []*Device
	hosts   []*host
	sources []*spanSource
	states  map[uint32]trace.State // by region
	now     uint64
}

// spanSource gives the spans of an array of a location in the order of their begin.
type spanSource struct {
	at         trace.P
	rows       *xtf.Cursor
	take       func(row []byte) bool // false: the row does not matter
	start      func(end uint64)      // called for the current row
	begin, end uint64
}

// next reads the next span that matters.
func (x *spanSource) next() bool {
	for x.rows.Next() {
		row := x.rows.Row() // begin and end are at the same place in rows of CALL and of RMA
		if x.begin, x.end = xtf.U64(row, xtf.CallT), xtf.U64(row, xtf.CallEnd); x.begin < x.end && x.take(row) {
			return true
		}
	}
	return false
}

// failed adds the location to an error. The file remembers it if it is damage.
func (s *sweep) failed(p trace.P, what string, err error) error {
	if Partial(err) {
		s.r.File.Damaged(xtf.Proc(p), err)
	}
	return s.r.Failed(xtf.Proc(p), what, err)
}

// add opens a source.
func (s *sweep) add(p trace.P, t xtf.TypeID, take func(row []byte) bool, start func(end uint64)) error {
	a, err := s.r.File.Array(xtf.Proc(p), t)
	if err != nil {
		return s.failed(p, "calls", err)
	}
	x := &spanSource{at: p, rows: a.Rows(0, a.Len()), take: take, start: start}
	if x.next() {
		s.sources = append(s.sources, x)
	}
	return s.failed(p, "calls", x.rows.Err())
}

func (s *sweep) stateOf(row []byte) trace.State {
	region := xtf.U32(row, xtf.CallRegion)
	state, ok := s.states[region]
	if !ok {
		state = s.r.State(region)
		s.states[region] = state
	}
	return state
}

// open opens the streams of the devices and their hosts.
func (s *sweep) open(x *Devices, span *Span) error {
	hosts := map[uint32]*host{}
	for _, d := range s.devices {
		d.pending = make([]hostTimes, len(d.Processes))
		for _, rank := range d.Processes {
			h := hosts[rank]
			if h == nil {
				h = &host{rank: rank, p: s.r.Defs.Processes()[rank].First}
				hosts[rank], s.hosts = h, append(s.hosts, h)
				if err := s.openHost(h, x, span); err != nil {
					return err
				}
			}
			d.hosts = append(d.hosts, h)
		}
		for _, p := range d.streams {
			rank, _ := s.r.Defs.Process(p)
			by, kind := slices.Index(d.Processes, rank), 0
			start := func(end uint64) { d.start(kind, by, s.now, end) }
			err := s.add(p, xtf.TypeCall, func(row []byte) bool {
				kind = slices.Index(deviceStates[:], s.stateOf(row).OnStream())
				return kind >= 0
			}, start)
			if err == nil { // transfers are one-sided operations of the stream in traces of Score-P
				err = s.add(p, xtf.TypeRMA, func([]byte) bool { return true }, func(end uint64) { d.start(inTransfer, by, s.now, end) })
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// openHost opens the calls of a host, and the executions of intervals that its devices work for.
func (s *sweep) openHost(h *host, x *Devices, span *Span) error {
	v, err := s.r.Components(h.p)
	if err != nil {
		return s.failed(h.p, "components", err)
	}
	h.first, h.last = v[xtf.ItemFirst], v[xtf.ItemLast]
	var ok bool
	if h.span.Begin, h.span.End, ok, err = s.r.Borders(h.p, span); err != nil {
		return s.failed(h.p, "executions", err)
	} else if !ok {
		h.span.End = h.span.Begin
	}
	executions, err := xtf.ArrayOf[xtf.Ival](s.r.File, xtf.Proc(h.p))
	if err != nil {
		return s.failed(h.p, "executions", err)
	}
	x.work[h.rank] = &interval.Components{}
	h.sums = interval.NewSums(executions.Rows(0, executions.Len()), x.work[h.rank], deviceItems[:]...)
	level, state := 0, trace.StateOwn
	return s.add(h.p, xtf.TypeCall, func(row []byte) bool {
		flags := xtf.U32(row, xtf.CallFlags)
		state = s.stateOf(row)
		switch aside := xtf.AsideOf(flags); {
		case flags&xtf.FlagOutermostMPI != 0:
			level = 2
		case aside == trace.StateOwn:
			return false
		default:
			level = map[bool]int{true: 1}[xtf.States[aside].Inside == 0]
		}
		return true
	}, func(end uint64) { h.ends[level], h.states[level] = end, state })
}

// run adds up the time from the first to the last event of the run.
func (s *sweep) run(x *Devices, span *Span, last uint64) error {
	if err := s.open(x, span); err != nil {
		return err
	}
	for len(s.sources) > 0 {
		k := 0
		for i, x := range s.sources {
			if x.begin < s.sources[k].begin {
				k = i
			}
		}
		x := s.sources[k]
		s.pass(x.begin)
		x.start(x.end)
		if !x.next() {
			if err := s.failed(x.at, "calls", x.rows.Err()); err != nil {
				return err
			}
			s.sources = slices.Delete(s.sources, k, k+1)
		}
	}
	s.pass(last)
	for _, d := range s.devices {
		d.close(s.now, d.last)
		d.While = d.idle.list()
		for _, x := range d.While {
			d.Idle += x.Ticks
		}
	}
	for _, h := range s.hosts {
		if err := s.failed(h.p, "executions", h.sums.Flush()); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweep) pass(t uint64) {
	for s.now < t {
		to := t
		until := func(ends ...uint64) {
			for _, e := range ends {
				if e > s.now {
					to = min(to, e)
				}
			}
		}
		for _, d := range s.devices {
			until(d.ends[:]...)
		}
		for _, h := range s.hosts {
			until(h.first, h.last)
			until(h.ends[:]...)
		}
		s.piece(to)
		s.now = to
	}
}

// piece adds up the time until to. Nothing changes in between.
func (s *sweep) piece(to uint64) {
	took := to - s.now
	for _, h := range s.hosts {
		h.state, h.computes = h.at(s.now), false
	}
	for _, d := range s.devices {
		kernel, transfer := d.ends[inKernel] > s.now, d.ends[inTransfer] > s.now
		if kernel {
			d.Kernel += took
			mpi := false
			for _, h := range d.hosts {
				h.computes = true
				mpi = mpi || xtf.States[h.state].Activity == xtf.ActivityMPI
			}
			if mpi {
				d.MPI += took
			}
		}
		if transfer {
			d.Transfer += took
		}
		if kernel && transfer {
			d.Both += took
		}
	}
	for _, d := range s.devices {
		if max(d.ends[inKernel], d.ends[inTransfer]) > s.now {
			continue
		}
		if !d.idles {
			d.since, d.idles = s.now, true
		}
		for k, h := range d.hosts {
			d.pending[k].add(h.state, took, h.computes)
		}
	}
	for _, h := range s.hosts {
		h.times.add(h.state, took, h.computes)
		if i := xtf.States[h.state].Item; h.computes && slices.Contains(deviceItems[:], i) {
			h.sums.Span(max(s.now, h.span.Begin), min(to, h.span.End), i)
		}
	}
}

// start begins a kernel or a transfer of process by.
func (d *Device) start(kind, by int, now, end uint64) {
	d.close(now, by)
	d.ends[kind], d.last = max(d.ends[kind], end), by
}

// close ends a gap without work. The host of process by counts.
func (d *Device) close(now uint64, by int) {
	if !d.idles {
		return
	}
	d.idles = false
	d.Gaps++
	if now-d.since > d.Gap[1]-d.Gap[0] {
		d.Gap = [2]uint64{d.since, now}
	}
	d.idle.merge(&d.pending[by])
	clear(d.pending)
}
