package symbols

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"sort"
	"strings"
)

// unit is a compilation unit that an address was found in.
type unit struct {
	rows      []row // of the line table, by address
	files     []*dwarf.LineFile
	functions []function
}

// row says the line from an address on.
type row struct {
	address uint64
	file    *dwarf.LineFile
	line    int
	end     bool // no code until the next row
}

// function is one with code, or a copy of one that was inlined.
type function struct {
	name   string
	begin  int // line of its declaration
	ranges [][2]uint64
	file   int // where it is called, of an inlined one
	line   int
	depth  int          // of the tree of entries; a deeper one is inside of those that have the address
	named  dwarf.Offset // of the entry that has the name
}

// Bounds of a unit.
const (
	maxRows      = 1 << 24
	maxFunctions = 1 << 20
	maxOrigins   = 16 // from an inlined copy to the entry with its name
)

// inDWARF returns the frames at an address, innermost first.
func (f *File) inDWARF(address uint64) (frames []Frame) {
	if f.data == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // package dwarf, of damaged data
			frames = nil
		}
	}()
	entry, err := f.data.Reader().SeekPC(address)
	if err != nil || entry == nil {
		return nil
	}
	u := f.units[entry.Offset]
	if u == nil {
		u = f.readUnit(entry)
		f.units[entry.Offset] = u
	}
	file, line := u.line(address)
	var inside []*function
	for i := range u.functions {
		if slices.ContainsFunc(u.functions[i].ranges, func(r [2]uint64) bool { return r[0] <= address && address < r[1] }) {
			inside = append(inside, &u.functions[i])
		}
	}
	slices.SortStableFunc(inside, func(a, b *function) int { return cmp.Compare(b.depth, a.depth) })
	if len(inside) == 0 && line == 0 {
		return nil
	}
	if len(inside) == 0 {
		return []Frame{{File: file, Line: line}}
	}
	for _, x := range inside {
		frames = append(frames, Frame{Function: x.name, File: file, Line: line, Begin: x.begin})
		file, line = u.file(x.file), x.line
	}
	return frames
}

func (u *unit) file(i int) string {
	if i < 0 || i >= len(u.files) || u.files[i] == nil {
		return ""
	}
	return u.files[i].Name
}

func (u *unit) line(address uint64) (file string, line int) {
	i := sort.Search(len(u.rows), func(i int) bool { return u.rows[i].address > address })
	if i == 0 || u.rows[i-1].end || u.rows[i-1].file == nil {
		return "", 0
	}
	return u.rows[i-1].file.Name, u.rows[i-1].line
}

// readUnit reads lines and functions of a compilation unit.
func (f *File) readUnit(entry *dwarf.Entry) *unit {
	u := &unit{}
	if lines, err := f.data.LineReader(entry); err == nil && lines != nil {
		var e dwarf.LineEntry
		for len(u.rows) < maxRows && lines.Next(&e) == nil {
			u.rows = append(u.rows, row{e.Address, e.File, e.Line, e.EndSequence})
		}
		u.files = lines.Files()
		// Of rows with one address the last holds; the end of a sequence is no line of the next one that begins there.
		slices.SortStableFunc(u.rows, func(a, b row) int {
			switch {
			case a.address != b.address:
				return cmp.Compare(a.address, b.address)
			case a.end == b.end:
				return 0
			case a.end:
				return -1
			}
			return 1
		})
	}
	r := f.data.Reader()
	r.Seek(entry.Offset)
	if _, err := r.Next(); err != nil || !entry.Children {
		return u
	}
	var around []*dwarf.Entry // of the next entry
	lambdas := make(map[dwarf.Offset]function)
	for depth := 1; depth > 0 && len(u.functions) < maxFunctions; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
			around = around[:max(len(around)-1, 0)]
			continue
		}
		if x, ok := f.lambda(e, around); ok {
			lambdas[e.Offset] = x
		}
		if e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine {
			if ranges, err := f.data.Ranges(e); err == nil && len(ranges) > 0 {
				name, begin, named := f.name(e)
				if strings.Contains(name, outlined) { // it has the name of a symbol, and no line
					name = readable(name)
					_, begin = u.line(ranges[0][0])
				}
				x := function{name: name, begin: begin, ranges: ranges, depth: depth, file: -1, named: named}
				if e.Tag == dwarf.TagInlinedSubroutine {
					if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok {
						x.file = int(n)
					}
					n, _ := e.Val(dwarf.AttrCallLine).(int64)
					x.line = int(n)
				}
				u.functions = append(u.functions, x)
			}
		}
		if e.Children {
			depth++
			around = append(around, e)
		}
	}
	for i := range u.functions {
		if x, ok := lambdas[u.functions[i].named]; ok {
			u.functions[i].name, u.functions[i].begin = x.name, x.begin
		}
	}
	return u
}

// lambda returns the name and the line of an entry that is the function of a lambda expression and has neither, as GCC writes it where it
// is inlined: those of its class, which has no name, and of the function around it.
func (f *File) lambda(e *dwarf.Entry, around []*dwarf.Entry) (x function, ok bool) {
	last := len(around) - 1
	if last < 0 || e.Tag != dwarf.TagSubprogram || e.Val(dwarf.AttrName) != call || e.Val(dwarf.AttrLinkageName) != nil || around[last].Val(dwarf.AttrName) != nil {
		return x, false
	}
	line, ok := around[last].Val(dwarf.AttrDeclLine).(int64)
	if !ok {
		return x, false
	}
	x = function{name: "{lambda}::" + call, begin: int(line)}
	for _, outer := range slices.Backward(around[:last]) {
		if outer.Tag == dwarf.TagSubprogram {
			name, _, _ := f.name(outer)
			x.name = name + "::" + x.name
			break
		}
	}
	return x, true
}

// call is the name of the function of a lambda expression.
const call = "operator()"

// name returns the name of a function, and the line of its declaration, which its copies and its code have from its declaration; of one in a class or namespace or
// module with that. named is the entry that has the name.
func (f *File) name(e *dwarf.Entry) (name string, begin int, named dwarf.Offset) {
	for range maxOrigins {
		if n, ok := e.Val(dwarf.AttrDeclLine).(int64); ok && begin == 0 {
			begin = int(n)
		}
		if s, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			return readable(s), begin, e.Offset
		}
		if s, ok := e.Val(dwarf.AttrName).(string); ok {
			return s, begin, e.Offset
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if at, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return "", begin, 0
			}
		}
		r := f.data.Reader()
		r.Seek(at)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			return "", begin, 0
		}
	}
	return "", begin, 0
}
