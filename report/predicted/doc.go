// Package predicted has the value of a prediction, its tables and picture, and conditions about it. Package predict computes it.
package predicted
