package otf2

import (
	"math"
	"sort"

	"github.com/coppice-hpc/coppice/trace"
)

// offset is one measured clock offset of a location: at the raw time the
// global clock is ahead by value ticks.
type offset struct {
	time  uint64
	value int64
}

// interval is the time between two consecutive offsets. It corrects raw times
// from begin to end; the last one ends and the first one begins nowhere.
type interval struct {
	begin uint64
	end   uint64
	t0    uint64
	o0    uint64 // two's complement
	slope float64
}

// clock corrects the raw times of a location. Without intervals they stay.
type clock struct{ intervals []interval }

// newClock makes the intervals of consecutive pairs of offsets. A single
// offset makes none: times stay uncorrected. Offsets from the first one on
// whose time does not increase are left out, which ok reports.
func newClock(list []offset) (c clock, ok bool) {
	ok = true
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.time <= a.time {
			ok = false
			break
		}
		slope := float64(b.value-a.value) / float64(b.time-a.time)
		c.intervals = append(c.intervals, interval{begin: a.time, end: b.time, t0: a.time, o0: uint64(a.value), slope: slope})
	}
	if n := len(c.intervals); n > 0 {
		c.intervals[0].begin, c.intervals[n-1].end = 0, math.MaxUint64
	}
	return c, ok
}

// at returns the interval for a raw time: the first that does not end before.
func (c *clock) at(raw uint64) *interval {
	if len(c.intervals) == 0 {
		return &uncorrected
	}
	i := sort.Search(len(c.intervals), func(i int) bool { return raw <= c.intervals[i].end })
	return &c.intervals[i]
}

func (c *clock) correct(raw uint64) trace.Time { return c.at(raw).correct(raw) }

var uncorrected = interval{end: math.MaxUint64}

// correct returns raw + o0 + rint(slope * (raw - t0)), modulo 2^64.
func (v *interval) correct(raw uint64) trace.Time {
	if v.slope == 0 {
		return trace.Time(raw + v.o0)
	}
	return trace.Time(raw + v.o0 + uint64(drift(v.slope, raw-v.t0)))
}

// drift returns the product rounded half to even. Products beyond the range
// of int64 come from damaged tables only; they saturate, alike on every machine.
func drift(slope float64, ticks uint64) int64 {
	x := math.RoundToEven(slope * float64(int64(ticks)))
	switch {
	case x >= 1<<63:
		return math.MaxInt64
	case x >= -1<<63:
		return int64(x)
	case x < -1<<63:
		return math.MinInt64
	}
	return 0 // not a number: slopes are finite, so this is 0 times infinity; kept total
}
