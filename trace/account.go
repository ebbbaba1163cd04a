package trace

// Account says what becomes of the event records of a kind: the one table from which analyses, their diagnostics and
// docs/records.md know it.
type Account struct {
	Makes     string // the row or state that it makes; "" for none: it is in the call graph alone
	Shown     string // where that is shown
	Read      string // the analyses that read it
	Untold    string // what nobody reads of it; "" where all is read
	Unless    bool   // Untold holds for records that no option names: markers
	Paraver   bool   // the reader of Paraver traces makes such events too
	Recording bool   // and the reader of recordings
}

// Account returns the line of k. Kinds that this version does not know share one.
func (k Kind) Account() *Account {
	if !k.Known() {
		return &unknownAccount
	}
	return &accounts[k]
}

// Unread reports whether no analysis reads records of the kind, whatever the options.
func (k Kind) Unread() bool { return accounts[k].Untold != "" && !accounts[k].Unless }

// Texts that several kinds share. Kinds with the same Untold are one line of a report.
const (
	showCalls   = "query call, report profile, paths, viewer"
	showP2P     = "query p2p, report comm, waits, viewer"
	showColl    = "query coll, report comm, waits, viewer"
	showIO      = "query io, export, viewer"
	showNotices = "query p2p, report waits, viewer"
	showRMA     = "query rma, export"

	readCalls    = "profile, efficiencies, waits, causes, threads, predict"
	readMessages = "matching, waits, causes, predict, clock repair"
	readNotices  = "waits, causes: in epochs, and of locks of one target"
	readOverhead = "efficiencies: measurement overhead"
	readMarkers  = "intervals, where --interval or a marker names it"

	untoldTest      = "how often the program asked for requests that were not complete is not analysed"
	untoldTeam      = "which threads form a team is not analysed; parallel regions are, by their calls"
	untoldLock      = "who held a lock while others waited for it is not analysed"
	untoldTask      = "how long a task waited before it ran is not analysed"
	untoldThread    = "which thread started and which ended another is not analysed"
	untoldParameter = "values of parameters are not analysed, unless --interval names them"
	untoldWindow    = "when windows of one-sided communication exist is not analysed"
	untoldFence     = "waits in synchronisation of one-sided communication are not analysed"
	untoldRMALock   = "waits for locks of windows are not analysed"
	untoldRMA       = "bytes, partners and waits of one-sided operations are listed, no report sums them"
	untoldHandle    = "which files are opened, closed and removed, and how, is not analysed"
	untoldIO        = "bytes and files are listed, no report sums them (predict uses the bytes)"
	untoldIOLock    = "waits for locks of files are not analysed"
	untoldProgram   = "name, arguments and exit status of the program are not shown"
	untoldComm      = "when communicators exist is not analysed"
)

// unknownAccount is the line of kinds that this version does not know. Readers count them as DiagUnknownRecord.
var unknownAccount = Account{Untold: "what they say is not known: the kind is of a later version"}

