package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/column"
)

// program says to which columns a location's events deal out a stream, in flat steps, so that the distributing walk need not
// look at nodes. Gaps and values have a program each. The code of a node is what an instance does after the gap and values of
// its begin; short code of children is in that of their parents.
//
// Memory: 4 bytes per step and node; inlineSteps per child at most.
type program struct {
	code  []uint32 // column << 1, or node << 1 | 1 for the code of a node, of a Repeat count times
	start []uint32 // by node: code[start[id]:start[id+1]]
	stack []codeFrame
}

// maxArg is the largest argument of a step.
const maxArg = 1<<31 - 1

// inlineSteps is the longest code that is repeated in a node's parents, inlineFrom
// the instances that a parent must have to be worth it.
const (
	inlineSteps = 16
	inlineFrom  = 4
)

// compile makes the program of a location whose nodes are all in column mode; columns returns those of a node: to enter it at a
// slot of its parent, and to leave it.
func (p *program) compile(v *view, columns func(id, slot uint32, st step) []int32) error {
	s := v.nodes
	if s.len() >= maxArg || len(v.cols) >= maxArg {
		return fmt.Errorf("%d nodes, %d columns: %w", s.len(), len(v.cols), ErrLimit)
	}
	p.code, p.start = p.code[:0], append(p.start[:0], 0)
	for id := uint32(1); int(id) <= s.len(); id++ {
		p.start = append(p.start, uint32(len(p.code)))
		slot := v.slot[id]
		for _, c := range s.children(id) {
			if v.isReal(c) {
				p.steps(columns(c, slot, stepOpen))
			}
			p.child(v, c, v.mult[id] >= inlineFrom)
			slot++
		}
		if h := v.shapeOf(id); h.class == classCall && !h.cut {
			p.steps(columns(id, slot, stepClose))
		}
		if len(p.code) > maxArg {
			return fmt.Errorf("more than %d steps: %w", maxArg, ErrLimit)
		}
	}
	p.start = append(p.start, uint32(len(p.code)))
	return nil
}

func (p *program) steps(columns []int32) {
	for _, c := range columns {
		p.code = append(p.code, uint32(c)<<1)
	}
}

// child appends the code of a child.
func (p *program) child(v *view, id uint32, inline bool) {
	if p.inlined(v, id, inline) {
		p.code = append(p.code, p.code[p.start[id]:p.start[id+1]]...)
		return
	}
	p.code = append(p.code, id<<1|1)
}

// inlined says whether the code of a child is in that of its parent.
func (p *program) inlined(v *view, id uint32, inline bool) bool {
	n := p.start[id+1] - p.start[id]
	return n == 0 || v.nodes.kind(id) != kindRepeat && (n <= 2 || inline && n <= inlineSteps)
}

// codeFrame is code in progress.
type codeFrame struct {
	at, begin, end uint32
	left           uint64 // times to do it again
}

// call puts the code of a node on the stack.
func (p *program) call(v *view, id uint32) {
	p.stack = growOne(p.stack) // fields are set one by one, see push
	f := &p.stack[len(p.stack)-1]
	f.at, f.begin, f.end, f.left = p.start[id], p.start[id], p.start[id+1], 0
	if v.nodes.kind(id) == kindRepeat {
		f.left = v.nodes.count(id) - 1
	}
}

// resume makes the stack what it is where a cursor stands. The program must be one of gaps: a step an event.
func (p *program) resume(c *Cursor) {
	v := c.x.loc.view
	p.stack = p.stack[:0]
	p.call(v, v.root)
	for i := range c.walk.stack {
		r, f := &c.walk.stack[i], &p.stack[len(p.stack)-1]
		passed := r.at // children, the one in progress included
		if r.kind == kindRepeat {
			if f.left -= r.at; i+1 < len(c.walk.stack) {
				f.left++
			}
			passed = min(1, r.at)
		}
		inline := v.mult[r.id] >= inlineFrom
		for k, id := range v.nodes.children(r.id)[:passed] {
			if v.isReal(id) {
				f.at++
			}
			if uint64(k)+1 < passed || i+1 == len(c.walk.stack) {
				if p.inlined(v, id, inline) {
					f.at += p.start[id+1] - p.start[id]
				} else {
					f.at++
				}
			}
		}
		if i+1 == len(c.walk.stack) {
			if r.kind == kindRepeat {
				f.at = f.begin
			}
		} else if id := c.walk.stack[i+1].id; !p.inlined(v, id, inline) {
			f.at++
			p.call(v, id)
		}
	}
}

// walk deals out gaps and values.
func (d *Distributor) walk(v *view) error {
	err := d.program.compile(v, func(_, slot uint32, _ step) []int32 { return v.column[slot : slot+1] })
	if err == nil {
		err = d.deal(v, &d.gaps)
	}
	if err != nil || len(d.values.src) == 0 {
		return err
	}
	if err = d.program.compile(v, func(id, _ uint32, st step) []int32 { return v.valueColumns(id, st) }); err == nil {
		err = d.deal(v, &d.values)
	}
	return err
}

// deal deals out a stream as the program says.
func (d *Distributor) deal(v *view, in *stream) error {
	p, at, place := &d.program, d.at, d.place
	p.stack = p.stack[:0]
	p.call(v, v.root)
	var block []uint64
	next := 0 // of block
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		var called uint32
		for i, op := range p.code[f.at:f.end] {
			if op&1 != 0 {
				called = op >> 1
				f.at += uint32(i) + 1
				break
			}
			if next == len(block) {
				if in == &d.gaps {
					block = d.block(v)
				} else {
					block = in.take()
				}
				if block == nil {
					return errShort
				}
				next = 0
			}
			k := at[op>>1]
			place[k] = block[next]
			next++
			if at[op>>1] = k + 1; (k+1)%column.BlockSize == 0 {
				d.encode(op >> 1)
			}
		}
		switch {
		case called != 0:
			p.call(v, called)
		case f.left > 0:
			f.left--
			f.at = f.begin
		default:
			p.stack = p.stack[:len(p.stack)-1]
		}
	}
	in.left(block[next:])
	return nil
}
