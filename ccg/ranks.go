package ccg

import (
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// encoding is a way to write a partner's rank.
type encoding uint8

const (
	relative  encoding = iota // partner - own, zig-zag
	modulo                    // (partner - own) mod size
	exclusive                 // partner xor own
	absolute                  // partner
	numEncodings
)

// place is where a process is in a communicator.
type place struct {
	own, size uint32 // size 0: the process is not a member, or nothing is known
}

// encode writes rank partner of a communicator of pl.size ranks; what is not
// inside it is written plain.
func (pl place) encode(e encoding, partner uint64) uint64 {
	if partner >= uint64(pl.size) {
		return partner<<1 | 1
	}
	p, own, size := uint32(partner), pl.own, uint64(pl.size)
	switch e {
	case modulo:
		return (uint64(p) + size - uint64(own)) % size << 1
	case exclusive:
		return uint64(p^own) << 1
	case absolute:
		return uint64(p) << 1
	}
	return column.ZigZag(int64(p)-int64(own)) << 1
}

// decode is the inverse of encode; false if no rank has that code.
func (pl place) decode(e encoding, word uint64) (uint64, bool) {
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
	case exclusive:
		p = code ^ uint64(pl.own)
	case absolute:
		p = code
	default:
		p = uint64(int64(pl.own) + column.UnZigZag(code))
	}
	return p, p < uint64(pl.size)
}

// places finds the rank of one process in communicators, and remembers it.
type places struct {
	defs    *trace.Definitions
	process uint32
	comm    uint32 // the last one asked for
	window  bool
	last    place
	known   map[uint64]place
}

func newPlaces(defs *trace.Definitions) *places {
	return &places{defs: defs}
}

// of prepares p for the process of a location.
func (p *places) of(loc trace.P) {
	p.process = trace.UnknownProcess
	if int64(loc) < int64(p.defs.NumLocations()) {
		p.process, _ = p.defs.Process(loc)
	}
	p.comm, p.window, p.last = 0, false, place{}
	p.known = make(map[uint64]place)
	p.last = p.look(0, false)
}

// at returns the place in a communicator, or in that of an RMA window.
func (p *places) at(ref uint32, window bool) place {
	if ref == p.comm && window == p.window {
		return p.last
	}
	p.comm, p.window = ref, window
	p.last = p.look(ref, window)
	return p.last
}

func (p *places) look(ref uint32, window bool) place {
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
		if own, member := p.defs.RankIn(comm, p.process); member && size > 0 && int64(own) < int64(size) {
			pl = place{own, uint32(size)}
		}
	}
	p.known[key] = pl
	return pl
}
