// Package workload makes programs for the network simulator: those of the published comparisons. Its tests
// compare the simulator with published makespans.
//
// Times of computation are base plus a jitter that process and number determine, so that other simulators get the same
// input: with x = process·0x9E3779B97F4A7C15 + number·0xBF58476D1CE4E5B9, x ^= x>>31, x *= 0x94D049BB133111EB, x ^= x>>29
// in 64 bits, the time is base - j + x mod (2j+1).
package workload
