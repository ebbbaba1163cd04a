package graph

import (
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Encoding is a way to write a partner's rank.
type Encoding uint8

const (
	Relative  Encoding = iota // partner - own, zigzag
	modulo                    // (partner - own) mod size
	Exclusive                 // partner xor own
	Absolute                  // partner
	NumEncodings
)

// place is the position of a process in a communicator.
type place struct {
	own, size uint32 // size 0: the process is not a member, or not known
}

// Encode encodes rank partner of a communicator of pl.size ranks. Larger numbers are written unencoded.
func (pl place) Encode(e Encoding, partner uint64) uint64 {
	if partner >= uint64(pl.size) {
		return partner<<1 | 1
	}
	p, own, size := uint32(partner), pl.own, uint64(pl.size)
	switch e {
	case modulo:
		return (uint64(p) + size - uint64(own)) % size << 1
	case Exclusive:
		return uint64(p^own) << 1
	case Absolute:
		return uint64(p) << 1
	}
	return column.ZigZag(int64(p)-int64(own)) << 1
}

// Decode is the inverse of Encode. It returns false if no rank has that code.
func (pl place) Decode(e Encoding, word uint64) (uint64, bool) {
	code := word >> 1
	if word&1 != 0 {
		return code, code >= uint64(pl.size)
	}
	var p uint64
	switch e {
	case modulo:
		if code >= uint64(pl.size) {
			return 0, false
		}
		p = (code + uint64(pl.own)) % uint64(pl.size)
	case Exclusive:
		p = code ^ uint64(pl.own)
	case Absolute:
		p = code
	default:
		p = uint64(int64(pl.own) + column.UnZigZag(code))
	}
	return p, p < uint64(pl.size)
}

// Places returns the ranks of one process in communicators. It caches them.
type Places struct {
	defs    *trace.Definitions
	Process uint32
	comm    uint32 // that was asked for last
	window  bool
	last    place
	known   map[uint64]place
}

// NewPlaces returns Places without a location; see Of.
func NewPlaces(defs *trace.Definitions) *Places {
	return &Places{defs: defs}
}

// Of prepares p for the process of a location.
func (p *Places) Of(loc trace.P) {
	p.Process = trace.UnknownProcess
	if int64(loc) < int64(p.defs.NumLocations()) {
		p.Process, _ = p.defs.Process(loc)
	}
	p.comm, p.window, p.last = 0, false, place{}
	p.known = make(map[uint64]place)
	p.last = p.look(0, false)
}

// At returns the place in a communicator, or in that of an RMA window.
func (p *Places) At(ref uint32, window bool) place {
	if ref == p.comm && window == p.window {
		return p.last
	}
	p.comm, p.window = ref, window
	p.last = p.look(ref, window)
	return p.last
}

func (p *Places) look(ref uint32, window bool) place {
	key := uint64(ref)
	if window {
		key |= 1 << 32
	}
	if pl, ok := p.known[key]; ok {
		return pl
	}
	comm, ok := ref, true
	if window {
		comm, ok = p.defs.WindowComm(ref)
	}
	var pl place
	if ok {
		size := p.defs.CommSize(comm)
		if own, member := p.defs.RankIn(comm, p.Process); member && size > 0 && int64(own) < int64(size) {
			pl = place{own, uint32(size)}
		}
	}
	p.known[key] = pl
	return pl
}
