package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// Growth is how a time grows with the number of processes p: a function of the
// performance model normal form with one term,
//
//	f(p) = c0 + c1 * p^a * log2(p)^b
//
// and another one, c2/p, where the times fall and then rise. Exponents are from a small fixed set, as in Extra-P. Fit chooses the
// hypothesis with the smallest error in leave-one-out cross validation: the function fitted to all other points predicts each point.
// Of equally good ones it takes the simplest. Few points do not distinguish steep functions, whose predictions differ very much: with
// fewer than fivePoints, a and b are at most 1, and what falls and rises has no c0. A function that turns beyond the largest p is
// refused, because no point supports the turn. A falling function has no c0 below 0.
type Growth struct {
	C0     float64       `json:"c0"` // seconds, or ticks
	C1     float64       `json:"c1"`
	C2     float64       `json:"c2"` // of the term c2/p
	Power  Power         `json:"power"`
	Logs   int           `json:"log_power"`
	R2     numbers.Ratio `json:"r2"`          // coefficient of determination
	SMAPE  numbers.Ratio `json:"smape"`       // symmetric mean absolute percentage error, as a share
	Cross  numbers.Ratio `json:"cross_smape"` // the same of the predictions in cross validation
	Points int           `json:"points"`
	Few    bool          `json:"few_points"` // fewer than fivePoints: a guess
	set    bool
	near   []Growth // functions that the points do not rule out, each fitted to all points and to all except one
}

// The points do not rule out a function whose error in cross validation is at most nearly times that of the best one, or at most
// noise, by which times of two runs of one program differ.
const (
	nearly = 2
	noise  = 0.05
)

// Reach is the time at a number of processes: that of the best function, and the least and the most of the functions that the
// points do not rule out. These are not bounds: effects that the runs do not show yet are in none of the functions.
type Reach struct {
	At    numbers.Ratio `json:"at_seconds"` // or ticks
	Least numbers.Ratio `json:"at_least_seconds"`
	Most  numbers.Ratio `json:"at_most_seconds"`
}

// Reach returns the time at p processes.
func (g *Growth) Reach(p uint64) Reach {
	at := func(g *Growth) numbers.Ratio { return numbers.Ratio{Value: max(g.At(p), 0), Defined: true} }
	r := Reach{at(g), at(g), at(g)}
	for i := range g.near {
		v := at(&g.near[i]).Value
		r.Least.Value, r.Most.Value = min(r.Least.Value, v), max(r.Most.Value, v)
	}
	return r
}

// Undetermined reports whether the points leave the time open by more than a factor of 2.
func (r *Reach) Undetermined() bool { return r.Most.Value > 2*r.Least.Value }

// cell prints the least and the most.
func (r *Reach) cell() table.Cell {
	if !r.Least.Defined {
		return table.None()
	}
	text := fmt.Sprintf("%.3g to %.3g", r.Least.Value, r.Most.Value)
	if r.Undetermined() {
		text += ", undetermined"
	}
	return table.Word(text)
}

// Power is an exponent in sixths.
type Power int

// MarshalJSON writes the exponent as a number.
func (p Power) MarshalJSON() ([]byte, error) {
	return numbers.Ratio{Value: float64(p) / 6, Defined: true}.MarshalJSON()
}

// Numbers of points: the least for a fit, and enough to trust one.
const (
	leastPoints = 3
	fivePoints  = 5
	manyWithout = 0.05 // share of its computing without a processor from which a run gets a doubt
)

// Point is a measured time at a number of processes.
type Point struct {
	P uint64
	T float64 // seconds, or ticks
}

// Powers are the exponents of p, in sixths, simple ones first.
var Powers = []Power{0, 6, -6, 3, -3, 12, 2, 4, -2, -4, 8, 9, 18}

