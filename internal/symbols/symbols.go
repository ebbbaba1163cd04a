package symbols

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// MaxDebug is the most bytes of DWARF of a file that is read.
const MaxDebug = 2 << 30

// Frame is a function and a line in it, as far as they are known.
type Frame struct {
	Function string
	File     string
	Line     int
	Begin    int // line of the function's declaration
}

// File is an open program or library. It is not safe for concurrent use.
type File struct {
	symbols []symbol // of functions, by address
	unnamed []symbol // all that unwinding knows, by address
	data    *dwarf.Data
	units   map[dwarf.Offset]*unit
}

type symbol struct {
	name       string
	begin, end uint64 // end is 0 for one without size
}

// debugFolder has information on programs, by their build ids and paths.
const debugFolder = "/usr/lib/debug"

// Open reads a program or library. With a build id it must have that one.
func Open(path, id string) (*File, error) {
	e, closer, err := open(path)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	own := buildID(e)
	if id != "" && own != id {
		return nil, fmt.Errorf("%s: it is another one than that which ran: its build id is %q and not %s", path, own, id)
	}
	f := &File{units: make(map[dwarf.Offset]*unit)}
	f.take(e)
	if f.data == nil {
		f.separate(e, path, own)
	}
	f.unnamed = unwound(e)
	for _, list := range [...][]symbol{f.symbols, f.unnamed} {
		slices.SortStableFunc(list, func(a, b symbol) int { return cmp.Compare(a.begin, b.begin) })
	}
	return f, nil
}

// mostUnwinding is the most bytes of a section of unwind tables that is read.
const mostUnwinding = 256 << 20

// unwound returns where functions begin and end by the unwind tables, which stripped files have too: the search table of .eh_frame_hdr leads to
// the entries of .eh_frame. Of both only the encoding that linkers write on all systems is read, distances in 32 bits.
func unwound(e *elf.File) (list []symbol) {
	table, frames := e.Section(".eh_frame_hdr"), e.Section(".eh_frame")
	if table == nil || frames == nil || table.Size > mostUnwinding || frames.Size > mostUnwinding {
		return nil
	}
	b, err := table.Data()
	entries, err2 := frames.Data()
	if err != nil || err2 != nil || len(b) < 12 || !bytes.Equal(b[:4], []byte{1, 0x1b, 0x03, 0x3b}) {
		return nil
	}
	for b = b[12:]; len(b) >= 8; b = b[8:] {
		begin, at := table.Addr+uint64(int32(e.ByteOrder.Uint32(b))), table.Addr+uint64(int32(e.ByteOrder.Uint32(b[4:])))-frames.Addr
		if at > uint64(len(entries)) || uint64(len(entries))-at < 16 {
			continue
		}
		x := entries[at+8:]
		if size := uint64(e.ByteOrder.Uint32(x[4:])); frames.Addr+at+8+uint64(int32(e.ByteOrder.Uint32(x))) == begin && size > 0 {
			list = append(list, symbol{begin: begin, end: begin + size})
		}
	}
	return list
}

func open(path string) (e *elf.File, closer io.Closer, err error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if st, err := h.Stat(); err != nil || !st.Mode().IsRegular() {
		h.Close()
		return nil, nil, fmt.Errorf("%s: not a file", path)
	}
	if e, err = elf.NewFile(h); err != nil {
		h.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, h, nil
}

func (f *File) take(e *elf.File) {
	list, err := e.Symbols()
	if err != nil {
		list, _ = e.DynamicSymbols() // a file without symbol table still has names for others
	}
	for i := range list {
		s := &list[i]
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || s.Name == "" {
			continue
		}
		x := symbol{name: s.Name, begin: s.Value}
		if s.Size > 0 {
			x.end = s.Value + s.Size
		}
		f.symbols = append(f.symbols, x)
	}
	size := uint64(0)
	for _, s := range e.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			size += s.Size
		}
	}
	if s := e.Section(".debug_info"); s == nil && e.Section(".zdebug_info") == nil || size > MaxDebug || s != nil && s.Type == elf.SHT_NOBITS {
		return
	}
	if d, err := e.DWARF(); err == nil {
		f.data = d
	}
}

