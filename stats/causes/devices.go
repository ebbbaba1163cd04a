package causes

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Within finds what locations of a process wait for in each other (package comment): hosts for the streams of their devices, and threads
// for threads. It also finds which location launched a kernel or transfer, or started a thread. The caller calls Location for each
// location of this rank that Has, then Match, then makes the Pass. Memory: sorters of the storage, an outbox, and the state of a process
// at an instant.
type Within struct {
	run     *Run
	streams []bool // by process: it has streams
	threads []bool // by process: it has several threads, and they are asked for
	open    []threadCall
	states  map[uint32]trace.State // by region
	box     *outbox
	did     Sorter     // records of the processes whose first location is on this rank
	found   SortedRows // withinRows of this rank's locations
	row     withinRow  // the next one
	more    bool       // row is valid
	hosts   SortedRows // waits of hosts of this rank
	waits   bool       // there is a next one
	buf     []byte
	stack   []uint32
}

// A record says what a host or a stream does at an instant:
//
//	process u32 | t u64 | kind of record u8 | location u32 | other u64 | path u32 | kind u8 | call u64     big-endian, sorted by all
//
// other is the begin of what ends, the end of the call in which a host waits, and for work that begins the end of the stream's work
// before. call is the CALL row, Never for none. Records at one instant are in the order of these kinds:
const (
	deviceEnds    = iota // a kernel or transfer ends
	deviceReturns        // a host returns from a wait
	deviceLaunch         // a host launches work
	deviceWaits          // a host begins to wait
	deviceBegins         // a kernel or transfer begins
	threadGives          // a thread does what others may wait for; other, path and kind name it
	threadDone           // a task is complete
	threadWaits          // a thread begins to wait, in the way of kind
	threadTakes          // a thread gets what another one gave
	threadPauses         // a call inside of a thread's wait begins
	threadReturns        // a thread returns from a wait
	threadJoins          // a parallel region of the thread ends; kind 1: it is inside of another one
	threadForks          // a parallel region of the thread begins; the same
	didBytes      = 4 + 8 + 1 + 4 + 8 + 4 + 1 + 8
)

// Kinds of work of a stream.
const (
	deviceKernel = iota
	deviceTransfer
	deviceKinds
	pathJump // of a withinRow: a jump
)

// workActivity are the activities of kinds of work.
var workActivity = [deviceKinds]uint32{xtf.ActivityKernel, xtf.ActivityTransfer}

// withinRow is a part of a wait of host p, in which it waited for a kernel or transfer of the stream cause; or a jump of the critical path
// from p to cause.
//
//	p u32 | begin u64 | kind u8 | end u64 | cause u32 | path u32     big-endian, sorted by all
type withinRow struct {
	p, cause, path uint32
	begin, end     uint64
	kind           uint8
}

const withinRowBytes = 4 + 8 + 1 + 8 + 4 + 4

func (r *withinRow) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.p)
	b = append(binary.BigEndian.AppendUint64(b, r.begin), r.kind)
	b = binary.BigEndian.AppendUint64(b, r.end)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, r.cause), r.path)
}

func (r *withinRow) load(b []byte) {
	_ = b[withinRowBytes-1]
	r.p, r.begin, r.kind = binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), b[12]
	r.end, r.cause, r.path = binary.BigEndian.Uint64(b[13:]), binary.BigEndian.Uint32(b[21:]), binary.BigEndian.Uint32(b[25:])
}

// A wait of a host is p u32 | T u64 | its CALL row u64 | its WAIT row, big-endian, sorted by all but the WAIT row.
const (
	hostWaitKey   = 4 + 8 + 8
	hostWaitBytes = hostWaitKey + xtf.WaitRowBytes
)

// NewWithin returns nil if no process has streams or, if threads is set, several threads.
func NewWithin(r *Run, threads bool) *Within {
	n := len(r.Defs.Processes())
	d := &Within{run: r, streams: make([]bool, n), threads: make([]bool, n), states: map[uint32]trace.State{}}
	for p := range trace.P(r.Defs.NumLocations()) {
		rank, thread := r.Defs.Process(p)
		if isStream(r.Defs, p) {
			d.streams[rank] = true
		} else if threads && thread > 0 && r.Defs.Location(p).Type.OnHost() {
			d.threads[rank] = true
		}
	}
	if !slices.Contains(d.streams, true) && !slices.Contains(d.threads, true) {
		return nil
	}
	d.did = r.Storage.Sorter(didBytes, didBytes)
	d.box = newOutbox(r.Comm, &r.Storage, func(b []byte) error { return addRow(d.did, b, didBytes) })
	return d
}

