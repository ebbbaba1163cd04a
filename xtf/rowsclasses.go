package xtf

// Group is a set of processes whose MPI calls follow each other in the same order.
type Group struct {
	Key       uint64
	First     uint32
	Processes uint32
	Classes   uint32
	Fraction  uint32
	Entries   uint64
	Threshold uint64
	Rounded   uint64
	Radius    uint64
	Leaders   uint32
	Led       uint32
}

// Put writes the row into dst.
func (r *Group) Put(dst []byte) {
	_ = dst[63]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.First)
	le.PutUint32(dst[12:], r.Processes)
	le.PutUint32(dst[16:], r.Classes)
	le.PutUint32(dst[20:], r.Fraction)
	le.PutUint64(dst[24:], r.Entries)
	le.PutUint64(dst[32:], r.Threshold)
	le.PutUint64(dst[40:], r.Rounded)
	le.PutUint64(dst[48:], r.Radius)
	le.PutUint32(dst[56:], r.Leaders)
	le.PutUint32(dst[60:], r.Led)
}

// Load reads the row from src.
func (r *Group) Load(src []byte) {
	_ = src[63]
	r.Key = le.Uint64(src[0:])
	r.First = le.Uint32(src[8:])
	r.Processes = le.Uint32(src[12:])
	r.Classes = le.Uint32(src[16:])
	r.Fraction = le.Uint32(src[20:])
	r.Entries = le.Uint64(src[24:])
	r.Threshold = le.Uint64(src[32:])
	r.Rounded = le.Uint64(src[40:])
	r.Radius = le.Uint64(src[48:])
	r.Leaders = le.Uint32(src[56:])
	r.Led = le.Uint32(src[60:])
}

// ClassSum is how much the processes of a class compute.
type ClassSum struct {
	Key   uint64
	First uint32
	Zero  uint32
	Least uint64
	Most  uint64
	Mean  uint64
}

// Put writes the row into dst.
func (r *ClassSum) Put(dst []byte) {
	_ = dst[39]
	le.PutUint64(dst[0:], r.Key)
	le.PutUint32(dst[8:], r.First)
	le.PutUint32(dst[12:], r.Zero)
	le.PutUint64(dst[16:], r.Least)
	le.PutUint64(dst[24:], r.Most)
	le.PutUint64(dst[32:], r.Mean)
}

// Load reads the row from src.
func (r *ClassSum) Load(src []byte) {
	_ = src[39]
	r.Key = le.Uint64(src[0:])
	r.First = le.Uint32(src[8:])
	r.Zero = le.Uint32(src[12:])
	r.Least = le.Uint64(src[16:])
	r.Most = le.Uint64(src[24:])
	r.Mean = le.Uint64(src[32:])
}
