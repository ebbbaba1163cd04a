package ccg

import "github.com/coppice-hpc/coppice/ccg/graph"

// Role says what Calls and Events of a node do to a stretch of time.
type Role uint8

// Roles.
const (
	Within    Role = iota // nothing: their time is part of the stretch
	Separates             // a stretch ends where they begin, the next one begins where they end
	Ends                  // a stretch ends where they begin, and their own time is told apart
)

// Stretches measures the time between some calls of a location, in one walk: of the outermost ones whose role is not Within,
// and of events outside of them. Memory: 8 KiB per column of times, 48 bytes per node in progress, and
// for an exact graph 12 bytes per node and 4 to 64 per child.
type Stretches struct {
	role    []Role // by node
	walk    *reading
	inside  int // open calls that separate or end, from the outermost on
	current Role
	last    bool   // the last stretch was given
	before  uint64 // ticks where the open call that ends a stretch began
	now     uint64 // when the walk's time began to count
	waits   [][2]uint64
	err     error
	program *graph.Program // of gaps, and of turns after the columns; nil: walk follows classes
	steps   []uint32       // of program: what comes next
}

// turn is where a role says something: a call or record that is not Within, and what the walk meets of it.
type turn uint32

func turnOf(st graph.Step, r Role) turn { return turn(st)<<2 | turn(r) }

// Stretches begins a walk; role has an entry for each node of the location's Structure, and one for node 0.
// What calls take does not count the waits, spans of time in their order.
func (l *Location) Stretches(role []Role, waits [][2]uint64) *Stretches {
	s := &Stretches{role: role, walk: l.read(0), now: uint64(l.first), waits: waits}
	v := l.view
	if v.Tables != nil {
		return s
	}
	p, turns, steps := &graph.Program{}, int32(len(v.Cols)), make([]int32, 0, 2)
	err := p.Compile(v, func(id, slot uint32, st graph.Step) []int32 {
		steps = steps[:0]
		if st != graph.StepCut {
			steps = append(steps, v.Column[slot])
		}
		if st == graph.StepOpen && v.Nodes.Kind(id) == graph.KindEvent {
			st = graph.StepEvent
		}
		if role[id] != Within {
			steps = append(steps, turns+int32(turnOf(st, role[id])))
		}
		return steps
	})
	if err == nil {
		s.program = p
		p.Init(v)
	}
	return s
}

// Next writes the next stretches, ticks, to dst and returns their number: all that there are, or as many as dst has room for.
// What the call after a stretch took goes to own, which is as long as dst: 0 unless its role is Ends. There is one stretch more
// than there are calls and events between stretches: the last one ends with the location.
func (s *Stretches) Next(dst, own []uint64) (int, error) {
	n := 0
	for n < len(dst) && !s.last && s.err == nil {
		var t turn
		if s.program != nil {
			t, s.last = s.runProgram()
		} else {
			st, id, _ := s.walk.step()
			if s.last = st == graph.StepEnd; !s.last {
				t = turnOf(st, s.role[id])
			}
		}
		if s.last {
			dst[n], own[n] = s.walk.time, 0
			n++
		} else if s.turn(graph.Step(t>>2), Role(t&3), &dst[n], &own[n]) {
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

// runProgram passes gaps up to a turn; it reports whether the location ends there.
func (s *Stretches) runProgram() (t turn, last bool) {
	cursors := s.walk.cursors
	for {
		for i, c := range s.steps {
			if int(c) >= len(cursors) {
				s.steps = s.steps[i+1:]
				return turn(int(c) - len(cursors)), false
			}
			s.walk.pass(cursors[c].Next())
		}
		if s.steps = s.program.Next(); len(s.steps) == 0 {
			return 0, true
		}
	}
}

// turn passes a call or record, whose gap is in the time, and reports whether a stretch ended.
func (s *Stretches) turn(st graph.Step, r Role, dst, own *uint64) (ended bool) {
	if r == Within {
		return false
	}
	switch st {
	case graph.StepOpen:
		if s.inside++; s.inside > 1 {
			return false
		}
		s.before, s.current = s.walk.time, r
		*dst, *own, ended = s.before, 0, r == Separates
	case graph.StepEvent:
		if s.inside > 0 {
			return false
		}
		*dst, *own, ended = s.walk.time, 0, true
	default:
		if s.inside--; s.inside > 0 {
			return false
		}
		var idle uint64
		idle, s.waits = Idle(s.waits, s.now, s.now+s.walk.time)
		*dst, *own, ended = s.before, s.walk.time-idle, s.current == Ends
	}
	s.now += s.walk.time
	s.walk.time = 0
	return ended
}

// Idle returns how much of a time span lies in waits, which are spans in their order, and those that are not over.
func Idle(waits [][2]uint64, begin, end uint64) (idle uint64, rest [][2]uint64) {
	for ; len(waits) > 0 && waits[0][0] < end; waits = waits[1:] {
		from, to := max(waits[0][0], begin), min(waits[0][1], end)
		if idle += max(from, to) - from; waits[0][1] > end {
			break
		}
	}
	return min(idle, end-begin), waits
}

// Bound returns how far the sum of all stretches may be from the truth, ticks: 0 if the graph is lossless.
func (l *Location) Bound(ticks uint64) uint64 {
	return l.shared.Opt.Deviation.StoredBound(l.view.Events, ticks)
}
