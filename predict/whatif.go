package predict

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ErrSweep says that a sweep is misspelt.
var ErrSweep = errors.New("no sweep")

// maxPoints is how many predictions a sweep may consist of.
const maxPoints = 10000

// Axis is one thing that a sweep changes.
type Axis struct {
	Name   string // "latency", "net.bandwidth", "mapping", ...
	Values []string
	apply  []func(p *Platform)
}

// sweepKind is what an axis changes; class is the links it is about, NumLinkClasses for all.
type sweepKind struct {
	name    string
	allowed string
	links   bool // net.NAME and node.NAME exist too
	parse   func(text string, class simnet.LinkClass) (func(p *Platform), bool)
}

const aFactor = "a factor of 0 to 1000000 with at most nine decimals"

// sweepKinds are the axes there are.
func sweepKinds() []sweepKind {
	return []sweepKind{
		{"latency", aFactor, true, factorOf(func(l *simnet.Link, f Scale) { l.Latency, l.Hop = f.Of(l.Latency), f.Of(l.Hop) })},
		{"overhead", aFactor, true, factorOf(func(l *simnet.Link, f Scale) {
			l.SendOver, l.RecvOver, l.OverByte = f.Of(l.SendOver), f.Of(l.RecvOver), f.rate(l.OverByte)
		})},
		{"bandwidth", "a factor above 0 and up to 1000000 with at most nine decimals", true, faster},
		{"eager", "a number of bytes", true, eagerLimit},
		{"cpu", aFactor, false, func(text string, _ simnet.LinkClass) (func(p *Platform), bool) {
			f, ok := parseFactor(text)
			return func(p *Platform) { p.Scale = p.Scale.times(f) }, ok
		}},
		{"ranks-per-node", "a number of processes of a node, from 1", false, perNode},
		{"mapping", "block, cyclic or the path of a table", false, func(text string, _ simnet.LinkClass) (func(p *Platform), bool) {
			return func(p *Platform) { p.Mapping = text }, text != ""
		}},
	}
}

// parseFactor is ParseScale with 0.
func parseFactor(text string) (Scale, bool) {
	if x, ok := decimal(text); ok && x.Sign() == 0 {
		return Scale{0, 1}, true
	}
	return ParseScale(text)
}

// rate returns r times s, rounded down.
func (s Scale) rate(r simnet.Rate) simnet.Rate {
	hi, lo := bits.Mul64(uint64(r), s.Num)
	if hi >= s.Den {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, s.Den)
	return simnet.Rate(q)
}

// times returns the product, in lowest terms; of factors with nine decimals it fits.
func (s Scale) times(o Scale) Scale {
	a, b := lowest(s.Num, o.Den)
	c, d := lowest(o.Num, s.Den)
	hi, num := bits.Mul64(a, c)
	high, den := bits.Mul64(b, d)
	if hi|high != 0 { // beyond any machine
		return Scale{math.MaxUint64, 1}
	}
	return Scale{num, den}
}

// lowest divides both by what they share.
func lowest(a, b uint64) (uint64, uint64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / max(x, 1), b / max(x, 1)
}

// eachLink changes the links of a class, or all, each once.
func eachLink(p *Platform, class simnet.LinkClass, f func(l *simnet.Link)) {
	for c := range simnet.NumLinkClasses {
		if l := p.Links[c]; l != nil && (class == c || class == simnet.NumLinkClasses) {
			f(l)
		}
	}
}

func factorOf(change func(l *simnet.Link, f Scale)) func(string, simnet.LinkClass) (func(p *Platform), bool) {
	return func(text string, class simnet.LinkClass) (func(p *Platform), bool) {
		f, ok := parseFactor(text)
		return func(p *Platform) { eachLink(p, class, func(l *simnet.Link) { change(l, f) }) }, ok
	}
}

// faster divides the time of a byte.
func faster(text string, class simnet.LinkClass) (func(p *Platform), bool) {
	f, ok := ParseScale(text)
	f.Num, f.Den = f.Den, f.Num
	return func(p *Platform) {
		eachLink(p, class, func(l *simnet.Link) {
			l.PerByte = f.rate(l.PerByte)
			for i := range l.Sizes {
				l.Sizes[i].PerByte = f.rate(l.Sizes[i].PerByte)
			}
		})
		if class == simnet.LinkNet || class == simnet.NumLinkClasses {
			p.Topology.LinkRate = f.rate(p.Topology.LinkRate)
		}
	}, ok
}

func eagerLimit(text string, class simnet.LinkClass) (func(p *Platform), bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return func(p *Platform) { eachLink(p, class, func(l *simnet.Link) { l.Eager = n }) }, err == nil && n <= maxBytes
}

// perNode puts so many processes on a node, on as many nodes as that takes.
func perNode(text string, _ simnet.LinkClass) (func(p *Platform), bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return func(p *Platform) { p.RanksPerNode, p.Nodes = uint32(n), 0 }, err == nil && n >= 1 && n <= maxNodes
}

// ParseSweep reads axes: NAME=VALUE,VALUE,... and more of them behind commas or in further texts.
func ParseSweep(texts []string) ([]Axis, error) {
	var list []Axis
	points := 1
	for _, text := range texts {
		for _, item := range strings.Split(text, ",") {
			name, value, named := strings.Cut(item, "=")
			if named {
				for _, a := range list {
					if a.Name == name {
						return nil, fmt.Errorf("%w: %s stands there twice", ErrSweep, clipped(name))
					}
				}
				list = append(list, Axis{Name: name})
			} else if value = item; len(list) == 0 {
				return nil, fmt.Errorf("%w: %q: write NAME=VALUE,VALUE and so on", ErrSweep, clipped(item))
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

// add reads a value.
func (a *Axis) add(value string) error {
	plain, class := a.Name, simnet.NumLinkClasses
	for c, name := range linkNames {
		if rest, ok := strings.CutPrefix(a.Name, name+"."); ok {
			plain, class = rest, simnet.LinkClass(c)
		}
	}
	var names []string
	for _, k := range sweepKinds() {
		names = append(names, k.name)
		if k.name != plain || class != simnet.NumLinkClasses && !k.links {
			continue
		}
		apply, ok := k.parse(value, class)
		if !ok || len(a.Values) == maxPoints {
			return fmt.Errorf("%w: %s: %q: allowed is %s", ErrSweep, a.Name, clipped(value), k.allowed)
		}
		a.Values, a.apply = append(a.Values, value), append(a.apply, apply)
		return nil
	}
	return fmt.Errorf("%w: %q: choose one of %s", ErrSweep, clipped(a.Name), strings.Join(names, ", "))
}

// Points returns how many combinations the axes have.
func Points(axes []Axis) int {
	n := 1
	for i := range axes {
		n *= len(axes[i].Values)
	}
	return n
}

// Point returns the platform of combination i, and the number of the value of each axis; the last axis changes fastest.
func (p *Platform) Point(axes []Axis, i int) (*Platform, []int) {
	q := *p
	// Classes that the file leaves out get links of their own: a sweep of node.latency changes them, one of net.latency does not.
	for c := range simnet.NumLinkClasses {
		if l := p.link(c); l != nil {
			own := *l
			own.Sizes = append([]simnet.SizeRate(nil), l.Sizes...)
			q.Links[c] = &own
		}
	}
	at := make([]int, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		at[k] = i % len(axes[k].Values)
		i /= len(axes[k].Values)
	}
	for k := range axes {
		axes[k].apply[at[k]](&q)
	}
	return &q, at
}
