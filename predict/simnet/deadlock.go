package simnet

// standstill is what one process waits for when the run stops. It goes to other ranks as it is.
type standstill struct {
	Blocked
	Bytes   uint64     // of a send by rendezvous of standard mode; 0 for all else
	Meeting meetingKey // that For has not entered, where Absent is set
	Absent  bool       // For is not known yet
}

// standstillOf begins the description of a process that waits, in an action of its call.
func (c *cursors) standstillOf(process uint32, p *place, action uint32) standstill {
	return standstill{Blocked: Blocked{Process: process, For: process, Call: p.calls - 1, Action: action, Node: c.node(p)}}
}

// awaited is the collective operation by its closed form that a process waits for: of several the first by communicator and number.
type awaited struct {
	meetingKey
	coll uint32
}

// waiting returns what the processes that wait in collective operations wait for.
func (a *assembly) waiting() map[uint32]awaited {
	list := map[uint32]awaited{}
	for key, m := range a.meetings {
		for _, w := range m.waiters {
			if old, ok := list[w.process]; !ok || key.Comm < old.Comm || key.Comm == old.Comm && key.Number < old.Number {
				list[w.process] = awaited{key, w.coll}
			}
		}
	}
	return list
}

// keeps notes who keeps a process in a collective operation: the root, or somebody who is not there.
func (s *standstill) keeps(c *code, w awaited) {
	if x := &c.colls[w.coll]; x.kind.spreads() {
		s.For = c.program.Comms[x.comm].Process(x.root)
		return
	}
	s.Meeting, s.Absent = w.meetingKey, true
}

// misses tells whether a process has not entered a collective operation.
func (a *assembly) misses(p *place, key meetingKey) bool {
	for j, port := range a.code.kinds[p.kind].colls {
		if a.code.ports[port].comm == key.Comm && int32(uint32(a.entered[p.collBase+uint32(j)])-key.Number) <= 0 {
			return true
		}
	}
	return false
}

// follow goes from a process that waits to the one it waits for, and reports the cycle, or the way where it ends at a process
// that does not wait. A cycle is broken when the smallest of its messages goes eagerly.
func follow(process uint32, blocked func(process uint32) (s standstill, ok bool, err error)) error {
	var way []standstill
	seen := map[uint32]int{}
	for {
		s, ok, err := blocked(process)
		if err != nil {
			return err
		}
		from, again := seen[process]
		if again {
			way = way[from:]
		}
		if again || !ok {
			break
		}
		seen[process] = len(way)
		way = append(way, s)
		process = s.For
	}
	d := &Deadlock{}
	for _, s := range way {
		d.Cycle = append(d.Cycle, s.Blocked)
		if s.Bytes > 0 && (d.Eager == 0 || s.Bytes < d.Eager) {
			d.Eager = s.Bytes
		}
	}
	return d
}
