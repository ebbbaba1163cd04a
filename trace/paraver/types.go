package paraver

import (
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// use says what becomes of the events of one type.
type use uint8

const (
	marker     use = iota // a value at an instant: ParameterUnsignedInt
	call                  // a value opens a region, 0 or another value closes it
	nested                // a value opens a region, 0 closes the innermost
	lock                  // 3 asks for a lock, 6 has it, 5 gives it back, 0 is done
	counter               // what was counted since the event before: Metric
	sendBytes             // arguments of a collective call
	recvBytes             //
	rootFlag              //
	commArg               //
	calledFrom            // attribute of the enter: function or line that called
	sourceLine            // file and line of the region in the same record
)

// eventType is what is known of an event type of Extrae.
type eventType struct {
	use      use
	paradigm trace.ParadigmID
	role     trace.RegionRole
	of       uint64 // position: the type of the region
}

// Event types that the code asks for.
const (
	typesOfTracer   = 1_000_000 // types 40 000 000 and up, as many, are about the tracer
	typeApplication = 40000001
	typeFlush       = 40000003
	typeP2P         = 50000001
	typeOther       = 50000003
	typeColl        = 50000002
	typeParallel    = 60000001
)

// eventTypes are the types with a meaning of their own. Numbers and meaning are
// those of the Extrae user guide, appendix "Extrae event types".
var eventTypes = map[uint64]eventType{
	typeApplication: {use: call, paradigm: trace.ParadigmMeasurement, role: trace.RoleFunction}, // the application
	40000002:        {use: call, paradigm: trace.ParadigmMeasurement, role: trace.RoleCode},     // start of the tracer
	typeFlush:       {use: call, paradigm: trace.ParadigmMeasurement, role: trace.RoleCode},     // buffer flush
	40000004:        {use: call, paradigm: trace.ParadigmUser, role: trace.RoleFileIO},          // input and output

	typeP2P:   {use: call, paradigm: trace.ParadigmMPI, role: trace.RolePointToPoint},
	typeColl:  {use: call, paradigm: trace.ParadigmMPI, role: trace.RoleCollOther},
	typeOther: {use: call, paradigm: trace.ParadigmMPI, role: trace.RoleFunction},
	50000004:  {use: call, paradigm: trace.ParadigmMPI, role: trace.RoleRMA},
	50000005:  {use: call, paradigm: trace.ParadigmMPI, role: trace.RoleFileIO},
	50100001:  {use: sendBytes},
	50100002:  {use: recvBytes},
	50100003:  {use: rootFlag},
	50100004:  {use: commArg},

	typeParallel: {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleParallel},
	60000002:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleWorkshare},
	60000005:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleBarrier},
	60000006:     {use: lock, paradigm: trace.ParadigmOpenMP},
	60000007:     {use: lock, paradigm: trace.ParadigmOpenMP},
	60000008:     {use: lock, paradigm: trace.ParadigmOpenMP},
	60000009:     {use: lock, paradigm: trace.ParadigmOpenMP},
	60000010:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleWrapper}, // overhead
	60000011:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleWrapper}, // distribution of work
	60000016:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleImplicitBarrier},
	60000018:     {use: nested, paradigm: trace.ParadigmOpenMP, role: trace.RoleCode}, // body of a parallel region
	60000019:     {use: nested, paradigm: trace.ParadigmUser, role: trace.RoleFunction},
	60000020:     {use: nested, paradigm: trace.ParadigmPthread, role: trace.RoleFunction},
	60000021:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleTaskCreate},
	60000022:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleTaskWait},
	60000023:     {use: nested, paradigm: trace.ParadigmOpenMP, role: trace.RoleTask},
	60000024:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleTaskCreate},
	60000030:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleFunction},
	60000031:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleFunction},
	60000033:     {use: lock, paradigm: trace.ParadigmOpenMP},
	60000035:     {use: call, paradigm: trace.ParadigmOpenMP, role: trace.RoleFunction}, // taskyield
	60000118:     {use: sourceLine, of: 60000018},
	60000119:     {use: sourceLine, of: 60000019},
	60000120:     {use: sourceLine, of: 60000020},
	60000123:     {use: sourceLine, of: 60000023},
	60000124:     {use: sourceLine, of: 60000024},
	61000000:     {use: call, paradigm: trace.ParadigmPthread, role: trace.RoleFunction},
	63000001:     {use: call, paradigm: trace.ParadigmCUDA, role: trace.RoleWrapper}, // of Extrae 3, see names.typeOf
}

// Types of regions with positions follow each other: placeOf numbers them, and
// other types with places and above.
const places = 60000024 - 60000018 + 1

