package xtf

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

// Put writes the row into dst.
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

// Load reads the row from src.
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

// Put writes the row into dst.
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

// Load reads the row from src.
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

// ClassRow is a class of processes.
type ClassRow struct {
	Key            uint64
	Representative uint32
	Members        uint32
	Group          uint32
	Flags          uint32
	Diameter       uint64
}

// Put writes the row into dst.
func (r *ClassRow) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Representative)
	le.PutUint32(dst[12:], r.Members)
	le.PutUint32(dst[16:], r.Group)
	le.PutUint32(dst[20:], r.Flags)
	le.PutUint64(dst[24:], r.Diameter)
}

// Load reads the row from src.
func (r *ClassRow) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	r.Representative = le.Uint32(src[8:])
	r.Members = le.Uint32(src[12:])
	r.Group = le.Uint32(src[16:])
	r.Flags = le.Uint32(src[20:])
	r.Diameter = le.Uint64(src[24:])
}

// Member is the class of a process.
type Member struct {
	Key   uint64
	Class uint32
	Group uint32
}

// Put writes the row into dst.
func (r *Member) Put(dst []byte) {
	_ = dst[15]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Class)
	le.PutUint32(dst[12:], r.Group)
}

// Load reads the row from src.
func (r *Member) Load(src []byte) {
	_ = src[15]
	r.Key = le.Uint64(src[0:])
	r.Class = le.Uint32(src[8:])
	r.Group = le.Uint32(src[12:])
}

// Merge is one merge of the dendrogram.
type Merge struct {
	Key    uint64
	First  uint32
	Second uint32
	Height uint64
}

// Put writes the row into dst.
func (r *Merge) Put(dst []byte) {
	_ = dst[23]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.First)
	le.PutUint32(dst[12:], r.Second)
	le.PutUint64(dst[16:], r.Height)
}

// Load reads the row from src.
func (r *Merge) Load(src []byte) {
	_ = src[23]
	r.Key = le.Uint64(src[0:])
	r.First = le.Uint32(src[8:])
	r.Second = le.Uint32(src[12:])
	r.Height = le.Uint64(src[16:])
}

// Path is a call path.
type Path struct {
	Key    uint64
	Parent uint32
	Region uint32
	Level  uint32
	Zero   uint32
}

// Put writes the row into dst.
func (r *Path) Put(dst []byte) {
	_ = dst[23]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Parent)
	le.PutUint32(dst[12:], r.Region)
	le.PutUint32(dst[16:], r.Level)
	le.PutUint32(dst[20:], r.Zero)
}

// Load reads the row from src.
func (r *Path) Load(src []byte) {
	_ = src[23]
	r.Key = le.Uint64(src[0:])
	r.Parent = le.Uint32(src[8:])
	r.Region = le.Uint32(src[12:])
	r.Level = le.Uint32(src[16:])
	r.Zero = le.Uint32(src[20:])
}

// WaitTotal is waits of one pattern on one call path of an interval, of all locations.
type WaitTotal struct {
	Key     uint64
	Pattern uint32
	WorstP  uint32
	Count   uint64
	Ticks   uint64
	Worst   uint64
}

// Put writes the row into dst.
func (r *WaitTotal) Put(dst []byte) {
	_ = dst[39]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Pattern)
	le.PutUint32(dst[12:], r.WorstP)
	le.PutUint64(dst[16:], r.Count)
	le.PutUint64(dst[24:], r.Ticks)
	le.PutUint64(dst[32:], r.Worst)
}

// Load reads the row from src.
func (r *WaitTotal) Load(src []byte) {
	_ = src[39]
	r.Key = le.Uint64(src[0:])
	r.Pattern = le.Uint32(src[8:])
	r.WorstP = le.Uint32(src[12:])
	r.Count = le.Uint64(src[16:])
	r.Ticks = le.Uint64(src[24:])
	r.Worst = le.Uint64(src[32:])
}

// DelayTotal is delay costs on one call path of an interval, of all locations.
type DelayTotal struct {
	Key      uint64
	Pattern  uint32
	Activity uint32
	Short    uint64
	Long     uint64
	Worst    uint64
	WorstP   uint32
	Zero     uint32
}

// Put writes the row into dst.
func (r *DelayTotal) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Pattern)
	le.PutUint32(dst[12:], r.Activity)
	le.PutUint64(dst[16:], r.Short)
	le.PutUint64(dst[24:], r.Long)
	le.PutUint64(dst[32:], r.Worst)
	le.PutUint32(dst[40:], r.WorstP)
	le.PutUint32(dst[44:], r.Zero)
}

// Load reads the row from src.
func (r *DelayTotal) Load(src []byte) {
	_ = src[47]
	r.Key = le.Uint64(src[0:])
	r.Pattern = le.Uint32(src[8:])
	r.Activity = le.Uint32(src[12:])
	r.Short = le.Uint64(src[16:])
	r.Long = le.Uint64(src[24:])
	r.Worst = le.Uint64(src[32:])
	r.WorstP = le.Uint32(src[40:])
	r.Zero = le.Uint32(src[44:])
}

// PathTotal is the critical path on one call path of an interval.
type PathTotal struct {
	Key      uint64
	Activity uint32
	WorstP   uint32
	Ticks    uint64
	Worst    uint64
}

// Put writes the row into dst.
func (r *PathTotal) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Activity)
	le.PutUint32(dst[12:], r.WorstP)
	le.PutUint64(dst[16:], r.Ticks)
	le.PutUint64(dst[24:], r.Worst)
}

// Load reads the row from src.
func (r *PathTotal) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	r.Activity = le.Uint32(src[8:])
	r.WorstP = le.Uint32(src[12:])
	r.Ticks = le.Uint64(src[16:])
	r.Worst = le.Uint64(src[24:])
}
