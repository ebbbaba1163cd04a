package build

import "github.com/coppice-hpc/coppice/ccg/graph"

// positions stores times so that their errors do not add up along a location.
//
// In each call, and between the calls of a location, the position of an event
// since the call's begin is stored rounded down to a multiple of a width w, seen
// from the stored position of the event before it:
//
//	gap' = x - x mod w,  x = true position - stored position so far
//
// Nothing is stored longer than it was, so x is never below the true gap, and a
// call adds less than w of its own to the lateness of the events in it. A call
// that contains calls has at most half the width of each of these: w is
// Abs/2^(height+1), rounded down, at least one tick, the height of a call being 0
// if there is none in it. So along a stack of calls, of any depth, the widths sum
// to at most Abs: a stored time is early by less than Abs and never late, and a
// gap, the difference of two such errors, is off by less than Abs. What a call
// looks like when stored depends on its own events only.
type positions struct {
	abs    uint64
	height []uint8 // by node, of Calls and the Root; at most 63
	stack  []position
}

// position is a call in progress.
type position struct {
	early uint64 // by how much its begin is stored early
	width uint64
}

// init does nothing unless times are bounded.
func (p *positions) init(l *Local, d graph.Deviation) {
	if !d.TimeStamps {
		return
	}
	p.abs = d.Abs
	s := l.graph.Nodes
	p.height = make([]uint8, s.Len()+1)
	above := make([]uint8, s.Len()+1) // least height of a call with the node in it
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

// enter begins a call, or the location, stored early by the given ticks.
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

// gap returns the stored gap of an event whose true time is the given ticks
// after the stored time of the event before it.
func (p *positions) gap(behind uint64) uint64 {
	top := p.stack[len(p.stack)-1]
	x := behind - top.early
	return x - x%top.width
}
