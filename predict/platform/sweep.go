package platform

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// ErrSweep says that the text of a sweep is wrong.
var ErrSweep = errors.New("no sweep")

// maxPoints is the greatest number of predictions of a sweep.
const maxPoints = 10000

// Axis is a parameter that a sweep changes, and its values.
type Axis struct {
	Name   string // "latency", "net.bandwidth", "mapping", ...
	Values []string
	apply  []func(p *Platform) bool
}

// sweepKind is a kind of axis. parse returns the change for a value; class is that of the links to be changed, NumLinkClasses for all. A
// change returns false if the new value does not fit.
type sweepKind struct {
	name    string
	allowed string
	links   bool // net.NAME and node.NAME exist too
	parse   func(text string, class network.LinkClass) (func(p *Platform) bool, bool)
}

const aFactor = "a factor of 0 to 1000000 with at most nine decimals"

// sweepKinds returns all kinds of axes.
func sweepKinds() []sweepKind {
	return []sweepKind{
		{"latency", aFactor, true, factorOf(func(l *network.Link, f Scale) bool { return f.time(&l.Latency) && f.time(&l.Hop) })},
		{"overhead", aFactor, true, factorOf(func(l *network.Link, f Scale) bool {
			return f.time(&l.SendOver) && f.time(&l.RecvOver) && f.rate(&l.OverByte)
		})},
		{"bandwidth", "a factor above 0 and up to 1000000 with at most nine decimals", true, faster},
		{"eager", "a number of bytes", true, eagerLimit},
		{"cpu", aFactor, false, func(text string, _ network.LinkClass) (func(p *Platform) bool, bool) {
			f, ok := parseFactor(text)
			return func(p *Platform) bool { p.Scale = f; return true }, ok
		}},
		{"ranks-per-node", "a number of processes of a node, from 1", false, perNode},
		{"mapping", "block, cyclic or the path of a table", false, func(text string, _ network.LinkClass) (func(p *Platform) bool, bool) {
			return func(p *Platform) bool { p.Mapping = text; return true }, text != ""
		}},
	}
}

// parseFactor is ParseScale, but allows 0.
func parseFactor(text string) (Scale, bool) {
	if x, ok := decimal(text); ok && x.Sign() == 0 {
		return Scale{0, 1}, true
	}
	return ParseScale(text)
}

// time multiplies t by s, rounded down. It returns false if the result does not fit.
func (s Scale) time(t *int64) bool {
	*t = s.Of(*t)
	return *t != network.Never
}

// rate multiplies r by s, rounded down. It returns false if the result does not fit.
func (s Scale) rate(r *network.Rate) bool {
	q, ok := s.Times(uint64(*r))
	*r = network.Rate(q)
	return ok
}

// lowest reduces the fraction a/b.
func lowest(a, b uint64) (uint64, uint64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / max(x, 1), b / max(x, 1)
}

// eachLink calls f once for each link of a class, or of all classes.
func eachLink(p *Platform, class network.LinkClass, f func(l *network.Link) bool) bool {
	ok := true
	for c := range network.NumLinkClasses {
		if l := p.Links[c]; l != nil && (class == c || class == network.NumLinkClasses) {
			ok = f(l) && ok
		}
	}
	return ok
}

func factorOf(change func(l *network.Link, f Scale) bool) func(string, network.LinkClass) (func(p *Platform) bool, bool) {
	return func(text string, class network.LinkClass) (func(p *Platform) bool, bool) {
		f, ok := parseFactor(text)
		return func(p *Platform) bool { return eachLink(p, class, func(l *network.Link) bool { return change(l, f) }) }, ok
	}
}

// faster divides the times per byte by a factor.
func faster(text string, class network.LinkClass) (func(p *Platform) bool, bool) {
	f, ok := ParseScale(text)
	f.Num, f.Den = f.Den, f.Num
	return func(p *Platform) bool {
		fits := eachLink(p, class, func(l *network.Link) bool {
			ok := f.rate(&l.PerByte)
			for i := range l.Sizes {
				ok = f.rate(&l.Sizes[i].PerByte) && ok
			}
			return ok
		})
		if class == network.LinkNet || class == network.NumLinkClasses {
			fits = f.rate(&p.Topology.LinkRate) && fits
		}
		return fits
	}, ok
}