func addRow(s Sorter, b []byte, bytes int) error {
	if len(b) != bytes {
		return ErrDamaged
	}
	return s.Add(b)
}

func isStream(defs *trace.Definitions, p trace.P) bool {
	return defs.Location(p).Type == trace.AcceleratorStream
}

// Has reports whether Location needs a location.
func (d *Within) Has(p trace.P) bool {
	rank, _ := d.run.Defs.Process(p)
	return d.streams[rank] && isStream(d.run.Defs, p) || (d.streams[rank] || d.threads[rank]) && d.run.Defs.Location(p).Type.OnHost()
}

func (r *Run) state(known map[uint32]trace.State, region uint32) trace.State {
	s, ok := known[region]
	if !ok {
		if x := r.Defs.Region(region); x != nil {
			s = r.Defs.StateOf(x)
		}
		known[region] = s
	}
	return s
}

// put sends a record of a location to the rank of the first location of its process.
func (d *Within) put(p trace.P, rank uint32, what uint8, t, other uint64, path uint32, kind uint8) error {
	return d.putCall(p, rank, what, t, other, path, kind, xtf.Never)
}

func (d *Within) putCall(p trace.P, rank uint32, what uint8, t, other uint64, path uint32, kind uint8, call uint64) error {
	b := binary.BigEndian.AppendUint32(d.buf[:0], rank)
	b = append(binary.BigEndian.AppendUint64(b, t), what)
	b = binary.BigEndian.AppendUint32(b, uint32(p))
	b = binary.BigEndian.AppendUint64(b, other)
	d.buf = binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint32(b, path), kind), call)
	return d.box.put(rankOf(d.run.Ranges, d.run.Defs.Processes()[rank].First), d.buf)
}

// Location takes the calls, one-sided operations and notes (trace.ThreadNote) of a location that Has. paths numbers its call paths, and
// global has the number in the run of each of these.
func (d *Within) Location(p trace.P, calls, transfers *xtf.Cursor, notes io.Reader, paths Paths, global []uint32) error {
	rank, _ := d.run.Defs.Process(p)
	rows := xtf.RowsOf[xtf.Call](calls)
	d.stack = d.stack[:0]
	if !isStream(d.run.Defs, p) {
		if err := d.host(p, rank, &rows, paths, global); err != nil || !d.threads[rank] {
			return err
		}
		return d.notes(p, rank, notes)
	}
	moves := xtf.RowsOf[xtf.RMA](transfers)
	moves.Next()
	busy, within := uint64(0), uint64(0)
	work := func(begin, end uint64, path uint32, kind uint8, call uint64) error {
		if begin >= end || end == xtf.Never {
			return nil
		}
		was := busy
		busy = max(busy, end)
		if err := d.put(p, rank, deviceBegins, begin, was, path, kind); err != nil {
			return err
		}
		return d.putCall(p, rank, deviceEnds, end, begin, path, kind, call)
	}
	for n := uint64(0); rows.Next(); n++ {
		c := &rows.Row
		for ; moves.More && moves.Row.T <= c.T; moves.Next() {
			if err := work(moves.Row.T, moves.Row.End, 0, deviceTransfer, xtf.Never); err != nil {
				return err
			}
		}
		path := d.path(c, paths, global)
		if kind := workKind(d.run.state(d.states, c.Region)); kind < deviceKinds && c.T >= within && c.End != xtf.Never {
			within = c.End
			if err := work(c.T, c.End, path, uint8(kind), n); err != nil {
				return err
			}
		}
	}
	for ; moves.More; moves.Next() {
		if err := work(moves.Row.T, moves.Row.End, 0, deviceTransfer, xtf.Never); err != nil {
			return err
		}
	}
	if err := moves.Err(); err != nil {
		return err
	}
	return rows.Err()
}

// path returns the path, in the run, of the next call of a location. The stack has the paths of the newest call of each depth.
func (d *Within) path(c *xtf.Call, paths Paths, global []uint32) uint32 {
	local := uint32(0)
	if d.stack = d.stack[:min(int(c.Depth), len(d.stack))]; len(d.stack) > 0 {
		local = d.stack[len(d.stack)-1]
	}
	local = paths.Child(local, c.Region)
	d.stack = append(d.stack, local)
	if uint64(local) < uint64(len(global)) {
		return global[local]
	}
	return 0
}

