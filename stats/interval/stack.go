package interval

import "github.com/coppice-hpc/coppice/trace"

// Stack is the open executions of one location between markers, and the tree of their nodes.
//
// Time: O(1) for a begin, amortised O(1) for an end.
type Stack struct {
	Tree *Tree
	fold bool
	open []opened
	ids  map[match]int // number of open ones that an end would match
	prv  int           // number of open ones of FormParaver
}

// opened is an open execution.
type opened struct {
	key  Key
	node uint32 // None: it does not count
	top  uint32 // innermost node that counts, at this height
}

// match is the part of a key that an end names.
type match struct {
	id   uint64
	name string
}

func (k *Key) end() match { return match{k.ID, k.Name} }

// NewStack returns the empty stack of a location.
func NewStack(p *Plan) Stack { return Stack{Tree: NewTree(), fold: p.Fold, ids: map[match]int{}} }

// Len returns the number of open executions, also of those that do not count.
func (s *Stack) Len() int { return len(s.open) }

// Begin opens an execution. The node is None if the execution does not count: for a folded recursion, or at the limits of the tree, when
// code is not 0.
func (s *Stack) Begin(k Key) (node uint32, code trace.Code) {
	m, parent := k.end(), uint32(0)
	if n := len(s.open); n > 0 {
		parent = s.open[n-1].top
	}
	node = None
	if !s.fold || !s.isOpen(m, k) {
		if node = s.Tree.Child(parent, k); node == None {
			code = trace.DiagIntervalLimit
		}
	}
	top := node
	if node == None {
		top = parent
	}
	s.open = append(s.open, opened{k, node, top})
	s.ids[m]++
	if k.Form == FormParaver {
		s.prv++
	}
	return node, code
}

// isOpen reports whether an execution with this key is open.
func (s *Stack) isOpen(m match, k Key) bool {
	if s.ids[m] == 0 {
		return false
	}
	for n := s.Top(); n != 0; n = s.Tree.Node(n).Parent {
		if s.Tree.Node(n).identity() == k.identity() {
			return true
		}
	}
	return false
}

// Top returns the innermost open node that counts, 0 for none.
func (s *Stack) Top() uint32 {
	if n := len(s.open); n > 0 {
		return s.open[n-1].top
	}
	return 0
}

// Find returns the height to which an end pops: executions from there on end. It
// is false if none has this id and name.
func (s *Stack) Find(k Key) (height int, ok bool) {
	m := k.end()
	if s.ids[m] == 0 {
		return 0, false
	}
	height = len(s.open) - 1
	for s.open[height].key.end() != m {
		height--
	}
	return height, true
}

// NewestEvent returns the key of the innermost execution that a Paraver event of this name began.
func (s *Stack) NewestEvent(name string) (Key, bool) {
	for i, left := len(s.open)-1, s.prv; left > 0; i-- {
		o := &s.open[i]
		if o.key.Form != FormParaver {
			continue
		}
		if left--; o.key.Name == name {
			return o.key, true
		}
	}
	return Key{}, false
}

// Pop ends the innermost execution. It returns its key, and its node; None if it did not count.
func (s *Stack) Pop() (node uint32, k Key) {
	n := len(s.open) - 1
	o := s.open[n]
	s.open = s.open[:n]
	m := o.key.end()
	if s.ids[m]--; s.ids[m] == 0 {
		delete(s.ids, m)
	}
	if o.key.Form == FormParaver {
		s.prv--
	}
	return o.node, o.key
}

// Restart empties the stack and the tree, and returns the keys of the executions that were open, outermost first.
func (s *Stack) Restart() []Key {
	keys := make([]Key, len(s.open))
	for i := range s.open {
		keys[i] = s.open[i].key
	}
	*s = Stack{Tree: NewTree(), fold: s.fold, ids: map[match]int{}}
	return keys
}
