package xtf

// Offsets in bytes of columns that are read or filled on their own.
const (
	CallT          = 0
	CallEnd        = 8
	CallParent     = 16
	CallExclusive  = 24
	CallRegion     = 32
	CallDepth      = 36
	CallClass      = 40
	CallFlags      = 44
	P2PT           = 0
	P2PEnd         = 8
	P2PPost        = 16
	P2PDone        = 24
	P2PCallN       = 32
	P2PMateN       = 40
	P2PSeq         = 48
	P2PBytes       = 56
	P2PRegion      = 64
	P2PPeer        = 68
	P2PComm        = 72
	P2PTag         = 76
	P2PKind        = 80
	P2PMateP       = 84
	P2PMateT       = 88
	CollT          = 0
	CollEnd        = 8
	CollPost       = 16
	CollCallN      = 24
	CollSent       = 32
	CollReceived   = 40
	CollOrdinal    = 48
	CollLastEnter  = 56
	CollFirstLeave = 64
	CollLastLeave  = 72
	CollRegion     = 80
	CollComm       = 84
	CollRoot       = 88
	CollFlags      = 92
	IOEnd          = 8
	IODone         = 32
	IvalEnd        = 8
	IvalNode       = 24
	IvalFlags      = 28
)

// SetU64 stores v at byte off of a row.
func SetU64(row []byte, off int, v uint64) { le.PutUint64(row[off:], v) }

// SetU32 stores v at byte off of a row.
func SetU32(row []byte, off int, v uint32) { le.PutUint32(row[off:], v) }

// U64 loads the value at byte off of a row.
func U64(row []byte, off int) uint64 { return le.Uint64(row[off:]) }

// U32 loads the value at byte off of a row.
func U32(row []byte, off int) uint32 { return le.Uint32(row[off:]) }
