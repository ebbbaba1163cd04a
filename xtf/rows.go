// Typed forms of rows: Put writes a row in place, the Row functions read one.

package xtf

import "encoding/binary"

var le = binary.LittleEndian

// CallRowBytes is the size of a row of type CALL.
const CallRowBytes = 48

// Call is a call: one execution of a region.
type Call struct {
	T         uint64
	End       uint64
	Parent    uint64
	Exclusive uint64
	Region    uint32
	Depth     uint32
	Class     uint32
	Flags     uint32
}

// Put writes the row into dst.
func (r *Call) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.Parent)
	le.PutUint64(dst[24:], r.Exclusive)
	le.PutUint32(dst[32:], r.Region)
	le.PutUint32(dst[36:], r.Depth)
	le.PutUint32(dst[40:], r.Class)
	le.PutUint32(dst[44:], r.Flags)
}

// Load reads the row from src.
func (r *Call) Load(src []byte) {
	_ = src[47]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.Parent = le.Uint64(src[16:])
	r.Exclusive = le.Uint64(src[24:])
	r.Region = le.Uint32(src[32:])
	r.Depth = le.Uint32(src[36:])
	r.Class = le.Uint32(src[40:])
	r.Flags = le.Uint32(src[44:])
}

// P2PRowBytes is the size of a row of type P2P.
const P2PRowBytes = 96

// P2P is one side of a point-to-point message.
type P2P struct {
	T      uint64
	End    uint64
	Post   uint64
	Done   uint64
	CallN  uint64
	MateN  uint64
	Seq    uint64
	Bytes  uint64
	Region uint32
	Peer   uint32
	Comm   uint32
	Tag    uint32
	Kind   uint32
	MateP  uint32
	MateT  uint64
}

// Put writes the row into dst.
func (r *P2P) Put(dst []byte) {
	_ = dst[95]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.Post)
	le.PutUint64(dst[24:], r.Done)
	le.PutUint64(dst[32:], r.CallN)
	le.PutUint64(dst[40:], r.MateN)
	le.PutUint64(dst[48:], r.Seq)
	le.PutUint64(dst[56:], r.Bytes)
	le.PutUint32(dst[64:], r.Region)
	le.PutUint32(dst[68:], r.Peer)
	le.PutUint32(dst[72:], r.Comm)
	le.PutUint32(dst[76:], r.Tag)
	le.PutUint32(dst[80:], r.Kind)
	le.PutUint32(dst[84:], r.MateP)
	le.PutUint64(dst[88:], r.MateT)
}

// Load reads the row from src.
func (r *P2P) Load(src []byte) {
	_ = src[95]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.Post = le.Uint64(src[16:])
	r.Done = le.Uint64(src[24:])
	r.CallN = le.Uint64(src[32:])
	r.MateN = le.Uint64(src[40:])
	r.Seq = le.Uint64(src[48:])
	r.Bytes = le.Uint64(src[56:])
	r.Region = le.Uint32(src[64:])
	r.Peer = le.Uint32(src[68:])
	r.Comm = le.Uint32(src[72:])
	r.Tag = le.Uint32(src[76:])
	r.Kind = le.Uint32(src[80:])
	r.MateP = le.Uint32(src[84:])
	r.MateT = le.Uint64(src[88:])
}

// CollRowBytes is the size of a row of type COLL.
const CollRowBytes = 96

// Coll is one member of a collective operation.
type Coll struct {
	T          uint64
	End        uint64
	Post       uint64
	CallN      uint64
	Sent       uint64
	Received   uint64
	Ordinal    uint64
	LastEnter  uint64
	FirstLeave uint64
	LastLeave  uint64
	Region     uint32
	Comm       uint32
	Root       uint32
	Flags      uint32
}

// Put writes the row into dst.
func (r *Coll) Put(dst []byte) {
	_ = dst[95]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.Post)
	le.PutUint64(dst[24:], r.CallN)
	le.PutUint64(dst[32:], r.Sent)
	le.PutUint64(dst[40:], r.Received)
	le.PutUint64(dst[48:], r.Ordinal)
	le.PutUint64(dst[56:], r.LastEnter)
	le.PutUint64(dst[64:], r.FirstLeave)
	le.PutUint64(dst[72:], r.LastLeave)
	le.PutUint32(dst[80:], r.Region)
	le.PutUint32(dst[84:], r.Comm)
	le.PutUint32(dst[88:], r.Root)
	le.PutUint32(dst[92:], r.Flags)
}

// Load reads the row from src.
func (r *Coll) Load(src []byte) {
	_ = src[95]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.Post = le.Uint64(src[16:])
	r.CallN = le.Uint64(src[24:])
	r.Sent = le.Uint64(src[32:])
	r.Received = le.Uint64(src[40:])
	r.Ordinal = le.Uint64(src[48:])
	r.LastEnter = le.Uint64(src[56:])
	r.FirstLeave = le.Uint64(src[64:])
	r.LastLeave = le.Uint64(src[72:])
	r.Region = le.Uint32(src[80:])
	r.Comm = le.Uint32(src[84:])
	r.Root = le.Uint32(src[88:])
	r.Flags = le.Uint32(src[92:])
}

