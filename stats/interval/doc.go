// Package interval turns markers of a trace into intervals: a tree of nodes, their executions, and sums over them.
//
// # Tree
//
// A node is a piece of the program between two markers; its identity is the path of Keys from the root. Node 0 is the
// root: the whole program, whose only execution on a location reaches from the first to the last event. A node's
// number is greater than its parent's. Trees of all locations are merged, and the union numbered depth first (Number):
// children by earliest begin, then file, line, id, name. A tree has at most MaxNodes nodes.
//
// # Executions
//
// A location's executions are the rows of its IVAL array, the root's included, in the order of their begin; those of
// one instant in the order in which they were opened. While events pass they are borders (Border): the opening ones
// count the rows, a closing one names the row that it ends. A node is open at most once at a time, but two families of
// nodes may be open without being nested: markers, and those derived from time or from operations.
//
// # Markers
//
// Flags are what a user asks for, Options the same checked, a Plan the same for the definitions of one trace: which
// regions, parameters and communicators mark intervals, which borders are known beforehand. The Recognizer of a
// location finds markers among its records, the Stack turns begins and ends into nodes:
//
//	o, err := flags.Parse()
//	p, err := interval.NewPlan(defs, o)
//	r, s := interval.NewRecognizer(p), interval.NewStack(p)
//	if r.Send(self, comm, tag)&interval.Whole != 0 && !r.Mark().End { node, _ := s.Begin(r.Mark().Key) }
//
// Instants are the caller's, for they need the calls around the records. docs/markers.md has the forms.
//
// # Components and sums
//
// Components hold a value per node and item. Sums attributes what happens on a location to the executions that contain
// it, by one of three rules; t and x do not decrease, so rows of one location are walked once for each rule:
//
//	Point(t, item, v)       b <= t < e     counts, bytes, collectives
//	Completion(t, item, v)  b < t <= e     what is complete at t
//	Span(x, y, item)        clipped        times
//
//	s := interval.NewSums(rows, comps, xtf.ItemSendRecv)  // rows: a cursor over IVAL
//	for each receive { s.Completion(end, xtf.ItemSendRecv, v) }
//	err := s.Flush()
//
// No value of a location is more than xtf.Most.
//
// Memory: Tree 100 bytes per node and its names; Components 8 bytes per item of the format and node; Sums 16 bytes per
// item of it and open execution, 16 per span in progress.
//
// Nothing here is safe for concurrent use.
package interval
