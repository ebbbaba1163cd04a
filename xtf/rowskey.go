package xtf

// ChannelRowBytes is the size of a row of type CHANNEL.
const ChannelRowBytes = 40

// Channel is the entries of one channel in the CHAN array.
type Channel struct {
	Key       uint64
	Tag       uint32
	Direction uint32
	First     uint64
	Count     uint64
	Bytes     uint64
}

// Put writes the row into dst.
func (r *Channel) Put(dst []byte) {
	_ = dst[39]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Tag)
	le.PutUint32(dst[12:], r.Direction)
	le.PutUint64(dst[16:], r.First)
	le.PutUint64(dst[24:], r.Count)
	le.PutUint64(dst[32:], r.Bytes)
}

// Load reads the row from src.
func (r *Channel) Load(src []byte) {
	_ = src[39]
	r.Key = le.Uint64(src[0:])
	r.Tag = le.Uint32(src[8:])
	r.Direction = le.Uint32(src[12:])
	r.First = le.Uint64(src[16:])
	r.Count = le.Uint64(src[24:])
	r.Bytes = le.Uint64(src[32:])
}

// TileRowBytes is the size of a row of type TILE.
const TileRowBytes = 32

// Tile is one tile of the picture pyramid.
type Tile struct {
	Key     uint64
	Share   [8]uint8
	Region  uint32
	Rows    uint32
	Longest uint64
}

// Put writes the row into dst.
func (r *Tile) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	copy(dst[8:16], r.Share[:])
	le.PutUint32(dst[16:], r.Region)
	le.PutUint32(dst[20:], r.Rows)
	le.PutUint64(dst[24:], r.Longest)
}

// Load reads the row from src.
func (r *Tile) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	copy(r.Share[:], src[8:16])
	r.Region = le.Uint32(src[16:])
	r.Rows = le.Uint32(src[20:])
	r.Longest = le.Uint64(src[24:])
}

// TimeBinRowBytes is the size of a row of type TIMEBIN.
const TimeBinRowBytes = 48

// TimeBin is calls of one region in one time bin.
type TimeBin struct {
	Key       uint64
	Region    uint32
	Class     uint32
	Count     uint64
	Inclusive uint64
	Exclusive uint64
	Bytes     uint64
}

// Put writes the row into dst.
func (r *TimeBin) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Region)
	le.PutUint32(dst[12:], r.Class)
	le.PutUint64(dst[16:], r.Count)
	le.PutUint64(dst[24:], r.Inclusive)
	le.PutUint64(dst[32:], r.Exclusive)
	le.PutUint64(dst[40:], r.Bytes)
}

// Load reads the row from src.
func (r *TimeBin) Load(src []byte) {
	_ = src[47]
	r.Key = le.Uint64(src[0:])
	r.Region = le.Uint32(src[8:])
	r.Class = le.Uint32(src[12:])
	r.Count = le.Uint64(src[16:])
	r.Inclusive = le.Uint64(src[24:])
	r.Exclusive = le.Uint64(src[32:])
	r.Bytes = le.Uint64(src[40:])
}

// Comp is one component of an interval.
type Comp struct {
	Key   uint64
	Value uint64
}

// Put writes the row into dst.
func (r *Comp) Put(dst []byte) {
	_ = dst[15]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint64(dst[8:], r.Value)
}

// Load reads the row from src.
func (r *Comp) Load(src []byte) {
	_ = src[15]
	r.Key = le.Uint64(src[0:])
	r.Value = le.Uint64(src[8:])
}

// Delay is a delay cost.
type Delay struct {
	Key      uint64
	Pattern  uint32
	Activity uint32
	Short    uint64
	Long     uint64
}

// Put writes the row into dst.
func (r *Delay) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Pattern)
	le.PutUint32(dst[12:], r.Activity)
	le.PutUint64(dst[16:], r.Short)
	le.PutUint64(dst[24:], r.Long)
}

// Load reads the row from src.
func (r *Delay) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	r.Pattern = le.Uint32(src[8:])
	r.Activity = le.Uint32(src[12:])
	r.Short = le.Uint64(src[16:])
	r.Long = le.Uint64(src[24:])
}

// Diag is a diagnostic.
type Diag struct {
	T        uint64
	Event    uint64
	Count    uint64
	Worst    uint64
	Code     uint32
	Severity uint32
	Detail   uint32
	Zero     uint32
}

// Put writes the row into dst.
func (r *Diag) Put(dst []byte) {
	_ = dst[47]
	le.PutUint64(dst[0:], r.T)
	le.PutUint64(dst[8:], r.Event)
	le.PutUint64(dst[16:], r.Count)
	le.PutUint64(dst[24:], r.Worst)
	le.PutUint32(dst[32:], r.Code)
	le.PutUint32(dst[36:], r.Severity)
	le.PutUint32(dst[40:], r.Detail)
	le.PutUint32(dst[44:], r.Zero)
}

// Load reads the row from src.
func (r *Diag) Load(src []byte) {
	_ = src[47]
	r.T = le.Uint64(src[0:])
	r.Event = le.Uint64(src[8:])
	r.Count = le.Uint64(src[16:])
	r.Worst = le.Uint64(src[24:])
	r.Code = le.Uint32(src[32:])
	r.Severity = le.Uint32(src[36:])
	r.Detail = le.Uint32(src[40:])
	r.Zero = le.Uint32(src[44:])
}

// WaitSum is waits of one pattern on one call path of an interval.
type WaitSum struct {
	Key     uint64
	Pattern uint32
	Zero    uint32
	Count   uint64
	Ticks   uint64
}

// Put writes the row into dst.
func (r *WaitSum) Put(dst []byte) {
	_ = dst[31]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.Pattern)
	le.PutUint32(dst[12:], r.Zero)
	le.PutUint64(dst[16:], r.Count)
	le.PutUint64(dst[24:], r.Ticks)
}

// Load reads the row from src.
func (r *WaitSum) Load(src []byte) {
	_ = src[31]
	r.Key = le.Uint64(src[0:])
	r.Pattern = le.Uint32(src[8:])
	r.Zero = le.Uint32(src[12:])
	r.Count = le.Uint64(src[16:])
	r.Ticks = le.Uint64(src[24:])
}
