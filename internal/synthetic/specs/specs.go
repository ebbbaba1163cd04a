// Package specs holds specs of generated runs, for tests that go through all.
package specs

import "strings"

// Sound are specs of sound runs, of every program with every option.
var Sound = []string{
	"stencil:procs=1,iterations=30",
	"stencil:procs=4,iterations=30",
	"stencil:procs=12,events=20k,jitter=40,imbalance=30,seed=3",
	"stencil:procs=7,iterations=50,every=3,jitter=10,depth=4,metrics,parameters,io",
	"stencil:procs=6,threads=3,iterations=20,jitter=50,depth=2,chunk=200,io",
	"stencil:procs=4,events=2",
	"stencil:procs=1,events=2",
	"stencil:procs=3,events=30",
	"ring:procs=1,iterations=20",
	"ring:procs=5,iterations=40,jitter=60",
	"ring:procs=2,threads=2,iterations=40,every=7,jitter=60,bytes=1M,metrics,chunk=100",
	"wavefront:procs=1,iterations=20",
	"wavefront:procs=12,iterations=30,io",
	"wavefront:procs=15,iterations=30,threads=2,jitter=50,imbalance=20,metrics,chunk=100",
	"masterworker:procs=1,iterations=20",
	"masterworker:procs=2,iterations=20",
	"masterworker:procs=9,events=20k,jitter=40,io",
	"masterworker:procs=70,iterations=13,jitter=300,imbalance=100,threads=2,chunk=100",
	"irregular:procs=1,iterations=20",
	"irregular:procs=2,iterations=100",
	"irregular:procs=13,iterations=60,seed=7,jitter=10,io,parameters",
	"irregular:procs=16,events=40k,threads=2,metrics,depth=6,chunk=500",
	"ring:procs=64,events=20k,jitter=100,imbalance=100,every=4,chunk=100",
}

// Skewed is the spec of a run whose clocks differ by more than messages take.
const Skewed = "stencil:procs=6,iterations=50,jitter=20,skew=1M"

// Faulty returns specs of every program with every fault alone, and with all together.
func Faulty() []string {
	faults := "all open-call stray-leave backwards dangling-region dangling-comm unmatched-send unmatched-recv unknown-request open-request " +
		"short-collective mixed-collective bytes-differ wrong-count empty-location"
	var list []string
	for _, base := range []string{
		"stencil:procs=5,iterations=20,jitter=30", "ring:procs=2,iterations=9,io", "wavefront:procs=6,iterations=9,metrics",
		"masterworker:procs=6,iterations=30,jitter=100", "irregular:procs=7,iterations=10,threads=2", "stencil:procs=3,events=6",
	} {
		for fault := range strings.FieldsSeq(faults) {
			list = append(list, base+",chunk=200,broken="+fault)
		}
	}
	return list
}
