package trace

// kinds is the one table of event records (OTF2 3.0, section "Event records").
// Entries left empty here are unknown kinds; see newKinds.
var kinds = newKinds([256]Info{
	BufferFlush: {BufferFlush, "BufferFlush", "BUFFER_FLUSH", []Field{
		{"stop_time", Stamp, RefNone, FromStamp, EnumNone},
	}, NoList, false},
	MeasurementOnOff: {MeasurementOnOff, "MeasurementOnOff", "MEASUREMENT_ON_OFF", []Field{
		{"measurement_mode", U8, RefNone, Hard, EnumMeasurementMode},
	}, NoList, false},
	Enter: {Enter, "Enter", "ENTER", []Field{
		{"region", U32, RefRegion, Hard, EnumNone},
	}, NoList, true},
	Leave: {Leave, "Leave", "LEAVE", []Field{
		{"region", U32, RefRegion, Hard, EnumNone},
	}, NoList, true},
	MpiSend: {MpiSend, "MpiSend", "MPI_SEND", []Field{
		{"receiver", U32, RefNone, Rank, EnumNone},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"msg_tag", U32, RefNone, Hard, EnumNone},
		{"msg_length", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	MpiIsend: {MpiIsend, "MpiIsend", "MPI_ISEND", []Field{
		{"receiver", U32, RefNone, Rank, EnumNone},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"msg_tag", U32, RefNone, Hard, EnumNone},
		{"msg_length", U64, RefNone, Number, EnumNone},
		{"request_id", U64, RefNone, PostMpi, EnumNone},
	}, NoList, false},
	MpiIsendComplete: {MpiIsendComplete, "MpiIsendComplete", "MPI_ISEND_COMPLETE", []Field{
		{"request_id", U64, RefNone, UseMpi, EnumNone},
	}, NoList, true},
	MpiIrecvRequest: {MpiIrecvRequest, "MpiIrecvRequest", "MPI_IRECV_REQUEST", []Field{
		{"request_id", U64, RefNone, PostMpi, EnumNone},
	}, NoList, true},
	MpiRecv: {MpiRecv, "MpiRecv", "MPI_RECV", []Field{
		{"sender", U32, RefNone, Rank, EnumNone},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"msg_tag", U32, RefNone, Hard, EnumNone},
		{"msg_length", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	MpiIrecv: {MpiIrecv, "MpiIrecv", "MPI_IRECV", []Field{
		{"sender", U32, RefNone, Rank, EnumNone},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"msg_tag", U32, RefNone, Hard, EnumNone},
		{"msg_length", U64, RefNone, Number, EnumNone},
		{"request_id", U64, RefNone, UseMpi, EnumNone},
	}, NoList, false},
	MpiRequestTest: {MpiRequestTest, "MpiRequestTest", "MPI_REQUEST_TEST", []Field{
		{"request_id", U64, RefNone, UseMpi, EnumNone},
	}, NoList, true},
	MpiRequestCancelled: {MpiRequestCancelled, "MpiRequestCancelled", "MPI_REQUEST_CANCELLED", []Field{
		{"request_id", U64, RefNone, UseMpi, EnumNone},
	}, NoList, true},
	MpiCollectiveBegin: {MpiCollectiveBegin, "MpiCollectiveBegin", "MPI_COLLECTIVE_BEGIN", []Field{}, NoList, false},
	MpiCollectiveEnd: {MpiCollectiveEnd, "MpiCollectiveEnd", "MPI_COLLECTIVE_END", []Field{
		{"collective_op", U8, RefNone, Hard, EnumCollectiveOp},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"root", U32, RefNone, Rank, EnumNone},
		{"size_sent", U64, RefNone, Number, EnumNone},
		{"size_received", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	OmpFork: {OmpFork, "OmpFork", "OMP_FORK", []Field{
		{"number_of_requested_threads", U32, RefNone, Hard, EnumNone},
	}, NoList, true},
	OmpJoin: {OmpJoin, "OmpJoin", "OMP_JOIN", []Field{}, NoList, false},
	OmpAcquireLock: {OmpAcquireLock, "OmpAcquireLock", "OMP_ACQUIRE_LOCK", []Field{
		{"lock_id", U32, RefNone, Hard, EnumNone},
		{"acquisition_order", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	OmpReleaseLock: {OmpReleaseLock, "OmpReleaseLock", "OMP_RELEASE_LOCK", []Field{
		{"lock_id", U32, RefNone, Hard, EnumNone},
		{"acquisition_order", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	OmpTaskCreate: {OmpTaskCreate, "OmpTaskCreate", "OMP_TASK_CREATE", []Field{
		{"task_id", U64, RefNone, Number, EnumNone},
	}, NoList, true},
	OmpTaskSwitch: {OmpTaskSwitch, "OmpTaskSwitch", "OMP_TASK_SWITCH", []Field{
		{"task_id", U64, RefNone, Number, EnumNone},
	}, NoList, true},
	OmpTaskComplete: {OmpTaskComplete, "OmpTaskComplete", "OMP_TASK_COMPLETE", []Field{
		{"task_id", U64, RefNone, Number, EnumNone},
	}, NoList, true},
	Metric: {Metric, "Metric", "METRIC", []Field{
		{"metric", U32, RefMetric, Hard, EnumNone},
		{"number_of_metrics", U8, RefNone, Hard, EnumNone},
	}, MetricList, false},
	ParameterString: {ParameterString, "ParameterString", "PARAMETER_STRING", []Field{
		{"parameter", U32, RefParameter, Hard, EnumNone},
		{"string", U32, RefString, Hard, EnumNone},
	}, NoList, false},
	ParameterInt: {ParameterInt, "ParameterInt", "PARAMETER_INT64", []Field{
		{"parameter", U32, RefParameter, Hard, EnumNone},
		{"value", S64, RefNone, Number, EnumNone},
	}, NoList, false},
	ParameterUnsignedInt: {ParameterUnsignedInt, "ParameterUnsignedInt", "PARAMETER_UINT64", []Field{
		{"parameter", U32, RefParameter, Hard, EnumNone},
		{"value", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	RmaWinCreate: {RmaWinCreate, "RmaWinCreate", "RMA_WIN_CREATE", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
	}, NoList, false},
	RmaWinDestroy: {RmaWinDestroy, "RmaWinDestroy", "RMA_WIN_DESTROY", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
	}, NoList, false},
	RmaCollectiveBegin: {RmaCollectiveBegin, "RmaCollectiveBegin", "RMA_COLLECTIVE_BEGIN", []Field{}, NoList, false},
	RmaCollectiveEnd: {RmaCollectiveEnd, "RmaCollectiveEnd", "RMA_COLLECTIVE_END", []Field{
		{"collective_op", U8, RefNone, Hard, EnumCollectiveOp},
		{"sync_level", U32, RefNone, Hard, EnumRmaSyncLevel},
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"root", U32, RefNone, Rank, EnumNone},
		{"bytes_sent", U64, RefNone, Number, EnumNone},
		{"bytes_received", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	RmaGroupSync: {RmaGroupSync, "RmaGroupSync", "RMA_GROUP_SYNC", []Field{
		{"sync_level", U32, RefNone, Hard, EnumRmaSyncLevel},
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"group", U32, RefGroup, Hard, EnumNone},
	}, NoList, false},
	RmaRequestLock: {RmaRequestLock, "RmaRequestLock", "RMA_REQUEST_LOCK", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"lock_id", U64, RefNone, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	RmaAcquireLock: {RmaAcquireLock, "RmaAcquireLock", "RMA_ACQUIRE_LOCK", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"lock_id", U64, RefNone, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	RmaTryLock: {RmaTryLock, "RmaTryLock", "RMA_TRY_LOCK", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"lock_id", U64, RefNone, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	RmaReleaseLock: {RmaReleaseLock, "RmaReleaseLock", "RMA_RELEASE_LOCK", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"lock_id", U64, RefNone, Hard, EnumNone},
	}, NoList, false},
	RmaSync: {RmaSync, "RmaSync", "RMA_SYNC", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"sync_type", U8, RefNone, Hard, EnumRmaSyncType},
	}, NoList, false},
	RmaWaitChange: {RmaWaitChange, "RmaWaitChange", "RMA_WAIT_CHANGE", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
	}, NoList, false},
	RmaPut: {RmaPut, "RmaPut", "RMA_PUT", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"bytes", U64, RefNone, Number, EnumNone},
		{"matching_id", U64, RefNone, PostRma, EnumNone},
	}, NoList, false},
	RmaGet: {RmaGet, "RmaGet", "RMA_GET", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"bytes", U64, RefNone, Number, EnumNone},
		{"matching_id", U64, RefNone, PostRma, EnumNone},
	}, NoList, false},
	RmaAtomic: {RmaAtomic, "RmaAtomic", "RMA_ATOMIC", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"remote", U32, RefNone, Rank, EnumNone},
		{"type", U8, RefNone, Hard, EnumRmaAtomic},
		{"bytes_sent", U64, RefNone, Number, EnumNone},
		{"bytes_received", U64, RefNone, Number, EnumNone},
		{"matching_id", U64, RefNone, PostRma, EnumNone},
	}, NoList, false},
	RmaOpCompleteBlocking: {RmaOpCompleteBlocking, "RmaOpCompleteBlocking", "RMA_OP_COMPLETE_BLOCKING", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseRma, EnumNone},
	}, NoList, false},
	RmaOpCompleteNonBlocking: {RmaOpCompleteNonBlocking, "RmaOpCompleteNonBlocking", "RMA_OP_COMPLETE_NON_BLOCKING", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseRma, EnumNone},
	}, NoList, false},
	RmaOpTest: {RmaOpTest, "RmaOpTest", "RMA_OP_TEST", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseRma, EnumNone},
	}, NoList, false},
	RmaOpCompleteRemote: {RmaOpCompleteRemote, "RmaOpCompleteRemote", "RMA_OP_COMPLETE_REMOTE", []Field{
		{"win", U32, RefRmaWin, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseRma, EnumNone},
	}, NoList, false},
	ThreadFork: {ThreadFork, "ThreadFork", "THREAD_FORK", []Field{
		{"model", U8, RefNone, Hard, EnumParadigm},
		{"number_of_requested_threads", U32, RefNone, Hard, EnumNone},
	}, NoList, false},
	ThreadJoin: {ThreadJoin, "ThreadJoin", "THREAD_JOIN", []Field{
		{"model", U8, RefNone, Hard, EnumParadigm},
	}, NoList, false},
	ThreadTeamBegin: {ThreadTeamBegin, "ThreadTeamBegin", "THREAD_TEAM_BEGIN", []Field{
		{"thread_team", U32, RefComm, Hard, EnumNone},
	}, NoList, false},
	ThreadTeamEnd: {ThreadTeamEnd, "ThreadTeamEnd", "THREAD_TEAM_END", []Field{
		{"thread_team", U32, RefComm, Hard, EnumNone},
	}, NoList, false},
	ThreadAcquireLock: {ThreadAcquireLock, "ThreadAcquireLock", "THREAD_ACQUIRE_LOCK", []Field{
		{"model", U8, RefNone, Hard, EnumParadigm},
		{"lock_id", U32, RefNone, Hard, EnumNone},
		{"acquisition_order", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadReleaseLock: {ThreadReleaseLock, "ThreadReleaseLock", "THREAD_RELEASE_LOCK", []Field{
		{"model", U8, RefNone, Hard, EnumParadigm},
		{"lock_id", U32, RefNone, Hard, EnumNone},
		{"acquisition_order", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadTaskCreate: {ThreadTaskCreate, "ThreadTaskCreate", "THREAD_TASK_CREATE", []Field{
		{"thread_team", U32, RefComm, Hard, EnumNone},
		{"creating_thread", U32, RefNone, Hard, EnumNone},
		{"generation_number", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadTaskSwitch: {ThreadTaskSwitch, "ThreadTaskSwitch", "THREAD_TASK_SWITCH", []Field{
		{"thread_team", U32, RefComm, Hard, EnumNone},
		{"creating_thread", U32, RefNone, Hard, EnumNone},
		{"generation_number", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadTaskComplete: {ThreadTaskComplete, "ThreadTaskComplete", "THREAD_TASK_COMPLETE", []Field{
		{"thread_team", U32, RefComm, Hard, EnumNone},
		{"creating_thread", U32, RefNone, Hard, EnumNone},
		{"generation_number", U32, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadCreate: {ThreadCreate, "ThreadCreate", "THREAD_CREATE", []Field{
		{"thread_contingent", U32, RefComm, Hard, EnumNone},
		{"sequence_count", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadBegin: {ThreadBegin, "ThreadBegin", "THREAD_BEGIN", []Field{
		{"thread_contingent", U32, RefComm, Hard, EnumNone},
		{"sequence_count", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadWait: {ThreadWait, "ThreadWait", "THREAD_WAIT", []Field{
		{"thread_contingent", U32, RefComm, Hard, EnumNone},
		{"sequence_count", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	ThreadEnd: {ThreadEnd, "ThreadEnd", "THREAD_END", []Field{
		{"thread_contingent", U32, RefComm, Hard, EnumNone},
		{"sequence_count", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	CallingContextEnter: {CallingContextEnter, "CallingContextEnter", "CALLING_CONTEXT_ENTER", []Field{
		{"calling_context", U32, RefCallingContext, Hard, EnumNone},
		{"unwind_distance", U32, RefNone, Hard, EnumNone},
	}, NoList, false},
	CallingContextLeave: {CallingContextLeave, "CallingContextLeave", "CALLING_CONTEXT_LEAVE", []Field{
		{"calling_context", U32, RefCallingContext, Hard, EnumNone},
	}, NoList, false},
	CallingContextSample: {CallingContextSample, "CallingContextSample", "CALLING_CONTEXT_SAMPLE", []Field{
		{"calling_context", U32, RefCallingContext, Hard, EnumNone},
		{"unwind_distance", U32, RefNone, Hard, EnumNone},
		{"interrupt_generator", U32, RefInterruptGenerator, Hard, EnumNone},
	}, NoList, false},
	IoCreateHandle: {IoCreateHandle, "IoCreateHandle", "IO_CREATE_HANDLE", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"mode", U8, RefNone, Hard, EnumIoAccess},
		{"creation_flags", U32, RefNone, Hard, EnumIoCreation},
		{"status_flags", U32, RefNone, Hard, EnumIoStatus},
	}, NoList, false},
	IoDestroyHandle: {IoDestroyHandle, "IoDestroyHandle", "IO_DESTROY_HANDLE", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
	}, NoList, false},
	IoDuplicateHandle: {IoDuplicateHandle, "IoDuplicateHandle", "IO_DUPLICATE_HANDLE", []Field{
		{"old_handle", U32, RefIoHandle, Hard, EnumNone},
		{"new_handle", U32, RefIoHandle, Hard, EnumNone},
		{"status_flags", U32, RefNone, Hard, EnumIoStatus},
	}, NoList, false},
	IoSeek: {IoSeek, "IoSeek", "IO_SEEK", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"offset_request", S64, RefNone, Number, EnumNone},
		{"whence", U8, RefNone, Hard, EnumIoSeek},
		{"offset_result", U64, RefNone, Number, EnumNone},
	}, NoList, false},
	IoChangeStatusFlags: {IoChangeStatusFlags, "IoChangeStatusFlags", "IO_CHANGE_FLAGS", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"status_flags", U32, RefNone, Hard, EnumIoStatus},
	}, NoList, false},
	IoDeleteFile: {IoDeleteFile, "IoDeleteFile", "IO_DELETE_FILE", []Field{
		{"io_paradigm", U8, RefNone, Hard, EnumNone},
		{"file", U32, RefIoFile, Hard, EnumNone},
	}, NoList, false},
	IoOperationBegin: {IoOperationBegin, "IoOperationBegin", "IO_OPERATION_BEGIN", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"mode", U8, RefNone, Hard, EnumIoOperation},
		{"operation_flags", U32, RefNone, Hard, EnumIoOperationFlag},
		{"bytes_request", U64, RefNone, Number, EnumNone},
		{"matching_id", U64, RefNone, PostIo, EnumNone},
	}, NoList, false},
	IoOperationTest: {IoOperationTest, "IoOperationTest", "IO_OPERATION_TEST", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseIo, EnumNone},
	}, NoList, false},
	IoOperationIssued: {IoOperationIssued, "IoOperationIssued", "IO_OPERATION_ISSUED", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseIo, EnumNone},
	}, NoList, false},
	IoOperationComplete: {IoOperationComplete, "IoOperationComplete", "IO_OPERATION_COMPLETE", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"bytes_result", U64, RefNone, Number, EnumNone},
		{"matching_id", U64, RefNone, UseIo, EnumNone},
	}, NoList, false},
	IoOperationCancelled: {IoOperationCancelled, "IoOperationCancelled", "IO_OPERATION_CANCELLED", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"matching_id", U64, RefNone, UseIo, EnumNone},
	}, NoList, false},
	IoAcquireLock: {IoAcquireLock, "IoAcquireLock", "IO_ACQUIRE_LOCK", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	IoReleaseLock: {IoReleaseLock, "IoReleaseLock", "IO_RELEASE_LOCK", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	IoTryLock: {IoTryLock, "IoTryLock", "IO_TRY_LOCK", []Field{
		{"handle", U32, RefIoHandle, Hard, EnumNone},
		{"lock_type", U8, RefNone, Hard, EnumLockType},
	}, NoList, false},
	ProgramBegin: {ProgramBegin, "ProgramBegin", "PROGRAM_BEGIN", []Field{
		{"program_name", U32, RefString, Hard, EnumNone},
		{"number_of_arguments", U32, RefNone, Hard, EnumNone},
	}, StringList, false},
	ProgramEnd: {ProgramEnd, "ProgramEnd", "PROGRAM_END", []Field{
		{"exit_status", S64, RefNone, Number, EnumNone},
	}, NoList, false},
	NonBlockingCollectiveRequest: {NonBlockingCollectiveRequest, "NonBlockingCollectiveRequest", "NON_BLOCKING_COLLECTIVE_REQUEST", []Field{
		{"request_id", U64, RefNone, PostMpi, EnumNone},
	}, NoList, false},
	NonBlockingCollectiveComplete: {NonBlockingCollectiveComplete, "NonBlockingCollectiveComplete", "NON_BLOCKING_COLLECTIVE_COMPLETE", []Field{
		{"collective_op", U8, RefNone, Hard, EnumCollectiveOp},
		{"communicator", U32, RefComm, Hard, EnumNone},
		{"root", U32, RefNone, Rank, EnumNone},
		{"size_sent", U64, RefNone, Number, EnumNone},
		{"size_received", U64, RefNone, Number, EnumNone},
		{"request_id", U64, RefNone, UseMpi, EnumNone},
	}, NoList, false},
	CommCreate: {CommCreate, "CommCreate", "COMM_CREATE", []Field{
		{"communicator", U32, RefComm, Hard, EnumNone},
	}, NoList, false},
	CommDestroy: {CommDestroy, "CommDestroy", "COMM_DESTROY", []Field{
		{"communicator", U32, RefComm, Hard, EnumNone},
	}, NoList, false},
})

func newKinds(t [256]Info) [256]Info {
	for i := range t {
		if t[i].Name == "" {
			t[i] = Info{Kind(i), "Unknown", "UNKNOWN", []Field{{"length", U64, RefNone, Hard, EnumNone}}, PayloadList, false}
		}
	}
	return t
}
