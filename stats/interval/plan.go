package interval

import (
	"fmt"
	"path"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// CommName is the name of the communicators of form F3.
const CommName = "coppice.intervals"

// Use says what calls of a region mean for intervals, as bits.
type Use uint8

// Uses of regions.
const (
	UseInterval Use = 1 << iota // each call is an execution (F6, F8)
	UseControl                  // MPI_Pcontrol (F4, F5)
	UseInit                     // MPI_Init, after which the program begins
	UseFinalize                 // MPI_Finalize, before which it ends
)

// Plan is the options applied to the definitions of one trace. It is read-only and safe for concurrent use.
type Plan struct {
	Options
	Uses   []Use // by index of the region; the last one is for unknown regions
	defs   *trace.Definitions
	comms  map[uint32]bool   // communicators named CommName
	values map[uint32]Form   // parameters that mark intervals: FormParameter or FormParaver
	events map[uint32]string // names of parameters that are Paraver events
	sites  trace.Refs[trace.SourceCodeLocation]
	world  uint32 // communicator of --between
	width  uint64 // of a slice, ticks; 0: none
	clock  uint64 // ticks per second
	forms  []Form // by index of the region, with UseInterval
}

// NewPlan applies options to a trace. It returns an error that wraps ErrOption if an option matches nothing in the trace.
func NewPlan(defs *trace.Definitions, o Options) (*Plan, error) {
	n := len(defs.Regions) + 1
	p := &Plan{
		Options: o, defs: defs, Uses: make([]Use, n), forms: make([]Form, n), clock: defs.Clock().TimerResolution,
		comms: map[uint32]bool{}, values: map[uint32]Form{}, events: map[uint32]string{},
	}
	if o.Forms.Has(FormCommunicator) {
		for i := range defs.Comms {
			if c := &defs.Comms[i]; defs.Text(c.Name) == CommName {
				p.comms[c.Ref] = true
			}
		}
	}
	if len(defs.CallingContexts) > 0 {
		p.sites = trace.NewRefs(defs.SourceCodeLocations, func(x *trace.SourceCodeLocation) uint32 { return x.Ref })
	}
	for _, step := range []func() error{p.planRegions, p.planParaver, p.planGiven, p.planSlices, p.planBetween} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	return p, nil
}

// Default returns the plan without options.
func Default(defs *trace.Definitions) *Plan {
	p, err := NewPlan(defs, Options{Forms: AutoForms})
	if err != nil {
		panic(err) // there is no option that could match nothing
	}
	return p
}

func (p *Plan) planRegions() error {
	found := make([]bool, len(p.Regions))
	for i := range p.defs.Regions {
		r := &p.defs.Regions[i]
		if p.defs.IsMPI(r) {
			p.Uses[i] = p.callUse(r)
			continue
		}
		interval := len(p.Regions) == 0 && p.Forms.Has(FormRegion) && r.Flags&(trace.RegionDynamic|trace.RegionPhase) != 0
		name := slashless(p.defs.Text(r.Name))
		for k, g := range p.Regions {
			if ok, _ := path.Match(slashless(g), name); ok {
				interval, found[k] = true, true
			}
		}
		if interval {
			p.Uses[i], p.forms[i] = UseInterval, FormRegion
		}
	}
	for k, ok := range found {
		if !ok {
			return fmt.Errorf("--interval region:%s matches no region of the trace outside of MPI", p.Regions[k])
		}
	}
	for i := range p.defs.Parameters {
		r := &p.defs.Parameters[i]
		if r.Type != stringParameter && p.defs.Text(r.Name) == "interval" && p.Forms.Has(FormParameter) {
			p.values[r.Ref] = FormParameter
		}
	}
	return nil
}

const stringParameter = 0 // OTF2_PARAMETER_TYPE_STRING

// slashless makes path.Match treat slashes like other characters.
func slashless(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

func (p *Plan) callUse(r *trace.Region) (u Use) {
	if !p.defs.IsMPI(r) {
		return 0
	}
	switch name := p.defs.CallName(r); {
	case name == "pcontrol" && (p.Forms.Has(FormLevel) || p.Forms.Has(FormName)):
		return UseControl
	case (name == "init" || name == "init_thread") && p.WithoutInit:
		return UseInit
	case name == "finalize" && p.WithoutInit:
		return UseFinalize
	}
	return 0
}

// planParaver finds event types. The reader of Paraver traces gives parameters the name, and regions the description, "prv:TYPE label".
func (p *Plan) planParaver() error {
	for _, t := range p.Paraver {
		want, found := fmt.Sprintf("prv:%d", t), false
		match := func(ref uint32) bool {
			s, ok := strings.CutPrefix(p.defs.Text(ref), want)
			ok = ok && (s == "" || s[0] == ' ')
			found = found || ok
			return ok
		}
		for i := range p.defs.Parameters {
			if r := &p.defs.Parameters[i]; match(r.Name) {
				p.values[r.Ref], p.events[r.Ref] = FormParaver, p.defs.Text(r.Name)
			}
		}
		for i := range p.defs.Regions {
			if match(p.defs.Regions[i].Description) {
				p.Uses[i] |= UseInterval
				p.forms[i] = FormParaver
			}
		}
		if !found {
			return fmt.Errorf("--interval %s: the trace has no such event type", want)
		}
	}
	return nil
}

// planGiven returns an error for an interval of the sidecar file that has no place in the trace.
func (p *Plan) planGiven() error {
	for i := range p.Given {
		g := &p.Given[i]
		if g.Process != AnyProcess && uint64(g.Process) >= uint64(len(p.defs.Processes())) {
			return fmt.Errorf("intervals file: rank %d: the trace has %d processes", g.Process, len(p.defs.Processes()))
		}
		if b, e, ok := p.ticks(g); !ok || b > e {
			return fmt.Errorf("intervals file: %v to %v: ends before it begins, or too late for the clock of %d ticks a second", g.Begin, g.End, p.clock)
		}
	}
	return nil
}

// ticks returns when an interval of the sidecar file begins and ends. ok is false if that does not fit.
func (p *Plan) ticks(g *Given) (begin, end uint64, ok bool) {
	begin, ok = g.Begin.InTicks(p.clock)
	end, ok2 := g.End.InTicks(p.clock)
	return begin, end, ok && ok2
}

func (p *Plan) planSlices() error {
	switch {
	case p.Slice.N != 0:
		w, ok := p.Slice.InTicks(p.clock)
		if !ok || w == 0 {
			return fmt.Errorf("--slice %v is less than a tick of the trace, of which a second has %d, or too long", p.Slice, p.clock)
		}
		p.width = w
	case p.SliceCount != 0:
		length := p.defs.Clock().TraceLength
		if length == 0 || length == trace.Undefined64 {
			return fmt.Errorf("--slice-count %d: the trace does not say how long it is; use --slice", p.SliceCount)
		}
		n := uint64(p.SliceCount)
		p.width = length/n + (length%n+n-1)/n
	}
	return nil
}

func (p *Plan) planBetween() error {
	if p.Between == 0 {
		return nil
	}
	best := 0
	for i := range p.defs.Comms {
		c := &p.defs.Comms[i]
		size := p.defs.CommSize(c.Ref)
		if p.defs.Text(c.Name) == "MPI_COMM_WORLD" {
			size = len(p.defs.Locations) + 1
		}
		if size > best {
			best, p.world = size, c.Ref
		}
	}
	if best == 0 {
		return fmt.Errorf("--between: the trace has no communicator of all processes")
	}
	return nil
}

// RegionKey returns the key of the executions of a region with UseInterval.
func (p *Plan) RegionKey(index int) Key {
	k := Key{Form: p.forms[index]}
	if index < len(p.defs.Regions) {
		k.Name = p.defs.Text(p.defs.Regions[index].Name)
	}
	k, _ = p.At(k, index)
	return k
}

// At returns k with the file and line where a region is declared, and whether the region is known.
func (p *Plan) At(k Key, index int) (Key, bool) {
	if index < 0 || index >= len(p.defs.Regions) {
		return k, false
	}
	r := &p.defs.Regions[index]
	k.File, k.Line = p.defs.Text(r.SourceFile), r.BeginLine
	return k, true
}

// AtSite returns k with the file and line of the call site of a calling context, and whether the trace has it.
func (p *Plan) AtSite(k Key, context uint32) (Key, bool) {
	c := p.defs.Context(context)
	if c == nil {
		return k, false
	}
	s := p.sites.Find(c.SourceCodeLocation)
	if s != nil {
		k.File, k.Line = p.defs.Text(s.File), s.LineNumber
	}
	return k, s != nil
}

// Value returns the form of intervals that an integer parameter marks: FormParameter, FormParaver, or FormRoot for none.
func (p *Plan) Value(parameter uint32) Form { return p.values[parameter] }

// Text returns the text of a string of the definitions.
func (p *Plan) Text(ref uint32) string { return p.defs.Text(ref) }

// IsBetween reports whether a collective operation on a communicator ends one
// interval of --between and begins the next.
func (p *Plan) IsBetween(op, comm uint32) bool {
	return p.Between != 0 && uint32(p.Between-1) == op && comm == p.world
}

// BetweenKey returns the key of the interval between occurrences k and k+1, from 0.
func (p *Plan) BetweenKey(k uint64) Key {
	name := strings.ToLower(trace.CollectiveName(uint64(p.Between - 1)))
	return Key{ID: k, Name: "MPI_" + strings.ToUpper(name[:1]) + name[1:], Form: FormDerived}
}

// EventKey returns the key of a Paraver event type, without the value.
func (p *Plan) EventKey(parameter uint32) Key {
	return Key{Name: p.events[parameter], Form: FormParaver}
}
