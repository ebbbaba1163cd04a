package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// context is a node of the tree of what samples found on the stack: a place in code, or a region that the program marks.
type context struct {
	number, parent uint64 // parent: 0 for none
	at             Address
	region         uint64 // name
	construct      uint64 // number in events
	start          bool   // it calls what the C library starts a program with: its _start, whatever its name
}

// ofConstruct is the module of a context that is a construct of threads.
const ofConstruct = math.MaxUint64 - 1

// contextRef is a calling context of the definitions, how many are above it, and whether it is a frame.
type contextRef struct {
	ref, depth uint32
	frame      bool
}

const (
	maxContexts = 1 << 16
	maxDepth    = 1 << 10 // of a context; deeper ones are their parents
	generator   = 0       // reference of the timer of samples
)

func (p *process) addContext(b []byte) bool {
	if len(p.contexts) >= maxContexts {
		return false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	c := context{number: word(0), parent: word(1), at: Address{Module: "?"}}
	switch m := word(2); {
	case m < uint64(len(p.modules)):
		c.at = p.modules[m]
	case m == ofConstruct:
		c.construct = word(3)
	case word(3) < maxContexts:
		c.region = word(3)
	}
	c.at.Offset = word(3)
	p.contexts = append(p.contexts, c)
	return c.number != 0
}

// samplers are the kinds of sources of samples. The least of all processes names the generator.
var samplers = [...]string{"timer of processor time", "perf_event of time in user mode", "perf_event of processor time"}

// callingContexts defines what samples found, as calls below the program. Processes share what is the same.
func (b *definer) callingContexts(s *Source) {
	t := contextTree{b: b, s: s, contexts: make(map[trace.CallingContext]uint32), lines: make(map[trace.SourceCodeLocation]uint32)}
	period, sampler := uint64(0), uint64(math.MaxUint64)
	for _, p := range s.processes {
		if p.period == 0 {
			continue
		}
		period, sampler = max(period, p.period), min(sampler, p.sampler)
		t.process(p)
	}
	if period > 0 {
		b.d.InterruptGenerators = []trace.InterruptGenerator{{Ref: generator, Name: b.str(samplers[min(sampler, uint64(len(samplers))-1)]), Base: 1, Exponent: -9, Period: period}}
	}
}

// contextTree joins the contexts of all processes.
type contextTree struct {
	b        *definer
	s        *Source
	contexts map[trace.CallingContext]uint32 // their references, without them
	lines    map[trace.SourceCodeLocation]uint32
}

// process defines the contexts of one process, parents first.
func (t *contextTree) process(p *process) {
	root := t.below(contextRef{ref: trace.Undefined}, p.nameRef(0), trace.Undefined)
	p.contextRefs = map[uint64]contextRef{0: {ref: root.ref}}
	byNumber := make(map[uint64]*context, len(p.contexts))
	for i := range p.contexts {
		byNumber[p.contexts[i].number] = &p.contexts[i]
	}
	for i := range p.contexts {
		if list := t.s.names[p.contexts[i].at]; len(list) > 0 && starts(list[0].Function) && byNumber[p.contexts[i].parent] != nil {
			byNumber[p.contexts[i].parent].start = true
		}
	}
	var path []*context
	for i := range p.contexts {
		path = path[:0]
		above, known := contextRef{}, false
		for c := &p.contexts[i]; c != nil && len(path) < maxDepth; c = byNumber[c.parent] {
			if above, known = p.contextRefs[c.number]; known {
				break
			}
			path = append(path, c)
			if c.parent == 0 {
				known = true
				break
			}
		}
		for k := len(path) - 1; k >= 0 && known; k-- {
			above = t.add(p, path[k], byNumber[path[k].parent], above)
			p.contextRefs[path[k].number] = above
		}
	}
}

// add defines the frames of a node, and returns the innermost of them. It leaves out frames of the recorder, and frames of the C
// library above the first function of a program or of a thread.
func (t *contextTree) add(p *process, c, parent *context, above contextRef) contextRef {
	if c.region > 0 {
		return t.below(above, p.nameRef(c.region), trace.Undefined)
	}
	list := t.s.names[c.at]
	if c.construct > 0 {
		if p.functionRef(c.construct) == trace.Undefined {
			return above
		}
		return t.below(above, p.functionRef(c.construct), trace.Undefined)
	}
	first := !above.frame
	if ofRecorder(c.at.Module) {
		return above
	}
	if first && (c.start || len(list) > 0 && (starts(list[0].Function) || isStart(list[0].Function)) || nameless(list) && parent != nil && (parent.at.Module == c.at.Module || isStart(t.outer(parent)))) {
		return above
	}
	if len(list) == 0 {
		list = []Frame{{}}
	}
	for i := len(list) - 1; i >= 0; i-- {
		f := &list[i]
		name, distance, known := strings.Cut(f.Function, "+0x")
		if name == "" {
			name = fmt.Sprintf("%s+0x%x", filepath.Base(c.at.Module), c.at.Offset)
			if n, err := strconv.ParseUint(distance, 16, 64); known && err == nil && n < c.at.Offset { // from its begin
				name = fmt.Sprintf("%s+0x%x", filepath.Base(c.at.Module), c.at.Offset-1-n)
			} else if !first && i == 0 { // code without a name gets the name of its file
				name = filepath.Base(c.at.Module)
			}
		}
		above = t.below(above, t.function(shorten(name), c.at.Module, f), t.line(f))
		above.frame = true
	}
	return above
}

// nameless reports whether no function of an address has a name.
func nameless(list []Frame) bool {
	return len(list) == 0 || len(list) == 1 && strings.HasPrefix(list[0].Function, "+0x")
}

func (t *contextTree) outer(c *context) string {
	if list := t.s.names[c.at]; len(list) > 0 {
		return list[len(list)-1].Function
	}
	return ""
}

// isStart reports whether a function is _start, which calls the C library first.
func isStart(function string) bool {
	name, _, _ := strings.Cut(function, "+0x")
	return name == "_start"
}

// function returns the region of a function of a program or library.
func (t *contextTree) function(name, module string, f *Frame) uint32 {
	of := trace.DescribeFunction(module)
	return t.b.regionOf(name+"\x00\x00"+f.File+"\x00"+of, name, of, f, f.Begin, trace.Region{Role: trace.RoleFunction, Paradigm: trace.ParadigmCompiler})
}

func (b *definer) file(f *Frame) uint32 {
	return b.str(strings.ToValidUTF8(f.File[max(0, len(f.File)-mostFile):], ""))
}

func (t *contextTree) line(f *Frame) uint32 {
	if f.File == "" || f.Line == 0 {
		return trace.Undefined
	}
	key := trace.SourceCodeLocation{File: t.b.file(f), LineNumber: f.Line}
	ref, ok := t.lines[key]
	if !ok {
		ref = uint32(len(t.lines))
		t.lines[key] = ref
		key.Ref = ref
		t.b.d.SourceCodeLocations = append(t.b.d.SourceCodeLocations, key)
	}
	return ref
}

// below returns the calling context of a region below another.
func (t *contextTree) below(above contextRef, region, line uint32) contextRef {
	key := trace.CallingContext{Region: region, SourceCodeLocation: line, Parent: above.ref}
	ref, ok := t.contexts[key]
	if !ok {
		ref = uint32(len(t.contexts))
		t.contexts[key] = ref
		key.Ref = ref
		t.b.d.CallingContexts = append(t.b.d.CallingContexts, key)
	}
	return contextRef{ref, above.depth + 1, false}
}
