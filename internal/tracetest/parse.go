package tracetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/trace"
)

// parser reads the text form.
type parser struct {
	defs    *trace.Definitions
	auto    bool // regions and strings are defined at their first use
	regions map[string]uint32
	comms   map[string]uint32
	strings map[string]uint32
	events  []*trace.Batch // of each location
}

// lines calls f for every line of a section that is not empty.
func (p *parser) lines(text, section string, f func(tokens []string) error) error {
	current, n := "", 0
	for line := range strings.Lines(text) {
		n++
		if s := sectionName(line); s != "" {
			current = s
			continue
		}
		if current != section {
			continue
		}
		t, err := tokens(line)
		if err == nil && len(t) > 0 {
			err = f(t)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func (p *parser) definition(t []string) error {
	for k, name := range defNames {
		if name == t[0] {
			r := p.defs.Add(k)
			v := &tokenReader{rest: t[1:]}
			r.Visit(v)
			if v.err == nil && len(v.rest) > 0 {
				v.err = fmt.Errorf("%w: %s has no field for %q here", ErrText, name, v.rest[0])
			}
			return v.err
		}
	}
	return fmt.Errorf("%w: unknown definition %q", ErrText, t[0])
}

// Limits of the program section keep a line from asking for much memory.
const (
	maxTextProcesses = 1 << 12
	maxTextThreads   = 1 << 8
	maxTextLocations = 1 << 13
)

// textProgram is the program section.
type textProgram struct {
	processes, threads, resolution uint64
	comms                          []synthetic.Comm
	any                            bool
}

func (p *parser) program(text string) error {
	g := textProgram{processes: 1, threads: 1, resolution: 1_000_000_000}
	if err := p.lines(text, "program", g.line); err != nil {
		return err
	}
	if !g.any {
		return nil
	}
	if len(p.defs.Locations) > 0 {
		return fmt.Errorf("%w: both a program and locations are defined", ErrText)
	}
	if g.processes == 0 || g.threads == 0 || g.processes > maxTextProcesses || g.threads > maxTextThreads || g.processes*g.threads > maxTextLocations {
		return fmt.Errorf("%w: %d processes of %d threads", ErrText, g.processes, g.threads)
	}
	for i, s := range p.defs.Strings {
		if s.Ref != uint32(i) {
			return fmt.Errorf("%w: strings next to a program are numbered from 0", ErrText)
		}
		addName(p.strings, s.Value, s.Ref)
	}
	p.auto = true
	g.define(p)
	return nil
}

func (g *textProgram) line(t []string) error {
	g.any = true
	set := func(v *uint64) error {
		if len(t) != 2 {
			return fmt.Errorf("%w: %s takes one number", ErrText, t[0])
		}
		n, err := strconv.ParseUint(t[1], 10, 64)
		*v = n
		return err
	}
	switch t[0] {
	case "processes":
		return set(&g.processes)
	case "threads":
		return set(&g.threads)
	case "resolution":
		return set(&g.resolution)
	case "comm":
		if len(t) < 2 {
			return fmt.Errorf("%w: comm takes a name and processes", ErrText)
		}
		c := synthetic.Comm{Name: t[1]}
		for _, s := range t[2:] {
			n, err := strconv.ParseUint(s, 10, 32)
			if err != nil {
				return fmt.Errorf("%w: process %q", ErrText, s)
			}
			c.Members = append(c.Members, uint32(n))
		}
		g.comms = append(g.comms, c)
		return nil
	}
	return fmt.Errorf("%w: unknown key %q of a program", ErrText, t[0])
}

// define makes the definitions of a program section.
func (g *textProgram) define(p *parser) {
	p.defs.Clocks = append(p.defs.Clocks, trace.ClockProperties{TimerResolution: g.resolution, RealtimeTimestamp: trace.Undefined64})
	synthetic.Define(p.defs, p.defs.Interned(p.strings), uint32(g.processes), uint32(g.threads), g.comms)
}

// index collects the names that events may use.
func (p *parser) index() {
	text := map[uint32]string{}
	for _, s := range p.defs.Strings {
		if _, ok := text[s.Ref]; !ok {
			text[s.Ref] = s.Value
		}
	}
	for _, r := range p.defs.Regions {
		addName(p.regions, text[r.Name], r.Ref)
	}
	for _, c := range p.defs.Comms {
		addName(p.comms, text[c.Name], c.Ref)
	}
}

func addName(m map[string]uint32, name string, ref uint32) {
	if _, ok := m[name]; !ok {
		m[name] = ref
	}
}

// region returns the reference of a named region; a program's are made here.
func (p *parser) region(name string) (uint32, error) {
	if r, ok := p.regions[name]; ok {
		return r, nil
	}
	if !p.auto {
		return 0, fmt.Errorf("%w: unknown region %q", ErrText, name)
	}
	str := p.defs.Interned(p.strings)
	var ref uint32
	for i := range p.defs.Regions {
		ref = max(ref, p.defs.Regions[i].Ref+1)
	}
	r := trace.Region{Ref: ref, Name: str(name), CanonicalName: str(name), SourceFile: trace.Undefined, Role: trace.RoleFunction, Paradigm: trace.ParadigmUser}
	if role, paradigm, ok := synthetic.Region(name); ok {
		r.Role, r.Paradigm = role, paradigm
	}
	if strings.HasPrefix(name, "MPI_") {
		r.Paradigm = trace.ParadigmMPI
	}
	p.defs.Regions = append(p.defs.Regions, r)
	p.regions[name] = ref
	return ref, nil
}

// event reads a line of the events section.
func (p *parser) event(t []string) error {
	if len(t) < 3 {
		return fmt.Errorf("%w: an event has a location, a time and a kind", ErrText)
	}
	location, err := strconv.ParseUint(t[0], 10, 32)
	if err != nil || location >= uint64(len(p.defs.Locations)) {
		return fmt.Errorf("%w: location %q", ErrText, t[0])
	}
	time, err := strconv.ParseUint(t[1], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: time %q", ErrText, t[1])
	}
	k, err := kindOf(t[2])
	if err != nil {
		return err
	}
	for uint64(len(p.events)) <= location {
		p.events = append(p.events, &trace.Batch{})
	}
	return p.words(p.events[location], trace.Time(time), k, t[3:])
}

func kindOf(label string) (trace.Kind, error) {
	for k := range 256 {
		if info := trace.Kind(k).Info(); info.Label == label && trace.Kind(k).Known() {
			return trace.Kind(k), nil
		}
	}
	return 0, fmt.Errorf("%w: unknown kind %q", ErrText, label)
}

// words reads fields, list and attributes and appends the event.
func (p *parser) words(b *trace.Batch, time trace.Time, k trace.Kind, t []string) error {
	info := k.Info()
	if len(t) < len(info.Fields) {
		return fmt.Errorf("%w: %s has %d fields, not %d", ErrText, info.Label, len(info.Fields), len(t))
	}
	var words []uint64
	for i := range info.Fields {
		w, err := p.field(k, &info.Fields[i], t[i])
		if err != nil {
			return err
		}
		words = append(words, w)
	}
	t = t[len(info.Fields):]
	if k == trace.Enter || k == trace.Leave {
		b.Append(time, k, uint32(words[0]))
	} else {
		list, rest, err := listOf(info.List, words, t)
		if err != nil {
			return err
		}
		b.Append(time, k, 0, append(words, list...)...)
		t = rest
	}
	return extras(b, t)
}

// listOf reads the list that the last field announces.
func listOf(l trace.List, fields []uint64, t []string) (list []uint64, rest []string, err error) {
	if l == trace.NoList {
		return nil, t, nil
	}
	n := fields[len(fields)-1]
	switch l {
	case trace.MetricList:
		n *= 2
	case trace.PayloadList:
		n = n/8 + (n%8+7)/8
	}
	if n > uint64(len(t)) {
		return nil, nil, fmt.Errorf("%w: list of %d elements, %d follow", ErrText, n, len(t))
	}
	for _, s := range t[:n] {
		w, err := number(s, math.MaxUint64)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, w)
	}
	return list, t[n:], nil
}

// extras reads attributes (@ref:type:value).
func extras(b *trace.Batch, t []string) error {
	var list []trace.EventAttribute
	for len(t) > 0 && t[0][0] == '@' {
		parts := strings.Split(t[0][1:], ":")
		if len(parts) != 3 {
			return fmt.Errorf("%w: attribute %q", ErrText, t[0])
		}
		var v [3]uint64
		for i, limit := range []uint64{math.MaxUint32, math.MaxUint8, math.MaxUint64} {
			n, err := number(parts[i], limit)
			if err != nil {
				return err
			}
			v[i] = n
		}
		list = append(list, trace.EventAttribute{Ref: uint32(v[0]), Type: trace.ValueType(v[1]), Value: v[2]})
		t = t[1:]
	}
	b.AppendAttributes(list...)
	if len(t) > 0 {
		return fmt.Errorf("%w: %q follows a complete event", ErrText, t[0])
	}
	return nil
}

// field reads one field of an event.
func (p *parser) field(k trace.Kind, f *trace.Field, s string) (uint64, error) {
	limit := uint64(math.MaxUint64)
	switch f.Width {
	case trace.U8:
		limit = math.MaxUint8
	case trace.U32:
		limit = math.MaxUint32
	}
	if s == "none" {
		return trace.Undefined & limit, nil
	}
	if c := s[0]; c >= '0' && c <= '9' || c == '-' {
		return number(s, limit)
	}
	if s[0] == '"' {
		q, err := strconv.Unquote(s)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", ErrText, s)
		}
		s = q
	}
	switch {
	case f.Ref == trace.RefRegion:
		r, err := p.region(s)
		return uint64(r), err
	case f.Ref == trace.RefComm:
		if c, ok := p.comms[s]; ok {
			return uint64(c), nil
		}
	case f.Ref == trace.RefString && p.auto:
		return uint64(p.defs.Interned(p.strings)(s)), nil
	case EnumOf(k, f) != nil:
		for _, n := range EnumOf(k, f).Names {
			if n.Name == s {
				return uint64(n.Value), nil
			}
		}
	}
	return 0, fmt.Errorf("%w: %q is not a %s", ErrText, s, f.Name)
}

// number reads a number up to limit; negative ones in two's complement.
func number(s string, limit uint64) (uint64, error) {
	if strings.HasPrefix(s, "-") && limit == math.MaxUint64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: number %q", ErrText, s)
		}
		return uint64(n), nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		return 0, fmt.Errorf("%w: number %q", ErrText, s)
	}
	return n, nil
}
