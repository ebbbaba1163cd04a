package view

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// params reads the parameters of a request, each once.
type params struct {
	s    *Server
	run  *run
	path string // of the endpoint, for messages
	tail string // what follows the endpoint's name in the path
	v    url.Values
	used []string
}

// params parses the query of a request; it is bounded by the size of headers.
func (s *Server) params(r *http.Request, tail string) (*params, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("query", clip(err.Error()), "Escape the parameters")
	}
	p := &params{s: s, path: clip(r.URL.Path), tail: tail, v: v}
	n, err := p.number("run", 0, 0, uint64(len(s.runs)-1))
	if err != nil {
		return nil, err
	}
	p.run = s.runs[n]
	return p, nil
}

// checkVersion refuses requests about another file or another program.
func (p *params) checkVersion() error {
	v, err := p.text("v", 64)
	if err == nil && v != "" && v != p.s.version {
		err = &problem{http.StatusConflict, Failure{
			"another version", "v=" + clip(v), "the server shows another file now, or is another program", "Load the page again",
		}}
	}
	return err
}

// caching is how long an answer may be kept: for ever, if its address names the version.
func (p *params) caching() string {
	if p.v.Get("v") != "" {
		return "private, max-age=31536000, immutable"
	}
	return "private, no-cache"
}

// rest complains about parameters that nobody read.
func (p *params) rest() error {
	for name := range p.v {
		if !slices.Contains(p.used, name) {
			return bad(clip(name), "the endpoint has no such parameter", "Leave it away")
		}
	}
	return nil
}

// has reports whether a parameter is given.
func (p *params) has(name string) bool { return p.v.Has(name) }

// text reads a parameter of at most so many bytes.
func (p *params) text(name string, most int) (string, error) {
	p.used = append(p.used, name)
	switch list := p.v[name]; {
	case len(list) == 0:
		return "", nil
	case len(list) > 1:
		return "", bad(name, "it is given several times", "Give it once")
	case len(list[0]) > most:
		return "", bad(name, fmt.Sprintf("it has %d bytes", len(list[0])), fmt.Sprintf("Give at most %d", most))
	default:
		return list[0], nil
	}
}

// number reads a decimal number between least and most; without the parameter it is def.
func (p *params) number(name string, def, least, most uint64) (uint64, error) {
	text, err := p.text(name, 24)
	if err != nil || text == "" && !p.has(name) {
		return def, err
	}
	n, err := parseDecimal(text)
	if err != nil || n < least || n > most {
		return 0, bad(name+"="+clip(text), "no number in range", fmt.Sprintf("Give one from %d to %d", least, most))
	}
	return n, nil
}

// parseDecimal reads digits only.
func parseDecimal(text string) (uint64, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

// span reads t=A..B, by default the whole run. The end is not below the begin.
func (p *params) span() (begin, end uint64, err error) {
	text, err := p.text("t", 64)
	if err != nil {
		return 0, 0, err
	}
	return parseSpan(text, p.run.first, p.run.end())
}

// parseSpan reads A..B with either side left out.
func parseSpan(text string, first, end uint64) (uint64, uint64, error) {
	if text == "" {
		return first, end, nil
	}
	a, b, ok := strings.Cut(text, "..")
	var err error
	if ok && a != "" {
		first, err = parseDecimal(a)
	}
	if ok && b != "" && err == nil {
		end, err = parseDecimal(b)
	}
	if !ok || err != nil || first > end {
		return 0, 0, bad("t="+clip(text), "no span of time", "Give A..B in ticks, A not above B")
	}
	return first, end, nil
}

// ranks reads ranks=SET.
func (p *params) ranks() (results.Ranks, error) {
	text, err := p.text("ranks", 8192)
	if err != nil || text == "" || text == "all" {
		return results.Ranks{}, err
	}
	r, err := results.ParseRanks(text, p.run.Defs)
	if err != nil {
		return r, bad("ranks="+clip(text), err.Error(), "Give a set such as 0-3,8 or comm:NAME")
	}
	return r, nil
}

// window reads t and ranks, of a run with events.
func (p *params) window() (*windowOptions, error) {
	o := &windowOptions{}
	err := p.run.needRows()
	if err == nil {
		o.begin, o.end, err = p.span()
	}
	if err == nil {
		o.ranks, err = p.ranks()
	}
	return o, err
}

// summed reads a window, and whether its sums are to be exact.
func (p *params) summed() (*windowOptions, error) {
	o, err := p.window()
	if err == nil {
		o.exact, err = p.exact(o.ranks)
	}
	return o, err
}

// loc reads loc=L, which must be given.
func (p *params) loc() (trace.P, error) {
	if !p.has("loc") {
		return 0, bad("loc", "it is not given", "Give the number of a location")
	}
	n := p.run.Defs.NumLocations()
	if n == 0 {
		return 0, missing("locations")
	}
	v, err := p.number("loc", 0, 0, uint64(n)-1)
	return trace.P(v), err
}

// limit reads max=M.
func (p *params) limit(def, most int) (int, error) {
	n, err := p.number("max", uint64(def), 1, uint64(most))
	return int(n), err
}

// flag reads NAME=1 or 0.
func (p *params) flag(name string) (bool, error) {
	n, err := p.number(name, 0, 0, 1)
	return n == 1, err
}

// mostExact is how many locations are read exactly without being asked: some pages at either border of each.
const mostExact = 256

// exact reads exact=1 or 0. Without it few locations are read exactly: bounds of a short window may be as wide as it.
func (p *params) exact(ranks results.Ranks) (bool, error) {
	if p.has("exact") {
		return p.flag("exact")
	}
	of, n := ranks.Locations(p.run.Defs), 0
	for l := range trace.P(p.run.meta.Locations) {
		if of(l) {
			n++
		}
		if n > mostExact {
			return false, nil
		}
	}
	return true, nil
}

// choice reads one of some words, the first by default.
func (p *params) choice(name string, words ...string) (string, error) {
	text, err := p.text(name, 64)
	if err != nil || text == "" {
		return words[0], err
	}
	if !slices.Contains(words, text) {
		return "", bad(name+"="+clip(text), "no such choice", "Choose one of "+strings.Join(words, ", "))
	}
	return text, nil
}
