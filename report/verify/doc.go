// Package verify compares what a file says twice, to the last row, for coppice check: sums with the rows that they add up,
// messages with their partners, totals of the run with those of its locations, time bins with tiles, the call graph with the
// rows. A disagreement is a Contradiction.
package verify
