// Package interval turns markers of a trace into intervals: a Tree of nodes, the executions of these, and Components, sums over
// executions.
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
// A location's executions are the rows of its IVAL array, with that of the root, in the order of their begins; at one instant in the order
// in which they were opened. While the location is loaded they are stored as borders (Border), from which RowWriter makes the rows when
// nodes have their final numbers. A begin border counts a row, an end border names the row that it ends. A node has at most one open
// execution. Executions are nested within two families of nodes, but not across them: markers, and those derived from time or from
// operations.
//
// # Markers
//
// Flags are what a user asks for. Options are the same, checked. A Plan applies them to the definitions of one trace: which regions,
// parameters and communicators mark intervals, and which borders are known beforehand. The Recognizer of a location finds markers
// among its records, the Stack turns begins and ends into nodes:
//
//	o, err := flags.Parse()
//	p, err := interval.NewPlan(defs, o)
//	r, s := interval.NewRecognizer(p), interval.NewStack(p)
//	if r.Send(self, comm, tag)&interval.Whole != 0 && !r.Mark().End { node, _ := s.Begin(r.Mark().Key) }
//
// The caller knows the instants, which depend on the calls around the records. docs/markers.md has the forms.
//
// # Components and sums
//
// Components hold a value for each node and item. Sums adds what happens on a location to the executions [b, e) that contain it, by one
// of three rules. t and x must not decrease, so there is one walk over the rows of a location for each rule:
//
//	Point(t, item, v)       if b <= t < e    counts, bytes, collectives
//	Completion(t, item, v)  if b < t <= e    what is complete at t
//	Span(x, y, item)        the common part  times
//
//	s := interval.NewSums(rows, comps, xtf.ItemSendRecv)  // rows: a cursor over IVAL
//	for each receive { s.Completion(end, xtf.ItemSendRecv, v) }
//	err := s.Flush()
//
// No value of a location is more than xtf.Most.
//
// Memory: Tree 100 bytes per node and its names; Components 8 bytes per node and item of the format; Sums 16 bytes per item of it and open
// execution, 16 per span in progress.
//
// Nothing here is safe for concurrent use.
package interval
