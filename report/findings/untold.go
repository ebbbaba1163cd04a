package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Untold is what a trace cannot tell: records that no analysis reads, and data that the trace lacks for an analysis. Both lists
// have only what applies to this trace.
type Untold struct {
	Missing []Missing       `json:"missing"`
	Records []UnreadRecords `json:"records"` // kinds with most records first
}

// Missing is data that a trace does not have.
type Missing struct {
	What string `json:"what"`
	Text string `json:"text"`
}

// UnreadRecords are records of kinds with the same meaning.
type UnreadRecords struct {
	Kinds []UnreadKind `json:"kinds"`
	Count uint64       `json:"count"`
	Text  string       `json:"text"` // what the records would have told
}

// UnreadKind is the records of one kind that no analysis reads.
type UnreadKind struct {
	Kind      string `json:"kind"`
	Count     uint64 `json:"count"`
	Locations uint64 `json:"locations"`
}

// NewUntold finds what the trace of a run cannot tell.
func NewUntold(r *results.Run, s *results.Summary, codes []results.CodeTotal) (*Untold, error) {
	profile, err := results.Totals(r, s)
	if err != nil {
		return nil, err
	}
	reads, others := s.Devices.ReadsParameters(r)
	slept, err := asleep(r, s)
	return &Untold{missing(r, s, profile, codes, slept), unreadRecords(codes, reads, others)}, err
}

