package ccg

// Role says what Calls and Events of a node do to a stretch of time.
type Role uint8

// Roles.
const (
	Within    Role = iota // nothing: their time is part of the stretch
	Separates             // a stretch ends where they begin, the next one begins where they end
	Ends                  // a stretch ends where they begin, and their own time is told apart
)

// Stretches measures the time between some calls of a location, in one walk: of the outermost ones whose role is not Within,
// and of events outside of them. Memory: 8 KiB per column of times, 64 bytes per node in progress, and
// for an exact graph up to 64 bytes per child of a node, twice.
type Stretches struct {
	loc     *Location
	role    []Role // by node
	walk    *reading
	inside  int // calls open, from the outermost that separates or ends
	current Role
	last    bool   // the last stretch was given
	before  uint64 // ticks where the open call that ends a stretch began
	err     error
	code    *stretchCode // nil: walk follows classes
	frame   codeFrame
	frames  []codeFrame
}

// Stretches begins a walk; role has an entry for each node of the location's Structure, and one for node 0.
func (l *Location) Stretches(role []Role) *Stretches {
	s := &Stretches{loc: l, role: role, walk: l.read(0)}
	if l.view.tables == nil {
		p := &stretchCode{}
		if p.compile(l.view, role) {
			root := l.view.root
			s.code, s.frame = p, codeFrame{at: p.start[codeOutside][root], begin: p.start[codeOutside][root], end: p.end[codeOutside][root]}
			return s
		}
	}
	return s
}

// Next writes the next stretches, ticks, to dst and returns their number: all that there are, or as many as dst has room for.
// What the call after a stretch took goes to own, which is as long as dst: 0 unless its role is Ends. There is one stretch more
// than there are calls and events between stretches: the last one ends with the location.
func (s *Stretches) Next(dst, own []uint64) (int, error) {
	if s.code != nil && !s.last && s.err == nil {
		return s.runCode(dst, own)
	}
	n := 0
	for n < len(dst) && !s.last && s.err == nil {
		st, id, _ := s.walk.step()
		if st == stepEnd {
			s.last = true
			dst[n], own[n] = s.walk.time, 0
			n++
		} else if s.step(st, id, &dst[n], &own[n]) {
			n++
		}
		if s.last || s.walk.over {
			s.err = s.walk.err()
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return n, nil
}

// step passes an event, whose gap is in the time, and reports whether a stretch ended.
func (s *Stretches) step(st step, id uint32, dst, own *uint64) bool {
	if s.inside > 0 {
		switch st {
		case stepOpen:
			s.inside++
		case stepClose, stepCut:
			if s.inside--; s.inside == 0 {
				*dst, *own = s.before, s.walk.time
				s.walk.time = 0
				return s.current == Ends
			}
		}
		return false
	}
	r := s.role[id]
	if r == Within || st == stepClose || st == stepCut {
		return false
	}
	ended := st == stepEvent || r == Separates
	if ended {
		*dst, *own = s.walk.time, 0
	}
	s.before, s.walk.time = s.walk.time, 0
	if st == stepOpen {
		s.inside, s.current = 1, r
	}
	return ended
}

// Bound returns how far the sum of all stretches may be from the truth, ticks: 0 if the graph is lossless.
func (l *Location) Bound(ticks uint64) uint64 {
	return l.shared.opt.Deviation.StoredBound(l.view.events, ticks)
}
