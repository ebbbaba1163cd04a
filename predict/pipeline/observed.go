package pipeline

import (
	"errors"
	"fmt"
	"sort"
)

// ErrNoJob means that the processes of a run have different numbers of jobs.
var ErrNoJob = errors.New("no jobs that all processes have equally many of")

// Observed is a recorded run: what extraction of a model starts from. Times are seconds.
type Observed struct {
	Input string // what the run is known by
	Ranks []ObservedRank
}

// ObservedRank is one process.
type ObservedRank struct {
	Node        string // that it ran on
	Class       string // of processes that compute alike; "": not known
	Begin, End  float64
	Jobs        []ObservedSpan       // what of it each job is, in order, without overlap; none: the run is one job
	Messages    []ObservedMessage    // in the order in which they end
	Collectives []ObservedCollective // likewise
	Waits       []ObservedWait       // in order, without overlap; they lie in calls
	Calls       []ObservedSpan       // of the message library, in order, without overlap
	Files       []ObservedSpan       // operations on files, likewise
}

// ObservedMessage is one side of a message.
type ObservedMessage struct {
	Peer       int // rank
	Send       bool
	Begin, End float64 // of the call that sends it, or that ends with it received
	Bytes      uint64
	Row, Mate  uint64 // what this side is known by on its rank, and the other side on the peer
	Function   string // of the call
	// Awaited sends end only when their receiver has come to its call, or has posted it; Done is the end of the call that sees
	// that.
	Awaited bool
	Done    float64
	Ready   float64 // of a receive: from when on it does not keep its sender waiting
}

// Flow says which members of a collective operation need which.
type Flow uint8

// The flows.
const (
	AllToAll Flow = iota
	OneToAll      // all need the root
	AllToOne      // the root needs all
	Prefix        // each needs those of lower rank
	NoFlow        // nobody needs anybody
)

// ObservedCollective is one member of a collective operation.
type ObservedCollective struct {
	Begin, End float64 // of its call
	Comm       uint32
	Ordinal    uint64 // on the communicator; all members have the same
	Flow       Flow
	Root       bool // this member is
	Function   string
}

// ObservedSpan is a piece of time.
type ObservedSpan struct{ Begin, End float64 }

// ObservedWait is time in which a process waited for another one.
type ObservedWait struct {
	ObservedSpan
	InSend bool // for a receiver that was not ready
}

// talks says whether the rank has a part in communication.
func (r *ObservedRank) talks() bool { return len(r.Messages)+len(r.Collectives) > 0 }

// jobs cuts the run into jobs: each is an Observed with what of the run belongs to it, by the end of the call, sharing the
// slices. Ranks that communicate must have equally many.
func (o *Observed) jobs() ([]*Observed, error) {
	count, first := 0, -1
	for r := range o.Ranks {
		x := &o.Ranks[r]
		switch n := len(x.Jobs); {
		case !x.talks():
		case first < 0:
			count, first = n, r
		case n != count:
			return nil, fmt.Errorf("%w: process %d has %d of them, process %d has %d", ErrNoJob, first, count, r, n)
		}
	}
	if count == 0 {
		return []*Observed{o}, nil
	}
	list := make([]*Observed, count)
	for k := range list {
		list[k] = &Observed{Input: o.Input, Ranks: make([]ObservedRank, len(o.Ranks))}
		for r := range o.Ranks {
			if x := &o.Ranks[r]; k < len(x.Jobs) {
				list[k].Ranks[r] = x.in(x.Jobs[k])
			}
		}
	}
	return list, nil
}

// in is what of a rank lies in a span.
func (r *ObservedRank) in(s ObservedSpan) ObservedRank {
	return ObservedRank{
		Node: r.Node, Class: r.Class, Begin: s.Begin, End: s.End,
		Messages:    within(r.Messages, s, func(m *ObservedMessage) float64 { return m.End }),
		Collectives: within(r.Collectives, s, func(c *ObservedCollective) float64 { return c.End }),
		Waits:       within(r.Waits, s, func(w *ObservedWait) float64 { return w.End }),
		Calls:       within(r.Calls, s, func(c *ObservedSpan) float64 { return c.End }),
		Files:       within(r.Files, s, func(c *ObservedSpan) float64 { return c.End }),
	}
}

// within are the entries that end in a span, of a list in that order.
func within[T any](list []T, s ObservedSpan, end func(*T) float64) []T {
	find := func(t float64) int { return sort.Search(len(list), func(i int) bool { return end(&list[i]) > t }) }
	a, b := find(s.Begin), find(s.End)
	return list[a:max(a, b)]
}
