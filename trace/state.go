package trace

import (
	"slices"
	"strings"
)

// State is what a location does at an instant. Every instant of a location has
// exactly one; reports, sums and documents take their words from States.
type State uint8

// States. Numbers are never reused.
const (
	StateOwn State = iota
	StateP2P
	StateCollective
	StateBarrier
	StateMPIIO
	StateRMA
	StateManagement
	StateSetup
	StateIO
	StateThread
	StateLock
	StateDeviceCall
	StateDeviceWait
	StateKernel
	StateTransfer
	StateDeviceIdle
	StateOverhead
	StateBefore
	StateAfter
	StateCritical
	StateThreadWait
	StateLaunch
	StateTransferCall
	NumStates
)

// StateInfo is the row of a state in the table.
type StateInfo struct {
	Name       string // in documents, and of the component that sums it up
	Text       string // for people
	Group      string
	Productive bool
	Told       string // what tells it
}

// Groups of states.
const (
	groupProgram = "program"
	groupMPI     = "MPI"
	groupIO      = "I/O"
	groupThreads = "threads"
	groupDevice  = "device"
	groupMeasure = "measurement"
)

// States is the one table of states, by State.
var States = [NumStates]StateInfo{
	StateOwn:          {"cpu", "own code", groupProgram, true, "what no row below covers; where a trace has MPI calls alone, the time between them"},
	StateP2P:          {"p2p", "point to point", groupMPI, false, "class of the MPI call: its name; its role where the MPI standard does not have the name"},
	StateCollective:   {"collective", "collective", groupMPI, false, "the same; the component has the barriers too"},
	StateBarrier:      {"barrier", "barrier", groupMPI, false, "the same"},
	StateMPIIO:        {"mpi_io", "MPI-IO", groupMPI, false, "the same"},
	StateRMA:          {"rma", "one-sided", groupMPI, false, "the same"},
	StateManagement:   {"mgmt", "MPI management", groupMPI, false, "the same: every other call; the component has set-up and end too"},
	StateSetup:        {"setup", "set-up and end", groupMPI, false, "names: `MPI_Init`, `MPI_Init_thread`, `MPI_Finalize`"},
	StateIO:           {"io", "file I/O", groupIO, false, "roles FILE_IO and FILE_IO_METADATA outside MPI; in archives with handles of files, of role FUNCTION and paradigm USER, names: " + quoted(ioCalls)},
	StateThread:       {"thread_runtime", "thread runtime", groupThreads, false, "OpenMP: roles FLUSH, TASK_CREATE, WRAPPER; any: role THREAD_CREATE. Part of `cpu`"},
	StateThreadWait:   {"thread_wait", "thread wait", groupThreads, false, "OpenMP: roles BARRIER, IMPLICIT_BARRIER, TASK_WAIT; any: role THREAD_WAIT; part of `cpu`: the process works meanwhile; names, as of lock waits: " + quoted(threadWaits)},
	StateCritical:     {"critical_wait", "critical wait", groupThreads, false, "OpenMP: roles CRITICAL and ORDERED, without the body, which is a call inside of them: roles CRITICAL_SBLOCK and ORDERED_SBLOCK, own code; names, as of lock waits: " + quoted(criticalCalls)},
	StateLock:         {"lock_wait", "lock wait", groupThreads, false, "names, because role WRAPPER has waits and others; of any paradigm, because POSIX, OpenMP and C++ keep them for themselves: " + quoted(lockCalls)},
	StateDeviceCall:   {"device_call", "device call", groupDevice, false, "paradigms CUDA, HIP, OpenCL, OpenACC and OPENMP_TARGET on the host: memory of a device, and what no other row has; the component has launches and transfer calls too"},
	StateLaunch:       {"launch", "launch", groupDevice, false, "the same paradigms, by name: with " + quoted(launches)},
	StateTransferCall: {"transfer_call", "transfer call", groupDevice, false, "the same paradigms: a name of the programming interface and role DATA_TRANSFER, or with " + quoted(transfers)},
	StateDeviceWait:   {"device_wait", "device wait", groupDevice, false, "the same paradigms, by name, because one role has waits and others: with `Synchronize`, " + quoted(deviceWaits) + "; names, as of lock waits: these and " + quoted(deviceSyncs)},
	StateKernel:       {"kernel", "kernel", groupDevice, true, "the same paradigms: role 40 (kernel), or role FUNCTION and no name of the programming interface; on locations of type ACCELERATOR_STREAM own code and calls of threads too"},
	StateTransfer:     {"transfer", "transfer", groupDevice, false, "the same paradigms: role DATA_TRANSFER, and no name of the programming interface"},
	StateDeviceIdle:   {"device_idle", "device idle", groupDevice, false, "locations of type ACCELERATOR_STREAM outside of kernels and transfers"},
	StateOverhead:     {"overhead", "measurement overhead", groupMeasure, false, "paradigm MEASUREMENT_SYSTEM and role CODE; role ARTIFICIAL by name: " + quoted(overheadRegions) + "; records: from BufferFlush to its stop time, from MeasurementOnOff off to on"},
	StateBefore:       {"before", "before the first event", groupMeasure, false, "no record of the location yet"},
	StateAfter:        {"after", "after the last event", groupMeasure, false, "no record of the location any more"},
}

