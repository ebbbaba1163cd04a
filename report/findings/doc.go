// Package findings says what a run could gain: losses of 1 % of the run or more with their evidence, where they are, who causes them,
// and advice, which is one table in advice.go; and what a trace cannot tell. docs/metrics.md has the formula of each kind.
package findings
