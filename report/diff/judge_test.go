package diff

import (
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// judged makes a comparison of one interval, in a run of 1000 s, and judges it by a threshold of 1/20.
func judged(rule string, metrics ...DiffLine) *Diff {
	d := &Diff{Rule: rule, Threshold: DiffNumber{numbers.Divide(1, 20)}, Intervals: []DiffNode{{Path: []string{"whole program", "solve"}, Verdict: diffSame, Metrics: metrics}}}
	d.Runs[0].Runtime.Fraction = numbers.Divide(1000, 1)
	d.findWorse()
	return d
}

func milli(name string, kind conditions.Kind, a, b int64) DiffLine {
	return newLine(name, kind, numbers.Divide(numbers.Sum(a), 1000), numbers.Divide(numbers.Sum(b), 1000))
}

// TestJudgeBorders judges changes at the borders. By time: more than 1/20 of the interval's own time, and 1/100 of the run at least, 10 s.
// By efficiency: more than 1/20 in efficiency, of intervals that take 10 s or more. Numbers are thousandths.
func TestJudgeBorders(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name    string
		d       *Diff
		verdict string
	}{
		{"400 s + 1/20 = 20 s", judged("time", milli(timeMetric, conditions.Time, 400_000, 420_000)), diffSame},
		{"a ms more", judged("time", milli(timeMetric, conditions.Time, 400_000, 420_001)), diffWorse},
		{"400 s - 20 s", judged("time", milli(timeMetric, conditions.Time, 400_000, 380_000)), diffSame},
		{"a ms less", judged("time", milli(timeMetric, conditions.Time, 400_000, 379_999)), diffBetter},
		{"50 s + 10 s, the least that counts", judged("time", milli(timeMetric, conditions.Time, 50_000, 60_000)), diffWorse},
		{"a ms less than that", judged("time", milli(timeMetric, conditions.Time, 50_000, 59_999)), diffSame},
		{"no time at all", judged("time", milli(timeMetric, conditions.Time, 0, 0)), diffSame},
		{"from nothing to 10 s", judged("time", milli(timeMetric, conditions.Time, 0, 10_000)), diffWorse},
		{"0.8 to 0.75", judged("efficiency", milli(timeMetric, conditions.Time, 10_000, 1), milli("parallel_efficiency", conditions.Share, 800, 750)), diffSame},
		{"0.8 to 0.749", judged("efficiency", milli(timeMetric, conditions.Time, 10_000, 1), milli("parallel_efficiency", conditions.Share, 800, 749)), diffWorse},
		{"0.8 to 0.851", judged("efficiency", milli(timeMetric, conditions.Time, 10_000, 1), milli("parallel_efficiency", conditions.Share, 800, 851)), diffBetter},
		{"0.8 to 0.5 in 9.999 s", judged("efficiency", milli(timeMetric, conditions.Time, 9_999, 99_999), milli("parallel_efficiency", conditions.Share, 800, 500)), diffSame},
	} {
		if got := x.d.Intervals[0].Verdict; got != x.verdict || len(x.d.Worse) != boolCount(x.verdict == diffWorse) || len(x.d.Better) != boolCount(x.verdict == diffBetter) {
			t.Errorf("%s: %s, %d worse, %d better, want %s", x.name, got, len(x.d.Worse), len(x.d.Better), x.verdict)
		}
	}
}

func boolCount(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestJudgeText names the part that changed most in the direction of the whole: of 100 s more, 40 s are computing, 50 s MPI of which 30 s are
// waiting. 60 s less of idle time is the largest change, but in the other direction.
func TestJudgeText(t *testing.T) {
	t.Parallel()
	d := judged("time", milli(timeMetric, conditions.Time, 400_000, 500_000), milli("cpu", conditions.Time, 100_000, 140_000), milli("mpi", conditions.Time, 100_000, 150_000),
		milli("idle", conditions.Time, 100_000, 40_000), milli("wait", conditions.Time, 10_000, 40_000))
	for _, want := range []string{"+25.0 %", "50 ticks more in MPI on average", "30 ticks more waiting for others"} {
		if len(d.Worse) != 1 || !strings.Contains(d.Worse[0].Text, want) {
			t.Errorf("no %q in %+v", want, d.Worse)
		}
	}
	if strings.Contains(d.Worse[0].Text, "computes most") {
		t.Error(d.Worse[0].Text)
	}
	// the wait of all but one for that one
	d = judged("time", milli(timeMetric, conditions.Time, 400_000, 500_000), milli("cpu", conditions.Time, 100_000, 120_000), milli("largest_useful", conditions.Time, 110_000, 160_000), milli("mpi", conditions.Time, 100_000, 180_000))
	if len(d.Worse) != 1 || !strings.HasSuffix(d.Worse[0].Text, "80 ticks more in MPI on average; the process that computes most computes 50 ticks more") {
		t.Errorf("%+v", d.Worse)
	}
	// larger messages, not more of them, nor more collectives than 1/20
	count := func(name string, a, b int64) DiffLine {
		return newLine(name, conditions.Count, numbers.Whole(numbers.Sum(a)), numbers.Whole(numbers.Sum(b)))
	}
	d = judged("time", milli(timeMetric, conditions.Time, 400_000, 500_000), milli("mpi", conditions.Time, 100_000, 180_000), count("sends", 20, 20), count("bytes_out", 8_000_000, 24_000_000), count("collectives", 100, 105), count("coll_bytes_out", 0, 400))
	if len(d.Worse) != 1 || !strings.HasSuffix(d.Worse[0].Text, "more in MPI on average; bytes of messages: 24 MB, was 8 MB; bytes of collectives: 400 B, was 0 B") {
		t.Errorf("%+v", d.Worse)
	}
	// set-up counts for nothing: of MPI it is the change alone, so computing is what changed
	d = judged("time", milli(timeMetric, conditions.Time, 400_000, 500_000), milli("cpu", conditions.Time, 100_000, 190_000), milli("mpi", conditions.Time, 100_000, 200_000), milli("setup", conditions.Time, 20_000, 110_000))
	if len(d.Worse) != 1 || !strings.Contains(d.Worse[0].Text, "90 ticks more in computing") {
		t.Errorf("%+v", d.Worse)
	}
	// as much computing as MPI: the first of them
	d = judged("time", milli(timeMetric, conditions.Time, 500_000, 400_000), milli("cpu", conditions.Time, 150_000, 100_000), milli("mpi", conditions.Time, 150_000, 100_000))
	if len(d.Better) != 1 || !strings.Contains(d.Better[0].Text, "50 ticks less in computing") {
		t.Errorf("%+v", d.Better)
	}
}
