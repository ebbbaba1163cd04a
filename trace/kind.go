package trace

// Kind is the kind of an event record. The numbers are OTF2's record ids.
type Kind uint8

// Event record kinds, numbered as in OTF2.
const (
	BufferFlush                   Kind = 10
	MeasurementOnOff              Kind = 11
	Enter                         Kind = 12
	Leave                         Kind = 13
	MpiSend                       Kind = 14
	MpiIsend                      Kind = 15
	MpiIsendComplete              Kind = 16
	MpiIrecvRequest               Kind = 17
	MpiRecv                       Kind = 18
	MpiIrecv                      Kind = 19
	MpiRequestTest                Kind = 20
	MpiRequestCancelled           Kind = 21
	MpiCollectiveBegin            Kind = 22
	MpiCollectiveEnd              Kind = 23
	OmpFork                       Kind = 24
	OmpJoin                       Kind = 25
	OmpAcquireLock                Kind = 26
	OmpReleaseLock                Kind = 27
	OmpTaskCreate                 Kind = 28
	OmpTaskSwitch                 Kind = 29
	OmpTaskComplete               Kind = 30
	Metric                        Kind = 31
	ParameterString               Kind = 32
	ParameterInt                  Kind = 33
	ParameterUnsignedInt          Kind = 34
	RmaWinCreate                  Kind = 35
	RmaWinDestroy                 Kind = 36
	RmaCollectiveBegin            Kind = 37
	RmaCollectiveEnd              Kind = 38
	RmaGroupSync                  Kind = 39
	RmaRequestLock                Kind = 40
	RmaAcquireLock                Kind = 41
	RmaTryLock                    Kind = 42
	RmaReleaseLock                Kind = 43
	RmaSync                       Kind = 44
	RmaWaitChange                 Kind = 45
	RmaPut                        Kind = 46
	RmaGet                        Kind = 47
	RmaAtomic                     Kind = 48
	RmaOpCompleteBlocking         Kind = 49
	RmaOpCompleteNonBlocking      Kind = 50
	RmaOpTest                     Kind = 51
	RmaOpCompleteRemote           Kind = 52
	ThreadFork                    Kind = 53
	ThreadJoin                    Kind = 54
	ThreadTeamBegin               Kind = 55
	ThreadTeamEnd                 Kind = 56
	ThreadAcquireLock             Kind = 57
	ThreadReleaseLock             Kind = 58
	ThreadTaskCreate              Kind = 59
	ThreadTaskSwitch              Kind = 60
	ThreadTaskComplete            Kind = 61
	ThreadCreate                  Kind = 62
	ThreadBegin                   Kind = 63
	ThreadWait                    Kind = 64
	ThreadEnd                     Kind = 65
	CallingContextEnter           Kind = 66
	CallingContextLeave           Kind = 67
	CallingContextSample          Kind = 68
	IoCreateHandle                Kind = 69
	IoDestroyHandle               Kind = 70
	IoDuplicateHandle             Kind = 71
	IoSeek                        Kind = 72
	IoChangeStatusFlags           Kind = 73
	IoDeleteFile                  Kind = 74
	IoOperationBegin              Kind = 75
	IoOperationTest               Kind = 76
	IoOperationIssued             Kind = 77
	IoOperationComplete           Kind = 78
	IoOperationCancelled          Kind = 79
	IoAcquireLock                 Kind = 80
	IoReleaseLock                 Kind = 81
	IoTryLock                     Kind = 82
	ProgramBegin                  Kind = 83
	ProgramEnd                    Kind = 84
	NonBlockingCollectiveRequest  Kind = 85
	NonBlockingCollectiveComplete Kind = 86
	CommCreate                    Kind = 87
	CommDestroy                   Kind = 88
)

// Width says how a field's word is to be read and how wide it is in a file.
type Width uint8

// Field widths.
const (
	U8    Width = iota // one byte
	U32                // unsigned, up to 32 bits
	U64                // unsigned, up to 64 bits
	S64                // two's complement
	Stamp              // a time stamp in ticks, corrected like event times
)

// RefKind names the definition table a reference points into. The numbers are
// OTF2's mapping types.
type RefKind uint8

// Reference kinds.
const (
	RefString RefKind = iota
	RefAttribute
	RefLocation
	RefRegion
	RefGroup
	RefMetric
	RefComm
	RefParameter
	RefRmaWin
	RefSourceCodeLocation
	RefCallingContext
	RefInterruptGenerator
	RefIoFile
	RefIoHandle
	RefLocationGroup
	NumRefKinds
	RefNone RefKind = 0xFF
)

// Place says where the call graph keeps a field: as part of a node's identity,
// or in a column of values next to it.
type Place uint8

// Places of a field.
const (
	Hard      Place = iota // part of the node's identity
	Rank                   // a rank in a communicator or window: hard, in a relative encoding
	PostMpi                // posts a new MPI request id
	UseMpi                 // refers to a posted MPI request id
	PostRma                // posts a new RMA matching id
	UseRma                 // refers to a posted RMA matching id
	PostIo                 // posts a new I/O matching id
	UseIo                  // refers to a posted I/O matching id
	Number                 // numeric, kept in a value column
	FromStamp              // numeric, kept as the difference to the event's own time
)

// Field describes one field of an event record.
type Field struct {
	Name  string
	Width Width
	Ref   RefKind // RefNone where the field is not a reference
	Place Place
}

// List says what follows the fields of a record.
type List uint8

// Lists that follow the fields of some records. The last field is their length.
const (
	NoList      List = iota
	MetricList       // pairs of words: value type, value bits
	StringList       // one word each: string reference
	PayloadList      // the payload of an unknown record, 8 bytes a word, first byte lowest
)

// Info describes one event record kind.
type Info struct {
	Name      string // the name in the OTF2 documentation, for example MpiSend
	Label     string // the name in event listings, for example MPI_SEND
	Fields    []Field
	List      List
	Singleton bool   // written without a length in OTF2
	Untold    string // what no analysis reads of such records; "" where all is read
}

// Info returns the description of k. Kinds that this version does not know get
// a description with one field, the payload's length in bytes, and a payload list.
func (k Kind) Info() *Info {
	return &kinds[k]
}

// Sizes returns the indices of the fields that say how many bytes an operation moves.
func (k Kind) Sizes() []int { return sizes[k] }

var sizes = func() (s [256][]int) {
	for k := range kinds {
		for i, f := range kinds[k].Fields {
			switch f.Name {
			case "msg_length", "size_sent", "size_received", "bytes", "bytes_sent", "bytes_received", "bytes_request", "bytes_result":
				s[k] = append(s[k], i)
			}
		}
	}
	return s
}()

// Unread reports whether no analysis reads records of the kind, whatever the options.
func (k Kind) Unread() bool {
	return kinds[k].Untold != "" && k.Known() && (k < ParameterString || k > ParameterUnsignedInt) && k != RmaCollectiveEnd // parameters are markers if an option names them; in MPI the end of a collective on a window is read
}

// Known reports whether k is a record kind of this vocabulary.
func (k Kind) Known() bool { return kinds[k].List != PayloadList }

// String returns the record kind's name.
func (k Kind) String() string { return kinds[k].Name }
