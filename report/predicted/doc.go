// Package predicted has the value of a prediction, its tables and its picture, and conditions about it. Package predict computes
// the prediction.
package predicted
