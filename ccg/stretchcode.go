package ccg

import (
	"fmt"
	"math/bits"
)

// stretchCode is what a walk for stretches does, in flat steps, for locations whose gaps all are in columns. There is code for
// nodes outside of the calls that matter, and for nodes inside of one.
//
// Memory: 4 bytes a step, inlineSteps for each child at most, twice.
type stretchCode struct {
	code  []uint32    // argument << stretchBits | operation
	start [2][]uint32 // by inside, outside; by node: code[start:end]
	end   [2][]uint32
}

// Operations.
const (
	stretchGap   = iota // next gap of a column
	stretchCall         // the inside code of a node, of a Repeat count times
	stretchEnter        // the outside code of a node, likewise
	stretchEmit         // a stretch ends
	stretchReset        // forget the gaps so far
	stretchOpen         // a call begins whose time is told
	stretchClose        // it ends, and with it the stretch before it

	stretchBits = 3
	stretchArg  = 1<<(32-stretchBits) - 1
)

// Where code runs.
const (
	codeInside = iota
	codeOutside
)

// compile makes the code; it returns false where there is too much of it.
func (p *stretchCode) compile(v *view, role []Role) bool {
	s := v.nodes
	if s.len() > stretchArg || len(v.cols) > stretchArg {
		return false
	}
	for i := range p.start {
		p.start[i], p.end[i] = make([]uint32, s.len()+1), make([]uint32, s.len()+1)
	}
	for id := uint32(1); int(id) <= s.len(); id++ {
		for where := range p.start {
			p.start[where][id] = uint32(len(p.code))
			slot := v.slot[id]
			for _, c := range s.children(id) {
				p.child(v, role, c, v.column[slot], where)
				slot++
			}
			if h := v.shapeOf(id); h.class == classCall && !h.cut {
				p.step(stretchGap, uint32(v.column[slot]))
			}
			p.end[where][id] = uint32(len(p.code))
		}
		if len(p.code) > stretchArg {
			return false
		}
	}
	return true
}

func (p *stretchCode) step(op, arg uint32) { p.code = append(p.code, arg<<stretchBits|op) }

// child appends what an instance of a child does.
func (p *stretchCode) child(v *view, role []Role, id uint32, column int32, where int) {
	if v.isReal(id) {
		p.step(stretchGap, uint32(column))
	}
	if where == codeInside || !v.isReal(id) || role[id] == Within {
		p.body(v, id, where)
		return
	}
	if role[id] == Ends && v.nodes.kind(id) == kindCall {
		p.step(stretchOpen, 0)
		p.body(v, id, codeInside)
		p.step(stretchClose, 0)
		return
	}
	p.step(stretchEmit, 0)
	if v.nodes.kind(id) == kindCall {
		p.body(v, id, codeInside)
		p.step(stretchReset, 0)
	}
}

// body appends the code of a node, or a step that runs it.
func (p *stretchCode) body(v *view, id uint32, where int) {
	code := p.code[p.start[where][id]:p.end[where][id]]
	switch {
	case len(code) == 0:
	case v.nodes.kind(id) != kindRepeat && len(code) <= inlineSteps:
		p.code = append(p.code, code...)
	case where == codeInside:
		p.step(stretchCall, id)
	default:
		p.step(stretchEnter, id)
	}
}

// runCode is Next for a location with code.
func (s *Stretches) runCode(dst, own []uint64) (int, error) {
	p, nodes := s.code, s.loc.view.nodes
	cursors, f, sum, n := s.walk.cursors, s.frame, s.walk.time, 0
	for n < len(dst) {
		if f.at == f.end {
			switch {
			case f.left > 0:
				f.left--
				f.at = f.begin
			case len(s.frames) > 0:
				f = s.frames[len(s.frames)-1]
				s.frames = s.frames[:len(s.frames)-1]
			default:
				s.last = true
				dst[n], own[n] = sum, 0
				s.frame, s.walk.time = f, sum
				if s.err = s.walk.err(); s.err != nil {
					return 0, s.err
				}
				return n + 1, nil
			}
			continue
		}
		op := p.code[f.at]
		f.at++
		switch arg := op >> stretchBits; op & (1<<stretchBits - 1) {
		case stretchGap:
			var carry uint64
			if sum, carry = bits.Add64(sum, cursors[arg].Next(), 0); carry != 0 {
				s.err = fmt.Errorf("call graph: location %d: time overflows: %w", s.loc.p, ErrCorrupt)
				return 0, s.err
			}
		case stretchEmit:
			dst[n], own[n], sum = sum, 0, 0
			n++
		case stretchReset:
			sum = 0
		case stretchOpen:
			s.before, sum = sum, 0
		case stretchClose:
			dst[n], own[n], sum = s.before, sum, 0
			n++
		default:
			where := codeInside
			if op&(1<<stretchBits-1) == stretchEnter {
				where = codeOutside
			}
			s.frames = append(s.frames, f)
			f = codeFrame{at: p.start[where][arg], begin: p.start[where][arg], end: p.end[where][arg]}
			if nodes.kind(arg) == kindRepeat {
				f.left = nodes.count(arg) - 1
			}
		}
	}
	s.frame, s.walk.time = f, sum
	return n, nil
}