// Fit finds the growth through the points, which have ascending p; ok is false
// with too few of them.
func Fit(points []Point) (best Growth, ok bool) {
	if len(points) < leastPoints {
		return best, false
	}
	few := len(points) < fivePoints
	bestError := math.Inf(1)
	var all [][]Growth // each with the fits of its cross validation
	try := func(fit func([]Point) (Growth, bool)) {
		g, ok := fit(points)
		if !ok {
			return
		}
		cross, fits, ok := crossError(points, fit)
		if !ok {
			return
		}
		g.Cross = numbers.Ratio{Value: cross, Defined: true}
		all = append(all, append(fits, g))
		if bestError-cross > float64(1e-9*bestError)+1e-12 || !best.set {
			bestError, best = cross, g
			best.set = true
		}
	}
	try(func(points []Point) (Growth, bool) { return hypothesis(points, 0, 0) })
	for logs := range 3 {
		for _, power := range Powers {
			last := points[len(points)-1].P
			turns := power < 0 && logs > 0 && Basis(2*last, power, logs) > Basis(last, power, logs)
			if power == 0 && logs == 0 || few && (power > 6 || logs > 1) || turns {
				continue
			}
			try(func(points []Point) (Growth, bool) { return hypothesis(points, power, logs) })
			if power >= 0 && rises(points) {
				try(func(points []Point) (Growth, bool) { return mixture(points, power, logs, !few) })
			}
		}
	}
	for _, fits := range all {
		if fits[len(fits)-1].Cross.Value <= max(float64(nearly*bestError), noise) {
			best.near = append(best.near, fits...)
		}
	}
	best.Points, best.Few = len(points), few
	best.R2, best.SMAPE = best.quality(points)
	return best, best.set
}

// hypothesis fits c0 and c1 by least squares. If the function would fall below 0 for many processes, it fits c1 alone. It refuses
// a function that grows to below 0.
func hypothesis(points []Point, power Power, logs int) (Growth, bool) {
	g := Growth{Power: power, Logs: logs}
	n := float64(len(points))
	var sx, sy, xx, xy float64
	xs := make([]float64, len(points))
	for i, q := range points {
		if power != 0 || logs > 0 {
			xs[i] = Basis(q.P, power, logs)
		}
		sx += xs[i]
		sy += q.T
		xx += float64(xs[i] * xs[i])
		xy += float64(xs[i] * q.T)
	}
	mx, my := sx/n, sy/n
	var sxx, sxy float64
	for i, q := range points {
		dx := xs[i] - mx
		sxx += float64(dx * dx)
		sxy += float64(dx * (q.T - my))
	}
	switch {
	case power == 0 && logs == 0:
		g.C0 = my
		return g, true
	case sxx <= float64(1e-18*mx)*mx:
		return g, false
	}
	g.C1 = sxy / sxx
	g.C0 = my - float64(g.C1*mx)
	if power < 0 && g.C0 < 0 {
		g.C0, g.C1 = 0, xy/xx
	}
	return g, g.C1 >= 0 || power < 0
}

// rises reports whether times fall and then rise, both by more than noise.
func rises(points []Point) bool {
	least := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(a.T, b.T) }).T
	return min(points[0].T, points[len(points)-1].T) > float64((1+noise)*least)
}

// mixture fits c1 and c2 by least squares, and c0 if it is asked for and not below 0. It refuses terms below 0.
func mixture(points []Point, power Power, logs int, constant bool) (Growth, bool) {
	g := Growth{Power: power, Logs: logs}
	var mx, mz, my float64
	for _, q := range points {
		if n := float64(len(points)); constant {
			mx, mz, my = mx+Basis(q.P, power, logs)/n, mz+1/float64(q.P)/n, my+q.T/n
		}
	}
	var xx, xz, zz, xy, zy float64
	for _, q := range points {
		x, z, y := Basis(q.P, power, logs)-mx, 1/float64(q.P)-mz, q.T-my
		xx, xz, zz, xy, zy = xx+float64(x*x), xz+float64(x*z), zz+float64(z*z), xy+float64(x*y), zy+float64(z*y)
	}
	det := float64(xx*zz) - float64(xz*xz)
	if det <= float64(1e-12*xx)*zz {
		return g, false
	}
	g.C1, g.C2 = (float64(xy*zz)-float64(zy*xz))/det, (float64(zy*xx)-float64(xy*xz))/det
	g.C0 = my - float64(g.C1*mx) - float64(g.C2*mz)
	if constant && g.C0 < 0 {
		return mixture(points, power, logs, false)
	}
	return g, g.C1 >= 0 && g.C2 >= 0
}

// At returns the function's value at p processes.
func (g *Growth) At(p uint64) float64 {
	if g.Power == 0 && g.Logs == 0 {
		return g.C0
	}
	v := float64(g.C1*Basis(p, g.Power, g.Logs)) + g.C0
	if g.C2 > 0 {
		v += g.C2 / float64(p)
	}
	return v
}

// CrossError returns the symmetric mean absolute percentage error of predicting each point from the others, and the functions
// that predict them.
func CrossError(points []Point, power Power, logs int) (float64, []Growth, bool) {
	return crossError(points, func(points []Point) (Growth, bool) { return hypothesis(points, power, logs) })
}