// accounts has a line for each known kind.
var accounts = [256]Account{
	BufferFlush:                   {"", "", readOverhead, "", false, false, false},
	MeasurementOnOff:              {"", "", readOverhead, "", false, false, false},
	Enter:                         {"CALL", showCalls, readCalls, "", false, true, true},
	Leave:                         {"CALL", showCalls, readCalls, "", false, true, true},
	MpiSend:                       {"P2P", showP2P, readMessages, "", false, true, true},
	MpiIsend:                      {"P2P", showP2P, readMessages, "", false, true, true},
	MpiIsendComplete:              {"P2P", showP2P, readMessages, "", false, true, true},
	MpiIrecvRequest:               {"P2P", showP2P, readMessages, "", false, true, true},
	MpiRecv:                       {"P2P", showP2P, readMessages, "", false, true, true},
	MpiIrecv:                      {"P2P", showP2P, readMessages, "", false, true, true},
	MpiRequestTest:                {"", "", "", untoldTest, false, false, false},
	MpiRequestCancelled:           {"P2P", showP2P, "matching", "", false, false, true},
	MpiCollectiveBegin:            {"COLL", showColl, readMessages, "", false, true, true},
	MpiCollectiveEnd:              {"COLL", showColl, readMessages, "", false, true, true},
	OmpFork:                       {"", "", "", untoldTeam, false, false, false},
	OmpJoin:                       {"", "", "", untoldTeam, false, false, false},
	OmpAcquireLock:                {"", "", "", untoldLock, false, false, false},
	OmpReleaseLock:                {"", "", "", untoldLock, false, false, false},
	OmpTaskCreate:                 {"", "", "", untoldTask, false, false, false},
	OmpTaskSwitch:                 {"CALL", showCalls, readCalls, "", false, false, false},
	OmpTaskComplete:               {"", "", "", untoldTask, false, false, false},
	Metric:                        {"METRIC", "query metric, export, viewer", "report scaling: instructions and cycles", "", false, true, true},
	ParameterString:               {"", "", readMarkers, untoldParameter, true, false, true},
	ParameterInt:                  {"", "", readMarkers, untoldParameter, true, false, true},
	ParameterUnsignedInt:          {"", "", readMarkers, untoldParameter, true, true, false},
	RmaWinCreate:                  {"", "", "", untoldWindow, false, false, true},
	RmaWinDestroy:                 {"", "", "", untoldWindow, false, false, true},
	RmaCollectiveBegin:            {"", "", "", untoldFence, false, false, true},
	RmaCollectiveEnd:              {"", "", "", untoldFence, false, false, true},
	RmaGroupSync:                  {"P2P", showNotices, readNotices, "", false, false, false},
	RmaRequestLock:                {"", "", "", untoldRMALock, false, false, false},
	RmaAcquireLock:                {"P2P", showNotices, readNotices, "", false, false, true},
	RmaTryLock:                    {"", "", "", untoldRMALock, false, false, false},
	RmaReleaseLock:                {"P2P", showNotices, readNotices, "", false, false, true},
	RmaSync:                       {"P2P", showNotices, readNotices, "", false, false, true},
	RmaWaitChange:                 {"", "", "", untoldFence, false, false, false},
	RmaPut:                        {"RMA", showRMA, "", untoldRMA, false, false, true},
	RmaGet:                        {"RMA", showRMA, "", untoldRMA, false, false, true},
	RmaAtomic:                     {"RMA", showRMA, "", untoldRMA, false, false, true},
	RmaOpCompleteBlocking:         {"RMA", showRMA, "", untoldRMA, false, false, false},
	RmaOpCompleteNonBlocking:      {"RMA", showRMA, "", untoldRMA, false, false, true},
	RmaOpTest:                     {"", "", "", untoldTest, false, false, false},
	RmaOpCompleteRemote:           {"RMA", showRMA, "", untoldRMA, false, false, false},
	ThreadFork:                    {"", "", "", untoldTeam, false, false, true},
	ThreadJoin:                    {"", "", "", untoldTeam, false, false, true},
	ThreadTeamBegin:               {"", "", "", untoldTeam, false, false, true},
	ThreadTeamEnd:                 {"", "", "", untoldTeam, false, false, true},
	ThreadAcquireLock:             {"", "", "", untoldLock, false, false, true},
	ThreadReleaseLock:             {"", "", "", untoldLock, false, false, true},
	ThreadTaskCreate:              {"", "", "", untoldTask, false, false, true},
	ThreadTaskSwitch:              {"CALL", showCalls, readCalls, "", false, false, true},
	ThreadTaskComplete:            {"", "", "", untoldTask, false, false, true},
	ThreadCreate:                  {"", "", "", untoldThread, false, false, false},
	ThreadBegin:                   {"", "", "", untoldThread, false, false, false},
	ThreadWait:                    {"", "", "", untoldThread, false, false, false},
	ThreadEnd:                     {"", "", "", untoldThread, false, false, false},
	CallingContextEnter:           {"CALL", showCalls, readCalls, "", false, false, false},
	CallingContextLeave:           {"CALL", showCalls, readCalls, "", false, false, false},
	CallingContextSample:          {"CALL", showCalls, readCalls, "", false, false, true},
	IoCreateHandle:                {"", "", "", untoldHandle, false, false, true},
	IoDestroyHandle:               {"", "", "", untoldHandle, false, false, true},
	IoDuplicateHandle:             {"", "", "", untoldHandle, false, false, true},
	IoSeek:                        {"", "", "", untoldHandle, false, false, true},
	IoChangeStatusFlags:           {"", "", "", untoldHandle, false, false, false},
	IoDeleteFile:                  {"", "", "", untoldHandle, false, false, true},
	IoOperationBegin:              {"IO", showIO, "predict", untoldIO, false, false, true},
	IoOperationTest:               {"", "", "", untoldTest, false, false, false},
	IoOperationIssued:             {"", "", "", untoldIO, false, false, true},
	IoOperationComplete:           {"IO", showIO, "predict", untoldIO, false, false, true},
	IoOperationCancelled:          {"IO", showIO, "predict", untoldIO, false, false, true},
	IoAcquireLock:                 {"", "", "", untoldIOLock, false, false, false},
	IoReleaseLock:                 {"", "", "", untoldIOLock, false, false, false},
	IoTryLock:                     {"", "", "", untoldIOLock, false, false, false},
	ProgramBegin:                  {"", "", "", untoldProgram, false, false, false},
	ProgramEnd:                    {"", "", "", untoldProgram, false, false, false},
	NonBlockingCollectiveRequest:  {"COLL", showColl, readMessages, "", false, true, true},
	NonBlockingCollectiveComplete: {"COLL", showColl, readMessages, "", false, true, true},
	CommCreate:                    {"", "", "", untoldComm, false, false, false},
	CommDestroy:                   {"", "", "", untoldComm, false, false, false},
}
