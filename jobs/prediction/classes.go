package prediction

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// startTimes has when the processes of a rank began and ended in the recorded run, and the times of calls that are not simulated, in ps.
type startTimes struct {
	origin trace.Time  // first event of all processes
	first  uint32      // first process of the rank
	delay  []int64     // by process: from origin to its first event
	end    []int64     // by process: from origin to its last event
	kept   []int64     // by process: sum of calls
	calls  simnet.Calc // times of calls that keep their recorded time
}

// measureStarts sets x.start. Collective.
func (x *prediction) measureStarts() error {
	kept := x.in.Vectors.Kept()
	s := &startTimes{first: x.in.First, calls: kept}
	x.start = s
	var begin, end []trace.Time
	const none, sign = trace.Time(trace.Undefined64), 1 << 63
	bounds := []int64{math.MaxInt64, math.MinInt64} // the least first event, the greatest last one: times less 2^63
	var err error
	for p := x.in.First; p < x.in.End && err == nil; p++ {
		var a, b trace.Time
		var ok bool
		var sum int64
		if sum, err = sumOf(kept, p); err != nil {
			break
		}
		s.kept = append(s.kept, sum)
		if a, b, ok, err = x.in.Span(p); !ok {
			a, b = none, none
		}
		begin, end = append(begin, a), append(end, b)
		if ok {
			bounds[0], bounds[1] = min(bounds[0], int64(a^sign)), max(bounds[1], int64(b^sign))
		}
	}
	if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(bounds[:1], mpi.Min); err != nil {
		return err
	}
	if err := x.c.AllreduceInt64(bounds[1:], mpi.Max); err != nil {
		return err
	}
	last := trace.Time(bounds[1]) ^ sign
	s.origin = min(trace.Time(bounds[0])^sign, last)
	fits := true
	convert := func(t trace.Time) int64 {
		ps, ok := x.in.Picoseconds(t - min(s.origin, t))
		fits = fits && ok
		return ps
	}
	for i := range begin {
		if begin[i] == none {
			begin[i], end[i] = s.origin, s.origin
		}
		s.delay, s.end = append(s.delay, convert(begin[i])), append(s.end, convert(end[i]))
	}
	x.res.Measured = uint64(convert(last))
	if !fits {
		err = jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", x.o.Run, predict.ErrTooLong))
	}
	return jobs.Agree(x.c, err)
}

// from returns computation that begins when the processes began in the recorded run, with the times of calls that keep theirs.
func (s *startTimes) from(calc simnet.Calc) simnet.Calc {
	return &predict.Delayed{Calc: calc, First: s.first, Delay: s.delay, Kept: s.calls}
}

// sumOf adds up the entries of a process, in ps.
func sumOf(v *predict.Vectors, p uint32) (int64, error) {
	var buf [512]int64
	sum := int64(0)
	for first := uint64(0); first < v.Entries(p); first += uint64(len(buf)) {
		if err := v.Fill(p, first, buf[:]); err != nil {
			return 0, err
		}
		for _, t := range buf {
			if sum += t; sum < 0 {
				return 0, fmt.Errorf("process %d: %w", p, predict.ErrTooLong)
			}
		}
	}
	return sum, nil
}

// comparable bounds the comparisons of vector entries that classify makes without being asked for classes. It takes seconds.
const comparable = 1 << 33

// classify finds the classes of the processes: those of the file, or new ones if the options ask for them or the file has none. If to
// compare the vectors would take long, and nothing depends on it, processes that call the same are a class. Collective.
func (x *prediction) classify() error {
	groups, err := x.in.Alike(x.c)
	if err != nil {
		return jobs.InputError(x.o.Run, err)
	}
	k := &xtf.ClassTable{Members: make([]xtf.Member, x.in.Processes())}
	work := 0.0
	for g, list := range groups {
		work += float64(float64(len(list)) * float64(len(list)-1) / 2 * float64(x.in.Calls(list[0])))
		for _, p := range list {
			k.Members[p].Class = uint32(g)
		}
		k.Classes = append(k.Classes, xtf.ClassRow{Representative: list[0], Members: uint32(len(list))})
	}
	var classes *xtf.ClassTable
	if x.o.Classes == nil {
		classes, err = x.file.Classes()
		if err == nil && classes != nil {
			err = fitting(classes, k)
		}
		if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
			return err
		}
	}
	threshold := "as analysed"
	if classes == nil {
		if x.o.Classes == nil && len(x.o.Vectors) == 0 && x.o.Rule == predict.ScaleRule && work > comparable {
			x.setClasses(k, "")
			return nil
		}
		if classes, threshold, err = x.compare(); err != nil {
			return err
		}
	}
	x.setClasses(classes, threshold)
	return nil
}

// compare computes classes, and returns them with their threshold in words. Collective.
func (x *prediction) compare() (*xtf.ClassTable, string, error) {
	f := predict.ClassFlags{Threshold: DefaultClasses}
	if x.o.Classes != nil {
		f = *x.o.Classes
	}
	o, err := f.Parse(x.in.Defs.Clock().TimerResolution)
	if err != nil {
		err = jobs.Fail(jobs.ExitUsage, err)
	}
	if err := jobs.Agree(x.c, err); err != nil {
		return nil, "", err
	}
	threshold := f.Threshold
	if f.MaxClasses > 0 {
		threshold = fmt.Sprintf("at most %d classes", f.MaxClasses)
	}
	jobs.ClassMemory(x.c, &o.Options, x.o.Analyze.MemBytes, x.in.Vectors.Bytes())
	k, err := x.in.Classify(context.Background(), x.c, o)
	return k, threshold, jobs.InputError(x.o.Run, err)
}

// fitting returns an error if classes of a file have processes that do not call the same.
func fitting(k, groups *xtf.ClassTable) error {
	if len(k.Members) != len(groups.Members) {
		return fmt.Errorf("classes of %d processes, the run has %d: %w", len(k.Members), len(groups.Members), xtf.ErrCorrupt)
	}
	for p, m := range k.Members {
		if r := k.Classes[m.Class].Representative; groups.Members[r].Class != groups.Members[p].Class {
			return fmt.Errorf("process %d is in a class with process %d, which calls something else: %w", p, r, xtf.ErrCorrupt)
		}
	}
	return nil
}

func (x *prediction) setClasses(k *xtf.ClassTable, threshold string) {
	x.classes, x.res.Computation.Threshold, x.res.Classes = k, threshold, make([]predicted.PredictedClass, len(k.Classes))
	for i := range k.Classes {
		x.res.Classes[i] = predicted.PredictedClass{Class: i, Representative: k.Classes[i].Representative}
	}
}

// meanOf returns the mean of a number over all processes, rounded down. Collective.
func (x *prediction) meanOf(list []simnet.ProcessTimes, of func(t *simnet.ProcessTimes) int64) (uint64, error) {
	const low = 1<<20 - 1
	parts := []int64{0, 0}
	for i := range list {
		v := of(&list[i])
		parts[0] += v >> 20
		parts[1] += v & low
	}
	if err := x.c.AllreduceInt64(parts, mpi.Sum); err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(parts[0]), 1<<20)
	lo, carry := bits.Add64(lo, uint64(parts[1]), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(x.in.Processes()))
	return q, nil
}
