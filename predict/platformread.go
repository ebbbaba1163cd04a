package predict

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ErrPlatform is what every error about a platform is.
var ErrPlatform = errors.New("platform")

// FileError is an error in a file that people write.
type FileError struct {
	File    string
	Line    int    // from 1; 0 where none is to blame
	Key     string // "" where none is to blame
	Text    string // what is wrong
	Allowed string // what would be right, "" where Text says it
}

// Error says where, what and what is allowed.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		fmt.Fprintf(&b, "%s: ", e.Key)
	}
	b.WriteString(e.Text)
	if e.Allowed != "" {
		fmt.Fprintf(&b, "; allowed is %s", e.Allowed)
	}
	return b.String()
}

// Unwrap makes it an ErrPlatform.
func (e *FileError) Unwrap() error { return ErrPlatform }

// platformSchema is the format of platform files that this package reads and writes.
const platformSchema = "coppice.platform/1"

// Limits of a platform file: bytes, keys and tables.
const (
	maxPlatform = 256 << 10
	maxEntries  = 4096
)

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
	root, err := tomltree.Parse(data, maxEntries)
	if e, ok := errors.AsType[*tomltree.Error](err); ok {
		return nil, &FileError{File: name, Line: e.Line, Text: e.Text}
	}
	in := platformReader{file: name, p: NewPlatform(), lines: map[string]int{}}
	if err := in.root(root); err != nil {
		return nil, err
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
	lines map[string]int // of each key, such as links.net.sizes[2].max_bytes
}

// subtable is a table in a table, or a list of tables.
type subtable struct {
	name, what string
	list       bool
	read       func(v *tomltree.Value, path string) error
}

// root reads the whole file.
func (in *platformReader) root(v *tomltree.Value) error {
	p := in.p
	return readTable(in, v, "", platformRoot, p,
		keysTable(in, "nodes", nodesKeys, p),
		keysTable(in, "compute", computeKeys, p),
		subtable{"links", "tables links.self, links.node, links.net", false, in.links},
		keysTable(in, "topology", topologyKeys, &p.Topology),
		keysTable(in, "filesystem", filesKeys, &p.Files),
		subtable{"collectives", "a table [collectives]", false, in.collectives},
	)
}

// keysTable is a table that has keys alone.
func keysTable[T any](in *platformReader, name string, keys []platformKey[T], to *T) subtable {
	return subtable{name, "a table [" + name + "]", false, func(v *tomltree.Value, path string) error { return readTable(in, v, path, keys, to) }}
}

func (in *platformReader) links(v *tomltree.Value, path string) error {
	var tables []subtable
	for c, name := range linkNames {
		tables = append(tables, subtable{name, "a table of L_ns, o_send_ns and so on", false, func(v *tomltree.Value, path string) error {
			l := &simnet.Link{Eager: maxBytes}
			in.p.Links[c] = l
			return readTable(in, v, path, linkKeys, l, subtable{"sizes", aSize, true, func(v *tomltree.Value, path string) error {
				l.Sizes = append(l.Sizes, simnet.SizeRate{})
				return readTable(in, v, path, sizeKeys, last(l.Sizes))
			}})
		}})
	}
	return readTable(in, v, path, nil, in.p, tables...)
}

func (in *platformReader) collectives(v *tomltree.Value, path string) error {
	var tables []subtable
	for k, name := range collNames {
		tables = append(tables, subtable{name, "{ max_bytes = N, algorithm = NAME }", true, func(v *tomltree.Value, path string) error {
			list := &in.p.Collectives[k]
			*list = append(*list, simnet.Algorithm{Max: math.MaxUint64})
			return readTable(in, v, path, algorithmKeys, last(*list))
		}})
	}
	return readTable(in, v, path, collectivesKeys, in.p, tables...)
}

// last is the element in progress.
func last[T any](s []T) *T { return &s[len(s)-1] }

// readTable reads a table of some keys and tables.
func readTable[T any](in *platformReader, v *tomltree.Value, path string, keys []platformKey[T], to *T, tables ...subtable) error {
	for _, name := range v.Keys {
		x, at := v.Fields[name], under(path, name)
		in.lines[at] = x.Line
		k := slices.IndexFunc(keys, func(k platformKey[T]) bool { return k.name == name })
		t := slices.IndexFunc(tables, func(t subtable) bool { return t.name == name })
		var err error
		switch {
		case k >= 0 && x.Kind == tomltree.Table:
			err = in.wrong(at, "a table", keys[k].allowed)
		case k >= 0 && !keys[k].read(to, x):
			err = in.wrong(at, shown(x), keys[k].allowed)
		case k >= 0:
		case t >= 0:
			err = in.table(x, at, &tables[t])
		default:
			var names []string
			for _, k := range keys {
				names = append(names, k.name)
			}
			for _, t := range tables {
				names = append(names, t.name)
			}
			slices.Sort(names)
			err = in.wrong(at, "unknown key", strings.Join(names, ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// table reads a table, or a list of tables.
func (in *platformReader) table(v *tomltree.Value, path string, t *subtable) error {
	isTable := func(v *tomltree.Value) bool { return v.Kind == tomltree.Table }
	switch {
	case !t.list && !isTable(v):
		return in.wrong(path, "a value", t.what)
	case !t.list:
		return t.read(v, path)
	case isTable(v):
		return in.wrong(path, "a table", "an array of tables, each "+t.what)
	case v.Kind != tomltree.List || slices.ContainsFunc(v.Items, func(v *tomltree.Value) bool { return !isTable(v) }):
		return in.wrong(path, "a value", "an array of tables, each "+t.what)
	}
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		in.lines[at] = item.Line
		if err := t.read(item, at); err != nil {
			return err
		}
	}
	return nil
}

// wrong is an error about a key, which may be missing.
func (in *platformReader) wrong(key, text, allowed string) error {
	return &FileError{File: in.file, Line: in.lines[key], Key: clipped(key), Text: text, Allowed: allowed}
}

// under appends a name to a key. One that needs quotes keeps them: no key of ours does.
func under(key, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// shown is a value in a message.
func shown(v *tomltree.Value) string {
	switch v.Kind {
	case tomltree.String:
		return strconv.Quote(clipped(v.Text))
	case tomltree.List:
		var list []string
		for _, x := range v.Items {
			list = append(list, x.Text)
		}
		return "[" + clipped(strings.Join(list, ", ")) + "]"
	}
	return clipped(v.Text)
}
