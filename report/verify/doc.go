// Package verify compares what a file says twice, to the last row, for coppice check: sums with the rows that they stand for,
// messages with their partners, totals of the run with those of its locations, time bins with tiles, the call graph with the rows. What
// does not agree is a Contradiction.
package verify
