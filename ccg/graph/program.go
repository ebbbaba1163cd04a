package graph

import "fmt"

// Program is flat code for a walk through a location, which then does not have to read nodes: its steps are numbers that the user chooses,
// such as the column of the next gap or value. The code of a node is what an instance does after the gap and values of its begin. Short
// code of a node is repeated in that of its parents.
//
// Memory: 4 bytes for each step, 12 for each node; at most inlineSteps for each child.
type Program struct {
	code  []uint32 // runs: number of steps; the steps; the node whose code follows (of a Repeat count times), or 0 at the end of the code
	start []uint32 // of each node: its code is code[start[id]:start[id+1]]
	ops   []uint8  // of each node: steps and calls of its code, at most manyOps
	run   int      // for Compile: where the current run begins
	stack []codeFrame
	nodes *Store
}

// maxArg is the largest number of a step.
const maxArg = 1<<31 - 1

// inlineSteps is the longest code that is repeated in a node's parents; inlineFrom is the least number of instances of a parent for which
// it is.
const (
	inlineSteps = 16
	inlineFrom  = 4
	manyOps     = inlineSteps + 1
)

// Compile makes the program of a location whose nodes are all in column mode. steps returns the steps of a node: for entering it at a slot
// of its parent, or for leaving it.
func (p *Program) Compile(v *View, steps func(id, slot uint32, st Step) []int32) error {
	s := v.Nodes
	if s.Len() >= maxArg || len(v.Cols) >= maxArg {
		return fmt.Errorf("%d nodes, %d columns: %w", s.Len(), len(v.Cols), ErrLimit)
	}
	p.nodes, p.code, p.start, p.ops = s, p.code[:0], append(p.start[:0], 0), append(p.ops[:0], 0)
	for id := uint32(1); int(id) <= s.Len(); id++ {
		p.start = append(p.start, uint32(len(p.code)))
		p.begin()
		ops := 0
		slot := v.Slot[id]
		for _, c := range s.Children(id) {
			if v.IsReal(c) {
				ops += p.steps(steps(c, slot, StepOpen))
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
		if h := v.ShapeOf(id); h.Class == ClassCall && h.Cut {
			ops += p.steps(steps(id, slot, StepCut))
		} else if h.Class == ClassCall {
			ops += p.steps(steps(id, slot, StepClose))
		}
		p.code, p.ops = append(p.code, 0), append(p.ops, uint8(min(ops, manyOps)))
		if len(p.code) > maxArg {
			return fmt.Errorf("more than %d steps: %w", maxArg, ErrLimit)
		}
	}
	p.start = append(p.start, uint32(len(p.code)))
	return nil
}

func (p *Program) begin() {
	p.run = len(p.code)
	p.code = append(p.code, 0)
}

func (p *Program) steps(steps []int32) int {
	for _, c := range steps {
		p.code = append(p.code, uint32(c))
	}
	p.code[p.run] += uint32(len(steps))
	return len(steps)
}

// inline appends the code of a node.
func (p *Program) inline(id uint32) {
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

// inlined reports whether the code of a child is in that of its parent.
func (p *Program) inlined(v *View, id, parent uint32) bool {
	n := p.ops[id]
	return n == 0 || v.Nodes.Kind(id) != KindRepeat && (n <= 2 || n <= inlineSteps && v.Mult[parent] >= inlineFrom)
}

// codeFrame is code that is being executed.
type codeFrame struct {
	at, begin uint32
	left      uint64 // further repetitions
}

// Init moves to the begin of a location.
func (p *Program) Init(v *View) {
	p.stack = p.stack[:0]
	p.call(v.Root)
}

// call pushes the code of a node.
func (p *Program) call(id uint32) {
	p.stack = GrowOne(p.stack) // fields are set one by one, see Walker.Push
	f := &p.stack[len(p.stack)-1]
	f.at, f.begin, f.left = p.start[id], p.start[id], 0
	if p.nodes.Kind(id) == KindRepeat {
		f.left = p.nodes.Count(id) - 1
	}
}

// Next returns the next steps, at least one; none at the end.
func (p *Program) Next() []uint32 {
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

// Resume moves to the position of a cursor and returns the steps that follow. The program must have one step for each event.
func (p *Program) Resume(v *View, stack []Level) []uint32 {
	p.stack = p.stack[:0]
	p.call(v.Root)
	passed := uint32(0) // steps and calls in the current code
	for i := range stack {
		r, f, innermost := &stack[i], &p.stack[len(p.stack)-1], i+1 == len(stack)
		n := r.At // children, including the open one
		if r.Kind == KindRepeat {
			if f.left -= r.At; !innermost {
				f.left++
			}
			n = min(1, r.At)
		}
		for k, id := range v.Nodes.Children(r.Id)[:n] {
			if v.IsReal(id) {
				passed++
			}
			if uint64(k)+1 < n || innermost {
				if p.inlined(v, id, r.Id) {
					passed += uint32(p.ops[id])
				} else {
					passed++
				}
			}
		}
		if innermost {
			if r.Kind == KindRepeat {
				passed = 0
			}
		} else if id := stack[i+1].Id; !p.inlined(v, id, r.Id) {
			p.skip(f, passed+1)
			p.call(id)
			passed = 0
		}
	}
	rest := p.skip(&p.stack[len(p.stack)-1], passed)
	return p.Next()[rest:]
}

// skip skips steps and calls of a frame, up to the begin of a run. It returns how many are left to skip there.
func (p *Program) skip(f *codeFrame, n uint32) uint32 {
	for n > p.code[f.at] {
		n -= p.code[f.at] + 1
		f.at += p.code[f.at] + 2
	}
	return n
}
