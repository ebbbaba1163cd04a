package levers

import (
	"errors"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/trace"
)

// Change is a change of a program that the user asks for:
//
//	scale    region:NAME=FACTOR    the time of a function outside of MPI, with that of system libraries that it calls, on all processes
//	         interval:NAME=FACTOR  the time outside of MPI in an interval
//	         call:NAME=FACTOR      the time of MPI calls apart from waits
//	balance  region:NAME, interval:NAME   that time becomes its mean over the processes that have some
//	remove   call:NAME             collective operations are not called
//	no-wait  call:NAME             MPI calls wait for nobody
//	earlier-receive call:NAME      sends wait for the next MPI call of their receiver, instead of its receive
//
// NAME is a pattern. call:NAME@CALLER means calls below a function, or at a call site such as "main (step.c:42)".
type Change struct {
	What   string // scale, balance, remove, no-wait or earlier-receive
	Of     string // region, interval or call
	Name   string
	Caller string // "": any
	Factor causes.Share
}

// ErrChange is wrapped by errors about changes that are malformed or do not fit the run.
var ErrChange = errors.New("not a change")

// ParseChange parses a change; what is its flag, such as "scale".
func ParseChange(what, text string) (Change, error) {
	c := Change{What: what, Factor: causes.Whole}
	bad := func(format string, args ...any) (Change, error) {
		return c, fmt.Errorf("--%s %q: %w: %s", what, text, ErrChange, fmt.Sprintf(format, args...))
	}
	rest := text
	if what == "scale" {
		i := strings.LastIndexByte(text, '=')
		if i < 0 {
			return bad("write %s=FACTOR, such as region:solve=0.5", text)
		}
		f, ok := new(big.Rat).SetString(text[i+1:])
		if !ok || f.Sign() < 0 || f.Cmp(big.NewRat(1000, 1)) > 0 {
			return bad("%q is not a factor between 0 and 1000", text[i+1:])
		}
		f.Mul(f, new(big.Rat).SetInt64(int64(causes.Whole)))
		c.Factor, rest = causes.Share(new(big.Int).Quo(f.Num(), f.Denom()).Uint64()), text[:i]
	}
	var ok bool
	c.Of, c.Name, ok = strings.Cut(rest, ":")
	if c.Of == "call" {
		c.Name, c.Caller, _ = strings.Cut(c.Name, "@")
	}
	allowed := map[string][]string{"scale": {"region", "interval", "call"}, "balance": {"region", "interval"}, "remove": {"call"}, "no-wait": {"call"}, "earlier-receive": {"call"}}[what]
	switch {
	case !ok || c.Name == "" || !slices.Contains(allowed, c.Of):
		return bad("it begins with %s:NAME", strings.Join(allowed, ":NAME or "))
	case c.Of != "interval":
		for _, p := range []string{c.Name, c.Caller} {
			if _, err := path.Match(p, ""); err != nil {
				return bad("%q is a broken pattern", p)
			}
		}
	}
	return c, nil
}

// String returns the change as its user writes it.
func (c *Change) String() string {
	s := c.What + " " + c.Of + ":" + c.Name
	if c.Caller != "" {
		s += "@" + c.Caller
	}
	if c.What == "scale" {
		s += "=" + strings.TrimSuffix(strings.TrimRight(new(big.Rat).SetFrac64(int64(c.Factor), int64(causes.Whole)).FloatString(6), "0"), ".")
	}
	return s
}

// asked returns targets for the changes that the user asks for.
func (x *search) asked() ([]target, error) {
	var list []target
	for i := range x.o.Changes {
		c := &x.o.Changes[i]
		t := target{Target: Target{Kind: kindChange, Name: c.String()}, asked: c, paths: map[uint32]bool{}}
		switch c.Of {
		case "interval":
			n, err := results.FindNode(x.nodes, c.Name)
			if err != nil {
				return nil, err
			}
			if x.levers.Derived[n] || n == 0 {
				return nil, fmt.Errorf("%s: %w: only intervals that markers made have code of their own", c, ErrChange)
			}
			t.is = inNode(uint32(n))
		case "region":
			for n, region := range x.paths.regions {
				inner, _ := path.Match(c.Name, x.function(region))
				own, _ := path.Match(c.Name, x.function(x.paths.functions[n]))
				if inner || own {
					t.paths[uint32(n)] = true
				}
			}
			t.is = func(path, activity, _ uint32) bool {
				return (changeable(activity) || onDevice(activity)) && t.paths[path]
			}
		default:
			for n := range x.paths.regions {
				if x.matches(c, uint32(n)) {
					t.paths[uint32(n)] = true
				}
			}
		}
		if c.Of != "interval" && len(t.paths) == 0 {
			return nil, fmt.Errorf("%s: %w: the run has none; coppice report %s profile lists what there is", c, ErrChange, x.o.Run)
		}
		list = append(list, t)
	}
	return list, nil
}

// matches reports whether a call path is that of an MPI call to change.
func (x *search) matches(c *Change, n uint32) bool {
	r := x.run.Defs.Region(x.paths.regions[n])
	if r == nil || x.run.Defs.Class(r)&trace.ClassMPI == 0 || c.What == "remove" && !collective(x.run.Defs, r) {
		return false
	}
	if ok, _ := path.Match(c.Name, x.function(r.Ref)); !ok {
		return false
	}
	if c.Caller == "" || slices.ContainsFunc(x.run.Defs.CallSite(r), c.above) {
		return true
	}
	for up := x.paths.Parent(n); up != 0; up = x.paths.Parent(up) {
		if ok, _ := path.Match(c.Caller, x.function(x.paths.regions[up])); ok {
			return true
		}
	}
	return false
}

// above reports whether Caller matches a frame of a call site, such as "solve (halo.c:42)", or its function.
func (c *Change) above(frame string) bool {
	function := frame
	if i := strings.LastIndex(frame, " ("); i >= 0 {
		function = frame[:i]
	} else if i := strings.LastIndex(frame, "+0x"); i >= 0 {
		function = frame[:i]
	}
	whole, _ := path.Match(c.Caller, frame)
	ok, _ := path.Match(c.Caller, function)
	return ok || whole
}

// lever returns the lever of the change that the user asks for.
func (t *target) lever(x *search) causes.Lever {
	c := t.asked
	if c.Of != "call" {
		if c.What == "balance" {
			return t.work(x, t.balance())
		}
		return t.work(x, every(c.Factor))
	}
	return t.calls(x, causes.ChangedCall{Own: c.Factor, Removed: c.What == "remove", Waitless: c.What == "no-wait", Answered: c.What == "earlier-receive"})
}

// combined returns one lever with several changes.
func combined(list []change) *causes.Lever {
	return &causes.Lever{
		Work: func(at causes.Place) causes.Share {
			s := causes.Whole
			for _, l := range list {
				if l.lever.Work != nil {
					s = causes.Share(l.lever.Work(at).Of(uint64(s)))
				}
			}
			return s
		},
		Call: func(path uint32) causes.ChangedCall {
			c := causes.ChangedCall{Own: causes.Whole}
			for _, l := range list {
				if l.lever.Call != nil {
					x := l.lever.Call(path)
					c.Own, c.Removed = causes.Share(x.Own.Of(uint64(c.Own))), c.Removed || x.Removed
					c.Waitless, c.Answered = c.Waitless || x.Waitless, c.Answered || x.Answered
				}
			}
			return c
		},
	}
}
