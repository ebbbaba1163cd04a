//go:build race

package main

// underRace: the race detector makes everything ten times slower, so tests of
// many files take the small ones.
const underRace = true
