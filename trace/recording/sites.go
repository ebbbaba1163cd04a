package recording

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Address is a place in the code of a program or library.
type Address struct {
	Module string `json:"module"`       // path of the file
	ID     string `json:"id,omitempty"` // its build id in hexadecimal digits, "" for none
	Offset uint64 `json:"address"`      // as in the file: without where it was loaded
}

// Frame is a function and a line of it, both as far as they are known. Of a function that was inlined there is a frame too.
type Frame struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     uint32 `json:"line,omitempty"`
	Begin    uint32 `json:"begin,omitempty"` // line of the function's declaration
}

// Named is the code that an address belongs to: the frames of the call instruction before it, innermost first.
type Named struct {
	Address
	Frames []Frame `json:"frames"`
}

// NamesFile holds the names of the addresses of all processes, one JSON object a line. It is made after the end of the program.
const NamesFile = "addresses.json"

// WriteNames writes the names file of a recording, and returns its bytes.
func WriteNames(dir string, list []Named) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), os.WriteFile(filepath.Join(dir, NamesFile), b.Bytes(), 0o644)
}

// readNames reads the names file. A file that is not there has no names.
func readNames(dir string) ([]byte, error) {
	b, err := readDefinitions(filepath.Join(dir, NamesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// parseNames reads what readNames returned. A damaged line names nothing.
func parseNames(b []byte) map[Address][]Frame {
	m := make(map[Address][]Frame)
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		var x Named
		if json.Unmarshal(line, &x) == nil {
			m[x.Address] = x.Frames
		}
	}
	return m
}

// site is from where a function is called: return addresses, innermost first.
type site struct {
	function uint64
	frames   []Address
}

// Bounds of what a process may define.
const (
	maxSites   = 1 << 16
	maxFrames  = 32
	maxModules = 1 << 16
	siteFirst  = 1 << 13 // number of the first site in events
)

func (p *process) addModule(b []byte) bool {
	if binary.LittleEndian.Uint64(b) != uint64(len(p.modules)) || len(p.modules) >= maxModules {
		return false
	}
	id, path, ok := strings.Cut(clean(b[8:]), " ")
	p.modules = append(p.modules, Address{Module: path, ID: strings.TrimPrefix(id, "-")})
	return ok
}

func (p *process) addSite(b []byte) bool {
	const head, frame = 16, 16
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	n := (len(b) - head) / frame
	if n > maxFrames || word(0) != uint64(len(p.sites)) || len(p.sites) >= maxSites {
		return false
	}
	s := site{function: word(1)}
	for i := range n {
		a := Address{Module: "?"}
		if m := word(2 + 2*i); m < uint64(len(p.modules)) {
			a = p.modules[m]
		}
		a.Offset = word(3 + 2*i)
		s.frames = append(s.frames, a)
	}
	p.sites = append(p.sites, s)
	return true
}

// placed returns the place of a function whose name is a file and an offset in it, in the form of a return address; the zero
// Address for other names.
func (p *process) placed(name string) (a Address) {
	file, digits, _ := strings.Cut(name, "+0x")
	offset, err := strconv.ParseUint(digits, 16, 64)
	if k := slices.IndexFunc(p.modules, func(m Address) bool { return filepath.Base(m.Module) == file }); err == nil && k >= 0 {
		a = p.modules[k]
		a.Offset = offset + 1
	}
	return a
}

// addresses returns the addresses of all call sites, samples and functions without a name, sorted by module.
func (s *Source) addresses() []Address {
	seen := make(map[Address]bool)
	var list []Address
	add := func(a Address) {
		if !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}
	for _, p := range s.processes {
		for i := range p.sites {
			for _, a := range p.sites[i].frames {
				add(a)
			}
		}
		for _, a := range p.signal.site.frames {
			add(a)
		}
		for i := range p.contexts {
			if c := &p.contexts[i]; c.region == 0 {
				add(c.at)
			}
		}
		for _, name := range p.names {
			if a := p.placed(name); a.Module != "" {
				add(a)
			}
		}
	}
	slices.SortFunc(list, func(a, b Address) int {
		return cmp.Or(strings.Compare(a.Module+"\x00"+a.ID, b.Module+"\x00"+b.ID), cmp.Compare(a.Offset, b.Offset))
	})
	return list
}

// Most bytes of a name, of the frames at one address, and of a file. The recorder expects these bounds where the archive is
// bounded.
const (
	mostName   = 80
	mostFrames = 190
	mostFile   = 250
)

func (f *Frame) text(a *Address) string {
	name := f.Function
	if name == "" || strings.HasPrefix(name, "+0x") {
		name = fmt.Sprintf("%s+0x%x", filepath.Base(a.Module), a.Offset)
	}
	name = shorten(name)
	if f.Line == 0 || ofC(a.Module) {
		return name
	}
	return fmt.Sprintf("%s (%s:%d)", name, shorten(filepath.Base(f.File)), f.Line)
}

// ofC reports whether a file is the C library: its own frames are not lines of the program.
func ofC(module string) bool { return strings.HasPrefix(filepath.Base(module), "libc.so.") }

// ofRecorder reports whether a file is the recorder itself.
func ofRecorder(module string) bool {
	return strings.HasPrefix(filepath.Base(module), "coppice-record-")
}

// shorten makes a name fit, and keeps " > " out of it, which separates frames.
func shorten(name string) string {
	if name = strings.ReplaceAll(name, " >", ">"); len(name) <= mostName {
		return name
	}
	if name = trace.BareName(name); len(name) <= mostName {
		return name
	} else if strings.Contains(name, "::") {
		return "..." + strings.ToValidUTF8(name[len(name)-mostName:], "")
	}
	return strings.ToValidUTF8(name[:mostName], "") + "..."
}

// isMain reports whether a function is the first of a program, with or without the distance from its begin.
func isMain(function string) bool {
	name, _, _ := strings.Cut(function, "+0x")
	return name == "main"
}

// starts reports whether a function is the C library's that calls the first function of a program or of a thread.
func starts(function string) bool {
	name, _, _ := strings.Cut(strings.Trim(function, "_"), "+0x")
	return strings.HasPrefix(name, "libc_start_") || name == "clone" || name == "clone3"
}

// standard reports whether a frame is in a header of the C++ library, such as that of std::mutex.
func standard(x *Frame) bool {
	return strings.Contains(x.File, "/include/") && strings.Contains(x.File, "/c++/")
}

// described returns the frames of a site, outermost first, and the innermost one. Frames in headers of the C++ library are left
// out where other code calls them.
func (x *site) described(names map[Address][]Frame) (frames []string, inner Frame) {
	last := 1
	for last < len(x.frames) {
		if list := names[x.frames[last]]; len(list) > 0 && starts(list[0].Function) {
			break
		}
		last++
	}
	for last < len(x.frames) && last > 1 && x.frames[last-1].Module == x.frames[last].Module { // frames of the library itself without names
		last--
	}
	for i := range x.frames[:last] {
		a := &x.frames[i]
		list := names[*a]
		if len(list) == 0 {
			list = []Frame{{}}
		}
		bytes, begun := 0, false
		for k := range list {
			text := list[k].text(a)
			if bytes += len(text) + len(" > "); bytes > mostFrames && k > 0 {
				break
			}
			if len(frames) == 1 && standard(&inner) {
				frames = frames[:0]
			}
			if len(frames) == 0 {
				inner = list[k]
			}
			frames = append(frames, text)
			begun = begun || isMain(list[k].Function)
		}
		if begun {
			break
		}
	}
	slices.Reverse(frames)
	return frames, inner
}

// callSites defines a region for each call site: calls of a function along one path. It has the name of the function, so that
// every reader knows it.
func (b *definer) callSites(s *Source) {
	for _, p := range s.processes {
		for i := range p.sites {
			x := &p.sites[i]
			function := p.functionRef(x.function)
			if function == trace.Undefined {
				p.siteRefs = append(p.siteRefs, function)
				continue
			}
			name := b.d.Strings[b.d.Regions[function].Name].Value
			frames, inner := x.described(s.names)
			text := trace.DescribeCallSite(frames)
			if x.function == constructThread { // the site of a thread is its first function, by its own name, and not a call
				if own, _, _ := strings.Cut(frames[len(frames)-1], " ("); own != "" {
					name, text = own, ""
				}
			}
			p.siteRefs = append(p.siteRefs, b.regionOf(name+"\x00"+text+"\x00"+inner.File, name, text, &inner, inner.Line, b.d.Regions[function]))
		}
	}
}
