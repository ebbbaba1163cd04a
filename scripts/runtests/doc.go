// Command runtests is the work of scripts/test: it runs a list of steps, goes on after a failure, and prints what
// passed, failed and was skipped. The steps are in one table, in steps.go.
//
// A step is either commands that must end with status 0, which counts as one check, or a run of go test, which counts
// its tests: those without subtests, examples and fuzz seeds included. A package that does not build or dies outside
// of a test counts as one failure. The last line is "N passed, N failed, N skipped"; the exit status is 0 only without
// failures.
//
// Steps that compile more than they test run aside: one after the other, with less priority, next to the steps after them, which now and
// then leave a core idle. So the times of all steps add up to more than the whole takes; the processor times do not.
//
// The log of each step is out/test/STEP.log.
package main
