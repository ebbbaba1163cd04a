package main

import "math/rand/v2"

// A step does something with the result of a round.
type step struct {
	name   string
	always bool // without a result too
	large  bool // of large inputs too
	take   func(*round, *rand.Rand)
}

// steps are all there are; a round takes some of them in some order.
func steps() []step {
	return []step{
		{"same", false, true, stepSame},
		{"status", false, true, stepStatus},
		{"kill", false, true, stepKill},
		{"report", false, false, stepReport},
		{"query", false, false, stepQuery},
		{"export", false, false, stepExport},
		{"back", false, false, stepBack},
		{"slice", false, false, stepSlice},
		{"sources", false, false, stepSources},
		{"diff", false, false, stepDiff},
		{"predict", false, false, stepPredict},
		{"capacity", false, false, stepCapacity},
		{"plan", true, true, stepPlan},
		{"serve", false, false, stepServe},
		{"replay", true, false, stepReplay},
		{"damage", false, false, stepDamage},
	}
}