func eagerLimit(text string, class network.LinkClass) (func(p *Platform) bool, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return func(p *Platform) bool {
		return eachLink(p, class, func(l *network.Link) bool { l.Eager = n; return true })
	}, err == nil && n <= maxBytes
}

// perNode puts this number of processes on a node, and uses as many nodes as necessary.
func perNode(text string, _ network.LinkClass) (func(p *Platform) bool, bool) {
	n, ok := count(text)
	return func(p *Platform) bool { p.RanksPerNode, p.Nodes = n, 0; return true }, ok
}

// ParseSweep parses axes NAME=VALUE,VALUE,... An axis may follow another one after a comma or in another text.
func ParseSweep(texts []string) ([]Axis, error) {
	var list []Axis
	points := 1
	for _, text := range texts {
		for _, item := range strings.Split(text, ",") {
			name, value, named := strings.Cut(item, "=")
			if named {
				for _, a := range list {
					if a.Name == name {
						return nil, fmt.Errorf("%w: %s is there twice", ErrSweep, tomltree.Clip(name))
					}
				}
				list = append(list, Axis{Name: name})
			} else if value = item; len(list) == 0 {
				return nil, fmt.Errorf("%w: %q: write NAME=VALUE,VALUE and so on", ErrSweep, tomltree.Clip(item))
			}
			if err := list[len(list)-1].add(value); err != nil {
				return nil, err
			}
		}
	}
	for i := range list {
		if points *= len(list[i].Values); points > maxPoints {
			return nil, fmt.Errorf("%w: more than %d predictions", ErrSweep, maxPoints)
		}
	}
	return list, nil
}

func (a *Axis) add(value string) error {
	plain, class := a.Name, network.NumLinkClasses
	for c, name := range linkNames {
		if rest, ok := strings.CutPrefix(a.Name, name+"."); ok {
			plain, class = rest, network.LinkClass(c)
		}
	}
	var names []string
	for _, k := range sweepKinds() {
		names = append(names, k.name)
		if k.name != plain || class != network.NumLinkClasses && !k.links {
			continue
		}
		apply, ok := k.parse(value, class)
		if !ok || len(a.Values) == maxPoints {
			return fmt.Errorf("%w: %s: %q: allowed is %s", ErrSweep, a.Name, tomltree.Clip(value), k.allowed)
		}
		a.Values, a.apply = append(a.Values, value), append(a.apply, apply)
		return nil
	}
	return fmt.Errorf("%w: %q: choose one of %s", ErrSweep, tomltree.Clip(a.Name), strings.Join(names, ", "))
}

// Points returns the number of combinations of the axes' values.
func Points(axes []Axis) int {
	n := 1
	for i := range axes {
		n *= len(axes[i].Values)
	}
	return n
}

// CheckSweep returns an error if in any combination a value of the platform does not fit.
func (p *Platform) CheckSweep(axes []Axis) error {
	for i := range Points(axes) {
		if _, _, err := p.Point(axes, i); err != nil {
			return err
		}
	}
	return nil
}

// Point returns the platform of combination i and the index of each axis's value. The last axis changes fastest. Scale is the factor of the
// axis cpu only.
func (p *Platform) Point(axes []Axis, i int) (*Platform, []int, error) {
	q := *p
	q.Scale = One
	// Classes that the file leaves out get links of their own: a sweep of node.latency changes them, one of net.latency does not.
	for c := range network.NumLinkClasses {
		if l := p.link(c); l != nil {
			own := *l
			own.Sizes = append([]network.SizeRate(nil), l.Sizes...)
			q.Links[c] = &own
		}
	}
	at := make([]int, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		at[k] = i % len(axes[k].Values)
		i /= len(axes[k].Values)
	}
	for k, a := range axes {
		if !a.apply[at[k]](&q) {
			return nil, nil, fmt.Errorf("%w: with %s=%s a time of the platform is longer than 106 days, or that of a byte longer than 4 ms; choose a factor closer to 1",
				ErrSweep, a.Name, a.Values[at[k]])
		}
	}
	return &q, at, nil
}
