package build

import "github.com/coppice-hpc/coppice/ccg/graph"

// positions rounds times so that their errors do not add up along a location.
//
// In each call, and between the calls of a location, the position of an event is its time since the begin of the call. It is stored rounded
// down to a multiple of a width w, relative to the stored position of the event before:
//
//	gap' = x - x mod w,  x = true position - stored position so far
//
// Nothing is stored longer than it was, so x is never below the true gap, and a call adds less than w to the error of the events in it. The
// height of a call is 0 if there is no call in it, and the width w is Abs/2^(height+1), rounded down, but at least one tick. So a call that
// contains calls has at most half the width of each of these. Along a stack of calls of any depth, the widths add up to at most Abs. So a
// stored time is early by less than Abs and never late, and a gap, the difference of two such errors, is wrong by less than Abs. The stored
// form of a call depends on its own events only.
type positions struct {
	abs    uint64
	height []uint8 // by node, of Calls and the Root; at most 63
	stack  []position
}

// position is an open call.
type position struct {
	early uint64 // ticks by which its stored begin is early
	width uint64
}

// init does nothing unless time stamps have bounds.
func (p *positions) init(l *Local, d graph.Deviation) {
	if !d.TimeStamps {
		return
	}
	p.abs = d.Abs
	s := l.graph.Nodes
	p.height = make([]uint8, s.Len()+1)
	above := make([]uint8, s.Len()+1) // least height of a call that contains the node
	for id := uint32(1); int(id) <= s.Len(); id++ {
		h := uint8(0)
		for _, c := range s.Children(id) {
			h = max(h, above[c])
		}
		p.height[id], above[id] = h, h
		if s.Kind(id) == graph.KindCall {
			above[id] = min(h+1, 63)
		}
	}
	p.enter(uint32(s.Len()), 0)
}

// enter begins a call, or the location, whose stored begin is early ticks early.
func (p *positions) enter(id uint32, early uint64) {
	if p.height != nil {
		p.stack = append(p.stack, position{early, max(1, p.abs>>(p.height[id]+1))})
	}
}

func (p *positions) leave() {
	if p.height != nil {
		p.stack = p.stack[:len(p.stack)-1]
	}
}

// gap returns the stored gap of an event. behind is its true time minus the stored time of the event before, in ticks.
func (p *positions) gap(behind uint64) uint64 {
	top := p.stack[len(p.stack)-1]
	x := behind - top.early
	return x - x%top.width
}
