package main

import "math/rand/v2"

// A step does something with the result of a round.
type step struct {
	name   string
	always bool // without a result too
	take   func(*round, *rand.Rand)
}

// steps are all there are; a round takes some of them in some order.
func steps() []step {
	return []step{
		{"same", false, stepSame},
		{"status", false, stepStatus},
		{"kill", false, stepKill},
		{"report", false, stepReport},
		{"query", false, stepQuery},
		{"export", false, stepExport},
		{"back", false, stepBack},
		{"slice", false, stepSlice},
		{"sources", false, stepSources},
		{"diff", false, stepDiff},
		{"predict", false, stepPredict},
		{"capacity", false, stepCapacity},
		{"plan", true, stepPlan},
		{"serve", false, stepServe},
		{"damage", false, stepDamage},
	}
}
