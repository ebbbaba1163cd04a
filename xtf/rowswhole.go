package xtf

// IntervalRowBytes is the size of a row of type INTERVAL.
const IntervalRowBytes = 88

// Interval is a node of the interval tree.
type Interval struct {
	Key          uint64
	Parent       uint32
	Level        uint32
	Marker       uint64
	Name         uint32
	File         uint32
	Line         uint32
	Form         uint32
	ExeMax       uint64
	ExeMin       uint64
	Participants uint32
	Flags        uint32
	FirstBegin   uint64
	LastEnd      uint64
	SumMax       uint64
}

// Put writes the row into dst, which has IntervalRowBytes bytes.
func (r *Interval) Put(dst []byte) {
	_ = dst[87]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Parent)
	le.PutUint32(dst[12:], r.Level)
	le.PutUint64(dst[16:], r.Marker)
	le.PutUint32(dst[24:], r.Name)
	le.PutUint32(dst[28:], r.File)
	le.PutUint32(dst[32:], r.Line)
	le.PutUint32(dst[36:], r.Form)
	le.PutUint64(dst[40:], r.ExeMax)
	le.PutUint64(dst[48:], r.ExeMin)
	le.PutUint32(dst[56:], r.Participants)
	le.PutUint32(dst[60:], r.Flags)
	le.PutUint64(dst[64:], r.FirstBegin)
	le.PutUint64(dst[72:], r.LastEnd)
	le.PutUint64(dst[80:], r.SumMax)
}

// Load reads the row from src, which has IntervalRowBytes bytes.
func (r *Interval) Load(src []byte) {
	_ = src[87]
	r.Key = le.Uint64(src[0:])
	r.Parent = le.Uint32(src[8:])
	r.Level = le.Uint32(src[12:])
	r.Marker = le.Uint64(src[16:])
	r.Name = le.Uint32(src[24:])
	r.File = le.Uint32(src[28:])
	r.Line = le.Uint32(src[32:])
	r.Form = le.Uint32(src[36:])
	r.ExeMax = le.Uint64(src[40:])
	r.ExeMin = le.Uint64(src[48:])
	r.Participants = le.Uint32(src[56:])
	r.Flags = le.Uint32(src[60:])
	r.FirstBegin = le.Uint64(src[64:])
	r.LastEnd = le.Uint64(src[72:])
	r.SumMax = le.Uint64(src[80:])
}

// StatRowBytes is the size of a row of type STAT.
const StatRowBytes = 72

// Stat is a statistic of a component over processes.
type Stat struct {
	Key     uint64
	Sum0    uint64
	Sum1    uint64
	Square0 uint64
	Square1 uint64
	Square2 uint64
	Min     uint64
	Max     uint64
	MinP    uint32
	MaxP    uint32
}

// Put writes the row into dst, which has StatRowBytes bytes.
func (r *Stat) Put(dst []byte) {
	_ = dst[71]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint64(dst[8:], r.Sum0)
	le.PutUint64(dst[16:], r.Sum1)
	le.PutUint64(dst[24:], r.Square0)
	le.PutUint64(dst[32:], r.Square1)
	le.PutUint64(dst[40:], r.Square2)
	le.PutUint64(dst[48:], r.Min)
	le.PutUint64(dst[56:], r.Max)
	le.PutUint32(dst[64:], r.MinP)
	le.PutUint32(dst[68:], r.MaxP)
}

// Load reads the row from src, which has StatRowBytes bytes.
func (r *Stat) Load(src []byte) {
	_ = src[71]
	r.Key = le.Uint64(src[0:])
	r.Sum0 = le.Uint64(src[8:])
	r.Sum1 = le.Uint64(src[16:])
	r.Square0 = le.Uint64(src[24:])
	r.Square1 = le.Uint64(src[32:])
	r.Square2 = le.Uint64(src[40:])
	r.Min = le.Uint64(src[48:])
	r.Max = le.Uint64(src[56:])
	r.MinP = le.Uint32(src[64:])
	r.MaxP = le.Uint32(src[68:])
}

// ClassRowBytes is the size of a row of type CLASS.
const ClassRowBytes = 32

// ClassRow is a class of processes.
type ClassRow struct {
	Key            uint64
	Representative uint32
	Members        uint32
	Group          uint32
	Flags          uint32
	Diameter       uint64
}

// Put writes the row into dst, which has ClassRowBytes bytes.
func (r *ClassRow) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Representative)
	le.PutUint32(dst[12:], r.Members)
	le.PutUint32(dst[16:], r.Group)
	le.PutUint32(dst[20:], r.Flags)
	le.PutUint64(dst[24:], r.Diameter)
}

// Load reads the row from src, which has ClassRowBytes bytes.
func (r *ClassRow) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	r.Representative = le.Uint32(src[8:])
	r.Members = le.Uint32(src[12:])
	r.Group = le.Uint32(src[16:])
	r.Flags = le.Uint32(src[20:])
	r.Diameter = le.Uint64(src[24:])
}

// MemberRowBytes is the size of a row of type MEMBER.
const MemberRowBytes = 16

// Member is the class of a process.
type Member struct {
	Key   uint64
	Class uint32
	Group uint32
}

// Put writes the row into dst, which has MemberRowBytes bytes.
func (r *Member) Put(dst []byte) {
	_ = dst[15]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Class)
	le.PutUint32(dst[12:], r.Group)
}

// Load reads the row from src, which has MemberRowBytes bytes.
func (r *Member) Load(src []byte) {
	_ = src[15]
	r.Key = le.Uint64(src[0:])
	r.Class = le.Uint32(src[8:])
	r.Group = le.Uint32(src[12:])
}

// MergeRowBytes is the size of a row of type MERGE.
const MergeRowBytes = 24

// Merge is one merge of the dendrogram.
type Merge struct {
	Key    uint64
	First  uint32
	Second uint32
	Height uint64
}

// Put writes the row into dst, which has MergeRowBytes bytes.
func (r *Merge) Put(dst []byte) {
	_ = dst[23]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.First)
	le.PutUint32(dst[12:], r.Second)
	le.PutUint64(dst[16:], r.Height)
}

// Load reads the row from src, which has MergeRowBytes bytes.
func (r *Merge) Load(src []byte) {
	_ = src[23]
	r.Key = le.Uint64(src[0:])
	r.First = le.Uint32(src[8:])
	r.Second = le.Uint32(src[12:])
	r.Height = le.Uint64(src[16:])
}
