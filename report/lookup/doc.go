// Package lookup answers questions about instants and spans of time without unfolding a run: which calls are open (Stack), what
// processes did (Window from the call graph, Statistics from the indexes of rows), a picture of them, one call of a region, and a
// walk from event to event. Every number comes with a bound of its error.
package lookup
