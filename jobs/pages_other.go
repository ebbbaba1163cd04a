//go:build !linux || race

package jobs

// askHugePages does nothing. With the race detector, the heap would cost memory of the detector too.
func askHugePages(int64) {}