// String returns the state's name.
func (s State) String() string {
	if s < NumStates {
		return States[s].Name
	}
	return "unknown"
}

// Names in lower case, where role and paradigm do not distinguish.
var (
	lockCalls = []string{
		"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock",
		"pthread_rwlock_wrlock", "pthread_rwlock_timedwrlock", "pthread_spin_lock", "omp_set_lock", "omp_set_nest_lock", "openmp acquire mutex",
		"std::mutex::lock", "std::timed_mutex::lock", "std::recursive_mutex::lock", "std::recursive_timed_mutex::lock",
		"std::shared_mutex::lock", "std::shared_mutex::lock_shared", "std::shared_timed_mutex::lock", "std::shared_timed_mutex::lock_shared",
	}
	criticalCalls = []string{"gomp_critical_start", "gomp_critical_name_start", "gomp_ordered_start", "__kmpc_critical", "__kmpc_critical_with_hint", "__kmpc_ordered"}
	threadWaits   = []string{
		"pthread_join", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_barrier_wait", "sem_wait", "sem_timedwait",
		"openmp barrier", "openmp implicit barrier", "gomp_barrier", "gomp_taskwait", "gomp_taskgroup_end", "__kmpc_barrier", "__kmpc_omp_taskwait",
	}
	deviceWaits = []string{"clfinish", "clwaitforevents", "acc_wait", "hsa_signal_wait_relaxed", "hsa_signal_wait_scacquire", "hsa_amd_signal_wait_any"}
	deviceSyncs = []string{
		"cudadevicesynchronize", "cudastreamsynchronize", "cudaeventsynchronize", "cudathreadsynchronize", "cuctxsynchronize", "custreamsynchronize", "cueventsynchronize",
		"hipdevicesynchronize", "hipstreamsynchronize", "hipeventsynchronize", "hipctxsynchronize", "acc_wait_all", "zecommandqueuesynchronize", "zecommandlisthostsynchronize",
		"zeeventhostsynchronize", "zefencehostsynchronize", "kokkos::fence", "kokkos::cuda::fence", "kokkos::hip::fence", "kokkos::experimental::hip::fence",
		"kokkos::sycl::fence", "kokkos::experimental::sycl::fence", "sycl::queue::wait", "sycl::_v1::queue::wait", "sycl::queue::wait_and_throw", "sycl::_v1::queue::wait_and_throw",
	}
	launches        = []string{"launch", "clenqueuendrange", "clenqueuetask", "target submit"}
	transfers       = []string{"memcpy", "memset", "memory_copy", "async_copy", "upload", "download", "clenqueueread", "clenqueuewrite", "clenqueuecopy", "clenqueuefill", "clenqueuemap", "clenqueueunmap", "clenqueuemigrate"}
	overheadRegions = []string{"trace buffer flush", "measurement off", "flush"}
	deviceCalls     = []string{"cuda", "__cuda", "hip", "__hip", "acc_", "hsa_", "omp_", "!$omp "} // prefixes; those of cuXxx, clXxx and ncclXxx come in addition
)

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// StateOf returns the state in a region, StateOwn for the program's own code and for nil, a region without definition.
// Role and paradigm decide; names do where these do not distinguish.
func (d *Definitions) StateOf(r *Region) State {
	if r == nil {
		return StateOwn
	}
	if class := d.Class(r); class != 0 {
		return StateOfClass(class)
	}
	switch r.Paradigm {
	case ParadigmCUDA, ParadigmHIP, ParadigmOpenCL, ParadigmOpenACC, ParadigmOpenMPTarget:
		return deviceState(r, d.Text(r.Name))
	case ParadigmMeasurement:
		if r.Role == RoleCode {
			return StateOverhead
		}
	}
	name := strings.ToLower(d.Text(r.Name))
	if r.Role == RoleArtificial && slices.Contains(overheadRegions, name) {
		return StateOverhead
	}
	return threadState(r, withoutArguments(name))
}

