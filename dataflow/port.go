package dataflow

import (
	"github.com/coppice-hpc/coppice/trace"
)

// Walker is the program of one location.
type Walker interface {
	// Walk goes on with the operation where it stood. It returns false after a method of x said that something is not
	// there yet, and true at the end. It is called from one goroutine of the rank. An error ends the pass everywhere.
	Walk(x *Port) (end bool, err error)
}

// Kind is what a collective operation computes, and who gets it.
type Kind uint8

// Kinds of collectives. The root is a member like the others.
const (
	MaxToAll   Kind = iota // the greatest value of all members, to all
	RootToAll              // the root's value, to all others; their own values do not count
	MaxToRoot              // the greatest value of all members, to the root alone
	PrefixMax              // the greatest value of the members up to the own communicator rank, to each
	countKinds             // not a kind
)

// Collective names one instance of a collective operation. All members give the
// same.
type Collective struct {
	Comm    uint32
	Ordinal uint64 // number of the instance on the communicator
	Kind    Kind
	Root    uint32 // communicator rank, where the kind has a root
}

func (k Kind) rooted() bool { return k == RootToAll || k == MaxToRoot }

// Port is the side of a location towards the others. Its methods are for Walk
// alone. A method that says false has noted what the location waits for, and
// Walk is to return then.
type Port struct {
	e *engine
	p trace.P
	n int // place in e.places
}

// P is the location.
func (x *Port) P() trace.P { return x.p }

// Reach says that the next operation is at this position, which must not
// decrease; passes that go backwards count from the end. It is false while the
// window does not contain it.
func (x *Port) Reach(at uint64) bool {
	x.e.pace()
	s := &x.e.places[x.n]
	s.at = min(at, noNext-1)
	if s.at > x.e.end {
		s.state = throttled
		return false
	}
	return true
}

// Send gives location to the value of a key. A key of a location gets one value
// only.
func (x *Port) Send(to trace.P, key, v uint64) {
	e := x.e
	if e.err != nil {
		return
	}
	if n, ok := e.local(to); ok {
		e.put(n, box{valueSpace, key}, v)
		return
	}
	e.sendValue(to, key, v)
}

// Receive takes the value of a key that location from gives.
func (x *Port) Receive(key uint64, from trace.P) (uint64, bool) {
	v, ok := x.e.mail.take(slotKey{uint32(x.n), valueSpace, key})
	if !ok {
		x.e.places[x.n].wait(box{valueSpace, key}, from)
	}
	return v, ok
}

// Enter takes part in a collective with this value. It is false, and nothing
// happens, where the location's process is not a member, or the definitions do
// not tell the members: of inter-communicators, and of those with one process.
func (x *Port) Enter(c Collective, v uint64) bool { return x.e.enter(x.p, c, v) }

// Result is the result of a collective for this location, which has entered it;
// it can be taken once. It is 0 at once for a location that gets none: by the
// kind of the operation, or because Enter was false.
func (x *Port) Result(c Collective) (uint64, bool) {
	b := box{collSpace | uint64(c.Comm), c.Ordinal}
	v, ok := x.e.mail.take(slotKey{uint32(x.n), b.space, b.key})
	if !ok {
		if !x.e.gets(x.p, &c) {
			return 0, true
		}
		x.e.places[x.n].wait(b, trace.Undefined)
	}
	return v, ok
}
