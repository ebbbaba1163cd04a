// Package scaling compares several runs of one program with different numbers of processes: efficiencies against the smallest
// run, split by hardware counters where there are some, and how times grow.
package scaling