// IO is a file operation.
type IO struct {
	T      uint64
	End    uint64
	CallN  uint64
	Asked  uint64
	Done   uint64
	Handle uint32
	Op     uint32
}

// Put writes the row into dst.
func (r *IO) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.CallN)
	le.PutUint64(dst[24:], r.Asked)
	le.PutUint64(dst[32:], r.Done)
	le.PutUint32(dst[40:], r.Handle)
	le.PutUint32(dst[44:], r.Op)
}

// Load reads the row from src.
func (r *IO) Load(src []byte) {
	_ = src[47]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.CallN = le.Uint64(src[16:])
	r.Asked = le.Uint64(src[24:])
	r.Done = le.Uint64(src[32:])
	r.Handle = le.Uint32(src[40:])
	r.Op = le.Uint32(src[44:])
}

// RMA is a one-sided operation.
type RMA struct {
	T      uint64
	End    uint64
	CallN  uint64
	Bytes  uint64
	Window uint32
	Target uint32
	Op     uint32
	Flags  uint32
}

// Put writes the row into dst.
func (r *RMA) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.CallN)
	le.PutUint64(dst[24:], r.Bytes)
	le.PutUint32(dst[32:], r.Window)
	le.PutUint32(dst[36:], r.Target)
	le.PutUint32(dst[40:], r.Op)
	le.PutUint32(dst[44:], r.Flags)
}

// Load reads the row from src.
func (r *RMA) Load(src []byte) {
	_ = src[47]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.CallN = le.Uint64(src[16:])
	r.Bytes = le.Uint64(src[24:])
	r.Window = le.Uint32(src[32:])
	r.Target = le.Uint32(src[36:])
	r.Op = le.Uint32(src[40:])
	r.Flags = le.Uint32(src[44:])
}

// MetricRowBytes is the size of a row of type METRIC.
const MetricRowBytes = 24

// Metric is one value of a metric.
type Metric struct {
	T      uint64
	Value  uint64
	Metric uint32
	Flags  uint32
}

// Put writes the row into dst.
func (r *Metric) Put(dst []byte) {
	_ = dst[23]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.Value)
	le.PutUint32(dst[16:], r.Metric)
	le.PutUint32(dst[20:], r.Flags)
}

// Load reads the row from src.
func (r *Metric) Load(src []byte) {
	_ = src[23]
	r.T = le.Uint64(src[0:])
	r.Value = le.Uint64(src[8:])
	r.Metric = le.Uint32(src[16:])
	r.Flags = le.Uint32(src[20:])
}

// WaitRowBytes is the size of a row of type WAIT.
const WaitRowBytes = 40

// Wait is a wait state.
type Wait struct {
	T       uint64
	End     uint64
	RecN    uint64
	CauseP  uint32
	Pattern uint32
	Node    uint32
	Path    uint32
}

// Put writes the row into dst.
func (r *Wait) Put(dst []byte) {
	_ = dst[39]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.RecN)
	le.PutUint32(dst[24:], r.CauseP)
	le.PutUint32(dst[28:], r.Pattern)
	le.PutUint32(dst[32:], r.Node)
	le.PutUint32(dst[36:], r.Path)
}

// Load reads the row from src.
func (r *Wait) Load(src []byte) {
	_ = src[39]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.RecN = le.Uint64(src[16:])
	r.CauseP = le.Uint32(src[24:])
	r.Pattern = le.Uint32(src[28:])
	r.Node = le.Uint32(src[32:])
	r.Path = le.Uint32(src[36:])
}

// IvalRowBytes is the size of a row of type IVAL.
const IvalRowBytes = 32

// Ival is one execution of an interval.
type Ival struct {
	T         uint64
	End       uint64
	Execution uint64
	Node      uint32
	Flags     uint32
}

// Put writes the row into dst.
func (r *Ival) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint64(dst[16:], r.Execution)
	le.PutUint32(dst[24:], r.Node)
	le.PutUint32(dst[28:], r.Flags)
}

// Load reads the row from src.
func (r *Ival) Load(src []byte) {
	_ = src[31]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.Execution = le.Uint64(src[16:])
	r.Node = le.Uint32(src[24:])
	r.Flags = le.Uint32(src[28:])
}

// CPath is a piece of the critical path.
type CPath struct {
	T        uint64
	End      uint64
	Region   uint32
	Activity uint32
	Node     uint32
	Path     uint32
}

// Put writes the row into dst.
func (r *CPath) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.End)
	le.PutUint32(dst[16:], r.Region)
	le.PutUint32(dst[20:], r.Activity)
	le.PutUint32(dst[24:], r.Node)
	le.PutUint32(dst[28:], r.Path)
}

// Load reads the row from src.
func (r *CPath) Load(src []byte) {
	_ = src[31]
	r.T = le.Uint64(src[0:])
	r.End = le.Uint64(src[8:])
	r.Region = le.Uint32(src[16:])
	r.Activity = le.Uint32(src[20:])
	r.Node = le.Uint32(src[24:])
	r.Path = le.Uint32(src[28:])
}
