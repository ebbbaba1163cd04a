package trace

var kinds = newKinds()

// newKinds makes the one table of event records (OTF2 3.0, section "Event records"). Numbers without a line are kinds that this version
// does not know: their payload is kept as bytes.
func newKinds() (kinds [256]Info) {
	var (
		stopTime         = Field{"stop_time", Stamp, RefNone, FromStamp}
		measurementMode  = Field{"measurement_mode", U8, RefNone, Hard}
		region           = Field{"region", U32, RefRegion, Hard}
		receiver         = Field{"receiver", U32, RefNone, Rank}
		comm             = Field{"communicator", U32, RefComm, Hard}
		tag              = Field{"msg_tag", U32, RefNone, Hard}
		length           = Field{"msg_length", U64, RefNone, Number}
		newRequest       = Field{"request_id", U64, RefNone, PostMpi}
		request          = Field{"request_id", U64, RefNone, UseMpi}
		sender           = Field{"sender", U32, RefNone, Rank}
		operation        = Field{"collective_op", U8, RefNone, Hard}
		root             = Field{"root", U32, RefNone, Rank}
		sent             = Field{"size_sent", U64, RefNone, Number}
		received         = Field{"size_received", U64, RefNone, Number}
		threads          = Field{"number_of_requested_threads", U32, RefNone, Hard}
		lock             = Field{"lock_id", U32, RefNone, Hard}
		acquisitionOrder = Field{"acquisition_order", U32, RefNone, Number}
		taskID           = Field{"task_id", U64, RefNone, Number}
		metric           = Field{"metric", U32, RefMetric, Hard}
		metrics          = Field{"number_of_metrics", U8, RefNone, Hard}
		parameter        = Field{"parameter", U32, RefParameter, Hard}
		text             = Field{"string", U32, RefString, Hard}
		signed           = Field{"value", S64, RefNone, Number}
		unsigned         = Field{"value", U64, RefNone, Number}
		window           = Field{"win", U32, RefRmaWin, Hard}
		syncLevel        = Field{"sync_level", U32, RefNone, Hard}
		bytesSent        = Field{"bytes_sent", U64, RefNone, Number}
		bytesReceived    = Field{"bytes_received", U64, RefNone, Number}
		group            = Field{"group", U32, RefGroup, Hard}
		remote           = Field{"remote", U32, RefNone, Rank}
		rmaLock          = Field{"lock_id", U64, RefNone, Hard}
		lockType         = Field{"lock_type", U8, RefNone, Hard}
		syncType         = Field{"sync_type", U8, RefNone, Hard}
		bytes            = Field{"bytes", U64, RefNone, Number}
		newRma           = Field{"matching_id", U64, RefNone, PostRma}
		atomic           = Field{"type", U8, RefNone, Hard}
		rma              = Field{"matching_id", U64, RefNone, UseRma}
		model            = Field{"model", U8, RefNone, Hard}
		team             = Field{"thread_team", U32, RefComm, Hard}
		creatingThread   = Field{"creating_thread", U32, RefNone, Hard}
		generationNumber = Field{"generation_number", U32, RefNone, Number}
		contingent       = Field{"thread_contingent", U32, RefComm, Hard}
		sequenceCount    = Field{"sequence_count", U64, RefNone, Number}
		context          = Field{"calling_context", U32, RefCallingContext, Hard}
		unwindDistance   = Field{"unwind_distance", U32, RefNone, Hard}
		generator        = Field{"interrupt_generator", U32, RefInterruptGenerator, Hard}
		handle           = Field{"handle", U32, RefIoHandle, Hard}
		access           = Field{"mode", U8, RefNone, Hard}
		creationFlags    = Field{"creation_flags", U32, RefNone, Hard}
		statusFlags      = Field{"status_flags", U32, RefNone, Hard}
		oldHandle        = Field{"old_handle", U32, RefIoHandle, Hard}
		newHandle        = Field{"new_handle", U32, RefIoHandle, Hard}
		offsetRequest    = Field{"offset_request", S64, RefNone, Number}
		whence           = Field{"whence", U8, RefNone, Hard}
		offsetResult     = Field{"offset_result", U64, RefNone, Number}
		ioParadigm       = Field{"io_paradigm", U8, RefNone, Hard}
		file             = Field{"file", U32, RefIoFile, Hard}
		ioMode           = Field{"mode", U8, RefNone, Hard}
		operationFlags   = Field{"operation_flags", U32, RefNone, Hard}
		bytesRequest     = Field{"bytes_request", U64, RefNone, Number}
		newIo            = Field{"matching_id", U64, RefNone, PostIo}
		io               = Field{"matching_id", U64, RefNone, UseIo}
		bytesResult      = Field{"bytes_result", U64, RefNone, Number}
		program          = Field{"program_name", U32, RefString, Hard}
		arguments        = Field{"number_of_arguments", U32, RefNone, Hard}
		exitStatus       = Field{"exit_status", S64, RefNone, Number}
	)
	type fields = []Field
	kinds = [256]Info{
		BufferFlush:                   {"BufferFlush", "BUFFER_FLUSH", fields{stopTime}, NoList, false, ""},
		MeasurementOnOff:              {"MeasurementOnOff", "MEASUREMENT_ON_OFF", fields{measurementMode}, NoList, false, ""},
		Enter:                         {"Enter", "ENTER", fields{region}, NoList, true, ""},
		Leave:                         {"Leave", "LEAVE", fields{region}, NoList, true, ""},
		MpiSend:                       {"MpiSend", "MPI_SEND", fields{receiver, comm, tag, length}, NoList, false, ""},
		MpiIsend:                      {"MpiIsend", "MPI_ISEND", fields{receiver, comm, tag, length, newRequest}, NoList, false, ""},
		MpiIsendComplete:              {"MpiIsendComplete", "MPI_ISEND_COMPLETE", fields{request}, NoList, true, ""},
		MpiIrecvRequest:               {"MpiIrecvRequest", "MPI_IRECV_REQUEST", fields{newRequest}, NoList, true, ""},
		MpiRecv:                       {"MpiRecv", "MPI_RECV", fields{sender, comm, tag, length}, NoList, false, ""},
		MpiIrecv:                      {"MpiIrecv", "MPI_IRECV", fields{sender, comm, tag, length, request}, NoList, false, ""},
		MpiRequestTest:                {"MpiRequestTest", "MPI_REQUEST_TEST", fields{request}, NoList, true, untoldTest},
		MpiRequestCancelled:           {"MpiRequestCancelled", "MPI_REQUEST_CANCELLED", fields{request}, NoList, true, ""},
		MpiCollectiveBegin:            {"MpiCollectiveBegin", "MPI_COLLECTIVE_BEGIN", fields{}, NoList, false, ""},
		MpiCollectiveEnd:              {"MpiCollectiveEnd", "MPI_COLLECTIVE_END", fields{operation, comm, root, sent, received}, NoList, false, ""},
		OmpFork:                       {"OmpFork", "OMP_FORK", fields{threads}, NoList, true, untoldTeam},
		OmpJoin:                       {"OmpJoin", "OMP_JOIN", fields{}, NoList, false, untoldTeam},
		OmpAcquireLock:                {"OmpAcquireLock", "OMP_ACQUIRE_LOCK", fields{lock, acquisitionOrder}, NoList, false, ""},
		OmpReleaseLock:                {"OmpReleaseLock", "OMP_RELEASE_LOCK", fields{lock, acquisitionOrder}, NoList, false, ""},
		OmpTaskCreate:                 {"OmpTaskCreate", "OMP_TASK_CREATE", fields{taskID}, NoList, true, untoldTask},
		OmpTaskSwitch:                 {"OmpTaskSwitch", "OMP_TASK_SWITCH", fields{taskID}, NoList, true, ""},
		OmpTaskComplete:               {"OmpTaskComplete", "OMP_TASK_COMPLETE", fields{taskID}, NoList, true, untoldTask},
		Metric:                        {"Metric", "METRIC", fields{metric, metrics}, MetricList, false, ""},
		ParameterString:               {"ParameterString", "PARAMETER_STRING", fields{parameter, text}, NoList, false, untoldParameter},
		ParameterInt:                  {"ParameterInt", "PARAMETER_INT64", fields{parameter, signed}, NoList, false, untoldParameter},
		ParameterUnsignedInt:          {"ParameterUnsignedInt", "PARAMETER_UINT64", fields{parameter, unsigned}, NoList, false, untoldParameter},
		RmaWinCreate:                  {"RmaWinCreate", "RMA_WIN_CREATE", fields{window}, NoList, false, untoldWindow},
		RmaWinDestroy:                 {"RmaWinDestroy", "RMA_WIN_DESTROY", fields{window}, NoList, false, untoldWindow},
		RmaCollectiveBegin:            {"RmaCollectiveBegin", "RMA_COLLECTIVE_BEGIN", fields{}, NoList, false, ""},
		RmaCollectiveEnd:              {"RmaCollectiveEnd", "RMA_COLLECTIVE_END", fields{operation, syncLevel, window, root, bytesSent, bytesReceived}, NoList, false, untoldWindows},
		RmaGroupSync:                  {"RmaGroupSync", "RMA_GROUP_SYNC", fields{syncLevel, window, group}, NoList, false, ""},
		RmaRequestLock:                {"RmaRequestLock", "RMA_REQUEST_LOCK", fields{window, remote, rmaLock, lockType}, NoList, false, ""},
		RmaAcquireLock:                {"RmaAcquireLock", "RMA_ACQUIRE_LOCK", fields{window, remote, rmaLock, lockType}, NoList, false, ""},
		RmaTryLock:                    {"RmaTryLock", "RMA_TRY_LOCK", fields{window, remote, rmaLock, lockType}, NoList, false, untoldRMALock},
		RmaReleaseLock:                {"RmaReleaseLock", "RMA_RELEASE_LOCK", fields{window, remote, rmaLock}, NoList, false, ""},
		RmaSync:                       {"RmaSync", "RMA_SYNC", fields{window, remote, syncType}, NoList, false, ""},
		RmaWaitChange:                 {"RmaWaitChange", "RMA_WAIT_CHANGE", fields{window}, NoList, false, untoldFence},
		RmaPut:                        {"RmaPut", "RMA_PUT", fields{window, remote, bytes, newRma}, NoList, false, untoldRMA},
		RmaGet:                        {"RmaGet", "RMA_GET", fields{window, remote, bytes, newRma}, NoList, false, untoldRMA},
		RmaAtomic:                     {"RmaAtomic", "RMA_ATOMIC", fields{window, remote, atomic, bytesSent, bytesReceived, newRma}, NoList, false, untoldRMA},
		RmaOpCompleteBlocking:         {"RmaOpCompleteBlocking", "RMA_OP_COMPLETE_BLOCKING", fields{window, rma}, NoList, false, untoldRMA},
		RmaOpCompleteNonBlocking:      {"RmaOpCompleteNonBlocking", "RMA_OP_COMPLETE_NON_BLOCKING", fields{window, rma}, NoList, false, untoldRMA},
		RmaOpTest:                     {"RmaOpTest", "RMA_OP_TEST", fields{window, rma}, NoList, false, untoldTest},
		RmaOpCompleteRemote:           {"RmaOpCompleteRemote", "RMA_OP_COMPLETE_REMOTE", fields{window, rma}, NoList, false, untoldRMA},
		ThreadFork:                    {"ThreadFork", "THREAD_FORK", fields{model, threads}, NoList, false, untoldTeam},
		ThreadJoin:                    {"ThreadJoin", "THREAD_JOIN", fields{model}, NoList, false, untoldTeam},
		ThreadTeamBegin:               {"ThreadTeamBegin", "THREAD_TEAM_BEGIN", fields{team}, NoList, false, untoldTeam},
		ThreadTeamEnd:                 {"ThreadTeamEnd", "THREAD_TEAM_END", fields{team}, NoList, false, untoldTeam},
		ThreadAcquireLock:             {"ThreadAcquireLock", "THREAD_ACQUIRE_LOCK", fields{model, lock, acquisitionOrder}, NoList, false, ""},
		ThreadReleaseLock:             {"ThreadReleaseLock", "THREAD_RELEASE_LOCK", fields{model, lock, acquisitionOrder}, NoList, false, ""},
		ThreadTaskCreate:              {"ThreadTaskCreate", "THREAD_TASK_CREATE", fields{team, creatingThread, generationNumber}, NoList, false, untoldTask},
		ThreadTaskSwitch:              {"ThreadTaskSwitch", "THREAD_TASK_SWITCH", fields{team, creatingThread, generationNumber}, NoList, false, ""},
		ThreadTaskComplete:            {"ThreadTaskComplete", "THREAD_TASK_COMPLETE", fields{team, creatingThread, generationNumber}, NoList, false, untoldTask},
		ThreadCreate:                  {"ThreadCreate", "THREAD_CREATE", fields{contingent, sequenceCount}, NoList, false, ""},
		ThreadBegin:                   {"ThreadBegin", "THREAD_BEGIN", fields{contingent, sequenceCount}, NoList, false, ""},
		ThreadWait:                    {"ThreadWait", "THREAD_WAIT", fields{contingent, sequenceCount}, NoList, false, ""},
		ThreadEnd:                     {"ThreadEnd", "THREAD_END", fields{contingent, sequenceCount}, NoList, false, ""},
		CallingContextEnter:           {"CallingContextEnter", "CALLING_CONTEXT_ENTER", fields{context, unwindDistance}, NoList, false, ""},
		CallingContextLeave:           {"CallingContextLeave", "CALLING_CONTEXT_LEAVE", fields{context}, NoList, false, ""},
		CallingContextSample:          {"CallingContextSample", "CALLING_CONTEXT_SAMPLE", fields{context, unwindDistance, generator}, NoList, false, ""},
		IoCreateHandle:                {"IoCreateHandle", "IO_CREATE_HANDLE", fields{handle, access, creationFlags, statusFlags}, NoList, false, untoldHandle},
		IoDestroyHandle:               {"IoDestroyHandle", "IO_DESTROY_HANDLE", fields{handle}, NoList, false, untoldHandle},
		IoDuplicateHandle:             {"IoDuplicateHandle", "IO_DUPLICATE_HANDLE", fields{oldHandle, newHandle, statusFlags}, NoList, false, untoldHandle},
		IoSeek:                        {"IoSeek", "IO_SEEK", fields{handle, offsetRequest, whence, offsetResult}, NoList, false, ""},
		IoChangeStatusFlags:           {"IoChangeStatusFlags", "IO_CHANGE_FLAGS", fields{handle, statusFlags}, NoList, false, untoldHandle},
		IoDeleteFile:                  {"IoDeleteFile", "IO_DELETE_FILE", fields{ioParadigm, file}, NoList, false, untoldHandle},
		IoOperationBegin:              {"IoOperationBegin", "IO_OPERATION_BEGIN", fields{handle, ioMode, operationFlags, bytesRequest, newIo}, NoList, false, ""},
		IoOperationTest:               {"IoOperationTest", "IO_OPERATION_TEST", fields{handle, io}, NoList, false, untoldTest},
		IoOperationIssued:             {"IoOperationIssued", "IO_OPERATION_ISSUED", fields{handle, io}, NoList, false, untoldIO},
		IoOperationComplete:           {"IoOperationComplete", "IO_OPERATION_COMPLETE", fields{handle, bytesResult, io}, NoList, false, ""},
		IoOperationCancelled:          {"IoOperationCancelled", "IO_OPERATION_CANCELLED", fields{handle, io}, NoList, false, ""},
		IoAcquireLock:                 {"IoAcquireLock", "IO_ACQUIRE_LOCK", fields{handle, lockType}, NoList, false, untoldIOLock},
		IoReleaseLock:                 {"IoReleaseLock", "IO_RELEASE_LOCK", fields{handle, lockType}, NoList, false, untoldIOLock},
		IoTryLock:                     {"IoTryLock", "IO_TRY_LOCK", fields{handle, lockType}, NoList, false, untoldIOLock},
		ProgramBegin:                  {"ProgramBegin", "PROGRAM_BEGIN", fields{program, arguments}, StringList, false, untoldProgram},
		ProgramEnd:                    {"ProgramEnd", "PROGRAM_END", fields{exitStatus}, NoList, false, untoldProgram},
		NonBlockingCollectiveRequest:  {"NonBlockingCollectiveRequest", "NON_BLOCKING_COLLECTIVE_REQUEST", fields{newRequest}, NoList, false, ""},
		NonBlockingCollectiveComplete: {"NonBlockingCollectiveComplete", "NON_BLOCKING_COLLECTIVE_COMPLETE", fields{operation, comm, root, sent, received, request}, NoList, false, ""},
		CommCreate:                    {"CommCreate", "COMM_CREATE", fields{comm}, NoList, false, untoldComm},
		CommDestroy:                   {"CommDestroy", "COMM_DESTROY", fields{comm}, NoList, false, untoldComm},
	}
	for i := range kinds {
		if kinds[i].Name == "" {
			kinds[i] = Info{"Unknown", "UNKNOWN", fields{{"length", U64, RefNone, Hard}}, PayloadList, false, untoldKind}
		}
	}
	return kinds
}

// What no analysis reads of records. Kinds with the same text are one line of a report.
const (
	untoldTest      = "how often the program asked for requests that were not complete is not analysed"
	untoldTeam      = "which threads form a team is not analysed; parallel regions are, by their calls"
	untoldTask      = "how long a task waited before it ran is not analysed"
	untoldParameter = "values of parameters are not analysed, unless --interval names them"
	untoldWindow    = "when windows of one-sided communication exist is not analysed"
	untoldWindows   = "waits in collective operations on windows are not analysed outside of MPI, nor for windows that are not known"
	untoldFence     = "waits in synchronisation of one-sided communication are not analysed"
	untoldRMALock   = "waits for locks of windows are not analysed"
	untoldRMA       = "bytes, partners and waits of one-sided operations are listed, no report sums them"
	untoldHandle    = "which files are opened, closed and removed, and how, is not analysed"
	untoldIO        = "when a file operation was issued that goes on after its call is not analysed"
	untoldIOLock    = "waits for locks of files are not analysed"
	untoldProgram   = "name, arguments and exit status of the program are not shown"
	untoldComm      = "when communicators exist is not analysed"
	untoldKind      = "what they say is not known: the kind is of a later version" // DiagUnknownRecord counts these
)