func crossError(points []Point, fit func([]Point) (Growth, bool)) (float64, []Growth, bool) {
	sum, most := 0.0, largest(points)
	var fits []Growth
	rest := make([]Point, 0, len(points))
	for i, q := range points {
		rest = append(append(rest[:0], points[:i]...), points[i+1:]...)
		g, ok := fit(rest)
		if !ok {
			return 0, nil, false
		}
		fits = append(fits, g)
		sum += relative(g.At(q.P), q.T, most)
	}
	return sum / float64(len(points)), fits, true
}

// relative is the symmetric relative difference of two times, from 0 to 2. It is 0 for times that are negligible next to the
// largest one.
func relative(a, b, largest float64) float64 {
	whole := (math.Abs(a) + math.Abs(b)) / 2
	if whole <= float64(1e-9*largest) {
		return 0
	}
	return math.Abs(a-b) / whole
}

func largest(points []Point) float64 {
	return slices.MaxFunc(points, func(a, b Point) int { return cmp.Compare(a.T, b.T) }).T
}

func (g *Growth) quality(points []Point) (r2, smape numbers.Ratio) {
	mean, off, all, rel, most := 0.0, 0.0, 0.0, 0.0, largest(points)
	for _, q := range points {
		mean += q.T / float64(len(points))
	}
	for _, q := range points {
		d, v := q.T-g.At(q.P), q.T-mean
		off += float64(d * d)
		all += float64(v * v)
		rel += relative(g.At(q.P), q.T, most)
	}
	if all > 0 {
		r2 = numbers.Ratio{Value: 1 - off/all, Defined: true}
	}
	return r2, numbers.Ratio{Value: rel / float64(len(points)), Defined: true}
}

// Basis returns p^(power/6) * log2(p)^logs, with the same bits on every machine: square and cube roots and products, each
// rounded.
func Basis(p uint64, power Power, logs int) float64 {
	root := cubeRoot(math.Sqrt(float64(p)))
	v := 1.0
	for range max(power, -power) {
		v = float64(v * root)
	}
	if power < 0 {
		v = 1 / v
	}
	for range logs {
		v = float64(v * log2(p))
	}
	return v
}

// cubeRoot uses Newton's method, for x >= 0.
func cubeRoot(x float64) float64 {
	if x == 0 {
		return 0
	}
	y := max(x, 1)
	for range 200 {
		next := (float64(2*y) + x/float64(y*y)) / 3
		if next >= y {
			break
		}
		y = next
	}
	return y
}

// log2 returns the binary logarithm with 40 binary digits, by squaring.
func log2(p uint64) float64 {
	if p == 0 {
		return 0
	}
	x, whole := float64(p), 0.0
	for x >= 2 {
		x /= 2
		whole++
	}
	digit := 0.5
	for range 40 {
		if x = float64(x * x); x >= 2 {
			x /= 2
			whole += digit
		}
		digit /= 2
	}
	return whole
}

func (g *Growth) text() string {
	text := fmt.Sprintf("%.4g", g.C0)
	if g.Power == 0 && g.Logs == 0 {
		return text
	}
	sign := " + "
	c := g.C1
	if c < 0 {
		sign, c = " - ", -c
	}
	if text += sign; math.Abs(g.C0) <= float64(1e-12*c) && g.C1 >= 0 {
		text = ""
	}
	text += fmt.Sprintf("%.4g", c)
	switch g.Power {
	case 0:
	case 6:
		text += " p"
	default:
		text += " p^" + powerText(g.Power)
	}
	switch g.Logs {
	case 1:
		text += " log2(p)"
	case 2:
		text += " log2(p)^2"
	}
	if g.C2 > 0 {
		text += fmt.Sprintf(" + %.4g p^-1", g.C2)
	}
	return text
}

func powerText(p Power) string {
	num, den := int(p), 6
	for _, d := range []int{2, 3} {
		for num%d == 0 && den%d == 0 {
			num, den = num/d, den/d
		}
	}
	if den == 1 {
		return fmt.Sprint(num)
	}
	return fmt.Sprintf("(%d/%d)", num, den)
}

// JoinPoints makes one point, their median, of all points with equal p.
func JoinPoints(points []Point) []Point {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.T, b.T)) })
	var list []Point
	for i := 0; i < len(points); {
		k := i
		for k < len(points) && points[k].P == points[i].P {
			k++
		}
		n := k - i
		list = append(list, Point{points[i].P, (points[i+(n-1)/2].T + points[i+n/2].T) / 2})
		i = k
	}
	return list
}
