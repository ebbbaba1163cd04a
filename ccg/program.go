package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/column"
)

// program says what happens on the way through a location, in flat steps, so that a walk need not look at nodes: which column
// the next gap or value belongs to, or whatever else its user numbers. The code of a node is what an instance does after the gap
// and values of its begin; short code of children is in that of their parents.
//
// Memory: 4 bytes per step, 12 per node; inlineSteps per child at most.
type program struct {
	code  []uint32 // runs: their number of steps, the steps, the node whose code follows (of a Repeat count times), 0 at the end of the code
	start []uint32 // by node: its code is code[start[id]:start[id+1]]
	ops   []uint8  // by node: steps and calls of its code, manyOps at most
	run   int      // where the run in progress begins, of compile
	stack []codeFrame
	nodes *store
}

// maxArg is the largest number of a step.
const maxArg = 1<<31 - 1

// inlineSteps is the longest code that is repeated in a node's parents, inlineFrom
// the instances that a parent must have to be worth it.
const (
	inlineSteps = 16
	inlineFrom  = 4
	manyOps     = inlineSteps + 1
)

// compile makes the program of a location whose nodes are all in column mode; steps returns those of a node: to enter it at a
// slot of its parent, and to leave it.
func (p *program) compile(v *view, steps func(id, slot uint32, st step) []int32) error {
	s := v.nodes
	if s.len() >= maxArg || len(v.cols) >= maxArg {
		return fmt.Errorf("%d nodes, %d columns: %w", s.len(), len(v.cols), ErrLimit)
	}
	p.nodes, p.code, p.start, p.ops = s, p.code[:0], append(p.start[:0], 0), append(p.ops[:0], 0)
	for id := uint32(1); int(id) <= s.len(); id++ {
		p.start = append(p.start, uint32(len(p.code)))
		p.begin()
		ops := 0
		slot := v.slot[id]
		for _, c := range s.children(id) {
			if v.isReal(c) {
				ops += p.steps(steps(c, slot, stepOpen))
			}
			if p.inlined(v, c, id) {
				p.inline(c)
				ops += int(p.ops[c])
			} else {
				p.code = append(p.code, c)
				p.begin()
				ops++
			}
			slot++
		}
		if h := v.shapeOf(id); h.class == classCall && h.cut {
			ops += p.steps(steps(id, slot, stepCut))
		} else if h.class == classCall {
			ops += p.steps(steps(id, slot, stepClose))
		}
		p.code, p.ops = append(p.code, 0), append(p.ops, uint8(min(ops, manyOps)))
		if len(p.code) > maxArg {
			return fmt.Errorf("more than %d steps: %w", maxArg, ErrLimit)
		}
	}
	p.start = append(p.start, uint32(len(p.code)))
	return nil
}

// begin begins a run.
func (p *program) begin() {
	p.run = len(p.code)
	p.code = append(p.code, 0)
}

func (p *program) steps(steps []int32) int {
	for _, c := range steps {
		p.code = append(p.code, uint32(c))
	}
	p.code[p.run] += uint32(len(steps))
	return len(steps)
}

// inline appends the code of a node.
func (p *program) inline(id uint32) {
	for at := p.start[id]; ; {
		n := p.code[at]
		p.code = append(p.code, p.code[at+1:at+1+n]...)
		p.code[p.run] += n
		if at += n + 2; at == p.start[id+1] {
			return
		}
		p.code = append(p.code, p.code[at-1])
		p.begin()
	}
}

// inlined says whether the code of a child is in that of its parent.
func (p *program) inlined(v *view, id, parent uint32) bool {
	n := p.ops[id]
	return n == 0 || v.nodes.kind(id) != kindRepeat && (n <= 2 || n <= inlineSteps && v.mult[parent] >= inlineFrom)
}

// codeFrame is code in progress.
type codeFrame struct {
	at, begin uint32
	left      uint64 // times to do it again
}

// init goes to the begin of a location.
func (p *program) init(v *view) {
	p.stack = p.stack[:0]
	p.call(v.root)
}

// call puts the code of a node on the stack.
func (p *program) call(id uint32) {
	p.stack = growOne(p.stack) // fields are set one by one, see push
	f := &p.stack[len(p.stack)-1]
	f.at, f.begin, f.left = p.start[id], p.start[id], 0
	if p.nodes.kind(id) == kindRepeat {
		f.left = p.nodes.count(id) - 1
	}
}

// next returns the steps that come next, some at least; none at the end.
func (p *program) next() []uint32 {
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		at := f.at + 1
		end := at + p.code[at-1]
		f.at = end + 1
		switch called := p.code[end]; {
		case called != 0:
			p.call(called)
		case f.left > 0:
			f.left--
			f.at = f.begin
		default:
			p.stack = p.stack[:len(p.stack)-1]
		}
		if at < end {
			return p.code[at:end]
		}
	}
	return nil
}

// resume goes to where a cursor is, and returns the steps that come next there. The program must be one of gaps: a step an
// event.
func (p *program) resume(v *view, stack []level) []uint32 {
	p.stack = p.stack[:0]
	p.call(v.root)
	passed := uint32(0) // steps and calls, of the code in progress
	for i := range stack {
		r, f, innermost := &stack[i], &p.stack[len(p.stack)-1], i+1 == len(stack)
		n := r.at // children, the one in progress included
		if r.kind == kindRepeat {
			if f.left -= r.at; !innermost {
				f.left++
			}
			n = min(1, r.at)
		}
		for k, id := range v.nodes.children(r.id)[:n] {
			if v.isReal(id) {
				passed++
			}
			if uint64(k)+1 < n || innermost {
				if p.inlined(v, id, r.id) {
					passed += uint32(p.ops[id])
				} else {
					passed++
				}
			}
		}
		if innermost {
			if r.kind == kindRepeat {
				passed = 0
			}
		} else if id := stack[i+1].id; !p.inlined(v, id, r.id) {
			p.skip(f, passed+1)
			p.call(id)
			passed = 0
		}
	}
	rest := p.skip(&p.stack[len(p.stack)-1], passed)
	return p.next()[rest:]
}

// skip goes past steps and calls of a frame, up to the begin of a run; it returns the steps that are left.
func (p *program) skip(f *codeFrame, n uint32) uint32 {
	for n > p.code[f.at] {
		n -= p.code[f.at] + 1
		f.at += p.code[f.at] + 2
	}
	return n
}

// walk deals out gaps and values.
func (d *Distributor) walk(v *view) error {
	err := d.program.compile(v, func(_, slot uint32, st step) []int32 {
		if st == stepCut {
			return nil
		}
		return v.column[slot : slot+1]
	})
	if err == nil {
		err = d.deal(v, &d.gaps)
	}
	if err != nil || len(d.values.src) == 0 {
		return err
	}
	err = d.program.compile(v, func(id, _ uint32, st step) []int32 {
		if st == stepCut {
			return nil
		}
		return v.valueColumns(id, st)
	})
	if err == nil {
		err = d.deal(v, &d.values)
	}
	return err
}

// deal deals out a stream as the program says.
func (d *Distributor) deal(v *view, in *stream) error {
	at, place := d.at, d.place
	d.program.init(v)
	var block []uint64
	next := 0 // of block
	for steps := d.program.next(); len(steps) > 0; steps = d.program.next() {
		for _, c := range steps {
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
			k := at[c]
			place[k] = block[next]
			next++
			if at[c] = k + 1; (k+1)%column.BlockSize == 0 {
				d.encode(c)
			}
		}
	}
	in.left(block[next:])
	return nil
}
