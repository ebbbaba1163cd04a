// Package diff puts two runs side by side, by interval, region and pattern of waits: what got worse, by how much, and what made it so;
// and decides conditions about both.
package diff