func placeOf(t uint64) uint64 { return min(t-60000018, places) }

// Values of the types of locks.
const (
	lockFree  = 0
	lockAsked = 3
	lockGiven = 5
	lockHeld  = 6
)

// typeState is the type of states, in traces that have no calls: there states become calls.
const typeState = 1<<64 - 1

// stateOff is the state of a thread that is not traced.
const stateOff = 14

// isCall says whether a state becomes a call: all but idle and not created.
func isCall(state uint64) bool { return state != 0 && state != 2 }

// stateNames are the names of states by Paraver's numbers, for traces whose file of names is not there.
var stateNames = strings.Split("Idle,Running,Not created,Waiting a message,Blocking Send,Synchronization,Test/Probe,"+
	"Scheduling and Fork/Join,Wait/WaitAll,Blocked,Immediate Send,Immediate Receive,I/O,Group Communication,Tracing Disabled,"+
	"Others,Send Receive", ",")

// stateType returns what is known of a state, as Paraver numbers them, in a trace with several threads of a task or not, and what it
// may do with messages.
func stateType(state uint64, threaded bool) (eventType, role) {
	e := eventType{use: call, paradigm: trace.ParadigmMPI, role: trace.RolePointToPoint}
	switch state {
	case 3: // waiting
		return e, receives
	case 4:
		return e, sends
	case 6: // probe
	case 8: // wait
		return e, completes
	case 10:
		return e, sends | starts
	case 11:
		return e, receives | starts
	case 16:
		return e, sends | receives
	case 13: // group communication
		e.role = trace.RoleCollOther
	case 25: // one-sided
		e.role = trace.RoleRMA
	case 5: // synchronisation: of threads, or of processes that have one
		if e.role = trace.RoleBarrier; threaded {
			e.paradigm = trace.ParadigmOpenMP
		}
	case 7: // scheduling, fork and join
		e.paradigm, e.role = trace.ParadigmOpenMP, trace.RoleWrapper
	case 12:
		e.paradigm, e.role = trace.ParadigmUser, trace.RoleFileIO
	case stateOff:
		e.paradigm, e.role = trace.ParadigmMeasurement, trace.RoleCode
	default: // own code: a call of the whole application, since the function is not known
		e.paradigm, e.role = trace.ParadigmMeasurement, trace.RoleFunction
	}
	return e, 0
}

// typeOf returns what is known of type t; others are markers.
func typeOf(t uint64) eventType {
	switch {
	case t >= 42000000 && t < 43000000:
		return eventType{use: counter}
	case t > 70000000 && t <= 70000100, t > 80000000 && t <= 80000100:
		return eventType{use: calledFrom}
	case t == typeState:
		return eventType{use: call}
	}
	return eventTypes[t]
}

// isRegion says whether values of the type open regions.
func (e *eventType) isRegion() bool { return e.use == call || e.use == nested || e.use == lock }

// hasNames says whether values of the type are looked up in the table of names.
func (e *eventType) hasNames() bool {
	return e.isRegion() || e.use == calledFrom || e.use == sourceLine
}

// typeOf returns what is known of type t. The numbers of calls, kernels and transfers of devices differ between versions of
// Extrae, so their labels decide.
func (n *names) typeOf(t uint64) eventType {
	if t < 63000000 || t >= 63600000 {
		return typeOf(t)
	}
	e := eventType{use: call}
	interfaced, what, _ := strings.Cut(n.types[t].label, " ")
	switch interfaced {
	case "CUDA":
		e.paradigm = trace.ParadigmCUDA
	case "HIP":
		e.paradigm = trace.ParadigmHIP
	default:
		return typeOf(t)
	}
	switch what {
	case "library call":
		e.role = trace.RoleWrapper
	case "memory transfer":
		e.role = trace.RoleDataTransfer
	case "kernel", "kernel execution":
		e.role = trace.RoleKernel
	default:
		return eventType{}
	}
	return e
}

// onDevice says whether values of the type are what a stream of a device does.
func (e *eventType) onDevice() bool {
	return e.role == trace.RoleKernel || e.role == trace.RoleDataTransfer
}

// isDeviceCall says whether values of the type are calls of the runtime of devices.
func (e *eventType) isDeviceCall() bool {
	return e.role == trace.RoleWrapper && (e.paradigm == trace.ParadigmCUDA || e.paradigm == trace.ParadigmHIP)
}

// addsTo says whether a record only adds counters and arguments to the one
// before it: tools write a message of the same instant in between.
func (n *names) addsTo(pairs []pair) bool {
	for _, p := range pairs {
		if e := n.typeOf(p.Type); e.isRegion() || e.use == marker {
			return false
		}
	}
	return true
}
