package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/predict/cluster"
)

// ClassFlags are the options of classes as users write them. The zero value of each but Threshold is the default.
type ClassFlags struct {
	Threshold      string // 5% of the mean sum of a group's vectors, or a time: 10us, 500ticks
	Linkage        string // complete, average, single, centroid
	Metric         string // l1, l2
	Representative string // mean, medoid
	Sequence       string // calls, strict
	Quantum        string // a share, such as 1%
	MaxClasses     uint32
	Dendrogram     bool // all merges, above the threshold too
}

// Names of the choices, by value; the first is the default.
var (
	linkageNames        = []string{"complete", "average", "single", "centroid"}
	metricNames         = []string{"l1", "l2"}
	representativeNames = []string{"mean", "medoid"}
	sequenceNames       = []string{"calls", "strict"}
)

// ppm is the unit of shares.
const ppm = 1_000_000

// Parse returns the options, for a clock of so many ticks a second.
func (f *ClassFlags) Parse(resolution uint64) (ClassOptions, error) {
	var o ClassOptions
	o.MaxClasses, o.Full = f.MaxClasses, f.Dendrogram
	var choice [4]int
	for i, x := range []struct {
		flag, value string
		names       []string
	}{
		{"linkage", f.Linkage, linkageNames},
		{"metric", f.Metric, metricNames},
		{"representative", f.Representative, representativeNames},
		{"sequence", f.Sequence, sequenceNames},
	} {
		if x.value == "" {
			continue
		}
		if choice[i] = slices.Index(x.names, x.value); choice[i] < 0 {
			return o, fmt.Errorf("--%s %q: choose %s", x.flag, x.value, strings.Join(x.names, ", "))
		}
	}
	o.Linkage, o.Metric, o.Representative = cluster.Linkage(choice[0]), cluster.Metric(choice[1]), cluster.Representative(choice[2])
	o.Strict = choice[3] != 0
	if f.Threshold != "" {
		d, err := ccg.ParseDeviation(f.Threshold, max(resolution, 1))
		if err != nil || d.Num > 0 && d.Abs > 0 || d.TimeStamps {
			return o, fmt.Errorf("--classes %q: write a share below 100%%, such as 5%%, or a time, such as 10us or 500ticks", f.Threshold)
		}
		o.Threshold = cluster.Threshold{Absolute: d.Abs, PPM: share(d)}
	}
	if f.Quantum != "" {
		d, err := ccg.ParseDeviation(f.Quantum, 1)
		if err != nil || d.Num == 0 || d.Abs > 0 || d.TimeStamps {
			return o, fmt.Errorf("--quantum %q: write a share below 100%%, such as 1%%", f.Quantum)
		}
		o.Quantum = share(d)
	}
	return o, nil
}

// share returns a relative bound in millionths, rounded up.
func share(d ccg.Deviation) uint32 {
	if d.Num == 0 {
		return 0
	}
	return uint32((d.Num*ppm-1)/d.Den + 1) // Num < Den; nine decimals at most
}

// String names the options that decide the result.
func (o *ClassOptions) String() string {
	threshold := fmt.Sprintf("%dticks", o.Threshold.Absolute)
	if o.Threshold.PPM > 0 {
		threshold = fmt.Sprintf("%dppm", o.Threshold.PPM)
	}
	parts := []string{
		"threshold=" + threshold, "linkage=" + linkageNames[o.Linkage], "metric=" + metricNames[o.Metric],
		"representative=" + representativeNames[o.Representative],
	}
	if o.Strict {
		parts = append(parts, "sequence=strict")
	}
	if o.Quantum > 0 {
		parts = append(parts, fmt.Sprintf("quantum=%dppm", o.Quantum))
	}
	if o.MaxClasses > 0 {
		parts = append(parts, fmt.Sprintf("classes-max=%d", o.MaxClasses))
	}
	if o.Full {
		parts = append(parts, "dendrogram")
	}
	return strings.Join(parts, ",")
}
