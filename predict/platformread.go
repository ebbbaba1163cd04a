package predict

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// platformSchema is the format of platform files that this package reads and writes.
const platformSchema = "coppice.platform/1"

// maxPlatform bounds the size of a platform file, bytes.
const maxPlatform = 256 << 10

// OpenPlatform reads a platform file. Errors in it name file, line, key and what is allowed.
func OpenPlatform(path string) (*Platform, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlatform, err)
	}
	defer f.Close()
	p, err := ReadPlatform(f, path)
	if err != nil {
		return nil, err
	}
	p.folder = filepath.Dir(path)
	return p, nil
}

// ReadPlatform reads a platform file; name is for errors.
func ReadPlatform(r io.Reader, name string) (*Platform, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPlatform+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPlatform, name, err)
	}
	if len(data) > maxPlatform {
		return nil, &FileError{File: name, Text: fmt.Sprintf("larger than %d bytes, which no platform file is", maxPlatform)}
	}
	entries, err := flatten(name, bytes.Clone(data))
	if err != nil {
		return nil, err
	}
	in := platformReader{file: name, p: NewPlatform(), lines: map[string]int{}}
	for i := range entries {
		if err := in.take(&entries[i]); err != nil {
			return nil, err
		}
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return in.p, nil
}

// platformReader fills a platform.
type platformReader struct {
	file  string
	p     *Platform
	e     *entry         // in progress
	lines map[string]int // line of each key
	class simnet.LinkClass
	coll  simnet.CollKind
}

// take handles one entry.
func (in *platformReader) take(e *entry) error {
	in.e = e
	in.lines[e.key] = e.line
	rule := in.general(e.rule)
	if e.kind == unstable.Table {
		if _, ok := platformTables[rule]; ok {
			return in.open(rule)
		}
		if k, ok := platformKeys[rule]; ok {
			return in.fail("a table", k.allowed)
		}
		if what, ok := platformTables[rule+"[]"]; ok {
			return in.fail("a table", "an array of tables, each "+what)
		}
		return in.unknown(rule)
	}
	k, ok := platformKeys[rule]
	if !ok {
		if what, table := platformTables[rule]; table {
			return in.fail("a value", what)
		}
		if what, table := platformTables[rule+"[]"]; table {
			return in.fail("a value", "an array of tables, each "+what)
		}
		return in.unknown(rule)
	}
	if !k.set(in) {
		return in.fail(in.value(), k.allowed)
	}
	return nil
}

// general replaces a link class or a collective in a rule by *, and remembers it.
func (in *platformReader) general(rule string) string {
	head, rest, _ := strings.Cut(rule, ".")
	name, rest, more := strings.Cut(rest, ".")
	plain := strings.TrimSuffix(name, "[]")
	switch {
	case head == "links" && plain != "":
		for c, n := range linkNames {
			if n == plain {
				in.class = simnet.LinkClass(c)
				rule = "links.*" + name[len(plain):]
			}
		}
	case head == "collectives" && plain != "":
		for k, n := range collNames {
			if n == plain {
				in.coll = simnet.CollKind(k)
				rule = "collectives.*" + name[len(plain):]
			}
		}
	}
	if more && strings.Contains(rule, "*") {
		rule += "." + rest
	}
	return rule
}

// open begins a table.
func (in *platformReader) open(rule string) error {
	switch rule {
	case "links.*":
		if in.p.Links[in.class] == nil {
			in.p.Links[in.class] = &simnet.Link{Eager: maxBytes}
		}
	case "links.*.sizes[]":
		in.link().Sizes = append(in.link().Sizes, simnet.SizeRate{})
	case "collectives.*[]":
		in.p.Collectives[in.coll] = append(in.p.Collectives[in.coll], simnet.Algorithm{Max: math.MaxUint64})
	}
	return nil
}

// link is the link in progress. A dotted key needs no header of its own.
func (in *platformReader) link() *simnet.Link {
	l := &in.p.Links[in.class]
	if *l == nil {
		*l = &simnet.Link{Eager: maxBytes}
	}
	return *l
}

// fail says that the entry in progress is not what it should be.
func (in *platformReader) fail(text, allowed string) error {
	return &FileError{File: in.file, Line: in.e.line, Key: clipped(in.e.key), Text: text, Allowed: allowed}
}

// unknown names the keys that there are next to an unknown one.
func (in *platformReader) unknown(rule string) error {
	prefix := ""
	if i := strings.LastIndexByte(rule, '.'); i >= 0 {
		prefix = rule[:i+1]
	}
	return in.fail("unknown key", strings.Join(platformNames(prefix), ", "))
}

// value shows the value in progress.
func (in *platformReader) value() string {
	switch in.e.kind {
	case unstable.String:
		return strconv.Quote(clipped(in.e.text))
	case unstable.Array:
		return "[" + clipped(strings.Join(in.e.list, ", ")) + "]"
	}
	return clipped(in.e.text)
}

// number returns the number in progress.
func (in *platformReader) number() (exact.Number, bool) {
	if in.e.kind != unstable.Integer && in.e.kind != unstable.Float {
		return exact.Number{}, false
	}
	return decimal(in.e.text)
}

// time reads ns into ps.
func (in *platformReader) time(to *int64) bool {
	x, ok := in.number()
	if !ok {
		return false
	}
	v, ok := scaled(x, 1000, maxTimeNS*1000)
	*to = int64(v)
	return ok
}

// rate reads ns a byte.
func (in *platformReader) rate(to *simnet.Rate) bool {
	x, ok := in.number()
	if !ok {
		return false
	}
	*to, ok = rateOf(x)
	return ok
}

// integer reads an integer between least and most.
func (in *platformReader) integer(least, most uint64, to *uint64) bool {
	if in.e.kind != unstable.Integer {
		return false
	}
	x, ok := decimal(in.e.text)
	*to = uint64(x.Floor())
	return ok && x.IsInt() && x.Sign() >= 0 && *to >= least && *to <= most
}

// count is integer for 32 bits.
func (in *platformReader) count(least, most uint32, to *uint32) bool {
	var v uint64
	ok := in.integer(uint64(least), uint64(most), &v)
	*to = uint32(v)
	return ok
}

// counts reads an array of one to 16 integers between 1 and most.
func (in *platformReader) counts(most uint32, to *[]uint32) bool {
	if in.e.kind != unstable.Array || len(in.e.list) == 0 || len(in.e.list) > 16 {
		return false
	}
	for _, text := range in.e.list {
		x, ok := decimal(text)
		if !ok || !x.IsInt() || x.Sign() <= 0 || uint64(x.Floor()) > uint64(most) {
			return false
		}
		*to = append(*to, uint32(x.Floor()))
	}
	return true
}

// oneOf reads one of some words.
func (in *platformReader) oneOf(words []string, to *int) bool {
	for i, w := range words {
		if in.e.kind == unstable.String && in.e.text == w {
			*to = i
			return true
		}
	}
	return false
}
