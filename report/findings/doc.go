// Package findings says what a run could gain: losses of at least 1 % of the run, with evidence, place, cause, and advice, which
// is one table in advice.go. It also says what a trace cannot tell. docs/metrics.md has the formula of each kind of finding.
package findings