// OnStream returns the state of a stream of a device in a call of a region with state s. A region that does not say is a kernel:
// those of OpenMP do not, since they run on hosts too.
func (s State) OnStream() State {
	switch s {
	case StateOwn, StateThread, StateThreadWait, StateCritical, StateLock:
		return StateKernel
	}
	return s
}

// StateOfClass returns the state in a call of a class, StateOwn for none.
func StateOfClass(class CallClass) State {
	switch {
	case class == 0:
		return StateOwn
	case class&(ClassMPI|ClassIO) == ClassIO:
		return StateIO
	case class&ClassInit != 0:
		return StateSetup
	case class&ClassBarrier != 0:
		return StateBarrier
	case class&ClassP2P != 0:
		return StateP2P
	case class&ClassColl != 0:
		return StateCollective
	case class&ClassFileIO != 0:
		return StateMPIIO
	case class&ClassRMA != 0:
		return StateRMA
	}
	return StateManagement
}

func deviceState(r *Region, text string) State {
	name := strings.ToLower(text)
	switch {
	case r.Role == RoleKernel, r.Role == RoleFunction && !isDeviceCall(text):
		return StateKernel
	case r.Role == RoleDataTransfer && !isDeviceCall(text):
		return StateTransfer
	case r.Role == RoleDataTransfer, hasOne(name, transfers):
		return StateTransferCall
	case hasOne(name, launches):
		return StateLaunch
	case strings.Contains(name, "synchronize"):
		return StateDeviceWait
	}
	name, _, _ = strings.Cut(name, "@") // of OpenACC, with its place
	if slices.Contains(deviceWaits, strings.TrimSpace(name)) {
		return StateDeviceWait
	}
	return StateDeviceCall
}

// hasOne says whether a name has one of some words in it.
func hasOne(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// isDeviceCall says whether a name is one of a programming interface of devices.
func isDeviceCall(name string) bool {
	for _, begin := range deviceCalls {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	for _, begin := range []string{"cu", "cl", "nccl"} {
		if rest, ok := strings.CutPrefix(name, begin); ok && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' {
			return !strings.HasPrefix(name, "ncclDevKernel") && !strings.HasPrefix(name, "ncclKernel")
		}
	}
	return false
}

// withoutArguments is the name of a function of C++ without what is in parentheses,
// and without the type void before it.
func withoutArguments(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return strings.TrimPrefix(name, "void ")
}

// threadState is the state in a region outside of MPI and files, and outside of what a device's runtime records.
func threadState(r *Region, name string) State {
	last := name[strings.LastIndexByte(name, ' ')+1:] // without the type that it returns
	switch {
	case slices.Contains(deviceWaits, last), slices.Contains(deviceSyncs, last):
		return StateDeviceWait
	case slices.Contains(lockCalls, name):
		return StateLock
	case slices.Contains(criticalCalls, name):
		return StateCritical
	case slices.Contains(threadWaits, name):
		return StateThreadWait
	}
	switch r.Role {
	case RoleThreadCreate:
		return StateThread
	case RoleThreadWait:
		return StateThreadWait
	}
	if r.Paradigm != ParadigmOpenMP {
		return StateOwn
	}
	switch r.Role {
	case RoleBarrier, RoleImplicitBarrier, RoleTaskWait:
		return StateThreadWait
	case RoleCritical, RoleOrdered:
		return StateCritical
	case RoleFlush, RoleTaskCreate, RoleWrapper:
		return StateThread
	}
	return StateOwn
}
