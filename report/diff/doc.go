// Package diff compares two runs by interval, region and pattern of waits: what got worse, by how much, and why. It also decides
// conditions about two runs.
package diff
