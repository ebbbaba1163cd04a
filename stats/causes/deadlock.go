package causes

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Deadlock says why a replay did not come to its end.
type Deadlock struct {
	Stuck uint64 // number of locations that wait
	// Chain begins with the lowest location that waits. Each one waits for the next one, the last one for that at index Cycle. Cycle is
	// len(Chain) if the last one waits for a location that has ended or is unknown.
	Chain []Stuck
	Cycle int
}

// mostChain bounds Deadlock.Chain.
const mostChain = 64

// Stuck is a location that waits.
type Stuck struct {
	P       trace.P
	At      uint64 // enter of its call, ticks
	Comm    uint32 // of the collective whose result it waits for, else trace.Undefined
	Key     uint64 // ordinal of the collective, or row of the message
	For     trace.P
	waiting bool // known to wait
}

func (d *Deadlock) String() string {
	s := fmt.Sprintf("%d locations wait:", d.Stuck)
	for i, x := range d.Chain {
		if i == d.Cycle {
			s += " ["
		}
		s += fmt.Sprintf(" %d at %d", x.P, x.At)
		if x.Comm != trace.Undefined {
			s += fmt.Sprintf(" in collective %d of communicator %d", x.Key, x.Comm)
		}
		if x.For != trace.Undefined {
			s += fmt.Sprintf(" for %d;", x.For)
		}
	}
	if d.Cycle < len(d.Chain) {
		s += " ] in a cycle"
	}
	return s
}

// deadlock returns on all ranks the deadlock in the last crossing, which only rank root has; nil if no location waits. Collective.
func (f *flow) deadlock(last *crossing, root int) (*Deadlock, error) {
	var found []byte
	if last != nil {
		all := make([]Stuck, len(last.places))
		n := uint64(0)
		for p := range last.places {
			x := &last.places[p]
			if len(x.rest) == 0 {
				continue
			}
			o := &x.rest[0]
			all[p] = Stuck{P: trace.P(p), At: x.enter, Comm: trace.Undefined, Key: o.key, For: trace.P(o.peer), waiting: true}
			if o.kind != stepNeed && o.kind != stepDrop {
				all[p].Comm, all[p].For = o.peer, trace.Undefined
			}
			n++
		}
		if n > 0 {
			found = f.chain(all, n)
		}
	}
	c := f.r.Comm
	if root > 0 && c.Rank() == root {
		if err := c.Send(found, 0, tagCrossing); err != nil {
			return nil, err
		}
	}
	if root > 0 && c.Rank() == 0 {
		var err error
		if found, _, err = c.Recv(root, tagCrossing); err != nil {
			return nil, err
		}
	}
	found, err := c.Bcast(found, 0)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	d := &Deadlock{}
	return d, json.Unmarshal(found, d)
}

// chain follows who waits for whom, from the lowest location that waits, and encodes the Deadlock.
func (f *flow) chain(all []Stuck, n uint64) []byte {
	p := trace.P(slices.IndexFunc(all, func(s Stuck) bool { return s.waiting }))
	var list []Stuck
	seen := make(map[trace.P]int)
	cycle := -1
	for cycle < 0 {
		s := all[p]
		if s.Comm != trace.Undefined {
			s.For = f.missing(all, &s)
		}
		seen[p] = len(list)
		list = append(list, s)
		if uint64(s.For) >= uint64(len(all)) || !all[s.For].waiting {
			cycle = len(list)
		} else if at, ok := seen[s.For]; ok {
			cycle = at
		}
		p = s.For
	}
	if over := len(list) - mostChain; over > 0 && cycle < len(list) {
		list = list[min(over, cycle):] // the cycle, as far as it fits
		cycle -= min(over, cycle)
	}
	if len(list) > mostChain {
		list, cycle = list[:mostChain], mostChain
	}
	b, _ := json.Marshal(&Deadlock{Stuck: n, Chain: list, Cycle: cycle}) // numbers
	return b
}

// missing returns a location that has not come to a collective: one of the lowest member of which no location waits in it.
func (f *flow) missing(all []Stuck, x *Stuck) trace.P {
	list := f.defs.Processes()
	for _, process := range f.defs.CommMembers(x.Comm) {
		if uint64(process) >= uint64(len(list)) {
			continue
		}
		absent, inside := trace.P(trace.Undefined), false
		for p := list[process].First; int(p) < len(all); p++ {
			if q, _ := f.defs.Process(p); q != process {
				break
			}
			s := &all[p]
			inside = inside || s.waiting && s.Comm == x.Comm && s.Key == x.Key
			if absent == trace.Undefined || s.waiting && !all[absent].waiting {
				absent = p
			}
		}
		if !inside && absent != trace.Undefined {
			return absent
		}
	}
	return trace.Undefined
}
