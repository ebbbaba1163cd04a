package platform

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// Sample is a measured time in ns. N is the size of a message in bytes, or a number of messages.
type Sample struct {
	N  uint64
	NS int64
}

// LinkSamples has times measured between two processes, each the least of many repetitions.
type LinkSamples struct {
	Clock   int64    // ns that each time contains for reading the clock
	Trips   []Sample // round trips by bytes, in ascending order; the first one is of one byte
	Send    int64    // ns of the call that starts a send of one byte
	Receive int64    // ns of the call that receives one byte that has arrived
	Bursts  []Sample // times of messages sent one after another, by their number
	Eager   uint64   // the largest message whose send ends while its receiver is outside of MPI, bytes
	// EagerInside is the largest message whose send ends while its receiver is inside of MPI but has not posted a receive for it, bytes.
	EagerInside uint64
}

// LinkFit is a link that was fitted to samples, with its errors.
type LinkFit struct {
	Link network.Link
	// Rows compare half of each round trip, measured and according to the link.
	Rows []FitRow
	// Worst is the greatest relative difference of a row, in per cent.
	Worst float64
	Notes []string // what the model cannot express
}

// FitRow compares the times of one size, in ns.
type FitRow struct {
	Bytes         uint64
	Measured, Fit float64
}

// Fit computes LogGPS parameters from the samples. The overheads are the times of the calls. The latency is half a round trip of one byte
// minus the overheads. The gap is the slope of the bursts. The time per byte of a range of sizes minimises the squared relative
// differences. A range ends before the first size that it would miss by more than a tenth, and at the eager limit. O stays 0, since these
// samples cannot separate it from G.
func (s *LinkSamples) Fit() LinkFit {
	var f LinkFit
	half := make([]point, 0, len(s.Trips))
	for _, t := range s.Trips {
		half = append(half, point{float64(t.N), float64(t.NS-s.Clock) / 2})
	}
	send, receive := float64(max(s.Send-s.Clock, 0)), float64(max(s.Receive-s.Clock, 0))
	one := 0.0
	if len(half) > 0 {
		one = half[0].Y
	}
	latency := one - send - receive
	if latency = max(latency, 0); one < send+receive {
		f.note("half a round trip of a byte, %.0f ns, is less than the calls, %.0f and %.0f ns: the calls were shortened to fit, L is 0", one, send, receive)
		if share := max(one, 0) / (send + receive); send+receive > 0 {
			send, receive = float64(send*share), float64(receive*share)
		}
	}
	l := &f.Link
	l.SendOver, l.RecvOver, l.Latency, l.Gap, l.Eager = psOf(send), psOf(receive), psOf(latency), psOf(growth(s.Bursts)), min(s.Eager, maxBytes)
	if s.EagerInside > s.Eager {
		f.note("sends of more than %d bytes wait until the receiver is in some MPI call, those of more than %d until it receives; eager_bytes is the first. "+
			"Where a deadlock is predicted for sizes between the two, it does not happen: take the second", s.Eager, s.EagerInside)
	}
	f.rates(half)
	for _, h := range half {
		fit := float64(hop(l, uint64(h.X))) / 1000
		f.Rows = append(f.Rows, FitRow{uint64(h.X), h.Y, fit})
		if h.Y > 0 {
			f.Worst = max(f.Worst, math.Abs(fit/h.Y-1)*100)
		}
	}
	return f
}

// A rate may miss a size in its range by a tenth, or by 50 ns.
const (
	tolerance = 0.1
	nearNS    = 50
)

// rates divides the sizes into ranges and fits the time per byte of each.
func (f *LinkFit) rates(half []point) {
	l := &f.Link
	eager := func(p point) bool { return uint64(p.X) <= l.Eager }
	for first := 0; first < len(half); {
		end := first + 1
		base := float64(hop(&network.Link{Latency: l.Latency, SendOver: l.SendOver, RecvOver: l.RecvOver, Eager: l.Eager}, uint64(half[first].X))) / 1000
		rate, _ := relativeSlope(half[first:end], base)
		for end < len(half) && eager(half[end]) == eager(half[first]) {
			longer, worst := relativeSlope(half[first:end+1], base)
			if worst > tolerance {
				break
			}
			rate, end = longer, end+1
		}
		if end == len(half) {
			l.PerByte = rateFloat(rate)
		} else {
			l.Sizes = append(l.Sizes, network.SizeRate{Max: uint64(half[end-1].X), PerByte: rateFloat(rate)})
		}
		first = end
	}
}

// relativeSlope returns the slope, at least 0, of the line through (1, base) with the least squared relative differences, and its greatest
// relative difference. It ignores differences of nearNS or less.
func relativeSlope(points []point, base float64) (slope, worst float64) {
	var a, b float64
	for _, p := range points {
		if p.Y > 0 {
			x := (p.X - 1) / p.Y
			a += float64(x * (1 - base/p.Y))
			b += float64(x * x)
		}
	}
	if b > 0 {
		slope = max(a/b, 0)
	}
	for _, p := range points {
		if p.Y > 0 {
			if off := math.Abs(base + float64(slope*(p.X-1)) - p.Y); off > nearNS {
				worst = max(worst, off/p.Y)
			}
		}
	}
	return slope, worst
}

func (f *LinkFit) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// hop returns the time in ps of a message between two idle processes that call MPI_Send and MPI_Recv at the same time.
func hop(l *network.Link, n uint64) int64 {
	wire, over := l.Wire(n)
	t := l.SendOver + l.Latency + wire + l.RecvOver + 2*over
	if n > l.Eager {
		t += 2 * l.Latency
	}
	return t
}

// FitGamma returns the time per byte of a reduction, from times by bytes.
func FitGamma(samples []Sample) network.Rate { return rateFloat(growth(samples)) }

// point is a point of a plot.
type point struct{ X, Y float64 }

// growth returns the slope, at least 0, of the line of least squares. It is 0 for fewer than two different samples.
func growth(samples []Sample) float64 {
	var x, y float64
	for _, s := range samples {
		x += float64(s.N)
		y += float64(s.NS)
	}
	n := float64(len(samples))
	x, y = x/n, y/n
	var xy, xx float64
	for _, s := range samples {
		xy += float64((float64(s.N) - x) * (float64(s.NS) - y))
		xx += float64((float64(s.N) - x) * (float64(s.N) - x))
	}
	if xx > 0 {
		return max(xy/xx, 0)
	}
	return 0
}

// psOf rounds ns to ps and limits it to what a platform file may hold.
func psOf(ns float64) int64 {
	return int64(math.Round(min(max(ns, 0), maxTimeNS) * 1000))
}

// rateFloat rounds ns per byte to a rate and limits it to what a platform file may hold.
func rateFloat(ns float64) network.Rate {
	return network.Rate(math.Round(min(max(ns, 0), maxRateNS) * 1000 * (1 << 32)))
}