// workKind returns the kind of work of a stream in a region with a state; deviceKinds for none.
func workKind(s trace.State) int {
	switch s.OnStream() {
	case trace.StateKernel:
		return deviceKernel
	case trace.StateTransfer:
		return deviceTransfer
	}
	return deviceKinds
}

// host takes the calls of a thread of a host.
func (d *Within) host(p trace.P, rank uint32, rows *xtf.Rows[xtf.Call], paths Paths, global []uint32) error {
	d.open = d.open[:0]
	for n := uint64(0); rows.Next(); n++ {
		c := &rows.Row
		path := uint32(0)
		if d.streams[rank] {
			path = d.path(c, paths, global)
		}
		if d.threads[rank] {
			if err := d.thread(p, rank, c); err != nil {
				return err
			}
		}
		kind, waits := uint8(deviceKernel), false
		state := d.run.state(d.states, c.Region)
		switch state {
		case trace.StateDeviceWait:
			waits = c.Flags&xtf.FlagOutermostDeviceWait != 0
		case trace.StateTransferCall:
			kind = deviceTransfer
			waits = c.Flags&xtf.FlagOutermostDeviceCall != 0 && !strings.Contains(strings.ToLower(d.run.Defs.Text(d.run.Defs.Region(c.Region).Name)), "async")
		case trace.StateLaunch:
		default:
			continue
		}
		var err error
		if state != trace.StateDeviceWait {
			err = d.put(p, rank, deviceLaunch, c.T, 0, 0, kind)
		}
		if waits && c.T < c.End && c.End != xtf.Never && err == nil {
			if err = d.putCall(p, rank, deviceWaits, c.T, c.End, path, kind, n); err == nil {
				err = d.put(p, rank, deviceReturns, c.End, c.T, 0, kind)
			}
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// Match finds what hosts and threads wait for. failed is an error of Location on this rank. Collective.
func (d *Within) Match(failed error) error {
	if err := d.box.deliver(failed); err != nil {
		return err
	}
	found, hosts := d.run.Storage.Sorter(withinRowBytes, withinRowBytes), d.run.Storage.Sorter(hostWaitBytes, hostWaitKey)
	box := newOutbox(d.run.Comm, &d.run.Storage, func(b []byte) error {
		if len(b) == hostWaitBytes {
			return hosts.Add(b)
		}
		return addRow(found, b, withinRowBytes)
	})
	err := d.sweep(func(r *withinRow) error {
		d.buf = r.append(d.buf[:0])
		return box.put(rankOf(d.run.Ranges, trace.P(r.p)), d.buf)
	}, func(w *openWait) error {
		b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(d.buf[:0], w.p), w.row.T)
		d.buf = append(binary.BigEndian.AppendUint64(b, w.call), make([]byte, xtf.WaitRowBytes)...)
		w.row.Put(d.buf[hostWaitKey:])
		return box.put(rankOf(d.run.Ranges, trace.P(w.p)), d.buf)
	})
	if err := box.deliver(err); err != nil {
		return err
	}
	if d.found, err = found.Sort(); err == nil {
		err = d.next()
	}
	if err == nil {
		if d.hosts, err = hosts.Sort(); err == nil {
			d.waits, err = d.hosts.Next(), d.hosts.Err()
		}
	}
	return d.run.Comm.Agree(err)
}

// Wait returns the next wait for a device of a location, and the number of its call. ok is false after the last one. Locations ascend.
func (d *Within) Wait(p trace.P) (x xtf.Wait, call uint64, ok bool, err error) {
	for d != nil && d.waits && !ok {
		b := d.hosts.Row()
		at := trace.P(binary.BigEndian.Uint32(b))
		if at > p {
			break
		}
		if ok = at == p; ok {
			call = binary.BigEndian.Uint64(b[4+8:])
			x.Load(b[hostWaitKey:])
		}
		d.waits = d.hosts.Next()
	}
	if d != nil {
		err = d.hosts.Err()
	}
	return x, call, ok && err == nil, err
}

// Close closes what Match found, after the Pass.
func (d *Within) Close() {
	if d == nil {
		return
	}
	for _, rows := range [...]SortedRows{d.found, d.hosts} {
		if rows != nil {
			rows.Close()
		}
	}
}

// openWait is a host in a call that waits for a device.
type openWait struct {
	p     uint32
	kind  uint8
	since uint64      // the parts before are put
	parts []withinRow // parts after since, in order, each of the work in it that ended last
	call  uint64      // its CALL row
	row   xtf.Wait    // for the work that ended last; End 0 for none yet
}

// mostInWait bounds the parts of a wait. When there are more, the first half is put, and work that ends later no longer gets them. Memory:
// 40 bytes each.
const mostInWait = 1 << 16

// ended takes work that ended while the host waited: it gets the part of the wait from its begin. put takes parts that do not change any
// more.
func (w *openWait) ended(p trace.P, begin, end uint64, path uint32, kind uint8, put func(r *withinRow) error) (err error) {
	from, n := max(w.since, begin), len(w.parts)
	for n > 0 && w.parts[n-1].begin >= from {
		n--
	}
	if n > 0 {
		w.parts[n-1].end = min(w.parts[n-1].end, from)
	}
	if w.parts = w.parts[:n]; from < end {
		w.parts = append(w.parts, withinRow{p: w.p, begin: from, end: end, cause: uint32(p), path: path, kind: kind})
	}
	if n = mostInWait / 2; len(w.parts) > 2*n {
		w.since = w.parts[n-1].end
		err = putAll(w.parts[:n], put)
		w.parts = w.parts[:copy(w.parts, w.parts[n:])]
	}
	return err
}

func putAll(list []withinRow, put func(r *withinRow) error) (err error) {
	for i := 0; i < len(list) && err == nil; i++ {
		err = put(&list[i])
	}
	return err
}

// processNow is the state of a process at an instant.
type processNow struct {
	process  uint32
	launched [deviceKinds]struct { // the newest launch of each kind
		known bool
		t     uint64
		by    uint32
	}
	waits   []openWait       // of its hosts
	began   map[uint32]begun // by stream: its newest work
	threads threadsNow
}

// begun is a kernel or transfer of a stream.
type begun struct {
	t, launched uint64 // begin; launch, Never if unknown
	queued      bool   // it was launched before the work before it ended
}

// launch returns the flag of a wait, which begins at waits, for the launch of the work that began at t; 0 if the launch is unknown.
func (b begun) launch(t, waits uint64) uint32 {
	switch {
	case b.t != t || b.launched == xtf.Never:
		return 0
	case b.launched > waits:
		return xtf.WaitLaunchLate
	case b.queued:
		return xtf.WaitLaunchQueued
	}
	return 0
}

// sweep reads the records of the processes whose first location is on this rank, by process and time.
func (d *Within) sweep(put func(r *withinRow) error, wait func(w *openWait) error) error {
	rows, err := d.did.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	now := processNow{process: trace.Undefined}
	for rows.Next() && err == nil {
		b := rows.Row()
		process, t, what, p := binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), b[12], binary.BigEndian.Uint32(b[13:])
		other, path, kind, call := binary.BigEndian.Uint64(b[17:]), binary.BigEndian.Uint32(b[25:]), b[29], binary.BigEndian.Uint64(b[30:])
		if kind >= deviceKinds && what < threadGives || what > threadForks || uint64(process) >= uint64(len(d.streams)) || uint64(p) >= uint64(d.run.Defs.NumLocations()) {
			return ErrDamaged
		}
		if process != now.process {
			threads := threadsNow{waits: map[uint32]*waitOfThread{}, given: map[noteName]given{}, rooted: map[uint32]bool{uint32(d.run.Defs.Processes()[process].First): true}}
			now = processNow{process: process, waits: now.waits[:0], began: map[uint32]begun{}, threads: threads}
		}
		if what >= threadGives {
			err = now.threads.step(what, t, p, noteName{other, path, kind}, func(t uint64, cause uint32) error {
				return put(&withinRow{p: p, begin: t, end: t, cause: cause, kind: pathJump})
			})
			continue
		}
		l := &now.launched[kind]
		switch what {
		case deviceLaunch:
			l.known, l.t, l.by = true, t, p
		case deviceBegins:
			by := l.by
			now.began[p] = begun{t, xtf.Never, false}
			if l.known {
				now.began[p] = begun{t, l.t, l.t < other}
			}
			if !l.known { // the trace does not have the launch: the first thread counts as the one that made it
				by = uint32(d.run.Defs.Processes()[process].First)
			} else if l.t < other {
				break // it was in the queue
			}
			if !isStream(d.run.Defs, trace.P(by)) {
				err = put(&withinRow{p: p, begin: t, end: t, cause: by, kind: pathJump})
			}
		case deviceWaits:
			now.waits = append(now.waits, openWait{p: p, kind: kind, since: t, call: call, row: xtf.Wait{T: t, Path: path}})
		case deviceEnds:
			for i := range now.waits {
				w := &now.waits[i]
				if w.kind == deviceTransfer && kind != deviceTransfer {
					continue
				}
				if err == nil {
					err = w.ended(trace.P(p), other, t, path, kind, put)
				}
				w.row.CauseP, w.row.End, w.row.RecN = p, t, call
				w.row.Pattern = xtf.WaitLateKernel | now.began[p].launch(other, w.row.T)
			}
		case deviceReturns:
			i := slices.IndexFunc(now.waits, func(w openWait) bool { return w.p == p })
			if i < 0 {
				break
			}
			if w := &now.waits[i]; w.row.End > 0 {
				if err = putAll(w.parts, put); err != nil {
					break
				}
				if err = put(&withinRow{p: p, begin: w.row.End, end: w.row.End, cause: w.row.CauseP, kind: pathJump}); err == nil && w.row.End > w.row.T {
					err = wait(w)
				}
			}
			now.waits = slices.Delete(now.waits, i, i+1)
		}
	}
	if err != nil {
		return err
	}
	return rows.Err()
}

// next reads the next row of this rank's locations.
func (d *Within) next() error {
	if d.more = d.found.Next(); d.more {
		d.row.load(d.found.Row())
	}
	return d.found.Err()
}

// take takes the next row of a location that begins by an instant; nil for none. Locations ascend.
func (d *Within) take(p trace.P, t uint64) (*withinRow, error) {
	for d.more && trace.P(d.row.p) < p {
		if err := d.next(); err != nil {
			return nil, err
		}
	}
	if !d.more || trace.P(d.row.p) != p || d.row.begin > t {
		return nil, nil
	}
	r := d.row
	return &r, d.next()
}

// nextBegin returns when the next row of a location begins, Never for none.
func (d *Within) nextBegin(p trace.P) uint64 {
	if d.more && trace.P(d.row.p) == p {
		return d.row.begin
	}
	return xtf.Never
}

// onDevice is the state of a location as Within and one-sided operations change it: of a host, the kernel or transfer that it waits for;
// of a stream, whether a transfer without a call is in progress. It also passes the jumps of the critical path on.
type onDevice struct {
	p        trace.P
	found    *Within
	jump     func(end uint64, cause uint32)
	states   map[uint32]trace.State
	stream   bool
	idle     uint32 // activity outside of calls and transfers
	alone    uint32 // activity outside of calls now
	waiting  bool   // the host waits until until for work of kind on path
	until    uint64
	path     uint32
	kind     uint8
	moves    xtf.Rows[xtf.RMA]
	movesEnd uint64 // last end of the transfers that have begun
	err      error
}

// onDevice returns the state of the current location at its begin.
func (w *Pass) onDevice() onDevice {
	x := onDevice{p: w.p, found: w.run.Within, jump: w.jump}
	if x.found != nil && isStream(w.run.Defs, w.p) {
		x.stream, x.states, x.idle = true, x.found.states, xtf.ActivityDeviceIdle
		x.moves = xtf.RowsOf[xtf.RMA](w.of.Transfers)
		x.moves.Next()
	}
	return x
}

// around goes on to instant t, and returns the next one at which the state changes.
func (x *onDevice) around(t uint64) (change uint64) {
	x.alone, change = x.idle, xtf.Never
	if x.found == nil {
		return change
	}
	x.waiting = x.waiting && t < x.until
	for x.err == nil {
		var r *withinRow
		if r, x.err = x.found.take(x.p, t); r == nil {
			break
		}
		if r.kind == pathJump {
			x.jump(r.end, r.cause)
		} else if t < r.end {
			x.waiting, x.until, x.path, x.kind = true, r.end, r.path, r.kind
		}
	}
	change = x.found.nextBegin(x.p)
	if x.waiting {
		change = min(change, x.until)
	}
	if !x.stream {
		return change
	}
	for ; x.moves.More && x.moves.Row.T <= t; x.moves.Next() {
		if end := x.moves.Row.End; end != xtf.Never {
			x.movesEnd = max(x.movesEnd, end)
		}
	}
	if x.err == nil {
		x.err = x.moves.Err()
	}
	if x.moves.More {
		change = min(change, x.moves.Row.T)
	}
	if t < x.movesEnd {
		x.alone, change = xtf.ActivityTransfer, min(change, x.movesEnd)
	}
	return change
}

// holds reports whether a host that waits is in the work's activity instead of the one given.
func (x *onDevice) holds(activity uint32) bool {
	return x.waiting && (activity == xtf.ActivityDeviceWait || activity == xtf.ActivityDeviceCall)
}