// separate looks for the file with the information on another.
func (f *File) separate(e *elf.File, path, id string) {
	var places []string
	if len(id) > 2 {
		places = append(places, filepath.Join(debugFolder, ".build-id", id[:2], id[2:]+".debug"))
	}
	name, crc, linked := debugLink(e)
	byID := len(places)
	if linked {
		dir := filepath.Dir(path)
		places = append(places, filepath.Join(dir, name), filepath.Join(dir, ".debug", name), filepath.Join(debugFolder, dir, name))
	}
	for i, place := range places {
		if place == path {
			continue
		}
		d, closer, err := open(place)
		if err != nil {
			continue
		}
		if i < byID && buildID(d) == id || i >= byID && checksum(place) == crc {
			f.take(d)
		}
		closer.Close()
		if f.data != nil {
			return
		}
	}
}

// debugLink returns the name and the checksum of the file that a section .gnu_debuglink names.
func debugLink(e *elf.File) (name string, crc uint32, ok bool) {
	s := e.Section(".gnu_debuglink")
	if s == nil || s.Size > 4096 {
		return "", 0, false
	}
	b, err := s.Data()
	if err != nil {
		return "", 0, false
	}
	name, _, ok = strings.Cut(string(b), "\x00")
	at := (len(name) + 4) &^ 3
	if !ok || name == "" || name != filepath.Base(name) || len(b) < at+4 {
		return "", 0, false
	}
	return name, e.ByteOrder.Uint32(b[at:]), true
}

func checksum(path string) uint32 {
	h, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer h.Close()
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, h); err != nil {
		return 0
	}
	return sum.Sum32()
}

// buildID returns the build id of a file in hexadecimal digits, "" for none.
func buildID(e *elf.File) string {
	s := e.Section(".note.gnu.build-id")
	if s == nil || s.Size > 4096 {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < 16 {
		return ""
	}
	n := e.ByteOrder.Uint32(b[4:])
	if e.ByteOrder.Uint32(b) != 4 || uint64(n) > uint64(len(b)-16) {
		return ""
	}
	return hex.EncodeToString(b[16 : 16+n])
}

// Frames returns what the instruction at an address belongs to, innermost first: functions inlined into each other, and the one
// that has the code. Where nothing is known there are none. A function known by its symbol alone has the distance to its begin, one without
// a symbol has the distance alone, "+0x1a".
func (f *File) Frames(address uint64) []Frame {
	frames := f.inDWARF(address)
	last := len(frames) - 1
	if last >= 0 && frames[last].Function != "" {
		return frames
	}
	s, ok := find(f.symbols, address)
	if !ok && last < 0 {
		s, ok = find(f.unnamed, address)
	}
	switch {
	case !ok:
		return frames
	case last < 0:
		return []Frame{{Function: fmt.Sprintf("%s+0x%x", readable(s.name), address-s.begin)}}
	}
	frames[last].Function = readable(s.name)
	return frames
}

// outlined lies between the name of a function and the number of a parallel region of OpenMP that GCC makes a function of.
const outlined = "._omp_fn."

// readable makes the name of a symbol that of the source: without what compilers encode in it, and without types of parameters.
func readable(name string) string {
	if base, number, ok := strings.Cut(name, outlined); ok {
		return readable(base) + outlined + number
	}
	if module, function, ok := strings.Cut(strings.TrimPrefix(name, "__"), "_MOD_"); ok && strings.HasPrefix(name, "__") { // GNU Fortran
		return module + "::" + function
	}
	return demangle.Filter(name, demangle.NoParams, demangle.NoEnclosingParams)
}

// find returns the symbol of the function that an address lies in. One without size ends where the next begins.
func find(list []symbol, address uint64) (symbol, bool) {
	next := sort.Search(len(list), func(i int) bool { return list[i].begin > address })
	for i := next - 1; i >= 0; i-- {
		s := list[i]
		if address < s.end || s.end == 0 && s.begin == list[next-1].begin {
			return s, true
		}
		if address-s.begin > 1<<24 { // far: no function is as long
			break
		}
	}
	return symbol{}, false
}
