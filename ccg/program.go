package ccg

import "fmt"

// program is what a location's events do with its streams, in flat steps, so that
// the distributing walk need not look at nodes. The code of a node is what an
// instance does after the gap and values of its begin; short code of children
// stands in that of their parents.
//
// Memory: 4 bytes per step and node; inlineSteps per child at most.
type program struct {
	code  []uint32 // argument << opBits | operation
	start []uint32 // by node: code[start[id]:start[id+1]]
}

// Operations.
const (
	opGap     = iota // next gap to column
	opValue          // next value to column
	opPayload        // so many words of the payload to their column
	opCall           // the code of a node, of a Repeat count times

	opBits = 2
	maxArg = 1<<(32-opBits) - 1
)

// inlineSteps is the longest code that is repeated in a node's parents, inlineFrom
// the instances that a parent must have to be worth it.
const (
	inlineSteps = 16
	inlineFrom  = 4
)

// compile makes the program of a location whose nodes are all in column mode.
func (p *program) compile(v *view) error {
	s := v.nodes
	if s.len() >= maxArg || len(v.cols) >= maxArg {
		return fmt.Errorf("%d nodes, %d columns: %w", s.len(), len(v.cols), ErrLimit)
	}
	p.code, p.start = p.code[:0], append(p.start[:0], 0)
	for id := uint32(1); int(id) <= s.len(); id++ {
		p.start = append(p.start, uint32(len(p.code)))
		slot := v.slot[id]
		for _, c := range s.children(id) {
			p.child(v, c, v.column[slot], v.mult[id] >= inlineFrom)
			slot++
		}
		if h := v.shapeOf(id); h.class == classCall && !h.cut {
			p.step(opGap, uint32(v.column[slot]))
			p.extra(v, h, id, stepClose)
		}
		if len(p.code) > maxArg {
			return fmt.Errorf("more than %d steps: %w", maxArg, ErrLimit)
		}
	}
	p.start = append(p.start, uint32(len(p.code)))
	return nil
}

func (p *program) step(op, arg uint32) { p.code = append(p.code, arg<<opBits|op) }

// child appends what an instance of a child does.
func (p *program) child(v *view, id uint32, column int32, inline bool) {
	k := v.nodes.kind(id)
	if k <= kindEvent {
		p.step(opGap, uint32(column))
		p.extra(v, v.shapeOf(id), id, stepOpen)
	}
	code := p.code[p.start[id]:p.start[id+1]]
	if len(code) == 0 {
		return
	}
	if k != kindRepeat && (len(code) <= 2 || inline && len(code) <= inlineSteps) {
		p.code = append(p.code, code...)
		return
	}
	p.step(opCall, id)
}

// extra appends the values and bytes of one record, enter or leave.
func (p *program) extra(v *view, h *shape, id uint32, st step) {
	at, n := v.valueSlots(h, id, st)
	for _, c := range v.column[at : at+n] {
		p.step(opValue, uint32(c))
	}
	words := h.payload
	if st == stepClose {
		words = h.leavePayload
	}
	if words > 0 {
		p.step(opPayload, uint32(words)) // at most maxSurplus / 4
	}
}

// frame is code under way.
type codeFrame struct {
	at, begin, end uint32
	left           uint64 // times to do it again
}

// walk deals out the streams: the k-th event takes the k-th gap and its values.
func (d *Distributor) walk(v *view, l *Local) error {
	p := &d.program
	if err := p.compile(v); err != nil {
		return err
	}
	in := streams{gaps: l.gaps, values: l.values, payload: l.payload}
	marks := d.marks(v)
	writers := d.writers
	stack := d.stack[:0]
	f := codeFrame{at: p.start[v.root], begin: p.start[v.root], end: p.start[v.root+1]}
	for !in.bad {
		if f.at == f.end {
			switch {
			case f.left > 0:
				f.left--
				f.at = f.begin
			case len(stack) > 0:
				f = stack[len(stack)-1]
				stack = stack[:len(stack)-1]
			default:
				d.stack = stack
				return in.finished()
			}
			continue
		}
		op := p.code[f.at]
		f.at++
		switch arg := op >> opBits; op & (1<<opBits - 1) {
		case opGap:
			gap := in.varint(&in.gaps)
			writers[arg].Add(gap)
			marks.add(gap)
		case opValue:
			writers[arg].Add(in.varint(&in.values))
		case opPayload:
			d.words(v, uint64(arg), &in)
		case opCall:
			stack = append(stack, f)
			f = codeFrame{at: p.start[arg], begin: p.start[arg], end: p.start[arg+1]}
			if v.nodes.kind(arg) == kindRepeat {
				f.left = v.nodes.count(arg) - 1
			}
		}
	}
	return fmt.Errorf("streams shorter than the structure: %w", ErrCorrupt)
}
