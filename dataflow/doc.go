// Package dataflow runs passes over all locations of a trace in which a location
// waits for values of others: the replay in an ideal network, costs of delays,
// the repair of clocks.
//
// # Model
//
// A location is a Walker. Walk goes through the operations of its location, in
// the order of time or backwards, until the end or until the first value that is
// not there; it is called again, at the same operation, when the value has come.
// Walkers talk through their Port only:
//
//	Send, Receive    one value for a receiving location under a key of its own, such as the row of the receive
//	Enter, Result    a collective operation: maximum over its members, the root's value, maximum over lower ranks
//	Reach            the position of the next operation, so that no location runs far ahead
//
// Results depend on what walkers compute, never on ranks or the order of arrival:
// a key has one value, and a location sees nothing but what it asked for (a Kahn
// network: G. Kahn, The semantics of a simple language for parallel programming,
// 1974).
//
//	type adder struct{ next trace.P }
//	func (a *adder) Walk(x *dataflow.Port) (bool, error) {
//		v, ok := uint64(0), true
//		if x.P() > 0 {
//			v, ok = x.Receive(0, x.P()-1)
//		}
//		if ok && int(a.next) < n {
//			x.Send(a.next, 0, v+1)
//		}
//		return ok, nil
//	}
//
// # Exchange
//
// Values for locations of other ranks are gathered into messages of at most
// batchBytes and sent when full, or when all locations of the rank have had their
// turn. A rank whose locations all wait sleeps in a receive. Collective values go
// up and down a binomial tree over the ranks that hold members: depth
// ceil(log2 ranks) in each direction, one message part per edge and instance.
// The tree turns with the root of the operation, or with the instance.
//
// That nobody can go on is found with waves of counts over a binomial tree of
// all ranks (F. Mattern, Algorithms for distributed termination detection, 1987,
// the four-counter method). Rank 0 then opens the next window, ends the pass, or
// collects who waits for whom: Report.Deadlock is a value, not an error.
//
// # Memory
//
// A window is a range of positions. No location enters it before all locations
// have done what they can in the one before, so a rank holds
//
//	80 bytes x (values under way at the border of the window + values that its locations get in the window),
//	+ 160 bytes x collective instances under way, and 8 for each member that waits, 12 for each step of a prefix
//	+ 4 bytes x ranks with members, for each communicator in use
//	+ batchBytes x ranks it sends to + messages that it has not taken yet: what fills an eighth of
//	Options.Budget, but leastAhead of each rank, + its walkers
//
// The first window is such that the values of the rank with most rows fill an
// eighth of Options.Budget, if they were spread evenly. The next one is half as wide
// when what a rank holds has grown by more than a quarter of the budget, and twice as
// wide when it has grown by less than a sixteenth on all ranks. A rank that holds
// more than a quarter, or another sixteenth, cuts the rest of the window to an
// eighth on all ranks, and the next window is no wider: those that give stop, those
// that take go on. What is under way at one position has to fit: above the budget the
// pass ends with ErrBudget on all ranks.
package dataflow