// unreadRecords lists kinds of records. Of parameters with numbers, the launches of kernels are read if reads is set; others says
// whether there are more.
func unreadRecords(codes []results.CodeTotal, reads, others bool) []UnreadRecords {
	list := []UnreadRecords{}
	for i := range codes {
		k, ok := codes[i].Code.Unread()
		if !ok {
			continue
		}
		text := k.Info().Untold
		if reads && k == trace.ParameterUnsignedInt {
			if !others {
				continue
			}
			text = "values of parameters but those of launches are not analysed, unless --interval names them"
		}
		at := slices.IndexFunc(list, func(x UnreadRecords) bool { return x.Text == text })
		if at < 0 {
			at = len(list)
			list = append(list, UnreadRecords{Text: text})
		}
		x := &list[at]
		x.Kinds = append(x.Kinds, UnreadKind{k.String(), codes[i].Count, codes[i].Locations})
		x.Count += codes[i].Count
	}
	slices.SortStableFunc(list, func(a, b UnreadRecords) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// What is missing where processes communicate by another library than MPI, or by memory that they share, of threads without parallel regions,
// and where all processes sleep.
const (
	Sleep        = "sleep"
	OtherLibrary = "other libraries"
	SharedMemory = "shared memory"
	OtherThreads = "other threads"
)

var otherLibraries = map[trace.ParadigmID]string{trace.ParadigmGASPI: "GASPI", trace.ParadigmUPC: "UPC", trace.ParadigmSHMEM: "SHMEM"}

// missing lists what the trace lacks for an analysis. slept is the least time of a process that it sleeps between MPI calls.
func missing(r *results.Run, s *results.Summary, profile *results.Profile, codes []results.CodeTotal, slept uint64) []Missing {
	list := []Missing{}
	add := func(holds bool, what, text string) {
		if holds {
			list = append(list, Missing{what, text})
		}
	}
	var called trace.CallClass
	var polling, managing, completing uint64 // ticks in calls
	transfers, spawned, oneSided, starts, shares := false, false, false, false, false
	others := map[trace.ParadigmID]uint64{} // ticks in calls of libraries that communicate
	var own uint64                          // calls of the program's own functions, without the one call of each process that contains all others
	var sum results.Sampling
	for i := range profile.Regions {
		x := &profile.Regions[i]
		sum.Add(x.Samples, x.Estimated)
		called |= trace.CallClass(x.Kind)
		d := r.Defs.Region(x.Region)
		if polls(r, x.Region) {
			polling += x.Exclusive
		}
		if x.Kind&xtf.ClassMgmt != 0 && x.Kind&xtf.ClassInit == 0 {
			managing += x.Exclusive
		}
		if x.Kind&xtf.ClassP2P != 0 && r.Defs.OfRequests(d) {
			completing += x.Exclusive
		}
		transfers = transfers || x.Kind&xtf.ClassP2P != 0 && !r.Defs.OfRequests(d)
		starts = starts || x.Calls > 0 && d != nil && d.Role == trace.RoleThreadCreate
		spawned = spawned || x.Calls > 0 && r.Defs.StartsProcesses(d)
		oneSided = oneSided || x.Kind&xtf.ClassRMA != 0 && d != nil && r.Defs.Unrecorded(d) != 0 && !r.Defs.TellsWaits(d)
		shares = shares || x.Calls > 0 && isCall(r, x.Region, "win_allocate_shared")
		if x.Kind == 0 && d != nil && otherLibraries[d.Paradigm] != "" {
			others[d.Paradigm] += x.Exclusive
		}
		if x.Kind == 0 && (d == nil || d.Paradigm != trace.ParadigmMeasurement) {
			own += x.Calls + x.Estimated
		}
	}
	mpi := called&trace.ClassMPI != 0
	messages := s.Messages.Sent > 0 || s.Messages.Received > 0
	count := func(code trace.Code) uint64 {
		for i := range codes {
			if codes[i].Code == code {
				return codes[i].Count
			}
		}
		return 0
	}
	u := numbers.Units{Resolution: s.Resolution, Rounded: true}
	started, ended := results.Lives(r, profile.Regions)
	add(ended > 0 && ended < started, "ends", fmt.Sprintf("%d of %d processes have no MPI_Finalize: their events end before the program does; what processes compute is not compared", started-ended, started))
	add(!s.Rows, "rows", "rows of events were not kept (--events none): messages are not matched, waits and their causes not known")
	add(!mpi && !messages && s.Collectives.Calls == 0, "mpi", "no MPI calls: time in communication, and who waits for whom, is not known")
	add(transfers && !messages, "messages", "calls of point-to-point communication without records of messages: who waits for whom is not known")
	lone := count(trace.DiagUnmatchedSend)
	add(s.Rows && lone > 0 && 2*lone >= s.Messages.Sent, "receives", fmt.Sprintf("%s of %s have no receive in the trace: who waits for them, or they for whom, is not known", numbers.Count(lone), numbers.Plural(int(s.Messages.Sent), "message")))
	add(messages && len(r.Defs.Comms)+len(r.Defs.InterComms) == 0, "communicators", "messages without communicators: their partners are not known")
	tell := "no function can be named; coppice record --sample 1ms, or compiling with -finstrument-functions, tells them"
	if len(r.Defs.InterruptGenerators) > 0 {
		tell = "no sample came in it; a longer run, or samples at shorter times, may tell its functions"
	}
	add(mpi && own <= s.Processors, "functions", "no functions but MPI: own code is one block, "+tell)
	threaded, nested, silent, unowned := false, false, []uint32{}, []uint32{}
	for i, p := range r.Defs.Processes() {
		if g := r.Defs.LocationGroup(p.Group); g != nil && g.Type == trace.AcceleratorGroup {
			unowned = append(unowned, uint32(i))
		}
		if threads.TeamOf(r.Defs, i).Count < 2 {
			continue
		}
		threaded = true
		if v, err := r.Components(p.First); err == nil && v[xtf.ItemTime] == 0 {
			silent = append(silent, uint32(i))
		}
	}
	add(mpi && !threaded, "threads", "one thread of each process: what others do, where a process has more, is not known; coppice record --threads all tells it")
	told := slices.ContainsFunc(profile.Regions, func(x results.RegionTime) bool { return waitsForThread(r.State(x.Region)) })
	add(threaded && s.POP.Threads == nil && told, "efficiencies of threads", "several threads of a process and no parallel regions: efficiencies are about first ones alone; section waits has what threads wait for each other")
	if threaded && s.POP.Threads == nil && !told {
		text := "several threads of a process and no parallel regions: whether threads wait for each other is not known, and a first one that does counts as computing; efficiencies are about first ones alone"
		if waits, where := waitsOfOthers(r); waits > s.Ticks.Runtime/100*LeastFinding {
			rank, thread := r.Defs.Process(where)
			text += fmt.Sprintf("; thread %d of rank %d waits %s in MPI (%s of the run): what its process loses by that is not known", thread, rank, u.Time(waits), numbers.NewRatio(waits, s.Ticks.Runtime).Percent())
		}
		add(true, OtherThreads, text+"; coppice record --threads all tells it")
	}
	if paths, err := results.ReadCallPaths(r); err == nil && threaded && s.Rows {
		_, nested = inParallel(r, paths)
	}
	add(nested, "nested regions", "parallel regions are inside of others: which threads are a team is not known, so the critical path stays in their barriers; efficiencies of threads count all that work in the outer region")
	add(len(silent) > 0, "first threads", fmt.Sprintf("nothing is recorded of the first thread of rank %s: its time counts as computation, and its efficiency says nothing", results.RankList(silent)))
	add(len(unowned) > 0, "owners of devices", fmt.Sprintf("which process uses the device that counts as rank %s: sums, means and efficiencies of processes have it too", results.RankList(unowned)))
	add(mpi && starts, "started threads", "whether threads that a process starts compute while its first one is in MPI is not compared: waits of that one may then cost less than findings say")
	add(len(profile.Regions) == 0, "calls", "no calls of functions: nothing is known of what the program did")
	add(oneSided, "one-sided", "waits of one-sided communication are known in MPI_Win_fence, where nobody leaves before the last process comes, in MPI_Win_start, complete, wait and lock; not in operations, MPI_Win_flush, MPI_Win_unlock and for MPI_Win_lock_all")
	add(shares, SharedMemory, "waits for what other processes write to memory that they share (MPI_Win_allocate_shared) are not known: reading it again and again counts as own code")
	files := "waits in collective operations on files, such as MPI_File_open and MPI_File_write_all, are not computed"
	if filesMeet(r, s) {
		files = "waits in collective operations on files are known where a record names the file and nobody leaves before the last process comes, which is taken for waiting whatever the library did; not in MPI_File_set_size and the like, nor in what ends operations that do not block"
	}
	add(called&trace.ClassFileIO != 0, "files", files)
	matters := func(ticks uint64) bool { return ticks > profile.Time/100 }
	add(slept > s.Ticks.Runtime/100*LeastFinding, Sleep, fmt.Sprintf("why each process sleeps for %s or more between MPI calls (%s of the run), which counts as computing, is not known: it may wait for files, locks, threads or other programs; coppice record --io tells files, --threads all locks and threads",
		u.Time(slept), numbers.NewRatio(slept, s.Ticks.Runtime).Percent()))
	if untold := UntoldDevices(s); untold > s.Ticks.Runtime/100*LeastFinding {
		why := "no locations of devices"
		if r.HasStreams() {
			why = "rows of calls were not kept"
		}
		add(true, "devices", fmt.Sprintf("%s: whether devices compute in the %s of a process (%s of the run) in calls of their runtime is not known, so this time counts as lost", why, u.Time(untold), numbers.NewRatio(untold, s.Ticks.Runtime).Percent()))
	}
	if x := s.Devices; x != nil && len(x.List) > 0 {
		switch l := x.Launches; {
		case l == nil:
			add(true, "launches", "which call launched which kernel is not known, nor how long kernels wait in a stream")
		case l.Unknown > 0:
			add(true, "launches", fmt.Sprintf("which call launched %s is not known: the same call launches into several streams, or some of its launches or kernels are not in the trace", numbers.Plural(int(l.Unknown), "kernel")))
		}
		if c := x.Collectives; c != nil {
			add(len(c.List) > 0, "members of collectives of devices", "communicators of collectives of devices are not in the trace: members are estimated from the names of kernels and their order, and critical path and causes stay on each device")
			add(c.Unknown > 0, "collectives of devices", fmt.Sprintf("which %s that communicate between devices belong together is not known: devices do not have them equally often, or in an order that cannot be", numbers.Plural(int(c.Unknown), "kernel")))
		}
		_, transfers := x.Largest(func(d *results.Device) uint64 { return d.Transfer })
		calls := slices.ContainsFunc(x.Hosts, func(h results.HostTime) bool { return h.State == trace.StateTransferCall.String() })
		add(calls && transfers == 0, "transfers", "no transfers on devices: what they take of them counts as idle")
		add(true, "streams", "which stream a call waits for, and which launch began a kernel, is taken by time; waits of a stream for an event of another one are not known")
		add(x.Threads, "threads of hosts", "what threads of hosts but the first ones do for devices is not looked at")
	}
	if asks := s.Item(xtf.ItemPolling); float64(asks.Max) > float64(s.Ticks.Runtime)/100*LeastFinding {
		add(true, "polling", fmt.Sprintf("whether %s of rank %d (%s of the run) between calls that ask for messages again and again, as MPI_Test does, is work or waiting is not known",
			u.Time(asks.Max), asks.MaxP, numbers.NewRatio(asks.Max, s.Ticks.Runtime).Percent()))
	}
	for _, k := range slices.Sorted(maps.Keys(others)) {
		add(matters(others[k]), OtherLibrary, fmt.Sprintf("calls of %s count as own code, %s %s of all processes together: how long they wait there for each other is not known, and efficiencies may be too high for that", otherLibraries[k], u.Big(numbers.Integer(others[k])), u.Name()))
	}
	add(matters(polling), "tests", "waits of processes that call MPI_Test, MPI_Iprobe or similar calls again and again are not known")
	add(matters(completing) && sendsEndUnseen(r, s.Item(xtf.ItemP2P).MaxP), "ends of sends", "when sends that do not block end is not in the trace: of what calls such as MPI_Wait wait for only receives are known")
	add(matters(managing), "management", "waits in calls of MPI management are known where a record tells that they make a communicator, a window or a file; not in others")
	sessions := property(r, trace.PropertySessions)
	worldless := slices.Contains(sessions, trace.SessionsAlone)
	add(worldless, "sessions", "calls of MPI are not in the trace: the program begins MPI by MPI_Session_init alone, which is not recorded")
	add(len(sessions) > 0 && !worldless, "sessions", "calls of MPI sessions before MPI_Init and after MPI_Finalize are not in the trace, nor whom they wait for")
	runtime := property(r, trace.PropertyReplaced)
	if slices.Contains(runtime, trace.NotReplaced) {
		add(true, "OpenMP", "threads of OpenMP are not in the trace: processes ran with GNU's runtime, which does not tell what they do")
	} else if len(runtime) > 0 {
		add(true, "OpenMP runtime", fmt.Sprintf("with GNU's runtime of OpenMP barriers, loops and tasks may take another time: it was recorded with %s in its place", runtime[0]))
	}
	for _, text := range parts(r) {
		add(true, "part", text)
	}
	if unseen := property(r, trace.PropertyUnseen); len(unseen) > 0 {
		add(true, "file I/O", fmt.Sprintf("file I/O of %s that the recorder could only count: %s", numbers.Plural(len(unseen), "process"), unseen[0]))
	}
	streams := slices.ContainsFunc(r.Defs.IoParadigms, func(x trace.IoParadigm) bool { return r.Defs.Text(x.Identification) == "ISOC" })
	add(streams && len(property(r, trace.PropertyProcessors)) > 0, "streams", "what getc, putc, fscanf, printf and puts move through streams of C is not in the trace")
	created := slices.ContainsFunc(r.Defs.LocationGroups, func(g trace.LocationGroup) bool { return g.Type == trace.ProcessGroup && g.Creator != trace.Undefined })
	add(spawned && created, "processes", "which processes MPI_Comm_spawn started of those in the trace is not analysed, nor waits of the others for their start")
	add(spawned && !created, "processes", "processes that MPI_Comm_spawn started are not in the trace, nor the other side of their messages")
	var alone []string
	for _, x := range []struct {
		code trace.Code
		what string
	}{{trace.DiagNoCollRecord, "of collectives"}, {trace.DiagNoRecord, "of one-sided or file operations"}} {
		if n := count(x.code); n > 0 {
			alone = append(alone, numbers.Plural(int(n), "call")+" "+x.what)
		}
	}
	add(len(alone) > 0, "records of calls", strings.Join(alone, " and ")+" without a record: what they move, and who waits for whom in them, is not known")
	for _, x := range []struct {
		code       trace.Code
		what, also string
	}{{trace.DiagCanceledSend, "send", ": they and their bytes are among those sent"}, {trace.DiagCanceledRecv, "receive", ""}} {
		n := count(x.code)
		add(n > 0, "cancelled", "waits of "+numbers.Plural(int(n), x.what)+" that were cancelled"+x.also)
	}
	for i := range codes {
		x := &codes[i]
		add(x.Code == trace.DiagOff, "measurement off", fmt.Sprintf("what the program did while the measurement was off, %s in %s, up to %s of one outside of MPI: that counts as measurement overhead", numbers.Plural(int(x.Count), "time"), numbers.Plural(int(x.Locations), "location"), u.Time(x.Worst)))
	}
	if n := count(trace.DiagNoCall); n > 0 {
		add(true, "calls of messages", "waits for "+numbers.Plural(int(n), "record")+" of messages and collectives outside of calls of MPI: functions that are not marked as those of MPI may have them")
	}
	after := ""
	switch {
	case count(trace.DiagCorrupt) > 0:
		after = "events that were left out as damaged"
	case count(trace.DiagOff) > 0 && count(trace.DiagUnmatchedSend)+count(trace.DiagUnmatchedRecv)+count(trace.DiagShortCollective) > 0:
		after = "the measurement was off on some processes alone"
	}
	add(after != "" && (messages || s.Collectives.Calls > 0), "damage", "which messages and collectives belong together after "+after+": they pair in their order, waits there may be wrong, and nothing is said about clocks")
	if n := count(trace.DiagNoBytes); n > 0 {
		add(true, "bytes", "bytes of "+numbers.Plural(int(n), "file operation")+" that failed or do not tell them: they count as none")
	}
	if n := count(trace.DiagNoFrame); n > 0 {
		add(true, "frames", numbers.Plural(int(n), "calling context")+" with frames that are not open calls: call paths are without them")
	}
	add(sum.Estimated > 0, "samples", "numbers, exact times and waits of calls that no record enters: their times are "+sum.Text(r))
	if n := count(trace.DiagUnknownRecord); n > 0 {
		add(true, "unknown records", numbers.Plural(int(n), "record")+" of a kind that this version does not know")
	}
	add(len(r.Defs.MetricMembers) == 0, "counters", "no hardware counters: whether own code is slow for instructions, cache or clock rate is not known; coppice record --counters tells it")
	_, unknown := Crowds(r.Defs, Usages(r.Defs))
	add(unknown > 0, "processors", "no processors of the hosts: whether several processes share one is not known")
	return list
}

// waitsOfOthers are the waits in MPI of the thread that waits longest of those that are not the first of their process.
func waitsOfOthers(r *results.Run) (most uint64, where trace.P) {
	for _, p := range r.Defs.Processes() {
		for at := p.First + 1; at < p.First+trace.P(p.Count); at++ {
			v, err := r.Components(at)
			if err != nil {
				continue
			}
			sum := uint64(0)
			for _, i := range results.WaitItems {
				xtf.Add(&sum, v[i])
			}
			if sum > most {
				most, where = sum, at
			}
		}
	}
	return most, where
}

// Unmeasured is for how long the measurement of a process was off outside of MPI, where that is LeastFinding percent of the run or more; else 0.
func Unmeasured(codes []results.CodeTotal, runtime uint64) uint64 {
	for i := range codes {
		if x := &codes[i]; x.Code == trace.DiagOff && numbers.MulDiv(x.Worst, 100/LeastFinding, 1) >= runtime {
			return x.Worst
		}
	}
	return 0
}

// filesMeet reports whether a trace tells which processes take part in collective operations on files, and has rows of them.
func filesMeet(r *results.Run, s *results.Summary) bool {
	return s.Rows && slices.ContainsFunc(r.Defs.IoHandles, func(h trace.IoHandle) bool { return r.Defs.CommSize(h.Comm) > 1 })
}

func property(r *results.Run, name string) (list []string) {
	for i := range r.Defs.LocationProperties {
		if x := &r.Defs.LocationProperties[i]; r.Defs.Text(x.Name) == name && x.Value.Type == trace.TypeString {
			list = append(list, r.Defs.Text(uint32(x.Value.Bits)))
		}
	}
	return list
}

// parts says which part of the run is recorded, if it is not the whole run.
func parts(r *results.Run) (list []string) {
	var nothing []uint32
	var least, most [2]uint64 // ns, of begins and ends
	var count [2]int
	for i := range r.Defs.LocationProperties {
		q := &r.Defs.LocationProperties[i]
		at := slices.Index([]string{trace.PropertyBegins, trace.PropertyEnds, trace.PropertyNothing}, r.Defs.Text(q.Name))
		p, ok := r.Defs.Ordinal(q.Location)
		switch {
		case at < 0 || !ok || q.Value.Type != trace.TypeUint64:
		case at == 2:
			rank, _ := r.Defs.Process(p)
			nothing = append(nothing, rank)
		default:
			n := q.Value.Bits
			if count[at] == 0 {
				least[at], most[at] = n, n
			}
			least[at], most[at] = min(least[at], n), max(most[at], n)
			count[at]++
		}
	}
	for at, text := range [...]string{"the recording begins %s s after MPI_Init%s: what was before is not known", "the recording ends %s s after MPI_Init%s: what came after is not known"} {
		if count[at] == 0 {
			continue
		}
		seconds := func(ns uint64) string { return fmt.Sprintf("%.6f", float64(ns)/1e9) }
		span, of := seconds(least[at]), ""
		if most[at] > least[at] {
			span += " to " + seconds(most[at])
		}
		if n := len(r.Defs.Processes()); count[at]+len(nothing) < n {
			of = fmt.Sprintf(" on %s of %d", numbers.Plural(count[at], "process"), n)
		}
		list = append(list, fmt.Sprintf(text, span, of))
	}
	if len(nothing) > 0 {
		slices.Sort(nothing)
		list = append(list, fmt.Sprintf("nothing is recorded of rank %s: waits for them are not known", results.RankList(nothing)))
	}
	return list
}

// inParallel says which call paths are in parallel regions, nil if there are none, and whether one of them is in two nested
// regions.
func inParallel(r *results.Run, paths *results.CallPaths) (inside []bool, nested bool) {
	roles := threads.NewRoles(r.Defs)
	if !roles.Any() {
		return nil, false
	}
	inside = make([]bool, paths.Len())
	for n := 1; n < len(inside); n++ {
		outer, parallel := inside[paths.Parent(uint32(n))], roles.Parallel(paths.Region(uint32(n)))
		inside[n], nested = outer || parallel, nested || outer && parallel
	}
	return inside, nested
}

// UntoldDevices is the largest time of a process in calls of a device's runtime during which the work of devices is not known.
func UntoldDevices(s *results.Summary) uint64 {
	if s.Devices != nil {
		return 0
	}
	return s.Item(xtf.ItemDeviceCall).Max + s.Item(xtf.ItemDeviceWait).Max
}

// polls reports whether a region, given by its reference, is a call that asks and does not wait.
func polls(r *results.Run, ref uint32) bool { return r.Defs.Polls(r.Defs.Region(ref)) }

// sendsEndUnseen reports whether a process has sends by calls that only begin them, and no send ends in a later call: then the trace does not
// have these ends, as those of Paraver, of EZTrace, and of writers that take any send for one that blocks. It looks at the first messages.
func sendsEndUnseen(r *results.Run, rank uint32) bool {
	const looked = 4096
	if !r.Rows || uint64(rank) >= uint64(len(r.Defs.Processes())) {
		return false
	}
	a, err := xtf.ArrayOf[xtf.P2P](r.File, xtf.Proc(r.Defs.Processes()[rank].First))
	if err != nil {
		return false
	}
	begun, later := false, false
	err = a.Each(0, min(a.Len(), looked), func(_ uint64, row []byte) bool {
		var m xtf.P2P
		if m.Load(row); m.Kind&(xtf.P2PNotice|xtf.P2PKindMask) == xtf.P2PSend && isCall(r, m.Region, "isend", "ibsend", "issend", "irsend", "start", "startall") {
			begun, later = true, m.Done != xtf.Never && m.Done > m.End
		}
		return !later
	})
	return err == nil && begun && !later
}

// exchanges reports whether a region is a call that sends and receives in one.
func exchanges(r *results.Run, x *results.RegionTime) bool {
	return x != nil && r.Defs.IsExchange(r.Defs.Region(x.Region))
}

// Chapter lists what the trace cannot tell. The summary shows only the first lines, and says where the others are.
func (l *Untold) Chapter(c *table.Chapter, most int, whole string) {
	var list [][]table.Cell
	for _, m := range l.Missing {
		list = append(list, []table.Cell{table.Word(m.Text)})
	}
	for i := range l.Records {
		x := &l.Records[i]
		var kinds []string
		for k := range x.Kinds[:min(len(x.Kinds), results.NamedKinds)] {
			kinds = append(kinds, x.Kinds[k].Kind)
		}
		if len(x.Kinds) > results.NamedKinds {
			kinds = append(kinds, "...")
		}
		list = append(list, []table.Cell{table.Word(fmt.Sprintf("%s %s records: %s", numbers.Count(x.Count), strings.Join(kinds, ", "), x.Text)), table.PlainNumber(x.Count)})
	}
	if len(list) == 0 && most == 0 {
		c.Say("nothing is missing, and all records are read")
	}
	t := &table.Table{Kind: "untold", Most: most, Whole: whole, Columns: []table.Column{table.Words("What this trace cannot tell", "text"), table.Ints("", "count").Hidden()}}
	table.Fill(t, "line", list, func(row *[]table.Cell) []table.Cell { return *row })
	c.Table(t)
}
